"""Masses, springs, connections and supports of a deck -> what the full model and its ties are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.fe.attach import PointMass
from flexmbs.fe.deck import Deck, Equation, Mean, Rigid
from flexmbs.fe.mesh import Mesh
from flexmbs.modal.interfaces import DIRECTIONS, Interface, make_interface
from flexmbs.modal.links import Links, LinkSolver
from flexmbs.modal.ties import rigid_field
from flexmbs.spatial import skew

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: a spring lets the body move when rigid motions stretch it by less, of their size
GROUNDED = 1e-6
LISTED = 8


@dataclass(frozen=True)
class Attached:
    """Point masses, stiffness of springs (n_dof, n_dof), solved connections, reference nodes by name."""

    masses: list[PointMass] = field(default_factory=list)
    springs: Any = None
    links: Links | None = None
    offered: dict[str, Rigid | Mean] = field(default_factory=dict)
    places: dict[int, Floats] = field(default_factory=dict)
    index: dict[int, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def attached_to(mesh: Mesh, whole: Mesh, deck: Deck, n_per_node: int, hold: bool = False) -> Attached:
    """What a deck (in SI) attaches to a mesh; `whole` is the mesh with its nodes without a cell.

    hold : whether supports hold the nodes without a cell; those of others are held as dofs of the mesh
    """
    numbers = deck.node_numbers()
    if not len(numbers):
        return Attached(notes=support_notes(deck))
    at = whole.node_indices(numbers, whole.source)
    places = dict(zip(numbers.tolist(), whole.points[at], strict=True))
    index = {number: k for k, number in enumerate(mesh.node_number.tolist()) if number in places}
    for number in set(places) - set(index):  # merged with another
        if whole.used_nodes()[whole.node_indices(number)[0]]:
            index[number] = int(np.argmin(np.linalg.norm(mesh.points - places[number], axis=1)))
    solver = LinkSolver(mesh, n_per_node, places, index, turning_nodes(deck))
    solver.add(deck.links)
    for item in deck.supports if hold else ():
        for node in (n for n in item.nodes.tolist() if n in places and n not in index):
            for k in item.dofs:
                solver.hold(node, k, item.name)
    links = solver.solve()
    masses = [point_mass(item, solver) for item in deck.masses]
    offered = {f"rbe:{item.node}": item for item in deck.links if not isinstance(item, Equation)}
    notes = [*link_notes(offered), *support_notes(deck)]
    springs = spring_matrix(deck, solver)
    return Attached(
        masses,
        springs,
        links if deck.links else None,
        offered,
        places,
        index,
        notes,
        without_turns(deck, solver),
    )


def without_turns(deck: Deck, solver: LinkSolver) -> list[str]:
    """What is said of connections in the mean that name rotations where there are none, on solids."""
    found: dict[str, int] = {}
    for item in deck.links:
        if isinstance(item, Mean) and item.spins is not None:
            named = item.nodes[item.spins.any(axis=1)].tolist()
            found[item.card] = sum(node in solver.index and not solver.rotates(node) for node in named)
    words = [f"{card} ({number} nodes)" for card, number in found.items() if number]
    if not words:
        return []
    more = f", and {len(words) - LISTED} more" if len(words) > LISTED else ""
    return [
        f"rotations of nodes of solids, which have none, do not count in {', '.join(words[:LISTED])}{more}"
    ]


def turning_nodes(deck: Deck) -> frozenset[int]:
    """Nodes whose rotations matter to something."""
    found = {item.node for item in deck.links if not isinstance(item, Equation)}
    found |= {item.node for item in deck.masses if item.inertia.any() or item.offset.any()}
    for group in (
        [item.terms for item in deck.springs],
        [x.terms for x in deck.links if isinstance(x, Equation)],
    ):
        found |= {node for terms in group for node, vector in terms if vector[3:].any()}
    return frozenset(found)


def point_mass(item: Any, solver: LinkSolver) -> PointMass:
    """A mass of the deck on its node, or beside it by rows of the node's motion."""
    turns = bool(item.inertia.any() or item.offset.any())
    at = solver.index.get(item.node)
    if at is not None and not turns:
        return PointMass(item.mass, node=at)
    rows = solver.motion(item.node, item.card, turns=turns)
    rows = sp.csr_array(
        sp.vstack([rows[:3] - sp.csr_array(skew(item.offset)) @ rows[3:], rows[3:]], format="csr")
    )
    inertia = item.inertia if item.inertia.any() else None
    return PointMass(item.mass, inertia, position=solver.places[item.node] + item.offset, rows=rows)


def spring_matrix(deck: Deck, solver: LinkSolver) -> Any:
    """Stiffness of all springs; one that holds the body as a whole is an error."""
    if not deck.springs:
        return None
    rows = []
    for item in deck.springs:
        row = sp.csr_array((1, solver.n_dof))
        for node, vector in item.terms:
            turns = bool(vector[3:].any())
            row = row + sp.csr_array(vector[None]) @ solver.motion(node, item.card, turns=turns)
        rows.append(row)
    A = sp.csr_array(sp.vstack(rows))
    mesh = solver.mesh
    rigid = rigid_field(mesh.points, solver.n_per_node, mesh.points.mean(axis=0))
    size = np.sqrt(np.mean(rigid**2, axis=0))
    held = np.abs(A @ (rigid / size)).max(axis=1) > GROUNDED * np.abs(A).max(axis=1).toarray().ravel()
    for item in (item for item, bad in zip(deck.springs, held, strict=True) if bad):
        what = f"{item.card} holds the body: it stretches when the body moves as a whole"
        remedy = f"model it in the case, as a bushing or spring_damper, and --ignore {item.card.split()[0]}"
        raise InputError(Diagnostic("deck.grounded", mesh.source or "deck", what, remedy))
    k = sp.diags_array(np.array([item.stiffness for item in deck.springs]))
    return sp.csc_array(A.T @ k @ A)


def link_notes(offered: Mapping[str, Rigid | Mean]) -> list[str]:
    if not offered:
        return []
    words = [f"{name} ({item.card.split()[0]}, {len(item.nodes)} nodes)" for name, item in offered.items()]
    more = f", and {len(words) - LISTED} more" if len(words) > LISTED else ""
    return [f"connections that can be interfaces: {', '.join(words[:LISTED])}{more}"]


def support_notes(deck: Deck) -> list[str]:
    if not deck.supports:
        return []
    words = [
        f"{item.name} ({len(item.nodes)} nodes, {' '.join(DIRECTIONS[k] for k in item.dofs)})"
        for item in deck.supports
    ]
    more = f", and {len(words) - LISTED} more" if len(words) > LISTED else ""
    return [f"held in the deck: {', '.join(words[:LISTED])}{more}"]


def link_interface(
    name: str, label: str, attached: Attached, mesh: Mesh, turns: bool, **options: Any
) -> Interface:
    """The reference node of a connection as a marker: it moves as the mean of the nodes that follow it."""
    where = f"interfaces.{label}"
    if name not in attached.offered:
        what = f'there is no connection "{name}"'
        raise InputError(Diagnostic("recipe.interface", where, what, nearest(name, list(attached.offered))))
    item = attached.offered[name]
    if isinstance(item, Rigid) and not {0, 1, 2} <= set(item.dofs):
        what = f"{item.card} moves its nodes in {' '.join(DIRECTIONS[k] for k in item.dofs)} only"
        raise InputError(Diagnostic("recipe.interface", where, what, "an interface needs x, y and z"))
    numbers = [n for n in item.nodes.tolist() if n in attached.index]
    weights = np.ones(len(numbers))
    if isinstance(item, Mean):
        share = dict(zip(item.nodes.tolist(), item.weights.tolist(), strict=True))
        weights = np.array([share[n] for n in numbers])
    elif item.node in attached.index:
        numbers, weights = [*numbers, item.node], np.append(weights, 1.0)
    if not numbers:
        what = f"{item.card} moves no node of the mesh"
        raise InputError(Diagnostic("recipe.interface", where, what, "take the connection behind it"))
    nodes = np.array([attached.index[n] for n in numbers])
    nodes, first = np.unique(nodes, return_index=True)
    options["position"] = (
        attached.places[item.node] if options.get("position") is None else options["position"]
    )
    made = make_interface(mesh, label, nodes, tie="rbe3", turns=turns, **options)
    return replace(made, weights=weights[first] / weights[first].sum())
