"""Kinematics of the tree: poses, velocities and accelerations of bodies and markers (F20).

Sixes are in ground axes: of bodies at their origins, of markers at theirs. Accelerations are carried with
the velocities: those that belong to given rates `acc` of the speeds. So the velocity terms of (F20) never
stand alone, and a solution is always a change of a motion that is known in full.
"""

from flexmbs._jit import kernel
from flexmbs.ffrf.marker import marker_position, marker_velocity
from flexmbs.ffrf.travel import path_rows, travelling_terms
from flexmbs.model.joints.primitives import joint_columns, joint_motion, joint_pose


@kernel(lean=True)
def positions(sys, ws, pos):
    """Poses of all bodies and markers, columns of C_i and B_i (F20).

    Needs the values of drives and travels. Writes: r, R, H, B, mark_x, mark_R, mark_u, mark_Rl,
    mark_theta, L, e_*; and the driven coordinates in pos.
    """
    for k in range(sys.driven.shape[0]):
        d = sys.driven[k]
        if d >= 0:
            pos[sys.driven_pos[k]] = ws.drive_x[d]
    ground = 0
    for row in range(3):
        ws.r[ground, row] = 0.0
        for col in range(3):
            ws.R[ground, row, col] = 1.0 if row == col else 0.0
    place_markers(sys, ws, ground, pos)
    for i in range(1, sys.parent.shape[0]):
        joint_pose(sys, ws, i, pos)
        body_from_outer_marker(sys, ws, i, pos)
        joint_columns(sys, ws, i)
        place_markers(sys, ws, i, pos)
        elastic_columns(sys, ws, i)


@kernel(lean=True, inner=True)
def marker_in_body(sys, ws, i, m, pos):
    """Place and axes of marker m in its body (F18). Writes: mark_u, mark_Rl, mark_theta, L in body axes."""
    t, data, row = sys.mark_travel[m], sys.mark_data, sys.mark_row[m]
    if t < 0 and row < 0:
        return  # it rests in its body, where the workspace was made with it
    if t >= 0 and row >= 0:
        data, row = ws.path_rows, sys.path_row[t]
        path_rows(
            sys.path_knots, sys.path_knot[t], sys.path_knot[t + 1], sys.path_coefs, sys.path_coef[t],
            sys.path_line, t, ws.travel[t], 6 * sys.nf[i], data, row,
        )  # fmt: skip
    marker_position(
        m, sys.nf[i], sys.mark_u0, sys.mark_R0, data, row, sys.mark_K[m],
        pos, sys.o_q[i], ws.mark_u, ws.mark_Rl, ws.mark_theta, ws.L, sys.mark_L[m],
    )  # fmt: skip
    if t >= 0:
        for k in range(3):
            ws.mark_u[m, k] += ws.travel[t, 0, k]


@kernel(lean=True, inner=True)
def body_from_outer_marker(sys, ws, i, pos):
    """Pose of body i from that of marker Q, which joint_pose left in r[i], R[i] (F20)."""
    m = sys.m_out[i]
    marker_in_body(sys, ws, i, m, pos)
    R, Rl = ws.R, ws.mark_Rl
    for row in range(3):
        x, y, z = R[i, row, 0], R[i, row, 1], R[i, row, 2]
        ws.mark_x[m, row] = ws.r[i, row]
        ws.mark_R[m, row, 0], ws.mark_R[m, row, 1], ws.mark_R[m, row, 2] = x, y, z
        # R_IB = R_IQ R_Q^T
        p = x * Rl[m, 0, 0] + y * Rl[m, 0, 1] + z * Rl[m, 0, 2]
        q = x * Rl[m, 1, 0] + y * Rl[m, 1, 1] + z * Rl[m, 1, 2]
        s = x * Rl[m, 2, 0] + y * Rl[m, 2, 1] + z * Rl[m, 2, 2]
        R[i, row, 0], R[i, row, 1], R[i, row, 2] = p, q, s
        ws.r[i, row] -= p * ws.mark_u[m, 0] + q * ws.mark_u[m, 1] + s * ws.mark_u[m, 2]


@kernel(lean=True, inner=True)
def place_markers(sys, ws, i, pos):
    """Poses of the markers of body i in ground, elastic rows turned to ground axes (F18)."""
    R, outer = ws.R, sys.m_out[i]
    for m in range(sys.mark_start[i], sys.mark_start[i + 1]):
        if m != outer or i == 0:
            marker_in_body(sys, ws, i, m, pos)
        for row in range(3 if m != outer or i == 0 else 0):
            x, y, z = R[i, row, 0], R[i, row, 1], R[i, row, 2]
            ws.mark_x[m, row] = ws.r[i, row] + x * ws.mark_u[m, 0] + y * ws.mark_u[m, 1] + z * ws.mark_u[m, 2]
            for c in range(3):
                ws.mark_R[m, row, c] = (
                    x * ws.mark_Rl[m, 0, c] + y * ws.mark_Rl[m, 1, c] + z * ws.mark_Rl[m, 2, c]
                )
        if sys.mark_row[m] >= 0:
            o = sys.mark_L[m]
            for a in range(2 * sys.nf[i]):
                rotate(R, i, ws.L, o + 3 * a)
            x, y, z = ws.mark_theta[m, 0], ws.mark_theta[m, 1], ws.mark_theta[m, 2]
            for row in range(3):
                ws.mark_theta[m, row] = R[i, row, 0] * x + R[i, row, 1] * y + R[i, row, 2] * z


@kernel(inline=True)
def rotate(R, i, x, o):
    """x[o : o + 3] <- R[i] x[o : o + 3]."""
    a, b, c = x[o], x[o + 1], x[o + 2]
    x[o] = R[i, 0, 0] * a + R[i, 0, 1] * b + R[i, 0, 2] * c
    x[o + 1] = R[i, 1, 0] * a + R[i, 1, 1] * b + R[i, 1, 2] * c
    x[o + 2] = R[i, 2, 0] * a + R[i, 2, 1] * b + R[i, 2, 2] * c


@kernel(lean=True, inner=True)
def elastic_columns(sys, ws, i):
    """Elastic columns: Y_i of C_i, and those of B_i from the modes of the parent (F20).

    Writes: H of the elastic speeds, B of body i; both as motions of the origin of body i.
    """
    m, n = sys.m_out[i], sys.m_in[i]
    p, first = sys.parent[i], sys.o_qd[i]
    L, H, B = ws.L, ws.H, ws.B
    x, y, z = ws.r[i, 0] - ws.mark_x[m, 0], ws.r[i, 1] - ws.mark_x[m, 1], ws.r[i, 2] - ws.mark_x[m, 2]
    for a in range(sys.nf[i]):
        k = first + a
        if sys.mark_row[m] < 0:
            for row in range(6):
                H[k, row] = 0.0
            continue
        o = sys.mark_L[m] + 6 * a
        h0, h1, h2 = L[o + 3], L[o + 4], L[o + 5]
        H[k, 0] = -(L[o] + h1 * z - h2 * y)
        H[k, 1] = -(L[o + 1] + h2 * x - h0 * z)
        H[k, 2] = -(L[o + 2] + h0 * y - h1 * x)
        H[k, 3], H[k, 4], H[k, 5] = -h0, -h1, -h2
    if sys.mark_row[n] < 0:
        for a in range(6 * sys.nf[p]):
            B[sys.o_B[i] + a] = 0.0
        return
    x, y, z = ws.r[i, 0] - ws.mark_x[n, 0], ws.r[i, 1] - ws.mark_x[n, 1], ws.r[i, 2] - ws.mark_x[n, 2]
    for a in range(sys.nf[p]):
        o, b = sys.mark_L[n] + 6 * a, sys.o_B[i] + 6 * a
        h0, h1, h2 = L[o + 3], L[o + 4], L[o + 5]
        B[b] = L[o] + h1 * z - h2 * y
        B[b + 1] = L[o + 1] + h2 * x - h0 * z
        B[b + 2] = L[o + 2] + h0 * y - h1 * x
        B[b + 3], B[b + 4], B[b + 5] = h0, h1, h2


@kernel(lean=True)
def velocities(sys, ws, pos, vel, acc):
    """Velocities of all bodies and markers, and their accelerations for the rates `acc` (F20).

    Needs the position stage. Writes: v, a, mark_v, mark_a, mark_rel; and the driven entries of vel and acc.
    """
    for k in range(sys.driven.shape[0]):
        d = sys.driven[k]
        if d >= 0:
            vel[k], acc[k] = ws.drive_v[d], ws.drive_a[d]
    for row in range(6):
        ws.v[0, row] = 0.0
        ws.a[0, row] = 0.0
    move_markers(sys, ws, 0, pos, vel, acc)
    for i in range(1, sys.parent.shape[0]):
        joint_motion(sys, ws, i, vel, acc)
        body_from_outer_motion(sys, ws, i, pos, vel, acc)
        move_markers(sys, ws, i, pos, vel, acc)


@kernel(lean=True, inner=True)
def marker_relative(sys, ws, i, m, pos, vel, acc):
    """Motion of marker m within body i: velocities, and rates beside the terms in w (F18, F18a).

    Writes: mark_rel[m] = [Phi q_dot; w_rel; their rates as seen in the body], ground axes.
    """
    rel = ws.mark_rel[m]
    row, o = sys.mark_row[m], sys.mark_L[m]
    if row < 0 and sys.mark_travel[m] < 0:
        return  # zero from the start
    marker_velocity(
        m,
        sys.nf[i],
        sys.mark_data,
        row,
        sys.mark_K[m],
        vel,
        sys.o_qd[i],
        ws.mark_theta,
        ws.L,
        o,
        ws.R,
        i,
        rel,
    )
    t = sys.mark_travel[m]
    if t >= 0 and row >= 0:
        travelling_terms(
            m, sys.nf[i], pos, sys.o_q[i], vel, sys.o_qd[i], ws.mark_theta, ws.path_rows, sys.path_row[t],
            ws.R, i, rel,
        )  # fmt: skip
    if row >= 0:
        for a in range(sys.nf[i]):
            q_ddot = acc[sys.o_qd[i] + a]
            for k in range(6):
                rel[6 + k] += ws.L[o + 6 * a + k] * q_ddot
    if t >= 0:
        R = ws.R
        for k in range(3):
            for c in range(3):
                rel[k] += R[i, k, c] * ws.travel[t, 1, c]
                rel[6 + k] += R[i, k, c] * ws.travel[t, 2, c]


@kernel(lean=True, inner=True)
def body_from_outer_motion(sys, ws, i, pos, vel, acc):
    """Motion of body i from that of marker Q, which joint_motion left in v[i], a[i] (F20)."""
    m = sys.m_out[i]
    marker_relative(sys, ws, i, m, pos, vel, acc)
    rel, v, a = ws.mark_rel[m], ws.v[i], ws.a[i]
    for k in range(6):
        ws.mark_v[m, k], ws.mark_a[m, k] = v[k], a[k]
    wx, wy, wz = v[3] - rel[3], v[4] - rel[4], v[5] - rel[5]
    ax = a[3] - rel[9] - (wy * rel[5] - wz * rel[4])
    ay = a[4] - rel[10] - (wz * rel[3] - wx * rel[5])
    az = a[5] - rel[11] - (wx * rel[4] - wy * rel[3])
    x, y, z = mark_lever(sys, ws, i, m)
    px, py, pz = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
    v[0] -= px + rel[0]
    v[1] -= py + rel[1]
    v[2] -= pz + rel[2]
    px, py, pz = px + 2.0 * rel[0], py + 2.0 * rel[1], pz + 2.0 * rel[2]
    a[0] -= rel[6] + ay * z - az * y + wy * pz - wz * py
    a[1] -= rel[7] + az * x - ax * z + wz * px - wx * pz
    a[2] -= rel[8] + ax * y - ay * x + wx * py - wy * px
    v[3], v[4], v[5] = wx, wy, wz
    a[3], a[4], a[5] = ax, ay, az


@kernel(inline=True)
def mark_lever(sys, ws, i, m):
    """From the origin of body i to marker m, ground axes."""
    return (
        ws.mark_x[m, 0] - ws.r[i, 0],
        ws.mark_x[m, 1] - ws.r[i, 1],
        ws.mark_x[m, 2] - ws.r[i, 2],
    )


@kernel(lean=True, inner=True)
def move_markers(sys, ws, i, pos, vel, acc):
    """Velocities and accelerations of the markers of body i (F18). Writes: mark_v, mark_a, mark_rel."""
    outer = sys.m_out[i]
    v, a = ws.v[i], ws.a[i]
    wx, wy, wz = v[3], v[4], v[5]
    ax, ay, az = a[3], a[4], a[5]
    for m in range(sys.mark_start[i], sys.mark_start[i + 1]):
        if m == outer and i > 0:
            continue  # it is where the body's motion comes from
        marker_relative(sys, ws, i, m, pos, vel, acc)
        rel, mv, ma = ws.mark_rel[m], ws.mark_v[m], ws.mark_a[m]
        x, y, z = mark_lever(sys, ws, i, m)
        px, py, pz = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
        mv[0], mv[1], mv[2] = v[0] + px + rel[0], v[1] + py + rel[1], v[2] + pz + rel[2]
        mv[3], mv[4], mv[5] = wx + rel[3], wy + rel[4], wz + rel[5]
        px, py, pz = px + 2.0 * rel[0], py + 2.0 * rel[1], pz + 2.0 * rel[2]
        ma[0] = a[0] + ay * z - az * y + wy * pz - wz * py + rel[6]
        ma[1] = a[1] + az * x - ax * z + wz * px - wx * pz + rel[7]
        ma[2] = a[2] + ax * y - ay * x + wx * py - wy * px + rel[8]
        ma[3] = ax + wy * rel[5] - wz * rel[4] + rel[9]
        ma[4] = ay + wz * rel[3] - wx * rel[5] + rel[10]
        ma[5] = az + wx * rel[4] - wy * rel[3] + rel[11]
