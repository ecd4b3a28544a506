"""What `check` says about flexible bodies before they move."""

from __future__ import annotations

import numpy as np

from flexmbs.dynamics.mechanism import Mechanism
from flexmbs.errors import Diagnostics
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.state import State
from flexmbs.simulate.diagnose import REMEDY, least_inertia
from flexmbs.simulate.summary import RIGID_FOR_NOTHING

#: A rod in a tangent frame has 2e-5 of its inertia left with 16 modes and 1e-6 with 64; at its mean axes 0.1.
LITTLE_INERTIA = 5e-6


def warn_bodies(system: Mechanism, state: State, problems: Diagnostics) -> None:
    """Elastic coordinates beyond linear strain, missing damping, spin without stiffening, little inertia."""
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    for name, body in system.model.bodies.items():
        if not isinstance(body, FlexibleBody) or not body.modal.nf:
            continue
        i = system.numbers.index[name]
        where = f"bodies.{name}"
        start = int(system.tables.body.o_q[i])
        q = state.pos[start : start + int(system.tables.body.nf[i])]
        turn = _largest_turn(body, q)
        if turn > 0.1:
            what = f"the initial shape turns interfaces by {turn:.2g} rad, beyond linear strain (0.1)"
            problems.warn("body.strain", where, what)
        for face in system.markers.rigid_for_nothing(body):
            what, _, remedy = RIGID_FOR_NOTHING.partition("; ")
            problems.warn("body.rigid_interface", f"{where}.{face}", what, remedy)
        if body.D_ff is None and not np.any(body.modal.integrals.D_ff):
            problems.warn("body.undamped", where, "no damping given: its modes are undamped")
        spin = float(np.linalg.norm(evaluator.ws.body.v[i, 3:]))
        first = 2.0 * np.pi * float(np.min(body.modal.frequency_hz, initial=np.inf))
        stiffened = body.geometric_stiffening is not False and len(body.modal.integrals.K_geo)
        if spin > 0.2 * first and not stiffened:
            what = (
                f"it spins at {spin:.3g} rad/s, over 0.2 of its first frequency, without geometric stiffening"
            )
            problems.warn("body.stiffening", where, what)
        left = least_inertia(system, name, np.zeros(len(q))) if stiffened else 1.0
        if left < LITTLE_INERTIA:
            what = (
                f"some motion of its frame and modes has {left:.1g} of their inertia left: with geometric "
                "stiffening small deflections make its kinetic energy negative"
            )
            problems.warn("body.inertia", where, what, REMEDY)


def _largest_turn(body: FlexibleBody, q: np.ndarray) -> float:
    pick = np.arange(body.modal.nf) if body.modes is None else np.array(body.modes)
    turns = [float(np.linalg.norm(item.Psi[:, pick] @ q)) for item in body.modal.interfaces.values()]
    return max(turns, default=0.0)
