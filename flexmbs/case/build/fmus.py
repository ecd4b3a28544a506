"""Models of other programs in a case: only with the user's leave, and without algebraic loops."""

from __future__ import annotations

import re

from flexmbs.case.build.report import Report
from flexmbs.case.schema.signals import FmuTable
from flexmbs.errors import InputError, nearest
from flexmbs.expressions import Expression
from flexmbs.input.values import NAME
from flexmbs.model.model import Fmu, Input, Model


def add_fmu(report: Report, model: Model, name: str, table: FmuTable) -> None:
    """An FMU with its outputs as inputs of the model; its own inputs are added when names are known."""
    path = ("inputs", name)
    if not report.allow_python:
        what = f'the program in "{table.file}" runs only with --allow-python'
        report.fail((*path, "file"), what, "give that option if you trust the file", code="case.python")
        return
    try:
        from flexmbs.exchange.fmi import described  # other formats come with it, 0.1 s of every start

        told = described(report.source.file((*path, "file"), table.file))
    except InputError as error:
        report.fail(
            (*path, "file"), error.diagnostics[0].what, error.diagnostics[0].remedy, code="fmu.description"
        )
        return
    outputs = table.outputs
    if outputs is None:  # those whose names are words
        outputs = {item: item for item in told.outputs if re.fullmatch(NAME, item)}
    asked = (
        ("inputs", table.inputs, told.inputs),
        ("parameters", table.parameters, told.parameters),
        ("outputs", outputs.values(), told.outputs),
    )
    for key, given, known in asked:
        for item in given:
            if item not in known:
                what = f'"{table.file}" has no {key[:-1]} "{item}"'
                report.fail((*path, key), what, nearest(item, list(known)))
                return
    parameters = {key: float(value) for key, value in table.parameters.items()}
    step = float(table.step)
    model.fmus[name] = Fmu(name=name, told=told, step=step, outputs=dict(outputs), parameters=parameters)
    for output in outputs:
        model.inputs[f"{name}.{output}"] = Input(name=f"{name}.{output}")


def check_fmus(report: Report, model: Model) -> None:
    """No output may follow at once from itself, through whatever FMUs: each is asked only once in a step."""
    after: dict[str, set[str]] = {}
    for name, fmu in model.fmus.items():
        for output, own in fmu.outputs.items():
            inputs = fmu.told.direct.get(own, frozenset(fmu.told.inputs))
            laws = [fmu.inputs[key] for key in inputs if isinstance(fmu.inputs.get(key), Expression)]
            found = {node.label for law in laws for node in law.names.values()}
            after[f"inputs.{name}.{output}"] = {label for label in found if label.startswith("inputs.")}
    for first in after:
        chain = _way_back(after, first)
        if chain:
            where = ("inputs", first.split(".")[1])
            what = f"algebraic loop: {' -> '.join(chain)}: each follows from the one before at once"
            report.fail(where, what, "put a delay or a first-order state between them", code="fmu.loop")
            return


def _way_back(after: dict[str, set[str]], first: str) -> list[str]:
    """The names on a way from an output to itself, against the dependencies; nothing where there is none."""
    ways = [[first]]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        for label in sorted(after.get(way[-1], ())):
            if label == first:
                return [*way, first][::-1]
            if label not in seen:
                seen.add(label)
                ways.append([*way, label])
    return []
