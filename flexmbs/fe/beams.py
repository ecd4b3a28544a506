"""Two-node beams with six dofs per node: section, axes, stiffness, mass, geometric stiffness.

Local axes: x along the beam, y and z the principal axes of the section. Local dofs per node: u v w, then
rotations about x y z. Bending in x-y takes Iz. Euler-Bernoulli is Timoshenko's element without shear: the
static solution of the element is its interpolation, so nodal values are exact in statics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.fe.quadrature import gauss
from flexmbs.fe.sections import Section, section_from

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

THEORIES = ("euler-bernoulli", "timoshenko")
#: cells that carry force along their axis only; their nodes have no rotations of theirs
ROD = "rod"
#: Local dofs of an element: axial, bending in x-y (v, rz), bending in x-z (w, ry), torsion.
AXIAL, IN_Y, IN_Z, TORSION = [0, 6], [1, 5, 7, 11], [2, 4, 8, 10], [3, 9]
#: Turning about y lowers w where turning about z raises v.
SIGN_Z = np.array([1.0, -1.0, 1.0, -1.0])


@dataclass(frozen=True)
class Beam:
    """What beam2 cells of one kind are: section, theory, and whether their sections resist turning."""

    section: Section
    theory: str
    rotary_inertia: bool

    def shear_flexibility(self, E: float, nu: float, length: Floats) -> tuple[Floats, Floats]:
        """Phi_y, Phi_z (n_cells,): bending over shear stiffness of the elements; zero without shear."""
        if self.theory != "timoshenko":
            return np.zeros(len(length)), np.zeros(len(length))
        G, (k_y, k_z) = E / (2.0 * (1.0 + nu)), self.section.shear_factors(nu)
        stiff = 12.0 * E / (G * self.section.A * length**2)
        return stiff * self.section.Iz / k_y, stiff * self.section.Iy / k_z

    def inertia_per_length(self, rho: float) -> Floats:
        """Principal inertias of the section (3,) [kg m]; about x always, or torsion would have no mass."""
        s = self.section
        if self.theory == ROD:
            return np.zeros(3)
        across = rho * np.array([s.Iy, s.Iz]) if self.rotary_inertia else np.zeros(2)
        return np.array([rho * (s.Iy + s.Iz), *across])


@dataclass(frozen=True)
class BeamData:
    """What beam2 cells need beside their nodes.

    beams, index (n_cells,) : which of them each cell is;  axes (n_cells, 3, 3) : rows x, y, z
    offset (n_cells, 2, 3) : from the nodes to the ends of the axis, rigid arms in axes of the mesh
    released (n_cells, 12) : local directions of the ends in which nothing is carried
    """

    beams: tuple[Beam, ...]
    index: Ints
    axes: Floats
    offset: Floats
    released: NDArray[np.bool_]

    @staticmethod
    def of(axes: Floats, beams: tuple[Beam, ...], index: Ints) -> BeamData:
        """Cells that run from node to node and carry everything."""
        n = len(axes)
        return BeamData(beams, index, axes, np.zeros((n, 2, 3)), np.zeros((n, 12), dtype=bool))

    @staticmethod
    def uniform(
        points: Floats,
        cells: Ints,
        section: Section | Mapping[str, Any],
        y_axis: ArrayLike | None = None,
        theory: str = "euler-bernoulli",
        rotary_inertia: bool | None = None,
        offset: ArrayLike | None = None,
    ) -> BeamData:
        """One section along all cells; `y_axis` (3,) lies in the x-y plane of the section.

        offset : (2,) of the axis from the nodes, along y and z of the section
        """
        if theory not in (*THEORIES, ROD):
            raise _error("theory", f'"{theory}"', nearest(theory, (*THEORIES, ROD)))
        rotary = theory == "timoshenko" if rotary_inertia is None else bool(rotary_inertia)
        axes = beam_axes(points[cells[:, 1]] - points[cells[:, 0]], y_axis)
        beam = Beam(section_from(section), theory, rotary)
        data = BeamData.of(axes, (beam,), np.zeros(len(cells), dtype=np.int64))
        arm = np.zeros(2) if offset is None else np.asarray(offset, dtype=float)
        if arm.shape != (2,) or not np.isfinite(arm).all():
            raise _error("offset", f"{arm.tolist()}", "expected 2 numbers, along y and z of the section")
        if theory == ROD and arm.any():
            raise _error("offset", f"{arm.tolist()} of a rod", "take a beam: nodes of rods carry no moments")
        return replace(data, offset=np.repeat((arm @ axes[:, 1:])[:, None], 2, axis=1))

    def join(self, other: BeamData) -> BeamData:
        """The cells of both, these first."""
        index = np.concatenate([self.index, other.index + len(self.beams)])
        parts = [(self.axes, other.axes), (self.offset, other.offset), (self.released, other.released)]
        return BeamData(self.beams + other.beams, index, *(np.concatenate(pair) for pair in parts))

    def turning(self) -> NDArray[np.bool_]:
        """Mask of the cells that hold the rotations of their nodes: all but rods."""
        return np.array([beam.theory != ROD for beam in self.beams], dtype=bool)[self.index]

    def values(self, name: str) -> Floats:
        """A number of the section of every cell: A, Iy, Iz, J."""
        return np.array([getattr(beam.section, name) for beam in self.beams], dtype=float)[self.index]


def beam_axes(direction: Floats, y_axis: ArrayLike | None) -> Floats:
    """Rows x, y, z (n, 3, 3). Without y_axis, z is as near to global z as it can be."""
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    if not (length > 0.0).all():
        raise _error("nodes", f"cell {int(length.argmin()) + 1} has no length", "move its nodes apart")
    x = direction / length
    if y_axis is None:
        up = np.array([0.0, 0.0, 1.0])
        y = np.cross(up, x)
        upright = np.linalg.norm(y, axis=1) < 1e-6
        y[upright] = [0.0, 1.0, 0.0]
    else:
        y = np.broadcast_to(np.asarray(y_axis, dtype=float), x.shape)
    y = y - x * np.einsum("ei,ei->e", x, y)[:, None]
    size = np.linalg.norm(y, axis=1, keepdims=True)
    given = np.linalg.norm(np.broadcast_to(0.0 if y_axis is None else y_axis, x.shape), axis=1, keepdims=True)
    along = np.flatnonzero(~(size > 1e-6 * given))
    if y_axis is not None and len(along):
        shown = np.broadcast_to(y_axis, x.shape)[along[0]].tolist()
        raise _error("y_axis", f"{shown} is along the beam", "give a direction across all pieces")
    y = y / size
    return np.stack([x, y, np.cross(x, y)], axis=1)


def _error(key: str, what: str, remedy: str) -> InputError:
    return InputError(Diagnostic("mesh.beam", f"mesh.{key}", what, remedy))


def local_stiffness(data: Beam, E: float, nu: float, length: Floats) -> Floats:
    """K of the elements in local axes (n, 12, 12), exact for the beam theory (F9)."""
    s, K = data.section, np.zeros((len(length), 12, 12))
    bar = np.array([[1.0, -1.0], [-1.0, 1.0]])
    K[:, np.ix_(AXIAL, AXIAL)[0], np.ix_(AXIAL, AXIAL)[1]] = (E * s.A / length)[:, None, None] * bar
    if data.theory == ROD:
        return K
    G = E / (2.0 * (1.0 + nu))
    K[:, np.ix_(TORSION, TORSION)[0], np.ix_(TORSION, TORSION)[1]] = (G * s.J / length)[:, None, None] * bar
    phi_y, phi_z = data.shear_flexibility(E, nu, length)
    plane_y = _bending(E * s.Iz, length, phi_y)
    plane_z = _bending(E * s.Iy, length, phi_z) * np.outer(SIGN_Z, SIGN_Z)
    K[:, np.ix_(IN_Y, IN_Y)[0], np.ix_(IN_Y, IN_Y)[1]] = plane_y
    K[:, np.ix_(IN_Z, IN_Z)[0], np.ix_(IN_Z, IN_Z)[1]] = plane_z
    to_shear = _to_shear_centre(s)
    return np.asarray(to_shear.T @ K @ to_shear)


def _to_shear_centre(section: Section) -> Floats:
    """(12, 12): motion of the ends at the shear centre, about which sections turn, out of the centroid's."""
    y, z = section.shear_centre
    T = np.eye(12)
    for end in (0, 6):
        T[end + 1, end + 3], T[end + 2, end + 3] = -z, y
    return T


def _bending(EI: float, length: Floats, phi: Floats) -> Floats:
    """(n, 4, 4) for v1, rz1, v2, rz2."""
    L, one = length, np.ones_like(length)
    a, b = 4.0 + phi, 2.0 - phi
    rows = [
        [12.0 * one, 6.0 * L, -12.0 * one, 6.0 * L],
        [6.0 * L, a * L**2, -6.0 * L, b * L**2],
        [-12.0 * one, -6.0 * L, 12.0 * one, -6.0 * L],
        [6.0 * L, b * L**2, -6.0 * L, a * L**2],
    ]
    table = np.array(rows).transpose(2, 0, 1)
    return table * (EI / (L**3 * (1.0 + phi)))[:, None, None]


def _deflection(t: float, L: Floats, phi: Floats) -> tuple[Floats, Floats, Floats]:
    """v, rotation and dv/dx at t = x/L for v1, rz1, v2, rz2, each (n, 4): the static solution with shear."""
    d = 1.0 / (1.0 + phi)
    v = [
        d * (1.0 - 3.0 * t**2 + 2.0 * t**3 + phi * (1.0 - t)),
        d * L * (t - 2.0 * t**2 + t**3 + 0.5 * phi * (t - t**2)),
        d * (3.0 * t**2 - 2.0 * t**3 + phi * t),
        d * L * (t**3 - t**2 - 0.5 * phi * (t - t**2)),
    ]
    turn = [
        d * 6.0 * (t**2 - t) / L,
        d * (1.0 - 4.0 * t + 3.0 * t**2 + phi * (1.0 - t)),
        d * 6.0 * (t - t**2) / L,
        d * (3.0 * t**2 - 2.0 * t + phi * t),
    ]
    slope = [
        d * (6.0 * (t**2 - t) - phi) / L,
        d * (1.0 - 4.0 * t + 3.0 * t**2 + phi * (0.5 - t)),
        d * (6.0 * (t - t**2) + phi) / L,
        d * (3.0 * t**2 - 2.0 * t - phi * (0.5 - t)),
    ]
    return np.stack(v, axis=1), np.stack(turn, axis=1), np.stack(slope, axis=1)


def interpolation(
    data: Beam, t: float, length: Floats, phi_y: Floats, phi_z: Floats
) -> tuple[Floats, Floats, Floats]:
    """Displacement, rotation and slope rows (n, 3, 12) in local axes at t = x/L.

    The slope rows are d/dx of (rotation about x, v, w): what geometric stiffness needs. Rods stay straight.
    """
    n = len(length)
    move, turn, slope = np.zeros((n, 3, 12)), np.zeros((n, 3, 12)), np.zeros((n, 3, 12))
    if data.theory == ROD:
        move[:, [0, 1, 2], [0, 1, 2]], move[:, [0, 1, 2], [6, 7, 8]] = 1.0 - t, t
        slope[:, [1, 2], [1, 2]], slope[:, [1, 2], [7, 8]] = -1.0 / length[:, None], 1.0 / length[:, None]
        return move, turn, slope
    move[:, 0, AXIAL] = turn[:, 0, TORSION] = [1.0 - t, t]
    slope[:, 0, TORSION] = np.stack([-1.0 / length, 1.0 / length], axis=1)
    move[:, 1, IN_Y], turn[:, 2, IN_Y], slope[:, 1, IN_Y] = _deflection(t, length, phi_y)
    v, r, dv = _deflection(t, length, phi_z)
    # in x-z the rotation about y is minus the slope
    move[:, 2, IN_Z], turn[:, 1, IN_Z], slope[:, 2, IN_Z] = v * SIGN_Z, -r * SIGN_Z, dv * SIGN_Z
    y, z = data.section.shear_centre
    if y or z:  # from the shear centre, which bends and turns on its own, to the centroid
        T = _to_shear_centre(data.section)
        move, turn, slope = move @ T, turn @ T, slope @ T
        for rows, about in ((move, turn[:, 0]), (slope, slope[:, 0])):
            rows[:, 1] += z * about
            rows[:, 2] -= y * about
    return move, turn, slope


def inertia_integrals(data: Beam, rho: float, length: Floats, phi_y: Floats, phi_z: Floats) -> Floats:
    """int rho A N_a^T N_b (n, 3, 3, 12, 12) of the local displacement components (F7a)."""
    total = np.zeros((len(length), 3, 3, 12, 12))
    for x, w in zip(*gauss(4), strict=True):  # cubic times cubic
        move, _, _ = interpolation(data, 0.5 * (1.0 + x), length, phi_y, phi_z)
        total += np.einsum(
            "e,eam,ebn->eabmn",
            0.5 * w * data.section.mass_per_length(rho) * length,
            move,
            move,
            optimize=True,
        )
    return total


def geometric_blocks(data: Beam, forces: Floats, length: Floats, phi_y: Floats, phi_z: Floats) -> Floats:
    """Geometric stiffness (n, 12, 12), local axes, of N Vy Vz T My Mz (n, 6) at the far end (F17).

    From int sigma_ij (d_i u_k)(d_j u_k) with u of the beam: N on the slopes of v, w and, by its polar radius,
    on the twist; moments and shear forces on slope times twist. Left out: squares of the axial strain, and
    the torque's part, both second order in slenderness. N and V are constant in an element.
    """
    N, Vy, Vz, _, My, Mz = forces.T
    polar = (data.section.Iy + data.section.Iz) / data.section.A
    K = np.zeros((len(length), 12, 12))
    for x, w in zip(*gauss(3), strict=True):
        t = 0.5 * (1.0 + x)
        _, turn, slope = interpolation(data, t, length, phi_y, phi_z)
        twist, dv, dw, angle = slope[:, 0], slope[:, 1], slope[:, 2], turn[:, 0]
        rest = (1.0 - t) * length
        My_t, Mz_t = My - rest * Vz, Mz + rest * Vy
        half = 0.5 * w * length
        for factor, a, b in ((N, dv, dv), (N, dw, dw), (N * polar, twist, twist)):
            K += np.einsum("e,em,en->emn", half * factor, a, b)
        for factor, a, b in ((-Mz_t, twist, dw), (-My_t, twist, dv), (Vy, dw, angle), (-Vz, dv, angle)):
            mixed = np.einsum("e,em,en->emn", half * factor, a, b)
            K += mixed + mixed.transpose(0, 2, 1)
    return K
