"""Kernels that change the state at zeros of switching functions: contacts, kinks of constraints (F44)."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.dynamics.loops import projection
from flexmbs.integrate.problem import BEFORE
from flexmbs.model.laws.tables import OF_TIME
from flexmbs.simulate.motion.contact import impact_begins, impact_ends, turned_by
from flexmbs.simulate.motion.functions import at_rest, project, switches
from flexmbs.simulate.motion.powers import take_held


@kernel(lean=True, apart=True)
def turn(data, t, y, chosen, s, turned):
    """Contacts that open or close at a zero of switching function `chosen`, and those that follow them.

    A contact that closes is an inelastic impact: speeds are projected in the metric of M, which keeps the
    momentum, and what is lost is dissipated (F44). Writes: y, s, turned. Returns a status.
    """
    n_contacts = data.contact.row.shape[0]
    first = s.shape[0] - n_contacts
    turned[:] = 0.0
    if chosen <= BEFORE:
        return kink_begins(data, t, y, BEFORE - chosen)
    if has_kink(data, chosen):
        status = kink_ends(data, t, y, chosen, s, turned)
        if status != 0:
            return status
    k, count = chosen - first, 0
    while n_contacts > 0 and count <= 4 * n_contacts:
        if k < 0:
            for c in range(n_contacts):
                if s[first + c] < 0.0 and k < 0:
                    k = c
        if k < 0:
            return 0
        status = turn_contact(data, t, y, k)
        if status == 0:
            status = switches(data, t, y, s)
        if status != 0:
            return status
        turned[first + k] = turned_by(data, y, k, turned[first + k])
        k, count = -1, count + 1
    return 0


@kernel(inline=True)
def has_kink(data, k):
    """Whether speeds jump at a zero of switching function k: a law of time, or of a coupling."""
    return 0 <= k < data.laws.switch_law.shape[0] and data.laws.switch_law[k] <= OF_TIME


@kernel(lean=True, later="int64")
def kink_begins(data, t, y, k):
    """Take note of the speeds before a kink of a constraint. Writes: y, contact. Returns a status."""
    if not has_kink(data, k):
        return 0
    status = project(data, t, y, 0.0, 0.0, data.contact.closure)
    at_rest(data, t, y)
    impact_begins(data, y[: data.size[0]], y[data.size[0] : data.size[0] + data.size[1]])
    return status


@kernel(lean=True, later="int64")
def kink_ends(data, t, y, k, s, turned):
    """Loss of an impact on the kink of a coupling; at that of a law of time all is work.

    Writes: y, s, turned. Returns a status.
    """
    n, m = data.size[0], data.size[0] + data.size[1]
    loss = y[m + data.size[2] + 1]
    opened = part_there(data, t, y, s, turned)
    status = strike(data, t, y)
    if opened and status == 0:
        status = switches(data, t, y, s)
    at_rest(data, t, y)
    impact_ends(data, y[:n], y[n:m], y[m + data.size[2] :])
    if data.laws.switch_law[k] == OF_TIME:
        y[m + data.size[2]] -= y[m + data.size[2] + 1] - loss
        y[m + data.size[2] + 1] = loss
    return status


@kernel(lean=True, apart=True)
def strike(data, t, y):
    """Speeds behind an impact, from those that were noted before it. Writes: y. Returns a status."""
    n, m = data.size[0], data.size[0] + data.size[1]
    take_held(data, y)
    at = t, y[:n], y[n:m], y[m:], data.acc
    return projection.impact(data.sys, data.ws, data.laws, data.lw, at, data.contact.v, data.contact.vel)


@kernel(lean=True, apart=True)
def part_there(data, t, y, s, turned):
    """Open the contacts that the impact on a kink parts: nothing pulls there.

    All are tried open, and those that would close then stay closed. Left out are those with an infinite
    function. Writes: y, turned. Returns whether any opens.
    """
    c, n, m = data.contact, data.size[0], data.size[0] + data.size[1]
    place, first = m + data.size[2] + 2 + data.size[3], turned.shape[0] - c.row.shape[0]
    fastest, count = 0.0, 0
    for i in range(m - n):
        fastest = max(fastest, abs(c.vel[i]), abs(y[n + i]))
    for k in range(c.row.shape[0]):
        c.tried[k] = 1.0 if y[place + k] == 0.0 and s[first + k] < 1e300 else 0.0
        count += int(c.tried[k])
    opened = count > 0
    for _ in range(count):
        if not opened or try_open(data, t, y, place) != 0:
            return False
        opened, kept = False, True
        for k in range(c.row.shape[0]):
            rate = data.sys.row.side[c.row[k]] * data.ws.row.g_dot[c.row[k]]
            if c.tried[k] != 0.0 and rate < 1e-9 * fastest:
                c.tried[k], kept = 0.0, False
            opened = opened or c.tried[k] != 0.0
        if kept:
            break
    for k in range(c.row.shape[0]):
        if c.tried[k] != 0.0:
            y[place + k], turned[first + k] = 1.0, -1.0
    return opened


@kernel(lean=True, apart=True)
def try_open(data, t, y, place):
    """Speeds behind an impact with the tried contacts open, and their rates as if they were closed.

    Writes: y. Returns a status.
    """
    c = data.contact
    for k in range(c.row.shape[0]):
        if c.tried[k] != 0.0:
            y[place + k] = 1.0
    status = strike(data, t, y)
    for k in range(c.row.shape[0]):
        if c.tried[k] != 0.0:
            y[place + k] = 0.0
    at_rest(data, t, y)
    return status


@kernel(lean=True, later="int64")
def turn_contact(data, t, y, k):
    """Open contact k, or close it with an impact. Writes: y. Returns a status."""
    n, m = data.size[0], data.size[0] + data.size[1]
    place = m + data.size[2] + 2 + data.size[3] + k
    if y[place] == 0.0:
        y[place] = 1.0
        return 0
    at_rest(data, t, y)
    impact_begins(data, y[:n], y[n:m])
    y[place] = 0.0
    status = project(data, t, y, 0.0, 0.0, data.contact.closure)
    at_rest(data, t, y)
    impact_ends(data, y[:n], y[n:m], y[m + data.size[2] :])
    return status
