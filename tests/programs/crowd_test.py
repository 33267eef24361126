"""A server with very many connections and a few client programs, whose card keeps no state; and `weft bench star`.

WEFT_CROWD is the number of connections: 10 000, unless said otherwise. `weft bench star` has 100 000.
"""

import json
import os
import shutil

from stage import Stage, main

CROWD = int(os.environ.get("WEFT_CROWD", "10000"))
CLIENTS = 4
ON_CARD = ("context_state_bytes", "context_table_bytes", "scheduler_bytes", "region_table_bytes", "queue_table_bytes",
           "cache_bytes", "recovery_bytes")
STATELESS = ("--transport", "star", "--role", "stateless")
AS_STATEFUL = ("--client-variable", "WEFT_ROLE=stateful")


class Crowd(Stage):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.folder / "bin/weft-connections"
        shutil.copy(cls.build / "bin/weft-connections", cls.program)

    def serve(self, count, *words, flags=STATELESS, clients=CLIENTS, milliseconds=20, verb="write"):
        variables = AS_STATEFUL if "stateless" in flags else ()
        return self.start(self.program, "--clients", clients, *variables, "--qps", count, "--depth", 16, "--verb", verb,
                          "--bytes", 64, "--rounds", 1, "--milliseconds", milliseconds, "--json", *words,
                          address=self.address(), flags=("--max-qps", 131072, *flags))

    def memory(self):
        """By process, what cards keep."""
        said = self.finish(self.start_plain(self.weft, "memory", "--json"))
        return {program["process"]: program for program in json.loads(said)["programs"]}

    def wait_for_connections(self, server, count):
        """Until the server's clients have written on each of them, and it has begun to."""
        self.wait_until(lambda: self.memory().get(server.pid, {}).get("queue_pairs") == count, "all are made", server)
        self.wait_for_traffic(server, packets=2 * count)
        return self.memory()

    def check_point(self, said, count):
        found = json.loads(said)
        self.assertEqual(found["clients"], min(CLIENTS, count))
        (point,) = found["points"]
        self.assertEqual(point["queue_pairs"], count)
        self.assertGreater(point["completed"], 0)

    def test_every_dialect_wire_and_verb(self):
        for wire in ("udp", "shm"):
            for flags in (STATELESS, ("--transport", "srnic"), ("--transport", "roce"), (*STATELESS, "--loss", "1%"),
                          (*STATELESS, "--capabilities", "off")):
                for verb in ("write", "read"):
                    with self.subTest(wire=wire, flags=flags, verb=verb):
                        self.check_point(self.finish(self.serve(30, flags=("--wire", wire, *flags), verb=verb)), 30)

    def test_a_stateless_cards_memory_is_what_it_was_however_many_there_are(self):
        kept = []
        for count in (1, CROWD):
            server = self.serve(count, milliseconds=3000)
            held = self.wait_for_connections(server, count)[server.pid]
            self.assertEqual((held["queue_pairs"], held["stateless_queue_pairs"]), (count, count))
            kept.append({name: held[name] for name in ON_CARD})
            self.check_point(self.finish(server), count)
        self.assertEqual(kept[0], kept[1])
        self.assertEqual(kept[1]["context_state_bytes"], 0)

    def test_a_card_that_trusts_its_peers_serves_as_many(self):
        """Bug: it looked through its whole table of regions for each packet, until its peers gave up."""
        self.check_point(self.finish(self.serve(CROWD, flags=(*STATELESS, "--capabilities", "off"))), CROWD)

    def test_a_busy_server_that_nobody_told_a_role_is_stateless(self):
        count, beyond = 400, 100
        server = self.serve(count, flags=("--stateless-beyond", beyond), milliseconds=3000)
        held = self.wait_for_connections(server, count)[server.pid]
        self.assertEqual(held["stateless_queue_pairs"], count, "it had all of them when it met the first client")
        self.check_point(self.finish(server), count)

    def test_bench_has_a_row_for_each_way_and_verdicts(self):
        bench = self.start_plain(self.weft, "bench", "--addr", self.address(), "star", "--qps", "1,20", "--rounds", 1,
                                 "--milliseconds", 20, "--clients", 2, "--json")
        table = json.loads(self.finish(bench))
        ways = ("roce", "srnic", "star", "star, trusting")
        self.assertEqual([(row["connections"], row["server"]) for row in table["rows"]],
                         [(n, way) for n in (1, 20) for way in ways])
        for row in table["rows"]:
            self.assertEqual((row["failed"], row["failure"]), (0, ""), row)
            self.assertGreater(row["messages_per_second"], 0, row)
            self.assertGreaterEqual(row["p99_us"], row["median_us"], row)
        self.assertEqual(len(table["verdicts"]), 2)

    def test_bench_refuses_what_it_does_not_have(self):
        for words in (["--verb", "send"], ["--wire", "tcp"], ["--qps", "0"], ["--clients", 65], ["--nothing"]):
            bench = self.start_plain(self.weft, "bench", "star", *words)
            self.assertEqual(bench.wait(), 2, bench.story())


if __name__ == "__main__":
    main()
