"""Whether what a program did is all right. Nothing here looks at the world, so all of it can be tested."""

import signal
from typing import NamedTuple

GOOD, EXPECTED, FAILED = "good", "expected", "failed"
# Ends that nobody asks for: a program that cannot have what it needs says so.
CRASHES = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL, -signal.SIGFPE}
# What programs say that found other bytes than were sent.
DAMAGE = ("WRONG", "data mismatch", "invalid data in", "other bytes")
LAST_ACK = "transport retry counter exceeded"


class Outcome(NamedTuple):
    """How the members of a job ended: the exit codes (None: still running when the time was over) and what they said.

    `excuses`: what was done to the job that a program need not survive, such as "killed". `lossy`: packets are lost on
    purpose.
    """
    codes: tuple
    said: tuple
    excuses: frozenset = frozenset()
    lossy: bool = False


class Verdict(NamedTuple):
    kind: str
    why: str = ""


def judge(outcome):
    for said in outcome.said:
        for word in DAMAGE:
            if word in said:
                return Verdict(FAILED, f"data: {next(line for line in said.splitlines() if word in line)}")
    for code in outcome.codes:
        if code in CRASHES:
            return Verdict(FAILED, f"it crashed: {signal.Signals(-code).name}")
    if all(code == 0 for code in outcome.codes):
        return Verdict(GOOD)
    if outcome.excuses:
        return Verdict(EXPECTED, ", ".join(sorted(outcome.excuses)))
    if all(code in (0, None) for code in outcome.codes):
        return Verdict(FAILED, "it hangs")
    if outcome.lossy and 0 in outcome.codes and all(
            code == 0 or LAST_ACK in said for code, said in zip(outcome.codes, outcome.said)):
        return Verdict(GOOD)  # who has all leaves, and the acknowledgement that was lost with it
    return Verdict(FAILED, f"exit codes {', '.join(map(str, outcome.codes))} though nothing was done to it")


def unexcused_losses(losses, killed):
    """Of (who says it, of whom, why): those whose peer was not killed. That the TCP connection beside it has ended says
    nothing of the card: a goodbye is lost if the link is down when its program ends, and how that ended is judged by
    its exit code."""
    return [(who, peer, why) for who, peer, why in losses
            if peer not in killed and who not in killed and not why.startswith("TCP: the other side is gone")]
