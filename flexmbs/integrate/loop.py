"""The compiled time loop: steps under error control, events, output at the requested times."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.integrate.control import next_step
from flexmbs.integrate.events.change import find_change
from flexmbs.integrate.events.locate import locate, update_sides
from flexmbs.integrate.events.passing import (
    begin_on_zeros,
    pass_event,
    record_turned,
    stand_before,
    thrown_back,
)
from flexmbs.integrate.implicit_step import NO_CONVERGENCE, metric
from flexmbs.integrate.memory import (
    AFTER_REJECT,
    CANNOT_START,
    CLOSURE_POS,
    CLOSURE_VEL,
    DENSE,
    DONE,
    ENDED,
    EVALUATIONS,
    EVENT,
    FAILURE,
    FULL,
    GRID,
    H_LAST,
    H_STEP,
    HISTORY,
    LAST_NEARNESS,
    NEARNESS,
    NOT_EVALUATED,
    OUT,
    PAUSED,
    PENDING,
    REJECTED,
    SAMPLING,
    STARTED,
    STEP_PASSES,
    STEPS,
    T_LAST,
    T_STEP,
    TOO_SMALL,
    H,
    T,
)  # fmt: skip
from flexmbs.integrate.step import attempt, first_size, inside, restart


@kernel(lean=True, apart=True)
def run(
    rates, shifted, increment, project, switches, nearness, turn,
    data, opt, tab, mem, scr, times, out, events, n_steps, t_pause,
):  # fmt: skip
    """Integrate on from the memory until the end, `t_pause`, `n_steps` more steps, or a full buffer.

    Pauses fall between steps and change no number. Writes: mem, out, events. Returns DONE, PAUSED, FULL or
    a negative reason.
    """
    if mem.count[STARTED] == 0:
        if start(rates, project, switches, turn, nearness, data, opt, tab, mem, scr, events) != 0:
            return CANNOT_START
    steps = 0
    while True:
        status = flush(rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, times, out)
        if status != 0:
            return status
        if mem.count[PENDING] == 1:
            status = move_on(rates, project, switches, turn, nearness, data, opt, tab, mem, scr, events)
            if status != 0:
                return status
            continue  # outputs that fall on the end of the step
        if mem.real[T] >= opt.t_end or mem.count[ENDED] == 1:
            return DONE
        if steps >= n_steps or mem.real[T] >= t_pause or events.count[0] + 1 + mem.sign.size > events.t.size:
            return PAUSED
        status = accepted_step(
            rates, shifted, increment, project, switches, nearness, data, opt, tab, mem, scr, events
        )
        if status != 0:
            return status
        steps += 1


@kernel(lean=True, apart=True)
def start(rates, project, switches, turn, nearness, data, opt, tab, mem, scr, events):
    """Consistent start, first step, sides of the switching functions. Writes: mem, events."""
    status = restart(rates, project, data, opt, mem, scr, 0.0)
    if status != 0:
        return status
    nearness(data, scr.closure)
    mem.real[NEARNESS] = scr.closure[0]
    if opt.n_switch > 0:
        status = switches(data, mem.real[T], mem.y, scr.s1)
        if status == 0:
            status = turn(data, mem.real[T], mem.y, -1, scr.s1, scr.turned)
        if status != 0:
            return status
        update_sides(opt, mem, scr)
        turned = record_turned(mem, scr, events)
        passed = begin_on_zeros(rates, project, switches, turn, data, opt, mem, scr, events)
        if passed < 0:
            return NOT_EVALUATED
        if turned + passed > 0:
            status = restart(rates, project, data, opt, mem, scr, 0.0)
            nearness(data, scr.closure)
            mem.real[NEARNESS] = scr.closure[0]
    mem.real[H] = opt.step
    if opt.step == 0.0 and opt.t_end > mem.real[T]:
        mem.real[H] = first_size(rates, data, opt, tab, mem, scr)
    mem.count[STARTED] = 1
    return status


@kernel(lean=True, apart=True)
def proposed(opt, mem):
    """Size of the next step and the time of its end; the end of the run and fixed grids are hit exactly."""
    t, h = mem.real[T], mem.real[H]
    if opt.step > 0.0:
        target = opt.t_start + (mem.count[GRID] + 1) * opt.step
        if target - t < 1e-9 * opt.step:
            mem.count[GRID] += 1
            target += opt.step
        if target > opt.t_end - 1e-9 * opt.step:
            target = opt.t_end
    else:
        target = opt.t_end
    left = target - t
    if h >= left * (1.0 - 1e-10):
        return left, target
    if 2.0 * h > left and opt.step == 0.0:
        h = 0.5 * left
    return h, t + h


@kernel(lean=True, apart=True)
def accepted_step(
    rates, shifted, increment, project, switches, nearness, data, opt, tab, mem, scr, events
):  # fmt: skip
    """Try steps until one is accepted, and shorten it to the first event in it. Writes: mem, scr.y1 ..."""
    while True:
        h, t_step = proposed(opt, mem)
        if h < 1e-15 * abs(mem.real[T]) or h < 1e-16 * (opt.t_end - opt.t_start):
            return NOT_EVALUATED if mem.count[FAILURE] != 0 else TOO_SMALL
        status, err = attempt(
            rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, h
        )  # fmt: skip
        mem.count[FAILURE] = status
        if status == 0 and err <= 1.0:
            back = thrown_back(switches, data, opt, mem, scr, h, 0.0)
            if back < 0:
                break
            if h <= 1e-13 * (opt.t_end - opt.t_start):
                stand_before(opt, mem, back, h)
                return 0
            err = 1e300
        reject(opt, tab, mem, h, status, err)
    if opt.step > 0.0:
        mem.real[H] = opt.step
    else:
        order = tab.error_order if opt.explicit == 1 else 3
        next_step(mem, h, err, order, opt.explicit == 0, mem.count[AFTER_REJECT] == 1)
    mem.count[AFTER_REJECT] = 0
    mem.count[EVENT] = 0
    mem.count[PENDING] = 1
    mem.real[T_STEP], mem.real[H_STEP] = t_step, h
    nearness(data, scr.closure)
    near = scr.closure[0]
    status = 0
    if opt.n_switch > 0:
        status = locate(
            rates, shifted, increment, project, switches, nearness, data, opt, tab, mem, scr
        )  # fmt: skip
    low = mem.real[H_STEP]
    if status == 0 and mem.count[EVENT] > 0 and low > 0.0:
        if thrown_back(switches, data, opt, mem, scr, low, 1e-3) >= 0:
            shorten(mem)
            return 0
    if status == 0:
        find_change(rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, events, near)
    return status


@kernel(lean=True, apart=True)
def reject(opt, tab, mem, h, status, err):
    """Smaller step after a failure or too large an error. Writes: mem."""
    factor = 0.25
    if status == NO_CONVERGENCE or opt.step > 0.0:
        factor = 0.5
    elif status == 0 and err < 1e300:
        order = tab.error_order if opt.explicit == 1 else 3
        factor = max(0.2, 0.9 * err ** (-1.0 / order))
    mem.real[H] = h * factor
    mem.count[REJECTED] += 1
    mem.count[AFTER_REJECT] = 1


@kernel(lean=True, apart=True)
def flush(rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, times, out):
    """Samples at the requested times that have been reached. Writes: out, mem. Returns a status."""
    pending = mem.count[PENDING] == 1
    passes, counted = mem.count[STEP_PASSES], mem.count[EVALUATIONS]
    while mem.count[OUT] < times.size and mem.count[ENDED] == 0:
        t_out = times[mem.count[OUT]]
        # so close before an event, rounding might put a sample behind it
        margin = 1e-11 * mem.real[H_STEP] if mem.count[EVENT] > 0 else 0.0
        if t_out > mem.real[T] and (not pending or t_out >= mem.real[T_STEP] - margin):
            break
        n = out.count[0]
        if n >= out.t.size:
            return FULL
        # a grid meets the ends of steps but for rounding, and so short a step would be nothing else
        is_inside = pending and t_out - mem.real[T] > 1e-12 * mem.real[H_STEP]
        if is_inside:
            status = inside(
                rates, shifted, increment, project, nearness, data, opt, tab, mem, scr, t_out
            )  # fmt: skip
            mem.count[SAMPLING] += mem.count[EVALUATIONS] - counted
            mem.count[STEP_PASSES], mem.count[EVALUATIONS] = passes, counted
        else:
            status = standing(project, data, opt, mem, scr)
        if status != 0 and is_inside:
            shorten(mem)
            break
        if status != 0:
            return NOT_EVALUATED
        out.t[n] = t_out
        out.at[n] = t_out if is_inside else max(t_out, mem.real[T])
        for i in range(mem.y.size):
            out.y[n, i] = scr.y_out[i]
        out.info[n, 0] = mem.real[H_STEP]
        out.info[n, 1] = passes
        out.info[n, 2] = mem.count[REJECTED]
        out.info[n, 3] = scr.closure[0]
        out.info[n, 4] = scr.closure[1]
        mem.real[CLOSURE_POS] = max(mem.real[CLOSURE_POS], scr.closure[0])
        mem.real[CLOSURE_VEL] = max(mem.real[CLOSURE_VEL], scr.closure[1])
        mem.count[OUT] += 1
        out.count[0] += 1
    return 0


@kernel(inline=True)
def shorten(mem):
    """Take the accepted step back where a state inside it cannot be found: no run ends by an output time.

    Writes: mem.
    """
    mem.real[H] = 0.5 * mem.real[H_STEP]
    mem.count[PENDING] = mem.count[DENSE] = mem.count[EVENT] = 0
    mem.count[REJECTED] += 1
    mem.count[AFTER_REJECT] = 1


@kernel(lean=True, apart=True)
def standing(project, data, opt, mem, scr):
    """The state of the memory as it is reported: speeds projected (F44). Writes: scr.y_out, scr.closure."""
    bh = gh = 0.0
    if opt.explicit == 0 and mem.real[H_LAST] > 0.0:
        bh, gh = metric(opt.rho_inf, mem.real[H_LAST])
    for i in range(mem.y.size):
        scr.y_out[i] = mem.y[i]
    return project(data, mem.real[T], scr.y_out, bh, gh, scr.closure)


@kernel(lean=True, apart=True)
def move_on(rates, project, switches, turn, nearness, data, opt, tab, mem, scr, events):
    """The end of the accepted step becomes the state; an event there is passed. Writes: mem, events.

    Behind it steps are as at a start, not as short as those that found their way to a jump.
    """
    if mem.real[H_STEP] > 0.0:
        for k in range(opt.n_aux):
            mem.aux_prev[k] = mem.f[opt.n_pos + opt.n_vel + k]
        for i in range(mem.y.size):
            mem.y[i] = scr.y1[i]
            mem.f[i] = scr.f_end[i]
        if opt.explicit == 0:
            for j in range(opt.n_vel):
                mem.a_prev[j], mem.a[j] = mem.a[j], scr.a_end[j]
                mem.acc[j] = scr.acc_end[j]
        mem.real[T] = mem.real[T_STEP]
        mem.real[H_LAST] = mem.real[H_STEP]
        mem.count[HISTORY] += 1
        mem.count[STEPS] += 1
    mem.count[PENDING] = 0
    mem.count[DENSE] = 0
    if mem.count[EVENT] == 0:
        if opt.n_switch > 0:
            update_sides(opt, mem, scr)
        return 0
    status = pass_event(rates, project, switches, turn, data, opt, mem, scr, events)
    if status == 0:
        status = restart(rates, project, data, opt, mem, scr, mem.real[H_LAST])
        if status == 0 and opt.step == 0.0 and opt.t_end > mem.real[T]:
            mem.real[H] = max(mem.real[H], first_size(rates, data, opt, tab, mem, scr))
    for k in range(scr.turned.size):
        if scr.turned[k] != 0.0:  # other constraints hold now: how near they are has no past
            nearness(data, scr.closure)
            mem.real[NEARNESS] = mem.real[LAST_NEARNESS] = scr.closure[0]
            mem.real[T_LAST] = mem.real[T]
    return NOT_EVALUATED if status > 0 else status
