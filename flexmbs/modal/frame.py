"""Which part of the motion counts as deformation: tangent or mean-axis conditions (F50)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.modal.basis import Columns
from flexmbs.modal.ties import TiedModel

Floats = NDArray[np.float64]


def parse_frame(text: str, model: TiedModel) -> str:
    """Checked name of the frame: "mean-axis", "tangent:NAME", or "supports" when these leave no motion."""
    word, _, name = text.partition(":")
    names = list(model.interfaces)
    if word not in ("mean-axis", "tangent") or (word == "mean-axis" and name):
        raise InputError(
            Diagnostic("recipe.frame", "frame", f'"{text}"', "choices: mean-axis, tangent:INTERFACE")
        )
    if word == "tangent" and name not in names:
        what = f'there is no interface "{name}"' if name else "tangent needs the name of an interface"
        raise InputError(Diagnostic("recipe.frame", "frame", what, nearest(name, names)))
    if not model.rigid.shape[1]:
        return "supports"
    if word == "tangent" and (model.rigid.shape[1] < 6 or model.interfaces[name].free):
        what = (
            f"the supports leave {model.rigid.shape[1]} rigid motions"
            if model.rigid.shape[1] < 6
            else f"the nodes of {name} do not carry all six directions"
        )
        raise InputError(Diagnostic("recipe.frame", "frame", what, "use mean-axis"))
    return text


def normalised(columns: Columns, M: sp.spmatrix) -> Columns:
    """Columns of unit size in M, so that what remains of them can be judged; massless ones stay."""
    size = np.sqrt(np.maximum(np.einsum("ij,ij->j", columns.U, M @ columns.U), 0.0))
    largest = size.max(initial=0.0)
    return Columns(columns.U / np.where(size > 1e-14 * largest, size, 1.0), columns.names)


def apply_frame(columns: Columns, frame: str, model: TiedModel) -> tuple[Columns, int]:
    """Columns less their rigid part, and how many dependencies this must leave among them (F50).

    Mean axis: the part along the rigid motions in M. Tangent: the motion of the named interface; a column
    that is all of it (the constraint modes of that interface) goes. The columns come of unit size in M.
    """
    if frame == "supports":
        return normalised(columns, model.M), 0
    names = columns.names
    loose = [k for k, name in enumerate(names) if name.startswith("rigid ")]  # gone in any frame
    own = [k for k, name in enumerate(names) if name.startswith(f"constraint {frame.partition(':')[2]} ")]
    clamped = frame.startswith("tangent:") and len(own) == 6
    columns = normalised(without(columns, loose + own if clamped else loose), model.M)
    if frame == "mean-axis":
        part = model.rigid.T @ (model.M @ columns.U)
        spans = any(name.startswith("constraint ") for name in columns.names)
        expected = model.rigid.shape[1] - len(loose) if spans else 0
        return Columns(columns.U - model.rigid @ part, columns.names), expected
    if clamped:
        return columns, 0
    rows = model.rows[frame.partition(":")[2]]
    turn = np.linalg.solve(rows @ model.rigid, rows @ columns.U)
    return Columns(columns.U - model.rigid @ turn, columns.names), len(own)


def without(columns: Columns, drop: list[int]) -> Columns:
    """The columns except those with these indices."""
    keep = [k for k in range(len(columns.names)) if k not in drop]
    return Columns(columns.U[:, keep], tuple(columns.names[k] for k in keep))


def support_of(frame: str, model: TiedModel) -> sp.csr_matrix | None:
    """Coordinates that are held while unit loads are solved (F17): those of the frame."""
    if frame.startswith("tangent:"):
        return model.rows[frame.partition(":")[2]]
    return None
