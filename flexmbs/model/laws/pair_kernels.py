"""Laws between two markers: springs along their line, and bushings (F16)."""

from __future__ import annotations

import math

from flexmbs._jit import kernel
from flexmbs.ffrf.marker import inverse_jacobian_coefficient
from flexmbs.model.laws.joint_kernels import local_law
from flexmbs.model.laws.tables import (
    DAMPING,
    DISSIPATED,
    FORCE,
    LENGTH,
    MOMENT,
    POTENTIAL,
    RATE,
    SPAN,
    STIFFNESS,
    VALUE,
    WORK,
)
from flexmbs.model.laws.wrench import add_wrench
from flexmbs.model.quaternions import relative_quaternion, rotation_vector
from flexmbs.model.vectors import between, from_axes, to_axes


@kernel(lean=True, later="void")
def span(laws, lw, sys, ws, vel, k):
    """Spring and damper along the line from P to Q, or a tension by expression. Writes: f_app, out[k]."""
    p, q, o, n, out = laws.mark_p[k], laws.mark_q[k], lw.value, laws.first[k], lw.out[k]
    x = ws.marker.x[q, 0] - ws.marker.x[p, 0]
    y = ws.marker.x[q, 1] - ws.marker.x[p, 1]
    z = ws.marker.x[q, 2] - ws.marker.x[p, 2]
    length = math.sqrt(x * x + y * y + z * z)
    # no direction where the points coincide: then there is no force
    scale = 1.0 / length if length > 0.0 else 0.0
    x, y, z = x * scale, y * scale, z * scale
    rate = x * (ws.marker.v[q, 0] - ws.marker.v[p, 0]) + y * (ws.marker.v[q, 1] - ws.marker.v[p, 1])
    rate += z * (ws.marker.v[q, 2] - ws.marker.v[p, 2])
    potential = dissipated = 0.0
    if laws.kind[k] == SPAN:
        d = length - o[n + 2]
        tension, by_x, by_v = o[n] * d + o[n + 1] * rate + o[n + 3], o[n], o[n + 1]
        dissipated = o[n + 1] * rate * rate
        if laws.conservative[k] == 1:
            potential = 0.5 * o[n] * d * d + o[n + 3] * length
    else:
        tension, by_x, by_v = local_law(laws, lw, laws.local[k], length, rate)
    fx, fy, fz = -tension * x, -tension * y, -tension * z
    power = add_wrench(sys, ws, vel, q, (fx, fy, fz), (0.0, 0.0, 0.0))
    power += add_wrench(sys, ws, vel, p, (-fx, -fy, -fz), (0.0, 0.0, 0.0))
    out[FORCE], out[FORCE + 1], out[FORCE + 2] = fx, fy, fz
    out[MOMENT], out[MOMENT + 1], out[MOMENT + 2] = 0.0, 0.0, 0.0
    out[LENGTH], out[RATE], out[VALUE] = length, rate, tension
    out[STIFFNESS], out[DAMPING] = by_x, by_v
    out[POTENTIAL], out[DISSIPATED] = potential, dissipated
    # what the bodies receive beyond the loss of the potential and the damper comes from outside
    out[WORK] = power + dissipated
    if laws.conservative[k] == 1:
        out[WORK] += (o[n] * (length - o[n + 2]) + o[n + 3]) * rate


@kernel(lean=True)
def deflection(ws, p, q, out):
    """Deflection of Q against P in axes of P and its rate. Writes: out = [d, phi, d_dot, phi_dot]."""
    x, y, z = between(ws.marker.x, p, ws.marker.x, q)
    a, b, c = ws.marker.v[p, 3], ws.marker.v[p, 4], ws.marker.v[p, 5]
    u = ws.marker.v[q, 0] - ws.marker.v[p, 0] - (b * z - c * y)
    v = ws.marker.v[q, 1] - ws.marker.v[p, 1] - (c * x - a * z)
    w = ws.marker.v[q, 2] - ws.marker.v[p, 2] - (a * y - b * x)
    out[0], out[1], out[2] = to_axes(ws.marker.R, p, x, y, z)
    out[6], out[7], out[8] = to_axes(ws.marker.R, p, u, v, w)
    s, x, y, z = relative_quaternion(ws.marker.R, q, p)
    x, y, z = rotation_vector(s, x, y, z)
    out[3], out[4], out[5] = x, y, z
    u, v, w = to_axes(ws.marker.R, p, ws.marker.v[q, 3] - a, ws.marker.v[q, 4] - b, ws.marker.v[q, 5] - c)
    # phi_dot = J^-1 w_rel (F18)
    e = inverse_jacobian_coefficient(x * x + y * y + z * z)
    a, b, c = y * w - z * v, z * u - x * w, x * v - y * u
    out[9] = u - 0.5 * a + e * (y * c - z * b)
    out[10] = v - 0.5 * b + e * (z * a - x * c)
    out[11] = w - 0.5 * c + e * (x * b - y * a)


@kernel(lean=True, later="void")
def bushing(laws, lw, sys, ws, vel, k):
    """Six springs and dampers on the deflection of Q against P. Writes: f_app, out[k], wrench."""
    p, q, o, n, out, d = laws.mark_p[k], laws.mark_q[k], lw.value, laws.first[k], lw.out[k], lw.wrench
    deflection(ws, p, q, d)
    x, y, z = d[3], d[4], d[5]
    potential = dissipated = elastic = 0.0
    for c in range(6):
        dissipated += o[n + 6 + c] * d[6 + c] * d[6 + c]
        potential += 0.5 * o[n + c] * d[c] * d[c]
        elastic += o[n + c] * d[c] * d[6 + c]
        d[c] = -o[n + c] * d[c] - o[n + 6 + c] * d[6 + c]
    fx, fy, fz = from_axes(ws.marker.R, p, d[0], d[1], d[2])
    # moment conjugate to w_rel: J^-T times that conjugate to phi
    e = inverse_jacobian_coefficient(x * x + y * y + z * z)
    a, b, c2 = y * d[5] - z * d[4], z * d[3] - x * d[5], x * d[4] - y * d[3]
    mx = d[3] + 0.5 * a + e * (y * c2 - z * b)
    my = d[4] + 0.5 * b + e * (z * a - x * c2)
    mz = d[5] + 0.5 * c2 + e * (x * b - y * a)
    mx, my, mz = from_axes(ws.marker.R, p, mx, my, mz)
    power = add_wrench(sys, ws, vel, q, (fx, fy, fz), (mx, my, mz))
    # the reaction acts on P where Q is: d is measured in axes that turn with P
    x, y, z = between(ws.marker.x, p, ws.marker.x, q)
    lx, ly, lz = mx + y * fz - z * fy, my + z * fx - x * fz, mz + x * fy - y * fx
    power += add_wrench(sys, ws, vel, p, (-fx, -fy, -fz), (-lx, -ly, -lz))
    out[FORCE], out[FORCE + 1], out[FORCE + 2] = fx, fy, fz
    out[MOMENT], out[MOMENT + 1], out[MOMENT + 2] = mx, my, mz
    out[DISSIPATED] = dissipated
    out[POTENTIAL], out[WORK] = 0.0, power + dissipated
    if laws.conservative[k] == 1:
        out[POTENTIAL] = potential
        out[WORK] += elastic
