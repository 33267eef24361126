"""What is installed has every hardening of cmake/harden.cmake. Usage: hardening_test.py CMAKE BUILD"""

import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CMAKE, BUILD = sys.argv[1:3]
del sys.argv[1:]
PROGRAMS = ("weft", "weft-broker")
# Marks of an object file: what its code is ready for. A program has them if all that is linked into it has, and the
# system's own start files may not.
MARKS = {"x86_64": ("IBT", "SHSTK"), "aarch64": ("BTI", "PAC")}


def readelf(*words):
    return subprocess.run(["readelf", "-W", *map(str, words)], capture_output=True, text=True, check=True).stdout


@unittest.skipUnless(shutil.which("readelf"), "needs readelf")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weft-installed-")
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = Path(folder.name)
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", cls.prefix], check=True, capture_output=True)
        cls.programs = [cls.prefix / "bin" / name for name in PROGRAMS]
        files = [f for f in sorted(cls.prefix.rglob("*")) if f.is_file() and not f.is_symlink()]
        loaded = [f for f in files if f.open("rb").read(4) == b"\x7fELF"]
        cls.libraries = [f for f in loaded if f not in cls.programs]
        names = sorted(re.sub(r"\.so.*", "", f.name) for f in cls.libraries)
        assert names == ["libibverbs", "librdmacm", "libweft_bytecode", "libweft_dv", "libweft_sysfs"], names

    def each(self, files=None):
        for file in files or self.programs + self.libraries:
            with self.subTest(file=file.name):
                yield file

    def test_tables_of_the_loader_are_read_only(self):
        for file in self.each():
            self.assertIn("GNU_RELRO", readelf("-l", file))
            self.assertRegex(readelf("-d", file), r"BIND_NOW|FLAGS_1.*\bNOW\b")

    def test_no_stack_is_executable(self):
        for file in self.each():
            self.assertRegex(readelf("-l", file), r"GNU_STACK\s+(0x[0-9a-f]+\s+){5}RW\s")

    def test_programs_have_no_fixed_address(self):
        for file in self.each(self.programs):
            self.assertRegex(readelf("-h", file), r"Type:\s+DYN")
            self.assertRegex(readelf("-d", file), r"FLAGS_1.*\bPIE\b")

    def test_stacks_have_canaries(self):
        """Where a function has an array: libweft_dv has none, and nothing shows how it was compiled."""
        for file in self.each([f for f in self.programs + self.libraries if "weft_dv" not in f.name]):
            self.assertIn("__stack_chk_fail", readelf("-s", file))

    @unittest.skipUnless(platform.machine() in MARKS, "no such marks on this processor")
    def test_code_of_the_hooks_is_ready_for_checked_jumps(self):
        objects = list(Path(BUILD).rglob("weft_sysfs.dir/**/*.o"))
        self.assertTrue(objects)
        for file in self.each(objects):
            marks = re.search(r"feature: (.*)", readelf("-n", file))
            for mark in MARKS[platform.machine()]:
                self.assertIn(mark, marks.group(1) if marks else "")

    def test_copies_are_checked(self):
        for file in self.each([self.prefix / "bin/weft", *(f for f in self.libraries if "ibverbs" in f.name)]):
            self.assertRegex(readelf("-s", file), r"__\w+_chk@GLIBC")

    def test_indices_are_checked(self):
        for file in self.each(self.programs):
            self.assertIn("__glibcxx_assert_fail", readelf("-s", file))

    @unittest.skipUnless(platform.machine() in MARKS, "no such marks on this processor")
    def test_code_is_ready_for_checked_jumps(self):
        package = next(self.prefix.glob("lib*/**/libweft.a"))
        objects = re.split(r"^File: ", readelf("-n", package), flags=re.MULTILINE)[1:]
        self.assertGreater(len(objects), 20)
        for one in objects:
            marks = re.search(r"feature: (.*)", one)
            for mark in MARKS[platform.machine()]:
                self.assertIn(mark, marks.group(1) if marks else "", one.split("\n")[0])


if __name__ == "__main__":
    unittest.main()
