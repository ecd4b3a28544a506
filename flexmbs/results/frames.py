"""Results as xarray trees and pandas tables (optional extra `data`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs.errors import missing_component


def to_xarray(result: Any) -> Any:
    """The datasets of a result as an `xarray.DataTree`, with the file's groups as nodes."""
    try:
        import xarray
    except ImportError:
        raise missing_component("to_xarray", "xarray", "data") from None
    groups: dict[str, dict[str, Any]] = {"": {}}
    for path in result.paths:
        if path.startswith("checkpoint/"):
            continue
        folder, _, name = path.rpartition("/")
        value, attributes = np.asarray(result[path]), _clean(result.attributes_of(path))
        dims = _dimensions(result, path, value)
        if dims == (name,) and "labels" in attributes and len(attributes["labels"]) == len(value):
            value = np.asarray(attributes.pop("labels"))  # so that .sel(xyz="x") works
        groups.setdefault(folder, {})[name] = (dims, value, attributes)
    datasets = {}
    for folder, variables in groups.items():
        coordinates = {name: item for name, item in variables.items() if item[0] == (name,)}
        data = {name: item for name, item in variables.items() if name not in coordinates}
        datasets["/" + folder] = xarray.Dataset(data, coordinates)
    datasets["/"].attrs.update(_clean(result.attributes))
    return xarray.DataTree.from_dict(datasets)


def _dimensions(result: Any, path: str, value: np.ndarray) -> tuple[str, ...]:
    """Last names of the scales; a scale is its own dimension, loose dimensions carry the dataset's name."""
    own = path.rpartition("/")[2]
    names = []
    for axis, dimension in enumerate(result.dimensions(path)):
        loose = dimension.startswith("dim_")
        names.append(f"{own}_{axis}" if loose else dimension.rpartition("/")[2])
    return tuple(names)


def _clean(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value != "" or name == "message"}


def to_pandas(result: Any) -> Any:
    """All histories side by side; columns `bodies.rod.position.x`, `bodies.rod.q[0]`."""
    try:
        import pandas
    except ImportError:
        raise missing_component("to_pandas", "pandas", "data") from None
    columns: dict[str, np.ndarray] = {}
    for path in result.paths:
        if path == "time" or path.startswith(("checkpoint/", "events/")):
            continue
        if result.dimensions(path)[:1] != ("time",):
            continue
        columns |= _columns(path.replace("/", "."), np.asarray(result[path]), result.attributes_of(path))
    return pandas.DataFrame(columns, index=pandas.Index(result["time"], name="time"))


def _columns(name: str, values: np.ndarray, attributes: dict[str, Any]) -> dict[str, np.ndarray]:
    if values.ndim == 1:
        return {name: values}
    labels = attributes.get("components", [])
    columns = {}
    for index in np.ndindex(values.shape[1:]):
        if len(labels) == values.shape[-1] and values.ndim == 2:
            label = f".{labels[index[0]]}"
        else:
            label = "".join(f"[{k}]" for k in index)
        columns[name + label] = values[(slice(None), *index)]
    return columns
