"""Work that comes in where a constraint or a frame follows the time: lengths, laws, travelling frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs._jit import kernel
from flexmbs.dynamics.loops.rows import slope
from flexmbs.model.vectors import between


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
            w, q, p = ws.relation.at[e, 3:9], sys.relation.q[e], sys.relation.p[e]
            total -= c * (travel_power(sys, ws, vel, q, q, w) - travel_power(sys, ws, vel, p, q, w))
    for i in range(1, sys.tree.parent.shape[0]):
        total -= body_travel_power(sys, ws, vel, i, sys.tree.m_out[i]) - body_travel_power(
            sys, ws, vel, i, sys.tree.m_in[i]
        )
    return total


@kernel(lean=True)
def body_travel_power(sys, ws, vel, i, m):
    """Power of the joint wrench of body i on the way of marker m."""
    if m < 0 or sys.marker.travel[m] < 0:
        return 0.0
    x, y, z = between(ws.marker.x, m, ws.body.r, i)
    f = ws.body.f_p[i]
    nx, ny, nz = f[3] + y * f[2] - z * f[1], f[4] + z * f[0] - x * f[2], f[5] + x * f[1] - y * f[0]
    v, w = way_rate(sys, ws, vel, m)
    return f[0] * v[0] + f[1] * v[1] + f[2] * v[2] + nx * w[0] + ny * w[1] + nz * w[2]


@kernel(lean=True)
def travel_power(sys, ws, vel, m, q, f):
    """Power of a wrench at the origin of marker q on the way of marker m."""
    if sys.marker.travel[m] < 0:
        return 0.0
    x, y, z = between(ws.marker.x, m, ws.marker.x, q)
    nx, ny, nz = f[3] + y * f[2] - z * f[1], f[4] + z * f[0] - x * f[2], f[5] + x * f[1] - y * f[0]
    v, w = way_rate(sys, ws, vel, m)
    return f[0] * v[0] + f[1] * v[1] + f[2] * v[2] + nx * w[0] + ny * w[1] + nz * w[2]


@kernel(lean=True)
def way_rate(sys, ws, vel, m):
    """Velocity of a travelling marker against the material under it, ground axes (F18a)."""
    rel = ws.marker.rel[m]
    x, y, z, p, q, r = rel[0], rel[1], rel[2], rel[3], rel[4], rel[5]
    i = sys.marker.body[m]
    if sys.marker.row[m] >= 0:
        for a in range(sys.body.nf[i]):
            o, rate = sys.marker.L[m] + 6 * a, vel[sys.tree.o_qd[i] + a]
            x -= ws.marker.L[o] * rate
            y -= ws.marker.L[o + 1] * rate
            z -= ws.marker.L[o + 2] * rate
            p -= ws.marker.L[o + 3] * rate
            q -= ws.marker.L[o + 4] * rate
            r -= ws.marker.L[o + 5] * rate
    return (x, y, z), (p, q, r)


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
