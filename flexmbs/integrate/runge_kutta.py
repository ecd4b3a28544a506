"""Kernels of explicit Runge-Kutta methods: a step with its error, and dense output."""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel
from flexmbs.integrate.control import copy, error_norm, nought, set_scales

#: parts of the tolerance in the last term of a dense output, above which it must be less than the term before
ASTRAY = 100.0


@kernel(inline=True)
def sum_of(weights, n, h, K, out):
    """out = h sum_j weights_j K_j of the first n stages. Writes: out."""
    out[:] = 0.0
    for j in range(n):
        if weights[j] != 0.0:
            for i in range(out.size):
                out[i] += h * weights[j] * K[j, i]


@kernel(inline=True)
def state_of(weights, n, y, h, K, out):
    """out = y + h sum_j weights_j K_j. Writes: out."""
    sum_of(weights, n, 1.0, K, out)
    for i in range(y.size):
        out[i] = y[i] + h * out[i]


@kernel(lean=True, apart=True)
def stages(call, run, t, h, y, f, y1, near):
    """All stages of one step from (y, f = rates there), and how near they are to a change point.

    Writes: scr.K, y1, near. Returns a status.
    """
    data, tab, K, y_try = run.data, run.tab, run.scr.K, run.scr.y_try
    out = run.scr.closure
    copy(f, K[0])
    for s in range(1, tab.n_stages):
        state_of(tab.A[s], s, y, h, K, y_try)
        status = call.rates(data, t + tab.C[s] * h, y_try, K[s])
        if status != 0:
            return status
        call.nearness(data, out)
        near[s] = out[0]
    state_of(tab.B, tab.n_stages, y, h, K, y1)
    return 0


@kernel(lean=True, later=("int64", "float64"))
def explicit_step(call, run, t, h):
    """A step of size h from the memory, and its error norm. Writes: scr.K, scr.y1, scr.near.

    Returns (status, error); in fixed steps of an explicit method the error is 0.
    """
    data, opt, tab, mem, scr = run.data, run.opt, run.tab, run.mem, run.scr
    y, f = mem.y, mem.f
    n = tab.n_stages
    status = stages(call, run, t, h, y, f, scr.y1, scr.near)
    mem.evaluations[0] += n
    mem.step_passes[0] = n
    if status != 0:
        return status, np.nan
    if opt.step == 0.0 and tab.E.shape[0] == 0:
        return two_halves(call, run, t, h)
    if tab.end_rate == 1:
        status = call.rates(data, t + h, scr.y1, scr.K[n])
        if status != 0:
            return status, np.nan
    if opt.step > 0.0 and opt.explicit == 1:
        return 0, nought(scr.y1)
    sum_of(tab.E[0], n + tab.end_rate, h, scr.K, scr.err)
    sum_of(tab.E[1], n + tab.end_rate, h, scr.K, scr.y_half)
    set_scales(opt, scr, y, scr.y1, f, h, mem.work[0])
    err, other = error_norm(opt, scr, scr.err), error_norm(opt, scr, scr.y_half)
    if other > 0.0 and err > 0.0:  # the two estimates of order 8 (Hairer, Norsett and Wanner)
        err /= np.sqrt(1.0 + 0.01 * (other / err) ** 2)  # squares of errors may be too small for a number
    return 0, err


@kernel(lean=True, apart=True)
def two_halves(call, run, t, h):
    """Error of a step without error weights, from two half steps, which are kept. Writes: scr.y1, scr.K."""
    data, opt, tab, mem, scr = run.data, run.opt, run.tab, run.mem, run.scr
    y, f = mem.y, mem.f
    copy(scr.y1, scr.err)
    n = tab.A.shape[0]
    near, behind = scr.near[n:], scr.near[2 * n :]
    status = stages(call, run, t, 0.5 * h, y, f, scr.y_half, near)
    if status == 0:
        status = call.rates(data, t + 0.5 * h, scr.y_half, scr.y_out)
    if status == 0:
        status = stages(call, run, t + 0.5 * h, 0.5 * h, scr.y_half, scr.y_out, scr.y1, behind)
    mem.evaluations[0] += 2 * tab.n_stages
    mem.step_passes[0] = 3 * tab.n_stages
    if status != 0:
        return status, np.nan
    for i in range(y.size):
        scr.err[i] = (scr.y1[i] - scr.err[i]) / (2.0**tab.order - 1.0)
    set_scales(opt, scr, y, scr.y1, f, h, mem.work[0])
    return 0, error_norm(opt, scr, scr.err)


@kernel(lean=True, later="int64")
def explicit_dense(call, run, t, h, f1):
    """Coefficients of the dense output of an accepted step. Writes: scr.F, scr.K (further stages), mem.dense.

    f1 is the rate at the end of the step. Where the last terms grow there is none (mem.dense = 2): a mode
    that is at rest is stepped over at the edge of stability, and is anywhere inside. Returns a status.
    """
    data, opt, tab, mem, scr = run.data, run.opt, run.tab, run.mem, run.scr
    n = tab.n_stages
    if tab.end_rate == 0:
        copy(f1, scr.K[n])
    for s in range(n + 1, tab.A.shape[0]):
        state_of(tab.A[s], s, mem.y, h, scr.K, scr.y_try)
        status = call.rates(data, t + tab.C[s] * h, scr.y_try, scr.K[s])
        if status != 0:
            return status
    for i in range(mem.y.size):
        change = scr.y1[i] - mem.y[i]
        scr.F[0, i] = change
        scr.F[1, i] = h * mem.f[i] - change
        scr.F[2, i] = 2.0 * change - h * (f1[i] + mem.f[i])
    for k in range(tab.D.shape[0]):
        sum_of(tab.D[k], tab.D.shape[1], h, scr.K, scr.F[3 + k])
    last = 2 + tab.D.shape[0]
    set_scales(opt, scr, mem.y, scr.y1, mem.f, h, mem.work[0])
    end = 0.5 ** (last + 1) * error_norm(opt, scr, scr.F[last])  # in the middle of the step
    grows = last > 2 and end > ASTRAY and end > 0.5**last * error_norm(opt, scr, scr.F[last - 1])
    mem.dense[0] = 2 if grows else 1
    return 0


@kernel(inline=True)
def explicit_at(run, theta, y_out):
    """State at the fraction x of the step, y0 + x (f0 + (1-x) (f1 + x (f2 + ...))). Writes: y_out."""
    tab, mem, scr = run.tab, run.mem, run.scr
    last = 2 + tab.D.shape[0]
    for i in range(mem.y.size):
        value = scr.F[last, i]
        for k in range(last - 1, -1, -1):
            value = scr.F[k, i] + value * ((1.0 - theta) if k % 2 == 0 else theta)
        y_out[i] = mem.y[i] + theta * value
