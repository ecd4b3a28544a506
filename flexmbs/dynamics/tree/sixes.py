"""Six numbers of a twist or a wrench, and symmetric matrices of them, in registers."""

from flexmbs._jit import kernel
from flexmbs.model.vectors import wrench_at


@kernel(inline=True)
def six(x, k):
    """x[k] as a tuple."""
    return x[k, 0], x[k, 1], x[k, 2], x[k, 3], x[k, 4], x[k, 5]


@kernel(inline=True)
def six_at(x, k):
    """Six numbers of a flat array, from place k on."""
    return x[k], x[k + 1], x[k + 2], x[k + 3], x[k + 4], x[k + 5]


@kernel(inline=True)
def put_six(x, k, a):
    """Writes: x[k]."""
    x[k, 0], x[k, 1], x[k, 2], x[k, 3], x[k, 4], x[k, 5] = a


@kernel(inline=True)
def put_six_at(x, k, a):
    """Writes: six numbers of a flat array, from place k on."""
    x[k], x[k + 1], x[k + 2], x[k + 3], x[k + 4], x[k + 5] = a


@kernel(inline=True)
def dot_six(a, b):
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@kernel(inline=True)
def plus_six(a, factor, b):
    """a + factor b."""
    return (
        a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2],
        a[3] + factor * b[3], a[4] + factor * b[4], a[5] + factor * b[5],
    )  # fmt: skip


@kernel(inline=True)
def upper(M, i):
    """M[i] on and above the diagonal, row by row, as a tuple."""
    return (
        M[i, 0, 0], M[i, 0, 1], M[i, 0, 2], M[i, 0, 3], M[i, 0, 4], M[i, 0, 5],
        M[i, 1, 1], M[i, 1, 2], M[i, 1, 3], M[i, 1, 4], M[i, 1, 5],
        M[i, 2, 2], M[i, 2, 3], M[i, 2, 4], M[i, 2, 5],
        M[i, 3, 3], M[i, 3, 4], M[i, 3, 5], M[i, 4, 4], M[i, 4, 5], M[i, 5, 5],
    )  # fmt: skip


@kernel(inline=True)
def upper_times(m, h):
    """Symmetric matrix times six numbers."""
    a, b, c, d, e, f = h
    return (
        (m[0] * a + m[1] * b + m[2] * c) + (m[3] * d + m[4] * e + m[5] * f),
        (m[1] * a + m[6] * b + m[7] * c) + (m[8] * d + m[9] * e + m[10] * f),
        (m[2] * a + m[7] * b + m[11] * c) + (m[12] * d + m[13] * e + m[14] * f),
        (m[3] * a + m[8] * b + m[12] * c) + (m[15] * d + m[16] * e + m[17] * f),
        (m[4] * a + m[9] * b + m[13] * c) + (m[16] * d + m[18] * e + m[19] * f),
        (m[5] * a + m[10] * b + m[14] * c) + (m[17] * d + m[19] * e + m[20] * f),
    )  # fmt: skip


@kernel(inline=True)
def downdated(m, u, s):
    """Symmetric matrix less s u u^T."""
    a, b, c, d, e, f = u
    sa, sb, sc, sd, se, sf = s * a, s * b, s * c, s * d, s * e, s * f
    return (
        m[0] - sa * a, m[1] - sa * b, m[2] - sa * c, m[3] - sa * d, m[4] - sa * e, m[5] - sa * f,
        m[6] - sb * b, m[7] - sb * c, m[8] - sb * d, m[9] - sb * e, m[10] - sb * f,
        m[11] - sc * c, m[12] - sc * d, m[13] - sc * e, m[14] - sc * f,
        m[15] - sd * d, m[16] - sd * e, m[17] - sd * f, m[18] - se * e, m[19] - se * f, m[20] - sf * f,
    )  # fmt: skip


@kernel(inline=True)
def mirror(M):
    """Writes: M below its diagonal."""
    for row in range(6):
        for col in range(row):
            M[row, col] = M[col, row]


@kernel(inline=True)
def put_upper(M, i, m):
    """Writes: M[i], all of it."""
    M[i, 0, 0], M[i, 0, 1], M[i, 0, 2], M[i, 0, 3], M[i, 0, 4], M[i, 0, 5] = m[:6]
    M[i, 1, 1], M[i, 1, 2], M[i, 1, 3], M[i, 1, 4], M[i, 1, 5] = m[6:11]
    M[i, 2, 2], M[i, 2, 3], M[i, 2, 4], M[i, 2, 5] = m[11:15]
    M[i, 3, 3], M[i, 3, 4], M[i, 3, 5], M[i, 4, 4], M[i, 4, 5], M[i, 5, 5] = m[15:]
    mirror(M[i])


@kernel(inline=True)
def add_shifted(M, f, p, m, g, x, y, z):
    """M[p] += S^T m S, f[p] += S^T g for S = [1, -(x, y, z)~; 0, 1] (F22). Writes: M[p] (upper), f[p]."""
    # m = [A, B; B^T, D] gives [A, P; ., D - B^T X + X P], P = B - A X
    p0, p1, p2 = m[3] + y * m[2] - z * m[1], m[4] + z * m[0] - x * m[2], m[5] + x * m[1] - y * m[0]
    q0, q1, q2 = m[8] + y * m[7] - z * m[6], m[9] + z * m[1] - x * m[7], m[10] + x * m[6] - y * m[1]
    s0, s1, s2 = m[12] + y * m[11] - z * m[7], m[13] + z * m[2] - x * m[11], m[14] + x * m[7] - y * m[2]
    M[p, 0, 0] += m[0]
    M[p, 0, 1] += m[1]
    M[p, 0, 2] += m[2]
    M[p, 0, 3] += p0
    M[p, 0, 4] += p1
    M[p, 0, 5] += p2
    M[p, 1, 1] += m[6]
    M[p, 1, 2] += m[7]
    M[p, 1, 3] += q0
    M[p, 1, 4] += q1
    M[p, 1, 5] += q2
    M[p, 2, 2] += m[11]
    M[p, 2, 3] += s0
    M[p, 2, 4] += s1
    M[p, 2, 5] += s2
    M[p, 3, 3] += m[15] + (y * m[12] - z * m[8]) + (y * s0 - z * q0)
    M[p, 3, 4] += m[16] + (z * m[3] - x * m[12]) + (y * s1 - z * q1)
    M[p, 3, 5] += m[17] + (x * m[8] - y * m[3]) + (y * s2 - z * q2)
    M[p, 4, 4] += m[18] + (z * m[4] - x * m[13]) + (z * p1 - x * s1)
    M[p, 4, 5] += m[19] + (x * m[9] - y * m[4]) + (z * p2 - x * s2)
    M[p, 5, 5] += m[20] + (x * m[10] - y * m[5]) + (x * q2 - y * p2)
    put_six(f, p, plus_six(six(f, p), 1.0, wrench_at(g, (x, y, z))))
