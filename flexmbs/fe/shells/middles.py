"""Shell cells of eight nodes -> the same with a ninth node in the middle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.sections import ShellData
from flexmbs.fe.skin import match_faces


def with_middles(mesh: Mesh, after: int = 0) -> Mesh:
    """The mesh with `quad9` in place of its `quad8` shells; the new nodes stand at the end, in the node sets
    that hold the whole cell, with numbers above `after` and all others.

    A cell of eight nodes needs an inner displacement, or it locks where it is curved; without a node there
    neither inertia nor load acts on it, and frequencies of thick plates and stresses under their own inertia
    converge with the square of the size only. On a face of a solid, which has no node there, a cell stays.
    """
    rows = mesh.cells.get("quad8")
    if mesh.shell is None or rows is None:
        return mesh
    stays = match_faces(mesh, [rows[:, :4]])[:, 0] >= 0
    if stays.all():
        return mesh
    go, keep = np.flatnonzero(~stays), np.flatnonzero(stays)
    middle = np.einsum("n,enk->ek", ELEMENTS["quad8"].shape(np.zeros((1, 3)))[0], mesh.points[rows[go]])
    new = mesh.n_nodes + np.arange(len(go))
    nine = np.column_stack([rows[go], new])
    shell, start = mesh.shell, len(mesh.cells.get("quad9", ()))
    along = np.array([section.axis for section in shell.sections])
    axes = _of_both(mesh, mesh.axes, lambda kind: np.tile(np.eye(3), (len(mesh.cells[kind]), 1, 1)))
    axis = _of_both(mesh, shell.axis, lambda kind: along[shell.index[kind]])

    def moved(table: Mapping[str, Any], values: Any = None) -> dict[str, Any]:
        """Rows of every cell, by type, with those of the cells that change among the others."""
        found = {kind: part for kind, part in table.items() if kind != "quad8" or len(keep)}
        if "quad8" not in table:
            return found
        values = table["quad8"][go] if values is None else values
        if len(keep):
            found["quad8"] = table["quad8"][keep]
        found["quad9"] = np.concatenate([table["quad9"], values]) if "quad9" in table else values
        return found

    def in_set(cells: Mapping[str, Any]) -> dict[str, Any]:
        if "quad8" not in cells:
            return dict(cells)
        found = {kind: which for kind, which in cells.items() if kind != "quad8"}
        chosen = np.isin(keep, cells["quad8"]), np.isin(go, cells["quad8"])
        if chosen[0].any():
            found["quad8"] = np.flatnonzero(chosen[0])
        more = start + np.flatnonzero(chosen[1])
        found["quad9"] = np.concatenate([found["quad9"], more]) if "quad9" in found else more
        return found

    def whole(nodes: Any) -> Any:
        inside = np.zeros(mesh.n_nodes, dtype=bool)
        inside[nodes] = True
        return np.concatenate([nodes, new[inside[rows[go]].all(axis=1)]])

    return replace(
        mesh,
        points=np.concatenate([mesh.points, middle]),
        node_number=np.concatenate(
            [mesh.node_number, max(after, int(mesh.node_number.max())) + 1 + np.arange(len(go))]
        ),
        cells=moved(mesh.cells, nine),
        cell_number=moved(mesh.cell_number),
        axes=moved(axes),
        node_sets={name: whole(nodes) for name, nodes in mesh.node_sets.items()},
        cell_sets={name: in_set(cells) for name, cells in mesh.cell_sets.items()},
        shell=ShellData(shell.sections, moved(shell.index), moved(axis)),
    )


def _of_both(mesh: Mesh, table: Mapping[str, Any], default: Callable[[str], Any]) -> dict[str, Any]:
    """A table by cell type that has both of `quad8` and `quad9`, where the mesh has them, or neither."""
    both = [kind for kind in ("quad8", "quad9") if kind in mesh.cells]
    lacks = [kind for kind in both if kind not in table]
    return {**table, **({kind: default(kind) for kind in lacks} if len(lacks) < len(both) else {})}
