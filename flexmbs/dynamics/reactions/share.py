"""Forces that equilibrium leaves open: least squares over joints and couplings, or least energy (F28)."""

import math

from flexmbs._jit import kernel
from flexmbs.dynamics.reactions.contact_shares import FREE, HELD, hold_contacts
from flexmbs.dynamics.reactions.symmetric import factorise_symmetric, solve_factors
from flexmbs.dynamics.reactions.wrenches import add_stress
from flexmbs.model.joints.base import OFFSET

#: metrics of joint forces: moments over a length; compliances of the joints
SQUARES, ENERGY = 0, 1
#: a direction without energy counts with this part of the largest one where contacts push
SMALL_ENERGY = 1e-9


@kernel(lean=True, later="void")
def share_forces(sys, ws, length):
    """Add the self-stress that equilibrium leaves open (F28), in every block of loops by itself.

    It makes the elastic energy of compliant joints least, and what that leaves open the sum of squares over
    the forces of all joints and couplings, moments over `length`. Contacts do not pull.
    Needs reactions of the solution as it is, and self_stress before them. Writes: reaction, effort, row_force
    """
    y, lo, first, top = ws.null.y, ws.null.lo, sys.block.first, 0.0
    for k in range(y.shape[0]):
        ws.loop.swap[k] = 0.0
    for j in range(sys.joint.soft.shape[0]):
        for row in range(6):
            top = max(top, sys.joint.soft[j, row] * (length**2 if row > 2 else 1.0))
    envelope(sys, ws)
    gather(sys, ws, SQUARES, length, (ws.null.A, y))
    if top > 0.0:
        gather(sys, ws, ENERGY, length, (ws.null.B, ws.null.d))
    for k in range(sys.row.contact.shape[0]):
        ws.side.state[k] = FREE
    for b in range(ws.null.n.shape[0]):
        n, end = ws.null.n[b], first[b] + ws.null.n[b]
        F = ws.null.A[first[b] : end]
        if top > 0.0 and n > 0:
            F = ws.null.B[first[b] : end]
            least_energy(ws, first[b], n, top)
        else:
            factorise_symmetric(F, F, 1.0, lo[first[b] : end], n)
            solve_factors(F, lo[first[b] : end], y[first[b] : end], n)
        if n > 0 and sys.row.contact.shape[0] > 0:
            hold_contacts(sys, ws, b, F)
    for b in range(ws.null.n.shape[0]):
        for a in range(ws.null.n[b]):
            for k in range(ws.null.span[first[b] + a, 0], ws.null.span[first[b] + a, 1]):
                ws.loop.swap[ws.null.rows[k]] += y[first[b] + a] * ws.null.lam[a, ws.null.rows[k]]
    for k in range(sys.row.contact.shape[0]):
        if ws.side.state[k] == HELD:  # exactly zero: rounding is no pull
            ws.loop.swap[sys.row.contact[k]] = -ws.row.force[sys.row.contact[k]]
    add_stress(sys, ws, ws.loop.swap)


@kernel(lean=True, later="void")
def least_energy(ws, first, n, top):
    """Least energy in the block whose places begin at `first`, and least squares of what it leaves open.

    B = L D L^T of the energy has D = 0 for those, and leaves them to w = L^T y. Bounds move what is open by
    energy first, and after it what is not. Needs forces in y (squares) and null_d (energy).
    Writes: y; B: factors of the metric for bounds; A, V, null_d.
    """
    A, B, V = ws.null.A[first : first + n], ws.null.B[first : first + n], ws.null.V[:n]
    y, d, lo = ws.null.y[first : first + n], ws.null.d[first : first + n], ws.null.lo[first : first + n]
    for a in range(n):
        for b in range(lo[a], a + 1):
            V[a, b] = B[a, b] + SMALL_ENERGY * top * A[a, b]
    decided = factorise_symmetric(B, A, top, lo, n)
    solve_factors(B, lo, d, n)
    if decided:
        for a in range(n):
            y[a] = d[a]
        return
    factorise_symmetric(V, A, SMALL_ENERGY * top, lo, n)
    for a in range(n):
        for b in range(lo[a], a + 1):
            y[a] -= A[a, b] * d[b]
            y[b] -= A[a, b] * d[a] if b < a else 0.0
    least_squares_of_open(ws, A, B, lo, y, n)
    for a in range(n):
        y[a] += d[a]
        for b in range(lo[a], a + 1):
            B[a, b] = V[a, b]


@kernel(lean=True)
def least_squares_of_open(ws, A, L, lo, y, n):
    """From forces y to the change of y that makes squares A least, by those w = L^T y that have no pivot.

    In w the squares are L^-1 A L^-T, which is full. Writes: y, A, null_i.
    """
    for a in range(n):
        for b in range(lo[a]):
            A[a, b] = 0.0
        for b in range(a):
            A[b, a] = A[a, b]
        for b in range(lo[a], a):
            y[a] -= L[a, b] * y[b]
    for c in range(n):  # row by row, then column by column
        for a in range(n):
            for b in range(lo[a], a):
                A[c, a] -= L[a, b] * A[c, b]
    for c in range(n):
        for a in range(n):
            for b in range(lo[a], a):
                A[a, c] -= L[a, b] * A[b, c]
    for a in range(n):
        ws.null.i[a] = 0
        y[a] = 0.0 if L[a, a] > 0.0 else y[a]
        for b in range(a + 1):
            if L[a, a] > 0.0 or L[b, b] > 0.0:
                A[a, b] = 1.0 if a == b else 0.0
    factorise_symmetric(A, A, 1.0, ws.null.i, n)
    solve_factors(A, ws.null.i, y, n)
    for a in range(n - 1, -1, -1):
        for b in range(lo[a], a):
            y[b] -= L[a, b] * y[a]


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
def gather(sys, ws, level, length, out):
    """Squares or energy of all forces by states of self-stress, in blocks; forces to make them least.

    `out` = (A, d): products of states with each other and with the solution as it is. Writes: out; null_v.
    """
    (A, d), v = out, ws.null.v
    for b in range(ws.null.n.shape[0]):
        for a in range(ws.null.n[b]):
            s = sys.block.first[b] + a
            d[s] = 0.0
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
        add_products(ws, sys.block.first[b], n, m, 6, out)
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
        add_products(ws, sys.block.first[b], n, m, 1, out)


@kernel(lean=True)
def add_products(ws, first, n, m, width, out):
    """Products of the forces of a part, null_v, under those m states that load it, null_i. Writes: out."""
    (A, d), v = out, ws.null.v
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
