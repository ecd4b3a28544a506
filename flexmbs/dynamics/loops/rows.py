"""Constraint rows: joint coordinates, sums of relations, expressions, with their rates (F26, F27)."""

from flexmbs._jit import kernel
from flexmbs.expressions.machine import evaluate


@kernel(lean=True)
def coordinates(sys, ws, pos, vel):
    """Joint coordinates and their rates, of the tree and of cut joints. Writes: coord_x, coord_v."""
    for c in range(sys.coord.pos.shape[0]):
        e = sys.coord.entry[c]
        if e < 0:
            ws.coord.x[c], ws.coord.v[c] = pos[sys.coord.pos[c]], vel[sys.coord.vel[c]]
        else:
            ws.coord.x[c], ws.coord.v[c] = ws.relation.at[e, 0], ws.relation.at[e, 1]


@kernel(lean=True, later="void")
def rows(sys, ws, t, acc):
    """Constraint rows with their rates (F27). Needs relations and coordinates.

    g_ddot belongs to the accelerations `acc` of the velocity stage. Writes: g, g_dot, g_ddot, rowent_c,
    rowdof_c, gap.
    """
    for r in range(sys.row.law.shape[0]):
        g, g_dot, g_ddot = -sys.row.const[r], 0.0, 0.0
        d = sys.row.law[r]
        if d >= 0:
            g, g_dot, g_ddot = g - ws.law.x[d], -ws.law.v[d], -ws.law.a[d]
        if sys.row.expr[r] >= 0:
            expression_row(sys, ws, r, t)
            g, g_dot, g_ddot = g + ws.law.out3[0], g_dot + ws.law.out3[1], g_ddot + ws.law.out3[2]
        for k in range(sys.term.start[r], sys.term.start[r + 1]):
            e = sys.term.relation[k]
            if sys.term.coord[k] < 0:
                c = sys.term.coef[k]
                ws.row.c_term[k] = c
                g, g_dot = g + c * ws.relation.at[e, 0], g_dot + c * ws.relation.at[e, 1]
            g_ddot += ws.row.c_term[k] * ws.relation.at[e, 2]
        for k in range(sys.speed.start[r], sys.speed.start[r + 1]):
            j = sys.speed.coord[k]
            if sys.speed.expr[k] == 0:
                c = sys.speed.coef[k]
                ws.row.c_speed[k] = c
                g, g_dot = g + c * ws.coord.x[j], g_dot + c * ws.coord.v[j]
            g_ddot += ws.row.c_speed[k] * acc[sys.coord.vel[j]]
        if sys.row.side[r] != 0.0:
            ws.row.gap[r] = sys.row.side[r] * g
            if ws.row.soft[r] < 0.0:  # an open contact asks for nothing
                g = g_dot = g_ddot = 0.0
        ws.row.g[r], ws.row.g_dot[r], ws.row.g_ddot[r] = g, g_dot, g_ddot


@kernel(lean=True, later="void")
def expression_row(sys, ws, r, t):
    """Expression of row r: derivatives by its coordinates, then value and rates along the motion.

    Rates of rates are left out here: they come with the second rates of the coordinates. Writes:
    rowent_c, rowdof_c of the expression's coordinates; out3.
    """
    x, k = ws.law.slots, sys.row.expr[r]
    x[0, 0] = t
    for c in range(sys.coord.pos.shape[0]):
        x[0, 1 + c] = ws.coord.x[c]
    for n in range(sys.term.start[r], sys.term.start[r + 1]):
        if sys.term.coord[n] >= 0:
            ws.row.c_term[n] = slope(sys, ws, k, sys.term.coord[n])
    for n in range(sys.speed.start[r], sys.speed.start[r + 1]):
        if sys.speed.expr[n] == 1:
            ws.row.c_speed[n] = slope(sys, ws, k, sys.speed.coord[n])
    x[1, 0] = 1.0
    for c in range(sys.coord.pos.shape[0]):
        x[1, 1 + c] = ws.coord.v[c]
    evaluate(sys.row.laws, k, x[0], x[1], x[2], ws.law.stack, ws.law.out3)
    x[1, :] = 0.0


@kernel(lean=True)
def slope(sys, ws, k, c):
    """Derivative of row expression k by joint coordinate c."""
    x = ws.law.slots
    x[1, 1 + c] = 1.0
    evaluate(sys.row.laws, k, x[0], x[1], x[2], ws.law.stack, ws.law.out3)
    x[1, 1 + c] = 0.0
    return ws.law.out3[1]
