"""Kernels that find one-sided functions, such as the force of a contact, below zero inside a step.

At both ends of a long step the force may press while it would pull in between. Some places inside, and the
vertex of the parabola through the three lowest, show that.
"""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.integrate.step import inside

#: places inside an explicit step, inside an implicit one, which is shorter and dearer to look into
PLACES, FEW = 6, 2
#: a vertex is looked at where the parabola comes down to this part of its ends
LOW = 0.2


@kernel(lean=True, apart=True)
def first_dip(call, run):
    """Part of the pending step at which a one-sided function is negative, 0 where none is.

    Needs scr.s0, scr.s1 at its ends. Writes: scr.dip, scr.s2, scr.y_out, scr.closure.
    """
    opt, mem, scr = run.opt, run.mem, run.scr
    n, found, rows = PLACES if opt.explicit == 1 else FEW, 0.0, opt.n_switch
    passes, counted = mem.step_passes[0], mem.evaluations[0]
    for k in range(rows):
        scr.dip[k], scr.dip[(n + 1) * rows + k] = scr.s0[k], scr.s1[k]
    for p in range(1, n + 1):
        part = p / (n + 1.0)
        if found == 0.0 and negative_at(call, run, part):  # fmt: skip
            found = part
        for k in range(rows):
            scr.dip[p * rows + k] = scr.s2[k]
    for k in range(rows - opt.n_sided, rows):
        for p in range(1, n + 1):
            a, b, c = scr.dip[(p - 1) * rows + k], scr.dip[p * rows + k], scr.dip[(p + 1) * rows + k]
            bend = a - 2.0 * b + c
            if found > 0.0 or not (b <= a and b <= c and bend > 0.0):
                continue
            place = 0.5 * (a - c) / bend
            if b - 0.25 * (a - c) * place < LOW * max(a, c) and negative_at(
                call, run, (p + place) / (n + 1.0)
            ):
                found = (p + place) / (n + 1.0)
    mem.step_passes[0], mem.evaluations[0] = passes, counted
    return found


@kernel(lean=True, apart=True)
def negative_at(call, run, part):
    """Whether a one-sided function is negative at a part of the pending step. Writes: scr.s2, scr.y_out."""
    data, opt, mem, scr = run.data, run.opt, run.mem, run.scr
    t = mem.t[0] + part * mem.h_step[0]
    status = inside(call, run, t)
    if status == 0:
        status = call.switches(data, t, scr.y_out, scr.s2)
    if status != 0:
        scr.s2[:] = 0.0
    negative = False
    for k in range(opt.n_switch - opt.n_sided, opt.n_switch):
        negative = negative or scr.s2[k] < 0.0
    return negative
