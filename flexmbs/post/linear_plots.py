"""Pictures of a linear model: Campbell diagram and frequency response (F38)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError, UsageError, nearest
from flexmbs.post.plots import COLOURS, ENDINGS, MAX_CURVES, PlotOptions, matplotlib_figure, write_figure
from flexmbs.post.record import Record

CAMPBELL, RESPONSE = "linear.campbell", "linear.response"
#: what a Campbell diagram shows, by its name in the result: with the text of its axis and its unit
SHOWN = {"frequency_hz": ("frequency [Hz]", "Hz"), "damping_ratio": ("damping ratio", "")}
#: markers by the sense of a mode: forward, backward, neither
SENSES = ((0.2, 2.0, "^", "forward"), (-2.0, -0.2, "v", "backward"), (-0.2, 0.2, "o", "to and fro"))


def is_linear(patterns: Sequence[str]) -> bool:
    """Whether any channel asked for is a picture of this file."""
    return any(pattern.startswith((CAMPBELL, RESPONSE)) for pattern in patterns)


def plot_linear(
    result: str | Path,
    patterns: Sequence[str],
    output: str | Path,
    options: PlotOptions | None = None,
    *,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Draw `linear.campbell`, its damping, or `linear.response`; returns what was drawn, with extremes."""
    record, output, options = Record.load(result), Path(output), options or PlotOptions()
    if output.suffix not in ENDINGS:
        what = f'"{output.suffix}" is no kind of plot'
        raise UsageError(Diagnostic("plot.kind", str(output), what, "choices: " + ", ".join(ENDINGS)))
    disk.check_target(output, overwrite)
    if len(patterns) != 1:
        what = "a diagram of a linear model stands alone"
        raise UsageError(Diagnostic("plot.linear", "plot", what, f"name one of {CAMPBELL}, {RESPONSE}"))
    draw = draw_campbell if patterns[0].startswith(CAMPBELL) else draw_response
    figure, curves = draw(record, patterns[0])
    figure.suptitle(options.title or record.title, fontsize=11)
    write_figure(figure, output)
    return {"file": str(output), "bytes": output.stat().st_size, "curves": curves}


def _required(record: Record, path: str, key: str) -> Any:
    found = record.get(path)
    if found is None:
        what = f"has no {path}"
        remedy = f'run a case with type = "linearize" and {key} in [analysis]'
        raise InputError(Diagnostic("plot.no_channel", record.path.name, what, remedy))
    return np.asarray(found, dtype=float)


def draw_campbell(record: Record, pattern: str) -> tuple[Any, list[dict[str, Any]]]:
    """Frequencies or damping over the parameter, marked by the sense of whirl, of what oscillates."""
    shown = pattern.removeprefix(CAMPBELL).removeprefix(".") or "frequency_hz"
    if shown not in SHOWN:
        what, names = f'no diagram "{pattern}"', [CAMPBELL, *(f"{CAMPBELL}.{name}" for name in SHOWN)]
        raise InputError(Diagnostic("plot.no_channel", record.path.name, what, nearest(pattern, names)))
    found = _required(record, f"linear/campbell/{shown}", "campbell")
    values = _required(record, "linear/campbell/value", "campbell")
    whirl = _required(record, "linear/campbell/whirl", "campbell")
    swings = _required(record, "linear/campbell/eigenvalues", "campbell")[:, :, 1] > 0.0
    name = str(record.get("linear/campbell/parameter"))
    figure = matplotlib_figure("plot")(figsize=(8.0, 5.0), layout="constrained")
    axes, curves, named = figure.subplots(), [], set()
    for b in range(found.shape[1]):
        y = np.where(swings[:, b], found[:, b], np.nan)
        if np.isnan(y).all():
            continue
        axes.plot(values, y, color=COLOURS[b % len(COLOURS)], linewidth=1.2)
        for low, high, marker, text in SENSES:
            chosen = (whirl[:, b] >= low) & (whirl[:, b] < high)
            label = "" if text in named or not chosen.any() else text
            named.add(text if label else "")
            axes.plot(values[chosen], y[chosen], marker, color=COLOURS[b % len(COLOURS)], ms=4, label=label)
        curves.append(_summary(f"branch {b + 1}", SHOWN[shown][1], values, y))
    axes.set_xlabel(name)
    axes.set_ylabel(SHOWN[shown][0])
    if shown == "frequency_hz":
        axes.set_ylim(bottom=0.0)
    axes.grid(True, color="#d5dae1", linewidth=0.6)
    if named - {""}:
        axes.legend(fontsize=8, frameon=False)
    return figure, curves


def draw_response(record: Record, pattern: str) -> tuple[Any, list[dict[str, Any]]]:
    """Amplitude and phase over frequency, a curve for every output and input."""
    H = _required(record, "linear/response/H", "frequencies")
    frequency = _required(record, "linear/response/frequency", "frequencies")
    outputs, inputs = (list(record.require(f"linear/{name}")) for name in ("outputs", "inputs"))
    wanted = pattern.removeprefix(RESPONSE).removeprefix(".")
    chosen = [
        k for k, name in enumerate(outputs) if not wanted or name == wanted or name.endswith(f".{wanted}")
    ]
    if not chosen or len(chosen) * len(inputs) > MAX_CURVES:
        what = f'there is no output "{wanted}"' if not chosen else f"more than {MAX_CURVES} curves"
        raise InputError(Diagnostic("plot.no_channel", record.path.name, what, nearest(wanted, outputs)))
    figure = matplotlib_figure("plot")(figsize=(8.0, 6.0), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    curves: list[dict[str, Any]] = []
    for k in chosen:
        for j, name in enumerate(inputs):
            value = H[:, k, j, 0] + 1j * H[:, k, j, 1]
            colour = COLOURS[len(curves) % len(COLOURS)]
            above.plot(frequency, np.abs(value), color=colour, label=f"{outputs[k]} / {name}")
            below.plot(frequency, np.rad2deg(np.angle(value)), color=colour)
            curves.append(_summary(f"{outputs[k]} / {name}", "", frequency, np.abs(value)))
    if np.any(np.abs(H) > 0.0):
        above.set_yscale("log")
    above.set_ylabel("amplitude")
    below.set_ylabel("phase [deg]")
    below.set_xlabel("frequency [Hz]")
    above.legend(fontsize=8, frameon=False)
    for axes in (above, below):
        axes.grid(True, color="#d5dae1", linewidth=0.6)
    return figure, curves


def _summary(name: str, unit: str, x: Any, y: Any) -> dict[str, Any]:
    low, high = int(np.nanargmin(y)), int(np.nanargmax(y))
    return {
        "name": name, "source": "", "unit": unit, "min": float(y[low]), "max": float(y[high]),
        "x_min": float(x[low]), "x_max": float(x[high]), "samples": len(y),
    }  # fmt: skip
