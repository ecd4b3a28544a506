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
    for g in range(sys.group_start.shape[0] - 1):
        r0, n = sys.group_start[g], sys.group_start[g + 1] - sys.group_start[g]
        for j in range(sys.path_start[g], sys.path_start[g + 1]):
            i = sys.path_body[j]
            for k in range(sys.path_col[j], sys.path_col[j] + n):
                for row in range(6):
                    ws.gcol[k, row] = 0.0
            for k in range(sys.path_mode[j], sys.path_mode[j] + n * sys.nf[i]):
                ws.gcol_f[k] = 0.0
            for k in range(sys.path_e[j], sys.path_e[j] + n * (sys.o_eta[i + 1] - sys.o_eta[i])):
                ws.e[k] = 0.0
        if is_off(sys, ws, g, plain):
            continue
        for r in range(n):
            load_row(sys, ws, r0 + r, r, n)
        for j in range(sys.path_start[g], sys.path_start[g + 1]):
            if plain:
                plain_column_up(sys, ws, j, n)
            else:
                column_up(sys, ws, j, n)


@kernel(inline=True)
def is_off(sys, ws, g, plain):
    """Whether a group has no part: compliant rows without a step, or where constraints are asked for."""
    off = True
    for r in range(sys.group_start[g], sys.group_start[g + 1]):
        off = off and ws.soft[r] < 0.0
    return off or (plain and sys.group_soft[g] == 1)


@kernel(lean=True, apart=True)
def load_row(sys, ws, row, r, n):
    """Forces of row `row`, the r-th of n in its group, on bodies and coordinates (F26)."""
    for k in range(sys.rowent_start[row], sys.rowent_start[row + 1]):
        e, c = sys.rowent[k], ws.rowent_c[k]
        ent, p, q = ws.ent[e], sys.ent_p[e], sys.ent_q[e]
        if sys.rowent_q[k] >= 0:
            load_marker(sys, ws, sys.rowent_q[k], q, q, ent, c, r, n)
        if sys.rowent_p[k] >= 0:
            load_marker(sys, ws, sys.rowent_p[k], p, q, ent, -c, r, n)
    v = sys.row_massless[row]
    if v >= 0:
        for j in range(sys.path_start[sys.group_of_row[row]], sys.path_start[sys.group_of_row[row] + 1]):
            i = sys.path_body[j]
            if sys.o_eta[i] <= v and v < sys.o_eta[i + 1]:
                ws.e[sys.path_e[j] + (v - sys.o_eta[i]) * n + r] += sys.massless[v]
    for k in range(sys.rowdof_start[row], sys.rowdof_start[row + 1]):
        j, v = sys.rowdof_place[k], sys.coord_vel[sys.rowdof_coord[k]]
        i = sys.path_body[j]
        ws.e[sys.path_e[j] + (v - sys.o_eta[i]) * n + r] += ws.rowdof_c[k]


@kernel(lean=True)
def load_marker(sys, ws, j, m, q, ent, c, r, n):
    """Force of a relation, c times that on Q, acting at marker q's origin on the body of marker m."""
    i = sys.path_body[j]
    fx, fy, fz = c * ent[3], c * ent[4], c * ent[5]
    x, y, z = ws.mark_x[q, 0] - ws.r[i, 0], ws.mark_x[q, 1] - ws.r[i, 1], ws.mark_x[q, 2] - ws.r[i, 2]
    col = ws.gcol[sys.path_col[j] + r]
    col[0] += fx
    col[1] += fy
    col[2] += fz
    col[3] += c * ent[6] + y * fz - z * fy
    col[4] += c * ent[7] + z * fx - x * fz
    col[5] += c * ent[8] + x * fy - y * fx
    if sys.mark_row[m] < 0:
        return
    # the modes feel the wrench at the marker itself
    x, y, z = difference_x(ws, m, q)
    mx, my, mz = c * ent[6] + y * fz - z * fy, c * ent[7] + z * fx - x * fz, c * ent[8] + x * fy - y * fx
    o = sys.mark_L[m]
    for a in range(sys.nf[i]):
        b = o + 6 * a
        ws.gcol_f[sys.path_mode[j] + a * n + r] += (
            ws.L[b] * fx + ws.L[b + 1] * fy + ws.L[b + 2] * fz
            + ws.L[b + 3] * mx + ws.L[b + 4] * my + ws.L[b + 5] * mz
        )  # fmt: skip


@kernel(inline=True)
def difference_x(ws, m, q):
    return (
        ws.mark_x[q, 0] - ws.mark_x[m, 0],
        ws.mark_x[q, 1] - ws.mark_x[m, 1],
        ws.mark_x[q, 2] - ws.mark_x[m, 2],
    )


@kernel(lean=True, apart=True)
def column_up(sys, ws, j, n):
    """Take columns of a group past body path_body[j] (F25). Writes: e, gcol of the parent."""
    i, jp, col = sys.path_body[j], sys.path_parent[j], sys.path_col[j]
    first, k0, e0, p = sys.o_eta[i], sys.o_qd[i], sys.path_e[j], sys.parent[i]
    x, y, z = ws.r[i, 0] - ws.r[p, 0], ws.r[i, 1] - ws.r[p, 1], ws.r[i, 2] - ws.r[p, 2]
    if sys.nf[i] > 0:
        modes_of_columns(sys, ws, j, n)
    for r in range(n):
        c = six(ws.gcol, col + r)
        for k in range(k0 - 1, first - 1, -1):
            at = e0 + (k - first) * n + r
            if sys.driven[k] >= 0:
                ws.e[at] = 0.0
                continue
            s = ws.e[at] + dot_six(six(ws.H, k), c)
            ws.e[at] = s
            if jp >= 0 or k > first:  # nobody takes what leaves a root
                c = plus_six(c, -s / ws.D[k], six(ws.U, k))
        if jp >= 0:
            column_to_parent(sys, ws, i, jp, c, r, n, x, y, z)


@kernel(lean=True, apart=True, reassociate=True)
def modes_of_columns(sys, ws, j, n):
    """Take columns of a group past the modes of body path_body[j] (F25). Writes: e; gcol."""
    i = sys.path_body[j]
    nf, k0, o, e0 = sys.nf[i], sys.o_qd[i], sys.o_E[i], sys.path_e[j]
    first = sys.o_eta[i]
    moving = sys.mark_row[sys.m_out[i]] >= 0  # else its rows of H are zero
    for r in range(n):
        col, to = ws.gcol[sys.path_col[j] + r], e0 + (k0 - first) * n + r
        for a in range(nf):
            s = ws.gcol_f[sys.path_mode[j] + a * n + r]
            for row in range(6 if moving else 0):
                s += ws.H[k0 + a, row] * col[row]
            ws.e_f[a] = s
        solve_factor(sys, ws, i, ws.e_f, 0)
        for a in range(nf):
            ws.e[to + a * n] = ws.e_f[a]
        for row in range(6):
            s, g = 0.0, ws.G[o + nf * row : o + nf * (row + 1)]
            for a in range(nf):
                s += g[a] * ws.e_f[a]
            col[row] -= s


@kernel(lean=True, apart=True)
def plain_column_up(sys, ws, j, n):
    """Rows of a group on the speeds of body path_body[j]: C_i^T times its columns (F27). Writes: e."""
    i = sys.path_body[j]
    first, k0, e0, p = sys.o_eta[i], sys.o_qd[i], sys.path_e[j], sys.parent[i]
    x, y, z = ws.r[i, 0] - ws.r[p, 0], ws.r[i, 1] - ws.r[p, 1], ws.r[i, 2] - ws.r[p, 2]
    for r in range(n):
        col = ws.gcol[sys.path_col[j] + r]
        for k in range(first, sys.o_eta[i + 1]):
            s = ws.e[e0 + (k - first) * n + r]
            for row in range(6):
                s += ws.H[k, row] * col[row]
            if k >= k0:
                s += ws.gcol_f[sys.path_mode[j] + (k - k0) * n + r]
            ws.e[e0 + (k - first) * n + r] = s
        if sys.path_parent[j] >= 0:
            column_to_parent(sys, ws, i, sys.path_parent[j], six(ws.gcol, sys.path_col[j] + r), r, n, x, y, z)


@kernel(inline=True)
def column_to_parent(sys, ws, i, jp, col, r, n, x, y, z):
    """Add a column of body i to its parent, (x, y, z) before it, at its origin and on its modes (F25)."""
    p, to = sys.parent[i], sys.path_col[jp] + r
    ws.gcol[to, 0] += col[0]
    ws.gcol[to, 1] += col[1]
    ws.gcol[to, 2] += col[2]
    ws.gcol[to, 3] += col[3] + y * col[2] - z * col[1]
    ws.gcol[to, 4] += col[4] + z * col[0] - x * col[2]
    ws.gcol[to, 5] += col[5] + x * col[1] - y * col[0]
    for a in range(sys.nf[p]):
        b, B = sys.o_B[i] + 6 * a, ws.B
        row = B[b], B[b + 1], B[b + 2], B[b + 3], B[b + 4], B[b + 5]
        ws.gcol_f[sys.path_mode[jp] + a * n + r] += dot_six(row, col)


@kernel(lean=True, apart=True)
def response(sys, ws):
    """-G delta0 of the change without multipliers: - sum e D^-1 u (F26). Writes: rhs."""
    for g in range(sys.group_start.shape[0] - 1):
        r0, n = sys.group_start[g], sys.group_start[g + 1] - sys.group_start[g]
        for r in range(n):
            ws.rhs[r0 + r] = 0.0
        for j in range(sys.path_start[g], sys.path_start[g + 1]):
            i = sys.path_body[j]
            for k in range(sys.o_eta[i], sys.o_eta[i + 1]):
                if sys.driven[k] >= 0:
                    continue
                s, e = ws.u[k] / ws.D[k], sys.path_e[j] + (k - sys.o_eta[i]) * n
                for r in range(n):
                    ws.rhs[r0 + r] -= ws.e[e + r] * s


@kernel(lean=True, apart=True)
def add_multipliers(sys, ws):
    """Forces of the multipliers on all speeds: u += e lam (F25). Writes: u."""
    for g in range(sys.group_start.shape[0] - 1):
        r0, n = sys.group_start[g], sys.group_start[g + 1] - sys.group_start[g]
        for j in range(sys.path_start[g], sys.path_start[g + 1]):
            i = sys.path_body[j]
            for k in range(sys.o_eta[i], sys.o_eta[i + 1]):
                if sys.driven[k] >= 0:
                    continue
                e, s = sys.path_e[j] + (k - sys.o_eta[i]) * n, 0.0
                for r in range(n):
                    s += ws.e[e + r] * ws.lam[r0 + r]
                ws.u[k] += s
