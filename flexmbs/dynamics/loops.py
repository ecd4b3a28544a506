"""Loops: constraint rows, their columns through the tree, the loop matrix and its solution (F25-F28).

The columns of G^s run from the cut to the root through the same eliminations as the forces. What stays of a
column at a speed, e, gives the loop matrix sum e D^-1 e^T without a forward pass, and the same numbers put
the multipliers back: u += e lam. Redundant rows are those whose pivot vanishes: their multiplier is zero,
the motion is the same; the split of the forces is a matter of outputs (F28).
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.elastic import solve_factor
from flexmbs.expressions import evaluate

#: A pivot below this part of its row's own diagonal is zero: the square of a dependence of 1e-5.
TOLERANCE = 1e-10
#: Nor is one below this part of the largest diagonal: the square of rounding.
ROUNDING = 1e-24


@kernel(lean=True, inner=True)
def coordinates(sys, ws, pos, vel):
    """Joint coordinates and their rates, of the tree and of cut joints. Writes: coord_x, coord_v."""
    for c in range(sys.coord_pos.shape[0]):
        e = sys.coord_entry[c]
        if e < 0:
            ws.coord_x[c], ws.coord_v[c] = pos[sys.coord_pos[c]], vel[sys.coord_vel[c]]
        else:
            ws.coord_x[c], ws.coord_v[c] = ws.ent[e, 0], ws.ent[e, 1]


@kernel(lean=True)
def rows(sys, ws, t, acc):
    """Constraint rows with their rates (F27). Needs relations and coordinates.

    g_ddot belongs to the accelerations `acc` of the velocity stage. Writes: g, g_dot, g_ddot, rowent_c,
    rowdof_c.
    """
    for r in range(sys.row_law.shape[0]):
        g, g_dot, g_ddot = -sys.row_const[r], 0.0, 0.0
        d = sys.row_law[r]
        if d >= 0:
            g, g_dot, g_ddot = g - ws.drive_x[d], -ws.drive_v[d], -ws.drive_a[d]
        if sys.row_expr[r] >= 0:
            expression_row(sys, ws, r, t)
            g, g_dot, g_ddot = g + ws.out3[0], g_dot + ws.out3[1], g_ddot + ws.out3[2]
        for k in range(sys.rowent_start[r], sys.rowent_start[r + 1]):
            e = sys.rowent[k]
            if sys.rowent_coord[k] < 0:
                c = sys.rowent_coef[k]
                ws.rowent_c[k] = c
                g, g_dot = g + c * ws.ent[e, 0], g_dot + c * ws.ent[e, 1]
            g_ddot += ws.rowent_c[k] * ws.ent[e, 2]
        for k in range(sys.rowdof_start[r], sys.rowdof_start[r + 1]):
            j = sys.rowdof_coord[k]
            if sys.rowdof_expr[k] == 0:
                c = sys.rowdof_coef[k]
                ws.rowdof_c[k] = c
                g, g_dot = g + c * ws.coord_x[j], g_dot + c * ws.coord_v[j]
            g_ddot += ws.rowdof_c[k] * acc[sys.coord_vel[j]]
        ws.g[r], ws.g_dot[r], ws.g_ddot[r] = g, g_dot, g_ddot


@kernel(lean=True, inner=True)
def expression_row(sys, ws, r, t):
    """Expression of row r: derivatives by its coordinates, then value and rates along the motion.

    Rates of rates are left out here: they come with the second rates of the coordinates. Writes:
    rowent_c, rowdof_c of the expression's coordinates; out3.
    """
    x, k = ws.slots, sys.row_expr[r]
    x[0, 0] = t
    for c in range(sys.coord_pos.shape[0]):
        x[0, 1 + c] = ws.coord_x[c]
    for n in range(sys.rowent_start[r], sys.rowent_start[r + 1]):
        if sys.rowent_coord[n] >= 0:
            ws.rowent_c[n] = slope(sys, ws, k, sys.rowent_coord[n])
    for n in range(sys.rowdof_start[r], sys.rowdof_start[r + 1]):
        if sys.rowdof_expr[n] == 1:
            ws.rowdof_c[n] = slope(sys, ws, k, sys.rowdof_coord[n])
    x[1, 0] = 1.0
    for c in range(sys.coord_pos.shape[0]):
        x[1, 1 + c] = ws.coord_v[c]
    evaluate(sys.row_laws, k, x[0], x[1], x[2], ws.stack, ws.out3)
    x[1, :] = 0.0


@kernel(lean=True, inner=True)
def slope(sys, ws, k, c):
    """Derivative of row expression k by joint coordinate c."""
    x = ws.slots
    x[1, 1 + c] = 1.0
    evaluate(sys.row_laws, k, x[0], x[1], x[2], ws.stack, ws.out3)
    x[1, 1 + c] = 0.0
    return ws.out3[1]


@kernel(lean=True)
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


@kernel(lean=True, inner=True)
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


@kernel(lean=True, inner=True)
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


@kernel(lean=True, inner=True)
def column_up(sys, ws, j, n):
    """Take columns of a group past body path_body[j] (F25). Writes: e, gcol of the parent."""
    i = sys.path_body[j]
    nf, k0, o, e0 = sys.nf[i], sys.o_qd[i], sys.o_E[i], sys.path_e[j]
    first = sys.o_eta[i]
    for r in range(n):
        col = ws.gcol[sys.path_col[j] + r]
        for a in range(nf):
            s = ws.gcol_f[sys.path_mode[j] + a * n + r]
            for row in range(6):
                s += ws.H[k0 + a, row] * col[row]
            ws.e[e0 + (k0 + a - first) * n + r] = s
        if nf > 0:
            solve_factor(sys, ws, i, ws.e, e0 + (k0 - first) * n + r, n)
        for a in range(nf):
            s = ws.e[e0 + (k0 + a - first) * n + r]
            for row in range(6):
                col[row] -= ws.G[o + 6 * a + row] * s
        for k in range(k0 - 1, first - 1, -1):
            if sys.driven[k] >= 0:
                ws.e[e0 + (k - first) * n + r] = 0.0
                continue
            s = ws.e[e0 + (k - first) * n + r]
            for row in range(6):
                s += ws.H[k, row] * col[row]
            ws.e[e0 + (k - first) * n + r] = s
            s /= ws.D[k]
            for row in range(6):
                col[row] -= ws.U[k, row] * s
        if sys.path_parent[j] >= 0:
            column_to_parent(sys, ws, i, sys.path_parent[j], col, r, n)


@kernel(lean=True, inner=True)
def plain_column_up(sys, ws, j, n):
    """Rows of a group on the speeds of body path_body[j]: C_i^T times its columns (F27). Writes: e."""
    i = sys.path_body[j]
    first, k0, e0 = sys.o_eta[i], sys.o_qd[i], sys.path_e[j]
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
            column_to_parent(sys, ws, i, sys.path_parent[j], col, r, n)


@kernel(lean=True, inner=True)
def column_to_parent(sys, ws, i, jp, col, r, n):
    """Add a column of body i to its parent, at the parent's origin and on its modes (F25)."""
    p = sys.parent[i]
    x, y, z = ws.r[i, 0] - ws.r[p, 0], ws.r[i, 1] - ws.r[p, 1], ws.r[i, 2] - ws.r[p, 2]
    to = ws.gcol[sys.path_col[jp] + r]
    to[0] += col[0]
    to[1] += col[1]
    to[2] += col[2]
    to[3] += col[3] + y * col[2] - z * col[1]
    to[4] += col[4] + z * col[0] - x * col[2]
    to[5] += col[5] + x * col[1] - y * col[0]
    for a in range(sys.nf[p]):
        b, s = sys.o_B[i] + 6 * a, 0.0
        for row in range(6):
            s += ws.B[b + row] * col[row]
        ws.gcol_f[sys.path_mode[jp] + a * n + r] += s


@kernel(lean=True)
def loop_matrix(sys, ws):
    """Loop matrix sum e D^-1 e^T in its envelope (F26). Writes: S, S_diag."""
    S = ws.S
    for k in range(S.shape[0]):
        S[k] = 0.0
    for i in range(1, sys.parent.shape[0]):
        first, n_speed = sys.o_eta[i], sys.o_eta[i + 1] - sys.o_eta[i]
        for a in range(sys.body_path_start[i], sys.body_path_start[i + 1]):
            ja = sys.body_path[a]
            ga = sys.path_group[ja]
            ra, na = sys.group_start[ga], sys.group_start[ga + 1] - sys.group_start[ga]
            for b in range(sys.body_path_start[i], sys.body_path_start[i + 1]):
                jb = sys.body_path[b]
                gb = sys.path_group[jb]
                if gb > ga:
                    continue
                rb, nb = sys.group_start[gb], sys.group_start[gb + 1] - sys.group_start[gb]
                for k in range(n_speed):
                    if sys.driven[first + k] >= 0:
                        continue
                    d = 1.0 / ws.D[first + k]
                    ea, eb = sys.path_e[ja] + k * na, sys.path_e[jb] + k * nb
                    for r in range(na):
                        s = d * ws.e[ea + r]
                        if s == 0.0:
                            continue
                        row = sys.env_start[ra + r] - sys.env_first[ra + r] + rb
                        top = min(nb, ra + r + 1 - rb)
                        for c in range(top):
                            S[row + c] += s * ws.e[eb + c]
    for r in range(ws.S_diag.shape[0]):
        k = sys.env_start[r + 1] - 1
        # (F45); a row that is off has no columns: its multiplier comes out as zero
        S[k] = 1.0 if ws.soft[r] < 0.0 else S[k] + ws.soft[r]
        ws.S_diag[r] = S[k]
        if sys.row_massless[r] >= 0:
            # the unknown of (F26a) stands in its own row
            S[k] -= sys.massless[sys.row_massless[r]]


@kernel(lean=True, inner=True)
def natural_size(sys, ws, r):
    """What the diagonal of row r would be if the row moved the whole model: all rows of a loop may vanish."""
    size, mass, turning = 0.0, sys.mass_scale[0], sys.mass_scale[1]
    if not mass > 0.0:
        return size
    for k in range(sys.rowent_start[r], sys.rowent_start[r + 1]):
        c, ent = ws.rowent_c[k], ws.ent[sys.rowent[k]]
        size += c * c * (ent[3] * ent[3] + ent[4] * ent[4] + ent[5] * ent[5]) / mass
        size += c * c * (ent[6] * ent[6] + ent[7] * ent[7] + ent[8] * ent[8]) / turning
    return size


@kernel(lean=True)
def factorise(sys, ws):
    """L D L^T of the loop matrix in its envelope; vanishing pivots mark redundant rows (F28).

    Writes: S (L, with D on the diagonal), redundant. Returns 2 when a motion without inertia is not held by
    any row, else 0.
    """
    S, start, low = ws.S, sys.env_start, sys.env_first
    # a row that vanishes up to rounding (squared) is redundant beside the others, not a row of its own scale
    noise = 0.0
    for r in range(ws.S_diag.shape[0]):
        noise = max(noise, ROUNDING * max(ws.S_diag[r], natural_size(sys, ws, r)))
    for r in range(ws.S_diag.shape[0]):
        row = start[r] - low[r]
        for c in range(low[r], r):
            if ws.redundant[c] == 1:
                S[row + c] = 0.0
                continue
            col = start[c] - low[c]
            s = S[row + c]
            for k in range(max(low[r], low[c]), c):
                s -= S[row + k] * S[col + k]
            S[row + c] = s
        d = S[row + r]
        for c in range(low[r], r):
            if ws.redundant[c] == 0:
                w = S[row + c]
                S[row + c] = w / S[start[c + 1] - 1]
                d -= w * S[row + c]
        if sys.row_massless[r] >= 0:
            # its pivot is what the other rows give it: negative
            if not -d > TOLERANCE * ws.S_diag[r]:
                return 2
            ws.redundant[r] = 0
            S[row + r] = d
        elif d > TOLERANCE * ws.S_diag[r] and d > noise:
            ws.redundant[r] = 0
            S[row + r] = d
        else:
            ws.redundant[r] = 1
            S[row + r] = 1.0
    return 0


@kernel(lean=True)
def solve_rows(sys, ws):
    """Multipliers from the right-hand side (F26). Needs factorise. Writes: lam."""
    S, start, low, lam = ws.S, sys.env_start, sys.env_first, ws.lam
    n = ws.S_diag.shape[0]
    for r in range(n):
        s, row = ws.rhs[r], start[r] - low[r]
        for c in range(low[r], r):
            s -= S[row + c] * lam[c]
        lam[r] = 0.0 if ws.redundant[r] == 1 else s
    for r in range(n):
        lam[r] /= S[start[r + 1] - 1]
    for r in range(n - 1, -1, -1):
        if ws.redundant[r] == 1:
            lam[r] = 0.0
            continue
        row = start[r] - low[r]
        for c in range(low[r], r):
            lam[c] -= S[row + c] * lam[r]


@kernel(lean=True, inner=True)
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


@kernel(lean=True, inner=True)
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
