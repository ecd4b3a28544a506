"""What a case file or a recipe says, on one screen: for `flexmbs info`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flexmbs.case.build.reduction import is_reduced
from flexmbs.case.case import Case
from flexmbs.case.check import assembled, counted
from flexmbs.case.schema.signals import InputTable
from flexmbs.errors import FlexmbsError
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
    data["inputs"] = {
        name: f"{item.default} {item.unit}" if isinstance(item, InputTable) else item.file
        for name, item in spec.inputs.items()
    }
    data = {key: value for key, value in data.items() if value}
    text = [f"{key:<14} {_shown(value)}" for key, value in data.items()]
    lines, data["mechanism"] = _mechanism(case)
    return "\n".join([*text, "mechanism", *(f"  {line}" for line in lines)]), data


def _mechanism(case: Case) -> tuple[list[str], dict[str, Any]]:
    """The counts as `check` finds them, or why there are none; nothing is reduced for it."""
    waiting = [
        name
        for name, body in case.spec.bodies.items()
        if (recipe := getattr(body, "reduce", None)) is not None
        and not is_reduced(
            case.source.file(("bodies", name, "reduce"), recipe),
            getattr(body, "recipe", {}),
            case.parameters,
            case.source.root,
        )  # fmt: skip
    ]
    if waiting:
        text = f"not counted: bodies.{', bodies.'.join(waiting)} must be reduced first; flexmbs check does"
        return [text], {"reason": text}
    try:
        found = assembled(case)
    except FlexmbsError as error:
        lines = [f"not assembled: {item}" for item in error.diagnostics[:10]]
        return lines, {"reason": "\n".join(lines)}
    return found.lines(), counted(found.counts)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{name} ({item})" if isinstance(item, str) else f"{name} = {item}"
            for name, item in value.items()
        )
    return str(value)
