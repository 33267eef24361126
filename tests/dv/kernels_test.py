"""Kernels on the card, called by C programs that know of Weft, and what they hear where there are none."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1))
PROGRAM, LOCAL = BUILD / "tests/dv_kernels", BUILD / "tests/dv_local_calls"
PATIENCE = 120
WAYS = {"rings": (), "UDP": ("--wire", "udp"), "roce": ("--transport", "roce"),
        "roce, UDP": ("--transport", "roce", "--wire", "udp"),
        "rings with loss": ("--loss", "2%", "--seed", "5"),
        "UDP with loss": ("--wire", "udp", "--loss", "2%", "--seed", "6"),
        "roce with loss": ("--transport", "roce", "--wire", "udp", "--loss", "2%", "--seed", "7")}
NOBODY = "00000000000000000000ffff7f00497b abcdef 1234 1000\n"  # 127.0.73.123


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "LD_"))}


def start(address, *words, flags=(), program=PROGRAM):
    command = [BUILD / "bin/weft", "run", "--addr", address, *flags, "--", program, *words]
    return subprocess.Popen([str(word) for word in command], env=environment(), text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process, text=""):
    try:
        return process.communicate(text, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"not done after {PATIENCE} s: {out}{err}") from None


class Kernels(unittest.TestCase):
    def alone(self, word, *expected, text="", flags=()):
        process = start("127.0.73.1", word, flags=flags)
        out, err = finish(process, text)
        self.assertEqual((process.returncode, out.splitlines()[-1:]), (0, list(expected)), err)

    def test_a_program_calls_itself(self):
        for name, flags in WAYS.items():
            with self.subTest(name):
                self.alone("both", "called", flags=flags)

    def test_a_program_calls_kernels_of_its_own_card(self):
        for name, flags in WAYS.items():
            with self.subTest(name):
                process = start("127.0.73.4", flags=flags, program=LOCAL)
                out, err = finish(process)
                self.assertEqual((process.returncode, out), (0, "called\n"), err)

    def test_another_process_has_its_kernels_called(self):
        for name, flags in WAYS.items():
            with self.subTest(name):
                server = start("127.0.73.2", "serve", flags=flags)
                caller = start("127.0.73.3", "call", 20, flags=flags)
                server_line, caller_line = server.stdout.readline(), caller.stdout.readline()
                server.stdin.write(caller_line)
                server.stdin.flush()
                self.assertEqual(server.stdout.readline(), "ready\n")
                out, err = finish(caller, server_line)
                self.assertEqual((caller.returncode, out), (0, "called\n"), err)
                out, err = finish(server)
                self.assertEqual((server.returncode, out), (0, "served\n"), err)

    def test_a_peer_that_is_no_weft_card_is_not_called(self):
        for flags in (("--wire", "udp"), ("--transport", "roce", "--wire", "udp")):
            with self.subTest(flags=flags):
                self.alone("nobody", "refused", text=NOBODY, flags=flags)

    def test_a_device_of_another_maker_is_told_from_ours(self):
        self.alone("foreign", "not supported")
        done = subprocess.run([str(PROGRAM), "foreign"], env=environment(), capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (0, "not supported\n"), done.stderr)
        self.assertIn("mlx5_0 is no device of Weft's, and has no kernels", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
