"""Materials: density and elasticity; named ones, isotropic and orthotropic; one per cell set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.fe.mesh import Mesh

Floats = NDArray[np.float64]

#: Order of stress and strain components; shear strains are engineering strains (twice the tensor's).
STRESS_COMPONENTS = ("xx", "yy", "zz", "xy", "yz", "zx")


@dataclass(frozen=True)
class Material:
    """rho [kg/m^3] and C_mat (6, 6) [Pa], rows and columns in the order of `STRESS_COMPONENTS`.

    E and nu are set for isotropic materials only; beams need them. loss_factor: energy lost in a cycle, over
    2 pi times that stored; expansion [1/K], the same in all directions.
    """

    name: str
    rho: float
    C_mat: Floats
    E: float | None = None
    nu: float | None = None
    loss_factor: float = 0.0
    expansion: float = 0.0

    @property
    def G(self) -> float:
        """Shear modulus of an isotropic material [Pa]."""
        if self.E is None or self.nu is None:
            raise _error(self.name, "is not isotropic", "beams need young, poisson and density")
        return self.E / (2.0 * (1.0 + self.nu))


def isotropic(name: str, E: float, nu: float, rho: float) -> Material:
    """Material from Young's modulus [Pa], Poisson's ratio and density [kg/m^3]."""
    E, nu, rho = (_number(name, key, x) for key, x in (("young", E), ("poisson", nu), ("density", rho)))
    _require(name, "young", E, E > 0.0, "a positive number [Pa]")
    _require(name, "poisson", nu, -1.0 < nu < 0.5, "a number between -1 and 0.5, both excluded")
    _require(name, "density", rho, rho >= 0.0, "a number >= 0 [kg/m^3]")
    lam, mu = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), E / (2.0 * (1.0 + nu))
    C_mat = np.diag([2.0 * mu] * 3 + [mu] * 3)
    C_mat[:3, :3] += lam
    return Material(name, float(rho), C_mat, float(E), float(nu))


def orthotropic(
    name: str,
    E: ArrayLike,
    nu: ArrayLike,
    G: ArrayLike,
    rho: float,
    rotation: ArrayLike | None = None,
) -> Material:
    """Material with three planes of symmetry.

    E = (E_x, E_y, E_z), nu = (nu_xy, nu_yz, nu_zx) with nu_ij / E_i = nu_ji / E_j, G = (G_xy, G_yz, G_zx);
    `rotation` (3, 3) takes material axes to mesh axes.
    """
    E, nu, G = (_numbers(name, key, x) for key, x in (("young", E), ("poisson", nu), ("shear", G)))
    rho = _number(name, "density", rho)
    for key, value in (("young", E), ("poisson", nu), ("shear", G)):
        _require(name, key, value, value.shape == (3,) and bool(np.isfinite(value).all()), "three numbers")
    _require(name, "young and shear", [*E, *G], min(*E, *G) > 0.0, "positive numbers [Pa]")
    _require(name, "density", rho, rho >= 0.0, "a number >= 0 [kg/m^3]")
    compliance = np.diag(np.concatenate([1.0 / E, 1.0 / G]))
    for i, j, ratio in ((0, 1, nu[0]), (1, 2, nu[1]), (2, 0, nu[2])):
        compliance[i, j] = compliance[j, i] = -ratio / E[i]
    stable = bool(np.linalg.eigvalsh(compliance).min() > 0.0)
    _require(name, "poisson", nu, stable, "ratios for which the elastic energy is positive")
    C_mat = np.linalg.inv(compliance)
    if rotation is not None:
        R = _numbers(name, "rotation", rotation)
        proper = R.shape == (9,) and np.allclose(R.reshape(3, 3) @ R.reshape(3, 3).T, np.eye(3), atol=1e-6)
        _require(name, "rotation", rotation, proper, "a 3 x 3 rotation matrix")
    return anisotropic(name, rotated(C_mat, rotation) if rotation is not None else C_mat, rho)


def anisotropic(name: str, C_mat: ArrayLike, rho: float) -> Material:
    """Material from its full elasticity matrix (6, 6), which must be symmetric and positive definite."""
    C = np.asarray(C_mat, dtype=float)
    _require(name, "C_mat", C.shape, C.shape == (6, 6) and bool(np.isfinite(C).all()), "6 x 6 numbers")
    close = bool(np.allclose(C, C.T, rtol=1e-9, atol=1e-9 * np.abs(C).max()))
    C = 0.5 * (C + C.T)
    _require(
        name,
        "C_mat",
        "given",
        close and np.linalg.eigvalsh(C).min() > 0.0,
        "symmetric, positive definite",
    )
    return Material(name, float(rho), C)


def rotated(C_mat: Floats, rotation: ArrayLike) -> Floats:
    """Elasticity matrix in mesh axes, from that in material axes."""
    R = np.asarray(rotation, dtype=float).reshape(3, 3)
    C = np.einsum("ai,bj,ck,dl,ijkl->abcd", R, R, R, R, tensor(C_mat), optimize=True)
    return np.array([[C[i, j, k, ell] for k, ell in PAIRS] for i, j in PAIRS])


#: axes that differ by less are the same
SAME_AXES = 1e-12
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))


def tensor(C_mat: Floats) -> Floats:
    """C_ijkl (3, 3, 3, 3) of an elasticity matrix."""
    place = np.zeros((3, 3), dtype=np.int64)
    for row, (i, j) in enumerate(PAIRS):
        place[i, j] = place[j, i] = row
    return np.ascontiguousarray(C_mat[place[:, :, None, None], place[None, None, :, :]])


def material(spec: str | Material | Mapping[str, Any]) -> Material:
    """Material by name, or from a table with young, poisson, density (three young, three poisson and three
    shear moduli when orthotropic; optional name, rotation, loss_factor,
    expansion).
    """
    if isinstance(spec, Material):
        return spec
    if isinstance(spec, str):
        if spec not in NAMED:
            raise _error(spec, "is not a known material", nearest(spec, list(NAMED)))
        return NAMED[spec]
    keys = ("name", "young", "poisson", "density", "shear", "rotation", "loss_factor", "expansion")
    name = str(spec.get("name", "material"))
    for key in spec:
        if key not in keys:
            raise _error(name, f'unknown key "{key}"', nearest(key, keys))
    missing = [key for key in ("young", "poisson", "density") if key not in spec]
    if missing:
        raise _error(name, f"lacks {', '.join(missing)}", "give young [Pa], poisson and density [kg/m^3]")
    if "shear" in spec:
        args = (spec["young"], spec["poisson"], spec["shear"], spec["density"])
        found = orthotropic(name, *args, rotation=spec.get("rotation"))
    else:
        found = isotropic(name, spec["young"], spec["poisson"], spec["density"])
    loss = _number(name, "loss_factor", spec.get("loss_factor", 0.0))
    _require(name, "loss_factor", loss, 0.0 <= loss <= 1.0, "a number from 0 to 1")
    expansion = _number(name, "expansion", spec.get("expansion", 0.0))
    _require(name, "expansion", expansion, abs(expansion) < 1e-2, "a number below 0.01 [1/K]")
    return replace(found, loss_factor=loss, expansion=expansion)


def material_of_cells(
    mesh: Mesh, materials: Mapping[str, Material]
) -> tuple[list[Material], dict[str, NDArray[np.int64]]]:
    """The materials in use, and for each cell type which one each cell has.

    `materials`: cell set -> Material; the key "" holds for all other cells. A cell without material, a name
    that is not a cell set, and two materials for one cell are errors.
    """
    names = list(materials)
    index = {kind: np.full(len(rows), -1, dtype=np.int64) for kind, rows in mesh.cells.items()}
    for number, name in enumerate(names):
        if name == "":
            continue
        if name not in mesh.cell_sets:
            raise _error(name, f'"{name}" is not a cell set', nearest(name, list(mesh.cell_sets)))
        for kind, cells in mesh.cell_sets[name].items():
            taken = index[kind][cells]
            if (taken >= 0).any():
                other = names[int(taken[taken >= 0][0])]
                raise _error(
                    name, f'{(taken >= 0).sum()} cells belong to "{other}" too', "make the sets disjoint"
                )
            index[kind][cells] = number
    bare = sum(int((rows < 0).sum()) for rows in index.values())
    if bare and "" not in materials:
        what = f"{bare} cells have no material"
        raise InputError(Diagnostic("material", "materials", what, "give one for the cells outside the sets"))
    for rows in index.values():
        rows[rows < 0] = names.index("") if "" in materials else 0
    return turned(list(materials.values()), index, mesh)


def turned(
    used: list[Material], index: dict[str, NDArray[np.int64]], mesh: Mesh
) -> tuple[list[Material], dict[str, NDArray[np.int64]]]:
    """Materials in the axes of their cells: one for each pair of both, isotropic ones as they are."""
    result, places = list(used), dict[tuple[int, bytes], int]()
    for kind, axes in mesh.axes.items():
        for cell in np.flatnonzero([used[k].E is None for k in index[kind]]).tolist():
            R, number = axes[cell], int(index[kind][cell])
            if np.abs(R - np.eye(3)).max() < SAME_AXES:
                continue
            key = (number, np.round(R, 12).tobytes())
            if key not in places:
                places[key] = len(result)
                item = used[number]
                result.append(Material(item.name, item.rho, rotated(item.C_mat, R)))
            index[kind][cell] = places[key]
    return result, index


def _numbers(name: str, key: str, value: Any) -> Floats:
    try:
        return np.asarray(value, dtype=float).ravel()
    except (TypeError, ValueError):
        raise _error(name, f"{key} = {value}", "expected numbers") from None


def _number(name: str, key: str, value: Any) -> float:
    numbers = _numbers(name, key, value)
    _require(name, key, value, numbers.shape == (1,), "one number")
    return float(numbers[0])


def _require(name: str, key: str, value: Any, good: bool, expected: str) -> None:
    if not good:
        raise _error(name, f"{key} = {value}", f"expected {expected}")


def _error(name: str, what: str, remedy: str) -> InputError:
    return InputError(Diagnostic("material", f"material {name}", what, remedy))


NAMED = {
    "steel": isotropic("steel", 210e9, 0.3, 7850.0),
    "aluminium": isotropic("aluminium", 70e9, 0.33, 2700.0),
    "titanium": isotropic("titanium", 114e9, 0.34, 4430.0),
}
