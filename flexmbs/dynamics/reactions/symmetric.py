"""Small symmetric systems in their envelopes: L D L^T, of self-stress and of contacts (F28)."""

from flexmbs._jit import kernel

#: a direction with less than this part of its size has nothing: less energy than this of what a unit of force
#: can have, or squares that are those of others
NO_ENERGY = 1e-12


@kernel(lean=True, apart=True)
def factorise_symmetric(A, size, unit, lo, n):
    """L D L^T of the lower triangle of A; D = 0 where next to nothing is left of `unit` times that of `size`.

    Row a begins in column lo[a]: the cost is that of this envelope. Returns whether all D > 0. Writes: A.
    """
    whole = True
    for a in range(n):
        least = NO_ENERGY * unit * size[a, a]
        for b in range(lo[a], a):
            for c in range(max(lo[a], lo[b]), b):
                A[a, b] -= A[a, c] * A[b, c]
        for b in range(lo[a], a):
            s = A[a, b]
            A[a, b] = s / A[b, b] if A[b, b] > 0.0 else 0.0
            A[a, a] -= s * A[a, b]
        if not A[a, a] > least:
            A[a, a], whole = 0.0, False
    return whole


@kernel(lean=True, apart=True)
def solve_factors(A, lo, y, n):
    """Solution by these factors; what loads no joint gets nothing. Writes: y."""
    for a in range(n):
        for b in range(lo[a], a):
            y[a] -= A[a, b] * y[b]
    for a in range(n):
        y[a] = y[a] / A[a, a] if A[a, a] > 0.0 else 0.0
    for a in range(n - 1, -1, -1):
        for b in range(lo[a], a):
            y[b] -= A[a, b] * y[a]
