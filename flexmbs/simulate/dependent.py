"""Runs of the other formulations by SciPy; the descriptor form, with projection (F33)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.dependent_matrices import rate_matrices
from flexmbs.dynamics.descriptor import Descriptor
from flexmbs.dynamics.descriptor_stiffness import jacobian
from flexmbs.dynamics.initial import row_names
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.integrate import Chunk, Settings
from flexmbs.integrate.radau import Radau
from flexmbs.model.state import State
from flexmbs.simulate.choose import Choice
from flexmbs.simulate.equations import given_rates_of_aux, problem, state_vector
from flexmbs.simulate.half_explicit import HalfExplicit
from flexmbs.simulate.sampling import Sampler
from flexmbs.simulate.settings import RunSettings

Floats = NDArray[np.float64]
#: closure, over a length of the model, that needs no projection
TOLERANCE = 1e-13
#: step times highest angular frequency that explicit methods stand, and steps beyond which they are too slow
STABLE, STIFF = 5.0, 1e5
#: rate of Baumgarte's terms, times the duration
PULL = 100.0


class FormulationRun(Radau):
    """SciPy's integrators over the equations of another formulation than the recursion.

    Subclasses give rates, projection, and what is reported; all see states and change them in place.
    `evaluator` and `sampler` share their workspace.
    """

    formulation = ""
    open_limit = 1e-6  # closure, over a length of the model, beyond which a joint is open

    def __init__(
        self, system: Any, state: State, evaluator: Any, sampler: Sampler, chosen: Settings, times: Floats,
        t_end: float,
    ) -> None:  # fmt: skip
        self.name = f"{chosen.method} ({self.formulation})"
        self.system, self.evaluator, self.sampler = system, evaluator, sampler
        self.length = max(float(np.abs(system.tables.mark_u0).max(initial=0.0)), 1.0)
        self.failure: SolverError | None = None
        self.stage_tolerance = max(TOLERANCE, 1e-4 * chosen.rtol) * self.length
        own = replace(problem(system), rates=self._rates, project=self._project_state, closed=True)
        super().__init__(own, chosen, state.t, state_vector(system, state), times, t_end)

    @abstractmethod
    def position_rates(self, state: State) -> Floats:
        """Rates of the positions at the speeds of a state."""

    @abstractmethod
    def accelerations(self, state: State) -> Floats:
        """Accelerations of a state on the constraints; efforts of drives are left in the workspace."""

    @abstractmethod
    def observe(self, state: State) -> Floats:
        """Accelerations of a state, with everything that is reported in the workspace."""

    @abstractmethod
    def close(self, state: State, tolerance: float) -> tuple[float, float, int]:
        """Bring a state onto the constraints; closure of positions, of speeds, count of corrections."""

    def solver(self) -> Any:
        from scipy.integrate import DOP853

        return DOP853 if self.settings.method == "dop853" else super().solver()

    def rates(self, t: float, x: Floats) -> Floats:
        """Rates at the state brought back onto the constraints; not finite where there is none.

        An integrator tries states that cannot be: it must be able to take a shorter step.
        """
        y = np.concatenate([x, self.y[self.size :]])
        y_dot = np.zeros_like(y)
        self.count["evaluations"] += 1
        try:
            if self.stage_tolerance < np.inf:
                self._closed(self._state(t, y), self.stage_tolerance)
            self._rates(None, t, y, y_dot)
        except SolverError as error:
            self.failure = error
            y_dot[:] = np.nan
        return y_dot[: self.size]

    def fail(self, message: str) -> SolverError:
        """What ended the run: the last state that could not be, else the integrator's own words."""
        if self.failure is not None:
            found = self.failure.diagnostics[0]
            where = f"t = {self.t:.6g} s"
            return SolverError(Diagnostic(found.code, where, f"{found.what} ({self.name})", found.remedy))
        return super().fail(message)

    def advance(self, t_pause: float = np.inf, n_steps: int | None = None) -> Chunk:
        """Samples of a slice, each evaluated by the formulation itself."""
        chunk = super().advance(t_pause, n_steps)
        rows = [self._row(float(t), y) for t, y in zip(chunk.t, chunk.y, strict=True)]
        return replace(chunk, rows=np.array(rows).reshape(len(rows), self.sampler.width))

    def _row(self, t: float, y: Floats) -> Floats:
        acc = self.observe(self._state(t, y.copy()))
        return self.sampler.row(t, y, acc)

    def _state(self, t: float, y: Floats) -> State:
        """Views into a state vector."""
        n, m = self.system.n_pos, self.system.n_pos + self.system.n_vel
        return State(t, y[:n], y[n:m], y[m : m + self.system.n_aux], y[self.size :])

    def _rates(self, data: Any, t: float, y: Floats, y_dot: Floats) -> int:
        """Rates of a state vector; see Problem."""
        state = self._state(t, y)
        n, m = len(state.pos), len(state.pos) + len(state.vel)
        y_dot[n:m] = self.accelerations(state)
        y_dot[:n] = self.position_rates(state)
        given_rates_of_aux(self.sampler.data, state.vel, y[m : self.size], y_dot[m : self.size])
        return 0

    def _project_state(self, data: Any, t: float, y: Floats, bh: float, gh: float, out: Floats) -> int:
        """Positions and speeds of y onto the constraints; see Problem."""
        try:
            out[:] = self._closed(self._state(t, y), TOLERANCE * self.length)
        except SolverError as error:
            self.failure = self.failure or error
            raise self.fail("") from error
        return 0

    def _closed(self, state: State, tolerance: float) -> tuple[float, float, int]:
        """`close`, or an error that names the joint that stays open."""
        found = self.close(state, tolerance)
        if not found[0] <= self.open_limit * self.length:
            g = np.abs(self.evaluator.ws.g)
            worst = int(np.argmax(np.where(np.isfinite(g), g, np.inf))) if len(g) else -1
            name = row_names(self.system)[worst] if worst >= 0 else "a joint"
            what = f"{name} does not close: {g[worst] if worst >= 0 else found[0]:.2e} is left"
            remedy = "the mechanism locks here, or its drives lead where it cannot follow"
            raise SolverError(Diagnostic("solver.open", f"t = {state.t:.6g} s", what, remedy))
        return found


class DependentRun(FormulationRun):
    """The descriptor form, its drift held by projection (F33)."""

    formulation = "descriptor"

    def __init__(self, system: Any, state: State, evaluator: Any, *rest: Any) -> None:
        self.descriptor = Descriptor(system, evaluator)
        super().__init__(system, state, evaluator, *rest)

    def position_rates(self, state: State) -> Floats:
        at = self.descriptor.at
        return at.to_rates(state.vel, rate_matrices(state.pos[at.e_of]))

    def accelerations(self, state: State) -> Floats:
        return self.descriptor.accelerations(state)

    def jacobian(self) -> Any:
        if any(owner.startswith("forces.") for owner in self.system.laws.owners):  # by differences
            return None

        def stiff(t: float, x: Floats) -> Floats:
            J, own = np.zeros((len(x), len(x))), self._state(t, np.concatenate([x, self.y[self.size :]]))
            found = jacobian(self.descriptor, own)
            J[: len(found), : len(found)] = found
            return J

        return stiff

    def observe(self, state: State) -> Floats:
        return self.descriptor.observe(state)

    def close(self, state: State, tolerance: float) -> tuple[float, float, int]:
        return self.descriptor.project(state, tolerance)


class BaumgarteRun(DependentRun):
    """Constraints on acceleration level with terms that pull g and its rate to zero; nothing is projected.

    Their rate is a hundredth of the duration. Samples are brought back; what is reported as closure is what
    was left before.
    """

    open_limit = 1e-2

    def __init__(self, system: Any, state: State, evaluator: Any, *rest: Any) -> None:
        super().__init__(system, state, evaluator, *rest)
        self.stage_tolerance = np.inf
        self.pull = PULL / max(self.t_end - self.t, 1e-300)

    def accelerations(self, state: State) -> Floats:
        return self.descriptor.accelerations(state, self.pull)

    def close(self, state: State, tolerance: float) -> tuple[float, float, int]:
        here = self.descriptor.place(state)
        left = [float(np.abs(x).max(initial=0.0)) for x in (here.g, here.g_dot)]
        if not left[0] <= self.open_limit * self.length:
            return left[0], left[1], 0
        return left[0], left[1], self.descriptor.project(state, tolerance)[2]


class IndexTwoRun(DependentRun):
    """Both constraints kept by multipliers of their own, by a half-explicit method."""

    def solver(self) -> Any:
        return lambda rates, *args, **options: HalfExplicit(self, *args, **options)


#: how the descriptor form holds drift, by `analysis.stabilisation`
STABILISED: dict[str, type[DependentRun]] = {
    "projection": DependentRun, "baumgarte": BaumgarteRun, "ggl": IndexTwoRun
}  # fmt: skip


def explicit_steps(system: Any, duration: float) -> float:
    """Steps to which the highest mode holds an explicit method."""
    from scipy.linalg import eigh

    squares = [0.0]
    for found in system.numbers.integrals[1:]:
        if found is not None and len(found.K_ff):
            squares.append(float(eigh(found.K_ff, found.m_ff, eigvals_only=True)[-1]))
    return float(duration * np.sqrt(max(squares)) / STABLE)


def formulated(
    kind: type[FormulationRun], system: Any, state: State, evaluator: Any, sampler: Sampler,
    settings: RunSettings,
) -> tuple[Choice, FormulationRun]:  # fmt: skip
    """The run of a system by a formulation."""
    choice = Choice(settings.method, "as asked")
    if settings.method == "auto":
        steps = explicit_steps(system, settings.t_end - state.t)
        choice = Choice("dop853", f"formulation = {kind.formulation}")
        if steps > STIFF:
            choice = Choice("radau", f"modes would hold an explicit method to {steps:.0e} steps")
    if settings.stabilisation == "ggl":
        choice = Choice("half-explicit", "index 2")
    kind = STABILISED[settings.stabilisation] if kind is DependentRun else kind
    until = len(system.laws.tables.switch_expr) if "until" in system.laws.free else -1
    chosen = Settings(
        method=choice.method, rtol=settings.rtol, atol=settings.atol, step=settings.step, until=until
    )
    times = settings.output_times(state.t)
    return choice, kind(system, state, evaluator, sampler, chosen, times, settings.t_end)
