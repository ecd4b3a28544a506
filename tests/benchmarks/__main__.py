"""Measure everything side by side and write docs/benchmarks.md: `python -m tests.benchmarks [GROUP ...]`.

Needs the peers: `pip install exudyn ngsolve pin gmsh`, matplotlib, and CHOLMOD (`apt-get install
libsuitesparse-dev libopenblas0-pthread`, `pip install scikit-sparse==0.4.16`). Groups: stage1, dynamics,
loops, scaling, and only by name large-modes and large-reduction (a quarter of an hour, 11 GB). What a group
measured is kept in results/benchmarks.json, so that one group can be repeated alone.
"""

import json
import platform
import sys
from functools import partial
from typing import Any

from tests.benchmarks import large, motion, scaling, stage1
from tests.benchmarks.runner import ROOT, versions

STORE = ROOT / "results" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"
LARGE = {
    "large-modes": partial(large.with_conditions, large.mode_rows),
    "large-reduction": partial(large.with_conditions, large.reduction_rows),
}
GROUPS = {
    "stage1": stage1.rows, **LARGE, "dynamics": motion.rows, "loops": motion.shared_loops,
    "scaling": scaling.curves,
}  # fmt: skip
TITLES = {
    "stage1": "From mesh to modal data", "large-modes": "Twenty modes of a large mesh",
    "large-reduction": "Complete reduction of a large mesh", "dynamics": "From case to motion",
    "loops": "Loops that share joints",
    "scaling": "Time over size",
}  # fmt: skip
PROGRAMS = ["numpy", "scipy", "numba", "pymetis", "ngsolve", "exudyn", "pin", "scikit-sparse"]


def table(rows: list[dict[str, str]]) -> list[str]:
    columns = ["work", "flexmbs", "peer", "ratio", "target", "note"]
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    return lines + ["| " + " | ".join(row.get(name, "") for name in columns) + " |" for row in rows]


def section(heading: str) -> list[str]:
    """Lines of a section of the page as it is."""
    known = PAGE.read_text().splitlines() if PAGE.exists() else []
    if heading not in known:
        return []
    first = known.index(heading)
    last = next((k for k in range(first + 1, len(known)) if known[k].startswith("## ")), len(known))
    return ["", *"\n".join(known[first:last]).rstrip().splitlines()]


def beside() -> list[str]:
    """Headings of sections that commands of their own measure: they stay as they are."""
    known = PAGE.read_text().splitlines() if PAGE.exists() else []
    ours = {f"## {title}" for title in TITLES.values()}
    return [line for line in known if line.startswith("## ") and line not in ours]


def text_of(group: str, measured: Any) -> list[str]:
    """Lines of a section as they were measured."""
    if group == "scaling":
        return ["![time over size](benchmarks.svg)", "", *scaling.lines(measured)]
    if group == "loops":
        return [*table(measured["rows"]), "", *scaling.lines(measured["curves"])]
    if group in LARGE:
        return [measured["conditions"], "", *table(measured["rows"])]
    return table(measured)


def page(store: dict[str, Any]) -> str:
    lines = [
        "# Benchmarks",
        "",
        "Made by `python -m tests.benchmarks`, which runs flexmbs and its peers in turn, each measurement",
        "in a process of its own with one thread: CPU time, the best of its repeats. The ratio is the peer's",
        "time (or memory) by ours: above 1, flexmbs needs less. Only ratios of one run mean anything.",
        "Targets are ratios to the peer, or times and memory of flexmbs alone where they have a unit; a note",
        "says by how much and why one is missed.",
        "",
        f"Python {platform.python_version()}, {versions(PROGRAMS)}.",
    ]
    for group in GROUPS:
        heading = f"## {TITLES[group]}"
        if group in store:
            lines += ["", heading, "", *text_of(group, store[group])]
        else:  # as it was measured before, elsewhere
            lines += section(heading)
    for heading in beside():
        lines += section(heading)
    return "\n".join(lines) + "\n"


def main() -> None:
    store = json.loads(STORE.read_text()) if STORE.exists() else {}
    for group in sys.argv[1:] or [name for name in GROUPS if name not in LARGE]:
        store[group] = GROUPS[group]()
        STORE.write_text(json.dumps(store, indent=1))
    if "scaling" in store:
        scaling.plot(store["scaling"])
    PAGE.write_text(page(store))


if __name__ == "__main__":
    main()
