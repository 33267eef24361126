"""The weft command as people and programs meet it. Usage: cli_test.py WEFT"""

import json
import os
import pty
import re
import subprocess
import sys
import unittest

WEFT = sys.argv.pop()
SERVICES = {"RC": 13, "UC": 2, "UD": 1}


def weft(*arguments, environment=None):
    return subprocess.run([WEFT, *arguments], capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, **(environment or {})})


def demo(*arguments, code=0):
    done = weft("demo", "--json", *arguments)
    assert done.returncode == code, f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout)


class Demo(unittest.TestCase):
    def test_every_verb_moves_data_and_every_byte_is_right(self):
        for seed in range(1, 9):
            report = demo("--seed", str(seed))
            self.assertTrue(report["ok"], report["problems"])
            self.assertEqual(report["seed"], seed)
            self.assertEqual({s: sum(v["service"] == s for v in report["verbs"]) for s in SERVICES}, SERVICES)
            for verb in report["verbs"]:
                self.assertGreater(verb["messages"], 0, verb)
                self.assertEqual(verb["completed"], verb["messages"], verb)
                self.assertEqual(verb["checked"], verb["arrived"], verb)
                self.assertEqual(verb["wrong"], 0, verb)
                self.assertGreaterEqual(verb["latency_max_ps"], verb["latency_mean_ps"], verb)
                if verb["service"] == "RC":
                    self.assertEqual(verb["checked"], verb["messages"], verb)

    def test_packets_are_lost_and_counted(self):
        report = demo()
        network = report["network"]
        self.assertEqual(network["sent"], network["lost"] + network["delivered"])
        self.assertAlmostEqual(network["lost"] / network["sent"], 0.01, delta=0.005)
        counters = {c["name"]: c["value"] for c in report["counters"]}
        self.assertEqual(counters["sent_pkts"], network["sent"])
        self.assertGreater(counters["retransmitted_pkts"], network["lost"] // 2)
        self.assertNotIn(0, counters.values())
        self.assertTrue(all(c["meaning"] for c in report["counters"]))

    def test_without_loss_everything_arrives(self):
        report = demo("--loss", "0")
        self.assertEqual(report["network"]["lost"], 0)
        self.assertTrue(all(v["arrived"] == v["messages"] for v in report["verbs"]))

    def test_the_same_seed_does_the_same_in_two_processes(self):
        first, second, other = demo("--seed", "7"), demo("--seed", "7"), demo("--seed", "8")
        self.assertEqual(first, second)
        self.assertNotEqual(first["digest"], other["digest"])
        self.assertEqual(weft("demo", "--seed", "7").stdout, weft("demo", "--seed", "7").stdout)

    def test_percent_and_fraction_are_the_same(self):
        self.assertEqual(demo("--loss", "2%"), demo("--loss", "0.02"))
        self.assertEqual(demo("--loss", "0.5%")["loss"], 0.005)

    def test_what_people_read_is_what_programs_read(self):
        report, text = demo("--seed", "3"), weft("demo", "--seed", "3").stdout
        self.assertIn(report["digest"], text)
        for verb in report["verbs"]:
            self.assertIn(verb["verb"], text)
        for counter in report["counters"]:
            self.assertRegex(text, rf"{counter['name']} +{re.escape(counter['meaning'])}")
        self.assertTrue(all(len(line) <= 120 for line in text.split("\n")))
        self.assertIn("\nOK. ", text)

    def test_a_network_that_loses_everything_fails(self):
        report = demo("--loss", "100%", code=1)
        self.assertFalse(report["ok"])
        self.assertIn("retries exceeded", report["problems"][0])
        done = weft("demo", "--loss", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED.", done.stdout)

    def test_a_trace_goes_to_stderr_and_changes_nothing(self):
        done = weft("demo", "--json", "--trace")
        self.assertEqual(json.loads(done.stdout), demo())
        self.assertGreater(done.stderr.count("\n"), 10_000)
        self.assertRegex(done.stderr, r"(?m)^\d+\.\d{6} us lost \d->\d RC WRITE")


class CommandLine(unittest.TestCase):
    def refused(self, *arguments, says):
        done = weft(*arguments)
        self.assertEqual(done.returncode, 2, arguments)
        self.assertEqual(done.stdout, "")
        self.assertIn(says, done.stderr)
        self.assertIn("See weft --help.", done.stderr)

    def test_what_it_does_not_understand_it_refuses(self):
        for loss in ["1.5", "-1", "-1%", "101%", "abc", "", "%", "nan", "inf", "1%%", "1 %", "1e-2x", "0x1"]:
            self.refused("demo", f"--loss={loss}" if loss else "--loss=", says="--loss")
        for seed in ["-1", "1.5", "x", "18446744073709551616", "1e3"]:
            self.refused("demo", f"--seed={seed}", says=f"'{seed}' is not a whole number")
        self.refused("demo", "--no-such-flag", says="--no-such-flag")
        self.refused("demo", "extra", says="extra")
        self.refused("frobnicate", says="there is no command 'frobnicate'")
        self.refused(says="which command?")

    def test_help_and_version(self):
        for arguments in (["--help"], ["demo", "--help"], ["--help-all"]):
            done = weft(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("Usage: weft", done.stdout)
        self.assertRegex(weft("--version").stdout, r"\Aweft \d+\.\d+\.\d+\n\Z")


class Color(unittest.TestCase):
    def at_a_terminal(self, **environment):
        main, terminal = pty.openpty()
        with subprocess.Popen([WEFT, "demo"], stdout=terminal, env={**os.environ, "TERM": "xterm", **environment}):
            os.close(terminal)
            text = b""
            try:
                while chunk := os.read(main, 65536):
                    text += chunk
            except OSError:  # how a terminal says that nobody is there any more
                pass
        os.close(main)
        return text

    def test_only_for_people_who_have_not_said_no(self):
        self.assertIn(b"\033[", self.at_a_terminal(NO_COLOR=""))
        self.assertNotIn(b"\033[", self.at_a_terminal(NO_COLOR="1"))
        self.assertNotIn(b"\033[", self.at_a_terminal(NO_COLOR="", TERM="dumb"))
        self.assertNotIn("\033[", weft("demo", environment={"NO_COLOR": "", "TERM": "xterm"}).stdout)


if __name__ == "__main__":
    unittest.main()
