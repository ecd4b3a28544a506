"""Kernels of the generalised-alpha step on the recursion (F43-F44)."""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel
from flexmbs.integrate.control import copy, motion_norm, set_scales, speed_norm
from flexmbs.integrate.memory import MAX_PASSES

#: a method of order 2 takes many steps, over which local errors add up: a smaller local tolerance
TIGHTER = 30.0
#: the same for work, on which no step depends, and whose leading error is made good for
OF_WORK = 3.0
NO_CONVERGENCE = 99  # status: the iteration (F43) does not settle with this step
#: stiffness of modes in the projection of speeds, beside that of the step
FROZEN = 1e4
#: least contraction that is counted on, the power by which a step that counts on it trusts it less, and how
#: much less may be left then; still less with larger relative tolerances, as constraints close tighter, and
#: with smaller ones, as nothing bounds what is left of speeds
LEAST, DOUBT, SURE, USUAL = 1e-6, 0.9, 10.0, 1e-6
#: a displacement of this part of its bound or size is rounding; passes repeat themselves to ten times that
ROUNDING, REPEATS = (1e-13, 2e-15), 10.0


@kernel(inline=True)
def coefficients(rho, h):
    """am, af, gamma_N, beta_N and the derivatives bh, gh by the new accelerations (section 8)."""
    am = (2.0 * rho - 1.0) / (rho + 1.0)
    af = rho / (rho + 1.0)
    gamma = 0.5 + af - am
    beta = 0.25 * (gamma + 0.5) ** 2
    ratio = (1.0 - af) / (1.0 - am)
    return am, af, gamma, beta, h * h * beta * ratio, h * gamma * ratio


@kernel(inline=True)
def metric(rho, h):
    """bh and gh of M + Sh for the projection of speeds after a step of size h (F44); zero where h is.

    The gap of the speeds that are carried is O(h^2), a mode's share in closing it that over bh omega^2: it
    may be as large as its speed for every h that does not resolve it. With a stiffness FROZEN times that,
    modes keep their speeds, of second order, where joints alone can close the loops.
    """
    _, _, _, _, bh, gh = coefficients(rho, h)
    return FROZEN * bh, gh


@kernel(inline=True)
def start_guess(run, h, am, af, a1):
    """First guess of the new accelerations, and the auxiliary ones of the last step moved to this step size.

    `acc` stands for the time (am - af) h_last after the last step; another step size moves it along the
    slope of a, or the order drops to one wherever the step changes. Writes: a1, scr.acc0.
    """
    opt, mem, scr = run.opt, run.mem, run.scr
    h_last = mem.h_last[0]
    known = mem.history[0] > 0 and h_last > 0.0
    for j in range(opt.n_vel):
        slope = 0.0
        if known:
            slope = (mem.a[j] - mem.a_prev[j]) / h_last
        a1[j] = mem.a[j] + h * slope
        scr.acc0[j] = mem.acc[j]
        if known:
            scr.acc0[j] += (am - af) * (h - h_last) * slope


@kernel(inline=True)
def place(call, run, h, a1, y1):
    """State of the accelerations a1 (section 8). Writes: y1, scr.acc1."""
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    am, af, gamma, beta, _bh, _gh = coefficients(opt.rho_inf, h)
    n_pos, n_aux0 = opt.n_pos, opt.n_pos + opt.n_vel
    for j in range(opt.n_vel):
        acc1 = ((1.0 - af) * a1[j] + af * mem.a[j] - am * scr.acc0[j]) / (1.0 - am)
        scr.acc1[j] = acc1
        v = mem.y[n_pos + j]
        scr.delta[j] = h * v + h * h * ((0.5 - beta) * scr.acc0[j] + beta * acc1)
        y1[n_pos + j] = v + h * ((1.0 - gamma) * scr.acc0[j] + gamma * acc1)
    for k in range(opt.n_aux):
        y1[n_aux0 + k] = mem.y[n_aux0 + k] + 0.5 * h * (mem.f[n_aux0 + k] + scr.aux_dot[k])
    for k in range(n_aux0 + opt.n_aux, mem.y.size):
        y1[k] = mem.y[k]
    return call.increment(data, mem.y, scr.delta, y1)


@kernel(inline=True)
def change_norm(opt, scr, h, bh, gh):
    """Size of scr.delta, a change of the new accelerations: 1 is what may be left of it in a step."""
    change = 300.0 * motion_norm(opt, scr, scr.delta, bh)
    if opt.step == 0.0 or opt.sharp > 1.0:
        change = max(change, 10.0 * speed_norm(opt, scr, scr.delta, gh, 1e-14 / h))
    return opt.sharp * change


@kernel(lean=True, later="float64")
def rounding_of_pass(call, run, t, h, bh, gh, y1, a1):
    """How far one pass can repeat itself: its answer to displacements of the size of rounding.

    Constraints on position level divide the rounding of g by bh, and close to a change point by a small pivot
    too. The smaller answer to two opposite displacements: one may lead over a kink, where more than rounding
    changes. Needs scr.a_new of the pass. Writes: scr.delta, scr.y_try, mem.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    least, mem.blurred[0] = 0.0, 0.0
    for side in (1.0, -1.0):
        for j in range(opt.n_vel):
            twin, bound = scr.twin[j], scr.bound[j]
            size = scr.scale[scr.group[twin]] if twin >= 0 else 1.0
            small = ROUNDING[0] * bound if bound < 1e300 else ROUNDING[1] * size
            place = 2.0 * ((j + 1) * 0.6180339887498949 % 1.0) - 1.0  # no direction of its own
            scr.delta[j] = side * small * place
        copy(y1, scr.y_try)
        call.increment(data, y1, scr.delta, scr.y_try)
        moved = scr.y_half[: opt.n_vel]
        status = call.shifted(data, t + h, scr.y_try, a1, bh, gh, moved, scr.err[: opt.n_aux])
        mem.evaluations[0] += 1
        mem.step_passes[0] += 1
        if status != 0:
            return 0.0
        for j in range(opt.n_vel):
            scr.delta[j] = moved[j] - scr.a_new[j]
        found = REPEATS * change_norm(opt, scr, h, bh, gh)
        if side > 0.0 or found < least:
            least, mem.blurred[0] = found, REPEATS * motion_norm(opt, scr, scr.delta, bh)
    return least


@kernel(lean=True, later="int64")
def implicit_step(call, run, t, h, y1, a1):
    """Solve one step of size h from the memory (F43, F44). Writes: y1, a1, scr.acc0, scr.acc1, scr.aux_dot.

    Iterates until the changes of bh a and of own states are below 1/300 of the tolerance; with error control
    also that of gh a below a tenth of it, or iteration errors would add up in the speeds. Changes that do not
    fall are settled where they are rounding; a run that repeats another goes on until then. Fixed steps
    where nothing switches know by earlier ones what the first pass leaves (F43). Returns a status.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    am, af, gamma, beta, bh, gh = coefficients(opt.rho_inf, h)
    start_guess(run, h, am, af, a1)
    copy(mem.f[opt.n_pos + opt.n_vel :], scr.aux_dot)
    mem.step_passes[0], mem.blurred[0] = 0, 0.0
    last, rounding = np.inf, -1.0
    known = mem.contraction[0] * max(1.0, h / mem.h_last[0]) ** 2
    if opt.n_switch > 0 or opt.sharp > 1.0 or opt.step == 0.0:
        known = 1.0
    for iteration in range(MAX_PASSES):
        status = place(call, run, h, a1, y1)
        if status == 0:
            status = call.shifted(data, t + h, y1, a1, bh, gh, scr.a_new, scr.aux_dot)
        mem.evaluations[0] += 1
        mem.step_passes[0] += 1
        if status != 0:
            return status
        if iteration == 0:
            set_scales(opt, scr, mem.y, y1, mem.f, h, mem.work[0])
        for j in range(opt.n_vel):
            scr.delta[j] = scr.a_new[j] - a1[j]
        change = change_norm(opt, scr, h, bh, gh)
        own = 300.0 * opt.sharp * own_change(run, h, y1)
        if not own <= change:
            change = own
        ratio = known if iteration == 0 else change / last if last > 0.0 else 0.0
        left = change * ratio / (1.0 - ratio) if ratio < 0.5 else change
        if iteration == 0:
            left = min(change, left * SURE * max(opt.rtol / USUAL, USUAL / opt.rtol))
        settled = left <= (opt.sharp if iteration == MAX_PASSES - 1 else 1.0)
        if not settled and iteration > 0 and ratio >= 0.5 and change < 1e300:
            if rounding < 0.0:
                rounding = rounding_of_pass(call, run, t, h, bh, gh, y1, a1)
            settled = change <= rounding
        copy(scr.a_new, a1)
        if settled:
            mem.contraction[0] = min(1.0, max(ratio, LEAST)) if iteration > 0 else min(1.0, known) ** DOUBT
            return place(call, run, h, a1, y1)
        if not change < 1e300 or (iteration > 2 and ratio > 0.9 and change > opt.sharp):
            return NO_CONVERGENCE
        last = change
    return NO_CONVERGENCE


@kernel(inline=True)
def own_change(run, h, y1):
    """Change of the own states of y1 by their new rates, as an error norm; rounding is none."""
    opt, mem, scr = run.opt, run.mem, run.scr
    norm, first = 0.0, opt.n_pos + opt.n_vel
    for i in range(first, opt.n_control - opt.n_work):
        scale = scr.scale[scr.group[i]]
        value = abs(mem.y[i] + 0.5 * h * (mem.f[i] + scr.aux_dot[i - first]) - y1[i])
        value /= opt.atol + (opt.rtol + 1e-13) * scale
        if not value <= norm:
            norm = value
    return norm


@kernel(inline=True)
def curvature(run, h, f_end, i):
    """Second derivative of rate i, of own states or work, by three times; 0 in a step that begins anew."""
    mem, first, h_last = run.mem, run.opt.n_pos + run.opt.n_vel, run.mem.h_last[0]
    if mem.history[0] == 0:
        return 0.0 * f_end[i]
    change = (f_end[i] - mem.f[i]) / h - (mem.f[i] - mem.aux_prev[i - first]) / h_last
    return 2.0 * change / (h + h_last)


@kernel(inline=True)
def own_error(run, h, begin, end, tighter):
    """Error norm of own states or work: h^3/12 their curvature is left. Needs scr.f_end."""
    opt, scr, norm = run.opt, run.scr, 0.0
    for i in range(begin, end):
        value = tighter * h * h * h / 12.0 * abs(curvature(run, h, scr.f_end, i))
        value /= opt.atol + opt.rtol * scr.scale[scr.group[i]]
        if not value <= norm:
            norm = value
    return norm


@kernel(inline=True)
def bound_norm(opt, scr, factor):
    """Largest part of its bound that `factor * delta` takes: what the filter must not hide (F44)."""
    norm = 0.0
    for j in range(opt.n_vel):
        norm = max(norm, abs(factor * scr.delta[j]) / scr.bound[j])
    return norm


@kernel(lean=True, later="float64")
def implicit_error(call, run, t, h):
    """Error norm of a step: the leading term of the local error of the positions.

    With acc(t) = a(t + d h), d = am - af, Taylor's series leaves e = h^3 a' (1/6 - d/2 - beta_N). Modes that
    the step does not resolve make that far too large. Where it matters, e goes through
    (M + Sh)^-1 M, which leaves slow motion as it is and no more than the amplitude of fast modes: since
    (F43) is linear in its argument a, that is e less the change of its solution by e. What is rounding in a
    is no error of the step. Writes: scr.delta.
    """
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    am, af, _, beta, bh, gh = coefficients(opt.rho_inf, h)
    part = TIGHTER * (1.0 / 6.0 - 0.5 * (am - af) - beta)
    factor, rounding = h * h * part, 2.0 * abs(part) / beta * mem.blurred[0]
    for j in range(opt.n_vel):
        scr.delta[j] = scr.acc1[j] - scr.acc0[j]
    err = motion_norm(opt, scr, scr.delta, factor) - rounding
    if not err > 0.3:
        return err
    bound = bound_norm(opt, scr, factor / TIGHTER)
    if mem.no_filter[0] > 0 and err <= 1.0:
        mem.no_filter[0] -= 1
        return err
    for j in range(opt.n_vel):
        scr.acc0[j] = scr.a1[j] + scr.delta[j]
    status = call.shifted(data, t + h, scr.y1, scr.acc0, bh, gh, scr.a_new, scr.aux_dot)
    mem.evaluations[0] += 1
    mem.step_passes[0] += 1
    if status != 0:
        return err
    for j in range(opt.n_vel):
        scr.delta[j] -= scr.a_new[j] - scr.a1[j]
    filtered = motion_norm(opt, scr, scr.delta, factor) - rounding
    if filtered > 0.5 * err:
        mem.no_filter[0] = 20  # nothing stiff: spare the pass for a while
    return max(min(err, filtered), bound)
