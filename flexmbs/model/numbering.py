"""Bodies, joints and markers -> flat tables (see `tables.py` for what each array holds)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.ffrf.integrals import ShapeIntegrals
from flexmbs.ffrf.table import BodyBlock, pack_body
from flexmbs.model.bodies import GROUND, Body, FlexibleBody
from flexmbs.model.markers import Marker, integrals_of
from flexmbs.model.path import Path
from flexmbs.model.rows import Coordinate
from flexmbs.model.tables import BodyTables, CoordTables, MarkerTables, PrimTables, TravelTables, TreeTables
from flexmbs.model.topology import Branch, Topology

Array = NDArray[np.float64]


def ints(values: Any) -> NDArray[np.int64]:
    return np.array(list(values), dtype=np.int64).reshape(-1)


def floats(values: Any) -> Array:
    return np.ascontiguousarray(np.array(list(values), dtype=np.float64))


def offsets(sizes: Any) -> NDArray[np.int64]:
    """Running starts of pieces of these sizes, with the end as last item."""
    each = sizes if isinstance(sizes, np.ndarray) else ints(sizes)
    found = np.zeros(len(each) + 1, dtype=np.int64)
    np.cumsum(each, out=found[1:])
    return found


@dataclass
class BodyNumbers:
    """Numbers and offsets of the bodies, ground first."""

    names: list[str]
    branches: tuple[Branch, ...]
    parts: dict[str, Body]
    integrals: list[ShapeIntegrals | None]
    blocks: list[BodyBlock]
    nf: NDArray[np.int64]
    parent: NDArray[np.int64]
    n_beta: NDArray[np.int64]
    n_eta: NDArray[np.int64]

    @cached_property
    def index(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    @cached_property
    def o_beta(self) -> NDArray[np.int64]:
        return offsets(self.n_beta + self.nf)

    @cached_property
    def o_eta(self) -> NDArray[np.int64]:
        return offsets(self.n_eta + self.nf)

    @property
    def n_pos(self) -> int:
        return int(self.o_beta[-1])

    @property
    def n_vel(self) -> int:
        return int(self.o_eta[-1])


def number_bodies(topology: Topology, parts: dict[str, Body]) -> BodyNumbers:
    """Bodies in the order of the tree, with their inertia packed."""
    names = [GROUND, *(branch.body for branch in topology.branches)]
    index = {name: k for k, name in enumerate(names)}
    integrals: list[ShapeIntegrals | None] = [None]
    blocks = [BodyBlock(np.zeros(12), 0, 0, 0, 0)]
    for name in names[1:]:
        body = parts[name]
        found = integrals_of(body)
        integrals.append(found)
        terms = body.inertia_terms if isinstance(body, FlexibleBody) else "full"
        stiffening = not isinstance(body, FlexibleBody) or body.geometric_stiffening is not False
        blocks.append(pack_body(found, inertia_terms=terms, stiffening=stiffening))
    return BodyNumbers(
        names,
        topology.branches,
        parts,
        integrals,
        blocks,
        ints(block.nf for block in blocks),
        ints([0, *(index[branch.parent] for branch in topology.branches)]),
        ints([0, *(branch.joint.n_beta for branch in topology.branches)]),
        ints([0, *(branch.joint.n_eta for branch in topology.branches)]),
    )


def body_tables(numbers: BodyNumbers, low_rank: Any) -> BodyTables:
    """Offsets of bodies, inertia blocks, stiffness."""
    nf = numbers.nf
    square = [
        np.concatenate([m.ravel() for m in (found.m_ff, found.K_ff, found.D_ff)]) if found else np.zeros(0)
        for found in numbers.integrals
    ]
    o_block, block_data = shared(block.data for block in numbers.blocks)
    o_K, K_data = shared(square)
    return BodyTables(
        nf=nf,
        o_q=ints(numbers.o_beta[:-1] + numbers.n_beta),
        o_f=offsets(6 + nf)[:-1].copy(),
        o_block=o_block,
        n_T=ints(block.n_T for block in numbers.blocks),
        n_A=ints(block.n_A for block in numbers.blocks),
        n_G=ints(block.n_G for block in numbers.blocks),
        low_rank=low_rank,
        o_rows=offsets(7 * nf)[:-1].copy(),
        o_K=o_K,
        o_N=offsets(nf * nf)[:-1].copy(),
        o_E=offsets(6 * nf)[:-1].copy(),
        block_data=block_data,
        K_data=K_data,
    )


def shared(pieces: Iterable[Array | None]) -> tuple[NDArray[np.int64], Array]:
    """Places of pieces, -1 for None, and their numbers one behind the other, equal ones once.

    Equal bodies read the same numbers, which then stay in the cache of the processor.
    """
    places: list[int] = []
    known: dict[bytes, int] = {}
    data, size = [np.zeros(0)], 0
    for piece in pieces:
        flat = None if piece is None else np.ascontiguousarray(piece, dtype=float).ravel()
        key = b"" if flat is None else flat.tobytes()
        if flat is not None and key not in known:
            known[key] = size
            data.append(flat)
            size += flat.size
        places.append(-1 if flat is None else known[key])
    return ints(places), np.concatenate(data)


def _is_diagonal(A: Array) -> bool:
    """Whether what stands beside the diagonal is rounding of the reduction, which grows with its modes."""
    size = np.sqrt(np.abs(np.diag(A)))
    rounding = 1e-11 * np.abs(A).max(initial=0.0) + 1e-10 * np.outer(size, size)
    return bool((np.abs(A - np.diag(np.diag(A))) <= rounding).all())


def children_of(numbers: BodyNumbers) -> list[list[int]]:
    """Bodies outboard of each body."""
    children: list[list[int]] = [[] for _ in numbers.names]
    for i, parent in enumerate(numbers.parent):
        if i:
            children[int(parent)].append(i)
    return children


def low_ranks(numbers: BodyNumbers, markers: list[Marker], m_out: Any) -> NDArray[np.int64]:
    """How the elastic blocks are factored (F24a)."""
    rank, children = [], children_of(numbers)
    for i, found in enumerate(numbers.integrals):
        if found is None or not found.nf:
            rank.append(-1)
            continue
        k = 6 * len(children[i]) + (12 if markers[int(m_out[i])].rows is not None else 0)
        diagonal = all(_is_diagonal(A) for A in (found.m_ff, found.K_ff, found.D_ff))
        # its factor must fit into the place of the full one, and pay
        rank.append(k if diagonal and found.nf >= max(2 * k, 2) else -1)
    return ints(rank)


def tree_tables(numbers: BodyNumbers, **rest: Any) -> TreeTables:
    """Parents, children and offsets of speeds; the rest comes from joints and drives."""
    children = children_of(numbers)
    return TreeTables(
        parent=numbers.parent,
        o_eta=numbers.o_eta,
        o_qd=ints(numbers.o_eta[:-1] + numbers.n_eta),
        child_start=offsets(len(items) for items in children),
        child=ints(item for items in children for item in items),
        o_B=offsets(6 * numbers.nf[numbers.parent])[:-1].copy(),
        **rest,
    )


def motion_tables(numbers: BodyNumbers) -> tuple[PrimTables, NDArray[np.int64]]:
    """Elementary motions in the order from the parent to the body, balls for x (+) v; vel_of_pos."""
    prims: list[tuple[int, float, float, int, int]] = []
    start, balls = [0, 0], []
    vel_of_pos = np.full(numbers.n_pos, -1, dtype=np.int64)
    for i, branch in enumerate(numbers.branches, start=1):
        beta, eta = int(numbers.o_beta[i]), int(numbers.o_eta[i])
        own = []
        sign = -1.0 if branch.reverse else 1.0
        for item in branch.joint.motion:
            own.append((item.axis, sign * item.turn, sign * item.travel, beta, eta))
            if item.axis < 0:
                balls.append((beta, eta))
            else:
                vel_of_pos[beta] = eta
            beta, eta = beta + (4 if item.axis < 0 else 1), eta + (3 if item.axis < 0 else 1)
        prims.extend(reversed(own) if branch.reverse else own)
        start.append(len(prims))
        for a in range(numbers.nf[i]):
            vel_of_pos[beta + a] = eta + a
    columns = list(zip(*prims, strict=True)) if prims else [()] * 5
    tables = PrimTables(
        start=ints(start),
        axis=ints(columns[0]),
        turn=floats(columns[1]),
        travel=floats(columns[2]),
        beta=ints(columns[3]),
        eta=ints(columns[4]),
        ball_beta=ints(b for b, _ in balls),
        ball_eta=ints(e for _, e in balls),
    )
    return tables, vel_of_pos


def marker_tables(numbers: BodyNumbers, markers: list[Marker]) -> tuple[MarkerTables, TravelTables]:
    """Markers by body with their modal rows, and the paths of those that travel."""
    index = numbers.index
    body = ints(index[m.body] for m in markers)
    # K_P with the six numbers of a pair of modes together
    stiff = [None if m.K_P is None else m.K_P.transpose(1, 2, 0) for m in markers]
    places, data = shared([*(m.rows for m in markers), *stiff])
    travelling = [k for k, m in enumerate(markers) if m.travel is not None]
    travel = np.full(len(markers), -1, dtype=np.int64)
    travel[travelling] = np.arange(len(travelling))
    counts = np.bincount(body, minlength=len(numbers.names))
    tables = MarkerTables(
        body=body,
        u0=floats(m.u0 for m in markers).reshape(-1, 3),
        R0=floats(m.R0 for m in markers).reshape(-1, 3, 3),
        row=places[: len(markers)],
        K=places[len(markers) :],
        L=offsets(6 * numbers.nf[body])[:-1],
        data=data,
        travel=travel,
        start=offsets(counts),
    )
    return tables, travel_tables([markers[k].path for k in travelling])


def travel_tables(paths: list[Path | None]) -> TravelTables:
    """Splines of the rows of travelling markers; nothing where the body has no modes (F18a)."""
    knots = [np.zeros(0) if path is None else path.knots for path in paths]
    coefs = [np.zeros(0) if path is None else path.coef.ravel() for path in paths]
    widths = [0 if path is None else path.coef.shape[2] for path in paths]
    return TravelTables(
        knots=np.concatenate([*knots, np.zeros(0)]),
        o_knot=offsets(len(item) for item in knots),
        coefs=np.concatenate([*coefs, np.zeros(0)]),
        o_coef=offsets(item.size for item in coefs),
        o_row=offsets(3 * width for width in widths),
        line=floats(np.zeros(6) if path is None else path.line for path in paths).reshape(-1, 6),
    )


def coordinate_tables(coordinates: list[Coordinate]) -> CoordTables:
    """Places of joint coordinates in pos and vel, or the entry that gives them."""
    return CoordTables(
        pos=ints(c.pos for c in coordinates),
        vel=ints(c.vel for c in coordinates),
        entry=ints(-1 if c.entry is None else c.entry.number for c in coordinates),
        turn=ints(c.is_angle for c in coordinates),
    )
