"""All force laws at one state: slots and numbers -> generalised forces, energies, powers (F14-F16)."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.model.laws.joint_kernels import effort
from flexmbs.model.laws.pair_kernels import bushing, span
from flexmbs.model.laws.tables import (
    BUSHING,
    COORD_SPRING,
    DAMPING,
    DISSIPATED,
    FORCE,
    LENGTH,
    MODAL_LOAD,
    MOMENT,
    N_OUT,
    POINT_FORCE,
    POINT_TORQUE,
    POTENTIAL,
    RATE,
    SPAN,
    SPAN_LAW,
    STIFFNESS,
    VALUE,
    WORK,
)
from flexmbs.model.laws.values import fill_slots, fill_values
from flexmbs.model.laws.wrench import add_modal_load, add_wrench
from flexmbs.model.vectors import from_axes


@kernel(lean=True, apart=True)
def applied_forces(laws, lw, sys, ws, t, pos, vel, aux):
    """Forces of all laws at one state (F14-F16).

    Needs the velocity stage, coord_x and coord_v, and in lw.load_of the force that presses on each joint
    with friction by a coefficient. Writes: f_app, tau_coord, K_coord, D_coord of ws; out, power of lw.
    """
    for k in range(ws.body.f_app.shape[0]):
        ws.body.f_app[k] = 0.0
    for k in range(ws.coord.tau.shape[0]):
        ws.coord.tau[k] = 0.0
        ws.coord.K[k] = 0.0
        ws.coord.D[k] = 0.0
    fill_slots(laws, lw, sys, ws, t, pos, vel, aux)
    fill_values(laws, lw)
    lw.power[0] = 0.0
    lw.power[1] = 0.0
    for k in range(laws.kind.shape[0]):
        kind = laws.kind[k]
        if kind == SPAN or kind == SPAN_LAW:
            span(laws, lw, sys, ws, vel, k)
        elif kind >= COORD_SPRING:
            on_coordinate(laws, lw, ws, k)
        elif kind == BUSHING:
            bushing(laws, lw, sys, ws, vel, k)
        elif kind == MODAL_LOAD:
            modal_load(laws, lw, sys, ws, pos, vel, k)
        else:
            at_point(laws, lw, sys, ws, vel, k)
        lw.power[0] += lw.out[k, WORK]
        lw.power[1] += lw.out[k, DISSIPATED]


@kernel(lean=True, later="void")
def on_coordinate(laws, lw, ws, k):
    """A law on a joint coordinate. Writes: tau_coord, K_coord, D_coord, out[k]."""
    c, out = laws.coord[k], lw.out[k]
    x, v = ws.coord.x[c], ws.coord.v[c]
    e, by_x, by_v, potential, dissipated, work = effort(laws, lw, k, x, v)
    ws.coord.tau[c] += e
    # only what holds back helps the step; a slope that drives would spoil N
    ws.coord.K[c] += max(-by_x, 0.0)
    ws.coord.D[c] += max(-by_v, 0.0)
    out[LENGTH], out[RATE], out[VALUE] = x, v, e
    out[STIFFNESS], out[DAMPING] = -by_x, -by_v
    out[POTENTIAL], out[DISSIPATED], out[WORK] = potential, dissipated, work


@kernel(lean=True, later="void")
def at_point(laws, lw, sys, ws, vel, k):
    """Force or torque at a marker, components in ground or in axes of a marker. Writes: f_app, out[k]."""
    m, n, out = laws.mark_q[k], laws.first[k], lw.out[k]
    x, y, z = lw.value[n], lw.value[n + 1], lw.value[n + 2]
    if laws.axes[k] >= 0:
        x, y, z = from_axes(ws.marker.R, laws.axes[k], x, y, z)
    for c in range(N_OUT):
        out[c] = 0.0
    if laws.kind[k] == POINT_FORCE:
        out[WORK] = add_wrench(sys, ws, vel, m, (x, y, z), (0.0, 0.0, 0.0))
        out[FORCE], out[FORCE + 1], out[FORCE + 2] = x, y, z
    elif laws.kind[k] == POINT_TORQUE:
        out[WORK] = add_wrench(sys, ws, vel, m, (0.0, 0.0, 0.0), (x, y, z))
        out[MOMENT], out[MOMENT + 1], out[MOMENT + 2] = x, y, z


@kernel(lean=True, later="void")
def modal_load(laws, lw, sys, ws, pos, vel, k):
    """A load that is fixed in its body. Writes: f_app, out[k]: force and moment about the body origin."""
    i, o, out, R = laws.body[k], laws.load_start[k], lw.out[k], ws.body.R
    factor, load = lw.value[laws.first[k]], laws.load
    out[WORK] = add_modal_load(sys, ws, pos, vel, i, load, o, factor)
    for row in range(3):
        for s in (0, 3):
            out[s + row] = factor * (
                R[i, row, 0] * load[o + s] + R[i, row, 1] * load[o + s + 1] + R[i, row, 2] * load[o + s + 2]
            )
    out[VALUE] = factor
