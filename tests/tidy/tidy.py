"""The rules of the house that a compiler does not know. Usage: tidy.py ROOT

Prints FILE:LINE: RULE: what is wrong and what to do, and fails if there was anything to print.
Exceptions, each with its reason, stand in tests/tidy/allow.txt.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
import source  # noqa: E402
import together  # noqa: E402
import type_names  # noqa: E402

COLUMNS = 120
FUNCTION_LINES = 70
FILE_LINES = 600
ALLOW = "tests/tidy/allow.txt"

# A room may include itself and the rooms with a smaller number. Rooms with the same number are strangers.
ORDER = {"base": 0, "wire": 1, "nic": 2, "host": 3, "kernels": 3, "bytecode": 3, "native": 4, "cm": 4, "world": 5,
         "lab": 6, "verbs": 6, "sysfs": 6, "cli": 7}
IMPORT_RULE = ("base <- wire <- nic <- host, kernels, bytecode <- native, cm <- world <- lab, verbs, "
               "sysfs <- cli")
# The rooms inside src/world/real/, by the same rule. Tests may include any.
REAL_ORDER = {"os": 0, "settings": 1, "udp": 2, "shm": 2, "broker": 3, "port": 4, "lane": 5}
REAL_RULE = "os <- settings <- udp, shm <- broker <- port <- lane"
REAL_TIME = "src/world/real/os/time.h"
SPAN = re.compile(r"(?:\b(?:real|weft)::|(?<![\w:.]))(?:nano|micro|milli)?seconds\((?=[^)\s])")
# The rooms inside src/nic/, by the same rule. Files that stand in src/nic/ itself belong to one of three of them.
NIC_ORDER = {"ground": 0, "caches": 1, "kernels": 1, "memory": 2, "schedule": 3, "congestion": 4, "core": 5, "rc": 6,
             "roce": 7, "srnic": 7, "star": 7, "ud": 7, "card": 8}
NIC_FILES = {
    "ground": ("context control counters formats queues reorder_notes rights ring_entry slots stateless_block "
               "under_way world").split(),
    "core": "card_state completions core host_memory on_chip page_walk reveal scatter_gather work_fetch".split(),
    "card": ["card"]}
NIC_RULE = ("ground <- caches, kernels <- memory <- schedule <- congestion <- core <- rc <- roce, srnic, star, ud <- "
            "card")
HOST_MEMORY = "src/nic/host_memory.h"  # the card's only way to what lies in host memory
# Besides the standard library: until std::expected arrives with C++23; and C's own, for the headers that C has, too.
PUBLIC_INCLUDES = {"tl/expected.hpp", "stdbool.h", "stddef.h", "stdint.h"}
PUBLIC_RULE = 'public headers include only the standard library, <tl/expected.hpp> and "weft/…"'
PURE = {"base", "wire", "nic", "host", "native", "cm", "public"}
DETERMINISTIC = PURE | {"world", "world/sim", "world/direct"}

SYSTEM_FOLDERS = ("sys/", "netinet/", "arpa/", "linux/", "net/", "asm/", "bits/", "infiniband/", "rdma/")
SYSTEM_HEADERS = set(
    "aio.h dirent.h dlfcn.h fcntl.h ifaddrs.h netdb.h poll.h pthread.h sched.h semaphore.h signal.h spawn.h "
    "syslog.h termios.h time.h threads.h ucontext.h unistd.h "
    "barrier chrono condition_variable csignal ctime execution filesystem fstream future latch mutex random "
    "semaphore shared_mutex stop_token syncstream thread".split())
CLOCK_HEADERS = {"chrono", "ctime", "time.h", "sys/time.h", "sys/timeb.h", "random", "sys/random.h"}

CLOCK_OR_CHANCE = re.compile(
    r"\b(?:steady_clock|system_clock|high_resolution_clock|random_device|clock_gettime|gettimeofday|getrandom)\b"
    r"|\bs?rand\s*\(|\bstd::time\s*\(")
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|home/\w+)/")
PACKAGE_HOST = re.compile(
    r"\b(?:deb|security|ftp|archive|snapshot)\.(?:\w+\.)?(?:debian\.org|ubuntu\.com)|\bpypi\.(?:org|python\.org)"
    r"|\bpythonhosted\.org|\bregistry\.npmjs\.org|\bstatic\.crates\.io|\bproxy\.golang\.org"
    r"|\b(?:extra-)?[i]ndex-url\b|\b(?:[t]rusted-host)\b")
UNFINISHED = re.compile(r"\b(?:T[O]DO|F[I]XME)\b")

# Documents that lead a newcomer through the tree: what they name exists, and they stay readable.
DOCS = {"docs/ARCHITECTURE.md", "docs/glossary.md"}
ARCHITECTURE, ARCHITECTURE_LINES = "docs/ARCHITECTURE.md", 299
DOC_NAME = re.compile(r"`([^`\s]+)`")
DOC_SUFFIXES = (".h", ".cc", ".py", ".toml", ".md")
DOC_FOLDERS = tuple("src/ tests/ docs/ nic/ host/ wire/ world/ verbs/ lab/ cli/ base/ cm/ native/".split())

CPP = {".h", ".cc"}
CODE = CPP | {".py", ".cmake"}


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    message: str
    name: str = ""  # of the function or type, where the rule is about one

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


# ---- where a file stands ---------------------------------------------------------------------------------------------


def room_of(path):
    """The room a path belongs to ('nic', 'world/sim', 'public'), or None: tests, benchmarks and tools are free."""
    parts = path.split("/")
    if parts[:2] == ["include", "weft"]:
        return "public"
    if parts[0] != "src" or len(parts) < 3:
        return None
    return "/".join(parts[1:3]) if parts[1] == "world" and len(parts) > 3 else parts[1]


def room_of_include(name):
    parts = name.split("/")
    if parts[0] == "weft":
        return "public"
    return "/".join(parts[:2]) if parts[0] == "world" and len(parts) > 2 else parts[0]


def is_test(path):
    return path.endswith(("_test.cc", "_fuzz.cc"))


# ---- rules for C++ ---------------------------------------------------------------------------------------------------


def check_includes(path, text):
    room = room_of(path)
    for line, name, quoted in source.includes(text):
        target = room_of_include(name)
        ours = quoted or target.split("/")[0] in ORDER or target == "public"
        if is_test(path) and target == "support":  # tests/support/ is for the tests beside the code, too
            continue
        if room and ours:
            problem = import_problem(room, name, target)
            if problem:
                yield Finding(path, line, "import", problem)
        elif room == "public" and re.search(r"[/.]", name) and name not in PUBLIC_INCLUDES:
            yield Finding(path, line, "import", f"<{name}>: {PUBLIC_RULE}")
        if not is_test(path) and not quoted:
            yield from check_system_header(path, line, room, name)


def import_problem(room, name, target):
    top, target_top = room.split("/")[0], target.split("/")[0]
    if room == "public":
        return None if target == "public" else f'"{name}": {PUBLIC_RULE}'
    if target == "public":
        if top in ORDER and top != "native" and ORDER[top] <= ORDER["native"]:
            return f'"{name}": the public interface is not known before native/; move what both need into {room}/'
        return None
    if target_top not in ORDER:
        return f'"{name}" names no room; write the path from src/ ("{room}/x.h"), or <…> if it is not ours'
    if top not in ORDER:
        return f"src/{top}/ is no room of the import rule ({IMPORT_RULE}); add it to tests/tidy/tidy.py"
    if target_top == top:
        stranger = top == "world" and "/" in target and room != target
        return f'"{name}": {room}/ may not know {target}/; move what both need to src/world/' if stranger else None
    if ORDER[target_top] >= ORDER[top]:
        return f'"{name}": {room}/ may not include {target_top}/ ({IMPORT_RULE}); pass it in, or move it down'
    return None


def check_real_rooms(path, text):
    """Imports inside src/world/real/ point one way."""
    parts = path.split("/")
    if parts[:3] != ["src", "world", "real"] or is_test(path) or parts[-1] == "CMakeLists.txt":
        return
    room = parts[3] if len(parts) > 4 else None
    if room not in REAL_ORDER:
        yield Finding(path, 1, "import", f"src/world/real/ has the rooms {REAL_RULE}; put the file into one of them")
        return
    for line, name, quoted in source.includes(text):
        target = name.split("/")[2] if quoted and name.startswith("world/real/") else room
        if target != room and REAL_ORDER.get(target, len(REAL_ORDER)) >= REAL_ORDER[room]:
            yield Finding(path, line, "import", f'"{name}": {room}/ may not include {target}/ ({REAL_RULE}); pass it '
                          "in, or move it down")


def check_time(path, text, code):
    """The real world's ticks are nanoseconds, and functions of the same names count the simulated world's."""
    real = path.startswith("src/world/real/")
    if not (real or path.startswith("src/verbs/")) or path == REAL_TIME:
        return
    included = [name for _, name, quoted in source.includes(text) if quoted]
    for number, line in enumerate(code.split("\n"), 1):
        if match := SPAN.search(line):
            if REAL_TIME[len("src/"):] not in included:
                yield Finding(path, number, "time", f"{match.group()}): whoever makes times here includes "
                              f"{REAL_TIME}, or they are the simulated world's")
            elif not real and not match.group().startswith("real::"):
                yield Finding(path, number, "time", f"{match.group()}): say real::, the other counts picoseconds")
    if real and "base/time.h" in included:
        yield Finding(path, 1, "time", f"base/time.h is the simulated world's; include {REAL_TIME}")


def nic_room(path):
    """The room of a file below nic/ ('nic/rc/admit.h', 'nic/core.h'), or None."""
    parts = path.split("/")
    if len(parts) > 2:
        return parts[1] if parts[1] in NIC_ORDER else None
    return next((room for room, files in NIC_FILES.items() if parts[-1].split(".")[0] in files), None)


def check_nic_rooms(path, text):
    """Imports inside src/nic/ point one way."""
    if not path.startswith("src/nic/") or is_test(path) or Path(path).suffix not in CPP:
        return
    room = nic_room(path[len("src/"):])
    if room is None:
        yield Finding(path, 1, "import", f"src/nic/ has the rooms {NIC_RULE}; put the file into one of them, or name "
                      "it in NIC_FILES of tests/tidy/tidy.py")
        return
    for line, name, quoted in source.includes(text):
        target = nic_room(name) if quoted and name.startswith("nic/") else room
        if target != room and NIC_ORDER.get(target, len(NIC_ORDER)) >= NIC_ORDER[room]:
            yield Finding(path, line, "import", f'"{name}": {room} may not include {target} ({NIC_RULE}); pass it '
                          "in, or move it down")


def check_system_header(path, line, room, name):
    if room in PURE and (name.startswith(SYSTEM_FOLDERS) or name in SYSTEM_HEADERS):
        yield Finding(path, line, "pure", f"<{name}>: {room}/ knows no system, clock, thread or chance; "
                      "take the time or the effect as an argument")
    elif room in DETERMINISTIC and name in CLOCK_HEADERS:
        yield Finding(path, line, "deterministic", f"<{name}>: in {room}/ time is an argument and chance has a seed")


def check_words(path, code):
    room = room_of(path)
    for number, line in enumerate(code.split("\n"), 1):
        if room in DETERMINISTIC and not is_test(path):
            if match := CLOCK_OR_CHANCE.search(line):
                yield Finding(path, number, "deterministic", f"{match.group().strip('( ')}: {room}/ reads no clock and "
                              "draws nothing but from a seed that it was given")
            if "unordered_" in line:
                yield Finding(path, number, "deterministic", "unordered containers have no order that a seed could "
                              "repeat; use a flat table, a sorted vector or std::map")
        if room == "nic" and not is_test(path):
            if match := re.search(r"\bstd::function\b|\bvirtual\b", line):
                yield Finding(path, number, "dispatch", f"{match.group()}: the card calls nothing indirectly; "
                              "use a template parameter checked by a concept")
            if path != HOST_MEMORY and (match := re.search(r"\bconst_cast\b|\bsaved\[|\boldest\(\)\.", line)):
                yield Finding(path, number, "bus", f"{match.group()}: the card reads and writes host memory through "
                              f"{HOST_MEMORY}, which tells the world of it")
        if "reinterpret_cast" in line and room != "wire":
            yield Finding(path, number, "cast", "reinterpret_cast outside wire/; use std::as_bytes, std::bit_cast or "
                          f"memcpy, or give the reason in {ALLOW}")


def check_functions(path, text):
    for first, last, head in source.functions(text):
        lines = last - first + 1
        if lines > FUNCTION_LINES:
            name = function_name(head)
            yield Finding(path, first, "function-length", f"{name} has {lines} lines, {FUNCTION_LINES} are allowed; "
                          "keep the branching here and give the deeds names of their own", name)


def function_name(head):
    if match := re.match(r"(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+), (\w+)\)", head):
        return f"{match.group(1)}.{match.group(2)}"
    match = re.search(r"([\w:~]+|operator\S+)\s*\(", head)
    return match.group(1) if match else head[:40]


def check_cpp(path, text):
    code = source.strip_comments(text)
    yield from check_includes(path, text)
    yield from check_real_rooms(path, text)
    yield from check_nic_rooms(path, text)
    yield from check_time(path, text, code)
    yield from check_words(path, code)
    yield from check_functions(path, text)
    if path.endswith(".h") and not re.search(r"^#pragma once$", code, re.MULTILINE):
        yield Finding(path, 1, "pragma-once", "a header begins with what it is for, then #pragma once")


# ---- rules for every text --------------------------------------------------------------------------------------------


def check_text(path, text):
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if match := MACHINE_PATH.search(line):
            yield Finding(path, number, "machine-path", f"{match.group()} is a path of one machine; make it relative")
        if match := PACKAGE_HOST.search(line):
            yield Finding(path, number, "package-host", f"{match.group()}: where packages come from is the machine's "
                          "business; name the package in scripts/bootstrap")
        if match := UNFINISHED.search(line):
            yield Finding(path, number, "unfinished", f"{match.group()}: do it, or open an issue and say nothing here")
    if is_code(path) or path.endswith(".md"):
        yield from check_columns(path, lines)
    if is_code(path):
        yield from check_length(path, lines)


def is_code(path):
    return Path(path).suffix in CODE or Path(path).name == "CMakeLists.txt"


def check_columns(path, lines):
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield Finding(path, number, "columns", f"{len(line)} columns, {COLUMNS} are allowed; a table with longer "
                          "lines reads better as a list" if path.endswith(".md") else
                          f"{len(line)} columns, {COLUMNS} are allowed")


def check_length(path, lines):
    count = len(lines) - (lines[-1] == "")
    if count > FILE_LINES:
        yield Finding(path, count, "file-length", f"{count} lines, {FILE_LINES} are allowed; a file is about one thing")


# ---- rules for the documents that lead through the tree --------------------------------------------------------------


def names_of(paths):
    """What a document may call things: every file and folder, from the root or from src/, and plain file names."""
    known = set(paths) | {str(folder) for path in paths for folder in Path(path).parents}
    known |= {path[len("src/"):] for path in known if path.startswith("src/")}
    return known | {Path(path).name for path in paths if path.startswith(("src/", "tests/", "docs/", "include/"))}


def check_docs(path, text, known):
    lines = text.rstrip("\n").split("\n")
    if path == ARCHITECTURE and len(lines) > ARCHITECTURE_LINES:
        yield Finding(path, len(lines), "docs", f"{len(lines)} lines, {ARCHITECTURE_LINES} are allowed; tell ideas, "
                      "and leave numbers beside their constants")
    for number, line in enumerate(lines, 1):
        for name in DOC_NAME.findall(line):
            if (name.endswith(DOC_SUFFIXES) or name.startswith(DOC_FOLDERS)) and name.rstrip("/") not in known:
                yield Finding(path, number, "docs", f"{name} is not in the tree; write its path from the root or from "
                              "src/, or its file name")


# ---- rules for files that are compiled as one ------------------------------------------------------------------------


def check_together(texts):
    for path, line, name, other in together.clashes(texts):
        yield Finding(path, line, "together", f"{name} is local to {other}, too, and both may be compiled as one; "
                      "say in its name what it is of, or move what both need to a header")


# ---- one name, one type ----------------------------------------------------------------------------------------------


def check_type_names(texts):
    for path, line, name, place in type_names.clashes(texts):
        yield Finding(path, line, "one-name", f"{name} is the name of another type, too ({place}); say what it is",
                      name)


# ---- exceptions ------------------------------------------------------------------------------------------------------


class Allowance(NamedTuple):
    line: int
    rule: str
    place: str  # path, or path:function
    reason: str

    def covers(self, finding):
        place = f"{finding.path}:{finding.name}" if ":" in self.place else finding.path
        return self.rule == finding.rule and self.place == place


def read_allowances(root):
    """(exceptions, findings): one per line, RULE PATH[:NAME] REASON; without a reason it is none."""
    exceptions, findings = [], []
    file = root / ALLOW
    for number, line in enumerate(file.read_text().split("\n") if file.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split(None, 2)
        if len(fields) < 3:
            findings.append(Finding(ALLOW, number, "allow", "an exception is RULE PATH[:NAME] REASON, in one line"))
        else:
            exceptions.append(Allowance(number, *fields))
    return exceptions, findings


# ---- the whole tree --------------------------------------------------------------------------------------------------


def project_files(root):
    """What git tracks or would track; in a tree without git, everything but build folders."""
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, check=False)
        if listed.returncode == 0:
            return sorted({p for p in listed.stdout.decode().split("\0") if p and (root / p).is_file()})
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not re.fullmatch(r"\.git|build(-.*)?|__pycache__|\.cache", f)]
        found += [str((Path(folder) / f).relative_to(root)) for f in files]
    return sorted(found)


def check(root):
    root = Path(root)
    exceptions, findings = read_allowances(root)
    paths = project_files(root)
    known = names_of(paths)
    texts = {}
    for path in paths:
        data = (root / path).read_bytes()
        if b"\0" in data:
            continue
        text = data.decode("utf-8", errors="replace")
        texts[path] = text
        findings += check_text(path, text)
        if Path(path).suffix in CPP:
            findings += check_cpp(path, text)
        if path in DOCS:
            findings += check_docs(path, text, known)
    findings += check_together(texts)
    findings += check_type_names(texts)
    kept = [f for f in findings if not any(e.covers(f) for e in exceptions)]
    for e in exceptions:
        if not any(e.covers(f) for f in findings):
            kept.append(Finding(ALLOW, e.line, "allow", f"{e.place} needs no exception from {e.rule}; delete it"))
    return sorted(kept)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    findings = check(arguments[0])
    for finding in findings:
        print(finding)
    if findings:
        print(f"tidy: {len(findings)} to put right")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
