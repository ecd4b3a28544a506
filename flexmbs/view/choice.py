"""What was pointed at: faces, edges, nodes within an outline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.check.mesh import size_of
from flexmbs.fe.mesh import Mesh
from flexmbs.view.edges import Edge, edges_of
from flexmbs.view.patches import Patch
from flexmbs.view.places import Kind, kind_of_edge, place_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_CORNERS = 2_000  # of an outline


@dataclass(frozen=True)
class Chosen:
    """Nodes, what they look like, their place in a recipe; `named`: a set of the mesh with them, or ""."""

    nodes: Ints
    kind: Kind
    place: dict[str, Any]
    named: str


class Choices:
    """Everything of a part that can be pointed at, by number."""

    def __init__(self, mesh: Mesh, patches: Sequence[Patch], sets: dict[str, Ints]) -> None:
        self.mesh, self.patches, self.sets = mesh, patches, sets

    @cached_property
    def edges(self) -> list[Edge]:
        return edges_of(self.mesh, self.patches)

    def kinds_of_edges(self) -> list[str]:
        size = size_of(self.mesh)
        return [kind_of_edge(self.mesh.points[edge.nodes], size).name for edge in self.edges]

    def nodes(self, data: dict[str, Any]) -> Ints:
        """Nodes that were pointed at: of patches and edges, or by their numbers."""
        parts = []
        groups: dict[str, Any] = {"patches": self.patches, "edges": self.edges if data.get("edges") else ()}
        for key, known in groups.items():
            parts += [known[k].nodes for k in _numbers(data.get(key), len(known))]
        numbers = _numbers(data.get("nodes"), self.mesh.n_nodes)
        if not (parts or numbers):
            raise InputError(Diagnostic("view.choice", "view", "no face is chosen", "click one or several"))
        return np.unique(np.concatenate([*parts, np.array(numbers, dtype=np.int64)]))

    def of(self, data: dict[str, Any]) -> Chosen:
        nodes = self.nodes(data)
        edge = bool(data.get("edges")) and not (data.get("patches") or data.get("nodes"))
        kind, place = place_of(self.mesh, nodes, edge)
        named = next((name for name, own in self.sets.items() if np.array_equal(own, nodes)), "")
        return Chosen(nodes, kind, {"set": named} if named else place, named)

    def covered(self, nodes: Ints) -> list[int]:
        """Numbers of the patches whose nodes are all among these."""
        inside = np.zeros(self.mesh.n_nodes, dtype=bool)
        inside[nodes] = True
        return [k for k, patch in enumerate(self.patches) if inside[patch.nodes].all()]

    def within(self, data: dict[str, Any]) -> Ints | None:
        """Nodes of the skin behind an outline in the picture; `matrix` is that of the camera, by columns."""
        try:
            outline = np.array(data["outline"], dtype=float).reshape(-1, 2)
            matrix = np.array(data["matrix"], dtype=float).reshape(4, 4).T
        except (KeyError, TypeError, ValueError):
            return None
        if not (
            3 <= len(outline) <= MOST_CORNERS and np.isfinite(outline).all() and np.isfinite(matrix).all()
        ):
            return None
        skin = np.unique(np.concatenate([patch.nodes for patch in self.patches]))
        seen = np.column_stack([self.mesh.points[skin], np.ones(len(skin))]) @ matrix.T
        front = seen[:, 3] > 0.0
        at = seen[front, :2] / seen[front, 3:]
        return skin[front][_inside(at, outline)]


def _numbers(given: Any, count: int) -> list[int]:
    """Numbers of things that are there."""
    if not isinstance(given or [], list) or not all(type(k) is int and 0 <= k < count for k in given or []):
        raise InputError(Diagnostic("view.choice", "view", "there is no such face", "click one"))
    return given or []


def _inside(points: Floats, outline: Floats) -> Any:
    """Whether points are within a polygon: a ray from each crosses its sides an odd number of times."""
    x, y = points.T
    inside = np.zeros(len(points), dtype=bool)
    for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        if y0 != y1:
            crosses = (y0 > y) != (y1 > y)
            inside ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    return inside
