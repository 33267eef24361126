"""What others on the machine may try. Usage: secure_test.py BUILD PROBE (the program built from probe.cc)"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, PROBE = Path(sys.argv[1]), Path(sys.argv[2])
del sys.argv[1:]
ROOT = os.geteuid() == 0
OWNER, CALLER = 54321, 54322  # users that nobody is
NOTES = "all that I know\n"


class Secure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-secure-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.folder.chmod(0o777)
        self.notes = self.folder / "notes"
        self.notes.write_text(NOTES)

    def run_in_folder(self, *command, **environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "LD_"))}
        return subprocess.run([str(word) for word in command], cwd=self.folder, env={**clean, **environment},
                              capture_output=True, text=True, check=False, timeout=60)

    def weft(self, *flags, **environment):
        return self.run_in_folder(BUILD / "bin/weft", "run", "--addr", "127.0.76.1", *flags, "--", PROBE, **environment)

    def expect_to_run(self, done, stderr=""):
        self.assertEqual((done.returncode, done.stderr), (0, stderr), done.stdout)
        self.assertEqual(done.stdout, "secure=0 address=::ffff:127.0.76.1\n")


class Captures(Secure):
    def test_overwrite_nothing_but_captures(self):
        done = self.weft("--pcap", "notes")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"cannot write the capture file '{self.notes}': it is neither empty nor a capture of Weft's",
                      done.stderr)
        self.assertEqual(self.notes.read_text(), NOTES)
        for _ in range(2):
            self.expect_to_run(self.weft("--pcap", "trace.pcapng"))
        self.assertGreater((self.folder / "trace.pcapng").stat().st_size, 0)

    def test_that_meet_a_full_disk_say_so_and_the_program_goes_on(self):
        self.expect_to_run(self.weft("--pcap", "/dev/full"),
                           "weft: stopped capturing to '/dev/full': No space left on device\n")


class Settings(Secure):
    @unittest.skipUnless(ROOT, "only root can give files to others")
    def test_of_another_user_are_not_followed(self):
        file = self.folder / "weft.toml"
        file.write_text(f'pcap = "{self.notes}"\n')
        os.chown(file, OWNER, OWNER)
        why = f"it belongs to user {OWNER}, who is neither you nor root"
        self.expect_to_run(self.weft(), f"weft: weft.toml is not read: {why}\n")
        self.assertEqual(self.notes.read_text(), NOTES)
        done = self.weft(WEFT_CONFIG="weft.toml")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"weft.toml is not read: {why}", done.stderr)

    def test_that_are_malformed_are_errors_at_their_line(self):
        (self.folder / "weft.toml").write_text("seed = 1\n[[[[\n")
        done = self.weft()
        self.assertEqual(done.returncode, 2)
        self.assertIn("weft.toml:2: ", done.stderr)


@unittest.skipUnless(ROOT and shutil.which("setpriv") and shutil.which("ip"), "needs root to make a setuid program")
class Setuid(Secure):
    """Its user chooses its environment and its folder, and must not choose what it does with its owner's rights."""

    def setUp(self):
        super().setUp()
        shutil.copytree(BUILD / "lib/weft", self.folder / "lib/weft", symlinks=True)
        (self.folder / "bin").mkdir()
        shutil.copy(BUILD / "bin/weft-broker", self.folder / "bin")
        self.library = self.folder / "lib/weft/libibverbs.so.1"
        self.probe = Path(shutil.copy(PROBE, self.folder / "probe"))
        os.chown(self.probe, OWNER, OWNER)
        broker = self.folder / "broker"
        broker.write_text(f"#!/bin/sh\n: > {self.folder}/broker-was-started\nexit 1\n")
        broker.chmod(0o755)
        (self.folder / "weft.toml").write_text(f'pcap = "{self.folder}/named-by-file"\n')

    def start(self, mode):
        """In a network of its own: without settings a card takes the machine's addresses."""
        self.probe.chmod(mode)
        caller = f"setpriv --reuid {CALLER} --regid {CALLER} --clear-groups"
        return self.run_in_folder("unshare", "--net", "sh", "-c",
                                  f"ip link set lo up && exec {caller} ./probe {self.library}",
                                  WEFT_BROKER=f"{self.folder}/broker", WEFT_ADDR="127.0.76.2", WEFT_STATS="1",
                                  WEFT_PCAP=f"{self.folder}/named-by-variable", WEFT_LOSS="nonsense")

    def traces(self):
        return {p.name for p in self.folder.iterdir()} & {"broker-was-started", "named-by-file", "named-by-variable"}

    def test_programs_take_no_settings(self):
        done = self.start(0o4755)
        if "secure=0" in done.stdout:
            self.skipTest("setuid has no effect here: the file system is mounted with nosuid, or by no_new_privs")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual(done.stdout, "secure=1 address=::ffff:127.0.0.1\n")
        self.assertEqual(self.traces(), set())

    def test_others_do(self):
        done = self.start(0o755)
        self.assertEqual(done.returncode, 1)
        self.assertIn("WEFT_LOSS: 'nonsense' is no probability", done.stderr)

    def test_others_start_the_broker_that_is_named(self):
        done = self.run_in_folder("unshare", "--net", PROBE, self.library, WEFT_BROKER=f"{self.folder}/broker",
                                  WEFT_CONFIG="")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(self.traces(), {"broker-was-started"})


if __name__ == "__main__":
    unittest.main()
