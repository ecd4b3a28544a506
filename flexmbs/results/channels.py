"""Channels: names of values in a result, as case files and commands write them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, InputError, nearest

_INDEX = re.compile(r"\[\s*(-?\d+)\s*\]")


def channel(result: Any, text: str) -> Any:
    """Values of the channel `text`: a path with dots, a component `.x`, indices `[i]`, the time last.

    The first words may be left out where the rest is unique. A single component needs no index.
    """
    name = _INDEX.sub("", text).strip()
    indices = tuple(int(found) for found in _INDEX.findall(text))
    path, component = find(result, name)
    values = np.asarray(result[path])
    if component is not None:
        values = _pick(result, text, values, (..., component))
    if result.dimensions(path)[:1] != ("time",):
        return _pick(result, text, values, indices)
    if values.ndim == 2 and values.shape[1] == 1 and len(indices) < 2:
        values = values[:, 0]
    if len(indices) == values.ndim:  # components first, the time last
        indices = (indices[-1], *indices[:-1])
        return _pick(result, text, values, indices)
    return _pick(result, text, values, (slice(None), *indices))


def _pick(result: Any, text: str, values: np.ndarray, indices: tuple[Any, ...]) -> Any:
    try:
        return values[indices]
    except IndexError:
        what = f'"{text}": index out of range, the values have shape {values.shape}'
        raise InputError(Diagnostic("channel.index", str(result.path), what)) from None


def find(result: Any, name: str) -> tuple[str, int | None]:
    """Path of the dataset that a channel names, and the component of its last axis."""
    words = name.replace("/", ".").split(".")
    found = matches(result.paths, words)
    component = None
    if not found and len(words) > 1:
        found = [
            path
            for path in matches(result.paths, words[:-1])
            if words[-1] in result.attributes_of(path).get("components", [])
        ]
        if found:
            component = list(result.attributes_of(found[0])["components"]).index(words[-1])
    if len(found) == 1:
        return found[0], component
    if found:
        what = f'channel "{name}" is not unique: ' + ", ".join(p.replace("/", ".") for p in found[:4])
        raise InputError(Diagnostic("channel.ambiguous", str(result.path), what, "write more of it"))
    choices = [path.replace("/", ".") for path in result.paths]
    remedy = nearest(name, choices + [choice.partition(".")[2] for choice in choices])
    raise InputError(Diagnostic("channel.unknown", str(result.path), f'no channel "{name}"', remedy))


def matches(paths: list[str], words: list[str]) -> list[str]:
    """Paths that end with the words; an exact path wins."""
    wanted = "/".join(words)
    if wanted in paths:
        return [wanted]
    return [path for path in paths if path.endswith("/" + wanted) and not path.startswith("checkpoint/")]
