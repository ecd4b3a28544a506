"""Arrays by their symbols in files: `.h5` with names of rows and columns, `.npz` with numbers alone."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import disk, hdf5
from flexmbs.dynamics.symbols import Symbols
from flexmbs.errors import Diagnostic, SolverError, UsageError

FORMAT, VERSION = "flexmbs-matrices", 1
#: forms of the equations of the whole system
FORMS = ("minimal", "descriptor")


def save(found: Any, path: Path, bodies: Iterable[str] | None, overwrite: bool) -> list[str]:
    """Write the arrays of `Matrices`; returns a sentence for each form that the state does not have."""
    if path.suffix not in (".h5", ".npz"):
        what = f'"{path.suffix}" is no kind of file for arrays'
        raise UsageError(Diagnostic("matrices.file", str(path), what, "name it .h5 or .npz"))
    lost: list[str] = []
    groups = list(found.groups(bodies))
    groups += list(whole(found, lost)) if bodies is None else []
    if path.suffix == ".h5":
        write_h5(path, groups, found.t, overwrite)
    else:
        write_npz(path, groups, found.t, overwrite)
    return lost


def whole(found: Any, lost: list[str]) -> Iterator[tuple[str, Symbols]]:
    """Minimal and descriptor form, where the state has them."""
    for form in FORMS:
        try:
            yield form, getattr(found, form)
        except (SolverError, np.linalg.LinAlgError) as error:
            lost.append(f"{form} form: {error}")


def write_h5(path: Path, groups: list[tuple[str, Symbols]], t: float, overwrite: bool) -> None:
    """A group per path; attributes `symbol`, `equation`, `long_name`, `rows`, `columns` of every array."""

    def fill(file: Any) -> None:
        hdf5.attributes(file, t=t)
        for place, symbols in groups:
            group = file.require_group(place)
            hdf5.attributes(group, title=symbols.title)
            for item in symbols.symbols():
                n = item.notation
                named: dict[str, Any] = {"symbol": n.text, "latex": n.latex, "long_name": n.what}
                named |= {key: list(names) for key in ("rows", "columns") if (names := getattr(item, key))}
                hdf5.dataset(group, item.name, item.value, equation=n.equation, **named)

    hdf5.build_file(path, fill, format=FORMAT, version=VERSION, overwrite=overwrite)


def write_npz(path: Path, groups: list[tuple[str, Symbols]], t: float, overwrite: bool) -> None:
    """Arrays under `path/name`; `numpy.load(path)["bodies/rod/M_star"]`."""
    arrays: dict[str, Any] = {
        f"{place}/{item.name}": item.value for place, symbols in groups for item in symbols.symbols()
    }
    buffer = io.BytesIO()
    np.savez(buffer, t=np.array(t), **arrays)
    with disk.atomic_file(path, overwrite, zipfile.is_zipfile) as raw:
        raw.write(buffer.getvalue())
