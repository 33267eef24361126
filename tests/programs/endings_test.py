"""Programs that sleep, and programs that die: what they cost, what the other side hears, and what remains."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from stage import Stage, brokers, free_port, main

TICKS = os.sysconf("SC_CLK_TCK")


def name_of(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Sleep(Stage):
    def costs_nothing(self, program):
        before = program.cpu_ticks()
        self.stays(lambda: program.running() and program.cpu_ticks() - before <= TICKS // 50, "it sleeps on", program,
                   seconds=2)

    def test_a_program_that_does_not_care(self):
        self.finish(self.start("sleep", 1, address=self.address()))
        program = self.start("sleep", 60, address=self.address())
        self.wait_until(lambda: name_of(program.pid) == "sleep", "it is what was started", program)
        self.wait_for_rest(program)
        self.costs_nothing(program)

    def test_a_program_with_an_open_device(self):
        program = self.start("ibv_asyncwatch", address=self.address())
        self.wait_for_words(program, "async event FD")
        self.wait_for_rest(program)
        self.costs_nothing(program)

    def test_a_server_that_waits(self):
        port = free_port()
        server = self.start("ibv_rc_pingpong", "-g", 0, "-e", "-p", port, address=self.address())
        self.wait_for_port(server, port)
        self.wait_for_rest(server)
        self.costs_nothing(server)

    def test_a_listener(self):
        address = self.address()
        server = self.start("rping", "-s", "-a", address, address=address)
        self.wait_until_it_listens(server)
        self.costs_nothing(server)


class Death(Stage):
    def kill_one(self, *command, server_dies):
        """Starts a pair that would run for long, and kills a side. The other one."""
        here, there, port = self.address(), self.address(), free_port()
        server = self.start(*command, "-p", port, address=here)
        self.wait_for_port(server, port)
        client = self.start(*command, "-p", port, here, address=there)
        self.wait_for_traffic(server, client)
        (server if server_dies else client).end(signal.SIGKILL)
        self.here, self.there = here, there
        return client if server_dies else server

    def works_again(self):
        for said in self.exchange("ibv_rc_pingpong", "-g", 0, "-c", "-n", 50, addresses=(self.here, self.there)):
            self.assertIn("50 iters in", said)

    def test_the_server_of_a_stream(self):
        survivor = self.kill_one("ib_send_bw", "-F", "-s", 4096, "-D", 120, server_dies=True)
        self.assertIsNotNone(survivor.wait(), survivor.story())
        self.assertIn("Completion with error", survivor.output())
        self.works_again()

    def test_the_target_of_writes(self):
        survivor = self.kill_one("ib_write_bw", "-F", "-s", 4096, "-D", 120, server_dies=True)
        self.assertIsNotNone(survivor.wait(), survivor.story())
        self.assertIn("Completion with error", survivor.output())
        self.works_again()

    def test_a_client_that_pings(self):
        here, there = self.address(), self.address()
        server = self.start("rping", "-s", "-v", "-a", here, address=here)
        self.wait_until_it_listens(server)
        client = self.start("rping", "-c", "-v", "-C", 100000000, "-a", here, address=there)
        self.wait_for_traffic(client, server)
        client.end(signal.SIGKILL)
        self.assertIsNotNone(server.wait(), "the server waits for ever" + server.story()[-2000:])
        self.here, self.there = here, there
        self.works_again()

    def test_many_deaths_leave_room(self):
        address = self.address()
        for _ in range(20):
            watch = [self.start("ibv_rc_pingpong", "-g", 0, "-p", free_port(), address=address) for _ in range(4)]
            self.wait_for_card(*watch)
            for program in watch:
                program.end(signal.SIGKILL)
        self.here, self.there = address, address
        self.works_again()

    def test_of_whoever_tests(self):
        """Servers of a test run that had been killed stayed behind, and the next run found their addresses in use."""
        code = ("import pathlib, stage; p = stage.Program(['sleep', '600'], pathlib.Path('said'));"
                "print(p.pid, flush=True); p.wait(600)")
        tester = subprocess.Popen([sys.executable, "-c", code], cwd=self.folder, stdout=subprocess.PIPE,
                                  env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)})
        with tester:
            pid = int(tester.stdout.readline())
            self.wait_until(lambda: name_of(pid) == "sleep", "it is what was started")
            tester.kill()
        self.wait_until(lambda: not alive(pid), "it has ended")

    def test_the_broker_goes_when_nobody_is_left(self):
        self.here, self.there = self.address(), self.address()
        self.works_again()
        self.wait_until(lambda: not brokers(self.folder), "the broker has ended")


if __name__ == "__main__":
    main()
