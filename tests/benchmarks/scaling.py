"""Time over size: tables with the slopes of the logarithms, and one plot in docs/benchmarks.svg."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.runner import ROOT, run_alone

PLOT = ROOT / "docs" / "benchmarks.svg"
#: name of a curve -> what is counted, measurement, its arguments for a size, sizes, sizes of the slope
CURVES: dict[str, tuple[str, str, Any, tuple[int, ...], tuple[int, int]]] = {
    "rigid chain, one evaluation": (
        "bodies", "chain_flexmbs", lambda n: (n,), (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000),
        (50, 5000),
    ),
    "four-bars, one evaluation": (
        "loops", "loops_flexmbs", lambda n: (n,), (1, 2, 5, 10, 20, 40, 80, 160, 320, 640), (10, 640),
    ),
    "scissor lift, one evaluation": (
        "stages", "scissor_flexmbs", lambda n: (n,), (10, 20, 40, 80, 160, 320, 640), (20, 640),
    ),
    "platforms on each other, one evaluation": (
        "storeys", "platforms_flexmbs", lambda n: (n,), (1, 2, 5, 10, 20, 40, 80), (5, 80),
    ),
    "mast of spatial cells, one evaluation": (
        "cells", "mast_flexmbs", lambda n: (n,), (1, 5, 10, 20, 40, 80, 160), (5, 160),
    ),
    "a platform on legs, one evaluation": (
        "legs", "legs_flexmbs", lambda n: (n,), (6, 12, 24, 48, 96), (6, 96),
    ),
    "scissor lift of flexible rods of 6 modes, one implicit step": (
        "stages", "lift_flexmbs", lambda n: (n, 6, 1e-4), (10, 20, 40, 80, 160), (10, 160),
    ),
    "flexible rods of 16 modes, one implicit step": (
        "bodies", "rods_flexmbs", lambda n: (n, 16, 1e-4), (1, 4, 16, 64, 256), (4, 256),
    ),
    "one flexible rod in mean axes, one implicit step": (
        "modes", "rods_flexmbs", lambda n: (1, n, 1e-4, "mean-axis"), (4, 8, 16, 32, 64, 128), (16, 128),
    ),
    "complete reduction of a rod, 12 + 20 modes": (
        "DOF", "reduction_flexmbs", lambda n: (n,), (12000, 49000, 100000, 200000), (12000, 200000),
    ),
}  # fmt: skip
#: curves of loops that share joints, a section of their own
SHARED = ("scissor", "platforms", "mast", "a platform")
ONE = {
    "bodies": "body",
    "loops": "loop",
    "stages": "stage",
    "storeys": "storey",
    "cells": "cell",
    "legs": "leg",
    "modes": "mode",
    "DOF": "DOF",
}


def curves(shared: bool = False) -> list[dict[str, Any]]:
    """All measurements, with slopes: of loops that share joints, or of the rest."""
    found = []
    for title, (unit, name, arguments, sizes, (low, high)) in CURVES.items():
        if title.startswith(SHARED) != shared:
            continue
        answers = {n: run_alone(name, *arguments(n)) for n in sizes}
        points = {n: answer["seconds"] for n, answer in answers.items() if "seconds" in answer}
        failures = [f"{n}: {answer['failed']}" for n, answer in answers.items() if "failed" in answer]
        used = [n for n in points if low <= n <= high]
        slope = np.nan
        if len(used) > 1:
            slope = float(np.polyfit(np.log(used), np.log([points[n] for n in used]), 1)[0])
        passes = {n: answer["passes"] for n, answer in answers.items() if "passes" in answer}
        found.append(
            {"title": title, "unit": unit, "sizes": list(points), "seconds": list(points.values()),
             "slope": slope, "range": [low, high], "passes": list(passes.values()), "failures": failures}
        )  # fmt: skip
    return found


def short(number: float) -> str:
    """Three digits, without a power of ten."""
    return f"{float(f'{number:.3g}'):.10g}"


def lines(found: list[dict[str, Any]]) -> list[str]:
    """Tables of the page."""
    text = []
    for curve in found:
        low, high = curve["range"]
        each = [s / n for n, s in zip(curve["sizes"], curve["seconds"], strict=True)]
        unit, factor = ("s", 1.0) if min(curve["seconds"]) > 0.01 else ("us", 1e6)
        rows = {
            curve["unit"]: [str(n) for n in curve["sizes"]],
            f"time, {unit}": [short(factor * s) for s in curve["seconds"]],
            f"per {ONE[curve['unit']]}, us": [short(1e6 * s) for s in each],
        }
        if curve["passes"]:
            rows["passes per step"] = [f"{p:.1f}" for p in curve["passes"]]
        slope = f"slope of the logarithms from {low} to {high} {curve['unit']}: {curve['slope']:.2f}"
        text += [f"**{curve['title'].capitalize()}**; {slope}", ""]
        for k, (name, values) in enumerate(rows.items()):
            text.append("| " + " | ".join([name, *values]) + " |")
            if k == 0:
                text.append("| --- " * (len(values) + 1) + "|")
        text += ["", *(f"Failed at {item}" for item in curve["failures"])]
    return text


def plot(found: list[dict[str, Any]]) -> None:
    """All curves in one figure with logarithmic axes."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "benchmarks", "font.size": 9})
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.subplots()
    for curve, mark in zip(found, "os^vD", strict=True):
        label = f"{curve['title']}, over {curve['unit']}: slope {curve['slope']:.2f}"
        axes.loglog(curve["sizes"], 1e6 * np.array(curve["seconds"]), marker=mark, markersize=4, label=label)
    axes.set_xlabel("bodies, loops, modes or DOF")
    axes.set_ylabel("time [us]")
    axes.grid(True, which="major", color="#dddddd")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(PLOT, metadata={"Date": None})
