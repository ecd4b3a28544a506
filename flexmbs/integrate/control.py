"""Kernels of error control: scales, norms, and the next step."""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel

#: power of the step below which an error of the work does not fall: noise; steps until it is asked for again
FALLS, AGAIN = 2.5, 20
#: the step after one whose work is too wrong: so short that noise shows
SHORTER = 0.25


@kernel(inline=True)
def copy(x, out):
    for i in range(out.size):
        out[i] = x[i]


@kernel(inline=True)
def tell(run, t, index, direction):
    """Record an event. Writes: events."""
    events, n = run.events, run.events.count[0]
    events.t[n], events.index[n], events.direction[n] = t, index, direction
    events.count[0] = n + 1


@kernel(inline=True)
def set_scales(opt, scr, y, y1, f, h, work):
    """Scale of every group: the largest of |y|, |y1|, the change h |f|; of `work` in the last one."""
    scr.scale[:] = 0.0
    for i in range(opt.n_control):
        size = max(abs(y[i]), abs(y1[i]), abs(h * f[i]))
        g = scr.group[i]
        if not size <= scr.scale[g]:  # NaN goes through
            scr.scale[g] = size
    if opt.n_work > 0:  # where quadratures pass zero they are not small
        scr.scale[scr.scale.size - 1] = max(scr.scale[scr.scale.size - 1], work)


@kernel(inline=True)
def nought(x):
    """0, or NaN when something in x is not finite."""
    s = 0.0
    for i in range(x.size):
        s += 0.0 * x[i]
    return s


@kernel(inline=True)
def error_norm(opt, scr, e):
    """Largest |e_i| / (atol + rtol scale_i); NaN when an error is NaN."""
    norm = 0.0
    for i in range(opt.n_control):
        value = abs(e[i]) / (opt.atol + opt.rtol * scr.scale[scr.group[i]])
        if not value <= norm:
            norm = value
            if np.isnan(value):
                return value
    return norm


@kernel(inline=True)
def motion_norm(opt, scr, e, factor):
    """The same for `factor * e`, displacements in the space of speeds; rotations have scale 1."""
    norm = 0.0
    for j in range(opt.n_vel):
        twin = scr.twin[j]
        scale = 1.0
        if twin >= 0:
            scale = scr.scale[scr.group[twin]]
        value = abs(factor * e[j]) / (opt.atol + opt.rtol * scale)
        if not value <= norm:
            norm = value
            if np.isnan(value):
                return value
    return norm


@kernel(inline=True)
def speed_norm(opt, scr, e, factor, floor):
    """The same for `factor * e`, changes of speeds; rounding of the positions times `floor` is no error."""
    norm = 0.0
    for j in range(opt.n_vel):
        twin = scr.twin[j]
        rounding = floor * (scr.scale[scr.group[twin]] if twin >= 0 else 1.0)
        scale = scr.scale[scr.group[opt.n_pos + j]]
        value = abs(factor * e[j]) / (opt.atol + opt.rtol * scale + rounding)
        if not value <= norm:
            norm = value
            if np.isnan(value):
                return value
    return norm


@kernel(inline=True)
def with_work(mem, err, work, h):
    """Error of an implicit step with that of work, save noise: it falls slower with the step. Writes: mem."""
    if mem.noisy[0] > 0 or work <= 1.0:
        return err if mem.noisy[0] > 0 else max(err, work)
    noise = mem.tried_h[0] > 0.0 and work > mem.tried_err[0] * (h / mem.tried_h[0]) ** FALLS
    mem.tried_err[0], mem.tried_h[0], mem.noisy[0] = work, h, AGAIN if noise else 0
    return err if noise else max(work, (0.9 / SHORTER) ** 3)


@kernel(inline=True)
def next_step(mem, h, err, order, calm, after_reject):
    """Step after an accepted one: proportional-integral control (order 5), a dead band where `calm`.

    Writes: mem.h[0], mem.err_old[0].
    """
    beta = 0.04 if order == 5 else 0.0
    err = max(err, 1e-10)
    factor = 0.9 * err ** (-(1.0 / order - 0.75 * beta))
    if mem.err_old[0] > 0.0:
        factor *= mem.err_old[0] ** beta
    factor = min(max(factor, 0.2), 5.0)
    if after_reject:
        factor = min(factor, 1.0)
    if calm and factor > 0.95 and factor < 1.25:
        factor = 1.0  # equal steps keep the auxiliary acceleration as it is
    mem.err_old[0] = max(err, 1e-4)
    mem.h[0] = h * factor
