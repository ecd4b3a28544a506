"""Prescribed positions must be continuous: a body that jumps has no motion in between (F19)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression, switching_functions

Floats = NDArray[np.float64]
#: intervals that are searched for places where a law changes its branch
INTERVALS = 4096
BISECTIONS = 60
#: difference between the two sides, over the size of the law, that is a jump
JUMP = 1e-9


def check_jumps(system: Any, t_start: float, t_end: float) -> None:
    """Raise an `InputError` with all laws of time that jump: drives, lengths, relations, ways of frames."""
    found = []
    for name, law in _laws(system):
        jump = first_jump(law, t_start, t_end) if t_end > t_start else None
        if jump is not None:
            what = f'the position "={law.text}" jumps by {jump[1]:.6g} at t = {jump[0]:.6g} s'
            remedy = "join the parts, as by step(t, t0, x0, t1, x1); an angle may go on past a turn"
            found.append(Diagnostic("law.jump", name, what, remedy))
    if found:
        raise InputError(*found)


def _laws(system: Any) -> Iterator[tuple[str, Expression]]:
    """Names and expressions of everything that prescribes positions over the time."""
    for law in system.time_laws:
        if law.name and law.order == 0:
            yield f"drives.{law.name}", law.expression
    for group in system.groups:
        for row in group.rows:
            if row.expression is not None:
                yield f"{group.kind}s.{group.name}", row.expression
    for name, joint in system.model.joints.items():
        if isinstance(getattr(joint, "length", None), Expression):
            yield f"joints.{name}", joint.length
    for travel in system.travels:
        for law in travel:
            yield "frames", law


def first_jump(law: Expression, t_start: float, t_end: float) -> tuple[float, float] | None:
    """Time and size of the first jump of a law between two times, all names but t at zero; None without."""
    grid = np.linspace(t_start, t_end, INTERVALS + 1)
    switches = [switch for switch in switching_functions(law) if set(switch.names) == {"t"}]
    after = np.sort(np.concatenate([np.zeros(0), *(_changes(switch, grid) for switch in switches)]))
    ulp = 4.0 * np.spacing(max(abs(t_start), abs(t_end)))
    values = _at(law, np.clip([after - 2.0 * ulp, after, after + ulp], t_start, t_end))
    jump, size = np.ptp(values, axis=0), np.abs(_at(law, grid))
    found = np.flatnonzero(jump > JUMP * size.max(initial=0.0, where=np.isfinite(size)))
    return (ulp * round(float(after[found[0]]) / ulp), float(jump[found[0]])) if len(found) else None


def _at(law: Expression, t: Floats) -> Floats:
    value = law.evaluate(lambda node: t if node.label == "t" else 0.0)
    return np.broadcast_to(np.asarray(value, dtype=float), t.shape)


def _changes(switch: Expression, grid: Floats) -> Floats:
    """Times just after the changes of sign of a switch, all of them bisected at once."""
    side = np.sign(_at(switch, grid))
    k = np.flatnonzero(np.diff(side) != 0.0)
    low, high, side = grid[k], grid[k + 1], side[k]
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        same = np.sign(_at(switch, middle)) == side
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return high
