"""Pieces of HTML; every text from a file passes through `escape`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple
from urllib.parse import quote

#: letters of a text in a table that is not broken: "≤ 1e-06" would be, at its sign
SHORT = 12


class Link(NamedTuple):
    """A text in a table that leads to a file."""

    file: str
    text: str


def number(value: Any) -> str:
    """A number for people: four digits, integers as they are; links."""
    if isinstance(value, Link):
        return f'<a href="{escape(quote(value.file))}">{escape(value.text)}</a>'
    if isinstance(value, bool) or value is None:
        return "-" if value is None else ("yes" if value else "no")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"
    return escape(str(value))


def scientific(value: Any) -> str:
    """A number as it stands in large type: very small and very large ones as a power of ten."""
    if not isinstance(value, float) or value == 0.0 or 1e-3 <= abs(value) < 1e5:
        return number(value)
    mantissa, _, power = f"{value:.1e}".partition("e")
    return f"{mantissa} \u00b7 10<sup>{int(power)}</sup>"


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def facts(items: Iterable[tuple[str, Any]]) -> str:
    """Cards of a value and what it is."""
    cards = "".join(
        f"<div><b>{scientific(value)}</b><span>{escape(name)}</span></div>" for name, value in items
    )
    return f'<div class="facts">{cards}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; columns of numbers stand to the right, short texts in one line."""
    rows = [list(row) for row in rows]
    right = [bool(rows) and all(isinstance(row[k], int | float) for row in rows) for k in range(len(head))]
    css = ['class="number"' if flag else "" for flag in right]
    verdicts = {"ok": 'class="ok"', "BEYOND": 'class="beyond"'}

    def kind(k: int, value: Any) -> str:
        is_short = isinstance(value, str) and len(value) <= SHORT and not css[k]
        return verdicts.get(str(value), 'class="short"' if is_short else css[k])

    top = "".join(f"<th {css[k]}>{escape(text)}</th>" for k, text in enumerate(head)) if any(head) else ""
    body = "".join(
        "<tr>"
        + "".join(f"<td {kind(k, value)}>{number(value)}</td>" for k, value in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>'


def listing(texts: Iterable[str], kind: str = "") -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="{kind}">{items}</ul>'


def pill(text: str, kind: str, target: str = "") -> str:
    """A word on a coloured ground, with `target` a link."""
    tag, link = ("a", f' href="{escape(target)}"') if target else ("span", "")
    return f'<{tag} class="pill {escape(kind)}"{link}>{escape(text)}</{tag}>'


def columns(*parts: str) -> str:
    """Parts side by side where there is room."""
    return '<div class="columns">' + "".join(f"<div>{part}</div>" for part in parts if part) + "</div>"


def plots(figures: str) -> str:
    return f'<div class="plots">{figures}</div>' if figures else ""


def folded(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def section(name: str, title: str, body: str) -> str:
    return f'<section id="{name}"><h2>{escape(title)}</h2>{body}</section>'
