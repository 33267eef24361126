"""The programs of a soak: how each is called, and a job, which is one run of a pair of them from start to verdict."""

import os
import signal
import time
from typing import NamedTuple

import judge
from place import REJECTIONS, listens

PATIENCE = 90  # seconds that a job may take; programs share two processors with much else
GRACE = 5  # seconds that a program has to end when its peer was killed
EXCUSED_PATIENCE = 15  # seconds for one to which something was done that it need not survive
# Who has had enough messages leaves, and others of its many queue pairs' are under way: the peer may see them fail.
LEAVES_EARLY = ("ibv_srq_pingpong",)
ASK_AGAIN = 0.3  # seconds, after which a client tries once more: nothing shows whether a server of rdma_cm listens


class Call(NamedTuple):
    """How a pair is called. {port} and {server} stand for those of the job."""
    server: tuple  # empty: a program that is alone
    client: tuple
    meets: str = "tcp"  # how they find each other: "tcp", "cm", or "alone"
    fragile: bool = False  # nothing is sent again, so any lost packet may stop it for ever
    on_card: bool = True  # under weft run


def tcp(*words, fragile=False):
    return Call((*words, "-p", "{port}"), (*words, "-p", "{port}", "{server}"), fragile=fragile)


def scale(draw, least, most):
    """From least to most, more often near the least."""
    return int(least * (most / least) ** draw.size)


def pingpong(program, draw, fragile=False):
    size = scale(draw, 1, 1000 if program == "ibv_ud_pingpong" else 300000)  # a datagram fits into the cable's MTU
    events = ("-e",) if draw.fraction < 0.5 else ()
    count = max(20, min(2000, 20_000_000 // (size + 10000)))
    return tcp(program, "-g", "0", "-c", "-n", count, "-s", size, *events, fragile=fragile)


def perftest(program, draw):
    size = () if "atomic" in program else ("-s", scale(draw, 8, 1 << 20))
    return tcp(program, "-F", "-x", "0", "-n", scale(draw, 2000, 100), *size)


# Without ucp_put_bw, which waits for the last of many WRITEs into the same bytes: in srnic one that is sent again may
# come after it.
def ucx(transport, draw):
    test = ("tag_lat", "tag_bw", "ucp_put_lat", "ucp_get", "ucp_fadd", "stream_bw")[int(draw.fraction * 6)]
    size = 8 if test == "ucp_fadd" else scale(draw, 8, 1 << 18)
    if transport == "ud_v":
        test, size = ("tag_lat", "tag_bw")[int(draw.fraction * 2)], min(size, 8192)
    return tcp("env", f"UCX_TLS={transport},self", "UCX_NET_DEVICES=weft0:1", "ucx_perftest", "-f", "-t", test, "-s",
               size, "-n", 50, "-w", 5)


def ucmatose(size, connections):
    words = ("ucmatose", "-S", size, "-C", 20, "-c", connections, "-p", "{port}")
    return Call((*words, "-b", "{server}"), (*words, "-s", "{server}"), "cm")


def call_of(draw, place):
    size, rounds = scale(draw, 100, 60000), scale(draw, 200, 20)
    rping = ("rping", "-v", "-V", "-C", rounds, "-S", size, "-a", "{server}", "-p", "{port}")
    stress = (place.folder / "tests/verbs_stress", "--seconds", 2, "--threads", 6, "--seed", draw.seed)
    load = (place.folder / "bin/weft-connections", "--qps", "1,16", "--depth", 8, "--rounds", 1, "--milliseconds", 300,
            "--no-idle", "--bytes", scale(draw, 64, 65536), "--verb", "send" if draw.fraction < 0.5 else "write")
    crowd = (place.folder / "bin/weft-connections", "--clients", 3, "--qps", scale(draw, 3, 3000), "--depth", 16,
             "--rounds", 1, "--milliseconds", 200, "--verb", "write" if draw.fraction < 0.5 else "read", "--bytes", 64,
             *(("--client-variable", f"WEFT_ROLE={role_of(draw, 1)}") if draw.transport == "star" else ()))
    calls = {
        "rping": lambda: Call((*rping, "-s"), (*rping, "-c"), "cm"),
        "ucmatose": lambda: ucmatose(size // 4, 1 + int(4 * draw.fraction)),
        "rdma_server": lambda: Call(("rdma_server", "-s", "{server}", "-p", "{port}"),
                                    ("rdma_client", "-s", "{server}", "-p", "{port}"), "cm"),
        "ucx rc": lambda: ucx("rc_v", draw),
        "ucx ud": lambda: ucx("ud_v", draw),
        "true": lambda: Call((), ("true",), "alone"),
        "weft-connections": lambda: Call((), load, "alone"),
        "crowd": lambda: Call((), crowd, "alone"),
        "verbs_stress": lambda: Call((), stress, "alone"),
        "weft stat": lambda: Call((), (place.weft, "stat", "--json", "--qps"), "alone", on_card=False),
        "weft devices": lambda: Call((), (place.weft, "devices"), "alone", on_card=False),
    }
    if draw.kind in calls:
        return calls[draw.kind]()
    if draw.kind.startswith("ibv_"):
        return pingpong(draw.kind, draw, fragile=draw.kind in ("ibv_uc_pingpong", "ibv_ud_pingpong"))
    return perftest(draw.kind, draw)


def role_of(draw, which):
    """In StaR, of the server (0) and the client (1)."""
    return ("stateless", "stateful")[(draw.seed + which) % 2]


def flags_of(draw, which, address, faults):
    words = ["--addr", address, "--wire", draw.wire, "--transport", draw.transport, "--seed", draw.seed]
    if draw.transport == "star":
        words += ["--role", role_of(draw, which)]
    if draw.transport == "auto":
        words += ["--stateless-beyond", 50]  # roles that cards choose by their load
    return words + (["--faults", faults] if faults else [])


class Job:
    """A pair of programs, or one that is alone. `step` is called again and again until `verdict` is there."""

    def __init__(self, draw, place, limits=()):
        self.draw, self.place, self.limits = draw, place, limits
        self.call = call_of(draw, place)
        self.faults = "" if self.call.fragile or self.call.meets == "alone" else draw.faults
        self.excuses = {"short of something"} if limits else set()
        self.began, self.killed_at, self.failed_at = time.monotonic(), None, None
        self.port, self.verdict = place.port(), None
        loopback = draw.loopback and not draw.crosses()
        self.addresses = [place.address(side, loopback) for side in draw.sides]
        self.members = {}
        if self.call.server:
            self.launch("server", 0)

    def launch(self, role, which, *limits):
        words = [str(w).format(port=self.port, server=self.addresses[0]) for w in getattr(self.call, role)]
        if self.call.on_card:
            flags = flags_of(self.draw, self.which(role), self.addresses[which], self.faults)
            words = [self.place.weft, "run", *flags, "--", *words]
        self.members[role] = self.place.start(self.draw.sides[which], *words, limits=limits)

    def which(self, role):
        return 1 if role == "client" and self.call.server else 0

    def running(self):
        return [m for m in self.members.values() if m.running()]

    def excuse(self, why):
        self.excuses.add(why)

    def kill(self, program):
        program.end(signal.SIGKILL)
        self.excuse("killed")
        self.killed_at = time.monotonic()

    def step(self):
        now = time.monotonic()
        late = now - self.began > (EXCUSED_PATIENCE if self.excuses else PATIENCE)
        late = late or (self.killed_at and now - self.killed_at > GRACE)
        late = late or (self.failed_at and now - self.failed_at > GRACE)
        if "client" not in self.members:
            self.meet(now)
        elif self.rejected():
            self.members["client"].end()
            self.launch("client", 1, *self.limits)
        if late or not self.running():
            return self.conclude()
        if not any(m.process.poll() for m in self.members.values()):
            self.failed_at = None
        elif self.failed_at is None:
            self.failed_at = now  # the other one may wait for it for ever
        return None

    def meet(self, now):
        """Starts the client when the server is there."""
        if not self.call.server:
            self.launch("client", 1, *self.limits)
        elif self.killed_at is None and self.members["server"].running():
            server = self.members["server"]
            if listens(server.pid, self.port) if self.call.meets == "tcp" else now - self.began > ASK_AGAIN:
                self.launch("client", 1, *self.limits)

    def rejected(self):
        """A client of rdma_cm that came too early, or asked while the broker was away."""
        client, server = self.members["client"], self.members["server"] if self.call.server else None
        if self.call.meets != "cm" or client.running() or client.process.returncode == 0 or not server.running():
            return False
        if time.monotonic() - client.began < ASK_AGAIN or self.killed_at:
            return False
        return any(words in client.output() for words in REJECTIONS)

    def outcome(self):
        members = list(self.members.values())
        return judge.Outcome(tuple(m.process.poll() for m in members), tuple(m.output() for m in members),
                             frozenset(self.excuses), bool(self.faults) or self.draw.kind in LEAVES_EARLY)

    def conclude(self):
        self.verdict = judge.judge(self.outcome())
        return self.verdict

    def end(self):
        """Ends what still runs, and forgets what it said."""
        for member in self.members.values():
            if member.running():
                os.killpg(member.pid, signal.SIGCONT)
                member.end()
            for stream in ("out", "err"):
                os.unlink(f"{member.said}.{stream}")

    def story(self):
        return "".join(member.story() for member in self.members.values())
