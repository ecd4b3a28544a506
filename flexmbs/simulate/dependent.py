"""Runs of the other formulations by SciPy; the descriptor form, with projection (F33)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.dependent_matrices import rate_matrices
from flexmbs.dynamics.descriptor import Descriptor
from flexmbs.errors import SolverError
from flexmbs.integrate import Chunk, Settings
from flexmbs.integrate.radau import Radau
from flexmbs.model.state import State
from flexmbs.simulate.choose import Choice
from flexmbs.simulate.equations import given_rates_of_aux, problem, state_vector
from flexmbs.simulate.sampling import Sampler
from flexmbs.simulate.settings import RunSettings

Floats = NDArray[np.float64]
#: closure, over a length of the model, that needs no projection
TOLERANCE = 1e-13


class FormulationRun(Radau):
    """SciPy's integrators over the equations of another formulation than the recursion.

    Subclasses give rates and projection; both see states and change them in place. `evaluator` and `sampler`
    share their workspace.
    """

    formulation = ""

    def __init__(
        self, system: Any, state: State, evaluator: Any, sampler: Sampler, chosen: Settings, times: Floats,
        t_end: float,
    ) -> None:  # fmt: skip
        self.name = f"{chosen.method} ({self.formulation})"
        self.system, self.evaluator, self.sampler = system, evaluator, sampler
        self.length = max(float(np.abs(system.tables.mark_u0).max(initial=0.0)), 1.0)
        own = replace(problem(system), rates=self._rates, project=self._project_state, closed=True)
        super().__init__(own, chosen, state.t, state_vector(system, state), times, t_end)

    @abstractmethod
    def position_rates(self, state: State) -> Floats:
        """Rates of the positions at the speeds of a state."""

    @abstractmethod
    def accelerations(self, state: State) -> Floats:
        """Accelerations of a state on the constraints; efforts of drives are left in the workspace."""

    @abstractmethod
    def close(self, state: State) -> tuple[float, float, int]:
        """Bring a state onto the constraints; closure of positions, of speeds, count of corrections."""

    def solver(self) -> Any:
        from scipy.integrate import DOP853

        return DOP853 if self.settings.method == "dop853" else super().solver()

    def _state(self, t: float, y: Floats) -> State:
        """Views into a state vector."""
        n, m = self.system.n_pos, self.system.n_pos + self.system.n_vel
        return State(t, y[:n], y[n:m], y[m : m + self.system.n_aux], y[self.size :])

    def _rates(self, data: Any, t: float, y: Floats, y_dot: Floats) -> int:
        """Rates of a state vector; see Problem."""
        state = self._state(t, y)
        n, m = len(state.pos), len(state.pos) + len(state.vel)
        try:
            y_dot[n:m] = self.accelerations(state)
        except SolverError as error:
            raise self.fail(error.diagnostics[0].what) from error
        y_dot[:n] = self.position_rates(state)
        given_rates_of_aux(self.sampler.data, state.vel, y[m : self.size], y_dot[m : self.size])
        return 0

    def _project_state(self, data: Any, t: float, y: Floats, bh: float, gh: float, out: Floats) -> int:
        """Positions and speeds of y onto the constraints; see Problem."""
        try:
            out[:] = self.close(self._state(t, y))
        except SolverError as error:
            raise self.fail(error.diagnostics[0].what) from error
        if not out[0] <= 1e-6 * self.length:
            raise self.fail(f"the joints do not close: {out[0]:.1e} is left")
        return 0


class DependentRun(FormulationRun):
    """The descriptor form; everything that is reported comes from it, too."""

    formulation = "descriptor"

    def __init__(self, system: Any, state: State, evaluator: Any, *rest: Any) -> None:
        self.descriptor = Descriptor(system, evaluator)
        super().__init__(system, state, evaluator, *rest)

    def position_rates(self, state: State) -> Floats:
        at = self.descriptor.at
        return at.to_rates(state.vel, rate_matrices(state.pos[at.e_of]))

    def accelerations(self, state: State) -> Floats:
        return self.descriptor.accelerations(state)

    def close(self, state: State) -> tuple[float, float, int]:
        return self.descriptor.project(state, TOLERANCE * self.length)

    def advance(self, t_pause: float = np.inf, n_steps: int | None = None) -> Chunk:
        """Samples of a slice, each evaluated by the descriptor form."""
        chunk = super().advance(t_pause, n_steps)
        rows = [self._row(float(t), y) for t, y in zip(chunk.t, chunk.y, strict=True)]
        return replace(chunk, rows=np.array(rows).reshape(len(rows), self.sampler.width))

    def _row(self, t: float, y: Floats) -> Floats:
        acc = self.descriptor.observe(self._state(t, y.copy()))
        return self.sampler.row(t, y, acc)


def formulated(
    kind: type[FormulationRun], system: Any, state: State, evaluator: Any, sampler: Sampler,
    settings: RunSettings,
) -> tuple[Choice, FormulationRun]:  # fmt: skip
    """The run of a system by a formulation."""
    choice = Choice(settings.method, "as asked")
    if settings.method == "auto":
        choice = Choice("dop853", f"formulation = {kind.formulation}")
    until = len(system.laws.tables.switch_expr) if "until" in system.laws.free else -1
    chosen = Settings(
        method=choice.method, rtol=settings.rtol, atol=settings.atol, step=settings.step, until=until
    )
    times = settings.output_times(state.t)
    return choice, kind(system, state, evaluator, sampler, chosen, times, settings.t_end)
