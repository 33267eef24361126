"""weft-connections, a verbs program of ours, and `weft bench connections`, which runs it."""

import json
import shutil

from stage import Stage, main

SHORT = ("--rounds", 1, "--milliseconds", 20)


class Connections(Stage):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.folder / "bin/weft-connections"
        shutil.copy(cls.build / "bin/weft-connections", cls.program)

    def load(self, *words, flags=()):
        return self.start(self.program, *words, address=self.address(), flags=flags)

    def bench(self, *words):
        return self.start_plain(self.weft, "bench", "--addr", self.address(), "connections", *words)

    def test_every_wire_transport_and_verb(self):
        for wire in ("udp", "shm"):
            for transport in ("srnic", "roce"):
                for verb, size in (("send", 512), ("write", 65536)):
                    with self.subTest(wire=wire, transport=transport, verb=verb):
                        found = json.loads(self.finish(self.load(
                            "--qps", "1,8", "--depth", 4, "--verb", verb, "--bytes", size, "--no-idle", "--json",
                            *SHORT, flags=("--wire", wire, "--transport", transport))))
                        self.assertEqual((found["verb"], found["bytes"], found["depth"]), (verb, size, 4))
                        self.assertIsNone(found["idle_connection_bytes"])
                        self.assertEqual([p["queue_pairs"] for p in found["points"]], [1, 8])
                        for point in found["points"]:
                            self.check(point, size)

    def check(self, point, size):
        self.assertGreater(point["messages_per_second"], 0, point)
        self.assertAlmostEqual(point["gbits_per_second"], point["messages_per_second"] * size * 8 / 1e9, msg=point)
        self.assertGreaterEqual(point["p99_us"], point["median_us"], point)
        self.assertGreater(point["median_us"], 0, point)
        shares = point["least_share"], point["most_share"]
        if point["completed"] < 100 * point["queue_pairs"]:
            self.assertEqual(shares, (None, None), point)
        else:
            self.assertTrue(shares[0] <= 1 <= shares[1], point)

    def test_people_read_the_same_and_what_an_idle_one_takes(self):
        said = self.finish(self.load("--qps", "2,3", "--depth", 16, *SHORT))
        self.assertRegex(said, r"^SENDs of 512 bytes, 16 under way for each connection all the time; 1 round of")
        self.assertRegex(said, r"\n +2  +\d+ .*\n +3  +\d+ .*\nmemory of an idle connection: \d+ bytes on one side, ")

    def test_a_depth_beyond_one_list_of_requests(self):
        found = json.loads(self.finish(self.load("--qps", 3, "--depth", 129, "--no-idle", "--json", *SHORT)))
        self.assertGreater(found["points"][0]["completed"], 0)

    def test_what_makes_no_sense_is_refused(self):
        for words in (["--depth", 0], ["--depth", 1025], ["--qps", "1,x"], ["--qps"], ["--verb", "read"],
                      ["--bytes", 1048577], ["--rounds", 0], ["--nothing", 1]):
            program = self.start_plain(self.program, *words)
            self.assertEqual(program.wait(), 2, words)
            self.assertIn("usage: weft-connections ", program.output())

    def test_what_the_device_has_not_is_refused_once_and_in_words(self):
        for words, says in ((["--qps", 20000], "queue pairs (max_qp): 20000 are wanted, the device has 16384"),
                            (["--qps", 10000, "--depth", 1024], "(max_cqe): 10240000 are wanted, the device has ")):
            program = self.load(*words, "--no-idle")
            self.assertEqual(program.wait(), 1, program.story())
            self.assertEqual(program.output().count("weft-connections: "), 1, program.story())
            self.assertIn(says, program.output())

    def test_a_request_that_fails_ends_it_with_a_sentence(self):
        program = self.load("--qps", 1, "--depth", 1, "--no-idle", *SHORT, flags=("--wire", "udp", "--loss", "100%"))
        self.assertEqual(program.wait(), 1, program.story())
        self.assertIn("weft-connections: a SEND of connection 0 failed: transport retry counter exceeded\n",
                      program.output())

    def test_bench_has_a_row_for_each_point_and_verdicts(self):
        words = ("--qps", "1,4", "--depth", "2,128", "--verb", "send", "--wire", "shm,udp", *SHORT)
        bench = self.bench(*words, "--json")
        table = json.loads(self.finish(bench))
        self.assertEqual(len(table["rows"]), 2 * 2 * 2 * 2)  # wires, transports, depths, numbers of queue pairs
        for row in table["rows"]:
            self.assertEqual((row["failed"], row["failure"]), (0, ""), row)
            self.assertGreater(row["sent_packets"], 0, row)
            self.assertGreater(row["messages_per_second"], 0, row)
            self.assertLessEqual(row["of_best"], 1, row)
            self.assertEqual(row["of_roce"] is not None, row["transport"] == "srnic", row)
        self.assertEqual([row["loss"] for row in table["losses"]], ["0", "1%"])
        self.assertEqual({v["what"].split()[0] for v in table["verdicts"]}, {"sent", "srnic", "kept"})

    def test_a_point_that_cannot_run_says_so_in_its_row(self):
        words = ("--depth", 1, "--verb", "write", "--wire", "shm", "--transport", "roce", *SHORT)
        text = self.finish(self.bench("--qps", "1,20000", *words, "--report", self.folder / "page"))
        self.assertRegex(text, r"\nshm  roce      write     1      1 +\d+ ")
        self.assertRegex(text, r"\nshm  roce      write     1  20000 +- .*  failed: queue pairs \(max_qp\): 20000 are")
        rows = [line for line in text.split("\n") if not line.startswith("weft run") and "failed: " not in line]
        self.assertTrue(all(len(row) <= 120 for row in rows), rows)
        page = (self.folder / "page/connections.html").read_text()
        self.assertIn("64 KB WRITEs over shared memory", page)
        self.assertEqual(page.count('class="pt"'), 1)
        alone = self.bench("--qps", 20000, *words)
        self.assertEqual(alone.wait(), 1, alone.story())  # nothing ran

    def test_bench_refuses_what_it_does_not_have(self):
        for words in (["--verb", "read"], ["--wire", "tcp"], ["--transport", "auto"], ["--depth", 0], ["--qps", "1,x"],
                      ["--rounds", 0], ["--nothing"]):
            bench = self.bench(*words)
            self.assertEqual(bench.wait(), 2, bench.story())


if __name__ == "__main__":
    main()
