"""What a case file or a recipe says, on one screen: for `flexmbs info`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flexmbs.case.case import Case
from flexmbs.reduce import load_recipe
from flexmbs.toml_file import read_toml


def toml_info(path: Path) -> tuple[str, dict[str, Any]]:
    """Text and data about a TOML file of ours: a case has bodies or joints, a recipe a mesh."""
    table = read_toml(path).data
    if {"bodies", "joints", "include", "analysis"} & set(table) or "mesh" not in table:
        return case_info(path)
    load_recipe(path, {})  # every error of it is named
    data = {"format": "recipe", **table}
    return "\n".join(f"{key:<14} {value}" for key, value in data.items()), data


def case_info(path: Path) -> tuple[str, dict[str, Any]]:
    """Title, analysis, and the parts by name with their types."""
    case = Case.load(path)
    spec, analysis = case.spec, case.spec.analysis
    data: dict[str, Any] = {"format": "case", "title": spec.title, "parameters": case.parameters}
    if analysis is not None:
        data["analysis"] = {"type": analysis.type, "t_end": analysis.t_end, "method": analysis.method}
    for kind in ("bodies", "joints", "couplings", "forces", "sensors"):
        data[kind] = {name: item.type for name, item in getattr(spec, kind).items()}
    data["drives"] = {name: item.joint for name, item in spec.drives.items()}
    data["states"] = {name: str(item.rate) for name, item in spec.states.items()}
    data = {key: value for key, value in data.items() if value}
    return "\n".join(f"{key:<14} {_shown(value)}" for key, value in data.items()), data


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{name} ({item})" if isinstance(item, str) else f"{name} = {item}"
            for name, item in value.items()
        )
    return str(value)
