"""soak_check at work: the elders, which live as long as the soak, and jobs whose programs are killed and come again."""

import os
import signal
import time
from pathlib import Path

import judge
from place import listens
from programs import flags_of

STALL = 30  # seconds without a batch, after which a program hangs
ELDER_PORT = 19000
AGAIN = 0.3  # seconds until a killed program is started again
PATIENCE = 60  # seconds that one has to end when it was asked to


class Checker:
    """A running soak_check, and what it has said so far."""

    def __init__(self, place, side, name, flags, words, limits=()):
        self.name, self.side = name, side
        self.batches = self.bytes = 0
        self.losses, self.wrong, self.moved_at, self.heard = [], None, time.monotonic(), 0
        command = (place.weft, "run", *flags, "--", place.folder / "tests/soak_check", "--name", name, *words)
        self.program = place.start(side, *command, limits=limits)

    def read(self):
        """Takes in what it has said since: whole lines."""
        with open(f"{self.program.said}.out", "rb") as out:
            out.seek(self.heard)
            text = out.read().rpartition(b"\n")
        self.heard += len(text[0]) + len(text[1])
        for line in text[0].decode().splitlines():
            word, _, rest = line.partition(" ")
            if word == "progress":
                self.batches, self.bytes = (int(number) for number in rest.split())
                self.moved_at = time.monotonic()
            elif word == "lost":
                peer, why = rest.split(" ", 1)
                after = time.monotonic() - self.program.began
                self.losses.append((self.name, peer, f"{why}, {after:.1f} s after its start"))
            elif word == "WRONG":
                self.wrong = line

    def stalled(self):
        return self.program.running() and time.monotonic() - self.moved_at > STALL


def elder(place, side, sabotage):
    words = ["--listen", f"0.0.0.0:{ELDER_PORT + 'ab'.index(side)}", "--events"]
    words += ["--sabotage", sabotage] if sabotage == "leak" else []
    # Queue pairs take random slots, too. Of few slots all are soon in use, and memory grows no more because of them.
    return Checker(place, side, f"elder-{side}", ["--addr", place.address(side), "--max-qps", 64], words)


class CheckJob:
    """A caller that talks to an elder, or to an answerer of its own, which may be killed as well."""

    def __init__(self, draw, place, number, limits=(), sabotage=None):
        self.draw, self.place, self.number, self.limits, self.sabotage = draw, place, number, limits, sabotage
        self.pair = draw.kind == "check pair"
        self.excuses = {"short of something"} if limits else set()
        self.verdict, self.lives, self.again_at, self.asked_to_end_at = None, 0, {}, None
        self.until = time.monotonic() + 1 + 7 * draw.size
        self.address = place.address(draw.sides[0])
        self.port = place.port() if self.pair else ELDER_PORT + "ab".index(draw.sides[0])
        self.checkers, self.past, self.killed = {}, [], set()
        self.faults = draw.faults
        if self.pair:
            self.launch("server")

    def launch(self, role):
        self.lives += 1
        draw, name = self.draw, f"{role[0]}{self.number}.{self.lives}"
        events = ["--events"] if draw.fraction < 0.7 else []
        side = draw.sides[role == "client"]
        if role == "server":
            words = ["--listen", f"0.0.0.0:{self.port}", *events]
        else:
            left = max(1, int(self.until - time.monotonic()))
            words = ["--connect", f"{self.address}:{self.port}", "--seconds", left, "--seed", draw.seed + self.lives,
                     "--sessions", 1 + draw.seed % 3, *events]
            words += ["--sabotage", self.sabotage] if self.sabotage in ("damage", "hang") else []
            if self.limits:
                self.killed.add(name)
        limits = self.limits if role == "client" else ()
        self.checkers[role] = Checker(self.place, side, name, flags_of(draw, 0, self.place.address(side), self.faults),
                                      words, limits)

    @property
    def members(self):
        return {role: checker.program for role, checker in self.checkers.items()}

    def running(self):
        return [m for m in self.members.values() if m.running()]

    def excuse(self, why):
        """These programs are patient: only who was killed has an excuse."""

    def kill(self, program):
        (role,) = [r for r, c in self.checkers.items() if c.program is program]
        self.killed.add(self.checkers[role].name)
        program.end(signal.SIGKILL)
        self.again_at[role] = time.monotonic() + AGAIN

    def step(self):
        now = time.monotonic()
        for checker in self.checkers.values():
            checker.read()
            if checker.wrong or checker.stalled():
                return self.conclude()
        for role, when in list(self.again_at.items()):
            if now >= when:
                del self.again_at[role]
                self.bury(role)
                if role == "server" or now < self.until:
                    self.launch(role)
        if "client" not in self.checkers and now < self.until and self.server_is_there():
            self.launch("client")
        return self.finish(now)

    def bury(self, role):
        dead = self.checkers.pop(role)
        dead.read()
        if role == "server":
            self.asked_to_end_at = None  # the next one has not been asked
        self.past.append(dead)

    def server_is_there(self):
        return not self.pair or ("server" in self.checkers and self.checkers["server"].program.running()
                                 and listens(self.checkers["server"].program.pid, self.port))

    def finish(self, now):
        """When the caller has ended the answerer is asked to; who is killed meanwhile is not started again."""
        if self.again_at:
            return None
        client, server = self.checkers.get("client"), self.checkers.get("server")
        if server and not server.program.running() and self.asked_to_end_at is None:
            return self.conclude()  # nobody told it to
        if (client and client.program.running()) or (client is None and now < self.until):
            return None if now < self.until + PATIENCE else self.conclude()
        if server and server.heard == 0 and now < self.until + PATIENCE:
            return None  # it does not listen to anybody yet
        if server and self.asked_to_end_at is None:
            os.killpg(server.program.pid, signal.SIGTERM)
            self.asked_to_end_at = now
        if server and server.program.running() and now - self.asked_to_end_at < PATIENCE:
            return None
        return self.conclude()

    def outcome(self):
        members = list(self.members.values())
        return judge.Outcome(tuple(m.process.poll() for m in members), tuple(m.output() for m in members),
                             frozenset(self.excuses))

    def conclude(self):
        for checker in self.checkers.values():
            checker.read()
        self.verdict = judge.judge(self.outcome())
        return self.verdict

    def every_life(self):
        return [*self.past, *self.checkers.values()]

    def end(self):
        for checker in self.every_life():
            if checker.program.running():
                os.killpg(checker.program.pid, signal.SIGCONT)
                checker.program.end()
            for stream in ("out", "err"):
                Path(f"{checker.program.said}.{stream}").unlink()

    def story(self):
        return "".join(c.program.story() for c in self.every_life())
