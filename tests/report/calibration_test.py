"""docs/calibration.md lists every parameter without a source. Usage: calibration_test.py WEFT [--write]"""

import json
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "calibration.md"
MARK = "<!-- tables -->\n"


def tables(weft):
    done = subprocess.run([weft, "profiles", "--json"], capture_output=True, text=True, check=True)
    calibrated, assumed = [], []
    for profile in json.loads(done.stdout):
        for p in profile["parameters"]:
            if p["profile"] != profile["name"]:
                continue  # the profile that it extends says so
            if "calibrated" in p:
                calibrated.append(f"| {profile['name']} | `{p['key']}` | {p['value']} | {p['calibrated']} |")
            elif "assumed" in p:
                assumed.append(f"| {profile['name']} | `{p['key']}` | {p['value']} | {p['assumed']} |")
    rule = "|---|---|---|---|"
    return "\n".join(["", "## Calibrated", "", "| profile | parameter | value | on the claim |", rule, *calibrated, "",
                      "## Assumed", "", "| profile | parameter | value | because |", rule, *assumed, ""])


def main(weft, *options):
    text = PAGE.read_text(encoding="utf-8")
    head, _, _ = text.partition(MARK)
    wanted = head + MARK + tables(weft)
    if "--write" in options:
        PAGE.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        print(f"docs/calibration.md is not what the profiles say; run {Path(__file__).name} WEFT --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
