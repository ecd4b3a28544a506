"""Loops: constraint rows, their columns through the tree, the loop matrix and its solution (F25-F28).

The columns of G^s run from the cut to the root through the same eliminations as the forces. What stays of a
column at a speed, e, gives the loop matrix sum e D^-1 e^T without a forward pass, and the same numbers put
the multipliers back: u += e lam. Redundant rows are those whose pivot vanishes: their multiplier is zero,
the motion is the same; the split of the forces is a matter of outputs (F28).
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.tree.elastic import solve_factor
from flexmbs.dynamics.tree.recursion import dot_six, plus_six, six


@kernel(lean=True, apart=True)
def columns(sys, ws, plain):
    """Columns of all rows from the cuts to the root (F25). Needs rows and backward. Writes: e, gcol.

    With `plain` nothing is eliminated on the way and e is G, the rows in the tree coordinates (F27).
    """
    for g in range(sys.group.start.shape[0] - 1):
        r0, n = sys.group.start[g], sys.group.start[g + 1] - sys.group.start[g]
        for j in range(sys.path.start[g], sys.path.start[g + 1]):
            i = sys.path.body[j]
            for k in range(sys.path.col[j], sys.path.col[j] + n):
                for row in range(6):
                    ws.loop.col[k, row] = 0.0
            for k in range(sys.path.mode[j], sys.path.mode[j] + n * sys.body.nf[i]):
                ws.loop.col_f[k] = 0.0
            for k in range(sys.path.e[j], sys.path.e[j] + n * (sys.tree.o_eta[i + 1] - sys.tree.o_eta[i])):
                ws.loop.e[k] = 0.0
        if is_off(sys, ws, g, plain):
            continue
        for r in range(n):
            load_row(sys, ws, r0 + r, r, n)
        for j in range(sys.path.start[g], sys.path.start[g + 1]):
            if plain:
                plain_column_up(sys, ws, j, n)
            else:
                column_up(sys, ws, j, n)


@kernel(inline=True)
def is_off(sys, ws, g, plain):
    """Whether a group has no part: compliant rows without a step, or where constraints are asked for."""
    off = True
    for r in range(sys.group.start[g], sys.group.start[g + 1]):
        off = off and ws.row.soft[r] < 0.0
    return off or (plain and sys.group.soft[g] == 1)


@kernel(lean=True, apart=True)
def load_row(sys, ws, row, r, n):
    """Forces of row `row`, the r-th of n in its group, on bodies and coordinates (F26)."""
    for k in range(sys.term.start[row], sys.term.start[row + 1]):
        e, c = sys.term.relation[k], ws.row.c_term[k]
        ent, p, q = ws.relation.at[e], sys.relation.p[e], sys.relation.q[e]
        if sys.term.q[k] >= 0:
            load_marker(sys, ws, sys.term.q[k], q, q, ent, c, r, n)
        if sys.term.p[k] >= 0:
            load_marker(sys, ws, sys.term.p[k], p, q, ent, -c, r, n)
    v = sys.row.massless[row]
    if v >= 0:
        for j in range(sys.path.start[sys.row.group[row]], sys.path.start[sys.row.group[row] + 1]):
            i = sys.path.body[j]
            if sys.tree.o_eta[i] <= v and v < sys.tree.o_eta[i + 1]:
                ws.loop.e[sys.path.e[j] + (v - sys.tree.o_eta[i]) * n + r] += sys.tree.massless[v]
    for k in range(sys.speed.start[row], sys.speed.start[row + 1]):
        j, v = sys.speed.place[k], sys.coord.vel[sys.speed.coord[k]]
        i = sys.path.body[j]
        ws.loop.e[sys.path.e[j] + (v - sys.tree.o_eta[i]) * n + r] += ws.row.c_speed[k]


@kernel(lean=True)
def load_marker(sys, ws, j, m, q, ent, c, r, n):
    """Force of a relation, c times that on Q, acting at marker q's origin on the body of marker m."""
    i = sys.path.body[j]
    fx, fy, fz = c * ent[3], c * ent[4], c * ent[5]
    x, y, z = (
        ws.marker.x[q, 0] - ws.body.r[i, 0],
        ws.marker.x[q, 1] - ws.body.r[i, 1],
        ws.marker.x[q, 2] - ws.body.r[i, 2],
    )
    col = ws.loop.col[sys.path.col[j] + r]
    col[0] += fx
    col[1] += fy
    col[2] += fz
    col[3] += c * ent[6] + y * fz - z * fy
    col[4] += c * ent[7] + z * fx - x * fz
    col[5] += c * ent[8] + x * fy - y * fx
    if sys.marker.row[m] < 0:
        return
    # the modes feel the wrench at the marker itself
    x, y, z = difference_x(ws, m, q)
    mx, my, mz = c * ent[6] + y * fz - z * fy, c * ent[7] + z * fx - x * fz, c * ent[8] + x * fy - y * fx
    o = sys.marker.L[m]
    for a in range(sys.body.nf[i]):
        b = o + 6 * a
        ws.loop.col_f[sys.path.mode[j] + a * n + r] += (
            ws.marker.L[b] * fx + ws.marker.L[b + 1] * fy + ws.marker.L[b + 2] * fz
            + ws.marker.L[b + 3] * mx + ws.marker.L[b + 4] * my + ws.marker.L[b + 5] * mz
        )  # fmt: skip


@kernel(inline=True)
def difference_x(ws, m, q):
    return (
        ws.marker.x[q, 0] - ws.marker.x[m, 0],
        ws.marker.x[q, 1] - ws.marker.x[m, 1],
        ws.marker.x[q, 2] - ws.marker.x[m, 2],
    )


@kernel(lean=True, apart=True)
def column_up(sys, ws, j, n):
    """Take columns of a group past body path_body[j] (F25). Writes: e, gcol of the parent."""
    i, jp, col = sys.path.body[j], sys.path.parent[j], sys.path.col[j]
    first, k0, e0, p = sys.tree.o_eta[i], sys.tree.o_qd[i], sys.path.e[j], sys.tree.parent[i]
    x, y, z = (
        ws.body.r[i, 0] - ws.body.r[p, 0],
        ws.body.r[i, 1] - ws.body.r[p, 1],
        ws.body.r[i, 2] - ws.body.r[p, 2],
    )
    if sys.body.nf[i] > 0:
        modes_of_columns(sys, ws, j, n)
    for r in range(n):
        c = six(ws.loop.col, col + r)
        for k in range(k0 - 1, first - 1, -1):
            at = e0 + (k - first) * n + r
            if sys.tree.driven[k] >= 0:
                ws.loop.e[at] = 0.0
                continue
            s = ws.loop.e[at] + dot_six(six(ws.tree.H, k), c)
            ws.loop.e[at] = s
            if jp >= 0 or k > first:  # nobody takes what leaves a root
                c = plus_six(c, -s / ws.tree.D[k], six(ws.tree.U, k))
        if jp >= 0:
            column_to_parent(sys, ws, i, jp, c, r, n, x, y, z)


@kernel(lean=True, apart=True, reassociate=True)
def modes_of_columns(sys, ws, j, n):
    """Take columns of a group past the modes of body path_body[j] (F25). Writes: e; gcol."""
    i = sys.path.body[j]
    nf, k0, o, e0 = sys.body.nf[i], sys.tree.o_qd[i], sys.body.o_E[i], sys.path.e[j]
    first = sys.tree.o_eta[i]
    moving = sys.marker.row[sys.tree.m_out[i]] >= 0  # else its rows of H are zero
    for r in range(n):
        col, to = ws.loop.col[sys.path.col[j] + r], e0 + (k0 - first) * n + r
        for a in range(nf):
            s = ws.loop.col_f[sys.path.mode[j] + a * n + r]
            for row in range(6 if moving else 0):
                s += ws.tree.H[k0 + a, row] * col[row]
            ws.loop.e_f[a] = s
        solve_factor(sys, ws, i, ws.loop.e_f, 0)
        for a in range(nf):
            ws.loop.e[to + a * n] = ws.loop.e_f[a]
        for row in range(6):
            s, g = 0.0, ws.elastic.G[o + nf * row : o + nf * (row + 1)]
            for a in range(nf):
                s += g[a] * ws.loop.e_f[a]
            col[row] -= s


@kernel(lean=True, apart=True)
def plain_column_up(sys, ws, j, n):
    """Rows of a group on the speeds of body path_body[j]: C_i^T times its columns (F27). Writes: e."""
    i = sys.path.body[j]
    first, k0, e0, p = sys.tree.o_eta[i], sys.tree.o_qd[i], sys.path.e[j], sys.tree.parent[i]
    x, y, z = (
        ws.body.r[i, 0] - ws.body.r[p, 0],
        ws.body.r[i, 1] - ws.body.r[p, 1],
        ws.body.r[i, 2] - ws.body.r[p, 2],
    )
    for r in range(n):
        col = ws.loop.col[sys.path.col[j] + r]
        for k in range(first, sys.tree.o_eta[i + 1]):
            s = ws.loop.e[e0 + (k - first) * n + r]
            for row in range(6):
                s += ws.tree.H[k, row] * col[row]
            if k >= k0:
                s += ws.loop.col_f[sys.path.mode[j] + (k - k0) * n + r]
            ws.loop.e[e0 + (k - first) * n + r] = s
        if sys.path.parent[j] >= 0:
            column_to_parent(
                sys, ws, i, sys.path.parent[j], six(ws.loop.col, sys.path.col[j] + r), r, n, x, y, z
            )


@kernel(inline=True)
def column_to_parent(sys, ws, i, jp, col, r, n, x, y, z):
    """Add a column of body i to its parent, (x, y, z) before it, at its origin and on its modes (F25)."""
    p, to = sys.tree.parent[i], sys.path.col[jp] + r
    ws.loop.col[to, 0] += col[0]
    ws.loop.col[to, 1] += col[1]
    ws.loop.col[to, 2] += col[2]
    ws.loop.col[to, 3] += col[3] + y * col[2] - z * col[1]
    ws.loop.col[to, 4] += col[4] + z * col[0] - x * col[2]
    ws.loop.col[to, 5] += col[5] + x * col[1] - y * col[0]
    for a in range(sys.body.nf[p]):
        b, B = sys.tree.o_B[i] + 6 * a, ws.tree.B
        row = B[b], B[b + 1], B[b + 2], B[b + 3], B[b + 4], B[b + 5]
        ws.loop.col_f[sys.path.mode[jp] + a * n + r] += dot_six(row, col)


@kernel(lean=True, apart=True)
def response(sys, ws):
    """-G delta0 of the change without multipliers: - sum e D^-1 u (F26). Writes: rhs."""
    for g in range(sys.group.start.shape[0] - 1):
        r0, n = sys.group.start[g], sys.group.start[g + 1] - sys.group.start[g]
        for r in range(n):
            ws.loop.rhs[r0 + r] = 0.0
        for j in range(sys.path.start[g], sys.path.start[g + 1]):
            i = sys.path.body[j]
            for k in range(sys.tree.o_eta[i], sys.tree.o_eta[i + 1]):
                if sys.tree.driven[k] >= 0:
                    continue
                s, e = ws.tree.u[k] / ws.tree.D[k], sys.path.e[j] + (k - sys.tree.o_eta[i]) * n
                for r in range(n):
                    ws.loop.rhs[r0 + r] -= ws.loop.e[e + r] * s


@kernel(lean=True, apart=True)
def add_multipliers(sys, ws):
    """Forces of the multipliers on all speeds: u += e lam (F25). Writes: u."""
    for g in range(sys.group.start.shape[0] - 1):
        r0, n = sys.group.start[g], sys.group.start[g + 1] - sys.group.start[g]
        for j in range(sys.path.start[g], sys.path.start[g + 1]):
            i = sys.path.body[j]
            for k in range(sys.tree.o_eta[i], sys.tree.o_eta[i + 1]):
                if sys.tree.driven[k] >= 0:
                    continue
                e, s = sys.path.e[j] + (k - sys.tree.o_eta[i]) * n, 0.0
                for r in range(n):
                    s += ws.loop.e[e + r] * ws.row.lam[r0 + r]
                ws.tree.u[k] += s
