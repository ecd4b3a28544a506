"""Channels of results as figures: svg, pdf, png by matplotlib, which is imported when it is needed."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.disk import atomic_file, check_target
from flexmbs.errors import Diagnostic, UsageError, missing_component, nearest
from flexmbs.post.channels import Channel, select
from flexmbs.post.curves import Curve, Spectrogram, curve, derivative, spectrogram, spectrum
from flexmbs.post.record import Record

ENDINGS = (".svg", ".pdf", ".png")
COLOURS = ("#2563eb", "#ea580c", "#059669", "#be123c", "#7c3aed", "#0e7490", "#a16207", "#475569")
DASHES = ("-", "--", ":", "-.")
MAX_CURVES = 60
MAX_ROWS = 8


@dataclass(frozen=True)
class PlotOptions:
    """What is drawn: wanted `units`, how many derivatives, `kind` time | fft | spectrogram, against what."""

    units: tuple[str, ...] = ()
    derivative: int = 0
    kind: str = "time"
    against: str | None = None
    start: float | None = None
    end: float | None = None
    title: str | None = None
    size: tuple[float, float] | None = None
    log: bool = False


def plot(
    results: Sequence[str | Path],
    patterns: Sequence[str],
    output: str | Path,
    options: PlotOptions | None = None,
    *,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Draw channels of one result, or of several for comparison; returns what was drawn, with extremes."""
    options = options or PlotOptions()
    output = Path(output)
    if output.suffix not in ENDINGS:
        what = f'"{output.suffix}" is no kind of plot'
        raise UsageError(Diagnostic("plot.kind", str(output), what, "choices: " + ", ".join(ENDINGS)))
    check_target(output, overwrite)
    records = [Record.load(path) for path in results]
    groups = curves_of(records, patterns, options)
    figure = draw(groups, records, options)
    write_figure(figure, output)
    drawn = [summary(item) for rows in groups.values() for item in rows]
    return {"file": str(output), "bytes": output.stat().st_size, "curves": drawn}


def curves_of(
    records: Sequence[Record], patterns: Sequence[str], options: PlotOptions
) -> dict[str, list[Curve | Spectrogram]]:
    """Curves by the axes they share: one per unit, one each for spectrograms."""
    groups: dict[str, list[Curve | Spectrogram]] = {}
    found = {record.path: select(record, patterns) for record in records}
    labels = source_names(records)
    count = sum(map(len, found.values()))
    if count > MAX_CURVES:
        what = f"{count} curves, more than {MAX_CURVES} in one figure"
        names = ", ".join(channel.short for channel in next(iter(found.values()))[:6])
        raise UsageError(Diagnostic("plot.too_many", "plot", what, f"name fewer channels, such as {names}"))
    for record in records:
        for channel in found[record.path]:
            item = replace(prepared(record, channel, options), source=labels[record.path])
            if options.kind == "spectrogram":
                groups[f"{item.name} {item.source}"] = [spectrogram(item)]
            else:
                groups.setdefault(item.unit, []).append(spectrum(item) if options.kind == "fft" else item)
    _check_units(groups, options)
    if len(groups) > MAX_ROWS:
        what = f"{len(groups)} axes, more than {MAX_ROWS} in one figure"
        raise UsageError(Diagnostic("plot.too_many", "plot", what, "name fewer channels"))
    return groups


def _check_units(groups: dict[str, list[Curve | Spectrogram]], options: PlotOptions) -> None:
    """A unit that was asked for, and that no curve could take, is a mistake."""
    curves = [
        item.curve if isinstance(item, Spectrogram) else item for rows in groups.values() for item in rows
    ]
    for unit in options.units:
        if not any(unit in re.split(r"[/^*]", f"{item.unit}/{item.x_unit}") for item in curves):
            found = ", ".join(dict.fromkeys(item.unit or "1" for item in curves))
            what = f'no channel of the figure can be shown in "{unit}"'
            raise UsageError(Diagnostic("plot.unit", "--unit", what, f"its units: {found}"))


def source_names(records: Sequence[Record]) -> dict[Path, str]:
    """What results are called: their file names, with as many folders as tell them apart."""
    paths = list(dict.fromkeys(record.path for record in records))
    deepest = max(len(path.parts) for path in paths)
    for depth in range(1, deepest + 1):
        names = {path: "/".join(path.parts[-depth:]) for path in paths}
        if len(set(names.values())) == len(paths):
            break
    return names


def prepared(record: Record, channel: Channel, options: PlotOptions) -> Curve:
    """A channel in its unit, cut to the times asked for, differentiated, over time or another channel."""
    item = curve(record, channel, options.units)
    if options.derivative:
        item = derivative(item, options.derivative)
    low = -np.inf if options.start is None else options.start
    high = np.inf if options.end is None else options.end
    inside = (item.x >= low) & (item.x <= high)
    if not inside.any():
        what = f"no sample between {low:g} s and {high:g} s"
        raise UsageError(
            Diagnostic("plot.range", record.path.name, what, f"it ends at {record.time[-1]:g} s")
        )
    x, unit = item.x, item.x_unit
    if options.against is not None:
        other = select(record, [options.against])
        if len(other) != 1:
            what = f'"{options.against}" names {len(other)} channels, the horizontal axis takes one'
            raise UsageError(
                Diagnostic("plot.against", "--against", what, nearest("", [c.short for c in other]))
            )
        across = curve(record, other[0], options.units)
        x, unit = across.y, across.unit
    return Curve(item.name, x[inside], item.y[inside], item.unit, unit, item.source)


def summary(item: Curve | Spectrogram) -> dict[str, Any]:
    line = item.curve if isinstance(item, Spectrogram) else item
    low, high = int(np.nanargmin(line.y)), int(np.nanargmax(line.y))
    return {
        "name": line.name,
        "source": line.source,
        "unit": line.unit,
        "min": float(line.y[low]),
        "max": float(line.y[high]),
        "x_min": float(line.x[low]),
        "x_max": float(line.x[high]),
        "samples": len(line.y),
    }


def matplotlib_figure(what: str) -> Any:
    """The class of figures; exit code 5 with the command that installs it where matplotlib is absent."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_component(what, "matplotlib", "plot") from None
    return Figure


def draw(groups: dict[str, list[Any]], records: Sequence[Record], options: PlotOptions) -> Any:
    """The figure: rows share the horizontal axis, curves of one unit share a row."""
    kind = matplotlib_figure("plot")
    rows = max(1, len(groups))
    figure = kind(figsize=options.size or (8.0, 1.6 + 2.4 * rows), layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    several = len(records) > 1
    for axis, items in zip(axes, groups.values(), strict=True):
        if isinstance(items[0], Spectrogram):
            draw_spectrogram(figure, axis, items[0])
        else:
            draw_curves(axis, items, list(source_names(records).values()), several, options)
    axes[-1].set_xlabel(horizontal_label(next(iter(groups.values()))[0], options))
    figure.suptitle(options.title or records[0].title, fontsize=11)
    return figure


def horizontal_label(item: Curve | Spectrogram, options: PlotOptions) -> str:
    if options.kind == "spectrogram" or isinstance(item, Spectrogram):
        return "time [s]"
    if options.kind == "fft":
        return "frequency [Hz]"
    return f"{options.against} [{item.x_unit or '-'}]" if options.against else "time [s]"


def draw_curves(
    axis: Any, items: Sequence[Curve], sources: list[str], several: bool, options: PlotOptions
) -> None:
    """Colour by channel, dashes by result and where the colours come round again."""
    names = list(dict.fromkeys(item.name for item in items))
    for item in items:
        label = f"{item.name}  ({item.source})" if several else item.name
        axis.plot(
            item.x,
            item.y,
            color=COLOURS[names.index(item.name) % len(COLOURS)],
            linestyle=DASHES[
                (sources.index(item.source) + names.index(item.name) // len(COLOURS)) % len(DASHES)
            ],
            linewidth=1.3,
            marker="o" if len(item.x) == 1 else "",
            label=label,
        )
    if options.kind == "fft" or options.log:
        largest = max(float(np.abs(item.y).max()) for item in items)
        if largest > 0.0:
            axis.set_yscale("log")
            axis.set_ylim(bottom=1e-8 * largest if options.kind == "fft" else None)
    unit = items[0].unit or "-"
    shared = names[0] if len(names) == 1 else commonprefix(names).rstrip("[.|")
    axis.set_ylabel(f"{shared} [{unit}]".lstrip())
    axis.margins(x=0.01)
    axis.grid(True, color="#d5dae1", linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    if len(items) > 1:
        outside = len(items) > 4
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if outside else {"loc": "best"}
        axis.legend(fontsize=8, frameon=False, ncols=1 if outside else min(len(items), 2), **place)


def draw_spectrogram(figure: Any, axis: Any, item: Spectrogram) -> None:
    """Amplitude in decibels below the largest."""
    largest = float(item.amplitude.max()) or 1.0
    level = 20.0 * np.log10(np.maximum(item.amplitude / largest, 1e-5))
    picture = axis.pcolormesh(
        item.time, item.frequency, level, shading="auto", cmap="viridis", rasterized=True
    )
    axis.set_ylabel("frequency [Hz]")
    axis.set_title(item.curve.name, fontsize=9)
    bar = figure.colorbar(picture, ax=axis)
    bar.set_label(f"dB of {largest:.3g} {item.curve.unit}".rstrip())


def write_figure(figure: Any, path: Path) -> None:
    """Write the figure whole; equal input gives equal bytes."""
    import matplotlib

    memory = io.BytesIO()
    metadata: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}[
        path.suffix
    ]
    with matplotlib.rc_context({"svg.hashsalt": "flexmbs", "svg.fonttype": "path"}):
        figure.savefig(memory, format=path.suffix[1:], dpi=150, metadata=metadata)
    with atomic_file(path, overwrite=True) as raw:
        raw.write(memory.getvalue())
