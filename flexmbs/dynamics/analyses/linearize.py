"""Linearisation about a state in minimal coordinates: A, B, C, D, eigenvalues, shapes (F38)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics import evaluate
from flexmbs.dynamics.analyses.pencil import Natural, as_it_stands, pencil
from flexmbs.dynamics.analyses.slopes import slopes
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.dynamics.speeds import speed_names
from flexmbs.dynamics.tolerances import NOTHING
from flexmbs.errors import Diagnostic
from flexmbs.ffrf.integrals import BODY_LOADS
from flexmbs.model.laws.values import state_rates

if TYPE_CHECKING:
    from flexmbs.model.state import State
    from flexmbs.model.system import System

Array = NDArray[np.float64]

#: a frequency that may be off by more than this part is said
DOUBTFUL = 1e-3


@dataclass
class Linear:
    """x_dot = A x + B u, y = C x + D u; x = [positions, speeds] of the independent coordinates, own states.

    Rotations of balls count from the motion about which the model is, in axes that turn with it (F38).
    B, C, D: between inputs and outputs that simulate/record/ports.py gives it, none before. `error`: of A;
    `natural`: A in coordinates in which low modes keep their digits.
    eigenvalues: one per conjugate pair, by rising frequency; shapes (n, n_vel): speeds of the tree for each,
    positions of unit size. frequency_hz = |eigenvalue| / 2 pi, damping_ratio = - real part / |eigenvalue|.
    `findings`: derivatives that do not exist, frequencies that rounding may have moved.
    """

    A: Array
    error: Array
    natural: Natural
    B: Array
    C: Array
    D: Array
    states: list[str]
    inputs: list[str]
    eigenvalues: NDArray[np.complex128]
    frequency_hz: Array
    frequency_error_hz: Array
    damping_ratio: Array
    shapes: NDArray[np.complex128]
    findings: list[Diagnostic]


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
        self.units = np.concatenate([unit, unit, np.maximum(1.0, np.abs(state.aux[: self.n_aux]))])
        self.turning = self._turning()

    @property
    def states(self) -> list[str]:
        """Names of the entries of x."""
        names = speed_names(self.system, self.minimal.split.ind)
        return [*names, *(f"{name} rate" for name in names), *_aux_names(self.system)]

    @property
    def accelerations(self) -> list[str]:
        """Names of the entries of x_dot but of the position rates."""
        return self.rates[self.n :]

    @property
    def rates(self) -> list[str]:
        """Names of the entries of x_dot."""
        names = speed_names(self.system, self.minimal.split.ind)
        own = [f"rate of {name}" for name in _aux_names(self.system)]
        return [*(f"speed of {name}" for name in names), *(f"acceleration of {name}" for name in names), *own]

    def state_at(self, x: Array) -> State:
        """The state that x stands for."""
        n, base = self.n, self.state.copy()
        base.aux[: self.n_aux] += x[2 * n :]
        return self.minimal.moved(base, x[:n], self.speeds + x[n : 2 * n])

    def at(self, x: Array) -> Array:
        """x_dot, with the accelerations that forward dynamics finds."""
        return self.of(self.state_at(x), x)

    def of(self, state: State, x: Array) -> Array:
        """The same at the state that x stands for."""
        n, ind, ev = self.n, self.minimal.split.ind, self.evaluator
        acc = np.zeros(self.system.n_vel)
        ev.check(evaluate.accelerations(*ev._args(state, acc)), state)
        aux_dot = np.zeros(len(state.aux))
        state_rates(ev.laws, ev.law_work, state.aux, aux_dot)
        position_rates = state.vel[ind] + self.turning @ x[:n]
        return np.concatenate([position_rates, acc[ind], aux_dot[: self.n_aux]])

    def _turning(self) -> Array:
        """Part of the position rates by the positions, (n, n): of a ball that turns with w, change x w.

        exp(change) starts from the turning place: where w becomes w + d, change_dot = d + change x w (half of
        that from a place that stands). Loops take dependent components along.
        """
        J, out = self.minimal.loop_jacobian(self.state), np.zeros((self.system.n_vel, self.n))
        for e in self.system.tables.prim.ball_eta:
            out[e : e + 3] = np.cross(J[e : e + 3], self.state.vel[e : e + 3, None], axis=0)
        return out[self.minimal.split.ind]


def unit_displacements(system: System) -> Array:
    """A unit displacement of every speed: a radian, a length of the model; of modes what bends by that."""
    t = system.tables
    length = max(float(t.length[0]), NOTHING)
    unit = np.where(is_length(system), length, 1.0)
    for i, nf in enumerate(t.body.nf):
        if nf:
            unit[t.tree.o_qd[i] : t.tree.o_eta[i + 1]] = 1.0 / bending(system, i, length)
    return unit


def is_length(system: System) -> NDArray[np.bool_]:
    """Of every speed whether its unit displacement is a length, as of modes too, and no angle."""
    t, found = system.tables, np.zeros(system.n_vel, dtype=bool)
    for axis, turn, eta in zip(t.prim.axis, t.prim.turn, t.prim.eta, strict=True):
        if axis >= 0 and turn == 0.0:
            found[eta] = True
    for i in range(len(t.body.nf)):
        found[t.tree.o_qd[i] : t.tree.o_eta[i + 1]] = True
    return found


def bending(system: System, i: int, length: float) -> Array:
    """Deflection of body i by one of each mode, over a length, or its rotation: the largest of all measures.

    By its kinetic energy; by what stiffening makes of first moment, inertia and markers (F17a), of second
    order, beyond which a deflected body means nothing; by the rows of its markers.
    """
    t, found = system.tables, system.numbers.integrals[i]
    assert found is not None
    nf, m_ff = int(t.body.nf[i]), np.abs(np.diag(found.m_ff))
    of_markers = [
        np.abs(t.marker.data[t.marker.row[m] :][: 6 * nf]).reshape(nf, 6)
        for m in np.flatnonzero((t.marker.body == i) & (t.marker.row >= 0))
    ]
    rows = np.max(of_markers, axis=0, initial=0.0) if of_markers else np.zeros((nf, 6))
    way, turn = rows[:, :3].max(axis=1), rows[:, 3:].max(axis=1)
    mass = float(found.mass) or float(np.max(m_ff[way > 0.0] / way[way > 0.0] ** 2, initial=0.0))
    mass = mass or float(m_ff.max(initial=NOTHING))  # of a body whose mass is not known: what its places move
    measures = [np.sqrt(m_ff / mass) / length, way / length, turn]
    of_body = [mass * length] * 3 + [mass * length**2] * (len(BODY_LOADS) - 3)
    for k, K in enumerate(found.K_geo):
        of_marker = length if k % 6 < 3 else 1.0  # forces, moments
        size = of_body[k] if k < len(of_body) else of_marker
        measures.append(np.sqrt(np.abs(np.diag(K)) / size))
    return np.maximum(np.max(measures, axis=0), NOTHING)


def linearize(system: System, state: State) -> Linear:
    """Linear model about a state at its time; driven coordinates are held to their law (F38)."""
    rates = Rates(system, state)
    states, apart = rates.states, pencil(rates)
    if apart is not None:
        found = apart.found
        found.require(rates.accelerations, states)
        (A, error), findings = apart.matrix(), found.findings(rates.accelerations, states)
        natural = apart.natural()
    else:
        found = slopes(rates.at, rates.units)
        found.require(rates.rates, states)
        A, error, findings = found.values, found.error, found.findings(rates.rates, states)
        natural = as_it_stands(A, error, rates.units)
    values, shapes, known = _modes(rates, natural)
    size = np.abs(values)
    damping = np.where(size > known, -values.real / np.where(size > 0.0, size, 1.0), 0.0)
    return Linear(
        A=A,
        error=error,
        natural=natural,
        B=np.zeros((len(states), 0)),
        C=np.zeros((0, len(states))),
        D=np.zeros((0, 0)),
        states=states,
        inputs=[],
        eigenvalues=values,
        frequency_hz=size / (2.0 * np.pi),
        frequency_error_hz=known / (2.0 * np.pi),
        damping_ratio=damping,
        shapes=shapes,
        findings=findings + _unknown(size, known),
    )


def _modes(rates: Rates, natural: Natural) -> tuple[NDArray[np.complex128], NDArray[np.complex128], Array]:
    """Eigenvalues, one of a pair, by rising size; shapes; errors."""
    values, vectors, known = natural.eigenvalues()
    scale = max(float(np.abs(values).max(initial=0.0)), NOTHING)
    keep = np.flatnonzero(values.imag >= -1e-12 * scale)
    keep = keep[np.lexsort((values[keep].real, np.round(np.abs(values[keep]) / scale, 12)))]
    J = rates.minimal.loop_jacobian(rates.state)
    shapes = (J @ vectors[: rates.n, keep]).T.astype(np.complex128)
    largest = np.abs(shapes).max(axis=1, initial=0.0)
    shapes = shapes / np.where(largest > 0.0, largest, 1.0)[:, None]
    return values[keep].astype(np.complex128), shapes, known[keep]


def _unknown(size: Array, known: Array) -> list[Diagnostic]:
    """A warning where modes that stand out are not known to a thousandth."""
    doubtful = np.flatnonzero((known > DOUBTFUL * size) & (known < size))
    if not len(doubtful):
        return []
    worst = max(doubtful, key=lambda k: known[k] / size[k])
    hertz = f"{size[worst] / (2.0 * np.pi):.6g} Hz of mode {worst + 1}"
    what = f"{len(doubtful)} frequencies are not known to {DOUBTFUL:g}: {hertz} may be off by "
    what += f"{known[worst] / (2.0 * np.pi):.2g} Hz, beside {size.max() / (2.0 * np.pi):.3g} Hz"
    remedy = "take fewer modes of bodies, or hold what is stiffest"
    return [Diagnostic("linear.rounding", "model", what, remedy, severity="warn")]


def _aux_names(system: System) -> list[str]:
    own = [f"states.{name}" for name in system.model.states]
    return own + [f"drives.{law.name}[{k}]" for law in system.time_laws for k in range(len(law.start))]
