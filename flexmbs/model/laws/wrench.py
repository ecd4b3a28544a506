"""A wrench at a marker as generalised forces of its body (F16)."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.model.vectors import between


@kernel(lean=True, apart=True)
def add_wrench(sys, ws, vel, m, force, moment):
    """Add a force and a moment about the origin of marker m, ground axes, to its body (F16).

    Needs the velocity stage. Writes: f_app (body axes, elastic rows included). Returns its power on the body:
    for a marker that travels this is not force times the marker's velocity.
    """
    i = sys.marker.body[m]
    if i == 0:
        return 0.0
    (fx, fy, fz), (nx, ny, nz) = force, moment
    R, o = ws.body.R, sys.body.o_f[i]
    x, y, z = between(ws.body.r, i, ws.marker.x, m)
    px, py, pz = nx + y * fz - z * fy, ny + z * fx - x * fz, nz + x * fy - y * fx
    for k in range(3):
        ws.body.f_app[o + k] += R[i, 0, k] * fx + R[i, 1, k] * fy + R[i, 2, k] * fz
        ws.body.f_app[o + 3 + k] += R[i, 0, k] * px + R[i, 1, k] * py + R[i, 2, k] * pz
    v = ws.body.v[i]
    power = fx * v[0] + fy * v[1] + fz * v[2] + px * v[3] + py * v[4] + pz * v[5]
    if sys.marker.row[m] >= 0:
        first, L = sys.tree.o_qd[i], ws.marker.L
        for a in range(sys.body.nf[i]):
            c = sys.marker.L[m] + 6 * a
            f = L[c] * fx + L[c + 1] * fy + L[c + 2] * fz
            f += L[c + 3] * nx + L[c + 4] * ny + L[c + 5] * nz
            ws.body.f_app[o + 6 + a] += f
            power += f * vel[first + a]
    return power


@kernel(lean=True, apart=True)
def add_modal_load(sys, ws, pos, vel, i, load, o, factor):
    """Add `factor` times a load that is fixed in body i: force, moment, moment by mode, modal (F16).

    Writes: f_app. Returns its power.
    """
    R, v, f, nf = ws.body.R, ws.body.v[i], sys.body.o_f[i], sys.body.nf[i]
    mx, my, mz = load[o + 3], load[o + 4], load[o + 5]
    power = 0.0
    for a in range(nf):
        c, q = o + 6 + 4 * a, pos[sys.body.o_q[i] + a]
        mx += load[c] * q
        my += load[c + 1] * q
        mz += load[c + 2] * q
        ws.body.f_app[f + 6 + a] += factor * load[c + 3]
        power += factor * load[c + 3] * vel[sys.tree.o_qd[i] + a]
    for k in range(3):
        m = mx if k == 0 else my if k == 1 else mz
        ws.body.f_app[f + k] += factor * load[o + k]
        ws.body.f_app[f + 3 + k] += factor * m
        vk = R[i, 0, k] * v[0] + R[i, 1, k] * v[1] + R[i, 2, k] * v[2]
        wk = R[i, 0, k] * v[3] + R[i, 1, k] * v[4] + R[i, 2, k] * v[5]
        power += factor * (load[o + k] * vk + m * wk)
    return power
