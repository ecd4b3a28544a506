"""Loops: columns of the rows through the tree, multipliers eliminated where loops close (F25, F54).

A row is open at the bodies between its ends and the body where these meet. There its column E, what it has on
modes and joints (e), and the compliance L between open rows pass through the same eliminations as the
inertia; the bias of a row gathers on the way. Where both ends have met, L says how the loop gives way to its
multipliers, and they are eliminated: M += E L^-1 E^T. Redundant rows are those whose pivot vanishes: their
multiplier is zero, the motion is the same; the split of the forces is a matter of outputs (F28).

Rows that end on ground are tried on the way there: those with a sound pivot close at once. What is left acts
on one body, hardly gives way, and is handed on, in the six slots at most that stand for this in the next
front: seven rows that do not give way differ in no more than six things that they ask of a rigid body.

L of a front is packed, row by row from the diagonal on: (r, c) is at `packed(n, r) + c`.
"""

import math

from flexmbs._jit import kernel
from flexmbs.dynamics.loops.columns import packed
from flexmbs.dynamics.tree.elastic import solve_factor
from flexmbs.dynamics.tree.recursion import SINGULAR_JOINT
from flexmbs.dynamics.tree.sixes import dot_six, plus_six, put_six, six
from flexmbs.model.vectors import between, on_mode, wrench_at

#: A pivot below this part of what its row had before others were taken out is zero: the square of a
#: dependence of 1e-5.
DEPENDENT = 1e-10
#: Nor is one below this part of the largest row, over the natural sizes of both: rounding squared.
ROUNDOFF = 1e-24
#: Rows that are tried close with pivots above this part of what they had, and of their natural size.
SOUND = 1e-4
#: Forces on a body that differ by less than this part of the largest are combinations of others.
SAME = 1e-7


@kernel(lean=True, later="int64")
def close_branches(sys, ws, i):
    """Close the loops of branches of body i in their own fronts. Writes: as close. Returns a status."""
    for f in range(sys.front.branch[i], sys.front.branch[i + 1]):
        if close(sys, ws, f) != 0:
            return SINGULAR_JOINT
        rows_to_front(sys, ws, f, 0)
    return 0


@kernel(lean=True, later="int64")
def close(sys, ws, f):
    """Eliminate the multipliers of rows that close, or can, in front f; vanishing pivots are redundant rows.

    The rows of a group (one joint, say) take turns by the size of their pivots over their natural sizes. A
    group takes no more independent rows than it has where constraints hold (loop.cap): off them, rows of an
    overconstrained loop differ by the square of the distance, which is no constraint.
    Writes: E, L_open, pivot_inv, order, bias, redundant; M, f of the body; near (lowered). Returns 2 when a
    motion without inertia is not held by any row, else 0.
    """
    first, n, i = sys.front.row[f], sys.front.row[f + 1] - sys.front.row[f], sys.front.body[f]
    L, largest, r0 = ws.loop.L_open[sys.front.L[f] : sys.front.L[f + 1]], 1.0, 0
    for k in range(sys.front.closed[f]):
        r = sys.slot.row[first + k]
        # the compliance of a soft row (F45) goes to infinity with shorter steps: no measure for the others
        hard = ws.loop.natural[r] > 0.0 and ws.row.soft[r] == 0.0
        if hard and ws.loop.whole[r] > largest * ws.loop.natural[r]:
            largest = ws.loop.whole[r] / ws.loop.natural[r]
    while r0 < sys.front.closed[f]:
        g, found = sys.row.group[sys.slot.row[first + r0]], 0
        end = r0 + sys.group.start[g + 1] - sys.group.start[g]
        for k in range(r0, end):
            bring_largest(sys, ws, L, first, n, k, end)
            r, d = ws.loop.order[first + k], L[packed(n, k) + k]
            natural = largest * ws.loop.natural[r]
            if sys.row.massless[r] >= 0:
                # its pivot is what the other rows give it: negative
                if not -d > DEPENDENT * ws.loop.whole[r]:
                    return SINGULAR_JOINT
            elif found >= ws.loop.cap[g] or not (d > DEPENDENT * ws.loop.whole[r] and d > ROUNDOFF * natural):
                ws.row.redundant[r], ws.loop.pivot_inv[first + k] = 1, 0.0
                continue
            elif ws.row.soft[r] == 0.0 and d < ws.loop.near[0] * natural:
                ws.loop.near[0], ws.loop.near[1] = d / natural, g
            take_out(sys, ws, L, first, n, k, i)
            found += 1
        if found < ws.loop.cap[g] and sys.group.soft[g] == 0:
            ws.loop.near[0], ws.loop.near[1] = 0.0, g
        r0 = end
    if sys.front.tried[f] > 0:
        try_rows(sys, ws, f, L, first, n)
    return 0


@kernel(lean=True, later="void")
def try_rows(sys, ws, f, L, first, n):
    """Close those of the rows that are tried in front f whose pivots are sound, hand on the others (F54).

    At ground nothing follows: there they close as rows do, or are redundant. Others stay open, as many as the
    next front has slots; before they become more, those close that can at all, and the rest are redundant.
    Writes: as close; closed, found, lost, up.
    """
    k, room, i = sys.front.closed[f], sys.front.room[f], sys.front.body[f]
    m = k + sys.front.tried[f]
    if sys.body.nf[i] == 0:
        k = close_sound(sys, ws, f, k, m, SOUND if room > 0 else DEPENDENT, 0)
        end, m = m, k
        for c in range(k, end):
            if ws.loop.order[first + c] >= 0:
                exchange(ws, L, first, n, m, c)
                m += 1
    if m - k > room:
        kept = 0
        if room > 0:
            k = close_sound(sys, ws, f, k, m, DEPENDENT, m - room)
            kept = spread(sys, ws, L, first, n, k, m) if m - k > room else m - k
        for c in range(k, m - kept):
            drop(sys, ws, first + c)
        k = m - kept
    ws.loop.closed[f] = k
    for c in range(k, m):
        to = sys.front.next[f] + c - k
        ws.loop.order[to] = ws.loop.order[first + c]
        ws.loop.up[first + c] = to if ws.loop.order[to] >= 0 else -1


@kernel(lean=True)
def drop(sys, ws, slot):
    """The row at a slot is redundant. Writes: redundant, pivot_inv, lost; near, if its group has too few."""
    r = ws.loop.order[slot]
    g = sys.row.group[r]
    ws.row.redundant[r], ws.loop.pivot_inv[slot] = 1, 0.0
    ws.loop.lost[g] += 1
    size = sys.group.start[g + 1] - sys.group.start[g]
    if size - ws.loop.lost[g] < ws.loop.cap[g] and sys.group.soft[g] == 0:
        ws.loop.near[0], ws.loop.near[1] = 0.0, g


@kernel(lean=True)
def close_sound(sys, ws, f, k, end, sound, last):
    """Close rows k ... end of front f, the best first, while pivots are sound; up to row `last`, if not 0.

    Writes: as take_out; near, found. Returns the number of the first row that is left.
    """
    first, n, i = sys.front.row[f], sys.front.row[f + 1] - sys.front.row[f], sys.front.body[f]
    L, least = ws.loop.L_open[sys.front.L[f] : sys.front.L[f + 1]], ROUNDOFF if sound == DEPENDENT else sound
    while k < end and (last == 0 or k < last):
        best, p = 0.0, -1
        for c in range(k, end):
            r = ws.loop.order[first + c]
            if r < 0:
                continue
            d, natural = L[packed(n, c) + c], ws.loop.natural[r]
            if sound == DEPENDENT and ws.loop.found[sys.row.group[r]] >= ws.loop.cap[sys.row.group[r]]:
                continue
            if d > sound * ws.loop.whole[r] and d > least * natural:
                size = d / natural if natural > 0.0 else math.inf
                if size > best:
                    best, p = size, c
        if p < 0:
            break
        exchange(ws, L, first, n, k, p)
        r = ws.loop.order[first + k]
        if sound == DEPENDENT and ws.row.soft[r] == 0.0 and best < ws.loop.near[0]:
            ws.loop.near[0], ws.loop.near[1] = best, sys.row.group[r]
        ws.loop.found[sys.row.group[r]] += 1
        take_out(sys, ws, L, first, n, k, i)
        k += 1
    return k


@kernel(lean=True)
def spread(sys, ws, L, first, n, k, m):
    """Bring six rows at most of k ... m - 1 to their end, of which the others are combinations on the body.

    Factors of the combinations stand in the place of their compliance, which is zero: a unit of a redundant
    row asks for as much less of those that are kept. Writes: E, L_open, order. Returns their number.
    """
    q, kept, largest = ws.loop.basis, 0, 0.0
    while kept < 6 and kept < m - k:
        best, p = 0.0, k
        for c in range(k, m - kept):
            s = left_of(sys, ws, first + c, kept)
            if s > best:
                best, p = s, c
        largest = max(largest, best)
        if not best > SAME * SAME * largest:
            break
        left_of(sys, ws, first + p, kept)
        for row in range(6):
            q[kept, row] = q[6, row] / math.sqrt(best)
        exchange(ws, L, first, n, p, m - 1 - kept)
        kept += 1
    for c in range(k, m - kept):
        at = packed(n, c)
        for o in range(c + 1, n):
            L[at + o] = 0.0
        for a in range(kept - 1, -1, -1):
            s = along(sys, ws, first + c, q[a])
            for b in range(a + 1, kept):
                s -= L[at + m - 1 - b] * along(sys, ws, first + m - 1 - b, q[a])
            L[at + m - 1 - a] = s / along(sys, ws, first + m - 1 - a, q[a])
    return kept


@kernel(lean=True)
def left_of(sys, ws, slot, kept):
    """Square of what of the force at a slot no direction of the basis has; that part. Writes: basis[6]."""
    q, E = ws.loop.basis, ws.loop.E[slot]
    for row in range(6):
        q[6, row] = E[row] / (sys.length[0] if row > 2 else 1.0)
    for _ in range(2):  # twice is enough
        for a in range(kept):
            t = dot_six(six(q, 6), six(q, a))
            put_six(q, 6, plus_six(six(q, 6), -t, six(q, a)))
    return dot_six(six(q, 6), six(q, 6))


@kernel(lean=True)
def along(sys, ws, slot, q):
    """What the force at a slot has along a direction, moments over the length of the model."""
    E, l = ws.loop.E[slot], 1.0 / sys.length[0]
    return E[0] * q[0] + E[1] * q[1] + E[2] * q[2] + l * (E[3] * q[3] + E[4] * q[4] + E[5] * q[5])


@kernel(lean=True, inline=True)
def bring_largest(sys, ws, L, first, n, k, end):
    """Exchange row k with the one of the largest pivot up to `end`. Writes: E, L_open, order."""
    best, p = 0.0, k
    for c in range(k, end):
        size = ws.loop.natural[ws.loop.order[first + c]]
        if size > 0.0 and L[packed(n, c) + c] > best * size:
            best, p = L[packed(n, c) + c] / size, c
    if p != k:
        exchange(ws, L, first, n, k, p)


@kernel(lean=True)
def exchange(ws, L, first, n, k, p):
    """Exchange rows k and p of a front, k <= p. Writes: E, L_open, order."""
    if p == k:
        return
    a = six(ws.loop.E, first + k)
    put_six(ws.loop.E, first + k, six(ws.loop.E, first + p))
    put_six(ws.loop.E, first + p, a)
    ws.loop.order[first + k], ws.loop.order[first + p] = ws.loop.order[first + p], ws.loop.order[first + k]
    row, other = packed(n, k), packed(n, p)
    for c in range(k):
        at = packed(n, c)
        L[at + k], L[at + p] = L[at + p], L[at + k]
    L[row + k], L[other + p] = L[other + p], L[row + k]
    for c in range(k + 1, p):
        at = packed(n, c)
        L[row + c], L[at + p] = L[at + p], L[row + c]
    for c in range(p + 1, n):
        L[row + c], L[other + c] = L[other + c], L[row + c]


@kernel(lean=True, inline=True)
def take_out(sys, ws, L, first, n, k, i):
    """Eliminate row k of a front at body i (F54).

    Writes: redundant, pivot_inv; E, L_open, bias of those behind; M (upper), f.
    """
    row, r, e, M = packed(n, k), ws.loop.order[first + k], six(ws.loop.E, first + k), ws.body.M_star[i]
    s = 1.0 / L[row + k]
    ws.row.redundant[r], ws.loop.pivot_inv[first + k], t = 0, s, s * ws.loop.bias[r]
    if i > 0:
        put_six(ws.body.f_star, i, plus_six(six(ws.body.f_star, i), -t, e))
        for a in range(6):
            c = s * e[a]
            for b in range(a, 6):
                M[a, b] += c * e[b]
    for o in range(k + 1, n):
        c = L[row + o]
        if c == 0.0:
            continue
        if i > 0:
            put_six(ws.loop.E, first + o, plus_six(six(ws.loop.E, first + o), -s * c, e))
        ws.loop.bias[ws.loop.order[first + o]] -= t * c
        at, c = packed(n, o), s * c
        for q in range(o, n):
            L[at + q] -= c * L[row + q]


@kernel(inline=True)
def row_in(sys, ws, slot):
    """Row at a slot before any closed, -1 where none came."""
    r = sys.slot.row[slot]
    return r if r >= 0 else ws.loop.order[slot]


@kernel(lean=True, later="void", reassociate=True)
def rows_past_modes(sys, ws, i):
    """Take all rows of the front of body i past its modes (F25). Writes: e_f; E, L_open, bias, whole."""
    first, n = sys.front.row[i], sys.front.row[i + 1] - sys.front.row[i]
    nf, k0, o, L0 = sys.body.nf[i], sys.tree.o_qd[i], sys.body.o_E[i], sys.front.L[i]
    moving = sys.marker.row[sys.tree.m_out[i]] >= 0  # else its rows of H are zero
    u = ws.tree.u[k0 : k0 + nf]
    for k in range(n if moving else 0):
        E, at = six(ws.loop.E, first + k), sys.front.m[i] + k * nf
        for a in range(nf):
            ws.loop.e_f[at + a] += dot_six(six(ws.tree.H, k0 + a), E)
    solve_factor(sys, ws, i, ws.loop.e_f, sys.front.m[i], n)
    for k in range(n):
        E, r, at = ws.loop.E[first + k], row_in(sys, ws, first + k), sys.front.m[i] + k * nf
        if r < 0:
            continue
        x = ws.loop.e_f[at : at + nf]
        for row in range(6):
            s, g = 0.0, ws.elastic.G[o + nf * row : o + nf * (row + 1)]
            for a in range(nf):
                s += g[a] * x[a]
            E[row] -= s
        s = 0.0
        for a in range(nf):
            s += x[a] * u[a]
        ws.loop.bias[r] += s
        for c in range(k + 1):
            s, y = 0.0, ws.loop.e_f[sys.front.m[i] + c * nf : sys.front.m[i] + (c + 1) * nf]
            for a in range(nf):
                s += x[a] * y[a]
            ws.loop.L_open[L0 + packed(n, c) + k] += s
        ws.loop.whole[r] += s


@kernel(lean=True, later="void")
def rows_past_joint(sys, ws, i):
    """Take the open rows of body i past its joint, to the front that takes them (F25, F54).

    Writes: e; E, L_open of that front; e_f of its body; bias, whole.
    """
    first, n, p = sys.front.row[i], sys.front.row[i + 1] - sys.front.row[i], sys.tree.parent[i]
    k0, e0, closed = sys.tree.o_eta[i], sys.front.e[i], ws.loop.closed[i]
    d = between(ws.body.r, p, ws.body.r, i)
    for o in range(closed, n):
        E, r, b, w = six(ws.loop.E, first + o), ws.loop.order[first + o], 0.0, 0.0
        if r < 0:
            continue
        for k in range(sys.tree.o_qd[i] - 1, k0 - 1, -1):
            at = e0 + (k - k0) * n + o
            if sys.tree.driven[k] >= 0:
                ws.loop.e[at] = 0.0
                continue
            s = ws.loop.e[at] + dot_six(six(ws.tree.H, k), E)
            ws.loop.e[at] = s
            t = s * ws.tree.N_inv[k]
            b, w = b + t * ws.tree.u[k], w + s * t
            if p > 0 or k > k0:  # ground does not move
                E = plus_six(E, -t, six(ws.tree.U, k))
        ws.loop.bias[r] += b
        ws.loop.whole[r] += w
        if p > 0:
            to_parent(sys, ws, i, ws.loop.up[first + o], E, d)
    for k in range(k0, sys.tree.o_qd[i]):
        if sys.tree.driven[k] < 0:
            e = ws.loop.e[e0 + (k - k0) * n : e0 + (k - k0 + 1) * n]
            for o in range(closed, n):
                at, s = sys.front.L[i] + packed(n, o), e[o] * ws.tree.N_inv[k]
                for c in range(o, n):
                    ws.loop.L_open[at + c] += s * e[c]
    rows_to_front(sys, ws, i, 1)


@kernel(inline=True)
def to_parent(sys, ws, i, to, E, d):
    """Add a column of body i, at d from its parent, to it, at its origin and on its modes (F25)."""
    p = sys.tree.parent[i]
    put_six(ws.loop.E, to, plus_six(six(ws.loop.E, to), 1.0, wrench_at(E, d)))
    nf = sys.body.nf[p]
    at = sys.front.m[p] + (to - sys.front.row[p]) * nf
    for a in range(nf):
        ws.loop.e_f[at + a] += on_mode(ws.tree.B, sys.tree.o_B[i] + 6 * a, E)


@kernel(lean=True, inline=True)
def rows_to_front(sys, ws, f, moved):
    """Compliances of the open rows of front f, and their columns unless they moved, to the next front."""
    first, n, up = sys.front.row[f], sys.front.row[f + 1] - sys.front.row[f], sys.front.up[f]
    to, L, L0 = sys.front.row[up], ws.loop.L_open, sys.front.L[up]
    m = sys.front.row[up + 1] - to
    for o in range(ws.loop.closed[f], n):
        row, at = ws.loop.up[first + o] - to, sys.front.L[f] + packed(n, o)
        if row < 0:
            continue
        target = L0 + packed(m, row)
        if sys.front.run[f] == 1:  # they stand together there too
            for c in range(o, n):
                L[target + row + c - o] += L[at + c]
        else:
            for c in range(o, n):
                col = ws.loop.up[first + c] - to
                if col >= 0:
                    L[target + col if col >= row else L0 + packed(m, col) + row] += L[at + c]
        if moved == 0 and sys.front.body[f] > 0:
            put_six(ws.loop.E, to + row, plus_six(six(ws.loop.E, to + row), 1.0, six(ws.loop.E, first + o)))


@kernel(lean=True)
def multipliers(sys, ws, f, a):
    """Multipliers of the rows that close in front f, from the acceleration of its body (F54). Writes: lam."""
    first, n = sys.front.row[f], sys.front.row[f + 1] - sys.front.row[f]
    for k in range(ws.loop.closed[f] - 1, -1, -1):
        r, at = ws.loop.order[first + k], sys.front.L[f] + packed(n, k)
        s = ws.loop.bias[r] + dot_six(six(ws.loop.E, first + k), a)
        for o in range(k + 1, n):
            if ws.loop.order[first + o] >= 0:
                s += ws.loop.L_open[at + o] * ws.row.lam[ws.loop.order[first + o]]
        ws.row.lam[r] = -s * ws.loop.pivot_inv[first + k]


@kernel(lean=True, later="void")
def multipliers_of_branches(sys, ws, i, a):
    """The same of loops between branches of body i, the last closed first. Writes: lam."""
    for f in range(sys.front.branch[i + 1] - 1, sys.front.branch[i] - 1, -1):
        multipliers(sys, ws, f, a)
