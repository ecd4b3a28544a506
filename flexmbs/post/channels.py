"""Channels of a result by name or pattern: `rod.q`, `slider.position.x`, `energy.*`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

from flexmbs.channels import read_name, shortened
from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.post.record import Floats, Record


@dataclass(frozen=True)
class Channel:
    """One curve: `name` in full (`bodies.rod.q[0]`), dataset `path`, component `column`, its unit.

    `owner` is the body, joint, ... it belongs to, "" for those of the system.
    """

    name: str
    path: str
    column: int
    unit: str

    @property
    def group(self) -> str:
        return self.path.split("/")[0]

    @property
    def owner(self) -> str:
        parts = self.path.split("/")
        return parts[1] if parts[0] in ("bodies", "joints") and len(parts) > 2 else ""

    @property
    def short(self) -> str:
        """Name without its first word, as people say it, where something is left to say."""
        named = self.group in ("bodies", "joints", "sensors", "states", "metrics")
        return (shortened(self.name) if named else "") or self.name

    def values(self, record: Record) -> Floats:
        """Its samples (time,)."""
        array = np.asarray(record.require(self.path), dtype=float).reshape(record.n_samples, -1)
        return array[:, self.column]


def component_names(record: Record, path: str, shape: tuple[int, ...]) -> list[str]:
    """Names of the components of one sample: those the dataset says (x, y, z, ...), else [0], [1], ..."""
    listed = record.attribute(path, "components")
    if isinstance(listed, list) and shape == (len(listed),):
        return [f".{item}" for item in listed]
    return ["".join(f"[{k}]" for k in index) for index in np.ndindex(*shape)]


def catalogue(record: Record, paths: Sequence[str] | None = None) -> list[Channel]:
    """All channels of a result, or those of some of its datasets, in the order of the file's names."""
    channels: list[Channel] = []
    for path in record.paths if paths is None else paths:
        if not record.is_history(path):
            continue
        shape = record.result.shape_of(path)[1:]
        name, n = path.replace("/", "."), int(np.prod(shape))
        units = component_units(record, path, n)
        if n == 1:
            channels.append(Channel(name, path, 0, units[0]))
        elif n:
            names = component_names(record, path, shape)
            channels += [Channel(name + names[k], path, k, units[k]) for k in range(n)]
    return channels


def component_units(record: Record, path: str, n: int) -> list[str]:
    """Unit per component. Datasets of mixed kind list theirs ("rad, m"); those of /applied come in threes."""
    unit = record.unit(path)
    parts = ["" if part == "1" else part for part in unit.split(", ")]
    if len(parts) == n:
        return parts
    if len(parts) > 1 and (n == 3 * len(parts) or len(parts) == 3 and n >= 6):
        return [parts[min(k // 3, len(parts) - 1)] for k in range(n)]
    return [unit] * n


def select(record: Record, patterns: Sequence[str]) -> list[Channel]:
    """Channels that the patterns name, each once, in their order; one without any is an error.

    A pattern names a channel, a dataset or a group; `*` and `?` stand for other characters; the first word
    may be left out where the rest is unique.
    """
    channels = catalogue(record, near(record, patterns))
    chosen: dict[str, Channel] = {}
    missing = []
    for pattern in patterns:
        found = [channel for channel in channels if matches(pattern, channel.name)]
        found = found or unique_rest(pattern, channels, record) or by_index(pattern, channels, record)
        chosen |= {channel.name: channel for channel in found}
        if not found:
            what = f'there is no channel "{pattern}"'
            missing.append(
                Diagnostic("plot.no_channel", record.path.name, what, _advice(pattern, catalogue(record)))
            )
    if missing:
        raise InputError(*missing)
    return list(chosen.values())


def near(record: Record, patterns: Sequence[str]) -> list[str]:
    """Datasets that patterns may name, by the beginning of their names; all where signs stand for others."""
    if any(sign in pattern for pattern in patterns for sign in "*?"):
        return record.paths

    def meets(name: str) -> bool:
        rest = name.partition(".")[2]
        return any(p.startswith((name, rest)) or name.startswith(p) or rest.startswith(p) for p in patterns)

    return [path for path in record.paths if meets(path.replace("/", "."))]


def _advice(pattern: str, channels: Sequence[Channel]) -> str:
    """The nearest dataset or channel; else what there is of the thing named first, else the things."""
    datasets = list(dict.fromkeys(replace(c, name=c.path.replace("/", ".")).short for c in channels))
    close = nearest(pattern, [*datasets, *(channel.short for channel in channels)])
    if close.startswith("did you mean"):
        return close
    first = pattern.partition(".")[0]
    own = [name for name in datasets if name.startswith(first + ".")]
    return nearest(first, own or list(dict.fromkeys(name.partition(".")[0] for name in datasets)))


def by_index(pattern: str, channels: Sequence[Channel], record: Record) -> list[Channel]:
    """`main.position[1]` for components that have names too."""
    words, index = read_name(pattern)
    if len(index) != 1 or any(sign in pattern for sign in "*?"):
        return []
    name = ".".join(words)
    whole = [c for c in channels if matches(name, c.name)] or unique_rest(name, channels, record)
    return [c for c in whole if c.column == index[0]] if len({c.path for c in whole}) == 1 else []


def unique_rest(pattern: str, channels: Sequence[Channel], record: Record) -> list[Channel]:
    """Matches with the first word left out; an error where the rest names things of several kinds."""
    found = [channel for channel in channels if matches(pattern, shortened(channel.name))]
    groups = sorted({channel.group for channel in found})
    if len(groups) > 1 and not any(sign in pattern for sign in "*?"):
        what = f'the channel "{pattern}" is not unique'
        choices = ", ".join(f"{group}.{pattern}" for group in groups)
        raise InputError(Diagnostic("plot.ambiguous", record.path.name, what, f"write one of {choices}"))
    return found


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern names this channel, or a dataset or group above it."""
    if "*" not in pattern and "?" not in pattern:
        return name == pattern or name.startswith((pattern + ".", pattern + "["))
    literal = re.sub(r"\[", "[[]", pattern)  # brackets are indices here, no sets of characters
    return (
        fnmatchcase(name, literal) or fnmatchcase(name, literal + "[[]*") or fnmatchcase(name, literal + ".*")
    )
