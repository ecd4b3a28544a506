"""Kernels that pass zeros of switching functions: up to them, over them, and what is behind (F44)."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.integrate.control import copy, tell
from flexmbs.integrate.events.locate import is_on
from flexmbs.integrate.implicit_step import NO_CONVERGENCE
from flexmbs.integrate.memory import CHATTER, CORNERED, RESTING
from flexmbs.integrate.problem import BEFORE
from flexmbs.integrate.step import is_displaced

#: part of the way behind a zero, of that to which the speeds before it lead, below which a step is held back
HELD = 0.02
#: rate of a function behind its zero, over that before it, that leads back
BACK = 1e-6
#: part of the duration behind a zero that rounding does not put before it
BEHIND = 1e-14


@kernel(lean=True, apart=True)
def thrown_back(call, run, h, part):
    """Number of a function before whose zero closing the loops holds a step whose speeds lead over it, or -1.

    So it is where speeds behind corners lead back, or nowhere. `part`: how far, of its value at the start
    (scr.s0), they lead over it at least; negative where no step was found. Writes: scr.s1, s2, y_try, delta.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    asked = False
    for k in range(opt.n_switch - opt.n_sided):
        asked = asked or (scr.jumps[k] != 0.0 and mem.sign[k] != 0.0 and mem.mute[k] < CHATTER)
    if not asked:
        return -1
    t = mem.t[0] + h
    copy(mem.y, scr.y_try)
    for j in range(opt.n_vel):
        scr.delta[j] = h * mem.y[opt.n_pos + j]
    call.increment(data, mem.y, scr.delta, scr.y_try)
    if call.switches(data, t, scr.y_try, scr.s2) != 0:
        return -1
    if part >= 0.0 and call.switches(data, t, scr.y1, scr.s1) != 0:
        return -1
    for k in range(opt.n_switch - opt.n_sided):
        if scr.jumps[k] != 0.0 and mem.mute[k] < CHATTER:
            led = mem.sign[k] * scr.s2[k]
            least = part * abs(scr.s0[k]) if part > 0.0 else 0.0
            if led < -least and (part < 0.0 or mem.sign[k] * scr.s1[k] > HELD * led):
                return k
    return -1


@kernel(later="void", inline=True)
def stand_before(run, k, h):
    """No step, but the event of function k, within h from here. Writes: mem."""
    mem = run.mem
    mem.h[0] = max(h, mem.spacing[0])
    mem.after_reject[0] = mem.dense[0] = 0
    mem.event[0], mem.pending[0] = k + 1, 1
    mem.t_step[0], mem.h_step[0], mem.t_event[0] = mem.t[0], 0.0, mem.t[0] + h


@kernel(lean=True, apart=True)
def course(call, run, k):
    """Where the motion from here leads function k in a short time, where speeds jump at its zero.

    Its change by the speeds, that by the accelerations, and its value then. Writes: mem.f, scr.y_try, scr.s2.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    before = here = later = 0.0
    if scr.jumps[k] == 0.0 or mem.sign[k] == 0.0 or call.rates(data, mem.t[0], mem.y, mem.f) != 0:
        return 0.0, 0.0, 0.0
    for side in (-1, 0, 1):  # on the parabola of the motion
        tau = 1e-6 * side * (opt.t_end - opt.t_start)
        for i in range(mem.y.size):
            scr.y_try[i] = mem.y[i] + tau * mem.f[i]
        for j in range(opt.n_vel):
            scr.delta[j] = 0.5 * tau * tau * mem.f[opt.n_pos + j]
        call.increment(data, scr.y_try, scr.delta, scr.y_try)
        if call.switches(data, mem.t[0] + tau, scr.y_try, scr.s2) != 0:
            return 0.0, 0.0, 0.0
        before, here, later = here, later, scr.s2[k]
    return 0.5 * (later - before), later + before - 2.0 * here, later


@kernel(lean=True, apart=True)
def cross(call, run):
    """A state behind the located zero by an explicit step. Writes: mem, scr.s1.

    Where speeds jump it is as short as it can be: further off, closing the loops moves the state, and where
    the speeds behind lead back, it moves it back. If that is so at every distance, CORNERED. Where
    it moves it to the zero itself, no speed is left behind: the state stays beside it as it was led there.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    chosen = mem.event[0] - 1
    side = mem.sign[chosen] if chosen < mem.sign.size - opt.n_sided else 0.0
    gap, thrown, t = mem.t_event[0] - mem.t[0], False, 0.0
    if side != 0.0 and scr.jumps[chosen] != 0.0:
        gap = max(gap / 16.0, 4e-16 * abs(mem.t[0])) + BEHIND * (opt.t_end - opt.t_start)
    for _ in range(14):  # to some times the width of the bracket
        t = mem.t[0] + gap
        for i in range(mem.y.size):
            scr.y1[i] = scr.y_try[i] = mem.y[i] + gap * mem.f[i]
        status = call.switches(data, t, scr.y1, scr.s2) if scr.jumps[chosen] != 0.0 else 0
        if status == 0:
            status = call.project(data, t, scr.y1, 0.0, 0.0, scr.closure)
        if status == 0 and is_displaced(opt, scr):
            status = NO_CONVERGENCE
        if status == 0:
            status = call.switches(data, t, scr.y1, scr.s1)
        if status != 0:
            return status
        if scr.jumps[chosen] == 0.0 or side == 0.0 or side * scr.s1[chosen] < 0.0:
            thrown = False
            break
        thrown = side * scr.s2[chosen] < 0.0
        if thrown and abs(scr.s1[chosen]) <= BACK * abs(scr.s2[chosen]):
            copy(scr.y_try, scr.y1)
            thrown = False
            break
        gap *= 2.0
    if thrown:
        return CORNERED
    copy(scr.y1, mem.y)
    mem.t[0] = t
    return 0


@kernel(lean=True, later="int64")
def pass_event(call, run):
    """Cross the located zero, and do what it changes. Writes: mem, events. Returns a status.

    A motion comes to rest in a corner, RESTING, where forces press it there from both sides, and behind it
    lead it back at once.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    chosen = mem.event[0] - 1
    status = call.rates(data, mem.t[0], mem.y, mem.f)
    if status == 0:
        status = call.turn(data, mem.t[0], mem.y, BEFORE - chosen, scr.s1, scr.turned)
    side, before, bend = mem.sign[chosen], 0.0, 0.0
    if status == 0:
        before, bend, _ = course(call, run, chosen)
        status = cross(call, run)
    if status == 0:
        status = call.turn(data, mem.t[0], mem.y, chosen, scr.s1, scr.turned)
    if status == 0:
        behind, _, later = course(call, run, chosen)
        if before * behind < -BACK * before * before:
            status = CORNERED
        elif scr.jumps[chosen] == 2.0 and side * bend < 0.0 and side * later > 0.0:
            status = RESTING
    if status != 0:
        return status
    quick = 1e-6 * (opt.t_end - opt.t_start)
    record_turned(run)
    for k in range(opt.n_switch - opt.n_sided):
        old = mem.sign[k]
        before_it = scr.jumps[k] != 0.0 and old * scr.s1[k] > 0.0  # rounding alone had put a step behind it
        if k == chosen and old != 0.0 and not before_it:
            mem.sign[k] = 0.0 if is_on(run, k, scr.s1[k]) else -old
        elif scr.s1[k] != 0.0:
            mem.sign[k] = 1.0 if scr.s1[k] > 0.0 else -1.0
        if mem.sign[k] != old and old != 0.0:
            tell(run, mem.t[0], k, -old)
            mem.mute[k] = mem.mute[k] + 1.0 if mem.t[0] - mem.last[k] < quick else 0.0
            mem.last[k] = mem.t[0]
            if k == opt.until and mem.sign[k] > 0.0:
                mem.ended[0] = 1
    mem.event[0] = 0
    return 0


@kernel(inline=True)
def record_turned(run):
    """Events of the switching functions that changed the equations. Writes: events. Returns their number."""
    scr, count = run.scr, 0
    for k in range(scr.turned.size):
        if scr.turned[k] != 0.0:
            tell(run, run.mem.t[0], k, scr.turned[k])
            count += 1
    return count


@kernel(lean=True, later="int64")
def begin_on_zeros(call, run):
    """A start on zeros where speeds jump: pass them to the side to which the motion leads.

    Needs scr.s1 at the start. Writes: mem, events. Returns how many were passed, or a negative number.
    """
    opt, mem, scr = run.opt, run.mem, run.scr
    count = 0
    for k in range(opt.n_switch - opt.n_sided):
        if scr.s1[k] != 0.0 or scr.jumps[k] == 0.0 or mem.t[0] >= opt.t_end:
            continue
        copy(mem.y, scr.y_try)
        mem.event[0] = k + 1
        mem.t_event[0] = mem.t[0] + 1e-13 * (opt.t_end - opt.t_start)
        if pass_event(call, run) != 0:
            return -1
        jump = size = 0.0
        for i in range(opt.n_pos, opt.n_pos + opt.n_vel):
            jump = max(jump, abs(mem.y[i] - scr.y_try[i]))
            size = max(size, abs(mem.y[i]), abs(scr.y_try[i]))
        if jump > 1e-9 * size:
            tell(run, opt.t_start, k, mem.sign[k])
        count += 1
    return count
