"""Kernels: one step of any compiled method, and the state inside it."""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel
from flexmbs.integrate.control import copy, error_norm, nought, set_scales
from flexmbs.integrate.implicit_step import (
    NO_CONVERGENCE,
    TIGHTER,
    curvature,
    implicit_error,
    implicit_step,
    metric,
    own_error,
)
from flexmbs.integrate.memory import NOT_EVALUATED
from flexmbs.integrate.problem import DISPLACED, END, HOLD, SEEN, TURN
from flexmbs.integrate.runge_kutta import explicit_at, explicit_dense, explicit_step, stages

#: part of the speeds by which the stages of a fixed step on a loop may disagree
THROWN = 0.5
#: nearness to a change point below which no implicit step goes: there (F43) may settle on another branch
CLOSE = 0.05
#: nor below this one, where rounding of positions, BLUR over the square of nearness, is more than rtol
CLEAR, BLUR = 0.35, 1e-13


@kernel(inline=True)
def is_close(opt, nearness):
    """Whether a state is so close to a change point that no implicit step may begin or end there."""
    return nearness < CLOSE or (nearness < CLEAR and nearness * nearness * opt.rtol < BLUR)


@kernel(inline=True)
def is_ahead(mem, h):
    """Whether nearness, on the line of the last step, goes to zero in a step of size h or soon after."""
    t, t_last, now, old = mem.t[0], mem.t_last[0], mem.nearness[0], mem.last_nearness[0]
    if not (t > t_last and now < 1e300 and old < 1e300):
        return False
    return 1.5 * (old - now) / (t - t_last) * h > now


@kernel(lean=True)
def within_reach(run):
    """Longest step in which no displacement goes further than it may; accelerations of implicit ones lie."""
    opt, mem, reach, longest = run.opt, run.mem, run.scr.reach, 1e300
    for j in range(opt.n_vel):
        if reach[j] < 1e300:
            v, a = abs(mem.y[opt.n_pos + j]), opt.explicit * abs(mem.f[opt.n_pos + j])
            longest = min(longest, 2.0 * reach[j] / (v + (v * v + 2.0 * a * reach[j]) ** 0.5 + 1e-300))
    return longest


@kernel(lean=True, apart=True)
def attempt(call, run, h):
    """A step of size h with its end made consistent. Writes: scr.y1, scr.f_end, scr.a_end, scr.acc_end.

    Returns (status, error norm).
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    t = mem.t[0]
    mem.dense[0] = mem.over[0] = 0
    if opt.explicit == 1:
        status, err = explicit_step(call, run, t, h)
        if status == 0 and err <= 1.0:
            status = explicit_end(call, run, t + h, h)
        return status, err
    if is_close(opt, mem.nearness[0]) or is_ahead(mem, h):
        return over_change(call, run, h)
    status = implicit_step(call, run, t, h, scr.y1, scr.a1)
    call.nearness(data, scr.closure)
    if is_close(opt, scr.closure[0]):
        return over_change(call, run, h)
    if status != 0:
        return status, np.nan
    is_open = not scr.closure[2] <= 1.0
    offset = opt.n_pos + opt.n_vel
    scr.f_end[:] = 0.0  # scales only: the positions are known at both ends
    for j in range(opt.n_vel):
        scr.a_end[j], scr.acc_end[j], scr.f_end[opt.n_pos + j] = scr.a1[j], scr.acc1[j], scr.a1[j]
    copy(scr.aux_dot, scr.f_end[offset : offset + opt.n_aux])
    err = nought(scr.y1)
    if opt.step == 0.0:
        err = implicit_error(call, run, t, h)
        own = own_error(run, h, offset, opt.n_control - opt.n_work, TIGHTER)
        if not own <= err:  # NaN goes through
            err = own
    if (opt.n_follow > 0 or is_open) and err <= 1.0:
        status = refresh_followed(call, run, t + h)
    return status, err


@kernel(lean=True, apart=True)
def work_of_step(call, run, t, h, y1, f_end):
    """Quadratures of an implicit step by powers of closed states, what the rule leaves made good for (F44).

    Those of the step are of order 2. Writes: y1, f_end; scr.y_half, scr.err. Returns a status.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    first = opt.n_control - opt.n_work
    if opt.n_work == 0 or opt.explicit == 1 or mem.over[0] == 1:
        return 0
    copy(y1, scr.y_half)
    bh, gh = metric(opt.rho_inf, h)
    status = call.project(data, t, scr.y_half, bh, gh, scr.closure)
    if status == 0:
        status = call.rates(data, t, scr.y_half, scr.err)
    mem.evaluations[0] += 1
    for i in range(first, opt.n_control):
        f_end[i] = scr.err[i]
        y1[i] = mem.y[i] + 0.5 * h * (mem.f[i] + scr.err[i]) - h * h * h / 12.0 * curvature(run, h, f_end, i)
    return status


@kernel(lean=True, later=("int64", "float64"))
def over_change(call, run, h):
    """A step that begins, ends or passes close to a change point, by the tableau: rates are smooth there.

    Begins anew and ends consistent. Always under error control: modes that it cannot follow must not grow.
    Writes: mem, scr.y1, f_end, a_end, acc_end. Returns (status, error norm).
    """
    opt, mem, scr = run.opt, run.mem, run.scr
    t = mem.t[0]
    mem.over[0] = 1
    copy(mem.y, scr.y_half)
    status = restart(call, run, mem.h_last[0])
    if status != 0:
        copy(scr.y_half, mem.y)
        return status, np.nan
    status, err = explicit_step(call, run, t, h)
    if status == 0 and err <= 1.0:
        status = explicit_end(call, run, t + h, h)
        for j in range(opt.n_vel):
            scr.a_end[j] = scr.acc_end[j] = scr.f_end[opt.n_pos + j]
    return status, err


@kernel(lean=True, apart=True)
def restart(call, run, h):
    """Begin anew at the state of the memory: projected (F44), a from the equations. Writes: mem."""
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    bh, gh = metric(opt.rho_inf, (1 - opt.explicit) * h)
    status = call.project(data, mem.t[0], mem.y, bh, gh, scr.closure)
    if status != 0:
        return status
    status = call.rates(data, mem.t[0], mem.y, mem.f)
    for j in range(opt.n_vel):
        mem.a[j] = mem.f[opt.n_pos + j]
        mem.acc[j] = mem.a[j]
    mem.history[0], mem.err_old[0], mem.contraction[0] = 0, 0.0, 1.0
    if status == 0 and np.isnan(nought(mem.f)):
        status = NOT_EVALUATED
    return status


@kernel(inline=True)
def is_thrown(run, h):
    """Whether the stages of a step disagree so much that without error control it is worth nothing.

    So it is where constraints are nearly dependent at a stage; the step is tried again with half its size.
    """
    opt, tab, mem, scr = run.opt, run.tab, run.mem, run.scr
    change = size = 0.0
    for i in range(opt.n_pos, opt.n_pos + opt.n_vel):
        for s in range(1, tab.n_stages):
            change = max(change, abs(h * (scr.K[s, i] - scr.K[0, i])))
        size = max(size, abs(scr.y1[i]), abs(mem.y[i]))
    return change > THROWN * size


@kernel(inline=True)
def is_displaced(opt, scr):
    """Whether closing the loops moved the end of a step, from scr.y_try, further than any step may be wrong.

    So it is where the law of a coupling jumps: no step leads over it.
    """
    for j in range(opt.n_vel):
        i = scr.twin[j]
        if i >= 0 and abs(scr.y1[i] - scr.y_try[i]) > DISPLACED * scr.bound[j]:
            return True
    return False


@kernel(inline=True)
def explicit_end(call, run, t, h):
    """End of an explicit step onto the constraints, and the rates there. Writes: scr.y1, scr.f_end."""
    data, opt, tab, scr = run.data, run.opt, run.tab, run.scr
    scr.closure[2] = SEEN if tab.end_rate == 1 else END
    copy(scr.y1, scr.y_try)
    status = call.project(data, t, scr.y1, 0.0, 0.0, scr.closure)
    if status != 0:
        return status
    moved = scr.closure[2] > 0.0
    too_far = moved and (is_displaced(opt, scr) or (opt.step > 0.0 and is_thrown(run, h)))
    if too_far or is_turned(opt, scr):
        return NO_CONVERGENCE
    if tab.end_rate == 1 and scr.closure[2] == 0.0:
        copy(scr.K[tab.n_stages], scr.f_end)
        return 0
    return call.rates(data, t, scr.y1, scr.f_end)


@kernel(inline=True)
def is_turned(opt, scr):
    """Whether an angle of the end of a step is far from where its rate led to, in scr.y_try.

    Rate and pose then do not tell the same number of turns, and the step is too long.
    """
    end = opt.n_pos + opt.n_vel + opt.n_aux
    for i in range(end - opt.n_follow, end):
        if abs(scr.y1[i] - scr.y_try[i]) > TURN:
            return True
    return False


@kernel(inline=True)
def refresh_followed(call, run, t):
    """Angles of the end of an implicit step, whose positions are to be closed. Writes: scr.y1, scr.y_try.

    They are not where all that would close them is prescribed: a status.
    """
    data, opt, scr = run.data, run.opt, run.scr
    copy(scr.y1, scr.y_try)
    scr.closure[2] = HOLD
    status = call.project(data, t, scr.y1, 0.0, 0.0, scr.closure)
    return NO_CONVERGENCE if status == 0 and is_turned(opt, scr) else status


@kernel(lean=True, apart=True)
def inside(call, run, t_out):
    """Consistent state at t_out inside the accepted step. Writes: scr.y_out, scr.closure.

    Explicit steps: dense output brought back onto the constraints. Where there is none, and for implicit
    ones, a step is taken again, shorter, from the start of the accepted one, and nothing goes on from it:
    interpolating would kick the modes that it does not resolve. Neither depends on other output times.
    """
    data, opt, tab, mem, scr = run.data, run.opt, run.tab, run.mem, run.scr
    t, h = mem.t[0], mem.h_step[0]
    status, bh, gh = 0, 0.0, 0.0
    if opt.explicit == 1 or mem.over[0] == 1:
        part = max(t_out - t, 0.0)
        if mem.dense[0] == 0:
            status = explicit_dense(call, run, t, h, scr.f_end)
        if mem.dense[0] == 1:
            explicit_at(run, part / h, scr.y_out)
        elif status == 0:
            status = stages(call, run, t, part, mem.y, mem.f, scr.y_out, scr.near[3 * tab.A.shape[0] :])
            mem.evaluations[0] += tab.n_stages
    else:
        part, contraction = max(t_out - t, 1e-12 * h), mem.contraction[0]
        status = implicit_step(call, run, t, part, scr.y_out, scr.a1)
        mem.contraction[0] = contraction
        call.nearness(data, scr.closure)
        if status == 0 and is_close(opt, scr.closure[0]):
            status = NO_CONVERGENCE
        if status == 0:
            status = work_of_step(call, run, t_out, part, scr.y_out, scr.err)
        bh, gh = metric(opt.rho_inf, part)
    return status if status != 0 else call.project(data, t_out, scr.y_out, bh, gh, scr.closure)


@kernel(lean=True, apart=True)
def first_size(call, run):
    """First step from the tolerances (Hairer, Norsett and Wanner, II.4), by the largest component."""
    data, opt, tab, mem, scr = run.data, run.opt, run.tab, run.mem, run.scr
    order = tab.order if opt.explicit == 1 else 2
    span = opt.t_end - mem.t[0]
    y, f = mem.y, mem.f
    set_scales(opt, scr, y, y, f, 0.0, 0.0)
    d0, d1 = error_norm(opt, scr, y), error_norm(opt, scr, f)
    h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    h = min(h, span)
    for _ in range(20):
        for i in range(y.size):
            scr.y_try[i] = y[i] + h * f[i]
        if call.rates(data, mem.t[0] + h, scr.y_try, scr.f_end) == 0:
            break
        h *= 0.1
    for i in range(y.size):
        scr.err[i] = (scr.f_end[i] - f[i]) / h
    largest = max(d1, error_norm(opt, scr, scr.err))
    other = max(1e-6, 1e-3 * h) if largest <= 1e-15 else (0.01 / largest) ** (1.0 / (order + 1))
    size = min(100.0 * h, other, span)
    return size if size > 0.0 else h
