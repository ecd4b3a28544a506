"""Factor of an elastic block that is diagonal up to few columns (F24a).

Where mass, stiffness and damping of the modes are diagonal, N_ff = S^2 + V C V^T with S diagonal and V of few
columns: six for every body outboard, twelve for a joint on moving material. With S^-1 V = Q R, Q orthonormal,

    F = S (1 + Q X Q^T),   (1 + X)(1 + X)^T = 1 + R C R^T

which is Woodbury's identity as a factor: everything else sees only products with F^-1, and costs O(k nf).
The piece of elastic.N of a body holds S^-1, Q by columns, and (1 + X)^-1 - 1. Inner loops run over views,
which let the compiler see that their numbers are contiguous: otherwise it leaves them scalar.
"""

import math

from flexmbs._jit import kernel


@kernel(lean=True, apart=True, reassociate=True)
def factor_low_rank(sys, ws, i, gh, bh):
    """S^-1, Q, (1 + X)^-1 - 1 of N_ff = S (1 + Q R C R^T Q^T) S (F24a). False when not positive definite."""
    nf, n0, k, o = sys.body.nf[i], sys.body.o_N[i], sys.body.low_rank[i], sys.body.o_K[i]
    for a in range(nf):
        d = o + a * (nf + 1)
        s = sys.body.K_data[d] + bh * sys.body.K_data[d + nf * nf] + gh * sys.body.K_data[d + 2 * nf * nf]
        if not s > 0.0:
            return False
        ws.elastic.N[n0 + a] = 1.0 / math.sqrt(s)
    if k == 0:
        return True
    low_rank_columns(sys, ws, i)
    orthonormalise(ws.elastic.N, n0 + nf, nf, k, ws.elastic.low_R)
    one_plus_congruent(ws.elastic.low_R, k, ws.elastic.low_C, ws.elastic.low_K)
    X = n0 + nf * (1 + k)
    for r in range(k):
        for c in range(r + 1):
            ws.elastic.N[X + k * r + c] = ws.elastic.low_C[r, c]
    good = inverse_cholesky(ws.elastic.N, X, k)
    for r in range(k):
        ws.elastic.N[X + (k + 1) * r] -= 1.0
    return good


@kernel(lean=True, apart=True, reassociate=True)
def low_rank_columns(sys, ws, i):
    """Columns S^-1 V of body i into the place of Q, and C (F24a). Writes: N, low_C."""
    nf, n0, k = sys.body.nf[i], sys.body.o_N[i], sys.body.low_rank[i]
    C, S = ws.elastic.low_C, ws.elastic.N[n0 : n0 + nf]
    for r in range(k):
        for c in range(k):
            C[r, c] = 0.0
    j = 0
    for n in range(sys.tree.child_start[i], sys.tree.child_start[i + 1]):
        child = sys.tree.child[n]
        B = ws.tree.B[sys.tree.o_B[child] : sys.tree.o_B[child] + 6 * nf].reshape(nf, 6)
        for row in range(6):
            q = ws.elastic.N[n0 + nf * (1 + j + row) : n0 + nf * (2 + j + row)]
            for a in range(nf):
                q[a] = B[a, row] * S[a]
            for col in range(row, 6):
                C[j + row, j + col] = C[j + col, j + row] = ws.body.M_star[child, row, col]
        j += 6
    if j == k:
        return
    # the joint holds moving material: [Y, M_f] with [[M_rr, 1], [1, 0]]
    Y = ws.tree.H[sys.tree.o_qd[i] : sys.tree.o_qd[i] + nf]
    M_f = ws.elastic.M_f[sys.body.o_E[i] : sys.body.o_E[i] + 6 * nf].reshape(nf, 6)
    for row in range(6):
        q = ws.elastic.N[n0 + nf * (1 + j + row) : n0 + nf * (2 + j + row)]
        p = ws.elastic.N[n0 + nf * (7 + j + row) : n0 + nf * (8 + j + row)]
        for a in range(nf):
            q[a] = Y[a, row] * S[a]
            p[a] = M_f[a, row] * S[a]
        for col in range(6):
            C[j + row, j + col] = ws.body.M_star[i, row, col]
        C[j + row, j + 6 + row] = 1.0
        C[j + 6 + row, j + row] = 1.0


@kernel(lean=True, apart=True, reassociate=True)
def orthonormalise(N, first, nf, k, R):
    """Q R of k columns of nf numbers from N[first], by modified Gram-Schmidt. Writes: N, R (upper).

    A column that those before it hold is dropped: it becomes zero.
    """
    for j in range(k):
        q = N[first + nf * j : first + nf * (j + 1)]
        before = 0.0
        for a in range(nf):
            before += q[a] * q[a]
        for c in range(j):
            p = N[first + nf * c : first + nf * (c + 1)]
            s = 0.0
            for a in range(nf):
                s += p[a] * q[a]
            R[c, j] = s
            for a in range(nf):
                q[a] -= s * p[a]
        s = 0.0
        for a in range(nf):
            s += q[a] * q[a]
        for c in range(j + 1, k):
            R[c, j] = 0.0
        if s > 1e-24 * before:
            R[j, j] = math.sqrt(s)
            s = 1.0 / R[j, j]
        else:
            R[j, j] = s = 0.0
        for a in range(nf):
            q[a] *= s


@kernel(lean=True, apart=True, reassociate=True)
def one_plus_congruent(R, k, C, K):
    """C <- 1 + R C R^T for an upper triangular R. Writes: C (lower), K."""
    for r in range(k):
        product = K[r]
        for c in range(k):
            product[c] = 0.0
        for m in range(r, k):
            s, row = R[r, m], C[m]
            for c in range(k):
                product[c] += s * row[c]
    for r in range(k):
        product, out = K[r], C[r]
        for c in range(r + 1):
            s, row = 0.0, R[c]
            for m in range(k):
                s += product[m] * row[m]
            out[c] = s
        out[r] += 1.0


@kernel(lean=True, apart=True, reassociate=True)
def inverse_cholesky(N, first, n):
    """L^-1 in the place of A = L L^T, lower, by rows of n numbers from N[first]. False when not positive."""
    for a in range(n):
        x = N[first + n * a : first + n * (a + 1)]
        for b in range(a + 1):
            s, y = x[b], N[first + n * b : first + n * (b + 1)]
            for c in range(b):
                s -= x[c] * y[c]
            if a > b:
                x[b] = s * y[b]
            elif s > 0.0:
                x[a] = 1.0 / math.sqrt(s)
            else:
                return False
    for a in range(n):
        x = N[first + n * a : first + n * (a + 1)]
        for b in range(a):
            s, y = -x[a] * x[b], N[first + n * b : first + n * (b + 1)]
            x[b] = 0.0
            for c in range(b + 1):
                x[c] += s * y[c]
    return True
