"""What a soak does, drawn from its seed: which programs run, and what happens to them.

Each draw takes the same numbers from the generator whatever the world looks like, so one seed is one sequence. Where a
victim is needed there is a fraction, which the driver turns into one of those that run at that time.
"""

import random
from typing import NamedTuple

# How often things happen, by weight. Those in the second table need a network namespace.
EVENTS = {"kill": 20, "stop": 20, "busy": 12, "short descriptors": 8, "short memory": 8}
NAMESPACE_EVENTS = {"kill broker": 8, "link down": 12}

WIRES = ("auto", "auto", "udp", "shm")
TRANSPORTS = ("auto", "auto", "roce", "srnic", "star")
FAULTS = ("", "", "", "loss=0.1%", "loss=1%", "loss=1%,duplication=1%,reordering=1%",
          "loss=0.5%,jitter=5%,jitter_max=200us,corruption=0.5%", "ecn=5%,reordering=2%")
SIDES = ("aa", "bb", "ab", "ba")  # of server and client
PROGRAMS = {
    "check": 30, "check pair": 20, "rping": 8, "ibv_rc_pingpong": 8, "ibv_srq_pingpong": 4, "ibv_uc_pingpong": 2,
    "ibv_ud_pingpong": 2, "ib_send_bw": 4, "ib_write_bw": 4, "ib_read_lat": 3, "ib_atomic_bw": 3, "ucmatose": 4,
    "rdma_server": 4, "ucx rc": 4, "ucx ud": 2, "weft-connections": 4, "crowd": 4, "verbs_stress": 4, "weft stat": 4,
    "weft devices": 2,
}
# Shared memory alone refuses a peer that is gone when it is named, and peers of these are killed at any time.
NOT_BY_SHM_ALONE = ("check", "check pair", "verbs_stress")
# In star one side is stateless, and has no shared receive queue. Others do not need one.
IN_STAR = ("rping", "ibv_rc_pingpong", "ib_send_bw", "ib_write_bw", "ib_read_lat", "ib_atomic_bw", "ucmatose", "crowd")
SHORT_PROGRAMS = ("check", "check", "rping", "ibv_rc_pingpong", "weft stat")


class Event(NamedTuple):
    wait: float  # seconds after the one before
    kind: str
    fraction: float  # which victim
    seconds: float  # how long it lasts
    program: "Draw"  # what is started with too little, where that is the event


class Draw(NamedTuple):
    kind: str
    seed: int
    sides: str
    wire: str
    transport: str
    faults: str
    loopback: bool  # by a loopback address, where both sides are one
    size: float  # 0 to 1: short and small to long and large
    fraction: float  # whatever else there is to choose

    def crosses(self):
        return self.sides[0] != self.sides[1]


def pick(rng, weights):
    return rng.choices(list(weights), list(weights.values()))[0]


def draw_program(rng, kind=None):
    drawn = pick(rng, PROGRAMS)
    kind = kind or drawn
    sides, wire = rng.choice(SIDES), rng.choice(WIRES)
    if wire == "shm" and (sides[0] != sides[1] or kind in NOT_BY_SHM_ALONE):
        wire = "auto"  # shared memory alone does not reach another machine
    seed, transport = rng.randrange(1, 1 << 30), rng.choice(TRANSPORTS)
    if transport == "star" and kind not in IN_STAR:
        transport = "auto"
    return Draw(kind, seed, sides, wire, transport, rng.choice(FAULTS), rng.random() < 0.3, rng.random(), rng.random())


def programs(seed, number):
    """The programs of a round, one after the other, without end."""
    rng = random.Random(f"{seed}/{number}/programs")
    while True:
        yield draw_program(rng)


def events(seed, number, kinds, mean_wait):
    """What happens in a round, without end."""
    rng = random.Random(f"{seed}/{number}/events")
    while True:
        wait, kind = rng.expovariate(1 / mean_wait), pick(rng, kinds)
        fraction, seconds = rng.random(), rng.random()
        yield Event(min(wait, 4 * mean_wait), kind, fraction, seconds, draw_program(rng, rng.choice(SHORT_PROGRAMS)))
