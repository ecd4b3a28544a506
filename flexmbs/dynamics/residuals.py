"""Inertia and residual forces of the bodies for given accelerations: f - M a_hat (F12-F14, F21)."""

from flexmbs._jit import kernel
from flexmbs.ffrf.inertia import inertia


@kernel(lean=True)
def masses(sys, ws, pos, vel):
    """Inertia and velocity forces of all bodies (F10-F13). Writes: body_out, rows."""
    for i in range(1, sys.parent.shape[0]):
        R, v = ws.R[i], ws.v[i]
        wx = R[0, 0] * v[3] + R[1, 0] * v[4] + R[2, 0] * v[5]
        wy = R[0, 1] * v[3] + R[1, 1] * v[4] + R[2, 1] * v[5]
        wz = R[0, 2] * v[3] + R[1, 2] * v[4] + R[2, 2] * v[5]
        inertia(
            sys.block_data, sys.o_block[i], sys.nf[i], sys.n_T[i], sys.n_A[i], sys.n_G[i],
            pos, sys.o_q[i], vel, sys.o_qd[i], wx, wy, wz, ws.body_out, 15 * i, ws.rows, sys.o_rows[i],
        )  # fmt: skip


@kernel(lean=True)
def residuals(sys, ws, pos, vel, acc):
    """What is missing on every body and speed for the accelerations `acc`: f - M a_hat (F21).

    Needs masses, f_app, tau_coord and the velocity stage with the same `acc`. Writes: M, M_f, f, tau.
    """
    for k in range(vel.shape[0]):
        ws.tau[k] = 0.0
    for c in range(sys.coord_vel.shape[0]):
        if sys.coord_vel[c] >= 0:
            ws.tau[sys.coord_vel[c]] += ws.tau_coord[c]
    for i in range(1, sys.parent.shape[0]):
        rigid_residual(sys, ws, i)
        elastic_residual(sys, ws, i, pos, vel, acc)
    for c in range(sys.coord_entry.shape[0]):
        if sys.coord_entry[c] >= 0 and ws.tau_coord[c] != 0.0:
            e = sys.coord_entry[c]
            effort_on_cut(sys, ws, sys.ent_q[e], e, ws.tau_coord[c])
            effort_on_cut(sys, ws, sys.ent_p[e], e, -ws.tau_coord[c])


@kernel(lean=True, inner=True)
def effort_on_cut(sys, ws, m, e, tau):
    """Effort tau on the coordinate of a cut joint, as a wrench on marker m's body (F19). Writes: f, tau."""
    i, q, ent = sys.mark_body[m], sys.ent_q[e], ws.ent[e]
    if i == 0:
        return
    fx, fy, fz = tau * ent[3], tau * ent[4], tau * ent[5]
    x, y, z = ws.mark_x[q, 0] - ws.r[i, 0], ws.mark_x[q, 1] - ws.r[i, 1], ws.mark_x[q, 2] - ws.r[i, 2]
    f = ws.f[i]
    f[0] += fx
    f[1] += fy
    f[2] += fz
    f[3] += tau * ent[6] + y * fz - z * fy
    f[4] += tau * ent[7] + z * fx - x * fz
    f[5] += tau * ent[8] + x * fy - y * fx
    if sys.mark_row[m] < 0:
        return
    x, y, z = (
        ws.mark_x[q, 0] - ws.mark_x[m, 0],
        ws.mark_x[q, 1] - ws.mark_x[m, 1],
        ws.mark_x[q, 2] - ws.mark_x[m, 2],
    )
    mx, my, mz = (
        tau * ent[6] + y * fz - z * fy,
        tau * ent[7] + z * fx - x * fz,
        tau * ent[8] + x * fy - y * fx,
    )
    for a in range(sys.nf[i]):
        b = sys.mark_L[m] + 6 * a
        ws.tau[sys.o_qd[i] + a] += (
            ws.L[b] * fx + ws.L[b + 1] * fy + ws.L[b + 2] * fz
            + ws.L[b + 3] * mx + ws.L[b + 4] * my + ws.L[b + 5] * mz
        )  # fmt: skip


@kernel(lean=True, inner=True)
def rigid_residual(sys, ws, i):
    """Rigid rows of body i: inertia turned to ground axes, residual force (F12). Writes: M, f of body i."""
    R, M, f, o, b, p = ws.R[i], ws.M[i], ws.f[i], ws.body_out, 15 * i, sys.o_f[i]
    mass = sys.block_data[sys.o_block[i]]
    # S_t and the applied and velocity forces
    x, y, z = o[b], o[b + 1], o[b + 2]
    f0, f1, f2 = o[b + 9] + ws.f_app[p], o[b + 10] + ws.f_app[p + 1], o[b + 11] + ws.f_app[p + 2]
    n0, n1, n2 = o[b + 12] + ws.f_app[p + 3], o[b + 13] + ws.f_app[p + 4], o[b + 14] + ws.f_app[p + 5]
    sx = R[0, 0] * x + R[0, 1] * y + R[0, 2] * z
    sy = R[1, 0] * x + R[1, 1] * y + R[1, 2] * z
    sz = R[2, 0] * x + R[2, 1] * y + R[2, 2] * z
    for row in range(3):
        for col in range(3):
            M[row, col] = mass if row == col else 0.0
        f[row] = R[row, 0] * f0 + R[row, 1] * f1 + R[row, 2] * f2
        f[3 + row] = R[row, 0] * n0 + R[row, 1] * n1 + R[row, 2] * n2
        # R Theta, row by row, then times R^T
        a, c, d = R[row, 0], R[row, 1], R[row, 2]
        t0 = a * o[b + 3] + c * o[b + 4] + d * o[b + 5]
        t1 = a * o[b + 4] + c * o[b + 6] + d * o[b + 7]
        t2 = a * o[b + 5] + c * o[b + 7] + d * o[b + 8]
        for col in range(3):
            M[3 + row, 3 + col] = t0 * R[col, 0] + t1 * R[col, 1] + t2 * R[col, 2]
    M[0, 3], M[0, 4], M[0, 5] = 0.0, sz, -sy
    M[1, 3], M[1, 4], M[1, 5] = -sz, 0.0, sx
    M[2, 3], M[2, 4], M[2, 5] = sy, -sx, 0.0
    ax, ay, az = ws.a[i, 0] - sys.grav[0], ws.a[i, 1] - sys.grav[1], ws.a[i, 2] - sys.grav[2]
    bx, by, bz = ws.a[i, 3], ws.a[i, 4], ws.a[i, 5]
    f[0] -= mass * ax + by * sz - bz * sy
    f[1] -= mass * ay + bz * sx - bx * sz
    f[2] -= mass * az + bx * sy - by * sx
    f[3] -= sy * az - sz * ay + M[3, 3] * bx + M[3, 4] * by + M[3, 5] * bz
    f[4] -= sz * ax - sx * az + M[4, 3] * bx + M[4, 4] * by + M[4, 5] * bz
    f[5] -= sx * ay - sy * ax + M[5, 3] * bx + M[5, 4] * by + M[5, 5] * bz
    for row in range(3):
        for col in range(3):
            M[3 + row, col] = M[col, 3 + row]


@kernel(lean=True, inner=True)
def elastic_residual(sys, ws, i, pos, vel, acc):
    """Elastic rows of body i with elastic and damping forces (F12, F14). Writes: M_f, tau of body i; f."""
    R, f, a = ws.R, ws.f[i], ws.a[i]
    nf, k0, q0, o, r = sys.nf[i], sys.o_qd[i], sys.o_q[i], sys.o_E[i], sys.o_rows[i]
    ax, ay, az = a[0] - sys.grav[0], a[1] - sys.grav[1], a[2] - sys.grav[2]
    mff, K, D = sys.o_K[i], sys.o_K[i] + nf * nf, sys.o_K[i] + 2 * nf * nf
    for m in range(nf):
        c = o + 6 * m
        for row in range(6):
            ws.M_f[c + row] = ws.rows[r + 7 * m + row]
        rotate_six(R, i, ws.M_f, c)
        s = ws.rows[r + 7 * m + 6] + ws.f_app[sys.o_f[i] + 6 + m]
        s -= ws.M_f[c] * ax + ws.M_f[c + 1] * ay + ws.M_f[c + 2] * az
        s -= ws.M_f[c + 3] * a[3] + ws.M_f[c + 4] * a[4] + ws.M_f[c + 5] * a[5]
        row_m, row_K, row_D = mff + nf * m, K + nf * m, D + nf * m
        lo, hi = (m, m + 1) if sys.low_rank[i] >= 0 else (0, nf)
        for n in range(lo, hi):
            s -= sys.K_data[row_m + n] * acc[k0 + n]
            s -= sys.K_data[row_K + n] * pos[q0 + n] + sys.K_data[row_D + n] * vel[k0 + n]
        ws.tau[k0 + m] = s
        for row in range(6):
            f[row] -= ws.M_f[c + row] * acc[k0 + m]


@kernel(inline=True)
def rotate_six(R, i, x, o):
    """Two three-vectors in x[o : o + 6] turned by R[i]."""
    for s in (o, o + 3):
        a, b, c = x[s], x[s + 1], x[s + 2]
        x[s] = R[i, 0, 0] * a + R[i, 0, 1] * b + R[i, 0, 2] * c
        x[s + 1] = R[i, 1, 0] * a + R[i, 1, 1] * b + R[i, 1, 2] * c
        x[s + 2] = R[i, 2, 0] * a + R[i, 2, 1] * b + R[i, 2, 2] * c
