"""Markers on flexible bodies: q -> place, axes, rows; q_dot -> relative velocity, bias (F18, F17a, F18a).

A marker is a row in flat tables: `u0` (n, 3), `R0` (n, 3, 3), and in `data` six numbers per mode (Phi, then
Psi, of that mode) from offset `row`, or nothing when `row < 0`: then the marker does not move with the modes.
From offset `K`, unless negative, follow K_P of (F17a) as (nf, nf, 6): for every mode what its coordinate
takes from the six numbers of all modes, so that one pass adds whole rows.

With a rotation R the outputs of the velocity stage come in the axes that R leads to: pass theta and rows
that were turned by the same R. A marker that travels adds, to what is found here, the terms of (F18a) by
`travelling_terms`.
"""

from __future__ import annotations

import math

import numpy as np

from flexmbs._jit import kernel

#: Below this squared angle the coefficients of J come from their series: both agree to rounding there.
SMALL = 0.25


@kernel(inline=True)
def jacobian_coefficients(t2):
    """`(1-cos t)/t^2`, `(t-sin t)/t^3` and their derivatives by t^2 (F18)."""
    if t2 < SMALL:
        b = 1 / 40320 - t2 * (1 / 3628800 - t2 * (1 / 479001600 - t2 * (1 / 87178291200)))
        b = 0.5 - t2 * (1 / 24 - t2 * (1 / 720 - t2 * b))
        c = 1 / 362880 - t2 * (1 / 39916800 - t2 * (1 / 6227020800 - t2 * (1 / 1307674368000)))
        c = 1 / 6 - t2 * (1 / 120 - t2 * (1 / 5040 - t2 * c))
        b1 = 3 / 40320 - t2 * (4 / 3628800 - t2 * (5 / 479001600 - t2 * (6 / 87178291200)))
        b1 = -1 / 24 + t2 * (2 / 720 - t2 * b1)
        c1 = 3 / 362880 - t2 * (4 / 39916800 - t2 * (5 / 6227020800 - t2 * (6 / 1307674368000)))
        c1 = -1 / 120 + t2 * (2 / 5040 - t2 * c1)
        return b, c, b1, c1
    t = math.sqrt(t2)
    b = (1.0 - math.cos(t)) / t2
    c = (t - math.sin(t)) / (t2 * t)
    # d/d(t^2) = d/dt / (2 t)
    b1 = 0.5 * (math.sin(t) / t - 2.0 * b) / t2
    c1 = 0.5 * (b - 3.0 * c) / t2
    return b, c, b1, c1


@kernel(inline=True)
def inverse_jacobian_coefficient(t2):
    """e in `J^-1 = 1 - theta~/2 + e theta~ theta~` (F18)."""
    if t2 < SMALL:
        e = 1 / 1209600 + t2 * (1 / 47900160 + t2 * (691 / 1307674368000 + t2 * (1 / 74724249600)))
        return 1 / 12 + t2 * (1 / 720 + t2 * (1 / 30240 + t2 * e))
    t = math.sqrt(t2)
    return 1.0 / t2 - math.sin(t) / (2.0 * t * (1.0 - math.cos(t)))


@kernel(inline=True)
def rotation_bias(x, y, z, wx, wy, wz):
    """`J_dot theta_dot` for theta = (x, y, z) and w_rel = J theta_dot = (wx, wy, wz) (F18)."""
    t2 = x * x + y * y + z * z
    e = inverse_jacobian_coefficient(t2)
    b, c, b1, c1 = jacobian_coefficients(t2)
    # theta_dot = J^-1 w_rel, with n = theta x w_rel
    nx, ny, nz = y * wz - z * wy, z * wx - x * wz, x * wy - y * wx
    dx = wx - 0.5 * nx + e * (y * nz - z * ny)
    dy = wy - 0.5 * ny + e * (z * nx - x * nz)
    dz = wz - 0.5 * nz + e * (x * ny - y * nx)
    # J = 1 + b theta~ + c theta~ theta~, theta_dot~ theta_dot = 0, m = theta x theta_dot
    s = 2.0 * (x * dx + y * dy + z * dz)
    mx, my, mz = y * dz - z * dy, z * dx - x * dz, x * dy - y * dx
    fb, fc = s * b1, s * c1
    ox = fb * mx + fc * (y * mz - z * my) + c * (dy * mz - dz * my)
    oy = fb * my + fc * (z * mx - x * mz) + c * (dz * mx - dx * mz)
    oz = fb * mz + fc * (x * my - y * mx) + c * (dx * my - dy * mx)
    return ox, oy, oz


@kernel(inline=True)
def turn_by(R0, m, x, y, z, a, b, R):
    """`R[m] = exp(theta~) R0[m]`, theta = (x, y, z), a = sin(t)/t, b = (1-cos t)/t^2. Writes: R[m] (F18)."""
    for k in range(3):
        p, q, r = R0[m, 0, k], R0[m, 1, k], R0[m, 2, k]
        nx, ny, nz = y * r - z * q, z * p - x * r, x * q - y * p
        R[m, 0, k] = p + a * nx + b * (y * nz - z * ny)
        R[m, 1, k] = q + a * ny + b * (z * nx - x * nz)
        R[m, 2, k] = r + a * nz + b * (x * ny - y * nx)


@kernel(inline=True)
def weighted(columns, first, factors):
    """Sum of columns of six numbers, one behind the other, each with its factor."""
    s0 = s1 = s2 = s3 = s4 = s5 = 0.0
    for a in range(factors.shape[0]):
        o, factor = first + 6 * a, factors[a]
        s0 += factor * columns[o]
        s1 += factor * columns[o + 1]
        s2 += factor * columns[o + 2]
        s3 += factor * columns[o + 3]
        s4 += factor * columns[o + 4]
        s5 += factor * columns[o + 5]
    return s0, s1, s2, s3, s4, s5


@kernel(inline=True)
def add_weighted(data, K, factors, sign, out):
    """out += sign sum_b factors_b (column b of K_P), a column is as long as all rows of a marker (F17a).

    Two columns at a time: `out` is read and written half as often.
    """
    nf = factors.shape[0]
    n = 6 * nf
    for b in range(0, nf - 1, 2):
        o = K + n * b
        s, t, y, z = sign * factors[b], sign * factors[b + 1], data[o : o + n], data[o + n : o + 2 * n]
        for a in range(n):
            out[a] += s * y[a] + t * z[a]
    if nf % 2 == 1:
        s, y = sign * factors[nf - 1], data[K + n * (nf - 1) : K + n * nf]
        for a in range(n):
            out[a] += s * y[a]


@kernel(reassociate=True, lean=True, apart=True)
def marker_position(m, nf, rest, modes, at, pose, columns):
    """Place and axes of marker m in the body, and its elastic columns of L_P (F18, F17a).

    `rest` = (u0, R0), `modes` = (data, row, K), `at` = (q, iq): q starts at iq. Writes, all in body axes,
    into `pose` = (u, R, theta) and `columns` = (rows, ir): u[m] (3), R[m] (3, 3) body <- marker, theta[m]
    (3), and rows[ir : ir + 6 nf]: for every mode its columns of Phi(q) and of J Psi(q), none when row < 0.
    """
    (u0, R0), (data, row, K), (q, iq) = rest, modes, at
    (u, R, theta), (rows, ir) = pose, columns
    if row < 0:
        nf = 0
    q_b, L = q[iq : iq + nf], rows[ir : ir + 6 * nf]
    for c in range(6 * nf):
        L[c] = data[row + c]
    ux, uy, uz, x, y, z = weighted(L, 0, q_b)
    if K >= 0 and nf > 0:
        add_weighted(data, K, q_b, -1.0, L)
        vx, vy, vz, px, py, pz = weighted(L, 0, q_b)  # half of the change is in the place
        ux, uy, uz = 0.5 * (ux + vx), 0.5 * (uy + vy), 0.5 * (uz + vz)
        x, y, z = 0.5 * (x + px), 0.5 * (y + py), 0.5 * (z + pz)
    u[m, 0], u[m, 1], u[m, 2] = u0[m, 0] + ux, u0[m, 1] + uy, u0[m, 2] + uz
    theta[m, 0], theta[m, 1], theta[m, 2] = x, y, z
    t2 = x * x + y * y + z * z
    b, c, _b1, _c1 = jacobian_coefficients(t2)
    turn_by(R0, m, x, y, z, 1.0 - t2 * c, b, R)  # sin(t)/t
    for a in range(nf):
        px, py, pz = L[6 * a + 3], L[6 * a + 4], L[6 * a + 5]
        nx, ny, nz = y * pz - z * py, z * px - x * pz, x * py - y * px
        L[6 * a + 3] = px + b * nx + c * (y * nz - z * ny)
        L[6 * a + 4] = py + b * ny + c * (z * nx - x * nz)
        L[6 * a + 5] = pz + b * nz + c * (x * ny - y * nx)


@kernel(reassociate=True, lean=True, apart=True)
def marker_velocity(m, nf, modes, at, theta, columns, turn, out):
    """Relative velocity and bias of marker m from q_dot (F18, F17a).

    `modes` as for `marker_position`, `columns` = (rows, ir, scratch of 6 nf numbers), `at` = (q_dot, iq),
    `turn` = (R, i). theta[m] and rows are in the axes to which R[i] turns those of the body: both as they
    come and R[i] = 1, or all turned to ground. Writes out (12,) in those axes: Phi q_dot, w_rel, and the
    bias without its terms in w: `-q_dot^T K_P q_dot`, and `J_dot theta_dot` with the moments' part.
    """
    (data, row, K), (q_dot, iq), (rows, ir, K_rate), (R, i) = modes, at, columns, turn
    for k in range(12):
        out[k] = 0.0
    if row < 0:
        return
    d_b = q_dot[iq : iq + nf]
    out[0], out[1], out[2], wx, wy, wz = weighted(rows, ir, d_b)
    out[3], out[4], out[5] = wx, wy, wz
    x, y, z = theta[m, 0], theta[m, 1], theta[m, 2]
    ax, ay, az = rotation_bias(x, y, z, wx, wy, wz)
    if K >= 0:
        K_rate[: 6 * nf] = 0.0
        add_weighted(data, K, d_b, -1.0, K_rate)
        k0, k1, k2, k3, k4, k5 = weighted(K_rate, 0, d_b)
        for k in range(3):
            out[6 + k] = R[i, k, 0] * k0 + R[i, k, 1] * k1 + R[i, k, 2] * k2
        # J times the second-order part of theta_ddot
        px = R[i, 0, 0] * k3 + R[i, 0, 1] * k4 + R[i, 0, 2] * k5
        py = R[i, 1, 0] * k3 + R[i, 1, 1] * k4 + R[i, 1, 2] * k5
        pz = R[i, 2, 0] * k3 + R[i, 2, 1] * k4 + R[i, 2, 2] * k5
        b, c, _b1, _c1 = jacobian_coefficients(x * x + y * y + z * z)
        nx, ny, nz = y * pz - z * py, z * px - x * pz, x * py - y * px
        ax += px + b * nx + c * (y * nz - z * ny)
        ay += py + b * ny + c * (z * nx - x * nz)
        az += pz + b * nz + c * (x * ny - y * nx)
    out[9], out[10], out[11] = ax, ay, az


def pack_rows(Phi: np.ndarray, Psi: np.ndarray) -> np.ndarray:
    """Rows Phi, Psi (3, nf) of a marker as `data` holds them: six numbers per mode."""
    return np.ascontiguousarray(np.vstack([Phi, Psi]).T, dtype=float).ravel()
