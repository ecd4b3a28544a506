"""Contacts that open and close: which rows they are, and the energy that an inelastic impact takes (F44).

With M the inertia and d the jump of all velocities, prescribed ones included, an impact that keeps the
momentum dissipates d^T M d / 2; what the kinetic energy changes beyond that is work of the drives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs.errors import Diagnostic, UsageError
from flexmbs.integrate.control import copy
from flexmbs.integrate.methods import method
from flexmbs.model.energy import KINETIC, energies

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: kinds of events by what the kernel says about a contact
EVENTS = {
    1.0: ("contact_regained", "the follower lands on the cam"),
    -1.0: ("contact_lost", "the follower leaves the cam"),
    2.0: ("contact_touched", "the follower strikes the cam and leaves it at once"),
}


class Contacts(NamedTuple):
    """Rows that may let go, and scratch of an impact."""

    row: Ints
    v: Floats  # (n_bodies + 1, 6) twists before
    vel: Floats  # (n_vel,) speeds before
    tried: Floats  # 1 for rows that are tried open at an impact
    energy: Floats  # (n_bodies + 1, 4)
    closure: Floats  # (3,) of `project`
    before: Floats  # (1,) kinetic energy before


def contacts(system: Any, tables: Any, lifts: bool = True) -> Contacts:
    """Contacts of a system, in the order of the rows of its tables; none where nothing is to lift."""
    rows = np.flatnonzero(tables.row.side if lifts else ()).astype(np.int64)
    n = len(system.bodies)
    vel, closure = np.zeros(system.n_vel), np.zeros(3)
    energy, before = np.zeros((n, 4)), np.zeros(1)
    return Contacts(rows, np.zeros((n, 6)), vel, np.zeros(len(rows)), energy, closure, before)


def check_contacts(system: Any, settings: Any) -> None:
    """Refuse what cannot open a contact: methods that need nothing but rates, drift that is held softly."""
    if not np.any(system.tables.row.side) or settings.type != "dynamics":
        return
    offered = [name for name in method if method[name].compiled]
    where, what = "analysis.method", f'method "{settings.method}" does not let contacts open'
    if settings.stabilisation != "projection":
        where = "analysis.stabilisation"
        what, offered = f'"{settings.stabilisation}" does not let contacts open', ["projection"]
    elif settings.method in ("auto", *offered):
        return
    remedy = f"choose one of: {', '.join(offered)}; or unilateral = false"
    raise UsageError(Diagnostic(where, where, f"{what} (a cam with unilateral = true)", remedy))


def contact_rows(system: Any, lifts: bool = True) -> Ints:
    """Rows that may let go; none where nothing is to lift."""
    return np.flatnonzero(system.tables.row.side if lifts else ()).astype(np.int64)


def open_contacts(system: Any, state: Any, y: Floats) -> None:
    """Mark the contacts that a state has open, at a millionth of a length of the model. Writes: y."""
    rows = np.flatnonzero(system.tables.row.side)
    if len(rows):
        evaluator = system.evaluator()
        evaluator.kinematics(state.copy())
        y[len(y) - len(rows) :] = evaluator.ws.row.gap[rows] > 1e-6 * float(system.tables.length[0])


@kernel(inline=True)
def turned_by(data, y, k, before):
    """What to say of contact k that has turned: landed 1, lost -1, both at once 2."""
    place = data.size[0] + data.size[1] + data.size[2] + 2 + data.size[3] + k
    if y[place] == 0.0:
        return 1.0
    return 2.0 if before == 1.0 else -1.0


@kernel(lean=True)
def kinetic(data, pos, vel):
    """Kinetic energy of all bodies. Needs the velocity stage and masses."""
    total = 0.0
    energies(data.sys, data.ws, pos, vel, data.contact.energy)
    for i in range(data.contact.energy.shape[0]):
        total += data.contact.energy[i, KINETIC]
    return total


@kernel(lean=True)
def impact_begins(data, pos, vel):
    """Velocities before an impact. Needs the velocity stage and masses. Writes: contact.v, contact.vel."""
    c = data.contact
    for i in range(c.v.shape[0]):
        for row in range(6):
            c.v[i, row] = data.ws.body.v[i, row]
    copy(vel, c.vel)
    c.before[0] = kinetic(data, pos, vel)


@kernel(lean=True)
def impact_ends(data, pos, vel, quad):
    """Work of the drives and loss of an impact. Needs the velocity stage and masses. Writes: quad; body.v."""
    c = data.contact
    gain = kinetic(data, pos, vel) - c.before[0]
    for i in range(c.v.shape[0]):
        for row in range(6):
            data.ws.body.v[i, row] -= c.v[i, row]
    for k in range(vel.shape[0]):
        c.vel[k] = vel[k] - c.vel[k]
    loss = kinetic(data, pos, c.vel)
    quad[0] += gain + loss
    quad[1] += loss
