"""Runs the suite with a deliberate bug in the product. Usage: catch.py SUITE PLACE NAME

The bug `none` must pass every test. Any other must make one fail; a crash is not a test that noticed.
"""

import re
import subprocess
import sys

QUICK = "-Long/*:*AnyTwo*:*EveryMask"  # without those that take longest
# In this order: the first look closely at one packet each, and where they would notice a bug others may crash or hang.
PARTS = (f"Trust*{QUICK}", f"{QUICK}:Trust*")


def play(suite, place, part):
    command = [suite, f"--canary={place}", f"--gtest_filter={part}", "--gtest_fail_fast", "--gtest_brief=1"]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def main(suite, place, name):
    for part in PARTS:
        run = play(suite, place, part)
        if run.returncode != 0:
            break
    failed = re.findall(r"^\[  FAILED  \] (\S+)", run.stdout, re.MULTILINE)
    if name == "none":
        if run.returncode == 0:
            return 0
        print(run.stdout[-4000:], run.stderr[-4000:])
        print("the suite fails without any canary")
        return 1
    if run.returncode == 1 and failed:
        print(f"{name}: caught by {failed[0]}")
        return 0
    print(run.stdout[-2000:], run.stderr[-2000:])
    if run.returncode == 0:
        print(f"{name} sings and no test hears it: the suite has a hole")
    else:
        print(f"{name}: the suite ended with {run.returncode} and no failed test")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
