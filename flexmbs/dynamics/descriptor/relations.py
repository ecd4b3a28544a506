"""Kernel of the locked relations in dependent coordinates: each differentiated as it stands (F19, F32).

The descriptor form's own reading of the joint data. The kernels of `model/relations.py`, which follow
from forces and bodies' accelerations, have no part in it: the two agree only when both are right.
"""

import math

from flexmbs._jit import kernel
from flexmbs.model.quaternions import of_matrix, rotation_vector
from flexmbs.model.vectors import cross, dot

#: Same numbers as in `model/joints/base.py` and `model/rows.py`, where the relations are made.
OFFSET, SQUARE, EQUAL_TURN, DISTANCE, SLIDE, ANGLE, ANGLE_FIRST, ANGLE_SECOND = 0, 1, 2, 3, 4, 5, 6, 7
ATTITUDE = 9


@kernel(lean=True)
def relations_at(given, at, turns, attitude, out):
    """Relations between markers, `at` = (x, R, twists v, accelerations), all in ground axes.

    `given` = (kind, marker P, marker Q, axis of P, axis of Q, size) of all of them.
    `turns`: what angles are nearest to, NaN for a screw as its travel has it; `attitude`: prescribed
    quaternions. Writes: out (n, 10): value, rate, second rate at these accelerations, force and moment that a
    unit multiplier puts on Q at its origin, angle.
    """
    (kind, p, q, a, b, size), R = given, at[1]
    for e in range(kind.shape[0]):
        for k in range(9):
            out[e, k] = 0.0
        out[e, 9] = turns[e]
        i, j, P, Q = a[e], b[e], p[e], q[e]
        if kind[e] == OFFSET:
            offset(at, P, Q, i, out[e])
        elif kind[e] == SQUARE:
            square(at, P, Q, i, j, 1.0, out[e])
        elif kind[e] == EQUAL_TURN:
            square(at, P, Q, i, j, 1.0, out[e])
            square(at, P, Q, j, i, -1.0, out[e])
        elif kind[e] == DISTANCE:
            distance(at, P, Q, 1.0 / size[e], out[e])
        elif kind[e] == SLIDE:
            offset(at, P, Q, i, out[e])
            pitch, near = size[e], out[e, 0] / size[e]
            turn(at, P, Q, P, i, -pitch, out[e])
            if turns[e] == turns[e]:
                near = turns[e]
            out[e, 9] = whole(plain_angle(R, P, Q, i), near)
            out[e, 0] -= pitch * out[e, 9]
        elif kind[e] == ANGLE:
            turn(at, P, Q, P, i, 1.0, out[e])
            out[e, 0] = out[e, 9] = whole(plain_angle(R, P, Q, i), turns[e])
        elif kind[e] == ANGLE_FIRST:
            turn(at, P, Q, P, i, 1.0, out[e])
            out[e, 0] = out[e, 9] = whole(first_angle(R, P, Q, i, j), turns[e])
        elif kind[e] == ANGLE_SECOND:
            turn(at, P, Q, Q, j, 1.0, out[e])
            out[e, 0] = out[e, 9] = whole(second_angle(R, P, Q, j, i), turns[e])
        elif kind[e] == ATTITUDE:
            turn(at, P, Q, Q, i, 1.0, out[e])
            out[e, 0] = past_attitude(R, P, Q, attitude[j], i)


@kernel(inline=True)
def plus(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel(inline=True)
def difference(x, p, q, first):
    """Of three columns of rows q and p."""
    return x[q, first] - x[p, first], x[q, first + 1] - x[p, first + 1], x[q, first + 2] - x[p, first + 2]


@kernel(inline=True)
def axis(at, m, k):
    """Axis k of marker m with its first and second rate."""
    _, R, v, acc = at
    n, w, alpha = (
        (R[m, 0, k], R[m, 1, k], R[m, 2, k]),
        (v[m, 3], v[m, 4], v[m, 5]),
        (acc[m, 3], acc[m, 4], acc[m, 5]),
    )
    n_dot = cross(w, n)
    return n, n_dot, plus(cross(alpha, n), cross(w, n_dot))


@kernel(inline=True)
def add(out, factor, value, rate, bias, force, moment):
    out[0] += factor * value
    out[1] += factor * rate
    out[2] += factor * bias
    for k in range(3):
        out[3 + k] += factor * force[k]
        out[6 + k] += factor * moment[k]


@kernel(lean=True)
def offset(at, p, q, a, out):
    """n.d with n axis a of P. Writes: out."""
    x, _, v, acc = at
    n, n_dot, n_ddot = axis(at, p, a)
    d, d_v, d_a = difference(x, p, q, 0), difference(v, p, q, 0), difference(acc, p, q, 0)
    bias = dot(n_ddot, d) + 2.0 * dot(n_dot, d_v) + dot(n, d_a)
    add(out, 1.0, dot(n, d), dot(n_dot, d) + dot(n, d_v), bias, n, (0.0, 0.0, 0.0))


@kernel(lean=True)
def square(at, p, q, a, b, factor, out):
    """x.y with x axis a of P, y axis b of Q. Writes: out."""
    x, x_dot, x_ddot = axis(at, p, a)
    y, y_dot, y_ddot = axis(at, q, b)
    bias = dot(x_ddot, y) + 2.0 * dot(x_dot, y_dot) + dot(x, y_ddot)
    add(out, factor, dot(x, y), dot(x_dot, y) + dot(x, y_dot), bias, (0.0, 0.0, 0.0), cross(y, x))


@kernel(lean=True)
def distance(at, p, q, factor, out):
    """d.d / 2. Writes: out."""
    x, _, v, acc = at
    d, d_v, d_a = difference(x, p, q, 0), difference(v, p, q, 0), difference(acc, p, q, 0)
    add(out, factor, 0.5 * dot(d, d), dot(d, d_v), dot(d_v, d_v) + dot(d, d_a), d, (0.0, 0.0, 0.0))


@kernel(lean=True)
def turn(at, p, q, m, k, factor, out):
    """Rates of the angle about axis k of marker m, P or Q; not its value. Writes: out."""
    n, n_dot, _ = axis(at, m, k)
    w_r, al_r = difference(at[2], p, q, 3), difference(at[3], p, q, 3)
    add(out, factor, 0.0, dot(n, w_r), dot(n_dot, w_r) + dot(n, al_r), (0.0, 0.0, 0.0), n)


@kernel(inline=True)
def cosine(R, p, q, i, j):
    """Axis i of P times axis j of Q."""
    return R[p, 0, i] * R[q, 0, j] + R[p, 1, i] * R[q, 1, j] + R[p, 2, i] * R[q, 2, j]


@kernel(inline=True)
def whole(angle, near):
    """The angle plus the whole turns that bring it nearest to a reference."""
    return angle + 2.0 * math.pi * round((near - angle) / (2.0 * math.pi))


@kernel(lean=True)
def plain_angle(R, p, q, k):
    """Angle of R = R_k(angle)."""
    i, j = (k + 1) % 3, (k + 2) % 3
    return math.atan2(cosine(R, p, q, j, i), cosine(R, p, q, i, i))


@kernel(lean=True)
def first_angle(R, p, q, k, other):
    """First angle of R = R_k(angle) R_other(..): the second axis, of Q, stays square to the first, of P."""
    c = 3 - k - other
    sign = 1.0 if (other - k) % 3 == 1 else -1.0
    return math.atan2(sign * cosine(R, p, q, c, other), cosine(R, p, q, other, other))


@kernel(lean=True)
def second_angle(R, p, q, k, other):
    """Second angle of R = R_other(..) R_k(angle)."""
    c = 3 - k - other
    sign = 1.0 if (k - other) % 3 == 1 else -1.0
    return math.atan2(sign * cosine(R, p, q, other, c), cosine(R, p, q, other, other))


@kernel(lean=True)
def past_attitude(R, p, q, a, k):
    """Component k of the rotation vector from the frame at quaternion a in P to Q (F19a)."""
    w, x, y, z = a[0], a[1], a[2], a[3]
    T = (  # axes of that frame in P
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
        (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    Q = (  # axes of Q in P
        (cosine(R, p, q, 0, 0), cosine(R, p, q, 1, 0), cosine(R, p, q, 2, 0)),
        (cosine(R, p, q, 0, 1), cosine(R, p, q, 1, 1), cosine(R, p, q, 2, 1)),
        (cosine(R, p, q, 0, 2), cosine(R, p, q, 1, 2), cosine(R, p, q, 2, 2)),
    )
    off = (
        dot(T[0], Q[0]), dot(T[0], Q[1]), dot(T[0], Q[2]),
        dot(T[1], Q[0]), dot(T[1], Q[1]), dot(T[1], Q[2]),
        dot(T[2], Q[0]), dot(T[2], Q[1]), dot(T[2], Q[2]),
    )  # fmt: skip
    w, x, y, z = of_matrix(off)
    x, y, z = rotation_vector(w, x, y, z)
    if k == 0:
        return x
    return y if k == 1 else z
