"""MBSim's flexible body, an HDF5 file: our integrals one to one; geometric stiffness has no place in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.exchange.given import Nodes, body_of, interface_nodes, mesh_nodes, symmetric
from flexmbs.exchange.mbdyn import joined
from flexmbs.ffrf.integrals import ShapeIntegrals
from flexmbs.hdf5.foreign import read_arrays, write_arrays
from flexmbs.modaldata import ModalData

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
    write_arrays(path, arrays, overwrite=overwrite)
    first = len(nodes) - len(modal.interfaces)
    notes = [f"node {numbers[first + k]} is the interface {name}" for k, name in enumerate(modal.interfaces)]
    if modal.stress is not None:
        notes.append("stresses are not in the file")
    if i.loads:
        notes.append("geometric stiffness is not in the file: the format has no place for it")
    return notes


def read(path: Path) -> tuple[ModalData, list[str]]:
    """Read a file; frames of a case name its nodes by number."""
    arrays = read_arrays(path)
    nf = _get(path, arrays, "stiffness matrix").shape[0]

    def array(name: str, *shape: int) -> Floats:
        found = _get(path, arrays, name).astype(float)
        if found.size != int(np.prod(shape)) or not np.isfinite(found).all():
            what = (
                f'"{name}" is {found.shape}'
                if found.size != int(np.prod(shape))
                else f'"{name}" is not finite'
            )
            raise InputError(Diagnostic("exchange.content", path.name, what, f"expected {shape}"))
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
    numbers = arrays.get("node numbers", np.arange(1, n + 1))
    Phi = array("nodal shape matrix of translation", n, 3, nf)
    turns = "nodal shape matrix of rotation" in arrays
    Psi = array("nodal shape matrix of rotation", n, 3, nf) if turns else np.zeros((n, 3, nf))
    place = array("nodal relative position", n, 3)
    nodes = Nodes(tuple(str(int(k)) for k in numbers), place, np.tile(np.eye(3), (n, 1, 1)), Phi, Psi)
    notes = ["geometric stiffness is not known: the format has no place for it"]
    if not turns:
        notes.append("rotations of nodes are not in the file: they are zero")
    return body_of(path, integrals, nodes, (), "MBSim"), notes


def _get(path: Path, arrays: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        what = f'there is no "{name}"'
        raise InputError(Diagnostic("exchange.content", path.name, what, "expected a flexible body of MBSim"))
    return arrays[name]
