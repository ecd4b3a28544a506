"""Channels: names of values in a result, as case files and commands write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from flexmbs import channels
from flexmbs.channels import read_name, shortened, with_short
from flexmbs.errors import Diagnostic, InputError, nearest


def channel(result: Any, text: str) -> Any:
    """Values of the channel `text`: a path with dots, a component `.x`, indices `[i]`, the time last.

    The first words may be left out where the rest is unique. A single component needs no index.
    """
    words, indices = read_name(text)
    path, component = find(result, ".".join(words))
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


def find(result: Any, name: str, known: channels.Endings | None = None) -> tuple[str, int | None]:
    """Path of the dataset that a channel names, and the component of its last axis.

    `known`: names that are looked at, where many channels are found.
    """
    words = read_name(name).words
    full = "/".join(words)
    if known is None and result.holds(full):
        return full, None
    names = known or [path for path in result.paths if not path.startswith("checkpoint/")]
    found = channels.find(names, words, lambda path: result.attributes_of(path).get("components", []))
    if len(found) == 1:
        return found[0]
    if found:
        what = f'channel "{name}" is not unique: ' + ", ".join(
            path.replace("/", ".") for path, _ in found[:4]
        )
        raise InputError(Diagnostic("channel.ambiguous", str(result.path), what, "write more of it"))
    remedy = nearest(name, with_short(path.replace("/", ".") for path in result.paths))
    raise InputError(Diagnostic("channel.unknown", str(result.path), f'no channel "{name}"', remedy))


class Listed(NamedTuple):
    """A channel as people name it, its unit, and its components."""

    name: str
    unit: str
    components: list[str]


def listed(result: Any, patterns: Sequence[str] = ()) -> list[Listed]:
    """Histories of a result by the shortest names that mean them; `patterns` have wildcards `*` and `?`."""
    paths = [path for path in result.paths if result.dimensions(path)[:1] == ("time",) and path != "time"]
    known = [path for path in result.paths if not path.startswith("checkpoint/")]
    dotted = {path: path.replace("/", ".") for path in paths}
    short = Counter(shortened(path.replace("/", ".")) for path in known)
    found = []
    for path, name in dotted.items():
        said = shortened(name)
        said = said if "." in said and short[said] == 1 else name
        if not patterns or any(fnmatchcase(text, p) for text in (said, name) for p in patterns):
            components = [str(word) for word in result.attributes_of(path).get("components", [])]
            found.append(Listed(said, result.units(path), components))
    return found
