"""Long runs of nodes and solids of a bulk data file, column by column: a million of them within seconds.

Only entries in their plainest form are taken, and their lines emptied; whatever is unusual, or wrong, is left
to the general reader, which knows every form and says what is wrong where.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from flexmbs.fe.readers.nastran_axes import DEFAULT
from flexmbs.fe.readers.nastran_cards import short_real
from flexmbs.fe.readers.source import LARGEST, Damaged, Floats, Ints

WIDTH = 8
CONTINUES = "+* ,"
#: of marks that plain entries do not have
unusual = re.compile(r"[,\t$*]").search


@dataclass(frozen=True)
class Nodes:
    """Plain GRID entries: their lines (indices), numbers, systems, coordinates."""

    at: Ints
    number: Ints
    system: Ints
    points: Floats


def take_nodes(lines: list[str]) -> Nodes | None:
    """GRID entries that end with their coordinates, in small or free field. Writes: lines."""
    fixed, free = [], []
    for at, line in enumerate(lines):
        if line[:4] in ("GRID", "grid"):
            if line[4:8] == "    " and not line[48:].strip() and not unusual(line):
                fixed.append(at)
            elif line[4:5] == "," and line.count(",") == 5 and "$" not in line:
                free.append(at)
    words = [_columns(lines, fixed, [8, 16, 24, 32, 40, 48])]
    words.append([list(part) for part in zip(*(lines[at].split(",")[1:6] for at in free), strict=True)])
    found = [_nodes(at, part) for at, part in zip((fixed, free), words, strict=True) if len(at)]
    taken = [item for item in found if item is not None]
    for item in taken:
        _empty(lines, item.at)
    if not taken:
        return None
    return Nodes(
        *(np.concatenate([getattr(item, k) for item in taken]) for k in ("at", "number", "system", "points"))
    )


def _columns(lines: list[str], rows: list[int], starts: list[int]) -> list[list[str]]:
    return [[lines[at][a:b] for at in rows] for a, b in zip(starts, starts[1:], strict=False)]


def _nodes(at: list[int], words: Sequence[Sequence[str]]) -> Nodes | None:
    try:
        number = np.array(list(map(int, words[0])), dtype=np.int64)
        if any(map(str.strip, words[1])):
            system = np.array([int(word) if word.strip() else DEFAULT for word in words[1]], dtype=np.int64)
        else:
            system = np.full(len(at), DEFAULT, dtype=np.int64)
        points = np.stack([_reals(column) for column in words[2:5]], axis=1)
    except (ValueError, OverflowError, Damaged):
        return None
    return Nodes(np.array(at, dtype=np.int64), number, system, points)


def _reals(words: Sequence[str]) -> Floats:
    try:
        found = np.array(list(map(float, words)))
        if (np.abs(found) < LARGEST).all():
            return found
    except ValueError:  # blanks, or exponents without their letter
        pass
    return np.array([short_real(word.strip(), "GRID", 0) if word.strip() else 0.0 for word in words])


@dataclass(frozen=True)
class Solids:
    """Plain entries of a solid with all its nodes: their lines, numbers, properties, nodes (n, k)."""

    name: str
    at: Ints
    number: Ints
    pid: Ints
    nodes: Ints


def take_solids(lines: list[str], kinds: dict[str, tuple[int, ...]]) -> Iterator[Solids]:
    """Entries in small field with as many nodes as their kind may have (`kinds`). Writes: lines."""
    rows: dict[tuple[str, int], list[int]] = {}
    heads = {f"{name:<{WIDTH}}": name for name in kinds}
    last = len(lines) - 1
    for at, line in enumerate(lines):
        name = heads.get(line[:WIDTH])
        if name is None:
            continue
        more = 0
        while at + more < last and (line := lines[at + more + 1])[:1] in CONTINUES and line.strip():
            more += 1
        rows.setdefault((name, more), []).append(at)
    for (name, more), indices in rows.items():
        for n in kinds[name]:
            if more == lines_of(n) - 1:
                yield from _solids(lines, name, n, indices)


def lines_of(n: int) -> int:
    """Lines of an entry with n nodes: six on the first, eight on each that follows."""
    return 1 + max(0, -(-(n - 6) // 8))


def _solids(lines: list[str], name: str, n: int, rows: list[int]) -> Iterator[Solids]:
    places = [(k // 8, WIDTH + WIDTH * (k % 8)) for k in range(2, n + 2)]
    end = places[-1][1] + WIDTH
    count = lines_of(n)
    plain = [at for at in rows if _plain(lines, at, count, end)]
    if not plain:
        return
    read: Callable[[int, int], list[int]] = lambda k, a: [int(lines[at + k][a : a + WIDTH]) for at in plain]  # noqa: E731
    try:
        number, pid = read(0, WIDTH), read(0, 2 * WIDTH)
        nodes = np.array([read(k, a) for k, a in places], dtype=np.int64).T
    except (ValueError, OverflowError):
        return
    if nodes.min() <= 0:
        return
    at = np.array(plain, dtype=np.int64)
    for k in range(count):
        _empty(lines, at + k)
    yield Solids(
        name, at, np.array(number, dtype=np.int64), np.array(pid, dtype=np.int64), np.ascontiguousarray(nodes)
    )


def _plain(lines: list[str], at: int, count: int, end: int) -> bool:
    """Whether the entry has its last node in the column `end`, and nothing behind it but a mark."""
    tail = lines[at + count - 1]
    if tail[end : 9 * WIDTH].strip() or not tail[end - WIDTH : end].strip():
        return False
    whole = "".join(lines[at + k][WIDTH : 9 * WIDTH] for k in range(count))
    if unusual(whole):
        return False
    for k in range(1, count):
        if lines[at + k][:1] not in "+ ":
            return False
    return True


def _empty(lines: list[str], at: Ints) -> None:
    for index in at.tolist():
        lines[index] = ""
