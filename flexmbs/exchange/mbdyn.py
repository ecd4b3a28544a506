"""MBDyn's modal element: the ASCII file `.fem` in its record groups 1 to 19.

Groups 1 to 13 are what every version reads; it finds the inertia integrals from the lumped masses of group 11
then. Groups 14 to 19 give them as they are, and the geometric stiffness: newer versions only, on request.

In the equations of the element (u = x + sum Phi_j q_j of a mass point, x~ the skew matrix):
    Inv3 = int Phi,  Inv4_j = int x~ Phi_j,  Inv5_j,k = int Phi_j~ Phi_k
    Inv8_j = -int x~ Phi_j~,   Inv9_jk = int Phi_j~ Phi_k~,   J(q) = Inv7 + sym2(Inv8 q) - q Inv9 q
so Inv8 and Inv9 hold I^kl and S^kl, nine numbers for nine (F6, F7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.disk import atomic_file
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.exchange.given import (
    Nodes,
    bad,
    body_of,
    inertia_at_centre,
    interface_nodes,
    loads_of,
    mesh_nodes,
    real,
    second_moments,
    symmetric,
)
from flexmbs.ffrf.integrals import ShapeIntegrals, shape_integrals
from flexmbs.modaldata import ModalData
from flexmbs.spatial import LEVI_CIVITA

Floats = NDArray[np.float64]

#: index of the matrices of group 19 -> unit load; then six of every interface
GEOMETRIC = (
    "w.xx",
    "w.yy",
    "w.zz",
    "w.xy",
    "w.yz",
    "w.xz",
    "alpha.x",
    "alpha.y",
    "alpha.z",
    "a.x",
    "a.y",
    "a.z",
)
#: sums over masses are those of record group 9 up to the digits of a file, or all is of another body
SAME_MASS = 1e-6
#: lumped masses of the mesh and the mass of the body are the same up to rounding, unless masses are attached
MASS = 1e-6
MAX_BYTES = 2 * 2**30


def write(modal: ModalData, path: Path, *, overwrite: bool = False, invariants: bool = False) -> list[str]:
    """Write the file; nodes are the interfaces by name, then those of the mesh by number."""
    nodes = interface_nodes(modal)
    masses = np.zeros((len(nodes), 6))
    if not invariants:
        of_mesh = mesh_nodes(modal)
        masses = np.concatenate([masses, lumped(modal, len(of_mesh))])
        nodes = joined(nodes, of_mesh)
    if not len(nodes):
        raise UsageError(
            Diagnostic("exchange.nodes", path.name, "the body has no interface", "reduce it with one")
        )
    text = "\n".join(_groups(modal, nodes, masses, invariants)) + "\n"
    with atomic_file(path, overwrite) as file:
        file.write(text.encode("ascii", "replace"))
    notes = ["stresses and the mesh are not in the file"]
    if not np.allclose(nodes.rotation, np.eye(3)):
        notes.append(
            "nodes of this format have the axes of the body: rotations of interface frames are not in it"
        )
    if invariants:
        notes.append(
            "groups 14 to 19 are read by newer versions of MBDyn only; `use invariant 9` in the element"
        )
    else:
        notes.append("MBDyn takes the inertia from lumped masses; geometric stiffness needs --invariants")
    return notes


def joined(first: Nodes, second: Nodes) -> Nodes:
    """Nodes of two lists, one behind the other."""
    pairs = [(getattr(first, k), getattr(second, k)) for k in ("position", "rotation", "Phi", "Psi")]
    return Nodes(first.label + second.label, *(np.concatenate(pair) for pair in pairs))


def lumped(modal: ModalData, n_nodes: int) -> Floats:
    """Diagonal lumped mass of the nodes of a mesh of solids, six numbers each."""
    from flexmbs.fe.assembly import element_groups, lumped_masses, material_of_cells
    from flexmbs.fe.materials import isotropic

    mesh, total = modal.mesh, 0.0
    known = all({"E", "nu", "rho"} <= set(item) for item in modal.materials.values())
    if mesh.n_cells and not mesh.turns and modal.materials and known:
        by_set = {
            "" if name == "default" else name: isotropic(name, item["E"], item["nu"], item["rho"])
            for name, item in modal.materials.items()
        }
        used, index = material_of_cells(mesh, by_set)
        density = np.array([item.rho for item in used])
        mass = lumped_masses(mesh, element_groups(mesh), {kind: density[k] for kind, k in index.items()})
        total = float(mass.sum())
    if not abs(total - modal.integrals.mass) <= MASS * modal.integrals.mass:
        what = "its mass is not that of solids at its nodes: lumped masses cannot give it"
        raise UsageError(Diagnostic("exchange.mass", modal.source, what, "write it with --invariants"))
    out = np.zeros((n_nodes, 6))
    out[:, :3] = mass[mesh.used_nodes()][:, None]
    return out


def _groups(modal: ModalData, nodes: Nodes, masses: Floats, invariants: bool) -> Iterator[str]:
    """Lines of the file."""
    i, nf, n = modal.integrals, modal.nf, len(nodes)
    yield "** MBDyn modal element data, made by flexmbs"
    yield from group(1, "HEADER")
    yield f"REV0 {n} {nf} 0 0 0"
    yield from group(2, "FINITE ELEMENT NODE LIST")
    yield from nodes.label
    for number, text in ((3, "DISPLACEMENTS"), (4, "VELOCITIES")):
        yield from group(number, f"INITIAL MODAL {text}")
        yield numbers(np.zeros(nf))
    for k, axis in enumerate("XYZ"):
        yield from group(5 + k, f"NODAL {axis} COORDINATES")
        yield from (numbers([x]) for x in nodes.position[:, k])
    yield from group(8, "MODE SHAPES")
    for a in range(nf):
        yield f"** mode {a + 1}, {modal.frequency_hz[a]:.6g} Hz"
        yield from (numbers([*nodes.Phi[k, :, a], *nodes.Psi[k, :, a]]) for k in range(n))
    for number, text, A in ((9, "MASS", i.m_ff), (10, "STIFFNESS", i.K_ff)):
        yield from group(number, f"MODAL {text} MATRIX")
        yield from map(numbers, A)
    if not invariants:
        yield from group(11, "DIAGONAL OF LUMPED MASS MATRIX")
        yield from map(numbers, masses)
    yield from group(12, "GLOBAL INERTIA")
    yield numbers([i.mass])
    yield numbers(i.com)
    yield from map(numbers, inertia_at_centre(i))
    if np.any(i.D_ff):
        yield from group(13, "MODAL DAMPING MATRIX")
        yield from map(numbers, i.D_ff)
    if invariants:
        yield from _invariants(modal)


def _invariants(modal: ModalData) -> Iterator[str]:
    """Groups 14 to 19."""
    i, nf = modal.integrals, modal.nf
    Inv4, Inv5, Inv8, Inv9 = invariants_of(i)
    for number, name, A in (
        (14, "INV3", i.S_f),
        (15, "INV4", Inv4),
        (16, "INV8", Inv8.transpose(0, 2, 1).reshape(3, 3 * nf)),
        (17, "INV5", Inv5.reshape(3, nf * nf)),
        (18, "INV9", Inv9.transpose(0, 2, 3, 1).reshape(3, 3 * nf * nf)),
    ):
        yield from group(number, name)
        yield from map(numbers, A)
    geometric = [(k + 1, i.loads.index(name)) for k, name in enumerate(GEOMETRIC) if name in i.loads]
    geometric += [(k + 1, k) for k in range(len(GEOMETRIC), len(i.loads))]
    if geometric:
        yield from group(19, "GEOMETRIC STIFFNESS")
        yield str(len(geometric))
        for index, c in geometric:
            yield str(index)
            yield from map(numbers, i.K_geo[c])


def group(number: int, text: str) -> tuple[str, str]:
    return "**", f"** RECORD GROUP {number}, {text}"


def numbers(values: object) -> str:
    return " ".join(f"{x:.17g}" for x in np.asarray(values, dtype=float))


def invariants_of(i: ShapeIntegrals) -> tuple[Floats, Floats, Floats, Floats]:
    """Inv4 (3, nf), Inv5 (3, j, k), Inv8 (3, 3, j), Inv9 (3, 3, j, k).

    Phi~ Psi~ = Psi Phi^T - (Phi . Psi) 1, so both products of skew matrices follow from the moments.
    """
    one = np.eye(3)
    Inv4 = np.einsum("mkl,kla->ma", LEVI_CIVITA, i.I_kl)
    Inv5 = np.einsum("mkl,klab->mab", LEVI_CIVITA, i.S_kl)
    Inv8 = np.einsum("cca,kl->kla", i.I_kl, one) - i.I_kl.transpose(1, 0, 2)
    Inv9 = i.S_kl.transpose(1, 0, 2, 3) - np.einsum("ccab,kl->klab", i.S_kl, one)
    return Inv4, Inv5, Inv8, Inv9


def moments_of(Inv8: Floats, Inv9: Floats) -> tuple[Floats, Floats]:
    """I^kl and S^kl of Inv8 and Inv9: the inverse of `invariants_of`."""
    one = np.eye(3)
    I_kl = 0.5 * np.einsum("cca,kl->kla", Inv8, one) - Inv8.transpose(1, 0, 2)
    S_kl = Inv9.transpose(1, 0, 2, 3) - 0.5 * np.einsum("ccab,kl->klab", Inv9, one)
    return I_kl, S_kl


class Groups:
    """Lines of a file by record group, with their numbers; comments left out but counted."""

    def __init__(self, path: Path) -> None:
        if path.stat().st_size > MAX_BYTES:
            what = f"{path.stat().st_size / 2**30:.1f} GiB"
            raise InputError(
                Diagnostic("exchange.content", path.name, what, f"at most {MAX_BYTES / 2**30:.0f} GiB")
            )
        self.path, self.lines = path, path.read_text(encoding="ascii", errors="replace").splitlines()
        self.at: dict[int, int] = {}
        for k, line in enumerate(self.lines):
            if line.upper().startswith("** RECORD GROUP"):
                word = line[15:].split(",")[0].strip()
                if not word.isdigit():
                    raise bad(path, k + 1, line[:80], "expected ** RECORD GROUP and a number")
                if int(word) in self.at:
                    raise bad(path, k + 1, f"record group {word} again", "expected it once")
                self.at[int(word)] = k

    def __contains__(self, number: int) -> bool:
        return number in self.at

    def tokens(self, number: int) -> list[tuple[str, int]]:
        """Words of a group with the numbers of their lines."""
        if number not in self.at:
            what = f"record group {number} is missing"
            raise InputError(
                Diagnostic("exchange.content", self.path.name, what, "expected a modal .fem file")
            )
        found = []
        for k in range(self.at[number] + 1, len(self.lines)):
            line = self.lines[k]
            if line.upper().startswith("** RECORD GROUP"):
                break
            if not line.startswith("**"):
                found += [(word, k + 1) for word in line.split()]
        return found

    def array(self, number: int, *shape: int) -> Floats:
        """Numbers of a group."""
        words = self.tokens(number)
        wanted = int(np.prod(shape))
        if len(words) != wanted:
            where = words[-1][1] if words else self.at[number] + 1
            raise bad(
                self.path, where, f"{len(words)} numbers in record group {number}", f"expected {wanted}"
            )
        return np.array([real(word, self.path, line) for word, line in words]).reshape(shape)


def read(path: Path) -> tuple[ModalData, list[str]]:
    """Read a file; nodes whose labels are names become interfaces, with group 19 all that it needs, too."""
    file = Groups(path)
    n, nf = _sizes(file)
    labels = tuple(word for word, _ in file.tokens(2))
    if len(labels) != n or len(set(labels)) != n:
        raise bad(path, file.at[2] + 2, f"{len(set(labels))} different node labels", f"expected {n}")
    position = np.stack([file.array(k, n) for k in (5, 6, 7)], axis=1)
    shapes = file.array(8, nf, n, 6).transpose(1, 2, 0)
    nodes = Nodes(labels, position, np.tile(np.eye(3), (n, 1, 1)), shapes[:, :3].copy(), shapes[:, 3:].copy())
    m_ff, K_ff = (symmetric(file.array(k, nf, nf), f"record group {k}", path) for k in (9, 10))
    D_ff = symmetric(file.array(13, nf, nf), "record group 13", path) if 13 in file else np.zeros((nf, nf))
    notes = ["errors of the reduction are not known"]
    names = [label for label in labels if not label.isdigit()]
    if 14 in file:
        moments = _from_invariants(file, nf)
    else:
        moments = _from_masses(file, nodes)
        off = np.abs(np.einsum("kkab->ab", moments[5]) - m_ff).max(initial=0.0)
        if off > SAME_MASS * np.abs(m_ff).max(initial=0.0):
            what = f"masses of modes differ by {off:.2g} from the sums over the masses of record group 11"
            why = "equations take one or the other: write the invariants into it, groups 14 to 18"
            raise bad(path, file.at[9] + 1, what, why)
        notes.append("inertia integrals are sums over the lumped masses of record group 11")
    K_geo, loads, names = _geometric(file, labels, names, nf)
    if not loads:
        notes.append("the file has no geometric stiffness (record group 19)")
    mass, S_O, S_f, Theta_kl, I_kl, S_kl = moments
    integrals = ShapeIntegrals(mass, S_O, S_f, Theta_kl, I_kl, S_kl, m_ff, K_ff, D_ff, K_geo, loads)
    return body_of(path, integrals, nodes, names, "MBDyn"), notes


def _sizes(file: Groups) -> tuple[int, int]:
    """Numbers of nodes and modes of group 1."""
    words = file.tokens(1)
    line = words[0][1] if words else 1
    if len(words) < 6 or not all(word.isdigit() for word, _ in words[1:6]):
        raise bad(
            file.path, line, "record group 1", "expected REV0, nodes, normal, attached, constraint, rejected"
        )
    n, normal, attached, constraint, rejected = (int(word) for word, _ in words[1:6])
    if rejected:
        raise bad(file.path, line, f"{rejected} rejected modes", "expected none: leave them out of the file")
    nf = normal + attached + constraint
    if n * nf * 6 > 2 * len(file.lines) * 6 + 12:
        raise bad(file.path, line, f"{n} nodes and {nf} modes", "expected as many lines of mode shapes")
    return n, nf


def _from_invariants(file: Groups, nf: int) -> tuple:  # type: ignore[type-arg]
    """Moments by groups 12 and 14 to 18."""
    mass, S_O, Theta_kl = _rigid(file)
    Inv8 = file.array(16, 3, nf, 3).transpose(0, 2, 1)
    Inv9 = file.array(18, 3, nf, nf, 3).transpose(0, 3, 1, 2)
    I_kl, S_kl = moments_of(Inv8, Inv9)
    for number, found, wanted in (
        (15, file.array(15, 3, nf), np.einsum("mkl,kla->ma", LEVI_CIVITA, I_kl)),
        (17, file.array(17, 3, nf, nf), np.einsum("mkl,klab->mab", LEVI_CIVITA, S_kl)),
    ):
        if not np.allclose(found, wanted, rtol=0.0, atol=1e-6 * np.abs(wanted).max(initial=1e-300)):
            what = f"record group {number} contradicts group {number + 1}"
            raise bad(file.path, file.at[number] + 1, what, "expected integrals of the same shapes")
    return mass, S_O, file.array(14, 3, nf), Theta_kl, I_kl, S_kl


def _rigid(file: Groups) -> tuple[float, Floats, Floats]:
    """mass, S_O, Theta^kl by group 12."""
    values = file.array(12, 13)
    mass, centre, J = float(values[0]), values[1:4], symmetric(values[4:].reshape(3, 3), "inertia", file.path)
    return mass, mass * centre, second_moments(mass, centre, J)


@dataclass(frozen=True)
class NodalMasses:
    """The mass form of lumped nodes: mass (n,), inertias (n, 3, 3) that turn with the nodes (F7a)."""

    mass: Floats
    inertias: Floats
    n_per_node: int = 6

    @property
    def attached(self) -> Any:
        return SimpleNamespace(mass=np.zeros(0), position=np.zeros((0, 3)))

    def inner(self, k: int, A: Floats, ell: int, B: Floats) -> Floats:
        return np.asarray((A[k::6] * self.mass[:, None]).T @ B[ell::6])

    def turns(self, U: Floats) -> Floats:
        return U.reshape(len(self.mass), 6, -1)[:, 3:]

    def moves(self, U: Floats) -> Floats:
        return np.zeros((0, 3, U.shape[1]))


def _from_masses(file: Groups, nodes: Nodes) -> tuple:  # type: ignore[type-arg]
    """Moments by the lumped masses and inertias of the nodes, as MBDyn itself takes them (F2a-F7a)."""
    masses = file.array(11, len(nodes), 6)
    mass = masses[:, :3].mean(axis=1)
    if not np.allclose(masses[:, :3], mass[:, None], rtol=1e-6, atol=0.0):
        raise bad(file.path, file.at[11] + 2, "masses that differ by direction", "expected one mass a node")
    form = NodalMasses(mass, np.einsum("nk,kl->nkl", masses[:, 3:], np.eye(3)))
    shapes = np.concatenate([nodes.Phi, nodes.Psi], axis=1).reshape(6 * len(nodes), -1)
    i = shape_integrals(form, nodes.position, shapes)
    rigid = _rigid(file) if 12 in file else (i.mass, i.S_O, i.Theta_kl)
    return (*rigid[:2], i.S_f, rigid[2], i.I_kl, i.S_kl)


def _geometric(
    file: Groups, labels: tuple[str, ...], names: list[str], nf: int
) -> tuple[Floats, tuple[str, ...], list[str]]:
    """K_geo by group 19, its loads, and the interfaces that it needs: the first nodes."""
    if 19 not in file:
        return np.zeros((0, nf, nf)), (), names
    words = file.tokens(19)
    count = int(real(words[0][0], file.path, words[0][1])) if words else 0
    if count < 1 or len(words) != 1 + count * (1 + nf * nf):
        raise bad(
            file.path, file.at[19] + 2, f"{len(words)} numbers in record group 19", "expected M matrices"
        )
    size = 1 + nf * nf
    found: dict[int, Floats] = {}
    for k in range(count):
        piece = words[1 + k * size : 1 + (k + 1) * size]
        index = int(real(piece[0][0], file.path, piece[0][1]))
        values = np.array([real(word, file.path, line) for word, line in piece[1:]]).reshape(nf, nf)
        found[index] = symmetric(values, f"matrix {index} of record group 19", file.path)
    n_faces = max(0, -(-(max(found) - len(GEOMETRIC)) // 6))
    if min(found) < 1 or n_faces > len(labels):
        raise bad(file.path, file.at[19] + 2, f"a matrix of index {max(found)}", f"{len(labels)} nodes")
    faces = list(labels[:n_faces])
    loads = loads_of(faces)
    K_geo = np.zeros((len(loads), nf, nf))
    for index, K in found.items():
        K_geo[loads.index(GEOMETRIC[index - 1]) if index <= len(GEOMETRIC) else index - 1] = K
    return K_geo, loads, faces + [name for name in names if name not in faces]
