"""What there is: processes, descriptors, memory, sockets and files of a soak. At the end it must be as at the start."""

import os
from pathlib import Path

# What may grow a little, by how its name begins. The broker keeps a socket for each lane number that was ever in use at
# an address while that is in use, at each of three ports: three times as many as there were programs at once, and more
# than that, as a number rests. Memory regions and completion queues take random slots of tables of some 5 MiB, of which
# an elder touches more and more.
MEMORY = "memory of"  # in KiB
SLACK = {f"{MEMORY} elder": 8192, f"{MEMORY} broker": 512, "descriptors of broker": 180, "udp sockets": 180}


def marked(mark):
    """Processes that have this word in their environment, which whoever they start inherits."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                if state_of(int(entry.name)) not in ("Z", None):
                    found.append(int(entry.name))
        except OSError:
            continue  # it is gone, or another user's
    return sorted(found)


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def memory_kib(pid):
    """Of its own and shared, without files that are mapped: those come and go as the kernel likes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    return sum(int(facts[name].split()[0]) for name in ("RssAnon", "RssShmem") if name in facts)


def sockets(pid):
    """Of the network namespace of a process, by table. Connections of TCP that are over are none."""
    found = {}
    for table in ("unix", "udp", "udp6", "tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            lines = []
        found[table] = sum(1 for line in lines if table == "unix" or line.split()[3] in ("07", "0A", "01", "08"))
    return found


def files(folder, owner):
    """How many files in a folder belong to a user."""
    count = 0
    for entry in Path(folder).iterdir():
        try:
            count += entry.lstat().st_uid == owner
        except OSError:
            continue
    return count


def growth(before, after):
    """Sentences on what there is more of than before. What is less is no leak."""
    found = []
    for name in sorted(set(before) | set(after)):
        old, new = before.get(name, 0), after.get(name, 0)
        slack = sum(allowed for start, allowed in SLACK.items() if name.startswith(start))
        if new > old + slack:
            found.append(f"{name}: {old} at the start, {new} now")
    return found
