"""Mass of a deck beside that of its materials -> sections of shells and beams, densities of solids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.check.quality import det3, jacobians
from flexmbs.fe.deck import Deck
from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.materials import Material, material_of_cells
from flexmbs.fe.mesh import Floats, Ints, Mesh
from flexmbs.fe.quadrature import mass_rule
from flexmbs.fe.readers.raw import members
from flexmbs.fe.shells.ties import shell_rule
from flexmbs.fe.unit_systems import UnitSystem

#: per cell, by cell type
PerCell = dict[str, Floats]


def with_extra(
    mesh: Mesh, materials: Mapping[str, Material], deck: Deck, units: UnitSystem
) -> tuple[Mesh, dict[str, Material]]:
    """The mesh (m) and its materials with the mass that the deck puts on elements."""
    if not deck.extras:
        return mesh, dict(materials)
    used, index = material_of_cells(mesh, materials)
    sizes = {kind: cell_sizes(mesh, kind) for kind in mesh.cells}
    weights = {"volume": thickness_of(mesh), "mass": bare_mass(mesh, used, index)}
    weights["size"] = {kind: np.full(len(rows), float(is_flat(kind))) for kind, rows in mesh.cells.items()}
    more = {kind: np.zeros(len(rows)) for kind, rows in mesh.cells.items()}
    for item in deck.extras:
        chosen = {kind: np.flatnonzero(members(mesh.cell_number[kind], item.parts)) for kind in mesh.cells}
        weight = {kind: weights[item.by][kind][rows] for kind, rows in chosen.items()}
        whole = sum(float(weight[kind] @ sizes[kind][rows]) for kind, rows in chosen.items())
        if not whole > 0.0:
            what = f"{item.card} puts mass on elements that carry none, or are not there"
            raise InputError(Diagnostic("deck.extra", mesh.source, what, "--ignore it, or mend its numbers"))
        for kind, rows in chosen.items():
            unit = units.mass / units.length ** (size_power(kind) if item.by == "size" else 3)
            factor = item.value * units.mass / whole if item.total else item.value * unit
            more[kind][rows] += factor * weight[kind]
    return with_densities(with_sections(mesh, more), materials, more, index)


def is_flat(kind: str) -> bool:
    return kind == "beam2" or kind in SHELLS


def size_power(kind: str) -> int:
    """Of length in the size of a cell."""
    return 1 if kind == "beam2" else 2 if kind in SHELLS else 3


def cell_sizes(mesh: Mesh, kind: str) -> Floats:
    """Length, area or volume of the cells."""
    X = mesh.points[mesh.cells[kind]]
    if kind == "beam2":
        ends = X if mesh.beam is None else X + mesh.beam.offset
        return np.asarray(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))
    if kind in SHELLS:
        rule = shell_rule(kind)
        at = np.column_stack([rule.points, np.zeros(len(rule.points))])
        J = jacobians(kind, X, at)
        return np.asarray(np.linalg.norm(np.cross(J[..., 0], J[..., 1]), axis=2) @ rule.weights)
    solid = mass_rule(kind, False)
    return np.asarray(det3(jacobians(kind, X, solid.points)) @ solid.weights)


def thickness_of(mesh: Mesh) -> PerCell:
    """Volume over size."""
    found = {kind: np.ones(len(rows)) for kind, rows in mesh.cells.items()}
    for kind in found:
        if kind == "beam2" and mesh.beam is not None:
            found[kind] = mesh.beam.values("A")
        elif kind in SHELLS and mesh.shell is not None:
            found[kind] = np.array([s.thickness for s in mesh.shell.sections])[mesh.shell.index[kind]]
    return found


def bare_mass(mesh: Mesh, used: list[Material], index: Mapping[str, Ints]) -> PerCell:
    """Mass over size, of the materials alone."""
    rho = np.array([item.rho for item in used])
    found = {kind: rho[index[kind]] for kind in mesh.cells}
    for kind in found:
        if kind == "beam2" and mesh.beam is not None:
            found[kind] = found[kind] * mesh.beam.values("A")
        elif kind in SHELLS and mesh.shell is not None:
            bare = [replace(section, extra=0.0) for section in mesh.shell.sections]
            both = list(zip(mesh.shell.index[kind].tolist(), index[kind].tolist(), strict=True))
            table = {(s, m): bare[s].density(used[m])[0] for s, m in set(both)}
            found[kind] = np.array([table[pair] for pair in both])
    return found


def parted(index: Ints, more: Floats) -> tuple[list[tuple[int, float]], Ints]:
    """Pairs of an index and the mass beside it, and which of them each cell has."""
    values, place = np.unique(more, return_inverse=True)
    pairs, which = np.unique(np.column_stack([index, place]), axis=0, return_inverse=True)
    return [(int(k), float(values[j])) for k, j in pairs], which.ravel()


def with_sections(mesh: Mesh, more: PerCell) -> Mesh:
    """Shells and beams with more mass in their sections."""
    if mesh.shell is not None:
        sections, table = list(mesh.shell.sections), dict(mesh.shell.index)
        for kind in table:
            pairs, which = parted(table[kind], more[kind])
            table[kind] = len(sections) + which
            sections += [
                replace(mesh.shell.sections[k], extra=mesh.shell.sections[k].extra + extra)
                for k, extra in pairs
            ]
        mesh = replace(mesh, shell=replace(mesh.shell, sections=tuple(sections), index=table))
    if mesh.beam is not None:
        pairs, which = parted(mesh.beam.index, more["beam2"])
        beams = []
        for k, extra in pairs:
            beam = mesh.beam.beams[k]
            beams.append(replace(beam, section=replace(beam.section, extra=beam.section.extra + extra)))
        mesh = replace(mesh, beam=replace(mesh.beam, beams=tuple(beams), index=which))
    return mesh


def with_densities(
    mesh: Mesh, materials: Mapping[str, Material], more: PerCell, index: Mapping[str, Ints]
) -> tuple[Mesh, dict[str, Material]]:
    """Solids with more mass are of materials of their own, in cell sets of their own."""
    sets, made = dict(mesh.cell_sets), dict(materials)
    names = list(materials)
    solid = [kind for kind in mesh.cells if ELEMENTS[kind].faces and kind not in SHELLS]
    values = np.unique(np.concatenate([np.zeros(1), *(more[kind] for kind in solid)]))
    for number, name in enumerate(names):
        of = {kind: index[kind] == number for kind in mesh.cells}
        if not any((of[kind] & (more[kind] > 0)).any() for kind in solid):
            continue
        item = made.pop(name)
        plain = {k: np.flatnonzero(of[k] & ((more[k] == 0) | (k not in solid))) for k in mesh.cells}
        parts = [(0.0, plain)]
        for value in values[values > 0]:
            parts.append((float(value), {k: np.flatnonzero(of[k] & (more[k] == value)) for k in solid}))
        for count, (value, cells) in enumerate(parts):
            cells = {kind: rows for kind, rows in cells.items() if len(rows)}
            if cells:
                label = f"{name or item.name} {'without' if not count else f'{count} with'} more mass"
                sets[label], made[label] = cells, replace(item, name=label, rho=item.rho + value)
    return replace(mesh, cell_sets=sets), made
