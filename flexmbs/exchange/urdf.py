"""URDF, read by yourdfpy: links and joints of a tree, mimic joints, meshes for pictures.

A link that a fixed joint holds becomes a part of the one that holds it, and a frame of it under its own name:
robots have dozens of those, often with inertias that only make sense together.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, missing_component
from flexmbs.exchange.robots import Joint, Link, Names, Robot, add_mass, impossible
from flexmbs.exchange.surfaces import NoSurface, find
from flexmbs.exchange.surfaces import read as read_surface
from flexmbs.exchange.xml_files import tree_of

Floats = NDArray[np.float64]

#: links between a root and a tip
DEEPEST = 200
#: joint types of URDF that move -> ours
TYPES = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "floating": "free",
    "planar": "planar",
}  # fmt: skip


def read(path: Path, base: str, root: Path) -> Robot:
    """The robot of a file."""
    try:
        from yourdfpy import URDF
    except ImportError:
        raise missing_component("reading URDF", "yourdfpy", "robots") from None
    tree_of(path)  # yourdfpy mends what is torn, by leaving it out
    logging.getLogger("yourdfpy").setLevel(logging.CRITICAL)
    try:
        model = URDF.load(str(path), build_scene_graph=False, load_meshes=False).robot
    except Exception as error:  # whatever the parser says of a damaged file
        what = f"is no URDF that can be read ({type(error).__name__}: {str(error)[:80]})"
        raise InputError(Diagnostic("exchange.content", path.name, what, "expected a robot")) from None
    if not model.links:
        raise InputError(Diagnostic("exchange.content", path.name, "has no link", "expected a robot"))
    return _Reader(model, path, base, root).robot


class _Reader:
    """A parsed tree -> names and tables, from the roots to the tips."""

    def __init__(self, model: Any, path: Path, base: str, root: Path) -> None:
        self.path, self.model, self.root = path, model, root
        self.links, self.joints, self.meshes = Names(), Names(), Names()
        self.robot = Robot(f"{model.name or path.stem}, from {path.name}")
        self.named = {link.name: link for link in model.links}
        outboard: dict[str, list[Any]] = {}
        held: dict[str, str] = {}
        if len(self.named) < len(model.links):
            self.refuse("has links of the same name", "expected a name for each")
        for joint in model.joints:
            if joint.parent not in self.named or joint.child not in self.named:
                what = f"joint {joint.name} connects {joint.parent} and {joint.child}"
                self.refuse(what, "expected two links of the file")
            if joint.child in held:
                what = f"link {joint.child} is the child of joints {held[joint.child]} and {joint.name}"
                self.refuse(what, "expected a tree")
            held[joint.child] = joint.name
            self.joints(joint.name)
            outboard.setdefault(joint.parent, []).append(joint)
        self.check_tree(held, outboard)
        for root in [link for link in model.links if link.name not in held]:
            found = self.link(root, outboard)
            kind = "fixed" if base == "fixed" else "free"
            self.robot.joints.insert(
                0, Joint(self.joints(f"base of {root.name}"), kind, "ground", found.name)
            )
            if base == "fixed" and impossible(found.inertia):
                self.robot.left_out.append(
                    f"inertia of {found.name}, which does not move and has none that can be"
                )
                found.inertia = np.zeros((3, 3))
        for link in self.robot.links:
            if problem := impossible(link.inertia):
                self.robot.left_out.append(f"NOT RIGHT: link {link.name}: {problem}; correct it in the file")

    def refuse(self, what: str, remedy: str) -> NoReturn:
        raise InputError(Diagnostic("exchange.content", self.path.name, what, remedy))

    def check_tree(self, held: dict[str, str], outboard: dict[str, list[Any]]) -> None:
        """Every link is reached from a root, over links that are not too many."""
        level, left = [name for name in self.named if name not in held], set(self.named)
        for _ in range(DEEPEST):
            left.difference_update(level)
            level = [joint.child for name in level for joint in outboard.get(name, [])]
        if level:
            self.refuse(f"has more than {DEEPEST} links in a row, to {level[0]}", "expected fewer")
        if left:
            self.refuse(f"has a ring of joints through link {min(left)}", "expected a tree")

    def link(self, item: Any, outboard: dict[str, list[Any]]) -> Link:
        """A link that moves, with all that is fixed to it; then what moves on it."""
        found = Link(self.links(item.name))
        self.robot.links.append(found)
        moving: list[Any] = []
        todo = [(item, np.eye(4))]
        while todo:
            part, T = todo.pop(0)
            self.take(found, part, T)
            for joint in outboard.get(part.name, []):
                at = T @ _pose(joint.origin)
                if joint.type == "fixed":
                    found.frames[self.links(joint.child)] = (at[:3, 3], at[:3, :3])
                    todo.append((self.named[joint.child], at))
                else:
                    moving.append((joint, at))
        for joint, at in moving:
            name = self.joints(joint.name)
            found.frames[name] = (at[:3, 3], at[:3, :3])
            child = self.link(self.named[joint.child], outboard)
            child.frames[name] = (np.zeros(3), np.eye(3))  # an interface of this name may take its place
            self.joint(joint, name, f"{found.name}.{name}", f"{child.name}.{name}")
        return found

    def take(self, found: Link, part: Any, T: Floats) -> None:
        """Mass and pictures of a link that stands at T in another."""
        if part.inertial is not None:
            at = T @ _pose(part.inertial.origin)
            J = (
                np.zeros((3, 3))
                if part.inertial.inertia is None
                else np.asarray(part.inertial.inertia, dtype=float)
            )
            R = at[:3, :3]
            add_mass(found, float(part.inertial.mass or 0.0), at[:3, 3], R @ J @ R.T)
        for visual in part.visuals or ():
            at = T @ _pose(visual.origin)
            shape = self.shape(part.name, visual.geometry)
            if shape:
                found.visual.append(shape | {"pos": at[:3, 3], "rot": at[:3, :3]})

    def shape(self, link: str, geometry: Any) -> dict[str, Any]:
        """A thing to draw."""
        if geometry.box is not None:
            return {"shape": "box", "size": np.asarray(geometry.box.size, dtype=float)}
        if geometry.cylinder is not None:
            return {
                "shape": "cylinder",
                "radius": geometry.cylinder.radius,
                "length": geometry.cylinder.length,
            }
        if geometry.sphere is not None:
            return {"shape": "sphere", "radius": geometry.sphere.radius}
        if geometry.mesh is None:
            return {}
        scale = geometry.mesh.scale
        factors = np.ones(3) if scale is None else np.ones(3) * np.asarray(scale, dtype=float)
        try:
            return {"file": self.surface(str(geometry.mesh.filename), factors)}
        except NoSurface as why:
            self.robot.left_out.append(f"picture of {link}: {geometry.mesh.filename}: {why}")
            return {}

    def surface(self, file: str, factors: Floats) -> str:
        """The name of a mesh at a scale, which is read once."""
        key = f"{file} {factors.tolist()}"
        if key not in self.meshes.of:
            points, triangles = read_surface(find(self.path, self.root, file))
            turned = triangles[:, ::-1] if np.prod(factors) < 0.0 else triangles  # outward again
            self.robot.surfaces[self.meshes(key, Path(file).stem)] = (points * factors, turned)
        return self.meshes.of[key]

    def joint(self, joint: Any, name: str, start: str, end: str) -> None:
        """A joint that moves."""
        if joint.type not in TYPES:
            self.refuse(f'joint {joint.name} of type "{joint.type}"', f"choose fixed, {', '.join(TYPES)}")
        found = Joint(name, TYPES[joint.type], start, end)
        if found.type in ("revolute", "prismatic", "planar"):
            axis = np.array([1.0, 0.0, 0.0]) if joint.axis is None else np.asarray(joint.axis, dtype=float)
            if axis.shape != (3,) or not 1e-100 < np.abs(axis).max() < 1e100:
                self.refuse(f"joint {joint.name} has the axis {axis.tolist()}", "expected a direction")
            found.axis = axis / np.linalg.norm(axis)
        limit, losses = joint.limit, joint.dynamics
        if limit is not None and joint.type in ("revolute", "prismatic"):
            found.effort = float(limit.effort or 0.0)
            lower, upper = float(limit.lower or 0.0), float(limit.upper or 0.0)
            if lower < upper:
                found.limits = (lower, upper)
            else:
                self.robot.left_out.append(f"limits of joint {name}: {lower:g} is not below {upper:g}")
        if limit is not None and limit.velocity:
            self.robot.left_out.append(f"largest speed of joint {name}, {limit.velocity:g}")
        if losses is not None and found.type in ("revolute", "prismatic"):
            found.damping, found.friction = float(losses.damping or 0.0), float(losses.friction or 0.0)
        if joint.mimic is not None:
            factor = 1.0 if joint.mimic.multiplier is None else float(joint.mimic.multiplier)
            other, offset = self.joints(joint.mimic.joint), float(joint.mimic.offset or 0.0)
            law = f"{name}.position - ({factor!r})*{other}.position - ({offset!r})"
            self.robot.laws[f"{name}_mimic"] = law
        self.robot.joints.append(found)


def _pose(origin: Any) -> Floats:
    """An origin as (4, 4), the unit one when there is none."""
    return np.eye(4) if origin is None else np.asarray(origin, dtype=float)
