"""Mechanisms of robot descriptions as case files: links, joints, loops, and what a case cannot say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.disk import atomic_file, check_target, make_folder, root_of, told
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.exchange.surfaces import stl

Floats = NDArray[np.float64]

#: a stop gives this much at the largest effort of its joint: 1 degree, or 1 mm
GIVES = {"revolute": np.pi / 180.0, "prismatic": 1e-3}
#: effort for the stop of a joint that states none
EFFORT = 100.0
#: numbers of a robot beyond this are none
LARGEST = 1e30
#: a body of this radius of gyration [m] is a point: what is left is rounding
NO_SIZE = 1e-7


@dataclass
class Link:
    """A rigid part: mass, centre, inertia about it (3, 3), frames (place, rotation) by name, in its axes."""

    name: str
    mass: float = 0.0
    com: Floats = field(default_factory=lambda: np.zeros(3))
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    frames: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)
    visual: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Joint:
    """A joint between frames `parent.name` and `child`, or two frames; limits and losses where given."""

    name: str
    type: str
    start: str
    end: str
    axis: Floats | None = None
    limits: tuple[float, float] | None = None
    effort: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    free: float = 0.0
    cut: bool = False
    position: Sequence[float] | None = None


@dataclass
class Robot:
    """What a description says; `laws`: name -> expression that is zero; `left_out`: what it says besides.

    `rotors`: joint of a rotor -> joint that it turns with, one to one. `surfaces`: points and triangles by
    the names that pictures of links have as their `file`.
    """

    title: str
    gravity: Floats = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    laws: dict[str, str] = field(default_factory=dict)
    rotors: dict[str, str] = field(default_factory=dict)
    surfaces: dict[str, tuple[Floats, NDArray[np.int64]]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def add_mass(link: Link, mass: float, com: Floats, inertia: Floats) -> None:
    """Put another mass onto a link; inertias are about the mass centres."""
    total = link.mass + mass
    centre = (link.mass * link.com + mass * com) / total if total else com
    out = np.zeros((3, 3))
    for m, c, J in ((link.mass, link.com, link.inertia), (mass, com, inertia)):
        d = c - centre
        out += J + m * ((d @ d) * np.eye(3) - np.outer(d, d))
    out = 0.5 * (out + out.T)
    link.mass, link.com = total, centre
    link.inertia = out if np.abs(out).max() > NO_SIZE**2 * total else np.zeros((3, 3))


def impossible(J: Floats) -> str:
    """Why an inertia tensor is that of no body, or nothing (as cases check it)."""
    if not np.isfinite(J).all():
        return "its inertia is not finite"
    a, b, c = np.linalg.eigvalsh(J)
    slack = 1e-9 * max(abs(a), abs(c))
    if a >= -slack and a + b >= c * (1.0 - 1e-6) - slack:
        return ""
    return f"no body has the principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m^2"


class Names:
    """Names of cases for names of anywhere: letters, digits and _, each once."""

    def __init__(self) -> None:
        self.taken: set[str] = {"ground"}
        self.of: dict[str, str] = {}

    def __call__(self, name: str, wish: str = "") -> str:
        """The name of a thing; where it has none yet, its own or the wish, as far as it is free."""
        if name not in self.of:
            word = re.sub(r"\W", "_", wish or name, flags=re.ASCII) or "part"
            word = f"n{word}" if word[0].isdigit() else word
            k, found = 1, word
            while found in self.taken:
                k, found = k + 1, f"{word}_{k + 1}"
            self.taken.add(found)
            self.of[name] = found
        return self.of[name]


def toml(robot: Robot) -> str:
    """The case file."""
    return "\n".join(_lines(robot)) + "\n"


def _lines(robot: Robot) -> Iterator[str]:
    yield "format_version = 1"
    yield f"title = {quoted(robot.title)}"
    yield f"gravity = {numbers(robot.gravity)}"
    for link in robot.links:
        yield from ["", f"[bodies.{link.name}]", 'type = "rigid"', f"mass = {link.mass!r}"]
        yield f"com = {numbers(link.com)}"
        J = link.inertia
        names = (("ixx", 0, 0), ("iyy", 1, 1), ("izz", 2, 2), ("ixy", 0, 1), ("ixz", 0, 2), ("iyz", 1, 2))
        yield "inertia = { " + ", ".join(f"{name} = {float(J[k, m])!r}" for name, k, m in names) + " }"
        for name, (pos, rot) in link.frames.items():
            yield f"frames.{name} = {{ pos = {numbers(pos)}{rotation(rot)} }}"
        if link.visual:
            yield "visual.parts = [" + ", ".join(_table(item) for item in link.visual) + "]"
    for joint in robot.joints:
        yield from _joint(joint)
    for name, law in robot.laws.items():
        yield from ["", f"[couplings.{name}]", 'type = "expression"', f"zero = {quoted('=' + law)}"]
    for rotor, name in robot.rotors.items():
        yield from ["", f"[couplings.{rotor}]", 'type = "linear"', f"terms = {{ {name} = 1, {rotor} = -1 }}"]
    yield from ["", "[analysis]", 'type = "dynamics"', "t_end = 1.0", ""]


def _joint(joint: Joint) -> Iterator[str]:
    yield from ["", f"[joints.{joint.name}]", f"type = {quoted(joint.type)}"]
    yield from [f"from = {quoted(joint.start)}", f"to = {quoted(joint.end)}"]
    if joint.axis is not None:
        yield f"axis = {numbers(joint.axis)}"
    if joint.position is not None and np.any(np.asarray(joint.position) != 0.0):
        yield f"initial = {{ position = {numbers(joint.position)} }}"
    if joint.cut:
        yield "cut = true"
    if joint.damping:
        yield f"damper = {{ damping = {joint.damping!r} }}"
    if joint.friction:
        yield f"friction = {{ effort = {joint.friction!r} }}"
    if joint.stiffness:
        yield f"spring = {{ stiffness = {joint.stiffness!r}, free = {joint.free!r} }}"
    if joint.limits is not None and joint.type in GIVES:
        lower, upper = joint.limits
        stiffness = (joint.effort or EFFORT) / GIVES[joint.type]
        yield f"stop = {{ lower = {lower!r}, upper = {upper!r}, stiffness = {stiffness:.6g} }}"


def _table(item: dict[str, Any]) -> str:
    parts = []
    for name, value in item.items():
        if name == "rot":
            parts.append(rotation(value).removeprefix(", "))
        else:
            parts.append(f"{name} = {quoted(value) if isinstance(value, str) else numbers(value)}")
    return "{ " + ", ".join(part for part in parts if part) + " }"


def quoted(text: str) -> str:
    """A TOML string."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def numbers(values: Any) -> str:
    if np.ndim(values) == 0:
        return repr(float(values))
    return "[" + ", ".join(numbers(x) for x in values) + "]"


def rotation(R: Floats) -> str:
    return "" if np.allclose(R, np.eye(3), rtol=0.0, atol=1e-15) else f", rot = {{ matrix = {numbers(R)} }}"


def stops_said(joints: Iterable[Joint]) -> list[str]:
    """One line on the stiffness of stops, which descriptions do not give."""
    named = [joint.name for joint in joints if joint.limits is not None and joint.type in GIVES]
    if not named:
        return []
    what = "give 1 degree or 1 mm at the largest effort of the joint: change the stiffness where it matters"
    return [f"{len(named)} stops ({', '.join(named[:5])}{', ...' if len(named) > 5 else ''}) {what}"]


def check_numbers(robot: Robot, name: str) -> None:
    """Refuse numbers that a case would not take, by the name of the link or the joint."""
    found: list[tuple[str, str, Any]] = [("gravity", "the robot", robot.gravity)]
    for link in robot.links:
        found += [("mass", f"link {link.name}", link.mass), ("mass centre", f"link {link.name}", link.com)]
        found += [("inertia", f"link {link.name}", link.inertia)]
        found += [(f"frame {key}", f"link {link.name}", x) for key, item in link.frames.items() for x in item]
        found += [(f"picture, {key}", f"link {link.name}", x) for part in link.visual
                  for key, x in part.items() if not isinstance(x, str)]  # fmt: skip
        if link.mass < 0.0:
            what = f"link {link.name} has the mass {link.mass:g}"
            raise InputError(Diagnostic("exchange.content", name, what, "expected 0 or more"))
    for joint in robot.joints:
        for key in ("axis", "limits", "effort", "damping", "friction", "stiffness", "free", "position"):
            value = getattr(joint, key)
            found += [] if value is None else [(key, f"joint {joint.name}", value)]
    for what, owner, value in found:
        if not (np.abs(np.asarray(value, dtype=float)) < LARGEST).all():
            told = f"{what} of {owner} is not finite, or beyond {LARGEST:g}"
            raise InputError(Diagnostic("exchange.content", name, told, "correct it in the file"))


def write_surfaces(robot: Robot, folder: Path, overwrite: bool) -> None:
    """STL files of all surfaces; pictures of links then name them as seen from the folder of the case."""
    files = {name: folder / f"{name}.stl" for name in robot.surfaces}
    if files and not folder.is_dir():
        with told(folder):
            make_folder(folder)
    for file in files.values():
        check_target(file, overwrite)
    for name, file in files.items():
        with atomic_file(file, overwrite) as sink:
            sink.write(stl(*robot.surfaces[name]))
    for part in (part for link in robot.links for part in link.visual if "file" in part):
        part["file"] = f"{folder.name}/{part['file']}.stl"


def import_robot(
    source: str | Path,
    target: str | Path,
    *,
    base: str = "fixed",
    root: str | Path | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Turn a URDF or MJCF file into a case file, its meshes into STL files in the folder NAME.meshes.

    Returns its name, counts, and what was left out. Files that it names lie in `root`: by default the nearest
    folder upwards that is marked as one, else its own.

    base : of URDF: "fixed" to ground, or "free"
    """
    from flexmbs.exchange import mjcf, urdf

    source, target = Path(source), Path(target)
    readers = {".urdf": urdf.read, ".xml": mjcf.read, ".mjcf": mjcf.read}
    if source.suffix.lower() not in readers:
        what = "no robot description ends like this"
        raise UsageError(
            Diagnostic("exchange.format", source.name, what, f"choose one of {', '.join(readers)}")
        )
    if base not in ("fixed", "free"):
        raise UsageError(Diagnostic("exchange.option", "base", f'"{base}"', "choose fixed or free"))
    if not source.is_file():
        raise InputError(Diagnostic("file.missing", str(source), "there is no such file"))
    check_target(target, overwrite)
    within = root_of(source.parent) if root is None else Path(root)
    robot = readers[source.suffix.lower()](source, base, within)
    check_numbers(robot, source.name)
    write_surfaces(robot, target.with_name(f"{target.stem}.meshes"), overwrite)
    with atomic_file(target, overwrite) as file:
        file.write(toml(robot).encode("utf-8"))
    notes = [*robot.left_out, *stops_said(robot.joints)]
    return {"file": str(target), "bodies": len(robot.links), "joints": len(robot.joints), "notes": notes}
