"""All bodies of a result as one grid: cells once, points and fields per sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.post.record import Floats, Record
from flexmbs.post.scene import SceneBody, result_scene
from flexmbs.post.skin import node_stress, static_node_stress
from flexmbs.post.stress import von_mises
from flexmbs.spatial import quat_to_matrix

#: numbers of VTK; its node order is that of our meshes
VTK_TYPES = {
    "tet4": 10, "tet10": 24, "hex8": 12, "hex20": 25, "hex27": 29, "wedge6": 13, "wedge15": 26, "beam2": 3,
    "hex8-plain": 12, "wedge6-plain": 13, "pyramid5": 14, "pyramid13": 27,
    "tri3": 5, "tri6": 22, "quad4": 9, "quad8": 23, "quad9": 28, "vertex": 1, "triangle": 5,
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One body of the grid: points at rest in body axes, its cells, its modes where it is flexible."""

    body: SceneBody
    points: Floats
    cells: dict[str, NDArray[np.int64]]
    numbers: NDArray[np.int64]
    Phi: Floats | None = None
    stress: Floats | None = None

    def fields(self, k: int) -> dict[str, Floats]:
        """Points, displacement and stress at sample k, ground axes (F1, F53); stress in body axes."""
        R = quat_to_matrix(self.body.quaternion[k])
        displacement = np.zeros_like(self.points)
        sigma = np.zeros((len(self.points), 6))
        if self.Phi is not None:
            displacement = np.tensordot(self.body.q[k], self.Phi, axes=1)
            if self.stress is not None:
                sigma = np.tensordot(self.body.stress_q[k], self.stress, axes=1)
        return {
            "points": (self.points + displacement) @ R.T + self.body.position[k],
            "displacement": displacement @ R.T,
            "stress": sigma,
            "von_mises": von_mises(sigma),
        }


@dataclass(frozen=True)
class Grid:
    """Parts one after the other: connectivity, offsets and types as VTK wants them."""

    time: Floats
    parts: list[Part]
    connectivity: NDArray[np.int64]
    offsets: NDArray[np.int64]
    types: NDArray[np.uint8]
    body_of_cell: NDArray[np.int64]

    @property
    def n_points(self) -> int:
        return sum(len(part.points) for part in self.parts)

    @property
    def names(self) -> list[str]:
        return [part.body.name for part in self.parts]

    @property
    def node_number(self) -> NDArray[np.int64]:
        """Numbers of the mesh files; 0 on bodies that are only drawn."""
        return np.concatenate([part.numbers for part in self.parts])

    def fields(self, k: int) -> dict[str, Floats]:
        """Fields of all parts at sample k."""
        found = [part.fields(k) for part in self.parts]
        return {name: np.concatenate([item[name] for item in found]) for name in found[0]}


def build_grid(
    record: Record, modal: Mapping[str, str | Path] | None = None, bodies: list[str] | None = None
) -> Grid:
    """Grid of the chosen bodies: flexible ones by all their cells, rigid ones as the surface drawn."""
    scene = result_scene(record, modal)
    for name in bodies or ():
        if name not in record.bodies:
            what = f'body "{name}" is not in this result'
            raise InputError(
                Diagnostic("export.no_body", record.path.name, what, nearest(name, record.bodies))
            )
    parts = [_part(body) for body in scene.bodies if not bodies or body.name in bodies]
    connectivity, lengths, types, owner = [], [], [], []
    start = 0
    for number, part in enumerate(parts):
        for kind, cells in part.cells.items():
            connectivity.append(cells.ravel() + start)
            lengths.append(np.full(len(cells), cells.shape[1], dtype=np.int64))
            types.append(np.full(len(cells), VTK_TYPES[kind], dtype=np.uint8))
            owner.append(np.full(len(cells), number, dtype=np.int64))
        start += len(part.points)
    none = [np.zeros(0, dtype=np.int64)]
    return Grid(
        time=record.time,
        parts=parts,
        connectivity=np.concatenate([*none, *connectivity]),
        offsets=np.concatenate([[0], np.cumsum(np.concatenate([*none, *lengths]))]).astype(np.int64),
        types=np.concatenate([np.zeros(0, dtype=np.uint8), *types]),
        body_of_cell=np.concatenate([*none, *owner]),
    )


def _part(body: SceneBody) -> Part:
    if body.modal is None:
        cells = {"triangle": body.mesh.triangles}
        return Part(body, body.mesh.points, cells, np.zeros(len(body.mesh.points), dtype=np.int64))
    mesh = body.modal.mesh
    cells = {kind: rows for kind, rows in mesh.cells.items() if len(rows)}
    cells = cells or {"vertex": np.arange(mesh.n_nodes)[:, None]}
    stress = node_stress(body.modal)
    if stress is not None and body.static is not None and body.static.shape[1]:
        static = static_node_stress(body.modal)
        stress = stress if static is None else np.concatenate([stress, static[: body.static.shape[1]]])
    return Part(body, mesh.points, cells, mesh.node_number, body.modal.Phi, stress)


#: fields over the points with their number of components
POINT_FIELDS: dict[str, Any] = {"displacement": 3, "stress": 6, "von_mises": 1}
