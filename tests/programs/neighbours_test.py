"""Several programs on one address at once."""

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


if __name__ == "__main__":
    main()
