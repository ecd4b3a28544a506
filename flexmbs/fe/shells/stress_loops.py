"""Compiled loops over shell cells for many fields at once: stress, and products for geometric stiffness."""

from __future__ import annotations

from flexmbs._jit import kernel


@kernel(reassociate=True)
def spread_stress_loop(eps, law, axes, spreading, room, total):
    """Add stresses of all points, turned to the axes of the mesh, to the targets of their cells (F53).

    eps (cells, points, 8 or 9, m); law (cells or 1, points or 1, 5, 8): stresses xx yy xy zx zy of strains,
    in the axes (cells, points, 3, 3); `spreading` = (weights, targets): weights (cells or 1, n_targets,
    points), targets (cells, n_targets) rows of the result.
    Writes: total (rows, 6, m), room = (C (8,), sigma (m,)).
    """
    (weights, targets), (C, sigma) = spreading, room
    for e in range(len(eps)):
        W = weights[e if len(weights) > 1 else 0]
        of_cell = law[e if len(law) > 1 else 0]
        for p in range(eps.shape[1]):
            F, R = of_cell[p if len(of_cell) > 1 else 0], axes[e, p]
            for r in range(6):
                i, j = (r, r) if r < 3 else (r - 3, (r - 2) % 3)
                xx, yy = R[0, i] * R[0, j], R[1, i] * R[1, j]
                xy = R[0, i] * R[1, j] + R[1, i] * R[0, j]
                zx = R[0, i] * R[2, j] + R[2, i] * R[0, j]
                zy = R[1, i] * R[2, j] + R[2, i] * R[1, j]
                for s in range(8):
                    C[s] = (xx * F[0, s] + yy * F[1, s]) + (xy * F[2, s] + zx * F[3, s]) + zy * F[4, s]
                for k in range(len(sigma)):
                    sigma[k] = 0.0
                for s in range(8):
                    if C[s] != 0.0:
                        for k in range(len(sigma)):
                            sigma[k] += C[s] * eps[e, p, s, k]
                for q in range(targets.shape[1]):
                    row, w = total[targets[e, q], r], W[q, p]
                    for k in range(len(sigma)):
                        row[k] += w * sigma[k]


@kernel(inline=True)
def _slopes(values, directors, slopes, N, H):
    """Slopes of displacement and of theta x n, and that itself, at one point. Writes: H (5, 3, nf)."""
    for i in range(5):
        for k in range(3):
            for m in range(H.shape[2]):
                H[i, k, m] = 0.0
    for a in range(len(values)):
        u, n = values[a], directors[a]
        for k in range(3):
            g, h = (k + 1) % 3, (k + 2) % 3
            for m in range(H.shape[2]):
                fibre = u[3 + g, m] * n[h] - u[3 + h, m] * n[g]
                H[0, k, m] += slopes[0, a] * u[k, m]
                H[1, k, m] += slopes[1, a] * u[k, m]
                H[2, k, m] += slopes[0, a] * fibre
                H[3, k, m] += slopes[1, a] * fibre
                H[4, k, m] += N[a] * fibre


@kernel(reassociate=True)
def mode_products_loop(nodes, Phi, points, r2, room, products):
    """Products of mode pairs a <= b that forces, moments and shear forces of the section go with (F17).

    Phi (n_nodes, 6, nf); `points` = (directors, slopes, N); r2 : second moment of the section, of its area;
    room = (values (n, 6, nf), H (5, 3, nf)).
    Writes: products (cells, points, 8, pairs) of forces and moments xx yy xy, shear forces zx zy; room.
    """
    (directors, slopes, N), (values, H) = points, room
    nf = Phi.shape[2]
    for e in range(len(nodes)):
        for a in range(nodes.shape[1]):
            for c in range(6):
                for m in range(nf):
                    values[a, c, m] = Phi[nodes[e, a], c, m]
        for p in range(len(N)):
            _slopes(values, directors[e], slopes[e, p], N[p], H)
            P = products[e, p]
            for r in range(8):
                for q in range(P.shape[1]):
                    P[r, q] = 0.0
            for k in range(3):
                q = 0
                for a in range(nf):
                    x, y, s, t, d = H[0, k, a], H[1, k, a], H[2, k, a], H[3, k, a], H[4, k, a]
                    for b in range(nf - a):
                        X, Y, S, T = H[0, k, a + b], H[1, k, a + b], H[2, k, a + b], H[3, k, a + b]
                        D = H[4, k, a + b]
                        P[0, q + b] += x * X + r2 * s * S
                        P[1, q + b] += y * Y + r2 * t * T
                        P[2, q + b] += x * Y + y * X + r2 * (s * T + t * S)
                        P[3, q + b] += x * S + s * X
                        P[4, q + b] += y * T + t * Y
                        P[5, q + b] += x * T + s * Y + y * S + t * X
                        P[6, q + b] += x * D + d * X
                        P[7, q + b] += y * D + d * Y
                    q += nf - a
