"""A stage for programs as Debian ships them: starts them under `weft run`, waits, and shows what a failed one said.

Tests derive from Stage. Usage of a file with tests: FILE BUILD BLOCK [FLAGS of weft run...]: the build tree, the number
of the addresses 127.20.BLOCK.x that belong to this run alone, and what every `weft run` here is given.
"""

import json
import os
import pwd
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

POLLED = os.sysconf("SC_CLK_TCK") // 5  # ticks, in which one that polls sees all that has come
PATIENCE = 120  # seconds: programs that poll are slow where others want the processors too
REJECTIONS = ("REJECTED", "UNREACHABLE", "CM event bl blka 8", "Connection refused")  # as programs have it
ROOT = os.geteuid() == 0
NOBODY = pwd.getpwnam("nobody") if ROOT else None


class Program:
    """A program under way, in a process group of its own. What it says goes to files: no pipe can fill up.

    It ends with whoever started it, even if that is killed: it would keep its addresses from the next run.
    """

    def __init__(self, command, said, user=None):
        self.command, self.said, self.began = [str(word) for word in command], said, time.monotonic()
        rights = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "LD_"))}
        with open(f"{said}.out", "wb") as out, open(f"{said}.err", "wb") as err:
            self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *self.command], stdout=out, stderr=err,
                                            stdin=subprocess.DEVNULL, cwd=said.parent, env=environment,
                                            start_new_session=True, **rights)

    @property
    def pid(self):
        return self.process.pid

    def output(self):
        return "".join(Path(f"{self.said}.{stream}").read_text(errors="replace") for stream in ("out", "err"))

    def running(self):
        return self.process.poll() is None

    def wait(self, seconds=PATIENCE):
        """Its exit code; None: it still runs."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self, how=signal.SIGKILL):
        """Ends it and whatever it started."""
        if self.running():
            os.killpg(self.pid, how)
            self.process.wait(PATIENCE)

    def cpu_ticks(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def story(self):
        code = self.process.poll()
        end = "still running" if code is None else f"exit code {code}"
        return f"\n--- {' '.join(self.command)}\n--- {end}, {time.monotonic() - self.began:.1f} s\n{self.output()}"


def as_nobody_in(namespace):
    """Words before a command that runs in a network namespace. Who becomes another user must ask again to be ended."""
    return ("ip", "netns", "exec", namespace, "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
            "--pdeathsig=KILL")


def ended_well(program):
    return program.wait() == 0


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


def sleeps(pid):
    """How often each thread of a process has gone to sleep, if all of them sleep now; None: one does not."""
    found = {}
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            facts = dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines())
            if not facts["State"].startswith("S"):
                return None
            found[thread.name] = int(facts["voluntary_ctxt_switches"])
    except OSError:
        return None  # it has ended
    return found


class Stage(unittest.TestCase):
    build = block = None  # from the command line
    flags = ()
    addresses = 0
    rejections = REJECTIONS
    as_root = False  # for what only root can do
    inside = ()  # words before all commands, such as ip netns exec X

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weft-programs-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.folder.chmod(0o777)
        # The checkout may be closed to the user that programs run as, so they get a copy.
        for name in ("bin", "lib"):
            (cls.folder / name).mkdir()
        for name in ("bin/weft", "bin/weft-broker"):
            shutil.copy(cls.build / name, cls.folder / name)
        shutil.copytree(cls.build / "lib/weft", cls.folder / "lib/weft", symlinks=True)
        cls.weft = cls.folder / "bin/weft"
        cls.started = 0

    @classmethod
    def address(cls):
        Stage.addresses += 1
        return f"127.20.{cls.block}.{Stage.addresses}"

    @property
    def lossy(self):
        return "--loss" in self.flags

    def start(self, *command, address=None, flags=(), inside=None):
        """Starts a program on a card; `inside`: words before `weft run`, if not those of the class."""
        words = [*(inside or self.inside), self.weft, "run", *self.flags, *flags]
        return self.start_plain(*words, *(["--addr", address] if address else []), "--", *command)

    def start_plain(self, *command):
        type(self).started += 1
        user = None if self.as_root else NOBODY
        program = Program(command, self.folder / f"said-{self.started}", user)
        self.addCleanup(program.end)
        return program

    def finish(self, program, *others, well=ended_well):
        """Waits until it ends well; what it said. If it does not, all are shown."""
        if not well(program):
            for other in others:
                other.wait(1)  # it may say why when it ends
            self.fail("it did not end well" + "".join(p.story() for p in (program, *others)))
        return program.output()

    def wait_until(self, holds, what, *programs, seconds=PATIENCE):
        limit = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > limit or not all(p.running() for p in programs):
                self.fail(f"waited in vain until {what}" + "".join(p.story() for p in programs))
            time.sleep(0.02)

    def stays(self, holds, what, *programs, seconds):
        """Looks for so long whether this holds all the time."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            self.assertTrue(holds(), f"it was not so that {what}" + "".join(p.story() for p in programs))
            time.sleep(0.02)

    def wait_for_words(self, program, words):
        self.wait_until(lambda: words in program.output(), f"it says: {words}", program)

    def wait_for_card(self, *programs):
        """Until each has a card. A program gets it when it needs one."""
        self.wait_until(lambda: len(self.lanes(*programs)) == len(programs), "they have cards", *programs)

    def wait_for_rest(self, program):
        """Until it sleeps with all its threads, and the broker, which it may be waiting for, does so, too.

        Between two looks nobody wakes up. A server that listens by rdma_cm is known by that.
        """
        looks = [None]

        def rests():
            looks.append([sleeps(pid) for pid in (program.pid, *brokers(self.folder))])
            return None not in looks[-1] and looks[-1] == looks[-2]

        self.wait_until(rests, "it sleeps", program)

    def wait_until_it_listens(self, server):
        """For rdma_cm, where no port is open."""
        self.wait_for_card(server)
        self.wait_for_rest(server)

    def wait_for_traffic(self, *programs, packets=100):
        """Until each has sent so many packets."""
        self.wait_until(lambda: all(self.counters(p)["sent_pkts"] >= packets for p in programs), "they talk", *programs)

    def wait_for_port(self, server, port):
        """Until the server listens at this TCP port, over which programs like perftest tell each other their QPNs."""
        self.wait_until(lambda: listens(server.pid, port), f"port {port} is open", server)

    def exchange(self, *command, addresses=None, flags=(), well=ended_well):
        """Runs a program as server and as client, which meet over TCP at a port given by -p; what both said."""
        here, there = addresses or (self.address(), self.address())
        port = free_port()
        server = self.start(*command, "-p", port, address=here, flags=flags)
        self.wait_for_port(server, port)
        client = self.start(*command, "-p", port, here, address=there, flags=flags)
        said = self.finish(client, server, well=well)
        return self.finish(server, client, well=well), said

    def exchange_by_cm(self, *command, server=(), client=("{server}",), flags=()):
        """The same for those that meet by rdma_cm. `{server}` stands for the server's address."""
        here, there = self.address(), self.address()
        serves = self.start(*command, *(str(word).format(server=here) for word in server), address=here, flags=flags)
        asks = (str(word).format(server=here) for word in client)
        said = self.ask(serves, *command, *asks, address=there, flags=flags)
        return self.finish(serves), said

    def lanes(self, *programs):
        """What is known of the cards of these programs."""
        stat = self.start_plain(*self.inside, self.weft, "stat", "--json", "--all")
        every = json.loads(stat.output()) if stat.wait() == 0 else []
        return [lane for lane in every if lane["process"] in [p.pid for p in programs]]

    def counters(self, *programs):
        """What the cards of programs that run have counted so far, together."""
        mine = [lane["counters"] | lane["port"] for lane in self.lanes(*programs)]
        return {name: sum(lane[name] for lane in mine) for name in ("sent_pkts", "rcvd_pkts", "lost_on_purpose")}

    def come_to_rest(self, *programs):
        """The counters when the programs exchange nothing any more: they wait for what is lost.

        They poll meanwhile: each has had a processor for a while since something was counted last.
        """
        seen, ticks = {}, []

        def resting():
            nonlocal seen, ticks
            found, now = self.counters(*programs), [p.cpu_ticks() for p in programs]
            if found != seen:
                seen, ticks = found, now
            return seen["sent_pkts"] > 0 and all(n - t >= POLLED for n, t in zip(now, ticks))

        self.wait_until(resting, "something is lost that nobody sends again", *programs)
        return seen

    def ask(self, server, *command, start=None, **more):
        """What a client says that ends well. Rejected, it tries again: nothing shows whether a server listens yet."""
        limit = time.monotonic() + PATIENCE
        while True:
            time.sleep(0.2)
            client = (start or self.start)(*command, **more)
            if client.wait() == 0 or time.monotonic() > limit or not any(r in client.output() for r in self.rejections):
                return self.finish(client, server)


def listens(pid, port):
    """Whether somebody listens at this TCP port in the network namespace of process `pid`."""
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue  # it has ended
        for line in lines:
            _, local, _, state = line.split()[:4]
            if state == "0A" and int(local.rpartition(":")[2], 16) == port:
                return True
    return False


def free_port():
    with socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::", 0))
        return probe.getsockname()[1]


def need(*programs):
    """Skips a test where a program is missing: scripts/bootstrap brings them all."""
    missing = [p for p in programs if not shutil.which(p)]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


def main():
    Stage.build, Stage.block = Path(sys.argv[1]), int(sys.argv[2])
    Stage.flags = tuple(sys.argv[3:])
    # An ordinary user may lock little memory, and Weft needs none locked.
    _, most = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536 if most == resource.RLIM_INFINITY else min(65536, most), most))
    unittest.main(argv=sys.argv[:1], verbosity=2)
