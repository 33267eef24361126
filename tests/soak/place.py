"""Where the programs of a soak run: two network namespaces with a cable between them, or else this host's loopback.

In namespaces the brokers are the soak's own, its sockets are all there are, and the cable can be pulled. As root the
programs run as a user whom nobody else is, so that everything of that user is the soak's.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import ledger

sys.path.insert(0, str(Path(__file__).parent.parent / "programs"))
from stage import REJECTIONS, ROOT, Program, brokers, listens  # noqa: E402, F401

COPIED = ("bin/weft", "bin/weft-broker", "bin/weft-connections", "tests/soak_check", "tests/verbs_stress")
NAMESPACE = re.compile(r"^weft-soak-[ab]-(\d+)")
ADDRESSES = {"a": "10.78.0.1", "b": "10.78.0.2"}
FIRST_USER, USERS = 61000, 4000
FIRST_PORT, PORTS = 20000, 10000


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Place:
    def __init__(self, build, block):
        self.mark = f"SOAK_RUN={os.getpid()}"
        self.block, self.next_port, self.number = block, 0, 0
        self.user = FIRST_USER + os.getpid() % USERS if ROOT else os.geteuid()
        self.folder = Path(tempfile.mkdtemp(prefix="weft-soak-"))
        self.folder.chmod(0o777)
        for name in ("bin", "tests", "said", "tmp"):
            (self.folder / name).mkdir()
        for name in ("said", "tmp"):
            (self.folder / name).chmod(0o777)
        for name in COPIED:
            shutil.copy(build / name, self.folder / name)
        shutil.copytree(build / "lib/weft", self.folder / "lib/weft", symlinks=True)
        self.weft = self.folder / "bin/weft"
        self.why_no_namespaces = self.make_namespaces()
        self.namespaces = self.why_no_namespaces is None

    def make_namespaces(self):
        """None, or why there are none."""
        if not ROOT or not shutil.which("ip"):
            return "making network namespaces needs root and iproute2"
        self.names = {side: f"weft-soak-{side}-{os.getpid()}" for side in "ab"}
        try:
            for line in ip("netns", "list").stdout.splitlines():
                stale = NAMESPACE.match(line)
                if stale and ledger.state_of(int(stale.group(1))) is None:
                    ip("netns", "delete", stale.group())
            for name in self.names.values():
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            ip("link", "add", "eth0", "netns", self.names["a"], "type", "veth", "peer", "name", "eth0", "netns",
               self.names["b"])
            for side, name in self.names.items():
                ip("-n", name, "address", "add", f"{ADDRESSES[side]}/24", "dev", "eth0")
                ip("-n", name, "link", "set", "eth0", "up")
        except subprocess.CalledProcessError as error:
            self.remove_namespaces()
            return f"network namespaces cannot be made here: {error.stderr.strip()}"
        return None

    def remove_namespaces(self):
        for name in self.names.values():
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)

    def close(self):
        if self.namespaces:
            self.remove_namespaces()
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, side, loopback=False):
        if not self.namespaces:
            return f"127.20.{self.block}.{1 + 'ab'.index(side)}"
        return f"127.0.0.{2 + 'ab'.index(side)}" if loopback else ADDRESSES[side]

    def port(self):
        """One that no other program of this soak has had for long."""
        self.next_port = (self.next_port + 1) % PORTS
        return FIRST_PORT + self.next_port

    def start(self, side, *command, limits=()):
        """Starts a program at a side; `limits`: for prlimit."""
        self.number += 1
        words = ["setpriv", "--pdeathsig", "KILL"]
        if ROOT:
            words += [f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        if self.namespaces:
            words = ["ip", "netns", "exec", self.names[side], *words]
        words += ["env", self.mark, f"TMPDIR={self.folder / 'tmp'}", "MALLOC_MMAP_THRESHOLD_=131072"]
        words += ["prlimit", *limits] if limits else []
        return Program([*words, *command], self.folder / f"said/{self.number}")

    def pull(self):
        ip("-n", self.names["a"], "link", "set", "eth0", "down")

    def plug(self):
        ip("-n", self.names["a"], "link", "set", "eth0", "up")

    def brokers(self, side):
        """The broker of a side, if there is one: more than one for a moment when it was killed."""
        found = brokers(self.folder)
        if not self.namespaces:
            return found
        there = os.stat(f"/run/netns/{self.names[side]}").st_ino
        return [pid for pid in found if network_of(pid) == there]

    def processes(self):
        """All that the soak started, and the brokers that those started."""
        return sorted({*ledger.marked(self.mark), *brokers(self.folder)})

    def files(self):
        """Of the programs' user, where programs leave files; only in its folder if the soak has no user of its own."""
        found = {"files in TMPDIR": sum(1 for _ in (self.folder / "tmp").rglob("*"))}
        if ROOT:
            found |= {f"files in {folder}": ledger.files(folder, self.user) for folder in ("/tmp", "/dev/shm")}
        return found

    def sockets(self):
        """Of both namespaces; of a shared one nothing can be said."""
        found = {}
        if self.namespaces:
            for side, name in self.names.items():
                for table, count in self.tables(name).items():
                    found[f"{table} sockets of {side}"] = count
        return found

    @staticmethod
    def tables(name):
        listed = ip("netns", "exec", name, sys.executable, "-c",
                    f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import ledger; "
                    "print(ledger.sockets('self'))")
        return dict(eval(listed.stdout))  # noqa: S307: what this very file printed


def network_of(pid):
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None
