"""Runs of the descriptor form: by projection, or by Baumgarte's terms (F33)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.descriptor.equations import Descriptor
from flexmbs.dynamics.descriptor.matrices import rate_matrices
from flexmbs.dynamics.descriptor.stiffness import jacobian as stiffness
from flexmbs.integrate import Settings
from flexmbs.simulate.choose import Choice
from flexmbs.simulate.motion.formulation import FormulationRun

if TYPE_CHECKING:
    from flexmbs.model.state import State
    from flexmbs.simulate.record.sampling import Sampler
    from flexmbs.simulate.settings import RunSettings

Floats = NDArray[np.float64]
#: step times highest angular frequency that explicit methods stand, and steps beyond which they are too slow
STABLE, STIFF = 5.0, 1e5
#: rate of Baumgarte's terms, times the duration
PULL = 100.0


class DependentRun(FormulationRun):
    """The descriptor form, its drift held by projection (F33)."""

    formulation = "descriptor"

    def __init__(self, system: Any, state: State, evaluator: Any, *rest: Any, lifts: bool = True) -> None:
        self.descriptor = Descriptor(system, evaluator)
        super().__init__(system, state, evaluator, *rest, lifts=lifts)

    def other_rows(self, state: State) -> None:
        self.descriptor.forget()

    def position_rates(self, state: State) -> Floats:
        at = self.descriptor.at
        return at.to_rates(state.vel, rate_matrices(state.pos[at.e_of]))

    def accelerations(self, state: State) -> Floats:
        return self.descriptor.accelerations(state)

    def forget(self) -> None:
        self.descriptor.saddle = None

    def _project_state(self, data: Any, t: float, y: Floats, *rest: Any) -> int:
        self.forget()
        return super()._project_state(data, t, y, *rest)

    def row(self, t: float, y: Floats) -> Floats:
        self.forget()
        return super().row(t, y)

    def jacobian(self, t: float, x: Floats) -> Floats:
        if any(owner.startswith("forces.") for owner in self.system.laws.owners):
            return super().jacobian(t, x)
        J, own = np.zeros((len(x), len(x))), self._state(t, np.concatenate([x, self.y[self.size :]]))
        found = stiffness(self.descriptor, own)
        J[: len(found), : len(found)] = found
        return J

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

    def __init__(self, system: Any, state: State, evaluator: Any, *rest: Any, lifts: bool = True) -> None:
        super().__init__(system, state, evaluator, *rest, lifts=lifts)
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


#: how the descriptor form holds drift, by `analysis.stabilisation`
STABILISED: dict[str, type[DependentRun]] = {"projection": DependentRun, "baumgarte": BaumgarteRun}


def explicit_steps(system: Any, duration: float) -> float:
    """Steps to which the highest mode holds an explicit method."""
    from scipy.linalg import eigh

    squares = [0.0]
    for found in system.numbers.integrals[1:]:
        if found is not None and len(found.K_ff):
            squares.append(float(eigh(found.K_ff, found.m_ff, eigvals_only=True)[-1]))
    return float(duration * np.sqrt(max(squares)) / STABLE)


def reference_settings(system: Any, settings: RunSettings, method: str) -> Settings:
    """What SciPy's integrators are told."""
    until = len(system.laws.tables.switch_expr) if "until" in system.laws.free else -1
    return Settings(method=method, rtol=settings.rtol, atol=settings.atol, step=settings.step, until=until)


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
    kind = STABILISED[settings.stabilisation] if kind is DependentRun else kind
    chosen = reference_settings(system, settings, choice.method)
    times = settings.output_times(state.t)
    lifts = settings.type == "dynamics"  # a prescribed motion holds its cams together, and says so
    return choice, kind(system, state, evaluator, sampler, chosen, times, settings.t_end, lifts=lifts)
