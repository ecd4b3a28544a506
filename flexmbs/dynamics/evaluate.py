"""One evaluation of the equations of motion, stage by stage; what time loops and analyses call.

`at` = (t, pos, vel, aux, acc): time, state and accelerations at which the equations are looked at.

Statuses: 0 done; 1 an elastic block, 2 a joint without inertia, 3 a multiplier or acceleration not finite,
4 friction that grows with the reaction it causes (the joint jams).
"""

from flexmbs._jit import kernel
from flexmbs.dynamics.loops.columns import ACCELERATION, POSITION, load_rows
from flexmbs.dynamics.loops.passes import backward, forward
from flexmbs.dynamics.loops.rows import coordinates, rows
from flexmbs.dynamics.reactions.contact_shares import FREE
from flexmbs.dynamics.reactions.null_states import self_stress
from flexmbs.dynamics.reactions.share import share_forces
from flexmbs.dynamics.reactions.wrenches import reactions
from flexmbs.dynamics.tolerances import FRICTION_ROUNDS, FRICTION_TOLERANCE
from flexmbs.dynamics.tree.kinematics import positions, velocities
from flexmbs.dynamics.tree.residuals import masses, residuals
from flexmbs.model.laws.applied import applied_forces
from flexmbs.model.laws.stiff import stiff_rows
from flexmbs.model.laws.values import drives, friction_loads
from flexmbs.model.relations import relations

NOT_FINITE, NO_FRICTION = 3, 4
#: what `ws.body.stands` says of the kinematics in the workspace: of any state; of one that is kept, with no
#: accelerations; of the one that is evaluated next, which takes it as it is
ANY, KEPT, NEXT = 0, 1, 2


@kernel(lean=True, apart=True)
def kinematics(sys, ws, laws, lw, at):
    """Position and velocity stage of everything, constraint rows included (F20, F27).

    Writes: driven entries of pos, vel, acc; r, R, v, a, markers, ent, coord_x, coord_v, g, g_dot, g_ddot.
    """
    t, pos, vel, aux, acc = at
    ws.body.stands[0] = ANY
    drives(laws, lw, ws, t, aux)
    positions(sys, ws, pos)
    velocities(sys, ws, pos, vel, acc)
    if sys.relation.kind.shape[0] > 0:
        relations(sys, ws)
    coordinates(sys, ws, pos, vel)
    if sys.row.law.shape[0] > 0:
        rows(sys, ws, t, acc)


@kernel(lean=True, apart=True)
def forces(sys, ws, laws, lw, at):
    """Inertia, velocity forces and applied forces, as residuals of `acc` (F13-F16, F21). Needs kinematics."""
    t, pos, vel, aux, acc = at
    masses(sys, ws, pos, vel)
    applied_forces(laws, lw, sys, ws, t, pos, vel, aux)
    residuals(sys, ws, pos, vel, acc)


@kernel(lean=True, apart=True)
def eliminate(sys, ws, laws, lw, gh, bh, level):
    """Backward pass of forces and rows, loops closed on the way (F22, F54). Needs forces.

    `level`: what is asked of the rows (see load_rows). Returns a status.
    """
    stiff_rows(laws, lw, sys, ws, gh, bh)
    if sys.row.law.shape[0] > 0:
        load_rows(sys, ws, level, bh)
    status, _body = backward(sys, ws, gh, bh, True)
    return status


@kernel(lean=True, apart=True)
def change(sys, ws):
    """Change of the accelerations that fulfils the equations and the constraints (F26, F44).

    Needs eliminate. Writes: lam, eta_hat_dot, da. Returns a status.
    """
    forward(sys, ws)
    total = 0.0
    for k in range(ws.tree.eta_hat_dot.shape[0]):
        total += abs(ws.tree.eta_hat_dot[k])
    for r in range(ws.row.lam.shape[0]):
        total += abs(ws.row.lam[r])
    return 0 if total < 1e300 else NOT_FINITE


@kernel(lean=True, apart=True)
def accelerations(sys, ws, laws, lw, at):
    """Accelerations of the state, added to `acc`, which holds a guess (zero is one) (F22-F26).

    With friction by the reaction of a joint the two are found together, from no friction on: what was
    evaluated before leaves no trace. Writes: acc, lam. Returns a status.
    """
    return with_friction(sys, ws, laws, lw, at, (0.0, 0.0, ACCELERATION), at[4])


@kernel(lean=True, apart=True)
def joint_forces(sys, ws, laws, lw, at):
    """Forces through joints and efforts of drives at `acc`, open ones shared (F24, F28). Needs lam.

    Writes: ws at these accelerations: v, a, markers, row_force, reaction, effort, side_is.
    """
    for k in range(sys.row.contact.shape[0]):
        ws.side.state[k] = FREE
    count = 0
    for r in range(ws.row.lam.shape[0]):
        count += ws.row.redundant[r]
    if count > 0:
        self_stress(sys, ws)
    for r in range(ws.row.lam.shape[0]):
        ws.row.force[r] = ws.row.lam[r]
    kinematics(sys, ws, laws, lw, at)
    forces(sys, ws, laws, lw, at)
    reactions(sys, ws)
    if count > 0:
        share_forces(sys, ws, sys.length[0])


@kernel(lean=True, later="float64")
def press(sys, ws, laws, lw, at):
    """Reactions at `acc` into the laws of friction that need them. Needs lam. Returns the relative change.

    They are those that are reported: where equilibrium leaves reactions open, friction follows the shares.
    """
    joint_forces(sys, ws, laws, lw, at)
    return friction_loads(laws, lw, sys, ws)


@kernel(lean=True, apart=True)
def shifted(sys, ws, laws, lw, at, gh, bh, acc_new):
    """One pass of the implicit step: `acc` -> `acc_new`, loops closed on position level (F43, F44).

    pos and vel are those that belong to `acc`. Friction by reactions is that of `acc_new`, found as in
    `accelerations`. Writes: acc_new, lam. Returns a status.
    """
    return with_friction(sys, ws, laws, lw, at, (gh, bh, POSITION), acc_new)


@kernel(lean=True, apart=True)
def with_friction(sys, ws, laws, lw, at, shift, acc_new):
    """Accelerations and friction by the reactions that they cause; `shift` = (gh, bh, level).

    Writes: acc_new, lam, load_of. Returns a status.
    """
    for c in range(lw.load_of.shape[0]):
        lw.load_of[c] = 0.0
    for _ in range(FRICTION_ROUNDS):
        if ws.body.stands[0] != NEXT:
            kinematics(sys, ws, laws, lw, at)
        ws.body.stands[0] = ANY
        forces(sys, ws, laws, lw, at)
        status = eliminate(sys, ws, laws, lw, shift[0], shift[1], shift[2])
        if status == 0:
            status = change(sys, ws)
        if status != 0:
            return status
        for k in range(acc_new.shape[0]):
            acc_new[k] = at[4][k] + ws.tree.eta_hat_dot[k]
        if laws.press_law.shape[0] == 0:
            return 0
        if press(sys, ws, laws, lw, (at[0], at[1], at[2], at[3], acc_new)) <= FRICTION_TOLERANCE:
            return 0
    return NO_FRICTION


@kernel(lean=True, apart=True)
def observe(sys, ws, laws, lw, at):
    """Accelerations of a state and everything that is reported at it (F22-F28).

    Writes: acc, and ws at these accelerations: v, a, markers, lam, row_force, reaction, effort.
    Returns a status.
    """
    acc = at[4]
    for k in range(acc.shape[0]):
        acc[k] = 0.0
    status = accelerations(sys, ws, laws, lw, at)
    if status == 0:
        joint_forces(sys, ws, laws, lw, at)
    return status
