"""Kernels of the numbers in Phi_s and M of dependent coordinates, spatial bodies (F12, F32)."""

from flexmbs._jit import kernel
from flexmbs.model.vectors import cross, from_axes, to_axes


@kernel(lean=True)
def gradients(sides, relations, pose, modal, wrench, out):
    """Force, generalised moment and modal forces of unit multipliers on the bodies at their sides.

    `sides` = (factor, entry, mark, body, turning), `relations` = (marker Q, force, moment), `pose` = (x of
    markers, r and R of bodies, H, L), `modal` = (side, place in L) of the modal forces. Side s takes
    `factor` times relation `entry`, at marker `mark`, on `body`; `turning` is the place of its body among
    those with Euler parameters, or -1. Writes: wrench (scratch); out: forces, moments, modal.
    """
    (factor, entry, mark, body, turning), (ent_q, force, moment) = sides, relations
    (x, r, R, H, L), (f_side, f_L) = pose, modal
    n, turns = factor.shape[0], 3 * factor.shape[0]
    for s in range(n):
        e, i, m = entry[s], body[s], mark[s]
        F = factor[s] * force[e, 0], factor[s] * force[e, 1], factor[s] * force[e, 2]
        T = factor[s] * moment[e, 0], factor[s] * moment[e, 1], factor[s] * moment[e, 2]
        q = ent_q[e]
        arm = cross((x[q, 0] - r[i, 0], x[q, 1] - r[i, 1], x[q, 2] - r[i, 2]), F)
        own = cross((x[q, 0] - x[m, 0], x[q, 1] - x[m, 1], x[q, 2] - x[m, 2]), F)
        for k in range(3):
            out[3 * s + k] = wrench[s, k] = F[k]
            wrench[s, 3 + k] = T[k] + own[k]
        if turning[s] >= 0:
            total = T[0] + arm[0], T[1] + arm[1], T[2] + arm[2]
            a, b, c = to_axes(R, i, total[0], total[1], total[2])
            h = H[turning[s]]
            for k in range(4):
                out[turns + k] = a * h[0, k] + b * h[1, k] + c * h[2, k]
            turns += 4
    for j in range(f_side.shape[0]):
        s, value = f_side[j], 0.0
        for k in range(6):
            value += L[6 * f_L[j] + k] * wrench[s, k]
        out[turns + j] = value


@kernel(lean=True)
def rigid_inertia(bodies, w, turning, R, H, grav, out, force):
    """Blocks rr (diagonal), re, er, ee of M of all bodies, and their velocity forces and weight (F12, F13).

    `bodies` = (mass, S, J, Q_T, Q_R, given): body b has S, J (body axes) and, where given, Q_T, Q_R; else
    they follow from its rates w. Ground stands first in R alone. Writes: out: the blocks, kind by kind;
    force = (force_r, force_e); Q_T, Q_R.
    """
    (mass, S, J, Q_T, Q_R, given), (force_r, force_e) = bodies, force
    n, n_e = mass.shape[0], H.shape[0]
    re, er, ee = 3 * n, 3 * n + 12 * n_e, 3 * n + 24 * n_e
    for b in range(n):
        i, s, u = b + 1, (S[b, 0], S[b, 1], S[b, 2]), (w[b, 0], w[b, 1], w[b, 2])
        if not given[b]:
            pull, twist = cross(u, cross(u, s)), cross(u, from_axes(J, b, *u))
            for k in range(3):
                Q_T[b, k], Q_R[b, k] = -pull[k], -twist[k]
        pull = from_axes(R, i, Q_T[b, 0], Q_T[b, 1], Q_T[b, 2])
        for k in range(3):
            out[3 * b + k] = mass[b]
            force_r[b, k] = pull[k] + mass[b] * grav[k]
        p = turning[b]
        if p < 0:
            continue
        weight = cross(s, to_axes(R, i, grav[0], grav[1], grav[2]))
        h = H[p]
        for c in range(4):
            force_e[p, c] = 0.0
            for k in range(3):
                force_e[p, c] += h[k, c] * (Q_R[b, k] + weight[k])
            column = h[0, c], h[1, c], h[2, c]
            arm = from_axes(R, i, *cross(s, column))  # m_re = -R S_t~ H
            for k in range(3):
                out[re + 12 * p + 4 * k + c] = out[er + 12 * p + 3 * c + k] = -arm[k]
            turned = from_axes(J, b, *column)
            for d in range(4):
                out[ee + 16 * p + 4 * d + c] = h[0, d] * turned[0] + h[1, d] * turned[1] + h[2, d] * turned[2]
