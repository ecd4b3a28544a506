"""Rates of what is integrated beside the motion: own states, work, dissipated energy (F14)."""

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs.dynamics import evaluate
from flexmbs.dynamics.reactions.wrenches import reactions
from flexmbs.model.laws.values import state_rates
from flexmbs.model.tables import Tables
from flexmbs.simulate.motion.rheonomic import rheonomic_power

N_QUAD = 2  # integrals at the end of aux: work, dissipated energy


@kernel(lean=True)
def take_held(data, y):
    """Turn counters and open contacts of the state into the workspace. Writes: relation.turn, row.soft."""
    first = data.size[0] + data.size[1] + data.size[2] + 2
    for k in range(data.size[3]):
        data.ws.relation.turn[k] = y[first + k]
    for k in range(data.contact.row.shape[0]):
        data.ws.row.soft[data.contact.row[k]] = -y[first + data.size[3] + k]


@kernel(lean=True, apart=True)
def rates_of_aux(data, vel, aux, aux_dot):
    """Rates of own states, powers of work and dissipation (F14), rates of the angles of cut joints.

    Of the state that was evaluated last. Held values stay. Writes: aux_dot.
    """
    n = data.size[2]
    state_rates(data.laws, data.lw, aux, aux_dot)
    work, dissipated = data.lw.power[0], data.lw.power[1]
    if data.size[4] == 1:
        for d in range(data.ws.joint.effort.shape[0]):
            work += data.ws.joint.effort[d] * data.ws.law.v[data.sys.drive.law[d]]
        work += rheonomic_power(data.sys, data.ws, vel)
    for k in range(data.damped.shape[0]):
        dissipated += modal_loss(data.sys, data.damped[k], vel)
    aux_dot[n] = work
    aux_dot[n + 1] = dissipated
    for k in range(n + 2, aux_dot.shape[0]):
        e = k - n - 2
        aux_dot[k] = data.ws.relation.angle[e, 1] if e < data.size[3] else 0.0


@kernel(lean=True)
def modal_loss(sys, i, vel):
    """Power that the damping of the modes of body i takes: q_dot^T D_ff q_dot (F14)."""
    nf, first = sys.body.nf[i], sys.tree.o_qd[i]
    D, total = sys.body.o_K[i] + 2 * nf * nf, 0.0
    for a in range(nf):
        row = 0.0
        for b in range(nf):
            row += sys.body.K_data[D + nf * a + b] * vel[first + b]
        total += row * vel[first + a]
    return total


@kernel(lean=True, later="void")
def efforts(data, t, pos, vel, aux, acc):
    """Efforts of drives at the accelerations that a pass has found. Writes: ws.joint.effort."""
    for r in range(data.ws.row.lam.shape[0]):
        data.ws.row.force[r] = data.ws.row.lam[r]
    at = t, pos, vel, aux, acc
    evaluate.kinematics(data.sys, data.ws, data.laws, data.lw, at)
    evaluate.forces(data.sys, data.ws, data.laws, data.lw, at)
    reactions(data.sys, data.ws)


def damped_bodies(tables: Tables) -> NDArray[np.int64]:
    """Bodies with modal damping (F14)."""
    found = []
    for i, nf in enumerate(tables.body.nf):
        D = tables.body.o_K[i] + 2 * nf * nf
        if nf and np.any(tables.body.K_data[D : D + nf * nf]):
            found.append(i)
    return np.array(found, dtype=np.int64)
