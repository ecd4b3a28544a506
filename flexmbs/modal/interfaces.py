"""Node set -> six-freedom marker, tied rigidly (RBE2) or in the mean (RBE3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.fe.mesh import Mesh
from flexmbs.modal.areas import centroid, nodal_sizes, set_pieces
from flexmbs.modal.bores import bore_centre

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
TIES = ("rbe2", "rbe3")
#: smallest singular value, of the largest, for a rotation that a node set can carry
CARRIES = 1e-6


@dataclass(frozen=True)
class Interface:
    """A marker with six freedoms tied to nodes; `dofs` (0 to 5, marker axes) are its boundary coordinates.

    position : (3,), rotation : (3, 3) marker axes to body axes;  weights : (n,) sum 1
    free : directions that the nodes cannot carry (rotations of a single solid node)
    """

    name: str
    nodes: Ints
    weights: Floats
    position: Floats
    rotation: Floats
    tie: str = "rbe2"
    dofs: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    free: tuple[int, ...] = field(default=())

    @property
    def carried(self) -> tuple[int, ...]:
        """Directions that the nodes can carry."""
        return tuple(k for k in range(6) if k not in self.free)

    @property
    def dof_names(self) -> str:
        return " ".join(DIRECTIONS[k] for k in self.dofs)

    @property
    def axes(self) -> Floats:
        """(6, 6): marker components of a twist to body components."""
        turn = np.zeros((6, 6))
        turn[:3, :3] = turn[3:, 3:] = self.rotation
        return turn


def parse_dofs(text: str | Sequence[str], where: str) -> tuple[int, ...]:
    """`"x y rz"` -> (0, 1, 5)."""
    words: list[Any] = [text]
    if isinstance(text, str | list | tuple):
        words = text.replace(",", " ").split() if isinstance(text, str) else list(text)
    for word in words:
        if word not in DIRECTIONS:
            raise InputError(
                Diagnostic(
                    "recipe.dofs", where, f'unknown direction "{word}"', nearest(str(word), DIRECTIONS)
                )
            )
    if not words:
        raise InputError(Diagnostic("recipe.dofs", where, "names no direction", 'for example dofs = "x y z"'))
    return tuple(sorted({DIRECTIONS.index(word) for word in words}))


def make_interface(
    mesh: Mesh,
    name: str,
    nodes: ArrayLike,
    *,
    set_name: str = "",
    tie: str = "rbe2",
    position: ArrayLike | None = None,
    rotation: ArrayLike | None = None,
    dofs: tuple[int, ...] | None = None,
    turns: bool = False,
) -> Interface:
    """Interface of a node set: weights of area where it has faces, of length where it has edges of shells,
    frame at their centroid, or on the axis of a bore, and in body axes.

    `turns`: the nodes have rotations. Directions that the nodes cannot carry are no coordinates; asking for
    one is an error.
    """
    nodes = np.asarray(nodes, dtype=np.int64)
    pieces = set_pieces(mesh, set_name, nodes) if set_name and len(nodes) > 2 else []
    weights = nodal_sizes(mesh, pieces)[nodes] if pieces else np.ones(len(nodes))
    weights = weights if weights.sum() > 0 else np.ones(len(nodes))
    if position is None:
        position = (
            bore_centre(mesh.points[nodes], centroid(mesh, pieces))
            if pieces
            else mesh.points[nodes].mean(axis=0)
        )
    item = Interface(
        name,
        nodes,
        weights / weights.sum(),
        np.array(position, dtype=float),
        np.eye(3) if rotation is None else np.array(rotation, dtype=float),
        tie,
    )
    free = () if turns else _not_carried(mesh, item)
    lost = [DIRECTIONS[k] for k in (dofs or ()) if k in free]
    if lost:
        what = f"{len(nodes)} node(s) cannot carry the direction {' '.join(lost)}"
        carried = " ".join(DIRECTIONS[k] for k in range(6) if k not in free)
        raise InputError(
            Diagnostic("recipe.dofs", f"interfaces.{name}", what, f'use dofs = "{carried}", or a larger set')
        )
    chosen = tuple(k for k in (dofs or range(6)) if k not in free)
    return Interface(item.name, item.nodes, item.weights, item.position, item.rotation, tie, chosen, free)


def tie_columns(points: Floats, item: Interface, n_per_node: int) -> Floats:
    """Motion of the nodes (n * n_per_node, 6) under unit motions of the marker, in marker axes."""
    n = len(item.nodes)
    arm = points[item.nodes] - item.position
    columns = np.zeros((n, n_per_node, 6))
    columns[:, :3, :3] = item.rotation
    columns[:, :3, 3:] = np.cross(item.rotation.T[None], arm[:, None]).transpose(0, 2, 1)
    if n_per_node == 6:
        columns[:, 3:, 3:] = item.rotation
    return columns.reshape(n * n_per_node, 6)


def mean_rows(points: Floats, item: Interface, n_per_node: int) -> Floats:
    """Motion of the marker (6, n * n_per_node) as the weighted mean of that of the nodes, in marker axes."""
    T = tie_columns(points, item, n_per_node)[:, list(item.carried)]
    weight = np.repeat(item.weights, n_per_node)
    if n_per_node == 6 and len(item.nodes) > 1:
        weight = weight * np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], len(item.nodes))
    scale = np.linalg.norm(T, axis=0)
    scaled = T / scale
    normal = scaled.T @ (weight[:, None] * scaled)
    if np.linalg.cond(normal) > CARRIES**-2:  # nodes in line: the rotations of the nodes count too
        weight = np.repeat(item.weights, n_per_node)
        normal = scaled.T @ (weight[:, None] * scaled)
    rows = np.zeros((6, len(T)))
    rows[list(item.carried)] = np.linalg.solve(normal, scaled.T * weight) / scale[:, None]
    return rows


def _not_carried(mesh: Mesh, item: Interface) -> tuple[int, ...]:
    """Rotations, in marker axes, that nodes without rotations cannot carry: all for one, one for a line."""
    arm = (mesh.points[item.nodes] - item.position) @ item.rotation
    spread = arm - arm.mean(axis=0)
    size = np.linalg.svd(spread, compute_uv=False) if len(spread) > 1 else np.zeros(2)
    body = float(np.linalg.norm(np.ptp(mesh.points, axis=0))) or 1.0
    if len(item.nodes) == 1 or size[0] <= 1e-9 * body:
        return (3, 4, 5)
    if size[1] <= CARRIES * size[0]:
        line = np.linalg.svd(spread)[2][0]
        return (3 + int(np.argmax(np.abs(line))),)
    return ()


def check_separate(items: Sequence[Interface]) -> list[Diagnostic]:
    """Interfaces that share nodes: rigid ties would lock each other."""
    found = []
    for i, first in enumerate(items):
        for second in items[i + 1 :]:
            shared = np.intersect1d(first.nodes, second.nodes)
            if len(shared) and "rbe2" in (first.tie, second.tie):
                what = f"shares {len(shared)} node(s) with {second.name}"
                found.append(
                    Diagnostic(
                        "recipe.shared_nodes",
                        f"interfaces.{first.name}",
                        what,
                        "make the sets separate, or tie both with rbe3",
                    )
                )
    return found
