"""Every name that a system library exports, in every version, must be exported by ours as well.

Usage: symbols.py OURS SONAME NODE. The system's library SONAME counts only if it has the version node NODE: another
release of it is no measure. Ends with 77 (skipped) if there is none.
"""

import glob
import re
import subprocess
import sys


def exports(path):
    """Names with their versions; data objects with their size."""
    command = ["nm", "-D", "--defined-only", "--with-symbol-versions", "-S", path]
    found = set()
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        *numbers, kind, name = line.split()
        if "@" not in name:
            continue  # a version node
        size = f" of {int(numbers[1], 16)} bytes" if kind in "BDR" else ""
        found.add(name + size)
    return found


def system_library(soname, node):
    for path in sorted(glob.glob(f"/usr/lib/*/{soname}") + glob.glob(f"/usr/lib64/{soname}")):
        if any(name.endswith("@" + node) or f"@{node} " in name for name in exports(path)):
            return path
    return None


def main(ours, soname, node):
    theirs = system_library(soname, node)
    if theirs is None:
        print(f"no {soname} with {node} on this machine")
        return 77
    missing = sorted(exports(theirs) - exports(ours))
    for name in missing:
        print(f"missing: {name}")
    extra = sorted(n for n in exports(ours) - exports(theirs) if not re.search(r"@WEFT_PRIVATE", n))
    for name in extra:
        print(f"exported, but not by {theirs}: {name}")
    return 1 if missing or extra else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
