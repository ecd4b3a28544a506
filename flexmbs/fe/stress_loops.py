"""Compiled loops over elements for many displacement fields at once: stress, and geometric stiffness."""

from __future__ import annotations

from flexmbs._jit import kernel
from flexmbs.fe.element_loops import condense, gradients, inner_fields, weighted_gradients


@kernel(inline=True)
def _element_fields(rows, points, rule, terms, values, U, room, Ue):
    """Gradients of one element, and fields U (n_nodes, 3, m) at its nodes with those of its inner functions.

    Writes: Ue (n + n_inner, 3, m), room.
    """
    n, (dN, weights) = len(rows), rule
    gradients(rows, points, dN, len(weights), room.J, room.Jinv, room.detJ, room.grad)
    if len(room.L):
        weighted_gradients(room.grad, weights, room.detJ, room.grad_w)
        condense(terms, values, n, room)
    element_values(rows, U, room, Ue)


@kernel(inline=True)
def element_values(rows, U, room, Ue):
    """Fields at the nodes of an element, and the inner coefficients that go with them. Writes: Ue."""
    for a in range(len(rows)):
        u = U[rows[a]]
        for k in range(3):
            for m in range(u.shape[1]):
                Ue[a, k, m] = u[k, m]
    inner_fields(room.L, room.W, len(rows), Ue)


@kernel(inline=True)
def _point_stress(grad, C, U, eps, sig):
    """Stress (6, m) at one point of an element, U (functions, 3, m), grad (3 n,). Writes: eps, sig."""
    m = U.shape[2]
    for r in range(6):
        for k in range(m):
            eps[r, k] = 0.0
            sig[r, k] = 0.0
    for a in range(len(U)):
        gx, gy, gz = grad[3 * a], grad[3 * a + 1], grad[3 * a + 2]
        u = U[a]
        for k in range(m):
            eps[0, k] += gx * u[0, k]
            eps[1, k] += gy * u[1, k]
            eps[2, k] += gz * u[2, k]
            eps[3, k] += gy * u[0, k] + gx * u[1, k]
            eps[4, k] += gz * u[1, k] + gy * u[2, k]
            eps[5, k] += gz * u[0, k] + gx * u[2, k]
    for r in range(6):
        for s in range(6):
            if C[r, s] != 0.0:
                for k in range(m):
                    sig[r, k] += C[r, s] * eps[s, k]


@kernel(reassociate=True)
def stress_loop(solids, rule, elastic, U, spreading, room, scratch, total):
    """Add C_mat D U (F53), spread from the points of a rule to the targets of each cell.

    `solids` = (cells, which, points, mat), `rule` = (dN, weights), `spreading` = (spread, targets): spread
    (n_targets, points); targets (n_cells, n_targets) rows of the result.
    Writes: total (rows, 6, m), scratch = (Ue, eps, sig).
    """
    (cells, which, points, mat), (_, weights), (spread, targets) = solids, rule, spreading
    Ue, eps, sig = scratch
    for e in which:
        _element_fields(cells[e], points, rule, elastic.terms[mat[e]], elastic.values[mat[e]], U, room, Ue)
        for p in range(len(weights)):
            _point_stress(room.grad[p], elastic.C[mat[e]], Ue, eps, sig)
            for t in range(targets.shape[1]):
                row, s = total[targets[e, t]], spread[t, p]
                for r in range(6):
                    for k in range(sig.shape[1]):
                        row[r, k] += s * sig[r, k]


@kernel(reassociate=True)
def jump_loop(solids, rule, elastic, fields, tables, room, scratch, energy):
    """Add the energy of the difference between recovered stresses and those of the cells.

    `fields` = (U, recovered stresses (rows, 6, m)); `tables` = (spread (n, points), factor (n, n), compliance
    (materials, 6, 6), slots (n_cells, n) rows of the recovered): factor F with F F^T the integrals of N_a N_b
    over the reference cell, whose det J is taken as its mean over the cell (F52a).
    Writes: energy (m,), scratch = (Ue, eps, sig, d (n, 6, m), g (6, m)).
    """
    (cells, which, points, mat), (_, weights) = solids, rule
    (U, recovered), (spread, factor, compliance, slots) = fields, tables
    Ue, eps, sig, d, g = scratch
    m = sig.shape[1]
    for e in which:
        _element_fields(cells[e], points, rule, elastic.terms[mat[e]], elastic.values[mat[e]], U, room, Ue)
        volume, whole = 0.0, 0.0
        for a in range(len(d)):
            d[a] = recovered[slots[e, a]]
        for p in range(len(weights)):
            volume += weights[p] * room.detJ[p if len(room.detJ) > 1 else 0]
            whole += weights[p]
            _point_stress(room.grad[p], elastic.C[mat[e]], Ue, eps, sig)
            for a in range(len(d)):
                s = spread[a, p]
                for r in range(6):
                    for k in range(m):
                        d[a, r, k] -= s * sig[r, k]
        S = compliance[mat[e]]
        for q in range(len(d)):
            for r in range(6):
                for k in range(m):
                    g[r, k] = 0.0
            for a in range(q, len(d)):
                f = factor[a, q]
                for r in range(6):
                    for k in range(m):
                        g[r, k] += f * d[a, r, k]
            for r in range(6):
                for s in range(6):
                    c = S[r, s] * volume / whole
                    if c != 0.0:
                        for k in range(m):
                            energy[k] += c * g[r, k] * g[s, k]


@kernel(inline=True)
def _mode_gradients(grad, Phi, H):
    """d_i of component k of all modes (3, 3, nf) at one point. Writes: H."""
    nf = Phi.shape[2]
    for i in range(3):
        for k in range(3):
            for b in range(nf):
                H[i, k, b] = 0.0
    for a in range(len(Phi)):
        u = Phi[a]
        for i in range(3):
            g = grad[3 * a + i]
            for k in range(3):
                for b in range(nf):
                    H[i, k, b] += g * u[k, b]


@kernel(inline=True)
def _gradient_products(H, A):
    """(d_i S)^T (d_j S) of mode pairs a <= b, symmetric in i, j: rows xx yy zz xy yz zx. Writes: A."""
    nf = H.shape[2]
    for r in range(6):
        for q in range(A.shape[1]):
            A[r, q] = 0.0
    for k in range(3):
        q = 0
        for a in range(nf):
            x, y, z = H[0, k, a], H[1, k, a], H[2, k, a]
            n = nf - a
            for b in range(n):
                hx, hy, hz = H[0, k, a + b], H[1, k, a + b], H[2, k, a + b]
                A[0, q + b] += x * hx
                A[1, q + b] += y * hy
                A[2, q + b] += z * hz
                A[3, q + b] += x * hy + y * hx
                A[4, q + b] += y * hz + z * hy
                A[5, q + b] += z * hx + x * hz
            q += n


@kernel(reassociate=True)
def geometric_loop(solids, rule, elastic, fields, room, scratch, stresses, products):
    """Weighted stresses of the loads and products of mode gradients at all points of the cells (F17).

    `fields` = (U_load, Phi). Writes: stresses (cells, points, 6, n_load), products (cells, points, 6, pairs),
    scratch = (Ue, Phi_e, eps, sig, H).
    """
    (cells, which, points, mat), (_, weights), (U_load, Phi) = solids, rule, fields
    Ue, Phi_e, eps, sig, H = scratch
    for c in range(len(which)):
        e = which[c]
        _element_fields(
            cells[e], points, rule, elastic.terms[mat[e]], elastic.values[mat[e]], U_load, room, Ue
        )
        element_values(cells[e], Phi, room, Phi_e)
        for p in range(len(weights)):
            w = weights[p] * room.detJ[p if len(room.detJ) > 1 else 0]
            _point_stress(room.grad[p], elastic.C[mat[e]], Ue, eps, sig)
            for r in range(6):
                for k in range(sig.shape[1]):
                    stresses[c, p, r, k] = w * sig[r, k]
            _mode_gradients(room.grad[p], Phi_e, H)
            _gradient_products(H, products[c, p])


@kernel(reassociate=True)
def prestress_loop(solids, rule, elastic, initial, U, room, scratch, goal):
    """Add int sigma_ij d_i N_a d_j N_b of the stress of one field U to the pairs of the pattern (F17).

    initial (n_cells, 6): stress that expansion takes away. Writes: goal = (loc, upper): upper (n_pairs,),
    scratch = (Ue, eps, sig).
    """
    (cells, which, points, mat), (_, weights), (loc, upper) = solids, rule, goal
    Ue, eps, sig = scratch
    n = cells.shape[1]
    for e in which:
        _element_fields(cells[e], points, rule, elastic.terms[mat[e]], elastic.values[mat[e]], U, room, Ue)
        for p in range(len(weights)):
            w = weights[p] * room.detJ[p if len(room.detJ) > 1 else 0]
            g = room.grad[p]
            _point_stress(g, elastic.C[mat[e]], Ue, eps, sig)
            for r in range(6):
                sig[r, 0] -= initial[e, r]
            xx, yy, zz, xy, yz, zx = sig[0, 0], sig[1, 0], sig[2, 0], sig[3, 0], sig[4, 0], sig[5, 0]
            pair = 0
            for a in range(n):
                x, y, z = g[3 * a], g[3 * a + 1], g[3 * a + 2]
                tx, ty, tz = xx * x + xy * y + zx * z, xy * x + yy * y + yz * z, zx * x + yz * y + zz * z
                for b in range(a, n):
                    upper[loc[e, pair]] += w * (tx * g[3 * b] + ty * g[3 * b + 1] + tz * g[3 * b + 2])
                    pair += 1


@kernel(reassociate=True)
def initial_loop(cells, which, points, dN, weights, initial, room, F):
    """Add int B^T sigma of a constant stress (n_cells, 6) in every cell. Writes: F (n_nodes, 3), room."""
    for e in which:
        gradients(cells[e], points, dN, len(weights), room.J, room.Jinv, room.detJ, room.grad)
        s = initial[e]
        for p in range(len(weights)):
            w = weights[p] * room.detJ[p if len(room.detJ) > 1 else 0]
            for a in range(cells.shape[1]):
                x, y, z = room.grad[p, 3 * a], room.grad[p, 3 * a + 1], room.grad[p, 3 * a + 2]
                f = F[cells[e, a]]
                f[0] += w * (s[0] * x + s[3] * y + s[5] * z)
                f[1] += w * (s[3] * x + s[1] * y + s[4] * z)
                f[2] += w * (s[5] * x + s[4] * y + s[2] * z)
