"""Mechanisms that programs stumble over, as dictionaries of the case file."""

from __future__ import annotations

import math
from typing import Any

REVOLUTE = {"type": "revolute"}


def bar(length: float, mass: float = 1.0, **more: Any) -> dict[str, Any]:
    """A uniform bar along x with a frame `end`."""
    J = mass * length**2 / 12
    inertia = {"ixx": 1e-3 * mass, "iyy": J, "izz": J}
    frames = {"end": {"pos": [length, 0, 0]}, "mid": {"pos": [length / 2, 0, 0]}}
    return {
        "type": "rigid",
        "mass": mass,
        "com": [length / 2, 0, 0],
        "inertia": inertia,
        "frames": frames,
    } | more


def joint(kind: str, start: str, end: str, position: Any = None, **more: Any) -> dict[str, Any]:
    """A joint; `position`, `velocity`, `hold` go into `initial`."""
    initial = {} if position is None else {"position": position}
    initial |= {key: more.pop(key) for key in ("velocity", "hold") if key in more}
    return {"type": kind, "from": start, "to": end, **({"initial": initial} if initial else {}), **more}


def four_bar(
    crank: float, coupler: float, rocker: float, base: float, angle: float, side: float = 1.0, **more: Any
) -> dict[str, Any]:
    """A plane four-bar, assembled by its triangle; `side` of the diagonal on which the far pin lies."""
    x, y = crank * math.cos(angle), crank * math.sin(angle)
    d = math.hypot(base - x, y)
    middle = math.atan2(-y, base - x)
    cosine = (coupler**2 + d * d - rocker**2) / (2 * coupler * d)
    rod = middle + side * math.acos(max(-1.0, min(1.0, cosine)))
    u, v = x + coupler * math.cos(rod) - base, y + coupler * math.sin(rod)
    case = {
        "gravity": [0, -9.81, 0],
        "ground": {"frames": {"right": {"pos": [base, 0, 0]}}},
        "bodies": {"crank": bar(crank), "coupler": bar(coupler), "rocker": bar(rocker)},
        "joints": {
            "a": joint("revolute", "ground", "crank", angle, hold=True),
            "b": joint("revolute", "crank.end", "coupler", rod - angle),
            "c": joint("revolute", "coupler.end", "rocker.end"),
            "d": joint("revolute", "ground.right", "rocker", math.atan2(v, u)),
        },
        "analysis": {"t_end": 0.5, "rtol": 1e-9, "atol": 1e-11},
    }
    return case | more


def with_velocity(case: dict[str, Any], **speeds: float) -> dict[str, Any]:
    """The case with initial velocities of joints."""
    for name, speed in speeds.items():
        case["joints"][name].setdefault("initial", {})["velocity"] = speed
    return case


def parallelogram(angle: float = 1.0, bars: int = 2) -> dict[str, Any]:
    """Equal parallel cranks under one coupler; more than two are redundant in the plane."""
    case = four_bar(0.5, 0.8, 0.5, 0.8, angle)
    case["joints"]["b"]["initial"]["position"] = -angle
    case["joints"]["d"]["initial"]["position"] = angle
    for k in range(2, bars):
        place = 0.8 * (k - 1) / (bars - 1)
        case["ground"]["frames"][f"g{k}"] = {"pos": [place, 0, 0]}
        case["bodies"]["coupler"]["frames"][f"p{k}"] = {"pos": [place, 0, 0]}
        case["bodies"][f"crank{k}"] = bar(0.5)
        case["joints"][f"a{k}"] = joint("revolute", f"ground.g{k}", f"crank{k}", angle)
        case["joints"][f"b{k}"] = joint("revolute", f"crank{k}.end", f"coupler.p{k}", -angle)
    return case


def door(hinges: int = 2) -> dict[str, Any]:
    """A door on hinges one above the other."""
    case = {
        "gravity": [0, 0, -9.81],
        "ground": {"frames": {f"h{k}": {"pos": [0, 0, float(k)]} for k in range(hinges)}},
        "bodies": {
            "door": {
                "type": "rigid", "mass": 10, "com": [0.5, 0, 0.5 * (hinges - 1)],
                "inertia": {"ixx": 1, "iyy": 2, "izz": 1},
                "frames": {f"h{k}": {"pos": [0, 0, float(k)]} for k in range(hinges)},
            }
        },
        "joints": {f"h{k}": joint("revolute", f"ground.h{k}", f"door.h{k}") for k in range(hinges)},
        "analysis": {"t_end": 0},
    }  # fmt: skip
    return with_velocity(case, h0=0.5)


def rails() -> dict[str, Any]:
    """A carriage on two parallel rails."""
    sides = {side: {"pos": [0, y, 0]} for side, y in (("left", -0.3), ("right", 0.3))}
    return {
        "gravity": [1.0, 0, -9.81],
        "ground": {"frames": sides},
        "bodies": {"carriage": {"type": "rigid", "mass": 4, "inertia": {"ixx": 1, "iyy": 1, "izz": 1},
                                "frames": sides}},
        "joints": {
            side: joint("prismatic", f"ground.{side}", f"carriage.{side}", axis=[1, 0, 0]) for side in sides
        },
        "analysis": {"t_end": 0},
    }  # fmt: skip


def welded() -> dict[str, Any]:
    """A beam welded to ground at both ends: a structure."""
    return {
        "gravity": [0, 0, -9.81],
        "ground": {"frames": {"right": {"pos": [2, 0, 0]}}},
        "bodies": {"beam": bar(2.0, 3.0)},
        "joints": {
            "left": joint("fixed", "ground", "beam"),
            "right": joint("fixed", "ground.right", "beam.end"),
        },
        "analysis": {"t_end": 0},
    }


def gears() -> dict[str, Any]:
    """Two shafts with two pairs of gears of one ratio."""
    J = {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}
    return {
        "ground": {"frames": {"right": {"pos": [0.1, 0, 0]}}},
        "bodies": {name: {"type": "rigid", "mass": 1, "inertia": J} for name in ("one", "two")},
        "joints": {
            "a": joint("revolute", "ground", "one"),
            "b": joint("revolute", "ground.right", "two"),
        },
        "couplings": {
            "first": {"type": "gear", "wheels": ["one", "two"], "teeth": [20, 40]},
            "second": {"type": "gear", "wheels": ["one", "two"], "teeth": [30, 60]},
        },
        "forces": {"motor": {"type": "joint_force", "joint": "a", "value": 0.5}},
        "analysis": {"t_end": 0},
    }


def sarrus() -> dict[str, Any]:
    """Two pairs of hinged plates at right angles: the upper plate moves straight up."""
    half = math.pi / 4
    case = {
        "gravity": [0, 0, -9.81],
        "ground": {"frames": {"x": {"rot": {"axis": [1, 0, 0], "angle": math.pi / 2}},
                              "y": {"rot": {"x": [0, 1, 0], "y": [0, 0, 1]}}}},
        "bodies": {
            "plate": {"type": "rigid", "mass": 1, "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.1},
                      "pose": {"pos": [0, 0, 2 * math.sin(half)]},
                      "frames": {"x": {"rot": {"axis": [1, 0, 0], "angle": math.pi / 2}},
                                 "y": {"rot": {"x": [0, 1, 0], "y": [0, 0, 1]}}}},
        },
        "joints": {},
        "analysis": {"t_end": 0},
    }  # fmt: skip
    for name in ("x", "y"):
        case["bodies"][f"low_{name}"], case["bodies"][f"up_{name}"] = bar(1.0), bar(1.0)
        case["joints"][f"{name}1"] = joint("revolute", f"ground.{name}", f"low_{name}", half)
        case["joints"][f"{name}2"] = joint("revolute", f"low_{name}.end", f"up_{name}", math.pi - 2 * half)
        case["joints"][f"{name}3"] = joint("revolute", f"up_{name}.end", f"plate.{name}", half - math.pi)
    return case


def crossed_hinges() -> dict[str, Any]:
    """Four hinges whose axes meet in one point: a spherical four-bar."""
    directions = [[1, 0, 0], [math.cos(0.5), math.sin(0.5), 0], [0.5, 0.5, math.sqrt(0.5)], [0, 0.2, 1]]
    J = {"ixx": 0.1, "iyy": 0.2, "izz": 0.25}
    names = ["p", "q", "r"]
    chain = ["ground", *names, "ground"]
    return {
        "bodies": {name: {"type": "rigid", "mass": 1, "inertia": J} for name in names},
        "joints": {
            f"j{k}": {"type": "revolute", "from": chain[k], "to": chain[k + 1], "point": [0, 0, 0], "axis": n}
            for k, n in enumerate(directions)
        },
        "forces": {"twist": {"type": "joint_force", "joint": "j0", "value": 1.0}},
        "analysis": {"t_end": 0},
    }


def driven(case: dict[str, Any], type: str = "dynamics", **laws: str) -> dict[str, Any]:
    """The case with drives of joints, `a="=t"`."""
    case["drives"] = {f"m_{name}": {"joint": name, "position": law} for name, law in laws.items()}
    for name in laws:
        case["joints"][name].pop("initial", None)
    case["analysis"] = case["analysis"] | {"type": type}
    return case


def slider_crank(crank: float = 0.3, rod: float = 0.7, angle: float = 0.5, **more: Any) -> dict[str, Any]:
    """A plane slider-crank, the guide along x."""
    lean = -math.asin(crank * math.sin(angle) / rod)
    case = {
        "gravity": [0, -9.81, 0],
        "bodies": {
            "crank": bar(crank), "rod": bar(rod),
            "slider": {"type": "rigid", "mass": 2, "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}},
        },
        "joints": {
            "main": joint("revolute", "ground", "crank", angle),
            "big": joint("revolute", "crank.end", "rod", lean - angle),
            "small": joint("revolute", "rod.end", "slider", -lean),
            "guide": joint("prismatic", "ground", "slider", axis=[1, 0, 0]),
        },
        "analysis": {"t_end": 1.0, "rtol": 1e-8},
    }  # fmt: skip
    return case | more


def rod_between(first: str, second: str, mass: float = 1.0) -> dict[str, Any]:
    """A crank and a sliding block, joined by a rod with a joint of the kinds named at either end."""
    case = {
        "gravity": [0, 0, -9.81],
        "bodies": {
            "crank": bar(0.3), "rod": bar(1.0, mass),
            "block": {"type": "rigid", "mass": 2, "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}},
        },
        "joints": {
            "main": joint("revolute", "ground", "crank", 0.5, axis=[0, 1, 0], velocity=2.0),
            "near": joint(first, "crank.end", "rod"),
            "far": joint(second, "rod.end", "block"),
            "guide": joint("prismatic", "ground", "block", axis=[1, 0, 0]),
        },
        "analysis": {"t_end": 0.2},
    }  # fmt: skip
    return case


def truss() -> dict[str, Any]:
    """Two bars in one line between fixed pins: shaky, no motion leaves the position."""
    return {
        "gravity": [0, -9.81, 0],
        "ground": {"frames": {"right": {"pos": [2, 0, 0]}}},
        "bodies": {"one": bar(1.0), "two": bar(1.0)},
        "joints": {
            "a": joint("revolute", "ground", "one"),
            "b": joint("revolute", "one.end", "two"),
            "c": joint("revolute", "two.end", "ground.right"),
        },
        "analysis": {"t_end": 1.0},
    }
