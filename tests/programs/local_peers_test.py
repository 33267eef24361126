"""Several programs on one address at once, and what can be asked about them."""

import json

from stage import Stage, free_port, main


class Neighbours(Stage):
    def test_four_pairs_on_one_address(self):
        address = self.address()
        pairs = []
        for command in (("ibv_rc_pingpong", "-g", 0, "-c", "-e", "-n", 300),
                        ("ib_write_bw", "-F", "-s", 4096, "-n", 200),
                        ("ib_send_bw", "-F", "-e", "-s", 4096, "-n", 200),
                        ("ib_read_lat", "-F", "-e", "-n", 100)):
            port = free_port()
            server = self.start(*command, "-p", port, address=address)
            self.wait_for_port(server, port)
            pairs.append((server, self.start(*command, "-p", port, address, address=address)))
        for server, client in pairs:
            self.finish(client, server)
            self.finish(server, client)

    def test_one_program_to_itself(self):
        address = self.address()
        self.finish(self.start("ucx_perftest", "-l", "-f", "-t", "tag_lat", "-n", 100, "-w", 10, address=address))

    def test_four_listeners_on_one_address(self):
        address = self.address()
        servers = {port: self.start("rping", "-s", "-a", address, "-p", port, address=address)
                   for port in range(7001, 7005)}
        for port, server in servers.items():
            said = self.ask(server, "rping", "-c", "-v", "-V", "-C", 10, "-a", address, "-p", port, address=address)
            self.assertEqual(said.count("ping data"), 10)
            self.finish(server)

    def test_programs_under_valgrind(self):
        """It has no epoll_pwait2 and no membarrier: the lane's thread once span there, and nothing arrived."""
        for said in self.exchange("valgrind", "--tool=none", "ibv_rc_pingpong", "-g", 0, "-e", "-c", "-n", 50):
            self.assertIn("50 iters in", said)

    def test_weft_memory_tells_what_a_running_program_takes(self):
        port = free_port()
        server = self.start("ibv_rc_pingpong", "-g", 0, "-p", port, address=self.address(), flags=("--max-qps", 100))
        self.wait_for_port(server, port)  # by now it has a queue pair, a region and a completion queue
        facts = json.loads(self.finish(self.start_plain(self.weft, "memory", "--json"), server))
        mine, = (p for p in facts["programs"] if p["process"] == server.pid)
        self.assertEqual((mine["queue_pairs"], mine["regions"], mine["windows"]), (1, 1, 0))
        self.assertEqual(mine["context_state_bytes"], facts["context_state_bytes"])
        self.assertEqual(mine["context_table_bytes"], 128 * 256)
        self.assertEqual(mine["registered_bytes"], 4096)  # the message of ibv_rc_pingpong
        self.assertGreater(mine["ring_bytes"], 500 * 32)  # and its 500 receives
        self.assertIn("ibv_rc_pingpong", self.finish(self.start_plain(self.weft, "memory"), server))


if __name__ == "__main__":
    main()
