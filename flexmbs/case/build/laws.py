"""Tables of couplings, drives, states, forces and sensors -> their data in the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexmbs.case.build.frames import flexible_frame, rigid_place
from flexmbs.case.build.joints import Pair, check_unit, check_variables, coordinate_of, turns_about
from flexmbs.case.build.python_laws import load_function
from flexmbs.case.build.report import Report
from flexmbs.case.names import Resolver
from flexmbs.errors import nearest
from flexmbs.expressions import Expression, ExpressionError, confined, parse, read_rows, table_loader
from flexmbs.input.frames import PlaceTable
from flexmbs.input.laws import PythonLaw
from flexmbs.input.registered import names_in
from flexmbs.input.source import Path_
from flexmbs.input.values import Measured
from flexmbs.model.bodies import FlexibleBody, Frame
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.forces.base import FORCES, PythonNumber
from flexmbs.model.model import Model, OwnState
from flexmbs.model.sensors import Sensor

#: names of case files -> names of the classes
_RENAMED = {"from_": "from_frame", "to": "to_frame", "in_": "axes"}


class LawBuilder:
    """Builds everything that holds expressions, with their names completed against the model."""

    def __init__(self, report: Report, model: Model, resolver: Resolver) -> None:
        self.report = report
        self.model = model
        self.resolver = resolver

    def value(self, path: Path_, value: Any, local: tuple[str, ...] = ()) -> Any:
        """A number where the law is constant, else an expression with complete names, or Python."""
        if isinstance(value, list):
            return [self.value((*path, k), item, local) for k, item in enumerate(value)]
        if isinstance(value, PythonLaw):
            return self._python(path, value)
        if not isinstance(value, Expression):
            return value
        check_variables(self.report, path, value, local)
        with self.report.at(path):
            complete = self.resolver.complete(value, local)
            return Measured.of(complete.number(), value.dimension) if complete.is_constant else complete
        return 0.0

    def _python(self, path: Path_, value: PythonLaw) -> PythonNumber | float:
        channels = []
        for k, item in enumerate(value.channels):
            with self.report.at((*path, "channels", k)):
                channels.append(self.resolver.complete(item))
        function = load_function(self.report, path, value)
        return PythonNumber(function=function, channels=channels, name=value.function) if function else 0.0

    def fields(self, path: Path_, table: Any, local: tuple[str, ...] = ()) -> dict[str, Any]:
        """Fields of a table under the names of the model's classes, laws resolved."""
        found = {}
        for key, info in type(table).model_fields.items():
            value = getattr(table, key)
            if key == "type" or value is None:
                continue
            here = (*path, info.alias or key)
            if isinstance(value, PlaceTable):
                value = self.place(here, value, getattr(table, "on", None))
            elif isinstance(value, Expression | PythonLaw | list):
                value = self.value(here, value, local)
            found[_RENAMED.get(key, key)] = value
        return found

    def place(self, path: Path_, table: PlaceTable, on: str | None) -> Frame:
        body = self.model.bodies.get(str(on))
        if "." in str(on):
            self.report.fail(path, f'"at" goes with a body, but "{on}" is a frame')
        if isinstance(body, FlexibleBody):
            with self.report.at(path):
                frame = flexible_frame(self.report, path, table)
                fixed = frame.at is not None and not any(isinstance(item, Expression) for item in frame.at)
                if fixed or frame.node is not None:
                    body.modal.marker_rows(at=frame.at, node=frame.node)
                return frame
            return Frame()
        return rigid_place(self.report, path, table)

    def force(self, name: str, table: Any) -> Any:
        door = Door(self, ("forces", name))
        cls: type[Any] = FORCES[table.type]
        found = cls(name=name, **self.fields(door.path, table, cls.variables))
        found.check(door)
        return found

    def coupling(self, name: str, table: Any) -> Any:
        door = Door(self, ("couplings", name))
        cls: type[Any] = COUPLINGS[table.type]
        found = cls(name=name, **cls.read(self.fields(door.path, table, cls.variables), door))
        for item in names_in(type(table), self.report.raw(door.path), door.path):
            if item.kind == "coordinate":
                self._coordinate(item.path, item.text)
        found.check(door)
        return found

    def _coordinate(self, path: Path_, text: str) -> None:
        name, dot, coordinate = text.partition(".")
        joint = self.model.joints.get(name)
        if joint is None:
            return
        if not joint.coordinates or (not dot and len(joint.coordinates) != 1):
            names = ", ".join(f"{name}.{item}" for item in joint.coordinates) or "it has none"
            self.report.fail(path, f'"{text}" names no single coordinate', names)
        elif dot and coordinate not in joint.coordinates:
            what = f'{joint.type_name} joint {name} has no coordinate "{coordinate}"'
            self.report.fail(path, what, nearest(coordinate, joint.coordinates))

    def state(self, name: str, table: Any) -> OwnState:
        rate = self.value(("states", name, "rate"), table.rate)
        return OwnState(name=name, rate=rate, initial=float(table.initial))

    def sensor(self, name: str, table: Any) -> Sensor:
        """A sensor; the names of an expression that uses results of the accelerations stay as written."""
        path: Path_ = ("sensors", name)
        fields = self.fields(path, table.model_copy(update={"value": None}))
        if table.value is not None:
            fields["value"] = self.value((*path, "value"), table.value)
        return Sensor(name=name, type=table.type, **fields)


def only(expression: Expression, allowed: Callable[[str], bool], words: str) -> None:
    for node in expression.names.values():
        if not allowed(node.label):
            raise ExpressionError(f'"{node.label}" cannot be used here, only {words}', node.column)


@dataclass
class Door:
    """What a force or coupling may ask of the case file and the model while it is read; keys are its own."""

    builder: LawBuilder
    path: Path_

    @property
    def model(self) -> Model:
        return self.builder.model

    def fail(self, keys: Path_, what: str, remedy: str = "") -> None:
        self.builder.report.fail((*self.path, *keys), what, remedy)

    def unit(self, keys: Path_, value: Any, expected: Pair, turns: bool | None) -> None:
        """A number that has a unit has the first of `expected` for travels, the second for turns."""
        check_unit(self.builder.report, (*self.path, *keys), value, expected, turns)

    def coordinate(self, joint: str, name: str | None, needed: str) -> bool | None:
        """Whether the coordinate is an angle; reports that there is no such one, or that `needed` is open."""
        found = self.model.joints.get(joint)
        if found is None:
            return None
        coordinate_of(self.builder.report, self.path, found, name, needed)
        return turns_about(found, name)

    def only(self, keys: Path_, law: Any, allowed: Callable[[str], bool], words: str) -> None:
        """An expression uses such channels alone."""
        with self.builder.report.at((*self.path, *keys)):
            only(law, allowed, words) if isinstance(law, Expression) else None

    def rows(self, keys: Path_, file: str) -> np.ndarray | None:
        """Two columns of a CSV file; None when that fails (the report says why)."""
        path, report = (*self.path, *keys), self.builder.report
        with report.at(path):
            return read_rows(confined(report.folder_of(path), file, report.source.root))
        return None

    def parsed(self, keys: Path_, text: str) -> Expression | float:
        """An expression with the tables that it names."""
        path, report = (*self.path, *keys), self.builder.report
        with report.at(path):
            return parse(text, load_table=table_loader(report.folder_of(path), report.source.root))
        return 0.0
