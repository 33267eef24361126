"""Programs that sleep, and programs that die: what they cost, what the other side hears, and what remains."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from stage import PATIENCE, Stage, free_port, main

TICKS = os.sysconf("SC_CLK_TCK")


def brokers(folder):
    """The brokers of this copy of Weft."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe").startswith(f"{folder}/bin/weft-broker"):
                found.append(int(entry.name))
        except OSError:
            continue  # it is gone, or a kernel thread
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Sleep(Stage):
    def costs_nothing(self, program):
        time.sleep(0.5)
        before = program.cpu_ticks()
        time.sleep(2)
        self.assertTrue(program.running(), program.story())
        self.assertLessEqual(program.cpu_ticks() - before, TICKS // 50, program.story())

    def test_a_program_that_does_not_care(self):
        self.finish(self.start("sleep", 1, address=self.address()))
        self.costs_nothing(self.start("sleep", 60, address=self.address()))

    def test_a_program_with_an_open_device(self):
        self.costs_nothing(self.start("ibv_asyncwatch", address=self.address()))

    def test_a_server_that_waits(self):
        port = free_port()
        server = self.start("ibv_rc_pingpong", "-g", 0, "-e", "-p", port, address=self.address())
        self.wait_for_port(server, port)
        self.costs_nothing(server)

    def test_a_listener(self):
        address = self.address()
        self.costs_nothing(self.start("rping", "-s", "-a", address, address=address))


class Death(Stage):
    def kill_one(self, *command, server_dies):
        """Starts a pair that would run for long, and kills a side. The other one."""
        here, there, port = self.address(), self.address(), free_port()
        server = self.start(*command, "-p", port, address=here)
        self.wait_for_port(server, port)
        client = self.start(*command, "-p", port, here, address=there)
        time.sleep(2)
        for program in (server, client):
            self.assertTrue(program.running(), server.story() + client.story())
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
        client = None
        for _ in range(10):
            time.sleep(0.3)
            client = self.start("rping", "-c", "-v", "-C", 100000000, "-a", here, address=there)
            time.sleep(1.5)
            if client.running():
                break
        self.assertTrue(client.running() and server.running(), client.story()[-2000:])
        client.end(signal.SIGKILL)
        self.assertIsNotNone(server.wait(), "the server waits for ever" + server.story()[-2000:])
        self.here, self.there = here, there
        self.works_again()

    def test_many_deaths_leave_room(self):
        address = self.address()
        for _ in range(20):
            watch = [self.start("ibv_rc_pingpong", "-g", 0, "-p", free_port(), address=address) for _ in range(4)]
            time.sleep(0.1)
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
            self.wait_until(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n", "it is what was started")
            tester.kill()
        self.wait_until(lambda: not alive(pid), "it has ended")

    def test_the_broker_goes_when_nobody_is_left(self):
        self.here, self.there = self.address(), self.address()
        self.works_again()
        limit = time.monotonic() + PATIENCE
        while brokers(self.folder) and time.monotonic() < limit:
            time.sleep(0.2)
        self.assertEqual(brokers(self.folder), [])


if __name__ == "__main__":
    main()
