"""Relations between two markers with their rates and forces, once for all joint types (F19).

A relation x has the force n and the moment m that a unit multiplier puts on marker Q, at its origin; P
takes -n at that same point, and -m. So its rate is n.(v_Q - v_P at that point) + m.(w_Q - w_P).
"""

import math

from flexmbs._jit import kernel
from flexmbs.model.quaternions import product, relative_quaternion, rotation_vector
from flexmbs.model.vectors import cross, dot, three

#: Same numbers as in `base.py` and `model/rows.py`, where the relations are made.
OFFSET, SQUARE, EQUAL_TURN, DISTANCE, SLIDE, ANGLE, ANGLE_FIRST, ANGLE_SECOND = 0, 1, 2, 3, 4, 5, 6, 7
STIFF, ATTITUDE = 8, 9


@kernel(lean=True, later="void")
def relations(sys, ws):
    """Values, rates, second rates and forces of all relations (F19).

    Needs the velocity stage of markers; the second rates belong to the accelerations given there, angles
    are those nearest to relation.turn: to what their rate leads to, integrated. Writes: relation.
    """
    for e in range(sys.relation.kind.shape[0]):
        kind, a, b = sys.relation.kind[e], sys.relation.a[e], sys.relation.b[e]
        p, q, out, turned = sys.relation.p[e], sys.relation.q[e], ws.relation.at[e], ws.relation.angle[e]
        for k in range(9):
            out[k] = 0.0
        turned[0], turned[1], turned[2] = ws.relation.turn[e], 0.0, 0.0
        if kind == OFFSET:
            offset(sys, ws, e, a)
        elif kind == SQUARE:
            square(sys, ws, e, a, b, 1.0)
        elif kind == EQUAL_TURN:
            square(sys, ws, e, a, b, 1.0)
            square(sys, ws, e, b, a, -1.0)
        elif kind == DISTANCE:
            distance(sys, ws, e, sys.relation.value[e])
        elif kind == SLIDE:
            offset(sys, ws, e, a)
            pitch, d, rate, bend = sys.relation.value[e], out[0], out[1], out[2]
            turning(sys, ws, e, a, True, -pitch)
            if not turned[0] == turned[0]:
                turned[0] = d / pitch
            turned[0] = near(angle(ws, p, q, a), turned[0])
            out[0] = d - pitch * turned[0]
            turned[1], turned[2] = (rate - out[1]) / pitch, (bend - out[2]) / pitch
        elif kind == STIFF:
            pass  # its forces are written with the forces of the law
        elif kind == ATTITUDE:
            turning(sys, ws, e, a, False, 1.0)
            out[0] = off_attitude(ws, p, q, b, a)
        elif kind == ANGLE:
            turning(sys, ws, e, a, True, 1.0)
            out[0] = near(angle(ws, p, q, a), turned[0])
            turned[0], turned[1], turned[2] = out[0], out[1], out[2]
        else:
            first = kind == ANGLE_FIRST
            turning(sys, ws, e, a if first else b, first, 1.0)
            out[0] = near(pin_angle(ws, p, q, a, b, first), turned[0])
            turned[0], turned[1], turned[2] = out[0], out[1], out[2]


@kernel(inline=True)
def near(angle, reference):
    """The angle plus the whole turns that bring it nearest to a reference."""
    turn = 2.0 * math.pi
    return angle + turn * math.floor((reference - angle) / turn + 0.5)


@kernel(inline=True)
def axis_dot(ws, p, a, q, b):
    """Cosine between axis a of marker p and axis b of marker q."""
    P, Q = ws.marker.R[p], ws.marker.R[q]
    return P[0, a] * Q[0, b] + P[1, a] * Q[1, b] + P[2, a] * Q[2, b]


@kernel(inline=True)
def angle(ws, p, q, k):
    """Turn of Q in P about their axis k, within half a turn."""
    i, j = (k + 1) % 3, (k + 2) % 3
    return math.atan2(axis_dot(ws, p, j, q, i), axis_dot(ws, p, i, q, i))


@kernel(inline=True)
def pin_angle(ws, p, q, a, b, first):
    """Angles of R = R_a(angle1) R_b(angle2), within half a turn."""
    c = 3 - a - b
    sign = 1.0 if (b - a) % 3 == 1 else -1.0
    if first:
        return math.atan2(sign * axis_dot(ws, p, c, q, b), axis_dot(ws, p, b, q, b))
    return math.atan2(sign * axis_dot(ws, p, a, q, c), axis_dot(ws, p, a, q, a))


@kernel(lean=True)
def off_attitude(ws, p, q, n, k):
    """Component k, in the axes of Q, of the rotation vector from attitude n of P to Q (F19a).

    Its rate is the relative angular velocity less the prescribed one where it vanishes, which is where it is
    kept; from far off one step along it still ends there.
    """
    a = ws.law.attitude[n]
    s, x, y, z = product((a[0], -a[1], -a[2], -a[3]), relative_quaternion(ws.marker.R, q, p))
    if s < 0.0:
        s, x, y, z = -s, -x, -y, -z
    x, y, z = rotation_vector(s, x, y, z)
    if k == 0:
        return x
    return y if k == 1 else z


@kernel(inline=True)
def difference(x, p, q, o):
    return x[q, o] - x[p, o], x[q, o + 1] - x[p, o + 1], x[q, o + 2] - x[p, o + 2]


@kernel(lean=True, inline=True)
def offset(sys, ws, e, a):
    """Component a in P of the place of Q."""
    p, q, out = sys.relation.p[e], sys.relation.q[e], ws.relation.at[e]
    n = ws.marker.R[p, 0, a], ws.marker.R[p, 1, a], ws.marker.R[p, 2, a]
    d, v = difference(ws.marker.x, p, q, 0), difference(ws.marker.v, p, q, 0)
    acc = difference(ws.marker.a, p, q, 0)
    w, alpha = three(ws.marker.v, p, 3), three(ws.marker.a, p, 3)
    n_dot = cross(w, n)
    turn, bend = cross(alpha, n), cross(w, n_dot)
    out[0] += dot(n, d)
    out[1] += dot(n, v) + dot(n_dot, d)
    out[2] += dot(n, acc) + 2.0 * dot(n_dot, v) + dot(turn, d) + dot(bend, d)
    out[3] += n[0]
    out[4] += n[1]
    out[5] += n[2]


@kernel(lean=True)
def square(sys, ws, e, a, b, sign):
    """Cosine between axis a of P and axis b of Q, times a sign."""
    p, q, out = sys.relation.p[e], sys.relation.q[e], ws.relation.at[e]
    x = ws.marker.R[p, 0, a], ws.marker.R[p, 1, a], ws.marker.R[p, 2, a]
    y = ws.marker.R[q, 0, b], ws.marker.R[q, 1, b], ws.marker.R[q, 2, b]
    w_r, alpha_r = difference(ws.marker.v, p, q, 3), difference(ws.marker.a, p, q, 3)
    m = cross(y, x)
    first, second = cross(cross(three(ws.marker.v, q, 3), y), x), cross(y, cross(three(ws.marker.v, p, 3), x))
    out[0] += sign * dot(x, y)
    out[1] += sign * dot(m, w_r)
    out[2] += sign * (dot(m, alpha_r) + dot(first, w_r) + dot(second, w_r))
    out[6] += sign * m[0]
    out[7] += sign * m[1]
    out[8] += sign * m[2]


@kernel(lean=True)
def distance(sys, ws, e, scale):
    """Half the square of the distance by a length: its multiplier is a force along the line."""
    p, q, out = sys.relation.p[e], sys.relation.q[e], ws.relation.at[e]
    d, v = difference(ws.marker.x, p, q, 0), difference(ws.marker.v, p, q, 0)
    acc = difference(ws.marker.a, p, q, 0)
    out[0] = 0.5 * dot(d, d) / scale
    out[1] = dot(d, v) / scale
    out[2] = (dot(d, acc) + dot(v, v)) / scale
    out[3], out[4], out[5] = d[0] / scale, d[1] / scale, d[2] / scale


@kernel(lean=True, inline=True)
def turning(sys, ws, e, k, of_p, factor):
    """Rate of turning about axis k of P (or of Q), times a factor; the angle itself comes from elsewhere."""
    p, q, out = sys.relation.p[e], sys.relation.q[e], ws.relation.at[e]
    carrier = p if of_p else q
    m = ws.marker.R[carrier, 0, k], ws.marker.R[carrier, 1, k], ws.marker.R[carrier, 2, k]
    w_r, alpha_r = difference(ws.marker.v, p, q, 3), difference(ws.marker.a, p, q, 3)
    m_dot = cross(three(ws.marker.v, carrier, 3), m)
    out[1] += factor * dot(m, w_r)
    out[2] += factor * (dot(m, alpha_r) + dot(m_dot, w_r))
    out[6] += factor * m[0]
    out[7] += factor * m[1]
    out[8] += factor * m[2]
