"""What a case asks of its result: [metrics] are computed, [expected] values compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.case.build.model import frames_of
from flexmbs.case.case import Case
from flexmbs.channels import ending, read_name, with_short
from flexmbs.errors import Diagnostic, Diagnostics, InputError, nearest
from flexmbs.expressions import Expression, ExpressionError, Node, parse
from flexmbs.input.problems import dotted
from flexmbs.model.bodies import FlexibleBody
from flexmbs.model.model import Model
from flexmbs.results.channels import find

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """One line of [expected]: within `atol + rtol |expected|`, or not."""

    channel: str
    found: float
    expected: float
    tolerance: float

    @property
    def error(self) -> float:
        return abs(self.found - self.expected)

    @property
    def passed(self) -> bool:
        return bool(self.error <= self.tolerance)

    def __str__(self) -> str:
        verdict = "ok" if self.passed else "FAILED"
        return (
            f"{verdict:<6} {self.channel} = {self.found:.10g}, expected {self.expected:.10g} "
            f"(error {self.error:.2e}, tolerance {self.tolerance:.2e})"
        )


def series(result: Any, node: Node) -> Array:
    """Values of a channel with the time last; indices pick components first, then the time.

    An axis of one coordinate (a revolute joint) may be left out: `main.position[-1]` is its last value.
    """
    path, component = find(result, node.text)
    values = np.asarray(result[path], dtype=float)
    if component is not None:
        values = values[..., component]
    if result.dimensions(path)[:1] == ("time",):
        values = np.moveaxis(values, 0, -1)
        while values.ndim > 1 and values.shape[0] == 1 and len(node.index) < values.ndim:
            values = values[0]
    try:
        return values[node.index] if node.index else values
    except IndexError:
        what = f'"{node.label}" is out of range: components and times are {values.shape}'
        raise ExpressionError(what, node.column) from None


def evaluate(expression: Expression, result: Any) -> Any:
    """Value of an expression of result channels."""

    def lookup(node: Node) -> Any:
        try:
            return series(result, node)
        except InputError as error:
            raise ExpressionError(error.diagnostics[0].what, node.column) from None

    return expression.evaluate(lookup)


def metrics(case: Case, result: Any) -> dict[str, float]:
    """Values of [metrics]; each must be one number."""
    found, problems = {}, Diagnostics()
    for name, law in case.spec.metrics.items():
        where = case.source.where(("metrics", name))
        try:
            value = np.asarray(evaluate(law, result))
            if value.size == 1:
                found[name] = float(value.reshape(()))
            else:
                what = f"metrics.{name}: is {value.size} numbers, not one"
                problems.error("case.metric", where, what, "take max(...), min(...) or an index")
        except ExpressionError as error:
            problems.error("case.metric", where, f"metrics.{name}: {error}")
    problems.raise_errors()
    return found


def comparisons(case: Case, result: Any, values: dict[str, float] | None = None) -> list[Comparison]:
    """Every line of [expected] against the result; `values` are the metrics, where not in the result."""
    rows, problems = [], Diagnostics()
    values = metrics(case, result) if values is None else values
    for channel, item in case.spec.expected.items():
        try:
            found = _scalar(channel, result, values)
        except ExpressionError as error:
            where = case.source.where(("expected", channel), key=True)
            problems.error("case.expected", where, f'expected."{channel}": {error}')
            continue
        rows.append(Comparison(channel, found, item.value, item.atol + item.rtol * abs(item.value)))
    problems.raise_errors()
    return rows


def _scalar(channel: str, result: Any, values: dict[str, float]) -> float:
    name = channel.removeprefix("metrics.")
    if name in values:
        return values[name]
    value = np.asarray(evaluate(parse(channel), result))
    if value.size != 1:
        raise ExpressionError(f"is {value.shape} numbers; give a component and a time, such as [0][-1]")
    return float(value.reshape(()))


def check_channels(case: Case, model: Model) -> list[Diagnostic]:
    """Channels of [metrics], [expected] and of outputs that the result will not have, before the run."""
    problems = Diagnostics()
    paths = list(result_paths(model, case))
    analysis = case.spec.analysis
    for k, text in enumerate(analysis.outputs if analysis is not None else ()):
        _check_name(case, ("analysis", "outputs", k), text.partition("[")[0], model, paths, problems)
    for name, law in case.spec.metrics.items():
        _check(case, ("metrics", name), law, model, paths, problems)
    for channel in case.spec.expected:
        if channel.removeprefix("metrics.") in case.spec.metrics:
            continue
        try:
            _check(case, ("expected", channel), parse(channel), model, paths, problems)
        except ExpressionError as error:
            where = case.source.where(("expected", channel), key=True)
            problems.error("case.expected", where, f'expected."{channel}": {error}')
    return problems.items


def _check(
    case: Case, path: Any, law: Expression, model: Model, paths: list[str], problems: Diagnostics
) -> None:
    for node in law.names.values():
        _check_name(case, path, node.text, model, paths, problems)


def _check_name(
    case: Case, path: Any, name: str, model: Model, paths: list[str], problems: Diagnostics
) -> None:
    words = read_name(name).words
    if ending(paths, words) or ending(paths, words[:-1]):  # the last may name a component
        return
    body, frame = [*words[words[0] == "bodies" :], "", ""][:2]
    remedy = nearest(name, with_short(paths))
    if frame and frame in frames_of(model, body):
        remedy = f'a frame is seen by a sensor: type = "position" (velocity, ...), on = "{body}.{frame}"'
    what = f'{dotted(path)}: the result will have no channel "{name}"'
    problems.error("case.channel", case.source.where(path, key=path[0] == "expected"), what, remedy)


_BODY = "position velocity acceleration angular_velocity angular_acceleration quaternion applied"
_JOINT = "position velocity acceleration reaction_force reaction_moment"
_COUPLING = (
    "force power tangential_force radial_force axial_force normal_force pressure_angle contact_force "
    "contact_point"
)
_LINEAR = (
    "eigenvalues frequency_hz damping_ratio whirl shapes A B C D response.H "
    "campbell.frequency_hz campbell.damping_ratio campbell.whirl campbell.eigenvalues"
)
_ENERGY = "kinetic gravity strain spring dissipated work balance_error"


def result_paths(model: Model, case: Case) -> Iterator[str]:
    """Channels that a result has, with dots (section 5 of the interface)."""
    yield "time"
    for name, body in model.bodies.items():
        elastic = " q q_dot q_ddot ledger" if isinstance(body, FlexibleBody) else ""
        yield from (f"bodies.{name}.{word}" for word in (_BODY + elastic).split())
    for name in model.joints:
        yield from (f"joints.{name}.{word}" for word in _JOINT.split())
    for name in model.couplings:
        yield from (f"couplings.{name}.{word}" for word in _COUPLING.split())
    yield from (f"drives.{name}.effort" for name in model.drives)
    for name in model.forces:
        yield from (f"forces.{name}.{word}" for word in "force moment length rate value".split())
    yield from (f"states.{name}" for name in model.states)
    yield from (f"inputs.{name}" for name in model.inputs)
    yield from (f"sensors.{name}" for name in model.sensors)
    yield from (f"metrics.{name}" for name in case.spec.metrics)
    yield from (f"system.{word}" for word in ("com", "momentum", "angular_momentum"))
    yield from (f"energy.{word}" for word in _ENERGY.split())
    yield from (f"linear.{word}" for word in _LINEAR.split())
    yield from (f"solver.{word}" for word in "step_size iterations rejected".split())
    yield from (f"solver.{word}" for word in ("constraint_position", "constraint_velocity"))
    yield from ("events.time", "events.kind", "events.text")
