"""Compiled loops over shell cells for many fields at once: stress, and products for geometric stiffness."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs._simd import LANES, product
from flexmbs.fe.shells.loops import condense

_two, _three, _six, _eight = product(2), product(3), product(6), product(8)


@kernel(inline=True)
def _turns(R, M):
    """Stress xx yy zz xy yz zx in the axes of the mesh out of xx yy xy zx zy in axes R. Writes: M (5, 6)."""
    for r in range(6):
        i, j = (r, r) if r < 3 else (r - 3, (r - 2) % 3)
        M[0, r], M[1, r] = R[0, i] * R[0, j], R[1, i] * R[1, j]
        M[2, r] = R[0, i] * R[1, j] + R[1, i] * R[0, j]
        M[3, r] = R[0, i] * R[2, j] + R[2, i] * R[0, j]
        M[4, r] = R[1, i] * R[2, j] + R[2, i] * R[1, j]


@kernel(inline=True)
def _turned(F, M, s, r):
    """Stress r of strain s: F (5, 8) in the axes of a point, turned by M (5, 6)."""
    return F[0, s] * M[0, r] + F[1, s] * M[1, r] + F[2, s] * M[2, r] + F[3, s] * M[3, r] + F[4, s] * M[4, r]


@kernel(inline=True)
def _copied(values, n, to):
    """Writes: the first n of `to`."""
    for i in range(n):
        to[i] = values[i]


@kernel(reassociate=True)
def face_stress_loop(strains, nodes, U, section, spreading, room, total):
    """Add stresses of fields at a face of the section, in the axes of the mesh, to the targets of their cells
    (F53).

    `strains` = (rows (cells, points, 9, 6 n), and the `inner` and `section` of `condense`); U (6 n_nodes, m);
    `section` = (law, used, stretch, axes): law (cells or 1, points or 1, 5, 8), stresses xx yy xy zx zy of
    strains in the axes (cells, points, 3, 3), of which those `used` give any, from the last to the first;
    stretch = (number of these that are stretch, columns of rows that it has); `spreading` = (fit, shape,
    targets): fit (cells or 1, q, points) of q numbers to the points, whose shapes (n_targets, q) are summed
    at targets (cells, n_targets), rows of the result. The q stresses of nodal values come first, then those
    of the fields: there are fewer of them than strains.
    Writes: total (rows, 6, m), room = (B (INNER or 0 and points used, 6 n), inside (points used, LANES or 0),
    W (as B, columns), T (6 n, columns), own (6 n, columns), sigma (6 q, columns), M (5, 6), coupling (INNER
    or 0, 6 n), few as in `condense`), columns by eights, those of W zero at first.
    """
    (law, used, stretch, axes), (fit, shape, targets) = section, spreading
    (rows, inner, resultants), (B, inside, W, T, own, sigma, M, coupling, few) = strains, room
    n, m, n_q = nodes.shape[1], U.shape[1], shape.shape[1]
    n_rows, n_in, n_points, width = rows.shape[3], len(coupling), rows.shape[1], W.shape[1]
    (n_stretch, stretching), of_inner = stretch, inner[0]
    for e in range(len(nodes)):
        of_cell, weights = law[e if len(law) > 1 else 0], fit[e if len(fit) > 1 else 0]
        if n_in:
            condense(e, inner, resultants, rows, few, coupling, B, 0)
        for p in range(n_points):
            F = of_cell[p if len(of_cell) > 1 else 0]
            _turns(axes[e, p], M)
            for s in range(len(used)):
                k = n_in + s * n_points + p
                _copied(rows[e, p, used[s]], n_rows, B[k])
                _copied(of_inner[e, p, used[s]], of_inner.shape[3], inside[k - n_in])
                xx, yy, zz = _turned(F, M, used[s], 0), _turned(F, M, used[s], 1), _turned(F, M, used[s], 2)
                xy, yz, zx = _turned(F, M, used[s], 3), _turned(F, M, used[s], 4), _turned(F, M, used[s], 5)
                for q in range(n_q):
                    w, row = weights[q, p], W[k, 6 * q : 6 * q + 6]
                    row[0], row[1], row[2] = w * xx, w * yy, w * zz
                    row[3], row[4], row[5] = w * xy, w * yz, w * zx
        for a in range(n):
            for c in range(6):
                _copied(U[6 * nodes[e, a] + c], m, own[c * n + a])
        for i in range(0, n_in, 6):
            for j in range(0, width, LANES):
                _six(W, i * width + j, width, inside, i, LANES, W, n_in * width + j, width, len(inside))
        for i in range(0, n_rows, 6):
            n_sums = len(B) if i < stretching else len(B) - n_stretch * n_points
            for j in range(0, width, LANES):
                _six(T, i * width + j, width, B, i, n_rows, W, j, width, n_sums)
        for q in range(n_q):
            for j in range(0, own.shape[1], LANES):
                to = 6 * q * own.shape[1] + j
                _six(sigma, to, own.shape[1], T, 6 * q, width, own, j, own.shape[1], n_rows)
        for t in range(targets.shape[1]):
            at = total[targets[e, t]]
            for q in range(n_q):
                w = shape[t, q]
                if w != 0.0:
                    for r in range(6):
                        for k in range(m):
                            at[r, k] += w * sigma[6 * q + r, k]


@kernel(inline=True)
def _fibres(nodes, directors, Phi, values):
    """Displacements of the nodes of a cell, and theta x n. Writes: values (2, 3, n, columns)."""
    for a in range(len(nodes)):
        u, n = Phi[nodes[a]], directors[a]
        for k in range(3):
            g, h = (k + 1) % 3, (k + 2) % 3
            of, fibre = values[0, k, a], values[1, k, a]
            x, y, v, w = n[h], n[g], u[3 + g], u[3 + h]
            for m in range(u.shape[1]):
                of[m] = u[k, m]
                fibre[m] = v[m] * x - w[m] * y


@kernel(inline=True)
def _slopes(values, at, H):
    """Slopes of displacement and of theta x n, and that itself, at one point: xystd. Writes: H (15, .)."""
    n, width = values.shape[2], values.shape[3]
    for k in range(3):
        for j in range(0, width, LANES):
            _two(H, k * width + j, 3 * width, at, 0, 3, values, k * n * width + j, width, n)
            _three(H, (6 + k) * width + j, 3 * width, at, 0, 3, values, (3 + k) * n * width + j, width, n)


@kernel(inline=True)
def _coefficients(H, a, r2, C):
    """What products with mode a take of the rows of H. Writes: C (15, 8), whose other entries are zero."""
    for k in range(3):
        x, y, s, t, d = H[k, a], H[3 + k, a], H[6 + k, a], H[9 + k, a], H[12 + k, a]
        C[k, 0], C[6 + k, 0] = x, r2 * s
        C[3 + k, 1], C[9 + k, 1] = y, r2 * t
        C[k, 2], C[3 + k, 2], C[6 + k, 2], C[9 + k, 2] = y, x, r2 * t, r2 * s
        C[k, 3], C[6 + k, 3] = s, x
        C[3 + k, 4], C[9 + k, 4] = t, y
        C[k, 5], C[3 + k, 5], C[6 + k, 5], C[9 + k, 5] = t, s, y, x
        C[k, 6], C[12 + k, 6] = d, x
        C[3 + k, 7], C[12 + k, 7] = d, y


@kernel(reassociate=True)
def mode_products_loop(nodes, Phi, points, r2, room, products):
    """Products of mode pairs a <= b that forces, moments and shear forces of the section go with (F17).

    Phi (n_nodes, 6, nf); `points` = (directors, slopes, N); r2 : second moment of the section, of its area;
    room = (values (2, 3, n, columns), at (n, 3), H (15, columns), C (15, 8)), zero at first, of whole vectors
    that begin below nf. Each row of `products` is written from left to right in whole vectors, whose rest the
    next pairs overwrite, and at the end what stands there is of no use.
    Writes: products (cells, points, 8, pairs and `LANES` more) of forces and moments xx yy xy, shear forces
    zx zy; room.
    """
    (directors, slopes, N), (values, at, H, C) = points, room
    nf, width, n_points, wide = Phi.shape[2], H.shape[1], len(N), products.shape[3]
    for e in range(len(nodes)):
        _fibres(nodes[e], directors[e], Phi, values)
        for p in range(n_points):
            for a in range(nodes.shape[1]):
                at[a, 0], at[a, 1], at[a, 2] = slopes[e, p, 0, a], slopes[e, p, 1, a], N[p, a]
            _slopes(values, at, H)
            to = (e * n_points + p) * 8 * wide
            for a in range(nf):
                _coefficients(H, a, r2, C)
                for b in range(a, nf, LANES):
                    _eight(products, to + b - a, wide, C, 0, 8, H, b, width, 15)
                to += nf - a
