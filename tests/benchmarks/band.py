"""Time and error of a suspension over the band of interest: python -m tests.benchmarks.band [--reactions].

`--reactions`: how far those of three joints are from a run that resolves everything, low-passed at parts of
the default band; sampled so often that vibrations up to 60 kHz do not fold back into it. Before that, what
vibrates below the band: modes of the mechanism at rest, made of shapes of its bodies, most of them above it.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.model.band import bands
from flexmbs.model.bodies import FlexibleBody


def reduced(recipe: dict[str, Any], path: Path) -> None:
    """Modal data of a recipe, once per folder."""
    if not path.exists():
        fm.reduce(recipe).save(path)


Point = tuple[float, float, float]


def block(
    size: list[float], divisions: list[int], faces: dict[str, Point], asked: dict[str, Any]
) -> dict[str, Any]:
    """Recipe of a block of linear tetrahedra (six per brick) with patches of nodes as interfaces."""
    return {
        "method": "craig-bampton", "material": "steel", "frame": "mean-axis", **asked,
        "mesh": {"shape": "box", "size": size, "divisions": divisions, "element": "tet4"},
        "sets": {name: {"box": patch(*place)} for name, place in faces.items()},
        "interfaces": {name: {"set": name, "tie": "rbe3", "pos": list(at)} for name, at in faces.items()},
    }  # fmt: skip


def patch(x: float, y: float, z: float, reach: float = 0.021) -> list[list[float]]:
    return [[x - reach, y - reach, z - reach], [x + reach, y + reach, z + reach]]


def suspension(folder: Path, asked: dict[str, Any] | None = None) -> dict[str, Any]:
    """Two arms and a knuckle: six balls, a rod, four loops, spring and damper; a road shakes the hub."""
    asked = asked or {"modes": 12}
    arms = {"lower": (0.36, 0.30, 0.03, [36, 30, 7]), "upper": (0.28, 0.20, 0.02, [28, 20, 4])}
    for name, (x, y, z, n) in arms.items():
        ends = {
            "front": (-x / 2, -y / 2, 0),
            "rear": (-x / 2, y / 2, 0),
            "ball": (x / 2, 0, 0),
        }
        if name == "lower":
            ends["strut"] = (0.06, 0, z / 2)
        reduced(block([x, y, z], n, ends, asked), folder / f"{name}.modal.h5")
    ends = {
        "low": (0, 0, -0.15),
        "top": (0, 0, 0.15),
        "hub": (0.03, 0, 0),
        "rod": (0, 0.03, -0.05),
    }
    reduced(block([0.06, 0.06, 0.3], [8, 8, 40], ends, asked), folder / "knuckle.modal.h5")
    at = {"lower": [0.48, 0, 0.2], "upper": [0.52, 0, 0.5], "knuckle": [0.66, 0, 0.35]}
    bodies = {
        name: {"type": "flexible", "modal": f"{name}.modal.h5", "pose": {"pos": pos}}
        for name, pos in at.items()
    }
    balls = {
        "lower_front": ("ground.lf", "lower.front"), "lower_rear": ("ground.lr", "lower.rear"),
        "upper_front": ("ground.uf", "upper.front"), "upper_rear": ("ground.ur", "upper.rear"),
        "ball_low": ("lower.ball", "knuckle.low"), "ball_top": ("upper.ball", "knuckle.top"),
    }  # fmt: skip
    joints: dict[str, Any] = {
        name: {"type": "spherical", "from": a, "to": b} for name, (a, b) in balls.items()
    }
    joints["tie"] = {"type": "distance", "from": "ground.rack", "to": "knuckle.rod", "length": 0.36}
    frames = {
        "lf": [0.3, -0.15, 0.2], "lr": [0.3, 0.15, 0.2], "uf": [0.38, -0.1, 0.5], "ur": [0.38, 0.1, 0.5],
        "rack": [0.3, 0.03, 0.3], "top": [0.5, 0.0, 0.65],
    }  # fmt: skip
    t = np.linspace(0.0, 2.5, 251)
    rng = np.random.default_rng(3)
    road = sum(
        600.0 / (1.0 + f / 4.0) * np.sin(2 * np.pi * f * t + p)
        for f, p in zip(rng.uniform(0.5, 25.0, 24), rng.uniform(0, 6, 24), strict=True)
    )
    np.savetxt(folder / "road.csv", np.column_stack([t, road]), delimiter=",", header="t,force", comments="")
    strut = {"type": "spring_damper", "from": "ground.top", "to": "lower.strut", "stiffness": 4e4,
             "length": 0.47, "damping": 1500.0}  # fmt: skip
    load = {"type": "point", "on": "knuckle.hub", "force": [0, 0, '=3500 + table("road.csv", t)']}
    return {
        "gravity": [0, 0, -9.81],
        "ground": {"frames": {name: {"pos": pos} for name, pos in frames.items()}},
        "bodies": bodies, "joints": joints, "forces": {"strut": strut, "load": load},
        "analysis": {"t_end": 2.5}, "output": {"every": 0.005},
    }  # fmt: skip


#: what is compared, over what time and how often [s]
CHANNEL, SHORT, EVERY = "forces/strut/length", 0.25, 2e-4
BANDS = ("250 Hz", "500 Hz", "1 kHz", "2 kHz", "5 kHz", "10 kHz")
#: what resolves everything: order 8, steps of the highest mode
RESOLVED = {"band": "all", "method": "dop853", "rtol": 1e-8, "atol": 1e-11}


def asked(band: str) -> dict[str, Any]:
    """What a recipe asks for: the fewest modes that are right to 5 % up to a frequency."""
    return {"tol": 0.05, "fmax": band}


def cpu() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def solved(data: dict[str, Any], folder: Path, every: float, **analysis: Any) -> tuple[Any, float]:
    """Outcome and CPU seconds of a run; modal data are loaded before."""
    whole = {**data, "analysis": data["analysis"] | analysis, "output": {"every": every}}
    case = Case.from_dict(whole, folder=folder)
    case.model()
    begun = cpu()
    done = execute(case, folder / "run.h5", overwrite=True)
    return done, cpu() - begun


def low_passed(curve: np.ndarray, every: float, band: float) -> np.ndarray:
    """Without what lies above the band; a line through the ends is kept out of the transform."""
    flat = np.asarray(curve, dtype=float).reshape(len(curve), -1)
    line = np.linspace(flat[0], flat[-1], len(flat))
    both = np.concatenate([flat - line, -(flat - line)[-2:0:-1]])  # odd about its ends: it has no jump
    spectrum = np.fft.rfft(both, axis=0)
    spectrum[np.fft.rfftfreq(len(both), every) > band] = 0.0
    return line + np.fft.irfft(spectrum, len(both), axis=0)[: len(flat)]


def error(curve: np.ndarray, truth: np.ndarray, every: float, band: float) -> float:
    """rms of the difference over the peak about the mean, the largest of the components that move."""
    a, b = low_passed(curve, every, band), low_passed(truth, every, band)
    peak = np.abs(b - b.mean(axis=0)).max()
    return float(np.sqrt(np.mean((a - b) ** 2, axis=0)).max() / peak)


def row(data: dict[str, Any], folder: Path, band: str, truth: np.ndarray) -> str:
    """A line of the table: time of the whole run, error over the short one."""
    done, seconds = solved(data, folder, 10 * EVERY, band=band)
    short, _ = solved(data, folder, EVERY, band=band, t_end=SHORT)
    number = float(band.split()[0]) * (1000.0 if "kHz" in band else 1.0)
    gap = error(np.asarray(short.result[CHANNEL]), truth, EVERY, number)
    balance = done.summary.largest_balance_error / done.summary.largest_energy
    steps, method = done.summary.statistics["steps"], done.summary.method
    left = sum(
        item.count for item in bands(Case.from_dict(with_band(data, band), folder=folder).model().bodies)
    )
    return (
        f"| {band} | {left} | {seconds:.1f} s | {steps} with {method} | {100 * gap:.2g} % | {balance:.1e} |"
    )


def with_band(data: dict[str, Any], band: str) -> dict[str, Any]:
    return {**data, "analysis": data["analysis"] | {"band": band}}


#: frequency above which the trial damps all modes critically [Hz]
TRIAL = 1000.0
DAMPED = {"type": "modal", "ratio": 0.02}
REACTIONS = ("ball_low", "lower_front", "upper_front")
OFTEN, SHORTER, PARTS = 5e-6, 0.06, (0.25, 0.5, 1.0)


def missing(curve: np.ndarray, truth: np.ndarray, every: float, band: float) -> list[float]:
    """Frequencies [Hz] below a band at which the difference of two curves has its peaks, by power."""
    gap, padded = np.asarray(curve) - np.asarray(truth), 8 * len(curve)
    gap = (gap - np.linspace(gap[0], gap[-1], len(gap))) * np.hanning(len(gap))[:, None]
    power = (np.abs(np.fft.rfft(gap, n=padded, axis=0)) ** 2).sum(axis=1)
    power = power[np.fft.rfftfreq(padded, every) < band]
    top = [k for k in range(1, len(power) - 1) if power[k] > max(power[k - 1], power[k + 1])]
    large = sorted((k for k in top if power[k] > 0.03 * power.max()), key=lambda k: -power[k])
    return [round(k / (padded * every)) for k in large]


def reactions(data: dict[str, Any], few_data: dict[str, Any], folder: Path, band: float) -> str:
    """A line of the table of reactions: those of the second case against the first with all resolved."""
    few, _ = solved(few_data, folder, OFTEN, t_end=SHORTER)
    whole, _ = solved(data, folder, OFTEN, t_end=SHORTER, **RESOLVED)
    cells = []
    for part in PARTS:
        paths = [f"joints/{name}/reaction_force" for name in REACTIONS]
        pairs = [(np.asarray(few.result[path]), np.asarray(whole.result[path])) for path in paths]
        cells.append(", ".join(f"{100 * error(a, b, OFTEN, part * band):.2g}" for a, b in pairs))
    cells.append("; ".join(", ".join(map(str, missing(a, b, OFTEN, band))) for a, b in pairs))
    return " | ".join(cells)


def frequencies(data: dict[str, Any], folder: Path) -> np.ndarray:
    """Modes of the mechanism at rest with all shapes of its bodies [Hz]."""
    analysis = {"type": "linearize", "band": "all"}
    done = execute(
        Case.from_dict({**data, "analysis": analysis, "output": {}}, folder=folder), folder / "l.h5"
    )
    return np.unique(np.abs(np.asarray(done.result["linear/frequency_hz"])).round(1))


def with_damping(data: dict[str, Any], damping: dict[str, Any] | None) -> dict[str, Any]:
    if damping is None:
        return data
    bodies = {
        name: table | ({"damping": damping} if table["type"] == "flexible" else {})
        for name, table in data["bodies"].items()
    }
    return {**data, "bodies": bodies}


def critical(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The trial: all modes above a frequency damped critically, those below not at all."""
    model = Case.from_dict(data, folder=folder).model()
    bodies = dict(data["bodies"])
    for name, body in model.bodies.items():
        if isinstance(body, FlexibleBody):
            ratio = np.where(np.asarray(body.modal.frequency_hz) > TRIAL, 1.0, 0.0).tolist()
            bodies[name] = bodies[name] | {"damping": {"type": "modal", "ratio": ratio}}
    return {**data, "bodies": bodies}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bands", nargs="*", default=list(BANDS))
    parser.add_argument("--reactions", action="store_true")
    parser.add_argument("--folder", default=None, help="where modal data are kept")
    args = parser.parse_args()
    folder = Path(args.folder or tempfile.mkdtemp())
    data = suspension(folder, asked("1 kHz"))
    solved(data, folder, EVERY, band=BANDS[0], t_end=1e-4)  # kernels are compiled
    if args.reactions:
        found = frequencies(data, folder)
        print("modes of the mechanism below the band:", *found[found < 1000.0], "Hz", flush=True)
        at_rest = {**data, "analysis": data["analysis"] | {"start": "equilibrium"}}
        damped, rested = with_damping(data, DAMPED), with_damping(at_rest, DAMPED)
        for name, (item, few) in {
            "none": (data, data),
            "2 %": (damped, damped),
            "2 %, from rest": (rested, rested),
            "none; the trial": (data, with_band(critical(data, folder), "all")),
            "none; all resolved at the default tolerance": (data, with_band(data, "all")),
        }.items():
            print(f"| {name} | {reactions(item, few, folder, TRIAL)} |", flush=True)
        return
    whole, seconds = solved(data, folder, EVERY, t_end=SHORT, **RESOLVED)
    truth = np.asarray(whole.result[CHANNEL])
    print(
        "| band | modes that follow | CPU time of 2.5 s | steps | error | energy balance |\n"
        + "| --- " * 6
        + "|"
    )
    for band in args.bands:
        print(row(data, folder, band, truth), flush=True)
    print(
        f"| all | 0 | {seconds:.0f} s for {SHORT:g} s | {whole.summary.statistics['steps']} with dop853 | | |"
    )


if __name__ == "__main__":
    main()
