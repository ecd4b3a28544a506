"""Channels and numbers of laws, evaluated: state -> slots -> values."""

from __future__ import annotations

import math

from flexmbs._jit import call_fortran, kernel
from flexmbs.expressions.machine import evaluate
from flexmbs.model.laws.attitudes import attitude_rates, attitudes
from flexmbs.model.laws.tables import (
    AUX,
    COORD_V,
    COORD_X,
    ELASTIC_U,
    LENGTH,
    MARK_QUAT,
    MARK_V,
    MARK_X,
    POS,
    RATE,
    REL_QUAT,
    REL_TURN,
    REL_W,
    REL_X,
    SLOT_T,
    SLOT_V,
    SLOT_X,
    TIME,
    VEL,
)
from flexmbs.model.quaternions import relative_quaternion, rotation_vector
from flexmbs.model.vectors import between, cross, three


@kernel(lean=True)
def set_time(laws, lw, t):
    """The time and its rates in their slot. Writes: x, x_dot, x_ddot of slot 0."""
    lw.x[SLOT_T], lw.x_dot[SLOT_T], lw.x_ddot[SLOT_T] = t, 1.0, 0.0


@kernel(lean=True, apart=True)
def drives(laws, lw, ws, t, aux):
    """Prescribed coordinates, rotations and travelling markers at time t (F19).

    Writes: ws.drive_*, ws.law.attitude, ws.travel.x.
    """
    set_time(laws, lw, t)
    for d in range(laws.drive_expr.shape[0]):
        evaluate(laws.expr, laws.drive_expr[d], lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
        k, order = laws.drive_aux[d], laws.drive_order[d]
        if k < 0:  # as it stands, whatever it prescribes
            ws.law.x[d], ws.law.v[d], ws.law.a[d] = lw.result[0], lw.result[1], lw.result[2]
        elif order == 1:
            ws.law.x[d], ws.law.v[d], ws.law.a[d] = aux[k], lw.result[0], lw.result[1]
        else:
            ws.law.x[d], ws.law.v[d], ws.law.a[d] = aux[k], aux[k + 1], lw.result[0]
    if laws.att_kind.shape[0] > 0:
        attitudes(laws, ws, aux)
    for m in range(laws.travel_expr.shape[0]):
        for c in range(3):
            evaluate(laws.expr, laws.travel_expr[m, c], lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
            for k in range(3):
                ws.travel.x[m, k, c] = lw.result[k]


@kernel(lean=True, apart=True)
def fill_slots(laws, lw, sys, ws, t, pos, vel, aux):
    """All channels that expressions use. Needs the velocity stage and coord_x, coord_v. Writes: x."""
    set_time(laws, lw, t)
    for s in range(1, laws.slot.shape[0]):
        kind, a, b, c = laws.slot[s, 0], laws.slot[s, 1], laws.slot[s, 2], laws.slot[s, 3]
        if kind == COORD_X:
            lw.x[s] = ws.coord.x[a]
        elif kind == COORD_V:
            lw.x[s] = ws.coord.v[a]
        elif kind == POS:
            lw.x[s] = pos[a]
        elif kind == VEL:
            lw.x[s] = vel[a]
        elif kind == AUX:
            lw.x[s] = aux[a]
        elif kind == MARK_X:
            lw.x[s] = ws.marker.x[a, c]
        elif kind == MARK_V:
            lw.x[s] = ws.marker.v[a, c]
        elif kind == ELASTIC_U:
            lw.x[s] = elastic_displacement(sys, ws, a, c)
        elif kind == MARK_QUAT or kind == REL_QUAT or kind == REL_TURN:
            lw.x[s] = turn_component(ws, kind, a, b, c)
        elif kind != TIME and kind >= REL_X and kind <= REL_W:
            lw.x[s] = relative_component(ws, kind, a, b, c)


@kernel(inline=True)
def elastic_displacement(sys, ws, m, c):
    """Component c of u_P - u_P0 in body axes; of a travelling marker against its undeformed place."""
    t = sys.marker.travel[m]
    place = sys.marker.u0[m, c]
    if t >= 0:
        place += ws.travel.x[t, 0, c]
    return ws.marker.u[m, c] - place


@kernel(lean=True, later="float64")
def relative_component(ws, kind, a, b, c):
    """Component c of place, velocity or angular velocity of marker a seen from marker b, in axes of b.

    REL_W is in the axes of marker a; REL_V has components 3-5 for the angular velocity, in axes of b.
    """
    x, y, z = between(ws.marker.x, b, ws.marker.x, a)
    m = b
    if kind != REL_X:
        v, w = between(ws.marker.v, b, ws.marker.v, a), three(ws.marker.v, b, 3)
        way = cross(w, (x, y, z))
        x, y, z = v[0] - way[0], v[1] - way[1], v[2] - way[2]
        if kind == REL_W or c >= 3:
            v = three(ws.marker.v, a, 3)
            x, y, z = v[0] - w[0], v[1] - w[1], v[2] - w[2]
    if kind == REL_W:
        m = a
    k = c % 3
    return ws.marker.R[m, 0, k] * x + ws.marker.R[m, 1, k] * y + ws.marker.R[m, 2, k] * z


@kernel(lean=True, later="float64")
def turn_component(ws, kind, a, b, c):
    """Component of a quaternion (c = 0 ... 3) or of a rotation vector (c = 0 ... 2)."""
    w, x, y, z = relative_quaternion(ws.marker.R, a, -1 if kind == MARK_QUAT else b)
    if kind == REL_TURN:
        x, y, z = rotation_vector(w, x, y, z)
        c += 1
    if c == 0:
        return w
    if c == 1:
        return x
    return y if c == 2 else z


@kernel(lean=True, apart=True)
def fill_values(laws, lw):
    """Numbers that expressions and Python functions give. Needs the slots. Writes: value."""
    for k in range(laws.dyn_value.shape[0]):
        evaluate(laws.expr, laws.dyn_expr[k], lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
        lw.value[laws.dyn_value[k]] = lw.result[0]
    for k in range(laws.py_value.shape[0]):
        first = laws.py_start[k]
        lw.args[0] = lw.x[SLOT_T]
        for n in range(laws.py_start[k + 1] - first):
            evaluate(laws.expr, laws.py_expr[first + n], lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
            lw.args[n + 1] = lw.result[0]
        call_fortran(int(laws.py_address[k]), (lw.args, lw.returned))  # type: ignore[call-arg]
        lw.value[laws.py_value[k]] = lw.returned[0]


@kernel(lean=True, apart=True)
def state_rates(laws, lw, aux, aux_dot):
    """Rates of the own states and of the integrals of drives. Needs the slots. Writes: aux_dot."""
    for k in range(laws.state_expr.shape[0]):
        evaluate(laws.expr, laws.state_expr[k], lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
        aux_dot[k] = lw.result[0]
    for d in range(laws.drive_expr.shape[0]):
        k = laws.drive_aux[d]
        if k < 0:
            continue
        evaluate(laws.expr, laws.drive_expr[d], lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
        if laws.drive_order[d] == 2:
            aux_dot[k], aux_dot[k + 1] = aux[k + 1], lw.result[0]
        else:
            aux_dot[k] = lw.result[0]
    if laws.att_kind.shape[0] > 0:
        attitude_rates(laws, lw, aux, aux_dot)


@kernel(lean=True, apart=True)
def switches(laws, lw, out):
    """Functions whose zeros are where laws jump, or their slopes. Needs applied_forces. Writes: out."""
    for k in range(laws.switch_expr.shape[0]):
        law = laws.switch_law[k]
        if law >= 0:
            lw.x[SLOT_X], lw.x[SLOT_V] = lw.out[law, LENGTH], lw.out[law, RATE]
        evaluate(laws.expr, laws.switch_expr[k], lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
        out[k] = lw.result[0]


@kernel(lean=True, apart=True)
def friction_loads(laws, lw, sys, ws):
    """Forces that press on joints with friction by a coefficient, from ws.joint.reaction. Writes: load_of.

    Where the joint turns it is the whole reaction force, where it slides its part across the way. Returns the
    largest relative change: efforts and reactions belong together when it is small, so repeat until it is.
    """
    change = 0.0
    for k in range(laws.press_law.shape[0]):
        c, j, axis = laws.coord[laws.press_law[k]], laws.press_joint[k], laws.press_axis[k]
        F, m = ws.joint.reaction[j], sys.joint.q[j]
        square, along = F[0] * F[0] + F[1] * F[1] + F[2] * F[2], 0.0
        if axis >= 0:
            R = ws.marker.R
            along = R[m, 0, axis] * F[0] + R[m, 1, axis] * F[1] + R[m, 2, axis] * F[2]
        load = math.sqrt(max(square - along * along, 0.0))
        change = max(change, abs(load - lw.load_of[c]) / max(load, lw.load_of[c], 1e-300))
        lw.load_of[c] = load
    return change


@kernel(lean=True, apart=True)
def free_expressions(laws, lw, out):
    """Expressions of sensors, `until` and switching functions. Needs the slots. Writes: out."""
    for k in range(laws.free_expr.shape[0]):
        evaluate(laws.expr, laws.free_expr[k], lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
        out[k] = lw.result[0]
