"""Stiff part of the forces of the descriptor form: elastic coordinates and joint springs (F9, F14, F32).

What is left out (inertia, forces between bodies) changes with the motion, not with the modes: an implicit
method's iteration settles without it where the step resolves the motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flexmbs.dynamics.descriptor.equations import Descriptor, Place

Array = NDArray[np.float64]


def stiffness(form: Descriptor, here: Place) -> tuple[Array, Array]:
    """K and D of the modes and of the laws on joint coordinates, in dependent coordinates. Needs forces."""
    n, ws = form.at.n, form.ws
    K, D = np.zeros((n, n)), np.zeros((n, n))
    for i, q, _ in form.at.modes:
        found = form.system.numbers.integrals[i]
        assert found is not None
        K[np.ix_(q, q)] += found.K_ff
        D[np.ix_(q, q)] += found.D_ff
    C = here.coordinates.toarray()
    K += C.T @ (ws.coord.K[:, None] * C)
    D += C.T @ (ws.coord.D[:, None] * C)
    return K, D
