"""The elastic block N_ff of a body, and its factor F with F F^T = N_ff (F22, F24a).

Where the block is diagonal up to few columns its factor is that of `low_rank`, elsewhere it is Cholesky's:
the rest sees only products with F^-1. ws.elastic.G has six rows of nf numbers for a body, from o_E.
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.tree.low_rank import factor_low_rank, inverse_cholesky
from flexmbs.dynamics.tree.sixes import (
    dot_six,
    mirror,
    plus_six,
    put_six,
    six,
    six_at,
    upper,
    upper_times,
)


@kernel(lean=True, later="void")
def dense_block(sys, ws, i, gh, bh):
    """m_ff + Sh of (F43), to which children add (F22). Writes: N of body i."""
    nf, o = sys.body.nf[i], sys.body.o_K[i]
    n2 = nf * nf
    for a in range(n2):
        ws.elastic.N[sys.body.o_N[i] + a] = (
            sys.body.K_data[o + a] + bh * sys.body.K_data[o + n2 + a] + gh * sys.body.K_data[o + 2 * n2 + a]
        )


@kernel(lean=True, apart=True, reassociate=True)
def factor_dense(sys, ws, i):
    """Inverse of the Cholesky factor of N_ff, in its place, lower (F24a). Needs E in G.

    False if N_ff is not positive definite.
    """
    nf, n0, k0, o, N = sys.body.nf[i], sys.body.o_N[i], sys.tree.o_qd[i], sys.body.o_E[i], ws.elastic.N
    G = ws.elastic.G
    for a in range(nf if sys.marker.row[sys.tree.m_out[i]] >= 0 else 0):
        x = N[n0 + nf * a : n0 + nf * (a + 1)]
        h, m = six(ws.tree.H, k0 + a), six_at(ws.elastic.M_f, o + 6 * a)
        for b in range(a + 1):
            p = o + b
            e = G[p], G[p + nf], G[p + 2 * nf], G[p + 3 * nf], G[p + 4 * nf], G[p + 5 * nf]
            x[b] += dot_six(h, e) + dot_six(m, six(ws.tree.H, k0 + b))
    return inverse_cholesky(N, n0, nf)


@kernel(lean=True, apart=True, reassociate=True)
def solve_factor(sys, ws, i, x, first, count):
    """x <- F^-1 x for `count` vectors over the modes of body i, one behind the other. Writes: x, low_p."""
    nf, n0, k, N, p = sys.body.nf[i], sys.body.o_N[i], sys.body.low_rank[i], ws.elastic.N, ws.elastic.low_p
    S, X = N[n0 : n0 + nf], n0 + nf * (1 + k)
    for begin in range(first, first + nf * count, nf):
        y = x[begin : begin + nf]
        for a in range(nf - 1, -1 if k < 0 else nf - 1, -1):
            s, row = 0.0, N[n0 + nf * a : n0 + nf * (a + 1)]
            for b in range(a + 1):
                s += row[b] * y[b]
            y[a] = s
        for a in range(0 if k < 0 else nf):
            y[a] *= S[a]
        for j in range(k):
            s, q = 0.0, N[n0 + nf * (1 + j) : n0 + nf * (2 + j)]
            for a in range(nf):
                s += q[a] * y[a]
            p[j] = s
        for j in range(k):
            s, row = 0.0, N[X + k * j : X + k * (j + 1)]
            for c in range(j + 1):
                s += row[c] * p[c]
            q = N[n0 + nf * (1 + j) : n0 + nf * (2 + j)]
            for a in range(nf):
                y[a] += s * q[a]


@kernel(lean=True, apart=True, reassociate=True)
def solve_transposed(sys, ws, i, x, first):
    """x <- F^-T x for the modes of body i, contiguous from `first`. Writes: x, low_p."""
    nf, n0, k, N, p = sys.body.nf[i], sys.body.o_N[i], sys.body.low_rank[i], ws.elastic.N, ws.elastic.low_p
    y = x[first : first + nf]
    if k < 0:
        for a in range(nf):
            s, row = y[a], N[n0 + nf * a : n0 + nf * (a + 1)]
            y[a] = 0.0
            for b in range(a + 1):
                y[b] += row[b] * s
        return
    for j in range(k):
        s, q = 0.0, N[n0 + nf * (1 + j) : n0 + nf * (2 + j)]
        for a in range(nf):
            s += q[a] * y[a]
        p[j] = s
    X = n0 + nf * (1 + k)
    for c in range(k):
        s = 0.0
        for j in range(c, k):
            s += N[X + k * j + c] * p[j]
        q = N[n0 + nf * (1 + c) : n0 + nf * (2 + c)]
        for a in range(nf):
            y[a] += s * q[a]
    S = N[n0 : n0 + nf]
    for a in range(nf):
        y[a] *= S[a]


@kernel(lean=True, apart=True)
def elastic_rows(sys, ws, i):
    """E of body i, and the forces on its elastic rows (F22). Needs all of M. Writes: G, u, tree.N."""
    nf, k0, o = sys.body.nf[i], sys.tree.o_qd[i], sys.body.o_E[i]
    M, f, G = upper(ws.body.M_star, i), six(ws.body.f_star, i), ws.elastic.G
    moving = sys.marker.row[sys.tree.m_out[i]] >= 0
    for a in range(nf):
        e, k, p = six_at(ws.elastic.M_f, o + 6 * a), k0 + a, o + a
        ws.tree.u[k], ws.tree.N[k] = ws.tree.tau[k], 1.0
        if moving:
            h = six(ws.tree.H, k)
            e = plus_six(e, 1.0, upper_times(M, h))
            ws.tree.u[k] += dot_six(h, f)
        G[p], G[p + nf], G[p + 2 * nf], G[p + 3 * nf], G[p + 4 * nf], G[p + 5 * nf] = e


@kernel(lean=True, later="boolean", reassociate=True)
def eliminate_modes(sys, ws, i, gh, bh):
    """Take the elastic coordinates of body i out of M and f (F22, F24a).

    Writes: N (factor), G = F^-1 E^T, u of the elastic speeds; M, f. False when N_ff is not positive definite.
    """
    nf, k0, o = sys.body.nf[i], sys.tree.o_qd[i], sys.body.o_E[i]
    M, f = ws.body.M_star[i], ws.body.f_star[i]
    mirror(M)
    elastic_rows(sys, ws, i)
    good = factor_low_rank(sys, ws, i, gh, bh) if sys.body.low_rank[i] >= 0 else factor_dense(sys, ws, i)
    if not good:
        return False
    solve_factor(sys, ws, i, ws.tree.u, k0, 1)
    solve_factor(sys, ws, i, ws.elastic.G, o, 6)
    u = ws.tree.u[k0 : k0 + nf]
    for row in range(6):
        g, s = ws.elastic.G[o + nf * row : o + nf * (row + 1)], 0.0
        for a in range(nf):
            s += g[a] * u[a]
        f[row] -= s
        for col in range(row + 1):
            h, s = ws.elastic.G[o + nf * col : o + nf * (col + 1)], 0.0
            for a in range(nf):
                s += g[a] * h[a]
            M[row, col] -= s
            if col < row:
                M[col, row] -= s
    return True


@kernel(lean=True, later="void", reassociate=True)
def modes_forward(sys, ws, i):
    """Rates of the modes of body i from the acceleration before them (F23). Writes: eta_hat_dot, da."""
    nf, k0, o, a = sys.body.nf[i], sys.tree.o_qd[i], sys.body.o_E[i], ws.body.da[i]
    x, u = ws.tree.eta_hat_dot[k0 : k0 + nf], ws.tree.u[k0 : k0 + nf]
    for m in range(nf):
        x[m] = u[m]
    for row in range(6):
        s, g = a[row], ws.elastic.G[o + nf * row : o + nf * (row + 1)]
        for m in range(nf):
            x[m] -= g[m] * s
    solve_transposed(sys, ws, i, ws.tree.eta_hat_dot, k0)
    for m in range(nf if sys.marker.row[sys.tree.m_out[i]] >= 0 else 0):
        put_six(ws.body.da, i, plus_six(six(ws.body.da, i), x[m], six(ws.tree.H, k0 + m)))
