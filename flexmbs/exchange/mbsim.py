"""MBSim's flexible body, an HDF5 file: our integrals one to one; geometric stiffness has no place in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.exchange.given import (
    Nodes,
    body_of,
    interface_nodes,
    mesh_nodes,
    nodes_of_body,
    symmetric,
)
from flexmbs.exchange.mbdyn import joined
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.skin import CORNERS_OF_FACE, skin_faces
from flexmbs.ffrf.integrals import ShapeIntegrals
from flexmbs.hdf5.foreign import read_arrays, write_arrays
from flexmbs.modaldata import ModalData
from flexmbs.modaldata.validate import LARGEST

Floats = NDArray[np.float64]

#: blocks of `shape function shape function integral`
PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def write(modal: ModalData, path: Path, *, overwrite: bool = False) -> list[str]:
    """Write the file; nodes are those of the mesh, then the interfaces."""
    i, nf = modal.integrals, modal.nf
    of_mesh = mesh_nodes(modal)
    nodes = joined(of_mesh, interface_nodes(modal))
    numbers = [int(label) for label in of_mesh.label]
    numbers += [1 + max([0, *numbers]) + k for k in range(len(nodes) - len(numbers))]
    arrays = {
        "mass": np.array(i.mass),
        "position integral": i.S_O,
        "position position integral": i.Theta_kl,
        "shape function integral": i.S_f,
        "stiffness matrix": i.K_ff,
        "damping matrix": i.D_ff,
        "position shape function integral": i.I_kl.reshape(9, nf),
        "shape function shape function integral": np.concatenate([i.S_kl[k, ell] for k, ell in PAIRS]),
        "nodal relative position": nodes.position.ravel(),
        "nodal shape matrix of translation": nodes.Phi.reshape(3 * len(nodes), nf),
        "nodal shape matrix of rotation": nodes.Psi.reshape(3 * len(nodes), nf),
        "node numbers": np.array(numbers, dtype=np.int64),
    }
    turns = modal.mesh.turns
    if modal.stress is not None and modal.stress_at == "nodes" and not turns:
        stress = np.zeros((len(nodes), 6, nf))
        stress[: len(of_mesh)] = modal.stress[:, nodes_of_body(modal.mesh)].transpose(1, 2, 0)
        arrays["nodal stress matrix"] = stress.reshape(6 * len(nodes), nf)
    if modal.mesh.n_cells and not turns:
        arrays["openmbv indices"] = _faces(modal.mesh)
    write_arrays(path, arrays, overwrite=overwrite)
    first = len(nodes) - len(modal.interfaces)
    notes = [f"node {numbers[first + k]} is the interface {name}" for k, name in enumerate(modal.interfaces)]
    if modal.stress is not None and "nodal stress matrix" not in arrays:
        notes.append("stresses are not in the file: only those at nodes of solids are")
    elif modal.stress is not None:
        notes.append("stresses are those of the modes, without a static part; at the interfaces zero")
    if i.loads:
        notes.append("geometric stiffness is not in the file: the format has no place for it")
    return notes


def _faces(mesh: Mesh) -> NDArray[np.int64]:
    """Faces of the skin by their corners, places in the list of nodes, -1 behind each."""
    place = np.zeros(mesh.n_nodes, dtype=np.int64)
    place[nodes_of_body(mesh)] = np.arange(len(nodes_of_body(mesh)))
    found = []
    for rows in mesh.face_nodes(skin_faces(mesh)):
        corners = place[rows[:, : CORNERS_OF_FACE[rows.shape[1]]]]
        found.append(np.column_stack([corners, np.full(len(rows), -1)]).ravel())
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _surface(path: Path, indices: NDArray[Any], n: int) -> dict[str, NDArray[np.int64]]:
    """Triangles and quads to draw; what several cells share is inside, larger polygons are cut."""
    flat = np.append(indices.astype(np.int64).ravel(), -1)
    if len(flat) and not (-1 <= flat.min() and flat.max() < n):
        what = f"openmbv indices from {flat.min()} to {flat.max()}"
        raise InputError(Diagnostic("exchange.content", path.name, what, f"expected places of {n} nodes"))
    ends = np.flatnonzero(flat == -1)
    starts = np.concatenate([[0], ends[:-1] + 1])
    kinds: dict[str, list[NDArray[np.int64]]] = {"tri3": [], "quad4": []}
    for size in np.unique(ends - starts):
        faces = flat[starts[ends - starts == size][:, None] + np.arange(size)]
        if size < 3:
            continue
        _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
        outer = faces[np.sort(first[count == 1])]
        if size <= 4:
            kinds["tri3" if size == 3 else "quad4"].append(outer)
        else:
            kinds["tri3"] += [outer[:, [0, k, k + 1]] for k in range(1, size - 1)]
    return {kind: np.concatenate(rows) for kind, rows in kinds.items() if sum(map(len, rows))}


def read(path: Path) -> tuple[ModalData, list[str]]:
    """Read a file; frames of a case name its nodes by number."""
    arrays = read_arrays(path)
    nf = len(np.atleast_1d(_get(path, arrays, "stiffness matrix")))

    def array(name: str, *shape: int) -> Floats:
        found = _get(path, arrays, name).astype(float)
        if found.size != int(np.prod(shape)):
            what = f'"{name}" is {found.shape}'
            raise InputError(Diagnostic("exchange.content", path.name, what, f"expected {shape}"))
        if not (np.abs(found) < LARGEST).all():
            what = f'"{name}" has numbers that are not finite, or beyond {LARGEST:g}'
            raise InputError(Diagnostic("exchange.content", path.name, what, "expected numbers of a body"))
        return found.reshape(shape)

    blocks = array("shape function shape function integral", 6, nf, nf)
    S_kl = np.zeros((3, 3, nf, nf))
    for (k, ell), block in zip(PAIRS, blocks, strict=True):
        S_kl[k, ell], S_kl[ell, k] = block, block.T
    D_ff = array("damping matrix", nf, nf) if "damping matrix" in arrays else np.zeros((nf, nf))
    integrals = ShapeIntegrals(
        mass=float(array("mass", 1)[0]),
        S_O=array("position integral", 3),
        S_f=array("shape function integral", 3, nf),
        Theta_kl=array("position position integral", 3, 3),
        I_kl=array("position shape function integral", 3, 3, nf),
        S_kl=S_kl,
        m_ff=symmetric(S_kl[0, 0] + S_kl[1, 1] + S_kl[2, 2], "the modal mass", path),
        K_ff=symmetric(array("stiffness matrix", nf, nf), "stiffness matrix", path),
        D_ff=symmetric(D_ff, "damping matrix", path),
    )
    n = _get(path, arrays, "nodal relative position").size // 3
    numbers = array("node numbers", n) if "node numbers" in arrays else np.arange(1, n + 1)
    Phi = array("nodal shape matrix of translation", n, 3, nf)
    turns = "nodal shape matrix of rotation" in arrays
    Psi = array("nodal shape matrix of rotation", n, 3, nf) if turns else np.zeros((n, 3, nf))
    place = array("nodal relative position", n, 3)
    nodes = Nodes(tuple(str(int(k)) for k in numbers), place, np.tile(np.eye(3), (n, 1, 1)), Phi, Psi)
    notes = ["geometric stiffness is not known: the format has no place for it"]
    if not turns:
        notes.append("rotations of nodes are not in the file: they are zero")
    stress, faces = None, None
    if "nodal stress matrix" in arrays:
        stress = np.ascontiguousarray(array("nodal stress matrix", n, 6, nf).transpose(2, 0, 1))
    if "openmbv indices" in arrays:
        faces = _surface(path, arrays["openmbv indices"], n)
    return body_of(path, integrals, nodes, (), "MBSim", faces=faces, stress=stress), notes


def _get(path: Path, arrays: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        what = f'there is no "{name}"'
        raise InputError(Diagnostic("exchange.content", path.name, what, "expected a flexible body of MBSim"))
    return arrays[name]
