"""Markers that travel through a flexible body: rows along the path, and their part of the motion (F18a).

The rows are C2 splines of the arc length s along a straight path, so that a mass on the marker is not struck
where element-wise interpolation has kinks; with s(t) they are functions of time. Piece k of a path holds
its coefficients by falling power, `coef[((4 k + power) width) + column]`, width = 6 nf.
"""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel
from flexmbs.ffrf.marker import jacobian_coefficients, rotation_bias


@kernel(lean=True)
def path_rows(path, pieces, line, n, place, width, out):
    """Rows of a travelling marker with two rates (F18a).

    `path` = (knots, first, last): knots[first : last] are the arc lengths; `pieces` = (coef, start);
    `line[n]` the start and direction of the path; `place` (3, 3) the marker's place with two rates. Writes:
    out = (rows, o): rows[o : o + 3 width]; NaN outside the body.
    """
    (knots, first, last), (coef, start), (rows, o) = path, pieces, out
    s = s1 = s2 = 0.0
    for c in range(3):
        d = line[n, 3 + c]
        s += d * (place[0, c] - line[n, c])
        s1 += d * place[1, c]
        s2 += d * place[2, c]
    slack = 1e-9 * (knots[last - 1] - knots[first])
    low, high = first, last - 2
    inside = s >= knots[first] - slack and s <= knots[last - 1] + slack
    while low < high:
        middle = (low + high + 1) // 2
        if knots[middle] <= s:
            low = middle
        else:
            high = middle - 1
    x = s - knots[low]
    base = start + 4 * width * (low - first)
    for c in range(width):
        a3, a2 = coef[base + c], coef[base + width + c]
        a1, a0 = coef[base + 2 * width + c], coef[base + 3 * width + c]
        slope = (3.0 * a3 * x + 2.0 * a2) * x + a1
        curve = 6.0 * a3 * x + 2.0 * a2
        rows[o + c] = ((a3 * x + a2) * x + a1) * x + a0 if inside else np.nan
        rows[o + width + c] = slope * s1
        rows[o + 2 * width + c] = slope * s2 + curve * s1 * s1


@kernel(lean=True)
def travelling_terms(m, nf, state, theta, columns, turn, out):
    """Add to `out` of `marker_velocity` what the changing rows do (F18a), save x_dot and x_ddot.

    `state` = (q, iq, q_dot, iv), `columns` = (rows, o), `turn` = (R, i). theta[m] is in the axes to which
    R[i] turns those of the body; rows from o are those of `path_rows`, in body axes. Writes: out (12,).
    """
    (q, iq, q_dot, iv), (rows, o), (R, i) = state, columns, turn
    c0 = c1 = c2 = e0 = e1 = e2 = 0.0
    f0 = f1 = f2 = h0 = h1 = h2 = 0.0
    width = 6 * nf
    for a in range(nf):
        qa, da = q[iq + a], 2.0 * q_dot[iv + a]
        p, r = o + width + 6 * a, o + 2 * width + 6 * a
        c0 += rows[p] * qa
        c1 += rows[p + 1] * qa
        c2 += rows[p + 2] * qa
        e0 += rows[p + 3] * qa
        e1 += rows[p + 4] * qa
        e2 += rows[p + 5] * qa
        f0 += rows[r] * qa + rows[p] * da
        f1 += rows[r + 1] * qa + rows[p + 1] * da
        f2 += rows[r + 2] * qa + rows[p + 2] * da
        h0 += rows[r + 3] * qa + rows[p + 3] * da
        h1 += rows[r + 4] * qa + rows[p + 4] * da
        h2 += rows[r + 5] * qa + rows[p + 5] * da
    c0, c1, c2 = turned(R, i, c0, c1, c2)
    f0, f1, f2 = turned(R, i, f0, f1, f2)
    x, y, z = theta[m, 0], theta[m, 1], theta[m, 2]
    e0, e1, e2 = left_jacobian_times(x, y, z, *turned(R, i, e0, e1, e2))
    h0, h1, h2 = left_jacobian_times(x, y, z, *turned(R, i, h0, h1, h2))
    out[0] += c0
    out[1] += c1
    out[2] += c2
    out[3] += e0
    out[4] += e1
    out[5] += e2
    out[6] += f0
    out[7] += f1
    out[8] += f2
    b0, b1, b2 = rotation_bias(x, y, z, out[3], out[4], out[5])
    out[9], out[10], out[11] = b0 + h0, b1 + h1, b2 + h2


@kernel(inline=True)
def turned(R, i, x, y, z):
    """R[i] times a vector."""
    return (
        R[i, 0, 0] * x + R[i, 0, 1] * y + R[i, 0, 2] * z,
        R[i, 1, 0] * x + R[i, 1, 1] * y + R[i, 1, 2] * z,
        R[i, 2, 0] * x + R[i, 2, 1] * y + R[i, 2, 2] * z,
    )


@kernel(inline=True)
def left_jacobian_times(x, y, z, p, q, r):
    """J(theta) times a vector (F18)."""
    b, c, _b1, _c1 = jacobian_coefficients(x * x + y * y + z * z)
    nx, ny, nz = y * r - z * q, z * p - x * r, x * q - y * p
    return (
        p + b * nx + c * (y * nz - z * ny),
        q + b * ny + c * (z * nx - x * nz),
        r + b * nz + c * (x * ny - y * nx),
    )
