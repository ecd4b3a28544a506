"""Cross sections of beams: by shape, or by A, Iy, Iz, J and shear factor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, InputError, nearest


@dataclass(frozen=True)
class Section:
    """A [m^2]; Iy = int z^2, Iz = int y^2, J torsion constant [m^4].

    shear_factor: (k_y, k_z), or None: by the shape and Poisson's ratio (Cowper).
    shape: "rectangle" (b_y, h_z), "circle" (d,), "tube" (d_out, d_in), or "" when given by numbers.
    extra: mass per length beside that of the material [kg/m], on the axis.
    shear_centre: its place (y, z) from the centroid [m].
    """

    A: float
    Iy: float
    Iz: float
    J: float
    shear_factor: tuple[float, float] | None = None
    shape: str = ""
    size: tuple[float, ...] = ()
    extra: float = 0.0
    shear_centre: tuple[float, float] = (0.0, 0.0)

    def mass_per_length(self, rho: float) -> float:
        """[kg/m]"""
        return rho * self.A + self.extra

    def shear_factors(self, nu: float) -> tuple[float, float]:
        """k_y, k_z for Poisson's ratio nu."""
        if self.shear_factor is not None:
            return self.shear_factor
        if self.shape == "":
            raise _error(
                "shear_factor", "is missing", "a Timoshenko beam needs it: one number, or [k_y, k_z]"
            )
        if self.shape == "rectangle":
            k = 10.0 * (1.0 + nu) / (12.0 + 11.0 * nu)
        else:
            hollow = (self.size[1] / self.size[0]) ** 2 if self.shape == "tube" else 0.0
            top = 6.0 * (1.0 + nu) * (1.0 + hollow) ** 2
            k = top / ((7.0 + 6.0 * nu) * (1.0 + hollow) ** 2 + (20.0 + 12.0 * nu) * hollow)
        return k, k


def rectangle(b_y: float, h_z: float) -> Section:
    """Full rectangle with sides b_y and h_z [m]."""
    long, short = max(b_y, h_z), min(b_y, h_z)
    if not short > 1e-9 * long:
        raise ValueError(f"a rectangle of {b_y:g} by {h_z:g}")
    odd = np.arange(1, 60, 2)
    series = float((np.tanh(odd * np.pi * long / (2.0 * short)) / odd**5.0).sum())
    J = long * short**3 * (1.0 / 3.0 - 64.0 * short / (np.pi**5 * long) * series)
    return Section(b_y * h_z, b_y * h_z**3 / 12.0, h_z * b_y**3 / 12.0, J, None, "rectangle", (b_y, h_z))


def tube(d_out: float, d_in: float = 0.0) -> Section:
    """Circle or tube by its diameters [m]."""
    inertia = np.pi * (d_out**4 - d_in**4) / 64.0
    shape, size = ("tube", (d_out, d_in)) if d_in > 0.0 else ("circle", (d_out,))
    return Section(np.pi * (d_out**2 - d_in**2) / 4.0, inertia, inertia, 2.0 * inertia, None, shape, size)


def section_from(spec: Section | Mapping[str, Any]) -> Section:
    """Section from its table: { rectangle }, { circle }, { tube } or { A, Iy, Iz, J }, and shear_factor."""
    if isinstance(spec, Section):
        return spec
    if not isinstance(spec, Mapping):
        raise _error("section", f"{spec}", "give { rectangle = [b_y, h_z] } or another table")
    keys = ("rectangle", "circle", "tube", "A", "Iy", "Iz", "J", "shear_factor")
    for key in spec:
        if key not in keys:
            raise _error(str(key), "unknown key", nearest(str(key), keys))
    shapes = [key for key in ("rectangle", "circle", "tube") if key in spec]
    factor = _shear_factor(spec.get("shear_factor"))
    given = [key for key in ("A", "Iy", "Iz", "J") if key in spec]
    if len(shapes) + bool(given) != 1:
        raise _error("section", ", ".join([*shapes, *given]) or "empty", "give one shape, or A, Iy, Iz and J")
    if not shapes:
        A, Iy, Iz, J = (_positive(key, spec.get(key, np.nan), 1)[0] for key in ("A", "Iy", "Iz", "J"))
        return Section(A, Iy, Iz, J, factor)
    found = _by_shape(shapes[0], spec[shapes[0]])
    return Section(found.A, found.Iy, found.Iz, found.J, factor, found.shape, found.size)


def _by_shape(shape: str, value: Any) -> Section:
    if shape == "circle":
        return tube(_positive(shape, value, 1)[0])
    first, second = _positive(shape, value, 2)
    if shape == "rectangle":
        return rectangle(first, second)
    if not second < first:
        raise _error(shape, f"[{first}, {second}]", "the outer diameter first, then the inner, smaller one")
    return tube(first, second)


def _shear_factor(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    numbers = _positive("shear_factor", value, np.size(value))
    if len(numbers) not in (1, 2):
        raise _error("shear_factor", f"{value}", "one number, or [k_y, k_z]")
    return numbers[0], numbers[-1]


def _positive(key: str, value: Any, n: int) -> list[float]:
    try:
        numbers = np.asarray(value, dtype=float).ravel()
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if len(numbers) != n or not (np.isfinite(numbers) & (numbers > 0.0)).all():
        shown = value.tolist() if isinstance(value, np.ndarray) else value
        raise _error(key, f"{shown}", f"expected {n} positive number{'s' if n > 1 else ''}")
    return [float(x) for x in numbers]


def _error(key: str, what: str, remedy: str) -> InputError:
    return InputError(Diagnostic("mesh.section", f"mesh.section.{key}", what, remedy))
