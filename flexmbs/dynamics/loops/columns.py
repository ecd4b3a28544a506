"""Columns of constraint rows: their forces on bodies, modes and joint coordinates, one by one (F25-F27)."""

from flexmbs._jit import kernel
from flexmbs.dynamics.tree.sixes import dot_six, put_six, six
from flexmbs.model.vectors import add_wrench_at, between, on_mode, times_wrench, wrench_at

#: what is asked of the rows
ACCELERATION, POSITION, VELOCITY = 0, 1, 2


@kernel(inline=True)
def packed(n, r):
    """Place of (r, 0) of n rows, if there were one."""
    return r * (2 * n - r - 1) // 2


@kernel(lean=True, apart=True)
def clear(sys, ws):
    """No columns yet. Writes: E, e, e_f."""
    for k in range(ws.loop.E.shape[0]):
        put_six(ws.loop.E, k, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for k in range(ws.loop.e.shape[0]):
        ws.loop.e[k] = 0.0
    for k in range(ws.loop.e_f.shape[0]):
        ws.loop.e_f[k] = 0.0


@kernel(lean=True, later="void")
def load_rows(sys, ws, level, bh):
    """Columns, compliances and biases of all rows at their own bodies (F25, F45). Needs rows.

    level 0: constraints on acceleration level; 1: on position level, `g + bh G change = 0`; 2: of velocities,
    `g_dot + G change = 0`. A row that is off has no column: its multiplier comes out as zero.
    Writes: E, e, e_f, L_open, bias, whole, natural; order, up of rows that are tried; found, lost.
    """
    clear(sys, ws)
    for g in range(ws.loop.found.shape[0]):
        ws.loop.found[g] = ws.loop.lost[g] = 0
    for k in range(ws.loop.L_open.shape[0]):
        ws.loop.L_open[k] = 0.0
    mass = sys.tree.mass_scale[0]
    by_mass = by_turning = 0.0
    if mass > 0.0:
        by_mass, by_turning = 1.0 / mass, 1.0 / sys.tree.mass_scale[1]
    for f in range(sys.front.closed.shape[0]):
        first, n = sys.front.row[f], sys.front.row[f + 1] - sys.front.row[f]
        for k in range(sys.front.closed[f] + sys.front.tried[f]):
            r, at = sys.slot.row[first + k], sys.front.L[f] + packed(n, k) + k
            ws.loop.order[first + k], ws.loop.up[first + k] = r, -1
            if r < 0:
                continue
            v = sys.row.massless[r]
            ws.loop.bias[r] = ws.loop.whole[r] = ws.loop.natural[r] = 0.0
            if ws.row.soft[r] < 0.0:
                ws.loop.L_open[at] = ws.loop.whole[r] = 1.0
                continue
            ws.loop.natural[r] = load_row(sys, ws, r, by_mass, by_turning)
            ws.loop.L_open[at] = ws.loop.whole[r] = ws.row.soft[r]
            if v >= 0:
                ws.loop.L_open[at] = -sys.tree.massless[v]  # the unknown of (F26a) stands in its own row
            elif level == ACCELERATION:
                ws.loop.bias[r] = ws.row.g_ddot[r]
            else:
                ws.loop.bias[r] = ws.row.g[r] / bh if level == POSITION else ws.row.g_dot[r]


@kernel(lean=True, inline=True)
def load_row(sys, ws, r, by_mass, by_turning):
    """Forces of row r on bodies and coordinates (F26). Writes: E, e, e_f.

    Returns what the pivot would be if the row moved the whole model: all rows of a loop may vanish.
    """
    size = 0.0
    for k in range(sys.term.start[r], sys.term.start[r + 1]):
        e, c = sys.term.relation[k], ws.row.c_term[k]
        p, q, at = sys.relation.p[e], sys.relation.q[e], ws.relation.at[e]
        if sys.slot.q[k] >= 0:
            load_marker(sys, ws, sys.slot.q[k], q, q, at, c)
        if sys.slot.p[k] >= 0:
            load_marker(sys, ws, sys.slot.p[k], p, q, at, -c)
        force = at[3] * at[3] + at[4] * at[4] + at[5] * at[5]
        size += c * c * (force * by_mass + (at[6] * at[6] + at[7] * at[7] + at[8] * at[8]) * by_turning)
    if sys.row.massless[r] >= 0:
        ws.loop.e[sys.slot.massless[r]] += sys.tree.massless[sys.row.massless[r]]
    for k in range(sys.speed.start[r], sys.speed.start[r + 1]):
        c, H = ws.row.c_speed[k], ws.tree.H[sys.coord.vel[sys.speed.coord[k]]]
        ws.loop.e[sys.slot.speed[k]] += c
        turns = H[3] * H[3] + H[4] * H[4] + H[5] * H[5]
        size += c * c * (turns * by_turning if turns > 0.0 else by_mass)
    return size


@kernel(lean=True, inline=True)
def load_marker(sys, ws, slot, m, q, ent, c):
    """Force of a relation, c times that on Q, acting at marker q's origin on the body of marker m."""
    i = sys.marker.body[m]
    w = times_wrench(c, ent)
    add_wrench_at(ws.loop.E[slot], w, between(ws.body.r, i, ws.marker.x, q))
    if sys.marker.row[m] < 0:
        return
    w = wrench_at(w, between(ws.marker.x, m, ws.marker.x, q))  # the modes feel it at the marker itself
    o, to = sys.marker.L[m], sys.front.m[i] + (slot - sys.front.row[i]) * sys.body.nf[i]
    for a in range(sys.body.nf[i]):
        ws.loop.e_f[to + a] += on_mode(ws.marker.L, o + 6 * a, w)


@kernel(lean=True, later="void")
def plain_rows(sys, ws):
    """Rows in the tree coordinates (F27). Needs rows. Writes: G; along, which is zero again."""
    G, out = ws.loop.G, ws.loop.along
    for r in range(sys.row.law.shape[0]):
        on = ws.row.soft[r] >= 0.0 and sys.group.soft[sys.row.group[r]] == 0
        for k in range(sys.term.start[r], sys.term.start[r + 1] if on else 0):
            e, c = sys.term.relation[k], ws.row.c_term[k]
            plain_end(sys, ws, r, sys.relation.q[e], e, c)
            plain_end(sys, ws, r, sys.relation.p[e], e, -c)
        for k in range(sys.speed.start[r], sys.speed.start[r + 1] if on else 0):
            out[sys.coord.vel[sys.speed.coord[k]]] += ws.row.c_speed[k]
        for k in range(sys.path.start[r], sys.path.start[r + 1]):
            G[k], out[sys.path.speed[k]] = out[sys.path.speed[k]], 0.0


@kernel(lean=True)
def plain_end(sys, ws, r, m, e, c):
    """Force of a relation, c times that on Q, on the speeds from marker m to where the ends meet."""
    i, meet, q, out = sys.marker.body[m], sys.path.meet[sys.row.group[r]], sys.relation.q[e], ws.loop.along
    w = times_wrench(c, ws.relation.at[e])
    F = wrench_at(w, between(ws.marker.x, m, ws.marker.x, q))
    for a in range(sys.body.nf[i] if sys.marker.row[m] >= 0 else 0):  # modes feel it at the marker itself
        out[sys.tree.o_qd[i] + a] += on_mode(ws.marker.L, sys.marker.L[m] + 6 * a, F)
    while True:
        F = wrench_at(w, between(ws.body.r, i, ws.marker.x, q))
        for k in range(sys.tree.o_qd[i] if i == meet else sys.tree.o_eta[i], sys.tree.o_eta[i + 1]):
            out[k] += dot_six(six(ws.tree.H, k), F)
        if i == meet:
            break
        p = sys.tree.parent[i]
        for a in range(sys.body.nf[p]):
            out[sys.tree.o_qd[p] + a] += on_mode(ws.tree.B, sys.tree.o_B[i] + 6 * a, F)
        i = p
