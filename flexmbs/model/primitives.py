"""Pose and columns of elementary motions, once for all joint types (F19).

An explicit face is a product of screws and at most one ball, run through from the parent to the body. A
joint whose P is on the outer side is run through backwards, each motion with the opposite sign: so its
coordinates keep their meaning.
"""

import math

from flexmbs._jit import kernel


@kernel(inline=True)
def nine(R, i):
    """R[i] as a tuple, row by row: it stays in registers through a product of motions."""
    return (
        R[i, 0, 0], R[i, 0, 1], R[i, 0, 2], R[i, 1, 0], R[i, 1, 1], R[i, 1, 2],
        R[i, 2, 0], R[i, 2, 1], R[i, 2, 2],
    )  # fmt: skip


@kernel(inline=True)
def put_nine(R, i, a):
    """Writes: R[i]."""
    R[i, 0, 0], R[i, 0, 1], R[i, 0, 2] = a[0], a[1], a[2]
    R[i, 1, 0], R[i, 1, 1], R[i, 1, 2] = a[3], a[4], a[5]
    R[i, 2, 0], R[i, 2, 1], R[i, 2, 2] = a[6], a[7], a[8]


@kernel(inline=True)
def column_of(a, axis):
    """Column of a matrix given row by row."""
    if axis == 2:
        return a[2], a[5], a[8]
    if axis == 1:
        return a[1], a[4], a[7]
    return a[0], a[3], a[6]


@kernel(inline=True)
def turned(a, axis, angle):
    """a times the rotation about an own axis."""
    c, s = math.cos(angle), math.sin(angle)
    if axis == 2:
        return (
            c * a[0] + s * a[1], c * a[1] - s * a[0], a[2], c * a[3] + s * a[4], c * a[4] - s * a[3], a[5],
            c * a[6] + s * a[7], c * a[7] - s * a[6], a[8],
        )  # fmt: skip
    if axis == 1:
        return (
            c * a[0] - s * a[2], a[1], c * a[2] + s * a[0], c * a[3] - s * a[5], a[4], c * a[5] + s * a[3],
            c * a[6] - s * a[8], a[7], c * a[8] + s * a[6],
        )  # fmt: skip
    return (
        a[0], c * a[1] + s * a[2], c * a[2] - s * a[1], a[3], c * a[4] + s * a[5], c * a[5] - s * a[4],
        a[6], c * a[7] + s * a[8], c * a[8] - s * a[7],
    )  # fmt: skip


@kernel(inline=True)
def times(a, b):
    """Product of two matrices given row by row."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6], a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8], a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7], a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6], a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )  # fmt: skip


@kernel(inline=True)
def transposed(a):
    return a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]


@kernel(inline=True)
def of_quaternion(w, x, y, z):
    """Rotation matrix of a quaternion, which need not be of unit length."""
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return (
        1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y),
    )  # fmt: skip


@kernel(inline=True)
def ball_columns(a, sign, H, k):
    """Angular columns of a ball, in the axes of a. Writes: H[k : k + 3], zero linear rows."""
    for c in range(3):
        x, y, z = column_of(a, c)
        H[k + c, 0] = H[k + c, 1] = H[k + c, 2] = 0.0
        H[k + c, 3], H[k + c, 4], H[k + c, 5] = sign * x, sign * y, sign * z


@kernel(lean=True, inline=True)
def joint_pose(sys, ws, i, pos):
    """Run the joint of body i from marker P to Q (F19).

    Writes: e_axis, e_point, e_travel, and the angular columns of balls in H. Returns the origin of the outer
    marker and its axes (ground <- marker).
    """
    m = sys.tree.m_in[i]
    x, y, z = ws.marker.x[m, 0], ws.marker.x[m, 1], ws.marker.x[m, 2]
    R = nine(ws.marker.R, m)
    for k in range(sys.prim.start[i], sys.prim.start[i + 1]):
        axis, b, turn = sys.prim.axis[k], sys.prim.beta[k], sys.prim.turn[k]
        if axis < 0:
            # speeds are in the axes of Q: those after the ball, or before it when run backwards
            if turn > 0.0:
                R = times(R, of_quaternion(pos[b], pos[b + 1], pos[b + 2], pos[b + 3]))
                ball_columns(R, 1.0, ws.tree.H, sys.prim.eta[k])
            else:
                ball_columns(R, -1.0, ws.tree.H, sys.prim.eta[k])
                R = times(R, of_quaternion(pos[b], -pos[b + 1], -pos[b + 2], -pos[b + 3]))
            ws.prim.travel[k] = 0.0
        else:
            s = sys.prim.travel[k] * pos[b]
            p, q, r = column_of(R, axis)
            x, y, z = x + s * p, y + s * q, z + s * r
            ws.prim.travel[k] = s
            ws.prim.axis[k, 0], ws.prim.axis[k, 1], ws.prim.axis[k, 2] = p, q, r
            if turn != 0.0:
                R = turned(R, axis, turn * pos[b])
        ws.prim.point[k, 0], ws.prim.point[k, 1], ws.prim.point[k, 2] = x, y, z
    return x, y, z, R


@kernel(lean=True, inline=True)
def joint_columns(sys, ws, i):
    """Columns of C_i for the speeds of the joint, at the origin of body i (F20).

    Needs `joint_pose` and the body's origin in r[i]. Writes: H.
    """
    H = ws.tree.H
    for k in range(sys.prim.start[i], sys.prim.start[i + 1]):
        v, turn, travel = sys.prim.eta[k], sys.prim.turn[k], sys.prim.travel[k]
        x = ws.body.r[i, 0] - ws.prim.point[k, 0]
        y = ws.body.r[i, 1] - ws.prim.point[k, 1]
        z = ws.body.r[i, 2] - ws.prim.point[k, 2]
        if sys.prim.axis[k] < 0:
            for c in range(v, v + 3):
                H[c, 0] = H[c, 4] * z - H[c, 5] * y
                H[c, 1] = H[c, 5] * x - H[c, 3] * z
                H[c, 2] = H[c, 3] * y - H[c, 4] * x
        else:
            ex, ey, ez = ws.prim.axis[k, 0], ws.prim.axis[k, 1], ws.prim.axis[k, 2]
            H[v, 0] = travel * ex + turn * (ey * z - ez * y)
            H[v, 1] = travel * ey + turn * (ez * x - ex * z)
            H[v, 2] = travel * ez + turn * (ex * y - ey * x)
            H[v, 3], H[v, 4], H[v, 5] = turn * ex, turn * ey, turn * ez


@kernel(lean=True, inline=True)
def joint_motion(sys, ws, i, vel, acc):
    """Velocity and acceleration of the outer marker of joint i from those of the inner one (F20).

    The speeds and their rates run through the motions one by one; the terms in w are those of each frame
    reached, so that travel after a turn is right too. Returns v, w, a, alpha at the outer marker's origin.
    """
    m = sys.tree.m_in[i]
    V, A = ws.marker.v, ws.marker.a
    vx, vy, vz, wx, wy, wz = V[m, 0], V[m, 1], V[m, 2], V[m, 3], V[m, 4], V[m, 5]
    ax, ay, az, px, py, pz = A[m, 0], A[m, 1], A[m, 2], A[m, 3], A[m, 4], A[m, 5]
    for k in range(sys.prim.start[i], sys.prim.start[i + 1]):
        j, turn, travel = sys.prim.eta[k], sys.prim.turn[k], sys.prim.travel[k]
        if sys.prim.axis[k] < 0:
            x = y = z = bx = by = bz = 0.0
            for c in range(3):
                h0, h1, h2 = ws.tree.H[j + c, 3], ws.tree.H[j + c, 4], ws.tree.H[j + c, 5]
                x, y, z = x + h0 * vel[j + c], y + h1 * vel[j + c], z + h2 * vel[j + c]
                bx, by, bz = bx + h0 * acc[j + c], by + h1 * acc[j + c], bz + h2 * acc[j + c]
        else:
            ex, ey, ez = ws.prim.axis[k, 0], ws.prim.axis[k, 1], ws.prim.axis[k, 2]
            rate, rate_dot = vel[j], acc[j]
            if travel != 0.0:
                s, s_dot, s_ddot = ws.prim.travel[k], travel * rate, travel * rate_dot
                # w x s e, and twice the sliding velocity for the Coriolis term
                qx, qy, qz = wy * ez - wz * ey, wz * ex - wx * ez, wx * ey - wy * ex
                tx, ty, tz = s * qx + 2.0 * s_dot * ex, s * qy + 2.0 * s_dot * ey, s * qz + 2.0 * s_dot * ez
                vx, vy, vz = vx + s * qx + s_dot * ex, vy + s * qy + s_dot * ey, vz + s * qz + s_dot * ez
                ax += s * (py * ez - pz * ey) + wy * tz - wz * ty + s_ddot * ex
                ay += s * (pz * ex - px * ez) + wz * tx - wx * tz + s_ddot * ey
                az += s * (px * ey - py * ex) + wx * ty - wy * tx + s_ddot * ez
            rate, rate_dot = turn * rate, turn * rate_dot
            x, y, z = rate * ex, rate * ey, rate * ez
            bx, by, bz = rate_dot * ex, rate_dot * ey, rate_dot * ez
        px, py, pz = px + wy * z - wz * y + bx, py + wz * x - wx * z + by, pz + wx * y - wy * x + bz
        wx, wy, wz = wx + x, wy + y, wz + z
    return vx, vy, vz, wx, wy, wz, ax, ay, az, px, py, pz
