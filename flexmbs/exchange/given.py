"""What the files of other programs have in common: matrices of a body at its nodes, and back again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.mesh import Mesh
from flexmbs.ffrf.integrals import BODY_LOADS, ShapeIntegrals, euler_tensor, interface_loads
from flexmbs.modaldata import ModalData
from flexmbs.modaldata.data import InterfaceData, from_shapes

Floats = NDArray[np.float64]

#: a matrix that must be symmetric may differ from its transpose by this part of its largest entry
ASYMMETRY = 1e-6


@dataclass(frozen=True)
class Nodes:
    """Places that a file names: label, position (3,), rotation (3, 3), Phi and Psi (3, nf), body axes."""

    label: tuple[str, ...]
    position: Floats
    rotation: Floats
    Phi: Floats
    Psi: Floats

    def __len__(self) -> int:
        return len(self.label)


def interface_nodes(modal: ModalData) -> Nodes:
    """The interfaces of a body, in their order."""
    items, nf = modal.interfaces.values(), modal.nf
    return Nodes(
        tuple(name.replace(" ", "_") for name in modal.interfaces),
        np.array([item.position for item in items]).reshape(-1, 3),
        np.array([item.rotation for item in items]).reshape(-1, 3, 3),
        np.array([item.Phi for item in items]).reshape(-1, 3, nf),
        np.array([item.Psi for item in items]).reshape(-1, 3, nf),
    )


def nodes_of_body(mesh: Mesh) -> NDArray[np.int64]:
    """Indices of the nodes that belong to cells; of all, where there are no cells."""
    used = mesh.used_nodes()
    return np.flatnonzero(used) if used.any() else np.arange(mesh.n_nodes)


def mesh_nodes(modal: ModalData) -> Nodes:
    """All nodes of the mesh that belong to the body; rotations of solids are half the curl."""
    chosen = nodes_of_body(modal.mesh)
    number = modal.mesh.node_number[chosen]
    rows = [modal.marker_rows(node=int(k)) for k in number]
    return Nodes(
        tuple(str(k) for k in number),
        modal.mesh.points[chosen].copy(),
        np.tile(np.eye(3), (len(chosen), 1, 1)),
        np.array([Phi for _, Phi, _ in rows]).reshape(-1, 3, modal.nf),
        np.array([Psi for _, _, Psi in rows]).reshape(-1, 3, modal.nf),
    )


def body_of(
    path: Path,
    integrals: ShapeIntegrals,
    nodes: Nodes,
    interfaces: Sequence[str],
    program: str,
    *,
    faces: Mapping[str, NDArray[np.int64]] | None = None,
    stress: Floats | None = None,
) -> ModalData:
    """Modal data out of integrals and nodes; those labelled in `interfaces` become interfaces.

    faces : surface to draw, "tri3" and "quad4" -> nodes;  stress : (mode, node, xx yy zz xy yz zx)
    """
    check_mass(integrals.m_ff, path)
    numbers = node_numbers(nodes.label)
    mesh = Mesh(np.zeros((1, 3)), {})
    if len(nodes):
        mesh = Mesh(nodes.position, dict(faces or {}), node_number=numbers)
    empty = np.zeros((integrals.nf, 1, 3))
    found = {
        label: InterfaceData(
            nodes.position[k], nodes.rotation[k], nodes.Phi[k], nodes.Psi[k], np.array([k]), np.ones(1)
        )
        for k, label in enumerate(nodes.label)
        if label in set(interfaces)
    }
    modal = from_shapes(
        integrals,
        mesh=mesh,
        Phi=nodes.Phi.transpose(2, 0, 1) if len(nodes) else empty,
        Psi=nodes.Psi.transpose(2, 0, 1) if len(nodes) else empty,
        interfaces=found,
        source=path.name,
    )
    missing = f"errors of the reduction and of the mesh are not known: read from a file of {program}"
    return replace(
        modal,
        stress=stress,
        stress_at="none" if stress is None else "nodes",
        quality={"rigid_modes": 6, "warnings": [missing]},
        provenance={"recipe": f"import {path.name}", "recipe_name": path.name, "versions": program},
        source_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def check_mass(m_ff: Floats, path: Path) -> None:
    """Refuse masses of modes that no body has."""
    if len(m_ff) and np.linalg.eigvalsh(m_ff).min() <= 0.0:
        what = "the modal mass is not positive definite"
        raise InputError(Diagnostic("exchange.content", path.name, what, "no body has such a one"))


def node_numbers(labels: Sequence[str]) -> NDArray[np.int64]:
    """Numbers of nodes: those that labels are, the next free ones for names."""
    numbers = [int(label) if label.isdigit() else None for label in labels]
    following = 1 + max([0, *(k for k in numbers if k is not None)])
    found = []
    for number in numbers:
        found.append(following if number is None else number)
        following += number is None
    return np.array(found, dtype=np.int64)


def second_moments(mass: float, centre: Floats, J_centre: Floats) -> Floats:
    """Theta^kl about the origin from the inertia tensor about the mass centre (F5)."""
    return euler_tensor(J_centre) + mass * np.outer(centre, centre)


def inertia_at_centre(integrals: ShapeIntegrals) -> Floats:
    """Inertia tensor about the mass centre, body axes."""
    c, mass = integrals.com, integrals.mass
    return integrals.inertia - mass * ((c @ c) * np.eye(3) - np.outer(c, c))


def symmetric(A: Floats, what: str, path: Path, beside: Floats | None = None) -> Floats:
    """A matrix that must be symmetric, without what the digits of the file have left.

    `beside`: numbers of the size of those that A is a difference of.
    """
    error = np.abs(A - A.T).max(initial=0.0)
    if not error <= ASYMMETRY * np.abs(A if beside is None else beside).max(initial=0.0):
        said = f"{what} differs from its transpose by {error:.3g}"
        raise InputError(Diagnostic("exchange.symmetry", path.name, said, "expected a symmetric matrix"))
    return 0.5 * (A + A.T)


def loads_of(interfaces: Sequence[str]) -> tuple[str, ...]:
    """Unit loads of a body in the order of `K_geo` (F17)."""
    return BODY_LOADS + sum((interface_loads(name) for name in interfaces), ())


def real(text: str, path: Path, line: int) -> float:
    """A finite number as Fortran or C writes it."""
    try:
        value = float(text.replace("D", "E").replace("d", "e"))
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise bad(path, line, f'"{text[:80]}"', "expected a finite number")
    return value


def bad(path: Path, line: int, what: str, why: str) -> InputError:
    """What is wrong at a line of a text file."""
    return InputError(Diagnostic("exchange.content", f"{path.name}:{line}", what, why))
