"""A System as the Problem that integrators see: its state vector and kernels (F22-F26, F43-F44)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import handle, kernel
from flexmbs.dynamics import evaluate, projection
from flexmbs.dynamics.independent_rows import independent_rows
from flexmbs.integrate.problem import BEFORE, HOLD, SEEN, Problem
from flexmbs.model.fewer_rows import laws_with_rows, with_rows
from flexmbs.model.forces.applied import applied_forces
from flexmbs.model.forces.channels import free_expressions
from flexmbs.model.forces.channels import switches as law_switches
from flexmbs.model.forces.tables import OF_TIME, Laws, LawWork
from flexmbs.model.forces.tables import workspace as law_workspace
from flexmbs.model.system import System
from flexmbs.model.tables import Tables, Workspace
from flexmbs.model.workspace import make_workspace
from flexmbs.simulate.branch import Branch, along, branch, follow, is_near
from flexmbs.simulate.components import bounds, displacements, groups, twins
from flexmbs.simulate.contact import Contacts, contacts, impact_begins, impact_ends, turned_by
from flexmbs.simulate.powers import N_QUAD, damped_bodies, efforts, rates_of_aux, take_held
from flexmbs.simulate.rheonomic import follows_time

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Equations(NamedTuple):
    """All that the functions of a Problem need."""

    sys: Tables
    ws: Workspace
    laws: Laws
    lw: LawWork
    acc: Floats  # (n_vel,) scratch
    size: Ints  # (5,) n_pos, n_vel, own states, held values, 1 where the time does work (rheonomic.py)
    tolerance: Floats  # (2,) closure that needs no projection, closure of a failure
    free: Ints  # free expressions that are switching functions
    damped: Ints  # bodies whose modes are damped
    values: Floats  # values of all free expressions
    branch: Branch
    contact: Contacts


@kernel(lean=True, apart=True)
def rates(data, t, y, y_dot):
    """Rates of the state (F19, F22-F26); see Problem. Writes: y_dot."""
    n, m = data.size[0], data.size[0] + data.size[1]
    pos, vel, aux = y[:n], y[n:m], y[m:]
    acc = y_dot[n:m]
    take_held(data, y)
    for k in range(acc.shape[0]):
        acc[k] = 0.0
    data.ws.near[0] = 1e300
    status = evaluate.accelerations(data.sys, data.ws, data.laws, data.lw, t, pos, vel, aux, acc)
    if data.size[4] == 1 and status == 0:  # its work needs the forces of drives and joints
        efforts(data, t, pos, vel, aux, acc)
    projection.position_rates(data.sys, pos, vel, y_dot[:n])
    rates_of_aux(data, vel, aux, y_dot[m:])
    if is_near(data):
        status = smooth_rates(data, t, y, y_dot, status)
    return status


@kernel(lean=True, apart=True)
def smooth_rates(data, t, y, y_dot, status):
    """Rates close to a change point, from both sides; `status` where there is no way (F28). Writes: y_dot."""
    n, m = data.size[0], data.size[0] + data.size[1]
    near = data.ws.near[0]
    if along(data, t, y[:n], y[n:m], y[m:], 0.0, 0.0, 1) == 0:
        mean, own = data.branch.mean, data.branch.aux_dot.shape[0]
        for k in range(m - n + own):
            y_dot[n + k] = mean[m + k]
        status = 0
    data.ws.near[0] = near
    return status


@kernel(lean=True, apart=True)
def shifted(data, t, y, a, bh, gh, a_new, aux_dot):
    """One pass of the implicit step (F43, F44); see Problem. Writes: a_new, aux_dot."""
    n, m = data.size[0], data.size[0] + data.size[1]
    pos, vel, aux = y[:n], y[n:m], y[m:]
    take_held(data, y)
    data.ws.near[0] = 1e300
    status = evaluate.shifted(data.sys, data.ws, data.laws, data.lw, t, pos, vel, aux, a, gh, bh, a_new)
    if data.size[4] == 1 and status == 0:
        efforts(data, t, pos, vel, aux, a_new)
    rates_of_aux(data, vel, aux, aux_dot)
    return status


@kernel(lean=True, apart=True)
def nearness(data, out):
    """How far the state that was evaluated last is from a change point (F28). Writes: out."""
    least = data.branch.least[0]
    out[0] = (data.ws.near[0] / least) ** 0.5 if least > 0.0 else 1e300
    out[1] = data.ws.near[1]
    return 0


@kernel(lean=True, apart=True)
def increment(data, y, delta, y_new):
    """Positions x (+) delta. Writes: the positions of y_new."""
    n = data.size[0]
    projection.add_increment(data.sys, y[:n], delta, y_new[:n])
    return 0


@kernel(lean=True, apart=True)
def project(data, t, y, bh, gh, out):
    """Positions and speeds onto the constraints (F44); turn counters brought up to date. Writes: y, out."""
    n, m = data.size[0], data.size[0] + data.size[1]
    tolerance, most, known = data.tolerance[0], 12, out[2] == SEEN and not is_near(data)
    if out[2] == HOLD:
        tolerance, most = 1e300, 0
    copy = data.branch.copy
    for k in range(m):
        copy[k] = y[k]
    take_held(data, y)
    near = data.ws.near[0]
    data.ws.near[0] = 1e300
    worst, worst_dot, count = projection.project(
        data.sys, data.ws, data.laws, data.lw, t, y[:n], y[n:m], y[m:], data.acc, gh, bh, tolerance, most,
        known,
    )  # fmt: skip
    if count > 0 and is_near(data):
        take_held(data, y)
        if follow(data, t, copy[:n], copy[n:m], y[m:], gh, bh) == 0:
            for k in range(m):
                y[k] = copy[k]
        evaluate.kinematics(data.sys, data.ws, data.laws, data.lw, t, y[:n], y[n:m], y[m:], data.acc)
        projection.follow_turns(data.sys, data.ws)
        worst, worst_dot = projection.largest(data.ws.g), projection.largest(data.ws.g_dot)
    if count == 0:
        data.ws.near[0] = near
    first = m + data.size[2] + 2
    for k in range(data.size[3]):
        y[first + k] = data.ws.beta_ref[k]
    out[0], out[1], out[2] = worst, worst_dot, count
    return 0 if worst <= data.tolerance[1] and worst_dot < 1e300 else 1


@kernel(lean=True, apart=True)
def switches(data, t, y, s):
    """Switching functions: those of laws, `until`, contacts. Writes: s. Returns a status."""
    n, m = data.size[0], data.size[0] + data.size[1]
    pos, vel, aux = y[:n], y[n:m], y[m:]
    take_held(data, y)
    for k in range(data.acc.shape[0]):
        data.acc[k] = 0.0
    if data.contact.row.shape[0] > 0:  # the force of a contact takes the accelerations
        status = evaluate.accelerations(data.sys, data.ws, data.laws, data.lw, t, pos, vel, aux, data.acc)
        if status != 0:
            return status
    else:
        evaluate.kinematics(data.sys, data.ws, data.laws, data.lw, t, pos, vel, aux, data.acc)
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
        s[first + k] = data.sys.row_side[r] * data.ws.lam[r]
        if data.ws.soft[r] < 0.0:  # open: closed again by a rounding below zero, not by one in it
            s[first + k] = data.ws.gap[r] + data.tolerance[0]
    return 0


@kernel(lean=True, apart=True)
def turn(data, t, y, chosen, s, turned):
    """Contacts that open or close at a zero of switching function `chosen`, and those that follow them.

    A contact that closes is an inelastic impact: speeds are projected in the metric of M, which keeps the
    momentum, and what is lost is dissipated (F44). Writes: y, s, turned. Returns a status.
    """
    n_contacts = data.contact.row.shape[0]
    first = s.shape[0] - n_contacts
    for k in range(turned.shape[0]):
        turned[k] = 0.0
    if chosen <= BEFORE:
        return kink_begins(data, t, y, BEFORE - chosen)
    status = kink_ends(data, t, y, chosen)
    if status != 0:
        return status
    k, count = chosen - first, 0
    while n_contacts > 0 and count <= 4 * n_contacts:
        if k < 0:
            for c in range(n_contacts):
                if s[first + c] < 0.0 and k < 0:
                    k = c
        if k < 0:
            return 0
        status = turn_contact(data, t, y, k)
        if status == 0:
            status = switches(data, t, y, s)
        if status != 0:
            return status
        turned[first + k] = turned_by(data, y, k, turned[first + k])
        k, count = -1, count + 1
    return 0


@kernel(inline=True)
def has_kink(data, k):
    """Whether speeds jump at a zero of switching function k: a law of time, or of a coupling."""
    return 0 <= k < data.laws.switch_law.shape[0] and data.laws.switch_law[k] <= OF_TIME


@kernel(lean=True, apart=True)
def kink_begins(data, t, y, k):
    """Take note of the speeds before a kink of a constraint. Writes: y, contact. Returns a status."""
    if not has_kink(data, k):
        return 0
    status = project(data, t, y, 0.0, 0.0, data.contact.closure)
    at_rest(data, t, y)
    impact_begins(data, y[: data.size[0]], y[data.size[0] : data.size[0] + data.size[1]])
    return status


@kernel(lean=True, apart=True)
def kink_ends(data, t, y, k):
    """Loss of an impact on the kink of a coupling; at that of a law of time all is work. Writes: y."""
    if not has_kink(data, k):
        return 0
    n, m = data.size[0], data.size[0] + data.size[1]
    loss = y[m + data.size[2] + 1]
    take_held(data, y)
    status = projection.impact(
        data.sys, data.ws, data.laws, data.lw, t, y[:n], y[n:m], y[m:], data.acc, data.contact.v,
        data.contact.vel,
    )  # fmt: skip
    at_rest(data, t, y)
    impact_ends(data, y[:n], y[n:m], y[m + data.size[2] :])
    if data.laws.switch_law[k] == OF_TIME:
        y[m + data.size[2]] -= y[m + data.size[2] + 1] - loss
        y[m + data.size[2] + 1] = loss
    return status


@kernel(lean=True, apart=True)
def turn_contact(data, t, y, k):
    """Open contact k, or close it with an impact. Writes: y. Returns a status."""
    n, m = data.size[0], data.size[0] + data.size[1]
    place = m + data.size[2] + 2 + data.size[3] + k
    if y[place] == 0.0:
        y[place] = 1.0
        return 0
    at_rest(data, t, y)
    impact_begins(data, y[:n], y[n:m])
    y[place] = 0.0
    status = project(data, t, y, 0.0, 0.0, data.contact.closure)
    at_rest(data, t, y)
    impact_ends(data, y[:n], y[n:m], y[m + data.size[2] :])
    return status


@kernel(lean=True, apart=True)
def at_rest(data, t, y):
    """Motion and inertia of a state, with no accelerations."""
    n, m = data.size[0], data.size[0] + data.size[1]
    take_held(data, y)
    for k in range(data.acc.shape[0]):
        data.acc[k] = 0.0
    evaluate.kinematics(data.sys, data.ws, data.laws, data.lw, t, y[:n], y[n:m], y[m:], data.acc)
    evaluate.masses(data.sys, data.ws, y[:n], y[n:m])


def equations(system: System, evaluator: Any = None, kept: Any = None) -> Any:
    """Tables and workspaces, fresh or those of an evaluator, as a handle; with all rows, or those `kept`."""
    laws, tables, law_tables = system.laws, system.tables, system.laws.tables
    if kept is not None:
        tables, law_tables = with_rows(tables, kept), laws_with_rows(law_tables, kept)
    held = len(tables.ent_kind)
    ws = evaluator.ws if evaluator else make_workspace(tables, len(system.time_laws), len(system.travels))
    lw = law_workspace(law_tables) if evaluator is None else evaluator.law_work
    ws.beta_ref[:] = 0.0
    length = float(np.max(np.abs(tables.mark_u0), initial=0.0))
    until = [laws.free["until"]] if "until" in laws.free else []
    size = [system.n_pos, system.n_vel, system.n_aux, held, follows_time(system)]
    return handle(
        Equations(
            sys=tables,
            ws=ws,
            laws=law_tables,
            lw=lw,
            acc=np.zeros(system.n_vel),
            size=np.array(size, dtype=np.int64),
            tolerance=np.array([1e-13, 1e-6]) * max(length, 1.0),
            free=np.array(until, dtype=np.int64),
            damped=damped_bodies(tables),
            values=np.zeros(len(laws.free)),
            branch=branch(system, system.n_aux + N_QUAD, displacements(system)),
            contact=contacts(system, tables),
        )
    )


def problem(system: System, kept: Any = None) -> Problem:
    """The Problem of a system; state vector [pos, vel, own states, work, dissipated, turns, contacts].

    Its constraints are the rows `kept` (n_rows,), by default those that do not follow from the others.
    Its switching functions are those of the laws, then the free expression `until` when there is one, then
    those of the contacts: the force while one is closed (0 in the state), the gap while it is open (1).
    """
    data = equations(system, kept=independent_rows(system) if kept is None else kept)
    return Problem(
        data=data,
        n_pos=system.n_pos,
        n_vel=system.n_vel,
        n_aux=system.n_aux + N_QUAD,
        n_held=int(data.size[3]) + len(data.contact.row),
        n_free=N_QUAD,
        closed=system.n_rows > 0,
        n_switch=len(data.laws.switch_expr) + len(data.free) + len(data.contact.row),
        n_sided=len(data.contact.row),
        rates=rates,
        shifted=shifted,
        increment=increment,
        project=project,
        switches=switches,
        nearness=nearness,
        turn=turn,
        group=groups(system),
        twin=twins(system),
        bound=bounds(system),
    )


def state_vector(system: System, state: Any) -> Floats:
    """State vector of a `State`, with the integrals at zero and all contacts closed."""
    closed = np.zeros(np.count_nonzero(system.tables.row_side))
    return np.concatenate([state.pos, state.vel, state.aux, np.zeros(N_QUAD), state.turns, closed])
