"""Unit quaternions (w, x, y, z) and rotation vectors in kernels; matrices are given row by row."""

import math

from flexmbs._jit import kernel


@kernel(inline=True)
def product(a, b):
    """R(a b) = R(a) R(b)."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] + a[2] * b[0] + a[3] * b[1] - a[1] * b[3],
        a[0] * b[3] + a[3] * b[0] + a[1] * b[2] - a[2] * b[1],
    )


@kernel(inline=True)
def of_matrix(m):
    """Quaternion with w >= 0 of a rotation matrix, given row by row."""
    m00, m01, m02, m10, m11, m12, m20, m21, m22 = m
    trace = m00 + m11 + m22
    # the largest of the four squares is the best conditioned
    if trace >= m00 and trace >= m11 and trace >= m22:
        w, x, y, z = 1.0 + trace, m21 - m12, m02 - m20, m10 - m01
    elif m00 >= m11 and m00 >= m22:
        w, x, y, z = m21 - m12, 1.0 + m00 - m11 - m22, m01 + m10, m02 + m20
    elif m11 >= m22:
        w, x, y, z = m02 - m20, m01 + m10, 1.0 + m11 - m00 - m22, m12 + m21
    else:
        w, x, y, z = m10 - m01, m02 + m20, m12 + m21, 1.0 + m22 - m00 - m11
    s = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    if w < 0.0:
        s = -s
    return w * s, x * s, y * s, z * s


@kernel(inline=True)
def relative_quaternion(mark_R, a, b):
    """Quaternion with w >= 0 of marker a against marker b, or against ground (b < 0)."""
    R = mark_R[a]
    # m[i, j] = axis i of b . axis j of a
    m00, m01, m02 = R[0, 0], R[0, 1], R[0, 2]
    m10, m11, m12 = R[1, 0], R[1, 1], R[1, 2]
    m20, m21, m22 = R[2, 0], R[2, 1], R[2, 2]
    if b >= 0:
        P = mark_R[b]
        n00 = P[0, 0] * m00 + P[1, 0] * m10 + P[2, 0] * m20
        n01 = P[0, 0] * m01 + P[1, 0] * m11 + P[2, 0] * m21
        n02 = P[0, 0] * m02 + P[1, 0] * m12 + P[2, 0] * m22
        n10 = P[0, 1] * m00 + P[1, 1] * m10 + P[2, 1] * m20
        n11 = P[0, 1] * m01 + P[1, 1] * m11 + P[2, 1] * m21
        n12 = P[0, 1] * m02 + P[1, 1] * m12 + P[2, 1] * m22
        n20 = P[0, 2] * m00 + P[1, 2] * m10 + P[2, 2] * m20
        n21 = P[0, 2] * m01 + P[1, 2] * m11 + P[2, 2] * m21
        n22 = P[0, 2] * m02 + P[1, 2] * m12 + P[2, 2] * m22
        m00, m01, m02, m10, m11, m12, m20, m21, m22 = n00, n01, n02, n10, n11, n12, n20, n21, n22
    return of_matrix((m00, m01, m02, m10, m11, m12, m20, m21, m22))


@kernel(inline=True)
def rotation_vector(w, x, y, z):
    """Rotation vector of a unit quaternion with w >= 0, angle in [0, pi]."""
    n = math.sqrt(x * x + y * y + z * z)
    factor = 2.0
    if n > 1e-12:
        factor = 2.0 * math.atan2(n, w) / n
    return factor * x, factor * y, factor * z
