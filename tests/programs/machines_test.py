"""Machines with a router between them, which takes less than they do: namespaces that the test makes."""

import os
import shutil
import subprocess
import unittest

from namespaces_test import IPV4_GID, IPV6_GID, ip
from perftest_test import counter, rows
from stage import ROOT, Stage, as_nobody_in, main, need

HERE, ROUTER, THERE = (f"weft-{name}{os.getpid()}" for name in "crd")
ADDRESSES = {HERE: ("10.78.0.1", "fd78::1"), THERE: ("10.78.1.1", "fd78:1::1")}
ROUTER_ADDRESSES = {HERE: ("10.78.0.2", "fd78::2"), THERE: ("10.78.1.2", "fd78:1::2")}
JUMBO, SMALL = 9000, 1500


def make_namespaces():
    for name in (HERE, ROUTER, THERE):
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    for name, device in ((HERE, "here"), (THERE, "there")):
        ip("link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", device, "netns", ROUTER)
        for where, link, addresses in ((name, "eth0", ADDRESSES), (ROUTER, device, ROUTER_ADDRESSES)):
            ip("-n", where, "address", "add", f"{addresses[name][0]}/24", "dev", link)
            ip("-n", where, "address", "add", f"{addresses[name][1]}/64", "dev", link, "nodad")
            ip("-n", where, "link", "set", link, "mtu", str(JUMBO), "up")
        for address in ROUTER_ADDRESSES[name]:
            ip("-n", name, "route", "add", "default", "via", address)
    for setting in ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"):
        ip("netns", "exec", ROUTER, "sysctl", "-qw", setting)


def narrow_the_way():
    """From now on the router sends nothing longer, and tells whoever sends it such."""
    for device, (v4, v6) in (("here", ("10.78.0.0/24", "fd78::/64")), ("there", ("10.78.1.0/24", "fd78:1::/64"))):
        for network in (v4, v6):
            ip("-n", ROUTER, "route", "delete", network, "dev", device)
            ip("-n", ROUTER, "route", "add", network, "dev", device, "mtu", "lock", str(SMALL))


def sent_datagrams(namespace):
    """By UDP, over IPv4 and IPv6. What the kernel takes apart later is one."""
    v4 = [line.split() for line in ip("netns", "exec", namespace, "cat", "/proc/net/snmp").stdout.splitlines()]
    names, values = [line for line in v4 if line[0] == "Udp:"]
    v6 = dict(line.split() for line in ip("netns", "exec", namespace, "cat", "/proc/net/snmp6").stdout.splitlines())
    return int(values[names.index("OutDatagrams")]) + int(v6["Udp6OutDatagrams"])


@unittest.skipUnless(ROOT and shutil.which("ip"), "making network namespaces needs root and iproute2")
class Machines(Stage):
    as_root = True  # to enter them; the programs themselves are nobody's

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in (HERE, ROUTER, THERE):
            cls.addClassCleanup(subprocess.run, ["ip", "netns", "delete", name], check=False, capture_output=True)
        try:
            make_namespaces()
        except subprocess.CalledProcessError as error:
            raise unittest.SkipTest(f"network namespaces cannot be made here: {error.stderr.strip()}")

    def across(self, *command, flags=()):
        """What both sides said."""
        server = self.start(*command, inside=as_nobody_in(HERE), flags=flags)
        self.wait_for_port(server, 18515)
        client = self.start(*command, ADDRESSES[HERE][0], inside=as_nobody_in(THERE), flags=flags)
        return self.finish(client, server), self.finish(server, client)

    def test_1_packets_that_leave_together_are_one_datagram(self):
        """Unless --merge off says otherwise; and the other side takes both."""
        for transport in ("roce", "srnic"):
            for gid in (IPV4_GID, IPV6_GID):
                datagrams = {}
                for merge in ("on", "off"):
                    with self.subTest(transport=transport, gid=gid, merge=merge):
                        before = sent_datagrams(THERE)
                        said = self.across("ib_write_bw", "-F", "-x", gid, "-s", 65536, "-n", 500,
                                           flags=("--transport", transport, "--merge", merge, "--stats"))
                        for one in said:
                            self.assertNotIn("rx_bad_icrc", one)
                            self.assertNotIn("sent_in_fragments", one)
                        self.assertRegex(said[0], r"Mtu\s+: 4096")  # jumbo frames are found, and used
                        datagrams[merge] = sent_datagrams(THERE) - before
                self.assertLess(5 * datagrams["on"], datagrams["off"])

    @need("tshark")
    def test_1_queue_pairs_are_spread_over_source_ports(self):
        """As whoever takes the packets from the wire sees them: here, in a capture of what arrives."""
        for version, gid in ((4, IPV4_GID), (6, IPV6_GID)):
            with self.subTest(version=version):
                capture = self.folder / f"arrives-{version}.pcapng"
                server = self.start("ib_send_bw", "-F", "-x", gid, "-s", 4096, "-n", 100, "-q", 16,
                                    inside=as_nobody_in(HERE), flags=("--pcap", capture))
                self.wait_for_port(server, 18515)
                client = self.start("ib_send_bw", "-F", "-x", gid, "-s", 4096, "-n", 100, "-q", 16, ADDRESSES[HERE][0],
                                    inside=as_nobody_in(THERE), flags=("--source-ports", 4))
                self.finish(client, server)
                self.finish(server, client)
                ports = subprocess.run(["tshark", "-r", capture, "-Y", "frame.packet_flags_direction == 1 && "
                                        "infiniband.bth.destqp > 1", "-T", "fields", "-e", "udp.srcport"],
                                       capture_output=True, text=True, check=True).stdout.split()
                self.assertEqual(len(set(ports)), 4)
                self.assertIn("4791", ports)

    def test_2_a_way_that_takes_less_is_found_out(self):
        narrow_the_way()
        for gid in (IPV4_GID, IPV6_GID):
            for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw"):
                with self.subTest(program=program, gid=gid):
                    for one in (said := self.across(program, "-F", "-x", gid, "-s", 65536, "-n", 100,
                                                    flags=("--stats",))):
                        self.assertNotIn("rx_bad_icrc", one)
                    self.assertGreater(rows(said[0])[65536][1], 0, said)
                    sender = said[1] if program == "ib_read_bw" else said[0]
                    self.assertIn(f"which takes {SMALL}: the kernel sends them in fragments", sender)
                    self.assertIn("a path MTU of 1024 would fit", sender)
                    self.assertGreater(counter("sent_in_fragments", sender), 0)
                with self.subTest(program=program, gid=gid, mtu=1024):
                    for one in self.across(program, "-F", "-x", gid, "-m", 1024, "-n", 100, flags=("--stats",)):
                        self.assertNotIn("sent_in_fragments", one)


if __name__ == "__main__":
    main()
