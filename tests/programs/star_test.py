"""Programs over StaR, where one side's card keeps no connection state: every operation, with either side stateless.

The server plays the role that the class says and the client the other one.
"""

import json
import re
import unittest

from namespaces_test import ADDRESSES, HERE, IPV4_GID, THERE, lay_a_wire
from perftest_test import counter, rows
from pingpong_test import loses_at_most_its_peer
from stage import ROOT, Stage, as_nobody_in, ended_well, free_port, main

OTHER = {"stateless": "stateful", "stateful": "stateless"}


def star(role):
    return ("--transport", "star", "--role", role)


class StarStage(Stage):
    def pair(self, command, port, serves, asks, flags=()):
        """A server and a client with these flags of `weft run`, which have begun."""
        here = self.address()
        server = self.start(*command, "-p", port, address=here, flags=(*flags, *serves))
        self.wait_for_port(server, port)
        return server, self.start(*command, "-p", port, here, address=self.address(), flags=(*flags, *asks))

    def exchange_as(self, role, *command, well=ended_well, flags=()):
        """What a server of this role and its client said, if both ended well."""
        server, client = self.pair(command, free_port(), star(role), star(OTHER[role]), flags)
        said = self.finish(client, server, well=well)
        return self.finish(server, client, well=well), said


class Operations(StarStage):
    def measure(self, program, size, rounds, *options):
        for role in OTHER:
            with self.subTest(program=program, options=options, server=role):
                _, said = self.exchange_as(role, program, "-F", "-s", size, "-n", rounds // 4 if self.lossy else rounds,
                                           *options)
                self.assertEqual(sorted(rows(said)), [size], said)

    def test_send(self):
        self.measure("ib_send_bw", 4096, 500)
        self.measure("ib_send_bw", 100001, 40, "-b")
        self.measure("ib_send_lat", 64, 200)

    def test_write(self):
        self.measure("ib_write_bw", 65536, 200, "-q", 4)
        self.measure("ib_write_lat", 1000, 200, "-I", 220)

    def test_read(self):
        self.measure("ib_read_bw", 65536, 100)
        self.measure("ib_read_lat", 4096, 100, "-e")

    def test_atomics(self):
        self.measure("ib_atomic_bw", 8, 300, "-A", "FETCH_AND_ADD")
        self.measure("ib_atomic_lat", 8, 100, "-A", "CMP_AND_SWAP")

    def test_every_byte_of_messages_that_go_to_and_fro(self):
        for role in OTHER:
            for size, rounds, *more in ((4096, 200), (100000, 40, "-e", "-m", 1024)):
                with self.subTest(size=size, server=role):
                    said = self.exchange_as(role, "ibv_rc_pingpong", "-g", 0, "-s", size, "-n", rounds, "-c", *more,
                                            well=loses_at_most_its_peer if self.lossy else ended_well)
                    for one in said:
                        self.assertNotIn("invalid data", one)
                    self.assertTrue(any(f"{rounds} iters in " in one for one in said), said)


class NotByRings(StarStage):
    def setUp(self):
        if "auto" in self.flags:
            self.skipTest("the runs over UDP, with and without loss, do this")


class OnceIsEnough(StarStage):
    def setUp(self):
        if self.lossy or "auto" in self.flags:
            self.skipTest("the run over UDP without loss does this")


class ConnectedByCm(NotByRings):
    def test_rping(self):
        for role in OTHER:
            with self.subTest(server=role):
                here = self.address()
                server = self.start("rping", "-s", "-a", here, "-C", 100, "-S", 1000, "-V", address=here,
                                    flags=star(role))
                self.wait_until_it_listens(server)
                self.ask(server, "rping", "-c", "-a", here, "-C", 100, "-S", 1000, "-V", address=self.address(),
                         flags=star(OTHER[role]))
                self.finish(server)


class ByAgreement(OnceIsEnough):
    def test_clients_that_were_told_nothing_keep_the_state_for_a_stateless_server(self):
        for command in (("ib_send_bw", "-F", "-n", 200, "-s", 4096), ("ib_read_bw", "-F", "-n", 50),
                        ("ib_atomic_bw", "-F", "-n", 50, "-q", 4)):
            with self.subTest(command=command):
                server, client = self.pair(command, free_port(), star("stateless"), ())
                self.finish(client, server)
                self.finish(server, client)

    def test_a_client_tells_which_role_it_has_taken(self):
        command = ("ib_write_bw", "-F", "-q", 3, "-D", 30, "-f", 0)
        server, client = self.pair(command, free_port(), star("stateless"), ())
        self.wait_for_traffic(server, client)
        stat = self.finish(self.start_plain(self.weft, "stat", "--json", "--qps"))
        qps = {lane["process"]: lane["qps"] for lane in json.loads(stat)}[client.pid]
        self.assertEqual([(qp["dialect"], qp["role"]) for qp in qps], 3 * [("star", "stateful")])


class ByLoad(NotByRings):
    """Nobody is told a role. A server with more connections than it keeps state for has its clients keep it."""

    def test_a_server_is_stateless_while_it_is_busy(self):
        """Its clients come one by one, and go. What rping sends all the while it compares, byte by byte."""
        here = self.address()
        forever = ("-C", 10 ** 9, "-S", 1000, "-V")
        server = self.start("rping", "-s", "-P", "-a", here, *forever, address=here, flags=("--stateless-beyond", 4))
        self.wait_until_it_listens(server)
        clients = []

        def come():
            clients.append(self.start("rping", "-c", "-a", here, *forever, address=self.address()))
            self.wait_for_traffic(server, clients[-1])

        def all_speak(of_server, of_clients):
            spoken = [self.spoken_by(program) for program in (server, *clients)]
            return spoken == [len(clients) * [of_server]] + len(clients) * [[of_clients]]

        def goes_on():
            before = [self.counters(client)["sent_pkts"] for client in clients]
            self.wait_until(lambda: all(self.counters(client)["sent_pkts"] >= n + 100
                                        for client, n in zip(clients, before)), "all go on", server, *clients)

        for _ in range(4):
            come()
            self.assertEqual(self.spoken_by(clients[-1]), [("srnic", None)])
        for _ in range(2):  # more than that, and all of them move
            come()
            self.assertEqual(self.spoken_by(clients[-1]), [("star", "stateful")], "it comes when the server is busy")
            self.wait_until(lambda: all_speak(("star", "stateless"), ("star", "stateful")),
                            "they that run have moved, too", server, *clients)
            goes_on()
        while len(clients) > 2:
            clients.pop().end()
        self.wait_until(lambda: all_speak(("srnic", None), ("srnic", None)), "they are back", server, *clients)
        goes_on()
        self.assertGreaterEqual(self.lanes(server)[0]["dialects"]["moves_made"], 4 + 2)
        for program in (*clients, server):
            self.assertIsNone(program.wait(0), program.story())

    def test_a_server_that_was_told_nothing_is_stateless_for_a_client_that_is_always_stateful(self):
        command = ("ib_send_bw", "-F", "-q", 3, "-D", 30)
        server, client = self.pair(command, free_port(), (), star("stateful"))
        self.wait_for_traffic(server, client)
        self.assertEqual(self.spoken_by(server), 3 * [("star", "stateless")])

    def spoken_by(self, program):
        stat = self.finish(self.start_plain(self.weft, "stat", "--json", "--qps"))
        qps = {lane["process"]: lane["qps"] for lane in json.loads(stat)}[program.pid]
        return [(qp["dialect"], qp.get("role")) for qp in qps]


@unittest.skipUnless(ROOT, "making network namespaces needs root")
class BetweenMachines(OnceIsEnough):
    """Two network namespaces have two brokers: roles are told over the wire."""
    as_root = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lay_a_wire(cls)

    def meet(self, serves, asks):
        command = ("ib_send_bw", "-F", "-s", 4096, "-n", 300, "-x", IPV4_GID)
        server = self.start(*command, flags=serves, inside=as_nobody_in(HERE))
        self.wait_for_port(server, 18515)
        return server, self.start(*command, ADDRESSES[4][0], flags=asks, inside=as_nobody_in(THERE))

    def test_programs_meet_in_their_roles(self):
        for serves, asks in ((star("stateless"), star("stateful")), (star("stateful"), star("stateless")),
                             (star("stateless"), ()), ((), star("stateful"))):
            with self.subTest(serves=serves, asks=asks):
                server, client = self.meet(serves, asks)
                self.finish(client, server)
                self.finish(server, client)

    def test_two_of_the_same_role_find_out(self):
        """At least one: the other's program may end because its peer has left, before it has found out as well."""
        server, client = self.meet(star("stateful"), star("stateful"))
        for program in (server, client):
            self.assertNotIn(program.wait(20), (None, 0), server.story() + client.story())
        self.assertRegex(server.output() + client.output(), "is stateful in StaR, and its peer, .* is not stateless")


class Shown(OnceIsEnough):
    """What tools tell of it."""

    def test_roles_are_told_while_programs_run(self):
        port = free_port()
        server, client = self.pair(("ib_send_bw", "-F", "-D", 30, "-f", 0), port, star("stateless"), star("stateful"))
        self.wait_for_traffic(server, client)
        stat = self.start_plain(self.weft, "stat", "--json", "--qps")
        lanes = {lane["process"]: lane for lane in json.loads(self.finish(stat))}
        for program, role in ((server, "stateless"), (client, "stateful")):
            lane = lanes[program.pid]
            self.assertEqual(lane["dialects"]["connections_star"], 1)
            self.assertEqual([(qp["dialect"], qp["role"]) for qp in lane["qps"]], [("star", role)])
            qpn = lane["qps"][0]["qpn"]
            story = self.finish(self.start_plain(self.weft, "explain", qpn))
            self.assertIn("in star", story)
            self.assertIn(f"StaR: {role}", story)
            self.assertRegex(story, "ago: RTR")
        devices = self.finish(self.start_plain(self.weft, "devices"))
        self.assertIn("StaR, stateless", devices)
        self.assertIn("StaR, stateful", devices)

    def test_the_stateless_card_keeps_nothing_however_many_connections(self):
        port, count = free_port(), 64
        command = ("ib_write_bw", "-F", "-q", count, "-D", 30, "-f", 0)
        server, client = self.pair(command, port, star("stateless"), star("stateful"))
        self.wait_for_traffic(server, client, packets=1000)
        memory = json.loads(self.finish(self.start_plain(self.weft, "memory", "--json")))
        held = {program["process"]: program for program in memory["programs"]}
        self.assertEqual(held[server.pid]["stateless_queue_pairs"], count)
        self.assertEqual(held[server.pid]["context_state_bytes"], 0)
        self.assertEqual(held[client.pid]["stateless_queue_pairs"], 0)
        self.assertGreaterEqual(held[client.pid]["context_state_bytes"], count * 200)

    def test_counters_name_it(self):
        _, said = self.exchange_as("stateless", "ib_write_bw", "-F", "-n", 100, flags=("--stats",))
        self.assertGreater(counter("acks_rcvd", said), 0, said)

    def test_a_capture_has_its_packets(self):
        capture = self.folder / "star.pcapng"
        self.exchange_as("stateless", "ib_write_bw", "-F", "-n", 20, "-s", 1024, flags=("--pcap", f"{capture}.%p"))
        data = b"".join(path.read_bytes() for path in self.folder.glob("star.pcapng.*"))
        self.assertIn((4795).to_bytes(2, "big"), data)
        self.assertIn((4796).to_bytes(2, "big"), data)


class Refused(OnceIsEnough):
    """What cannot be is said, in time."""

    def test_a_shared_receive_queue_of_the_stateless_side(self):
        program = self.start("ibv_srq_pingpong", "-g", 0, address=self.address(), flags=star("stateless"))
        self.finish(program, well=lambda p: p.wait() not in (None, 0))
        self.assertRegex(program.output(), "(?i)couldn't create (SRQ|QP)")

    def ends_without_a_partner(self, serves, asks):
        port = free_port()
        server, client = self.pair(("ib_send_bw", "-F", "-n", 100), port, serves, asks)
        for program in (server, client):
            code = program.wait(20)
            self.assertNotIn(code, (None, 0), server.story() + client.story())
        return server.output() + client.output()

    def test_two_of_the_same_role(self):
        for role in OTHER:
            with self.subTest(role=role):
                said = self.ends_without_a_partner(star(role), star(role))
                self.assertRegex(said, f"is {role} in StaR, and its peer, .* is not {OTHER[role]}")

    def test_a_peer_that_does_not_speak_it(self):
        port = free_port()
        server, client = self.pair(("ib_send_bw", "-F", "-u", 8, "-n", 100), port, ("--transport", "roce"),
                                   star("stateful"))
        self.finish(client, server, well=lambda p: p.wait(20) not in (None, 0))
        self.assertRegex(client.output(), "is stateful in StaR, and its peer, .* is not stateless")

    def test_a_role_without_star_and_star_without_a_role(self):
        for flags, words in ((("--transport", "star"), "needs a role"),
                             (("--role", "stateless"), "for transport star only"),
                             (("--transport", "star", "--role", "both"), "none of stateless, stateful")):
            program = self.start("ibv_devices", flags=flags)
            self.assertEqual(program.wait(), 2, program.story())
            self.assertRegex(program.output(), re.escape(words))


if __name__ == "__main__":
    main()
