"""A study -> one self-contained page: what varied, what came of it, what matters, what fails."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import __version__, disk
from flexmbs.post.animation.page import fill, web_file, write_page
from flexmbs.post.record import Floats
from flexmbs.post.report.markup import Link, columns, facts, listing, paragraph, pill, plots, section, table
from flexmbs.study.sensitivity import Index, Response, response
from flexmbs.study.study import Study

#: designs that are drawn one by one; of more, these many evenly chosen ones
MOST_DRAWN = 2000
#: axes of the parallel coordinates, and rows and columns of the matrix
MOST_AXES, MOST_PAIRS = 10, 6
#: largest size of a picture, in units of its own, so that its texts stay small
WIDEST = 1.5
#: designs in a cell of the scatter matrix; cells of a response surface along each side
MOST_IN_CELL, CELLS = 300, 24
#: inner size of a plot, and where it begins
FRAME, LEFT, TOP = (340.0, 220.0), 66.0, 10.0
#: designs listed at each end of a metric
ENDS = 5
#: from small to large values of a metric: dark blue, green, yellow
RAMP = np.array([[68, 57, 144], [38, 110, 142], [34, 161, 132], [122, 199, 80], [240, 200, 30]], dtype=float)


def study_report(
    folder: str | Path, output: str | Path, *, overwrite: bool = False, animations: int = 0
) -> dict[str, Any]:
    """Write the page of a study, finished or not; returns its size and its sections.

    animations : so many designs at each end of every metric move, where their results were kept, on pages in
    the study to which the page has links.
    """
    disk.check_target(output, overwrite)
    study = Study.load(folder)
    found = study.columns
    good = {name: found[name] for name in study.names if found[name].dtype.kind == "f"}
    metrics = {name: found[name] for name in study.metrics if np.isfinite(found[name]).any()}
    parts = [
        ("overview", "Overview", overview(study)),
        ("designs", "Parallel coordinates", parallel(good, metrics)),
        ("matrix", "Metrics over parameters", matrix(good, metrics)),
        ("scatter", "Scatter matrix", scatter(good, metrics)),
        ("surfaces", "Response surfaces", surfaces(study, good, metrics)),
        ("sensitivity", "Sensitivity", sensitivity(study)),
        ("spread", "Distributions and limits", spread(study, metrics)),
        ("ends", "Best and worst designs", ends(study, good, metrics, animated(study, output, animations))),
        ("failures", "Failures", failures(study)),
    ]
    parts = [part for part in parts if part[2]]
    values = {
        "title": escape(study.title),
        "version": __version__,
        "style": web_file("report.css"),
        "kicker": escape(f"study {study.folder.name}"),
        "headline": "".join(
            pill(f"{number} {status}", "good" if status == "complete" else "bad")
            for status, number in study.counts.items()
        ),
        "navigation": "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title, _ in parts),
        "sections": "".join(section(*part) for part in parts),
        "scene": "{}", "arrays": "", "script": "",
    }  # fmt: skip
    size = write_page(output, fill(web_file("report.html"), values))
    return {"file": str(output), "bytes": size, "sections": [name for name, _, _ in parts]}


def overview(study: Study) -> str:
    seconds = float(sum(row["seconds"] for row in study.rows))
    told = [("designs", study.size), ("finished", len(study.rows)), ("seconds of workers", round(seconds, 1))]
    return facts(told) + listing(study.summary().split("\n"))


def _drawn(number: int, most: int = MOST_DRAWN) -> Any:
    return np.unique(np.linspace(0, number - 1, min(number, most)).astype(int))


def _shares(values: Floats) -> Floats:
    """Values between 0 and 1; a half where all are equal."""
    low, high = np.nanmin(values), np.nanmax(values)
    return np.full(len(values), 0.5) if high == low else np.asarray((values - low) / (high - low))


def _colour(share: float) -> str:
    if not np.isfinite(share):
        return "#9ca3af"
    place = min(max(share, 0.0), 1.0) * (len(RAMP) - 1)
    k = min(int(place), len(RAMP) - 2)
    return "#" + "".join(f"{round(v):02x}" for v in RAMP[k] + (place - k) * (RAMP[k + 1] - RAMP[k]))


def _svg(width: float, height: float, body: str, name: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(name)}" '
        f'style="width:100%;max-width:{WIDEST * width:g}px;height:auto;font:11px sans-serif;'
        f'fill:currentColor">{body}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _box(x: float, y: float, w: float, h: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.4"/>'
    )


def parallel(parameters: dict[str, Floats], metrics: dict[str, Floats]) -> str:
    """A line for every design across all axes, coloured by the first metric."""
    axes = list({**parameters, **metrics}.items())[:MOST_AXES]
    if len(axes) < 2 or not metrics:
        return ""
    width, height, top = 140.0 * len(axes), 300.0, 34.0
    shares = np.array([_shares(values) for _, values in axes])
    first = next(iter(metrics))
    colours = _shares(metrics[first])
    lines = []
    for k in _drawn(shares.shape[1]):
        points = [
            f"{140.0 * j + 70.0:.1f},{top + 240.0 * (1.0 - s):.1f}"
            for j, s in enumerate(shares[:, k])
            if np.isfinite(s)
        ]
        lines.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="{_colour(colours[k])}" '
            'stroke-opacity="0.6"/>'
        )
    for j, (name, values) in enumerate(axes):
        x = 140.0 * j + 70.0
        lines.append(f'<line x1="{x}" x2="{x}" y1="{top}" y2="{top + 240}" stroke="currentColor"/>')
        lines += [_text(x, 14.0, _short(name)), _text(x, top - 5.0, f"{np.nanmax(values):.4g}")]
        lines.append(_text(x, top + 255.0, f"{np.nanmin(values):.4g}"))
    said = paragraph(f"A line for every design; its colour is {first}, from dark (small) to yellow (large).")
    return said + _svg(width, height, "".join(lines), "parallel coordinates")


def _short(name: str) -> str:
    return name if len(name) <= 22 else "..." + name[-20:]


def _dots(x: Floats, y: Floats, colours: Floats | None, name_x: str, name_y: str, field: str = "") -> str:
    """A plot of designs as dots, over a field."""
    (w, h), left, top = FRAME, LEFT, TOP
    edge = ' stroke="white" stroke-width="0.8"' if field else ""
    a, b = left + w * _shares(x), top + h * (1.0 - _shares(y))
    dots = "".join(
        f'<circle cx="{a[k]:.1f}" cy="{b[k]:.1f}" r="3" '
        f'fill="{_colour(colours[k]) if colours is not None else "#2563eb"}" fill-opacity="0.75"{edge}/>'
        for k in _drawn(len(x))
        if np.isfinite(a[k]) and np.isfinite(b[k])
    )
    told = [
        _text(left, top + h + 14.0, f"{np.nanmin(x):.4g}", "start"),
        _text(left + w, top + h + 14.0, f"{np.nanmax(x):.4g}", "end"),
        _text(left + w / 2.0, top + h + 28.0, _short(name_x)),
        _text(left - 4.0, top + h, f"{np.nanmin(y):.3g}", "end"),
        _text(left - 4.0, top + 10.0, f"{np.nanmax(y):.3g}", "end"),
    ]
    body = _box(left, top, w, h) + field + dots + "".join(told)  # the box is filled
    caption = f"{name_y} over {name_x}"
    return f"<figure><figcaption>{escape(caption)}</figcaption>{_svg(420.0, 265.0, body, caption)}</figure>"


def matrix(parameters: dict[str, Floats], metrics: dict[str, Floats]) -> str:
    """Every metric over every parameter."""
    return plots(
        "".join(
            _dots(x, y, None, name_x, name_y)
            for name_y, y in list(metrics.items())[:MOST_PAIRS]
            for name_x, x in list(parameters.items())[:MOST_PAIRS]
            if np.ptp(x) > 0.0
        )
    )


def scatter(parameters: dict[str, Floats], metrics: dict[str, Floats]) -> str:
    """Everything over everything: what goes together, also among metrics; names along the diagonal."""
    chosen = [
        item for item in [*metrics.items(), *parameters.items()] if np.nanmax(item[1]) > np.nanmin(item[1])
    ]
    chosen = chosen[:MOST_PAIRS]
    if len(chosen) < 3:
        return ""
    cell, gap, body = 120.0, 6.0, ""
    colours, place = _shares(chosen[0][1]), [(cell + gap) * k for k in range(len(chosen))]
    shares = [_shares(values) for _, values in chosen]
    drawn = _drawn(len(colours), MOST_IN_CELL)
    for i, (name, values) in enumerate(chosen):
        for j in range(len(chosen)):
            x, y = place[j], place[i]
            body += _box(x, y, cell, cell)
            if i == j:
                body += _text(x + cell / 2, y + cell / 2, _short(name)[:18])
                body += _text(
                    x + cell / 2, y + cell / 2 + 16, f"{np.nanmin(values):.3g} to {np.nanmax(values):.3g}"
                )
                continue
            a, b = x + 4 + (cell - 8) * shares[j], y + 4 + (cell - 8) * (1.0 - shares[i])
            body += "".join(
                f'<circle cx="{a[k]:.1f}" cy="{b[k]:.1f}" r="1.6" fill="{_colour(colours[k])}"/>'
                for k in drawn
                if np.isfinite(a[k]) and np.isfinite(b[k])
            )
    size = place[-1] + cell
    said = paragraph(f"Colours are {chosen[0][0]}, from dark (small) to yellow (large).")
    return said + _svg(size, size, body, "scatter matrix")


def surfaces(study: Study, parameters: dict[str, Floats], metrics: dict[str, Floats]) -> str:
    """Every metric as colour over the two parameters that matter most to it, dots on a fitted surface."""
    found, known = [], study.sensitivity()
    for name, y in metrics.items():
        moving = [item for item in parameters if np.ptp(parameters[item]) > 0.0]
        weight = {i.parameter: abs(i.value) for i in reversed(known.get(name, []))}
        pair = sorted(moving, key=lambda item: -weight.get(item, 0.0))[:2]
        if len(pair) == 2:
            told = f"{name}, {np.nanmin(y):.4g} (dark) to {np.nanmax(y):.4g} (yellow)"
            surface = response(np.column_stack([parameters[item] for item in moving]), y)
            field = ""
            if surface is not None:
                told += (
                    ". The field: a quadric through all designs, the others at the middle of their ranges; "
                )
                told += f"R^2 = {surface.share:.3f}"
                field = _field(surface, [moving.index(item) for item in pair], y)
            dots = _dots(parameters[pair[0]], parameters[pair[1]], _shares(y), pair[0], pair[1], field)
            found.append(f"<div>{paragraph(told)}{dots}</div>")
    return plots("".join(found))


def _field(surface: Response, pair: list[int], y: Floats) -> str:
    """The surface over two parameters as coloured cells of a plot of `_dots`."""
    low, high = np.nanmin(y), np.nanmax(y)
    place = (np.arange(CELLS) + 0.5) / CELLS
    x = np.zeros((CELLS * CELLS, surface.size))
    x[:, pair[0]], x[:, pair[1]] = 2.0 * np.tile(place, CELLS) - 1.0, 2.0 * np.repeat(place, CELLS) - 1.0
    shares = (surface(x) - low) / (high - low or 1.0)
    w, h = FRAME[0] / CELLS, FRAME[1] / CELLS
    return "".join(
        f'<rect x="{LEFT + w * (k % CELLS):.1f}" y="{TOP + FRAME[1] - h * (k // CELLS + 1):.1f}" '
        f'width="{w + 0.3:.1f}" height="{h + 0.3:.1f}" style="fill:{_colour(share)};stroke:none"/>'
        for k, share in enumerate(shares)
    )


def sensitivity(study: Study) -> str:
    """Indices with their confidence, as bars."""
    found = []
    for name, items in study.sensitivity().items():
        for kind in dict.fromkeys(item.kind for item in items):
            chosen = sorted((i for i in items if i.kind == kind), key=lambda i: -abs(i.value))
            found.append(_bars(chosen, f"{name}: {kind}"))
    said = paragraph("Orange: 95 % confidence by resampling the designs.") if found else ""
    return said + plots("".join(found))


def _bars(items: list[Index], caption: str) -> str:
    """Values as bars, their intervals as lines on them."""
    size = max(max(abs(i.low), abs(i.high), abs(i.value)) for i in items) or 1.0
    zero = 250.0 if min(i.low for i in items) < 0.0 else 110.0
    scale, body = (390.0 - zero) / size, ""
    for k, item in enumerate(items):
        y, (low, end, high) = 18.0 * k + 4.0, (zero + scale * v for v in (item.low, item.value, item.high))
        body += _text(104.0, y + 10.0, _short(item.parameter)[:17], "end")
        bar = f'x="{min(zero, end):.1f}" y="{y}" width="{abs(end - zero):.1f}" height="12"'
        body += f'<rect {bar} style="fill:#2563eb;stroke:none"/>'
        body += f'<path d="M{low:.1f} {y + 6}H{high:.1f}" style="stroke:#ea580c;stroke-width:2"/>'
        body += _text(396.0, y + 10.0, f"{item.value:.3g}", "start")
    drawn = _svg(480.0, 18.0 * len(items) + 8.0, body, caption)
    return f"<figure><figcaption>{escape(caption)}</figcaption>{drawn}</figure>"


def spread(study: Study, metrics: dict[str, Floats]) -> str:
    """A histogram of every metric, its limits, and the share beyond them."""
    outside, found = study.outside(), []
    for name, values in metrics.items():
        good = values[np.isfinite(values)]
        if len(good) < 3 or np.ptp(good) == 0.0:
            continue
        limits = [end for end in study.limits.get(name, ()) if np.isfinite(end)]
        low, high = min([good.min(), *limits]), max([good.max(), *limits])
        counts, edges = np.histogram(good, bins=min(max(int(np.sqrt(len(good))), 5), 40), range=(low, high))
        place = 20.0 + 380.0 * (edges - low) / (high - low)
        tall = 120.0 * counts / counts.max()
        body = "".join(
            f'<rect x="{place[k]:.1f}" y="{135.0 - tall[k]:.1f}" width="{place[k + 1] - place[k]:.1f}" '
            f'height="{tall[k]:.1f}" style="fill:#2563eb;stroke:white"/>'
            for k in range(len(counts))
        )
        for end in limits:
            x = 20.0 + 380.0 * (end - low) / (high - low)
            body += f'<line x1="{x:.1f}" x2="{x:.1f}" y1="5" y2="135" stroke="#be123c" stroke-width="2"/>'
        body += _text(20.0, 150.0, f"{low:.4g}", "start") + _text(400.0, 150.0, f"{high:.4g}", "end")
        caption = name
        if name in outside:
            share, least, most = outside[name]
            caption += f": beyond the limits {share:.3g} of all designs ({least:.3g} to {most:.3g})"
        found.append(
            f"<figure><figcaption>{escape(caption)}</figcaption>{_svg(420.0, 156.0, body, caption)}</figure>"
        )
    return plots("".join(found))


def animated(study: Study, output: str | Path, number: int) -> dict[int, str]:
    """Animations of the designs at the ends of every metric: where they are, seen from the page."""
    found: dict[int, str] = {}
    if not number:
        return found
    from flexmbs.post.animation import animate

    folder = study.folder / "animations"
    if not folder.is_dir():
        disk.make_folder(folder)
    values = study.columns
    for name in study.metrics:
        order = np.flatnonzero(np.isfinite(values[name]))
        order = order[np.argsort(values[name][order], kind="stable")]
        for k in {*order[:number].tolist(), *order[::-1][:number].tolist()}:
            design = int(values["design"][k])
            if study.file(design) and design not in found:
                path = folder / f"{design}.html"
                animate(study.folder / study.file(design), path, overwrite=True)
                found[design] = os.path.relpath(path.resolve(), Path(output).resolve().parent)
    return found


def ends(
    study: Study, parameters: dict[str, Floats], metrics: dict[str, Floats], moving: dict[int, str]
) -> str:
    """The designs at both ends of every metric."""
    found, number = [], study.columns["design"]
    for name, values in metrics.items():
        order = np.flatnonzero(np.isfinite(values))
        order = order[np.argsort(values[order], kind="stable")]
        for title, chosen in (("smallest", order[:ENDS]), ("largest", order[::-1][:ENDS])):
            rows: list[Sequence[Any]] = [
                [
                    int(number[k]),
                    float(values[k]),
                    *(float(x[k]) for x in parameters.values()),
                    study.file(int(number[k])),
                    *(
                        [Link(moving[int(number[k])], "look")]
                        if int(number[k]) in moving
                        else [""] * bool(moving)
                    ),
                ]
                for k in chosen
            ]
            head = ["design", name, *parameters, "result", *["animation"] * bool(moving)]
            found.append(columns(paragraph(f"{title} {name}") + table(head, rows)))
    return "".join(found)


def failures(study: Study) -> str:
    wrong = [row for row in study.rows if row["status"] != "complete"]
    rows = [[row["design"], row["status"], row["message"][:300]] for row in wrong[:50]]
    more = paragraph(f"and {len(wrong) - 50} more") if len(wrong) > 50 else ""
    return table(["design", "status", "message"], rows) + more if rows else ""
