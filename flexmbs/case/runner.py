"""A case becomes a result: `fm.run(case)`, and what `flexmbs run` calls."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flexmbs import __version__
from flexmbs.case.case import Case, Progress
from flexmbs.case.drawing import drawing
from flexmbs.case.names import Resolver
from flexmbs.case.outcome import Comparison, check_channels, comparisons, metrics
from flexmbs.case.start import moved
from flexmbs.dynamics.mechanism import Mechanism, build
from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression, ExpressionError, Node, constant, parse
from flexmbs.integrate import Steps
from flexmbs.model.drives import Drive
from flexmbs.model.model import Model
from flexmbs.results import Item, Result
from flexmbs.results.writer import complete_result
from flexmbs.simulate import RunSettings, Summary, simulate
from flexmbs.simulate.stepping import Simulation


@dataclass(frozen=True)
class CaseRun:
    """A finished run: the result, the closing summary, [expected] line by line, and values of [metrics]."""

    result: Result
    summary: Summary
    comparisons: list[Comparison]
    metrics: dict[str, float]

    @property
    def passed(self) -> bool:
        return all(item.passed for item in self.comparisons)


def run(case: Case | str | Path, path: str | Path | None = None, **parameters: Any) -> Result:
    """Run a case and return its result. `parameters` override values, as in `Case.load`.

    `path`: where the result goes, by default as the case says; `keep=False` leaves it in memory. Options of
    `execute` (overwrite, resume, progress, announce, say, allow_python) may be given too.
    """
    options = {name: parameters.pop(name) for name in list(parameters) if name in _OPTIONS}
    allow_python = bool(options.pop("allow_python", False))
    if not isinstance(case, Case):
        case = Case.load(case, allow_python=allow_python, **parameters)
    elif parameters:
        case = case.with_values(**parameters)
    return execute(case, path, **options).result


def simulation(case: Case | str | Path, **parameters: Any) -> Simulation:
    """A case to be stepped by the caller: `sim.step(dt, inputs)`, `sim["main.position"]`, `sim.t`.

    `parameters` override values, as in `Case.load`; method, tolerances and step are those of [analysis].
    """
    if not isinstance(case, Case):
        case = Case.load(case, **parameters)
    elif parameters:
        case = case.with_values(**parameters)

    def told(target: Path) -> dict[str, Any]:
        return {"provenance": provenance(case) | {"drawing": Item(drawing(case, target))}}

    system = prepare(case)
    kind: type[Simulation] = Simulation
    if system.model.fmus:
        from flexmbs.case.coupled import Coupled

        kind = Coupled
    sim = kind(system, settings(case), told, lambda result: metrics(case, result))
    sim.marks = {"title": case.spec.title, "case_sha256": case_hash(case)}
    return sim


_OPTIONS = ("keep", "overwrite", "resume", "progress", "announce", "say", "allow_python")


def execute(
    case: Case,
    path: str | Path | None = None,
    *,
    keep: bool = True,
    overwrite: bool = False,
    resume: bool = False,
    progress: Progress | None = None,
    announce: Callable[[float], None] | None = None,
    say: Callable[[str], None] | None = None,
    steps: Steps | None = None,
    at_once: bool = False,
    named: bool = False,
) -> CaseRun:
    """Build, run and compare a case; see `simulate` for the callbacks and errors.

    `keep`: write the result; else it stays in memory, with the numbers alone. `steps`: those of
    another run, to be repeated; empty ones are filled. `at_once`: see `simulate`. `named`: what stays
    in memory says of which case it is, too.
    """
    system = prepare(case, progress)
    if case.spec.analysis is None and say is not None:
        say("the case has no [analysis], so it is only assembled; [analysis] with t_end makes it move")
    computed: dict[str, float] = {}

    def finish(result: Result) -> Mapping[str, Any]:
        computed.update(metrics(case, result))
        return {"metrics": {name: Item(value) for name, value in computed.items()}} if computed else {}

    target = Path(path) if path is not None else result_path(case)
    if system.model.fmus:
        return _coupled(case, target if keep else None, overwrite, resume, progress)
    items: dict[str, Any] = {}
    if keep or named:
        items["provenance"] = provenance(case) | {"drawing": Item(drawing(case, target))}
    if keep and resume and (there := complete_result(target, case_hash(case))) is not None:
        told = Summary(followed=["complete already: nothing was left to compute"])
        return compared(case, there, told, metrics(case, there))
    outcome = simulate(
        system,
        replace(settings(case), steps=steps),
        target if keep else None,
        overwrite=overwrite,
        resume=resume,
        items=items | _campbell(case, progress, say),
        attributes={"title": case.spec.title, "case_sha256": case_hash(case)} if keep else {},
        finish=finish,
        progress=progress,
        announce=announce,
        say=say,
        moved=lambda state: moved(case, system, state),
        at_once=at_once,
    )
    return compared(case, outcome.result, outcome.summary, computed or metrics(case, outcome.result))


def compared(case: Case, result: Result, summary: Summary, values: dict[str, float]) -> CaseRun:
    """A run with its [expected] values looked at."""
    return CaseRun(result, summary, comparisons(case, result, values), values)


def _coupled(
    case: Case, target: Path | None, overwrite: bool, resume: bool, progress: Progress | None
) -> CaseRun:
    """A run beside FMUs, from communication point to communication point."""
    from flexmbs.case.coupled import Coupled, follow

    chosen = settings(case)
    if chosen.type != "dynamics" or resume:
        what = f"{'--resume' if resume else chosen.type} is not offered with FMUs, which only go on in time"
        raise InputError(
            Diagnostic("fmu.analysis", case.name, what, 'take type = "dynamics", from the start')
        )
    sim = simulation(case)
    assert isinstance(sim, Coupled)
    sim.record(target, overwrite=overwrite)
    follow(sim, chosen.output_times(sim.t)[1:], progress)
    summary, result = sim.summary, sim.finish()
    sim.close()
    return compared(case, result, summary, metrics(case, result))


def _campbell(case: Case, progress: Progress | None, say: Callable[[str], None] | None) -> dict[str, Any]:
    """What is found over the values of a parameter, if that is asked for."""
    if case.spec.analysis is None or case.spec.analysis.campbell is None:
        return {}
    from flexmbs.case.campbell import campbell_items

    return campbell_items(case, case.spec.analysis.campbell, progress, say)


def prepare(case: Case, progress: Progress | None = None) -> Mechanism:
    """The system of a case with `until` and the expressions of its sensors; all channels checked."""
    model = case.model(progress)
    wrong = check_channels(case, model)
    if wrong:
        raise InputError(*wrong)
    free = {
        f"sensor:{name}": sensor.value if isinstance(sensor.value, Expression) else constant(sensor.value)
        for name, sensor in model.sensors.items()
        if sensor.type == "expression"
    }
    free |= {f"input:{name}": parse(f"inputs.{name}") for name in model.inputs}
    for name, fmu in model.fmus.items():
        laws = fmu.inputs.items()
        free |= {f"fmu:{name}:{key}": x if isinstance(x, Expression) else constant(x) for key, x in laws}
    for name, drive in model.drives.items():
        if drive.follows is not None:
            free[f"drive:{name}"] = _lacking(model, drive)
    until = _until(case)
    analysis = case.spec.analysis
    if analysis is not None and analysis.type == "inverse_dynamics" and analysis.motion is not None:
        from flexmbs.simulate.motion.measured import measured_drives

        path = case.source.file(("analysis", "motion"), analysis.motion)
        model.drives |= {drive.name: drive for drive in measured_drives(build(model), path, _end(case))}
    analysis = case.spec.analysis
    formulation = analysis.formulation if analysis is not None else "recursive"
    free |= {"until": until} if until is not None else {}
    with case.placed():
        return build(model, free, formulation=formulation)


def _lacking(model: Model, drive: Drive) -> Expression:
    """What a coordinate lacks of the velocity that its drive follows."""
    joint = model.joints[drive.joint]
    number = joint.coordinates.index(drive.coordinate or joint.drivable[0])
    velocity = Node("name", text=f"joints.{drive.joint}.velocity", index=(number,))
    return replace(drive.follows, tree=Node("sub", (drive.follows.tree, velocity)))


def _until(case: Case) -> Expression | None:
    """`analysis.until` with complete channel names."""
    from flexmbs.case.build.model import frames_of

    analysis = case.spec.analysis
    if analysis is None or analysis.until is None:
        return None
    model = case.model()
    resolver = Resolver(model, lambda body: frames_of(model, body), case.parameters)
    resolver.values = {name: item.value for name, item in case.spec.sensors.items() if item.value is not None}
    try:
        return resolver.complete(analysis.until)
    except ExpressionError as error:
        where = case.source.where(("analysis", "until"), offset=error.column)
        raise InputError(Diagnostic("case.expression", where, f"analysis.until: {error}")) from None


def settings(case: Case) -> RunSettings:
    """[analysis] and [output] of a case; a case without [analysis] is only assembled."""
    analysis, output = case.spec.analysis, case.spec.output
    if analysis is None:
        return RunSettings(type="assembly")
    start = analysis.start
    if start.endswith(".h5"):
        start = str(case.source.file(("analysis", "start"), start))
    return RunSettings(
        type=analysis.type,
        t_end=_end(case),
        method=analysis.method,
        rtol=float(analysis.rtol),
        atol=float(analysis.atol),
        step=0.0 if analysis.step == "auto" else float(analysis.step),
        rho_inf=float(analysis.rho_inf),
        formulation=analysis.formulation,
        stabilisation=analysis.stabilisation,
        start=start,
        about=analysis.about,
        elastic=analysis.elastic,
        redundant=analysis.redundant,
        inputs=tuple(analysis.inputs),
        outputs=tuple(analysis.outputs),
        frequencies=analysis.frequencies.values if analysis.frequencies is not None else (),
        every=float(output.every) if output.every is not None else None,
        times=tuple(float(t) for t in output.times),
        checkpoint_every=float(output.checkpoint_every) if output.checkpoint_every is not None else None,
    )


def _end(case: Case) -> float:
    """`t_end`; inverse dynamics without one goes to the end of the motion."""
    analysis = case.spec.analysis
    assert analysis is not None
    if analysis.t_end is None and analysis.type == "inverse_dynamics" and analysis.motion is not None:
        from flexmbs.simulate.motion.measured import end_of_motion

        return end_of_motion(case.source.file(("analysis", "motion"), analysis.motion))
    return float(analysis.t_end or 0.0)


def result_path(case: Case) -> Path:
    """Where the result goes: `output.file` beside the case, else the case's name in the current folder."""
    file = case.spec.output.file
    if file is None:
        return Path(case.name + ".h5")
    return case.source.file(("output", "file"), file)


def case_hash(case: Case) -> str:
    """SHA-256 of the case as resolved, and of the modal data of its bodies."""
    digest = hashlib.sha256(resolved(case).encode())
    for body in case.model().bodies.values():
        modal = getattr(body, "modal", None)
        if modal is not None:
            digest.update(str(modal.source_sha256).encode())
    return digest.hexdigest()


def resolved(case: Case) -> str:
    """The case with includes and overrides in place, as JSON."""
    return json.dumps(case.source.data, sort_keys=True, default=str)


def provenance(case: Case) -> dict[str, Any]:
    """Case as given and as resolved, parameters and versions, for `/provenance`."""
    import numpy
    import scipy

    versions = {"flexmbs": __version__, "numpy": numpy.__version__, "scipy": scipy.__version__}
    return {
        "case": Item(case.source.text() or resolved(case)),
        "case_resolved": Item(resolved(case)),
        "parameters": {name: Item(value) for name, value in case.parameters.items()},
        "versions": {name: Item(text) for name, text in versions.items()},
    }
