"""Forces that equilibrium leaves open: least squares over joints and couplings, or least energy (F28)."""

import math

from flexmbs._jit import kernel
from flexmbs.dynamics.reactions import add_stress
from flexmbs.model.joints.base import OFFSET

#: metrics of joint forces: moments over a length; compliances of the joints
SQUARES, ENERGY = 0, 1
#: a direction with less energy than this part of the largest has none
NO_ENERGY = 1e-12
JACOBI_SWEEPS = 60


@kernel(lean=True, apart=True)
def share_forces(sys, ws, length):
    """Add the self-stress that equilibrium leaves open (F28).

    Without compliances it makes the sum of squares over the forces of all joints and couplings least,
    moments over `length`.
    With them it makes the elastic energy of the joints least, and the sum of squares decides what is still
    open. Needs reactions of the solution as it is, and self_stress before them. Writes: reaction, effort,
    row_force; f_p, f, swap, null_v, null_A, null_y, null_d, null_B, null_V.
    """
    n = 0
    for r in range(ws.redundant.shape[0]):
        n += ws.redundant[r]
    n = min(n, ws.null.shape[0])
    y, d = ws.null_y, ws.null_d
    for a in range(n):
        y[a] = 0.0
    gradient(sys, ws, n, SQUARES, length, ws.null_A)
    solve_symmetric(ws.null_A, d, n)
    for a in range(n):
        y[a] = d[a]
    soft = 0.0
    for j in range(sys.joint_soft.shape[0]):
        for row in range(6):
            soft = max(soft, sys.joint_soft[j, row])
    if soft > 0.0:
        least_energy(sys, ws, n, length)
    for r in range(ws.row_force.shape[0]):
        ws.swap[r] = 0.0
        for a in range(n):
            ws.swap[r] += y[a] * ws.null[a, r]
    add_stress(sys, ws, ws.swap)


@kernel(lean=True)
def least_energy(sys, ws, n, length):
    """From least squares to least energy; what the energy leaves open stays with the squares.

    Needs the factors of the squares in null_A. In coordinates in which these are the identity, directions
    without energy are the eigenvectors of zero. Writes: null_y, null_d, null_B, null_V.
    """
    L, B, V, y, d = ws.null_A, ws.null_B, ws.null_V, ws.null_y, ws.null_d
    gradient(sys, ws, n, ENERGY, length, B)
    for a in range(n):
        for b in range(a):
            B[b, a] = B[a, b]
    for c in range(n):  # B := F^-1 B F^-T, d := F^-1 d with F = L sqrt(D), row by row, then column by column
        for a in range(n):
            for b in range(a):
                B[c, a] -= L[a, b] * B[c, b]
    for c in range(n):
        for a in range(n):
            for b in range(a):
                B[a, c] -= L[a, b] * B[b, c]
    for a in range(n):
        for b in range(a):
            d[a] -= L[a, b] * d[b]
    for a in range(n):
        d[a] *= inverse_root(L[a, a])
        for b in range(n):
            B[a, b] *= inverse_root(L[a, a]) * inverse_root(L[b, b])
    eigenvectors(B, V, n)
    top = 0.0
    for a in range(n):
        top = max(top, B[a, a])
    for a in range(n):
        s = 0.0
        for b in range(n):
            s += V[b, a] * d[b]
        B[a, a] = s / B[a, a] if B[a, a] > NO_ENERGY * top else 0.0
    for a in range(n):
        d[a] = 0.0
        for b in range(n):
            d[a] += V[a, b] * B[b, b] * inverse_root(L[a, a])
    for a in range(n - 1, -1, -1):
        for b in range(a + 1, n):
            d[a] -= L[b, a] * d[b]
        y[a] += d[a]


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
                size = math.sqrt(abs(B[a, a] * B[b, b]))
                if abs(B[a, b]) <= 1e-16 * size or B[a, b] == 0.0:
                    continue
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
    for k in range(n):
        x, z = B[a, k], B[b, k]
        B[a, k], B[b, k] = c * x - s * z, s * x + c * z
    B[a, b] = B[b, a] = 0.0
    for k in range(n):
        x, z = V[k, a], V[k, b]
        V[k, a], V[k, b] = c * x - s * z, s * x + c * z


@kernel(lean=True)
def gradient(sys, ws, n, level, length, A):
    """Squares or energy of all forces with null_y of self-stress. Writes: A, null_d, null_v."""
    d, v, y = ws.null_d, ws.null_v, ws.null_y
    for j in range(ws.reaction.shape[0]):
        weigh(sys, ws, j, level, length, ws.reaction[j], 0, v[n])
        for a in range(n):
            weigh(sys, ws, j, level, length, ws.null_w[a], 6 * j, v[a])
    for k in range(sys.share_row.shape[0]):
        r, c = sys.share_row[k], 6 * ws.reaction.shape[0] + k
        size = coupling_size(sys, ws, r, length) if level == SQUARES else 0.0  # couplings do not give way
        v[n, c] = size * ws.row_force[r]
        for a in range(n):
            v[a, c] = size * ws.null[a, r]
    for a in range(n):
        for c in range(v.shape[1]):
            v[n, c] += y[a] * v[a, c]
    for a in range(n):
        d[a] = 0.0
        for c in range(v.shape[1]):
            d[a] -= v[a, c] * v[n, c]
        for b in range(a + 1):
            s = 0.0
            for c in range(v.shape[1]):
                s += v[a, c] * v[b, c]
            A[a, b] = s


@kernel(lean=True)
def weigh(sys, ws, j, level, length, wrench, k, out):
    """Wrench of joint j, from place k on, in the metric of a level. Writes: its six numbers of out."""
    for row in range(6):
        first = 3 * (row // 3)
        if level == SQUARES:
            out[6 * j + row] = wrench[k + row] / (length if first == 3 else 1.0)
        else:
            R, axis = ws.mark_R[sys.joint_p[j]], row - first
            s = R[0, axis] * wrench[k + first]
            s += R[1, axis] * wrench[k + first + 1] + R[2, axis] * wrench[k + first + 2]
            out[6 * j + row] = math.sqrt(sys.joint_soft[j, row]) * s


@kernel(lean=True)
def coupling_size(sys, ws, r, length):
    """Norm of the efforts on joint coordinates that a unit of row r makes, moments over `length`."""
    s = 0.0
    for k in range(sys.rowent_start[r], sys.rowent_start[r + 1]):
        unit = 1.0 if sys.ent_kind[sys.rowent[k]] == OFFSET else length
        s += (ws.rowent_c[k] / unit) ** 2
    for k in range(sys.rowdof_start[r], sys.rowdof_start[r + 1]):
        unit = 1.0 if sys.coord_turn[sys.rowdof_coord[k]] == 0 else length
        s += (ws.rowdof_c[k] / unit) ** 2
    return math.sqrt(s)


@kernel(lean=True)
def solve_symmetric(A, y, n):
    """L D L^T solution with the lower triangle of A; what loads no joint gets nothing. Writes: A, y."""
    for a in range(n):
        whole = A[a, a]
        for b in range(a):
            for c in range(b):
                A[a, b] -= A[a, c] * A[b, c]
        for b in range(a):
            s = A[a, b]
            A[a, b] = s / A[b, b] if A[b, b] > 0.0 else 0.0
            A[a, a] -= s * A[a, b]
            y[a] -= A[a, b] * y[b]
        if not A[a, a] > 1e-12 * whole:
            A[a, a] = 0.0
    for a in range(n - 1, -1, -1):
        y[a] = y[a] / A[a, a] if A[a, a] > 0.0 else 0.0
        for b in range(a + 1, n):
            y[a] -= A[b, a] * y[b]
