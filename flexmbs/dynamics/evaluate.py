"""One evaluation of the equations of motion, stage by stage; what time loops and analyses call.

Statuses: 0 done; 1 an elastic block, 2 a joint without inertia, 3 a multiplier or acceleration not finite,
4 friction that grows with the reaction it causes (the joint jams).
"""

import math

from flexmbs._jit import kernel
from flexmbs.dynamics.kinematics import positions, velocities
from flexmbs.dynamics.loop_matrix import factorise, loop_matrix, solve_rows
from flexmbs.dynamics.loops import add_multipliers, columns, response
from flexmbs.dynamics.reactions import reactions, self_stress
from flexmbs.dynamics.recursion import backward, forward
from flexmbs.dynamics.residuals import masses, residuals
from flexmbs.dynamics.rows import coordinates, rows
from flexmbs.dynamics.share import share_forces
from flexmbs.model.forces.applied import applied_forces
from flexmbs.model.forces.channels import drives, friction_loads, state_rates
from flexmbs.model.forces.stiff import stiff_rows
from flexmbs.model.joints.relations import relations

NOT_FINITE, NO_FRICTION = 3, 4
#: Friction and reactions belong together when the loads change by no more than this part.
FRICTION_TOLERANCE, FRICTION_ROUNDS = 1e-12, 60
ACCELERATION, POSITION = 0, 1


@kernel(lean=True, apart=True)
def kinematics(sys, ws, laws, lw, t, pos, vel, aux, acc):
    """Position and velocity stage of everything, constraint rows included (F20, F27).

    Writes: driven entries of pos, vel, acc; r, R, v, a, markers, ent, coord_x, coord_v, g, g_dot, g_ddot.
    """
    drives(laws, lw, ws, t, aux)
    positions(sys, ws, pos)
    velocities(sys, ws, pos, vel, acc)
    relations(sys, ws)
    coordinates(sys, ws, pos, vel)
    rows(sys, ws, t, acc)


@kernel(lean=True, apart=True)
def forces(sys, ws, laws, lw, t, pos, vel, aux, acc):
    """Inertia, velocity forces and applied forces, as residuals of `acc` (F13-F16, F21). Needs kinematics."""
    masses(sys, ws, pos, vel)
    applied_forces(laws, lw, sys, ws, t, pos, vel, aux)
    residuals(sys, ws, pos, vel, acc)


@kernel(lean=True, apart=True)
def eliminate(sys, ws, laws, lw, gh, bh):
    """Backward pass of forces and columns, loop matrix and its factors (F22, F26). Needs forces."""
    status, _body = backward(sys, ws, gh, bh)
    if status != 0:
        return status
    if ws.g.shape[0] > 0:
        stiff_rows(laws, lw, sys, ws, gh, bh)
        columns(sys, ws, False)
        loop_matrix(sys, ws)
        return factorise(sys, ws)
    return 0


@kernel(lean=True, apart=True)
def change(sys, ws, level, bh):
    """Change of the accelerations that fulfils the equations and the constraints (F26, F44).

    level 0: constraints on acceleration level; 1: on position level, `g + bh G change = 0`. Needs eliminate.
    Writes: lam, delta, da. Returns a status.
    """
    n = ws.g.shape[0]
    if n > 0:
        response(sys, ws)
        for r in range(n):
            if sys.row_massless[r] < 0:
                ws.rhs[r] -= ws.g_ddot[r] if level == 0 else ws.g[r] / bh
        solve_rows(sys, ws)
        add_multipliers(sys, ws)
    forward(sys, ws, ws.delta)
    total = 0.0
    for k in range(ws.delta.shape[0]):
        total += abs(ws.delta[k])
    return 0 if total < 1e300 else NOT_FINITE


@kernel(lean=True, apart=True)
def accelerations(sys, ws, laws, lw, t, pos, vel, aux, acc):
    """Accelerations of the state, added to `acc`, which holds a guess (zero is one) (F22-F26).

    With friction by the reaction of a joint the two are found together, from no friction on: what was
    evaluated before leaves no trace. Writes: acc, lam. Returns a status.
    """
    forget_loads(lw)
    for _ in range(FRICTION_ROUNDS):
        status = plain_accelerations(sys, ws, laws, lw, t, pos, vel, aux, acc)
        if status != 0 or laws.press_law.shape[0] == 0:
            return status
        if press(sys, ws, laws, lw, t, pos, vel, aux, acc) <= FRICTION_TOLERANCE:
            return 0
    return NO_FRICTION


@kernel(inline=True)
def forget_loads(lw):
    """Joints press on nothing yet. Writes: load_of."""
    for c in range(lw.load_of.shape[0]):
        lw.load_of[c] = 0.0


@kernel(lean=True, apart=True)
def press(sys, ws, laws, lw, t, pos, vel, aux, acc):
    """Reactions at `acc` into the laws of friction that need them. Needs lam. Returns the relative change."""
    count = 0
    for r in range(ws.lam.shape[0]):
        count += ws.redundant[r]
    if count > 0:
        self_stress(sys, ws)
    for r in range(ws.lam.shape[0]):
        ws.row_force[r] = ws.lam[r]
    kinematics(sys, ws, laws, lw, t, pos, vel, aux, acc)
    forces(sys, ws, laws, lw, t, pos, vel, aux, acc)
    reactions(sys, ws)
    return friction_loads(laws, lw, sys, ws)


@kernel(lean=True, apart=True)
def plain_accelerations(sys, ws, laws, lw, t, pos, vel, aux, acc):
    """Accelerations for the friction as it is. Writes: acc, lam. Returns a status."""
    kinematics(sys, ws, laws, lw, t, pos, vel, aux, acc)
    forces(sys, ws, laws, lw, t, pos, vel, aux, acc)
    status = eliminate(sys, ws, laws, lw, 0.0, 0.0)
    if status == 0:
        status = change(sys, ws, ACCELERATION, 1.0)
    if status == 0:
        for k in range(acc.shape[0]):
            acc[k] += ws.delta[k]
    return status


@kernel(lean=True, apart=True)
def shifted(sys, ws, laws, lw, t, pos, vel, aux, acc, gh, bh, acc_new):
    """One pass of the implicit step: `acc` -> `acc_new`, loops closed on position level (F43, F44).

    pos and vel are those that belong to `acc`. Friction by reactions is that of `acc_new`, found as in
    `accelerations`. Writes: acc_new, lam. Returns a status.
    """
    forget_loads(lw)
    for _ in range(FRICTION_ROUNDS):
        status = plain_shifted(sys, ws, laws, lw, t, pos, vel, aux, acc, gh, bh, acc_new)
        if status != 0 or laws.press_law.shape[0] == 0:
            return status
        if press(sys, ws, laws, lw, t, pos, vel, aux, acc_new) <= FRICTION_TOLERANCE:
            return 0
    return NO_FRICTION


@kernel(lean=True, apart=True)
def plain_shifted(sys, ws, laws, lw, t, pos, vel, aux, acc, gh, bh, acc_new):
    """A pass for the friction as it is. Writes: acc_new, lam. Returns a status."""
    kinematics(sys, ws, laws, lw, t, pos, vel, aux, acc)
    forces(sys, ws, laws, lw, t, pos, vel, aux, acc)
    status = eliminate(sys, ws, laws, lw, gh, bh)
    if status == 0:
        status = change(sys, ws, POSITION, bh)
    if status == 0:
        for k in range(acc.shape[0]):
            acc_new[k] = acc[k] + ws.delta[k]
    return status


@kernel(lean=True, apart=True)
def respond(sys, ws, residual):
    """Least change of the speeds, in the metric of M + Sh, with `G change = -residual` (F44).

    Needs eliminate; u is lost. Writes: delta.
    """
    for k in range(ws.u.shape[0]):
        ws.u[k] = 0.0
    for r in range(residual.shape[0]):
        ws.rhs[r] = -residual[r]
    solve_rows(sys, ws)
    add_multipliers(sys, ws)
    forward(sys, ws, ws.delta)


@kernel(lean=True, apart=True)
def project(sys, ws, laws, lw, t, pos, vel, aux, acc, gh, bh, tolerance, most, known):
    """Bring positions, then speeds, onto the constraints, in place, in the metric of M + Sh (F44).

    Stops when every |g| and |g_dot| is below `tolerance`, or after `most` iterations on each level. The
    factors of one iteration serve the next ones while those reduce the error well. `known`: the state is the
    last one that was evaluated. `acc` is scratch. Writes: pos, vel; beta_ref. Returns largest |g|, largest
    |g_dot| left, number of iterations.
    """
    count, worst, worst_dot, ready = 0, 0.0, 0.0, False
    if ws.g.shape[0] + sys.ent_kind.shape[0] + laws.drive_expr.shape[0] == 0:
        return worst, worst_dot, count
    for k in range(acc.shape[0]):
        acc[k] = 0.0
    for level in range(2):
        last = math.inf
        for k in range(most + 1):
            if not known:
                kinematics(sys, ws, laws, lw, t, pos, vel, aux, acc)
                known = True
            error = largest(ws.g) if level == 0 else largest(ws.g_dot)
            if level == 0:
                worst = error
            else:
                worst_dot = error
            if error <= tolerance or k == most or not error < 1e300:
                break
            if not ready or error > 0.1 * last:
                forces(sys, ws, laws, lw, t, pos, vel, aux, acc)
                if eliminate(sys, ws, laws, lw, gh, bh) != 0:
                    return math.inf, math.inf, count
                ready = True
            last = error
            count += 1
            known = False
            if level == 0:
                respond(sys, ws, ws.g)
                add_increment(sys, pos, ws.delta, pos)
            else:
                respond(sys, ws, ws.g_dot)
                for m in range(vel.shape[0]):
                    vel[m] += ws.delta[m]
    follow_turns(sys, ws)
    return worst, worst_dot, count


@kernel(inline=True)
def largest(x):
    """Largest magnitude; not finite when any is."""
    worst = 0.0
    for k in range(x.shape[0]):
        if not abs(x[k]) <= worst:
            worst = abs(x[k])
    return worst


@kernel(lean=True, apart=True)
def follow_turns(sys, ws):
    """Remember the coordinates of cut joints, so that angles go on past half a turn. Writes: beta_ref."""
    for e in range(sys.ent_kind.shape[0]):
        ws.beta_ref[e] = ws.ent[e, 0]


@kernel(lean=True, apart=True)
def add_increment(sys, pos, delta, out):
    """x (+) v: scalar coordinates by addition, quaternions by the exponential (F44). Writes: out."""
    for k in range(sys.vel_of_pos.shape[0]):
        j = sys.vel_of_pos[k]
        if j >= 0:
            out[k] = pos[k] + delta[j]
    for n in range(sys.ball_beta.shape[0]):
        b, e = sys.ball_beta[n], sys.ball_eta[n]
        turn_quaternion(pos, b, delta[e], delta[e + 1], delta[e + 2], out)


@kernel(lean=True)
def turn_quaternion(pos, b, x, y, z, out):
    """Quaternion at pos[b] times exp of the rotation vector (x, y, z) in its own axes. Writes: out."""
    t2 = x * x + y * y + z * z
    if t2 < 1e-4:
        c = 1.0 - t2 / 8.0 + t2 * t2 / 384.0
        s = 0.5 - t2 / 48.0 + t2 * t2 / 3840.0
    else:
        t = t2**0.5
        c, s = math.cos(0.5 * t), math.sin(0.5 * t) / t
    x, y, z = s * x, s * y, s * z
    w0, x0, y0, z0 = pos[b], pos[b + 1], pos[b + 2], pos[b + 3]
    w = w0 * c - x0 * x - y0 * y - z0 * z
    p = w0 * x + x0 * c + y0 * z - z0 * y
    q = w0 * y + y0 * c + z0 * x - x0 * z
    r = w0 * z + z0 * c + x0 * y - y0 * x
    n = 1.0 / (w * w + p * p + q * q + r * r) ** 0.5
    out[b], out[b + 1], out[b + 2], out[b + 3] = w * n, p * n, q * n, r * n


@kernel(lean=True, apart=True)
def position_rates(sys, pos, vel, out):
    """Rates of the positions: H_kin eta (F19). Writes: out."""
    for k in range(sys.vel_of_pos.shape[0]):
        j = sys.vel_of_pos[k]
        if j >= 0:
            out[k] = vel[j]
    for n in range(sys.ball_beta.shape[0]):
        b, e = sys.ball_beta[n], sys.ball_eta[n]
        w, x, y, z = pos[b], pos[b + 1], pos[b + 2], pos[b + 3]
        p, q, r = 0.5 * vel[e], 0.5 * vel[e + 1], 0.5 * vel[e + 2]
        out[b] = -x * p - y * q - z * r
        out[b + 1] = w * p + y * r - z * q
        out[b + 2] = w * q + z * p - x * r
        out[b + 3] = w * r + x * q - y * p


@kernel(lean=True, apart=True)
def observe(sys, ws, laws, lw, t, pos, vel, aux, acc):
    """Accelerations of a state and everything that is reported at it (F22-F28).

    Writes: acc, and ws at these accelerations: v, a, markers, lam, row_force, reaction, effort.
    Returns a status.
    """
    for k in range(acc.shape[0]):
        acc[k] = 0.0
    status = accelerations(sys, ws, laws, lw, t, pos, vel, aux, acc)
    if status != 0:
        return status
    count = 0
    for r in range(ws.lam.shape[0]):
        count += ws.redundant[r]
    if count > 0:
        self_stress(sys, ws)
    for r in range(ws.lam.shape[0]):
        ws.row_force[r] = ws.lam[r]
    kinematics(sys, ws, laws, lw, t, pos, vel, aux, acc)
    forces(sys, ws, laws, lw, t, pos, vel, aux, acc)
    reactions(sys, ws)
    if count > 0:
        share_forces(sys, ws, sys.length[0])
    return 0


@kernel(lean=True, apart=True)
def jacobian(sys, ws, laws, lw, t, pos, vel, aux, acc):
    """Rows of the constraints in the tree coordinates, in ws.e by paths (F27), and g, g_dot. Writes: e."""
    kinematics(sys, ws, laws, lw, t, pos, vel, aux, acc)
    columns(sys, ws, True)


@kernel(lean=True, apart=True)
def own_rates(laws, lw, aux, aux_dot):
    """Rates of own states and of integrated drives. Needs forces. Writes: aux_dot."""
    state_rates(laws, lw, aux, aux_dot)
