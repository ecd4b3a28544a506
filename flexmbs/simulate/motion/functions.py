"""Kernels of a mechanism behind a Problem: rates, implicit step, projection, switches (F22-F26, F43-F44).

`data` is an `Equations`.
"""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.dynamics import evaluate
from flexmbs.dynamics.evaluate import ANY, KEPT, NEXT
from flexmbs.dynamics.loops import projection
from flexmbs.dynamics.reactions.contact_shares import HELD
from flexmbs.integrate.control import copy
from flexmbs.integrate.problem import HOLD, SEEN
from flexmbs.model.laws.applied import applied_forces
from flexmbs.model.laws.values import free_expressions
from flexmbs.model.laws.values import switches as law_switches
from flexmbs.simulate.motion.branch import along, follow, is_near
from flexmbs.simulate.motion.powers import efforts, rates_of_aux, take_held


@kernel(lean=True, apart=True)
def rates(data, t, y, y_dot):
    """Rates of the state (F19, F22-F26); see Problem. Writes: y_dot."""
    n, m = data.size[0], data.size[0] + data.size[1]
    pos, vel, aux = y[:n], y[n:m], y[m:]
    acc = y_dot[n:m]
    take_held(data, y)
    if stands(data, t, y):
        copy(data.acc, acc)
    else:
        acc[:] = 0.0
    data.ws.loop.near[0] = 1e300
    status = evaluate.accelerations(data.sys, data.ws, data.laws, data.lw, (t, pos, vel, aux, acc))
    if data.size[4] == 1 and status == 0:  # its work needs the forces of drives and joints
        efforts(data, t, pos, vel, aux, acc)
    projection.position_rates(data.sys, pos, vel, y_dot[:n])
    rates_of_aux(data, vel, aux, y_dot[m:])
    if is_near(data):
        status = smooth_rates(data, t, y, y_dot, status)
    return status


@kernel(lean=True)
def stands(data, t, y):
    """Whether kinematics of this state is what `project` left, and need not be found again. Writes: ws."""
    known = data.ws.body.stands[0] == KEPT and t == data.kept[y.size]
    for k in range(y.size):
        known = known and y[k] == data.kept[k]
    data.ws.body.stands[0] = NEXT if known else ANY
    return known


@kernel(lean=True, later="int64")
def smooth_rates(data, t, y, y_dot, status):
    """Rates close to a change point, from both sides; `status` where there is no way (F28). Writes: y_dot."""
    n, m = data.size[0], data.size[0] + data.size[1]
    near = data.ws.loop.near[0]
    if along(data, t, y[:n], y[n:m], y[m:], 0.0, 0.0, 1) == 0:
        mean, own = data.branch.mean, data.branch.aux_dot.shape[0]
        for k in range(m - n + own):
            y_dot[n + k] = mean[m + k]
        status = 0
    data.ws.loop.near[0] = near
    return status


@kernel(lean=True, apart=True)
def shifted(data, t, y, a, bh, gh, a_new, aux_dot):
    """One pass of the implicit step (F43, F44); see Problem. Writes: a_new, aux_dot."""
    n, m = data.size[0], data.size[0] + data.size[1]
    pos, vel, aux = y[:n], y[n:m], y[m:]
    take_held(data, y)
    data.ws.loop.near[0] = 1e300
    at = t, pos, vel, aux, a
    status = evaluate.shifted(data.sys, data.ws, data.laws, data.lw, at, gh, bh, a_new)
    rates_of_aux(data, vel, aux, aux_dot)
    return status


@kernel(lean=True, apart=True)
def nearness(data, out):
    """How far the state that was evaluated last is from a change point, and how open (F28). Writes: out."""
    least = data.branch.least[0]
    out[0] = (data.ws.loop.near[0] / least) ** 0.5 if least > 0.0 else 1e300
    out[1] = data.ws.loop.near[1]
    out[2] = projection.largest(data.ws.row.g) / data.tolerance[1]
    return 0


@kernel(lean=True, apart=True)
def increment(data, y, delta, y_new):
    """Positions x (+) delta. Writes: the positions of y_new."""
    n = data.size[0]
    projection.add_increment(data.sys, y[:n], delta, y_new[:n])
    return 0


@kernel(lean=True, apart=True)
def project(data, t, y, bh, gh, out):
    """Positions and speeds onto the constraints, followed angles to the pose (F44). Writes: y, out."""
    n, m = data.size[0], data.size[0] + data.size[1]
    tolerance, most, known = data.tolerance[0], 12, out[2] == SEEN and not is_near(data)
    if out[2] == HOLD:
        tolerance, most = 1e300, 0
    kept = data.branch.copy
    copy(y, kept)
    take_held(data, y)
    near = data.ws.loop.near[0]
    data.ws.loop.near[0] = 1e300
    data.ws.body.stands[0] = KEPT  # not what is found here
    at = t, y[:n], y[n:m], y[m:], data.acc
    worst, worst_dot, count = projection.project(
        data.sys, data.ws, data.laws, data.lw, at, gh, bh, (tolerance, most, known)
    )
    if count > 0 and is_near(data):
        take_held(data, y)
        if follow(data, t, kept[:n], kept[n:m], y[m:], gh, bh) == 0:
            copy(kept, y[:m])
        evaluate.kinematics(data.sys, data.ws, data.laws, data.lw, at)
        projection.follow_turns(data.sys, data.ws)
        worst, worst_dot = projection.largest(data.ws.row.g), projection.largest(data.ws.row.g_dot)
    if count == 0:
        data.ws.loop.near[0] = near
    first = m + data.size[2] + 2
    for k in range(data.size[3]):
        y[first + k] = data.ws.relation.turn[k]
    out[0], out[1], out[2] = worst, worst_dot, count
    good = worst <= data.tolerance[1] and worst_dot < 1e300
    data.ws.body.stands[0] = KEPT if good and data.ws.body.stands[0] == ANY else ANY
    copy(y, data.kept[: y.size])
    data.kept[y.size] = t
    return 0 if good else 1


@kernel(lean=True, apart=True)
def switches(data, t, y, s):
    """Switching functions: those of laws, `until`, contacts. Writes: s. Returns a status."""
    n, m = data.size[0], data.size[0] + data.size[1]
    pos, vel, aux = y[:n], y[n:m], y[m:]
    at = t, pos, vel, aux, data.acc
    take_held(data, y)
    data.acc[:] = 0.0
    if data.contact.row.shape[0] > 0:  # the force of a contact takes the accelerations
        status = evaluate.accelerations(data.sys, data.ws, data.laws, data.lw, at)
        if status != 0:
            return status
        # that it bears when all that redundancy leaves open is shared: it lifts where nobody can hold it
        evaluate.joint_forces(data.sys, data.ws, data.laws, data.lw, at)
    else:
        evaluate.kinematics(data.sys, data.ws, data.laws, data.lw, at)
        applied_forces(data.laws, data.lw, data.sys, data.ws, t, pos, vel, aux)
    law_switches(data.laws, data.lw, s)
    first = data.laws.switch_expr.shape[0]
    if data.free.shape[0] > 0:
        free_expressions(data.laws, data.lw, data.values)
    for k in range(data.free.shape[0]):
        s[first + k] = data.values[data.free[k]]
    first += data.free.shape[0]
    for k in range(data.contact.row.shape[0]):
        r = data.contact.row[k]
        s[first + k] = data.sys.row.side[r] * data.ws.row.force[r]
        if data.ws.row.soft[r] < 0.0:  # open: closed again by a rounding below zero, not by one in it
            s[first + k] = data.ws.row.gap[r] + data.tolerance[0]
        elif data.ws.side.state[k] == HELD:  # others hold what it would pull: it stays where it is
            s[first + k] = 1.0
    return 0


@kernel(lean=True, apart=True)
def at_rest(data, t, y):
    """Motion and inertia of a state, with no accelerations."""
    n, m = data.size[0], data.size[0] + data.size[1]
    take_held(data, y)
    data.acc[:] = 0.0
    evaluate.kinematics(data.sys, data.ws, data.laws, data.lw, (t, y[:n], y[n:m], y[m:], data.acc))
    evaluate.masses(data.sys, data.ws, y[:n], y[n:m])
