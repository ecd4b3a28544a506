"""What notebooks show of a result and of modal data: one small table each."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from flexmbs.modaldata import ModalData
from flexmbs.post.facts import key_facts
from flexmbs.post.record import Record, table
from flexmbs.post.report.markup import number
from flexmbs.results import Result

SHOWN = 8  # names or modes


def card(item: Result | ModalData) -> str:
    """The `_repr_html_` of a result or of modal data."""
    if isinstance(item, ModalData):
        return modal_card(item)
    return result_card(Record(item))


def result_card(record: Record) -> str:
    """Status, time, names, and the numbers a report opens with."""
    if not np.size(record.result["time"]):
        return _table(record.path.name, [("status", record.result.status), ("samples", 0)])
    flexible = set(record.flexible)
    bodies = [f"{name} ({'flexible' if name in flexible else 'rigid'})" for name in record.bodies]
    rows: list[tuple[str, Any]] = [
        ("status", f"{record.result.status}, t = {record.time[0]:.6g} to {record.time[-1]:.6g} s"),
        ("bodies", _names(bodies)),
        ("joints", _names(list(table(record.case, "joints")) or record.names("joints"))),
        ("sensors", _names(record.names("sensors"))),
    ]
    rows += [(name, value) for name, value in key_facts(record).items() if name not in ("bodies", "joints")]
    return _table(record.title, rows)


def modal_card(modal: ModalData) -> str:
    """Mesh, mass, interfaces, first frequencies."""
    cells = ", ".join(f"{len(rows)} {kind}" for kind, rows in modal.mesh.cells.items() if len(rows))
    rows: list[tuple[str, Any]] = [
        ("method", f"{modal.method}, frame {modal.frame}, {modal.nf} modes"),
        ("mesh", f"{modal.mesh.n_nodes} nodes" + (f", {cells}" if cells else "")),
        ("mass [kg]", float(modal.integrals.mass)),
        ("interfaces", _names([f"{name} ({item.type})" for name, item in modal.interfaces.items()])),
        ("frequencies [Hz]", _names([f"{hertz:.4g}" for hertz in modal.frequency_hz])),
        ("stress modes", modal.stress_at),
    ]
    rows += [("warning", str(text)) for text in modal.quality.get("warnings", ())]
    return _table(modal.source, rows)


def _names(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f", and {more} more" if more > 0 else "")


def _table(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """A heading and two columns; empty rows are left out."""
    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{number(value)}</td></tr>'
        for name, value in rows
        if value != ""
    )
    return f"<table><caption>{escape(title)}</caption>{body}</table>"
