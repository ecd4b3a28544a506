"""How cells hang together: shared faces, parts, duplicates, hanging and coincident nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.skin import CORNERS_OF_FACE, face_table, group_rows, skin_faces

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CROWDED = 20  # neighbours per point: beyond, all pairs would take the square of the memory
NEAR = 12  # cells in which the middle of another one is looked for
DEEP = 0.1  # of the way from every face of a cell to its middle
COLLINEAR = 1e-6  # relative: shared nodes on one line carry no moment about it


def coincident_pairs(points: Floats, tolerance: float) -> Ints:
    """Pairs (n, 2) of points closer than the tolerance; of crowds, a chain through all of them."""
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    if tree.count_neighbors(tree, tolerance) <= CROWDED * len(points):
        return tree.query_pairs(tolerance, output_type="ndarray").astype(np.int64)
    places = np.round(points / max(tolerance, 1e-300)) if tolerance else points
    _, label = np.unique(places, axis=0, return_inverse=True)
    order = np.argsort(label.ravel(), kind="stable")
    same = np.diff(label.ravel()[order]) == 0
    return np.stack([order[:-1][same], order[1:][same]], axis=1)


def duplicate_cells(mesh: Mesh) -> dict[str, Ints]:
    """Cells with the same corners as an earlier one of their family, cell type -> indices."""
    result = {}
    for family in ("tet", "hex", "wedge"):
        kinds = [kind for kind in mesh.cells if ELEMENTS[kind].family == family]
        keys = [np.sort(mesh.cells[kind][:, : ELEMENTS[kind].n_corners], axis=1) for kind in kinds]
        if not keys:
            continue
        label, count = group_rows(np.concatenate(keys))
        if (count == 1).all():
            continue
        _, first = np.unique(label, return_index=True)
        repeated = np.ones(len(label), dtype=bool)
        repeated[first] = False
        start = 0
        for kind in kinds:
            found = np.flatnonzero(repeated[start : start + len(mesh.cells[kind])])
            start += len(mesh.cells[kind])
            if len(found):
                result[kind] = found
    return result


def crowded_faces(mesh: Mesh) -> int:
    """Number of faces that more than two cells share."""
    label, count = group_rows(face_table(mesh)[0])
    return int((count > 2).sum())


def on_one_side(mesh: Mesh) -> tuple[int, Ints]:
    """How many faces have both of their cells on one side, and running indices of those cells.

    Cells count as turned to positive volumes. Two cells that lie on either side of a face see it turn in
    opposite senses; where the sense is the same, they overlap, as when a node was moved through the opposite
    face of its cell. Where no face is like that, the volumes of the cells add up to the volume that the skin
    encloses.
    """
    keys, where, _, kinds = face_table(mesh)
    turns = np.zeros(len(keys), dtype=bool)
    for number, kind in enumerate(kinds):
        for local in range(len(ELEMENTS[kind].faces)):
            chosen = np.flatnonzero((where[:, 0] == number) & (where[:, 2] == local))
            rows = mesh.cells[kind][where[chosen, 1]][:, corners_of(kind, local)]
            first, every = rows.argmin(axis=1), np.arange(len(rows))
            turns[chosen] = rows[every, (first + 1) % rows.shape[1]] < rows[every, first - 1]
    label, count = group_rows(keys)
    same = np.bincount(label, weights=turns) != 1.0
    wrong = (count == 2) & same if len(count) else same
    cells = (cell_offsets(mesh)[where[:, 0]] + where[:, 1])[wrong[label]]
    return int(wrong.sum()), np.unique(cells)


def buried(mesh: Mesh) -> Ints:
    """Running indices of cells that hold the middle of another cell, one of the skin."""
    from scipy.spatial import cKDTree

    offsets, solids = cell_offsets(mesh), [kind for kind in mesh.cells if ELEMENTS[kind].faces]
    skin = [offsets[solids.index(kind)] + faces[:, 0] for kind, faces in skin_faces(mesh).items()]
    owner = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *skin]))
    corners = [mesh.cells[kind][:, : ELEMENTS[kind].n_corners] for kind in solids]
    middles = np.concatenate([mesh.points[rows].mean(axis=1) for rows in corners])
    count = min(NEAR, len(middles))
    near = cKDTree(middles).query(middles[owner], count)[1].reshape(len(owner), count)
    inside = near != owner[:, None]
    for number, kind in enumerate(solids):
        sample, column = np.nonzero(inside & (near >= offsets[number]) & (near < offsets[number + 1]))
        cell = near[sample, column]
        X = mesh.points[mesh.cells[kind][cell - offsets[number]]]
        deep = np.ones(len(cell), dtype=bool)
        for local in range(len(ELEMENTS[kind].faces)):
            deep &= share_of_way(X[:, corners_of(kind, local)], middles[cell], middles[owner[sample]]) >= DEEP
        inside[sample, column] = deep
    return np.unique(near[inside])


def corners_of(kind: str, local: int) -> list[int]:
    """Corner nodes of a face of a cell type."""
    nodes = ELEMENTS[kind].faces[local]
    return list(nodes[: CORNERS_OF_FACE[len(nodes)]])


def share_of_way(face: Floats, middle: Floats, point: Floats) -> Floats:
    """How far the points lie on the way from the plane of a face, 0, to the middle of its cell, 1."""
    plane = face.mean(axis=1)
    normal = np.cross(face[:, 1] - face[:, 0], face[:, -1] - face[:, 0])
    whole, part = (np.einsum("ij,ij->i", normal, x - plane) for x in (middle, point))
    return part / np.where(whole == 0.0, np.inf, whole)


def cell_offsets(mesh: Mesh) -> Ints:
    """Start of each cell type in one running index over all solid cells."""
    sizes = [len(rows) for kind, rows in mesh.cells.items() if ELEMENTS[kind].faces]
    return np.cumsum([0, *sizes])


def face_parts(mesh: Mesh) -> Ints:
    """Part number per solid cell (running index): cells that are joined through faces."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    keys, where, _, _ = face_table(mesh)
    offsets = cell_offsets(mesh)
    cell = offsets[where[:, 0]] + where[:, 1]
    label, count = group_rows(keys)
    order = np.argsort(label, kind="stable")
    start = np.cumsum(count) - count
    chain = np.ones(len(order), dtype=bool)
    chain[start] = False  # every further cell of a face is joined with the one before
    second = np.flatnonzero(chain)
    i, j = cell[order[second - 1]], cell[order[second]]
    n_cells = int(offsets[-1])
    graph = coo_matrix((np.ones(len(i), dtype=np.int8), (i, j)), shape=(n_cells, n_cells))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def weak_parts(mesh: Mesh, part: Ints) -> list[Ints]:
    """Parts that share corner nodes with others, but none besides one node or one straight line: hinges.

    Returns the shared nodes of each such joint.
    """
    pairs, start = [], 0
    for kind, rows in mesh.cells.items():
        n_corners = ELEMENTS[kind].n_corners
        if ELEMENTS[kind].faces:
            labels = np.repeat(part[start : start + len(rows)], n_corners)
            pairs.append(np.stack([rows[:, :n_corners].ravel(), labels], axis=1))
            start += len(rows)
    node_part = np.unique(np.concatenate(pairs), axis=0)
    shared = np.flatnonzero(np.bincount(node_part[:, 0], minlength=mesh.n_nodes) > 1)
    at_shared = node_part[np.isin(node_part[:, 0], shared)]
    result: dict[bytes, Ints] = {}
    for number in np.unique(at_shared[:, 1]):
        nodes = at_shared[at_shared[:, 1] == number, 0]
        if is_line(mesh.points[nodes]):
            result.setdefault(nodes.tobytes(), nodes)
    return list(result.values())


def is_line(points: Floats) -> bool:
    """Whether the points lie on one straight line (or are one point)."""
    if len(points) < 3:
        return True
    centred = points - points.mean(axis=0)
    singular = np.linalg.svd(centred, compute_uv=False)
    return bool(singular[1] <= COLLINEAR * max(singular[0], 1e-300))


def hanging_mid_nodes(mesh: Mesh) -> Ints:
    """Mid-nodes of quadratic cells on edges that a neighbour uses without this mid-node."""
    keys, mids = [], []
    for kind, rows in mesh.cells.items():
        for edge in ELEMENTS[kind].edges if ELEMENTS[kind].faces else ():
            keys.append(np.sort(rows[:, list(edge[:2])], axis=1))
            mids.append(rows[:, edge[2]] if len(edge) == 3 else np.full(len(rows), -1, dtype=np.int64))
    if all((mid < 0).all() for mid in mids):
        return np.zeros(0, dtype=np.int64)
    label, count = group_rows(np.concatenate(keys))
    mid = np.concatenate(mids)
    lowest = np.full(len(count), np.iinfo(np.int64).max)
    highest = np.full(len(count), -1, dtype=np.int64)
    np.minimum.at(lowest, label, mid)
    np.maximum.at(highest, label, mid)
    return np.unique(highest[(lowest != highest) & (highest >= 0)])


def hanging_nodes(mesh: Mesh, tolerance: float) -> Ints:
    """Nodes of the skin that lie on an edge or in a face of another skin cell without being its node.

    Looked for at the middle, thirds and quarters of edges and in the middle of faces: what refinement leaves.
    """
    from scipy.spatial import cKDTree

    samples, owners = skin_samples(mesh)
    if not len(samples):
        return np.zeros(0, dtype=np.int64)
    skin = np.unique(owners[owners >= 0])
    distance, near = cKDTree(mesh.points[skin]).query(samples, distance_upper_bound=tolerance)
    hit = np.flatnonzero(np.isfinite(distance))
    node = skin[near[hit]]
    own = (owners[hit] == node[:, None]).any(axis=1)
    apart = mesh.points[owners[hit][:, :2]] - mesh.points[node][:, None]
    collapsed = (np.linalg.norm(apart, axis=2) <= tolerance).any(axis=1)
    return np.unique(node[~own & ~collapsed])


def skin_samples(mesh: Mesh) -> tuple[Floats, Ints]:
    """Points inside edges and faces of the skin (n, 3), and the nodes of their faces (n, 9), -1 filled."""
    points, owners = [], []
    for nodes in mesh.face_nodes(skin_faces(mesh)):
        width = nodes.shape[1]
        n_corners = CORNERS_OF_FACE[width]
        own = np.full((len(nodes), 9), -1, dtype=np.int64)
        own[:, :width] = nodes
        X = mesh.points[nodes]
        for a in range(n_corners):
            b = (a + 1) % n_corners
            for s in (0.5,) if width == n_corners else (0.25, 0.75):
                if width == n_corners:
                    points.append((1 - s) * X[:, a] + s * X[:, b])
                else:
                    mid = X[:, n_corners + a]
                    points.append(
                        (1 - s) * (1 - 2 * s) * X[:, a] + 4 * s * (1 - s) * mid + s * (2 * s - 1) * X[:, b]
                    )
                owners.append(own)
        points.append(X[:, :n_corners].mean(axis=1))
        owners.append(own)
    if not points:
        return np.zeros((0, 3)), np.zeros((0, 9), dtype=np.int64)
    return np.concatenate(points), np.concatenate(owners)


def mismatched_faces(mesh: Mesh) -> int:
    """Quadrilateral faces of the skin that triangles of other cells cover: tetrahedra set on bricks."""
    triangles: list[Ints] = []
    quads: list[Ints] = []
    for nodes in mesh.face_nodes(skin_faces(mesh)):
        n_corners = CORNERS_OF_FACE[nodes.shape[1]]
        (triangles if n_corners == 3 else quads).append(np.sort(nodes[:, :n_corners], axis=1))
    if not triangles or not quads:
        return 0
    quad = np.concatenate(quads)
    thirds = np.concatenate([np.delete(quad, k, axis=1) for k in range(4)])
    label, _ = group_rows(np.concatenate([thirds, np.concatenate(triangles)]))
    hit = np.isin(label[: len(thirds)], label[len(thirds) :]).reshape(4, -1)
    return int(hit.any(axis=0).sum())
