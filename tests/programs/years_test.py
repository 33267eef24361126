"""Programs that have been running for years: their clock steps ahead, and packets are lost before and after that."""

import shutil

from perftest_stage import PerftestStage
from stage import free_port, main

STEPS = "200:110 700:90 1200:3650"  # milliseconds after the start, and days: 110 are more than 2^63 picoseconds


class Years(PerftestStage):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copy(cls.build / "lib/stepped_clock.so", cls.folder)
        cls.inside = ("env", f"LD_PRELOAD={cls.folder}/stepped_clock.so", f"STEPPED_CLOCK={STEPS}")

    def test_lost_packets_are_still_sent_again(self):
        """One message at a time, so that nothing but a timer tells that one is lost."""
        for wire in ("udp", "shm"):
            for transport in ("srnic", "roce"):
                with self.subTest(wire=wire, transport=transport):
                    flags = ("--wire", wire, "--transport", transport, "--loss", "1%", "--seed", 7)
                    self.exchange("ib_send_lat", "-F", "-D", 3, flags=flags)

    def test_star_outlives_two_clocks_that_step_at_different_times(self):
        """Each card reckons with the other's clock, and what it is told of it is worth nothing a moment later. While
        a clock steps nobody has been silent."""
        for role, other in (("stateless", "stateful"), ("stateful", "stateless")):
            for command in (("ib_send_lat", "-F", "-D", 3), ("ib_write_lat", "-F", "-D", 3)):
                with self.subTest(command=command, server=role):
                    port, here = free_port(), self.address()
                    server = self.start(*command, "-p", port, address=here,
                                        flags=("--transport", "star", "--role", role))
                    self.wait_for_port(server, port)
                    client = self.start(*command, "-p", port, here, address=self.address(),
                                        flags=("--transport", "star", "--role", other))
                    self.finish(client, server)
                    self.finish(server, client)

    def test_a_connection_manager_still_asks_again(self):
        self.exchange_by_cm("ib_send_lat", "-F", "-R", "-D", 3, flags=("--loss", "5%", "--seed", 7))


if __name__ == "__main__":
    main()
