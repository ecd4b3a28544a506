"""Steps on positions and back onto the constraints, projection, impacts (F19, F44)."""

import math

from flexmbs._jit import kernel
from flexmbs.dynamics.evaluate import change, eliminate, forces, kinematics
from flexmbs.dynamics.loops.columns import VELOCITY
from flexmbs.dynamics.loops.passes import again, forward
from flexmbs.dynamics.tree.sixes import dot_six, plus_six, put_six, six, six_at, upper, upper_times
from flexmbs.model.quaternions import product


@kernel(lean=True, apart=True)
def add_increment(sys, pos, delta, out):
    """x (+) v: scalar coordinates by addition, quaternions by the exponential (F44). Writes: out."""
    for k in range(sys.tree.vel_of_pos.shape[0]):
        j = sys.tree.vel_of_pos[k]
        if j >= 0:
            out[k] = pos[k] + delta[j]
    for n in range(sys.prim.ball_beta.shape[0]):
        b, e = sys.prim.ball_beta[n], sys.prim.ball_eta[n]
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
    w, p, q, r = product((pos[b], pos[b + 1], pos[b + 2], pos[b + 3]), (c, s * x, s * y, s * z))
    n = 1.0 / (w * w + p * p + q * q + r * r) ** 0.5
    out[b], out[b + 1], out[b + 2], out[b + 3] = w * n, p * n, q * n, r * n


@kernel(lean=True, apart=True)
def position_rates(sys, pos, vel, out):
    """Rates of the positions: H_kin eta (F19). Writes: out."""
    for k in range(sys.tree.vel_of_pos.shape[0]):
        j = sys.tree.vel_of_pos[k]
        if j >= 0:
            out[k] = vel[j]
    for n in range(sys.prim.ball_beta.shape[0]):
        b, e = sys.prim.ball_beta[n], sys.prim.ball_eta[n]
        w, x, y, z = pos[b], pos[b + 1], pos[b + 2], pos[b + 3]
        p, q, r = 0.5 * vel[e], 0.5 * vel[e + 1], 0.5 * vel[e + 2]
        out[b] = -x * p - y * q - z * r
        out[b + 1] = w * p + y * r - z * q
        out[b + 2] = w * q + z * p - x * r
        out[b + 3] = w * r + x * q - y * p


@kernel(lean=True, apart=True)
def project(sys, ws, laws, lw, at, gh, bh, how):
    """Bring positions, then speeds, onto the constraints, in place, in the metric of M + Sh (F44).

    `how` = (tolerance, most, known). Stops when every |g| and |g_dot| is below `tolerance`, or after `most`
    iterations on each level. The factors of one iteration serve the next ones while those reduce the error
    well. `known`: the state is the last one that was evaluated. Accelerations are scratch. Writes: pos,
    vel; beta_ref. Returns largest |g|, largest |g_dot| left, number of iterations.
    """
    (_, pos, vel, _, acc), (tolerance, most, known) = at, how
    count, worst, worst_dot, ready = 0, 0.0, 0.0, False
    if ws.row.g.shape[0] + sys.relation.kind.shape[0] + laws.drive_expr.shape[0] == 0:
        return worst, worst_dot, count
    for k in range(acc.shape[0]):
        acc[k] = 0.0
    for level in range(2):
        last = math.inf
        for k in range(most + 1):
            if not known:
                kinematics(sys, ws, laws, lw, at)
                known = True
            error = largest(ws.row.g) if level == 0 else largest(ws.row.g_dot)
            if level == 0:
                worst = error
            else:
                worst_dot = error
            if error <= tolerance or k == most or not error < 1e300:
                break
            if not ready or error > 0.1 * last:
                forces(sys, ws, laws, lw, at)
                if eliminate(sys, ws, laws, lw, gh, bh, VELOCITY) != 0:
                    return math.inf, math.inf, count
                ready = True
            last = error
            count += 1
            known = False
            if level == 0:
                respond(sys, ws, ws.row.g)
                add_increment(sys, pos, ws.tree.eta_hat_dot, pos)
            else:
                respond(sys, ws, ws.row.g_dot)
                for m in range(vel.shape[0]):
                    vel[m] += ws.tree.eta_hat_dot[m]
    follow_turns(sys, ws)
    return worst, worst_dot, count


@kernel(lean=True, later="void")
def respond(sys, ws, residual):
    """Least change of the speeds, in the metric of M + Sh, with `G change = -residual` (F44).

    Needs eliminate; u is lost. Writes: eta_hat_dot.
    """
    for r in range(residual.shape[0]):
        ws.loop.bias[r] = residual[r]
    again(sys, ws)
    forward(sys, ws)


@kernel(lean=True, later="int64")
def impact(sys, ws, laws, lw, at, twist, speed):
    """Speeds behind an impact, M (vel - speed) = G^T Lam for free speeds; driven ones keep their law (F44).

    `speed` are the speeds of before, `twist` (n_bodies + 1, 6) those of the bodies. Accelerations are
    scratch. Changes vel. Returns a status.
    """
    vel, acc = at[2], at[4]
    for k in range(acc.shape[0]):
        acc[k] = 0.0
    kinematics(sys, ws, laws, lw, at)
    forces(sys, ws, laws, lw, at)
    missing_momentum(sys, ws, vel, twist, speed)
    status = eliminate(sys, ws, laws, lw, 0.0, 0.0, VELOCITY)
    if status == 0:
        status = change(sys, ws)
    if status == 0:
        for k in range(vel.shape[0]):
            vel[k] += ws.tree.eta_hat_dot[k]
    return status


@kernel(lean=True, apart=True)
def missing_momentum(sys, ws, vel, twist, speed):
    """Momentum that is missing against before, as residuals: -M jump. Needs forces. Writes: f_star, tau."""
    for k in range(vel.shape[0]):
        ws.tree.tau[k] = 0.0
    for i in range(1, sys.tree.parent.shape[0]):
        d, nf, k0 = plus_six(six(ws.body.v, i), -1.0, six(twist, i)), sys.body.nf[i], sys.tree.o_qd[i]
        f = upper_times(upper(ws.body.M_star, i), d)
        for m in range(nf):
            row = six_at(ws.elastic.M_f, sys.body.o_E[i] + 6 * m)
            f = plus_six(f, vel[k0 + m] - speed[k0 + m], row)
            s, mff = dot_six(row, d), sys.body.o_K[i] + nf * m
            lo, hi = (m, m + 1) if sys.body.low_rank[i] >= 0 else (0, nf)
            for n in range(lo, hi):
                s += sys.body.K_data[mff + n] * (vel[k0 + n] - speed[k0 + n])
            ws.tree.tau[k0 + m] = -s
        put_six(ws.body.f_star, i, (-f[0], -f[1], -f[2], -f[3], -f[4], -f[5]))


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
    """Remember the angles of cut joints, so that they go on past half a turn. Writes: relation.turn."""
    for e in range(sys.relation.kind.shape[0]):
        ws.relation.turn[e] = ws.relation.angle[e, 0]
