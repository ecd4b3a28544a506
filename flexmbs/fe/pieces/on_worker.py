"""What a worker of a cluster does for a factor: its pieces, and their part of a pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from flexmbs import __version__
from flexmbs.errors import InputError
from flexmbs.fe.pieces.elimination import Eliminated, Front, eliminate, panels_of
from flexmbs.fe.pieces.mapped import kept, storing_in
from flexmbs.fe.solve.substitution import Substitution
from flexmbs.fe.solve.symbolic import Symbolic

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: the memory of a worker, among its resources
MEMORY = "flexmbs-memory"


class Gone(Exception):
    """A worker was asked for a piece that it has not."""


@dataclass
class Kept:
    """A piece that this process has eliminated; its numbers are in files of the worker's folder."""

    made: Eliminated
    shape: Symbolic
    n_own: int
    n_columns: int
    half: dict[int, Floats] = field(default_factory=dict)


_PIECES: dict[tuple[str, int], Kept] = {}


def memory_of(dask_worker: Any) -> float:
    """Bytes that a worker may take."""
    limit = dask_worker.memory_manager.memory_limit
    if limit:
        return float(limit)
    from distributed.system import MEMORY_LIMIT

    return float(MEMORY_LIMIT)


def version() -> str:
    return str(__version__)


def _folder() -> tuple[str, Path]:
    from distributed import get_worker

    worker = get_worker()
    return worker.address, Path(worker.local_directory)


def eliminated(
    name: str, k: int, front: Front, tiny: float, boundaries: list[Ints], *rests: Floats
) -> tuple[str, Floats | None]:
    """Eliminate a piece and keep it: the worker, and signs of the columns, or none where its disk is full."""
    address, folder = _folder()
    children = [(b, panels_of(rest, len(b))) for b, rest in zip(boundaries, rests, strict=True)]
    with threadpool_limits(1):
        made = eliminate(front, tiny, children)
    try:
        with storing_in(folder):
            made = Eliminated(kept(made.panels), made.sign, kept(made.rest))
    except InputError:
        return address, None
    _PIECES[name, k] = Kept(made, front.shape, front.n_own, front.n_columns)
    return address, made.sign


def _piece(name: str, k: int) -> Kept:
    try:
        return _PIECES[name, k]
    except KeyError:
        raise Gone(f"piece {k}") from None


def rest(name: str, k: int) -> Floats:
    """What a piece left on its boundary."""
    return np.array(_piece(name, k).made.rest)


def forward(name: str, k: int, own: Floats, places: list[Ints], *below: Floats) -> Floats:
    """Half of a solution at the columns of a piece, which stays here, and what that gives to its boundary."""
    piece = _piece(name, k)
    X = np.zeros((piece.shape.n, own.shape[1]))
    X[: len(own)] = own
    for place, values in zip(places, below, strict=True):
        X[place] += values
    through = Substitution(piece.shape, X)
    through.forward(0, piece.n_own, piece.made.panels)
    X = through.values()
    piece.half[0] = X[: len(own)] * piece.made.sign[:, None]
    return X[len(own) :].copy()


def backward(name: str, k: int, place: Ints | None, above: Floats | None, up: Any) -> Floats:
    """The solution at the columns of a piece and at its boundary, which the piece above knows."""
    piece = _piece(name, k)
    half = piece.half.pop(0)
    X = half if above is None else np.concatenate([half, above[place]])
    through = Substitution(piece.shape, X)
    through.backward(0, piece.n_own, piece.made.panels)
    return through.values()


def forget(name: str) -> None:
    """Give the files of a factor back."""
    for key in [key for key in _PIECES if key[0] == name]:
        del _PIECES[key]


def forget_all_but(clients: list[str]) -> None:
    """Give back factors whose commands are gone; their names begin with those of clients."""
    for key in [key for key in _PIECES if key[0].split()[0] not in clients]:
        del _PIECES[key]
