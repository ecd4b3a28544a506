"""What a file of layout 2 holds by name: where the history of each part stands (`stacks.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from flexmbs import hdf5
from flexmbs.results.layout import FLAGS

#: attributes that say how a stack is made, not what its numbers are
MADE = ("parts", "flags", "empty")
#: of the second dimension of a stack, and beside it
TABLES = ("part", "axis", "label")


@dataclass(frozen=True)
class Place:
    """A history, or numbers of a dimension, inside the dataset of all parts.

    `column`: its place along the second dimension (of a dimension itself: along the first).
    `axis`: the dimension that its entries are, if it has one of its own; `units`: where it has no entries.
    """

    path: str
    column: int | slice
    axis: str = ""
    of_axis: bool = False
    units: str = ""

    @property
    def first(self) -> int:
        return self.column.start if isinstance(self.column, slice) else self.column


@dataclass(frozen=True)
class Catalogue:
    """Histories by name, the datasets that they and their tables stand in, and what the tables say."""

    places: dict[str, Place]
    inside: frozenset[str]
    tables: dict[str, list[Any]]

    def attributes(self, place: Place, whole: Mapping[str, Any], axis: str) -> dict[str, Any]:
        """Attributes of one history out of those of the whole dataset; `axis`: its second dimension."""
        found = {name: value for name, value in whole.items() if name not in MADE}
        if place.units:
            found["units"] = place.units
        elif f"{place.path}_units" in self.tables:
            found["units"] = self.tables[f"{place.path}_units"][place.first]
        for flag in FLAGS:
            if not self.tables.get(f"{place.path}_{flag}", {place.first: 1})[place.first]:
                found[flag] = False
        if isinstance(place.column, slice):
            labels = self.tables.get(f"{axis}_label", [])[place.column]
            if any(labels):
                found["labels" if place.of_axis else "components"] = labels
        return found


class Damaged(Exception):
    """Tables that do not belong to their dataset."""


def catalogue(nodes: Mapping[str, Any]) -> Catalogue:
    """The catalogue of the datasets of a file; raises `Damaged` where tables and numbers disagree."""
    places: dict[str, Place] = {}
    inside: set[str] = set()
    tables: dict[str, list[Any]] = {}
    for path, node in sorted(nodes.items()):
        if "parts" not in node.attrs:
            continue
        table = hdf5.text(node.attrs["parts"])
        axis = table.removesuffix("_part") if table.endswith("_part") else table
        beside = [
            axis,
            table,
            f"{axis}_axis",
            f"{axis}_label",
            f"{path}_units",
            *(f"{path}_{f}" for f in FLAGS),
        ]
        inside |= {path, *beside}
        for where in beside:
            if where in nodes and where not in tables and (where != axis or where == table):
                tables[where] = _table(where, nodes[where], path)
        names = tables.get(table, [])
        if node.ndim < 2 or len(names) != node.shape[1]:
            raise Damaged(f"/{path} has shape {node.shape}; expected the {len(names)} parts of /{table}")
        short = [name for name in beside if len(tables.get(name, names)) != len(names)]
        if short:
            raise Damaged(f"/{short[0]} has {len(tables[short[0]])} entries; expected {len(names)}")
        found = _of_entries if table != axis else _of_parts
        places.update(found(path, axis, names, tables.get(f"{axis}_axis", [])))
        for text in hdf5.texts(node.attrs.get("empty", np.zeros(0))):
            places.update(_without_entries(path, axis, text))
    return Catalogue(places, frozenset(inside & set(nodes)), tables)


def _table(name: str, node: Any, path: str) -> list[Any]:
    """What stands beside the entries of a stack: texts, or 0 and 1."""
    flags = name in [f"{path}_{flag}" for flag in FLAGS]
    found = node[()].tolist() if flags else hdf5.texts(node[()])
    if node.ndim != 1 or (not flags and len(found) != node.shape[0]):
        raise Damaged(f"/{name} holds {node.dtype} of shape {node.shape}; expected a text for each entry")
    return found


def _without_entries(path: str, axis: str, text: str) -> Iterator[tuple[str, Place]]:
    """A part that has the quantity, in no entry: a flexible body without modes."""
    group, _, quantity = path.rpartition("/")
    name, word, units = (text + "  ").split(" ", 2)
    own = f"{group}/{name}/{word}"
    yield f"{group}/{name}/{quantity}", Place(path, slice(0, 0), own, units=units.strip())
    yield own, Place(axis, slice(0, 0), own, of_axis=True)


def _of_parts(path: str, axis: str, names: list[str], words: list[str]) -> Iterator[tuple[str, Place]]:
    group, _, quantity = path.rpartition("/")
    for k, name in enumerate(names):
        yield f"{group}/{name}/{quantity}", Place(path, k)


def _of_entries(path: str, axis: str, names: list[str], words: list[str]) -> Iterator[tuple[str, Place]]:
    """Entries of one part stand together; `words` name the dimension that they are."""
    group, _, quantity = path.rpartition("/")
    if len(words) != len(names):
        raise Damaged(f"/{axis}_axis has {len(words)} entries; expected {len(names)}")
    start, seen = 0, set[str]()
    for name, entries in groupby(names):
        end = start + sum(1 for _ in entries)
        word = words[start]
        if name in seen or any(w != word for w in words[start:end]) or (not word and end - start != 1):
            raise Damaged(f"/{axis}_part: the entries of {name} do not stand together")
        seen.add(name)
        own = f"{group}/{name}/{word}" if word and not word.startswith("/") else word.lstrip("/")
        yield f"{group}/{name}/{quantity}", Place(path, slice(start, end) if word else start, own)
        if own.count("/") == 2:
            yield own, Place(axis, slice(start, end), own, of_axis=True)
        start = end
