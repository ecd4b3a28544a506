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
from flexmbs.fe.beams import BeamData
from flexmbs.fe.massform import Attached, MassForm
from flexmbs.fe.materials import Material, material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import gauss

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class BeamGroup:
    """Beam cells `which` of one material: data, length, shear flexibility, dofs (n, 12), turn (n, 12, 12).

    `turn` takes global nodal values to local ones.
    """

    which: Ints
    data: BeamData
    material: Material
    length: Floats
    phi_y: Floats
    phi_z: Floats
    dofs: Ints
    turn: Floats

    @property
    def elasticity(self) -> tuple[float, float]:
        if self.material.E is None or self.material.nu is None:
            raise InputError(
                Diagnostic(
                    "material",
                    f"material {self.material.name}",
                    "is not isotropic",
                    "beams need young, poisson",
                )
            )
        return self.material.E, self.material.nu

    def local_stiffness(self) -> Floats:
        return beams.local_stiffness(self.data, *self.elasticity, self.length)

    def to_global(self, local: Floats) -> Floats:
        """Element matrices in global axes."""
        return np.einsum("eam,eab,ebn->emn", self.turn, local, self.turn, optimize=True)


def beam_groups(mesh: Mesh, materials: Mapping[str, Material]) -> Iterator[BeamGroup]:
    """The beam cells of a mesh, by material."""
    if mesh.beam is None:
        raise InputError(
            Diagnostic(
                "mesh.beam", mesh.source or "mesh", "has beam2 cells without a section",
                'give the beam as [mesh] shape = "beam" with nodes and a section',
            )
        )  # fmt: skip
    used, index = material_of_cells(mesh, materials)
    cells = mesh.cells["beam2"]
    for number, material in enumerate(used):
        which = np.flatnonzero(index["beam2"] == number)
        if len(which):
            yield _group(mesh, which, cells[which], material)


def _group(mesh: Mesh, which: Ints, cells: Ints, material: Material) -> BeamGroup:
    whole = mesh.beam
    assert whole is not None
    data = replace(whole, axes=whole.axes[which])
    length = np.linalg.norm(mesh.points[cells[:, 1]] - mesh.points[cells[:, 0]], axis=1)
    turn = np.zeros((len(which), 12, 12))
    for block in range(0, 12, 3):
        turn[:, block : block + 3, block : block + 3] = data.axes
    dofs = (6 * cells[:, :, None] + np.arange(6)).reshape(-1, 12)
    group = BeamGroup(which, data, material, length, np.zeros(0), np.zeros(0), dofs, turn)
    phi_y, phi_z = data.shear_flexibility(*group.elasticity, length)
    return replace(group, phi_y=phi_y, phi_z=phi_z)


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
    """Inertia form of the beams: translation by Ms_kl, the section's turning by attached inertias (F7a)."""
    n_dof = 6 * mesh.n_nodes
    turning = Attached.none(n_dof)
    for group in groups:
        turning = turning.join(_section_inertias(group, n_dof, mass))
    if mass == "lumped":
        nodal = np.zeros(mesh.n_nodes)
        for group in groups:
            half = 0.5 * group.material.rho * group.data.section.A * group.length
            np.add.at(nodal, mesh.cells["beam2"][group.which], half[:, None])
        return MassForm(6, Ms=sp.diags_array(nodal, format="csr"), attached=turning)
    parts = [(group, _global_integrals(group)) for group in groups]
    Ms_kl = tuple(
        tuple(
            _sum(n_dof, [(group.dofs, blocks[:, k, ell]) for group, blocks in parts], "csr")
            for ell in range(3)
        )
        for k in range(3)
    )
    return MassForm(6, Ms_kl=Ms_kl, attached=turning)


def _global_integrals(group: BeamGroup) -> Floats:
    """int rho N_k^T N_l (n, 3, 3, 12, 12), components and dofs in global axes."""
    local = beams.inertia_integrals(group.data, group.material.rho, group.length, group.phi_y, group.phi_z)
    R, T = group.data.axes, group.turn
    in_axes = np.einsum("eak,ebl,eabmn->eklmn", R, R, local, optimize=True)
    return np.einsum("emp,eklmn,enq->eklpq", T, in_axes, T, optimize=True)


def _section_inertias(group: BeamGroup, n_dof: int, mass: str) -> Attached:
    """Inertias of pieces of the beam: at Gauss points, or half an element at each node."""
    principal = group.data.inertia_per_length(group.material.rho)
    R, n = group.data.axes, len(group.length)
    per_length = np.einsum("eak,a,eal->ekl", R, principal, R)
    places = [(0.0, 0.5), (1.0, 0.5)] if mass == "lumped" else [
        (0.5 * (1.0 + x), 0.5 * w) for x, w in zip(*gauss(3), strict=True)
    ]  # fmt: skip
    inertia, values = [], []
    for t, weight in places:
        _, turn, _ = beams.interpolation(t, group.length, group.phi_y, group.phi_z)
        inertia.append(per_length * (weight * group.length)[:, None, None])
        values.append(np.einsum("eak,eam,emn->ekn", R, turn, group.turn, optimize=True))
    rows = np.arange(3 * n * len(places)).reshape(-1, 3, 1)
    columns = np.tile(group.dofs[:, None, :], (len(places), 3, 1))
    data = np.concatenate(values)
    index = (np.broadcast_to(rows, data.shape).ravel(), columns.ravel())
    turn_rows = sp.csr_array((data.ravel(), index), shape=(3 * n * len(places), n_dof))
    turn_rows.eliminate_zeros()
    return Attached(
        np.zeros(0), np.zeros((0, 3)), sp.csr_array((0, n_dof)), np.concatenate(inertia), turn_rows
    )


def section_forces(mesh: Mesh, materials: Mapping[str, Material], U: Floats) -> Floats:
    """N Vy Vz T My Mz (m, n_cells, 2, 6) at both ends of the beams, section axes, on the face towards +x.

    They follow from the nodal displacements: loads along an element act as if they were at its nodes.
    """
    found = np.zeros((U.shape[1], len(mesh.cells["beam2"]), 2, 6))
    for group in beam_groups(mesh, materials):
        local = np.einsum("emn,enk->emk", group.turn, U[group.dofs])
        ends = np.einsum("emn,enk->kem", group.local_stiffness(), local).reshape(U.shape[1], -1, 2, 6)
        found[:, group.which] = ends * np.array([-1.0, 1.0])[:, None]
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
            blocks = beams.geometric_blocks(group.data, far, group.length, group.phi_y, group.phi_z)
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
            group.elasticity[0] * group.data.section.A * group.material.expansion * change[group.which]
        )
        blocks = beams.geometric_blocks(group.data, far, group.length, group.phi_y, group.phi_z)
        parts.append((group.dofs, _symmetric(group.to_global(blocks))))
    return _sum(6 * mesh.n_nodes, parts, "csc")
