"""Shares of contacts that only push: the self-stress is bounded (F28)."""

from flexmbs._jit import kernel
from flexmbs.dynamics.reactions.symmetric import factorise_symmetric, solve_factors

#: what a contact does: pushes by its share; would pull, and is held at zero; cannot but pull
FREE, HELD, PULLS = 0, 1, 2
#: how far it is with one that is to be held
DONE, MORE, NEVER = 0, 1, 2
#: forces of contacts below this part of the largest are zero; pushes that change no force, and their parts
NO_PUSH, NO_RATE, SUMMAND = 1e-12, 1e-12, 1e-9


@kernel(lean=True, later="void")
def hold_contacts(sys, ws, b, F):
    """Shares of block b in which no contact pulls, nearest to those that are found (F28).

    `u` is what holds them. Contacts that cannot but pull, as in a prescribed motion, count as couplings that
    hold both ways. `F`: factors of the metric. Writes: null_y, side_is; side_f, side_q, side_M, side_C,
    side_z, side_u, side_x, side_i.
    """
    first, n = sys.block.first[b], ws.null.n[b]
    y, z, f, q, u = ws.null.y, ws.side.z, ws.side.f, ws.side.q, ws.side.u
    m, scale = 0, 0.0
    for k in range(sys.row.contact.shape[0]):
        r = sys.row.contact[k]
        if sys.block.of_group[sys.row.group[r]] != b or ws.row.soft[r] < 0.0:
            continue
        s, size, reach = ws.row.force[r], abs(ws.row.force[r]), 0.0
        for a in range(n):
            s += y[first + a] * ws.null.lam[a, r]
            size += abs(y[first + a] * ws.null.lam[a, r])
            reach = max(reach, abs(ws.null.lam[a, r]))
        if reach == 0.0:
            continue
        ws.side.i[m], q[m], scale = k, sys.row.side[r] * s, max(scale, size)
        for a in range(n):
            z[m, a] = sys.row.side[r] * ws.null.lam[a, r]
        solve_factors(F, ws.null.lo[first : first + n], z[m], n)
        m += 1
    for i in range(m):
        r = sys.row.contact[ws.side.i[i]]
        for k in range(m):
            ws.side.M[i, k] = 0.0
            for a in range(n):
                ws.side.M[i, k] += sys.row.side[r] * ws.null.lam[a, r] * z[k, a]
    while not push_apart(ws, m, scale):
        pass
    for i in range(m):
        if ws.side.state[ws.side.i[i]] == FREE and f[i] <= NO_PUSH * scale:
            ws.side.state[ws.side.i[i]] = HELD
        for a in range(n):
            y[first + a] += u[i] * z[i, a]


@kernel(lean=True)
def push_apart(ws, m, scale):
    """Least u >= 0 with f = q + M u >= 0, by an active set; what cannot but pull takes no part.

    Returns False where contacts have been found that cannot, and all begins anew. Writes: side_u, side_f,
    side_is; side_C, side_x.
    """
    for i in range(m):
        ws.side.u[i], ws.side.f[i] = 0.0, ws.side.q[i]
        if ws.side.state[ws.side.i[i]] == HELD:
            ws.side.state[ws.side.i[i]] = FREE
    for _ in range(10 * m):
        worst, k = -NO_PUSH * scale, -1
        for i in range(m):
            if ws.side.state[ws.side.i[i]] == FREE and ws.side.f[i] < worst:
                worst, k = ws.side.f[i], i
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
    f, u, x, own, M = ws.side.f, ws.side.u, ws.side.x, ws.side.i, ws.side.M
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
        ws.side.state[own[k]] = PULLS
        for i in range(m):
            if x[i] < -SUMMAND:
                ws.side.state[own[i]] = PULLS
        return NEVER
    for i in range(m):
        u[i] -= part * x[i]
    u[k] += part
    ws.side.state[own[k]] = HELD
    if at >= 0:
        u[at], ws.side.state[own[at]], ws.side.state[own[k]] = 0.0, FREE, FREE
    for i in range(m):
        f[i] = ws.side.q[i]
        for j in range(m):
            f[i] += M[i, j] * u[j]
    return MORE if at >= 0 else DONE


@kernel(lean=True)
def answer(ws, m, k):
    """How much less has to hold the contacts that are held where one more holds k. Writes: side_x; side_C."""
    C, M, x = ws.side.C, ws.side.M, ws.side.x
    for i in range(m):
        held = ws.side.state[ws.side.i[i]] == HELD
        x[i] = M[i, k] if held else 0.0
        for j in range(i + 1):
            both = held and ws.side.state[ws.side.i[j]] == HELD
            C[i, j] = M[i, j] if both else 0.0
        C[i, i] = M[i, i] if held else 1.0
    factorise_symmetric(C, C, 1.0, ws.side.lo, m)
    solve_factors(C, ws.side.lo, x, m)
