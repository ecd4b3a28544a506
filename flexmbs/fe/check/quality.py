"""Signed Jacobians and shape of cells: which are inverted, tangled or mirrored, and a table of quality."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import is_straight, mass_rule, stiffness_rule
from flexmbs.fe.shells.strains import tangents
from flexmbs.fe.shells.ties import shell_rule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHUNK = 2_000_000  # Jacobian entries computed at once: bounded memory
ZERO = 1e-9  # of the largest determinant of the cell: collapsed


@dataclass(frozen=True)
class Shapes:
    """Per cell of one type: smallest and largest det J over the points, scaled Jacobian, aspect ratio."""

    det_min: Floats
    det_max: Floats
    det_inside: Floats  # smallest at quadrature points only, where a value decides about K and M
    scaled: Floats
    aspect: Floats


@cache
def inner_points(kind: str, straight: bool) -> Floats:
    """Quadrature points of stiffness and mass."""
    if straight:
        return stiffness_rule(kind, True).points[:1]
    return np.concatenate([stiffness_rule(kind, False).points, mass_rule(kind, False).points])


@cache
def corner_directions(kind: str) -> tuple[Ints, Floats]:
    """Corners (n,) of three edges and their reference directions (n, 3, 3), columns, right-handed.

    The apex of a pyramid has four edges and is left out.
    """
    element = ELEMENTS[kind]
    ref = element.ref_coords
    corners, directions = [], []
    for corner in range(element.n_corners):
        ends = [edge[1 - edge.index(corner)] for edge in element.edges if corner in edge[:2]]
        if len(ends) != 3:
            continue
        axes = np.stack([ref[end] - ref[corner] for end in ends], axis=1)
        if np.linalg.det(axes) < 0:
            axes = axes[:, [1, 0, 2]]
        corners.append(corner)
        directions.append(axes)
    return np.array(corners), np.stack(directions)


@cache
def ideal(kind: str) -> float:
    """Scaled Jacobian at the corners of the regular cell."""
    ideals = {"tet": np.sqrt(0.5), "wedge": np.sqrt(0.75), "hex": 1.0, "pyramid": np.sqrt(0.5)}
    ideals |= {"tri": np.sqrt(0.75), "quad": 1.0}
    return float(ideals[ELEMENTS[kind].family])


def shapes(mesh: Mesh, kind: str) -> Shapes:
    """Shape numbers of all cells of a type; straight cells need one point only."""
    rows = mesh.cells[kind]
    result = Shapes(*(np.empty(len(rows)) for _ in range(5)))
    for part in chunks(kind, len(rows)):
        X = mesh.points[rows[part]]
        if not ELEMENTS[kind].faces:
            put(result, np.arange(part.start, part.start + len(X)), measure_surface(kind, X))
            continue
        straight = is_straight(ELEMENTS[kind], mesh.points, rows[part])
        for flag in (True, False):
            chosen = np.flatnonzero(straight == flag)
            if len(chosen):
                put(result, part.start + chosen, measure(kind, X[chosen], flag))
    return result


def folded(mesh: Mesh, kind: str, cells: Ints) -> Ints:
    """Those of the cells that are folded near a corner only: det J is positive where stiffness is sampled."""
    X = mesh.points[mesh.cells[kind][cells]]
    return cells[(det3(jacobians(kind, X, stiffness_rule(kind, True).points)) > 0.0).all(axis=1)]


def chunks(kind: str, n_cells: int) -> Iterator[slice]:
    points = inner_points(kind, False) if ELEMENTS[kind].faces else shell_rule(kind).points
    entries = 9 * (len(points) + ELEMENTS[kind].n_nodes)
    step = max(CHUNK // entries, 1)
    for start in range(0, n_cells, step):
        yield slice(start, min(start + step, n_cells))


def put(result: Shapes, rows: Ints, values: Shapes) -> None:
    for name in ("det_min", "det_max", "det_inside", "scaled", "aspect"):
        getattr(result, name)[rows] = getattr(values, name)


def jacobians(kind: str, X: Floats, xi: Floats) -> Floats:
    """dx/dxi (n_cells, n_points, 3, 3) of cells with nodes X (n_cells, n_nodes, 3)."""
    dN = ELEMENTS[kind].dshape(xi)  # (p, n, 3)
    flat = dN.transpose(0, 2, 1).reshape(-1, dN.shape[1])
    return (flat @ X).reshape(len(X), len(xi), 3, 3).swapaxes(2, 3)


def det3(J: Floats) -> Floats:
    """Determinants of the last two axes; written out, an order of magnitude faster than LAPACK on 3x3."""
    a, b, c = J[..., 0, :], J[..., 1, :], J[..., 2, :]
    return (
        a[..., 0] * (b[..., 1] * c[..., 2] - b[..., 2] * c[..., 1])
        - a[..., 1] * (b[..., 0] * c[..., 2] - b[..., 2] * c[..., 0])
        + a[..., 2] * (b[..., 0] * c[..., 1] - b[..., 1] * c[..., 0])
    )


def measure(kind: str, X: Floats, straight: bool) -> Shapes:
    """Shape numbers of cells given by their nodes."""
    element = ELEMENTS[kind]
    corners, axes = corner_directions(kind)
    inside = det3(jacobians(kind, X, inner_points(kind, straight)))
    J = jacobians(kind, X, element.ref_coords)
    at_nodes = det3(J)
    tangents = np.einsum("cpij,pjk->cpik", J[:, corners], axes)
    lengths = np.linalg.norm(tangents, axis=2).prod(axis=2)
    volume = at_nodes[:, corners] * det3(axes)
    scaled = volume / np.where(lengths > 0, lengths, 1.0) / ideal(kind)
    ends = np.array([edge[:2] for edge in element.edges])
    edge = np.linalg.norm(X[:, ends[:, 1]] - X[:, ends[:, 0]], axis=2)
    shortest = edge.min(axis=1)
    return Shapes(
        np.minimum(inside.min(axis=1), at_nodes.min(axis=1)),
        np.maximum(inside.max(axis=1), at_nodes.max(axis=1)),
        inside.min(axis=1),
        np.minimum(scaled.min(axis=1), 1.0),
        edge.max(axis=1) / np.where(shortest > 0, shortest, np.nan),
    )


def measure_surface(kind: str, X: Floats) -> Shapes:
    """Shape numbers of cells of a surface: areas with the sign that the longest normal gives them."""
    element = ELEMENTS[kind]
    rule, at_nodes = shell_rule(kind).points, element.ref_coords[:, :2]
    A = tangents(kind, X, np.concatenate([rule, at_nodes]))
    normal = np.cross(A[:, :, 0], A[:, :, 1])
    size = np.linalg.norm(normal, axis=2)
    longest = size.argmax(axis=1)[:, None]
    up = np.take_along_axis(normal, longest[:, :, None], axis=1)[:, 0]
    area = np.einsum("epk,ek->ep", normal, up / np.maximum(size.max(axis=1), 1e-300)[:, None])
    inside, corners = area[:, : len(rule)], slice(len(rule), len(rule) + element.n_corners)
    ref = element.ref_coords[: element.n_corners, :2]
    ahead, back = np.roll(ref, -1, axis=0) - ref, np.roll(ref, 1, axis=0) - ref
    sides = [np.einsum("pa,epak->epk", way, A[:, corners]) for way in (ahead, back)]
    lengths = np.prod([np.linalg.norm(side, axis=2) for side in sides], axis=0)
    scaled = area[:, corners] * np.abs(np.linalg.det(np.stack([ahead, back], axis=1)))
    scaled = scaled / np.where(lengths > 0, lengths, 1.0) / ideal(kind)
    edge = np.linalg.norm(X[:, : element.n_corners] - np.roll(X[:, : element.n_corners], 1, axis=1), axis=2)
    shortest = edge.min(axis=1)
    return Shapes(
        area.min(axis=1),
        area.max(axis=1),
        inside.min(axis=1),
        np.minimum(scaled.min(axis=1), 1.0),
        edge.max(axis=1) / np.where(shortest > 0, shortest, np.nan),
    )


@cache
def mirror(kind: str) -> tuple[Ints, Ints]:
    """Reflection of a cell: new node rows are `rows[:, nodes]`; old local face f becomes `faces[f]`."""
    element = ELEMENTS[kind]
    flipped = element.ref_coords[:, [1, 0, 2]]
    distance = np.linalg.norm(flipped[:, None] - element.ref_coords[None], axis=2)
    nodes = distance.argmin(axis=1)
    new = [frozenset(int(nodes[node]) for node in face) for face in element.faces]
    faces = np.array([new.index(frozenset(face)) for face in element.faces])
    return nodes, faces


def quality_row(mesh: Mesh, kind: str, found: Shapes) -> dict[str, Any]:
    """One row of the table: counts, scaled Jacobian, aspect ratio, number of the worst cell."""
    worst = int(np.argmin(found.scaled))
    aspect = np.where(np.isfinite(found.aspect), found.aspect, np.inf)
    return {
        "cells": len(found.scaled),
        "min_scaled_jacobian": float(found.scaled[worst]),
        "mean_scaled_jacobian": float(found.scaled.mean()),
        "max_aspect_ratio": float(aspect.max()),
        "mean_aspect_ratio": float(aspect.mean()),
        "worst_cell": int(mesh.cell_number[kind][worst]),
    }


def quality_text(table: dict[str, dict[str, Any]]) -> str:
    """The table for people."""
    lines = ["cells     count  scaled Jacobian (min, mean)  aspect ratio (max, mean)  worst cell"]
    for kind, row in table.items():
        jacobian = f"{row['min_scaled_jacobian']:>14.3f} {row['mean_scaled_jacobian']:>12.3f}"
        aspect = f"{row['max_aspect_ratio']:>14.2f} {row['mean_aspect_ratio']:>9.2f}"
        lines.append(f"{kind:<8} {row['cells']:>6}  {jacobian}  {aspect}  {row['worst_cell']:>10}")
    return "\n".join(lines)
