"""Compiled loops over elements: stiffness blocks, scalar mass and its lumped diagonal.

Tables of a rule come with the points last, so that geometry is computed for all points of an element at
once. The caller owns all scratch. A loop returns the first cell with det J <= 0 at a point, or -1.
"""

from __future__ import annotations

from flexmbs._jit import kernel


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
def gradients(rows, points, dN, J, Jinv, detJ, grad):
    """Gradients (points, 3 a + k) of all shape functions of one element, and det J.

    A table dN of a straight element may have J from its first point only: then J has one column.
    Writes: J, Jinv, detJ, grad.
    """
    jacobians(rows, points, dN[:, :, : J.shape[1]], J)
    determinants(J, detJ)
    inverses(J, detJ, Jinv)
    one = J.shape[1] == 1
    for p in range(dN.shape[2]):
        q = 0 if one else p
        for a in range(len(rows)):
            for k in range(3):
                grad[p, 3 * a + k] = (
                    dN[a, 0, p] * Jinv[k, q] + dN[a, 1, p] * Jinv[3 + k, q] + dN[a, 2, p] * Jinv[6 + k, q]
                )


@kernel(reassociate=True)
def stiffness_loop(
    cells,
    which,
    points,
    dN,
    weights,
    mat,
    terms,
    values,
    loc,
    J,
    Jinv,
    detJ,
    grad,
    grad_w,
    G,
    blocks,
    K_upper,
):
    """Add int (D N_a)^T C_mat (D N_b) of the cells `which` to the pairs of the pattern.

    mat (n_cells,) material; terms (n_materials, n_terms, 3), values (n_materials, n_terms): entries C_cjdl of
    the elasticity tensors as 3 c + d, j, l; J with one column for straight cells; grad and grad_w with zero
    rows beyond the points, to a multiple of 4 (four points at a time keep sums in registers).
    With G_ab,jl = int d_j N_a d_l N_b the block of nodes a, b is C_cjdl G_ab,jl, once per element.
    Writes: K_upper (n_pairs, 9), scratch.
    """
    n = cells.shape[1]
    n_p = dN.shape[2]
    for e in which:
        rows = cells[e]
        gradients(rows, points, dN, J, Jinv, detJ, grad)
        for q in range(J.shape[1]):
            if not detJ[q] > 0.0:
                return e
        for p in range(n_p):
            w = weights[p] * detJ[p if J.shape[1] > 1 else 0]
            for a in range(n):
                for k in range(3):
                    grad_w[p, k * n + a] = w * grad[p, 3 * a + k]
        for a in range(n):
            _gradient_integrals(grad, grad_w, a, G)
            _contract(terms[mat[e]], values[mat[e]], G, a, n, blocks)
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
    """int d_j N_a d_l N_b (3, l n + b) of one node with all nodes. Writes: G."""
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
def _contract(terms, values, G, a, n, blocks):
    """Blocks (9, b) of node a with the nodes b >= a: C_cjdl G_jl over the entries of C that are not zero.

    terms (n_terms, 3): 3 c + d, j, l.  Writes: blocks.
    """
    for q in range(9):
        for b in range(a, n):
            blocks[q, b] = 0.0
    for t in range(len(values)):
        q, j, shift, value = terms[t, 0], terms[t, 1], terms[t, 2] * n, values[t]
        for b in range(a, n):
            blocks[q, b] += value * G[j, shift + b]


@kernel(reassociate=True)
def mass_loop(cells, which, points, dN, table, rho, loc, J, detJ, Ms_e, Ms_upper):
    """Add rho N_a N_b integrated over the cells `which` to the pairs of the pattern (F2a).

    table (points, n (n + 1) / 2): weight times N_a N_b of the pairs a <= b; rho (n_cells,).
    Writes: Ms_upper (n_pairs,), scratch.
    """
    for e in which:
        _element_mass(cells[e], points, dN, table, rho[e], J, detJ, Ms_e)
        for q in range(len(detJ)):
            if not detJ[q] > 0.0:
                return e
        for t in range(len(Ms_e)):
            Ms_upper[loc[e, t]] += Ms_e[t]
    return -1


@kernel(inline=True)
def _element_mass(rows, points, dN, table, rho, J, detJ, Ms_e):
    """Pairs a <= b of the scalar mass matrix of one element. Writes: J, detJ, Ms_e."""
    jacobians(rows, points, dN, J)
    determinants(J, detJ)
    for t in range(len(Ms_e)):
        Ms_e[t] = 0.0
    for p in range(len(detJ)):
        w = rho * detJ[p]
        for t in range(len(Ms_e)):
            Ms_e[t] += w * table[p, t]


@kernel(reassociate=True)
def lumped_loop(cells, which, points, dN, table, rho, scaled, J, detJ, Ms_e, mass):
    """Add nodal masses: row sums, or (scaled) the diagonal scaled to the element mass.

    Writes: mass (n_nodes,), scratch.
    """
    n = cells.shape[1]
    for e in which:
        _element_mass(cells[e], points, dN, table, rho[e], J, detJ, Ms_e)
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
