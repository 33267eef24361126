"""Runs mixed programs on Weft for minutes or hours while everything goes wrong, and tells what happened.

Usage: soak.py BUILD [--minutes N | --seconds N] [--seed N] [--round N] [--block N] [--failures N]

Programs are killed, stopped and started with too little memory or too few descriptors; the broker is killed; the
network goes down and up; packets are lost; both processors are busy. Data are checked by the programs, and what there
is of processes, descriptors, memory, sockets and files must be the same at the end of each round as at the start. A
program may fail if it or its peer was killed. Any other failure, and a program that hangs, makes the soak fail: exit
code 1.
"""

import argparse
import collections
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple

import chance
import judge
import ledger
import stacks
from checkers import CheckJob, elder
from place import Place
from programs import Job

TICK = 0.02
SETTLE = 30  # seconds in which everything must be as it was
LATELY = 15  # seconds before a failure: what was done then is shown
LONG_STOP = 0.1  # seconds: peers of programs with short time-outs may give up then
STOP, PULL, BUSY = 1.2, 1.2, 4.0  # seconds at most
DESCRIPTORS, MEMORY_MIB = (6, 40), (30, 400)


class Pace(NamedTuple):
    round_seconds: float
    jobs: int  # at once
    mean_wait: float  # seconds between events


LONG, SHORT = Pace(40, 5, 0.8), Pace(2.5, 3, 0.2)


class Over(Exception):
    """Nothing more is to be learned from going on."""


class Soak:
    def __init__(self, options, out=sys.stdout):
        self.options, self.out = options, out
        self.place = Place(options.build, options.block)
        self.pace = SHORT if options.seconds else LONG
        self.jobs, self.undo, self.killed = [], [], set()
        self.happened, self.ran = collections.Counter(), collections.Counter()
        self.failures, self.batches, self.bytes, self.lost = [], 0, 0, 0
        self.lately = collections.deque(maxlen=40)  # events: when, and what was done to whom
        self.started, self.round, self.rounds, self.pulled, self.broker_killed_at = 0, 0, 0, False, 0
        self.stopped, self.burners, self.elders, self.told = set(), [], {}, set()
        self.baseline, self.last, self.memory_known = {}, {}, False

    def say(self, text):
        print(text, file=self.out, flush=True)

    # ---- failures ----------------------------------------------------------------------------------------------------

    def fail(self, what, story=""):
        where = f"SOAK_SEED={self.options.seed} SOAK_ROUND={self.round}"
        self.failures.append(f"round {self.round}: {what}")
        now = time.monotonic()
        lately = "".join(f"\n  {now - when:.2f} s ago: {event}" for when, event in self.lately if now - when < LATELY)
        self.say(f"\nFAILED in round {self.round}: {what}{lately}\n  replay: make soak {where}{story[-20000:]}")
        if len(self.failures) >= self.options.failures:
            raise Over

    def finish_job(self, job):
        verdict = job.verdict
        self.ran[job.draw.kind, verdict.kind] += 1
        try:
            if isinstance(job, CheckJob):
                self.count(job)
            if verdict.kind == judge.FAILED:
                hang = stacks.stacks([m.pid for m in job.running()]) if job.running() else ""
                self.fail(f"{job.draw.kind}: {verdict.why}\n  {job.draw}", job.story() + hang)
        finally:
            job.end()

    def count(self, job):
        self.killed |= job.killed
        for checker in job.every_life():
            self.blame(checker)
            if checker.name.startswith("c"):  # the other side has checked the same batches
                self.batches += checker.batches
                self.bytes += checker.bytes

    def blame(self, checker):
        """Connections that broke though both sides lived. Who hears of it from the other side has nothing to add."""
        self.lost += len(checker.losses)
        losses, checker.losses = checker.losses, []
        for who, peer, why in judge.unexcused_losses(losses, self.killed):
            if (peer, who) not in self.told:
                self.told.add((who, peer))
                self.fail(f"{who} lost its connection to {peer}, which nobody had killed: {why}",
                          checker.program.story()[:4000])

    # ---- programs ----------------------------------------------------------------------------------------------------

    def start_job(self, draw, limits=()):
        self.started += 1
        if draw.kind.startswith("check"):
            job = CheckJob(draw, self.place, self.started, limits, self.options.sabotage)
        else:
            job = Job(draw, self.place, limits)
            if self.pulled and draw.crosses():
                job.excuse("link down")
        self.jobs.append(job)
        self.lately.append((time.monotonic(), f"start {draw.kind} {draw.sides} {draw.wire} {draw.transport}"))

    def step_jobs(self):
        for job in list(self.jobs):
            if job.step() is not None:
                self.jobs.remove(job)
                self.finish_job(job)
        for name, old in self.elders.items():
            old.read()
            if not old.program.running():
                self.fail(f"elder {name} ended: {old.wrong or 'it should not'}", old.program.story())
                raise Over
        now = time.monotonic()
        for due in [u for u in self.undo if u[0] <= now]:
            self.undo.remove(due)
            due[1]()

    def victims(self):
        return [(job, member) for job in self.jobs for member in job.running() if member.pid not in self.stopped]

    # ---- events ------------------------------------------------------------------------------------------------------

    def later(self, seconds, deed):
        self.undo.append((time.monotonic() + seconds, deed))

    def happen(self, event):
        """Each deed tells what it was done to; None: there was nobody to do it to."""
        whom = getattr(self, "do_" + event.kind.replace(" ", "_"))(event)
        self.happened[event.kind if whom else f"{event.kind} (not possible)"] += 1
        if whom:
            self.lately.append((time.monotonic(), f"{event.kind}: {whom}"))

    def do_kill(self, event):
        found = self.victims()
        if not found:
            return None
        job, member = found[int(event.fraction * len(found))]
        job.kill(member)
        return f"{job.draw.kind}, process {member.pid}"

    def do_kill_broker(self, event):
        """Not while a program of that side is stopped: it would keep its address, as docs/ARCHITECTURE.md says."""
        found = self.place.brokers("a")
        if not found or self.stopped:
            return None
        os.kill(found[0], signal.SIGKILL)
        self.broker_killed_at = time.monotonic()
        for job in self.jobs:
            if isinstance(job, Job) and job.call.fragile:
                job.excuse("broker killed")
        return f"process {found[0]}"

    def do_stop(self, event):
        found = self.victims() + [(None, e.program) for e in self.elders.values()]
        if time.monotonic() - self.broker_killed_at < 1:
            return None
        job, member = found[int(event.fraction * len(found))]
        seconds = STOP * event.seconds ** 2
        if job and seconds > LONG_STOP:
            job.excuse("stopped")
        os.killpg(member.pid, signal.SIGSTOP)
        self.stopped.add(member.pid)
        self.later(seconds, lambda: self.go_on(member))
        return f"{job.draw.kind if job else 'elder'}, process {member.pid}, for {seconds:.3f} s"

    def go_on(self, member):
        self.stopped.discard(member.pid)
        if member.running():
            os.killpg(member.pid, signal.SIGCONT)

    def do_link_down(self, event):
        if self.pulled:
            return None
        self.place.pull()
        self.pulled = True
        for job in self.jobs:
            if job.draw.crosses():
                job.excuse("link down")
        self.later(PULL * event.seconds, self.plug)
        return f"for {PULL * event.seconds:.3f} s"

    def plug(self):
        self.pulled = False
        self.place.plug()

    def do_busy(self, event):
        for burner in self.burners:
            os.killpg(burner.pid, signal.SIGCONT)
            self.later(BUSY * event.seconds, lambda b=burner: os.killpg(b.pid, signal.SIGSTOP))
        return f"for {BUSY * event.seconds:.1f} s"

    def do_short_descriptors(self, event):
        least, most = DESCRIPTORS
        return self.start_short(event.program, f"--nofile={int(least + event.seconds * (most - least))}:")

    def do_short_memory(self, event):
        least, most = MEMORY_MIB
        return self.start_short(event.program, f"--as={int(least + event.seconds * (most - least)) << 20}:")

    def start_short(self, draw, limit):
        """`limit` is the soft one: a broker that such a program starts can have more."""
        self.start_job(draw, (limit,))
        return f"{draw.kind} with {limit}"

    # ---- rounds ------------------------------------------------------------------------------------------------------

    def snapshot(self):
        found = {"processes": len(self.place.processes()), "descriptors of the soak": ledger.descriptors(os.getpid())}
        for side, old in self.elders.items():
            found[f"descriptors of elder {side}"] = ledger.descriptors(old.program.pid)
            found[f"{ledger.MEMORY} elder {side}"] = ledger.memory_kib(old.program.pid)
            for broker in self.place.brokers(side)[:1]:
                found[f"descriptors of broker {side}"] = ledger.descriptors(broker)
                found[f"{ledger.MEMORY} broker {side}"] = ledger.memory_kib(broker)
        return found | self.place.sockets() | self.place.files()

    def settle(self, before):
        """Waits until there is no more of anything than before; what there is."""
        limit = time.monotonic() + SETTLE
        while True:
            now = self.snapshot()
            more = ledger.growth(before, now)
            if not more or time.monotonic() > limit:
                break
            time.sleep(0.2)
        for what in more:
            self.fail(f"leak: {what}")
        return now

    def finish_round(self):
        """Undoes what was done, and lets all programs end."""
        for _, deed in self.undo:
            deed()
        self.undo.clear()
        while self.jobs:
            self.step_jobs()
            time.sleep(TICK)
        for old in self.elders.values():
            self.blame(old)

    def run_round(self, kinds, until):
        programs = chance.programs(self.options.seed, self.round)
        events = chance.events(self.options.seed, self.round, kinds, self.pace.mean_wait)
        event = next(events)
        due = time.monotonic() + event.wait
        while time.monotonic() < until:
            while sum(1 for job in self.jobs if not job.limits) < self.pace.jobs:
                self.start_job(next(programs))
            self.step_jobs()
            if time.monotonic() >= due:
                self.happen(event)
                event = next(events)
                due = time.monotonic() + event.wait
            time.sleep(TICK)
        self.finish_round()
        self.last = now = self.settle(self.baseline)
        self.rounds += 1
        memory = ", ".join(f"{name} {kib} KiB" for name, kib in now.items() if name.startswith(ledger.MEMORY))
        self.say(f"round {self.round}: {self.started} programs so far, {self.bytes >> 20} MiB checked; {memory}")
        if not self.memory_known:  # the first round has touched what there is to touch
            self.baseline |= {name: value for name, value in now.items() if name.startswith(ledger.MEMORY)}
            self.memory_known = True

    def warm_up(self):
        """Every way to every elder once, so that what is made at first use is there."""
        for side in "ab":
            self.elders[side] = elder(self.place, side, self.options.sabotage)
        for _ in range(os.cpu_count()):
            self.burners.append(self.place.start("a", "sh", "-c", "kill -STOP $$; while :; do :; done"))
        for sides in chance.SIDES:
            for wire in ("auto", "udp"):
                self.start_job(chance.Draw("check", 1, sides, wire, "auto", "", False, 0, 0))
            for loopback in (False, True):
                self.start_job(chance.Draw("true", 1, sides, "auto", "auto", "", loopback, 0, 0))
        self.finish_round()
        self.baseline = self.snapshot()
        self.baseline |= {name: 1 << 30 for name in self.baseline if name.startswith(ledger.MEMORY)}

    def leave(self):
        """Ends everybody, and looks whether anything is left."""
        for side, old in self.elders.items():
            os.killpg(old.program.pid, signal.SIGTERM)
            if old.program.wait(SETTLE) != 0:
                self.fail(f"elder {side} did not end well", old.program.story() + stacks.stacks([old.program.pid]))
                old.program.end()
        for burner in self.burners:
            burner.end()
        self.elders.clear()
        allowed = {"descriptors of the soak": self.baseline["descriptors of the soak"],
                   "files in TMPDIR": self.baseline["files in TMPDIR"]}
        self.settle(allowed)

    def run(self):
        o = self.options
        self.say(f"soak: seed {o.seed} (SOAK_SEED), {o.seconds or o.minutes * 60:.0f} seconds, "
                 f"programs run as user {self.place.user}")
        kinds = dict(chance.EVENTS)
        if self.place.namespaces:
            kinds |= chance.NAMESPACE_EVENTS
        else:
            self.say(f"soak: skipped: kill broker, link down, sockets: {self.place.why_no_namespaces}")
        try:
            self.warm_up()
            end = time.monotonic() + (o.seconds or o.minutes * 60)
            rounds = [o.round] if o.round is not None else range(1, 1 << 30)
            for self.round in rounds:
                self.run_round(kinds, min(end, time.monotonic() + self.pace.round_seconds))
                if time.monotonic() >= end:
                    break
            self.leave()
        except Over:
            pass
        finally:
            self.clean_up()
        self.summarize()
        return 1 if self.failures else 0

    def clean_up(self):
        for job in self.jobs:
            job.end()
        for program in [*self.burners, *(e.program for e in self.elders.values())]:
            if program.running():
                os.killpg(program.pid, signal.SIGCONT)
                program.end()
        for pid in self.place.processes():
            os.kill(pid, signal.SIGKILL)
        self.place.close()

    def summarize(self):
        self.say(f"\nsoak: seed {self.options.seed}, {self.rounds} rounds")
        self.say("events: " + ", ".join(f"{kind} {count}" for kind, count in sorted(self.happened.items())))
        for kind in sorted({kind for kind, _ in self.ran}):
            self.say(f"  {kind:18} " + ", ".join(f"{v} {self.ran[kind, v]}" for v in (
                judge.GOOD, judge.EXPECTED, judge.FAILED) if self.ran[kind, v]))
        self.say(f"checked: {self.bytes} bytes in {self.batches} batches; {self.lost} connections lost a killed peer")
        kept = [f"{name} {value}, {self.last.get(name, '?')}" for name, value in sorted(self.baseline.items())]
        self.say(f"at the start and at the end (memory in KiB, since the first round): {'; '.join(kept)}")
        for failure in self.failures:
            self.say(f"FAILED: {failure}")
        self.say("soak: failed" if self.failures else "soak: all is well")


def read_options(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("SOAK_MINUTES") or 10))
    parser.add_argument("--seconds", type=float, default=0, help="a short one, in short rounds")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SOAK_SEED") or random.randrange(1 << 30)))
    parser.add_argument("--round", type=int, default=os.environ.get("SOAK_ROUND") or None, help="this one alone")
    parser.add_argument("--block", type=int, default=90, help="addresses 127.20.BLOCK.x, without namespaces")
    parser.add_argument("--failures", type=int, default=10, help="so many are enough")
    parser.add_argument("--sabotage", choices=("damage", "leak", "hang"), help="to see that the soak fails")
    return parser.parse_args(words)


def main(words):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return Soak(read_options(words)).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
