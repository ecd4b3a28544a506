"""The compiled time loop: steps under error control, events, output at the requested times."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.integrate.control import copy, next_step, with_work
from flexmbs.integrate.events.change import find_change
from flexmbs.integrate.events.locate import locate, update_sides
from flexmbs.integrate.events.passing import (
    begin_on_zeros,
    pass_event,
    record_turned,
    stand_before,
    thrown_back,
)
from flexmbs.integrate.implicit_step import NO_CONVERGENCE, OF_WORK, metric, own_error
from flexmbs.integrate.memory import CANNOT_START, DONE, FULL, NOT_EVALUATED, PAUSED, TOO_SMALL
from flexmbs.integrate.step import attempt, first_size, inside, restart, within_reach, work_of_step

#: events of one step beside those of the switching functions: change points, of which stages may tell several
MOST_EVENTS = 32


@kernel(lean=True, apart=True)
def run(call, run, n_steps, t_pause):
    """Integrate on from the memory until the end, `t_pause`, `n_steps` more steps, or a full buffer.

    Pauses fall between steps and change no number. Writes: mem, samples, events. Returns DONE, PAUSED, FULL
    or a negative reason.
    """
    opt, mem, events = run.opt, run.mem, run.events
    if mem.started[0] == 0:
        if start(call, run) != 0:
            return CANNOT_START
    steps = 0
    while True:
        status = flush(call, run)
        if status != 0:
            return status
        if mem.pending[0] == 1:
            status = move_on(call, run)
            if status != 0:
                return status
            continue  # outputs that fall on the end of the step
        if mem.t[0] >= opt.t_end or mem.ended[0] == 1:
            return DONE
        full = events.count[0] + MOST_EVENTS + mem.sign.size > events.t.size
        if steps >= n_steps or mem.t[0] >= t_pause or full:
            return PAUSED
        status = accepted_step(call, run)
        if status != 0:
            return status
        steps += 1


@kernel(lean=True, apart=True)
def start(call, run):
    """Consistent start, first step, sides of the switching functions. Writes: mem, events."""
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    status = restart(call, run, 0.0)
    if status != 0:
        return status
    if opt.n_switch > 0:
        status = call.switches(data, mem.t[0], mem.y, scr.s1)
        if status == 0:
            status = call.turn(data, mem.t[0], mem.y, -1, scr.s1, scr.turned)
        if status != 0:
            return status
        update_sides(run)
        turned = record_turned(run)
        passed = begin_on_zeros(call, run)
        if passed < 0:
            return NOT_EVALUATED
        if turned + passed > 0:
            status = restart(call, run, 0.0)
    call.nearness(data, scr.closure)
    mem.nearness[0] = scr.closure[0]
    mem.h[0] = mem.spacing[0]
    if opt.step == 0.0 and opt.t_end > mem.t[0]:
        mem.h[0] = first_size(call, run)
    mem.started[0] = 1
    return status


@kernel(lean=True, apart=True)
def proposed(run):
    """Size of the next step and the time of its end; the end of the run and fixed grids are hit exactly."""
    opt, mem = run.opt, run.mem
    t, h = mem.t[0], mem.h[0]
    if opt.step > 0.0:
        target = mem.origin[0] + (mem.grid[0] + 1) * mem.spacing[0]
        if target - t < max(1e-9 * mem.spacing[0], 4e-15 * abs(t)):
            mem.grid[0] += 1
            target += mem.spacing[0]
        if target > opt.t_end - 1e-9 * mem.spacing[0]:
            target = opt.t_end
    else:
        h, target = min(h, within_reach(run), opt.longest), opt.t_end
    left = target - t
    # a fixed step is one of the grid but for rounding, unless it was halved
    if h >= left * (1.0 - 1e-10) or (opt.step > 0.0 and h > 0.75 * left):
        return left, target
    if 2.0 * h > left and opt.step == 0.0:
        h = 0.5 * left
    return h, t + h


@kernel(lean=True, apart=True)
def accepted_step(call, run):
    """Try steps until one is accepted, and shorten it to the first event in it. Writes: mem, scr.y1 ..."""
    data, opt, tab, mem, scr = run.data, run.opt, run.tab, run.mem, run.scr
    while True:
        h, t_step = proposed(run)
        if h < 1e-15 * abs(mem.t[0]) or h < 1e-16 * (opt.t_end - opt.t_start):
            return NOT_EVALUATED if mem.failure[0] != 0 else TOO_SMALL
        status, err = attempt(call, run, h)
        call.nearness(data, scr.closure)
        mem.end_nearness[0] = scr.closure[0]
        if status == 0 and err <= 1.0:
            status = work_of_step(call, run, t_step, h, scr.y1, scr.f_end)
        if status == 0 and err <= 1.0 and opt.explicit == 0 and opt.step == 0.0 and mem.over[0] == 0:
            work = own_error(run, h, opt.n_control - opt.n_work, opt.n_control, OF_WORK)
            err = with_work(mem, err, work, h)
        mem.failure[0] = status
        back, least = -1, h <= 1e-13 * (opt.t_end - opt.t_start)
        if status == 0 and err <= 1.0:
            back = thrown_back(call, run, h, 0.0)
            if back < 0:
                break
            err = 1e300
        elif least:
            back = thrown_back(call, run, h, -1.0)
        if back >= 0 and least:
            stand_before(run, back, h)
            return 0
        reject(run, h, status, err)
    if opt.step > 0.0:
        mem.h[0] = mem.spacing[0]
    else:
        order = tab.error_order if opt.explicit == 1 else 3
        next_step(mem, h, err, order, opt.explicit == 0, mem.after_reject[0] == 1)
    mem.noisy[0], mem.tried_h[0] = max(mem.noisy[0] - 1, 0), 0.0
    mem.after_reject[0] = 0
    mem.event[0] = 0
    mem.pending[0] = 1
    mem.t_step[0], mem.h_step[0] = t_step, h
    if opt.n_switch > 0:
        status = locate(call, run)
    low = mem.h_step[0]
    if status == 0 and mem.event[0] > 0 and low > 0.0:
        call.nearness(data, scr.closure)
        mem.end_nearness[0] = scr.closure[0]
        if low > 1e-13 * (opt.t_end - opt.t_start) and thrown_back(call, run, low, 1e-3) >= 0:
            shorten(mem)
            return 0
        status = work_of_step(call, run, mem.t_step[0], low, scr.y1, scr.f_end)
    return status


@kernel(lean=True, apart=True)
def reject(run, h, status, err):
    """Smaller step after a failure or too large an error. Writes: mem."""
    opt, tab, mem = run.opt, run.tab, run.mem
    factor = 0.25
    if status == NO_CONVERGENCE or opt.step > 0.0:
        factor = 0.5
    elif status == 0 and err < 1e300:
        order = tab.error_order if opt.explicit == 1 else 3
        factor = max(0.2, 0.9 * err ** (-1.0 / order))
    mem.h[0] = h * factor
    mem.rejected[0] += 1
    mem.after_reject[0] = 1


@kernel(lean=True, apart=True)
def flush(call, run):
    """Samples at the requested times that have been reached. Writes: samples, mem. Returns a status."""
    mem, scr, times, samples = run.mem, run.scr, run.times, run.samples
    pending = mem.pending[0] == 1
    passes, counted = mem.step_passes[0], mem.evaluations[0]
    while mem.out[0] < times.size and mem.ended[0] == 0:
        t_out = times[mem.out[0]]
        # so close before an event, rounding might put a sample behind it
        margin = 1e-11 * mem.h_step[0] if mem.event[0] > 0 else 0.0
        if t_out > mem.t[0] and (not pending or t_out >= mem.t_step[0] - margin):
            break
        n = samples.count[0]
        if n >= samples.t.size:
            return FULL
        # a grid meets the ends of steps but for rounding, and so short a step would be nothing else
        is_inside = pending and t_out - mem.t[0] > 1e-12 * mem.h_step[0]
        if is_inside:
            status = inside(call, run, t_out)
            mem.sampling[0] += mem.evaluations[0] - counted
            mem.step_passes[0], mem.evaluations[0] = passes, counted
        else:
            status = standing(call, run)
        if status != 0 and is_inside:
            shorten(mem)
            break
        if status != 0:
            return NOT_EVALUATED
        samples.t[n] = t_out
        samples.at[n] = t_out if is_inside else max(t_out, mem.t[0])
        copy(scr.y_out, samples.y[n])
        samples.info[n, 0] = mem.h_step[0]
        samples.info[n, 1] = passes
        samples.info[n, 2] = mem.rejected[0]
        samples.info[n, 3] = scr.closure[0]
        samples.info[n, 4] = scr.closure[1]
        mem.closure_pos[0] = max(mem.closure_pos[0], scr.closure[0])
        mem.closure_vel[0] = max(mem.closure_vel[0], scr.closure[1])
        mem.out[0] += 1
        samples.count[0] += 1
    return 0


@kernel(inline=True)
def shorten(mem):
    """Take the accepted step back where a state inside it cannot be found: no run ends by an output time.

    Writes: mem.
    """
    mem.h[0] = 0.5 * mem.h_step[0]
    mem.pending[0] = mem.dense[0] = mem.event[0] = 0
    mem.rejected[0] += 1
    mem.after_reject[0] = 1


@kernel(lean=True, apart=True)
def standing(call, run):
    """The state of the memory as it is reported: speeds projected (F44). Writes: scr.y_out, scr.closure."""
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    bh, gh = metric(opt.rho_inf, (1 - opt.explicit) * mem.h_last[0])
    copy(mem.y, scr.y_out)
    return call.project(data, mem.t[0], scr.y_out, bh, gh, scr.closure)


@kernel(lean=True, apart=True)
def move_on(call, run):
    """The end of the accepted step becomes the state; an event there is passed. Writes: mem, events.

    Behind it steps are as at a start, not as short as those that found their way to a jump.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    if mem.h_step[0] > 0.0:
        find_change(call, run)
        for i in range(opt.n_control - opt.n_work, opt.n_control):
            mem.work[0] = max(mem.work[0], abs(scr.y1[i]))
        copy(mem.f[opt.n_pos + opt.n_vel :], mem.aux_prev)
        copy(scr.y1, mem.y)
        copy(scr.f_end, mem.f)
        if opt.explicit == 0:
            for j in range(opt.n_vel):
                mem.a_prev[j], mem.a[j] = mem.a[j], scr.a_end[j]
                mem.acc[j] = scr.acc_end[j]
        mem.t[0] = mem.t_step[0]
        mem.h_last[0] = mem.h_step[0]
        mem.history[0] += 1
        mem.steps[0] += 1
    mem.pending[0] = 0
    mem.dense[0] = 0
    if mem.event[0] == 0:
        if opt.n_switch > 0:
            update_sides(run)
        return 0
    t = mem.t[0]
    copy(mem.y, scr.y_out)
    status = pass_event(call, run)
    if status == 0:
        status = restart(call, run, mem.h_last[0])
        if status == 0 and opt.step == 0.0 and opt.t_end > mem.t[0]:
            mem.h[0] = max(mem.h[0], first_size(call, run))
    for k in range(scr.turned.size):
        if scr.turned[k] != 0.0:  # other constraints hold now: how near they are has no past
            call.nearness(data, scr.closure)
            mem.nearness[0] = mem.last_nearness[0] = scr.closure[0]
            mem.t_last[0] = mem.t[0]
    if status > 0:  # the last good state is before it
        mem.t[0] = t
        copy(scr.y_out, mem.y)
    return NOT_EVALUATED if status > 0 else status
