"""The descriptor form as a problem of the time loop: by projection, or by Baumgarte's terms (F33)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.descriptor.equations import Descriptor
from flexmbs.dynamics.descriptor.matrices import rate_matrices
from flexmbs.simulate.motion.formulation import TOLERANCE, Formulation
from flexmbs.simulate.record.sampling import BODY

if TYPE_CHECKING:
    from flexmbs.integrate import Settings
    from flexmbs.model.state import State
    from flexmbs.simulate.record.sampling import Sampler

Floats = NDArray[np.float64]
#: rate of Baumgarte's terms, times the duration
PULL = 100.0


class Dependent(Formulation):
    """The descriptor form, its drift held by projection (F33)."""

    formulation = "descriptor"

    def __init__(
        self, system: Any, state: State, evaluator: Any, sampler: Sampler, chosen: Settings, t_end: float,
        *, lifts: bool = True,
    ) -> None:  # fmt: skip
        self.descriptor = Descriptor(system, evaluator)
        super().__init__(system, state, evaluator, sampler, chosen, t_end, lifts=lifts)

    def other_rows(self, state: State) -> None:
        self.descriptor.forget()

    def position_rates(self, state: State) -> Floats:
        at = self.descriptor.at
        return np.asarray(at.to_rates(state.vel, rate_matrices(state.pos[at.e_of])))

    def accelerations(self, state: State) -> Floats:
        return self.descriptor.accelerations(state)

    def pass_of(self, state: State, a: Floats, bh: float, gh: float) -> Floats:
        return self.descriptor.shifted(state, a, bh, gh)

    def project(self, t: float, y: Floats, bh: float, gh: float, out: Floats) -> None:
        self.descriptor.saddle = None  # steps do not remember what was sampled
        super().project(t, y, bh, gh, out)
        self.descriptor.saddle = None

    def row(self, t: float, y: Floats) -> Floats:
        self.descriptor.saddle = None
        found = super().row(t, y)
        self.descriptor.saddle = None
        return found

    def _row_at(self, t: float, y: Floats) -> Floats:
        """A sample, with the energies that bodies have of their own in those of the bodies."""
        row = super()._row_at(t, y)
        own = self.descriptor.place(self._state(t, y)).own
        if own is not None:
            first = self.sampler.places["body"] + BODY * np.arange(len(own.kinetic) - 1)
            row[first + 19] += own.kinetic[1:]
            row[first + 20] += own.potential[1:]
        return row

    def observe(self, state: State) -> Floats:
        return self.descriptor.observe(state)

    def close(self, state: State, tolerance: float, bh: float, gh: float) -> tuple[float, float]:
        return self.descriptor.project(state, tolerance)[:2]


class Baumgarte(Dependent):
    """Constraints on acceleration level with terms that pull g and its rate to zero; nothing is projected.

    Their rate is a hundredth of the duration. Samples are brought back; what is reported as closure is what
    was left before.
    """

    open_limit = 1e-2

    def __init__(
        self, system: Any, state: State, evaluator: Any, sampler: Sampler, chosen: Settings, t_end: float,
        *, lifts: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(system, state, evaluator, sampler, chosen, t_end, lifts=lifts)
        self.stage_tolerance = np.inf
        self.pull = PULL / max(t_end - state.t, 1e-300)

    def accelerations(self, state: State) -> Floats:
        return self.descriptor.accelerations(state, self.pull)

    def _closed(
        self, t: float, y: Floats, tolerance: float, bh: float = 0.0, gh: float = 0.0
    ) -> tuple[float, float]:
        found = self._as_it_is(self._state(t, y))
        self._refuse_open(t, found[0])
        return found

    def row(self, t: float, y: Floats) -> Floats:
        place = y.copy()
        super()._closed(t, place, TOLERANCE * self.length)
        return super().row(t, place)


#: how the descriptor form holds drift, by `analysis.stabilisation`
STABILISED: dict[str, type[Dependent]] = {"projection": Dependent, "baumgarte": Baumgarte}
