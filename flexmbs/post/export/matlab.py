"""Results for Matlab and Octave (.mat, version 5), and for Modelica tools (`_res.mat`, version 4)."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.disk import atomic_file
from flexmbs.errors import Diagnostic, InputError
from flexmbs.post.channels import Channel, catalogue, select
from flexmbs.post.record import Record

#: what a variable of version 5 may hold: lengths in it are 32 bit numbers
MOST_BYTES = 2**31 - 1
LONGEST_NAME = 63


def write_mat(path: Path, record: Record, patterns: Sequence[str] = (), most: int = MOST_BYTES) -> int:
    """Struct `result` by the groups of the file, time along the first axis, and `units` alike.

    `patterns` choose datasets. Signs that no field name has become `_`.
    """
    from scipy.io import savemat

    channels = select(record, patterns) if patterns else catalogue(record)
    units: dict[str, str] = {"time": "s"}
    for channel in channels:
        units.setdefault(channel.path, record.unit(channel.path))
    size = sum(8 * record.n_samples * int(np.prod(record.result.shape_of(name)[1:])) for name in units)
    if size > most:
        what = f"{size / 2**30:.3g} GiB of numbers are more than a .mat file of version 5 holds"
        remedy = "choose some with --channel; Matlab reads the result itself by h5read"
        raise InputError(Diagnostic("export.size", str(path), what, remedy))
    result: dict[str, Any] = {}
    texts: dict[str, Any] = {}
    for name, unit in units.items():
        values = record.time[:, None] if name == "time" else np.asarray(record.require(name))
        _put(result, name, values, path)
        _put(texts, name, unit or "1", path)
    buffer = io.BytesIO()
    savemat(buffer, {"result": result, "units": texts}, long_field_names=True, oned_as="column")
    with atomic_file(path, overwrite=True) as raw:
        raw.write(buffer.getvalue())
    return len(units) - 1


def _put(tree: dict[str, Any], name: str, value: Any, path: Path) -> None:
    """Put a value into a tree of structs; two names that become one are an error."""
    *groups, last = (_field(word) for word in name.split("/"))
    for group in groups:
        tree = tree.setdefault(group, {})
    if last in tree:
        what = f'"{name}" has the same name in Matlab as another dataset'
        raise InputError(
            Diagnostic("export.name", str(path), what, "rename one, or choose others with --channel")
        )
    tree[last] = value


def _field(word: str) -> str:
    """A name as Matlab's fields have it."""
    found = re.sub(r"[^A-Za-z0-9_]", "_", word)[:LONGEST_NAME]
    return found if found[:1].isalpha() else f"x_{found}"[:LONGEST_NAME]


def write_modelica(path: Path, record: Record, patterns: Sequence[str] = ()) -> int:
    """Trajectories by Aclass, name, description, dataInfo, data_1, data_2, as of Dymola and OpenModelica.

    Stored by columns ("binTrans"): a column for each name, a column for each time. Constant channels stand in
    data_1, at the first and last time.
    """
    from scipy.io import savemat

    channels: list[Channel] = select(record, patterns) if patterns else catalogue(record)
    values = [channel.values(record) for channel in channels]
    same = [bool(np.all(x == x[0])) for x in values]
    ends = record.time[[0, -1]]
    fixed = [ends, *(np.full(2, x[0]) for x, still in zip(values, same, strict=True) if still)]
    moving = [record.time, *(x for x, still in zip(values, same, strict=True) if not still)]
    info, rows = [[0, 1, 0, -1]], [1, 1]
    for still in same:
        table = 1 if still else 2
        rows[table - 1] += 1
        info.append([table, rows[table - 1], 0, -1])
    names = ["time", *(channel.name for channel in channels)]
    told = ["Time in [s]", *(f"{c.path}{f' [{c.unit}]' if c.unit else ''}" for c in channels)]
    buffer = io.BytesIO()
    tables = {
        "Aclass": np.array(["Atrajectory", "1.1", "", "binTrans"]),
        "name": _columns(names),
        "description": _columns(told),
        "dataInfo": np.array(info, dtype=np.int32).T,
        "data_1": np.array(fixed),
        "data_2": np.array(moving),
    }
    savemat(buffer, tables, format="4")
    with atomic_file(path, overwrite=True) as raw:
        raw.write(buffer.getvalue())
    return len(channels)


def _columns(texts: Sequence[str]) -> np.ndarray:
    """A matrix of letters with a text in each column; given by rows, as SciPy takes it."""
    width = max(map(len, texts))
    return np.array(["".join(row) for row in zip(*(text.ljust(width) for text in texts), strict=True)])
