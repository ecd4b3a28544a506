"""OpenFAST's external platform (ExtPtfm): text with the matrices of six interface freedoms and modes.

A header with the size n, then blocks `!Mass Matrix`, `!Stiffness Matrix`, `!Damping Matrix` of n rows. From
OpenFAST 5 on rows stand right behind the title, and weights follow (a constant, a stiffness); up to 4 (form
`FlexASCII`) one line stands between them, and loads over time follow. Neither reads files of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.disk import atomic_file
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.exchange.boundary import (
    GROUNDED,
    HELD,
    NOT_KNOWN,
    Boundary,
    body_from,
    boundary_of,
    checked,
    held_body,
    rigid_motions,
)
from flexmbs.exchange.given import bad, real
from flexmbs.modaldata import ModalData

Floats = NDArray[np.float64]

BLOCKS = {"M": "Mass Matrix", "K": "Stiffness Matrix", "C": "Damping Matrix"}
MOST = 2000
NEWEST, VERSIONS = 5, frozenset({4, 5})
#: [s] loads are written at two times so far apart
LONG = 1_000_000


def write(modal: ModalData, path: Path, *, overwrite: bool = False, openfast: int = NEWEST) -> list[str]:
    """Write the file for a version of OpenFAST; the body has one interface, at the origin of its frame."""
    if openfast not in VERSIONS:
        what = f"OpenFAST {openfast}"
        raise UsageError(Diagnostic("exchange.option", "openfast", what, "choose 5, or 4 for all before"))
    if len(modal.interfaces) != 1:
        what = f"{len(modal.interfaces)} interfaces"
        raise UsageError(Diagnostic("exchange.interfaces", modal.source, what, "this format has exactly one"))
    form = boundary_of(modal, held=modal.rigid_modes == 0)
    with atomic_file(path, overwrite) as file:
        file.write(("\n".join(lines_of(form, openfast)) + "\n").encode("ascii"))
    place = ", ".join(f"{x:.6g}" for x in form.P[0])
    return [
        f"the interface is at ({place}) m in body axes: the file holds no place",
        f"it is for OpenFAST {openfast}; the other form is that of OpenFAST {min(VERSIONS - {openfast})}",
        "weights and loads of the file are zero: put them in their place",
        NOT_KNOWN,
    ]


def lines_of(form: Boundary, openfast: int = NEWEST) -> Iterator[str]:
    n = len(form.M)
    yield from [
        "!Guyan and Craig-Bampton superelement, made by flexmbs",
        "!Flex 5 format",
        f"!Dimension: {n}",
    ]
    old = openfast < NEWEST
    if old:
        yield f"!Time increment in simulation: {LONG}"
        yield f"!Total simulation time in file: {LONG}"
    for name, title in BLOCKS.items():
        yield from [f"!{title} (N, m, kg, s)", *[f"!Dimension: {n}"] * old]
        yield from (" ".join(f"{x: .16e}" for x in row) for row in getattr(form, name))
    zeros = " ".join(["0.0"] * n)
    if old:
        yield from ["!Loading and Wave Elevation (N, m)", f"!Dimension: 1 time column - {n} force columns"]
        yield from (f"{t} {zeros}" for t in (0, LONG))
    else:
        yield from ["!Weight constant (N, m)", zeros, "!Weight stiffness (N, m)", *[zeros] * n]


def read(path: Path) -> tuple[ModalData, list[str]]:
    """Read the matrices; the interface `frame1` is the origin of the body.

    A structure that is held somewhere keeps the coordinates of the file.
    """
    found: dict[str, Floats] = {}
    lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    k, size = 0, 0  # size: said last, in the header or behind a title
    while k < len(lines):
        title = _title(lines[k])  # units may follow
        size = _size(path, k, title, size)
        name = next((key for key, text in BLOCKS.items() if title.startswith(text.lower())), "")
        k += 1
        if name:
            found[name], size, k = _matrix(path, lines, k, size)
    missing = [text for key, text in BLOCKS.items() if key not in found]
    if missing:
        raise InputError(
            Diagnostic("exchange.content", path.name, f"there is no !{missing[0]}", "expected three matrices")
        )
    if len({len(A) for A in found.values()}) > 1 or len(found["M"]) < 6:
        what = ", ".join(f"{key} {A.shape}" for key, A in found.items())
        raise InputError(Diagnostic("exchange.content", path.name, what, "expected equal sizes from 6 on"))
    notes = ["the place of the interface is not in the file: it is the origin of the body"]
    notes += [
        f"{title}s of the file are left out: put them into the case as forces"
        for title, time in (("load", 1), ("weight", 0))
        if _loaded(path, lines, title, time)
    ]
    form = Boundary(np.zeros((1, 3)), found["K"], found["M"], found["C"])
    if rigid_motions(path, checked(path, form)[0], form.P)[1] <= GROUNDED:
        return body_from(path, form, "OpenFAST"), [*notes, NOT_KNOWN]
    return held_body(path, form, "OpenFAST"), [*notes, HELD]


def _title(line: str) -> str:
    """What stands behind the exclamation mark of a title or comment, lower case; nothing of other lines."""
    word = line.strip()
    return word[1:].strip().lower() if word.startswith("!") else ""


def _size(path: Path, k: int, title: str, size: int) -> int:
    """The size that a line `!Dimension: n` says, or the one that was said before."""
    name, _, number = title.partition(":")
    if name.strip() != "dimension" or not number.strip().isdigit():
        return size
    if not 0 < int(number) <= MOST:
        raise bad(path, k + 1, number.strip()[:80], f"expected a size up to {MOST}")
    return int(number)


def _loaded(path: Path, lines: list[str], what: str, before: int) -> bool:
    """Whether a number of the blocks so titled is not zero; `before` of a line are no loads, but time."""
    inside = False
    for k, line in enumerate(lines):
        title = _title(line)
        if title and not title.startswith("dimension"):
            inside = title.startswith(what)
        elif inside and not title:
            if any(real(word, path, k + 1) != 0.0 for word in line.split()[before:]):
                return True
    return False


def _matrix(path: Path, lines: list[str], k: int, size: int) -> tuple[Floats, int, int]:
    """A square matrix behind its title, its size, and the line after it."""
    while k < len(lines) and _title(lines[k]):  # a size, or a comment
        size = _size(path, k, _title(lines[k]), size)
        k += 1
    if not size:
        raise bad(
            path, k + 1, lines[k][:80] if k < len(lines) else "the end", "expected !Dimension: n before"
        )
    rows = []
    for row in range(k, k + size):
        words = lines[row].split() if row < len(lines) else []
        if len(words) != size:
            raise bad(path, row + 1, f"{len(words)} numbers", f"expected a row of {size}")
        rows.append([real(x, path, row + 1) for x in words])
    return np.array(rows), size, k + size
