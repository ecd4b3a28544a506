"""Forces that equilibrium leaves open: least squares over joints and couplings, or least energy (F28)."""

import math

from flexmbs._jit import kernel
from flexmbs.dynamics.reactions.contact_shares import FREE, HELD, hold_contacts
from flexmbs.dynamics.reactions.symmetric import (
    eigenvectors,
    factorise_symmetric,
    inverse_root,
    solve_factors,
    yield_to,
)
from flexmbs.dynamics.reactions.wrenches import add_stress
from flexmbs.model.joints.base import OFFSET

#: metrics of joint forces: moments over a length; compliances of the joints
SQUARES, ENERGY = 0, 1
#: a direction with less energy than this part of what a unit of force can have has none
NO_ENERGY = 1e-12
#: energy that a direction without any counts with, of the largest one, where contacts push
SMALL_ENERGY = 1e-9


@kernel(lean=True, apart=True)
def share_forces(sys, ws, length):
    """Add the self-stress that equilibrium leaves open (F28), in every block of loops by itself.

    Without compliances it makes the sum of squares over the forces of all joints and couplings least,
    moments over `length`.
    With them it makes the elastic energy of the joints least, and the sum of squares decides what is still
    open. Contacts do not pull. Needs reactions of the solution as it is, and self_stress before them.
    Writes: reaction, effort, row_force; f_p, f, swap, null_..., side_... (scratch)
    """
    y, d, first = ws.null.y, ws.null.d, sys.block.first
    for k in range(y.shape[0]):
        y[k] = 0.0
    gather(sys, ws, SQUARES, length, ws.null.A)
    for b in range(ws.null.n.shape[0]):
        n = ws.null.n[b]
        own = d[first[b] : first[b] + n]
        factorise_symmetric(ws.null.A[first[b] : first[b] + n], n)
        solve_factors(ws.null.A[first[b] : first[b] + n], own, n)
        for a in range(n):
            y[first[b] + a] = own[a]
    is_soft = 0.0
    for j in range(sys.joint.soft.shape[0]):
        for row in range(6):
            is_soft = max(is_soft, sys.joint.soft[j, row])
    if is_soft > 0.0:
        gather(sys, ws, ENERGY, length, ws.null.B)
    for k in range(sys.row.contact.shape[0]):
        ws.side.state[k] = FREE
    for b in range(ws.null.n.shape[0]):
        if ws.null.n[b] > 0 and is_soft > 0.0:
            least_energy(sys, ws, first[b], ws.null.n[b], length)
        if ws.null.n[b] > 0 and sys.row.contact.shape[0] > 0:
            hold_contacts(sys, ws, b, is_soft > 0.0)
    for r in range(ws.row.force.shape[0]):
        ws.loop.swap[r] = 0.0
        b = sys.block.of_group[sys.row.group[r]]
        for a in range(ws.null.n[b]):
            ws.loop.swap[r] += y[first[b] + a] * ws.null.lam[a, r]
    for k in range(sys.row.contact.shape[0]):
        if ws.side.state[k] == HELD:  # exactly zero: rounding is no pull
            ws.loop.swap[sys.row.contact[k]] = -ws.row.force[sys.row.contact[k]]
    add_stress(sys, ws, ws.loop.swap)


@kernel(lean=True)
def least_energy(sys, ws, first, n, length):
    """From least squares to least energy; what the energy leaves open stays with the squares.

    For the block whose places begin at `first`. Needs the factors of the squares in null_A. In coordinates in
    which these are the identity, directions without energy are the eigenvectors of zero: measured against the
    softest joint under a unit of force, as no state need load it, and then all is rounding. Writes: null_y,
    null_d, null_B, null_V, null_e.
    """
    L, B, V, e = ws.null.A[first : first + n], ws.null.B[first : first + n], ws.null.V, ws.null.e
    d = ws.null.d[first : first + n]
    for a in range(n):
        for b in range(a):
            B[b, a] = B[a, b]
    for c in range(n):  # B := F^-1 B F^-T with F = L sqrt(D), row by row, then column by column
        for a in range(n):
            for b in range(a):
                B[c, a] -= L[a, b] * B[c, b]
    for c in range(n):
        for a in range(n):
            for b in range(a):
                B[a, c] -= L[a, b] * B[b, c]
    for a in range(n):
        for b in range(n):
            B[a, b] *= inverse_root(L[a, a]) * inverse_root(L[b, b])
    eigenvectors(B, V, n)
    top = 0.0
    for j in range(sys.joint.soft.shape[0]):
        for row in range(6):
            top = max(top, sys.joint.soft[j, row] * (length**2 if row > 2 else 1.0))
    for a in range(n):
        e[a] = 1.0 / B[a, a] if B[a, a] > NO_ENERGY * top else 0.0
    yield_to(L, V, e, d, n)
    for a in range(n):
        ws.null.y[first + a] += d[a]
        # bounds move what is open by energy first, and after it what is not
        e[a] = 1.0 / (B[a, a] / top + SMALL_ENERGY) if top > 0.0 else 1.0


@kernel(lean=True)
def gather(sys, ws, level, length, A):
    """Squares or energy of all forces with null_y of self-stress, by blocks. Writes: A, null_d, null_v."""
    v = ws.null.v
    for b in range(ws.null.n.shape[0]):
        for a in range(ws.null.n[b]):
            ws.null.d[sys.block.first[b] + a] = 0.0
            for c in range(ws.null.n[b]):
                A[sys.block.first[b] + a, c] = 0.0
    for j in range(ws.joint.reaction.shape[0]):
        b = sys.block.of_joint[j]
        if b < 0 or ws.null.n[b] == 0:
            continue
        n = ws.null.n[b]
        weigh(sys, ws, j, level, length, ws.joint.reaction[j], 0, v[n])
        for a in range(n):
            weigh(sys, ws, j, level, length, ws.null.w[a], 6 * j, v[a])
        add_products(ws, sys.block.first[b], n, 6, A)
    if level == ENERGY:
        return  # couplings do not give way
    for k in range(sys.row.shared.shape[0]):
        r = sys.row.shared[k]
        b = sys.block.of_group[sys.row.group[r]]
        n, size = ws.null.n[b], coupling_size(sys, ws, r, length)
        v[n, 0] = size * ws.row.force[r]
        for a in range(n):
            v[a, 0] = size * ws.null.lam[a, r]
        add_products(ws, sys.block.first[b], n, 1, A)


@kernel(lean=True)
def add_products(ws, first, n, width, A):
    """Products of the forces of a part under n states of self-stress and as they are, null_v.

    Most states load few parts. Writes: A, null_d; null_v, null_i.
    """
    v, y, d, m = ws.null.v, ws.null.y, ws.null.d, 0
    for a in range(n):
        size = 0.0
        for c in range(width):
            v[n, c] += y[first + a] * v[a, c]
            size += abs(v[a, c])
        if size > 0.0:
            ws.null.i[m] = a
            m += 1
    for i in range(m):
        a = ws.null.i[i]
        for c in range(width):
            d[first + a] -= v[a, c] * v[n, c]
        for k in range(i + 1):
            b, s = ws.null.i[k], 0.0
            for c in range(width):
                s += v[a, c] * v[b, c]
            A[first + a, b] += s


@kernel(lean=True)
def weigh(sys, ws, j, level, length, wrench, k, out):
    """Wrench of joint j, from place k on, in the metric of a level. Writes: out."""
    for row in range(6):
        first = 3 * (row // 3)
        if level == SQUARES:
            out[row] = wrench[k + row] / (length if first == 3 else 1.0)
        else:
            R, axis = ws.marker.R[sys.joint.p[j]], row - first
            s = R[0, axis] * wrench[k + first]
            s += R[1, axis] * wrench[k + first + 1] + R[2, axis] * wrench[k + first + 2]
            out[row] = math.sqrt(sys.joint.soft[j, row]) * s


@kernel(lean=True)
def coupling_size(sys, ws, r, length):
    """Norm of the efforts on joint coordinates that a unit of row r makes, moments over `length`."""
    s = 0.0
    for k in range(sys.term.start[r], sys.term.start[r + 1]):
        unit = 1.0 if sys.relation.kind[sys.term.relation[k]] == OFFSET else length
        s += (ws.row.c_term[k] / unit) ** 2
    for k in range(sys.speed.start[r], sys.speed.start[r + 1]):
        unit = 1.0 if sys.coord.turn[sys.speed.coord[k]] == 0 else length
        s += (ws.row.c_speed[k] / unit) ** 2
    return math.sqrt(s)
