"""Roles of StaR that a program asks for itself, and what it hears on a device that is not Weft's."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1))
PROGRAM = BUILD / "tests/dv_roles"


def run(*words, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "LD_"))}
    return subprocess.run([str(word) for word in words], env=environment | more, capture_output=True, text=True,
                          timeout=120)


def on_weft(*words, flags=()):
    return run(BUILD / "bin/weft", "run", "--addr", "127.0.72.1", *flags, "--", PROGRAM, *words)


class Roles(unittest.TestCase):
    def test_both_roles_on_one_device(self):
        for flags in ((), ("--transport", "roce"), ("--wire", "udp"), ("--transport", "star", "--role", "stateful")):
            with self.subTest(flags=flags):
                done = on_weft("roles", flags=flags)
                self.assertEqual((done.returncode, done.stdout), (0, "sent both ways\n"), done.stderr)

    def test_what_there_is_not_is_refused_by_name(self):
        done = on_weft("refused")
        self.assertEqual((done.returncode, done.stdout), (0, "refused\n"), done.stderr)
        self.assertIn("has no shared receive queue", done.stderr)

    def test_an_ordinary_queue_pair_is_as_the_settings_say(self):
        done = on_weft("ordinary")
        self.assertEqual((done.returncode, done.stdout), (0, "sent both ways\n"), done.stderr)

    def test_a_device_of_another_maker_is_told_from_ours(self):
        for done in (on_weft("foreign"), run(PROGRAM, "foreign")):  # with our libibverbs, and with the system's
            self.assertEqual((done.returncode, done.stdout), (0, "not supported\n"), done.stderr)
            self.assertIn("mlx5_0 is no device of Weft's", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
