"""Small symmetric systems: L D L^T, eigenvectors, both metrics of self-stress (F28)."""

import math

from flexmbs._jit import kernel

JACOBI_SWEEPS = 60


@kernel(lean=True, apart=True)
def factorise_symmetric(A, lo, n):
    """L D L^T of the lower triangle of A; D = 0 for what loads no joint.

    Row a begins in column lo[a]: the cost is that of this envelope. Writes: A.
    """
    for a in range(n):
        whole = A[a, a]
        for b in range(lo[a], a):
            for c in range(max(lo[a], lo[b]), b):
                A[a, b] -= A[a, c] * A[b, c]
        for b in range(lo[a], a):
            s = A[a, b]
            A[a, b] = s / A[b, b] if A[b, b] > 0.0 else 0.0
            A[a, a] -= s * A[a, b]
        if not A[a, a] > 1e-12 * whole:
            A[a, a] = 0.0


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


@kernel(lean=True)
def yield_to(L, V, e, d, n):
    """Self-stress by generalised forces d, with compliances e of directions V in the squares. Writes: d.

    In coordinates in which the squares are the identity, directions without energy are the eigenvectors of
    zero.
    """
    x = e[n : 2 * n]
    for a in range(n):
        for b in range(a):
            d[a] -= L[a, b] * d[b]
    for a in range(n):
        d[a] *= inverse_root(L[a, a])
    for a in range(n):
        x[a] = 0.0
        for b in range(n):
            x[a] += e[a] * V[b, a] * d[b]
    for a in range(n):
        d[a] = 0.0
        for b in range(n):
            d[a] += V[a, b] * x[b] * inverse_root(L[a, a])
    for a in range(n - 1, -1, -1):
        for b in range(a + 1, n):
            d[a] -= L[b, a] * d[b]


@kernel(lean=True)
def inverse_root(x):
    """1 / sqrt(x); 0 of what loads no joint."""
    return 1.0 / math.sqrt(x) if x > 0.0 else 0.0


@kernel(lean=True)
def eigenvectors(B, V, n):
    """Eigenvalues of a symmetric matrix by Jacobi's rotations. Writes: B (its diagonal), V."""
    for a in range(n):
        for b in range(n):
            V[a, b] = 1.0 if a == b else 0.0
    for _ in range(JACOBI_SWEEPS):
        rest = 0.0
        for a in range(n):
            for b in range(a + 1, n):
                if abs(B[a, b]) > 1e-16 * math.sqrt(abs(B[a, a] * B[b, b])):
                    rest = max(rest, abs(B[a, b]))
                    rotate(B, V, n, a, b)
        if rest == 0.0:
            break


@kernel(lean=True)
def rotate(B, V, n, a, b):
    """One rotation that makes B[a, b] zero. Writes: B, V."""
    w = 0.5 * (B[b, b] - B[a, a]) / B[a, b]
    t = math.copysign(1.0, w) / (abs(w) + math.sqrt(w * w + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(n):
        x, z = B[k, a], B[k, b]
        B[k, a], B[k, b] = c * x - s * z, s * x + c * z
        x, z = V[k, a], V[k, b]
        V[k, a], V[k, b] = c * x - s * z, s * x + c * z
    for k in range(n):
        x, z = B[a, k], B[b, k]
        B[a, k], B[b, k] = c * x - s * z, s * x + c * z
    B[a, b] = B[b, a] = 0.0
