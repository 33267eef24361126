"""Two network namespaces with an Ethernet of MTU 1500 between them: two machines, as far as Weft can tell."""

import os
import shutil
import subprocess
import unittest

from perftest_test import rows
from stage import ROOT, Stage, as_nobody_in, main

HERE, THERE = f"weft-a{os.getpid()}", f"weft-b{os.getpid()}"
ADDRESSES = {4: ("10.77.0.1", "10.77.0.2"), 6: ("fd77::1", "fd77::2")}
IPV4_GID, IPV6_GID = 0, 1


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def lay_a_wire(cls):
    """For a class of tests, which is skipped where that cannot be done."""
    for name in (HERE, THERE):
        cls.addClassCleanup(subprocess.run, ["ip", "netns", "delete", name], check=False, capture_output=True)
    try:
        make_namespaces()
    except subprocess.CalledProcessError as error:
        raise unittest.SkipTest(f"network namespaces cannot be made here: {error.stderr.strip()}")


def make_namespaces():
    for name in (HERE, THERE):
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    ip("link", "add", "eth0", "netns", HERE, "type", "veth", "peer", "name", "eth0", "netns", THERE)
    for index, name in enumerate((HERE, THERE)):
        ip("-n", name, "address", "add", f"{ADDRESSES[4][index]}/24", "dev", "eth0")
        ip("-n", name, "address", "add", f"{ADDRESSES[6][index]}/64", "dev", "eth0", "nodad")
        ip("-n", name, "link", "set", "eth0", "mtu", "1500", "up")


@unittest.skipUnless(ROOT and shutil.which("ip"), "making network namespaces needs root and iproute2")
class Namespaces(Stage):
    as_root = True  # to enter them; the programs themselves are nobody's

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lay_a_wire(cls)

    def start_in(self, namespace, *command, flags=()):
        return self.start(*command, inside=as_nobody_in(namespace), flags=flags)

    def across(self, program, *options):
        with self.subTest(program=program, options=options):
            server = self.start_in(HERE, program, *options)
            self.wait_for_port(server, 18515)
            client = self.start_in(THERE, program, *options, ADDRESSES[4][0])  # for TCP; GIDs are apart from it
            said = self.finish(client, server)
            self.finish(server, client)
            return said

    def test_the_mtu_is_what_fits(self):
        said = self.finish(self.start_in(HERE, "ibv_devinfo", "-v"))
        self.assertRegex(said, r"active_mtu:\s+1024 \(3\)")
        self.assertRegex(said, r"GID\[  0\]:\s+::ffff:10\.77\.0\.1, RoCE v2")
        self.assertRegex(said, r"GID\[  1\]:\s+fd77::1, RoCE v2")

    def test_ping_pong(self):
        for gid in (IPV4_GID, IPV6_GID):
            self.across("ibv_rc_pingpong", "-g", gid, "-c", "-n", 300, "-s", 10000)
            self.across("ibv_ud_pingpong", "-g", gid, "-c", "-n", 300, "-s", 1000)

    def test_perftest(self):
        for gid in (IPV4_GID, IPV6_GID):
            for program in ("ib_send_bw", "ib_write_bw", "ib_read_bw"):
                said = self.across(program, "-F", "-x", gid, "-n", 200)
                self.assertGreater(rows(said)[65536][1], 0, said)
                self.assertRegex(said, r"Mtu\s+: 1024")

    def has_lines(self, version):
        """Are there sockets of port 4791 that hear one sender only? Such a one is connected."""
        table = ip("netns", "exec", HERE, "cat", "/proc/net/udp6" if version == 6 else "/proc/net/udp").stdout
        rows_of_it = [line.split() for line in table.splitlines()[1:]]
        return any(local.endswith(":12B7") and state == "01" for _, local, _, state, *_ in rows_of_it)

    def test_who_waits_for_messages_one_at_a_time_has_a_line(self):
        """Two programs of one machine, over UDP, by an address of a device other than the loopback one."""
        for version, gid in ((4, IPV4_GID), (6, IPV6_GID)):
            with self.subTest(version=version):
                command = ("ib_send_lat", "-F", "-x", gid, "-s", 64, "-n", 100000)
                server = self.start_in(HERE, *command, flags=("--wire", "udp"))
                self.wait_for_port(server, 18515)
                client = self.start_in(HERE, *command, ADDRESSES[4][0], flags=("--wire", "udp"))
                seen = False
                while client.running() and not seen:
                    seen = self.has_lines(version)
                self.assertTrue(seen)
                self.finish(client, server)
                self.finish(server, client)

    def test_rping(self):
        for version in (4, 6):
            with self.subTest(version=version):
                address = ADDRESSES[version][0]
                server = self.start_in(HERE, "rping", "-s", "-a", address)
                said = self.ask(server, "rping", "-c", "-v", "-V", "-C", 20, "-a", address, start=lambda *words:
                                self.start_in(THERE, *words))
                self.assertEqual(said.count("ping data"), 20)
                self.finish(server)

    def test_shared_memory_alone_does_not_reach_another_machine(self):
        """--wire shm refuses when a peer is named, and says why: by RC, by datagrams, by RDMA CM."""
        for command, what in ((("ib_write_bw", "-F"), "Failed to modify QP"),
                              (("ib_send_lat", "-F", "-c", "UD"), "Failed to create AH"),
                              (("rping", "-c", "-v", "-a"), "RDMA_CM_EVENT_ADDR_ERROR, error -113")):
            with self.subTest(program=command):
                server = self.start_in(HERE, *(("rping", "-s") if command[0] == "rping" else command))
                if command[0] != "rping":
                    self.wait_for_port(server, 18515)
                client = self.start_in(THERE, *command, ADDRESSES[4][0], flags=("--wire", "shm"))
                said = self.finish(client, server, well=lambda p: p.wait() not in (None, 0))
                self.assertIn("--wire shm does not reach 10.77.0.1", said)
                self.assertIn(what, said)
                server.end()

    def test_shared_memory_alone(self):
        """On one machine --wire shm is enough, and nothing but the asking of RDMA CM goes another way."""
        for command in (("ib_write_bw", "-F", "-n", 1000), ("ib_send_lat", "-F", "-c", "UD")):
            server = self.start_in(HERE, *command, flags=("--wire", "shm", "--stats"))
            self.wait_for_port(server, 18515)
            client = self.start_in(HERE, *command, ADDRESSES[4][0], flags=("--wire", "shm", "--stats"))
            for said in (self.finish(client, server), self.finish(server, client)):
                self.assertNotIn("system_calls_to_send", said)
        server = self.start_in(HERE, "rping", "-s", "-a", ADDRESSES[4][0], flags=("--wire", "shm"))
        self.ask(server, HERE, "rping", "-c", "-v", "-C", 10, "-a", ADDRESSES[4][0], start=self.start_in,
                 flags=("--wire", "shm"))
        self.finish(server)


if __name__ == "__main__":
    main()
