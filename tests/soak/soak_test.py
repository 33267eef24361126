"""The soak tests others; this tests the soak. Usage: soak_test.py BUILD BLOCK [names of tests]"""

import io
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import chance
import checkers
import judge
import ledger
import programs
import soak
import stacks


class Drawing(unittest.TestCase):
    def first(self, seed, number, count=300):
        kinds = chance.EVENTS | chance.NAMESPACE_EVENTS
        return (list(itertools.islice(chance.programs(seed, number), count)),
                list(itertools.islice(chance.events(seed, number, kinds, 0.5), count)))

    def test_a_seed_and_a_round_are_one_sequence(self):
        self.assertEqual(self.first(7, 3), self.first(7, 3))
        self.assertNotEqual(self.first(7, 3), self.first(7, 4))
        self.assertNotEqual(self.first(7, 3), self.first(8, 3))

    def test_everything_is_drawn(self):
        programs, events = self.first(1, 1, 2000)
        self.assertEqual({p.kind for p in programs}, set(chance.PROGRAMS))
        self.assertEqual({e.kind for e in events}, set(chance.EVENTS | chance.NAMESPACE_EVENTS))
        for name, values in (("wire", chance.WIRES), ("transport", chance.TRANSPORTS), ("sides", chance.SIDES),
                             ("faults", chance.FAULTS)):
            self.assertEqual({getattr(p, name) for p in programs}, set(values))

    def test_shared_memory_alone_stays_on_one_side(self):
        for program in self.first(1, 1, 2000)[0]:
            self.assertFalse(program.wire == "shm" and program.crosses(), program)
            self.assertFalse(program.wire == "shm" and program.kind in chance.NOT_BY_SHM_ALONE, program)

    def test_star_is_for_programs_that_share_no_receives_and_its_sides_play_different_roles(self):
        drawn = [p for p in self.first(1, 1, 2000)[0] if p.transport == "star"]
        self.assertEqual({p.kind for p in drawn}, set(chance.IN_STAR))
        for p in drawn:
            self.assertEqual({programs.role_of(p, 0), programs.role_of(p, 1)}, {"stateless", "stateful"})
            self.assertIn(programs.role_of(p, 1), programs.flags_of(p, 1, "127.0.0.1", ""))

    def test_each_event_can_be_done(self):
        for kind in chance.EVENTS | chance.NAMESPACE_EVENTS:
            self.assertTrue(hasattr(soak.Soak, "do_" + kind.replace(" ", "_")), kind)


class Judging(unittest.TestCase):
    def judged(self, *codes, said=None, **more):
        return judge.judge(judge.Outcome(codes, said or ("",) * len(codes), **more)).kind

    def test_who_ends_well_is_good(self):
        self.assertEqual(self.judged(0, 0), judge.GOOD)

    def test_who_fails_without_an_excuse_fails_the_soak(self):
        self.assertEqual(self.judged(0, 1), judge.FAILED)
        self.assertEqual(self.judged(0, None), judge.FAILED)  # it hangs

    def test_who_was_killed_or_whose_peer_was_is_expected_to_fail(self):
        killed = frozenset({"killed"})
        self.assertEqual(self.judged(-signal.SIGKILL, 1, excuses=killed), judge.EXPECTED)
        self.assertEqual(self.judged(-signal.SIGKILL, None, excuses=killed), judge.EXPECTED)

    def test_no_excuse_for_a_crash_or_for_damage(self):
        killed = frozenset({"killed"})
        self.assertEqual(self.judged(-signal.SIGSEGV, 1, excuses=killed), judge.FAILED)
        self.assertEqual(self.judged(0, 3, said=("", "WRONG a WRITE"), excuses=killed), judge.FAILED)
        self.assertEqual(self.judged(0, 0, said=("data mismatch", "")), judge.FAILED)

    def test_a_last_acknowledgement_may_be_lost(self):
        said = ("", judge.LAST_ACK)
        self.assertEqual(self.judged(0, 1, said=said, lossy=True), judge.GOOD)
        self.assertEqual(self.judged(0, 1, said=said), judge.FAILED)
        self.assertEqual(self.judged(1, 1, said=said[::-1], lossy=True), judge.FAILED)

    def test_connections_end_for_killed_peers_alone(self):
        losses = [("elder-a", "c1.1", "TCP"), ("c2.1", "elder-a", "retry"), ("c3.1", "s3.1", "TCP")]
        self.assertEqual(judge.unexcused_losses(losses, {"c1.1", "s3.1"}), losses[1:2])

    def test_a_lost_goodbye_is_no_lost_connection(self):
        losses = [("s1.1", "c1.2", "TCP: the other side is gone"), ("s1.1", "c1.2", "TCP: that is no hello")]
        self.assertEqual(judge.unexcused_losses(losses, set()), losses[1:])


class Counting(unittest.TestCase):
    def test_more_of_anything_is_growth_and_less_is_not(self):
        before = {"descriptors of elder a": 5, "processes": 3}
        self.assertEqual(ledger.growth(before, {"descriptors of elder a": 5, "processes": 2}), [])
        self.assertEqual(ledger.growth(before, {"descriptors of elder a": 6}),
                         ["descriptors of elder a: 5 at the start, 6 now"])
        self.assertEqual(len(ledger.growth(before, {"new": 1})), 1)

    def test_memory_may_grow_a_little(self):
        for start in (f"{ledger.MEMORY} elder", f"{ledger.MEMORY} broker"):
            name, slack = f"{start} a", ledger.SLACK[start]
            self.assertEqual(ledger.growth({name: 100}, {name: 100 + slack}), [])
            self.assertEqual(len(ledger.growth({name: 100}, {name: 101 + slack})), 1)

    def test_what_a_process_has_is_seen(self):
        with tempfile.TemporaryFile():
            more = ledger.descriptors(os.getpid())
        self.assertEqual(ledger.descriptors(os.getpid()), more - 1)
        block = bytearray(os.urandom(1 << 20)) * 20
        large = ledger.memory_kib(os.getpid())
        del block
        self.assertLess(ledger.memory_kib(os.getpid()), large - 15000)

    def test_processes_are_found_by_their_mark_and_zombies_are_none(self):
        mark = f"SOAK_RUN=test-{os.getpid()}"
        with subprocess.Popen(["env", mark, "sh", "-c", "echo; sleep 60 & wait"], stdout=subprocess.PIPE,
                              start_new_session=True) as child:
            child.stdout.readline()
            while len(found := ledger.marked(mark)) < 2:
                self.assertIsNone(child.poll())
            self.assertIn(child.pid, found)
            self.assertEqual(set(stacks.family(child.pid)), set(found))
            os.killpg(child.pid, signal.SIGKILL)
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            while ledger.marked(mark):
                pass

    def test_files_are_counted_by_their_owner(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "one").touch()
            self.assertEqual(ledger.files(folder, os.geteuid()), 1)
            self.assertEqual(ledger.files(folder, os.geteuid() + 1), 0)


def seed_that_begins_with(*kinds):
    return next(seed for seed in itertools.count(1)
                if [p.kind for p in itertools.islice(chance.programs(seed, 1), len(kinds))] == list(kinds))


class Whole(unittest.TestCase):
    build = block = None  # from the command line
    seed = str(seed_that_begins_with("check", "check pair", "rping"))

    def soak(self, seconds, *words):
        """A short one; its exit code and what it said."""
        out = io.StringIO()
        options = soak.read_options([str(self.build), "--seconds", str(seconds), "--block", str(self.block),
                                     "--seed", self.seed, *words])
        return soak.Soak(options, out).run(), out.getvalue()

    def test_a_short_one(self):
        code, said = self.soak(2)
        self.assertEqual(code, 0, said)
        self.assertIn(f"soak: seed {self.seed} (SOAK_SEED)", said)
        self.assertRegex(said, r"checked: [1-9]\d+ bytes in [1-9]\d+ batches")
        self.assertIn("soak: all is well", said)

    def test_damaged_data_are_noticed(self):
        code, said = self.soak(3, "--failures", "1", "--sabotage", "damage")
        self.assertEqual(code, 1, said)
        self.assertIn("WRONG a WRITE", said)
        self.assertIn(f"replay: make soak SOAK_SEED={self.seed} SOAK_ROUND=", said)

    def shorten(self, module, name):
        """A limit that is long, so that nothing is taken for a failure that is none: here one is waited for."""
        self.addCleanup(setattr, module, name, getattr(module, name))
        setattr(module, name, 1)

    def test_a_leak_is_noticed(self):
        self.shorten(soak, "SETTLE")
        # On a busy machine something else may fail first.
        code, said = self.soak(1.5, "--failures", "4", "--sabotage", "leak")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"leak: descriptors of elder [ab]: \d+ at the start, \d+ now")

    def test_a_program_that_hangs_is_noticed_and_its_stacks_shown(self):
        self.shorten(checkers, "STALL")
        code, said = self.soak(1, "--failures", "1", "--sabotage", "hang")
        self.assertEqual(code, 1, said)
        self.assertIn("it hangs", said)
        self.assertRegex(said, r"--- stacks of \d+\n(.*\n)*.*(pause|hrtimer|syscall)")


if __name__ == "__main__":
    Whole.build, Whole.block = Path(sys.argv[1]), int(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
