"""Kernels that locate zeros of switching functions by shortened steps, and pass them."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.integrate.events.dip import first_dip
from flexmbs.integrate.memory import CHATTER, NOT_EVALUATED
from flexmbs.integrate.step import attempt


@kernel(inline=True)
def crossing(run, s_low, s):
    """Number of the switching function that changed its side first (by the secant), or -1.

    Where speeds jump, zero is no place to be: which slope the law has there is a matter of its words.
    """
    opt, mem = run.opt, run.mem
    found, first = -1, 2.0
    for k in range(opt.n_switch):
        wanted = mem.mute[k] < CHATTER and not (k == opt.until and mem.sign[k] > 0.0)
        if wanted and (mem.sign[k] * s[k] < 0.0 or is_on(run, k, s[k])):
            place = s_low[k] / (s_low[k] - s[k]) if s_low[k] * mem.sign[k] > 0.0 else 0.0
            if place < first:
                found, first = k, place
    return found


@kernel(inline=True)
def is_on(run, k, value):
    """Whether a function at whose zero speeds jump has come to be exactly zero."""
    mem, scr = run.mem, run.scr
    return value == 0.0 and mem.sign[k] != 0.0 and scr.jumps[k] != 0.0


@kernel(inline=True)
def update_sides(run):
    """Sides of the switching functions after a step; zero keeps the side it came from. Writes: mem.sign."""
    opt, mem, scr = run.opt, run.mem, run.scr
    for k in range(mem.sign.size - opt.n_sided):
        if scr.s1[k] > 0.0:
            mem.sign[k] = 1.0
        elif scr.s1[k] < 0.0:
            mem.sign[k] = -1.0


@kernel(lean=True, apart=True)
def look_inside(call, run, found):
    """Shorten the accepted step to where a one-sided function is negative inside it; else leave it as it is.

    Returns its number and the size of the step, else `found` of its end. Writes: scr.y1 ..., scr.s1.
    """
    data, mem, scr = run.data, run.mem, run.scr
    whole = mem.h_step[0]
    part = first_dip(call, run)
    if part == 0.0:
        return found, whole
    h, k = part * whole, -1
    status, _ = attempt(call, run, h)
    if status == 0:
        status = call.switches(data, mem.t[0] + h, scr.y1, scr.s1)
    if status == 0:
        k = crossing(run, scr.s0, scr.s1)
    if k < 0:
        attempt(call, run, whole)
        call.switches(data, mem.t_step[0], scr.y1, scr.s1)
        h, k = whole, found
    return k, h


@kernel(lean=True, later="int64")
def locate(call, run):
    """Shorten the accepted step to just before the first zero in it. Writes: mem, scr.y1 and its companions.

    Every trial is a true step, so that the state before the zero has the accuracy of the method and no stage
    of the step has seen the other side. Illinois iteration between the last sizes before and behind.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    t = mem.t[0]
    low, high = 0.0, mem.h_step[0]
    if call.switches(data, mem.t_step[0], scr.y1, scr.s1) != 0 or call.switches(data, t, mem.y, scr.s0) != 0:
        return NOT_EVALUATED
    k = crossing(run, scr.s0, scr.s1)
    if opt.n_sided > 0:  # it may have been negative, and positive again, before the end of the step
        k, high = look_inside(call, run, k)
    if k < 0:
        return 0
    tolerance = max(4e-16 * abs(t + high), 1e-13 * high)
    f_low, f_high, side = scr.s0[k], scr.s1[k], 0
    for iteration in range(100):
        if high - low <= tolerance:
            break
        h = 0.5 * (low + high)
        if iteration % 4 != 3 and f_low * f_high < 0.0:
            h = low + (high - low) * f_low / (f_low - f_high)
        elif f_high == 0.0:
            h = high - 1e-3 * (high - low)
        h = min(max(h, low + 0.4 * tolerance), high - 0.4 * tolerance)
        status, _ = attempt(call, run, h)
        if status == 0:
            status = call.switches(data, t + h, scr.y1, scr.s2)
        found = crossing(run, scr.s0, scr.s2) if status == 0 else k
        if found < 0:
            low, f_low = h, scr.s2[k]
            f_high *= 0.5 if side == -1 else 1.0
            side = -1
        else:
            high = h
            k = found if status == 0 else k
            f_high = scr.s2[k] if status == 0 else -f_low
            f_low *= 0.5 if side == 1 else 1.0
            side = 1
    mem.event[0] = k + 1
    mem.t_event[0] = t + high + (tolerance if is_on(run, k, f_high) else 0.0)
    mem.t_step[0], mem.h_step[0] = t + low, low
    return NOT_EVALUATED if low > 0.0 and attempt(call, run, low)[0] != 0 else 0
