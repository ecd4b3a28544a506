"""Forces through joints, from the motion as it is (F21, F24): the outputs of a state.

What a joint transmits follows from the bodies outboard of it: their inertia forces at the accelerations
found, less the forces on them. So springs, drives and couplings are in it without being asked.
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.tree.sixes import dot_six, plus_six, put_six, six
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
    """Wrenches of all joints from the forces on the bodies (f_star), multipliers, `own` times coord.tau."""
    n = sys.tree.parent.shape[0]
    for i in range(n):
        put_six(ws.body.f_p, i, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for i in range(n - 1, 0, -1):
        p, f = sys.tree.parent[i], plus_six(six(ws.body.f_p, i), -1.0, six(ws.body.f_star, i))
        put_six(ws.body.f_p, i, f)
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
    i, q, w = sys.joint.body[j], sys.joint.q[j], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if i > 0:
        w = plus_six(w, sys.joint.sign[j], wrench_at(ws.body.f_p[i], between(ws.marker.x, q, ws.body.r, i)))
    for r in range(sys.joint.row[j, 0], sys.joint.row[j, 1] if i == 0 else 0):
        for k in range(sys.term.start[r], sys.term.start[r + 1]):
            c = ws.row.force[r] * ws.row.c_term[k]
            w = plus_six(w, 1.0, times_wrench(c, ws.relation.at[sys.term.relation[k]]))
    for c in range(sys.joint.coord[j, 0], sys.joint.coord[j, 1] if i == 0 else 0):
        w = plus_six(w, 1.0, times_wrench(own * ws.coord.tau[c], ws.relation.at[sys.coord.entry[c]]))
    put_six(ws.joint.reaction, j, w)


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
            w = times_wrench(ws.row.force[r] * ws.row.c_term[k], ws.relation.at[e])
            put_six(ws.joint.reaction, j, plus_six(six(ws.joint.reaction, j), 1.0, w))


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
    s += dot_six(six(ws.tree.H, k), six(ws.body.f_p, i))
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
