"""Stiff part of the Jacobian of the descriptor form: elastic coordinates and joint springs (F9, F14, F32).

What is left out (inertia, forces between bodies) changes with the motion, not with the modes: an implicit
method's iteration settles without it where the step resolves the motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flexmbs.dynamics.descriptor.equations import Descriptor
    from flexmbs.model.state import State

Array = NDArray[np.float64]


def jacobian(form: Descriptor, state: State) -> Array:
    """d(rates of positions, accelerations) / d(positions, speeds), of the state on the constraints.

    With `A` the response of z_ddot to forces, `A M` projects changes of z onto the constraints.
    """
    here, n = form.place(state), form.at.n
    form.accelerations(state)  # stiffness of the joints' laws, factors at a place nearby
    response = form.response(here)
    onto = response @ here.M.toarray()
    K, D = _stiffness(form, here)
    to_rates = np.array([form.at.to_rates(column, here.H) for column in np.eye(len(state.vel))]).T
    to_speeds = np.array([form.at.to_speeds(column, here.H) for column in np.eye(n)]).T
    J = np.zeros((n + len(state.vel),) * 2)
    J[:n, n:] = onto @ to_rates
    J[n:, :n] = -to_speeds @ response @ K @ onto
    J[n:, n:] = -to_speeds @ response @ D @ onto @ to_rates
    return J


def _stiffness(form: Descriptor, here: object) -> tuple[Array, Array]:
    """K and D of the modes and of the laws on joint coordinates, in dependent coordinates."""
    n, ws = form.at.n, form.ws
    K, D = np.zeros((n, n)), np.zeros((n, n))
    for i, q, _ in form.at.modes:
        found = form.system.numbers.integrals[i]
        assert found is not None
        K[np.ix_(q, q)] += found.K_ff
        D[np.ix_(q, q)] += found.D_ff
    C = here.coordinates.toarray()  # type: ignore[attr-defined]
    K += C.T @ (ws.coord.K[:, None] * C)
    D += C.T @ (ws.coord.D[:, None] * C)
    return K, D
