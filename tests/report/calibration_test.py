"""docs/calibration.md lists every parameter without a source, and which numbers verdicts hang on. Fewer numbers are
calibrated than rows. Usage: calibration_test.py WEFT [--write | --quick | --slow]: with --slow the table of sensitivity
of the experiments in WHOLE is held against runs, and of the others that what stands there does flip verdicts; --quick
is the part of it that takes seconds. --write makes the table anew, of all experiments, which takes minutes."""

import collections
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "calibration.md"
MARK, SENSITIVE = "<!-- tables -->\n", "<!-- sensitivity -->\n"
RULE = "|---|---|---|---|"
# Where packets are lost at random, of three seeds one by itself would flip verdicts.
SEEDS = {"srnic-fig11": ["--seeds", "10"]}
# All numbers of these are tried, and of the others those that the table names; and what can be tried in seconds.
WHOLE, QUICK_WHOLE, QUICK = ("srnic-fig10a", "srnic-fig10b"), ("srnic-fig10b",), ("srnic-fig10a", "srnic-fig11")


def ask(weft, *arguments):
    done = subprocess.run([weft, *arguments, "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"weft {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def own_parameters(weft):
    for profile in ask(weft, "profiles"):
        for p in profile["parameters"]:
            if p["profile"] == profile["name"]:  # or else the profile that it extends says so
                yield profile["name"], p


def tables(weft):
    calibrated, swept, assumed = [], [], []
    for profile, p in own_parameters(weft):
        if "calibrated" in p:
            calibrated.append(f"| {profile} | `{p['key']}` | {p['value']} | {p['calibrated']} |")
        elif "swept" in p:
            swept.append(f"| {profile} | `{p['key']}` | {p['value']} | {p['swept']} |")
        elif "assumed" in p:
            assumed.append(f"| {profile} | `{p['key']}` | {p['value']} | {p['assumed']} |")
    return "\n".join(["", "## Calibrated", "", "| profile | parameter | value | on the claim |", RULE, *calibrated, "",
                      "## Swept", "", "| profile | parameter | value | by the experiment |", RULE, *swept, "",
                      "## Assumed", "", "| profile | parameter | value | because |", RULE, *assumed, "", ""])


def plans():
    for path in sorted((ROOT / "experiments").glob("*.toml")):
        yield tomllib.loads(path.read_text(encoding="utf-8"))


def too_many_calibrated(weft):
    rows = collections.Counter()
    for plan in plans():
        for claim in plan.get("claim", []):
            rows[claim["id"]] += sum(row.get("calibrated", False) for row in claim.get("row", []))
    numbers = collections.Counter(p["calibrated"] for _, p in own_parameters(weft) if "calibrated" in p)
    problems = [f"{claim}: {n} numbers are calibrated on it, and {rows[claim]} rows say so"
                for claim, n in numbers.items() if n > rows[claim]]
    if numbers.total() >= rows.total():
        problems.append(f"{numbers.total()} numbers are calibrated, and only {rows.total()} rows")
    return problems


def settings_of(table, before=""):
    """Keys as profiles write them: pcie.tags."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from settings_of(value, f"{before}{key}.")
        else:
            yield before + key


def settings_of_sweep(sweep):
    yield sweep["key"]
    for point in sweep.get("at", []):
        yield from settings_of(point["set"])


def swept_by_nobody(weft):
    swept = {plan["experiment"]["id"]: {key for sweep in plan.get("sweep", []) for key in settings_of_sweep(sweep)}
             for plan in plans()}
    return [f"{profile}: {p['key']}: the experiment {p['swept']} does not sweep it"
            for profile, p in own_parameters(weft) if "swept" in p and p["key"] not in swept.get(p["swept"], ())]


def resting_on_assumptions(sensitive):
    """Verdicts that an assumed number flips, or one that no profile states. Rows that are calibrated claim nothing."""
    return [f"a number without a source flips a verdict: {line}" for line in sensitive.splitlines()
            if ("(assumed)" in line or "(unstated)" in line) and "| calibrated |" not in line]


# What flips a verdict, and what it rests on. A plan runs in its quick set, and with its seeds unless it needs more.
def sensitivity(weft, experiments, only=()):
    rests = {(profile["name"], p["key"]): next(k for k in ("source", "calibrated", "swept", "assumed") if k in p)
             for profile in ask(weft, "profiles") for p in profile["parameters"]}
    swept = {sweep["key"] for plan in plans() for sweep in plan.get("sweep", [])}
    lines = []
    for experiment in experiments:
        flips = collections.defaultdict(list)
        for e in ask(weft, "reproduce", experiment, "--quick", "--sensitivity", *SEEDS.get(experiment, []),
                     *(word for key in only for word in ("--only", key))):
            of_plan = "swept" if e["parameter"] in swept else "plan"
            on = of_plan if e["of"] == "workload" else rests.get((e["profile"], e["parameter"]), "unstated")
            name = f"`{e['parameter']}` ({on})"
            if e["flips"] and name not in flips[e["id"], e["row"], e["verdict"]]:
                flips[e["id"], e["row"], e["verdict"]].append(name)
        lines += [f"| {claim} | {row} | {verdict} | {', '.join(sorted(names))} |"
                  for (claim, row, verdict), names in flips.items() if names]
    return lines


def simulated():
    return {plan["experiment"]["id"]: tuple(f"| {claim['id']} " for claim in plan["claim"])
            for plan in plans() if plan.get("series") and plan.get("claim")}


def is_stale(weft, table, whole, others):
    """What stands in the table is not what runs give: of some experiments all of it, of others what is listed."""
    for experiment, claims in simulated().items():
        there = [line for line in table.splitlines() if line.startswith(claims)]
        listed = sorted(set(re.findall(r"`([^`]+)`", "".join(there))))
        if experiment in whole:
            found = sensitivity(weft, [experiment])
        elif experiment in others and listed:
            found = sensitivity(weft, [experiment], listed)
        else:
            continue
        if there != found:
            return True
    return False


def sensitivity_table(weft):
    return "\n".join(["", "## Sensitivity", "", "| claim | row | verdict | which flips if one of these is a fifth "
                      "smaller or larger, or another choice |", RULE, *sensitivity(weft, simulated()), ""])


def main(weft, *options):
    problems = too_many_calibrated(weft) + swept_by_nobody(weft)
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(MARK)
    _, _, sensitive = rest.partition(SENSITIVE)
    if "--write" in options:
        PAGE.write_text(head + MARK + tables(weft) + SENSITIVE + sensitivity_table(weft), encoding="utf-8")
        return 0
    wrong = text != head + MARK + tables(weft) + SENSITIVE + sensitive
    problems += resting_on_assumptions(sensitive)
    if "--quick" in options:
        wrong = wrong or is_stale(weft, sensitive, QUICK_WHOLE, QUICK)
    if "--slow" in options:
        wrong = wrong or is_stale(weft, sensitive, WHOLE, simulated())
    if wrong:
        problems.append(f"docs/calibration.md is not what the profiles say; run {Path(__file__).name} WEFT --write")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
