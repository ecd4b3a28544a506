"""Kernel that finds change points, positions where constraints lose rank, to report them (F28)."""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel
from flexmbs.integrate.control import tell
from flexmbs.integrate.step import inside, is_ahead, within_reach

GOLDEN = 0.6180339887498949
#: a least nearness below this part of that at the ends of the step is zero; at the end of the step too, as it
#: rises from there on
ZERO = 1e-3
#: nearness that shows that a change point lies behind
AWAY = 0.1
#: by then the nearness of a zero, found by halves and less, is below that
SHALLOW = 8
#: nearness that rises from zero and falls back to it within the reach of a step, at its steepest; and that
#: is zero beside a place, by its slope on the other side
STEEP = 2.5
#: events of change points are numbered downwards from here, by group of constraints
FIRST_CHANGE = -2


@kernel(lean=True, apart=True)
def find_change(call, run):
    """Record the change points in the pending step, when nothing takes it back any more (F28).

    Nearness goes to zero along a line and rises again behind the point. It is followed inside a step only
    where the line of the last step ends before, or soon after, the end of this one; in an implicit step where
    it could fall to zero and rise again; and between the stages of an explicit step beside one that is nearer
    than both: a long step may pass several. Writes: mem, events.
    """
    opt, tab, mem, scr = run.opt, run.tab, run.mem, run.scr
    t, h, now, new = mem.t[0], mem.h_step[0], mem.nearness[0], mem.end_nearness[0]
    staged = opt.explicit == 1 or mem.over[0] == 1
    ahead, behind = is_ahead(mem, h), mem.changed[0] == 1
    soon = now * (t - mem.t_last[0]) / ((mem.last_nearness[0] - now) * h) if ahead else 1.0  # on that line
    # at a start it was measured by the masses, in implicit steps by the stiffness too: no line joins the two
    joined = staged or t > mem.t_last[0]
    mem.last_nearness[0] = now if joined else np.inf
    mem.nearness[0], mem.t_last[0] = new, t
    mem.changed[0] = 1 if behind and new <= AWAY else 0
    counted, passes = mem.evaluations[0], mem.step_passes[0]
    done = -1.0
    if ahead and not behind:
        done = zero_between(call, run, 0.0, min(3.0 * soon, 1.0))
    if not (staged or behind) and done < 0.0 and (now + new) * within_reach(run) < STEEP * h:
        done = zero_between(call, run, 0.0, 1.0)
    low, before, slope = 0.0, now, 0.0
    place, here = next_stage(tab, scr.near, 0.0) if staged else (1.0, new)
    while place < 1.0:
        high, after = next_stage(tab, scr.near, place)
        after = new if high == 1.0 else after
        left, right = (before - here) / (place - low), (after - here) / (high - place)
        is_steep = here < STEEP * max(left * (high - place), right * (place - low))
        if is_steep and here <= min(before, after) and done <= low and not (behind and low == 0.0):
            done = max(done, zero_between(call, run, low, high))
        slope = (here - before) / (place - low)
        low, before, place, here = place, here, high, after
    if low > done and new < before < -1.5 * slope * (1.0 - low):  # on the line of the stages, zero at the end
        zero_between(call, run, low, 1.0)
    mem.evaluations[0], mem.step_passes[0] = counted, passes


@kernel(lean=True, later="float64")
def zero_between(call, run, begin, end):
    """Record where nearness is zero between two fractions of the pending step, or -1. Writes: mem, events."""
    mem, now, new = run.mem, run.mem.last_nearness[0], run.mem.nearness[0]
    low, high, size = begin, end, max(now, new) if now < 1e300 else new
    x, y = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f = at(call, run, x)
    g = at(call, run, y)
    for k in range(40):
        if k == SHALLOW and min(f, g) > AWAY * size:
            break
        if f < g:
            high, y, g = y, x, f
            x = high - GOLDEN * (high - low)
            f = at(call, run, x)
        else:
            low, x, f = x, y, g
            y = low + GOLDEN * (high - low)
            g = at(call, run, y)
    if not (min(f, g) < ZERO * size and low > begin and (high < end or end == 1.0)):
        return -1.0
    place = 0.5 * (low + high)
    tell(run, mem.t[0] + place * mem.h_step[0], FIRST_CHANGE - int(run.scr.closure[1]), 1.0)
    mem.changed[0] = 1 if new <= AWAY else 0  # a long step may end near the next one
    return place


@kernel(inline=True)
def next_stage(tab, near, behind):
    """Place of the next stage behind a fraction of an explicit step, also of its halves, and its nearness."""
    place, found = 1.0, 0.0
    for s in range(1, tab.n_stages):
        for part in range(3):
            here = near[part * tab.A.shape[0] + s]
            c = tab.C[s] if part == 0 else 0.5 * (tab.C[s] + part - 1.0)
            if here >= 0.0 and behind < c < place:
                place, found = c, here
    return place, found


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
