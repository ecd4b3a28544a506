"""Bodies and joints -> spanning tree and cut joints (F28).

The tree takes driven and held joints, because in it a prescribed coordinate costs nothing and is exact, then
the joints with most constraints, so that cuts have few rows; another tree where the loops make much less work
on it (`spanning.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flexmbs.errors import Diagnostic, InputError
from flexmbs.model.bodies import GROUND, Particle
from flexmbs.model.joints.base import Joint, travel, turn
from flexmbs.model.joints.free import Free
from flexmbs.model.model import Model
from flexmbs.model.spanning import Edge, Graph


@dataclass(kw_only=True)
class Base(Free):
    """The free joint between ground and a body that no joint of the tree holds; not a joint of the user."""


@dataclass(kw_only=True)
class ParticleBase(Joint):
    """Three translations of a mass point; not a joint of the user."""

    type_name = "base"
    motion = (travel("x", "x"), travel("y", "y"), travel("z", "z"))


@dataclass(kw_only=True)
class PlanarBase(Joint):
    """Place of the mass centre in the plane of the mechanism, and the turn in it; not a joint of the user."""

    type_name = "base"
    motion = (travel("x", "x"), travel("y", "y"), turn("z"))


@dataclass(frozen=True)
class Plane:
    """Plane of a mechanism: its axes in ground, the third the normal; by body centre, axes, height."""

    axes: Any
    bodies: Mapping[str, tuple[Any, Any, float]]


@dataclass(frozen=True)
class Branch:
    """A joint of the tree: it moves `body` against `parent`; `reverse` when its P is on `body`."""

    joint: Joint
    parent: str
    body: str
    reverse: bool


@dataclass(frozen=True)
class Topology:
    """Branches in the order of the bodies' numbers (parents first), and the cut joints with the reason."""

    branches: tuple[Branch, ...]
    cuts: tuple[Joint, ...]
    reasons: dict[str, str]
    absolute: bool = False
    plane: Plane | None = None


def body_of(path: str) -> str:
    """Name of the body in `body` or `body.frame`."""
    return path.partition(".")[0]


def floating(model: Model) -> list[str]:
    """The first body of every group that joints connect with each other, but not with ground.

    A free connection to ground, six freedoms without a condition, makes each a branch of the tree.
    """
    held: dict[str, list[str]] = {name: [name] for name in (GROUND, *model.bodies)}
    for joint in model.joints.values():
        one, other = held[body_of(joint.from_frame)], held[body_of(joint.to_frame)]
        if one is not other:
            one += other
            held |= dict.fromkeys(other, one)
    groups = {id(group): group for group in held.values() if GROUND not in group}
    return [next(name for name in model.bodies if name in group) for group in groups.values()]


def build_topology(model: Model, *, absolute: bool = False, plane: Plane | None = None) -> Topology:
    """Choose the tree and number the bodies along it, depth first.

    `absolute`: no joint stands in the tree, every body has a base of its own, in the `plane` if there is one.
    """
    if absolute:
        chosen: list[Joint] = [_base(model, name, plane) for name in model.bodies]
        reasons = {name: "dependent coordinates" for name in model.joints}
    else:
        chosen, reasons = _spanning_joints(model)
    neighbours: dict[str, list[tuple[str, Joint, bool]]] = {name: [] for name in (GROUND, *model.bodies)}
    for joint in chosen:
        a, b = body_of(joint.from_frame), body_of(joint.to_frame)
        neighbours[a].append((b, joint, False))
        neighbours[b].append((a, joint, True))
    branches: list[Branch] = []
    seen = {GROUND}
    stack = [(GROUND, joint, body, reverse) for body, joint, reverse in reversed(neighbours[GROUND])]
    while stack:
        parent, joint, body, reverse = stack.pop()
        if body in seen:
            continue
        seen.add(body)
        branches.append(Branch(joint, parent, body, reverse))
        stack.extend(
            (body, j, other, rev) for other, j, rev in reversed(neighbours[body]) if other not in seen
        )
    taken = {id(joint) for joint in chosen}
    cuts = tuple(joint for joint in model.joints.values() if id(joint) not in taken)
    return Topology(tuple(branches), cuts, reasons, absolute, plane)


def _spanning_joints(model: Model) -> tuple[list[Joint], dict[str, str]]:
    """Joints of the tree, floating bases included; and why every other joint is a cut."""
    driven = {drive.joint for drive in model.drives.values()}
    driven |= {path.partition(".")[0] for path in model.independent}  # these stand in the tree too
    group = {name: name for name in (GROUND, *model.bodies)}

    def root(name: str) -> str:
        while group[name] != name:
            group[name] = group[group[name]]
            name = group[name]
        return name

    chosen: list[Joint] = []
    reasons: dict[str, str] = {}
    for joint in sorted(model.joints.values(), key=lambda item: _preference(item, item.name in driven)):
        a, b = body_of(joint.from_frame), body_of(joint.to_frame)
        reason = _why_not(model, joint, a, b)
        if not reason and root(a) == root(b):
            reason = "closes a loop, and has the fewest constraints in it"
        if reason:
            reasons[joint.name] = reason
        else:
            group[root(a)] = root(b)
            chosen.append(joint)
    chosen = _least_work(model, chosen, driven, reasons)
    # the user's order decides the numbering, not the preference
    order = {name: k for k, name in enumerate(model.joints)}
    chosen.sort(key=lambda item: order[item.name])
    for name in model.bodies:
        if root(name) != root(GROUND):
            group[root(name)] = root(GROUND)
            chosen.append(_base(model, name))
    return chosen, reasons


def _least_work(model: Model, chosen: list[Joint], driven: set[str], reasons: dict[str, str]) -> list[Joint]:
    """The same tree, or one on which loops make much less work (F54), with the reasons for its cuts."""
    number = {name: k for k, name in enumerate((GROUND, *model.bodies))}
    edges = []
    for joint in model.joints.values():
        a, b = body_of(joint.from_frame), body_of(joint.to_frame)
        rows = 6 - joint.n_eta if joint.has_motion else len(joint.locked)
        may = not _why_not(model, joint, a, b)
        edges.append(Edge(number[a], number[b], rows, joint, may, bool(joint.name in driven or joint.hold)))
    taken = {id(joint) for joint in chosen}
    first = {k for k, edge in enumerate(edges) if id(edge.item) in taken}
    best = Graph(len(number), edges).best(first)
    if best == first:
        return chosen
    for k, edge in enumerate(edges):
        if k in best:
            reasons.pop(edge.item.name, None)
        elif edge.may:
            reasons[edge.item.name] = "closes a loop, and of all joints in it makes the least work here"
    return [edges[k].item for k in best]


def _preference(joint: Joint, driven: bool) -> tuple[int, int]:
    return (0 if driven or joint.hold else 1, joint.n_eta)


def _why_not(model: Model, joint: Joint, a: str, b: str) -> str:
    """Reason why a joint cannot stand in the tree, or nothing."""
    if joint.cut:
        return "cut = true"
    if not joint.has_motion:
        return f"{joint.type_name} has no coordinates of its own"
    if any(isinstance(model.bodies.get(name), Particle) for name in (a, b)):
        return "holds a particle, whose coordinates are its place"
    return "" if a != b else "joins a body to itself"


def _base(model: Model, name: str, plane: Plane | None = None) -> Joint:
    if plane is not None:
        centre, axes, height = plane.bodies[name]
        ends = ((height * plane.axes[:, 2], plane.axes), (centre, axes))
        return PlanarBase(name=name, from_frame=GROUND, to_frame=name, ends=ends)
    kind = ParticleBase if isinstance(model.bodies[name], Particle) else Base
    return kind(name=name, from_frame=GROUND, to_frame=name)


def check_joints(model: Model) -> None:
    """Refuse joints whose two sides are one body."""
    for joint in model.joints.values():
        if body_of(joint.from_frame) == body_of(joint.to_frame):
            raise InputError(
                Diagnostic(
                    "joint.same_body",
                    f"joints.{joint.name}",
                    f"from and to are both on {body_of(joint.from_frame)}",
                    "a joint connects two bodies, or a body and ground",
                )
            )
