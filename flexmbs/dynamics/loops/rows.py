"""Constraint rows: joint coordinates, sums of relations, expressions, with their rates (F26, F27)."""

from flexmbs._jit import kernel
from flexmbs.expressions import evaluate


@kernel(lean=True)
def coordinates(sys, ws, pos, vel):
    """Joint coordinates and their rates, of the tree and of cut joints. Writes: coord_x, coord_v."""
    for c in range(sys.coord_pos.shape[0]):
        e = sys.coord_entry[c]
        if e < 0:
            ws.coord_x[c], ws.coord_v[c] = pos[sys.coord_pos[c]], vel[sys.coord_vel[c]]
        else:
            ws.coord_x[c], ws.coord_v[c] = ws.ent[e, 0], ws.ent[e, 1]


@kernel(lean=True, apart=True)
def rows(sys, ws, t, acc):
    """Constraint rows with their rates (F27). Needs relations and coordinates.

    g_ddot belongs to the accelerations `acc` of the velocity stage. Writes: g, g_dot, g_ddot, rowent_c,
    rowdof_c, gap.
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
        if sys.row_side[r] != 0.0:
            ws.gap[r] = sys.row_side[r] * g
            if ws.soft[r] < 0.0:  # an open contact asks for nothing
                g = g_dot = g_ddot = 0.0
        ws.g[r], ws.g_dot[r], ws.g_ddot[r] = g, g_dot, g_ddot


@kernel(lean=True, apart=True)
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


@kernel(lean=True)
def slope(sys, ws, k, c):
    """Derivative of row expression k by joint coordinate c."""
    x = ws.slots
    x[1, 1 + c] = 1.0
    evaluate(sys.row_laws, k, x[0], x[1], x[2], ws.stack, ws.out3)
    x[1, 1 + c] = 0.0
    return ws.out3[1]
