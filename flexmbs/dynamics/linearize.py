"""Linearisation about a state in minimal coordinates: A, B, C, D, eigenvalues, shapes (F38)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics import evaluate
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.minimal import Minimal
from flexmbs.ffrf.integrals import BODY_LOADS
from flexmbs.model.state import State
from flexmbs.model.system import System

Array = NDArray[np.float64]

#: Step of the differences, of unit displacements: of fourth order, so its error is that of the step to the
#: fourth power. Speeds enter squared, for which any step is exact: theirs is a part of that, or stiction that
#: is regularised within 1e-3 of them would be passed over.
STEP, SPEED = 1e-3, 1e-2


@dataclass
class Linear:
    """x_dot = A x + B u, y = C x + D u; x = [positions, speeds] of the independent coordinates, own states.

    u: efforts on the scalar joint coordinates named `inputs`; y: these coordinates, in the same order.
    eigenvalues: one per conjugate pair, by rising frequency; shapes (n, n_vel): speeds of the tree for each,
    positions of unit size. frequency_hz = |eigenvalue| / 2 pi, damping_ratio = - real part / |eigenvalue|.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: list[str]
    inputs: list[str]
    eigenvalues: NDArray[np.complex128]
    frequency_hz: Array
    damping_ratio: Array
    shapes: NDArray[np.complex128]


class Rates:
    """x -> x_dot about a state; x counts from it."""

    def __init__(self, system: System, state: State) -> None:
        self.system, self.state = system, state
        self.evaluator = Evaluator(system)
        self.minimal = Minimal(self.evaluator, state)
        # what rotations by their rates integrate stands last, and follows the time alone
        self.n = len(self.minimal.split.ind)
        self.n_aux = len(state.aux) - sum(len(item.start) for item in system.attitudes)
        self.speeds = state.vel[self.minimal.split.ind].copy()
        unit = unit_displacements(system)[self.minimal.split.ind]
        self.units = np.concatenate([unit, SPEED * unit, np.ones(self.n_aux)])
        self.turning = self._turning()

    def state_at(self, x: Array) -> State:
        """The state that x stands for."""
        n, base = self.n, self.state.copy()
        base.aux[: self.n_aux] += x[2 * n :]
        return self.minimal.moved(base, x[:n], self.speeds + x[n : 2 * n])

    def at(self, x: Array, effort: int = -1, size: float = 0.0) -> Array:
        """x_dot; `size` of an effort is added on joint coordinate number `effort`."""
        n, ind = self.n, self.minimal.split.ind
        state = self.state_at(x)
        acc = self._accelerations(state, effort, size)
        aux_dot = np.zeros(len(state.aux))
        evaluate.own_rates(self.evaluator.laws, self.evaluator.law_work, state.aux, aux_dot)
        position_rates = state.vel[ind] + self.turning @ x[:n]
        return np.concatenate([position_rates, acc[ind], aux_dot[: self.n_aux]])

    def _accelerations(self, state: State, effort: int, size: float) -> Array:
        ev = self.evaluator
        acc = np.zeros(self.system.n_vel)
        args = ev._args(state, acc)
        evaluate.kinematics(*args)
        evaluate.forces(*args)
        if effort >= 0:
            ev.ws.tau_coord[effort] += size
            evaluate.residuals(ev.tables, ev.ws, state.pos, state.vel, acc)
        ev.check(evaluate.eliminate(*args[:4], 0.0, 0.0))
        ev.check(evaluate.change(ev.tables, ev.ws, evaluate.ACCELERATION, 1.0))
        return acc + ev.ws.delta

    def _turning(self) -> Array:
        """Part of the position rates by the positions, (n, n): of a ball that turns with w, change x w.

        exp(change) starts from the turning place: where w becomes w + d, change_dot = d + change x w (half of
        that from a place that stands). Loops take dependent components along.
        """
        J, out = self.minimal.loop_jacobian(self.state), np.zeros((self.system.n_vel, self.n))
        for e in self.system.tables.ball_eta:
            out[e : e + 3] = np.cross(J[e : e + 3], self.state.vel[e : e + 3, None], axis=0)
        return out[self.minimal.split.ind]


def unit_displacements(system: System) -> Array:
    """A unit displacement of every speed: a radian, a length of the model; of modes what bends by that."""
    t = system.tables
    length, unit = max(float(t.length[0]), 1e-300), np.ones(system.n_vel)
    for axis, turn, eta in zip(t.prim_axis, t.prim_turn, t.prim_eta, strict=True):
        if axis >= 0 and turn == 0.0:
            unit[eta] = length
    for i, nf in enumerate(t.nf):
        if nf:
            unit[t.o_qd[i] : t.o_eta[i + 1]] = 1.0 / bending(system, i, length)
    return unit


def bending(system: System, i: int, length: float) -> Array:
    """Deflection of body i by one of each mode, over a length, or its rotation: the largest of all measures.

    By its kinetic energy; by what stiffening makes of first moment, inertia and markers (F17a), of second
    order, beyond which a deflected body means nothing; by the rows of its markers.
    """
    t, found = system.tables, system.numbers.integrals[i]
    assert found is not None
    mass, nf = max(float(found.mass), 1e-300), int(t.nf[i])
    measures = [np.sqrt(np.abs(np.diag(found.m_ff)) / mass) / length]
    of_body = [mass * length] * 3 + [mass * length**2] * (len(BODY_LOADS) - 3)
    for k, K in enumerate(found.K_geo):
        of_marker = length if k % 6 < 3 else 1.0  # forces, moments
        size = of_body[k] if k < len(of_body) else of_marker
        measures.append(np.sqrt(np.abs(np.diag(K)) / size))
    for m in np.flatnonzero((t.mark_body == i) & (t.mark_row >= 0)):
        rows = np.abs(t.mark_data[t.mark_row[m] :][: 6 * nf]).reshape(nf, 6)
        measures += [rows[:, :3].max(axis=1) / length, rows[:, 3:].max(axis=1)]
    return np.maximum(np.max(measures, axis=0), 1e-300)


def linearize(system: System, state: State) -> Linear:
    """Linear model about a state at its time; driven coordinates are held to their law (F38)."""
    rates = Rates(system, state)
    n, size = rates.n, 2 * rates.n + rates.n_aux
    A = np.zeros((size, size))
    for k in range(size):
        A[:, k] = derivative(partial(_along, rates.at, np.eye(size)[k] * rates.units[k])) / rates.units[k]
    coordinates = [c for c in system.coordinates if c.joint in system.model.joints]
    B = np.zeros((size, len(coordinates)))
    zero = rates.at(np.zeros(size))
    for k, c in enumerate(coordinates):
        B[:, k] = rates.at(np.zeros(size), c.number, 1.0) - zero
    numbers = [c.number for c in coordinates]
    C = np.zeros((len(coordinates), size))
    for k in range(n):
        along = partial(_along, partial(_outputs, rates, numbers), np.eye(n)[k] * rates.units[k])
        C[:, k] = derivative(along) / rates.units[k]
    names = speed_names(system, rates.minimal.split.ind)
    states = [*names, *(f"{name} rate" for name in names), *_aux_names(system)]
    values, frequency, damping, shapes = _modes(rates, A)
    D = np.zeros((len(coordinates), len(coordinates)))
    inputs = [f"joints.{c.joint}.{c.name}" for c in coordinates]
    return Linear(A, B, C, D, states, inputs, values, frequency, damping, shapes)


def _along(f: Callable[[Array], Array], direction: Array, h: float) -> Array:
    return f(h * direction)


def derivative(f: Callable[[float], Array]) -> Array:
    """Central difference of fourth order at zero."""
    near = f(STEP) - f(-STEP)
    far = f(2 * STEP) - f(-2 * STEP)
    return (8.0 * near - far) / (12.0 * STEP)


def _outputs(rates: Rates, numbers: list[int], change: Array) -> Array:
    rates.minimal.moved(rates.state, change, rates.speeds)
    return rates.evaluator.ws.coord_x[numbers].copy()


def _modes(rates: Rates, A: Array) -> tuple[NDArray[np.complex128], Array, Array, NDArray[np.complex128]]:
    values, vectors = np.linalg.eig(A)
    scale = max(float(np.abs(values).max(initial=0.0)), 1e-300)
    keep = np.flatnonzero(values.imag >= -1e-12 * scale)
    keep = keep[np.lexsort((values[keep].real, np.round(np.abs(values[keep]) / scale, 12)))]
    values = values[keep].astype(np.complex128)
    J = rates.minimal.loop_jacobian(rates.state)
    shapes = (J @ vectors[: rates.n, keep]).T.astype(np.complex128)
    largest = np.abs(shapes).max(axis=1, initial=0.0)
    shapes = shapes / np.where(largest > 0.0, largest, 1.0)[:, None]
    size = np.abs(values)
    damping = np.where(size > 1e-9 * scale, -values.real / np.where(size > 0.0, size, 1.0), 0.0)
    return values, size / (2.0 * np.pi), damping, shapes


def speed_names(system: System, speeds: NDArray[np.int64]) -> list[str]:
    """Names of speeds: joint coordinates, components of balls, modes."""
    names = {c.vel: f"{c.joint}.{c.name}" for c in system.coordinates if c.vel >= 0}
    t = system.tables
    for e in t.ball_eta:
        i = int(np.searchsorted(t.o_eta, e, side="right")) - 1
        names |= {int(e) + k: f"{system.bodies[i]}.rotation.{axis}" for k, axis in enumerate("xyz")}
    for i, name in enumerate(system.bodies):
        names |= {int(t.o_qd[i]) + a: f"{name}.q[{a}]" for a in range(int(t.nf[i]))}
    return [names[int(k)] for k in speeds]


def _aux_names(system: System) -> list[str]:
    own = [f"states.{name}" for name in system.model.states]
    return own + [f"drives.{law.name}[{k}]" for law in system.time_laws for k in range(len(law.start))]
