"""Components of the state as error control sees them: groups of one scale, bounds, twins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.band import above
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.system import System
from flexmbs.simulate.motion.powers import N_QUAD

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Local error of a step, rotations in rad, that keeps well on its branch of a loop
BRANCH = 0.02
#: displacement in a step, rotations in rad, in which at most one change point of a loop lies
COMPONENT_REACH = 0.5


def displacements(system: System) -> Floats:
    """A unit displacement of every speed: 1 for rotations, a length for travels, infinite for modes."""
    tables = system.tables
    size = np.full(system.n_vel, np.inf)
    for axis, turn, eta in zip(tables.prim.axis, tables.prim.turn, tables.prim.eta, strict=True):
        size[eta : eta + (3 if axis < 0 else 1)] = 1.0 if axis < 0 or turn != 0.0 else tables.length[0]
    return size


def bounds(system: System) -> Floats | None:
    """Largest local error of a step in joint coordinates where loops are closed: rotations, travels (F44)."""
    return BRANCH * displacements(system) if system.n_rows else None


def reaches(system: System) -> Floats:
    """Largest displacement of a step, infinite for speeds that are in no loop of joints, and in no contact.

    Beyond a part of a turn change points hide inside a step, and another branch of a loop is as near (F28); a
    follower in flight would pass through the lobes of its cam.
    """
    t, inside = system.tables, np.zeros(system.n_vel, dtype=bool)
    for p, q in zip(t.marker.body[t.relation.p], t.marker.body[t.relation.q], strict=True):
        while p != q:  # up to where both chains meet: parents have smaller numbers
            i = max(p, q)
            inside[t.tree.o_eta[i] : t.tree.o_qd[i]] = True
            p, q = (t.tree.parent[p], q) if i == p else (p, t.tree.parent[q])
    for r in np.flatnonzero(t.row.side):
        inside[t.path.speed[t.path.start[r] : t.path.start[r + 1]]] = True
    return np.where(inside, COMPONENT_REACH * displacements(system), np.inf)


def twins(system: System) -> Ints:
    """Place in pos of the coordinate of every speed; -1 for the speeds of balls, whose scale is 1.

    And for those of modes above the band: their deflections are far below 1, so that error control leaves
    them alone.
    """
    twin = np.full(system.n_vel, -1, dtype=np.int64)
    tables = system.tables
    places = tables.tree.vel_of_pos
    scalar = np.flatnonzero(places >= 0)
    twin[places[scalar]] = scalar
    for i, name in enumerate(system.bodies):
        body = system.model.bodies.get(name)
        if isinstance(body, FlexibleBody):
            twin[tables.tree.o_qd[i] + np.flatnonzero(above(body))] = -1
    return twin


def groups(system: System) -> Ints:
    """Components that share a scale in error control: a quaternion, its speeds, modes of a body, energies."""
    tables, n = system.tables, system.n_pos
    leader = np.arange(n + system.n_vel + system.n_aux + N_QUAD)
    leader[-N_QUAD:] = leader[-1]
    for beta, eta in zip(tables.prim.ball_beta, tables.prim.ball_eta, strict=True):
        leader[beta : beta + 4] = beta
        leader[n + eta : n + eta + 3] = n + eta
    for nf, q, q_dot in zip(tables.body.nf, tables.body.o_q, tables.tree.o_qd, strict=True):
        if nf:
            leader[q : q + nf] = q
            leader[n + q_dot : n + q_dot + nf] = n + q_dot
    return np.unique(leader, return_inverse=True)[1].astype(np.int64)
