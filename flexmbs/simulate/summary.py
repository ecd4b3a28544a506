"""What a run says at its end: counts, closure, energy, and warnings with physics."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs import __version__
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.system import System
from flexmbs.simulate.diagnose import REMEDY, without_inertia

Floats = NDArray[np.float64]
SLOPE_LIMIT = 0.1  # rad, of elastic rotation
#: of an interface with no joint, coupling or force
RIGID_FOR_NOTHING = (
    "nothing is attached, yet its nodes move as one: that stiffens the part and hides stress there; "
    'leave the interface out, or tie it with "rbe3"'
)
SPIN_LIMIT = 0.2  # of the first frequency, without geometric stiffening
BALANCE_LIMIT = 1e-3  # of the largest energy
NO_SPEED = 1e-9  # m/s or rad/s


@dataclass
class Summary:
    """Closing summary of a run."""

    method: str = ""
    reason: str = ""
    statistics: dict[str, float] = field(default_factory=dict)
    largest_balance_error: float = 0.0
    largest_energy: float = 0.0
    warnings: list[str] = field(default_factory=list)

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
        if s:
            lines.append(f"largest closure {s['largest_closure']:.1e}")
        if self.largest_energy > 0.0:
            relative = self.largest_balance_error / self.largest_energy
            share = f"{relative:.1e} of the largest energy"
            lines.append(f"energy balance within {self.largest_balance_error:.2e} J ({share})")
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


@dataclass
class Watch:
    """Largest values along a run, for the summary; part of the checkpoint."""

    system: System
    q: dict[str, Floats] = field(default_factory=dict)
    spin: dict[str, float] = field(default_factory=dict)
    balance: float = 0.0
    energy: float = 0.0
    doubtful: list[str] = field(default_factory=list)
    pulled: dict[str, float] = field(default_factory=dict)
    empty: dict[str, float] = field(default_factory=dict)

    def see(self, samples: dict[str, Floats]) -> None:
        """Take in the samples of a segment."""
        if not len(samples["time"]):
            return
        for name, body in self.system.model.bodies.items():
            spin = np.linalg.norm(samples[f"bodies/{name}/angular_velocity"], axis=1)
            self.spin[name] = max(self.spin.get(name, 0.0), float(np.max(spin)))
            if isinstance(body, FlexibleBody):
                self._see_inertia(name, samples[f"bodies/{name}/q"])
                q = np.abs(samples[f"bodies/{name}/q"]).max(axis=0, initial=0.0)
                self.q[name] = np.maximum(self.q.get(name, 0.0 * q), q)
        for name, part in self.system.model.couplings.items():
            if getattr(part, "unilateral", False):
                least = float(samples[f"couplings/{name}/force"].min())
                self.pulled[name] = min(self.pulled.get(name, 0.0), least)
        for name in self.system.model.sensors:
            nothing = ~np.isfinite(samples[f"sensors/{name}"]).reshape(len(samples["time"]), -1).all(axis=1)
            if nothing.any():
                self.empty.setdefault(name, float(samples["time"][np.argmax(nothing)]))
        self.balance = max(self.balance, float(np.abs(samples["energy/balance_error"]).max()))
        for term in ("kinetic", "strain", "spring", "work", "dissipated"):
            self.energy = max(self.energy, float(np.abs(samples[f"energy/{term}"]).max()))

    def _see_inertia(self, name: str, q: Floats) -> None:
        """Whether the body has inertia in all directions at its largest deflection among the samples."""
        K_ff = self.system.integrals(name).K_ff
        if q.shape[1] and name not in self.doubtful:
            largest = q[int(np.argmax(np.einsum("ta,ab,tb->t", q, K_ff, q)))]
            self.doubtful += without_inertia(self.system, {name: largest})

    def warnings(self, every: float) -> list[str]:
        """Warnings with physics (reliability of the model)."""
        found = []
        mass = self.system.tables.tree.mass_scale
        nothing = NO_SPEED**2 * float(mass[0] + mass[1])  # nothing moves: rounding is no energy
        if not self.balance <= BALANCE_LIMIT * self.energy + nothing:
            share = self.balance / self.energy if self.energy > 0.0 else np.inf
            found.append(
                f"the energy balance is off by {share:.1e} of the largest energy: do not trust this motion; "
                "take a smaller rtol or step, or another method"
            )
        flexible = {
            name: body
            for name, body in self.system.model.bodies.items()
            if isinstance(body, FlexibleBody) and name in self.q
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
        found, modal = [], body.modal
        modes = slice(None) if body.modes is None else np.asarray(body.modes)
        frequency = _frequencies(body)
        if name in self.doubtful:
            found.append(
                f"bodies.{name}: its deflections are too large for its geometric stiffening, its kinetic "
                f"energy is not positive for all motions; {REMEDY}"
            )
        slope = self._largest_slope(body, modes, name)
        if slope > SLOPE_LIMIT:
            found.append(
                f"bodies.{name}: elastic rotations up to {slope:.2f} rad are beyond linear elasticity "
                f"({SLOPE_LIMIT} rad); divide the body"
            )
        stiffened = body.geometric_stiffening is not False and modal.integrals.K_geo.size
        if len(frequency) and not stiffened and self.spin[name] > SPIN_LIMIT * 2 * np.pi * frequency.min():
            found.append(
                f"bodies.{name}: turns at {self.spin[name]:.3g} rad/s, over {SPIN_LIMIT} of its first "
                "frequency, without geometric stiffening"
            )
        return found

    def _largest_slope(self, body: FlexibleBody, modes: Any, name: str) -> float:
        rows = [i.Psi[:, modes] for i in body.modal.interfaces.values()]
        return max((float(np.linalg.norm(np.abs(Psi) @ self.q[name])) for Psi in rows), default=0.0)

    def checkpoint(self) -> dict[str, Any]:
        return {
            "balance": self.balance,
            "energy": self.energy,
            "spin": {name: np.array(value) for name, value in self.spin.items()},
            "q": dict(self.q),
            "doubtful": {name: np.array(1.0) for name in self.doubtful},
            "pulled": {name: np.array(value) for name, value in self.pulled.items()},
            "empty": {name: np.array(value) for name, value in self.empty.items()},
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        self.balance, self.energy = float(checkpoint["balance"]), float(checkpoint["energy"])
        self.doubtful = list(checkpoint.get("doubtful", {}))
        self.pulled = {name: float(value) for name, value in checkpoint.get("pulled", {}).items()}
        self.empty = {name: float(value) for name, value in checkpoint.get("empty", {}).items()}
        self.spin = {name: float(value) for name, value in checkpoint.get("spin", {}).items()}
        self.q = {name: np.asarray(value) for name, value in checkpoint.get("q", {}).items()}


def _frequencies(body: FlexibleBody) -> Floats:
    """Frequencies of the modes kept that swing [Hz]."""
    modes = slice(None) if body.modes is None else np.asarray(body.modes)
    frequency = np.asarray(body.modal.frequency_hz, dtype=float)[modes]
    return np.asarray(frequency[np.isfinite(frequency) & (frequency > 0.0)])


def _unresolved(flexible: dict[str, FlexibleBody], every: float) -> list[str]:
    """One line for all bodies whose vibrations the samples do not show."""
    highest = {name: float(_frequencies(body).max(initial=0.0)) for name, body in flexible.items()}
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
