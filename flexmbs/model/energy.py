"""Energies of the bodies at one state: kinetic, gravity, strain, loss in the modes (F12-F15)."""

from __future__ import annotations

from flexmbs._jit import kernel

#: Columns of the output: kinetic, gravity, strain [J], damping power [W].
KINETIC, GRAVITY, STRAIN, DAMPING_POWER = range(4)


@kernel(lean=True)
def energies(sys, ws, pos, vel, out):
    """Energies of all bodies. Needs the velocity stage and masses. Writes: out (n_bodies + 1, 4).

    Gravity is zero at the origin of ground.
    """
    for c in range(4):
        out[0, c] = 0.0
    for i in range(1, sys.tree.parent.shape[0]):
        rigid_energies(sys, ws, i, out)
        if sys.body.nf[i] > 0:
            elastic_energies(sys, ws, i, pos, vel, out)


@kernel(lean=True)
def rigid_energies(sys, ws, i, out):
    """Kinetic energy of the rigid rows, and gravity (F12, F15). Writes: kinetic, gravity of out[i]."""
    R, v, o, b = ws.body.R[i], ws.body.v[i], ws.body.out, 15 * i
    mass = sys.body.block_data[sys.body.o_block[i]]
    x = y = z = p = q = r = 0.0
    gravity = 0.0
    for k in range(3):
        x += R[k, 0] * v[k]
        y += R[k, 1] * v[k]
        z += R[k, 2] * v[k]
        p += R[k, 0] * v[3 + k]
        q += R[k, 1] * v[3 + k]
        r += R[k, 2] * v[3 + k]
        S_t = R[k, 0] * o[b] + R[k, 1] * o[b + 1] + R[k, 2] * o[b + 2]
        gravity -= sys.grav[k] * (mass * ws.body.r[i, k] + S_t)
    kinetic = 0.5 * mass * (x * x + y * y + z * z)
    kinetic += x * (q * o[b + 2] - r * o[b + 1]) + y * (r * o[b] - p * o[b + 2])
    kinetic += z * (p * o[b + 1] - q * o[b])
    kinetic += 0.5 * (p * p * o[b + 3] + q * q * o[b + 6] + r * r * o[b + 8])
    kinetic += p * q * o[b + 4] + p * r * o[b + 5] + q * r * o[b + 7]
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = kinetic, gravity, 0.0, 0.0


@kernel(lean=True, later="void")
def elastic_energies(sys, ws, i, pos, vel, out):
    """What the modes add (F9, F12, F14). Writes: out[i]."""
    R, v, nf, o = ws.body.R[i], ws.body.v[i], sys.body.nf[i], sys.body.o_K[i]
    n2, q0, d0 = nf * nf, sys.body.o_q[i], sys.tree.o_qd[i]
    # a first moment that is kept at its undeformed value must not keep the weight from doing work
    frozen = 1.0 - sys.body.block_data[sys.body.o_block[i] + 10]
    for a in range(nf):
        m = sys.body.o_rows[i] + 7 * a
        qa, da = pos[q0 + a], vel[d0 + a]
        coupling = 0.0
        weight = 0.0
        for k in range(3):
            row = R[k, 0] * ws.body.rows[m] + R[k, 1] * ws.body.rows[m + 1] + R[k, 2] * ws.body.rows[m + 2]
            turn = (
                R[k, 0] * ws.body.rows[m + 3] + R[k, 1] * ws.body.rows[m + 4] + R[k, 2] * ws.body.rows[m + 5]
            )
            coupling += row * v[k] + turn * v[3 + k]
            weight += row * sys.grav[k]
        out[i, 0] += coupling * da
        out[i, 1] -= frozen * weight * qa
        for b in range(nf):
            n = o + nf * a + b
            out[i, 0] += 0.5 * da * sys.body.K_data[n] * vel[d0 + b]
            out[i, 2] += 0.5 * qa * sys.body.K_data[n + n2] * pos[q0 + b]
            out[i, 3] += da * sys.body.K_data[n + 2 * n2] * vel[d0 + b]
