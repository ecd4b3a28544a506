"""Teeth in mesh: the force between two wheels from their torques, in the axes of the carrier (F19).

The force on wheel A at the pitch point P, for the torque T that the mesh puts on A about its axis a:

    F = T t + |T| n,   r_A x t . a = 1

t along the teeth's motion, with its axial part from the helix, n from the pressure angle: it presses the
teeth apart. On wheel B the opposite; that its torque about b is the one of the law is checked. No friction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.model.touching.ends import ALIGNED, SAME, Carried, End, Touch, Touching, are_parallel, are_square

Floats = NDArray[np.float64]


class Pair(NamedTuple):
    """Two wheels by the ends of their axes on the carrier, and the pitch `radii` of both.

    `ratio`: torque on B over torque on A; `pressure`: angle [rad].
    """

    where: str
    first: End
    second: End
    ratio: float
    radii: tuple[float, float]
    pressure: float

    @property
    def a(self) -> Floats:
        return self.first.rot[:, 2]

    @property
    def b(self) -> Floats:
        return self.second.rot[:, 2]

    @property
    def between(self) -> Floats:
        """From the axis of A to that of B, across A's axis."""
        d = self.second.pos - self.first.pos
        return np.asarray(d - (d @ self.a) * self.a)


class Mesh(NamedTuple):
    """Force of the teeth: `point` of contact, `outward` from A's axis to it, t and n of the force on A."""

    point: Floats
    outward: Floats
    t: Floats
    n: Floats


def refuse(where: str, what: str, remedy: str = "") -> InputError:
    return InputError(Diagnostic("gear.geometry", where, what, remedy))


def parallel(pair: Pair, internal: bool, helix: float) -> Mesh:
    """Spur and helical wheels; `helix` angle on A, right-handed positive; normal pressure angle."""
    if not are_parallel(pair.a, pair.b):
        raise refuse(pair.where, "the axes of the wheels are not parallel", "use a bevel or worm gear")
    u = _unit(pair, pair.between)
    ring = internal and pair.radii[0] > pair.radii[1]
    outward = u if not internal or ring else -u
    across = np.cross(pair.a, outward)
    t = (across - math.tan(helix) * pair.a) / pair.radii[0]
    n = math.tan(pair.pressure) / math.cos(helix) / pair.radii[0] * (outward if ring else -outward)
    return Mesh(pair.first.pos + pair.radii[0] * outward, outward, t, n)


def bevel(pair: Pair) -> Mesh:
    """Straight bevel wheels; z axes from the common apex to the wheels, radii those at mid-face."""
    a, b = pair.a, pair.b
    apex = _meeting(pair)
    across = np.cross(a, b)
    sine, cosine = float(np.linalg.norm(across)), float(a @ b)
    if sine <= ALIGNED:
        raise refuse(pair.where, "the axes of bevel wheels must meet at an angle")
    cone = [math.atan2(sine, pair.radii[1 - k] / pair.radii[k] + cosine) for k in range(2)]
    p = (a * math.sin(cone[1]) + b * math.sin(cone[0])) / sine
    outward = p - (p @ a) * a
    outward /= np.linalg.norm(outward)
    apart = a - (a @ p) * p
    n = math.tan(pair.pressure) / pair.radii[0] * apart / np.linalg.norm(apart)
    point = apex + p * (pair.radii[0] / math.sin(cone[0]))
    return Mesh(point, outward, np.cross(a, outward) / pair.radii[0], n)


def worm(pair: Pair, lead: float) -> Mesh:
    """Worm A of lead angle `lead` and its wheel B, axes at right angles; normal pressure angle."""
    a, b = pair.a, pair.b
    if not are_square(a, b):
        raise refuse(pair.where, "the axes of worm and wheel are not at right angles")
    across = np.cross(a, b)
    d = float((pair.second.pos - pair.first.pos) @ across)
    if d == 0.0:
        raise refuse(pair.where, "the axes of worm and wheel meet")
    outward = across * np.sign(d)
    hand = pair.ratio / (pair.radii[1] * float(np.cross(outward, a) @ b))
    t = np.cross(a, outward) / pair.radii[0] + hand * a
    n = -outward * math.tan(pair.pressure) / math.sin(lead) / pair.radii[0]
    centre = pair.first.pos + a * ((pair.second.pos - pair.first.pos) @ a)
    return Mesh(centre + pair.radii[0] * outward, outward, t, n)


def meshing(pair: Pair, mesh: Mesh, factor: float, path: tuple[Carried, ...]) -> Touching:
    """The touch of two wheels; the torque on A is `factor` times the multiplier of the law."""
    lever = mesh.point - pair.second.pos
    found = float(np.cross(lever, -mesh.t) @ pair.b)
    if not abs(found - pair.ratio) < SAME * abs(pair.ratio):
        what = (
            f"at the places of the joints the torques of the wheels are 1 : {found:.6g}, the teeth say "
            f"1 : {pair.ratio:.6g}"
        )
        remedy = (
            "let centre distance, module and teeth agree; z axes of bevel wheels point away from the apex"
        )
        raise refuse(pair.where, what, remedy)
    around = np.cross(pair.a, mesh.outward)

    def at(lam: Floats, y: Floats) -> Touch:
        T = factor * lam
        force = np.outer(T, mesh.t) + np.outer(np.abs(T), mesh.n)
        numbers = {
            "tangential_force": (force @ around, "N"), "radial_force": (-(force @ mesh.outward), "N"),
            "axial_force": (force @ pair.a, "N"),
            "normal_force": (np.linalg.norm(force, axis=1), "N"),
        }  # fmt: skip
        return Touch(force, np.broadcast_to(mesh.point, force.shape), numbers)

    return Touching(pair.first.body, path, at)


def _unit(pair: Pair, between: Floats) -> Floats:
    size = float(np.linalg.norm(between))
    if not size > 0.0:
        raise refuse(pair.where, "the wheels stand on one axis", "place their joints at the centres")
    return between / size


def _meeting(pair: Pair) -> Floats:
    """Where both axes meet."""
    a, b, d = pair.a, pair.b, pair.second.pos - pair.first.pos
    (s, _), *_ = np.linalg.lstsq(np.column_stack([a, -b]), d, rcond=None)
    apex = pair.first.pos + s * a
    miss = float(np.linalg.norm(np.cross(apex - pair.second.pos, b)))
    if miss > SAME * max(pair.radii):
        raise refuse(pair.where, f"the axes of the bevel wheels miss each other by {miss:.3g} m")
    return np.asarray(apex)
