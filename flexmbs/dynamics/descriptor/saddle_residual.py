"""Kernel of what is left of the saddle equations, the inner loop of their refinement (F32)."""

from flexmbs._jit import kernel


@kernel(lean=True)
def residual(matrices, b, c, z, lam, left, size):
    """b - M z + Phi^T lam, and Phi z - c: the right-hand side of a pass. Matrices by columns, M before Phi.

    Writes: left; size, the largest of the rows above, of those below, of Phi^T lam, of z.
    """
    M, M_row, M_start, Phi, Phi_row, Phi_start = matrices
    n, m = b.shape[0], c.shape[0]
    above = below = largest = moved = 0.0
    for i in range(n):
        left[i] = b[i]
    for i in range(m):
        left[n + i] = -c[i]
    for j in range(n):
        pull, x = 0.0, z[j]
        for k in range(M_start[j], M_start[j + 1]):
            left[M_row[k]] -= M[k] * x
        for k in range(Phi_start[j], Phi_start[j + 1]):
            i = Phi_row[k]
            pull += Phi[k] * lam[i]
            left[n + i] += Phi[k] * x
        left[j] += pull
        largest, moved = max(largest, abs(pull)), max(moved, abs(x))
    for i in range(n):
        above = max(above, abs(left[i]))
    for i in range(n, n + m):
        below = max(below, abs(left[i]))
    total = 0.0  # max leaves NaN out
    for i in range(n + m):
        total += left[i]
    size[0], size[1], size[2], size[3] = above + (total - total), below, largest, moved
