"""Backward over the tree with its loops, forward again, and backward for further biases (F22-F26, F54)."""

from flexmbs._jit import kernel
from flexmbs.dynamics.loops.columns import packed
from flexmbs.dynamics.loops.fronts import (
    close,
    close_branches,
    multipliers,
    multipliers_of_branches,
    row_in,
    rows_past_joint,
    rows_past_modes,
)
from flexmbs.dynamics.tree.elastic import dense_block, eliminate_modes, modes_forward, solve_factor
from flexmbs.dynamics.tree.recursion import DONE, SINGULAR_ELASTIC, SINGULAR_JOINT, past_joint
from flexmbs.dynamics.tree.sixes import dot_six, plus_six, put_six, six, six_at
from flexmbs.model.vectors import add_wrench_at, between, on_mode, twist_at


@kernel(lean=True, apart=True)
def backward(sys, ws, gh, bh, closed):
    """Articulated inertia and force of every body, from the tips to the bases (F22), with Sh of (F43).

    `closed`: loops are closed on the way (F54); without, the tree alone. Needs residuals, and load_rows for
    loops. Writes: N, N_inv, G, U, u; M and f, which gather those of the bodies outboard; what
    `close` does. Returns a status and the body concerned.
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
        branches = sys.front.branch[i + 1] > sys.front.branch[i]
        if closed and branches and close_branches(sys, ws, i) != 0:
            return SINGULAR_JOINT, i
        if sys.body.nf[i] > 0:
            if not eliminate_modes(sys, ws, i, gh, bh):
                return SINGULAR_ELASTIC, i
            if closed and sys.front.row[i + 1] > sys.front.row[i]:
                rows_past_modes(sys, ws, i)
        if closed and sys.front.closed[i] + sys.front.tried[i] > 0 and close(sys, ws, i) != 0:
            return SINGULAR_JOINT, i
        if not past_joint(sys, ws, i, gh, bh):
            return SINGULAR_JOINT, i
        if closed and sys.front.row[i + 1] - sys.front.row[i] > sys.front.closed[i]:
            rows_past_joint(sys, ws, i)
    if closed and sys.front.branch[1] > sys.front.branch[0] and close_branches(sys, ws, 0) != 0:
        return SINGULAR_JOINT, 0
    if closed and sys.front.closed[0] + sys.front.tried[0] > 0 and close(sys, ws, 0) != 0:
        return SINGULAR_JOINT, 0
    return DONE, 0


@kernel(lean=True, apart=True)
def again(sys, ws):
    """Backward pass of further biases and of nothing else, by the same factors (F25, F54).

    Needs backward; `bias` holds what is asked of the rows. Writes: bias, u, f.
    """
    for k in range(ws.tree.u.shape[0]):
        ws.tree.u[k] = 0.0
    for i in range(ws.body.f_star.shape[0]):
        put_six(ws.body.f_star, i, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for i in range(sys.tree.parent.shape[0] - 1, -1, -1):
        for f in range(sys.front.branch[i], sys.front.branch[i + 1]):
            close_again(sys, ws, f)
        if sys.body.nf[i] > 0:
            modes_again(sys, ws, i)
        close_again(sys, ws, i)
        if i > 0:
            past_joint_again(sys, ws, i)


@kernel(lean=True, apart=True)
def close_again(sys, ws, f):
    """Biases of the rows that close in front f, to those behind them and to the body. Writes: bias, f."""
    first, n, i = sys.front.row[f], sys.front.row[f + 1] - sys.front.row[f], sys.front.body[f]
    for k in range(ws.loop.closed[f]):
        t = ws.loop.pivot_inv[first + k] * ws.loop.bias[ws.loop.order[first + k]]
        if t == 0.0:
            continue
        put_six(ws.body.f_star, i, plus_six(six(ws.body.f_star, i), -t, six(ws.loop.E, first + k)))
        row = sys.front.L[f] + packed(n, k)
        for o in range(k + 1, n):
            if ws.loop.order[first + o] >= 0:
                ws.loop.bias[ws.loop.order[first + o]] -= t * ws.loop.L_open[row + o]


@kernel(lean=True, apart=True)
def past_joint_again(sys, ws, i):
    """Force of body i past its joint to the parent. Writes: u, bias, f; u of the modes of the parent."""
    f, p = six(ws.body.f_star, i), sys.tree.parent[i]
    first, n = sys.front.row[i], sys.front.row[i + 1] - sys.front.row[i]
    for k in range(sys.tree.o_qd[i] - 1, sys.tree.o_eta[i] - 1, -1):
        if sys.tree.driven[k] >= 0:
            continue
        u = dot_six(six(ws.tree.H, k), f)
        ws.tree.u[k], s = u, u * ws.tree.N_inv[k]
        f = plus_six(f, -s, six(ws.tree.U, k))
        at = sys.front.e[i] + (k - sys.tree.o_eta[i]) * n
        for o in range(ws.loop.closed[i], n):
            if ws.loop.order[first + o] >= 0:
                ws.loop.bias[ws.loop.order[first + o]] += s * ws.loop.e[at + o]
    add_wrench_at(ws.body.f_star[p], f, between(ws.body.r, p, ws.body.r, i))
    for a in range(sys.body.nf[p]):
        ws.tree.u[sys.tree.o_qd[p] + a] += on_mode(ws.tree.B, sys.tree.o_B[i] + 6 * a, f)


@kernel(lean=True, apart=True)
def forward(sys, ws):
    """Changes of all accelerations, from the bases to the tips, and multipliers of the loops (F23-F24, F54).

    Needs backward. Writes: da, eta_hat_dot, lam. Driven speeds do not change.
    """
    zero, eta_hat_dot = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), ws.tree.eta_hat_dot
    put_six(ws.body.da, 0, zero)
    multipliers(sys, ws, 0, zero)
    if sys.front.branch[1] > sys.front.branch[0]:
        multipliers_of_branches(sys, ws, 0, zero)
    for i in range(1, sys.tree.parent.shape[0]):
        p = sys.tree.parent[i]
        a = twist_at(six(ws.body.da, p), between(ws.body.r, p, ws.body.r, i))
        for m in range(sys.body.nf[p]):
            a = plus_six(a, eta_hat_dot[sys.tree.o_qd[p] + m], six_at(ws.tree.B, sys.tree.o_B[i] + 6 * m))
        first, n, at = sys.front.row[i], sys.front.row[i + 1] - sys.front.row[i], sys.front.e[i]
        for k in range(sys.tree.o_eta[i], sys.tree.o_qd[i]):
            if sys.tree.driven[k] >= 0:
                eta_hat_dot[k] = 0.0
            else:
                d = ws.tree.u[k] - dot_six(six(ws.tree.U, k), a)
                for o in range(ws.loop.closed[i], n):
                    if ws.loop.order[first + o] >= 0:
                        d += ws.loop.e[at + o] * ws.row.lam[ws.loop.order[first + o]]
                d *= ws.tree.N_inv[k]
                eta_hat_dot[k] = d
                a = plus_six(a, d, six(ws.tree.H, k))
            at += n
        put_six(ws.body.da, i, a)
        if ws.loop.closed[i] > 0:
            multipliers(sys, ws, i, a)
        if sys.body.nf[i] > 0:
            if n > 0:
                rows_on_modes(sys, ws, i)
            modes_forward(sys, ws, i)
        if sys.front.branch[i + 1] > sys.front.branch[i]:
            multipliers_of_branches(sys, ws, i, a)


@kernel(lean=True, later="void", reassociate=True)
def modes_again(sys, ws, i):
    """Force and biases of body i past its modes (F25). Writes: u of the modes; f, bias."""
    nf, k0, o = sys.body.nf[i], sys.tree.o_qd[i], sys.body.o_E[i]
    u, f = ws.tree.u[k0 : k0 + nf], ws.body.f_star[i]
    if sys.marker.row[sys.tree.m_out[i]] >= 0:
        for a in range(nf):
            u[a] += dot_six(six(ws.tree.H, k0 + a), six(ws.body.f_star, i))
    solve_factor(sys, ws, i, ws.tree.u, k0, 1)
    for row in range(6):
        s, g = 0.0, ws.elastic.G[o + nf * row : o + nf * (row + 1)]
        for a in range(nf):
            s += g[a] * u[a]
        f[row] -= s
    first, at = sys.front.row[i], sys.front.m[i]
    for k in range(sys.front.row[i + 1] - first):
        s, x = 0.0, ws.loop.e_f[at + k * nf : at + (k + 1) * nf]
        for a in range(nf):
            s += x[a] * u[a]
        if row_in(sys, ws, first + k) >= 0:
            ws.loop.bias[row_in(sys, ws, first + k)] += s


@kernel(lean=True, later="void", reassociate=True)
def rows_on_modes(sys, ws, i):
    """Forces of the multipliers on the modes of body i: u += e lam (F25). Writes: u."""
    nf, k0, first, at = sys.body.nf[i], sys.tree.o_qd[i], sys.front.row[i], sys.front.m[i]
    u = ws.tree.u[k0 : k0 + nf]
    for k in range(sys.front.row[i + 1] - first):
        x, r = ws.loop.e_f[at + k * nf : at + (k + 1) * nf], row_in(sys, ws, first + k)
        s = ws.row.lam[r] if r >= 0 else 0.0
        for a in range(nf):
            u[a] += s * x[a]
