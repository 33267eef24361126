"""What others on the machine may try. Usage: secure_test.py BUILD PROBE (the program built from probe.cc)"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, PROBE = Path(sys.argv[1]), Path(sys.argv[2])
del sys.argv[1:]
ROOT = os.geteuid() == 0
OWNER = 54321  # a user that nobody is
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


if __name__ == "__main__":
    unittest.main()
