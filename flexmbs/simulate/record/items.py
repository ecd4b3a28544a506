"""What a result says about the mechanism: tree, cuts, counts (interface, `/topology`)."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.dynamics.analyses.mobility import Mobility, mobility
from flexmbs.dynamics.loops.null_spaces import is_feasible
from flexmbs.dynamics.mechanism import build
from flexmbs.dynamics.speeds import speed_names
from flexmbs.model.workspace import largest_block
from flexmbs.results import Item

if TYPE_CHECKING:
    from flexmbs.model.state import State

#: numbers of /topology by the field of `Mobility` that holds them
COUNTS = {
    "mobility": "mobility", "gruebler": "gruebler", "closure_rows": "closure_rows",
    "closure_rank": "closure_rank", "redundant": "redundant", "bodies": "n_bodies", "joints": "n_joints",
    "loops": "n_loops",
}  # fmt: skip
#: what a result says in place of counts that would take too long
LEFT_OUT = (
    "left out: rank, redundancy and uniqueness of the reactions, whose cost grows with the third power of "
    "the rows that hang together; flexmbs check finds them"
)
#: where even the states of self-stress take too much memory
UNSHARED = "shared in part only: reactions that equilibrium leaves open, of {} rows that hang together"


def counts_of(system: Any, state: State, *, bends: bool = True) -> Mobility | None:
    """Mobility and redundancy at the start (F28); None where loops that hang together are very large.

    `bends`: flexible bodies give way to their loads, which a prescribed motion may forbid them.
    """
    if system.topology.absolute:  # counted in the tree, whatever the formulation
        system = build(system.model)
        if not is_feasible(system):
            return None
        state = system.initial_state()
    elif not is_feasible(system):
        return None
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    return mobility(system, evaluator, state, bends=bends)


def left_out(system: Any) -> list[str]:
    """What a report says in place of counts, and of shares that take too much memory."""
    rows = largest_block(system.tables)
    return [LEFT_OUT] + [UNSHARED.format(rows)] * (len(system.evaluator().ws.null.lam) < rows)


def indeterminate(counts: Mobility | None) -> set[str]:
    """Paths of joints, couplings and drives whose forces redundancy leaves open."""
    texts = counts.indeterminate_joints if counts is not None else []
    return {text.partition(" ")[0].replace(".", "/", 1) + "/" for text in texts}


def tree_texts(system: Any) -> list[str]:
    """The tree, branch by branch: what stands on what by which joint."""
    return [f"{b.body} on {b.parent} by {b.joint.name}" for b in system.topology.branches]


def coordinate_texts(system: Any) -> list[str]:
    """What the speeds of a state stand for: joint coordinates; modes by frequency and where they move."""
    texts = speed_names(system, np.arange(system.n_vel))
    for i, name in enumerate(system.bodies):
        first, nf = int(system.tables.tree.o_qd[i]), int(system.tables.body.nf[i])
        texts[first : first + nf] = [
            f"{text}: {mode}" for text, mode in zip(texts[first:], mode_texts(system, name, nf), strict=False)
        ]
    return texts


def mode_texts(system: Any, body: str, nf: int) -> list[str]:
    """Frequency of each mode alone, shares of its kinetic energy in x, y, z: they tell modes apart."""
    if not nf:
        return []
    found = system.integrals(body)
    m, K = np.diag(found.m_ff), np.diag(found.K_ff)
    hertz = np.sqrt(np.abs(K / m)) / (2.0 * np.pi)
    if getattr(getattr(system.model.bodies[body], "modal", None), "held", False):
        return [f"{x:.6g} Hz" for x in hertz]  # where they move is not known
    share = np.abs([np.diag(found.S_kl[k, k]) for k in range(3)]) / m
    return [
        f"{hertz[a]:.6g} Hz, x {share[0, a]:.5f}, y {share[1, a]:.5f}, z {share[2, a]:.5f}" for a in range(nf)
    ]


def own_texts(system: Any) -> list[str]:
    """What the own values of a state stand for: states of the case, drives that are given by their rates."""
    laws = [(law.name, len(law.start)) for law in system.time_laws]
    laws += [(item.drive, len(item.start)) for item in system.attitudes]
    drives = [f"drives.{name}[{k}]" for name, count in laws for k in range(count)]
    return [f"states.{name}" for name in system.model.states] + drives


def topology_items(system: Any, counts: Mobility | None) -> dict[str, Any]:
    """Tree and cuts as texts for people, and the counts; worked out when somebody asks for them."""
    return {"topology": cache(partial(_topology_items, system, counts))}


def _topology_items(system: Any, counts: Mobility | None) -> dict[str, Item]:
    topology, tree = system.topology, tree_texts(system)
    cuts = [f"{joint.name}: {topology.reasons.get(joint.name, 'closes a loop')}" for joint in topology.cuts]
    items: dict[str, Any] = {"tree": Item(tree or ["none"]), "cuts": Item(cuts or ["none"])}
    items["coordinates"] = Item(coordinate_texts(system) or ["none"])
    items["own_values"] = Item(own_texts(system) or ["none"])
    if counts is not None:
        for name, key in COUNTS.items():
            items[name] = Item(int(getattr(counts, key)))
        for name in ("redundant_rows", "indeterminate_joints", "stiffness_decides", "hidden"):
            items[name] = Item(getattr(counts, name) or ["none"])
        items["kinematic_class"] = Item(counts.kind)
        items["topology_class"] = Item(counts.structure)
        items["difference"] = Item(counts.difference)
        items["report"] = Item(counts.lines())
        numbers = {name: item.data for name, item in items.items() if isinstance(item.data, int)}
        items["@"] = Item(None, attributes=numbers)
    else:
        items["report"] = Item(left_out(system))
    return items
