"""K_fe, M_fe -> free modes with residual attachment modes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexmbs.fe.pieces.mapped import kept
from flexmbs.modal.basis import Columns
from flexmbs.modal.eigen import Modes, modes_of
from flexmbs.modal.statics import Statics

Progress = Callable[[float, str], None]


def free_interface(
    statics: Statics, n: int | None, fmax: float | None, progress: Progress | None = None
) -> tuple[Columns, Columns, Modes]:
    """Rigid motions with attachment modes, free modes, and the eigenpairs behind the latter.

    An attachment mode is the response to a unit load at an interface coordinate, by inertia relief where the
    body is free. Less what the chosen modes carry it is a residual one; the space is the same.
    """
    model = statics.model
    free = statics.holding()
    modes = modes_of(free, n, fmax, progress)
    C = model.boundary
    attachment = free.respond(C.T.toarray()) if C.shape[0] else np.zeros((model.n, 0))
    labels = tuple(f"rigid {k + 1}" for k in range(free.loose.shape[1]))
    labels += tuple(f"attachment {name}" for name in model.boundary_names)
    word = "free" if model.rigid.shape[1] else "supported"
    dynamic = Columns(modes.V, tuple(f"{word} {k + 1}" for k in range(modes.V.shape[1])))
    return Columns(kept(np.concatenate([free.loose, attachment], axis=1)), labels), dynamic, modes
