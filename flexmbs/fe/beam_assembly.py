"""Beam meshes -> K_fe and their inertia form; section forces and geometric stiffness (F9, F7a, F17)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe import beams
from flexmbs.fe.beams import Beam, BeamData
from flexmbs.fe.massform import Attached, MassForm
from flexmbs.fe.materials import Material, material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import gauss
from flexmbs.spatial import skew

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class BeamGroup:
    """Beam cells `which` of one beam and material: axes, length, shear flexibility, dofs (n, 12).

    turn (n, 12, 12) takes global nodal values to local ones of the ends, over rigid arms, with what released
    directions do; off : whether masses have places of their own
    """

    which: Ints
    beam: Beam
    material: Material
    axes: Floats
    length: Floats
    phi_y: Floats
    phi_z: Floats
    dofs: Ints
    turn: Floats
    ends: Floats
    off: bool

    @property
    def elasticity(self) -> tuple[float, float]:
        return elasticity(self.material)

    def local_stiffness(self) -> Floats:
        return beams.local_stiffness(self.beam, *self.elasticity, self.length)

    def to_global(self, local: Floats) -> Floats:
        """Element matrices in global axes."""
        return np.einsum("eam,eab,ebn->emn", self.turn, local, self.turn, optimize=True)


def elasticity(material: Material) -> tuple[float, float]:
    if material.E is None or material.nu is None:
        where, what = f"material {material.name}", "is not isotropic"
        raise InputError(Diagnostic("material", where, what, "beams need young, poisson"))
    return material.E, material.nu


def beam_groups(mesh: Mesh, materials: Mapping[str, Material]) -> Iterator[BeamGroup]:
    """The beam cells of a mesh by kind of beam, material, and whether they stand off or are released."""
    data = mesh.beam
    if data is None:
        raise InputError(
            Diagnostic(
                "mesh.beam", mesh.source or "mesh", "has beam2 cells without a section",
                'give the beam as [mesh] shape = "beam" with nodes and a section',
            )
        )  # fmt: skip
    used, index = material_of_cells(mesh, materials)
    off = data.offset.any(axis=(1, 2)) | data.released.any(axis=1)
    kinds = np.stack([data.index, index["beam2"], off], axis=1)
    for number, material, arms in np.unique(kinds, axis=0).tolist():
        which = np.flatnonzero((kinds == (number, material, arms)).all(axis=1))
        yield _group(mesh, data, which, data.beams[number], used[material], bool(arms))


def _group(mesh: Mesh, data: BeamData, which: Ints, beam: Beam, material: Material, off: bool) -> BeamGroup:
    cells, axes, arm = mesh.cells["beam2"][which], data.axes[which], data.offset[which]
    ends = mesh.points[cells] + arm
    length = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    turn = np.zeros((len(which), 12, 12))
    for block in range(0, 12, 3):
        turn[:, block : block + 3, block : block + 3] = axes
    for end in range(2):  # u - arm x theta
        at = 6 * end
        turn[:, at : at + 3, at + 3 : at + 6] = -axes @ skew(arm[:, end])
    dofs = (6 * cells[:, :, None] + np.arange(6)).reshape(-1, 12)
    phi_y, phi_z = beam.shear_flexibility(*elasticity(material), length)
    group = BeamGroup(which, beam, material, axes, length, phi_y, phi_z, dofs, turn, ends, off)
    released = data.released[which]
    return replace(group, turn=_released(group, released) @ turn) if released.any() else group


def _released(group: BeamGroup, released: NDArray[np.bool_]) -> Floats:
    """(n, 12, 12): what the ends of the cells do where they carry nothing in some directions."""
    K, C = group.local_stiffness(), np.tile(np.eye(12), (len(released), 1, 1))
    for pattern in np.unique(released, axis=0):
        r, k = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        cells = np.flatnonzero((released == pattern).all(axis=1))
        part = K[cells]
        K_rr = part[:, r[:, None], r]
        if len(r) and np.linalg.matrix_rank(K_rr / np.abs(K_rr).max(), tol=1e-9).min() < len(r):
            what = "a beam is released so that it moves freely between its nodes"
            raise InputError(Diagnostic("mesh.beam", "mesh", what, "release one end only"))
        C[np.ix_(cells, r, r)] = 0.0
        C[np.ix_(cells, r, k)] = -np.linalg.solve(K_rr, part[:, r[:, None], k])
    return C


def _sum(n_dof: int, parts: list[tuple[Ints, Floats]], layout: str) -> Any:
    """Sparse sum of element matrices (n, 12, 12) at dofs (n, 12)."""
    rows = [np.broadcast_to(dofs[:, :, None], blocks.shape).ravel() for dofs, blocks in parts]
    cols = [np.broadcast_to(dofs[:, None, :], blocks.shape).ravel() for dofs, blocks in parts]
    data = np.concatenate([blocks.ravel() for _, blocks in parts])
    total = sp.coo_array((data, (np.concatenate(rows), np.concatenate(cols))), shape=(n_dof, n_dof))
    return total.asformat(layout)


def beam_stiffness(mesh: Mesh, groups: list[BeamGroup]) -> Any:
    """K_fe of the beams (n_dof, n_dof), csc."""
    parts = [(group.dofs, _symmetric(group.to_global(group.local_stiffness()))) for group in groups]
    return _sum(6 * mesh.n_nodes, parts, "csc")


def _symmetric(blocks: Floats) -> Floats:
    return 0.5 * (blocks + blocks.transpose(0, 2, 1))


def beam_mass_form(mesh: Mesh, groups: list[BeamGroup], mass: str) -> MassForm:
    """Inertia form of the beams: translation by Ms_kl, the section's turning by attached inertias (F7a).

    What stands off its nodes, or half of each end where masses are lumped, are masses at their own places.
    """
    n_dof = 6 * mesh.n_nodes
    attached = Attached.none(n_dof)
    for group in groups:
        attached = attached.join(_section_inertias(group, n_dof, mass))
        if group.off:
            attached = attached.join(_masses(group, n_dof, mass))
    along = [group for group in groups if not group.off]
    if mass == "lumped":
        nodal = np.zeros(mesh.n_nodes)
        for group in along:
            half = 0.5 * group.beam.section.mass_per_length(group.material.rho) * group.length
            np.add.at(nodal, mesh.cells["beam2"][group.which], half[:, None])
        return MassForm(6, Ms=sp.diags_array(nodal, format="csr"), attached=attached)
    if not along:
        return MassForm(6, Ms=sp.csr_array((mesh.n_nodes, mesh.n_nodes)), attached=attached)
    parts = [(group, _global_integrals(group)) for group in along]
    Ms_kl = tuple(
        tuple(
            _sum(n_dof, [(group.dofs, blocks[:, k, ell]) for group, blocks in parts], "csr")
            for ell in range(3)
        )
        for k in range(3)
    )
    return MassForm(6, Ms_kl=Ms_kl, attached=attached)


def _global_integrals(group: BeamGroup) -> Floats:
    """int rho N_k^T N_l (n, 3, 3, 12, 12), components and dofs in global axes."""
    local = beams.inertia_integrals(group.beam, group.material.rho, group.length, group.phi_y, group.phi_z)
    R, T = group.axes, group.turn
    in_axes = np.einsum("eak,ebl,eabmn->eklmn", R, R, local, optimize=True)
    return np.einsum("emp,eklmn,enq->eklpq", T, in_axes, T, optimize=True)


def _places(mass: str, points: int) -> list[tuple[float, float]]:
    """Places t = x/L and weights: Gauss points, or half a cell at each end."""
    if mass == "lumped":
        return [(0.0, 0.5), (1.0, 0.5)]
    return [(0.5 * (1.0 + x), 0.5 * w) for x, w in zip(*gauss(points), strict=True)]


def _rows(group: BeamGroup, values: list[Floats], n_dof: int) -> Any:
    """Rows (3 n_places n, n_dof) of element rows (n, 3, 12), place by place."""
    data = np.concatenate(values)
    rows = np.arange(3 * len(data)).reshape(-1, 3, 1)
    columns = np.tile(group.dofs[:, None, :], (len(values), 3, 1))
    index = (np.broadcast_to(rows, data.shape).ravel(), columns.ravel())
    found = sp.csr_array((data.ravel(), index), shape=(3 * len(data), n_dof))
    found.eliminate_zeros()
    return found


def _masses(group: BeamGroup, n_dof: int, mass: str) -> Attached:
    """Masses of pieces of cells that stand off their nodes, where they are."""
    per_length = group.beam.section.mass_per_length(group.material.rho)
    weights, positions, values = [], [], []
    for t, weight in _places(mass, 4):  # cubic times cubic
        move, _, _ = beams.interpolation(group.beam, t, group.length, group.phi_y, group.phi_z)
        weights.append(weight * per_length * group.length)
        positions.append((1.0 - t) * group.ends[:, 0] + t * group.ends[:, 1])
        values.append(np.einsum("eak,eam,emn->ekn", group.axes, move, group.turn, optimize=True))
    none = Attached.none(n_dof)
    rows = _rows(group, values, n_dof)
    return Attached(np.concatenate(weights), np.concatenate(positions), rows, none.inertia, none.turn_rows)


def _section_inertias(group: BeamGroup, n_dof: int, mass: str) -> Attached:
    """Inertias of pieces of the beam: at Gauss points, or half an element at each node."""
    R = group.axes
    per_length = np.einsum("eak,a,eal->ekl", R, group.beam.inertia_per_length(group.material.rho), R)
    inertia, values = [], []
    for t, weight in _places(mass, 3):
        _, turn, _ = beams.interpolation(group.beam, t, group.length, group.phi_y, group.phi_z)
        inertia.append(per_length * (weight * group.length)[:, None, None])
        values.append(np.einsum("eak,eam,emn->ekn", R, turn, group.turn, optimize=True))
    none = Attached.none(n_dof)
    rows = _rows(group, values, n_dof)
    return Attached(none.mass, none.position, none.rows, np.concatenate(inertia), rows)


def section_forces(mesh: Mesh, materials: Mapping[str, Material], U: Floats) -> Floats:
    """N Vy Vz T My Mz (m, n_cells, 2, 6) at both ends of the beams, section axes, on the face towards +x.

    They follow from the nodal displacements: loads along an element act as if they were at its nodes.
    """
    found = np.zeros((U.shape[1], len(mesh.cells["beam2"]), 2, 6))
    for group in beam_groups(mesh, materials):
        local = np.einsum("emn,enk->emk", group.turn, U[group.dofs])
        ends = np.einsum("emn,enk->kem", group.local_stiffness(), local)
        found[:, group.which] = ends.reshape(U.shape[1], len(local), 2, 6) * np.array([-1.0, 1.0])[:, None]
    return found


def beam_geometric_stiffness(
    mesh: Mesh, materials: Mapping[str, Material], U_load: Floats, Phi: Floats
) -> Floats:
    """K_sigma,c on Phi (n_load, nf, nf) for the section forces of the displacements U_load (F17)."""
    forces = section_forces(mesh, materials, U_load)
    nf = Phi.shape[1]
    K_geo = np.zeros((U_load.shape[1], nf, nf))
    for group in beam_groups(mesh, materials):
        local = np.einsum("emn,enk->emk", group.turn, Phi[group.dofs])
        for c in range(len(K_geo)):
            far = forces[c, group.which, 1]
            blocks = beams.geometric_blocks(group.beam, far, group.length, group.phi_y, group.phi_z)
            K_geo[c] += np.einsum("ema,emn,enb->ab", local, blocks, local, optimize=True)
    return K_geo


def beam_prestress(mesh: Mesh, materials: Mapping[str, Material], U: Floats, change: Floats) -> Any:
    """K_sigma (n_dof, n_dof) of the section forces of the displacements U (n_dof,) (F17).

    change (n_cells,): of temperature [K]; free expansion has no force.
    """
    forces = section_forces(mesh, materials, U[:, None])[0]
    parts = []
    for group in beam_groups(mesh, materials):
        far = forces[group.which, 1]
        far[:, 0] -= (
            group.elasticity[0] * group.beam.section.A * group.material.expansion * change[group.which]
        )
        blocks = beams.geometric_blocks(group.beam, far, group.length, group.phi_y, group.phi_z)
        parts.append((group.dofs, _symmetric(group.to_global(blocks))))
    return _sum(6 * mesh.n_nodes, parts, "csc")
