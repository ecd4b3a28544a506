"""Cases of any size, for scaling tests and benchmarks; the dictionaries have the keys of a case file."""

from __future__ import annotations

import math
from typing import Any


def four_bars(n: int, *, angle: float = 1.5707963267948966, speed: float = -1.0) -> dict[str, Any]:
    """N four-bars in a row: n + 1 cranks on ground carry n couplers, all links 1 m and 1 kg, one freedom.

    All cranks stay parallel: `((n + 1)/3 + n) theta'' = -((n + 1)/2 + n) g cos theta`, whatever the cut.
    """
    link = {
        "type": "rigid",
        "mass": 1.0,
        "com": [0.5, 0, 0],
        "inertia": {"iyy": 1.0 / 12.0, "izz": 1.0 / 12.0},
        "frames": {"end": {"pos": [1.0, 0, 0]}},
        "visual": {"shape": "link", "to": "end", "radius": 0.03},
    }
    start = {"position": angle, "velocity": speed}
    bodies, joints = {}, {}
    for k in range(n + 1):
        bodies[f"crank{k}"] = link
        joints[f"base{k}"] = {
            "type": "revolute",
            "from": f"ground.base{k}",
            "to": f"crank{k}",
            "initial": {**start, "hold": k == 0},
        }
    for k in range(n):
        bodies[f"coupler{k}"] = link
        joints[f"left{k}"] = {
            "type": "revolute",
            "from": f"crank{k}.end",
            "to": f"coupler{k}",
            "initial": {"position": -angle, "velocity": -speed},
        }
        joints[f"right{k}"] = {"type": "revolute", "from": f"coupler{k}.end", "to": f"crank{k + 1}.end"}
    return {
        "title": f"{n} four-bars",
        "gravity": [0.0, -9.81, 0.0],
        "ground": {"frames": {f"base{k}": {"pos": [float(k), 0, 0]} for k in range(n + 1)}},
        "bodies": bodies,
        "joints": joints,
        "analysis": {"t_end": 0.7, "rtol": 1e-9, "atol": 1e-11},
    }


def chain(n: int, *, angle: float = 0.1) -> dict[str, Any]:
    """Serial chain of n equal links of 1 m and 1 kg on revolute joints about z, under gravity."""
    bodies, joints = {}, {}
    for k in range(n):
        bodies[f"link{k}"] = {
            "type": "rigid",
            "mass": 1.0,
            "com": [0.0, -0.5, 0],
            "inertia": {"ixx": 1.0 / 12.0, "iyy": 0.001, "izz": 1.0 / 12.0},
            "frames": {"end": {"pos": [0.0, -1.0, 0]}},
        }
        joints[f"j{k}"] = {
            "type": "revolute",
            "from": f"link{k - 1}.end" if k else "ground",
            "to": f"link{k}",
            "initial": {"position": angle},
        }
    return {
        "title": f"chain of {n} links",
        "gravity": [0.0, -9.81, 0.0],
        "bodies": bodies,
        "joints": joints,
        "analysis": {"t_end": 1.0},
    }


def scissor_lift(n: int, *, angle: float = 0.5) -> dict[str, Any]:
    """Scissor lift of n stages: 2 n bars of 1 m and 1 kg that cross at half length, n - 1 loops in a row.

    The first bar is held at its left end, everything turns about z, gravity along -y, start at rest.
    """
    bar = {
        "type": "rigid",
        "mass": 1.0,
        "inertia": {"ixx": 0.001, "iyy": 1.0 / 12.0, "izz": 1.0 / 12.0},
        "frames": {"left": {"pos": [-0.5, 0, 0]}, "right": {"pos": [0.5, 0, 0]}},
    }
    bodies: dict[str, Any] = {}
    joints: dict[str, Any] = {}

    def joint(name: str, a: str, b: str, turn: float | None = None) -> None:
        start = {} if turn is None else {"initial": {"position": turn, "velocity": 0.0}}
        joints[name] = {"type": "revolute", "from": a, "to": b, **start}

    joint("base", "ground", "a0.left", angle)
    for k in range(n):
        bodies |= {f"a{k}": bar, f"b{k}": bar}
        joint(f"centre{k}", f"a{k}", f"b{k}", -2.0 * angle)
        if k + 1 < n:
            joint(f"left{k}", f"b{k}.left", f"a{k + 1}.left", 2.0 * angle)
            joint(f"right{k}", f"a{k}.right", f"b{k + 1}.right")
    return {
        "title": f"scissor lift of {n} stages",
        "gravity": [0.0, -9.81, 0.0],
        "bodies": bodies,
        "joints": joints,
        "analysis": {"t_end": 0.2},
    }


def hexapod_legs(k: int) -> list[tuple[list[float], list[float]]]:
    """Feet and heads of the six legs of storey k of stacked platforms, 1 m high, at home."""

    def corner(radius: float, angle: float, height: float) -> list[float]:
        return [radius * math.cos(angle), radius * math.sin(angle), height]

    legs = []
    for j in range(6):
        middle, side = math.pi / 3 * (j + j % 2), 0.15 * (-1) ** j
        feet, heads = middle + math.pi / 3 * (k % 2) + side, middle + math.pi / 3 * (k % 2) + 4 * side
        legs.append((corner(0.6, feet, float(k)), corner(0.5, heads, k + 1.0)))
    return legs


def platform(n: int) -> dict[str, Any]:
    """One platform on n legs (universal foot, slide, ball) from ground: n - 1 loops; start at rest."""
    data = _platforms(f"a platform on {n} legs")
    _stand(data, "plate", [0.0, 0.0, 1.0], "ground", legs_of_platform(n), "")
    return data


def legs_of_platform(n: int) -> list[tuple[list[float], list[float]]]:
    """Feet and heads of n legs, which lean to both sides in turn."""
    legs = []
    for j in range(n):
        foot, head = 2 * math.pi * j / n, 2 * math.pi * j / n + 0.5 * (-1) ** j
        low, up = [math.cos(foot), math.sin(foot), 0.0], [0.6 * math.cos(head), 0.6 * math.sin(head), 1.0]
        legs.append((low, up))
    return legs


def stacked_platforms(n: int) -> dict[str, Any]:
    """N platforms on each other, each on six such legs: five loops a storey."""
    data = _platforms(f"{n} platforms on each other")
    for k in range(n):
        below = f"plate{k - 1}" if k else "ground"
        _stand(data, f"plate{k}", [0, 0, k + 1.0], below, hexapod_legs(k), str(k))
    return data


def mast(n: int) -> dict[str, Any]:
    """Mast of n cells, each a plate on three legs of two bars (hinge, ball, hinge): two loops a cell."""
    data = _platforms(f"mast of {n} cells")
    bar = {"type": "rigid", "mass": 0.2, "inertia": {"ixx": 0.01, "iyy": 0.01, "izz": 0.01}}
    plate = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.05, "iyy": 0.05, "izz": 0.1}}
    for k in range(n):
        below, name = f"plate{k - 1}" if k else "ground", f"plate{k}"
        data["bodies"][name] = plate | {"pose": {"pos": [0, 0, k + 1.0]}}
        for j in range(3):
            c, s = math.cos(2 * math.pi * j / 3), math.sin(2 * math.pi * j / 3)
            low, up, axis = f"low{k}{j}", f"up{k}{j}", [-s, c, 0.0]
            foot, knee, head = ([r * c, r * s, z] for r, z in ((0.4, k), (0.8, k + 0.5), (0.4, k + 1.0)))
            data["bodies"] |= {low: bar | {"pose": {"pos": foot}}, up: bar | {"pose": {"pos": knee}}}
            for joint, kind, a, b, point in (
                ("foot", "revolute", below, low, foot),
                ("knee", "spherical", low, up, knee),
                ("head", "revolute", up, name, head),
            ):
                data["joints"][f"{joint}{k}{j}"] = {
                    "type": kind, "from": a, "to": b, "point": point, "axis": axis,
                }  # fmt: skip
    return data


def _platforms(title: str) -> dict[str, Any]:
    return {
        "title": title,
        "gravity": [0.0, 0.0, -9.81],
        "bodies": {},
        "joints": {},
        "analysis": {"t_end": 0.05},
    }


def _stand(data: dict[str, Any], name: str, place: list[float], below: str, legs: Any, tag: str) -> None:
    """A plate of 2 kg on legs, whose parts have 0.2 kg, from feet on what is below to heads on it."""
    plate = {"type": "rigid", "mass": 2.0, "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.2}}
    part = {"type": "rigid", "mass": 0.2, "inertia": {"ixx": 0.01, "iyy": 0.01, "izz": 0.002}}
    data["bodies"][name] = plate | {"pose": {"pos": place}}
    for j, (foot, head) in enumerate(legs):
        along = [b - a for a, b in zip(foot, head, strict=True)]
        low, up = f"low{tag}{j}", f"up{tag}{j}"
        data["bodies"] |= {low: part | {"pose": {"pos": foot}}, up: part | {"pose": {"pos": head}}}
        for joint, kind, a, b, point in (
            ("foot", "universal", below, low, foot),
            ("slide", "prismatic", low, up, foot),
            ("head", "spherical", up, name, head),
        ):
            data["joints"][f"{joint}{tag}{j}"] = {
                "type": kind, "from": a, "to": b, "point": point, "axis": along,
            }  # fmt: skip
