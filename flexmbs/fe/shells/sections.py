"""What shell cells need beside their nodes: thickness, offset, layers; and the stiffness of a section."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.fe.materials import PAIRS, Material, material, tensor

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHEAR_FACTOR = 5.0 / 6.0
#: stiffness against turning about the normal, over that in shear: enough to be regular, too little to matter
DRILL = 1e-3
THINNEST = 1e-12
#: components of a stress in the surface, and across it, among xx yy zz xy yz zx
IN_SURFACE, ACROSS = [0, 1, 3], [5, 4]


@dataclass(frozen=True)
class Layer:
    """A layer [m] of a material in its own axes, whose x lies `angle` [rad] from the axis of the
    section."""

    thickness: float
    material: Material
    angle: float = 0.0


@dataclass(frozen=True)
class ShellSection:
    """Thickness [m]; offset [m] of the middle surface from the nodes, along the normal.

    layers : from the bottom up (against the normal first); () for one layer of the material of the cell,
        whose axes are those of the mesh
    axis : (3,) direction that, projected on the surface, angles of layers count from
    bending : stiffness in bending over that of the plain section, 0 for a membrane, whose nodes have no
        rotations;  shear : likewise across the surface, over that of a constant shear stress
    extra : mass per area beside that of the material [kg/m^2], at the middle surface
    stiffness : (8, 8) by rows, of stretch, curvature (xx yy 2xy) and shear (zx zy) about the middle surface,
        in the axes of the section; in place of that of materials, which give the mass; () for theirs
    """

    thickness: float
    offset: float = 0.0
    layers: tuple[Layer, ...] = ()
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bending: float = 1.0
    shear: float = SHEAR_FACTOR
    extra: float = 0.0
    stiffness: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.thickness > THINNEST:
            raise _error("thickness", f"{self.thickness:g}", f"expected at least {THINNEST:g} [m]")

    @property
    def membrane(self) -> bool:
        return self.bending == 0.0

    def density(self, item: Material) -> tuple[float, float, float]:
        """Mass, its first and second moment about the nodes' surface, per area."""
        z = self.heights()
        rho = np.array([layer.material.rho for layer in self.layers] or [item.rho])
        powers = [np.diff(z**n) / n for n in (1, 2, 3)]
        mass, first, second = (
            float(rho @ part) + self.extra * self.offset**n for n, part in enumerate(powers)
        )
        return mass, first, second

    def layer_at(self, face: float) -> int:
        """Number of the layer at a height, over half the thickness; where two meet, the one further out."""
        z, t = self.heights(), self.thickness
        height = self.offset + 0.5 * face * t
        inside = np.flatnonzero((z[:-1] - 1e-12 * t <= height) & (height <= z[1:] + 1e-12 * t))
        return int(inside[0 if face < 0.0 else -1])

    def heights(self) -> Floats:
        """Heights of the faces of the layers above the nodes (n_layers + 1,)."""
        steps = [layer.thickness for layer in self.layers] or [self.thickness]
        return self.offset - 0.5 * self.thickness + np.concatenate([[0.0], np.cumsum(steps)])


@dataclass(frozen=True)
class ShellData:
    """Sections, and which one each cell has: cell type -> (n_cells,).

    axis : cell type -> (n_cells, 3) in place of the axis of the section, where cells have one of their own
    """

    sections: tuple[ShellSection, ...]
    index: dict[str, Ints]
    axis: dict[str, Floats] = field(default_factory=dict)

    def turning(self, kind: str) -> NDArray[np.bool_]:
        """Mask of the cells that hold the rotations of their nodes: all but membranes."""
        return ~np.array([item.membrane for item in self.sections], dtype=bool)[self.index[kind]]

    def axis_of(self, kind: str, cells: Ints, section: ShellSection) -> Floats:
        """Directions (n, 3) that angles of layers count from."""
        if kind in self.axis:
            return self.axis[kind][cells]
        return np.tile(section.axis, (len(cells), 1))

    @staticmethod
    def uniform(cells: Mapping[str, Ints], section: ShellSection) -> ShellData:
        """One section for all cells."""
        return ShellData(
            (section,), {kind: np.zeros(len(rows), dtype=np.int64) for kind, rows in cells.items()}
        )


def section_from(spec: ShellSection | Mapping[str, Any]) -> ShellSection:
    """Section from a table with `thickness`, or `layers` of thickness, material, angle; offset, axis."""
    if isinstance(spec, ShellSection):
        return spec
    keys = ("thickness", "offset", "layers", "axis")
    for key in spec:
        if key not in keys:
            raise _error(key, "unknown key of a section", nearest(key, keys))
    layers = tuple(_layer(item) for item in spec.get("layers", ()))
    if bool(layers) == ("thickness" in spec):
        raise _error("thickness", "both or neither of thickness and layers", "give one of them")
    thickness = (
        sum(layer.thickness for layer in layers) if layers else _number("thickness", spec["thickness"])
    )
    if not thickness > 0.0:
        raise _error("thickness", f"{thickness}", "expected a positive number [m]")
    axis = np.asarray(spec.get("axis", (1.0, 0.0, 0.0)), dtype=float)
    if axis.shape != (3,) or not np.linalg.norm(axis) > 0.0:
        raise _error("axis", f"{spec.get('axis')}", "expected a direction [x, y, z]")
    return ShellSection(thickness, _number("offset", spec.get("offset", 0.0)), layers, tuple(axis.tolist()))


def _layer(item: Mapping[str, Any]) -> Layer:
    for key in item:
        if key not in ("thickness", "material", "angle"):
            raise _error("layers", f'unknown key "{key}"', "keys: thickness, material, angle")
    if "thickness" not in item or "material" not in item:
        raise _error("layers", f"{dict(item)}", "each needs a thickness and a material")
    thickness = _number("layers", item["thickness"])
    if not thickness > 0.0:
        raise _error("layers", f"thickness {thickness}", "expected a positive number [m]")
    return Layer(thickness, material(item["material"]), _number("layers", item.get("angle", 0.0)))


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer) or not np.isfinite(value):
        raise _error(key, f"{value}", "expected a number")
    return float(value)


def _error(key: str, what: str, remedy: str) -> InputError:
    return InputError(Diagnostic("mesh.shell", f"mesh.section.{key}", what, remedy))


def plane_stress(C_mat: Floats) -> tuple[Floats, Floats]:
    """Stiffness without stress along the normal: in the surface (..., 3, 3), and across it (..., 2, 2)."""
    C = np.asarray(C_mat)
    rest = C - C[..., :, 2:3] * C[..., 2:3, :] / C[..., 2:3, 2:3]
    return rest[..., IN_SURFACE, :][..., IN_SURFACE], rest[..., ACROSS, :][..., ACROSS]


def in_axes(C_mat: Floats, R: Floats) -> Floats:
    """Elasticity matrix in the axes that are the rows of R (..., 3, 3)."""
    C = np.einsum("...ai,...bj,...ck,...dl,ijkl->...abcd", R, R, R, R, tensor(C_mat), optimize=True)
    i, j = np.array(PAIRS).T
    return np.asarray(C[..., i[:, None], j[:, None], i[None, :], j[None, :]])


def layer_stiffness(
    section: ShellSection, item: Material, R: Floats, axis: Floats
) -> list[tuple[float, float, Floats, Floats]]:
    """Layers as bottom, top, and their stiffness in the axes R (cells, points, 3, 3): rows along, across,
    normal.

    axis (cells, 3): the direction that angles of layers count from. The stiffness of an isotropic material
    has no axes and comes as (3, 3) and (2, 2).
    """
    if not section.layers:
        bottom, top = section.heights()
        C = item.C_mat if item.E is not None else in_axes(item.C_mat, R)
        return [(bottom, top, *plane_stress(C))]
    z, found = section.heights(), []
    x, y, normal = section_axes(R, axis)
    for number, layer in enumerate(section.layers):
        a = layer.angle
        own = np.stack([np.cos(a) * x + np.sin(a) * y, np.cos(a) * y - np.sin(a) * x, normal], axis=-2)
        # axes of the surface out of those of the layer
        turn = np.einsum("...ai,...bi->...ab", R, own)
        C = layer.material.C_mat if layer.material.E is not None else in_axes(layer.material.C_mat, turn)
        found.append((z[number], z[number + 1], *plane_stress(C)))
    return found


def section_axes(R: Floats, axis: Floats) -> tuple[Floats, Floats, Floats]:
    """Axes x, y, normal (cells, points, 3) of a section: x is `axis` (cells, 3), projected on the surface."""
    normal = R[..., 2, :]
    x = (axis / np.linalg.norm(axis, axis=-1, keepdims=True))[:, None]
    x = x - normal * np.einsum("cpi,cpi->cp", normal, np.broadcast_to(x, normal.shape))[..., None]
    size = np.linalg.norm(x, axis=-1, keepdims=True)
    if not (size > 1e-3).all():
        bad = axis[np.argmin(size.reshape(len(axis), -1).min(axis=1))].tolist()
        raise _error("axis", f"{bad} is normal to the surface of a cell", "give another direction")
    x = x / size
    return x, np.cross(normal, x), normal


def given_stiffness(section: ShellSection, R: Floats, axis: Floats) -> Floats:
    """The stiffness of a section that states it, (cells, points, 8, 8), in the axes R."""
    x, _, _ = section_axes(R, axis)
    # x of the section lies at an angle from x of the cell towards its y
    c, s = (np.einsum("cpi,cpi->cp", R[..., k, :], x)[..., None, None] for k in (0, 1))
    rows = [[c**2, s**2, c * s], [s**2, c**2, -c * s], [-2 * c * s, 2 * c * s, c**2 - s**2]]
    T = np.zeros((*R.shape[:2], 8, 8))
    plane = np.block(rows)
    T[..., :3, :3] = T[..., 3:6, 3:6] = plane
    T[..., 6:, 6:] = np.block([[c, s], [-s, c]])
    S = np.reshape(section.stiffness, (8, 8))
    return np.asarray(np.swapaxes(T, -1, -2) @ S @ T)


def section_stiffness(section: ShellSection, item: Material, R: Floats, axis: Floats) -> Floats:
    """(cells, points, 9, 9): stretch, curvature (xx yy 2xy), shear (zx zy), turning about the normal.

    About the surface of the nodes, so that an offset couples stretch and curvature. Of an isotropic section
    (1, 1, 9, 9), which has no axes.
    """
    if not section.stiffness and not section.layers and item.E is not None:
        R, axis = R[:1, :1], axis[:1]
    S = np.zeros((*R.shape[:2], 9, 9))
    z = section.offset
    if section.stiffness:
        S[..., :8, :8] = given_stiffness(section, R, axis)
        A, B = S[..., :3, :3].copy(), S[..., :3, 3:6].copy()
        S[..., :3, 3:6] += z * A
        S[..., 3:6, 3:6] += z * (B + np.swapaxes(B, -1, -2)) + z**2 * A
    for bottom, top, Q, G in [] if section.stiffness else layer_stiffness(section, item, R, axis):
        # powers of the height above the middle surface, then above the nodes
        first, second, third = (np.divide((top - z) ** n - (bottom - z) ** n, n) for n in (1, 2, 3))
        S[..., :3, :3] += Q * first
        S[..., :3, 3:6] += Q * (second + z * first)
        S[..., 3:6, 3:6] += Q * (section.bending * third + 2.0 * z * second + z**2 * first)
        S[..., 6:8, 6:8] += section.shear * G * first
    S[..., 3:6, :3] = np.swapaxes(S[..., :3, 3:6], -1, -2)
    S[..., 8, 8] = DRILL * S[..., 2, 2]
    if section.membrane:
        S[..., 3:, :] = S[..., :, 3:] = 0.0
    return S
