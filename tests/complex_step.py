"""Kernels as plain Python functions that take complex numbers, for derivatives by complex step.

f(x + i h d) = f(x) + i h f'(x) d + O(h^2): the imaginary part over h is the derivative to rounding, with no
difference taken. `complex_kernels()` puts the Python function in the place of every compiled kernel, and
functions that go on analytically in the place of those that do not: abs, sign, floor and atan2. Comparisons
of NumPy's complex numbers are those of their real parts, so every branch is the one of the real evaluation.
`twin` makes the arrays of a workspace complex; tables stay real. Nothing is compiled.
"""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np

from flexmbs._dispatch import Linked
from flexmbs._jit import Handle
from flexmbs.spatial import quat_multiply

STEP = 1e-30


def atan2(y, x):
    y, x = complex(y), complex(x)
    slope = (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)
    return np.complex128(math.atan2(y.real, x.real) + 1j * slope)


def absolute(x):
    return -x if np.real(x) < 0.0 else x


def floor(x):
    return math.floor(np.real(x))


def sign(x):
    return np.sign(np.real(x))


class _Numpy:
    """numpy, with the functions that go on into the complex plane."""

    arctan2, sign, floor, abs = staticmethod(atan2), staticmethod(sign), staticmethod(floor), absolute

    def __getattr__(self, name):
        return getattr(np, name)


_MATH = SimpleNamespace(
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sqrt", "exp", "log", "isfinite")},
    pi=math.pi, inf=math.inf, atan2=atan2, floor=floor,
)  # fmt: skip


@contextmanager
def complex_kernels():
    """Kernels are Python functions of complex numbers inside."""
    numpy, saved = _Numpy(), []
    for path, module in list(sys.modules.items()):
        names = vars(module) if path.startswith("flexmbs.") else {}
        if "kernel" not in names or path == "flexmbs._jit":
            names = {k: v for k, v in names.items() if isinstance(v, Linked)}
        put = {"abs": absolute, "min": _least, "max": _most} if names else {}
        for name, value in names.items():
            if isinstance(value, Linked):
                put[name] = value.py_func
            elif value is math or value is np:
                put[name] = _MATH if value is math else numpy
        for name, value in put.items():
            saved.append((names := vars(module), name, names.get(name)))
            names[name] = value
    try:
        yield
    finally:
        for names, name, value in saved:
            if value is None:
                del names[name]
            else:
                names[name] = value


def _most(*items):
    return max(*items, key=np.real)


def _least(*items):
    return min(*items, key=np.real)


def plain(value):
    """The named tuple of a handle."""
    return value.value if isinstance(value, Handle) else value


def twin(value):
    """The same with complex arrays in place of those of floats."""
    value = plain(value)
    if isinstance(value, tuple):
        return type(value)(*(twin(item) for item in value))
    is_real = isinstance(value, np.ndarray) and value.dtype == float
    return value.astype(complex) if is_real else value


def by_name(work, prefix=""):
    """Arrays of a nested tuple by their dotted names."""
    found = {}
    for name, item in zip(work._fields, plain(work), strict=True):
        found |= by_name(item, f"{prefix}{name}.") if isinstance(item, tuple) else {prefix + name: item}
    return found


def derivative(f, x, direction):
    """Derivative of the array f(x) along a direction; x and direction are lists of arrays and numbers."""
    with complex_kernels():
        value = f(*(a + 1j * STEP * b for a, b in zip(x, direction, strict=True)))
    return {name: item.imag / STEP for name, item in value.items()}


def pos_rates(tables, pos, vel):
    """Rates of the positions at some speeds: those of balls by their quaternions (F19)."""
    out = np.zeros(len(pos))
    for k, v in enumerate(tables.tree.vel_of_pos):
        if v >= 0:
            out[k] = vel[v]
    for b, e in zip(tables.prim.ball_beta, tables.prim.ball_eta, strict=True):
        out[b : b + 4] = 0.5 * quat_multiply(pos[b : b + 4], np.concatenate([[0.0], vel[e : e + 3]]))
    return out
