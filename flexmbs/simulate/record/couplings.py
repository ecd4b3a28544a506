"""Couplings as fields of a result: multiplier, power, and the forces where their parts touch (F19).

The equations know a coupling as an effort on joint coordinates. Where the geometry of its teeth or its cam is
given, that effort is a force at a place: it is reported, and the joints of both parts carry what it adds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions.machine import evaluate
from flexmbs.expressions.table import STACK, compile_table
from flexmbs.model.couplings.base import Law
from flexmbs.model.system import System
from flexmbs.model.touching.ends import Touch, Touching, load_of
from flexmbs.simulate.record.sampling import BODY, Sampler
from flexmbs.spatial import quat_to_matrix

Floats = NDArray[np.float64]
Take = Callable[[Floats], Floats]


class Touches:
    """All couplings of a system whose parts touch at a known place."""

    def __init__(self, system: System, sampler: Sampler) -> None:
        self.system, self.sampler = system, sampler
        self.items: dict[str, tuple[Touching, int]] = {}
        for group in system.groups:
            if group.kind == "coupling":
                found = system.model.couplings[group.name].touching(system.model)
                if found is not None:
                    self.items[group.name] = found, group.rows[0].number
        self._last: tuple[Any, dict[str, Touch]] = None, {}

    def load(self, rows: Floats) -> None:
        """Add to the reactions in sample rows what the forces themselves put on the joints. Writes: rows."""
        names = list(self.system.joints)
        for name, (touching, _) in self.items.items():
            force, point = (self.in_ground(name, word)(rows) for word in ("force", "point"))
            for item in touching.path:
                R, r = self.pose(item.Q.body, rows)
                first = self.sampler.places["reaction"] + 6 * names.index(item.joint)
                rows[:, first : first + 6] += load_of(item, force, point, r + R @ item.Q.pos)

    def at(self, name: str, rows: Floats) -> Touch:
        """The touch of a coupling at sample rows, worked out once for all its fields."""
        if self._last[0] is not rows:
            self._last = rows, {}
        known = self._last[1]
        if name not in known:
            touching, row = self.items[name]
            lam = rows[:, self.sampler.places["row_force"] + row]
            y = (
                rows[:, column(self.system, self.sampler, touching.follows, 0, 0)]
                if touching.follows
                else lam
            )
            known[name] = touching.at(lam, y)
        return known[name]

    def pose(self, body: str, rows: Floats) -> tuple[Floats, Floats]:
        """Axes (t, 3, 3) and origin (t, 3) of a body in ground."""
        i = self.system.bodies.index(body)
        if i == 0:
            return np.broadcast_to(np.eye(3), (len(rows), 3, 3)), np.zeros((len(rows), 3))
        first = self.sampler.places["body"] + BODY * (i - 1)
        return quat_to_matrix(rows[:, first + 3 : first + 7]), rows[:, first : first + 3]

    def in_ground(self, name: str, word: str) -> Take:
        """Force on the first part, or the point where it acts, in ground axes."""

        def take(rows: Floats) -> Floats:
            R, r = self.pose(self.items[name][0].holder, rows)
            found = np.einsum("tij,tj->ti", R, getattr(self.at(name, rows), word))
            return found + r if word == "point" else found

        return take

    def number(self, name: str, word: str) -> Take:
        return lambda rows: self.at(name, rows).numbers[word][0]


def column(system: System, sampler: Sampler, joint: str, number: int, rate: int) -> int:
    """Column of a scalar coordinate of a joint, or of its rate."""
    c, at = system.joints[joint].coordinates[number], sampler.places
    if c.entry is not None:
        return at["ent"] + 3 * c.entry.number + rate
    return at["vel"] + c.vel if rate else at["pos"] + c.pos


def coupling_fields(fields: Any, system: System, sampler: Sampler) -> Touches:
    """Multipliers, powers and forces of all couplings; returns what loads the joints."""
    touches = Touches(system, sampler)
    for group in system.groups:
        if group.kind != "coupling":
            continue
        part, path = system.model.couplings[group.name], f"couplings/{group.name}/"
        at, known = sampler.places["row_force"] + group.rows[0].number, fields.known(path)
        fields.add(path + "force", scaled(at, group.rows[0].scale), (), "N, N m", **known)
        fields.add(path + "power", power(system, sampler, part.law(system.model), at), (), "W")
        radius = pitch_radius(part)
        if group.name in touches.items:
            one = np.zeros(1)
            numbers = touches.items[group.name][0].at(one, one).numbers
            for word, (_, units) in numbers.items():
                fields.add(path + word, touches.number(group.name, word), (), units)
            fields.add(path + "contact_force", touches.in_ground(group.name, "force"), ("xyz",), "N", **known)
            fields.add(path + "contact_point", touches.in_ground(group.name, "point"), ("xyz",), "m")
        elif radius:
            fields.add(path + "tangential_force", scaled(at, group.rows[0].scale / radius), (), "N", **known)
    return touches


def scaled(at: int, factor: float) -> Take:
    """The values of one column, times a factor."""
    return lambda rows: rows[:, at] * factor


def pitch_radius(part: Any) -> float:
    """Radius on which the teeth of wheel A of a gear act, from its module; 0 where there is none."""
    module, teeth = getattr(part, "module", None), getattr(part, "teeth", None)
    return 0.5 * float(module) * float(teeth[0]) if module and teeth is not None else 0.0


def power(system: System, sampler: Sampler, law: Law, at: int) -> Take:
    """What the coupling gives to the part that it drives: multiplier, slope of its law, rate."""
    if law.zero is None:
        terms = [
            (factor, column(system, sampler, joint, k, 1)) for factor, joint, k in law.terms[: law.leading]
        ]
        return lambda rows: rows[:, at] * sum(factor * rows[:, v] for factor, v in terms)
    if not law.of:
        return lambda rows: 0.0 * rows[:, at]
    places = [column(system, sampler, joint, k, 0) for joint, k in law.of]
    rate, time = column(system, sampler, *law.of[0], 1), sampler.places["time"]
    table = compile_table([law.zero], {"t": 0, **{name: 1 + k for k, name in enumerate(law.names)}})

    def take(rows: Floats) -> Floats:
        slope, stack, out = np.zeros(len(rows)), np.zeros((STACK, 3)), np.zeros(3)
        along, none = np.eye(1 + len(places))[1], np.zeros(1 + len(places))
        for k, values in enumerate(np.ascontiguousarray(rows[:, [time, *places]])):
            evaluate(table, 0, values, along, none, stack, out)
            slope[k] = out[1]
        return np.asarray(rows[:, at] * slope * rows[:, rate])

    return take
