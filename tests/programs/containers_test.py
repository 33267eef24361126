"""What containers are made of: namespaces of all kinds, no rights, nothing in common (docs/containers.md)."""

import os
import shutil
import subprocess
import unittest

from namespaces_test import ip
from perftest_test import rows
from stage import ROOT, Stage, main

BRIDGE, ONE, TWO = (f"weft-{name}{os.getpid()}" for name in ("br", "p", "q"))
ADDRESSES = {ONE: "10.79.0.2", TWO: "10.79.0.3"}


ROOTLESS = """
set -e
mount -t tmpfs tmpfs /run && mkdir /run/netns
mount -t tmpfs tmpfs /mnt && mkdir /mnt/weft && mount --bind "$0" /mnt/weft
mount -t tmpfs -o mode=1777 tmpfs /tmp && cd /
for name in one two; do
  ip netns add $name
  ip -n $name link set lo up
done
ip link add eth0 netns one type veth peer name eth0 netns two
ip -n one address add 10.80.0.1/24 dev eth0
ip -n two address add 10.80.0.2/24 dev eth0
ip -n one link set eth0 up
ip -n two link set eth0 up
nsenter --net=/run/netns/one /mnt/weft/bin/weft run -- ib_write_bw -F -n 300 >/dev/null &
until nsenter --net=/run/netns/one grep -q ':4853 [0-9A-F:]* 0A ' /proc/net/tcp; do sleep 0.05; done
nsenter --net=/run/netns/two /mnt/weft/bin/weft run -- ib_write_bw -F -n 300 10.80.0.1
wait $!
"""


def container(network, shared_tmp=None):
    """Words before a command: process 1 of namespaces of its own, a user without rights, and its own /tmp and /run."""
    tmp = f"mount --bind {shared_tmp} /tmp" if shared_tmp else "mount -t tmpfs -o mode=1777 tmpfs /tmp"
    # The checkout may be below /tmp: it stays where it is seen.
    script = ("mkdir -p /mnt && mount -t tmpfs tmpfs /mnt && mkdir /mnt/weft && mount --bind \"$0\" /mnt/weft && "
              f"mount -t tmpfs tmpfs /run && {tmp} && cd / && shift 0 && exec setpriv --reuid=nobody --regid=nogroup "
              "--clear-groups --bounding-set=-all --no-new-privs \"$@\"")
    return ("ip", "netns", "exec", network, "unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child",
            "--mount-proc", "sh", "-c", script)


@unittest.skipUnless(ROOT and shutil.which("ip"), "making namespaces needs root and iproute2")
class Containers(Stage):
    as_root = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in (BRIDGE, ONE, TWO):
            cls.addClassCleanup(subprocess.run, ["ip", "netns", "delete", name], check=False, capture_output=True)
        try:
            for name in (BRIDGE, ONE, TWO):
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            ip("-n", BRIDGE, "link", "add", "bridge", "type", "bridge")
            ip("-n", BRIDGE, "link", "set", "bridge", "up")
            for device, name in (("one", ONE), ("two", TWO)):
                ip("link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", device, "netns", BRIDGE)
                ip("-n", name, "address", "add", f"{ADDRESSES[name]}/24", "dev", "eth0")
                ip("-n", name, "link", "set", "eth0", "up")
                ip("-n", BRIDGE, "link", "set", device, "master", "bridge", "up")
        except subprocess.CalledProcessError as error:
            raise unittest.SkipTest(f"network namespaces cannot be made here: {error.stderr.strip()}")

    def start_in(self, network, *command, tmp=None):
        return self.start_plain(*container(network, tmp), self.folder, "/mnt/weft/bin/weft", "run", "--stats", "--",
                                *command)

    def test_two_containers_on_a_bridge(self):
        for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw"):
            with self.subTest(program=program):
                server = self.start_in(ONE, program, "-F", "-n", 300)
                self.wait_for_port_in(ONE, server)
                client = self.start_in(TWO, program, "-F", "-n", 300, ADDRESSES[ONE])
                said = self.finish(client, server)
                self.finish(server, client)
                self.assertGreater(rows(said)[65536][1], 0, said)
                self.assertIn("system_calls_to_send", said)  # they went by UDP

    def test_a_pod_with_a_folder_in_common(self):
        """Two of one network namespace: they share memory."""
        tmp = self.folder / "pod"
        tmp.mkdir()
        tmp.chmod(0o1777)
        server = self.start_in(ONE, "ib_write_bw", "-F", "-n", 300, tmp=tmp)
        self.wait_for_port_in(ONE, server)
        client = self.start_in(ONE, "ib_write_bw", "-F", "-n", 300, ADDRESSES[ONE], tmp=tmp)
        said = self.finish(client, server)
        self.finish(server, client)
        self.assertNotIn("system_calls_to_send", said)

    def test_a_pod_with_nothing_in_common_is_told_why(self):
        server = self.start_in(TWO, "ibv_rc_pingpong", "-g", 0, "-p", 18515)  # it has the port before it listens
        self.wait_for_port_in(TWO, server)
        client = self.start_in(TWO, "ibv_rc_pingpong", "-g", 0, "-p", 18515, ADDRESSES[TWO])
        said = self.finish(client, server, well=lambda p: p.wait() not in (None, 0))
        self.assertIn("UDP port 4791 of 10.79.0.3 is taken", said)
        self.assertIn("of another container", said)
        server.end()

    def test_rootless(self):
        """A user without rights makes a user namespace, and in it two machines, as rootless Podman does."""
        program = self.start_plain("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "unshare",
                                   "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child",
                                   "--mount-proc", "bash", "-c", ROOTLESS, self.folder)
        said = self.finish(program)
        self.assertGreater(rows(said)[65536][1], 0, said)

    def wait_for_port_in(self, network, server):
        def open_there():
            table = ip("netns", "exec", network, "cat", "/proc/net/tcp").stdout
            return any(row.split()[1].endswith(":4853") and row.split()[3] == "0A" for row in table.splitlines()[1:])
        self.wait_until(open_there, "port 18515 is open", server)


if __name__ == "__main__":
    main()
