"""What `flexmbs stress` found -> HDF5 or CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import disk, hdf5
from flexmbs.errors import Diagnostic, UsageError
from flexmbs.post.recovery import Recovery, histories
from flexmbs.post.stress import RANGES

FORMAT, VERSION = "flexmbs-stress", 1


def check_output(path: str | None, overwrite: bool) -> None:
    """Refuse an output before the work for it begins."""
    if path is None:
        return
    kind = Path(path).suffix
    if kind not in (".h5", ".csv"):
        raise UsageError(Diagnostic("stress.kind", path, f'"{kind}" is not offered', "choices: .h5, .csv"))
    disk.check_target(path, overwrite, *([hdf5.of_format(FORMAT)] if kind == ".h5" else []))


def write_files(
    path: str | None,
    found: Recovery,
    points: Sequence[int],
    yield_stress: float | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write what the ending of `path` says: all as HDF5, the envelope as CSV; nothing without a path."""
    check_output(path, overwrite)
    if path is None:
        return
    if path.endswith(".csv"):
        write_table(path, found)
    else:
        write_recovery(path, found, points, yield_stress)


def write_recovery(
    path: str | Path, found: Recovery, points: Sequence[int], yield_stress: float | None = None
) -> None:
    """HDF5: envelope at all points, hot spots, histories at the hot spots and at the points asked for."""
    chosen = list(dict.fromkeys([*map(int, found.spots), *points]))

    def fill(root: Any) -> None:
        axis = hdf5.scale(root, "number", found.number)
        time = hdf5.scale(root, "time", found.time, "s")
        xyz = hdf5.scale(root, "xyz", np.arange(3))
        component = hdf5.scale(root, "component", np.arange(6))
        order = hdf5.scale(root, "order", np.arange(3))
        hdf5.dataset(root, "place", found.places, units="m", scales=[axis, xyz])
        group = root.create_group("envelope")
        for k, name in enumerate(RANGES):
            hdf5.dataset(group, name, found.envelope.value[k], units="Pa", scales=[axis], equation="F53")
            hdf5.dataset(
                group, f"{name}_time", found.time[found.envelope.sample[k]], units="s", scales=[axis]
            )
        if yield_stress is not None:
            size = np.maximum(found.envelope.von_mises, np.finfo(float).tiny)
            hdf5.dataset(group, "safety", yield_stress / size, scales=[axis], yield_stress=yield_stress)
        hdf5.dataset(root, "hot_spots", found.number[found.spots])
        for name, values in histories(found, chosen).items():
            node = root.create_group(f"history/{name}")
            for word, data in values.items():
                last = {"principal": [order], "stress": [component], "strain": [component]}.get(word, [])
                units = "1" if word == "strain" else "Pa"
                hdf5.dataset(node, word, data, units=units, scales=[time, *last])
        hdf5.attributes(component, labels=["xx", "yy", "zz", "xy", "yz", "zx"])
        hdf5.attributes(root, body=found.body, at=found.at)

    hdf5.build_file(path, fill, format=FORMAT, version=VERSION, overwrite=True)


def write_table(path: str | Path, found: Recovery) -> None:
    """The envelope of all points as CSV."""
    names = ["number", "x", "y", "z", *RANGES, *(f"{name}_time" for name in RANGES)]
    rows = np.column_stack(
        [found.number, found.places, found.envelope.value.T, found.time[found.envelope.sample].T]
    )
    with disk.atomic_file(Path(path), overwrite=True) as raw:
        raw.write((",".join(names) + "\n").encode())
        for start in range(0, len(rows), 10000):
            lines = [
                f"{int(row[0])}," + ",".join(f"{value:.9g}" for value in row[1:])
                for row in rows[start : start + 10000]
            ]
            raw.write(("\n".join(lines) + "\n").encode())
