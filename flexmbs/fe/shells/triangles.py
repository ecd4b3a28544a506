"""Flat triangles: stretch with drilling freedoms by assumed natural deviatoric strains (Felippa's optimal
triangle), constant curvature, shear across by constant tangential shear along each side (MITC3).

The same in NumPy, which tests compare, is in tests/fe/shell_strains.py.
"""

from __future__ import annotations

import numpy as np

from flexmbs._jit import kernel

ALPHA = 1.5
#: of the three nodes' turns in the strains along the three sides, at node 1; nodes 2 and 3 by turning the
#: triangle
BETA = np.array([[1.0, 2.0, 1.0], [0.0, 1.0, -1.0], [-1.0, -1.0, -2.0]])
#: the same at the middle of the side from node p to the next (p, side, node)
MIDDLES = np.array([0.5 * (np.roll(BETA, p, (0, 1)) + np.roll(BETA, p + 1, (0, 1))) for p in range(3)])
#: shear along both reference coordinates (point, 2, side) of that along the sides 1-2, 2-3, 3-1
ACROSS = np.array(
    [
        [[1.0, 0.0, 0.0], [0.5, 0.5, -0.5]],
        [[0.5, -0.5, -0.5], [0.5, 0.5, -0.5]],
        [[0.5, -0.5, -0.5], [0.0, 0.0, -1.0]],
    ]
)
#: least squared scale of the higher strains over 1.5^2
LEAST = 0.01


@kernel(inline=True)
def _facet(X, R, x, y):
    """Nodes in the axes R of the facet. Writes: x, y. Returns the area."""
    for n in range(3):
        x[n] = X[n, 0] * R[0, 0] + X[n, 1] * R[0, 1] + X[n, 2] * R[0, 2]
        y[n] = X[n, 0] * R[1, 0] + X[n, 1] * R[1, 1] + X[n, 2] * R[1, 2]
    return 0.5 * ((x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]))


@kernel(inline=True)
def _sides(x, y, cosines, back):
    """Squared lengths of the sides 1-2, 2-3, 3-1, and strains xx yy 2xy (3, 3) of the stretch along them.

    Writes: cosines (4, 3), whose last row are the lengths, and back.
    """
    for s in range(3):
        dx, dy = x[(s + 1) % 3] - x[s], y[(s + 1) % 3] - y[s]
        length2 = dx * dx + dy * dy
        cosines[s, 0], cosines[s, 1], cosines[s, 2] = dx * dx / length2, dy * dy / length2, dx * dy / length2
        cosines[3, s] = length2
    det = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for r in range(3):
            g, h = (r + 1) % 3, (r + 2) % 3
            back[r, i] = cosines[j, g] * cosines[k, h] - cosines[j, h] * cosines[k, g]
        det += cosines[i, 0] * back[0, i]
    for i in range(3):
        for r in range(3):
            back[r, i] /= det


@kernel(inline=True)
def _turns(x, y, area, poisson, room, turn):
    """Strains of the nodes' turns: the mean is linear along each side as a beam's, the rest linear in the
    triangle. Writes: turn (point, 3, node), room = (cosines (4, 3), back (3, 3))."""
    cosines, back = room
    _sides(x, y, cosines, back)
    scale = area * max(0.5 * (1.0 - 4.0 * poisson**2), LEAST) ** 0.5
    share = 0.5 * ALPHA / area
    for s in range(3):
        for r in range(3):
            back[r, s] *= scale / cosines[3, s]
    for n in range(3):
        j, k = (n + 1) % 3, (n + 2) % 3
        y_jk, x_kj = y[j] - y[k], x[k] - x[j]
        xx = share * (y_jk * ((y[n] - y[k]) - (y[j] - y[n])) / 6.0)
        yy = share * (x_kj * ((x[k] - x[n]) - (x[n] - x[j])) / 6.0)
        xy = share * (((x[k] - x[n]) * (y[n] - y[k]) - (x[n] - x[j]) * (y[j] - y[n])) / 3.0)
        for p in range(3):
            turn[p, 0, n], turn[p, 1, n], turn[p, 2, n] = xx, yy, xy
            for s in range(3):
                for r in range(3):
                    turn[p, r, n] += back[r, s] * MIDDLES[p, s, n]


@kernel(inline=True)
def _bend(gx, gy, R, n, B):
    """Curvature of the turn of node n, whose shape function has the slopes gx, gy. Writes: B (9, 18)."""
    for k in range(3):
        at, turn = 3 * k + n, 9 + 3 * k + n
        B[3, at], B[4, at], B[5, at] = 0.0, 0.0, 0.0
        B[3, turn], B[4, turn] = gx * R[1, k], -gy * R[0, k]
        B[5, turn] = gy * R[1, k] - gx * R[0, k]


@kernel(inline=True)
def _shear(x, y, inverse, R, p, B):
    """Shear across at the middle of side p; `inverse` of twice the area. Writes: B (9, 18)."""
    for c in range(2):
        u = inverse * (y[2] - y[0] if c == 0 else x[0] - x[2])
        v = inverse * (y[0] - y[1] if c == 0 else x[1] - x[0])
        for n in range(3):
            i, j = (n + 1) % 3, (n + 2) % 3
            # sides from node n, and to it
            f, t = u * ACROSS[p, 0, n] + v * ACROSS[p, 1, n], u * ACROSS[p, 0, j] + v * ACROSS[p, 1, j]
            dx = 0.5 * (f * (x[i] - x[n]) + t * (x[n] - x[j]))
            dy = 0.5 * (f * (y[i] - y[n]) + t * (y[n] - y[j]))
            for k in range(3):
                B[6 + c, 3 * k + n] = (t - f) * R[2, k]
                B[6 + c, 9 + 3 * k + n] = dx * R[1, k] - dy * R[0, k]


@kernel(reassociate=True)
def triangle_loop(X, axes, poisson, share, room, slopes, rows):
    """Strains of flat triangles at the middles of their sides.

    X (cells, 3, 3); axes (cells, points, 3, 3), rows x, y, normal; poisson (cells or 1,); share (cells, 3) of
    the turn about the normal that each node gives to stretch. Such turns count from the rotation of the
    facet, so that rigid motions strain nothing whatever the share.
    Writes: slopes (cells, 3, 2, 3), rows (cells, 3, 9, 18), columns 6 by n,
    room = (x (3,), y (3,), cosines (4, 3), back (3, 3), turn (3, 3, 3)).
    """
    x, y, cosines, back, turn = room
    for e in range(len(X)):
        R = axes[e, 0]
        area = _facet(X[e], R, x, y)
        inverse = 0.5 / area
        _turns(x, y, area, poisson[e if len(poisson) > 1 else 0], (cosines, back), turn)
        for n in range(3):
            gx, gy = inverse * (y[(n + 1) % 3] - y[(n + 2) % 3]), inverse * (x[(n + 2) % 3] - x[(n + 1) % 3])
            for p in range(3):
                slopes[e, p, 0, n], slopes[e, p, 1, n] = gx, gy
                for r in range(3):
                    turn[p, r, n] *= share[e, n]
                _bend(gx, gy, R, n, rows[e, p])
        for p in range(3):
            B = rows[e, p]
            for r in range(3):
                # the turn of the facet counts against that of the nodes
                half = 0.5 * (turn[p, r, 0] + turn[p, r, 1] + turn[p, r, 2])
                for n in range(3):
                    gx, gy = slopes[e, p, 0, n], slopes[e, p, 1, n]
                    u = (gx if r == 0 else (gy if r == 2 else 0.0)) + half * gy
                    v = (gy if r == 1 else (gx if r == 2 else 0.0)) - half * gx
                    for k in range(3):
                        B[r, 3 * k + n] = u * R[0, k] + v * R[1, k]
                        B[r, 9 + 3 * k + n] = turn[p, r, n] * R[2, k]
            _shear(x, y, inverse, R, p, B)
            B[8] = 0.0


@kernel
def share_loop(nodes, X, D, thickness, least, share):
    """As `drilling_share`. Writes: share (cells, 3), least (n_nodes,), ones at first."""
    for e in range(len(X)):
        x, y, z = X[e, 0], X[e, 1], X[e, 2]
        a0, a1, a2, b0, b1, b2 = y[0] - x[0], y[1] - x[1], y[2] - x[2], z[0] - x[0], z[1] - x[1], z[2] - x[2]
        n0, n1, n2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
        twice = (n0 * n0 + n1 * n1 + n2 * n2) ** 0.5
        for n in range(3):
            v = D[e, n]
            angle2 = max(2.0 - 2.0 * (v[0] * n0 + v[1] * n1 + v[2] * n2) / twice, 0.0)
            here = 1.0 / (1.0 + angle2 * twice / thickness[e] ** 2)
            least[nodes[e, n]] = min(least[nodes[e, n]], here)
    for e in range(len(X)):
        for n in range(3):
            share[e, n] = least[nodes[e, n]]


@kernel
def soften_loop(X, t2, soften, S):
    """Soften shear of thin triangles by t^2 / (t^2 + soften h^2). Writes: S (cells, 1, 9, 9)."""
    for e in range(len(X)):
        h2 = 0.0
        for n in range(3):
            side2 = 0.0
            for k in range(3):
                side2 += (X[e, n, k] - X[e, n - 1, k]) ** 2
            h2 = max(h2, side2)
        for p in range(S.shape[1]):
            for i in range(6, 8):
                for j in range(6, 8):
                    S[e, p, i, j] *= t2 / (t2 + soften * h2)
