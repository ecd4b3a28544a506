"""Forces that equilibrium leaves open: least squares over joints and couplings, or least energy (F28)."""

import math

from flexmbs._jit import kernel
from flexmbs.dynamics.reactions.contact_shares import (
    BY_BOTH,
    BY_ENERGY,
    BY_SQUARES,
    FREE,
    HELD,
    hold_contacts,
)
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
#: the same of directions that surely have some: pivots say it but for a factor
CLEAR_ENERGY = 1e-9
#: energy that a direction without any counts with, of the largest one, where contacts push
SMALL_ENERGY = 1e-9


@kernel(lean=True, later="void")
def share_forces(sys, ws, length):
    """Add the self-stress that equilibrium leaves open (F28), in every block of loops by itself.

    It makes the elastic energy of compliant joints least, and what that leaves open the sum of squares over
    the forces of all joints and couplings, moments over `length`. Contacts do not pull.
    Needs reactions of the solution as it is, and self_stress before them. Writes: reaction, effort, row_force
    """
    y, d, first, top = ws.null.y, ws.null.d, sys.block.first, 0.0
    for k in range(y.shape[0]):
        y[k] = ws.loop.swap[k] = 0.0
    for j in range(sys.joint.soft.shape[0]):
        for row in range(6):
            top = max(top, sys.joint.soft[j, row] * (length**2 if row > 2 else 1.0))
    envelope(sys, ws)
    gather(sys, ws, SQUARES, length, ws.null.A)
    for b in range(ws.null.n.shape[0]):
        n, end = ws.null.n[b], first[b] + ws.null.n[b]
        factorise_symmetric(ws.null.A[first[b] : end], ws.null.lo[first[b] : end], n)
        solve_factors(ws.null.A[first[b] : end], ws.null.lo[first[b] : end], d[first[b] : end], n)
        for a in range(first[b], end):
            y[a] = d[a]
    if top > 0.0:
        gather(sys, ws, ENERGY, length, ws.null.B)
    for k in range(sys.row.contact.shape[0]):
        ws.side.state[k] = FREE
    for b in range(ws.null.n.shape[0]):
        metric = least_energy(ws, first[b], ws.null.n[b], top) if ws.null.n[b] * top > 0.0 else BY_SQUARES
        if ws.null.n[b] > 0 and sys.row.contact.shape[0] > 0:
            hold_contacts(sys, ws, b, metric)
    for b in range(ws.null.n.shape[0]):
        for a in range(ws.null.n[b]):
            for k in range(ws.null.span[first[b] + a, 0], ws.null.span[first[b] + a, 1]):
                ws.loop.swap[ws.null.rows[k]] += y[first[b] + a] * ws.null.lam[a, ws.null.rows[k]]
    for k in range(sys.row.contact.shape[0]):
        if ws.side.state[k] == HELD:  # exactly zero: rounding is no pull
            ws.loop.swap[sys.row.contact[k]] = -ws.row.force[sys.row.contact[k]]
    add_stress(sys, ws, ws.loop.swap)


@kernel(lean=True, later="int64")
def least_energy(ws, first, n, top):
    """From least squares to least energy in the block whose places begin at `first`; returns what decides.

    Where every direction has energy its factors do, in their envelope. What it leaves open stays with the
    squares: where their factors make the identity, directions without energy are the eigenvectors of zero,
    measured against a unit of force in the softest joint. Writes: null_y, null_d, null_B, null_V, null_e.
    """
    L, B, V, e = ws.null.A[first : first + n], ws.null.B[first : first + n], ws.null.V[:n], ws.null.e
    d, lo, clear = ws.null.d[first : first + n], ws.null.lo[first : first + n], True
    for a in range(n):
        for b in range(lo[a], a + 1):
            V[a, b] = B[a, b]
    factorise_symmetric(V, lo, n)
    for a in range(n):
        clear = clear and V[a, a] > CLEAR_ENERGY * top * L[a, a]
    if clear:
        solve_factors(V, lo, d, n)
    else:
        for a in range(n):
            for b in range(lo[a]):
                L[a, b] = B[a, b] = 0.0
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
        for a in range(n):
            e[a] = 1.0 / B[a, a] if B[a, a] > NO_ENERGY * top else 0.0
        yield_to(L, V, e, d, n)
    for a in range(n):
        ws.null.y[first + a] += d[a]
        # bounds move what is open by energy first, and after it what is not
        e[a] = 1.0 / (B[a, a] / top + SMALL_ENERGY)
    return BY_ENERGY if clear else BY_BOTH


@kernel(lean=True)
def envelope(sys, ws):
    """The first state that shares a joint or coupling with a state or one before it.

    Writes: null_lo.
    """
    lo = ws.null.lo
    for b in range(ws.null.n.shape[0]):
        for a in range(ws.null.n[b]):
            lo[sys.block.first[b] + a] = a
    for j in range(ws.null.head.shape[0]):
        least, k = ws.null.lam.shape[0], ws.null.head[j]
        while k >= 0:
            least, k = min(least, ws.null.of[k]), ws.null.next[k]
        k = ws.null.head[j]
        while k >= 0:
            at = sys.block.first[sys.block.of_joint[j]] + ws.null.of[k]
            lo[at], k = min(lo[at], least), ws.null.next[k]
    for k in range(sys.row.shared.shape[0]):
        r = sys.row.shared[k]
        b, least = sys.block.of_group[sys.row.group[r]], -1
        for a in range(ws.null.n[b]):
            if ws.null.lam[a, r] != 0.0:
                least = a if least < 0 else least
                lo[sys.block.first[b] + a] = min(lo[sys.block.first[b] + a], least)


@kernel(lean=True)
def gather(sys, ws, level, length, A):
    """Squares or energy of all forces with null_y of self-stress, by blocks. Writes: A, null_d, null_v."""
    v = ws.null.v
    for b in range(ws.null.n.shape[0]):
        for a in range(ws.null.n[b]):
            s = sys.block.first[b] + a
            ws.null.d[s] = 0.0
            for c in range(ws.null.lo[s], a + 1):
                A[s, c] = 0.0
    for j in range(ws.joint.reaction.shape[0]):
        b, m, k = sys.block.of_joint[j], 0, ws.null.head[j]
        if k < 0:
            continue
        n = ws.null.n[b]
        weigh(sys, ws, j, level, length, ws.joint.reaction[j], v[n])
        while k >= 0:
            weigh(sys, ws, j, level, length, ws.null.w[k], v[ws.null.of[k]])
            ws.null.i[m], m, k = ws.null.of[k], m + 1, ws.null.next[k]
        add_products(ws, sys.block.first[b], n, m, 6, A)
    if level == ENERGY:
        return  # couplings do not give way
    for k in range(sys.row.shared.shape[0]):
        r, m = sys.row.shared[k], 0
        b = sys.block.of_group[sys.row.group[r]]
        n, size = ws.null.n[b], coupling_size(sys, ws, r, length)
        v[n, 0] = size * ws.row.force[r]
        for a in range(n):
            if ws.null.lam[a, r] != 0.0:
                v[a, 0], ws.null.i[m] = size * ws.null.lam[a, r], a
                m += 1
        add_products(ws, sys.block.first[b], n, m, 1, A)


@kernel(lean=True)
def add_products(ws, first, n, m, width, A):
    """Products of the forces of a part under those m states that load it, null_i, and as they are, null_v.

    Writes: A, null_d; null_v.
    """
    v, y, d = ws.null.v, ws.null.y, ws.null.d
    for i in range(m):
        for c in range(width):
            v[n, c] += y[first + ws.null.i[i]] * v[ws.null.i[i], c]
    for i in range(m):
        a = ws.null.i[i]
        for c in range(width):
            d[first + a] -= v[a, c] * v[n, c]
        for k in range(i + 1):
            b, s = ws.null.i[k], 0.0
            for c in range(width):
                s += v[a, c] * v[b, c]
            A[first + max(a, b), min(a, b)] += s


@kernel(lean=True)
def weigh(sys, ws, j, level, length, wrench, out):
    """Wrench of joint j in the metric of a level. Writes: out."""
    for row in range(6):
        first = 3 * (row // 3)
        if level == SQUARES:
            out[row] = wrench[row] / (length if first == 3 else 1.0)
        else:
            R, axis = ws.marker.R[sys.joint.p[j]], row - first
            s = R[0, axis] * wrench[first]
            s += R[1, axis] * wrench[first + 1] + R[2, axis] * wrench[first + 2]
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
