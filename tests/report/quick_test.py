"""The quick set of all experiments: every claim that is recorded as met is met, and it does not take long.
Usage: quick_test.py WEFT FOLDER. Leaves the page, points.csv and verdicts.json in FOLDER, for report_test.py."""

import csv
import json
import resource
import subprocess
import sys
from pathlib import Path

SECONDS = 120  # of processors: a minute of two. By the clock, a busy machine would fail here.


def main(weft, folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([weft, "reproduce", "--all", "--quick", "--json", "--report", str(folder), "--csv",
                           str(folder / "points.csv")], capture_output=True, text=True, check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    problems = []
    if done.returncode not in (0, 1):
        problems.append(f"exit {done.returncode}: {done.stderr}")
    rows = json.loads(done.stdout) if done.stdout else []
    (folder / "verdicts.json").write_text(done.stdout)
    if not rows:
        problems.append("no claims")
    for row in rows:
        if row["row"] is None:
            continue
        if row["verdict"] == "missed" and row["recorded"] != "missed":
            problems.append(f"{row['id']}, {row['row']}: claimed {row['claimed']} {row['unit']} ({row['band']}), "
                            f"measured {row['measured']}: missed, and recorded as {row['recorded']}. "
                            + row.get("failure", ""))
        if row["verdict"] != "missed" and row["recorded"] == "missed":
            print(f"note: {row['id']}, {row['row']} is {row['verdict']} now; its plan still tells why it is missed")
    with open(folder / "points.csv", encoding="utf-8", newline="") as file:
        failed = [f"{r['experiment']}, {r['series']}: {r['failure']}" for r in csv.DictReader(file) if r["failure"]]
    problems += [f"a run failed: {f}" for f in failed[:5]]
    if seconds > SECONDS:
        problems.append(f"took {seconds:.0f} s of processors, {SECONDS} are allowed")
    counts = {v: sum(r["row"] is not None and r["verdict"] == v for r in rows) for v in ("met", "missed", "calibrated")}
    print(", ".join(f"{n} {v}" for v, n in counts.items()), f"in {seconds:.1f} s of processors")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
