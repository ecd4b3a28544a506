"""The elastic block N_ff of a body, and its factor F with F F^T = N_ff (F22, F24a).

Where mass, stiffness and damping of the modes are diagonal, N_ff = S^2 + V C V^T with S diagonal and V of few
columns: six for every body outboard, twelve for a joint on moving material. With S^-1 V = Q R, Q orthonormal,

    F = S (1 + Q X Q^T),   (1 + X)(1 + X)^T = 1 + R C R^T

which is Woodbury's identity as a factor: everything else sees only products with F^-1, and costs O(k nf).
Elsewhere F is the Cholesky factor. The piece of ws.N of a body holds S^-1, Q by columns, and (1 + X)^-1 - 1.
"""

import math

from flexmbs._jit import kernel


@kernel(lean=True, apart=True)
def dense_block(sys, ws, i, gh, bh):
    """m_ff + Sh of (F43), to which children add (F22). Writes: N of body i."""
    nf, o = sys.nf[i], sys.o_K[i]
    n2 = nf * nf
    for a in range(n2):
        ws.N[sys.o_N[i] + a] = (
            sys.K_data[o + a] + bh * sys.K_data[o + n2 + a] + gh * sys.K_data[o + 2 * n2 + a]
        )


@kernel(lean=True, apart=True, reassociate=True)
def factor_dense(sys, ws, i):
    """Cholesky factor of N_ff, in place, lower (F24a). Needs E in ws.G. False when not positive definite."""
    nf, k0, o, H = sys.nf[i], sys.o_qd[i], sys.o_E[i], ws.H
    N = ws.N[sys.o_N[i] : sys.o_N[i] + nf * nf].reshape(nf, nf)
    if sys.mark_row[sys.m_out[i]] >= 0:
        for a in range(nf):
            for b in range(a + 1):
                s = N[a, b]
                for row in range(6):
                    s += H[k0 + a, row] * ws.G[o + 6 * b + row] + ws.M_f[o + 6 * a + row] * H[k0 + b, row]
                N[a, b] = s
    for a in range(nf):
        for b in range(a + 1):
            s = N[a, b]
            for c in range(b):
                s -= N[a, c] * N[b, c]
            if a == b:
                if not s > 0.0:
                    return False
                N[a, a] = math.sqrt(s)
            else:
                N[a, b] = s / N[b, b]
    return True


@kernel(lean=True)
def low_rank_columns(sys, ws, i):
    """Columns S^-1 V of body i into the place of Q, and C (F24a). Writes: N, low_C."""
    nf, n0, k = sys.nf[i], sys.o_N[i], sys.low_rank[i]
    C = ws.low_C
    for r in range(k):
        for c in range(k):
            C[r, c] = 0.0
    j = 0
    for n in range(sys.child_start[i], sys.child_start[i + 1]):
        child = sys.child[n]
        for row in range(6):
            q = n0 + nf * (1 + j + row)
            for a in range(nf):
                ws.N[q + a] = ws.B[sys.o_B[child] + 6 * a + row] * ws.N[n0 + a]
            for col in range(row, 6):
                C[j + row, j + col] = C[j + col, j + row] = ws.M[child, row, col]
        j += 6
    if j == k:
        return
    # the joint holds moving material: [Y, M_f] with [[M_rr, 1], [1, 0]]
    for row in range(6):
        q = n0 + nf * (1 + j + row)
        for a in range(nf):
            ws.N[q + a] = ws.H[sys.o_qd[i] + a, row] * ws.N[n0 + a]
            ws.N[q + 6 * nf + a] = ws.M_f[sys.o_E[i] + 6 * a + row] * ws.N[n0 + a]
        for col in range(6):
            C[j + row, j + col] = ws.M[i, row, col]
        C[j + row, j + 6 + row] = 1.0
        C[j + 6 + row, j + row] = 1.0


@kernel(lean=True, apart=True, reassociate=True)
def factor_low_rank(sys, ws, i, gh, bh):
    """S^-1, Q, (1 + X)^-1 - 1 of N_ff = S (1 + Q R C R^T Q^T) S (F24a). False when not positive definite."""
    nf, n0, k, o = sys.nf[i], sys.o_N[i], sys.low_rank[i], sys.o_K[i]
    N, R, C, K = ws.N, ws.low_R, ws.low_C, ws.low_K
    for a in range(nf):
        d = o + a * (nf + 1)
        s = sys.K_data[d] + bh * sys.K_data[d + nf * nf] + gh * sys.K_data[d + 2 * nf * nf]
        if not s > 0.0:
            return False
        N[n0 + a] = 1.0 / math.sqrt(s)
    low_rank_columns(sys, ws, i)
    # modified Gram-Schmidt; a column that the others hold is dropped
    for j in range(k):
        q = n0 + nf * (1 + j)
        before = 0.0
        for a in range(nf):
            before += N[q + a] * N[q + a]
        for c in range(j):
            p, s = n0 + nf * (1 + c), 0.0
            for a in range(nf):
                s += N[p + a] * N[q + a]
            R[c, j] = s
            for a in range(nf):
                N[q + a] -= s * N[p + a]
        s = 0.0
        for a in range(nf):
            s += N[q + a] * N[q + a]
        for c in range(j + 1, k):
            R[c, j] = 0.0
        if s > 1e-24 * before:
            R[j, j] = math.sqrt(s)
            s = 1.0 / R[j, j]
        else:
            R[j, j] = s = 0.0
        for a in range(nf):
            N[q + a] *= s
    # K = 1 + R C R^T, lower; R is upper triangular
    for r in range(k):
        for c in range(k):
            s = 0.0
            for m in range(r, k):
                s += R[r, m] * C[m, c]
            K[r, c] = s
    for r in range(k):
        for c in range(r + 1):
            s = 1.0 if r == c else 0.0
            for m in range(c, k):
                s += K[r, m] * R[c, m]
            C[r, c] = s
    # 1 + X = Cholesky factor of K; its inverse by columns
    X = n0 + nf * (1 + k)
    for r in range(k):
        for c in range(r + 1):
            s = C[r, c]
            for m in range(c):
                s -= C[r, m] * C[c, m]
            if r == c:
                if not s > 0.0:
                    return False
                C[r, r] = math.sqrt(s)
            else:
                C[r, c] = s / C[c, c]
    for c in range(k):
        for r in range(c, k):
            s = 1.0 if r == c else 0.0
            for m in range(c, r):
                s -= C[r, m] * N[X + k * m + c]
            N[X + k * r + c] = s / C[r, r]
    for r in range(k):
        N[X + (k + 1) * r] -= 1.0
    return True


@kernel(lean=True, apart=True, reassociate=True)
def solve_factor(sys, ws, i, x, first, step):
    """x <- F^-1 x for the entries x[first], x[first + step], ... of the modes of body i. Writes: x, low_p."""
    nf, n0, k, N, p = sys.nf[i], sys.o_N[i], sys.low_rank[i], ws.N, ws.low_p
    if k < 0:
        for a in range(nf):
            s = x[first + a * step]
            for b in range(a):
                s -= N[n0 + a * nf + b] * x[first + b * step]
            x[first + a * step] = s / N[n0 + a * nf + a]
        return
    for a in range(nf):
        x[first + a * step] *= N[n0 + a]
    for j in range(k):
        s = 0.0
        for a in range(nf):
            s += N[n0 + nf * (1 + j) + a] * x[first + a * step]
        p[j] = s
    X = n0 + nf * (1 + k)
    for j in range(k):
        s = 0.0
        for c in range(j + 1):
            s += N[X + k * j + c] * p[c]
        for a in range(nf):
            x[first + a * step] += s * N[n0 + nf * (1 + j) + a]


@kernel(lean=True, apart=True, reassociate=True)
def solve_six(sys, ws, i, x, first):
    """x <- F^-1 x for six columns at once, six numbers per mode from `first`; low rank only.

    Writes: x, low_p.
    """
    nf, n0, k, N, p = sys.nf[i], sys.o_N[i], sys.low_rank[i], ws.N, ws.low_p
    for c in range(6 * k):
        p[c] = 0.0
    for a in range(nf):
        s, o = N[n0 + a], first + 6 * a
        for r in range(6):
            x[o + r] *= s
        for j in range(k):
            q = N[n0 + nf * (1 + j) + a]
            for r in range(6):
                p[6 * j + r] += q * x[o + r]
    X = n0 + nf * (1 + k)
    for j in range(k - 1, -1, -1):  # row j needs those before it as they were
        s = N[X + k * j + j]
        for r in range(6):
            p[6 * j + r] *= s
        for c in range(j):
            s = N[X + k * j + c]
            for r in range(6):
                p[6 * j + r] += s * p[6 * c + r]
    for a in range(nf):
        o = first + 6 * a
        for j in range(k):
            q = N[n0 + nf * (1 + j) + a]
            for r in range(6):
                x[o + r] += q * p[6 * j + r]


@kernel(lean=True, apart=True, reassociate=True)
def solve_transposed(sys, ws, i, x, first):
    """x <- F^-T x for the modes of body i, contiguous from `first`. Writes: x, low_p."""
    nf, n0, k, N, p = sys.nf[i], sys.o_N[i], sys.low_rank[i], ws.N, ws.low_p
    if k < 0:
        for a in range(nf - 1, -1, -1):
            s = x[first + a] / N[n0 + a * nf + a]
            x[first + a] = s
            for b in range(a):
                x[first + b] -= N[n0 + a * nf + b] * s
        return
    for j in range(k):
        s = 0.0
        for a in range(nf):
            s += N[n0 + nf * (1 + j) + a] * x[first + a]
        p[j] = s
    X = n0 + nf * (1 + k)
    for c in range(k):
        s = 0.0
        for j in range(c, k):
            s += N[X + k * j + c] * p[j]
        for a in range(nf):
            x[first + a] += s * N[n0 + nf * (1 + c) + a]
    for a in range(nf):
        x[first + a] *= N[n0 + a]


@kernel(inline=True)
def mirror(M):
    """Writes: M below its diagonal."""
    for row in range(6):
        for col in range(row):
            M[row, col] = M[col, row]


@kernel(lean=True, apart=True, reassociate=True)
def eliminate_modes(sys, ws, i, gh, bh):
    """Take the elastic coordinates of body i out of M and f (F22, F24a).

    Writes: N (factor), G = F^-1 E^T, u of the elastic speeds; M, f. False when N_ff is not positive definite.
    """
    nf, k0, o = sys.nf[i], sys.o_qd[i], sys.o_E[i]
    M, f, H = ws.M[i], ws.f[i], ws.H
    mirror(M)
    moving = sys.mark_row[sys.m_out[i]] >= 0
    for a in range(nf):
        c, k = o + 6 * a, k0 + a
        s = ws.tau[k]
        for row in range(6):
            e = ws.M_f[c + row]
            if moving:
                for col in range(6):
                    e += M[row, col] * H[k, col]
                s += H[k, row] * f[row]
            ws.G[c + row] = e
        ws.u[k] = s
        ws.D[k] = 1.0
    if sys.low_rank[i] >= 0:
        good = factor_low_rank(sys, ws, i, gh, bh)
    else:
        good = factor_dense(sys, ws, i)
    if not good:
        return False
    if sys.low_rank[i] >= 0:
        solve_six(sys, ws, i, ws.G, o)
    else:
        for row in range(6):
            solve_factor(sys, ws, i, ws.G, o + row, 6)
    solve_factor(sys, ws, i, ws.u, k0, 1)
    for a in range(nf):
        G, u = ws.G[o + 6 * a : o + 6 * a + 6], ws.u[k0 + a]
        for row in range(6):
            g = G[row]
            f[row] -= g * u
            for col in range(6):
                M[row, col] -= g * G[col]
    return True
