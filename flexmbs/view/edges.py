"""Edges of a part that a person sees: where faces meet, or shells end, divided at corners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from flexmbs.fe.mesh import Mesh
from flexmbs.fe.skin import CORNERS_OF_FACE, group_rows
from flexmbs.view.patches import SHARP, Patch

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Edge:
    """Pairs of nodes that are joined by a straight line, and all of its nodes."""

    lines: Ints
    nodes: Ints


def edges_of(mesh: Mesh, patches: Sequence[Patch]) -> list[Edge]:
    """Edges between two patches, or at the rim of one: connected, without corners, the longest first."""
    rows, owner = _sides(patches)
    label, count = group_rows(rows[:, :2])
    low, high = np.full(len(count), len(patches)), np.full(len(count), -1)
    np.minimum.at(low, label, owner)
    np.maximum.at(high, label, owner)
    sharp = (count == 1) | (low != high)
    first = np.full(len(count), -1)
    first[label[::-1]] = np.arange(len(label))[::-1]
    chosen = np.flatnonzero(sharp)
    segments = rows[first[chosen]]
    group = _chains(mesh.points, segments, low[chosen] * (len(patches) + 1) + high[chosen])
    found = [_edge(segments[group == k]) for k in range(int(group.max(initial=-1)) + 1)]
    return sorted(found, key=lambda edge: -len(edge.nodes))


def _sides(patches: Sequence[Patch]) -> tuple[Ints, Ints]:
    """Sides of all faces as (corner, corner, node between or -1), corners sorted; number of the patch."""
    parts, owner = [np.zeros((0, 3), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for number, patch in enumerate(patches):
        for rows in patch.faces:
            n = CORNERS_OF_FACE[rows.shape[1]]
            for k in range(n):
                ends = np.sort(rows[:, [k, (k + 1) % n]], axis=1)
                middle = rows[:, n + k] if rows.shape[1] > n else np.full(len(rows), -1)
                parts.append(np.column_stack([ends, middle]))
                owner.append(np.full(len(rows), number))
    return np.concatenate(parts), np.concatenate(owner)


def _chains(points: NDArray[np.float64], segments: Ints, between: Ints) -> Ints:
    """Number of the edge of each segment: those of the same faces that go on into each other."""
    n = len(segments)
    ends = np.concatenate([segments[:, 0], segments[:, 1]])
    own = np.tile(np.arange(n), 2)
    order = np.lexsort((np.tile(between, 2), ends))
    ends, own = ends[order], own[order]
    key = between[own]
    new = np.r_[True, (ends[1:] != ends[:-1]) | (key[1:] != key[:-1])] if n else np.zeros(0, dtype=bool)
    start = np.flatnonzero(new)
    pairs = start[np.diff(np.r_[start, len(ends)]) == 2]  # two segments of the same faces meet in a node
    a, b, at = own[pairs], own[pairs + 1], ends[pairs]
    way = [_away(points, segments[k], at) for k in (a, b)]
    smooth = -np.einsum("ij,ij->i", *way) >= np.cos(np.radians(SHARP))
    graph = coo_array((np.ones(smooth.sum(), bool), (a[smooth], b[smooth])), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int64) if n else np.zeros(0, np.int64)


def _away(points: NDArray[np.float64], segments: Ints, at: Ints) -> NDArray[np.float64]:
    """Unit vectors from a node along segments that end there."""
    other = np.where(segments[:, 0] == at, segments[:, 1], segments[:, 0])
    way = points[other] - points[at]
    return np.asarray(way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300))


def _edge(segments: Ints) -> Edge:
    curved = segments[:, 2] >= 0
    halves = segments[curved]
    lines = np.concatenate([segments[~curved][:, :2], halves[:, [0, 2]], halves[:, [2, 1]]])
    return Edge(lines, np.unique(lines))
