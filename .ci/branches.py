"""Branch coverage of what reads, checks and writes files.

`python .ci/branches.py` prints the files that are measured, for `coverage run --include`; with the name of a
file that `coverage json` wrote it counts their branches, and ends with 1 where a room is below its floor.
"""

import json
import sys
from fnmatch import fnmatch

#: room -> floor in percent and its files
ROOMS = {
    "readers": (
        95.0,
        "flexmbs/fe/readers/* flexmbs/toml_file.py flexmbs/units.py flexmbs/expressions/files.py "
        "flexmbs/expressions/parser.py flexmbs/expressions/tree.py flexmbs/reduce/matrix_files.py "
        "flexmbs/exchange/*",
    ),
    "checkers": (
        95.0,
        "flexmbs/input/* flexmbs/fe/check/* flexmbs/modaldata/* flexmbs/results/validate.py "
        "flexmbs/study/store.py",
    ),
    "write layer": (
        95.0,
        "flexmbs/disk/* flexmbs/hdf5/* flexmbs/results/writer.py flexmbs/results/segments.py "
        "flexmbs/results/pack.py",
    ),
}


def main(path: str) -> int:
    with open(path, encoding="utf-8") as file:
        files = json.load(file)["files"]
    failed = 0
    for room, (floor, patterns) in ROOMS.items():
        found = [
            item["summary"] for name, item in files.items() if any(fnmatch(name, p) for p in patterns.split())
        ]
        covered = sum(item["covered_branches"] for item in found)
        share = 100.0 * covered / sum(item["num_branches"] for item in found)
        print(f"{room:<12} {covered} branches, {share:.1f} %; at least {floor:g} %")
        failed |= share < floor
    return failed


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(sys.argv[1]))
    print(",".join(",".join(patterns.split()) for _, patterns in ROOMS.values()))
