"""Forces through joints, from the motion as it is (F21, F24): the outputs of a state.

What a joint transmits follows from the bodies outboard of it: their inertia forces at the accelerations
found, less the forces on them. So springs, drives and couplings are in it without being asked.
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.loops.fronts import packed, row_at
from flexmbs.model.vectors import add_wrench_at, between, times_wrench, wrench_at


@kernel(lean=True, apart=True)
def reactions(sys, ws):
    """Wrenches of all joints and efforts of drives.

    Needs the velocity stage and `residuals` with the final accelerations, and the multipliers in row_force.
    Writes: f_p, reaction, effort; f.
    """
    push_rows(sys, ws, ws.row.force)
    wrenches_and_efforts(sys, ws)


@kernel(lean=True, apart=True)
def add_stress(sys, ws, stress):
    """The same with the multipliers of a state of self-stress added (F28). Needs reactions.

    Drives are a part of what it loads. Writes: row_force, f_p, reaction, effort; f.
    """
    push_rows(sys, ws, stress)
    for r in range(stress.shape[0]):
        ws.row.force[r] += stress[r]
    wrenches_and_efforts(sys, ws)


@kernel(lean=True, apart=True)
def wrenches_and_efforts(sys, ws):
    """From the forces on the bodies, those of the rows among them. Writes: f_p, reaction, effort."""
    wrenches(sys, ws, 1.0)
    for d in range(sys.drive.coord.shape[0]):
        drive_effort(sys, ws, d)


@kernel(lean=True, apart=True)
def push_rows(sys, ws, multipliers):
    """What multipliers of the rows put on the bodies. Writes: f_star."""
    for r in range(sys.row.law.shape[0]):
        for k in range(sys.term.start[r], sys.term.start[r + 1]):
            e, c = sys.term.relation[k], ws.row.c_term[k] * multipliers[r]
            push(sys, ws, sys.relation.q[e], e, c)
            push(sys, ws, sys.relation.p[e], e, -c)


@kernel(lean=True, apart=True)
def wrenches(sys, ws, own):
    """Wrenches of all joints from the forces on bodies (f_star), multipliers, `own` times coord.tau."""
    n = sys.tree.parent.shape[0]
    for i in range(n):
        for row in range(6):
            ws.body.f_p[i, row] = 0.0
    for i in range(n - 1, 0, -1):
        p, f = sys.tree.parent[i], ws.body.f_p[i]
        for row in range(6):
            f[row] -= ws.body.f_star[i, row]
        add_wrench_at(ws.body.f_p[p], f, between(ws.body.r, p, ws.body.r, i))
    for j in range(sys.joint.body.shape[0]):
        joint_reaction(sys, ws, j, own)
    for r in range(sys.row.law.shape[0]):
        force_on_coordinates(sys, ws, r)


@kernel(lean=True)
def push(sys, ws, m, e, c):
    """c times the wrench of relation e on the rigid rows of the body of marker m. Writes: f_star."""
    i, q = sys.marker.body[m], sys.relation.q[e]
    arm = between(ws.body.r, i, ws.marker.x, q)
    add_wrench_at(ws.body.f_star[i], times_wrench(c, ws.relation.at[e]), arm)


@kernel(lean=True)
def joint_reaction(sys, ws, j, own):
    """Force and moment of P's side on Q's side at the origin of Q. Writes: reaction[j]."""
    out, i, q = ws.joint.reaction[j], sys.joint.body[j], sys.joint.q[j]
    for row in range(6):
        out[row] = 0.0
    if i > 0:
        s, f = sys.joint.sign[j], ws.body.f_p[i]
        w = wrench_at(f, between(ws.marker.x, q, ws.body.r, i))
        for row in range(6):
            out[row] = s * w[row]
        return
    for r in range(sys.joint.row[j, 0], sys.joint.row[j, 1]):
        for k in range(sys.term.start[r], sys.term.start[r + 1]):
            for row in range(6):
                out[row] += ws.row.force[r] * ws.row.c_term[k] * ws.relation.at[sys.term.relation[k], 3 + row]
    for c in range(sys.joint.coord[j, 0], sys.joint.coord[j, 1]):
        for row in range(6):
            out[row] += own * ws.coord.tau[c] * ws.relation.at[sys.coord.entry[c], 3 + row]


@kernel(lean=True)
def force_on_coordinates(sys, ws, r):
    """What drives and couplings put on the coordinates of cut joints passes through these joints.

    In a joint of the tree it is in the wrench that moves the bodies outboard; so no reaction depends on the
    choice of the cut. Writes: reaction.
    """
    for k in range(sys.term.start[r], sys.term.start[r + 1]):
        e = sys.term.relation[k]
        j = sys.relation.joint[e]
        if j >= 0:
            for row in range(6):
                ws.joint.reaction[j, row] += ws.row.force[r] * ws.row.c_term[k] * ws.relation.at[e, 3 + row]


@kernel(lean=True)
def drive_effort(sys, ws, d):
    """Force of a drive: its column of H on the joint's wrench, less the joint's own springs (F19).

    On a ball: components in the axes of Q, one by one.
    """
    c, k = sys.drive.coord[d], sys.drive.vel[d]
    if sys.drive.row[d] >= 0:
        ws.joint.effort[d] = ws.row.force[sys.drive.row[d]]
        return
    i, s = 1, 0.0
    if c >= 0:
        s = -ws.coord.tau[c]
    while sys.tree.o_eta[i + 1] <= k:
        i += 1
    for row in range(6):
        s += ws.tree.H[k, row] * ws.body.f_p[i, row]
    for n in range(sys.speed.coord.shape[0]):
        if c >= 0 and sys.speed.coord[n] == c:
            s -= ws.row.c_speed[n] * ws.row.force[row_of_dof(sys, n)]
    ws.joint.effort[d] = s


@kernel(lean=True)
def row_of_dof(sys, n):
    """Row to which tree coordinate entry n belongs."""
    r = 0
    while sys.speed.start[r + 1] <= n:
        r += 1
    return r


@kernel(lean=True, apart=True)
def self_stress(sys, ws):
    """States of self-stress: null vectors of G^T and the joint wrenches that they make (F28).

    Blocks of loops share no joint: the first states of all of them stand in one vector, then the second ones.
    Needs backward and the position stage. Writes: null, null_n, null_w, row_force; f.
    """
    most = count_stress(sys, ws)
    for a in range(most):
        for r in range(ws.row.redundant.shape[0]):
            ws.null.lam[a, r] = 0.0
    for b in range(ws.null.n.shape[0]):
        ws.null.n[b] = 0
    # in the order of the fronts: states that share joints are neighbours
    for f in range(sys.front.closed.shape[0]):
        for k in range(sys.front.row[f], sys.front.row[f] + sys.front.closed[f]):
            r = ws.loop.order[k]
            b = sys.block.of_group[sys.row.group[r]]
            if ws.row.redundant[r] != 0 and ws.null.n[b] < most:
                null_vector(sys, ws, r, ws.null.lam[ws.null.n[b]])
                ws.null.n[b] += 1
    wrenches_of_stress(sys, ws)


@kernel(lean=True, apart=True)
def wrenches_of_stress(sys, ws):
    """Joint wrenches of the states of self-stress. Needs the position stage. Writes: null_w, row_force; f."""
    most = 0
    for b in range(ws.null.n.shape[0]):
        most = max(most, ws.null.n[b])
    for a in range(most):
        stress_wrenches(sys, ws, ws.null.lam[a], ws.null.w[a])


@kernel(lean=True)
def count_stress(sys, ws):
    """States of self-stress of every block, and the most of one. Writes: null_n."""
    most = 0
    for b in range(ws.null.n.shape[0]):
        ws.null.n[b] = 0
    for r in range(ws.row.redundant.shape[0]):
        b = sys.block.of_group[sys.row.group[r]]
        ws.null.n[b] += ws.row.redundant[r]
        most = max(most, ws.null.n[b])
    return min(most, ws.null.lam.shape[0])


@kernel(lean=True, apart=True)
def stress_wrenches(sys, ws, stress, out):
    """Joint wrenches of a state of self-stress, given by its multipliers (F28).

    Needs the position stage. Writes: out (6 n_joints,), row_force, reaction, f.
    """
    for i in range(ws.body.f_star.shape[0]):
        for row in range(6):
            ws.body.f_star[i, row] = 0.0
    for n in range(ws.row.force.shape[0]):
        ws.row.force[n] = stress[n]
    push_rows(sys, ws, stress)
    wrenches(sys, ws, 0.0)
    for j in range(ws.joint.reaction.shape[0]):
        for row in range(6):
            out[6 * j + row] = ws.joint.reaction[j, row]


@kernel(lean=True)
def null_vector(sys, ws, r, out):
    """The combination of rows that vanishes, with redundant row r (F28). Writes: out in the block of r.

    A unit of its multiplier asks for those that were eliminated before it in its front, and for those of
    loops inside; nothing moves.
    """
    f = sys.front.of_row[r]
    i, k = sys.front.body[f], 0
    while ws.loop.order[sys.front.row[f] + k] != r:
        k += 1
    out[r] = 1.0
    stress_inside(sys, ws, f, k, r, out)
    last = f if f > i else sys.front.branch[i + 1]
    for b in range(last - 1, sys.front.branch[i] - 1, -1):
        stress_inside(sys, ws, b, sys.front.closed[b], r, out)
    for j in range(i + 1, sys.front.last[i]):
        stress_inside(sys, ws, j, sys.front.closed[j], r, out)
        for b in range(sys.front.branch[j + 1] - 1, sys.front.branch[j] - 1, -1):
            stress_inside(sys, ws, b, sys.front.closed[b], r, out)


@kernel(lean=True)
def stress_inside(sys, ws, f, closed, r, out):
    """Multipliers of the first rows of a front under those of the others. Writes: out in the block of r."""
    first, n = sys.front.row[f], sys.front.row[f + 1] - sys.front.row[f]
    block = sys.block.of_group[sys.row.group[r]]
    for k in range(closed - 1, -1, -1):
        s, at = 0.0, sys.front.L[f] + packed(n, k)
        for o in range(k + 1, n):
            s += ws.loop.L_open[at + o] * out[row_at(sys, ws, first + o)]
        if s != 0.0 and sys.block.of_group[sys.row.group[ws.loop.order[first + k]]] == block:  # else rounding
            out[ws.loop.order[first + k]] = -s * ws.loop.pivot_inv[first + k]
