"""UCX: over reliable connections, and over datagrams, which it makes reliable itself."""

from stage import Stage, main


class Ucx(Stage):
    def measure(self, transport, test, size, rounds, *more):
        if self.lossy:
            rounds //= 20  # it waits long for what is lost
        with self.subTest(transport=transport, test=test, size=size):
            _, said = self.exchange("env", f"UCX_TLS={transport},self", "UCX_NET_DEVICES=weft0:1", "ucx_perftest", "-f",
                                    "-t", test, "-s", size, "-n", rounds, "-w", 5, *more)
            figures = [line for line in said.splitlines() if line and line.split()[0] == str(rounds)]
            self.assertEqual(len(figures), 1, said)
            self.assertGreater(float(figures[0].split()[1]), 0, said)

    def test_reliable_connections(self):
        for test, size, rounds in (("tag_lat", 8, 1000), ("tag_lat", 10000, 300), ("tag_bw", 8192, 1000),
                                   ("tag_bw", 1 << 20, 50), ("ucp_put_lat", 8, 500), ("ucp_put_bw", 65536, 300),
                                   ("ucp_get", 65536, 200), ("ucp_fadd", 8, 500), ("ucp_cswap", 8, 500),
                                   ("stream_bw", 4096, 500), ("ucp_am_lat", 1000, 500)):
            self.measure("rc_v", test, size, rounds)

    def test_datagrams(self):
        for test, size, rounds in (("tag_lat", 8, 1000), ("tag_bw", 8192, 500), ("ucp_get", 4096, 200)):
            self.measure("ud_v", test, size, rounds)

    def test_large_datagrams(self):
        for test, size, rounds in (("tag_lat", 10000, 300), ("tag_bw", 1 << 20, 20), ("ucp_put_bw", 65536, 50)):
            self.measure("ud_v", test, size, rounds)


if __name__ == "__main__":
    main()
