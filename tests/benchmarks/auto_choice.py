"""Cost of "auto" beside the best method at equal error: `python -m tests.benchmarks.auto_choice [CASE ...]`.

Every dynamic case in cases/ is run by each candidate over a range of tolerances, and by "auto", what it tries
included. Error: the largest of the positions over the samples against a tight reference, each
group over its own size. The best is read off the candidates' curves of time over error. Without names the
table goes into docs/how_to_stiff.md.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.case import Case
from flexmbs.case.runner import prepare, settings
from flexmbs.errors import SolverError
from flexmbs.integrate import Settings, integrator
from flexmbs.resources import resource
from flexmbs.simulate.choose import choose
from flexmbs.simulate.motion.branch import watch
from flexmbs.simulate.motion.equations import problem, state_vector

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how_to_stiff.md"
BEGIN, END = "<!-- made by tests.benchmarks.auto_choice -->", "<!-- end -->"
CANDIDATES = "dopri5", "dop853", "generalized-alpha"
TOLERANCES = 10.0 ** np.arange(-3.0, -10.1, -0.5)
ASKED = (1e-4, 1e-6, 1e-8)
#: a run is repeated until it has taken so long, and its tolerance refined no further beyond the second [s]
LEAST, MOST = 0.02, 2.0


class Run:
    """A case ready to be integrated by any method."""

    def __init__(self, path: Path) -> None:
        case = Case.load(path)
        self.asked = settings(case)
        self.system = prepare(case)
        self.problem = problem(self.system)
        self.y0 = state_vector(self.system, self.system.initial_state())
        watch(self.problem, 0.0, self.y0, self.asked.t_end)
        self.until = self.problem.n_switch - 1 if len(self.problem.data.free) else -1
        self.times = np.linspace(0.0, self.asked.t_end, 21)

    def settings(self, method: str, rtol: float) -> Settings:
        atol = rtol * self.asked.atol / self.asked.rtol
        return Settings(method=method, rtol=rtol, atol=atol, rho_inf=self.asked.rho_inf, until=self.until)

    def begun(self, method: str, rtol: float) -> Any:
        """A run that is to be advanced; "auto" has tried its candidates then."""
        task = 0.0, self.y0, self.times, self.asked.t_end
        if method == "auto":
            return choose(self.problem, self.settings("dopri5", rtol), *task)[1]
        return integrator(self.problem, self.settings(method, rtol), *task)

    def motion(self, method: str, rtol: float) -> Any:
        """Samples of a run."""
        run, chunks = self.begun(method, rtol), []
        while not run.finished:
            chunks.append(run.advance())
        return np.concatenate([chunk.y for chunk in chunks])

    def timed(self, method: str, rtol: float) -> tuple[float, Any]:
        """CPU seconds, the least of its repeats, and samples."""
        best, begun, y = np.inf, time.process_time(), None
        while y is None or time.process_time() - begun < LEAST:
            started = time.process_time()
            y = self.motion(method, rtol)
            best = min(best, time.process_time() - started)
        return best, y

    def choice(self, rtol: float) -> str:
        """Method that "auto" takes."""
        return str(self.begun("auto", rtol).settings.method)

    def error(self, y: Any, exact: Any) -> float:
        """Largest error of the positions, each group over its size."""
        n = min(len(y), len(exact))
        worst, groups = 0.0, self.problem.groups[: self.problem.n_pos]
        for g in np.unique(groups):
            columns = np.flatnonzero(groups == g)
            size = np.abs(exact[:n, columns]).max()
            if size > 1e-12:
                worst = max(worst, float(np.abs(y[:n, columns] - exact[:n, columns]).max() / size))
        return worst


def curve(run: Run, method: str, exact: Any) -> list[tuple[float, float]]:
    """Error and CPU seconds over the tolerances."""
    found = []
    for rtol in TOLERANCES:
        try:
            seconds, y = run.timed(method, float(rtol))
        except SolverError:
            continue
        found.append((run.error(y, exact), seconds))
        if seconds > MOST:
            break
    return found


def cost(points: list[tuple[float, float]], error: float) -> float:
    """CPU seconds of the cheapest run of at most that error, on the line between neighbours in logarithms."""
    best = min((s for e, s in points if e <= error), default=np.inf)
    for (e0, s0), (e1, s1) in zip(points[:-1], points[1:], strict=True):
        if e1 <= error < e0 and e1 > 0.0:
            part = np.log(e0 / error) / np.log(e0 / e1)
            best = min(best, float(s0 * (s1 / s0) ** part))
    return best


def rows(path: Path) -> list[list[str]]:
    """Lines of the table for a case: none when it is not dynamic."""
    run = Run(path)
    if run.asked.type != "dynamics" or not run.asked.t_end or run.asked.formulation != "recursive":
        return []
    exact = run.motion("dop853", 1e-12)
    curves = {method: curve(run, method, exact) for method in CANDIDATES}
    lines = []
    for rtol in ASKED:
        chosen = run.choice(rtol)
        seconds, y = run.timed("auto", rtol)
        error = run.error(y, exact)
        costs = {method: cost(points, error) for method, points in curves.items()}
        best = min(costs, key=lambda method: costs[method])
        alone, _ = run.timed(chosen, rtol)
        lines.append(
            [
                path.stem, f"{rtol:.0e}", chosen, best, f"{error:.1e}", f"{1e3 * seconds:.2f}",
                f"{1e3 * costs[best]:.2f}", f"{alone / costs[best]:.1f}", f"{seconds / costs[best]:.1f}",
            ]
        )  # fmt: skip
        print(" ".join(f"{word:>12}" for word in lines[-1]), flush=True)
    return lines


HEAD = ["case", "rtol", "auto", "best", "error", "auto [ms]", "best [ms]", "ratio of runs", "with the choice"]


def said(table: list[list[str]]) -> str:
    """The largest ratios in words."""
    runs, whole = (max(float(line[k]) for line in table) for k in (7, 8))
    return f"Largest ratio of runs: {runs:.1f}; with the choice {whole:.1f}."


def main() -> None:
    names = sys.argv[1:]
    paths = sorted(p for p in resource("cases").glob("*.toml") if ".reduce." not in p.name)
    table = [line for path in paths if not names or path.stem in names for line in rows(path)]
    if names:
        return
    lines = [said(table), "", *(f"| {' | '.join(words)} |" for words in (HEAD, ["---"] * len(HEAD), *table))]
    text = PAGE.read_text()
    first, last = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:first] + "\n\n" + "\n".join(lines) + "\n\n" + text[last:])


if __name__ == "__main__":
    main()
