"""Runs programs of rdma-core and perftest, as they are installed, on Weft's libibverbs.so.1.

Usage: programs.py FOLDER, the one that holds the library. Ends with 77 (skipped) if no such program is installed.
"""

import os
import shutil
import socket
import subprocess
import sys
import time

ADDRESS = "127.0.72.1"
SECONDS = 60

PINGPONGS = [
    ["ibv_rc_pingpong"], ["ibv_rc_pingpong", "-e"], ["ibv_rc_pingpong", "-t"], ["ibv_rc_pingpong", "-N"],
    ["ibv_rc_pingpong", "-o"], ["ibv_rc_pingpong", "-j"], ["ibv_rc_pingpong", "-c", "-s", "100000", "-n", "50"],
    ["ibv_uc_pingpong"], ["ibv_uc_pingpong", "-e"], ["ibv_ud_pingpong"], ["ibv_ud_pingpong", "-e"],
    ["ibv_srq_pingpong"], ["ibv_srq_pingpong", "-e"],
]
PERFTESTS = [
    ["ib_send_bw", "-n", "1000"], ["ib_send_bw", "-n", "1000", "-e"], ["ib_write_bw", "-n", "1000", "-q", "4"],
    ["ib_read_bw", "-n", "1000"], ["ib_send_lat", "-n", "1000"],
    ["ib_atomic_bw", "-n", "1000"], ["ib_send_bw", "-n", "500", "-b"],
]


def environment(folder):
    return {**os.environ, "LD_LIBRARY_PATH": folder, "WEFT_ADDR": ADDRESS}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def alone(command, env, expected):
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS)
    lacking = [text for text in expected if text not in done.stdout]
    return [] if done.returncode == 0 and not lacking else [f"{command}: {done.returncode}, lacks {lacking}\n"
                                                            f"{done.stdout}{done.stderr}"]


def is_listening(port):
    """A look at the kernel's table: to connect would be to take the client's place."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as f:
            for line in f:
                fields = line.split()
                if fields[1].endswith(f":{port:04X}") and fields[3] == "0A":
                    return True
    return False


def wait_until_listening(port, server):
    for _ in range(500):
        if server.poll() is not None or is_listening(port):
            return
        time.sleep(0.02)


def pair(command, env):
    """A server and its client: both must end well."""
    port = free_port()
    full = command + ["-p", str(port)]
    server = subprocess.Popen(full, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_until_listening(port, server)
        client = subprocess.run(full + ["127.0.0.1"], env=env, capture_output=True, text=True, timeout=SECONDS)
        said, _ = server.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        return [f"{command}: not done after {SECONDS} s"]
    if client.returncode == 0 and server.returncode == 0:
        return []
    return [f"{command}: client {client.returncode}, server {server.returncode}\n"
            f"client: {client.stdout}{client.stderr}\nserver: {said}"]


def main(folder):
    env = environment(folder)
    failures, ran = [], 0
    looks = [(["ibv_devices"], ["weft0"]), (["ibv_devinfo", "-v"], ["weft0", "PORT_ACTIVE", ADDRESS, "RoCE v2"])]
    for command, expected in looks:
        if shutil.which(command[0]):
            failures += alone(command, env, expected)
            ran += 1
    for command in [p + ["-g", "0"] for p in PINGPONGS] + PERFTESTS:
        if shutil.which(command[0]):
            failures += pair(command, env)
            ran += 1
    for failure in failures:
        print(failure)
    print(f"{ran} runs, {len(failures)} failures")
    return 77 if ran == 0 else 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
