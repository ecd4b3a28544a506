"""Compiled loops over shell cells: geometry and strains at the integration points, and stiffness.

The same strains in NumPy, which tests compare, are in tests/fe/shell_strains.py.
"""

from __future__ import annotations

from flexmbs._jit import kernel


@kernel(inline=True)
def _tangents(x, dN, A):
    """Derivatives of the surface of one cell with nodes x at one point. Writes: A (2, 3)."""
    for k in range(3):
        A[0, k] = 0.0
        A[1, k] = 0.0
    for a in range(len(dN)):
        for k in range(3):
            A[0, k] += dN[a, 0] * x[a, k]
            A[1, k] += dN[a, 1] * x[a, k]


@kernel(reassociate=True)
def geometry_loop(X, dN, centre, tangents, area, axes, inverse):
    """Tangents, area of the reference cell's unit, axes and derivatives along them at all points of cells X.

    x is the first tangent in the middle of the cell (derivatives `centre`), projected: the same at all points
    of a flat cell. Writes: tangents (cells, points, 2, 3), area (cells, points), axes (.., 3, 3), rows along,
    across, normal, inverse (.., 2, 2): derivatives along the axes out of those of the reference cell.
    """
    for e in range(len(X)):
        _tangents(X[e], centre, tangents[e, 0])
        x0, x1, x2 = tangents[e, 0, 0, 0], tangents[e, 0, 0, 1], tangents[e, 0, 0, 2]
        for p in range(len(dN)):
            A, R = tangents[e, p], axes[e, p]
            _tangents(X[e], dN[p], A)
            R[2, 0] = A[0, 1] * A[1, 2] - A[0, 2] * A[1, 1]
            R[2, 1] = A[0, 2] * A[1, 0] - A[0, 0] * A[1, 2]
            R[2, 2] = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
            area[e, p] = (R[2, 0] ** 2 + R[2, 1] ** 2 + R[2, 2] ** 2) ** 0.5
            for k in range(3):
                R[2, k] /= area[e, p]
            high = x0 * R[2, 0] + x1 * R[2, 1] + x2 * R[2, 2]
            R[0, 0], R[0, 1], R[0, 2] = x0 - high * R[2, 0], x1 - high * R[2, 1], x2 - high * R[2, 2]
            size = (R[0, 0] ** 2 + R[0, 1] ** 2 + R[0, 2] ** 2) ** 0.5
            for k in range(3):
                R[0, k] /= size
            R[1, 0] = R[2, 1] * R[0, 2] - R[2, 2] * R[0, 1]
            R[1, 1] = R[2, 2] * R[0, 0] - R[2, 0] * R[0, 2]
            R[1, 2] = R[2, 0] * R[0, 1] - R[2, 1] * R[0, 0]
            a = A[0, 0] * R[0, 0] + A[0, 1] * R[0, 1] + A[0, 2] * R[0, 2]
            b = A[0, 0] * R[1, 0] + A[0, 1] * R[1, 1] + A[0, 2] * R[1, 2]
            c = A[1, 0] * R[0, 0] + A[1, 1] * R[0, 1] + A[1, 2] * R[0, 2]
            d = A[1, 0] * R[1, 0] + A[1, 1] * R[1, 1] + A[1, 2] * R[1, 2]
            det = a * d - b * c
            inverse[e, p, 0, 0], inverse[e, p, 0, 1] = d / det, -b / det
            inverse[e, p, 1, 0], inverse[e, p, 1, 1] = -c / det, a / det


@kernel(inline=True)
def _surface_samples(x, dN, A, samples):
    """Stretch xx, yy, 2 xy of the reference cell at the ties. Writes: samples (ties, 3, n, 3), A."""
    for t in range(len(dN)):
        _tangents(x, dN[t], A)
        for a in range(dN.shape[1]):
            u, v = dN[t, a, 0], dN[t, a, 1]
            for k in range(3):
                samples[t, 0, a, k] = A[0, k] * u
                samples[t, 1, a, k] = A[1, k] * v
                samples[t, 2, a, k] = A[0, k] * v + A[1, k] * u


@kernel(inline=True)
def _across_samples(x, D, dN, N, A, samples):
    """Shear across the surface at the ties; N of what turns. Writes: samples (ties, 2, n_turn, 6), A."""
    for t in range(len(dN)):
        _tangents(x, dN[t], A)
        n0, n1, n2 = 0.0, 0.0, 0.0
        for a in range(dN.shape[1]):
            n0 += N[t, a] * D[a, 0]
            n1 += N[t, a] * D[a, 1]
            n2 += N[t, a] * D[a, 2]
        for i in range(2):
            for a in range(len(D)):
                row = samples[t, i, a]
                g = dN[t, a, i] if a < dN.shape[1] else 0.0
                row[0], row[1], row[2] = n0 * g, n1 * g, n2 * g
                row[3] = N[t, a] * (D[a, 1] * A[i, 2] - D[a, 2] * A[i, 1])
                row[4] = N[t, a] * (D[a, 2] * A[i, 0] - D[a, 0] * A[i, 2])
                row[5] = N[t, a] * (D[a, 0] * A[i, 1] - D[a, 1] * A[i, 0])


@kernel(inline=True)
def _turned_strains(V, first, second, u, v, row):
    """Rows xx, yy, 2 xy along the axes of one node's vectors `first`, `second`. Writes: row (3, 3)."""
    for k in range(3):
        xx, yy = first[k] * u, second[k] * v
        xy = first[k] * v + second[k] * u
        for c in range(3):
            row[c, k] = V[c, 0] * xx + V[c, 1] * yy + V[c, 2] * xy


@kernel(reassociate=True)
def strain_loop(X, D, tables, geometry, room, slopes, B):
    """Strains of nodal values of cells X with directors D of what turns: nodes, and the bubble of tri6.

    `tables` = (dN, N, d_turn, weights, surface, across), surface = (dN, weights) and across = (dN, N_turn,
    weights) at the ties; `geometry` as in `geometry_loop`; room = (A (2, 3), V (3, 3), surface samples,
    across samples, tied (n, 3), mean (3, n, 3)). Stretch is sampled at the ties, with the mean of that which
    is not: a state of constant stress sees the mean, so that distorted cells pass the patch test.
    Writes: slopes (cells, points, 2, n), B (cells, points, 9, n_turn, 6), room.
    """
    dN, N, d_turn, weights, (dN_s, W_s), (dN_a, N_a, W_a) = tables
    (tangents, area, axes, inverse), (A, V, S_s, S_a, tied, mean) = geometry, room
    n, n_turn, n_ties = X.shape[1], D.shape[1], len(dN_s)
    for e in range(len(X)):
        x, d = X[e], D[e]
        _surface_samples(x, dN_s, A, S_s)
        _across_samples(x, d, dN_a, N_a, A, S_a)
        total = 0.0
        for p in range(len(dN)):
            total += area[e, p] * weights[p]
        for c in range(3):
            for a in range(n):
                for k in range(3):
                    mean[c, a, k] = 0.0
        for p in range(len(dN)):
            inv, T, R, rows = inverse[e, p], tangents[e, p], axes[e, p], B[e, p]
            V[0, 0], V[0, 1], V[0, 2] = inv[0, 0] ** 2, inv[0, 1] ** 2, inv[0, 0] * inv[0, 1]
            V[1, 0], V[1, 1], V[1, 2] = inv[1, 0] ** 2, inv[1, 1] ** 2, inv[1, 0] * inv[1, 1]
            V[2, 0], V[2, 1] = 2.0 * inv[0, 0] * inv[1, 0], 2.0 * inv[0, 1] * inv[1, 1]
            V[2, 2] = inv[0, 0] * inv[1, 1] + inv[0, 1] * inv[1, 0]
            _tangents(d[:n], dN[p], A)
            for a in range(n):
                u, v = dN[p, a, 0], dN[p, a, 1]
                slopes[e, p, 0, a] = inv[0, 0] * u + inv[0, 1] * v
                slopes[e, p, 1, a] = inv[1, 0] * u + inv[1, 1] * v
                _turned_strains(V, T[0], T[1], u, v, rows[:3, a, :3])
                _turned_strains(V, A[0], A[1], u, v, rows[3:6, a, :3])
                g, h = slopes[e, p, 0, a], slopes[e, p, 1, a]
                for k in range(3):
                    rows[8, a, k] = 0.5 * (h * R[0, k] - g * R[1, k])
                    rows[8, a, 3 + k] = N[p, a] * R[2, k]
            for b in range(n_turn):
                for i in range(2):
                    A[i, 0] = d[b, 1] * T[i, 2] - d[b, 2] * T[i, 1]
                    A[i, 1] = d[b, 2] * T[i, 0] - d[b, 0] * T[i, 2]
                    A[i, 2] = d[b, 0] * T[i, 1] - d[b, 1] * T[i, 0]
                _turned_strains(V, A[0], A[1], d_turn[p, b, 0], d_turn[p, b, 1], rows[3:6, b, 3:])
            for c in range(2):
                for t in range(len(dN_a)):
                    for q in range(2):
                        w = inv[c, 0] * W_a[p, 0, t, q] + inv[c, 1] * W_a[p, 1, t, q]
                        if w != 0.0:
                            for b in range(n_turn):
                                for k in range(6):
                                    rows[6 + c, b, k] += w * S_a[t, q, b, k]
            if n_ties:
                share = area[e, p] * weights[p] / total
                for c in range(3):
                    for a in range(n):
                        for k in range(3):
                            mean[c, a, k] += share * rows[c, a, k]
                            tied[a, k] = 0.0
                    for t in range(n_ties):
                        for q in range(3):
                            w = (
                                V[c, 0] * W_s[p, 0, t, q]
                                + V[c, 1] * W_s[p, 1, t, q]
                                + V[c, 2] * W_s[p, 2, t, q]
                            )
                            if w != 0.0:
                                for a in range(n):
                                    for k in range(3):
                                        tied[a, k] += w * S_s[t, q, a, k]
                    for a in range(n):
                        for k in range(3):
                            rows[c, a, k] = tied[a, k]
                            mean[c, a, k] -= share * tied[a, k]
        if n_ties:
            for p in range(len(dN)):
                for c in range(3):
                    for a in range(n):
                        for k in range(3):
                            B[e, p, c, a, k] += mean[c, a, k]


@kernel(reassociate=True)
def condense_loop(inner, S, area, room, rows):
    """Strains with inner functions of least energy: rows less inner times what they follow the nodes by.

    inner (cells, points, 9, m), S (cells, points, 9, 9), room = (T (9,), G (m, m), W (m, N)).
    Writes: rows (cells, points, 9, N), room.
    """
    T, G, W = room
    m, n = W.shape
    for e in range(len(rows)):
        for i in range(m):
            for j in range(m):
                G[i, j] = 0.0
            for q in range(n):
                W[i, q] = 0.0
        for p in range(rows.shape[1]):
            for i in range(m):
                for r in range(9):
                    t = 0.0
                    for s in range(9):
                        t += S[e, p, r, s] * inner[e, p, s, i]
                    T[r] = t * area[e, p]
                for r in range(9):
                    if T[r] != 0.0:
                        for j in range(i + 1):
                            G[i, j] += T[r] * inner[e, p, r, j]
                        for q in range(n):
                            W[i, q] += T[r] * rows[e, p, r, q]
        for i in range(m):
            for j in range(i + 1):
                t = G[i, j]
                for k in range(j):
                    t -= G[i, k] * G[j, k]
                G[i, j] = t**0.5 if i == j else t / G[j, j]
            for k in range(i):
                for q in range(n):
                    W[i, q] -= G[i, k] * W[k, q]
            for q in range(n):
                W[i, q] /= G[i, i]
        for i in range(m - 1, -1, -1):
            for k in range(i + 1, m):
                for q in range(n):
                    W[i, q] -= G[k, i] * W[k, q]
            for q in range(n):
                W[i, q] /= G[i, i]
        for p in range(rows.shape[1]):
            for r in range(9):
                for i in range(m):
                    t = inner[e, p, r, i]
                    if t != 0.0:
                        for q in range(n):
                            rows[e, p, r, q] -= t * W[i, q]


@kernel(reassociate=True)
def shell_stiffness_loop(rows, S, area, pattern, room, upper):
    """Add int rows^T S rows of every cell to the pairs of the pattern = (nodes, which, loc).

    Writes: upper (n_pairs, 36), room = (SB (9, N), K (N, N)).
    """
    (nodes, which, loc), (SB, K) = pattern, room
    n = nodes.shape[1]
    for e in range(len(nodes)):
        for i in range(6 * n):
            for j in range(i, 6 * n):
                K[i, j] = 0.0
        for p in range(rows.shape[1]):
            at = rows[e, p]
            for r in range(9):
                for j in range(6 * n):
                    SB[r, j] = 0.0
                for q in range(9):
                    s = S[e, p, r, q] * area[e, p]
                    if s != 0.0:
                        for j in range(6 * n):
                            SB[r, j] += s * at[q, j]
            for i in range(6 * n):
                b0, b1, b2, b3, b4 = at[0, i], at[1, i], at[2, i], at[3, i], at[4, i]
                b5, b6, b7, b8 = at[5, i], at[6, i], at[7, i], at[8, i]
                for j in range(i, 6 * n):
                    K[i, j] += ((b0 * SB[0, j] + b1 * SB[1, j]) + (b2 * SB[2, j] + b3 * SB[3, j])) + (
                        (b4 * SB[4, j] + b5 * SB[5, j]) + ((b6 * SB[6, j] + b7 * SB[7, j]) + b8 * SB[8, j])
                    )
        pair = 0
        for a in range(n):
            for b in range(a, n):
                block = upper[loc[which[e], pair]]
                pair += 1
                turned = nodes[e, a] > nodes[e, b]
                for c in range(6):
                    for d in range(6):
                        i, j = 6 * a + c, 6 * b + d
                        block[6 * d + c if turned else 6 * c + d] += K[min(i, j), max(i, j)]
