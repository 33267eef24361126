"""Somebody kills the broker: those that it had replace it. In a network namespace, where no other test has the same."""

import json
import os
import shutil
import signal
import unittest
from pathlib import Path

from namespaces_test import HERE, lay_a_wire
from stage import PATIENCE, ROOT, Stage, as_nobody_in, brokers, free_port, main, sleeps

INSIDE = as_nobody_in(HERE)


def comm(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()


@unittest.skipUnless(ROOT and shutil.which("ip"), "making network namespaces needs root and iproute2")
class KilledBroker(Stage):
    as_root = True  # to enter it; the programs themselves are nobody's
    inside = INSIDE

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lay_a_wire(cls)

    def kill_broker(self):
        (old,) = brokers(self.folder)
        os.kill(old, signal.SIGKILL)

    def meet(self, *addresses):
        for said in self.exchange("ibv_rc_pingpong", "-g", 0, "-c", "-n", 50, addresses=addresses):
            self.assertIn("50 iters in", said)

    def end_stream(self, writer):
        """perftest measures between alarms, and takes any for its own: with each its time is over sooner."""
        def ended():
            os.kill(writer.pid, signal.SIGALRM)
            return not writer.running()

        self.wait_until(ended, "the stream has ended")

    def test_is_replaced_by_its_programs(self):
        """What runs goes on and can be reached, and newcomers join: at once, and on the same addresses."""
        for wire in ("udp", "auto"):
            with self.subTest(wire=wire):
                here, there, port = self.address(), self.address(), free_port()
                flags = ("--wire", wire)
                stream = ("ib_write_bw", "-F", "-s", 4096, "-D", 10 * PATIENCE, "-f", 0, "-p", port)
                target = self.start(*stream, address=here, flags=flags)
                self.wait_for_port(target, port)
                writer = self.start(*stream, here, address=there, flags=flags)
                listener = self.start("rping", "-s", "-a", here, address=here, flags=flags)
                self.wait_until_it_listens(listener)
                self.wait_for_traffic(writer)
                self.kill_broker()
                self.meet(here, there)
                self.ask(listener, "rping", "-c", "-v", "-C", 10, "-a", here, address=there)
                self.finish(listener)
                for program in (writer, target):  # all that was while they were busy
                    self.assertTrue(program.running(), program.story())
                self.end_stream(writer)
                self.finish(writer, target)
                self.finish(target, writer)
                self.assertEqual(len(brokers(self.folder)), 1)

    def test_killed_again_and_again(self):
        here = self.address()
        listener = self.start("rping", "-s", "-P", "-a", here, address=here)
        self.wait_until_it_listens(listener)
        for _ in range(5):
            self.kill_broker()
            self.ask(listener, "rping", "-c", "-v", "-C", 3, "-a", here, address=here)
        self.assertTrue(listener.running(), listener.story())
        self.assertIn("rping", self.finish(self.start_plain(*INSIDE, self.weft, "devices"), listener))

    def test_who_asks_for_counters_hears_them_from_the_next_broker(self):
        """weft stat asked a broker that was killed before it had answered, and said that no program runs."""
        here = self.address()
        listener = self.start("rping", "-s", "-P", "-a", here, address=here)
        self.wait_until_it_listens(listener)
        (old,) = brokers(self.folder)
        os.kill(old, signal.SIGSTOP)  # it takes no questions
        stat = self.start_plain(*INSIDE, self.weft, "stat", "--json")
        self.wait_until(lambda: comm(stat.pid) == "weft" and sleeps(stat.pid), "weft stat waits for an answer", stat)
        self.kill_broker()
        lanes = json.loads(self.finish(stat, listener))
        self.assertEqual([lane["process"] for lane in lanes], [listener.pid])

    def test_a_program_that_is_stopped_has_its_address_until_it_goes_on(self):
        here = self.address()
        listener = self.start("rping", "-s", "-P", "-a", here, address=here)
        self.wait_until_it_listens(listener)
        os.kill(listener.pid, signal.SIGSTOP)
        self.kill_broker()
        refused = self.start("ibv_rc_pingpong", "-g", 0, "-p", free_port(), address=here)
        self.finish(refused, listener, well=lambda p: p.wait() not in (None, 0))
        self.assertIn("broker was killed", refused.output())
        os.kill(listener.pid, signal.SIGCONT)
        self.ask(listener, "rping", "-c", "-v", "-C", 3, "-a", here, address=self.address())
        self.meet(here, here)


if __name__ == "__main__":
    main()
