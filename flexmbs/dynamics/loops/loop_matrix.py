"""The loop matrix in its envelope: assembly, factors that find redundant rows, solution (F26, F28).

Groups are taken in a fixed order, the rows of a group by their pivots; the matrix is semidefinite, so a
vanishing pivot is a row that those before it imply. Cost is that of the envelope: linear in a chain of loops.
"""

from flexmbs._jit import kernel

#: A pivot below this part of its row's own diagonal is zero: the square of a dependence of 1e-5.
TOLERANCE = 1e-10
#: Nor is one below this part of the largest diagonal, over the natural sizes of both rows: rounding squared.
ROUNDING = 1e-24
#: rows of a group change places when a pivot, over its natural size, is below this part of the largest one
EXCHANGE = 0.01


@kernel(lean=True, apart=True)
def loop_matrix(sys, ws):
    """Loop matrix sum e D^-1 e^T in its envelope (F26). Writes: S, S_diag."""
    S = ws.loop.S
    for k in range(S.shape[0]):
        S[k] = 0.0
    for i in range(1, sys.tree.parent.shape[0]):
        first, n_speed = sys.tree.o_eta[i], sys.tree.o_eta[i + 1] - sys.tree.o_eta[i]
        for a in range(sys.path.of_body_start[i], sys.path.of_body_start[i + 1]):
            ja = sys.path.of_body[a]
            ga = sys.path.group[ja]
            ra, na = sys.group.start[ga], sys.group.start[ga + 1] - sys.group.start[ga]
            for b in range(sys.path.of_body_start[i], sys.path.of_body_start[i + 1]):
                jb = sys.path.of_body[b]
                gb = sys.path.group[jb]
                if gb > ga:
                    continue
                rb, nb = sys.group.start[gb], sys.group.start[gb + 1] - sys.group.start[gb]
                for k in range(n_speed):
                    if sys.tree.driven[first + k] >= 0:
                        continue
                    d = 1.0 / ws.tree.D[first + k]
                    ea, eb = sys.path.e[ja] + k * na, sys.path.e[jb] + k * nb
                    for r in range(na):
                        s = d * ws.loop.e[ea + r]
                        if s == 0.0:
                            continue
                        row = sys.envelope.start[ra + r] - sys.envelope.first[ra + r] + rb
                        top = min(nb, ra + r + 1 - rb)
                        for c in range(top):
                            S[row + c] += s * ws.loop.e[eb + c]
    for r in range(ws.loop.S_diag.shape[0]):
        k = sys.envelope.start[r + 1] - 1
        # (F45); a row that is off has no columns: its multiplier comes out as zero
        S[k] = 1.0 if ws.row.soft[r] < 0.0 else S[k] + ws.row.soft[r]
        ws.loop.S_diag[r] = S[k]
        if sys.row.massless[r] >= 0:
            # the unknown of (F26a) stands in its own row
            S[k] -= sys.tree.massless[sys.row.massless[r]]


@kernel(lean=True)
def natural_size(sys, ws, r, by_mass, by_turning):
    """What the diagonal of row r would be if the row moved the whole model: all rows of a loop may vanish."""
    size = 0.0
    for k in range(sys.term.start[r], sys.term.start[r + 1]):
        c, e = ws.row.c_term[k], sys.term.relation[k]
        x, y, z, a, b, d = (
            ws.relation.at[e, 3],
            ws.relation.at[e, 4],
            ws.relation.at[e, 5],
            ws.relation.at[e, 6],
            ws.relation.at[e, 7],
            ws.relation.at[e, 8],
        )
        size += c * c * ((x * x + y * y + z * z) * by_mass + (a * a + b * b + d * d) * by_turning)
    for k in range(sys.speed.start[r], sys.speed.start[r + 1]):
        c, H = ws.row.c_speed[k], ws.tree.H[sys.coord.vel[sys.speed.coord[k]]]
        turns = H[3] * H[3] + H[4] * H[4] + H[5] * H[5]
        size += c * c * (turns * by_turning if turns > 0.0 else by_mass)
    return size


@kernel(lean=True)
def compare_rows(sys, ws):
    """Natural sizes of all rows, and the largest diagonal over them of a hard one. Writes: rhs (scratch).

    The compliance of a soft row (F45) goes to infinity with shorter steps: it is no measure for the others.
    """
    # a row that vanishes up to rounding (squared) is redundant beside the others, not a row of its own scale;
    # rows are compared by their natural sizes, so that neither units nor factors of a row decide
    mass, largest = sys.tree.mass_scale[0], 1.0
    by_mass = by_turning = 0.0
    if mass > 0.0:
        by_mass, by_turning = 1.0 / mass, 1.0 / sys.tree.mass_scale[1]
    for r in range(ws.loop.S_diag.shape[0]):
        ws.loop.rhs[r] = natural_size(sys, ws, r, by_mass, by_turning)
        if ws.loop.rhs[r] > 0.0 and ws.loop.S_diag[r] > largest * ws.loop.rhs[r] and ws.row.soft[r] == 0.0:
            largest = ws.loop.S_diag[r] / ws.loop.rhs[r]
    return largest


@kernel(lean=True, apart=True)
def factorise(sys, ws):
    """L D L^T of the loop matrix in its envelope; vanishing pivots mark redundant rows (F28).

    Rows of a group are exchanged where the next pivot is much smaller than another, so that small pivots say
    that constraints lose rank: `order` is the row at a place. A group takes no more independent rows than it
    has where constraints hold (loop.cap): off them, rows of an overconstrained loop differ by the square of
    the distance, which is no constraint. Redundant rows are left out of all sums: `used` lists the places of
    the others. Writes: S (by places, D on the diagonal), S_inv, order, redundant, used, used_before; near
    (lowered); rhs, swap (scratch). Returns 2 when a motion without inertia is not held by any row, else 0.
    """
    S, start = ws.loop.S, sys.envelope.start
    largest, m, exchanged = compare_rows(sys, ws), 0, False
    for g in range(sys.group.start.shape[0] - 1):
        first, end, found = sys.group.start[g], sys.group.start[g + 1], m
        earlier_columns(sys, ws, first, end, m, exchanged)
        for j in range(first, end):
            r = ws.loop.order[j]
            if S[start[j + 1] - 1] < EXCHANGE * largest * ws.loop.rhs[r] and best_row(sys, ws, j, end):
                exchanged, r = True, ws.loop.order[j]
            d, natural = S[start[j + 1] - 1], largest * ws.loop.rhs[r]
            if sys.row.massless[r] >= 0:
                # its pivot is what the other rows give it: negative
                if not -d > TOLERANCE * ws.loop.S_diag[r]:
                    return 2
            elif m - found >= ws.loop.cap[g] or not (
                d > TOLERANCE * ws.loop.S_diag[r] and d > ROUNDING * natural
            ):
                ws.row.redundant[r] = 1
                continue
            elif ws.row.soft[r] == 0.0 and d < ws.loop.near[0] * natural:
                ws.loop.near[0], ws.loop.near[1] = d / natural, g
            ws.row.redundant[r] = 0
            ws.loop.S_inv[j], ws.loop.used[m] = 1.0 / d, j
            m += 1
            take_out(sys, ws, j, end)
        if m - found < ws.loop.cap[g] and sys.group.soft[g] == 0:
            ws.loop.near[0], ws.loop.near[1] = 0.0, g
    ws.loop.used_before[ws.loop.S_diag.shape[0]] = m
    return 0


@kernel(lean=True)
def earlier_columns(sys, ws, first, end, m, exchanged):
    """Rows first ... end - 1 with the columns of earlier groups eliminated. Writes: S, order, used_before."""
    S, low, start, used, before = (
        ws.loop.S,
        sys.envelope.first,
        sys.envelope.start,
        ws.loop.used,
        ws.loop.used_before,
    )
    for r in range(first, end):
        row = start[r] - low[r]
        ws.loop.order[r], before[r] = r, m
        if exchanged:
            for c in range(low[r], first):
                ws.loop.swap[c] = S[row + c]
            for c in range(low[r], first):
                S[row + c] = ws.loop.swap[ws.loop.order[c]]
        begin = before[low[r]]
        for i in range(begin, m):
            c = used[i]
            col, s = start[c] - low[c], S[row + c]
            for j in range(max(begin, before[low[c]]), i):
                k = used[j]
                s -= S[row + k] * S[col + k]
            S[row + c] = s
        for b in range(first, r):  # rows that are divided already
            other, s = start[b] - low[b], S[row + b]
            for i in range(begin, m):
                s -= S[row + used[i]] * S[other + used[i]]
            S[row + b] = s
        d = S[row + r]
        for i in range(begin, m):
            c = used[i]
            w = S[row + c]
            S[row + c] = w * ws.loop.S_inv[c]
            d -= w * S[row + c]
        S[row + r] = d


@kernel(lean=True)
def best_row(sys, ws, j, end):
    """Exchange the row at place j of a group with the one of the largest pivot, if its own is far smaller.

    Writes: S, order. Returns whether rows were exchanged.
    """
    S, start, low = ws.loop.S, sys.envelope.start, sys.envelope.first
    best, p = 0.0, j
    for r in range(j, end):
        size = ws.loop.rhs[ws.loop.order[r]]
        if sys.row.massless[ws.loop.order[r]] < 0 and size > 0.0 and S[start[r + 1] - 1] > best * size:
            best, p = S[start[r + 1] - 1] / size, r
    if p == j or sys.row.massless[ws.loop.order[j]] >= 0:
        return False
    if S[start[j + 1] - 1] > EXCHANGE * best * ws.loop.rhs[ws.loop.order[j]]:
        return False
    row, other = start[j] - low[j], start[p] - low[p]
    for c in range(low[j], j):
        S[row + c], S[other + c] = S[other + c], S[row + c]
    S[row + j], S[other + p] = S[other + p], S[row + j]
    for k in range(j + 1, end):
        at = start[k] - low[k]
        if k < p:
            S[at + j], S[other + k] = S[other + k], S[at + j]
        elif k > p:
            S[at + j], S[at + p] = S[at + p], S[at + j]
    ws.loop.order[j], ws.loop.order[p] = ws.loop.order[p], ws.loop.order[j]
    return True


@kernel(lean=True)
def take_out(sys, ws, j, end):
    """Eliminate the row at place j from those behind it in its group. Writes: S."""
    S, start, low, inverse = ws.loop.S, sys.envelope.start, sys.envelope.first, ws.loop.S_inv[j]
    for r in range(j + 1, end):
        row = start[r] - low[r]
        w = S[row + j]
        S[row + j] = w * inverse
        for b in range(j + 1, r):
            S[row + b] -= w * S[start[b] - low[b] + j]  # divided already
        S[row + r] -= w * S[row + j]


@kernel(lean=True, apart=True)
def solve_rows(sys, ws):
    """Multipliers from the right-hand side (F26). Needs factorise. Writes: lam; swap."""
    S, start, low, used, before, x = (
        ws.loop.S,
        sys.envelope.start,
        sys.envelope.first,
        ws.loop.used,
        ws.loop.used_before,
        ws.loop.swap,
    )
    n = ws.loop.S_diag.shape[0]
    for r in range(n):
        ws.row.lam[r] = 0.0
    for i in range(before[n]):
        r = used[i]
        s, row = ws.loop.rhs[ws.loop.order[r]], start[r] - low[r]
        for j in range(before[low[r]], i):
            s -= S[row + used[j]] * x[used[j]]
        x[r] = s
    for i in range(before[n]):
        x[used[i]] *= ws.loop.S_inv[used[i]]
    for i in range(before[n] - 1, -1, -1):
        r = used[i]
        row, s = start[r] - low[r], x[r]
        ws.row.lam[ws.loop.order[r]] = s
        for j in range(before[low[r]], i):
            x[used[j]] -= S[row + used[j]] * s
