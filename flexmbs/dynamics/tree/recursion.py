"""The recursion, joint by joint: what the backward pass does at one (F22-F24, F43).

All is written for the *change* delta of given accelerations `acc`: forces are replaced by what is missing,
f - M a_hat(acc), so that a_rel drops out, rounding shrinks with the iterations, and the step of (F43) needs
no product Sh a:  (M + Sh) delta = k - M acc. With acc = 0 and gh = bh = 0 it is the plain forward dynamics.
Gravity enters as an acceleration of the whole: a_hat - g.
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.tree.sixes import (
    add_shifted,
    dot_six,
    downdated,
    plus_six,
    put_six,
    put_upper,
    six,
    six_at,
    upper,
    upper_times,
)
from flexmbs.model.vectors import add_wrench_at, between, on_mode

DONE, SINGULAR_ELASTIC, SINGULAR_JOINT = 0, 1, 2
#: A pivot this small against mass and length of the model is rounding: the motion has no inertia.
TINY = 1e-14


@kernel(lean=True, inline=True)
def past_joint(sys, ws, i, gh, bh):
    """Take the free speeds of joint i out of M and f, and add what is left to the parent (F22).

    N of the joint is factored speed by speed, from the last: one pivot and one rank-one downdate each. Only
    the 6x6 part leaves a body: the lower rows of B vanish. Writes: U, N (pivots), u of these speeds; of the
    parent M, f, M_f, N, tau. False when a freedom has no inertia: its pivot is then zero.
    """
    M, f, H = upper(ws.body.M_star, i), six(ws.body.f_star, i), ws.tree.H
    for k in range(sys.tree.o_qd[i] - 1, sys.tree.o_eta[i] - 1, -1):
        if sys.tree.driven[k] >= 0:
            continue
        h = six(H, k)
        U = upper_times(M, h)
        d = gh * ws.tree.D_tau[k] + bh * ws.tree.K_tau[k] + sys.tree.massless[k] + dot_six(h, U)
        x, y = h[0] * h[0] + h[1] * h[1] + h[2] * h[2], h[3] * h[3] + h[4] * h[4] + h[5] * h[5]
        if not d > TINY * (x * sys.tree.mass_scale[0] + y * sys.tree.mass_scale[1]):
            ws.tree.N[k] = 0.0
            return False
        u = ws.tree.tau[k] + dot_six(h, f)
        put_six(ws.tree.U, k, U)
        s = 1.0 / d
        ws.tree.N[k], ws.tree.N_inv[k], ws.tree.u[k] = d, s, u
        M = downdated(M, U, s)
        f = plus_six(f, -s * u, U)
    p = sys.tree.parent[i]
    if p > 0:
        if sys.body.nf[p] > 0:
            put_upper(ws.body.M_star, i, M)
            put_six(ws.body.f_star, i, f)
            to_modes_of_parent(sys, ws, i)
        add_shifted(
            ws.body.M_star,
            ws.body.f_star,
            p,
            M,
            f,
            ws.body.r[i, 0] - ws.body.r[p, 0],
            ws.body.r[i, 1] - ws.body.r[p, 1],
            ws.body.r[i, 2] - ws.body.r[p, 2],
        )
    return True


@kernel(lean=True, later="void")
def to_modes_of_parent(sys, ws, i):
    """Add M and f of body i to the modes of its parent (F22).

    Writes: M_f, N, tau of the parent.
    """
    p, M, f = sys.tree.parent[i], upper(ws.body.M_star, i), ws.body.f_star[i]
    arm = between(ws.body.r, p, ws.body.r, i)
    nf, b0, m0, k0 = sys.body.nf[p], sys.tree.o_B[i], sys.body.o_E[p], sys.tree.o_qd[p]
    for a in range(nf):
        C = upper_times(M, six_at(ws.tree.B, b0 + 6 * a))  # one column of M B at a time
        for c in range(a, nf if sys.body.low_rank[p] < 0 else 0):
            ws.elastic.N[sys.body.o_N[p] + nf * c + a] += on_mode(ws.tree.B, b0 + 6 * c, C)
        add_wrench_at(ws.elastic.M_f[m0 + 6 * a : m0 + 6 * a + 6], C, arm)
        ws.tree.tau[k0 + a] += on_mode(ws.tree.B, b0 + 6 * a, f)


@kernel(lean=True, apart=True)
def tree_forces(sys, ws, out):
    """Residuals on the speeds of the tree: Jt^T f + tau (F30). Needs residuals. Writes: out (n_vel,); f."""
    for i in range(sys.tree.parent.shape[0] - 1, 0, -1):
        p, f = sys.tree.parent[i], ws.body.f_star[i]
        for k in range(sys.tree.o_eta[i], sys.tree.o_eta[i + 1]):
            out[k] = ws.tree.tau[k] + dot_six(six(ws.tree.H, k), f)
        for m in range(sys.body.nf[p]):
            ws.tree.tau[sys.tree.o_qd[p] + m] += on_mode(ws.tree.B, sys.tree.o_B[i] + 6 * m, f)
        add_wrench_at(ws.body.f_star[p], f, between(ws.body.r, p, ws.body.r, i))
