"""Through a bottleneck between two machines: it limits, delays and loses, in user space (bottleneck.cc).

With the usual settings, whose widest window is wider than this way and its buffer together: one flow fills the way,
eight programs have equal shares of it, and loss does not stop a flow. docs/performance.md has what is wanted.
"""

import os
import shutil
import subprocess
import time
import unittest

from namespaces_test import ip
from stage import ROOT, Stage, as_nobody_in, main

HERE, THERE = f"weft-e{os.getpid()}", f"weft-f{os.getpid()}"
ADDRESSES = {HERE: "10.81.0.1", THERE: "10.81.0.2"}
RATE = 200  # Mb/s
DELAY = 5  # milliseconds each way
BUFFER = RATE * 1000 * 2 * DELAY // 8  # bytes: what is under way when the line is full
LONG = bool(os.environ.get("WEFT_LONG"))  # make soak
# What is left with 1 % loss, by delay: 0.8 is wanted, and met on a quiet machine and in the simulated world
# (tests/load/narrow_test.cc). Where programs share processors answers are late because of that, too. At 25 ms a
# window of 1024 packets, all that a connection may have under way, is less than the way holds: it stands still until
# what was lost has come.
KEPT = {0.5: 0.2, 5: 0.2, 25: 0.05} if LONG else {DELAY: 0.2}
SECONDS = 20 if LONG else 3  # in which is counted what arrives


def jain(shares):
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


@unittest.skipUnless(ROOT and shutil.which("ip") and os.path.exists("/dev/net/tun"),
                     "a bottleneck needs root, iproute2 and /dev/net/tun")
class Bottleneck(Stage):
    as_root = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in (HERE, THERE):
            cls.addClassCleanup(subprocess.run, ["ip", "netns", "delete", name], check=False, capture_output=True)
        try:
            for name in (HERE, THERE):
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            raise unittest.SkipTest(f"network namespaces cannot be made here: {error.stderr.strip()}")

    def through(self, delay=DELAY, loss=0):
        """A bottleneck; it ends with the test that wanted it, or with the next one."""
        neck = self.start_plain(self.build / "tests/bottleneck", *(f"/run/netns/{name}" for name in (HERE, THERE)),
                                RATE, delay, BUFFER, loss)
        self.wait_for_words(neck, "ready")
        for name in (HERE, THERE):
            ip("-n", name, "address", "add", f"{ADDRESSES[name]}/24", "dev", "neck")
            ip("-n", name, "link", "set", "neck", "txqueuelen", "10000", "mtu", "1500", "up")
        return neck

    def rates(self, count, settled):
        """So many programs at a time, a flow each: Mb/s of what each of them gets through when all have begun. Flows
        that have just begun find their shares first: it is counted anew until they have settled, five times at most."""
        options = ("-F", "-s", 65536, "-n", 1000000)
        ports = range(18600, 18600 + count)
        servers = [self.start("ib_write_bw", *options, "-p", port, inside=as_nobody_in(HERE)) for port in ports]
        for server, port in zip(servers, ports):
            self.wait_for_port(server, port)
        clients = [self.start("ib_write_bw", *options, "-p", port, ADDRESSES[HERE], inside=as_nobody_in(THERE))
                   for port in ports]
        self.wait_until(lambda: len(self.done(servers)) == count and min(self.done(servers)) > 2 * BUFFER,
                        "all have begun", *servers, *clients)
        for _ in range(5):
            begin, before = time.monotonic(), self.done(servers)
            self.stays(lambda: all(p.running() for p in (*servers, *clients)), "they run", seconds=SECONDS)
            after, took = self.done(servers), time.monotonic() - begin
            shares = [(now - then) * 8 / took / 1e6 for now, then in zip(after, before)]
            if settled(shares):
                break
        for program in (*clients, *servers):
            program.end()
        return shares

    def done(self, servers):
        """Bytes that each has received."""
        found = {lane["process"]: lane["counters"]["rcvd_bytes"] for lane in self.lanes(*servers)}
        return [found[server.pid] for server in servers if server.pid in found]

    def lanes(self, *programs):
        self.inside, before = as_nobody_in(HERE), self.inside
        try:
            return super().lanes(*programs)
        finally:
            self.inside = before

    def test_a_flow_fills_the_way_and_loss_does_not_stop_it(self):
        for delay, kept in KEPT.items():
            with self.subTest(delay=delay):
                neck = self.through(delay)
                lossless, = self.rates(1, lambda found: found[0] >= 0.7 * RATE)
                neck.end()
                neck = self.through(delay, loss=1)
                lossy, = self.rates(1, lambda found: found[0] >= kept * lossless)
                neck.end()
                self.assertGreaterEqual(lossless, 0.7 * RATE)
                self.assertGreaterEqual(lossy, kept * lossless)

    def test_programs_have_equal_shares(self):
        neck = self.through()
        shares = self.rates(8, lambda found: jain(found) >= 0.95 and sum(found) >= 0.7 * RATE)
        neck.end()
        self.assertGreaterEqual(jain(shares), 0.95, shares)
        self.assertGreaterEqual(sum(shares), 0.7 * RATE, shares)


if __name__ == "__main__":
    main()
