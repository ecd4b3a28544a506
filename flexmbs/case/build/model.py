"""All tables of a case -> one `Model`, in the order in which they need each other."""

from __future__ import annotations

import numpy as np

from flexmbs.case.build.bodies import body_of
from flexmbs.case.build.drives import drive_of
from flexmbs.case.build.energies import add_energies
from flexmbs.case.build.fmus import add_fmu, check_fmus
from flexmbs.case.build.frames import rigid_frame
from flexmbs.case.build.joints import joint_of
from flexmbs.case.build.laws import LawBuilder
from flexmbs.case.build.report import Report
from flexmbs.case.names import Resolver
from flexmbs.case.schema.signals import FmuTable, unit_of
from flexmbs.errors import nearest
from flexmbs.expressions import constant
from flexmbs.input.registered import names_in
from flexmbs.model.band import band_of_recipe
from flexmbs.model.bodies import GROUND, Body, FlexibleBody
from flexmbs.model.model import Input, Model, OwnState
from flexmbs.model.sensors import Sensor
from flexmbs.model.topology import build_topology

#: methods that are held by the highest mode
EXPLICIT = ("dopri5", "dop853", "rk4")


def build_model(report: Report) -> Model:
    """The model of a case; raises `InputError` with all findings."""
    spec = report.spec
    model = Model(title=spec.title, gravity=tuple(spec.gravity))
    if spec.analysis is not None:
        model.redundant = spec.analysis.redundant
        model.independent = tuple(spec.analysis.independent)
    for name, frame in spec.ground.frames.items():
        model.ground_frames[name] = rigid_frame(report, ("ground", "frames", name), frame)
    for name, table in spec.bodies.items():
        body = body_of(report, name, table)
        if body is not None:
            model.bodies[name] = body
            _set_band(report, body)
    for name, table in spec.joints.items():
        joint = joint_of(report, name, table)
        if joint is not None:
            model.joints[name] = joint
    _check_flexible_frames(report, model)
    report.problems.raise_errors()
    _add_laws(report, model)
    report.problems.raise_errors()
    _check_drives(report, model)
    _check_free_starts(report, model)
    report.problems.raise_errors()
    return model


def _set_band(report: Report, body: Body) -> None:
    """Modes of a body above the band of interest follow their loads without vibrating.

    An explicit method that was asked for resolves all of them: damped modes would only shorten its steps.
    """
    analysis = report.spec.analysis
    if not isinstance(body, FlexibleBody) or analysis is None or analysis.type != "dynamics":
        return
    if analysis.band == "auto":
        body.band = np.inf if analysis.method in EXPLICIT else band_of_recipe(body)
    elif analysis.band != "all":
        body.band = float(analysis.band)


def _check_drives(report: Report, model: Model) -> None:
    """Two drives on one coordinate contradict each other, or say the same twice."""
    taken: dict[tuple[str, str | None], str] = {}
    for name, drive in model.drives.items():
        joint = model.joints[drive.joint]
        key = (drive.joint, drive.coordinate or joint.drivable[0])
        if key in taken:
            what = f"joint {key[0]} is already driven by drives.{taken[key]} ({key[1]})"
            report.fail(("drives", name, "joint"), what, "one drive per coordinate")
        taken[key] = name


def _check_free_starts(report: Report, model: Model) -> None:
    """`initial` of a body places a free body; a body that a joint holds starts by its joint."""
    held = {branch.body: branch.joint.name for branch in build_topology(model).branches}
    for name in model.bodies:
        joint = held.get(name)
        start = report.spec.bodies[name].initial
        if start is None or joint not in model.joints or model.joints[joint].type_name == "free":
            continue
        given = start.model_fields_set - {"q", "q_dot"}
        if given:
            words = ", ".join(sorted(word.rstrip("_") for word in given))
            what = f"gives {words}, but joints.{joint} holds the body"
            report.fail(("bodies", name, "initial"), what, f"use joints.{joint}.initial, or pose")


def _add_laws(report: Report, model: Model) -> None:
    spec = report.spec
    for name in spec.states:
        model.states[name] = OwnState(name=name, rate=constant(0.0))  # so that names can refer to it
    for name, item in spec.inputs.items():
        if isinstance(item, FmuTable):
            add_fmu(report, model, name, item)
        else:
            factor = unit_of(item.unit).value
            model.inputs[name] = Input(name=name, default=item.value, unit=item.unit, factor=factor)
    for name, sensor in spec.sensors.items():
        model.sensors[name] = Sensor(name=name, type=sensor.type, on=sensor.on, joint=sensor.joint)
    resolver = Resolver(model, lambda body: frames_of(model, body), spec.parameters)
    resolver.values = {name: item.value for name, item in spec.sensors.items() if item.value is not None}
    builder = LawBuilder(report, model, resolver)
    for name, fmu in model.fmus.items():
        laws = getattr(spec.inputs[name], "inputs", {}).items()
        fmu.inputs = {key: builder.value(("inputs", name, "inputs", key), law) for key, law in laws}
    check_fmus(report, model)
    for name, state in spec.states.items():
        model.states[name] = builder.state(name, state)
    for name, coupling in spec.couplings.items():
        model.couplings[name] = builder.coupling(name, coupling)
    for name, drive in spec.drives.items():
        built = drive_of(builder, name, drive)
        if built is not None:
            model.drives[name] = built
    for name, force in spec.forces.items():
        built = builder.force(name, force)
        if built is not None:
            model.forces[name] = built
    for name, table in spec.bodies.items():
        add_energies(builder, name, table)
    for joint in model.joints.values():
        for kind in ("spring", "damper"):
            for row in getattr(joint, kind) or []:
                for key in [key for key in ("stiffness", "damping", "force") if key in row]:
                    row[key] = builder.value(("joints", joint.name, kind, key), row[key], ("x", "v"))
    for name, sensor in spec.sensors.items():
        model.sensors[name] = builder.sensor(name, sensor)


def frames_of(model: Model, body: str) -> list[str]:
    """Names of the frames of a body, its interfaces included."""
    if body == GROUND:
        return list(model.ground_frames)
    found = model.bodies.get(body)
    if found is None:
        return []
    interfaces = list(found.modal.interfaces) if isinstance(found, FlexibleBody) else []
    return [*interfaces, *found.frames]


def _check_flexible_frames(report: Report, model: Model) -> None:
    """Frames on flexible bodies are known only now that the modal data are there."""
    for path, kind, text, _ in names_in(type(report.spec), report.source.data):
        name, dot, frame = text.partition(".")
        body = model.bodies.get(name)
        if (
            kind == "axes"
            and text != "body"
            and name != GROUND
            and body is None
            and name not in report.spec.bodies
        ):
            report.fail(path, f'"{text}" is no body or frame', nearest(text, [GROUND, "body", *model.bodies]))
        if kind not in ("frame", "axes") or not dot or not isinstance(body, FlexibleBody):
            continue
        frames = frames_of(model, name)
        if frame not in frames:
            has = ", ".join(frames) or "none"
            what = f'body {name} has no frame or interface "{frame}" (it has {has})'
            report.fail(path, what, nearest(frame, frames), code="case.reference")
