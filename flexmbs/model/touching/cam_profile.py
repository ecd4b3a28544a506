"""A cam's outline and its follower -> the law of lift, by the contact of both (F19).

The follower rests on the outline: its coordinate is the least (for `pushes = "down"` the largest) at which no
point of the outline is inside it. Every point of the outline allows one coordinate; the extreme of them over
the outline is the law, and where it stands is the contact. The extreme is stationary there, so the rate of
lift is that of the point in contact, and places found to 1e-9 give the law to rounding.

All in the plane of the cam, in the axes of its joint's marker on the holder; points as complex numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flexmbs.errors import Diagnostic, InputError
from flexmbs.model.touching.cam_outline import TURN, Complex, Floats, Outline

#: error of accelerations by the rounding of points, over the largest ones, that is warned of
ROUGH = 0.01
#: points at which the law is tabulated over a turn, points of the outline that are tried
TABLE, TRIED = 2048, 1440


class Touch(NamedTuple):
    """Contacts of cam and follower: arrays over the angles that were asked for."""

    coordinate: Floats  # of the follower
    place: Floats  # parameter of the outline
    point: Complex  # of contact
    normal: Complex  # unit, from the cam into the follower
    lever: Floats  # normal velocity of the follower at the contact over its coordinate's rate
    pressure_angle: Floats  # between the normal and the motion of the follower there [rad]


@dataclass(frozen=True, kw_only=True)
class Follower:
    """How a follower moves and touches. `sense` 1: the cam pushes its coordinate up, -1: down.

    It slides along `direction`, or turns about `pivot` by `turns` (1 or -1) times its coordinate. `at`: the
    centre of its roller of `radius`, or (radius 0) a point of its flat face with `normal` away from the cam;
    all at coordinate zero, in the cam's plane.
    """

    at: complex
    sense: float
    direction: complex = 0.0
    pivot: complex | None = None
    turns: float = 1.0
    radius: float = 0.0
    normal: complex = 0.0

    def allowed(self, P: Complex) -> Floats:
        """Coordinate at which points P touch the follower, times `sense`; -inf where they never do."""
        with np.errstate(invalid="ignore", divide="ignore"):
            if self.pivot is None:
                found = self._sliding(P)
            else:
                found = self._turning(P - self.pivot)
        return np.where(np.isfinite(found), found, -np.inf)

    def _sliding(self, P: Complex) -> Floats:
        d = self.sense * self.direction
        u = P - self.at
        if not self.radius:
            return (u * np.conj(self.normal)).real / (d * np.conj(self.normal)).real
        across = (u * np.conj(d)).imag
        return np.asarray((u * np.conj(d)).real + np.sqrt(self.radius**2 - across**2))

    def _turning(self, u: Complex) -> Floats:
        assert self.pivot is not None
        s, b, rho = self.sense * self.turns, self.at - self.pivot, np.abs(u)
        if self.radius:
            a, start = abs(b), np.angle(b)
            share = [(a * a + r * r - self.radius**2) / (2.0 * a * r) for r in (rho, abs(self.pivot))]
        else:
            start, h = np.angle(self.normal), (b * np.conj(self.normal)).real
            share = [h / rho, h / abs(self.pivot)]
        # about the direction towards the cam; the coordinate is that of the half turn around zero
        to_cam, about = -self.pivot / abs(self.pivot), s * np.arccos(np.clip(share[1], -1.0, 1.0))
        middle = np.mod(np.angle(to_cam) - start + about + np.pi, TURN) - np.pi - about
        return np.asarray(s * (np.angle(u / to_cam) + middle) + np.arccos(share[0]))

    def levers(self, P: Complex, normal: Complex, coordinate: Floats) -> tuple[Floats, Floats]:
        """Normal velocity at the contact over the rate of the coordinate, and the pressure angle."""
        if self.pivot is None:
            way = np.full_like(P, self.direction)
        else:
            way = 1j * self.turns * (P - self.pivot)
            if self.radius:  # a roller moves as its centre does
                way = 1j * self.turns * (self.at - self.pivot) * np.exp(1j * self.turns * coordinate)
        lever = (way * np.conj(normal)).real
        return lever, np.arccos(np.clip(self.sense * lever / np.abs(way), -1.0, 1.0))


@dataclass(frozen=True)
class Contact:
    """A cam and its follower; the cam turns by `turns` (1 or -1) times its coordinate."""

    where: str
    outline: Outline
    follower: Follower
    turns: float = 1.0

    def touch(self, x: Floats) -> Touch:
        """Contacts at the coordinates x of the cam."""
        x = np.atleast_1d(np.asarray(x, dtype=float))
        u = np.concatenate([self._best(x[k : k + 512]) for k in range(0, len(x), 512)])
        P, n = (z * np.exp(1j * self.turns * x) for z in (self.outline.at(u), self.outline.normal(u)))
        s = self.follower.sense * self.follower.allowed(P)
        with np.errstate(invalid="ignore"):  # no contact: an error with its name follows
            levers = self.follower.levers(P, n, s)
        return Touch(s, np.mod(u, TURN), P, n, *levers)

    def _best(self, x: Floats) -> Floats:
        """Place of contact: the best of many, then the vertex of parabolas on ever shorter steps."""
        tried = np.arange(TRIED) * (TURN / TRIED)
        turn = np.exp(1j * self.turns * x)
        table = self.follower.allowed(turn[:, None] * self.outline.at(tried))
        u, h = tried[np.argmax(table, axis=1)], TURN / TRIED
        for _ in range(8):
            low, mid, high = (
                self.follower.allowed(turn * self.outline.at(u + k * h)) for k in (-1.0, 0.0, 1.0)
            )
            with np.errstate(invalid="ignore", divide="ignore"):
                move = 0.5 * h * (low - high) / (low - 2.0 * mid + high)
            u = u + np.clip(np.where(np.isfinite(move), move, 0.0), -h, h)
            h = max(0.3 * h, 1e-4)
        return np.asarray(u)

    def table(self) -> tuple[Floats, Floats]:
        """Angles of one turn and the follower's coordinate, checked; the law is periodic."""
        x = np.arange(TABLE + 1) * (TURN / TABLE)
        found = self.touch(x[:-1])
        self._check_reach(x, found)
        self._check_shape()
        self._check_jumps(x, found)
        return x, np.append(found.coordinate, found.coordinate[0])

    def _check_reach(self, x: Floats, found: Touch) -> None:
        lost = np.flatnonzero(~np.isfinite(found.coordinate))
        if len(lost):
            what = f"at a cam angle of {np.degrees(x[lost[0]]):.1f} deg the follower does not reach the cam"
            raise InputError(
                Diagnostic("cam.no_contact", self.where, what, "check offset, arm and the frame that touches")
            )
        worst = int(np.argmax(found.pressure_angle))
        if not found.pressure_angle[worst] < np.radians(85.0):
            what = (
                f"the pressure angle is {np.degrees(found.pressure_angle[worst]):.1f} deg at a cam angle of "
                f"{np.degrees(x[worst]):.1f} deg: the cam pushes beside the follower's way"
            )
            raise InputError(
                Diagnostic(
                    "cam.pressure_angle", self.where, what, "check offset, arm and the direction of lift"
                )
            )

    def _check_shape(self) -> None:
        """Hollows that a flat face bridges or a roller is too large for."""
        u = np.arange(4 * TRIED) * (TURN / (4 * TRIED))
        curvature, r = self.outline.curvature(u), self.follower.radius
        k = int(np.argmin(curvature))
        place = np.degrees(np.angle(self.outline.at(u[k : k + 1]))[0])
        scale = 1.0 / float(np.abs(self.outline.at(u)).max())
        if not r and curvature[k] < 1e-9 * scale:
            what, remedy = "the profile is not convex", "use a roller, or a convex profile"
            if self.outline.is_drawn_convex:
                what, remedy = (
                    "the spline through the convex profile is not convex",
                    "use a roller, or give the lift",
                )
                what += ", as the curvature jumps,"
            what += f" at a polar angle of {place:.1f} deg: a flat face bridges it"
            raise InputError(Diagnostic("cam.concave", self.where, what, remedy))
        if r and curvature[k] * r <= -1.0:
            what = (
                f"the profile is hollow with a radius of {-1.0 / curvature[k]:.4g} m at a polar angle of "
                f"{place:.1f} deg, the roller has {r:.4g} m"
            )
            raise InputError(Diagnostic("cam.undercut", self.where, what, "take a smaller roller"))

    def _check_jumps(self, x: Floats, found: Touch) -> None:
        """A contact that leaps from one place to another gives the follower a jump of speed."""
        place = np.append(found.place, found.place[0])
        leap = np.abs(np.mod(np.diff(place) + np.pi, TURN) - np.pi)
        for k in np.argsort(leap)[::-1][:3]:
            a, b = float(x[k]), float(x[k] + TURN / TABLE)
            if leap[k] < 0.02:
                return
            for _ in range(24):
                near = self.touch(np.array([a, 0.5 * (a + b), b])).place
                first, second = np.abs(np.mod(np.diff(near) + np.pi, TURN) - np.pi)
                a, b = (a, 0.5 * (a + b)) if first > second else (0.5 * (a + b), b)
            if max(first, second) > 0.01:
                p = [f"{np.degrees(z):.1f}" for z in np.angle(self.outline.at(near[[0, 2]]))]
                what = (
                    f"at a cam angle of {np.degrees(a):.1f} deg the contact leaps from {p[0]} to {p[1]} deg "
                    "of the profile: the follower touches it in two places"
                )
                raise InputError(
                    Diagnostic(
                        "cam.interference", self.where, what, "a smaller roller, or a profile without dents"
                    )
                )

    def warnings(self) -> list[str]:
        """Pressure angles beyond 30 deg of sliding followers, 45 deg of turning ones; rough points."""
        usual = 30.0 if self.follower.pivot is None else 45.0
        found = self.touch(np.arange(360) * (TURN / 360))
        angle, lift = np.degrees(found.pressure_angle.max()), np.ptp(np.abs(self.outline.points))
        texts = []
        if angle > usual:
            texts.append(f"the pressure angle reaches {angle:.1f} deg, usual are up to {usual:.0f} deg")
        rough = self.outline.scatter / max(0.5 * float(lift), 1e-300)
        if rough > ROUGH and lift > 1e-9 * np.abs(self.outline.points).max():
            what = "the points of the profile are rounded or scatter: accelerations and forces of the contact"
            texts.append(f"{what} may be off by {min(rough, 1.0):.0%}; give more digits or fewer points")
        return texts
