"""Measure everything side by side and write docs/benchmarks.md: `python -m tests.benchmarks [GROUP ...]`.

Needs the peers: `pip install exudyn ngsolve pin gmsh`. Groups: stage1, dynamics. What a group measured is
kept in results/benchmarks.json, so that one group can be repeated alone.
"""

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.benchmarks import dynamics, stage1

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "results" / "benchmarks.json"
PAGE = ROOT / "docs" / "benchmarks.md"
GROUPS = {"stage1": stage1.rows, "dynamics": dynamics.rows}
TITLES = {"stage1": "From mesh to modal data", "dynamics": "From case to motion"}
PROGRAMS = ["numpy", "scipy", "numba", "pymetis", "ngsolve", "exudyn", "pin"]


def versions() -> str:
    found = []
    for name in PROGRAMS:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join(found)


def table(rows: list[dict[str, str]]) -> list[str]:
    columns = ["work", "flexmbs", "peer", "ratio", "target", "note"]
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    return lines + ["| " + " | ".join(row.get(name, "") for name in columns) + " |" for row in rows]


def page(store: dict[str, list[dict[str, str]]]) -> str:
    lines = [
        "# Benchmarks",
        "",
        "Made by `python -m tests.benchmarks`, which runs flexmbs and its peers in turn, each measurement",
        "in a process of its own with one thread: CPU time, the best of its repeats. The ratio is the peer's",
        "time (or memory) by ours: above 1, flexmbs needs less. Only ratios of one run mean anything.",
        "",
        f"Python {platform.python_version()}, {versions()}.",
    ]
    for group in GROUPS:
        if group in store:
            lines += ["", f"## {TITLES[group]}", "", *table(store[group])]
    return "\n".join(lines) + "\n"


def main() -> None:
    store = json.loads(STORE.read_text()) if STORE.exists() else {}
    for group in sys.argv[1:] or GROUPS:
        store[group] = GROUPS[group]()
        STORE.write_text(json.dumps(store, indent=1))
    PAGE.write_text(page(store))


if __name__ == "__main__":
    main()
