"""Keyword cards of an Abaqus or CalculiX input file: includes followed, comments removed, places kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.fe.readers.source import (
    LARGEST_EXACT,
    MAX_BYTES,
    Damaged,
    Floats,
    Ints,
    confined,
    numbers,
    one_int,
    read_bytes,
    reals,
    to_ints,
)

KEYWORD_LINE = re.compile(rb"^[ \t]*\*(?!\*)[^\n]*", re.MULTILINE)
COMMENT = re.compile(rb"^[ \t]*\*\*[^\n]*\n?", re.MULTILINE)
MAX_DEPTH = 8  # nested includes
MAX_FILES = 1000


#: CalculiX takes keywords without their blanks
SPACED = {
    name.replace(" ", ""): name
    for name in (
        "SOLID SECTION", "SHELL SECTION", "BEAM SECTION", "MEMBRANE SECTION", "RIGID BODY", "END STEP",
        "KINEMATIC COUPLING", "DISTRIBUTING COUPLING", "INITIAL CONDITIONS", "CONTACT PAIR", "ROTARY INERTIA",
        "END PART", "END INSTANCE", "END ASSEMBLY", "USER MATERIAL", "CYCLIC SYMMETRY MODEL",
        "NODAL THICKNESS",
    )
}  # fmt: skip


class Options(dict[str, str]):
    """Parameters of a keyword line by their names, with or without blanks in them."""

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.replace(" ", ""))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).replace(" ", ""))

    def get(self, name: str, default: Any = None) -> Any:
        return super().get(name.replace(" ", ""), default)


@dataclass(frozen=True)
class Card:
    """One keyword line with its parameters, and the text of its data lines without comments."""

    keyword: str
    options: dict[str, str]
    text: bytes
    line: int
    path: Path

    def need(self, name: str) -> str:
        if not self.options.get(name):
            raise Damaged(f"*{self.keyword} without {name}=", self.line)
        return self.options[name]


class Cards:
    """Iterates over the cards of a file and of those it includes, inside the folder of the first."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data, self.root = path, data, path.parent
        self.bytes_left = MAX_BYTES
        self.files = 0

    def __iter__(self) -> Iterator[Card]:
        return self._of(self.path, self.data, 0)

    def _of(self, path: Path, data: bytes, depth: int) -> Iterator[Card]:
        for card in split_cards(path, data):
            if card.keyword == "INCLUDE":
                yield from self._included(card, card.need("INPUT"), depth)
            elif card.keyword in ("NODE", "ELEMENT", "NSET", "ELSET") and "INPUT" in card.options:
                text = self._read(card, card.need("INPUT"), depth)
                yield Card(
                    card.keyword, card.options, COMMENT.sub(b"", text) + card.text, card.line, card.path
                )
            else:
                yield card

    def _included(self, card: Card, name: str, depth: int) -> Iterator[Card]:
        target = confined(card.path, name, card.line, self.root)
        yield from self._of(target, self._read(card, name, depth), depth + 1)

    def _read(self, card: Card, name: str, depth: int) -> bytes:
        self.files += 1
        if depth >= MAX_DEPTH or self.files > MAX_FILES:
            raise Damaged("includes are nested too deeply, or include themselves", card.line)
        text = clean(read_bytes(confined(card.path, name, card.line, self.root), self.bytes_left))
        self.bytes_left -= len(text)
        return text


def clean(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def split_cards(path: Path, data: bytes) -> Iterator[Card]:
    data = clean(data)
    starts = list(KEYWORD_LINE.finditer(data))
    line, counted, skip_to = 1, 0, 0
    for k, found in enumerate(starts):
        if found.start() < skip_to:
            continue
        line += data.count(b"\n", counted, found.start())
        counted = found.start()
        end = starts[k + 1].start() if k + 1 < len(starts) else len(data)
        head, body = found[0], data[found.end() + 1 : end]
        while head.rstrip().endswith(b",") and body:  # the keyword line goes on
            more, _, body = body.partition(b"\n")
            head += more
        if b"**" in body:  # comments become blank lines, which keeps the places
            body = COMMENT.sub(b"\n", body)
        yield make_card(head, body, line, path)


def make_card(head: bytes, body: bytes, line: int, path: Path) -> Card:
    words = [word.strip() for word in head.decode("utf-8", "replace").strip()[1:].split(",")]
    options = Options()
    for word in words[1:]:
        name, _, value = word.partition("=")
        if name.strip():
            options["".join(name.upper().split())] = value.strip().strip('"')
    keyword = " ".join(words[0].upper().split())
    return Card(SPACED.get(keyword, keyword), options, body, line, path)


def data_lines(card: Card) -> list[list[str]]:
    """Fields of the data lines, blank lines left out."""
    text = card.text.decode("utf-8", "replace")
    return [[field.strip() for field in line.split(",")] for line in text.split("\n") if line.strip()]


def flat_numbers(card: Card) -> Floats:
    """All numbers of the data lines in order, across line ends."""
    text = card.text.replace(b"D", b"E").replace(b"d", b"e")
    text = text.strip()
    quick = text.replace(b",\n", b"\n").replace(b"\n", b",").rstrip(b", \t")
    try:
        return numbers(quick, ",")
    except Damaged:  # blank lines, or blanks behind the last comma
        joined = re.sub(rb"[ \t,]*\n\s*", b",", text).rstrip(b", \t")
    try:
        return numbers(joined, ",")
    except Damaged as damage:
        line, found = bad_line(card)
        what = f'expected numbers, found "{found.strip()[:80]}"' if found else damage.what
        raise Damaged(what, line) from None


def bad_line(card: Card) -> tuple[int, str]:
    """Number and text of the first line with a field that is not a number."""
    for number, line in enumerate(card.text.decode("utf-8", "replace").split("\n"), start=card.line + 1):
        for field in line.split(","):
            try:
                real(field.strip(), number)
            except Damaged:
                return number, line
    return card.line, ""


def node_rows(card: Card) -> tuple[Ints, Floats]:
    """Node numbers and coordinates; missing coordinates are zero, further fields are left out."""
    text = re.sub(rb"\n\s*\n", b"\n", card.text.strip()) if b"\n\n" in card.text else card.text.strip()
    n_lines = text.count(b"\n") + 1
    if text.count(b",") == 3 * n_lines:
        values = flat_numbers(card)
        if values.size == 4 * n_lines:
            rows = values.reshape(-1, 4)
            return to_ints(rows[:, 0], "node number", filled_lines(card)[first_broken(rows[:, 0])]), rows[
                :, 1:
            ]
    rows = np.zeros((0, 4))
    lines = data_lines(card)
    if lines:
        rows = np.array(
            [
                [real(word, at) for word in (*line[:4], *[""] * (4 - len(line)))]
                for at, line in zip(filled_lines(card), lines, strict=True)
            ]
        )
    return to_ints(rows[:, 0], "node number", filled_lines(card)[first_broken(rows[:, 0])]), rows[:, 1:]


def filled_lines(card: Card) -> list[int]:
    """Numbers of the data lines that are not blank."""
    return [k for k, line in enumerate(card.text.split(b"\n"), card.line + 1) if line.strip()] or [card.line]


def first_broken(values: Floats) -> int:
    """Index of the first number that is not whole; 0 where there is none."""
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST_EXACT) | (values != np.floor(values)))
    return int(bad[0]) if len(bad) else 0


def real(word: str, line: int) -> float:
    return reals([word], line)[0] if word else 0.0


def element_rows(card: Card, n_nodes: int) -> tuple[Ints, Ints]:
    """Element numbers and their node numbers, continued over lines as needed."""
    values = flat_numbers(card)
    if n_nodes == 8 and card.text.strip().partition(b"\n")[0].strip(b", \t").count(b",") == 11:
        values = values.reshape(-1, 12)[:, :9].ravel()  # C3D8I of CalculiX with its inner nodes
    if values.size % (n_nodes + 1):
        what = f"elements of type {card.options.get('TYPE')} need {n_nodes} nodes each"
        raise Damaged(f"{what}; the block has {values.size} numbers", odd_line(card))
    rows = to_ints(values, "number", number_line(card, values)).reshape(-1, n_nodes + 1)
    return rows[:, 0], rows[:, 1:]


def odd_line(card: Card) -> int:
    """The first line with another count of numbers than most lines have."""
    counts = [len([word for word in line if word]) for line in data_lines(card)]
    most = max(set(counts), key=counts.count, default=0)
    odd = next((k for k, count in enumerate(counts[:-1]) if count != most), len(counts) - 1)
    return filled_lines(card)[odd]


def number_line(card: Card, values: Floats) -> int:
    """Line of the first number that is not whole."""
    left = first_broken(values)
    for k, line in enumerate(card.text.decode("utf-8", "replace").split("\n")):
        left -= len([word for word in line.split(",") if word.strip()])
        if left < 0:
            return card.line + 1 + k
    return card.line


def first_numbers(card: Card) -> Ints:
    """First number of each row; lines that go on from one with a comma at its end begin no row."""
    lines = [line.strip() for line in card.text.split(b"\n") if line.strip()]
    rows = [line for k, line in enumerate(lines) if k == 0 or not lines[k - 1].endswith(b",")]
    words = [line.split(b",")[0].strip().decode("utf-8", "replace") for line in rows]
    return np.array([one_int(word, "element number", card.line) for word in words], dtype=np.int64)


def words_to_entries(words: list[str]) -> list[Any]:
    return [
        np.array([int(word)], dtype=np.int64) if word.isdigit() and len(word) < 19 else word.strip('"')
        for word in words
        if word
    ]
