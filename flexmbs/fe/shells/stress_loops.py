"""Compiled loops over shell cells for many fields at once: stress, and products for geometric stiffness."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs._simd import LANES, product
from flexmbs.fe.shells.loops import INNER, couple, few, pair

_two, _three, _six, _eight = product(2), product(3), product(6), product(8)


@kernel(inline=True)
def _turns(R, M):
    """Stress xx yy zz xy yz zx in the axes of the mesh out of xx yy xy zx zy in axes R. Writes: M (5, 6 and
    more)."""
    for r in range(6):
        i, j = (r, r) if r < 3 else (r - 3, (r - 2) % 3)
        M[0, r], M[1, r] = R[0, i] * R[0, j], R[1, i] * R[1, j]
        M[2, r] = R[0, i] * R[1, j] + R[1, i] * R[0, j]
        M[3, r] = R[0, i] * R[2, j] + R[2, i] * R[0, j]
        M[4, r] = R[1, i] * R[2, j] + R[2, i] * R[1, j]


@kernel(inline=True)
def _laws(F, M, groups, law):
    """Stress in the axes of the mesh of the strains of `groups`, by F (5, 8) in the axes of a point, turned
    by M (5, LANES). Writes: law (strains, LANES)."""
    to = 0
    for g in range(len(groups)):
        first, size = groups[g]
        if size == 3:
            _three(law, to * LANES, LANES, F, first, 1, 8, M, 0, LANES, 5)
        else:
            _two(law, to * LANES, LANES, F, first, 1, 8, M, 0, LANES, 5)
        to += size


@kernel(inline=True)
def _point_strains(rows, at, step, groups, numbers, fields, eps, to):
    """Strains of `groups` of fields, from row `to` of eps on, by rows from the place `at` on, `step` apart:
    of stretch by the first of `numbers` of columns, others by the second. Writes: eps."""
    width = eps.shape[1]
    for g in range(len(groups)):
        first, size = groups[g]
        n, start = numbers[0] if first == 0 else numbers[1], at + first * step
        for j in range(0, width, LANES):
            if size == 3:
                _three(eps, to * width + j, width, rows, start, step, 1, fields, j, width, n)
            else:
                _two(eps, to * width + j, width, rows, start, step, 1, fields, j, width, n)
        to += size


@kernel(inline=True)
def _copied(values, n, to):
    """Writes: the first n of `to`."""
    for i in range(n):
        to[i] = values[i]


@kernel(reassociate=True)
def face_stress_loop(strains, nodes, U, section, spreading, room, total):
    """Add stresses of fields at a face of the section, in the axes of the mesh, to the targets of their cells
    (F53).

    `strains` = (rows (cells, points, 9, 6 n), and the `inner` and `section` of `couple`); U (6 n_nodes, m);
    `section` = (law, groups, stretching, axes): law (cells or 1, points or 1, 5, 8), stresses xx yy xy zx zy
    of strains in the axes (cells, points, 3, 3), of which those of `groups` (first, number) give any:
    stretch, curvature, shear; columns of rows that stretch; `spreading` = (fit, shape, targets): fit (cells
    or 1, q, points) of q numbers, which are even, to the points, whose shapes (n_targets, q) are summed
    at targets (cells, n_targets), rows of the result.
    Writes: total (rows, 6 m), room = (own (6 n, columns), eps (strains, twice with inner functions,
    columns), laws (as eps, LANES), sigma (points, 6 m and more), sums (q, as sigma), M (5, LANES), coupling
    (INNER or 0, 6 n), amounts (2, INNER or 0, columns), few as in `couple`), columns by eights, own and M
    zero at first.
    """
    (law, groups, stretching, axes), (fit, shape, targets) = section, spreading
    (rows, inner, resultants), (own, eps, laws, sigma, sums, M, coupling, amounts, few_room) = strains, room
    n, m, width, wide = nodes.shape[1], U.shape[1], own.shape[1], sigma.shape[1]
    n_rows, n_points, (of_inner, n_inner) = rows.shape[3], rows.shape[1], inner
    n_strains = len(eps) // 2 if n_inner else len(eps)
    for e in range(len(nodes)):
        of_cell, weights = law[e if len(law) > 1 else 0], fit[e if len(fit) > 1 else 0]
        for a in range(n):
            for c in range(6):
                _copied(U[6 * nodes[e, a] + c], m, own[c * n + a])
        if n_inner:
            couple(e, inner, resultants, rows, few_room, coupling, 0)
            for j in range(0, width, LANES):
                if n_inner > 2:
                    few(amounts, j, width, coupling, 0, n_rows, 1, own, j, width, n_rows)
                else:
                    pair(amounts, j, width, coupling, 0, n_rows, 1, own, j, width, n_rows)
                few(amounts, INNER * width + j, width, few_room[2], 0, 1, LANES, amounts, j, width, n_inner)
        for p in range(n_points):
            _turns(axes[e, p], M)
            _laws(of_cell[p if len(of_cell) > 1 else 0], M, groups, laws)
            at = 9 * (e * n_points + p)
            _point_strains(rows, at * n_rows, n_rows, groups, (stretching, n_rows), own, eps, 0)
            if n_inner:
                laws[n_strains:] = laws[:n_strains]
                both = n_inner, n_inner
                _point_strains(of_inner, at * LANES, LANES, groups, both, amounts[1], eps, n_strains)
            for j in range(width - LANES, -1, -LANES):  # what is beyond m is overwritten
                _six(sigma, p * wide + j, m, laws, 0, 1, LANES, eps, j, width, len(eps))
        for q in range(0, len(sums), 2):
            for j in range(0, wide, LANES):
                _two(sums, q * wide + j, wide, weights, q * n_points, n_points, 1, sigma, j, wide, n_points)
        for t in range(targets.shape[1]):
            to = total[targets[e, t]]
            for q in range(shape.shape[1]):
                w, of = shape[t, q], sums[q]
                if w != 0.0:
                    for k in range(6 * m):
                        to[k] += w * of[k]


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
            _two(H, k * width + j, 3 * width, at, 0, 1, 3, values, k * n * width + j, width, n)
            _three(H, (6 + k) * width + j, 3 * width, at, 0, 1, 3, values, (3 + k) * n * width + j, width, n)


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
                    _eight(products, to + b - a, wide, C, 0, 1, 8, H, b, width, 15)
                to += nf - a
