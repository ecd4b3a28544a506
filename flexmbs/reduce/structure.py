"""Shells and beams of a deck -> what their cells need, in SI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flexmbs.fe.beams import Beam, BeamData, beam_axes
from flexmbs.fe.deck import Deck, DeckBeam, DeckShell
from flexmbs.fe.elements import SHELLS
from flexmbs.fe.materials import Material
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.sections import Layer, ShellData, ShellSection
from flexmbs.fe.unit_systems import UnitSystem


def with_structure(
    mesh: Mesh, deck: Deck, units: UnitSystem, material: Callable[[int], Material | None]
) -> Mesh:
    """The mesh (m) with the sections of its shells and beams; `material` gives those of layers by number."""
    if mesh.shell is None and deck.shell_cells is not None:
        mesh = replace(mesh, shell=shells_of(mesh, deck, units, material))
    if mesh.beam is None and deck.beam_cells is not None and len(mesh.cells.get("beam2", ())):
        mesh = replace(mesh, beam=beams_of(mesh, deck, units))
    return mesh


def shells_of(
    mesh: Mesh, deck: Deck, units: UnitSystem, material: Callable[[int], Material | None]
) -> ShellData:
    cells = deck.shell_cells
    assert cells is not None
    made = {number: material(number) for item in deck.shells for _, number, _ in item.layers}
    sections = tuple(shell_in_si(item, units, made) for item in deck.shells)
    rows = {kind: cells.rows(mesh.cell_number[kind]) for kind in mesh.cells if kind in SHELLS}
    index = {kind: cells.section[which] for kind, which in rows.items()}
    return ShellData(sections, index, {kind: cells.axis[which] for kind, which in rows.items()})


def shell_in_si(item: DeckShell, units: UnitSystem, materials: Mapping[int, Material | None]) -> ShellSection:
    layers = [
        Layer(thickness * units.length, found, angle)
        for thickness, number, angle in item.layers
        if (found := materials[number]) is not None
    ]
    return ShellSection(
        item.thickness * units.length,
        item.offset * units.length,
        tuple(layers),
        bending=item.bending,
        shear=item.shear,
        extra=item.extra * units.mass / units.length**2,
        stiffness=tuple((np.reshape(item.stiffness, (8, 8)) * units_of_section(units)).ravel().tolist())
        if item.stiffness
        else (),
    )


def units_of_section(units: UnitSystem) -> Any:
    """(8, 8): forces and moments per length, over stretches and shear, and over curvatures."""
    length = np.repeat([1.0, units.length, 1.0], [3, 3, 2])
    return units.stiffness * np.outer(length, length)


def beams_of(mesh: Mesh, deck: Deck, units: UnitSystem) -> BeamData:
    """Cells along the centroids of their sections, with principal axes."""
    cells = deck.beam_cells
    assert cells is not None
    rows = cells.rows(mesh.cell_number["beam2"])
    index, offset, axis = cells.section[rows], cells.offset[rows] * units.length, cells.axis[rows]
    ends = mesh.points[mesh.cells["beam2"]] + offset
    direction = ends[:, 1] - ends[:, 0]
    axes = beam_axes(direction, None)
    chosen = axis.any(axis=1)
    axes[chosen] = beam_axes(direction[chosen], axis[chosen])
    centre = np.array([item.profile.centre for item in deck.beams])[index] * units.length
    offset = offset + np.einsum("ek,eki->ei", centre, axes[:, 1:])[:, None]
    angle = np.array([item.profile.angle for item in deck.beams])[index][:, None]
    y, z = axes[:, 1], axes[:, 2]
    turned = np.stack(
        [axes[:, 0], np.cos(angle) * y + np.sin(angle) * z, np.cos(angle) * z - np.sin(angle) * y], axis=1
    )
    beams = tuple(beam_in_si(item, units) for item in deck.beams)
    return BeamData(beams, index, turned, offset, cells.released[rows])


def beam_in_si(item: DeckBeam, units: UnitSystem) -> Beam:
    s, unit = item.profile.section, units.length
    section = replace(
        s,
        A=s.A * unit**2,
        Iy=s.Iy * unit**4,
        Iz=s.Iz * unit**4,
        J=s.J * unit**4,
        size=tuple(length * unit for length in s.size),
        extra=s.extra * units.mass / unit,
        shear_centre=(s.shear_centre[0] * unit, s.shear_centre[1] * unit),
    )
    return Beam(section, item.theory, item.theory == "timoshenko")
