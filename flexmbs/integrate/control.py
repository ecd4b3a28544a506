"""Kernels of error control: scales, norms, and the next step."""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel


@kernel(inline=True)
def set_scales(opt, scr, y, y1, f, h):
    """Scale of every group: the largest of |y|, |y1| and the change h |f| in it. Writes: scr.scale."""
    scr.scale[:] = 0.0
    for i in range(opt.n_control):
        size = max(abs(y[i]), abs(y1[i]), abs(h * f[i]))
        g = scr.group[i]
        if not size <= scr.scale[g]:  # NaN goes through
            scr.scale[g] = size


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
