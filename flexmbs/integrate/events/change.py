"""Kernel that finds change points, positions where constraints lose rank, to report them (F28)."""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel
from flexmbs.integrate.memory import (
    CHANGED,
    EVALUATIONS,
    H_STEP,
    LAST_NEARNESS,
    NEARNESS,
    OVER,
    STEP_PASSES,
    T_LAST,
    T,
)
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
def find_change(
    rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, events, new
):  # fmt: skip
    """Record the change point in the pending step, when there is one (F28). Writes: mem, events.

    Nearness goes to zero along a line and rises again behind the point. It is followed inside a step only
    where the line of the last step ends before, or soon after, the end of this one, or where the stages of
    an explicit step say so. `new` is the nearness at the end of the step.
    """
    t, h, now = mem.real[T], mem.real[H_STEP], mem.real[NEARNESS]
    ahead = is_ahead(mem, h)
    soon = zero_of_line(mem, h) if ahead else 1.0
    if opt.explicit == 1 or mem.count[OVER] == 1:
        ahead = ahead or dips(tab, scr.near, now, new)
    # at a start it was measured by the masses, in implicit steps by the stiffness too: no line joins the two
    joined = opt.explicit == 1 or mem.count[OVER] == 1 or t > mem.real[T_LAST]
    mem.real[LAST_NEARNESS] = now if joined else np.inf
    mem.real[NEARNESS], mem.real[T_LAST] = new, t
    if mem.count[CHANGED] == 1 and new > AWAY:
        mem.count[CHANGED] = 0
        return 0
    if mem.count[CHANGED] == 1 or not ahead:
        return 0
    counted, passes = mem.count[EVALUATIONS], mem.count[STEP_PASSES]
    place = -1.0
    if 3.0 * soon < 1.0:  # behind it nearness may rise and fall again before a long step ends
        place = zero_between(
            rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, 3.0 * soon, now, new
        )
    if place < 0.0:
        place = zero_between(
            rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, 1.0, now, new
        )
    mem.count[EVALUATIONS], mem.count[STEP_PASSES] = counted, passes
    if place >= 0.0:
        n = events.count[0]
        events.t[n], events.index[n] = t + place * h, FIRST_CHANGE - int(scr.closure[1])
        events.direction[n] = 1.0
        mem.count[CHANGED] = 1 if new <= AWAY else 0  # a long step may end near the next one
        events.count[0] += 1
    return 0


@kernel(lean=True, apart=True)
def zero_between(
    rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, end, now, new
):  # fmt: skip
    """Where nearness is zero from the start of the pending step to a fraction of it; -1 where it is not."""
    low, high = 0.0, end
    x, y = (1.0 - GOLDEN) * end, GOLDEN * end
    f = at(rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, x)
    g = at(rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, y)
    for k in range(40):
        if k == SHALLOW and min(f, g) > AWAY * max(now, new):
            break
        if f < g:
            high, y, g = y, x, f
            x = high - GOLDEN * (high - low)
            f = at(rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, x)
        else:
            low, x, f = x, y, g
            y = low + GOLDEN * (high - low)
            g = at(rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, y)
    found = min(f, g) < ZERO * max(now, new) and low > 0.0 and high < end
    return 0.5 * (low + high) if found else -1.0


@kernel(lean=True)
def zero_of_line(mem, h):
    """Where nearness is zero on the line of the last step, as a fraction of the pending one (it falls)."""
    now = mem.real[NEARNESS]
    return now * (mem.real[T] - mem.real[T_LAST]) / ((mem.real[LAST_NEARNESS] - now) * h)


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
def at(rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, part):
    """Nearness at a fraction of the pending step. Writes: scr.y_out, scr.closure.

    In implicit steps along the chord of the speeds: a step of its own would not settle so close to the point.
    """
    n, h = opt.n_pos, mem.real[H_STEP]
    t = mem.real[T] + part * h
    if opt.explicit == 1 or mem.count[OVER] == 1:
        status = inside(rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, t)
    else:
        for i in range(mem.y.size):
            scr.y_out[i] = mem.y[i] + part * (scr.y1[i] - mem.y[i])
        for j in range(opt.n_vel):
            scr.delta[j] = 0.5 * part * h * (mem.y[n + j] + scr.y_out[n + j])
        increment(data, mem.y, scr.delta, scr.y_out)
        status = project(data, t, scr.y_out, 0.0, 0.0, scr.closure)
    if status == 0:
        status = rates(data, t, scr.y_out, scr.y_half)
    nearness(data, scr.closure)
    return scr.closure[0] if status == 0 else 1e300
