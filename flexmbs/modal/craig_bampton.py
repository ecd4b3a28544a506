"""K_fe, M_fe, interfaces -> constraint modes and fixed-interface modes (Craig-Bampton)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.pieces.mapped import kept
from flexmbs.modal.basis import Columns
from flexmbs.modal.eigen import Modes, modes_of
from flexmbs.modal.statics import Constrained, Statics

Floats = NDArray[np.float64]
Progress = Callable[[float, str], None]


def fixed_interface_modes(
    held: Constrained, n: int | None, fmax: float | None, progress: Progress | None = None
) -> Modes:
    """Eigenmodes of the body with all its interface coordinates held."""
    return modes_of(held, n, fmax, progress)


def constraint_modes(held: Constrained, names: list[str]) -> Columns:
    """Static responses to unit interface coordinates, and the rigid motions that these leave."""
    Psi = held.respond(d=np.eye(held.C.shape[0])) if held.C.shape[0] else np.zeros((held.model.n, 0))
    left = [f"rigid {k + 1}" for k in range(held.loose.shape[1])]
    labels = tuple(f"constraint {name}" for name in names) + tuple(left)
    return Columns(kept(np.concatenate([Psi, held.loose], axis=1)), labels)


def craig_bampton(
    statics: Statics, n: int | None, fmax: float | None, progress: Progress | None = None
) -> tuple[Columns, Columns, Modes]:
    """Static columns, dynamic columns, and the fixed-interface eigenpairs behind the latter.

    Without interfaces these are the free modes (or those of the supports).
    """
    model = statics.model
    held = statics.holding(model.boundary)
    static = constraint_modes(held, model.boundary_names)
    modes = fixed_interface_modes(held, n, fmax, progress)
    word = "fixed-interface" if model.interfaces else "free" if model.rigid.shape[1] else "supported"
    dynamic = Columns(modes.V, tuple(f"{word} {k + 1}" for k in range(modes.V.shape[1])))
    return static, dynamic, modes
