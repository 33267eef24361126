"""The examples run: GET by READs, by a kernel and by TCP, while values change; streams through kernels; each kernel
that ships. And all are built against an installed Weft."""

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

FOLDER = Path(sys.argv.pop())
EXAMPLES = Path(sys.argv.pop())
BUILD = Path(sys.argv.pop())
SERVER, CLIENT = "127.0.74.1", "127.0.74.2"
OBJECT = BUILD / "share/weft/get.o"
PATIENCE = 120
SIZES = ("--keys", "2000", "--bytes", "200")


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "LD_"))}


def command(address, *words, flags=(), weft=BUILD / "bin/weft", program=BUILD / "bin/weft-kv"):
    return [str(w) for w in (weft, "run", "--addr", address, *flags, "--", program, *words)]


class Store:
    """A server, until the end of the `with` block."""

    def __init__(self, *words, **how):
        self.command = command(SERVER, "serve", "--address", SERVER, *SIZES, *words, **how)

    def __enter__(self):
        self.process = subprocess.Popen(self.command, env=environment(), text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line.startswith("serving 2000 keys"):
            raise AssertionError(f"the server says: {line!r}")
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=PATIENCE)


def get(*words, **how):
    return subprocess.run(command(CLIENT, "get", "--address", SERVER, *SIZES, "--milliseconds", "300", *words, **how),
                          env=environment(), capture_output=True, text=True, timeout=PATIENCE)


class KeyValueStore(unittest.TestCase):
    def check(self, done, clients):
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        said = json.loads(done.stdout)
        self.assertEqual((said["wrong"], said["clients"]), (0, clients))
        self.assertGreater(said["rate"], 0)
        self.assertLessEqual(said["median_us"], said["p99_us"])
        return said

    def test_every_way_gets_what_was_put_while_it_changes(self):
        for flags in ((), ("--wire", "udp"), ("--wire", "udp", "--loss", "1%", "--seed", "3")):
            with Store(flags=flags):
                for by in ("reads", "kernel", "tcp"):
                    for clients in (1, 40):
                        with self.subTest(by=by, clients=clients, flags=flags):
                            self.check(get("--by", by, "--clients", clients, "--puts", 2000, "--json", "yes",
                                           flags=flags), clients)

    @unittest.skipUnless(OBJECT.exists(), "there is no clang-14, or no DPDK")
    def test_clients_bring_kernels_of_their_own(self):
        own = ("--by", "bytecode", "--object", OBJECT)
        for flags in ((), ("--wire", "udp", "--loss", "1%", "--seed", "5"), ("--transport", "roce")):
            with self.subTest(flags=flags), Store("--deploy", "yes", flags=flags):
                for clients in (1, 40):  # the second program has another op-code
                    self.check(get(*own, "--clients", clients, "--puts", 500, "--json", "yes", flags=flags), clients)
        with Store():
            done = get(*own)
            self.assertEqual(done.returncode, 1)
            self.assertIn("the server allows no deployment", done.stderr)

    def test_thousands_of_clients(self):
        many = ("--max-qps", "4096")
        with Store(flags=many):
            for by in ("reads", "kernel"):
                with self.subTest(by):
                    self.check(get("--by", by, "--clients", 3000, "--json", "yes", flags=many), 3000)

    def test_who_finds_another_value_than_was_put_says_so(self):
        with Store():
            done = get("--by", "kernel", "--bytes", "100")
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertNotIn(" 0 wrong", done.stdout)

    def test_it_says_what_is_missing(self):
        alone = subprocess.run([str(BUILD / "bin/weft-kv"), "get", "--by", "kernel"], env=environment(),
                               capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(alone.returncode, 1)
        self.assertIn("weft run", alone.stderr)
        for words, complaint in ((("--by", "magic"), "--by is kernel, bytecode, reads or tcp"),
                                 (("--clients", "0"), "a number"),
                                 (("--speed", "1"), "no option --speed"), (("--port", "1"), "cannot connect")):
            with self.subTest(words):
                done = get(*words)
                self.assertEqual(done.returncode, 1)
                self.assertIn(complaint, done.stderr)


class Streams(unittest.TestCase):
    def test_every_kernel_takes_its_turn(self):
        for flags in ((), ("--wire", "udp"), ("--wire", "udp", "--loss", "1%", "--seed", "4")):
            with self.subTest(flags=flags):
                done = subprocess.run(command("127.0.74.3", 1, 50, flags=flags, program=BUILD / "bin/weft-streams"),
                                      env=environment(), capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 0, done.stderr)
                ways = [line.split()[0] for line in done.stdout.splitlines()]
                self.assertEqual(ways, ["write", "dropped", "filter", "distinct", "checksum", "shuffle"])


class Kernels(unittest.TestCase):
    def test_each_that_ships_is_called_by_peers_and_at_home(self):
        for flags in ((), ("--wire", "udp"), ("--transport", "roce", "--wire", "udp", "--loss", "1%", "--seed", "5")):
            with self.subTest(flags=flags):
                done = subprocess.run(command("127.0.74.4", flags=flags, program=BUILD / "bin/weft-kernels"),
                                      env=environment(), capture_output=True, text=True, timeout=PATIENCE)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual([line[:12].strip() for line in done.stdout.splitlines()],
                                 ["traverse", "get", "consistent", "update", "filter", "distinct", "checksum",
                                  "shuffle", "own filter", "own shuffle"])


class Installed(unittest.TestCase):
    def test_all_are_built_against_an_installed_weft(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        prefix = FOLDER / "prefix"
        steps = [("cmake", "--install", BUILD, "--prefix", prefix)]
        for name in ("kv", "streams", "kernels"):
            steps.append(("cmake", "-S", EXAMPLES / name, "-B", FOLDER / name, "-G", "Ninja",
                          f"-DCMAKE_PREFIX_PATH={prefix}"))
            steps.append(("cmake", "--build", FOLDER / name))
        for step in steps:
            done = subprocess.run([str(s) for s in step], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        installed = {"weft": prefix / "bin/weft", "program": FOLDER / "kv/weft-kv"}
        with Store(**installed):
            done = get("--by", "kernel", "--json", "yes", **installed)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
