"""The weft command as people and programs meet it. Usage: cli_test.py WEFT"""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import unittest

WEFT = sys.argv.pop()
EXPERIMENTS_PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "experiments.md")
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
        for qps in ["0", "-1", "x", "1e4", "16777217", ""]:
            self.refused("memory", f"--qps={qps}", says="--qps")
        self.refused("frobnicate", says="there is no command 'frobnicate'")
        self.refused(says="which command?")

    def test_help_and_version(self):
        for arguments in (["--help"], ["demo", "--help"], ["--help-all"]):
            done = weft(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("Usage: weft", done.stdout)
        self.assertRegex(weft("--version").stdout, r"\Aweft \d+\.\d+\.\d+\n\Z")


class Memory(unittest.TestCase):
    def facts(self, *arguments):
        return json.loads(weft("memory", "--json", *arguments).stdout)

    # As the paper's, but for QPC: its contexts have 210 bytes, and ours take 256, of which 12 are timers.
    def test_the_papers_tables_at_ten_thousand_queue_pairs(self):
        facts = self.facts()
        self.assertEqual(facts["qps"], 10_000)
        rows = {s["structure"]: (s["conventional_bytes"], s["srnic_bytes"]) for s in facts["structures"]}
        mega = 1 << 20
        for name, conventional, srnic in (("receive_buffer", 0.6, 0.6), ("qpc", 2.33, 2.33), ("mtt", 8, 1.2),
                                          ("wqe_cache", 9.8, 0), ("bitmap", 3.0, 0),
                                          ("reordering_buffer", 4.9 * 1024, 0), ("outstanding_requests", 114.4, 0)):
            self.assertAlmostEqual(rows[name][0] / mega, conventional, delta=0.05 * conventional, msg=name)
            self.assertAlmostEqual(rows[name][1] / mega, srnic, delta=0.05 * srnic, msg=name)
        self.assertEqual(rows["schedule_queue"][1], 20_000)
        parts = facts["table2"]
        self.assertEqual(parts.pop("total"), sum(parts.values()))
        self.assertAlmostEqual(sum(parts.values()) / mega, 4.44, delta=0.01)
        self.assertEqual(facts["srnic_total_bytes"], sum(srnic for _, srnic in rows.values()))
        self.assertEqual(facts["conventional_total_bytes"], sum(conventional for conventional, _ in rows.values()))
        self.assertEqual(facts["in_software"]["qpc_table"], 16384 * 256)

    def test_any_number_of_queue_pairs(self):
        few, many = self.facts("--qps", "1"), self.facts("--qps", "100000")
        row = {s["structure"]: s["srnic_bytes"] for s in many["structures"]}
        self.assertEqual(row["qpc"], 100_000 * (256 - 12))
        self.assertEqual(many["context_state_bytes"], 210)
        self.assertEqual(row["schedule_queue"], 400_000)  # slots of such a table need more than 16 bits
        self.assertLess(few["srnic_total_bytes"], 2 << 20)

    def test_what_people_read(self):
        text = weft("memory").stdout
        self.assertRegex(text, r"(?m)^MTT +8\.0 MB +1\.2 MB ")
        self.assertRegex(text, r"(?m)^reordering buffer +4\.9 GB +0 ")
        self.assertRegex(text, r"(?m)^schedule queue +19\.5 KB +19\.5 KB ")
        self.assertRegex(text, r"(?m)^receive buffer +0\.6 MB +0\.6 MB ")
        self.assertTrue(all(len(line) <= 120 for line in text.split("\n")))


class Reproduce(unittest.TestCase):
    IDS = ["srnic-table1", "srnic-table2", "srnic-header", "srnic-schedq", "srnic-18x"]

    # A context takes its whole slot, which is more than the paper's.
    MISSED = ["conventional QPC", "SRNIC QPC", "QPC", "total", "ratio"]

    def test_claims_are_met_or_missed_as_recorded(self):
        done = weft("reproduce", "--json", *self.IDS)
        self.assertEqual(done.returncode, 1, done.stdout)
        rows = json.loads(done.stdout)
        for row in rows:
            self.assertLessEqual({"id", "claimed", "measured", "band", "verdict"}, row.keys())
            self.assertEqual(row["verdict"], row["recorded"], row)
        missed = [row["row"] or row["id"] for row in rows if row["verdict"] == "missed"]
        self.assertEqual([name for name in missed if not name.startswith("srnic-")], self.MISSED)
        wholes = {row["id"]: row["measured"] for row in rows if row["row"] is None}
        self.assertEqual(wholes, {"srnic-table1": 12, "srnic-table2": 3, "srnic-header": 5})
        queue = next(row for row in rows if row["id"] == "srnic-schedq")
        self.assertEqual((queue["claimed"], queue["measured"]), (19.5, 20_000 / 1024))

    def test_what_is_an_input_is_called_that(self):
        rows = json.loads(weft("reproduce", "--json", "srnic-table1").stdout)
        calibrated = [row["row"] for row in rows if row["verdict"] == "calibrated" and row["row"]]
        self.assertEqual(calibrated, ["conventional receive buffer", "SRNIC receive buffer", "SRNIC MTT"])

    def test_headers_are_counted_by_the_encoder(self):
        done = weft("reproduce", "--json", "srnic-header")
        rows = {row["row"]: row for row in json.loads(done.stdout)}
        self.assertEqual(rows["RoCE header"]["measured"], 58)
        for name, measured in (("SEND header", 66), ("WRITE header", 78), ("SEND goodput change", -0.734),
                               ("WRITE goodput change", -1.815)):
            self.assertAlmostEqual(rows[name]["measured"], measured, delta=0.001)
            self.assertEqual((rows[name]["verdict"], done.returncode), ("met", 0))

    def test_what_people_read_says_the_same(self):
        text = weft("reproduce", *self.IDS).stdout
        for row in json.loads(weft("reproduce", "--json", *self.IDS).stdout):
            self.assertIn(row["row"] or "all", text)
        self.assertTrue(all(len(line) <= 120 for line in text.split("\n")))

    def test_unknown_claims_are_refused_with_the_nearest(self):
        for arguments in (["srnic-table9"], ["srnic-table1", "x"], []):
            done = weft("reproduce", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn("weft reproduce --list", done.stderr)
        self.assertRegex(weft("reproduce", "srnic-table9").stderr, r"no claim .*\. Did you mean 'srnic-table.'\?")


class Experiments(unittest.TestCase):
    PLAN = """
[experiment]
id = "mine"
title = "Mine"
[base]
messages = 500
[[sweep]]
key = "qps"
values = [1, 2]
[[series]]
name = "A"
profile = "srnic"
[[series]]
name = "B"
profile = "card.toml"
[[plot]]
metric = "mac_gbps"
"""
    CARD = 'extends = "srnic"\ntitle = "My card"\nworks_per_turn = { value = 4, assumed = "to see" }\n'

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.plan, self.card = f"{self.folder.name}/plan.toml", f"{self.folder.name}/card.toml"
        self.write(self.plan, self.PLAN)
        self.write(self.card, self.CARD)

    def tearDown(self):
        self.folder.cleanup()

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_a_plan_of_ones_own_with_a_profile_beside_it(self):
        done = weft("sim", self.plan)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("My card", done.stdout)
        table = weft("sim", self.plan, "--csv", "-").stdout.split("\n")
        self.assertEqual(table[0], "experiment,series,profile,qps,seed,metric,unit,value,failure")
        self.assertEqual(sum(",mac_gbps," in line for line in table), 4)

    def test_the_same_seed_gives_the_same_numbers_whatever_the_jobs(self):
        one, two, four = (weft("sim", self.plan, "--csv", "-", "--jobs", jobs).stdout for jobs in "124")
        self.assertEqual(one, two)
        self.assertEqual(one, four)
        self.assertIn(",7,mac_gbps", weft("sim", self.plan, "--csv", "-", "--seed", "7").stdout)

    def test_files_are_written_where_they_are_wanted(self):
        page, points = f"{self.folder.name}/a/b", f"{self.folder.name}/points.csv"
        done = weft("sim", self.plan, "--report", page, "--csv", points)
        self.assertIn(f"{page}/index.html", done.stderr)
        with open(f"{page}/index.html", encoding="utf-8") as file:
            self.assertIn("My card", file.read())
        with open(points, encoding="utf-8") as file:
            self.assertEqual(file.read(), weft("sim", self.plan, "--csv", "-").stdout)
        done = weft("sim", self.plan, "--csv", f"{self.folder.name}/no/points.csv")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write", done.stderr)

    def refused(self, *arguments, says):
        done = weft(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
        self.assertIn(says, done.stderr)

    def test_what_makes_no_sense_is_refused_with_its_place(self):
        self.write(self.plan, self.PLAN.replace("messages", "mesages"))
        self.refused("sim", self.plan, says=f"{self.plan}:6:1: there is no setting 'mesages'. Did you mean 'messages'?")
        self.write(self.plan, "[[[[")
        self.refused("sim", self.plan, says=f"{self.plan}:1:3: ")
        self.write(self.plan, self.PLAN)
        self.write(self.card, self.CARD + "clock = 300\n")
        self.refused("sim", self.plan, says=f"{self.card}:4:1: ")
        self.refused("sim", f"{self.folder.name}/none.toml", says="none.toml: No such file")
        self.refused("sim", self.folder.name, says="is a folder")
        self.refused("sim", says="PLAN")
        self.refused("reproduce", "srnic-header", "--seed", "x", says="--seed: 'x' is not a whole number")
        self.refused("reproduce", "srnic-header", "--jobs", "0", says="--jobs: '0'")
        self.refused("reproduce", "srnic-header", "--profiles", "/none", says="/none")
        self.refused("reproduce", "srnic-header", "--all", says="either --all or some")
        self.refused("profiles", "srnick", says="Did you mean 'srnic'?")

    def test_profiles_are_listed_with_their_sources(self):
        names = {p["name"] for p in json.loads(weft("profiles", "--json").stdout)}
        self.assertLessEqual({"srnic", "connectx3", "connectx5", "connectx6", "irn", "star-fpga", "strom-10g",
                              "strom-100g", "ideal"}, names)
        self.assertRegex(weft("profiles", "srnic").stdout, r"(?m)^  clock +300 MHz  SRNIC, section")
        mine = json.loads(weft("profiles", self.card, "--json").stdout)
        changed = [p for p in mine["parameters"] if p["profile"] == "card"]
        self.assertEqual([(p["key"], p["value"], p["assumed"]) for p in changed], [("works_per_turn", "4", "to see")])
        self.assertIn("card", weft("profiles", "--profiles", self.folder.name.rstrip("/") + "/card.toml").stdout)

    def test_a_profile_that_replaces_nothing_is_told_of(self):
        done = weft("reproduce", "srnic-fig10b", "--quick", "--seeds", "1", "--profiles", self.card)
        self.assertIn(f"--profiles {self.card}: nothing here is replaced by it; used are connectx6, srnic", done.stderr)
        own = f"{self.folder.name}/srnic.toml"
        self.write(own, 'extends = "connectx6"\ntitle = "Mine"\nsram_bytes = { value = 0, assumed = "no limit" }\n')
        done = weft("reproduce", "srnic-fig10b", "--quick", "--seeds", "1", "--profiles", own)
        self.assertEqual(done.stderr, "")
        self.assertIn("Mine", done.stdout)

    def test_experiments_are_listed(self):
        text = weft("reproduce", "--list").stdout
        for known in ["srnic-fig2", "srnic-table1", "star-fig1", "srnic-partition"]:
            self.assertIn(known, text)

    def test_what_sensitivity_would_ignore_is_refused(self):
        self.refused("reproduce", "srnic-fig10b", "--sensitivity", "--csv=x.csv", says="--sensitivity")

    def test_sensitivity_judges_by_as_many_seeds_as_verdicts(self):
        for more, seeds in [([], 3), (["--seeds", "2"], 2)]:
            done = weft("reproduce", "srnic-fig10b", "--quick", "--sensitivity", "--json", *more)
            self.assertEqual({r["seeds"] for r in json.loads(done.stdout)}, {seeds}, done.stderr)
        self.refused("reproduce", "srnic-fig10b", "--sensitivity", "--seeds", "0", says="--seeds")

    def test_claims_that_nothing_measures_are_absent_and_say_why(self):
        text = weft("reproduce", "--list").stdout
        absent = ["srnic-fig12", "azure-fmr", "azure-rtt"]
        for claim in absent:
            self.assertRegex(text, rf"(?m)^  {claim} .*\n +absent: [a-z]")
        done = weft("reproduce", *absent, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(c["id"], c["verdict"]) for c in json.loads(done.stdout)], [(a, "absent") for a in absent])

    def test_the_sample_plan_of_the_docs_does_what_they_say(self):
        with open(EXPERIMENTS_PAGE, encoding="utf-8") as file:
            page = file.read()
        plan = page[page.index("```toml\n[experiment]") + len("```toml\n"):]
        self.write(f"{self.folder.name}/sample.toml", plan[:plan.index("```")])
        arrive = re.search(r"exits with 1, because ([\d.]+) Gb/s arrive", page)
        done = weft("sim", f"{self.folder.name}/sample.toml", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(f"{json.loads(done.stdout)[0]['measured']:.1f}", arrive[1])
        self.assertEqual(weft("sim", f"{self.folder.name}/sample.toml", "--quick").returncode, 0)

    def test_settings_and_metrics_are_listed(self):
        settings = weft("sim", "--settings").stdout
        self.assertRegex(settings, r"(?m)^  depth +1 to 32768 +16 +messages under way")
        self.assertRegex(settings, r"(?m)^  pcie.read_latency ")
        self.assertRegex(weft("sim", "--metrics").stdout, r"(?m)^  goodput_gbps +Gb/s ")

    def test_sensitivity_ranks_what_flips_a_verdict(self):
        done = weft("reproduce", "srnic-fig10b", "--quick", "--sensitivity", "--json", "--report", self.folder.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [r for r in json.loads(done.stdout) if r["row"] == "SRNIC"]
        self.assertTrue(rows[0]["flips"])
        self.assertEqual([(r["profile"], r["parameter"]) for r in rows[:3]], [
            ("srnic", "doorbell_carries_work"), ("srnic", "pcie.read_latency"), ("srnic", "pcie.read_latency")])
        with open(f"{self.folder.name}/sensitivity.html", encoding="utf-8") as file:
            self.assertIn("pcie.read_latency", file.read())
        self.assertEqual(weft("reproduce", "srnic-fig10b", "--quick", "--report", self.folder.name).returncode, 0)
        with open(f"{self.folder.name}/index.html", encoding="utf-8") as file:
            self.assertIn('href="sensitivity.html"', file.read())
        own = weft("reproduce", "srnic-fig10b", "--quick", "--sensitivity", "--range", "pcie.read_latency=1 us..1.2 us")
        self.assertNotIn("srnic pcie.read_latency                       880 ns", own.stdout)
        self.refused("reproduce", "srnic-fig10b", "--sensitivity", "--range", "pcie.lane=1..2", says="pcie.lanes")
        only = weft("reproduce", "srnic-fig10b", "--quick", "--sensitivity", "--json", "--only", "pcie.lanes")
        self.assertEqual({r["parameter"] for r in json.loads(only.stdout)}, {"pcie.lanes"})
        self.refused("reproduce", "srnic-fig10b", "--sensitivity", "--only", "pcie.lane", says="pcie.lanes")
        self.refused("reproduce", "srnic-fig10b", "--sensitivity", "--part", "200%", says="--part")

    def test_progress_is_for_terminals(self):
        main, terminal = pty.openpty()
        with subprocess.Popen([WEFT, "sim", self.plan], stdout=subprocess.DEVNULL, stderr=terminal):
            os.close(terminal)
            text = b""
            try:
                while chunk := os.read(main, 65536):
                    text += chunk
            except OSError:
                pass
        os.close(main)
        self.assertIn(b"0 of 4 runs", text)
        self.assertIn(b"4 of 4 runs, 0:00 left", text)
        self.assertTrue(text.endswith(b"\r\x1b[K"))  # nothing stays


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
