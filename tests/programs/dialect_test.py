"""What two programs' cards speak with each other, by what they were told with --transport; and what ECN does to it."""

import re
import struct
import unittest

from namespaces_test import ADDRESSES, HERE, THERE, IPV4_GID, lay_a_wire
from stage import ROOT, Stage, as_nobody_in, free_port, main

SRNIC, ROCE = range(0xC0, 0xDF), range(0x20)
HEADERS = 14 + 20 + 8  # Ethernet, IPv4, UDP
RC_WRITE = ("ib_write_bw", "-F", "-s", 4096, "-n", 2000)


def opcodes(capture):
    """Those of all packets in a pcapng file that are no management datagrams."""
    data, at, found = capture.read_bytes(), 0, set()
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:  # enhanced packet
            found.add(data[at + 28 + HEADERS])
        at += length
    return found - {0x64}


class Dialect(Stage):
    def speak(self, mine, theirs, *command, wire="udp", flags=()):
        """Runs a pair with these transports; what the client's card sent and received, and what both said."""
        here, there, port = self.address(), self.address(), free_port()
        capture = self.folder / f"dialect-{self.started}.pcapng"
        common = ("--wire", wire, *flags)
        server = self.start(*command, "-p", port, address=here, flags=(*common, "--transport", theirs))
        self.wait_for_port(server, port)
        client = self.start(*command, "-p", port, here, address=there,
                            flags=(*common, "--transport", mine, "--pcap", capture))
        said = self.finish(client, server)
        self.finish(server, client)
        return opcodes(capture), said, server.output()

    def test_weft_cards_speak_srnic_with_each_other(self):
        for wire in ("udp", "shm"):
            for mine, theirs in (("auto", "auto"), ("srnic", "srnic"), ("auto", "srnic"), ("srnic", "auto")):
                with self.subTest(wire=wire, mine=mine, theirs=theirs):
                    seen, _, _ = self.speak(mine, theirs, *RC_WRITE, wire=wire)
                    self.assertTrue(seen and all(o in SRNIC for o in seen), seen)

    def test_one_that_was_told_so_speaks_roce(self):
        for wire in ("udp", "shm"):
            for mine, theirs in (("roce", "roce"), ("auto", "roce"), ("roce", "auto")):
                with self.subTest(wire=wire, mine=mine, theirs=theirs):
                    seen, _, _ = self.speak(mine, theirs, *RC_WRITE, wire=wire)
                    self.assertTrue(seen and all(o in ROCE for o in seen), seen)

    def test_agree_though_packets_are_lost(self):
        for wire in ("udp", "shm"):
            for mine, theirs, spoken in (("auto", "auto", SRNIC), ("auto", "roce", ROCE), ("roce", "auto", ROCE)):
                with self.subTest(wire=wire, mine=mine, theirs=theirs):
                    seen, _, _ = self.speak(mine, theirs, "ib_send_bw", "-F", "-s", 4096, "-n", 500, wire=wire,
                                            flags=("--loss", "10%"))
                    self.assertTrue(seen and all(o in spoken for o in seen), seen)

    def test_told_to_speak_what_the_peer_does_not_ends_in_an_error(self):
        here, there, port = self.address(), self.address(), free_port()
        command = ("ib_write_bw", "-F", "-u", 8, "-n", 5, "-p", port)
        server = self.start(*command, address=here, flags=("--transport", "roce"))
        self.wait_for_port(server, port)
        client = self.start(*command, here, address=there, flags=("--transport", "srnic", "--stats"))
        self.finish(client, server, well=lambda p: p.wait() not in (None, 0))
        self.assertIn("status 12", client.output().lower().replace("syndrom", "status"))  # retries exceeded

    # What marks do to the window is the simulated world's to show, where time is exact (tests/srnic).
    def test_marks_arrive_if_it_listens_to_them(self):
        def marked(*flags):
            _, _, theirs = self.speak("srnic", "srnic", "ib_write_bw", "-F", "-s", 4096, "-n", 2000,
                                      flags=("--stats", *flags))
            found = re.search(r"ecn_marked_pkts +(\d+)", theirs)
            return int(found.group(1)) if found else 0

        self.assertEqual(marked("--cc", "dctcp"), 0)
        self.assertGreater(marked("--cc", "dctcp", "--ecn", "100%"), 1000)
        self.assertEqual(marked("--cc", "none", "--ecn", "100%"), 0)


@unittest.skipUnless(ROOT, "making network namespaces needs root")
class DialectBetweenMachines(Stage):
    """Two network namespaces have two brokers: questions and answers travel over the wire."""
    as_root = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lay_a_wire(cls)

    def speak(self, mine, theirs, *flags, messages=300):
        capture = self.folder / f"dialect-{self.started}.pcapng"
        command = ("ib_send_bw", "-F", "-s", 4096, "-n", messages, "-x", IPV4_GID)
        server = self.start(*command, flags=("--transport", theirs, *flags), inside=as_nobody_in(HERE))
        self.wait_for_port(server, 18515)
        client = self.start(*command, ADDRESSES[4][0], inside=as_nobody_in(THERE),
                            flags=("--transport", mine, "--pcap", capture, *flags))
        self.finish(client, server)
        self.finish(server, client)
        return opcodes(capture)

    def test_the_cards_ask_each_other(self):
        for mine, theirs, spoken in (("auto", "auto", SRNIC), ("auto", "srnic", SRNIC), ("srnic", "auto", SRNIC),
                                     ("auto", "roce", ROCE), ("roce", "auto", ROCE)):
            with self.subTest(mine=mine, theirs=theirs):
                seen = self.speak(mine, theirs)
                self.assertTrue(seen and all(o in spoken for o in seen), seen)

    def test_they_agree_though_a_third_of_the_questions_is_lost(self):
        """A few messages: of what comes later a third is lost, too, and eight tries in a row may fail."""
        for seed in range(1, 6):
            with self.subTest(seed=seed):
                self.speak("auto", "auto", "--loss", "30%", "--seed", seed, messages=10)


if __name__ == "__main__":
    main()
