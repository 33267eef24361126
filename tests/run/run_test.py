"""`weft run` as users meet it. Usage: run_test.py WEFT STATIC PATHS (programs built from static.cc and paths.cc)"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

WEFT, STATIC, PATHS = sys.argv[1:4]
del sys.argv[1:]
GID = "0000:0000:0000:0000:0000:ffff:7f00:000"
SYSFS = Path("/sys/class/infiniband")


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.folder.chmod(0o755)

    def weft(self, *arguments, user=None, **environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "LD_"))}
        command = ["runuser", "-u", user, "--"] if user else []
        return subprocess.run([*command, WEFT, "run", *arguments], capture_output=True, text=True, check=False,
                              timeout=30, cwd=self.folder, env={**clean, "TMPDIR": str(self.folder), **environment})

    def output(self, *arguments, **more):
        done = self.weft(*arguments, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def environment(self, *arguments, **more):
        lines = self.output(*arguments, "--", "env", "-0", **more).split("\0")
        return dict(line.split("=", 1) for line in lines if line)


class Program(Run):
    def test_its_exit_code_and_output_are_its_own(self):
        done = self.weft("--", "sh", "-c", "echo out; echo err >&2; exit 7")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "out\n", "err\n"))

    def test_its_arguments_are_its_own(self):
        self.assertEqual(self.output("--loss", "1%", "--", "echo", "--loss", "--", "-h"), "--loss -- -h\n")
        self.assertEqual(self.output("--loss", "1%", "echo", "--loss", "x"), "--loss x\n")
        self.assertEqual(self.output("echo", "a", "--", "b"), "a -- b\n")

    def test_it_may_be_missing(self):
        done = self.weft("--", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertEqual(done.stderr, "weft run: there is no program 'no-such-program'\n")
        self.assertEqual(self.weft("--", "./nothing").returncode, 127)
        self.assertEqual(self.weft("--", "").returncode, 127)

    def test_it_may_be_no_program(self):
        (self.folder / "text").write_text("no program")
        for name in ("./text", "/"):
            done = self.weft("--", name)
            self.assertEqual(done.returncode, 126)
            self.assertIn(f"cannot start '{name}'", done.stderr)

    def test_one_that_loads_no_libraries_is_warned_about(self):
        done = self.weft("--", STATIC)
        self.assertEqual(done.returncode, 5)
        self.assertIn("warning", done.stderr)
        self.assertIn("will not see Weft: it is linked statically", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0 and os.access("/usr/bin/su", os.X_OK), "needs root to become somebody else")
    def test_one_with_other_rights_is_warned_about(self):
        self.folder.chmod(0o777)
        self.assertIn("rights that you do not have", self.weft("--", "su", "--version", user="nobody").stderr)


class Settings(Run):
    def test_flags_become_variables(self):
        found = self.environment("--addr", "127.0.0.2", "--transport", "roce", "--wire", "udp", "--loss", "1%",
                                 "--dup", "0.02", "--reorder", "3%", "--corrupt", "4%", "--ecn", "5%", "--drop-nth",
                                 "3,4", "--seed", "9", "--impair", "both", "--stats", "--max-qps", "10", "--faults",
                                 "delay=2", "--policy", "weighted", "--weights", "1,3", "--works-per-turn", "4",
                                 "--burst-bytes", "8192", "--one-copy", "off", "--merge", "off",
                                 "--source-ports", "4")
        for name, value in {"ADDR": "127.0.0.2", "TRANSPORT": "roce", "WIRE": "udp", "LOSS": "1%", "DUP": "0.02",
                            "REORDER": "3%", "CORRUPT": "4%", "ECN": "5%", "DROP_NTH": "3,4", "SEED": "9",
                            "IMPAIR": "both", "STATS": "1", "MAX_QPS": "10", "FAULTS": "delay=2",
                            "POLICY": "weighted", "WEIGHTS": "1,3", "WORKS_PER_TURN": "4",
                            "BURST_BYTES": "8192", "ONE_COPY": "off", "MERGE": "off",
                            "SOURCE_PORTS": "4"}.items():
            self.assertEqual(found[f"WEFT_{name}"], value)

    def test_flags_win_over_variables(self):
        self.assertEqual(self.environment("--seed", "2", WEFT_SEED="1")["WEFT_SEED"], "2")
        self.assertEqual(self.environment(WEFT_SEED="1")["WEFT_SEED"], "1")

    def test_what_cannot_be_read_is_refused_before_anything_starts(self):
        (self.folder / "bad.toml").write_text("loss = 7\n")
        for arguments, environment, says in (
                (["--loss", "2"], {}, "--loss: '2' is no probability: loss wants 0 ... 1, or 0% ... 100%\n"),
                (["--drop-nth", "0"], {}, "--drop-nth: '0' is no packet's number"),
                (["--transport", "tcp"], {}, "--transport: 'tcp' is none of auto, roce, srnic, star"),
                (["--transport", "star"], {}, "transport star needs a role"),
                (["--no-such-flag"], {}, "there is no option '--no-such-flag'"),
                ([], {"WEFT_WIRE": "tcp"}, "WEFT_WIRE: 'tcp' is none of auto, udp, shm"),
                ([], {"WEFT_CONFIG": "bad.toml"}, "bad.toml:1: loss: '7' is no probability"),
                (["--pcap", "no/such/folder/x"], {}, "there is no folder")):
            done = self.weft(*arguments, "--", "echo", "started", **environment)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(says, done.stderr)
        self.assertIn("which program?", self.weft().stderr)

    def test_files_are_found_from_wherever_the_program_goes(self):
        (self.folder / "weft.toml").write_text("seed = 3\n")
        found = self.environment("--pcap", "x-%p.pcapng")
        self.assertEqual(found["WEFT_PCAP"], str(self.folder / "x-%p.pcapng"))
        self.assertEqual(found["WEFT_CONFIG"], str(self.folder / "weft.toml"))

    def test_a_file_that_anybody_may_have_written_is_left_alone(self):
        victim = self.folder / "victim"
        victim.write_text("all that I know\n")
        (self.folder / "weft.toml").write_text(f'pcap = "{victim}"\nseed = 3\n')
        (self.folder / "weft.toml").chmod(0o666)
        done = self.weft("--", "env", "-0")
        self.assertEqual((done.returncode, done.stderr),
                         (0, "weft: weft.toml is not read: everybody may write it\n"))
        found = done.stdout.split("\0")
        self.assertIn("WEFT_CONFIG=", found)  # so that the program does not find it either
        self.assertEqual([line for line in found if line.startswith("WEFT_PCAP")], [])

    def test_libraries_come_first_and_the_broker_is_known(self):
        libraries = Path(WEFT).resolve().parent.parent / "lib" / "weft"
        found = self.environment(LD_LIBRARY_PATH="/before", LD_PRELOAD="")
        self.assertEqual(found["LD_LIBRARY_PATH"], f"{libraries}:/before")
        self.assertEqual(found["LD_PRELOAD"], str(libraries / "libweft_sysfs.so"))
        self.assertEqual(found["WEFT_BROKER"], str(Path(WEFT).resolve().parent / "weft-broker"))

    def test_without_its_libraries_it_says_so(self):
        (self.folder / "bin").mkdir()
        alone = shutil.copy(WEFT, self.folder / "bin" / "weft")
        done = subprocess.run([alone, "run", "--", "true"], capture_output=True, text=True, check=False, timeout=30)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{self.folder}/lib/weft/libibverbs.so.1 is missing", done.stderr)


class Sysfs(Run):
    def test_programs_see_the_device(self):
        address = ["--addr", "127.0.0.1,127.0.0.2", "--"]
        port = SYSFS / "weft0/ports/1"
        self.assertEqual(self.output(*address, "cat", port / "gids/0", port / "gids/1"), f"{GID}1\n{GID}2\n")
        self.assertEqual(self.output(*address, "cat", port / "gid_attrs/types/1", port / "gid_attrs/ndevs/1"),
                         "RoCE v2\nlo\n")
        self.assertEqual(self.output(*address, "ls", SYSFS), "weft0\n")
        self.assertIn("weft0 -> ", self.output(*address, "ls", "-l", SYSFS))
        self.assertEqual(self.output(*address, "sh", "-c", f"cd {SYSFS}/weft0 && cat node_type"), "1: CA\n")
        python = f"print(open('{port}/link_layer').read(), end='')"
        self.assertEqual(self.output(*address, sys.executable, "-c", python), "Ethernet\n")
        self.assertEqual(self.output(*address, "cat", "/sys/class/infiniband_verbs/uverbs0/ibdev"), "weft0\n")

    def test_every_way_to_ask_is_answered(self):
        self.assertEqual(self.output("--", PATHS), "")

    def test_other_paths_are_as_they_were(self):
        for path in ("/sys/class/net/lo/mtu", "/etc/passwd"):
            self.assertEqual(self.output("--", "cat", path), Path(path).read_text())
        self.assertEqual(set(self.output("--", "ls", "/sys/class").split()), set(os.listdir("/sys/class")))

    def test_it_can_be_left_out(self):
        found = self.environment("--no-sysfs", WEFT_SYSFS="/somewhere")
        self.assertNotIn("WEFT_SYSFS", found)
        self.assertNotIn("LD_PRELOAD", found)

    def test_programs_share_one_folder_that_is_mended_when_it_is_broken(self):
        address = ["--addr", "127.0.0.1"]
        folder = Path(self.environment(*address)["WEFT_SYSFS"])
        self.assertEqual(self.environment(*address)["WEFT_SYSFS"], str(folder))
        self.assertNotEqual(self.environment("--addr", "127.0.0.9")["WEFT_SYSFS"], str(folder))
        (folder / "class/infiniband/weft0/node_type").unlink()
        self.assertEqual(self.output(*address, "--", "cat", SYSFS / "weft0/node_type"), "1: CA\n")
        self.assertEqual([p.name for p in folder.parent.iterdir() if "." in p.name], [])

    def test_a_folder_that_others_could_write_is_not_trusted(self):
        taken = self.folder / f"weft-{os.geteuid()}"
        taken.mkdir()
        taken.chmod(0o777)
        folder = Path(self.environment("--addr", "127.0.0.1")["WEFT_SYSFS"])
        self.assertNotEqual(folder.parent, taken)
        self.assertEqual(stat.S_IMODE(folder.parent.stat().st_mode), 0o755)

    def test_a_folder_of_another_name_is_found_again(self):
        """Each start left one behind."""
        taken = self.folder / f"weft-{os.geteuid()}"
        taken.mkdir()
        taken.chmod(0o777)
        first = self.environment("--addr", "127.0.0.1")["WEFT_SYSFS"]
        self.assertEqual(self.environment("--addr", "127.0.0.1")["WEFT_SYSFS"], first)

    def test_many_may_be_the_first(self):
        """As the ranks of an MPI program are. Some found the folder gone just when they looked, and failed with EIO."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "LD_"))}
        command = [WEFT, "run", "--addr", "127.0.0.1", "--", "cat", SYSFS / "weft0/node_type"]
        for turn in range(8):
            empty = self.folder / str(turn)
            empty.mkdir()
            started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**clean, "TMPDIR": str(empty)}) for _ in range(20)]
            self.assertEqual({p.communicate()[0] for p in started}, {"1: CA\n"})

    def test_folders_go_when_their_programs_have_ended(self):
        def age(folder):
            os.utime(folder, (0, 0))
            return folder

        ended = [age(Path(self.environment("--addr", f"127.0.3.{i}")["WEFT_SYSFS"])) for i in range(1, 9)]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "LD_"))}
        command = [WEFT, "run", "--addr", "127.0.3.9", "--", "sh", "-c", "echo $WEFT_SYSFS; cat"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**clean, "TMPDIR": str(self.folder)}) as runs:
            used = age(Path(runs.stdout.readline().strip()))
            new = Path(self.environment("--addr", "127.0.3.10")["WEFT_SYSFS"])
            left = {p for p in new.parent.iterdir() if p.name.startswith("sysfs-")}
            self.assertEqual(left, {used, new})
            self.assertEqual([p for p in ended if p.exists()], [])

    def test_nobody_waits_until_many_folders_have_gone(self):
        """A first start took minutes to remove those of years, and the others waited for it."""
        home = Path(self.environment("--addr", "127.0.3.1")["WEFT_SYSFS"]).parent
        for i in range(100):
            (home / f"sysfs-{i:016x}").mkdir()
            os.utime(home / f"sysfs-{i:016x}", (0, 0))

        def left():
            self.output("--addr", "127.0.3.1", "--", "true")
            return sum(1 for _ in home.glob("sysfs-*"))

        first = left()
        self.assertTrue(50 < first < 101, first)
        for _ in range(20):
            last = left()
        self.assertEqual(last, 1)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("runuser"), "needs root to become somebody else")
    def test_an_ordinary_user_sees_it_too(self):
        self.folder.chmod(0o777)
        self.assertEqual(self.output("--addr", "127.0.0.1", "--", "cat", SYSFS / "weft0/ports/1/gids/0", user="nobody"),
                         f"{GID}1\n")


if __name__ == "__main__":
    unittest.main()
