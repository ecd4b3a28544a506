"""Laws on joint coordinates: coordinate, rate -> effort, its slopes, its energies."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.expressions.machine import evaluate
from flexmbs.model.laws.tables import (
    COORD_DAMPER,
    COORD_FORCE,
    COORD_FRICTION,
    COORD_LAW,
    COORD_SPRING,
    COORD_STOP,
    SLOT_T,
    SLOT_V,
    SLOT_X,
)


@kernel(lean=True)
def local_law(laws, lw, k, x, v):
    """Local expression k at (x, v): value, slope by x, slope by v. Writes: slots x and v."""
    lw.x[SLOT_X], lw.x[SLOT_V] = x, v
    lw.x_dot[SLOT_T] = 0.0
    lw.x_dot[SLOT_X] = 1.0
    evaluate(laws.expr, k, lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
    value, by_x = lw.result[0], lw.result[1]
    lw.x_dot[SLOT_X], lw.x_dot[SLOT_V] = 0.0, 1.0
    evaluate(laws.expr, k, lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
    lw.x_dot[SLOT_V], lw.x_dot[SLOT_T] = 0.0, 1.0
    return value, by_x, lw.result[1]


@kernel(inline=True)
def friction(limit, v, v0):
    """Regularised Coulomb friction: effort and its slope by v; the full limit is reached at |v| = v0."""
    z = v / v0
    if z >= 1.0:
        return -limit, 0.0
    if z <= -1.0:
        return limit, 0.0
    return -limit * 0.5 * z * (3.0 - z * z), -limit * 1.5 * (1.0 - z * z) / v0


@kernel(inline=True)
def stop(depth, rate, stiffness, damping):
    """Force of a stop entered by `depth` > 0: it pushes, and never pulls on the way out. Slopes by both."""
    push = stiffness * depth + damping * rate
    if depth <= 0.0 or push <= 0.0:
        return 0.0, 0.0, 0.0
    return push, stiffness, damping


@kernel(lean=True)
def effort(laws, lw, k, x, v):
    """Effort of law k on its coordinate x with rate v.

    Returns effort, d effort / dx, d effort / dv, potential, dissipated power, power without a potential.
    """
    kind, o, n = laws.kind[k], lw.value, laws.first[k]
    if kind == COORD_SPRING:
        d = x - o[n + 1]
        e = -o[n] * d
        if laws.conservative[k] == 1:
            return e, -o[n], 0.0, 0.5 * o[n] * d * d, 0.0, 0.0
        return e, -o[n], 0.0, 0.0, 0.0, e * v
    if kind == COORD_DAMPER:
        return -o[n] * v, 0.0, -o[n], 0.0, o[n] * v * v, 0.0
    if kind == COORD_LAW:
        e, by_x, by_v = local_law(laws, lw, laws.local[k], x, v)
        return e, by_x, by_v, 0.0, 0.0, e * v
    if kind == COORD_FORCE:
        return o[n], 0.0, 0.0, 0.0, 0.0, o[n] * v
    if kind == COORD_FRICTION:
        e, by_v = friction(o[n] + o[n + 1] * lw.load_of[laws.coord[k]], v, o[n + 2])
        return e, 0.0, by_v, 0.0, -e * v, 0.0
    if kind == COORD_STOP:
        up, up_k, up_c = stop(x - o[n + 1], v, o[n + 2], o[n + 3])
        low, low_k, low_c = stop(o[n] - x, -v, o[n + 2], o[n + 3])
        depth = max(x - o[n + 1], o[n] - x, 0.0)
        potential, e = 0.5 * o[n + 2] * depth * depth, low - up
        elastic = o[n + 2] * (max(o[n] - x, 0.0) - max(x - o[n + 1], 0.0))
        return e, -up_k - low_k, -up_c - low_c, potential, (elastic - e) * v, 0.0
    return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
