"""Why a run failed, or why its motion is doubtful: what the deflections do to the inertia of a body."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError
from flexmbs.ffrf.mass import mass_matrix
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.system import System

Floats = NDArray[np.float64]
REMEDY = 'reduce the body with frame = "mean-axis", divide it, or set geometric_stiffening = false'


def least_inertia(system: System, name: str, q: Floats) -> float:
    """Least eigenvalue of M of a body at q, rows over the roots of its diagonal at rest (F12, F17a).

    A frame that drives lead takes no part: what is left is m_ff, which q does not change.
    """
    if is_led(system, name):
        return 1.0
    body: Any = system.model.bodies[name]
    integrals, stiff = system.integrals(name), body.geometric_stiffening is not False
    M = mass_matrix(integrals, q, inertia_terms=body.inertia_terms, stiffening=stiff)
    scale = np.diag(mass_matrix(integrals, 0.0 * q, inertia_terms=body.inertia_terms)) ** -0.5
    return float(np.linalg.eigvalsh(scale[:, None] * M * scale)[0])


def is_led(system: System, name: str) -> bool:
    """Whether all joint speeds between a body and ground are prescribed, and no modes move its frame."""
    t, i = system.tables, system.bodies.index(name)
    nf, marker = int(t.body.nf[i]), int(t.tree.m_out[i])
    for start, size in ((int(t.marker.row[marker]), 6 * nf), (int(t.marker.K[marker]), 6 * nf * nf)):
        if start >= 0 and np.any(t.marker.data[start : start + size]):
            return False
    while i > 0:
        if np.any(t.tree.driven[t.tree.o_eta[i] : t.tree.o_qd[i]] < 0):
            return False
        i = int(t.tree.parent[i])
        if t.body.nf[i]:
            return False
    return True


def without_inertia(system: System, q: dict[str, Floats]) -> list[str]:
    """Bodies whose kinetic energy is negative for some motion at their elastic coordinates.

    Terms of second order (F17a) are good for small deflections only; in a tangent frame with many modes the
    frame has little inertia of its own, and they outweigh it early.
    """
    return [
        name
        for name, body in system.model.bodies.items()
        if isinstance(body, FlexibleBody) and name in q and least_inertia(system, name, q[name]) < -1e-9
    ]


def explained(error: SolverError, system: System, pos: Any) -> SolverError:
    """The same error with its cause, where the positions that were reached show one."""
    if pos is None:
        return error
    t, q = system.tables, {}
    for i, name in enumerate(system.bodies):
        if t.body.nf[i]:
            q[name] = np.array(pos[t.body.o_q[i] : t.body.o_q[i] + t.body.nf[i]])
    bad = without_inertia(system, q)
    if not bad:
        return error
    first = error.diagnostics[0]
    what = f"{first.what}: the deflections of bodies.{bad[0]} are too large for its geometric stiffening"
    return SolverError(Diagnostic(first.code, first.where, what, REMEDY))
