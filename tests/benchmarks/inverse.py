"""Inverse dynamics, modes that swing and modes in balance: `python -m tests.benchmarks.inverse [RUNS]`.

CPU seconds of whole runs of both kinds in turn in one process, the least of so many, each with 301 times; the
drives of the cases are the motion. Everything is compiled, assembled and reduced before.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from flexmbs.case import Case
from flexmbs.case.runner import prepare
from flexmbs.simulate import RunSettings, simulate

CASES = Path(__file__).resolve().parents[2] / "cases"
ELASTIC = ("dynamic", "quasi-static")
TIMES = 301


def least(name: str, runs: int) -> list[float]:
    """CPU seconds of the best run of each kind."""
    case = Case.load(CASES / f"{name}.toml")
    system, analysis = prepare(case), case.spec.analysis
    assert analysis is not None and analysis.t_end is not None
    t_end = float(analysis.t_end)
    best = [float("inf")] * len(ELASTIC)
    for k in range((runs + 1) * len(ELASTIC)):
        which = k % len(ELASTIC)
        settings = RunSettings(
            type="inverse_dynamics", elastic=ELASTIC[which], t_end=t_end, every=t_end / (TIMES - 1)
        )
        begun = time.process_time()
        result = simulate(system, settings, None).result
        spent = time.process_time() - begun
        assert len(result.time) == TIMES
        if k >= len(ELASTIC):  # everything is compiled
            best[which] = min(best[which], spent)
    return best


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    print("| mechanism | modes swing | modes in balance | balance over swing |\n| --- | --- | --- | --- |")
    for name in ("slider_crank", "flexible-slider-crank"):
        swing, balance = least(name, runs)
        print(f"| {name} | {swing:.2f} s | {balance:.2f} s | {balance / swing:.2f} |", flush=True)


if __name__ == "__main__":
    main()
