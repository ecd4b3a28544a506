"""Prescribed rotations of balls over the time: laws -> quaternion, angular velocity and its rate (F19a).

The quaternion takes axes of Q to P, the angular velocity is that of Q against P in the axes of Q, as the
speeds of a ball are. Positions are differentiated as they stand, so no attitude is singular.
"""

import math

from flexmbs._jit import kernel
from flexmbs.expressions.machine import evaluate
from flexmbs.model.quaternions import of_matrix, product
from flexmbs.model.vectors import cross, dot

#: What the laws of an attitude give: angles about axes in turn, quaternion, matrix row by row, rates.
FACTORS, QUATERNION, MATRIX, VELOCITY, ACCELERATION = 0, 1, 2, 3, 4


@kernel(inline=True)
def three(x, k):
    return x[k], x[k + 1], x[k + 2]


@kernel(lean=True, later="void")
def attitudes(laws, ws, aux):
    """Prescribed rotations and speeds of balls (F19a). Needs drive_* of their laws.

    Writes: law.attitude; law.v and law.a of the three speeds, and zero into their law.x: it is what the
    rotation from the attitude to Q shall be.
    """
    for n in range(laws.att_kind.shape[0]):
        kind, d, k = laws.att_kind[n], laws.att_law[n], laws.att_aux[n]
        if kind == FACTORS:
            q, w, w_dot = of_factors(laws, ws, n, d)
        elif kind == QUATERNION:
            q, w, w_dot = of_four(ws.law.x, ws.law.v, ws.law.a, d)
        elif kind == MATRIX:
            q, w, w_dot = of_nine(ws.law.x, ws.law.v, ws.law.a, d)
        else:
            q = aux[k], aux[k + 1], aux[k + 2], aux[k + 3]
            w, w_dot = three(ws.law.x, d), three(ws.law.v, d)
            if kind == ACCELERATION:
                w, w_dot = three(aux, k + 4), w
        size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        for c in range(4):
            ws.law.attitude[n, c] = q[c] / size
        first = laws.att_speed[n]
        for c in range(3):
            ws.law.x[first + c], ws.law.v[first + c], ws.law.a[first + c] = 0.0, w[c], w_dot[c]


@kernel(lean=True)
def of_factors(laws, ws, n, d):
    """R = R(axis_1, angle_1) R(axis_2, angle_2) ..., each about the axes turned by those before (F19a)."""
    q, w, w_dot = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(laws.att_axis_start[n + 1] - laws.att_axis_start[n]):
        axis = laws.att_axis[laws.att_axis_start[n] + k]
        a = axis[0], axis[1], axis[2]
        angle, rate, bend = ws.law.x[d + k], ws.law.v[d + k], ws.law.a[d + k]
        c, s = math.cos(angle), math.sin(angle)
        w, w_dot = turned_back(w, a, c, s), turned_back(w_dot, a, c, s)
        x = cross(a, w)
        w_dot = (
            w_dot[0] + bend * a[0] - rate * x[0],
            w_dot[1] + bend * a[1] - rate * x[1],
            w_dot[2] + bend * a[2] - rate * x[2],
        )
        w = w[0] + rate * a[0], w[1] + rate * a[1], w[2] + rate * a[2]
        c, s = math.cos(0.5 * angle), math.sin(0.5 * angle)
        q = product(q, (c, s * a[0], s * a[1], s * a[2]))
    return q, w, w_dot


@kernel(inline=True)
def turned_back(v, a, c, s):
    """R^T v of the rotation about a unit axis a, by cosine and sine of its angle."""
    along, x = (1.0 - c) * dot(a, v), cross(a, v)
    return (
        c * v[0] - s * x[0] + along * a[0],
        c * v[1] - s * x[1] + along * a[1],
        c * v[2] - s * x[2] + along * a[2],
    )


@kernel(lean=True)
def of_four(x, v, acc, d):
    """A quaternion of any length: w = 2 Im(q* q_dot) / |q|^2 and its rate (F19a)."""
    q, square = (x[d], x[d + 1], x[d + 2], x[d + 3]), 0.0
    length_rate = 0.0
    for k in range(4):
        square += q[k] * q[k]
        length_rate += q[k] * v[d + k]
    own = -q[1], -q[2], -q[3]
    first = product((q[0], *own), (v[d], v[d + 1], v[d + 2], v[d + 3]))
    second = product((q[0], *own), (acc[d], acc[d + 1], acc[d + 2], acc[d + 3]))
    f = 2.0 / square
    w = f * first[1], f * first[2], f * first[3]
    back = f * length_rate
    w_dot = f * second[1] - back * w[0], f * second[2] - back * w[1], f * second[3] - back * w[2]
    return q, w, w_dot


@kernel(lean=True)
def of_nine(x, v, acc, d):
    """A rotation matrix row by row: w~ = R^T R_dot, w_dot~ the skew part of R^T R_ddot (F19a)."""
    q = of_matrix((x[d], x[d + 1], x[d + 2], x[d + 3], x[d + 4], x[d + 5], x[d + 6], x[d + 7], x[d + 8]))
    return q, spin(x, v, d), spin(x, acc, d)


@kernel(lean=True)
def spin(x, y, d):
    """Axial vector of X^T Y, matrices row by row."""
    a = b = c = 0.0
    for row in range(3):
        k = d + 3 * row
        a += 0.5 * (x[k + 2] * y[k + 1] - x[k + 1] * y[k + 2])
        b += 0.5 * (x[k] * y[k + 2] - x[k + 2] * y[k])
        c += 0.5 * (x[k + 1] * y[k] - x[k] * y[k + 1])
    return a, b, c


@kernel(lean=True, later="void")
def attitude_rates(laws, lw, aux, aux_dot):
    """Rates of quaternions, and of angular velocities, that are integrated (F19a). Writes: aux_dot.

    What is off in the length of a quaternion goes back to one.
    """
    for n in range(laws.att_kind.shape[0]):
        k = laws.att_aux[n]
        if k < 0:
            continue
        for c in range(3):
            number = laws.drive_expr[laws.att_law[n] + c]
            evaluate(laws.expr, number, lw.x, lw.x_dot, lw.x_ddot, lw.stack, lw.result)
            lw.rate[c] = lw.result[0]
        w = three(lw.rate, 0)
        if laws.att_kind[n] == ACCELERATION:
            for c in range(3):
                aux_dot[k + 4 + c] = lw.rate[c]
            w = three(aux, k + 4)
        q = aux[k], aux[k + 1], aux[k + 2], aux[k + 3]
        back = 0.5 * math.sqrt(dot(w, w)) * (1.0 - q[0] * q[0] - q[1] * q[1] - q[2] * q[2] - q[3] * q[3])
        rate = product(q, (back, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]))
        for c in range(4):
            aux_dot[k + c] = rate[c]
