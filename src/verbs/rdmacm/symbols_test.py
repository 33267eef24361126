"""Our librdmacm must have exactly the symbols and versions of the system's. Usage: symbols_test.py OURS THEIRS

Skipped (77) where there is no librdmacm to compare with.
"""

import os
import subprocess
import sys


def symbols(path):
    command = ["nm", "-D", "--defined-only", "--with-symbol-versions", path]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1] for line in lines if "RDMACM" in line}


def main(arguments):
    ours, theirs = arguments
    if not os.path.exists(theirs):
        print(f"{theirs} is not here")
        return 77
    missing, extra = symbols(theirs) - symbols(ours), symbols(ours) - symbols(theirs)
    for name in sorted(missing):
        print(f"missing: {name}")
    for name in sorted(extra):
        print(f"extra: {name}")
    if not missing and not extra:
        print(f"{len(symbols(ours))} symbols, the same")
    return 1 if missing or extra else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
