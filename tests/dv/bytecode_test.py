"""Kernels as bytecode in the real world: deployed by a C program itself, and by a peer that has the key."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1))
PROGRAM = BUILD / "tests/dv_bytecode"
OBJECTS = BUILD / "tests/bytecode"
PATIENCE = 120
WAYS = {"rings": (), "UDP": ("--wire", "udp"), "roce": ("--transport", "roce"),
        "UDP with loss": ("--wire", "udp", "--loss", "2%", "--seed", "6"),
        "roce with loss": ("--transport", "roce", "--wire", "udp", "--loss", "2%", "--seed", "7")}


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "LD_"))}


def run(word, flags=(), weft=BUILD / "bin/weft"):
    command = [weft, "run", "--addr", "127.0.76.1", *flags, "--", PROGRAM, word, OBJECTS]
    return subprocess.run([str(w) for w in command], env=environment(), capture_output=True, text=True,
                          timeout=PATIENCE, check=False)


class Bytecode(unittest.TestCase):
    def check(self, word):
        for name, flags in WAYS.items():
            with self.subTest(name):
                done = run(word, flags)
                self.assertEqual((done.returncode, done.stdout), (0, "deployed\n"), done.stderr)

    def test_a_program_deploys_its_own(self):
        self.check("local")

    def test_a_peer_deploys_with_the_key_and_not_without(self):
        self.check("peer")

    def test_weft_without_the_library_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            there = Path(folder)
            (there / "bin").mkdir()
            shutil.copytree(BUILD / "lib/weft", there / "lib/weft", symlinks=True,
                            ignore=shutil.ignore_patterns("libweft_bytecode*"))
            for program in ("weft", "weft-broker"):
                shutil.copy(BUILD / "bin" / program, there / "bin")
            done = run("missing", weft=there / "bin/weft")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("libweft_bytecode.so.1 is not installed", done.stdout)

    def test_the_command_says_beforehand(self):
        def said(*words):
            command = [BUILD / "bin/weft", "bytecode", *words]
            return subprocess.run([str(w) for w in command], capture_output=True, text=True, check=False)
        self.assertRegex(said(OBJECTS / "where.o").stdout, r"where.o: 17 instructions, (compiled|interpreted)\n")
        done = said("--section", "weft/constant", OBJECTS / "outside.o")
        self.assertEqual(done.returncode, 1)
        self.assertIn("outside.o: object_relocated at instruction 0: it refers to something outside", done.stdout)
        self.assertEqual(said("/none.o").returncode, 2)

    def test_no_other_library_depends_on_dpdk(self):
        for library in (BUILD / "lib/weft").glob("lib*.so.*"):
            if "bytecode" not in library.name:
                needs = subprocess.run(["ldd", str(library)], capture_output=True, text=True, check=True).stdout
                self.assertNotIn("librte", needs, library)


if __name__ == "__main__":
    unittest.main(verbosity=2)
