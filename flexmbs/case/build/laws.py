"""Tables of couplings, drives, states, forces and sensors -> their data in the model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flexmbs import units
from flexmbs.case.build.frames import flexible_frame, rigid_place
from flexmbs.case.build.joints import (
    DAMPING,
    EFFORT,
    STIFFNESS,
    check_unit,
    check_variables,
    coordinate_of,
    turns_about,
)
from flexmbs.case.build.python_laws import load_function
from flexmbs.case.build.report import Report
from flexmbs.case.channels import Resolver
from flexmbs.case.schema.forces import PythonLaw
from flexmbs.case.schema.frames import PlaceTable
from flexmbs.errors import nearest
from flexmbs.expressions import Expression, ExpressionError, confined, parse, read_rows, table_loader
from flexmbs.input.source import Path_
from flexmbs.input.values import Measured
from flexmbs.model.bodies import FlexibleBody, Frame
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.couplings.cam import lift_of_table
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
        path: Path_ = ("forces", name)
        local = ("x", "v") if table.type == "spring_damper" else ()
        fields = self.fields(path, table, local)
        if table.type == "joint_force":
            joint = self.model.joints.get(table.joint)
            if joint is None:
                return None
            coordinate_of(self.report, path, joint, table.coordinate, "which one does the force drive?")
            turns = turns_about(joint, table.coordinate)
            check_unit(self.report, (*path, "value"), fields["value"], EFFORT, turns)
        for key, expected in (("stiffness", STIFFNESS), ("damping", DAMPING)):
            for k, item in enumerate(fields.get(key, ()) if table.type == "bushing" else ()):
                check_unit(self.report, (*path, key, k), item, expected, k > 2)
        if table.type == "distributed" and not isinstance(self.model.bodies.get(table.on), FlexibleBody):
            self.report.fail(
                (*path, "on"), f'"{table.on}" is no flexible body', "distributed loads act on meshes"
            )
            return None
        if table.type == "distributed":
            self._check_density(path, table.set, fields)
        cls: type[Any] = FORCES[table.type]
        return cls(name=name, **fields)

    def _check_density(self, path: Path_, name: str, fields: dict[str, Any]) -> None:
        """The unit of a distributed force is that of its set: per length, area or volume."""
        mesh = self.model.bodies[fields["on"]].modal.mesh  # type: ignore[attr-defined]
        expected = units.PRESSURE if name in mesh.face_sets else units.FORCE_PER_VOLUME
        if name not in mesh.face_sets and "beam2" in mesh.cell_sets.get(name, ()):
            expected = units.FORCE_PER_LENGTH
        for k, item in enumerate(fields.get("force") or ()):
            check_unit(self.report, (*path, "force", k), item, (expected, expected), False)

    def coupling(self, name: str, table: Any) -> Any:
        path: Path_ = ("couplings", name)
        fields = self._coupling_fields(path, table)
        for key in ("pinion", "rack", "nut", "slide", "cam", "follower"):
            if key in fields:
                self._coordinate(path, key, fields[key])
        for key in fields.get("terms", {}):
            self._coordinate((*path, "terms"), key, key)
        cls: type[Any] = COUPLINGS[table.type]
        known = {item.name for item in dataclasses.fields(cls)}
        return cls(name=name, **{key: value for key, value in fields.items() if key in known})

    def _coupling_fields(self, path: Path_, table: Any) -> dict[str, Any]:
        if table.type == "cam" and table.table is not None:
            with self.report.at((*path, "table")):
                folder, root = self.report.folder_of((*path, "table")), self.report.source.root
                lift = self._lift_of(folder, table.table, root)
                return self.fields(path, table.model_copy(update={"lift": lift, "table": None}), ("x",))
        if table.type == "cam" and table.profile is not None:
            fields = self.fields(path, table.model_copy(update={"profile": None}))
            return fields | self._profile((*path, "profile"), table.profile)
        fields = self.fields(path, table, ("x",) if table.type == "cam" else ())
        for key in ("wheels", "teeth"):
            if key in fields:
                fields[key] = tuple(fields[key])
        if table.type == "expression" and isinstance(fields.get("zero"), Expression):
            with self.report.at((*path, "zero")):
                only(
                    fields["zero"],
                    lambda label: label == "t" or _is_position(label),
                    "joint coordinates and t; a free joint from ground gives a body x, y and z",
                )
        return fields

    @staticmethod
    def _lift_of(folder: Path, file: str, root: Path | None) -> Expression:
        """Law of a cam by a table; one of a whole turn goes on from turn to turn."""
        lift = lift_of_table(read_rows(confined(folder, file, root)), file)
        return lift or parse(f"table({file!r}, x)", load_table=table_loader(folder, root))

    def _profile(self, path: Path_, table: Any) -> dict[str, Any]:
        """Outline of a cam, under the name of its columns."""
        for key in ("polar", "points"):
            if getattr(table, key) is not None:
                return {key: getattr(table, key)}
        with self.report.at((*path, "file")):
            folder, root = self.report.folder_of((*path, "file")), self.report.source.root
            rows = read_rows(confined(folder, table.file, root))
            return {table.columns: rows.tolist()}
        return {"polar": []}

    def _coordinate(self, path: Path_, key: str, text: str) -> None:
        name, dot, coordinate = text.partition(".")
        joint = self.model.joints.get(name)
        if joint is None:
            return
        if not joint.coordinates or (not dot and len(joint.coordinates) != 1):
            names = ", ".join(f"{name}.{item}" for item in joint.coordinates) or "it has none"
            self.report.fail((*path, key), f'"{text}" names no single coordinate', names)
        elif dot and coordinate not in joint.coordinates:
            what = f'{joint.type_name} joint {name} has no coordinate "{coordinate}"'
            self.report.fail((*path, key), what, nearest(coordinate, joint.coordinates))

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


def _is_position(label: str) -> bool:
    return label.startswith("joints.") and ".position[" in label


def only(expression: Expression, allowed: Callable[[str], bool], words: str) -> None:
    for node in expression.names.values():
        if not allowed(node.label):
            raise ExpressionError(f'"{node.label}" cannot be used here, only {words}', node.column)
