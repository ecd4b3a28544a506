"""Tolerances and ends of runs by integrators and formulations other than those that a case is written for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flexmbs.case.schema.analysis import Analysis

#: cases state the tolerance for methods of order 5 and above that control the error of every step;
#: lower and variable orders, and the projections of the descriptor form, add up more of the local errors
FINER: Mapping[str, float] = {
    "rk4": 0.1, "generalized-alpha": 0.01, "cvode": 0.01, "ida": 0.01, "descriptor": 0.1,
}  # fmt: skip
#: by case: numbers asked to more digits than the tolerance of the case gives with every method
HARD: Mapping[str, float] = {"pendulum": 0.1, "screw": 0.01, "spinning-top": 0.1}
FINEST = 1e-13  # rtol that the methods can follow in double precision
#: settings of their own, by case and method
OWN: Mapping[tuple[str, str], Mapping[str, float]] = {
    # order 2 through ten seconds of chaos: 1.8e7 steps
    ("double-pendulum", "generalized-alpha"): {"rtol": 2e-16, "atol": 1e-18},
    # where the estimate of the error, 1e-13, drowns in rounding, an even step still gains with its square
    ("pendulum", "generalized-alpha"): {"step": 1e-5},
    ("spatial-slider-crank", "generalized-alpha"): {"step": 1e-5},
    ("flexible-slider-crank-linear", "generalized-alpha"): {"rtol": 1e-10, "atol": 1e-13},
}
#: runs that compare the begin of a case only, by case and by formulation or method: the end, and the reason
BEGIN: Mapping[tuple[str, str], tuple[float, str]] = {
    **{
        ("double-pendulum", method): (
            5.0, "rounding in its history grows to 2e-6 in ten seconds of chaos, whatever the tolerance",
        )
        for method in ("cvode", "ida")
    },
}  # fmt: skip


def begin_of(case: str, formulation: str, method: str) -> float | None:
    """The earlier end of a run, or None."""
    ends = [BEGIN[key][0] for key in ((case, formulation), (case, method)) if key in BEGIN]
    return min(ends) if ends else None


def settings(case: str, formulation: str, method: str, own: Analysis) -> dict[str, float]:
    """Overrides of [analysis] for a run that is not the one of the case itself."""
    given = OWN.get((case, method))
    if given is None:
        finer = HARD.get(case, 1.0) * FINER.get(method, 1.0) * FINER.get(formulation, 1.0)
        given = {"rtol": max(finer * float(own.rtol), FINEST), "atol": finer * float(own.atol)}
    return {f"analysis.{key}": value for key, value in given.items()}


def shortened(cases: Sequence[str]) -> dict[str, str]:
    """What the runs of cases (names of files) leave out after an earlier end, each with the reason."""
    return {
        f"{case} by {what} after {t_end:g} s": why
        for (case, what), (t_end, why) in BEGIN.items()
        if f"{case}.toml" in cases
    }
