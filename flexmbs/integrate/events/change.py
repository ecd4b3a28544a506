"""Kernel that finds change points, positions where constraints lose rank, to report them (F28)."""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel
from flexmbs.integrate.step import inside, is_ahead

GOLDEN = 0.6180339887498949
#: a least nearness below this part of that at the ends of the step is zero
ZERO = 1e-3
#: nearness that shows that a change point lies behind
AWAY = 0.1
#: by then the nearness of a zero, found by halves and less, is below that
SHALLOW = 8
#: events of change points are numbered downwards from here, by group of constraints
FIRST_CHANGE = -2


@kernel(lean=True, apart=True)
def find_change(call, run, new):
    """Record the change point in the pending step, when there is one (F28). Writes: mem, events.

    Nearness goes to zero along a line and rises again behind the point. It is followed inside a step only
    where the line of the last step ends before, or soon after, the end of this one, or where the stages of
    an explicit step say so. `new` is the nearness at the end of the step.
    """
    opt, tab, mem, scr, events = run.opt, run.tab, run.mem, run.scr, run.events
    t, h, now = mem.t[0], mem.h_step[0], mem.nearness[0]
    ahead = is_ahead(mem, h)
    soon = zero_of_line(mem, h) if ahead else 1.0
    if opt.explicit == 1 or mem.over[0] == 1:
        ahead = ahead or dips(tab, scr.near, now, new)
    # at a start it was measured by the masses, in implicit steps by the stiffness too: no line joins the two
    joined = opt.explicit == 1 or mem.over[0] == 1 or t > mem.t_last[0]
    mem.last_nearness[0] = now if joined else np.inf
    mem.nearness[0], mem.t_last[0] = new, t
    if mem.changed[0] == 1 and new > AWAY:
        mem.changed[0] = 0
        return 0
    if mem.changed[0] == 1 or not ahead:
        return 0
    counted, passes = mem.evaluations[0], mem.step_passes[0]
    place = -1.0
    if 3.0 * soon < 1.0:  # behind it nearness may rise and fall again before a long step ends
        place = zero_between(call, run, 3.0 * soon, now, new)
    if place < 0.0:
        place = zero_between(call, run, 1.0, now, new)
    mem.evaluations[0], mem.step_passes[0] = counted, passes
    if place >= 0.0:
        n = events.count[0]
        events.t[n], events.index[n] = t + place * h, FIRST_CHANGE - int(scr.closure[1])
        events.direction[n] = 1.0
        mem.changed[0] = 1 if new <= AWAY else 0  # a long step may end near the next one
        events.count[0] += 1
    return 0


@kernel(lean=True, apart=True)
def zero_between(call, run, end, now, new):
    """Where nearness is zero from the start of the pending step to a fraction of it; -1 where it is not."""
    low, high = 0.0, end
    x, y = (1.0 - GOLDEN) * end, GOLDEN * end
    f = at(call, run, x)
    g = at(call, run, y)
    for k in range(40):
        if k == SHALLOW and min(f, g) > AWAY * max(now, new):
            break
        if f < g:
            high, y, g = y, x, f
            x = high - GOLDEN * (high - low)
            f = at(call, run, x)
        else:
            low, x, f = x, y, g
            y = low + GOLDEN * (high - low)
            g = at(call, run, y)
    found = min(f, g) < ZERO * max(now, new) and low > 0.0 and high < end
    return 0.5 * (low + high) if found else -1.0


@kernel(lean=True)
def zero_of_line(mem, h):
    """Where nearness is zero on the line of the last step, as a fraction of the pending one (it falls)."""
    now = mem.nearness[0]
    return now * (mem.t[0] - mem.t_last[0]) / ((mem.last_nearness[0] - now) * h)


@kernel(lean=True, apart=True)
def dips(tab, near, now, new):
    """Whether nearness falls at first and rises at the end, or runs to zero in the step or soon behind it."""
    first, last, least = near[1], 1, 1e300
    for s in range(1, tab.n_stages):
        for part in range(3):  # halves are NaN where there are none
            here = near[part * tab.A.shape[0] + s]
            least = here if here < least else least
        if tab.C[last] < tab.C[s] < 1.0:
            last = s
    if not new < 1e300:
        return False
    if (first < now and near[last] < new) or least < min(now, new):
        return True
    if near[last] < 1.5 * (now - near[last]) * (1.0 / tab.C[last] - 1.0):
        return True  # on the line to the last stage, zero before the end
    return new < (near[last] - new) / (1.0 - tab.C[last])


@kernel(lean=True, apart=True)
def at(call, run, part):
    """Nearness at a fraction of the pending step. Writes: scr.y_out, scr.closure.

    In implicit steps along the chord of the speeds: a step of its own would not settle so close to the point.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    n, h = opt.n_pos, mem.h_step[0]
    t = mem.t[0] + part * h
    if opt.explicit == 1 or mem.over[0] == 1:
        status = inside(call, run, t)
    else:
        for i in range(mem.y.size):
            scr.y_out[i] = mem.y[i] + part * (scr.y1[i] - mem.y[i])
        for j in range(opt.n_vel):
            scr.delta[j] = 0.5 * part * h * (mem.y[n + j] + scr.y_out[n + j])
        call.increment(data, mem.y, scr.delta, scr.y_out)
        status = call.project(data, t, scr.y_out, 0.0, 0.0, scr.closure)
    if status == 0:
        status = call.rates(data, t, scr.y_out, scr.y_half)
    call.nearness(data, scr.closure)
    return scr.closure[0] if status == 0 else 1e300
