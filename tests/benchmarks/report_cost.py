"""Cost of the report of rank and uniqueness: `python -m tests.benchmarks.report_cost`."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.generate import four_bars
from flexmbs.dynamics.loops.change_point import choose_branch
from flexmbs.simulate.record.items import counts_of


def least(call: Callable[[], Any], repeats: int) -> float:
    """CPU seconds of a call, the least of its repeats."""
    found = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        found.append(time.process_time() - started)
    return min(found)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for n in (1, 40):
            case = Case.from_dict(four_bars(n))
            system = case.system()
            state = system.initial_state()
            path = Path(folder) / "run.h5"

            def report(system: Any = system, state: Any = state) -> None:
                counts_of(system, state)
                choose_branch(system, state.copy(), "dynamics")

            seconds = least(report, 5)
            whole = least(lambda case=case, path=path: fm.run(case, path, overwrite=True), 2)  # type: ignore[misc]
            share = 100 * seconds / whole
            print(f"| {n} | {1e3 * seconds:.1f} ms | {whole:.2f} s | {share:.1f} % |")


if __name__ == "__main__":
    main()
