"""Compiled loops over shell cells: geometry and strains at the integration points, and stiffness.

The same strains in NumPy, which tests compare, are in tests/fe/shell_strains.py.
"""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs._simd import LANES, product


@kernel(inline=True)
def _tangents(x, dN, A):
    """Derivatives of the surface of one cell with nodes x at one point. Writes: A (2, 3)."""
    u0, u1, u2, v0, v1, v2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(len(dN)):
        u, v, x0, x1, x2 = dN[a, 0], dN[a, 1], x[a, 0], x[a, 1], x[a, 2]
        u0 += u * x0
        u1 += u * x1
        u2 += u * x2
        v0 += v * x0
        v1 += v * x1
        v2 += v * x2
    A[0, 0], A[0, 1], A[0, 2] = u0, u1, u2
    A[1, 0], A[1, 1], A[1, 2] = v0, v1, v2


@kernel(reassociate=True)
def geometry_loop(X, dN, centre, A, area, axes, inverse):
    """Area of the reference cell's unit, axes and derivatives along them at all points of cells X.

    x is the first tangent in the middle of the cell (derivatives `centre`), projected: the same at all points
    of a flat cell. Writes: area (cells, points), axes (.., 3, 3), rows along, across, normal, inverse
    (.., 2, 2): derivatives along the axes out of those of the reference cell; A (2, 3).
    """
    for e in range(len(X)):
        _tangents(X[e], centre, A)
        x0, x1, x2 = A[0, 0], A[0, 1], A[0, 2]
        for p in range(len(dN)):
            R = axes[e, p]
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


@kernel(reassociate=True)
def normals_loop(X, dN, A, normals):
    """Unit normals of cells X at points with derivatives dN. Writes: normals (cells, points, 3), A (2, 3)."""
    for e in range(len(X)):
        for p in range(len(dN)):
            v = normals[e, p]
            _tangents(X[e], dN[p], A)
            v[0] = A[0, 1] * A[1, 2] - A[0, 2] * A[1, 1]
            v[1] = A[0, 2] * A[1, 0] - A[0, 0] * A[1, 2]
            v[2] = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
            size = (v[0] ** 2 + v[1] ** 2 + v[2] ** 2) ** 0.5
            for k in range(3):
                v[k] /= size


@kernel
def smooth_loop(node, vector, fold, sums, rest, result):
    """Means of normals at nodes over those of `rest` that are smooth with the first there, up to its side.

    vector (n, 3) at nodes (n,); smooth where the cosine is above `fold`. Writes: result (n, 3) of those, rest
    (n,) without them, sums = (first (n_nodes,), -1 at first, total (n_nodes, 3), zero at first).
    """
    first, total = sums
    for turn in range(2):
        for p in range(len(node)):
            if rest[p]:
                i, v = node[p], vector[p]
                if first[i] < 0:
                    first[i] = p
                w, t = vector[first[i]], total[i]
                cosine = v[0] * w[0] + v[1] * w[1] + v[2] * w[2]
                if abs(cosine) >= fold:
                    side = 1.0 if cosine >= 0.0 else -1.0
                    if turn == 0:
                        for k in range(3):
                            t[k] += side * v[k]
                    else:
                        size = max((t[0] * t[0] + t[1] * t[1] + t[2] * t[2]) ** 0.5, 1e-300)
                        for k in range(3):
                            result[p, k] = side * t[k] / size
                        rest[p] = False


@kernel(inline=True)
def _slopes_of(x, dN, A):
    """Derivatives (2, 3) of a field x (3, n). Writes: A."""
    for k in range(3):
        u, v = 0.0, 0.0
        for a in range(dN.shape[1]):
            u += dN[0, a] * x[k, a]
            v += dN[1, a] * x[k, a]
        A[0, k], A[1, k] = u, v


#: 6 n is a multiple of the rows of a tile
_tile, pair = product(6), product(2)


@kernel(inline=True)
def _surface_samples(both, ties, kept, A, samples):
    """Stretch of the reference cell along the directions of the ties: columns of the nodes that are `kept`,
    component by component, then of one that is not.

    both (n, LANES): nodes, and their directors. Writes: samples (ties, 3 n), A (2, LANES).
    """
    dN, along = ties[0], ties[1]
    n = dN.shape[2]
    for t in range(len(dN)):
        pair(A, 0, LANES, dN, 2 * t * n, n, 1, both, 0, LANES, n)
        for k in range(3):
            p, q, at = A[0, k], A[1, k], k * kept
            for a in range(kept):
                samples[t, at + a] = p * along[t, 0, a] + q * along[t, 1, a]
            for a in range(kept, n):
                samples[t, 3 * kept + k] = p * along[t, 0, a] + q * along[t, 1, a]


@kernel(inline=True)
def _across_samples(both, D, ties, kept, A, samples):
    """Shear across the surface along the directions of the ties: columns of displacements and turns of the
    nodes that are `kept`, then of what is not. Writes: samples (ties, 3 n + 3 n_turn), A."""
    slope, N, at_ties = ties[0], ties[1], ties[4]
    n = slope.shape[1]
    for t in range(len(slope)):
        pair(A, 0, LANES, at_ties, 2 * t * n, n, 1, both, 0, LANES, n)
        A0, A1, A2, d0, d1, d2 = A[0, 0], A[0, 1], A[0, 2], A[1, 3], A[1, 4], A[1, 5]
        for a in range(n):
            at, step, u = a if a < kept else 6 * kept, kept if a < kept else 1, slope[t, a]
            samples[t, at], samples[t, at + step], samples[t, at + 2 * step] = d0 * u, d1 * u, d2 * u
        for b in range(N.shape[1]):
            at, step = (3 * kept + b, kept) if b < kept else (6 * kept + 3 * (n - kept), 1)
            v, x0, x1, x2 = N[t, b], D[0, b], D[1, b], D[2, b]
            samples[t, at] = v * (x1 * A2 - x2 * A1)
            samples[t, at + step] = v * (x2 * A0 - x0 * A2)
            samples[t, at + 2 * step] = v * (x0 * A1 - x1 * A0)


@kernel(inline=True)
def _tied(weights, spans, samples, values):
    """Weighted samples: all points of a component, by sixes, behind those of another. Writes: values (rows,
    columns by eights)."""
    n_rows, width = weights.shape[1], values.shape[1]
    for t in range(len(spans)):
        i, first, number = 6 * t, spans[t, 0], spans[t, 1] - spans[t, 0]
        at = first * n_rows + i
        for j in range(0, width, LANES):
            to, source = i * width + j, first * width + j
            _tile(values, to, width, weights, at, 1, n_rows, samples, source, width, number)


@kernel(inline=True)
def _by_component(X, D, middle, x, d, P, both):
    """Nodes and directors of one cell, and a last node inside, by shape functions `middle` of the others, if
    there is one; a bubble of rotations turns about two axes P across the mean director.

    Its turn about the normal does nothing. Writes: x (3, n), d (3, n_turn), P, both (n,
    LANES), x and d of a node.
    """
    n = x.shape[1]
    for a in range(len(X)):
        for k in range(3):
            x[k, a], d[k, a] = X[a, k], D[a, k]
    if len(middle):
        size = 0.0
        for k in range(3):
            x[k, n - 1], d[k, n - 1] = 0.0, 0.0
            for a in range(n - 1):
                x[k, n - 1] += middle[a] * X[a, k]
                d[k, n - 1] += middle[a] * D[a, k]
            size += d[k, n - 1] ** 2
        for k in range(3):
            d[k, n - 1] /= size**0.5
    for a in range(n):
        for k in range(3):
            both[a, k], both[a, 3 + k] = x[k, a], d[k, a]
    if d.shape[1] > n:
        size, least = 0.0, 0
        for k in range(3):
            d[k, n] = 0.0
            for a in range(n):
                d[k, n] += d[k, a]
            size += d[k, n] ** 2
        for k in range(3):
            d[k, n] /= size**0.5
            if abs(d[k, n]) < abs(d[least, n]):
                least = k
        i, j = (least + 1) % 3, (least + 2) % 3
        size = (d[i, n] ** 2 + d[j, n] ** 2) ** 0.5
        P[0, least], P[0, i], P[0, j] = 0.0, d[j, n] / size, -d[i, n] / size
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            P[1, k] = d[i, n] * P[0, j] - d[j, n] * P[0, i]


@kernel(inline=True)
def _displaced(inverse, R, A, slope, N, C, B):
    """Stretch, curvature and turn about the normal of displacements at one point, and of turning the latter.

    A (2, 3): slopes of the director; slope (2, nodes by eights and more), zero behind the nodes.
    Writes: B (9, 6 n), C (2, LANES), whose other entries are zero.
    """
    n, width = len(N), slope.shape[1]
    for k in range(3):
        x, y, z, u, v, at = R[0, k], R[1, k], R[2, k], A[0, k], A[1, k], k * n
        x_d, y_d = inverse[0, 0] * u + inverse[0, 1] * v, inverse[1, 0] * u + inverse[1, 1] * v
        C[0, 0], C[0, 2], C[0, 3], C[0, 5] = x, y, x_d, y_d
        C[1, 1], C[1, 2], C[1, 4], C[1, 5] = y, x, y_d, x_d
        for a in range(0, n, LANES):  # zeros beyond the nodes
            _tile(B, at + a, 6 * n, C, 0, 1, LANES, slope, a, width, 2)
        for a in range(n):
            B[8, at + a] = 0.5 * (slope[1, a] * x - slope[0, a] * y)
            B[8, 3 * n + at + a] = z * N[a]


@kernel(inline=True)
def _of_last(inverse, R, A, d, slope, N, a, B):
    """The same, and curvature, of the values of node a alone. Writes: B (9, 6 and more)."""
    g, h = slope[0, a], slope[1, a]
    for k in range(3):
        x, y, u, v = R[0, k], R[1, k], A[0, k], A[1, k]
        x_d, y_d = inverse[0, 0] * u + inverse[0, 1] * v, inverse[1, 0] * u + inverse[1, 1] * v
        B[0, k], B[1, k], B[2, k] = g * x, h * y, g * y + h * x
        B[3, k], B[4, k], B[5, k] = g * x_d, h * y_d, g * y_d + h * x_d
        B[8, k], B[8, 3 + k] = 0.5 * (h * x - g * y), R[2, k] * N[a]
        i, j = (k + 1) % 3, (k + 2) % 3
        x, y = d[i, a] * R[0, j] - d[j, a] * R[0, i], d[i, a] * R[1, j] - d[j, a] * R[1, i]
        B[3, 3 + k], B[4, 3 + k], B[5, 3 + k] = g * x, h * y, g * y + h * x


@kernel(inline=True)
def _tie(inverse, tied, at, p, share, B, mean):
    """Stretch of the ties, columns from `at` on, in place of that of displacements. Writes: B (9, 6 n), mean
    (3, 3 n) of what goes."""
    a, b, c, d = inverse[0, 0], inverse[0, 1], inverse[1, 0], inverse[1, 1]
    aa, bb, ab, cc, dd, cd = a * a, b * b, a * b, c * c, d * d, c * d
    ac, bd, ad = 2.0 * a * c, 2.0 * b * d, a * d + b * c
    step = len(tied) // 3
    for q in range(mean.shape[1]):
        xx, yy, xy = tied[p, at + q], tied[step + p, at + q], tied[2 * step + p, at + q]
        r, s, t = aa * xx + bb * yy + ab * xy, cc * xx + dd * yy + cd * xy, ac * xx + bd * yy + ad * xy
        mean[0, q] += share * (B[0, q] - r)
        mean[1, q] += share * (B[1, q] - s)
        mean[2, q] += share * (B[2, q] - t)
        B[0, q], B[1, q], B[2, q] = r, s, t


@kernel(inline=True)
def _bend(d, R, slope, rows, P, inner):
    """Curvature of what turns: nodes, and a bubble, last in `slope`, about the directions P.
    Writes: rows (9, 6 n), inner."""
    n, last = rows.shape[1] // 6, slope.shape[1] - 1
    for q in range(len(P)):
        inner[3, q], inner[4, q], inner[5, q] = 0.0, 0.0, 0.0
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        at, x_i, x_j, y_i, y_j = 3 * n + k * n, R[0, i], R[0, j], R[1, i], R[1, j]
        for b in range(n):
            x, y = d[i, b] * x_j - d[j, b] * x_i, d[i, b] * y_j - d[j, b] * y_i
            rows[3, at + b] = slope[0, b] * x
            rows[4, at + b] = slope[1, b] * y
            rows[5, at + b] = slope[0, b] * y + slope[1, b] * x
        for q in range(len(P)):
            x, y = d[i, n] * x_j - d[j, n] * x_i, d[i, n] * y_j - d[j, n] * y_i
            inner[3, q] += P[q, k] * slope[0, last] * x
            inner[4, q] += P[q, k] * slope[1, last] * y
            inner[5, q] += P[q, k] * (slope[0, last] * y + slope[1, last] * x)


@kernel(inline=True)
def _shear(inverse, sampled, p, n_last, rows, P, inner):
    """Shear across, along the axes, of its reference components: nodes, then the n_last columns of a last
    one, or a bubble about the directions P. Writes: rows (9, 6 n), of which the last is spoilt, inner."""
    n, step, width = rows.shape[1], len(sampled) // 2, sampled.shape[1]
    for j in range((n - 1) // LANES * LANES, -1, -LANES):  # what is beyond n is overwritten
        pair(rows, 6 * n + j, n, inverse, 0, 2, 1, sampled, p * width + j, step * width, 2)
    for c in range(2):
        u, v = inverse[c, 0], inverse[c, 1]
        for q in range(n_last):
            inner[6 + c, q] = u * sampled[p, n + q] + v * sampled[step + p, n + q]
        for q in range(len(P)):
            t = 0.0
            for k in range(3):
                t += P[q, k] * (u * sampled[p, n + k] + v * sampled[step + p, n + k])
            inner[6 + c, q] = t


@kernel(inline=True)
def _add(some, rows):
    """Writes: the first rows and columns."""
    for r in range(len(some)):
        for q in range(some.shape[1]):
            rows[r, q] += some[r, q]


@kernel(reassociate=True)
def strain_loop(fields, tables, geometry, room, slopes, rows, inner):
    """Strains of nodal values of cells: columns of `rows` are k n + a, component k of node a.

    `fields` = (X (cells, n, 3), D (cells, n, 3), middle (n,) or (0,)): nodes, their directors, and shape
    functions of a further node that is inside; `tables` = `_Tables`; `geometry` as in `geometry_loop`; room
    of their sizes, columns of samples and what is tied by eights, rows of what is tied by sixes. Stretch is
    sampled at the ties, with the mean of that which is not: a state of constant stress sees the mean, so that
    distorted cells pass the patch test.
    Writes: slopes (cells, points, 2, n), rows (cells, points, 9, 6 n), where turning does not stretch, inner
    (cells, points, 9, 2 or 6 of a node), all zero at first, room.
    """
    (X, D, middle), (area, axes, inverse) = fields, geometry
    d_turn, N, weights, surface, across = tables
    (x, d, P, both), A, (slope, C), means, (of_surface, tied), (of_across, sampled) = room
    mean, mean_of_last = means
    kept, n, has_ties, inside = X.shape[1], x.shape[1], len(surface[0]) > 0, len(middle) > 0
    for e in range(len(X)):
        _by_component(X[e], D[e], middle, x, d, P, both)
        _surface_samples(both, surface, kept, A, of_surface)
        _across_samples(both, d, across, kept, A, of_across)
        _tied(surface[2], surface[3], of_surface, tied)
        _tied(across[2], across[3], of_across, sampled)
        total = 0.0
        for p in range(len(N)):
            total += area[e, p] * weights[p]
        mean[:], mean_of_last[:] = 0.0, 0.0
        for p in range(len(N)):
            inv, R, B, own, share = (
                inverse[e, p],
                axes[e, p],
                rows[e, p],
                inner[e, p],
                area[e, p] * weights[p],
            )
            for b in range(d_turn.shape[2]):
                u, v, to = d_turn[p, 0, b], d_turn[p, 1, b], b if b < n else slope.shape[1] - 1
                slope[0, to] = inv[0, 0] * u + inv[0, 1] * v
                slope[1, to] = inv[1, 0] * u + inv[1, 1] * v
            _slopes_of(d, d_turn[p, :, :n], A)
            for c in range(2):
                for a in range(kept):
                    more = middle[a] * slope[c, kept] if inside else 0.0
                    slopes[e, p, c, a] = slope[c, a] + more
            _shear(inv, sampled, p, 6 * (n - kept), B, P, own)
            _displaced(inv, R, A, slope, N[p, :kept], C, B)
            _bend(d, R, slope, B, P, own)
            if inside:
                _of_last(inv, R, A, d, slope, N[p], kept, own)
            if has_ties:
                _tie(inv, tied, 0, p, share / total, B, mean)
                if inside:
                    _tie(inv, tied, 3 * kept, p, share / total, own, mean_of_last)
        if has_ties:
            for p in range(len(N)):
                _add(mean, rows[e, p])
                if inside:
                    _add(mean_of_last, inner[e, p])


@kernel(reassociate=True)
def inner_loop(X, dN, points, geometry, inner):
    """Strains of the inner displacements 1 - x^2, 1 - y^2 in the surface of quad4, as `elements` has them for
    bricks.

    X (cells, 4, 3), dN (4, 2) in the middle, `points` (points, 2), `geometry` as in `strain_loop`.
    Writes: inner (cells, points, 9, 4), of which the other entries are zero.
    """
    area, axes = geometry
    for e in range(len(X)):
        own = inner[e]
        A = own[0, 3:5]  # room
        _tangents(X[e], dN, A)
        x0, x1, x2 = A[0, 0], A[0, 1], A[0, 2]
        y0, y1, y2 = A[1, 0], A[1, 1], A[1, 2]
        A[:] = 0.0
        n0, n1, n2 = x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0
        size = (n0 * n0 + n1 * n1 + n2 * n2) ** 0.5
        long = (x0 * x0 + x1 * x1 + x2 * x2) ** 0.5
        u0, u1, u2 = x0 / long, x1 / long, x2 / long
        v0, v1, v2 = (n1 * u2 - n2 * u1) / size, (n2 * u0 - n0 * u2) / size, (n0 * u1 - n1 * u0) / size
        for p in range(len(points)):
            R, B = axes[e, p], own[p]
            a = x0 * R[0, 0] + x1 * R[0, 1] + x2 * R[0, 2]
            b = x0 * R[1, 0] + x1 * R[1, 1] + x2 * R[1, 2]
            c = y0 * R[0, 0] + y1 * R[0, 1] + y2 * R[0, 2]
            d = y0 * R[1, 0] + y1 * R[1, 1] + y2 * R[1, 2]
            scale = -2.0 * size / (area[e, p] * (a * d - b * c))
            for k in range(2):
                s = scale * points[p, k]
                g, h = (d * s, -c * s) if k == 0 else (-b * s, a * s)
                for q in range(2):
                    f0, f1, f2 = (u0, u1, u2) if q == 0 else (v0, v1, v2)
                    x = R[0, 0] * f0 + R[0, 1] * f1 + R[0, 2] * f2
                    y = R[1, 0] * f0 + R[1, 1] * f1 + R[1, 2] * f2
                    column = 2 * k + q
                    B[0, column], B[1, column] = x * g, y * h
                    B[2, column], B[8, column] = x * h + y * g, 0.5 * (x * h - y * g)


#: most inner functions of a cell
INNER = 6
few, _nine = product(INNER), product(9)


@kernel(inline=True)
def _section_forces(rows, S, area, stretch, others, SB):
    """Forces S rows of one point, times its area. Writes: three rows of SB from `stretch` on, and six from
    `others` on."""
    n = rows.shape[1]
    for r in range(9):
        to, own = stretch + r if r < 3 else others + r - 3, r - r % 3
        s, t, u = S[r, own] * area, S[r, own + 1] * area, S[r, own + 2] * area
        for j in range(n):
            SB[to, j] = s * rows[own, j] + t * rows[own + 1, j] + u * rows[own + 2, j]
        for q in range(0, 9, 3):
            s, t, u = S[r, q] * area, S[r, q + 1] * area, S[r, q + 2] * area
            if q != own and (s != 0.0 or t != 0.0 or u != 0.0):
                for j in range(n):
                    SB[to, j] += s * rows[q, j] + t * rows[q + 1, j] + u * rows[q + 2, j]


@kernel(inline=True)
def _solve_few(G, W, m):
    """G^-1 W of the first m rows by Cholesky. Writes: G, W."""
    n = W.shape[1]
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


@kernel(inline=True)
def couple(e, inner, section, rows, room, coupling, at):
    """What inner functions of cell e have to do with nodal values, and with each other.

    `inner` = (strains (cells, points, 9, LANES), m): the first m, up to INNER, are functions, the others
    zero; `section` = (S (cells or 1, points or 1, 9, 9), area), rows (cells, points, 9, N).
    Writes: coupling: m rows of N from the place `at` on, of INNER, room = (T (9 points, LANES), G, H (INNER,
    LANES)): -H is the inverse of their stiffness.
    """
    (T, G, H), (of_inner, m), (S, area) = room, inner, section
    n_points, n, of_cell = rows.shape[1], rows.shape[3], S[e if len(S) > 1 else 0]
    start, forces = e * n_points * 9, T.reshape(-1)
    for p in range(n_points):
        own, to = of_cell[p if len(of_cell) > 1 else 0], 9 * p
        _nine(T, to * LANES, LANES, own, 0, 1, 9, of_inner, (start + to) * LANES, LANES, 9)
        at_point = forces[to * LANES : (to + 9) * LANES]
        for i in range(len(at_point)):
            at_point[i] *= area[e, p]
    few(G, 0, LANES, T, 0, 1, LANES, of_inner, start * LANES, LANES, n_points * 9)
    H[:] = 0.0
    for i in range(m):
        H[i, i] = -1.0
    _solve_few(G, H, m)
    j = n
    while j > 0:
        j = max(j - LANES, 0)
        if m > 2:
            few(coupling, at + j, n, T, 0, 1, LANES, rows, start * n + j, n, n_points * 9)
        else:
            pair(coupling, at + j, n, T, 0, 1, LANES, rows, start * n + j, n, n_points * 9)


@kernel(inline=True)
def condense(e, inner, section, rows, room, coupling, follow, at):
    """Amounts of inner functions of cell e that go with nodal values, of least energy: -G^-1 `coupling`.

    Arguments as in `couple`. Writes: coupling, room, follow: INNER rows of N from the place `at` on, zero
    beyond m.
    """
    couple(e, inner, section, rows, room, coupling, at)
    n, j = rows.shape[3], rows.shape[3]
    while j > 0:
        j = max(j - LANES, 0)
        few(follow, at + j, n, room[2], 0, 1, LANES, coupling, at + j, n, inner[1])


@kernel(reassociate=True)
def condense_loop(inner, S, area, rows, room, coupling, follow):
    """`condense` of all cells. Writes: coupling, follow (cells, INNER, N), room."""
    for e in range(len(rows)):
        condense(e, inner, (S, area), rows, room, coupling, follow, e * INNER * rows.shape[3])


@kernel(inline=True)
def _put(rows, B, at):
    """Writes: B from row `at` on."""
    for r in range(len(rows)):
        for j in range(rows.shape[1]):
            B[at + r, j] = rows[r, j]


@kernel(inline=True)
def _products(B, SB, n_others, stretching, K):
    """B^T SB, tile by tile: those that touch the upper triangle. Writes: K (N, N).

    Rows from n_others on have columns below `stretching` only.
    """
    n = len(K)
    for i in range(0, n, 6):
        j = n
        while j > i:
            j = max(j - LANES, 0)
            n_sums = len(B) if i < stretching and j < stretching else n_others
            _tile(K, i * n + j, n, B, i, 1, n, SB, j, n, n_sums)


@kernel(reassociate=True)
def shell_stiffness_loop(rows, stretching, inner, S, area, pattern, room, upper):
    """Add int rows^T S rows of every cell, with `inner` functions, to the pairs of the pattern.

    Only the first `stretching` columns of `rows` stretch, and give forces of stretch; `inner` and the room
    `few` as in `condense`; S (cells or 1, points or 1, 9, 9); `pattern` = (nodes, which, loc).
    Writes: upper (npairs, 36), room = (B, SB (9 points and m, N), K (N, N), few), stretch last.
    """
    (nodes, which, loc), (B, SB, K, few) = pattern, room
    n, n_points = nodes.shape[1], rows.shape[1]
    last = len(B) - 3 * n_points
    for e in range(len(nodes)):
        of_cell = S[e if len(S) > 1 else 0]
        if inner[1]:  # rows beyond m are overwritten
            condense(e, inner, (S, area), rows, few, B, SB, 6 * n_points * rows.shape[3])
        for p in range(n_points):
            own, at, to = of_cell[p if len(of_cell) > 1 else 0], 6 * p, last + 3 * p
            _put(rows[e, p, 3:], B, at)
            _put(rows[e, p, :3], B, to)
            _section_forces(rows[e, p], own, area[e, p], to, at, SB)
        _products(B, SB, last, stretching, K)
        pair = 0
        for a in range(n):
            for b in range(a, n):
                block = upper[loc[which[e], pair]]
                pair += 1
                i, j = (b, a) if nodes[e, a] > nodes[e, b] else (a, b)
                for c in range(6):
                    block[7 * c] += K[c * n + a, c * n + b]
                    for d in range(c + 1, 6):
                        block[6 * c + d] += K[c * n + i, d * n + j]
                        block[6 * d + c] += K[c * n + j, d * n + i]
