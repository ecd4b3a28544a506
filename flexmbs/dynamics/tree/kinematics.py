"""Kinematics of the tree: poses, velocities and accelerations of bodies and markers (F20).

Sixes are in ground axes: of bodies at their origins, of markers at theirs. Accelerations are carried with
the velocities: those that belong to given rates `acc` of the speeds. So the velocity terms of (F20) never
stand alone, and a solution is always a change of a motion that is known in full.
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.tree.sixes import plus_six, put_six, put_six_at, six_at
from flexmbs.ffrf.marker import marker_position, marker_velocity, weighted
from flexmbs.ffrf.travel import path_rows, travelling_terms
from flexmbs.model.primitives import (
    joint_columns,
    joint_motion,
    joint_pose,
    nine,
    put_nine,
    times,
    transposed,
)
from flexmbs.model.vectors import between, twist_at


@kernel(lean=True, apart=True)
def positions(sys, ws, pos):
    """Poses of all bodies and markers, columns of C_i and B_i (F20).

    Needs the values of drives and travels. Writes: r, R, H, B, mark_x, mark_R, mark_u, mark_Rl,
    mark_theta, L, e_*; and the driven coordinates in pos.
    """
    for k in range(sys.tree.driven.shape[0]):
        if sys.tree.driven_pos[k] >= 0:
            pos[sys.tree.driven_pos[k]] = ws.law.x[sys.tree.driven[k]]
    for n in range(sys.tree.attitude_pos.shape[0]):
        if sys.tree.attitude_pos[n] >= 0:
            put_attitude(pos, sys.tree.attitude_pos[n], ws.law.attitude[n])
    for i in range(sys.tree.parent.shape[0]):
        if i == 0:
            ws.body.r[i, 0] = ws.body.r[i, 1] = ws.body.r[i, 2] = 0.0
            put_nine(ws.body.R, i, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
        else:
            x, y, z, R = joint_pose(sys, ws, i, pos)
            body_from_outer_marker(sys, ws, i, pos, x, y, z, R)
            joint_columns(sys, ws, i)
        place_markers(sys, ws, i, pos)
        if sys.body.nf[i] + sys.body.nf[sys.tree.parent[i]] > 0:
            elastic_columns(sys, ws, i)


@kernel(lean=True, later="void")
def put_attitude(pos, b, q):
    """A prescribed quaternion, with the sign that is nearer to the last one. Writes: pos[b : b + 4]."""
    near = pos[b] * q[0] + pos[b + 1] * q[1] + pos[b + 2] * q[2] + pos[b + 3] * q[3]
    sign = -1.0 if near < 0.0 else 1.0
    for c in range(4):
        pos[b + c] = sign * q[c]


@kernel(inline=True)
def rests(sys, m):
    """Whether a marker stays where it is in its body, where the workspace was made with it."""
    return sys.marker.travel[m] < 0 and sys.marker.row[m] < 0


@kernel(lean=True, later="void")
def marker_in_body(sys, ws, i, m, pos):
    """Place and axes of marker m in its body (F18). Writes: mark_u, mark_Rl, mark_theta, L in body axes."""
    t, data, row = sys.marker.travel[m], sys.marker.data, sys.marker.row[m]
    if t >= 0 and row >= 0:
        data, row = ws.travel.rows, sys.travel.o_row[t]
        path = sys.travel.knots, sys.travel.o_knot[t], sys.travel.o_knot[t + 1]
        pieces = sys.travel.coefs, sys.travel.o_coef[t]
        path_rows(path, pieces, sys.travel.line, t, ws.travel.x[t], 6 * sys.body.nf[i], (data, row))
    rest, modes = (sys.marker.u0, sys.marker.R0), (data, row, sys.marker.K[m])
    pose, columns = (ws.marker.u, ws.marker.Rl, ws.marker.theta), (ws.marker.L, sys.marker.L[m])
    marker_position(m, sys.body.nf[i], rest, modes, (pos, sys.body.o_q[i]), pose, columns)
    if t >= 0:
        for k in range(3):
            ws.marker.u[m, k] += ws.travel.x[t, 0, k]


@kernel(lean=True, inline=True)
def body_from_outer_marker(sys, ws, i, pos, x, y, z, R):
    """Pose of body i from that of marker Q, its origin (x, y, z) and its axes (F20)."""
    m = sys.tree.m_out[i]
    if not rests(sys, m):
        marker_in_body(sys, ws, i, m, pos)
    ws.marker.x[m, 0], ws.marker.x[m, 1], ws.marker.x[m, 2] = x, y, z
    put_nine(ws.marker.R, m, R)
    a = times(R, transposed(nine(ws.marker.Rl, m)))  # R_IB = R_IQ R_Q^T
    put_nine(ws.body.R, i, a)
    p, q, s = ws.marker.u[m, 0], ws.marker.u[m, 1], ws.marker.u[m, 2]
    ws.body.r[i, 0] = x - (a[0] * p + a[1] * q + a[2] * s)
    ws.body.r[i, 1] = y - (a[3] * p + a[4] * q + a[5] * s)
    ws.body.r[i, 2] = z - (a[6] * p + a[7] * q + a[8] * s)


@kernel(lean=True, inline=True)
def place_markers(sys, ws, i, pos):
    """Poses of the markers of body i in ground, elastic rows turned to ground axes (F18)."""
    a, outer = nine(ws.body.R, i), sys.tree.m_out[i]
    x, y, z = ws.body.r[i, 0], ws.body.r[i, 1], ws.body.r[i, 2]
    for m in range(sys.marker.start[i], sys.marker.start[i + 1]):
        if m != outer or i == 0:
            if not rests(sys, m):
                marker_in_body(sys, ws, i, m, pos)
            p, q, s = ws.marker.u[m, 0], ws.marker.u[m, 1], ws.marker.u[m, 2]
            ws.marker.x[m, 0] = x + a[0] * p + a[1] * q + a[2] * s
            ws.marker.x[m, 1] = y + a[3] * p + a[4] * q + a[5] * s
            ws.marker.x[m, 2] = z + a[6] * p + a[7] * q + a[8] * s
            put_nine(ws.marker.R, m, times(a, nine(ws.marker.Rl, m)))
        if sys.marker.row[m] >= 0:
            turn_rows(sys, ws, i, m)


@kernel(lean=True, later="void")
def turn_rows(sys, ws, i, m):
    """Elastic rows of marker m from the axes of body i to ground axes. Writes: L, mark_theta."""
    R, o = ws.body.R, sys.marker.L[m]
    for a in range(2 * sys.body.nf[i]):
        rotate(R, i, ws.marker.L, o + 3 * a)
    x, y, z = ws.marker.theta[m, 0], ws.marker.theta[m, 1], ws.marker.theta[m, 2]
    for row in range(3):
        ws.marker.theta[m, row] = R[i, row, 0] * x + R[i, row, 1] * y + R[i, row, 2] * z


@kernel(inline=True)
def rotate(R, i, x, o):
    """x[o : o + 3] <- R[i] x[o : o + 3]."""
    a, b, c = x[o], x[o + 1], x[o + 2]
    x[o] = R[i, 0, 0] * a + R[i, 0, 1] * b + R[i, 0, 2] * c
    x[o + 1] = R[i, 1, 0] * a + R[i, 1, 1] * b + R[i, 1, 2] * c
    x[o + 2] = R[i, 2, 0] * a + R[i, 2, 1] * b + R[i, 2, 2] * c


@kernel(lean=True, later="void")
def elastic_columns(sys, ws, i):
    """Elastic columns: Y_i of C_i, and those of B_i from the modes of the parent (F20).

    Writes: H of the elastic speeds, B of body i; both as motions of the origin of body i.
    """
    m, n, p = sys.tree.m_out[i], sys.tree.m_in[i], sys.tree.parent[i]
    zero, arm = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), between(ws.marker.x, m, ws.body.r, i)
    for a in range(sys.body.nf[i]):
        Y = zero
        if sys.marker.row[m] >= 0:
            Y = plus_six(zero, -1.0, twist_at(six_at(ws.marker.L, sys.marker.L[m] + 6 * a), arm))
        put_six(ws.tree.H, sys.tree.o_qd[i] + a, Y)
    arm = between(ws.marker.x, n, ws.body.r, i)
    for a in range(sys.body.nf[p]):
        B = zero
        if sys.marker.row[n] >= 0:
            B = twist_at(six_at(ws.marker.L, sys.marker.L[n] + 6 * a), arm)
        put_six_at(ws.tree.B, sys.tree.o_B[i] + 6 * a, B)


@kernel(lean=True, apart=True)
def velocities(sys, ws, pos, vel, acc):
    """Velocities of all bodies and markers, and their accelerations for the rates `acc` (F20).

    Needs the position stage. Writes: v, a, mark_v, mark_a, mark_rel; and the driven entries of vel and acc.
    """
    for k in range(sys.tree.driven.shape[0]):
        d = sys.tree.driven[k]
        if d >= 0:
            vel[k], acc[k] = ws.law.v[d], ws.law.a[d]
    for i in range(sys.tree.parent.shape[0]):
        if i == 0:
            for row in range(6):
                ws.body.v[i, row] = 0.0
                ws.body.a[i, row] = 0.0
        else:
            body_from_outer_motion(sys, ws, i, pos, vel, acc, joint_motion(sys, ws, i, vel, acc))
        move_markers(sys, ws, i, pos, vel, acc)


@kernel(lean=True, later="void")
def marker_relative(sys, ws, i, m, pos, vel, acc):
    """Motion of marker m within body i: velocities, and rates beside the terms in w (F18, F18a).

    Writes: mark_rel[m] = [Phi q_dot; w_rel; their rates as seen in the body], ground axes.
    """
    rel = ws.marker.rel[m]
    row, o = sys.marker.row[m], sys.marker.L[m]
    modes, turn = (sys.marker.data, row, sys.marker.K[m]), (ws.body.R, i)
    nf, k0 = sys.body.nf[i], sys.tree.o_qd[i]
    own = ws.marker.L, o, ws.marker.K_rate
    marker_velocity(m, nf, modes, (vel, k0), ws.marker.theta, own, turn, rel)
    t = sys.marker.travel[m]
    if t >= 0 and row >= 0:
        state = pos, sys.body.o_q[i], vel, k0
        columns = ws.travel.rows, sys.travel.o_row[t]
        travelling_terms(m, nf, state, ws.marker.theta, columns, turn, rel)
    if row >= 0:
        put_six_at(rel, 6, plus_six(six_at(rel, 6), 1.0, weighted(ws.marker.L, o, acc[k0 : k0 + nf])))
    if t >= 0:
        R = ws.body.R
        for k in range(3):
            for c in range(3):
                rel[k] += R[i, k, c] * ws.travel.x[t, 1, c]
                rel[6 + k] += R[i, k, c] * ws.travel.x[t, 2, c]


@kernel(inline=True)
def put_motion(v, a, m, motion):
    """Writes: v[m], a[m] from v, w, a, alpha."""
    v[m, 0], v[m, 1], v[m, 2], v[m, 3], v[m, 4], v[m, 5] = motion[:6]
    a[m, 0], a[m, 1], a[m, 2], a[m, 3], a[m, 4], a[m, 5] = motion[6:]


@kernel(lean=True, inline=True)
def body_from_outer_motion(sys, ws, i, pos, vel, acc, motion):
    """Motion of body i from that of marker Q: v, w, a, alpha (F20). Writes: v, a; mark_v, mark_a of Q."""
    m = sys.tree.m_out[i]
    put_motion(ws.marker.v, ws.marker.a, m, motion)
    x, y, z = mark_lever(sys, ws, i, m)
    vx, vy, vz, wx, wy, wz, ax, ay, az, bx, by, bz = motion
    if rests(sys, m):
        px, py, pz = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
        vx, vy, vz = vx - px, vy - py, vz - pz
        ax -= by * z - bz * y + wy * pz - wz * py
        ay -= bz * x - bx * z + wz * px - wx * pz
        az -= bx * y - by * x + wx * py - wy * px
    else:
        marker_relative(sys, ws, i, m, pos, vel, acc)
        rel = ws.marker.rel[m]
        wx, wy, wz = wx - rel[3], wy - rel[4], wz - rel[5]
        bx -= rel[9] + wy * rel[5] - wz * rel[4]
        by -= rel[10] + wz * rel[3] - wx * rel[5]
        bz -= rel[11] + wx * rel[4] - wy * rel[3]
        px, py, pz = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
        vx, vy, vz = vx - px - rel[0], vy - py - rel[1], vz - pz - rel[2]
        px, py, pz = px + 2.0 * rel[0], py + 2.0 * rel[1], pz + 2.0 * rel[2]
        ax -= rel[6] + by * z - bz * y + wy * pz - wz * py
        ay -= rel[7] + bz * x - bx * z + wz * px - wx * pz
        az -= rel[8] + bx * y - by * x + wx * py - wy * px
    put_motion(ws.body.v, ws.body.a, i, (vx, vy, vz, wx, wy, wz, ax, ay, az, bx, by, bz))


@kernel(inline=True)
def mark_lever(sys, ws, i, m):
    """From the origin of body i to marker m, ground axes."""
    return (
        ws.marker.x[m, 0] - ws.body.r[i, 0],
        ws.marker.x[m, 1] - ws.body.r[i, 1],
        ws.marker.x[m, 2] - ws.body.r[i, 2],
    )


@kernel(lean=True, inline=True)
def move_markers(sys, ws, i, pos, vel, acc):
    """Velocities and accelerations of the markers of body i (F18). Writes: mark_v, mark_a, mark_rel."""
    outer, v, a = sys.tree.m_out[i], ws.body.v, ws.body.a
    vx, vy, vz, wx, wy, wz = v[i, 0], v[i, 1], v[i, 2], v[i, 3], v[i, 4], v[i, 5]
    ax, ay, az, bx, by, bz = a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5]
    for m in range(sys.marker.start[i], sys.marker.start[i + 1]):
        if m == outer and i > 0:
            continue  # it is where the body's motion comes from
        x, y, z = mark_lever(sys, ws, i, m)
        px, py, pz = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
        qx, qy, qz = by * z - bz * y, bz * x - bx * z, bx * y - by * x
        if rests(sys, m):
            qx, qy, qz = qx + wy * pz - wz * py, qy + wz * px - wx * pz, qz + wx * py - wy * px
            put_motion(
                ws.marker.v, ws.marker.a, m,
                (vx + px, vy + py, vz + pz, wx, wy, wz, ax + qx, ay + qy, az + qz, bx, by, bz),
            )  # fmt: skip
            continue
        marker_relative(sys, ws, i, m, pos, vel, acc)
        rel, mv, ma = ws.marker.rel[m], ws.marker.v[m], ws.marker.a[m]
        mv[0], mv[1], mv[2] = vx + px + rel[0], vy + py + rel[1], vz + pz + rel[2]
        mv[3], mv[4], mv[5] = wx + rel[3], wy + rel[4], wz + rel[5]
        px, py, pz = px + 2.0 * rel[0], py + 2.0 * rel[1], pz + 2.0 * rel[2]
        ma[0] = ax + qx + wy * pz - wz * py + rel[6]
        ma[1] = ay + qy + wz * px - wx * pz + rel[7]
        ma[2] = az + qz + wx * py - wy * px + rel[8]
        ma[3] = bx + wy * rel[5] - wz * rel[4] + rel[9]
        ma[4] = by + wz * rel[3] - wx * rel[5] + rel[10]
        ma[5] = bz + wx * rel[4] - wy * rel[3] + rel[11]
