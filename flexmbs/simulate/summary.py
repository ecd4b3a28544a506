"""What a run says at its end: counts, closure, energy, and warnings with physics."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs import __version__
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.system import System
from flexmbs.results.energy import TERMS, energy_size, swing
from flexmbs.simulate.diagnose import REMEDY, without_inertia
from flexmbs.simulate.settings import RunSettings

Floats = NDArray[np.float64]
SLOPE_LIMIT = 0.1  # rad, of elastic rotation
#: of an interface with no joint, coupling or force
RIGID_FOR_NOTHING = (
    "nothing is attached, yet its nodes move as one: that stiffens the part and hides stress there; "
    'leave the interface out, or tie it with "rbe3"'
)
SLOPE_END = 1.5  # rad, beyond which modes mean nothing and a run ends
SPIN_LIMIT = 0.2  # of the first frequency, without geometric stiffening
BALANCE_LIMIT = 1e-3  # of the largest energy
NO_SPEED = 1e-9  # m/s or rad/s
ROUNDING = 1e-14  # of the largest energy
_SPIN = f"turns faster than {SPIN_LIMIT} of its first frequency, without geometric stiffening"
_SLOPE = f"elastic rotations are beyond linear elasticity ({SLOPE_LIMIT} rad)"


@dataclass
class Summary:
    """Closing summary of a run: so much time `moved` in `wall` time, both in s.

    stepping : CPU seconds in compiled time loops, which are part of it
    """

    method: str = ""
    reason: str = ""
    statistics: dict[str, float] = field(default_factory=dict)
    largest_balance_error: float = 0.0
    largest_energy: float = 0.0
    warnings: list[str] = field(default_factory=list)
    followed: list[str] = field(default_factory=list)
    moved: float = 0.0
    wall: float = 0.0
    stepping: float = 0.0

    @property
    def real_time_factor(self) -> float:
        """Seconds of the motion for each second of wall time, samples included; 0 where nothing moved."""
        return self.moved / self.wall if self.moved > 0.0 and self.wall > 0.0 else 0.0

    @property
    def text(self) -> str:
        s = self.statistics
        lines = []
        if s and s["steps"]:
            per_step = s["evaluations"] / (s["steps"] + s["rejected"])
            more = f" and {s['sampling']} for samples between steps" if s.get("sampling") else ""
            counts = f"{per_step:.1f} passes per step{more}, {s['rejected']} rejected"
            lines.append(f"{s['steps']} steps with {self.method}, {counts}")
        elif s:
            lines.append(self.reason)
        if self.real_time_factor > 0.0:
            motion = f"{self.moved:.4g} s of motion in {self.wall:.3g} s"
            lines.append(f"{motion}: real-time factor {self.real_time_factor:.3g}")
        if s:
            lines.append(f"largest closure {s['largest_closure']:.1e}")
        if self.largest_energy > 0.0:
            relative = self.largest_balance_error / self.largest_energy
            share = f"{relative:.1e} of the largest swing of an energy"
            lines.append(f"energy balance within {self.largest_balance_error:.2e} J ({share})")
        lines += self.followed
        return "\n".join(lines + [f"warning: {text}" for text in self.warnings])


class RunLog:
    """What is said during a run, with seconds of wall time, for the provenance; passed on to a listener."""

    def __init__(self, say: Callable[[str], None] | None) -> None:
        self._say, self._started, self._lines = say, time.monotonic(), [f"flexmbs {__version__}"]

    def __call__(self, text: str) -> None:
        self.note(text)
        if self._say is not None:
            self._say(text)

    def note(self, text: str) -> None:
        """A line of the log that is not said."""
        self._lines.append(f"{time.monotonic() - self._started:10.3f} s  {text}")

    @property
    def text(self) -> str:
        return "\n".join(self._lines)


def _modes(body: FlexibleBody) -> Any:
    return slice(None) if body.modes is None else np.asarray(body.modes)


def frequencies(body: FlexibleBody) -> Floats:
    """Frequencies [Hz] of the modes of a body that have one."""
    found = np.asarray(body.modal.frequency_hz, dtype=float)[_modes(body)]
    return np.asarray(found[np.isfinite(found) & (found > 0.0)])


def slopes(body: FlexibleBody, q: Floats) -> Floats:
    """Largest elastic rotation (n,) [rad] of an interface at elastic coordinates q (n, nf)."""
    found = np.zeros(len(q))
    for interface in body.modal.interfaces.values():
        found = np.maximum(found, np.linalg.norm(q @ interface.Psi[:, _modes(body)].T, axis=1))
    return found


def balance_advice(settings: RunSettings, method: str) -> str | None:
    """What tells whether an imbalance matters; None where there is no balance: shapes in rest."""
    if settings.elastic == "quasi-static" and settings.type in ("kinematics", "inverse_dynamics"):
        return None
    if settings.step > 0.0:
        return f"compare with a step of {0.5 * settings.step:g} s"
    if method == "generalized-alpha":
        return (
            "generalized-alpha takes energy out of vibrations that its steps do not resolve: compare with "
            f'rtol = {0.1 * settings.rtol:g}, or with "dop853", which resolves them'
        )
    return f"compare with a run at rtol = {0.1 * settings.rtol:g}: where the two differ, trust neither"


@dataclass
class Watch:
    """Largest values along a run, for the summary; part of the checkpoint."""

    system: System
    slope: dict[str, float] = field(default_factory=dict)
    spin: dict[str, float] = field(default_factory=dict)
    balance: float = 0.0
    swings: dict[str, Floats] = field(default_factory=dict)
    doubtful: list[str] = field(default_factory=list)
    pulled: dict[str, float] = field(default_factory=dict)
    empty: dict[str, float] = field(default_factory=dict)

    @property
    def energy(self) -> float:
        """Size of the energies, against which an imbalance counts."""
        return energy_size(self.swings)

    def see(self, samples: dict[str, Floats]) -> list[tuple[float, str]]:
        """Take in the samples of a segment; when a body left what its model is good for, and in what."""
        found: list[tuple[float, str]] = []
        if not len(samples["time"]):
            return found
        for name, body in self.system.model.bodies.items():
            spin = np.linalg.norm(samples[f"bodies/{name}/angular_velocity"], axis=1)
            before = self.spin.get(name, 0.0), self.slope.get(name, 0.0)
            self.spin[name] = max(before[0], float(np.max(spin)))
            if isinstance(body, FlexibleBody):
                self._see_inertia(name, samples[f"bodies/{name}/q"])
                slope = slopes(body, samples[f"bodies/{name}/q"])
                self.slope[name] = max(before[1], float(np.max(slope)))
                rules = ((spin, before[0], self._spin_limit(body)), (slope, before[1], SLOPE_LIMIT))
                for (values, old, limit), text in zip(rules, (_SPIN, _SLOPE), strict=True):
                    if old <= limit < np.max(values):
                        k = int(np.argmax(values > limit))
                        found.append((float(samples["time"][k]), f"bodies.{name}: {text}"))
        for name, part in self.system.model.couplings.items():
            if getattr(part, "unilateral", False):
                least = float(samples[f"couplings/{name}/force"].min())
                self.pulled[name] = min(self.pulled.get(name, 0.0), least)
        for name in self.system.model.sensors:
            nothing = ~np.isfinite(samples[f"sensors/{name}"]).reshape(len(samples["time"]), -1).all(axis=1)
            if nothing.any():
                self.empty.setdefault(name, float(samples["time"][np.argmax(nothing)]))
        self.balance = max(self.balance, float(np.abs(samples["energy/balance_error"]).max()))
        for term in TERMS:
            ends = swing(samples[f"energy/{term}"])
            self.swings[term] = swing(np.concatenate([ends, self.swings.get(term, ends)]))
        return sorted(found)

    def within(self, samples: dict[str, Floats]) -> tuple[int, SolverError | None]:
        """How many samples there are to the first that no linear body can have, and the error that it is."""
        first, worst = len(samples["time"]), None
        for name, body in self.system.model.bodies.items():
            if not isinstance(body, FlexibleBody):
                continue
            slope = slopes(body, samples[f"bodies/{name}/q"][:first])
            beyond = np.flatnonzero(~(slope <= SLOPE_END))
            if len(beyond):
                first = int(beyond[0]) + 1
                worst = f"bodies.{name}: elastic rotations of {slope[beyond[0]]:.3g} rad"
        if worst is None:
            return first, None
        where = f"t = {samples['time'][first - 1]:.6g} s"
        what = f"{worst} are far beyond linear elasticity ({SLOPE_LIMIT} rad), at {where}"
        remedy = "divide the body, or look for loads, lengths or units that are wrong"
        return first, SolverError(Diagnostic("solver.beyond_validity", where, what, remedy))

    def _spin_limit(self, body: FlexibleBody) -> float:
        """Spin beyond which a body without geometric stiffening is wrong; infinite with it."""
        frequency = frequencies(body)
        stiffened = body.geometric_stiffening is not False and body.modal.integrals.K_geo.size
        if stiffened or not len(frequency):
            return float(np.inf)
        return float(SPIN_LIMIT * 2 * np.pi * frequency.min())

    def _see_inertia(self, name: str, q: Floats) -> None:
        """Whether the body has inertia in all directions at its largest deflection among the samples."""
        K_ff = self.system.integrals(name).K_ff
        if q.shape[1] and name not in self.doubtful:
            largest = q[int(np.argmax(np.einsum("ta,ab,tb->t", q, K_ff, q)))]
            self.doubtful += without_inertia(self.system, {name: largest})

    def warnings(self, every: float, advice: str | None = "take a smaller rtol or step") -> list[str]:
        """Warnings with physics (reliability of the model).

        `advice`: what helps where the energy balance is off; None where the method does not claim it.
        """
        found = []
        mass = self.system.tables.tree.mass_scale
        stored = max((float(np.abs(ends).max()) for ends in self.swings.values()), default=0.0)
        nothing = NO_SPEED**2 * float(mass[0] + mass[1]) + ROUNDING * stored  # no energy: nothing moves
        if advice is not None and not self.balance <= BALANCE_LIMIT * self.energy + nothing:
            share = self.balance / self.energy if self.energy > 0.0 else np.inf
            found.append(
                f"the energy balance is off by {share:.1e} of the largest swing of an energy; {advice}"
            )
        flexible = {
            name: body
            for name, body in self.system.model.bodies.items()
            if isinstance(body, FlexibleBody) and name in self.slope
        }
        for name, body in flexible.items():
            found += self._of_body(name, body)
        found += _unresolved(flexible, every) + self._rigid_for_nothing(flexible)
        found += [f"sensors.{n}: has no finite value at t = {t:.6g} s" for n, t in self.empty.items()]
        return found + self.pulls()

    def pulls(self) -> list[str]:
        """Contacts that would have to pull in a motion that is given."""
        return [
            f"couplings.{name}: the cam would have to pull its follower (force down to {force:.4g}), which "
            'lifts off there; see type = "dynamics"'
            for name, force in self.pulled.items()
            if force < -1e-9
        ]

    def _rigid_for_nothing(self, flexible: dict[str, FlexibleBody]) -> list[str]:
        """One line for all interfaces that stiffen their bodies and carry nothing."""
        found = [
            f"bodies.{name}.{face}"
            for name, body in flexible.items()
            for face in self.system.markers.rigid_for_nothing(body)
        ]
        return [f"{listed(found)}: {RIGID_FOR_NOTHING}"] if found else []

    def _of_body(self, name: str, body: FlexibleBody) -> list[str]:
        found = []
        if name in self.doubtful:
            found.append(
                f"bodies.{name}: its deflections are too large for its geometric stiffening, its kinetic "
                f"energy is not positive for all motions; {REMEDY}"
            )
        if self.slope[name] > SLOPE_LIMIT:
            found.append(
                f"bodies.{name}: elastic rotations up to {self.slope[name]:.2f} rad are beyond linear "
                f"elasticity ({SLOPE_LIMIT} rad); divide the body"
            )
        if self.spin[name] > self._spin_limit(body):
            found.append(
                f"bodies.{name}: turns at {self.spin[name]:.3g} rad/s, over {SPIN_LIMIT} of its first "
                "frequency, without geometric stiffening"
            )
        return found

    @property
    def message(self) -> str:
        """What must stand beside the status of a run: bodies beyond what their model is good for."""
        rows = []
        for name, body in self.system.model.bodies.items():
            if isinstance(body, FlexibleBody) and name in self.slope:
                rows += [f"bodies.{name}: {_SLOPE}"] * (self.slope[name] > SLOPE_LIMIT)
                rows += [f"bodies.{name}: {_SPIN}"] * (self.spin[name] > self._spin_limit(body))
        more = f", and {len(rows) - 3} more" if len(rows) > 3 else ""
        return "; ".join(rows[:3]) + more

    def checkpoint(self) -> dict[str, Any]:
        names = list(self.system.model.bodies)
        return {
            "balance": self.balance,
            "swings": dict(self.swings),
            "largest": np.array(
                [[found.get(name, np.nan) for name in names] for found in (self.spin, self.slope)]
            ),
            "doubtful": {name: np.array(1.0) for name in self.doubtful},
            "pulled": {name: np.array(value) for name, value in self.pulled.items()},
            "empty": {name: np.array(value) for name, value in self.empty.items()},
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        self.balance = float(checkpoint["balance"])
        self.swings = {name: np.asarray(x) for name, x in checkpoint.get("swings", {}).items()}
        self.doubtful = list(checkpoint.get("doubtful", {}))
        self.pulled = {name: float(value) for name, value in checkpoint.get("pulled", {}).items()}
        self.empty = {name: float(value) for name, value in checkpoint.get("empty", {}).items()}
        spin, slope = np.asarray(checkpoint["largest"], dtype=float)
        names = list(self.system.model.bodies)
        self.spin, self.slope = (
            {name: float(value) for name, value in zip(names, found, strict=True) if not np.isnan(value)}
            for found in (spin, slope)
        )


def _unresolved(flexible: dict[str, FlexibleBody], every: float) -> list[str]:
    """One line for all bodies whose vibrations the samples do not show."""
    highest = {name: float(frequencies(body).max(initial=0.0)) for name, body in flexible.items()}
    fast = [name for name, frequency in highest.items() if 2.0 * every * frequency > 1.0]
    if not fast:
        return []
    worst = max(fast, key=lambda name: highest[name])
    names = listed([f"bodies.{name}" for name in fast])
    return [
        f"{names}: output every {every:.3g} s is longer than half the period of the highest mode "
        f"({highest[worst]:.4g} Hz of {worst}); vibrations are not resolved in the samples"
    ]


def listed(names: list[str], most: int = 4) -> str:
    """The first names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
