"""States of self-stress: null vectors of G^T and the joint wrenches that they make (F28).

A state loads a few rows and the joints between their ends, and is kept as a list of both: what sharing costs
follows from the loops that share joints, not from all of them. Blocks of loops share no joint: the first
states of all of them stand in one vector, then the second ones. The a-th state of block b has place
block.first[b] + a in the lists.
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.loops.columns import packed
from flexmbs.dynamics.tree.sixes import plus_six, put_six, six
from flexmbs.model.vectors import between, times_wrench, wrench_at

#: a multiplier below this part of the redundant one, by their forces, is rounding
NO_LOAD = 1e-14


@kernel(lean=True, later="void")
def self_stress(sys, ws):
    """States of self-stress of all redundant rows. Needs backward and the position stage.

    Writes: null.lam, n, rows, joints and their lists.
    """
    forget_states(sys, ws)
    # in the order of the fronts: states that share joints are neighbours
    for f in range(sys.front.closed.shape[0]):
        for k in range(ws.loop.closed[f]):
            r = ws.loop.order[sys.front.row[f] + k]
            b = sys.block.of_group[sys.row.group[r]]
            if ws.row.redundant[r] != 0 and ws.null.n[b] < ws.null.lam.shape[0]:
                begin_state(sys, ws, b)
                null_vector(sys, ws, f, k, ws.null.lam[ws.null.n[b] - 1])
                end_state(sys, ws, b)


@kernel(lean=True, apart=True)
def forget_states(sys, ws):
    """No state, no multiplier in it. Writes: null.lam, n, size, head."""
    for b in range(ws.null.n.shape[0]):
        for a in range(ws.null.n[b]):
            s = sys.block.first[b] + a
            for k in range(ws.null.span[s, 0], ws.null.span[s, 1]):
                ws.null.lam[a, ws.null.rows[k]] = 0.0
        ws.null.n[b] = 0
    for j in range(ws.null.head.shape[0]):
        ws.null.head[j] = ws.null.mark[j] = -1
    ws.null.size[0] = ws.null.size[1] = 0


@kernel(lean=True, apart=True)
def begin_state(sys, ws, b):
    """A further state of block b. Writes: n, span, size."""
    ws.null.span[sys.block.first[b] + ws.null.n[b], 0] = ws.null.size[0]
    ws.null.size[2] = ws.null.size[1]
    ws.null.n[b] += 1


@kernel(lean=True, apart=True)
def load(ws, out, r, value):
    """Multiplier of row r in the state that was begun last. Writes: out[r], rows, size."""
    out[r], ws.null.rows[ws.null.size[0]] = value, r
    ws.null.size[0] += 1


@kernel(lean=True, apart=True)
def end_state(sys, ws, b):
    """Wrenches of the joints that the rows of the last state of block b load. Writes: span; as add_wrench."""
    a = ws.null.n[b] - 1
    s = sys.block.first[b] + a
    ws.null.span[s, 1] = ws.null.size[0]
    for k in range(ws.null.span[s, 0], ws.null.size[0]):
        r = ws.null.rows[k]
        for n in range(sys.term.start[r], sys.term.start[r + 1]):
            e, c = sys.term.relation[n], ws.row.c_term[n] * ws.null.lam[a, r]
            push_along(sys, ws, r, sys.relation.q[e], e, c)
            push_along(sys, ws, r, sys.relation.p[e], e, -c)
            for j in (sys.joint.of_row[r], sys.relation.joint[e]):  # cut joints transmit what is put on them
                if j >= 0:
                    add_wrench(sys, ws, r, j, 1.0, times_wrench(c, ws.relation.at[e]))


@kernel(lean=True)
def push_along(sys, ws, r, m, e, c):
    """c times the wrench of relation e through the joints of the tree from marker m to where row r ends."""
    i, q, w = sys.marker.body[m], sys.relation.q[e], times_wrench(c, ws.relation.at[e])
    while i != sys.path.meet[sys.row.group[r]]:
        j = sys.tree.joint[i]
        if j >= 0:
            F = wrench_at(w, between(ws.marker.x, sys.joint.q[j], ws.marker.x, q))
            add_wrench(sys, ws, r, j, -sys.joint.sign[j], F)
        i = sys.tree.parent[i]


@kernel(lean=True)
def add_wrench(sys, ws, r, j, c, F):
    """c times a wrench on joint j in the state that was begun last, which has row r.

    Writes: w, of, next, head, mark, size.
    """
    b, at = sys.block.of_group[sys.row.group[r]], ws.null.mark[j]
    if sys.block.of_joint[j] != b:
        return
    if at < ws.null.size[2]:
        at = ws.null.size[1]
        put_six(ws.null.w, at, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        ws.null.of[at], ws.null.next[at] = ws.null.n[b] - 1, ws.null.head[j]
        ws.null.head[j] = ws.null.mark[j] = at
        ws.null.size[1] += 1
    put_six(ws.null.w, at, plus_six(six(ws.null.w, at), c, F))


@kernel(lean=True)
def null_vector(sys, ws, f, k, out):
    """The combination of rows that vanishes, with the redundant row k of front f (F28).

    A unit of its multiplier asks for those that were eliminated before it in its front, and for those of
    loops inside, as far as these are loaded; nothing moves. One that was dropped for others that stay open
    asks for those. Writes: out in the block of the row; stack; as load.
    """
    first, n, depth = sys.front.row[f], sys.front.row[f + 1] - sys.front.row[f], 1
    r = ws.loop.order[first + k]
    load(ws, out, r, 1.0)
    if k >= sys.front.closed[f]:
        for o in range(ws.loop.closed[f], sys.front.closed[f] + sys.front.tried[f]):
            c = ws.loop.L_open[sys.front.L[f] + packed(n, k) + o]
            if ws.loop.order[first + o] >= 0 and c != 0.0:
                load(ws, out, ws.loop.order[first + o], -c)
    ws.null.stack[0] = f
    while depth > 0:
        depth -= 1
        g = ws.null.stack[depth]
        stress_inside(sys, ws, g, k if g == f else ws.loop.closed[g], r, out)
        for c in range(sys.front.inner[g], sys.front.inner[g + 1]):
            loaded, h = False, sys.front.inside[c]
            for o in range(sys.front.row[h] + ws.loop.closed[h], sys.front.row[h + 1]):
                loaded |= ws.loop.order[o] >= 0 and out[ws.loop.order[o]] != 0.0
            if loaded:
                ws.null.stack[depth] = h
                depth += 1


@kernel(lean=True)
def stress_inside(sys, ws, f, closed, r, out):
    """Multipliers of the first rows of a front under those behind. Writes: as load, in the block of r."""
    first, n = sys.front.row[f], sys.front.row[f + 1] - sys.front.row[f]
    block = sys.block.of_group[sys.row.group[r]]
    for k in range(closed - 1, -1, -1):
        s, at, q = 0.0, sys.front.L[f] + packed(n, k), ws.loop.order[first + k]
        for o in range(k + 1, n):
            if ws.loop.order[first + o] >= 0:
                s += ws.loop.L_open[at + o] * out[ws.loop.order[first + o]]
        s *= -ws.loop.pivot_inv[first + k]
        rounding = NO_LOAD * NO_LOAD * ws.loop.natural[r] >= s * s * ws.loop.natural[q]
        if not rounding and sys.block.of_group[sys.row.group[q]] == block:
            load(ws, out, q, s)
