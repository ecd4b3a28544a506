"""The recursion: residual of given accelerations, backward pass, forward pass (F22-F24, F43).

All is written for the *change* delta of given accelerations `acc`: forces are replaced by what is missing,
f - M a_hat(acc), so that a_rel drops out, rounding shrinks with the iterations, and the step of (F43) needs
no product Sh a:  (M + Sh) delta = k - M acc. With acc = 0 and gh = bh = 0 it is the plain forward dynamics.
Gravity enters as an acceleration of the whole: a_hat - g.
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.tree.elastic import dense_block, eliminate_modes, mirror, modes_forward

DONE, SINGULAR_ELASTIC, SINGULAR_JOINT = 0, 1, 2
#: A pivot this small against mass and length of the model is rounding: the motion has no inertia.
TINY = 1e-14


@kernel(lean=True, apart=True)
def backward(sys, ws, gh, bh):
    """Articulated inertia and force of every body, from the tips to the bases (F22), with Sh of (F43).

    Needs residuals. Writes: N, G, U, D, u; M and f, which gather those of the bodies outboard.
    Returns a status and the body concerned.
    """
    for k in range(sys.tree.driven.shape[0]):
        ws.tree.K_tau[k] = 0.0
        ws.tree.D_tau[k] = 0.0
    for c in range(sys.coord.vel.shape[0]):
        if sys.coord.vel[c] >= 0:
            ws.tree.K_tau[sys.coord.vel[c]] += ws.coord.K[c]
            ws.tree.D_tau[sys.coord.vel[c]] += ws.coord.D[c]
    for i in range(1, sys.tree.parent.shape[0]):
        if sys.body.nf[i] > 0 and sys.body.low_rank[i] < 0:
            dense_block(sys, ws, i, gh, bh)
    for i in range(sys.tree.parent.shape[0] - 1, 0, -1):
        if sys.body.nf[i] > 0 and not eliminate_modes(sys, ws, i, gh, bh):
            return SINGULAR_ELASTIC, i
        if not past_joint(sys, ws, i, gh, bh):
            return SINGULAR_JOINT, i
    return DONE, 0


@kernel(inline=True)
def six(x, k):
    """x[k] as a tuple."""
    return x[k, 0], x[k, 1], x[k, 2], x[k, 3], x[k, 4], x[k, 5]


@kernel(inline=True)
def put_six(x, k, a):
    """Writes: x[k]."""
    x[k, 0], x[k, 1], x[k, 2], x[k, 3], x[k, 4], x[k, 5] = a


@kernel(inline=True)
def dot_six(a, b):
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@kernel(inline=True)
def plus_six(a, factor, b):
    """a + factor b."""
    return (
        a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2],
        a[3] + factor * b[3], a[4] + factor * b[4], a[5] + factor * b[5],
    )  # fmt: skip


@kernel(inline=True)
def upper(M, i):
    """M[i] on and above the diagonal, row by row, as a tuple."""
    return (
        M[i, 0, 0], M[i, 0, 1], M[i, 0, 2], M[i, 0, 3], M[i, 0, 4], M[i, 0, 5],
        M[i, 1, 1], M[i, 1, 2], M[i, 1, 3], M[i, 1, 4], M[i, 1, 5],
        M[i, 2, 2], M[i, 2, 3], M[i, 2, 4], M[i, 2, 5],
        M[i, 3, 3], M[i, 3, 4], M[i, 3, 5], M[i, 4, 4], M[i, 4, 5], M[i, 5, 5],
    )  # fmt: skip


@kernel(inline=True)
def upper_times(m, h):
    """Symmetric matrix times six numbers."""
    a, b, c, d, e, f = h
    return (
        (m[0] * a + m[1] * b + m[2] * c) + (m[3] * d + m[4] * e + m[5] * f),
        (m[1] * a + m[6] * b + m[7] * c) + (m[8] * d + m[9] * e + m[10] * f),
        (m[2] * a + m[7] * b + m[11] * c) + (m[12] * d + m[13] * e + m[14] * f),
        (m[3] * a + m[8] * b + m[12] * c) + (m[15] * d + m[16] * e + m[17] * f),
        (m[4] * a + m[9] * b + m[13] * c) + (m[16] * d + m[18] * e + m[19] * f),
        (m[5] * a + m[10] * b + m[14] * c) + (m[17] * d + m[19] * e + m[20] * f),
    )  # fmt: skip


@kernel(inline=True)
def downdated(m, u, s):
    """Symmetric matrix less s u u^T."""
    a, b, c, d, e, f = u
    sa, sb, sc, sd, se, sf = s * a, s * b, s * c, s * d, s * e, s * f
    return (
        m[0] - sa * a, m[1] - sa * b, m[2] - sa * c, m[3] - sa * d, m[4] - sa * e, m[5] - sa * f,
        m[6] - sb * b, m[7] - sb * c, m[8] - sb * d, m[9] - sb * e, m[10] - sb * f,
        m[11] - sc * c, m[12] - sc * d, m[13] - sc * e, m[14] - sc * f,
        m[15] - sd * d, m[16] - sd * e, m[17] - sd * f, m[18] - se * e, m[19] - se * f, m[20] - sf * f,
    )  # fmt: skip


@kernel(lean=True, inline=True)
def past_joint(sys, ws, i, gh, bh):
    """Take the free speeds of joint i out of M and f, and add what is left to the parent (F22).

    One rank-one downdate per speed. Only the 6x6 part leaves a body: the lower rows of B vanish.
    Writes: U, D, u of these speeds; of the parent M, f, M_f, N, tau. False when a freedom has no inertia: its
    D is then zero.
    """
    M, f, H = upper(ws.body.M, i), six(ws.body.f, i), ws.tree.H
    for k in range(sys.tree.o_qd[i] - 1, sys.tree.o_eta[i] - 1, -1):
        if sys.tree.driven[k] >= 0:
            continue
        h = six(H, k)
        U = upper_times(M, h)
        d = gh * ws.tree.D_tau[k] + bh * ws.tree.K_tau[k] + sys.tree.massless[k] + dot_six(h, U)
        x, y = h[0] * h[0] + h[1] * h[1] + h[2] * h[2], h[3] * h[3] + h[4] * h[4] + h[5] * h[5]
        if not d > TINY * (x * sys.tree.mass_scale[0] + y * sys.tree.mass_scale[1]):
            ws.tree.D[k] = 0.0
            return False
        u = ws.tree.tau[k] + dot_six(h, f)
        put_six(ws.tree.U, k, U)
        ws.tree.D[k], ws.tree.u[k] = d, u
        s = 1.0 / d
        M = downdated(M, U, s)
        f = plus_six(f, -s * u, U)
    p = sys.tree.parent[i]
    if p > 0:
        if sys.body.nf[p] > 0:
            put_upper(ws.body.M, i, M)
            put_six(ws.body.f, i, f)
            to_modes_of_parent(sys, ws, i)
        add_shifted(
            ws.body.M,
            ws.body.f,
            p,
            M,
            f,
            ws.body.r[i, 0] - ws.body.r[p, 0],
            ws.body.r[i, 1] - ws.body.r[p, 1],
            ws.body.r[i, 2] - ws.body.r[p, 2],
        )
    return True


@kernel(inline=True)
def put_upper(M, i, m):
    """Writes: M[i], all of it."""
    M[i, 0, 0], M[i, 0, 1], M[i, 0, 2], M[i, 0, 3], M[i, 0, 4], M[i, 0, 5] = m[:6]
    M[i, 1, 1], M[i, 1, 2], M[i, 1, 3], M[i, 1, 4], M[i, 1, 5] = m[6:11]
    M[i, 2, 2], M[i, 2, 3], M[i, 2, 4], M[i, 2, 5] = m[11:15]
    M[i, 3, 3], M[i, 3, 4], M[i, 3, 5], M[i, 4, 4], M[i, 4, 5], M[i, 5, 5] = m[15:]
    mirror(M[i])


@kernel(inline=True)
def add_shifted(M, f, p, m, g, x, y, z):
    """M[p] += S^T m S, f[p] += S^T g for S = [1, -(x, y, z)~; 0, 1] (F22). Writes: M[p] (upper), f[p]."""
    # m = [A, B; B^T, D] gives [A, P; ., D - B^T X + X P], P = B - A X
    p0, p1, p2 = m[3] + y * m[2] - z * m[1], m[4] + z * m[0] - x * m[2], m[5] + x * m[1] - y * m[0]
    q0, q1, q2 = m[8] + y * m[7] - z * m[6], m[9] + z * m[1] - x * m[7], m[10] + x * m[6] - y * m[1]
    s0, s1, s2 = m[12] + y * m[11] - z * m[7], m[13] + z * m[2] - x * m[11], m[14] + x * m[7] - y * m[2]
    M[p, 0, 0] += m[0]
    M[p, 0, 1] += m[1]
    M[p, 0, 2] += m[2]
    M[p, 0, 3] += p0
    M[p, 0, 4] += p1
    M[p, 0, 5] += p2
    M[p, 1, 1] += m[6]
    M[p, 1, 2] += m[7]
    M[p, 1, 3] += q0
    M[p, 1, 4] += q1
    M[p, 1, 5] += q2
    M[p, 2, 2] += m[11]
    M[p, 2, 3] += s0
    M[p, 2, 4] += s1
    M[p, 2, 5] += s2
    M[p, 3, 3] += m[15] + (y * m[12] - z * m[8]) + (y * s0 - z * q0)
    M[p, 3, 4] += m[16] + (z * m[3] - x * m[12]) + (y * s1 - z * q1)
    M[p, 3, 5] += m[17] + (x * m[8] - y * m[3]) + (y * s2 - z * q2)
    M[p, 4, 4] += m[18] + (z * m[4] - x * m[13]) + (z * p1 - x * s1)
    M[p, 4, 5] += m[19] + (x * m[9] - y * m[4]) + (z * p2 - x * s2)
    M[p, 5, 5] += m[20] + (x * m[10] - y * m[5]) + (x * q2 - y * p2)
    f[p, 0] += g[0]
    f[p, 1] += g[1]
    f[p, 2] += g[2]
    f[p, 3] += g[3] + y * g[2] - z * g[1]
    f[p, 4] += g[4] + z * g[0] - x * g[2]
    f[p, 5] += g[5] + x * g[1] - y * g[0]


@kernel(lean=True, apart=True)
def to_modes_of_parent(sys, ws, i):
    """Add M and f of body i to the modes of its parent (F22). Needs all of M.

    Writes: M_f, N, tau of the parent.
    """
    p = sys.tree.parent[i]
    M, f = ws.body.M[i], ws.body.f[i]
    x, y, z = (
        ws.body.r[i, 0] - ws.body.r[p, 0],
        ws.body.r[i, 1] - ws.body.r[p, 1],
        ws.body.r[i, 2] - ws.body.r[p, 2],
    )
    nf, b0, m0, k0 = sys.body.nf[p], sys.tree.o_B[i], sys.body.o_E[p], sys.tree.o_qd[p]
    N = ws.elastic.N[sys.body.o_N[p] : sys.body.o_N[p] + nf * nf].reshape(nf, nf)
    for a in range(nf):
        # one column of M B at a time
        b = b0 + 6 * a
        c0, c1, c2 = column(M, ws.tree.B, b, 0), column(M, ws.tree.B, b, 1), column(M, ws.tree.B, b, 2)
        c3, c4, c5 = column(M, ws.tree.B, b, 3), column(M, ws.tree.B, b, 4), column(M, ws.tree.B, b, 5)
        for c in range(a, nf if sys.body.low_rank[p] < 0 else 0):
            e = b0 + 6 * c
            N[c, a] += (
                ws.tree.B[e] * c0 + ws.tree.B[e + 1] * c1 + ws.tree.B[e + 2] * c2
                + ws.tree.B[e + 3] * c3 + ws.tree.B[e + 4] * c4 + ws.tree.B[e + 5] * c5
            )  # fmt: skip
        m = m0 + 6 * a
        ws.elastic.M_f[m] += c0
        ws.elastic.M_f[m + 1] += c1
        ws.elastic.M_f[m + 2] += c2
        ws.elastic.M_f[m + 3] += c3 + y * c2 - z * c1
        ws.elastic.M_f[m + 4] += c4 + z * c0 - x * c2
        ws.elastic.M_f[m + 5] += c5 + x * c1 - y * c0
        s = 0.0
        for row in range(6):
            s += ws.tree.B[b + row] * f[row]
        ws.tree.tau[k0 + a] += s


@kernel(inline=True)
def column(M, B, b, row):
    """Row `row` of M times six numbers of B."""
    s = 0.0
    for k in range(6):
        s += M[row, k] * B[b + k]
    return s


@kernel(lean=True, apart=True)
def forward(sys, ws, delta):
    """Changes of all accelerations, from the bases to the tips (F23-F24).

    Needs backward (and u with the multipliers in it). Writes: da, delta. Driven speeds do not change.
    """
    put_six(ws.body.da, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for i in range(1, sys.tree.parent.shape[0]):
        p = sys.tree.parent[i]
        x, y, z = (
            ws.body.r[i, 0] - ws.body.r[p, 0],
            ws.body.r[i, 1] - ws.body.r[p, 1],
            ws.body.r[i, 2] - ws.body.r[p, 2],
        )
        b = six(ws.body.da, p)
        a = (
            b[0] + b[4] * z - b[5] * y, b[1] + b[5] * x - b[3] * z, b[2] + b[3] * y - b[4] * x,
            b[3], b[4], b[5],
        )  # fmt: skip
        for m in range(sys.body.nf[p]):
            o, d = sys.tree.o_B[i] + 6 * m, delta[sys.tree.o_qd[p] + m]
            B = (
                ws.tree.B[o],
                ws.tree.B[o + 1],
                ws.tree.B[o + 2],
                ws.tree.B[o + 3],
                ws.tree.B[o + 4],
                ws.tree.B[o + 5],
            )
            a = plus_six(a, d, B)
        for k in range(sys.tree.o_eta[i], sys.tree.o_qd[i]):
            if sys.tree.driven[k] >= 0:
                delta[k] = 0.0
                continue
            s = 1.0 / ws.tree.D[k]
            d = s * (ws.tree.u[k] - dot_six(six(ws.tree.U, k), a))
            delta[k] = d
            a = plus_six(a, d, six(ws.tree.H, k))
        put_six(ws.body.da, i, a)
        if sys.body.nf[i] > 0:
            modes_forward(sys, ws, i, ws.body.da[i], delta)


@kernel(lean=True, apart=True)
def tree_forces(sys, ws, out):
    """Residuals on the speeds of the tree: Jt^T f + tau (F30). Needs residuals. Writes: out (n_vel,); f."""
    for i in range(sys.tree.parent.shape[0] - 1, 0, -1):
        p, f = sys.tree.parent[i], ws.body.f[i]
        for k in range(sys.tree.o_eta[i], sys.tree.o_eta[i + 1]):
            s = ws.tree.tau[k]
            for row in range(6):
                s += ws.tree.H[k, row] * f[row]
            out[k] = s
        for m in range(sys.body.nf[p]):
            s, b = 0.0, sys.tree.o_B[i] + 6 * m
            for row in range(6):
                s += ws.tree.B[b + row] * f[row]
            ws.tree.tau[sys.tree.o_qd[p] + m] += s
        x, y, z = (
            ws.body.r[i, 0] - ws.body.r[p, 0],
            ws.body.r[i, 1] - ws.body.r[p, 1],
            ws.body.r[i, 2] - ws.body.r[p, 2],
        )
        up = ws.body.f[p]
        up[0] += f[0]
        up[1] += f[1]
        up[2] += f[2]
        up[3] += f[3] + y * f[2] - z * f[1]
        up[4] += f[4] + z * f[0] - x * f[2]
        up[5] += f[5] + x * f[1] - y * f[0]
