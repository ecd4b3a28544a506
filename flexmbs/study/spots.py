"""Hot spots of flexible bodies of a design: where the largest stress over body and time is."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from flexmbs.case import Case
from flexmbs.case.schema.sweep import SPOT
from flexmbs.results import Result


def hot_spots(case: Case, result: Result, bodies: list[str]) -> dict[str, float]:
    """Von Mises stress, time, place and number of the hottest point of each body, by name.

    Stresses are those of `flexmbs stress`, at every node or cell, with the static part that modes miss.
    """
    # what reads results is told of by those who ask for it: studies stand below it
    recover = import_module("flexmbs.post.recovery").recover
    record = import_module("flexmbs.post.record").Record(result)
    parts = case.model().bodies
    modal = {name: part.modal for name, part in parts.items() if hasattr(part, "modal")}
    found: dict[str, float] = {}
    for body in bodies:
        spots = recover(record, body, modal=modal, count=1)
        row: dict[str, Any] = spots.row(spots.spots[0])
        values = row["von_mises"], row["time"], *row["place"], row["number"]
        names = (f"{body}.hot_spot{what}" for what in SPOT)
        found |= dict(zip(names, map(float, values), strict=True))
    return found
