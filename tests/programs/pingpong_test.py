"""The examples of libibverbs: what they show of the device, and their ping-pongs."""

import re
import signal

from stage import Stage, ended_well, free_port, main

GUID = re.compile(r"^ *weft0\s+[0-9a-f]{16}$", re.MULTILINE)


class Shown(Stage):
    def test_ibv_devices(self):
        self.assertRegex(self.finish(self.start("ibv_devices", address=self.address())), GUID)

    def test_ibv_devinfo(self):
        address = self.address()
        said = self.finish(self.start("ibv_devinfo", "-v", address=address))
        for name, value in (("hca_id", "weft0"), ("transport", r"InfiniBand \(0\)"), ("phys_port_cnt", "1"),
                            ("atomic_cap", r"ATOMIC_HCA \(1\)"), ("state", r"PORT_ACTIVE \(4\)"),
                            ("max_mtu", r"4096 \(5\)"), ("active_mtu", r"4096 \(5\)"), ("port_lid", "0"),
                            ("link_layer", "Ethernet"), ("max_msg_sz", "0x80000000"), ("pkey_tbl_len", "1"),
                            ("gid_tbl_len", "1"), ("phys_state", r"LINK_UP \(5\)"),
                            (r"GID\[  0\]", f"::ffff:{address}, RoCE v2")):
            self.assertRegex(said, re.compile(rf"^\s*{name}:\s+{value}\s*$", re.MULTILINE))
        for name in ("max_qp", "max_cq", "max_mr", "max_srq", "max_sge", "max_qp_rd_atom", "num_comp_vectors"):
            self.assertRegex(said, re.compile(rf"^\s*{name}:\s+[1-9]\d*$", re.MULTILINE))

    def test_several_addresses_are_several_gids(self):
        addresses = [self.address() for _ in range(3)]
        said = self.finish(self.start("ibv_devinfo", "-v", address=",".join(addresses)))
        for index, address in enumerate(addresses):
            self.assertIn(f"GID[  {index}]:\t\t::ffff:{address}, RoCE v2", said)

    def test_ibv_asyncwatch(self):
        watch = self.start("ibv_asyncwatch", address=self.address())
        self.wait_for_words(watch, "weft0: async event FD")
        self.wait_for_rest(watch)


def loses_at_most_its_peer(side):
    """Who has all leaves, and takes a last acknowledgement that was lost with it."""
    return ended_well(side) or "transport retry counter exceeded" in side.output()


class PingPong(Stage):
    def play(self, program, size, rounds, *more):
        if self.lossy:
            rounds //= 4
        with self.subTest(program=program, size=size, more=more):
            both = self.exchange(program, "-g", 0, "-s", size, "-n", rounds, *more,
                                 well=loses_at_most_its_peer if self.lossy else ended_well)
            ended = [said for said in both if "retry counter exceeded" not in said]
            self.assertTrue(ended, both)
            for said in ended:
                self.assertRegex(said, rf"(?m)^{2 * size * rounds} bytes in ")
                self.assertRegex(said, rf"(?m)^{rounds} iters in ")
                self.assertNotIn("invalid data", said)

    def test_reliable(self):
        for size, rounds, *more in ((1, 500), (4096, 500, "-e"), (100000, 100, "-m", 1024),
                                    (1 << 20, 20, "-e", "-m", 256)):
            self.play("ibv_rc_pingpong", size, rounds, "-c", *more)  # -c: every byte is looked at

    def test_reliable_other_ways(self):
        self.play("ibv_rc_pingpong", 4096, 200, "-c", "-N")  # posts through ibv_wr_*
        self.play("ibv_rc_pingpong", 4096, 200, "-c", "-t")  # completions with timestamps
        self.play("ibv_rc_pingpong", 4096, 200, "-c", "-o")  # memory registered on demand
        self.play("ibv_rc_pingpong", 4096, 200, "-c", "-j", "-N")  # device memory

    def test_shared_receive_queue(self):
        self.play("ibv_srq_pingpong", 4096, 1000, "-c", "-q", 16)
        self.play("ibv_srq_pingpong", 1000, 400, "-c", "-e", "-q", 3)

    def wait_for_ever(self, program):
        """A lost message is lost, on any card: both sides wait for it. All others have arrived, and none broke."""
        port, here = free_port(), self.address()
        command = (program, "-g", 0, "-s", 1000, "-n", 1000000, "-p", port)
        server = self.start(*command, address=here)
        self.wait_for_port(server, port)
        client = self.start(*command, here, address=self.address())
        found = self.come_to_rest(server, client)
        self.assertGreater(found["lost_on_purpose"], 0)
        self.assertEqual(found["sent_pkts"], found["rcvd_pkts"] + found["lost_on_purpose"], found)
        for side in (server, client):
            self.assertTrue(side.running(), side.story())
            side.end(signal.SIGTERM)

    def test_unreliable(self):
        if self.lossy:
            return self.wait_for_ever("ibv_uc_pingpong")
        for size, rounds, *more in ((64, 500), (4096, 300, "-e"), (20000, 100, "-m", 1024)):
            self.play("ibv_uc_pingpong", size, rounds, "-c", *more)

    def test_datagrams(self):
        if self.lossy:
            return self.wait_for_ever("ibv_ud_pingpong")
        for size, rounds, *more in ((64, 500), (2048, 300, "-e"), (4056, 100)):
            self.play("ibv_ud_pingpong", size, rounds, "-c", *more)


if __name__ == "__main__":
    main()
