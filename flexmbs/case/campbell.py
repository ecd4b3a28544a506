"""Eigenvalues over a parameter, branch by branch: the Campbell diagram of a case (F38)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.linearize import Linear, linearize
from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.simulate.record.linear import axis, body_motions, item, parts
from flexmbs.simulate.record.whirl import whirl

if TYPE_CHECKING:
    from flexmbs.case.case import Case, Progress
    from flexmbs.case.schema.analysis import Campbell

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]
GROUP = "linear/campbell"
#: where equal frequencies part only their order tells branches apart: more than rounding of a distance
TIE = 1e-6


def campbell_items(
    case: Case, wanted: Campbell, progress: Progress | None = None, say: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """`/linear/campbell`: eigenvalues, frequencies, damping and sense of whirl (value, branch)."""
    name, values = wanted.parameter, wanted.values
    if "." not in name and name not in case.parameters:
        where = case.source.where(("analysis", "campbell", "parameter"))
        what = f'analysis.campbell: there is no parameter "{name}"'
        raise InputError(Diagnostic("case.parameter", where, what, nearest(name, list(case.parameters))))
    found = []
    for k, value in enumerate(values):
        doubts: list[str] = []
        found.append(_modes(case.with_values(**{name: float(value)}), doubts.append))
        if say is not None:
            for text in doubts:
                say(f"warning: with {name} = {value:.6g}: {text}")
        if progress is not None:
            progress((k + 1) / len(values), f"{name} = {value:.6g}")
    for value, (linear, _) in zip(values, found, strict=True):
        for finding in linear.findings:
            if say is not None:
                say(f"warning: with {name} = {value:.6g}: {finding.what}; {finding.remedy}")
    order = branches([linear for linear, _ in found])
    eigenvalues = _table([linear.eigenvalues for linear, _ in found], order)
    size = np.abs(eigenvalues)
    damping = -eigenvalues.real / np.where(size > 0.0, size, np.nan)
    return {
        GROUP: {
            "value": axis(np.array(values)),
            "branch": axis(1 + np.arange(eigenvalues.shape[1])),
            "re_im": axis(np.arange(2), labels=["re", "im"]),
            "eigenvalues": item(parts(eigenvalues), "1/s", "value", "branch", "re_im", group=GROUP),
            "frequency_hz": item(size / (2.0 * np.pi), "Hz", "value", "branch", group=GROUP),
            "damping_ratio": item(damping, "1", "value", "branch", group=GROUP),
            "whirl": item(
                _table([sense for _, sense in found], order).real, "1", "value", "branch", group=GROUP
            ),
            "parameter": name,
        }
    }


def _modes(case: Case, warn: Callable[[str], None]) -> tuple[Linear, Floats]:
    """The linear model of a case, and the sense of its modes."""
    from flexmbs.case.runner import prepare, settings
    from flexmbs.simulate.analyses import start_state

    system = prepare(case)
    state = start_state(system, settings(case), warn)
    linear = linearize(system, state)
    return linear, whirl(system, state, body_motions(system, state, linear.shapes), len(linear.eigenvalues))


def branches(models: list[Linear]) -> list[NDArray[np.int64]]:
    """For every model the branch of each eigenvalue: pairs that lie near in value and shape."""
    from scipy.optimize import linear_sum_assignment  # 0.2 s, which other cases need not wait for

    order, count = [np.arange(len(models[0].eigenvalues))], len(models[0].eigenvalues)
    last: dict[int, tuple[int, int]] = {int(b): (0, k) for k, b in enumerate(order[0])}
    for number in range(1, len(models)):
        model, place = models[number], np.full(len(models[number].eigenvalues), -1, dtype=np.int64)
        keys = [b for b in last if last[b][0] == number - 1]
        cost = np.array([[_distance(models[number - 1], last[b][1], model, k) for k in range(len(place))]
                         for b in keys]).reshape(len(keys), len(place))  # fmt: skip
        for row, k in zip(*linear_sum_assignment(cost), strict=True):
            place[k] = keys[row]
        for k in np.flatnonzero(place < 0):
            place[k], count = count, count + 1
        last |= {int(b): (number, k) for k, b in enumerate(place)}
        order.append(place)
    return order


def _distance(before: Linear, j: int, after: Linear, k: int) -> float:
    """Relative distance of two eigenvalues, and how far their shapes differ."""
    a, b = before.eigenvalues[j], after.eigenvalues[k]
    size = max(abs(a), abs(b), 1e-300)
    u, v = before.shapes[j], after.shapes[k]
    norm = float(np.linalg.norm(u) * np.linalg.norm(v))
    alike = abs(np.vdot(u, v)) ** 2 / norm**2 if norm > 0.0 and len(u) == len(v) else 0.0
    return float(abs(a - b) / size + 1.0 - alike + TIE * abs(j - k))


def _table(columns: list[Any], order: list[NDArray[np.int64]]) -> Complex:
    """Values by branch, NaN where a branch has ended or not begun."""
    width = max((int(place.max(initial=-1)) + 1 for place in order), default=0)
    table = np.full((len(columns), width), np.nan + 0j)
    for row, (values, place) in enumerate(zip(columns, order, strict=True)):
        table[row, place] = values
    return table
