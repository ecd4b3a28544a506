"""Names of channels: how they are written, shortened and found, in expressions, results and commands alike.

    t                                       time
    x, v                                    argument of a law and its rate (length, joint coordinate, cam)
    joints.<joint>.position[i]  .velocity[i]            i: number of the coordinate
    bodies.<body>.q[a]  .q_dot[a]                       a: number of the kept mode, from 0
    bodies.<body>.position[i]  .velocity[i]  .angular_velocity[i]  .quaternion[i]          of the body frame
    frames.<body>.<frame>.position[i]  .velocity[i]  .angular_velocity[i]  .quaternion[i]  of a frame
    states.<state>, inputs.<input>, inputs.<fmu>.<output>
    sensors.<sensor>[i]                     position, velocity, displacement, rotation, joint sensors

These are the complete names in the expressions of a `Model`; results have more, in the same form, as paths
with / in their files. Components of vectors are in ground axes, of sensors as the sensor says.

People leave first words out where the rest is unique, and name a component in place of its number:
`rod.position.y` is `bodies.rod.position[1]`. Those of case files are completed before a `Model` is made
(`case/names.py`), an expression sensor is replaced by its expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from flexmbs.expressions.tree import ExpressionError

_INDEX = re.compile(r"\[\s*(-?\d+)\s*\]")
_WORD = re.compile(r"\w+")


class Name(NamedTuple):
    """A name as it is written: its words, and the numbers in brackets."""

    words: tuple[str, ...]
    numbers: tuple[int, ...] = ()


def read_name(text: str) -> Name:
    """Words and numbers of a name or of a path in a file."""
    index = tuple(int(found) for found in _INDEX.findall(text))
    return Name(tuple(_INDEX.sub("", text).strip().replace("/", ".").split(".")), index)


def shortened(name: str) -> str:
    """A complete name without its first word, as people say it; "" where nothing is left."""
    return name.partition(".")[2]


def with_short(names: Iterable[str]) -> list[str]:
    """Names and their short forms, for messages that offer what there is."""
    listed = list(names)
    return listed + [short for short in map(shortened, listed) if short]


class Endings:
    """Names by all that they end with, where many are looked up."""

    def __init__(self, names: Iterable[str]) -> None:
        self.full: dict[str, list[str]] = {}
        self.short: dict[str, list[str]] = {}
        for name in names:
            dotted = name.replace("/", ".")
            self.full.setdefault(dotted, []).append(name)
            while dotted := shortened(dotted):
                self.short.setdefault(dotted, []).append(name)


def ending(names: Iterable[str] | Endings, words: Sequence[str]) -> list[str]:
    """Names that the words mean: the one that they are in full, else all that end with them."""
    wanted = ".".join(words)
    if isinstance(names, Endings):
        return names.full.get(wanted) or names.short.get(wanted, [])
    dotted = [(name, name.replace("/", ".")) for name in names]
    full = [name for name, text in dotted if text == wanted]
    return full or [name for name, text in dotted if text.endswith(f".{wanted}")]


def find(
    names: Iterable[str] | Endings, words: Sequence[str], components: Callable[[str], Sequence[str]]
) -> list[tuple[str, int | None]]:
    """What the words mean: names, each with the number of the component that the last word names, or None."""
    names = names if isinstance(names, Endings) else list(names)
    found: list[tuple[str, int | None]] = [(name, None) for name in ending(names, words)]
    if found or len(words) < 2:
        return found
    last = words[-1]
    return [
        (name, list(components(name)).index(last))
        for name in ending(names, words[:-1])
        if last in components(name)
    ]


class Channel(NamedTuple):
    """Parts of a complete channel name; `frame` is "" for the body frame, `quantity` "" without one."""

    kind: str  # "t", "x", "v", "joints", "bodies", "frames", "states", "inputs", "sensors"
    name: str = ""
    frame: str = ""
    quantity: str = ""
    component: int = 0


def split_channel(label: str) -> Channel:
    """Parts of a complete channel name, the key by which a `Model`'s expressions ask for a slot."""
    (kind, *words), index = read_name(label)
    if len(index) < 2 and min(index, default=0) >= 0 and all(map(_WORD.fullmatch, words)):
        component = index[0] if index else 0
        if kind in ("t", "x", "v") and not words:
            return Channel(kind)
        if kind in ("joints", "bodies") and len(words) == 2:
            return Channel(kind, words[0], "", words[1], component)
        if kind == "frames" and len(words) == 3:
            return Channel(kind, words[0], words[1], words[2], component)
        if kind == "inputs" and len(words) == 2:  # an output of an FMU
            return Channel(kind, ".".join(words), "", "", component)
        if kind in ("states", "inputs", "sensors") and len(words) == 1:
            return Channel(kind, words[0], "", "", component)
    raise ExpressionError(f'"{label}" is no complete channel name')
