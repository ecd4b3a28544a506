"""Work that comes in where a constraint or a frame follows the time: lengths, laws, travelling frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs._jit import kernel
from flexmbs.dynamics.loops.rows import slope
from flexmbs.dynamics.tree.sixes import dot_six, plus_six, six
from flexmbs.ffrf.marker import weighted
from flexmbs.model.vectors import between, times_wrench, wrench_at


@kernel(lean=True, later="float64")
def rheonomic_power(sys, ws, vel):
    """Power of the time in rows, save that of drives, and in travelling frames: -lam^T gbar (F18a, F27).

    Needs the velocity stage, forces through joints (f_p) and row_force.
    """
    total, n_drives = 0.0, 0  # places of drives come before those of lengths
    for d in range(sys.drive.law.shape[0]):
        n_drives = max(n_drives, sys.drive.law[d] + 1)
    for r in range(sys.row.law.shape[0]):
        if sys.group.soft[sys.row.group[r]] == 1:
            continue  # a force, whose power its law reports
        if sys.row.law[r] >= n_drives:
            total += ws.row.force[r] * ws.law.v[sys.row.law[r]]
        if sys.row.expr[r] >= 0:  # seed -1: slot of the time
            total -= ws.row.force[r] * slope(sys, ws, sys.row.expr[r], -1)
        for k in range(sys.term.start[r], sys.term.start[r + 1]):
            e, c = sys.term.relation[k], ws.row.force[r] * ws.row.c_term[k]
            w, q, p = times_wrench(c, ws.relation.at[e]), sys.relation.q[e], sys.relation.p[e]
            total -= travel_power(sys, ws, vel, q, w)
            total += travel_power(sys, ws, vel, p, wrench_at(w, between(ws.marker.x, p, ws.marker.x, q)))
    for i in range(1, sys.tree.parent.shape[0]):
        w, q, p = six(ws.body.f_p, i), sys.tree.m_out[i], sys.tree.m_in[i]
        total -= travel_power(sys, ws, vel, q, wrench_at(w, between(ws.marker.x, q, ws.body.r, i)))
        total += travel_power(sys, ws, vel, p, wrench_at(w, between(ws.marker.x, p, ws.body.r, i)))
    return total


@kernel(lean=True)
def travel_power(sys, ws, vel, m, wrench):
    """Power of a wrench at marker m on its way against the material under it, ground axes (F18a)."""
    if sys.marker.travel[m] < 0:
        return 0.0
    way, i = six(ws.marker.rel, m), sys.marker.body[m]
    if sys.marker.row[m] >= 0:
        rates = vel[sys.tree.o_qd[i] : sys.tree.o_qd[i] + sys.body.nf[i]]
        way = plus_six(way, -1.0, weighted(ws.marker.L, sys.marker.L[m], rates))
    return dot_six(wrench, way)


def follows_time(system: Any) -> bool:
    """Whether constraints or frames do work: drives, lengths, laws with t, travelling frames."""
    tables = system.tables
    laws = [row.expression for group in system.groups for row in group.rows if row.expression is not None]
    return bool(
        len(system.model.drives)
        or np.any(tables.row.law >= 0)
        or np.any(tables.marker.travel >= 0)
        or any("t" in law.names for law in laws)
    )
