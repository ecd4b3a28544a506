"""The recursion: residual of given accelerations, backward pass, forward pass (F22-F24, F43).

All is written for the *change* delta of given accelerations `acc`: forces are replaced by what is missing,
f - M a_hat(acc), so that a_rel drops out, rounding shrinks with the iterations, and the step of (F43) needs
no product Sh a:  (M + Sh) delta = k - M acc. With acc = 0 and gh = bh = 0 it is the plain forward dynamics.
Gravity enters as an acceleration of the whole: a_hat - g.
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.elastic import dense_block, eliminate_modes, solve_transposed

DONE, SINGULAR_ELASTIC, SINGULAR_JOINT = 0, 1, 2
#: A pivot this small against mass and length of the model is rounding: the motion has no inertia.
TINY = 1e-14


@kernel(lean=True)
def backward(sys, ws, gh, bh):
    """Articulated inertia and force of every body, from the tips to the bases (F22), with Sh of (F43).

    Needs residuals. Writes: N, G, U, D, u; M and f become those that reach the joint's inner side.
    Returns a status and the body concerned.
    """
    for k in range(sys.driven.shape[0]):
        ws.K_tau[k] = 0.0
        ws.D_tau[k] = 0.0
    for c in range(sys.coord_vel.shape[0]):
        if sys.coord_vel[c] >= 0:
            ws.K_tau[sys.coord_vel[c]] += ws.K_coord[c]
            ws.D_tau[sys.coord_vel[c]] += ws.D_coord[c]
    for i in range(1, sys.parent.shape[0]):
        if sys.low_rank[i] < 0:
            dense_block(sys, ws, i, gh, bh)
    for i in range(sys.parent.shape[0] - 1, 0, -1):
        if sys.nf[i] > 0 and not eliminate_modes(sys, ws, i, gh, bh):
            return SINGULAR_ELASTIC, i
        if not eliminate_joint(sys, ws, i, gh, bh):
            return SINGULAR_JOINT, i
        if sys.parent[i] > 0:
            to_parent(sys, ws, i)
    return DONE, 0


@kernel(lean=True, inner=True)
def eliminate_joint(sys, ws, i, gh, bh):
    """Take the free speeds of the joint out of M and f, one rank-one downdate each (F22).

    Writes: U, D, u of these speeds; M, f. False when a freedom has no inertia: its D is then zero.
    """
    M, f, H = ws.M[i], ws.f[i], ws.H
    for k in range(sys.o_qd[i] - 1, sys.o_eta[i] - 1, -1):
        if sys.driven[k] >= 0:
            continue
        U = ws.U[k]
        for row in range(6):
            U[row] = 0.0
        for col in range(6):  # M is symmetric: a row at a time
            h = H[k, col]
            for row in range(6):
                U[row] += M[col, row] * h
        d = gh * ws.D_tau[k] + bh * ws.K_tau[k] + sys.massless[k]
        u = ws.tau[k]
        for row in range(6):
            d += H[k, row] * U[row]
            u += H[k, row] * f[row]
        x = H[k, 0] * H[k, 0] + H[k, 1] * H[k, 1] + H[k, 2] * H[k, 2]
        y = H[k, 3] * H[k, 3] + H[k, 4] * H[k, 4] + H[k, 5] * H[k, 5]
        if not d > TINY * (x * sys.mass_scale[0] + y * sys.mass_scale[1]):
            ws.D[k] = 0.0
            return False
        ws.D[k], ws.u[k] = d, u
        d = 1.0 / d
        u *= d
        for row in range(6):
            s = d * U[row]
            f[row] -= U[row] * u
            for col in range(6):
                M[row, col] -= s * U[col]
    return True


@kernel(lean=True, inner=True)
def to_parent(sys, ws, i):
    """Add M and f of body i to its parent, moved to the parent's origin and modes (F22).

    Only the 6x6 part leaves a body: the lower rows of B vanish. Writes: M, f, M_f, N, tau of the parent.
    """
    p = sys.parent[i]
    M, f, Mp, fp = ws.M[i], ws.f[i], ws.M[p], ws.f[p]
    x, y, z = ws.r[i, 0] - ws.r[p, 0], ws.r[i, 1] - ws.r[p, 1], ws.r[i, 2] - ws.r[p, 2]
    nf, b0, m0, k0 = sys.nf[p], sys.o_B[i], sys.o_E[p], sys.o_qd[p]
    N = ws.N[sys.o_N[p] : sys.o_N[p] + nf * nf].reshape(nf, nf)
    for a in range(nf):
        # one column of M B at a time
        b = b0 + 6 * a
        c0, c1, c2 = column(M, ws.B, b, 0), column(M, ws.B, b, 1), column(M, ws.B, b, 2)
        c3, c4, c5 = column(M, ws.B, b, 3), column(M, ws.B, b, 4), column(M, ws.B, b, 5)
        for c in range(a, nf if sys.low_rank[p] < 0 else 0):
            e = b0 + 6 * c
            N[c, a] += (
                ws.B[e] * c0 + ws.B[e + 1] * c1 + ws.B[e + 2] * c2
                + ws.B[e + 3] * c3 + ws.B[e + 4] * c4 + ws.B[e + 5] * c5
            )  # fmt: skip
        m = m0 + 6 * a
        ws.M_f[m] += c0
        ws.M_f[m + 1] += c1
        ws.M_f[m + 2] += c2
        ws.M_f[m + 3] += c3 + y * c2 - z * c1
        ws.M_f[m + 4] += c4 + z * c0 - x * c2
        ws.M_f[m + 5] += c5 + x * c1 - y * c0
        s = 0.0
        for row in range(6):
            s += ws.B[b + row] * f[row]
        ws.tau[k0 + a] += s
    fp[0] += f[0]
    fp[1] += f[1]
    fp[2] += f[2]
    fp[3] += f[3] + y * f[2] - z * f[1]
    fp[4] += f[4] + z * f[0] - x * f[2]
    fp[5] += f[5] + x * f[1] - y * f[0]
    shift_inertia(M, x, y, z, Mp)


@kernel(inline=True)
def column(M, B, b, row):
    """Row `row` of M times six numbers of B."""
    s = 0.0
    for k in range(6):
        s += M[row, k] * B[b + k]
    return s


@kernel(inline=True)
def shift_inertia(M, x, y, z, Mp):
    """Mp += S^T M S for S = [1, -(x, y, z)~; 0, 1] (F22). M stays."""
    for row in range(3):
        a, b, c = M[row, 0], M[row, 1], M[row, 2]
        # linear rows: [A, A X + B]; its lower right part needs them too
        p, q, s = M[row, 3] + y * c - z * b, M[row, 4] + z * a - x * c, M[row, 5] + x * b - y * a
        Mp[row, 0] += a
        Mp[row, 1] += b
        Mp[row, 2] += c
        Mp[row, 3] += p
        Mp[row, 4] += q
        Mp[row, 5] += s
        Mp[3, row] += p
        Mp[4, row] += q
        Mp[5, row] += s
    for row in range(3):
        a, b, c = M[3 + row, 0], M[3 + row, 1], M[3 + row, 2]
        Mp[3 + row, 3] += M[3 + row, 3] + y * c - z * b
        Mp[3 + row, 4] += M[3 + row, 4] + z * a - x * c
        Mp[3 + row, 5] += M[3 + row, 5] + x * b - y * a
    for col in range(3):
        # (x, y, z)~ times the upper right block A X + B
        a, b, c = M[0, 0], M[0, 1], M[0, 2]
        if col == 0:
            p = M[0, 3] + y * c - z * b
            q = M[1, 3] + y * M[1, 2] - z * M[1, 1]
            s = M[2, 3] + y * M[2, 2] - z * M[2, 1]
        elif col == 1:
            p = M[0, 4] + z * a - x * c
            q = M[1, 4] + z * M[1, 0] - x * M[1, 2]
            s = M[2, 4] + z * M[2, 0] - x * M[2, 2]
        else:
            p = M[0, 5] + x * b - y * a
            q = M[1, 5] + x * M[1, 1] - y * M[1, 0]
            s = M[2, 5] + x * M[2, 1] - y * M[2, 0]
        Mp[3, 3 + col] += y * s - z * q
        Mp[4, 3 + col] += z * p - x * s
        Mp[5, 3 + col] += x * q - y * p


@kernel(lean=True)
def forward(sys, ws, delta):
    """Changes of all accelerations, from the bases to the tips (F23-F24).

    Needs backward (and u with the multipliers in it). Writes: da, delta. Driven speeds do not change.
    """
    for row in range(6):
        ws.da[0, row] = 0.0
    for i in range(1, sys.parent.shape[0]):
        p = sys.parent[i]
        a, ap = ws.da[i], ws.da[p]
        x, y, z = ws.r[i, 0] - ws.r[p, 0], ws.r[i, 1] - ws.r[p, 1], ws.r[i, 2] - ws.r[p, 2]
        a[0] = ap[0] + ap[4] * z - ap[5] * y
        a[1] = ap[1] + ap[5] * x - ap[3] * z
        a[2] = ap[2] + ap[3] * y - ap[4] * x
        a[3], a[4], a[5] = ap[3], ap[4], ap[5]
        for m in range(sys.nf[p]):
            b, d = sys.o_B[i] + 6 * m, delta[sys.o_qd[p] + m]
            for row in range(6):
                a[row] += ws.B[b + row] * d
        for k in range(sys.o_eta[i], sys.o_qd[i]):
            if sys.driven[k] >= 0:
                delta[k] = 0.0
                continue
            d = ws.u[k]
            for row in range(6):
                d -= ws.U[k, row] * a[row]
            d /= ws.D[k]
            delta[k] = d
            for row in range(6):
                a[row] += ws.H[k, row] * d
        if sys.nf[i] > 0:
            modes_forward(sys, ws, i, a, delta)


@kernel(lean=True, inner=True)
def modes_forward(sys, ws, i, a, delta):
    """Elastic rates of body i from the acceleration `a` before its modes (F23). Writes: delta; a."""
    nf, k0, o = sys.nf[i], sys.o_qd[i], sys.o_E[i]
    for m in range(nf):
        s = ws.u[k0 + m]
        for row in range(6):
            s -= ws.G[o + 6 * m + row] * a[row]
        delta[k0 + m] = s
    solve_transposed(sys, ws, i, delta, k0)
    if sys.mark_row[sys.m_out[i]] < 0:
        return
    for m in range(nf):
        for row in range(6):
            a[row] += ws.H[k0 + m, row] * delta[k0 + m]


@kernel(lean=True)
def tree_forces(sys, ws, out):
    """Residuals on the speeds of the tree: Jt^T f + tau (F30). Needs residuals. Writes: out (n_vel,); f."""
    for i in range(sys.parent.shape[0] - 1, 0, -1):
        p, f = sys.parent[i], ws.f[i]
        for k in range(sys.o_eta[i], sys.o_eta[i + 1]):
            s = ws.tau[k]
            for row in range(6):
                s += ws.H[k, row] * f[row]
            out[k] = s
        for m in range(sys.nf[p]):
            s, b = 0.0, sys.o_B[i] + 6 * m
            for row in range(6):
                s += ws.B[b + row] * f[row]
            ws.tau[sys.o_qd[p] + m] += s
        x, y, z = ws.r[i, 0] - ws.r[p, 0], ws.r[i, 1] - ws.r[p, 1], ws.r[i, 2] - ws.r[p, 2]
        up = ws.f[p]
        up[0] += f[0]
        up[1] += f[1]
        up[2] += f[2]
        up[3] += f[3] + y * f[2] - z * f[1]
        up[4] += f[4] + z * f[0] - x * f[2]
        up[5] += f[5] + x * f[1] - y * f[0]
