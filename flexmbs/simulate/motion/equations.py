"""A System as the Problem that integrators see: its state vector and tables (F22-F26, F43-F44)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import handle
from flexmbs.dynamics.loops.independent_rows import independent_rows
from flexmbs.integrate.problem import Problem
from flexmbs.model.fewer_rows import laws_with_rows, with_rows
from flexmbs.model.laws.tables import OF_TIME, RELATION, Laws, LawWork
from flexmbs.model.rows import counts_turns
from flexmbs.model.system import System
from flexmbs.model.tables import Tables, Workspace
from flexmbs.model.workspace import make_workspace
from flexmbs.simulate.motion.branch import Branch, branch
from flexmbs.simulate.motion.components import bounds, displacements, groups, reaches, twins
from flexmbs.simulate.motion.contact import Contacts, contacts
from flexmbs.simulate.motion.functions import increment, nearness, project, rates, shifted, switches
from flexmbs.simulate.motion.given import STATUS
from flexmbs.simulate.motion.powers import N_QUAD, damped_bodies
from flexmbs.simulate.motion.rheonomic import follows_time
from flexmbs.simulate.motion.turning import turn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Equations(NamedTuple):
    """All that the functions of a Problem need."""

    sys: Tables
    ws: Workspace
    laws: Laws
    lw: LawWork
    acc: Floats  # (n_vel,) scratch
    kept: Floats  # state and time whose kinematics stands in the workspace, where ws.body.stands says so
    size: Ints  # (5,) n_pos, n_vel, own states, entries, 1 where the time does work (rheonomic.py)
    tolerance: Floats  # (2,) closure that needs no projection, closure of a failure
    free: Ints  # free expressions that are switching functions
    damped: Ints  # bodies whose modes are damped
    values: Floats  # values of all free expressions
    branch: Branch
    contact: Contacts
    given: Ints  # addresses of functions in Python, and their status (given.py)


def equations(system: System, evaluator: Any = None, kept: Any = None, *, lifts: bool = True) -> Any:
    """Tables and workspaces, fresh or those of an evaluator, as a handle; with all rows, or those `kept`.

    `lifts`: contacts may open.
    """
    laws, tables, law_tables = system.laws, *system.constants
    own: Laws = system.laws.tables
    if kept is not None:
        tables = handle(with_rows(system.tables, kept), like=tables)
        law_tables = own = laws_with_rows(own, kept)
    ws = evaluator.ws if evaluator else make_workspace(tables, len(system.time_laws), len(system.travels))
    lw = system.law_work(own) if evaluator is None else evaluator.law_work
    ws.relation.turn[:] = 0.0
    length = float(np.max(np.abs(tables.marker.u0), initial=0.0))
    until = [laws.free["until"]] if "until" in laws.free else []
    size = [system.n_pos, system.n_vel, system.n_aux, len(tables.relation.kind), follows_time(system)]
    return handle(
        Equations(
            sys=tables,
            ws=ws,
            laws=law_tables,
            lw=lw,
            acc=np.zeros(system.n_vel),
            kept=np.zeros(sum(size[:4]) + N_QUAD + int(np.count_nonzero(tables.row.side)) + 1),
            size=np.array(size, dtype=np.int64),
            tolerance=np.array([1e-13, 1e-6]) * max(length, 1.0),
            free=np.array(until, dtype=np.int64),
            damped=damped_bodies(tables),
            values=np.zeros(len(laws.free)),
            branch=branch(system, system.n_aux + N_QUAD, displacements(system)),
            contact=contacts(system, tables, lifts),
            given=np.zeros(STATUS + 1, dtype=np.int64),
        )
    )


def problem(system: System, kept: Any = None, *, lifts: bool = True) -> Problem:
    """The Problem of a system; state vector [pos, vel, own states, work, dissipated, turns, contacts].

    Its constraints are the rows `kept` (n_rows,), by default those that do not follow from the others. The
    integrals take part in error control where the time does work: nothing else asks for steps that follow it.
    Its switching functions are those of the laws, then the free expression `until` when there is one, then
    those of the contacts: the force while one is closed (0 in the state), the gap while it is open (1).
    Without `lifts` all stay closed.
    """
    data = equations(system, kept=independent_rows(system) if kept is None else kept, lifts=lifts)
    n_follow = len(system.tables.relation.kind)
    return Problem(
        data=data,
        n_pos=system.n_pos,
        n_vel=system.n_vel,
        n_aux=system.n_aux + N_QUAD + n_follow,
        n_held=int(np.count_nonzero(system.tables.row.side)),
        n_quad=N_QUAD,
        works=bool(data.size[4]),
        n_follow=n_follow,
        turns=bool(np.any(counts_turns(system.tables.relation.kind))),
        closed=system.n_rows > 0,
        n_switch=len(data.laws.switch_expr) + len(data.free) + len(data.contact.row),
        n_sided=len(data.contact.row),
        jumps=jumps(data),
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
        reach=reaches(system),
    )


def jumps(data: Equations) -> Floats:
    """For the switching functions at whose zeros speeds jump: 1 for kinks of laws of time, 2 of couplings."""
    law = np.asarray(data.laws.switch_law)
    kinks = np.where(law == RELATION, 2.0, np.where(law == OF_TIME, 1.0, 0.0))
    return np.concatenate([kinks, np.zeros(len(data.free) + len(data.contact.row))])


def state_vector(system: System, state: Any) -> Floats:
    """State vector of a `State`, with the integrals at zero and all contacts closed."""
    closed = np.zeros(np.count_nonzero(system.tables.row.side))
    return np.concatenate([state.pos, state.vel, state.aux, np.zeros(N_QUAD), state.turns, closed])
