"""Shares of contacts that only push: the self-stress is bounded (F28)."""

from flexmbs._jit import kernel
from flexmbs.dynamics.reactions.symmetric import factorise_symmetric, solve_factors, yield_to

#: what a contact does: pushes by its share; would pull, and is held at zero; cannot but pull
FREE, HELD, PULLS = 0, 1, 2
#: how far it is with one that is to be held
DONE, MORE, NEVER = 0, 1, 2
#: forces of contacts below this part of the largest are zero; pushes that change no force, and their parts
ZERO, NO_RATE, SUMMAND = 1e-12, 1e-12, 1e-9


@kernel(lean=True)
def hold_contacts(sys, ws, b, is_soft):
    """Shares of block b in which no contact pulls, nearest to those that are found (F28).

    `u` is what holds them. Contacts that cannot but pull, as in a prescribed motion, count as couplings that
    hold both ways. Needs the factors of the metric. Writes: null_y, side_is; side_f, side_q, side_M,
    side_C, side_z, side_u, side_x, side_i, null_d.
    """
    first, n = sys.block_first[b], ws.null_n[b]
    y, z, f, q, u = ws.null_y, ws.side_z, ws.side_f, ws.side_q, ws.side_u
    m, scale = 0, 0.0
    for k in range(sys.side_row.shape[0]):
        r = sys.side_row[k]
        if sys.block_of_group[sys.group_of_row[r]] != b or ws.soft[r] < 0.0:
            continue
        s, size, reach = ws.row_force[r], abs(ws.row_force[r]), 0.0
        for a in range(n):
            s += y[first + a] * ws.null[a, r]
            size += abs(y[first + a] * ws.null[a, r])
            reach = max(reach, abs(ws.null[a, r]))
        if reach == 0.0:
            continue
        ws.side_i[m], q[m], scale = k, sys.row_side[r] * s, max(scale, size)
        for a in range(n):
            z[m, a] = sys.row_side[r] * ws.null[a, r]
        if is_soft:
            yield_to(ws.null_A[first : first + n], ws.null_V, ws.null_e, z[m], n)
        else:
            solve_factors(ws.null_A[first : first + n], z[m], n)
        m += 1
    for i in range(m):
        r = sys.side_row[ws.side_i[i]]
        for k in range(m):
            ws.side_M[i, k] = 0.0
            for a in range(n):
                ws.side_M[i, k] += sys.row_side[r] * ws.null[a, r] * z[k, a]
    while not push_apart(ws, m, scale):
        pass
    for i in range(m):
        if ws.side_is[ws.side_i[i]] == FREE and f[i] <= ZERO * scale:
            ws.side_is[ws.side_i[i]] = HELD
        for a in range(n):
            y[first + a] += u[i] * z[i, a]


@kernel(lean=True)
def push_apart(ws, m, scale):
    """Least u >= 0 with f = q + M u >= 0, by an active set; what cannot but pull takes no part.

    Returns False where contacts have been found that cannot, and all begins anew. Writes: side_u, side_f,
    side_is; side_C, side_x.
    """
    for i in range(m):
        ws.side_u[i], ws.side_f[i] = 0.0, ws.side_q[i]
        if ws.side_is[ws.side_i[i]] == HELD:
            ws.side_is[ws.side_i[i]] = FREE
    for _ in range(10 * m):
        worst, k = -ZERO * scale, -1
        for i in range(m):
            if ws.side_is[ws.side_i[i]] == FREE and ws.side_f[i] < worst:
                worst, k = ws.side_f[i], i
        if k < 0:
            break
        done = MORE
        while done == MORE:
            done = hold_more(ws, m, k)
        if done == NEVER:
            return False
    return True


@kernel(lean=True)
def hold_more(ws, m, k):
    """Push contact k until it is at zero, those that are held stay so; or until one of these is let go.

    Where it gets no nearer, a sum of it and of others is a pull whatever the share: these cannot but pull.
    Writes: side_u, side_f, side_is; side_C, side_x.
    """
    f, u, x, own, M = ws.side_f, ws.side_u, ws.side_x, ws.side_i, ws.side_M
    answer(ws, m, k)
    rate, part, at = M[k, k], 1e300, -1
    for i in range(m):
        rate -= M[k, i] * x[i]
    if rate > NO_RATE * M[k, k]:
        part = -f[k] / rate
    for i in range(m):
        if x[i] > 0.0 and u[i] < part * x[i]:
            part, at = u[i] / x[i], i
    if part == 1e300:
        ws.side_is[own[k]] = PULLS
        for i in range(m):
            if x[i] < -SUMMAND:
                ws.side_is[own[i]] = PULLS
        return NEVER
    for i in range(m):
        u[i] -= part * x[i]
    u[k] += part
    ws.side_is[own[k]] = HELD
    if at >= 0:
        u[at], ws.side_is[own[at]], ws.side_is[own[k]] = 0.0, FREE, FREE
    for i in range(m):
        f[i] = ws.side_q[i]
        for j in range(m):
            f[i] += M[i, j] * u[j]
    return MORE if at >= 0 else DONE


@kernel(lean=True)
def answer(ws, m, k):
    """How much less has to hold the contacts that are held where one more holds k. Writes: side_x; side_C."""
    C, M, x = ws.side_C, ws.side_M, ws.side_x
    for i in range(m):
        held = ws.side_is[ws.side_i[i]] == HELD
        x[i] = M[i, k] if held else 0.0
        for j in range(i + 1):
            both = held and ws.side_is[ws.side_i[j]] == HELD
            C[i, j] = M[i, j] if both else 0.0
        C[i, i] = M[i, i] if held else 1.0
    factorise_symmetric(C, m)
    solve_factors(C, x, m)
