"""The examples of librdmacm: programs that find each other by address and port, as sockets do."""

from stage import Stage, main


class ByAddress(Stage):
    def test_rping(self):
        rounds = 20 if self.lossy else 200
        for size in (64, 4096, 60000):
            with self.subTest(size=size):
                options = ("rping", "-v", "-V", "-C", rounds, "-S", size)
                served, said = self.exchange_by_cm(*options, server=("-s", "-a", "{server}"),
                                                   client=("-c", "-a", "{server}"))
                self.assertEqual(said.count("ping data: rdma-ping-"), rounds, said)
                self.assertEqual(served.count("server ping data: rdma-ping-"), rounds, served)
                self.assertNotIn("mismatch", served + said)

    def test_rping_with_a_server_that_stays(self):
        here = self.address()
        server = self.start("rping", "-s", "-P", "-a", here, address=here)
        for _ in range(3):
            said = self.ask(server, "rping", "-c", "-v", "-V", "-C", 5, "-a", here, address=self.address())
            self.assertEqual(said.count("ping data: rdma-ping-"), 5)
        self.assertTrue(server.running(), server.story())

    def test_ucmatose(self):
        for size, count, connections, *more in ((100, 10, 1), (10000, 20, 8), (1000, 10, 3, "-t", 2)):
            with self.subTest(size=size, connections=connections):
                options = ("ucmatose", "-S", size, "-C", count, "-c", connections, *more)
                served, said = self.exchange_by_cm(*options, server=("-b", "{server}"), client=("-s", "{server}"))
                for output in (served, said):
                    self.assertIn("data transfers complete", output)
                    self.assertIn("test complete", output)
                    self.assertIn("return status 0", output)

    def test_udaddy(self):
        if self.lossy:
            return self.meet_for_datagrams()
        for size, count, connections in ((100, 10, 1), (1000, 20, 8)):
            with self.subTest(size=size, connections=connections):
                options = ("udaddy", "-S", size, "-C", count, "-c", connections)
                served, said = self.exchange_by_cm(*options, server=("-b", "{server}"), client=("-s", "{server}"))
                for output in (served, said):
                    self.assertIn("data transfers complete", output)
                    self.assertIn("return status 0", output)

    def meet_for_datagrams(self):
        """All connections come about, whatever is lost of the asking. What is lost of the data, udaddy waits for."""
        options, here = ("udaddy", "-S", 100, "-C", 10, "-c", 8), self.address()
        server = self.start(*options, "-b", here, address=here, flags=("--drop-nth", "2,4,50"))
        self.wait_until_it_listens(server)
        client = self.start(*options, "-s", here, address=self.address(), flags=("--drop-nth", "1,3,5,6,70"))
        found = self.come_to_rest(server, client)
        self.assertGreaterEqual(found["sent_pkts"], 80)  # its client sends when all 8 are there
        self.assertLessEqual(found["sent_pkts"] - found["rcvd_pkts"], found["lost_on_purpose"])

    def test_rdma_client_and_rdma_server(self):
        for output in self.exchange_by_cm(server=("rdma_server", "-s", "{server}"),
                                          client=("rdma_client", "-s", "{server}")):
            self.assertIn("end 0", output)

    def test_cmtime(self):
        here = self.address()
        server = self.start("cmtime", "-b", here, address=here)
        said = self.ask(server, "cmtime", "-s", here, "-c", 5 if self.lossy else 50, address=self.address())
        self.assertRegex(said, r"(?m)^connect +:")
        self.assertTrue(server.running(), server.story())


if __name__ == "__main__":
    main()
