"""OpenFAST's external platform (ExtPtfm): text with the matrices of six interface freedoms and modes.

Its `FlexASCII` form: a header with the size and the time step of the loads, then blocks `!Mass Matrix`,
`!Stiffness Matrix`, `!Damping Matrix`, each with a line `!Dimension: n` and n rows, then loads over time.
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
#: [s] loads are written at two times so far apart
LONG = 1_000_000


def write(modal: ModalData, path: Path, *, overwrite: bool = False) -> list[str]:
    """Write the file; the body has one interface, at the origin of its frame."""
    if len(modal.interfaces) != 1:
        what = f"{len(modal.interfaces)} interfaces"
        raise UsageError(Diagnostic("exchange.interfaces", modal.source, what, "this format has exactly one"))
    form = boundary_of(modal, held=modal.rigid_modes == 0)
    with atomic_file(path, overwrite) as file:
        file.write(("\n".join(lines_of(form)) + "\n").encode("ascii"))
    place = ", ".join(f"{x:.6g}" for x in form.P[0])
    return [
        f"the interface is at ({place}) m in body axes: the file holds no place",
        "loads of the file are zero: put those of waves, and the weight, in their place",
        NOT_KNOWN,
    ]


def lines_of(form: Boundary) -> Iterator[str]:
    n = len(form.M)
    yield from [
        "!Guyan and Craig-Bampton superelement, made by flexmbs",
        "!Flex 5 format",
        f"!Dimension: {n}",
    ]
    yield f"!Time increment in simulation: {LONG}"
    yield f"!Total simulation time in file: {LONG}"
    for name, title in BLOCKS.items():
        yield from [f"!{title} (N, m, kg, s)", f"!Dimension: {n}"]
        yield from (" ".join(f"{x: .16e}" for x in row) for row in getattr(form, name))
    yield from ["!Loading and Wave Elevation (N, m)", f"!Dimension: 1 time column - {n} force columns"]
    yield from (" ".join([str(t), *["0.0"] * n]) for t in (0, LONG))


def read(path: Path) -> tuple[ModalData, list[str]]:
    """Read the matrices; the interface `frame1` is the origin of the body.

    A structure that is held somewhere keeps the coordinates of the file.
    """
    found: dict[str, Floats] = {}
    lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    k = 0
    while k < len(lines):
        title = lines[k].strip().lstrip("!").strip().lower()  # units may follow
        name = next((key for key, text in BLOCKS.items() if title.startswith(text.lower())), "")
        k += 1
        if name:
            found[name], k = _matrix(path, lines, k)
    missing = [text for key, text in BLOCKS.items() if key not in found]
    if missing:
        raise InputError(
            Diagnostic("exchange.content", path.name, f"there is no !{missing[0]}", "expected three matrices")
        )
    if len({len(A) for A in found.values()}) > 1 or len(found["M"]) < 6:
        what = ", ".join(f"{key} {A.shape}" for key, A in found.items())
        raise InputError(Diagnostic("exchange.content", path.name, what, "expected equal sizes from 6 on"))
    notes = ["the place of the interface is not in the file: it is the origin of the body"]
    notes += ["loads of the file are left out: put them into the case as forces"] * _loaded(path, lines)
    form = Boundary(np.zeros((1, 3)), found["K"], found["M"], found["C"])
    if rigid_motions(path, checked(path, form)[0], form.P)[1] <= GROUNDED:
        return body_from(path, form, "OpenFAST"), [*notes, NOT_KNOWN]
    return held_body(path, form, "OpenFAST"), [*notes, HELD]


def _loaded(path: Path, lines: list[str]) -> bool:
    """Whether some load is not zero; a time stands before those of a line."""
    titles = [
        k for k, line in enumerate(lines) if line.strip().lstrip("!").strip().lower().startswith("loading")
    ]
    rows = enumerate(lines[titles[0] + 1 :], start=titles[0] + 2) if titles else ()
    return any(
        real(word, path, number) != 0.0
        for number, line in rows
        if not line.strip().startswith("!")
        for word in line.split()[1:]
    )


def _matrix(path: Path, lines: list[str], k: int) -> tuple[Floats, int]:
    """A square matrix behind its title, and the line after it."""
    word = lines[k].strip().lstrip("!").partition(":")[2].strip() if k < len(lines) else ""
    if not word.isdigit() or not 0 < int(word) <= MOST:
        raise bad(path, k + 1, lines[k][:80] if k < len(lines) else "the end", "expected !Dimension: n")
    n, rows = int(word), []
    for row in range(k + 1, k + 1 + n):
        words = lines[row].split() if row < len(lines) else []
        if len(words) != n:
            raise bad(path, row + 1, f"{len(words)} numbers", f"expected a row of {n}")
        rows.append([real(x, path, row + 1) for x in words])
    return np.array(rows), k + 1 + n
