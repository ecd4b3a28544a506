"""Branch coverage of what reads, checks and writes files.

`python .ci/branches.py` prints the files that are measured, for `coverage run --include`, with `--tests` the
tests that are about them; with the name of a
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

#: tests of these files: what they take, all take
TESTS = (
    "tests/case tests/cli tests/damage tests/decks tests/disk tests/exchange tests/fe/test_beams.py "
    "tests/fe/test_checks.py tests/fe/test_mesh_cad.py tests/fe/test_mesh_sets.py "
    "tests/fe/test_readers.py tests/fe/test_readers_features.py tests/fe/test_sections_of_decks.py "
    "tests/fe/test_shells.py tests/modal tests/post/test_shell_deck.py tests/study "
    "tests/test_bonds.py tests/test_certificate.py tests/test_expressions.py tests/test_hdf5.py "
    "tests/test_modaldata.py tests/test_names_unknown.py tests/test_numerical_faults.py "
    "tests/test_preload.py tests/test_recipe.py tests/test_reduce.py tests/test_result_validation.py "
    "tests/test_results.py tests/test_root.py tests/test_stepping.py tests/test_toml.py "
    "tests/test_units.py tests/test_validity.py "
)


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
    if sys.argv[1:] == ["--tests"]:
        print(TESTS)
    elif len(sys.argv) > 1:
        sys.exit(main(sys.argv[1]))
    else:
        print(",".join(",".join(patterns.split()) for _, patterns in ROOMS.values()))
