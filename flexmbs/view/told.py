"""What is told of a checked case beside its picture: report, tree, parameters, lines of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flexmbs.errors import FlexmbsError
from flexmbs.toml_file import parse_toml
from flexmbs.view.case_edit import NUMBER_AND_UNIT

if TYPE_CHECKING:
    from flexmbs.case.check import Check

#: tables of parts that have a line of their own
PARTS = ("bodies", "joints", "couplings", "drives", "states", "inputs", "forces", "sensors")


def report_lines(found: Check) -> list[str]:
    """The report of `check`, line by line, without what stands elsewhere: tree, cuts, warnings."""
    from flexmbs.case.check import text

    warnings = {str(item) for item in found.warnings}
    lines = text(found).split("\n")
    return [line for line in lines if line not in warnings and not line.startswith(("tree ", "cut "))]


def tree_of(found: Check) -> dict[str, Any]:
    """Branches of the spanning tree and cuts, with their joints."""
    system = found.at.system
    own = {id(joint) for joint in system.model.joints.values()}
    branches = [
        {
            "parent": branch.parent, "body": branch.body,
            "joint": branch.joint.name if id(branch.joint) in own else None,
        }
        for branch in system.topology.branches
    ]  # fmt: skip
    cuts = [{"joint": j.name, "why": system.topology.reasons.get(j.name, "")} for j in system.topology.cuts]
    return {"tree": branches, "cuts": cuts}


def parameters_of(*texts: str) -> list[dict[str, Any]]:
    """Parameters that are a number, or one with a unit."""
    tables = [parse_toml(text).data.get("parameters", {}) for text in texts]
    found = []
    for name, value in (item for table in tables for item in table.items()):
        match = NUMBER_AND_UNIT.match(value) if isinstance(value, str) else None
        if match:
            found.append({"name": name, "number": float(match[1]), "unit": match[2].strip()})
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append({"name": name, "number": float(value), "unit": ""})
    return found


def places_of(text: str, name: str) -> list[list[Any]]:
    """Lines of a file where parts begin, and their frames: [["joints", "main"], 12, name], ..."""
    try:
        known = parse_toml(text).places
    except FlexmbsError:
        return []
    return [
        [list(path), place.key[0], name]
        for path, place in known.items()
        if (len(path) == 2 and path[0] in PARTS)
        or (len(path) == 4 and path[2] == "frames")
        or (len(path) == 3 and path[:2] == ("ground", "frames"))
    ]
