"""Energies that bodies are given as expressions of joint coordinates: T(s, s_dot, t) and V(s, t) (F32).

Each enters Lagrange's equations by L = T - V: d2L/ds_dot2 joins M, the rest p1, through the gradients of the
coordinates. Second derivatives come from those along a direction that the machine of expressions gives, by
polarisation: exact to rounding, nothing is differenced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.channels import split_channel
from flexmbs.dynamics.descriptor.own_energies import bodies_with_energies
from flexmbs.expressions import Expression, constant
from flexmbs.expressions.machine import evaluate
from flexmbs.expressions.table import STACK, compile_table

if TYPE_CHECKING:
    from flexmbs.model.system import System

Array = NDArray[np.float64]


class Own(NamedTuple):
    """What all energies of bodies add at a state."""

    mass: Array  # (n_coords, n_coords) d2L/ds_dot2
    effort: Array  # (n_coords,) on the coordinates, at their rates of zero joint accelerations
    power: float  # -dL/dt: work that goes into energies which follow the time [W]
    kinetic: Array  # (n_bodies,) s_dot dT/ds_dot - T [J]
    potential: Array  # (n_bodies,) V [J]

    def mass_matrix(self) -> Any:
        """`mass`, sparse."""
        from scipy.sparse import csc_matrix

        return csc_matrix(self.mass)


class Energies:
    """The energies of a system, as functions of its joint coordinates."""

    def __init__(self, system: System) -> None:
        self.n_coords, self.n_bodies = len(system.tables.coord.entry), len(system.bodies)
        self.items: list[tuple[int, float, Energy]] = []
        for name in bodies_with_energies(system.model):
            body = system.model.bodies[name]
            for sign, item in ((1.0, body.kinetic_energy), (-1.0, body.potential_energy)):
                if item is not None:
                    self.items.append((system.bodies.index(name), sign, Energy(system, item)))

    def at(self, t: float, value: Array, rate: Array, bias: Array) -> Own:
        """What they add where all joint coordinates have these values, rates and second rates."""
        mass, effort = np.zeros((self.n_coords, self.n_coords)), np.zeros(self.n_coords)
        power, stored = 0.0, np.zeros((2, self.n_bodies))
        for i, sign, energy in self.items:
            found = energy.at(t, value, rate, bias)
            c = energy.coordinates
            mass[np.ix_(c, c)] += sign * found.mass
            effort[c] += sign * found.effort
            power -= sign * found.by_time
            stored[0 if sign > 0.0 else 1, i] += sign * found.stored
        return Own(mass, effort, power, *stored)


class Derivatives(NamedTuple):
    """Of one function f(s, s_dot, t): its part of Lagrange's equations."""

    mass: Array  # d2f/ds_dot2
    effort: Array  # df/ds less the rate of df/ds_dot
    by_time: float
    stored: float  # s_dot df/ds_dot - f


class Energy:
    """One expression; `coordinates` are the numbers of those that it uses."""

    def __init__(self, system: System, given: Any) -> None:
        item = given if isinstance(given, Expression) else constant(float(given))
        places = {label: coordinate_of(system, label) for label in item.names if label != "t"}
        self.coordinates = np.array(sorted({c for c, _ in places.values()}), dtype=np.int64)
        n, order = len(self.coordinates), {int(c): k for k, c in enumerate(self.coordinates)}
        slots = {label: 1 + order[c] + n * moves for label, (c, moves) in places.items()}
        self.table = compile_table([item], {"t": 0} | slots)
        self.x, self.along, self.none = np.zeros(1 + 2 * n), np.zeros(1 + 2 * n), np.zeros(1 + 2 * n)
        self.stack, self.out = np.zeros((STACK, 3)), np.zeros(3)

    def _along(self, direction: Array) -> tuple[float, float]:
        """First and second derivative along a direction."""
        evaluate(self.table, 0, self.x, direction, self.none, self.stack, self.out)
        return float(self.out[1]), float(self.out[2])

    def _mixed(self, a: Array, b: Array) -> float:
        """Second derivative along two directions, made alike in size for the sake of rounding."""
        size = np.sqrt(abs(b).max(initial=0.0)) or 1.0
        a, b = a * size, b / size
        return (self._along(a + b)[1] - self._along(a - b)[1]) / 4.0

    def at(self, t: float, value: Array, rate: Array, bias: Array) -> Derivatives:
        """All of one state; `value`, `rate`, `bias` are those of all coordinates."""
        n, c = len(self.coordinates), self.coordinates
        self.x[:] = np.concatenate([[t], value[c], rate[c]])
        path, unit = np.concatenate([[1.0], rate[c], bias[c]]), np.eye(1 + 2 * n)
        by, speeds = [self._along(e)[0] for e in unit], unit[1 + n :]
        whole = float(self.out[0])
        mass = np.array([[self._mixed(a, b) for b in speeds] for a in speeds]).reshape(n, n)
        along = np.array([self._mixed(e, path) for e in speeds])
        by_rate = np.array(by[1 + n :])
        return Derivatives(mass, np.array(by[1 : 1 + n]) - along, by[0], float(rate[c] @ by_rate) - whole)


def coordinate_of(system: System, label: str) -> tuple[int, bool]:
    """Number of the joint coordinate of a channel, and whether the channel is its rate."""
    channel = split_channel(label)
    place = system.joints[channel.name]
    return int(place.coordinates[channel.component].number), channel.quantity == "velocity"
