"""Four mechanisms by default settings, against runs that resolve everything.

    python -m tests.benchmarks.mechanisms [--only "robot arm"] [--folder FOLDER] [--no-resolved]

CPU seconds of the whole motion, undamped and damped, and the error of a curve over a shorter time: rms over
its peak about the mean, both low-passed at the end of the band.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.case import Case
from flexmbs.model.bodies import FlexibleBody
from tests.benchmarks.band import (
    DAMPED,
    RESOLVED,
    TRIAL,
    asked,
    critical,
    error,
    reduced,
    solved,
    suspension,
    with_damping,
)


@dataclass(frozen=True)
class Mechanism:
    """A case, the curve that is compared, and over what time."""

    case: Callable[[Path], dict[str, Any]]
    curve: str
    short: float
    every: float


def crank_train(folder: Path) -> dict[str, Any]:
    """Six cylinders at 3000 rpm: a shaft of bricks with its pins on arms, six rods of beams, gas forces."""
    radius, length, turns = 0.04, 0.15, (0, 2, 1, 1, 2, 0)
    along = {f"pin{k}": -0.25 + 0.1 * k for k in range(6)}
    phase = {f"pin{k}": 2.0 * np.pi * turns[k] / 3.0 for k in range(6)}
    ends = {"front": -0.35, "rear": 0.35}
    sets = {name: {"box": [[-1, -1, z - 0.013], [1, 1, z + 0.013]]} for name, z in (along | ends).items()}
    pins = {
        name: [radius * np.cos(phase[name]), radius * np.sin(phase[name]), z] for name, z in along.items()
    }
    arms = pins | {name: [0.0, 0.0, z] for name, z in ends.items()}
    shaft = {
        "method": "craig-bampton", "material": "steel", "frame": "mean-axis", **asked("2 kHz"),
        "mesh": {"shape": "box", "size": [0.05, 0.05, 0.7], "divisions": [4, 4, 56], "element": "hex8"},
        "sets": sets,
        "interfaces": {
            name: {"set": name, "tie": "rbe2", "pos": list(map(float, at))} for name, at in arms.items()
        },
    }  # fmt: skip
    rod = {
        "method": "craig-bampton", "material": "steel", "frame": "mean-axis", **asked("2 kHz"),
        "mesh": {"shape": "beam", "length": length, "divisions": 10, "section": {"rectangle": [0.02, 0.012]}},
        "interfaces": {"big": {"set": "start"}, "small": {"set": "end"}},
    }  # fmt: skip
    reduced(shaft, folder / "shaft.modal.h5")
    reduced(rod, folder / "rod.modal.h5")
    bodies: dict[str, Any] = {"shaft": {"type": "flexible", "modal": "shaft.modal.h5"}}
    joints: dict[str, Any] = {
        "main": {"type": "revolute", "from": "ground.front", "to": "shaft.front"},
        "rear": {"type": "cylindrical", "from": "ground.rear", "to": "shaft.rear"},
    }
    forces, frames = {}, {name: {"pos": [0, 0, z]} for name, z in ends.items()}
    piston = {"type": "rigid", "mass": 0.5, "inertia": {"ixx": 3e-4, "iyy": 3e-4, "izz": 3e-4}}
    for k in range(6):
        x, y, z = map(float, pins[f"pin{k}"])
        top = x + np.sqrt(length**2 - y**2)
        bodies |= {f"rod{k}": {"type": "flexible", "modal": "rod.modal.h5"}, f"piston{k}": piston}
        frames[f"bore{k}"] = {"pos": [0, 0, z]}
        joints[f"big{k}"] = {
            "type": "cylindrical", "from": f"shaft.pin{k}", "to": f"rod{k}.big",
            "initial": {"position": [float(np.arctan2(-y, top - x)), 0.0]},
        }  # fmt: skip
        joints[f"small{k}"] = {"type": "spherical", "from": f"rod{k}.small", "to": f"piston{k}"}
        joints[f"guide{k}"] = {
            "type": "prismatic", "from": f"ground.bore{k}", "to": f"piston{k}", "axis": [1, 0, 0],
            "initial": {"position": float(top)},
        }  # fmt: skip
        lag = phase[f"pin{k}"] + 2.0 * np.pi * (k % 2)
        fire = f"=-8000*step(t, 0, 0, 0.02, 1)*exp(-20*(1 - cos((main.position + {lag:.12g})/2 - 0.15)))"
        forces[f"gas{k}"] = {"type": "point", "on": f"piston{k}", "force": [fire, 0, 0]}
    return {
        "gravity": [-9.81, 0, 0], "ground": {"frames": frames}, "bodies": bodies, "joints": joints,
        "forces": forces,
        "drives": {"motor": {"joint": "main", "velocity": "=100*pi*step(t, 0, 0, 0.02, 1)"}},
        "sensors": {"rear": {"type": "rotation", "on": "shaft.rear", "relative_to": "shaft.front"}},
        "analysis": {"t_end": 0.1},
    }  # fmt: skip


def satellite(folder: Path) -> dict[str, Any]:
    """A free hub with two panels of bricks, turned by a torque to and fro."""
    panel = {
        "method": "craig-bampton", "material": "aluminium", "frame": "mean-axis", **asked("100 Hz"),
        "mesh": {"shape": "box", "size": [2.0, 0.8, 0.01], "divisions": [20, 8, 1], "element": "hex8"},
        "interfaces": {"root": {"set": "x_min", "tie": "rbe2"}, "tip": {"set": "x_max", "tie": "rbe3"}},
    }  # fmt: skip
    reduced(panel, folder / "panel.modal.h5")
    frames = {
        "right": {"pos": [0.5, 0, 0]},
        "left": {"pos": [-0.5, 0, 0], "rot": {"axis": [0, 0, 1], "angle": np.pi}},
    }
    sides = ("right", "left")
    hub = {"type": "rigid", "mass": 200, "frames": frames, "inertia": {"ixx": 30, "iyy": 30, "izz": 30}}
    swing = "=5*(step(t, 0.5, 0, 0.6, 1) - 2*step(t, 1.5, 0, 1.7, 1) + step(t, 2.6, 0, 2.7, 1))"
    return {
        "bodies": {"hub": hub} | {side: {"type": "flexible", "modal": "panel.modal.h5"} for side in sides},
        "joints": {side: {"type": "fixed", "from": f"hub.{side}", "to": f"{side}.root"} for side in sides},
        "forces": {"wheel": {"type": "torque", "on": "hub", "torque": [0, swing, 0]}},
        "sensors": {"tip": {"type": "position", "on": "right.tip", "relative_to": "hub"}},
        "analysis": {"t_end": 10.0},
    }


def robot_arm(folder: Path) -> dict[str, Any]:
    """Two links of tubes with a load at the end, shoulder and elbow driven from rest to rest."""
    for name, length in (("upper", 0.8), ("fore", 0.7)):
        link = {
            "method": "craig-bampton", "material": "aluminium", "frame": "mean-axis", **asked("200 Hz"),
            "mesh": {"shape": "beam", "length": length, "divisions": 20, "section": {"tube": [0.05, 0.046]}},
            "interfaces": {"inner": {"set": "start"}, "outer": {"set": "end"}},
        }  # fmt: skip
        reduced(link, folder / f"{name}.modal.h5")
    way = "(step(t, 0.1, 0, 0.9, 1) - 0.5*step(t, 1.1, 0, 1.6, 1))"
    return {
        "gravity": [0, -9.81, 0],
        "bodies": {
            "upper": {"type": "flexible", "modal": "upper.modal.h5"},
            "fore": {"type": "flexible", "modal": "fore.modal.h5", "pose": {"pos": [0.8, 0, 0]}},
            "load": {"type": "rigid", "mass": 3, "inertia": {"ixx": 0.01, "iyy": 0.01, "izz": 0.01},
                     "pose": {"pos": [1.5, 0, 0]}},
        },
        "joints": {
            "shoulder": {"type": "revolute", "from": "ground", "to": "upper.inner", "axis": [0, 0, 1]},
            "elbow": {"type": "revolute", "from": "upper.outer", "to": "fore.inner", "axis": [0, 0, 1]},
            "grip": {"type": "fixed", "from": "fore.outer", "to": "load"},
        },
        "drives": {
            "shoulder": {"joint": "shoulder", "position": f"=1.2*{way}"},
            "elbow": {"joint": "elbow", "position": f"=-0.8*{way}"},
        },
        "sensors": {"bent": {"type": "position", "on": "load", "relative_to": "upper.inner"}},
        "analysis": {"t_end": 2.5},
    }  # fmt: skip


MECHANISMS = {
    "suspension": Mechanism(
        lambda folder: suspension(folder, asked("1 kHz")), "forces/strut/length", 0.25, 2e-4
    ),
    "crank train": Mechanism(crank_train, "sensors/rear", 0.03, 1e-4),
    "satellite": Mechanism(satellite, "sensors/tip", 3.0, 2e-3),
    "robot arm": Mechanism(robot_arm, "sensors/bent", 1.0, 5e-4),
}


def rows(name: str, folder: Path, resolved: bool) -> list[str]:
    """Lines of the table: undamped, damped, and, for the suspension, the trial."""
    item, folder = MECHANISMS[name], folder / name.replace(" ", "_")
    folder.mkdir(exist_ok=True)
    plain, found = item.case(folder), []
    kinds = {"none": plain, "2 %": with_damping(plain, DAMPED)}
    if name == "suspension":
        kinds["critical above 1 kHz"] = critical(plain, folder)
    solved(plain, folder, item.every, t_end=1e-4)  # kernels are compiled
    for label, data in kinds.items():
        trial = {"band": "all"} if label.startswith("critical") else {}
        done, seconds = solved(data, folder, 10 * item.every, **trial)
        bands = [
            b.band
            for b in Case.from_dict(data, folder=folder).model().bodies.values()
            if isinstance(b, FlexibleBody)
        ]
        band, t_end = min(bands), data["analysis"]["t_end"]
        cells = [name, label, "all" if trial else f"{band:.0f} Hz", f"{seconds:.2f} s for {t_end:g} s",
                 f"{done.summary.statistics['steps']} with {done.summary.method}"]  # fmt: skip
        if resolved:
            short, _ = solved(data, folder, item.every, t_end=item.short, **trial)
            curve = np.asarray(short.result[item.curve])
            whole, spent = solved(plain if trial else data, folder, item.every, t_end=item.short, **RESOLVED)
            gap = error(curve, np.asarray(whole.result[item.curve]), item.every, TRIAL if trial else band)
            cells += [f"{spent:.1f} s for {item.short:g} s", f"{100 * gap:.2g} %"]
        else:
            cells += ["", ""]
        found.append("| " + " | ".join(cells) + " |")
        print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(MECHANISMS))
    parser.add_argument("--folder", default=None, help="where modal data are kept")
    parser.add_argument("--no-resolved", action="store_true", help="times alone")
    args = parser.parse_args()
    folder = Path(args.folder or tempfile.mkdtemp())
    print(
        "| mechanism | damping | band | default settings | steps | resolved | error |\n" + "| --- " * 7 + "|"
    )
    for name in args.only:
        rows(name, folder, not args.no_resolved)


if __name__ == "__main__":
    main()
