"""Pose and columns of elementary motions, once for all joint types (F19).

An explicit face is a product of screws and at most one ball, run through from the parent to the body. A
joint whose P is on the outer side is run through backwards, each motion with the opposite sign: so its
coordinates keep their meaning.
"""

import math

from flexmbs._jit import kernel


@kernel(inline=True)
def turn_columns(R, i, axis, angle):
    """R[i] <- R[i] times the rotation about an own axis."""
    c, s = math.cos(angle), math.sin(angle)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    for row in range(3):
        a, b = R[i, row, j], R[i, row, k]
        R[i, row, j] = c * a + s * b
        R[i, row, k] = c * b - s * a


@kernel(inline=True)
def turn_by_quaternion(R, i, w, x, y, z):
    """R[i] <- R[i] times the rotation of a quaternion, which need not be of unit length."""
    s = 2.0 / (w * w + x * x + y * y + z * z)
    a, b, c = 1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)
    d, e, f = s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)
    g, h, k = s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)
    for row in range(3):
        p, q, r = R[i, row, 0], R[i, row, 1], R[i, row, 2]
        R[i, row, 0] = p * a + q * d + r * g
        R[i, row, 1] = p * b + q * e + r * h
        R[i, row, 2] = p * c + q * f + r * k


@kernel(inline=True)
def ball_columns(R, i, sign, H, k):
    """Angular columns of a ball, in the axes of R[i]. Writes: H[k : k + 3], zero linear rows."""
    for c in range(3):
        for row in range(3):
            H[k + c, row] = 0.0
            H[k + c, 3 + row] = sign * R[i, row, c]


@kernel(lean=True, inner=True)
def joint_pose(sys, ws, i, pos):
    """Run the joint of body i from marker P to Q (F19).

    Writes: R[i] (ground <- outer marker), r[i] (origin of the outer marker), e_axis, e_point, e_travel, and
    the angular columns of balls in H.
    """
    m = sys.m_in[i]
    R = ws.R
    for row in range(3):
        ws.r[i, row] = ws.mark_x[m, row]
        for col in range(3):
            R[i, row, col] = ws.mark_R[m, row, col]
    for k in range(sys.prim_start[i], sys.prim_start[i + 1]):
        axis, b, turn = sys.prim_axis[k], sys.prim_beta[k], sys.prim_turn[k]
        if axis < 0:
            # speeds are in the axes of Q: those after the ball, or before it when run backwards
            if turn > 0.0:
                turn_by_quaternion(R, i, pos[b], pos[b + 1], pos[b + 2], pos[b + 3])
                ball_columns(R, i, 1.0, ws.H, sys.prim_eta[k])
            else:
                ball_columns(R, i, -1.0, ws.H, sys.prim_eta[k])
                turn_by_quaternion(R, i, pos[b], -pos[b + 1], -pos[b + 2], -pos[b + 3])
            ws.e_travel[k] = 0.0
            for row in range(3):
                ws.e_point[k, row] = ws.r[i, row]
        else:
            s = sys.prim_travel[k] * pos[b]
            ws.e_travel[k] = s
            for row in range(3):
                e = R[i, row, axis]
                ws.e_axis[k, row] = e
                x = ws.r[i, row] + s * e
                ws.r[i, row] = x
                ws.e_point[k, row] = x
            if turn != 0.0:
                turn_columns(R, i, axis, turn * pos[b])


@kernel(lean=True, inner=True)
def joint_columns(sys, ws, i):
    """Columns of C_i for the speeds of the joint, at the origin of body i (F20).

    Needs `joint_pose` and the body's origin in r[i]. Writes: H.
    """
    H = ws.H
    for k in range(sys.prim_start[i], sys.prim_start[i + 1]):
        v, turn, travel = sys.prim_eta[k], sys.prim_turn[k], sys.prim_travel[k]
        x = ws.r[i, 0] - ws.e_point[k, 0]
        y = ws.r[i, 1] - ws.e_point[k, 1]
        z = ws.r[i, 2] - ws.e_point[k, 2]
        if sys.prim_axis[k] < 0:
            for c in range(v, v + 3):
                H[c, 0] = H[c, 4] * z - H[c, 5] * y
                H[c, 1] = H[c, 5] * x - H[c, 3] * z
                H[c, 2] = H[c, 3] * y - H[c, 4] * x
        else:
            ex, ey, ez = ws.e_axis[k, 0], ws.e_axis[k, 1], ws.e_axis[k, 2]
            H[v, 0] = travel * ex + turn * (ey * z - ez * y)
            H[v, 1] = travel * ey + turn * (ez * x - ex * z)
            H[v, 2] = travel * ez + turn * (ex * y - ey * x)
            H[v, 3], H[v, 4], H[v, 5] = turn * ex, turn * ey, turn * ez


@kernel(lean=True, inner=True)
def joint_motion(sys, ws, i, vel, acc):
    """Velocity and acceleration of the outer marker of joint i from those of the inner one (F20).

    The speeds and their rates run through the motions one by one; the terms in w are those of each frame
    reached, so that travel after a turn is right too. Writes: v[i], a[i] of the outer marker's origin.
    """
    m = sys.m_in[i]
    v, a = ws.v, ws.a
    for row in range(6):
        v[i, row] = ws.mark_v[m, row]
        a[i, row] = ws.mark_a[m, row]
    for k in range(sys.prim_start[i], sys.prim_start[i + 1]):
        j, turn, travel = sys.prim_eta[k], sys.prim_turn[k], sys.prim_travel[k]
        wx, wy, wz = v[i, 3], v[i, 4], v[i, 5]
        if sys.prim_axis[k] < 0:
            x = y = z = bx = by = bz = 0.0
            for c in range(3):
                h0, h1, h2 = ws.H[j + c, 3], ws.H[j + c, 4], ws.H[j + c, 5]
                x, y, z = x + h0 * vel[j + c], y + h1 * vel[j + c], z + h2 * vel[j + c]
                bx, by, bz = bx + h0 * acc[j + c], by + h1 * acc[j + c], bz + h2 * acc[j + c]
        else:
            ex, ey, ez = ws.e_axis[k, 0], ws.e_axis[k, 1], ws.e_axis[k, 2]
            rate, rate_dot = vel[j], acc[j]
            if travel != 0.0:
                s, s_dot, s_ddot = ws.e_travel[k], travel * rate, travel * rate_dot
                # w x s e, and twice the sliding velocity for the Coriolis term
                px, py, pz = wy * ez - wz * ey, wz * ex - wx * ez, wx * ey - wy * ex
                tx, ty, tz = s * px + 2.0 * s_dot * ex, s * py + 2.0 * s_dot * ey, s * pz + 2.0 * s_dot * ez
                ax, ay, az = a[i, 3], a[i, 4], a[i, 5]
                v[i, 0] += s * px + s_dot * ex
                v[i, 1] += s * py + s_dot * ey
                v[i, 2] += s * pz + s_dot * ez
                a[i, 0] += s * (ay * ez - az * ey) + wy * tz - wz * ty + s_ddot * ex
                a[i, 1] += s * (az * ex - ax * ez) + wz * tx - wx * tz + s_ddot * ey
                a[i, 2] += s * (ax * ey - ay * ex) + wx * ty - wy * tx + s_ddot * ez
            if turn == 0.0:
                continue
            rate, rate_dot = turn * rate, turn * rate_dot
            x, y, z = rate * ex, rate * ey, rate * ez
            bx, by, bz = rate_dot * ex, rate_dot * ey, rate_dot * ez
        a[i, 3] += wy * z - wz * y + bx
        a[i, 4] += wz * x - wx * z + by
        a[i, 5] += wx * y - wy * x + bz
        v[i, 3] += x
        v[i, 4] += y
        v[i, 5] += z
