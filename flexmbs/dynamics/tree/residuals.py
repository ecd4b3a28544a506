"""Inertia and residual forces of the bodies for given accelerations: f - M a_hat (F12-F14, F21)."""

from flexmbs._jit import kernel
from flexmbs.dynamics.tree.sixes import plus_six, put_six, put_six_at, six
from flexmbs.ffrf.inertia import inertia, inertia_at_rest
from flexmbs.ffrf.marker import weighted
from flexmbs.model.primitives import nine, times, transposed
from flexmbs.model.vectors import add_wrench_at, between, on_mode, times_wrench, wrench_at


@kernel(lean=True, apart=True)
def masses(sys, ws, pos, vel):
    """Inertia and velocity forces of all bodies (F10-F13). Writes: body_out, rows."""
    for i in range(1, sys.tree.parent.shape[0]):
        R, v = ws.body.R, ws.body.v
        wx = R[i, 0, 0] * v[i, 3] + R[i, 1, 0] * v[i, 4] + R[i, 2, 0] * v[i, 5]
        wy = R[i, 0, 1] * v[i, 3] + R[i, 1, 1] * v[i, 4] + R[i, 2, 1] * v[i, 5]
        wz = R[i, 0, 2] * v[i, 3] + R[i, 1, 2] * v[i, 4] + R[i, 2, 2] * v[i, 5]
        if sys.body.nf[i] == 0:  # what the loop over the modes would add to is all
            inertia_at_rest(sys.body.block_data, sys.body.o_block[i], wx, wy, wz, ws.body.out, 15 * i)
            continue
        sizes = sys.body.nf[i], sys.body.n_T[i], sys.body.n_A[i], sys.body.n_G[i]
        state = pos, sys.body.o_q[i], vel, sys.tree.o_qd[i]
        out = ws.body.out, 15 * i, ws.body.rows, sys.body.o_rows[i]
        inertia(sys.body.block_data, sys.body.o_block[i], sizes, state, (wx, wy, wz), out)


@kernel(lean=True, apart=True)
def residuals(sys, ws, pos, vel, acc):
    """What is missing on every body and speed for the accelerations `acc`: f - M a_hat (F21).

    Needs masses, f_app, tau_coord and the velocity stage with this `acc`. Writes: M_star, M_f, f_star, tau.
    """
    for k in range(vel.shape[0]):
        ws.tree.tau[k] = 0.0
    for c in range(sys.coord.vel.shape[0]):
        if sys.coord.vel[c] >= 0:
            ws.tree.tau[sys.coord.vel[c]] += ws.coord.tau[c]
    for i in range(1, sys.tree.parent.shape[0]):
        rigid_residual(sys, ws, i)
        if sys.body.nf[i] > 0:
            elastic_residual(sys, ws, i, pos, vel, acc)
    for c in range(sys.coord.entry.shape[0]):
        if sys.coord.entry[c] >= 0 and ws.coord.tau[c] != 0.0:
            e = sys.coord.entry[c]
            effort_on_cut(sys, ws, sys.relation.q[e], e, ws.coord.tau[c])
            effort_on_cut(sys, ws, sys.relation.p[e], e, -ws.coord.tau[c])


@kernel(lean=True, later="void")
def effort_on_cut(sys, ws, m, e, tau):
    """Effort on a coordinate of a cut joint, a wrench on the body of marker m (F19). Writes: f_star, tau."""
    i, q, ent = sys.marker.body[m], sys.relation.q[e], ws.relation.at[e]
    if i == 0:
        return
    w = times_wrench(tau, ent)
    add_wrench_at(ws.body.f_star[i], w, between(ws.body.r, i, ws.marker.x, q))
    if sys.marker.row[m] < 0:
        return
    w = wrench_at(w, between(ws.marker.x, m, ws.marker.x, q))
    for a in range(sys.body.nf[i]):
        ws.tree.tau[sys.tree.o_qd[i] + a] += on_mode(ws.marker.L, sys.marker.L[m] + 6 * a, w)


@kernel(lean=True, inline=True)
def rigid_residual(sys, ws, i):
    """Rigid rows of body i: inertia turned to ground axes, residual force (F12).

    Writes: M_star (on and above its diagonal) and f_star of body i.
    """
    M, f, a, o, b, p = ws.body.M_star, ws.body.f_star, ws.body.a, ws.body.out, 15 * i, sys.body.o_f[i]
    R = nine(ws.body.R, i)
    mass = sys.body.block_data[sys.body.o_block[i]]
    x, y, z = turn(R, o[b], o[b + 1], o[b + 2])  # S_t
    # R Theta R^T
    j0, j1, j2, j3, j4, j5 = o[b + 3], o[b + 4], o[b + 5], o[b + 6], o[b + 7], o[b + 8]
    T = times(R, (j0, j1, j2, j1, j3, j4, j2, j4, j5))
    txx, txy, txz, _, tyy, tyz, _, _, tzz = times(T, transposed(R))
    M[i, 0, 0], M[i, 0, 1], M[i, 0, 2] = mass, 0.0, 0.0
    M[i, 0, 3], M[i, 0, 4], M[i, 0, 5] = 0.0, z, -y
    M[i, 1, 1], M[i, 1, 2] = mass, 0.0
    M[i, 1, 3], M[i, 1, 4], M[i, 1, 5] = -z, 0.0, x
    M[i, 2, 2] = mass
    M[i, 2, 3], M[i, 2, 4], M[i, 2, 5] = y, -x, 0.0
    M[i, 3, 3], M[i, 3, 4], M[i, 3, 5], M[i, 4, 4], M[i, 4, 5], M[i, 5, 5] = txx, txy, txz, tyy, tyz, tzz
    # applied and velocity forces
    g = ws.body.f_app
    f0, f1, f2 = turn(R, o[b + 9] + g[p], o[b + 10] + g[p + 1], o[b + 11] + g[p + 2])
    n0, n1, n2 = turn(R, o[b + 12] + g[p + 3], o[b + 13] + g[p + 4], o[b + 14] + g[p + 5])
    ax, ay, az = a[i, 0] - sys.grav[0], a[i, 1] - sys.grav[1], a[i, 2] - sys.grav[2]
    bx, by, bz = a[i, 3], a[i, 4], a[i, 5]
    f[i, 0] = f0 - (mass * ax + by * z - bz * y)
    f[i, 1] = f1 - (mass * ay + bz * x - bx * z)
    f[i, 2] = f2 - (mass * az + bx * y - by * x)
    f[i, 3] = n0 - (y * az - z * ay + txx * bx + txy * by + txz * bz)
    f[i, 4] = n1 - (z * ax - x * az + txy * bx + tyy * by + tyz * bz)
    f[i, 5] = n2 - (x * ay - y * ax + txz * bx + tyz * by + tzz * bz)


@kernel(inline=True)
def turn(R, x, y, z):
    """R times a vector."""
    return R[0] * x + R[1] * y + R[2] * z, R[3] * x + R[4] * y + R[5] * z, R[6] * x + R[7] * y + R[8] * z


@kernel(lean=True, later="void")
def elastic_residual(sys, ws, i, pos, vel, acc):
    """Elastic rows of body i with elastic and damping forces (F12, F14). Writes: M_f, tau of body i; f."""
    R, a = nine(ws.body.R, i), ws.body.a[i]
    nf, k0, q0, o, r = sys.body.nf[i], sys.tree.o_qd[i], sys.body.o_q[i], sys.body.o_E[i], sys.body.o_rows[i]
    ax, ay, az, bx, by, bz = a[0] - sys.grav[0], a[1] - sys.grav[1], a[2] - sys.grav[2], a[3], a[4], a[5]
    mff, K, D = sys.body.o_K[i], sys.body.o_K[i] + nf * nf, sys.body.o_K[i] + 2 * nf * nf
    for m in range(nf):
        row = ws.body.rows[r + 7 * m : r + 7 * m + 7]
        x, y, z = turn(R, row[0], row[1], row[2])
        u, v, w = turn(R, row[3], row[4], row[5])
        put_six_at(ws.elastic.M_f, o + 6 * m, (x, y, z, u, v, w))
        s = row[6] + ws.body.f_app[sys.body.o_f[i] + 6 + m]
        s -= (x * ax + y * ay + z * az) + (u * bx + v * by + w * bz)
        row_m, row_K, row_D = mff + nf * m, K + nf * m, D + nf * m
        lo, hi = (m, m + 1) if sys.body.low_rank[i] >= 0 else (0, nf)
        for n in range(lo, hi):
            s -= sys.body.K_data[row_m + n] * acc[k0 + n]
            s -= sys.body.K_data[row_K + n] * pos[q0 + n] + sys.body.K_data[row_D + n] * vel[k0 + n]
        ws.tree.tau[k0 + m] = s
    put_six(
        ws.body.f_star,
        i,
        plus_six(six(ws.body.f_star, i), -1.0, weighted(ws.elastic.M_f, o, acc[k0 : k0 + nf])),
    )
