"""What a result says about the mechanism: tree, cuts, counts (interface, `/topology`)."""

from __future__ import annotations

from typing import Any

from flexmbs.model.system import System
from flexmbs.results import Item


def topology_items(system: System) -> dict[str, Any]:
    """Tree and cuts as texts for people."""
    topology = system.topology
    tree = [
        f"{branch.body} on {branch.parent} by {branch.joint.name}" for branch in topology.branches
    ]  # fmt: skip
    cuts = [f"{joint.name}: {topology.reasons.get(joint.name, 'closes a loop')}" for joint in topology.cuts]
    return {"topology": {"tree": Item(tree or ["none"]), "cuts": Item(cuts or ["none"])}}
