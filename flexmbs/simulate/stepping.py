"""A simulation that its caller steps: for co-simulation and controllers outside (interface, section 6).

    sim = fm.simulation(case)
    while sim.t < 1.0:
        sim.step(1e-3, {"torque": controller(sim["pin.position"])})

Inputs are own states of the case whose rate is zero (`[states.torque]`, `rate = 0`), read as
`states.torque` in expressions: a step holds them at the values given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, UsageError, nearest
from flexmbs.integrate import Settings, integrator
from flexmbs.results.channels import find
from flexmbs.simulate.motion.branch import watch
from flexmbs.simulate.motion.contact import check_contacts, open_contacts
from flexmbs.simulate.motion.equations import equations, problem, state_vector
from flexmbs.simulate.record.history import SOLVER, History
from flexmbs.simulate.settings import RunSettings

Floats = NDArray[np.float64]


class Simulation:
    """State of a case that is moved on step by step; `sim[channel]` is a channel of its result at `sim.t`."""

    path = "simulation"

    def __init__(self, system: Any, settings: RunSettings | None = None) -> None:
        chosen = settings or RunSettings()
        self.system, state = system, system.initial_state()
        self.problem = problem(system)
        method = "dopri5" if chosen.method == "auto" else chosen.method
        self.settings = Settings(
            method=method, rtol=chosen.rtol, atol=chosen.atol, step=chosen.step, rho_inf=chosen.rho_inf
        )
        self.t, self.y = float(state.t), state_vector(system, state)
        check_contacts(system, replace(chosen, method=method))
        open_contacts(system, state, self.y)
        watch(self.problem, self.t, self.y, self.t)
        self._history = History(system, equations(system, system.evaluator()))
        self._history.sampler.same_branch(self.problem.data)
        self._fields = {item.path: item for item in self._history.layout.fields}
        self.paths = list(self._fields)
        self._sample: dict[str, Floats] = {}

    def step(self, dt: float, inputs: Mapping[str, float] | None = None) -> None:
        """Move on by dt [s], with the inputs held at the given values; the others keep theirs."""
        if not (dt > 0.0 and np.isfinite(dt)):
            what = f"a step of {dt} s is not possible"
            raise UsageError(Diagnostic("simulation.step", "step", what, "give a positive number"))
        for name, value in (inputs or {}).items():
            self.y[self._place(name)] = float(value)
        end = self.t + dt
        run = integrator(self.problem, self.settings, self.t, self.y, np.array([end]), end)
        while not run.finished:
            chunk = run.advance()
            if len(chunk.t):
                self.y = chunk.y[-1].copy()
        self.t, self._sample = end, {}

    def __getitem__(self, channel: str) -> float | Floats:
        """Value of a channel, under its name in results; one number where it has one component."""
        if not self._sample:
            info = np.zeros((1, len(SOLVER)))
            self._sample = self._history.samples(np.array([self.t]), self.y[None, :], info)
        path, component = find(self, channel)
        values = self._sample[path][0] if component is None else self._sample[path][0][..., component]
        return float(values.reshape(())) if np.size(values) == 1 else np.array(values)

    def attributes_of(self, path: str) -> dict[str, Any]:
        """What names the components of a field, as in a result."""
        axes = self._fields[path].axes
        return {"components": list(self._history.layout.axis(axes[-1]).labels)} if axes else {}

    def _place(self, name: str) -> int:
        """Place of an own state in the state vector."""
        names = list(self.system.model.states)
        if name not in names:
            raise InputError(
                Diagnostic(
                    "simulation.input", f"states.{name}", f'no own state "{name}"', nearest(name, names)
                )
            )
        return int(self.system.n_pos + self.system.n_vel + names.index(name))
