"""Vectors and wrenches in registers, as kernels take them: three numbers, or six with the force first."""

from flexmbs._jit import kernel


@kernel(inline=True)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(inline=True)
def three(x, m, o):
    """Three numbers of row m, from place o on."""
    return x[m, o], x[m, o + 1], x[m, o + 2]


@kernel(inline=True)
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel(inline=True)
def from_axes(R, m, x, y, z):
    """Components in the axes of marker or body m -> ground axes."""
    return (
        R[m, 0, 0] * x + R[m, 0, 1] * y + R[m, 0, 2] * z,
        R[m, 1, 0] * x + R[m, 1, 1] * y + R[m, 1, 2] * z,
        R[m, 2, 0] * x + R[m, 2, 1] * y + R[m, 2, 2] * z,
    )


@kernel(inline=True)
def to_axes(R, m, x, y, z):
    """Ground axes -> components in the axes of marker or body m."""
    return (
        R[m, 0, 0] * x + R[m, 1, 0] * y + R[m, 2, 0] * z,
        R[m, 0, 1] * x + R[m, 1, 1] * y + R[m, 2, 1] * z,
        R[m, 0, 2] * x + R[m, 1, 2] * y + R[m, 2, 2] * z,
    )


@kernel(inline=True)
def between(a, i, b, j):
    """From point a[i] to point b[j]."""
    return b[j, 0] - a[i, 0], b[j, 1] - a[i, 1], b[j, 2] - a[i, 2]


@kernel(inline=True)
def twist_at(t, arm):
    """A twist, or a small motion, of a point that is `arm` away."""
    x, y, z = arm
    return (
        t[0] + t[4] * z - t[5] * y, t[1] + t[5] * x - t[3] * z, t[2] + t[3] * y - t[4] * x,
        t[3], t[4], t[5],
    )  # fmt: skip


@kernel(inline=True)
def wrench_at(w, arm):
    """A wrench about a point from which it is `arm` away."""
    x, y, z = arm
    return (
        w[0], w[1], w[2],
        w[3] + y * w[2] - z * w[1], w[4] + z * w[0] - x * w[2], w[5] + x * w[1] - y * w[0],
    )  # fmt: skip


@kernel(inline=True)
def add_wrench_at(f, w, arm):
    """Add a wrench to one about a point from which that of w is `arm` away. Writes: f."""
    at = wrench_at(w, arm)
    for k in range(6):
        f[k] += at[k]


@kernel(inline=True)
def times_wrench(c, relation):
    """c times the wrench of a relation (`RelationWork.at`)."""
    return (
        c * relation[3], c * relation[4], c * relation[5],
        c * relation[6], c * relation[7], c * relation[8],
    )  # fmt: skip


@kernel(inline=True)
def on_mode(L, o, w):
    """What a wrench at a marker does on a mode, whose column of L_P stands at L[o] (F18)."""
    return (
        L[o] * w[0] + L[o + 1] * w[1] + L[o + 2] * w[2]
        + L[o + 3] * w[3] + L[o + 4] * w[4] + L[o + 5] * w[5]
    )  # fmt: skip
