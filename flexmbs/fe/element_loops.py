"""Compiled loops over elements: stiffness blocks, scalar mass and its lumped diagonal.

Tables of a rule come with the points last, so that geometry is computed for all points of an element at
once. Rows of a table behind the nodes are inner functions; such a table has the centre of the cell as a last
point. The caller owns all scratch. A loop returns the first cell with det J <= 0 at a point, or -1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel

Floats = NDArray[np.float64]


class Scratch(NamedTuple):
    """Room of one element with N functions, inner ones among them, at the points of a rule.

    Columns of J, Jinv, detJ: one for straight cells, else the points (and the centre). grad (points, 3 N) and
    grad_w have zero rows up to a multiple of 4; G (3, 3 N); blocks (9, N); L and W of `condense`.
    """

    J: Floats
    Jinv: Floats
    detJ: Floats
    grad: Floats
    grad_w: Floats
    G: Floats
    blocks: Floats
    L: Floats
    W: Floats


class Elasticity(NamedTuple):
    """Materials: C (n, 6, 6); terms (n, n_terms, 3), values (n, n_terms) entries C_cjdl as 3 c + d, j, l."""

    C: Floats
    terms: NDArray[np.int64]
    values: Floats


def scratch_for(n: int, n_inner: int, n_points: int, straight: bool) -> Scratch:
    """Room for an element of n nodes."""
    total, rows = n + n_inner, 4 * -(-n_points // 4)
    columns = 1 if straight else n_points + bool(n_inner)
    return Scratch(
        np.empty((9, columns)), np.empty((9, columns)), np.empty(columns),
        np.zeros((rows, 3 * total)), np.zeros((rows, 3 * total)), np.empty((3, 3 * total)),
        np.empty((9, total)), np.empty((3 * n_inner, 3 * n_inner)), np.empty((3 * n_inner, 3 * n)),
    )  # fmt: skip


@kernel(inline=True)
def jacobians(rows, points, dN, J):
    """dx_k / dxi_j (3 k + j, points) of one element with nodes `rows`; dN (n, 3, points). Writes: J."""
    n_p = dN.shape[2]
    for m in range(9):
        for p in range(n_p):
            J[m, p] = 0.0
    for a in range(len(rows)):
        for k in range(3):
            x = points[rows[a], k] - points[rows[0], k]
            for j in range(3):
                for p in range(n_p):
                    J[3 * k + j, p] += x * dN[a, j, p]


@kernel(inline=True)
def determinants(J, detJ):
    """det J at all points. Writes: detJ."""
    for p in range(J.shape[1]):
        detJ[p] = (
            J[0, p] * (J[4, p] * J[8, p] - J[5, p] * J[7, p])
            - J[1, p] * (J[3, p] * J[8, p] - J[5, p] * J[6, p])
            + J[2, p] * (J[3, p] * J[7, p] - J[4, p] * J[6, p])
        )


@kernel(inline=True)
def inverses(J, detJ, Jinv):
    """dxi_j / dx_k (3 j + k, points). Writes: Jinv."""
    for p in range(J.shape[1]):
        r = 1.0 / detJ[p]
        Jinv[0, p] = (J[4, p] * J[8, p] - J[5, p] * J[7, p]) * r
        Jinv[1, p] = (J[2, p] * J[7, p] - J[1, p] * J[8, p]) * r
        Jinv[2, p] = (J[1, p] * J[5, p] - J[2, p] * J[4, p]) * r
        Jinv[3, p] = (J[5, p] * J[6, p] - J[3, p] * J[8, p]) * r
        Jinv[4, p] = (J[0, p] * J[8, p] - J[2, p] * J[6, p]) * r
        Jinv[5, p] = (J[2, p] * J[3, p] - J[0, p] * J[5, p]) * r
        Jinv[6, p] = (J[3, p] * J[7, p] - J[4, p] * J[6, p]) * r
        Jinv[7, p] = (J[1, p] * J[6, p] - J[0, p] * J[7, p]) * r
        Jinv[8, p] = (J[0, p] * J[4, p] - J[1, p] * J[3, p]) * r


@kernel(inline=True)
def gradients(rows, points, dN, n_p, J, Jinv, detJ, grad):
    """Gradients (points, 3 a + k) of all functions of one element, and det J, at the first n_p points of dN.

    A table dN of a straight element may have J from its first point only: then J has one column. Inner
    functions take J of its last column, the centre, and the ratio of the determinants: then the mean of their
    gradients vanishes in the body as it does in the reference cell. Writes: J, Jinv, detJ, grad.
    """
    jacobians(rows, points, dN[:, :, : J.shape[1]], J)
    determinants(J, detJ)
    inverses(J, detJ, Jinv)
    last = J.shape[1] - 1
    for p in range(n_p):
        q = 0 if last == 0 else p
        for a in range(len(rows)):
            for k in range(3):
                grad[p, 3 * a + k] = (
                    dN[a, 0, p] * Jinv[k, q] + dN[a, 1, p] * Jinv[3 + k, q] + dN[a, 2, p] * Jinv[6 + k, q]
                )
        ratio = detJ[last] / detJ[q]
        for a in range(len(rows), dN.shape[0]):
            for k in range(3):
                grad[p, 3 * a + k] = ratio * (
                    dN[a, 0, p] * Jinv[k, last]
                    + dN[a, 1, p] * Jinv[3 + k, last]
                    + dN[a, 2, p] * Jinv[6 + k, last]
                )


@kernel(inline=True)
def weighted_gradients(grad, weights, detJ, grad_w):
    """Gradients times weight and det J, function by function (points, k n + a). Writes: grad_w."""
    n = grad.shape[1] // 3
    for p in range(len(weights)):
        w = weights[p] * detJ[p if len(detJ) > 1 else 0]
        for a in range(n):
            for k in range(3):
                grad_w[p, k * n + a] = w * grad[p, 3 * a + k]


@kernel(reassociate=True)
def stiffness_loop(solids, rule, elastic, loc, room, K_upper):
    """Add int (D N_a)^T C_mat (D N_b) of the cells `which` to the pairs of the pattern.

    `solids` = (cells, which, points, mat), mat (n_cells,) the material; `rule` = (dN, weights). With
    G_ab,jl = int d_j N_a d_l N_b the block of nodes a, b is C_cjdl G_ab,jl. Inner functions are condensed:
    their coefficients are those of least energy. Writes: K_upper (n_pairs, 9), room.
    """
    (cells, which, points, mat), (dN, weights) = solids, rule
    n = cells.shape[1]
    grad, G, blocks, W = room.grad, room.G, room.blocks, room.W
    for e in which:
        rows = cells[e]
        terms, values = elastic.terms[mat[e]], elastic.values[mat[e]]
        gradients(rows, points, dN, len(weights), room.J, room.Jinv, room.detJ, grad)
        for q in range(len(room.detJ)):
            if not room.detJ[q] > 0.0:
                return e
        weighted_gradients(grad, weights, room.detJ, room.grad_w)
        condense(terms, values, n, room)
        for a in range(n):
            _gradient_integrals(grad, room.grad_w, a, G)
            _contract(terms, values, G, a, n, blocks)
            for r in range(len(W)):
                for c in range(3):
                    w = W[r, 3 * a + c]
                    for b in range(a, n):
                        for d in range(3):
                            blocks[3 * c + d, b] -= w * W[r, 3 * b + d]
            pair = a * n - a * (a - 1) // 2 - a
            for b in range(a, n):
                K = K_upper[loc[e, pair + b]]
                if rows[a] <= rows[b]:
                    for q in range(9):
                        K[q] += blocks[q, b]
                else:
                    for c in range(3):
                        for d in range(3):
                            K[3 * d + c] += blocks[3 * c + d, b]
    return -1


@kernel(inline=True)
def _gradient_integrals(grad, grad_w, a, G):
    """int d_j N_a d_l N_b (3, l n + b) of one function with all functions. Writes: G."""
    for j in range(3):
        for q in range(G.shape[1]):
            G[j, q] = 0.0
        r = 3 * a + j
        for p in range(0, len(grad), 4):
            s, t, u, v = grad[p, r], grad[p + 1, r], grad[p + 2, r], grad[p + 3, r]
            for q in range(G.shape[1]):
                G[j, q] += (s * grad_w[p, q] + t * grad_w[p + 1, q]) + (
                    u * grad_w[p + 2, q] + v * grad_w[p + 3, q]
                )


@kernel(inline=True)
def _contract(terms, values, G, first, end, blocks):
    """Blocks (9, b) of one function with those from `first` to `end`: C_cjdl G_jl over entries of C not zero.

    terms (n_terms, 3): 3 c + d, j, l.  Writes: blocks.
    """
    n = G.shape[1] // 3
    for q in range(9):
        for b in range(first, end):
            blocks[q, b] = 0.0
    for t in range(len(values)):
        q, j, shift, value = terms[t, 0], terms[t, 1], terms[t, 2] * n, values[t]
        for b in range(first, end):
            blocks[q, b] += value * G[j, shift + b]


@kernel(inline=True)
def condense(terms, values, n, room):
    """Stiffness of the inner functions behind the n nodes: K_ii = L L^T, and W = L^-1 K_iu.

    The stiffness of the nodes is then K_uu - W^T W. Writes: L (3 n_inner, 3 n_inner), W (3 n_inner, 3 n), and
    what it needs of the room.
    """
    grad, grad_w, G, blocks, L, W = room.grad, room.grad_w, room.G, room.blocks, room.L, room.W
    size = len(L)
    for i in range(size // 3):
        _gradient_integrals(grad, grad_w, n + i, G)
        _contract(terms, values, G, 0, n + size // 3, blocks)
        for c in range(3):
            for d in range(3):
                for b in range(n):
                    W[3 * i + c, 3 * b + d] = blocks[3 * c + d, b]
                for b in range(size // 3):
                    L[3 * i + c, 3 * b + d] = blocks[3 * c + d, n + b]
    for i in range(size):
        for j in range(i + 1):
            t = L[i, j]
            for k in range(j):
                t -= L[i, k] * L[j, k]
            L[i, j] = t**0.5 if i == j else t / L[j, j]
        for k in range(i):
            for q in range(W.shape[1]):
                W[i, q] -= L[i, k] * W[k, q]
        for q in range(W.shape[1]):
            W[i, q] /= L[i, i]


@kernel(inline=True)
def inner_fields(L, W, n, U):
    """Coefficients of the inner functions that go with nodal fields U[:n]: -L^-T W u. Writes: U[n:]."""
    for i in range(len(L) - 1, -1, -1):
        row = U[n + i // 3, i % 3]
        for k in range(len(row)):
            row[k] = 0.0
        for q in range(W.shape[1]):
            u = U[q // 3, q % 3]
            for k in range(len(row)):
                row[k] -= W[i, q] * u[k]
        for j in range(i + 1, len(L)):
            u = U[n + j // 3, j % 3]
            for k in range(len(row)):
                row[k] -= L[j, i] * u[k]
        for k in range(len(row)):
            row[k] /= L[i, i]


@kernel(reassociate=True)
def mass_loop(solids, rule, rho, loc, scratch, Ms_upper):
    """Add rho N_a N_b integrated over the cells `which` to the pairs of the pattern (F2a).

    `solids` = (cells, which, points), `rule` = (dN, table): table (points, n (n + 1) / 2) weight times N_a
    N_b of the pairs a <= b; rho (n_cells,). Writes: Ms_upper (n_pairs,), scratch = (J, detJ, Ms_e).
    """
    (cells, which, points), (J, detJ, Ms_e) = solids, scratch
    for e in which:
        _element_mass(cells[e], points, rule, rho[e], J, detJ, Ms_e)
        for q in range(len(detJ)):
            if not detJ[q] > 0.0:
                return e
        for t in range(len(Ms_e)):
            Ms_upper[loc[e, t]] += Ms_e[t]
    return -1


@kernel(inline=True)
def _element_mass(rows, points, rule, rho, J, detJ, Ms_e):
    """Pairs a <= b of the scalar mass matrix of one element. Writes: J, detJ, Ms_e."""
    dN, table = rule
    jacobians(rows, points, dN, J)
    determinants(J, detJ)
    for t in range(len(Ms_e)):
        Ms_e[t] = 0.0
    for p in range(len(detJ)):
        w = rho * detJ[p]
        for t in range(len(Ms_e)):
            Ms_e[t] += w * table[p, t]


@kernel(reassociate=True)
def lumped_loop(solids, rule, rho, scaled, scratch, mass):
    """Add nodal masses: row sums, or (scaled) the diagonal scaled to the element mass.

    Writes: mass (n_nodes,), scratch = (J, detJ, Ms_e).
    """
    (cells, which, points), (J, detJ, Ms_e) = solids, scratch
    n = cells.shape[1]
    for e in which:
        _element_mass(cells[e], points, rule, rho[e], J, detJ, Ms_e)
        for q in range(len(detJ)):
            if not detJ[q] > 0.0:
                return e
        total = 0.0
        diagonal = 0.0
        t = 0
        for a in range(n):
            diagonal += Ms_e[t]
            for b in range(a, n):
                total += Ms_e[t] if a == b else 2.0 * Ms_e[t]
                if not scaled:
                    mass[cells[e, a]] += Ms_e[t]
                    if a != b:
                        mass[cells[e, b]] += Ms_e[t]
                t += 1
        if scaled and diagonal > 0.0:
            t = 0
            for a in range(n):
                mass[cells[e, a]] += Ms_e[t] * total / diagonal
                t += n - a
    return -1
