"""Loops that close in closed form: three unknown joints in a plane, as in four-bars and slider-cranks (F29).

Between its three unknown joints a loop consists of three rigid pieces a, b, c. Walking round in the plane,
with complex numbers, pieces turned by Delta from where they stand and s the travel of a joint from a to b,

    d_a + s u + d_b e^(i Delta_b) + d_c e^(i Delta_c) = 0,

which is a triangle of known sides (all joints turn), or a circle cut by a line (one joint slides, and b turns
with a). Of two solutions the nearer one is taken: the branch on which the loop is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError

if TYPE_CHECKING:
    from flexmbs.dynamics.evaluator import Evaluator
    from flexmbs.model.state import State
    from flexmbs.model.system import JointPlace, System

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

OFF_PLANE = 1e-9


@dataclass(frozen=True)
class Step:
    """One joint on the way round a loop; `forward` from P to Q. `speed`: its place in vel, -1 of the cut."""

    name: str
    place: JointPlace
    forward: bool
    slides: bool

    @property
    def speed(self) -> int:
        return self.place.vel if self.place.body else -1

    @property
    def markers(self) -> tuple[int, int]:
        """Marker by which the joint is reached, and marker by which it is left."""
        ends = (self.place.P.number, self.place.Q.number)
        return ends if self.forward else ends[::-1]


@dataclass(frozen=True)
class ClosedForm:
    """A loop, its three unknown joints in the order of the walk, a sliding one first.

    `normal_of`, `axis`: marker, and its axis, that is the normal of the plane.
    """

    steps: tuple[Step, Step, Step]
    normal_of: int
    axis: int

    @property
    def speeds(self) -> list[int]:
        return [step.speed for step in self.steps if step.speed >= 0]

    def close(self, evaluator: Evaluator, state: State) -> None:
        """Move the unknown coordinates to where the loop is closed. Needs the position stage; changes pos."""
        ws = evaluator.ws
        plane = _plane(ws.marker.R[self.normal_of][:, self.axis])
        x = ws.marker.x @ plane[:2].T @ np.array([1.0, 1.0j])
        ends = [step.markers for step in self.steps]
        # pieces a, b, c: from where a joint is left to where the next one is reached
        d_b, d_c, d_a = (x[ends[(k + 1) % 3][0]] - x[ends[k][1]] for k in range(3))
        first = self.steps[0]
        if first.slides:
            along, turn_b, turn_c = self._slide(evaluator, plane, d_a, d_b, d_c)
        else:
            along, (turn_b, turn_c) = 0.0, self._triangle(d_a, d_b, d_c)
        turns = (turn_b, _wrapped(turn_c - turn_b), _wrapped(-turn_c))
        for step, turn in zip(self.steps, turns, strict=True):
            if step.speed < 0:
                continue
            axis = ws.marker.R[step.place.P.number][:, _axis_of(step.place)]
            sign = 1.0 if step.forward else -1.0
            change = along if step.slides else turn * float(np.sign(axis @ plane[2]))
            k = int(np.flatnonzero(evaluator.tables.tree.vel_of_pos == step.speed)[0])
            state.pos[k] += sign * change

    def _triangle(self, d_a: complex, d_b: complex, d_c: complex) -> tuple[float, float]:
        """Turns of b and c that close a triangle, the nearer ones."""
        D, b, c = -d_a, abs(d_b), abs(d_c)
        cosine = (abs(D) ** 2 + b * b - c * c) / (2.0 * abs(D) * b) if abs(D) * b > 0.0 else np.inf
        if not abs(cosine) <= 1.0:
            self._open(max(abs(D) - b - c, abs(b - c) - abs(D)))
        found = []
        for sign in (1.0, -1.0):
            Y = D / abs(D) * b * np.exp(1j * sign * np.arccos(cosine))
            found.append((_turn(d_b, Y), _turn(d_c, D - Y)))
        return min(found, key=lambda pair: pair[0] ** 2 + pair[1] ** 2)

    def _slide(
        self, evaluator: Evaluator, plane: Array, d_a: complex, d_b: complex, d_c: complex
    ) -> tuple[float, float, float]:
        """Change of the travel, turns of b and c: a line cuts the circle about the end of c."""
        ws, step = evaluator.ws, self.steps[0]
        reach, leave = step.markers
        k = _axis_of(step.place)
        u = complex(*(plane[:2] @ ws.marker.R[reach][:, k]))
        side = (k + 1) % 3 if abs(plane[2] @ ws.marker.R[reach][:, (k + 1) % 3]) < 0.5 else (k + 2) % 3
        # b turns with a: only a cut stands askew before the loop is closed
        turn_b = _turn(*(complex(*(plane[:2] @ ws.marker.R[m][:, side])) for m in (leave, reach)))
        moved = (ws.marker.x[leave] - ws.marker.x[reach]) @ ws.marker.R[reach][:, k]
        p = d_a + d_b * np.exp(1j * turn_b)
        along = (p * np.conj(u)).real
        square = abs(d_c) ** 2 - (p * np.conj(u)).imag ** 2
        if not square >= 0.0:
            self._open(abs((p * np.conj(u)).imag) - abs(d_c))
        s = min((-along + sign * np.sqrt(square) for sign in (1.0, -1.0)), key=lambda x: abs(x - moved))
        return float(s - moved), turn_b, _turn(d_c, -(p + s * u))

    def _open(self, gap: float) -> None:
        names = ", ".join(f"joints.{step.name}" for step in self.steps)
        what = f"the loop of {names} cannot be closed: {gap:.3g} m are missing"
        remedy = "the mechanism is at the end of its motion, or locks here"
        raise SolverError(Diagnostic("minimal.open", f"joints.{self.steps[-1].name}", what, remedy))


def _plane(normal: Array) -> Array:
    """Two axes of a plane and its normal, as rows."""
    side = np.eye(3)[int(np.argmin(np.abs(normal)))]
    e1 = np.cross(side, normal)
    e1 /= np.linalg.norm(e1)
    return np.array([e1, np.cross(normal, e1), normal])


def _turn(a: complex, b: complex) -> float:
    """Angle from a to b."""
    return float(np.angle(b * np.conj(a)))


def _wrapped(angle: float) -> float:
    return float(angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi)))


def _axis_of(place: JointPlace) -> int:
    return int(place.joint.motion[0].axis)


def _simple(place: JointPlace) -> bool:
    """Whether a joint turns or travels along one axis, or does nothing."""
    motion = place.joint.motion
    return motion is not None and (
        not motion or (len(motion) == 1 and motion[0].axis >= 0 and not (motion[0].turn and motion[0].travel))
    )


def walk(system: System, name: str, by_body: dict[int, tuple[str, JointPlace]]) -> list[Step] | None:
    """Joints round the loop of a cut joint, the cut last; None where it holds others than simple ones."""
    cut, t = system.joints[name], system.tables

    def up(body: int) -> list[int]:
        path = []
        while body:
            path.append(body)
            body = int(t.tree.parent[body])
        return path

    first, last = up(system.numbers.index.get(cut.Q.body, 0)), up(system.numbers.index.get(cut.P.body, 0))
    common = set(first) & set(last)
    down = [body for body in first if body not in common]
    rise = [body for body in reversed(last) if body not in common]
    if any(t.body.nf[body] for body in [*first, *last]):
        return None
    steps = []
    # from Q of the cut to the root: out of each body through its joint, then up again to P of the cut
    for body, outwards in [*((b, False) for b in down), *((b, True) for b in rise)]:
        key, place = by_body[body]
        steps.append(Step(key, place, outwards != place.reverse, _slides(place)))
    steps.append(Step(name, cut, True, _slides(cut)))
    return steps if all(_simple(step.place) for step in steps) else None


def _slides(place: JointPlace) -> bool:
    motion = place.joint.motion
    return bool(motion) and motion[0].turn == 0.0


def closed_forms(system: System, evaluator: Evaluator, dep: Ints) -> list[ClosedForm]:
    """Loops that close one after the other, each with three unknown joints. Needs the position stage."""
    unknown, found = set(int(k) for k in dep), list[ClosedForm]()
    by_body = {place.body: (key, place) for key, place in system.joints.items() if place.body}
    walks = [walk(system, g.name, by_body) for g in system.groups if g.kind == "joint"]
    loops, before = [steps for steps in walks if steps is not None], -1
    while len(found) > before:
        before, left = len(found), []
        for steps in loops:
            form = _closed_form(evaluator, steps, unknown)
            if form is None:
                left.append(steps)
            else:
                found.append(form)
                unknown -= set(form.speeds)
        loops = left[::-1]  # in a row of loops one may determine the one before
    return found


def _closed_form(evaluator: Evaluator, steps: list[Step], unknown: set[int]) -> ClosedForm | None:
    """A loop in a plane of which two tree coordinates are unknown, one joint of three sliding at most."""
    open_ones = [step for step in steps if step.speed in unknown or step.speed < 0]
    moving = [step for step in steps if step.place.joint.motion]
    turning = [step for step in moving if not step.slides]
    if len(open_ones) != 3 or sum(step.slides for step in open_ones) > 1 or not steps[-1].place.joint.motion:
        return None
    ws = evaluator.ws
    base = turning[0].place
    normal = ws.marker.R[base.P.number][:, _axis_of(base)]
    for step in moving:
        axis = ws.marker.R[step.place.P.number][:, _axis_of(step.place)]
        off = abs(axis @ normal) if step.slides else float(np.linalg.norm(np.cross(axis, normal)))
        if off > OFF_PLANE:
            return None
    start = next((k for k, step in enumerate(open_ones) if step.slides), 0)
    ordered = open_ones[start:] + open_ones[:start]
    return ClosedForm((ordered[0], ordered[1], ordered[2]), base.P.number, _axis_of(base))
