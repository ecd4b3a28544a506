"""A mechanism stepped beside models of other programs (FMUs): numbers change hands at communication points.

At every communication point the FMU has been stepped with the inputs of the one before, and so has the
mechanism with its outputs; then both see each other's values. The error of what is held goes with the step.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, SolverError, UsageError, missing_component
from flexmbs.model.model import Fmu
from flexmbs.simulate.stepping import Simulation, Snapshot

#: by how much of a step a time may be off a communication point
OFF = 1e-9


class Partner:
    """An instance of an FMU, by fmpy."""

    def __init__(self, fmu: Fmu) -> None:
        try:
            import fmpy
        except ImportError:
            raise missing_component(f"inputs.{fmu.name}", "fmpy", "fmi") from None
        self.fmu, self.count = fmu, 0
        folder = tempfile.mkdtemp(prefix="flexmbs-fmu-")
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        fmpy.extract(str(fmu.told.path), folder)
        told = {
            "guid": fmu.told.token,
            "unzipDirectory": folder,
            "modelIdentifier": fmu.told.identifier,
            "instanceName": fmu.name,
        }
        self.at = 0.0
        with self._named("cannot be loaded"):
            if fmu.told.version == 2:
                self.slave = fmpy.fmi2.FMU2Slave(**told)
            else:
                self.slave = fmpy.fmi3.FMU3Slave(**told)
            self.slave.instantiate()

    def _named(self, what: str) -> _Named:
        return _Named(self, what)

    def start(self, inputs: Mapping[str, float]) -> None:
        """Parameters, and inputs at the start."""
        with self._named("does not start"):
            if self.fmu.told.version == 2:
                self.slave.setupExperiment(startTime=0.0)
            self._set(self.fmu.told.parameters, self.fmu.parameters)
            self.slave.enterInitializationMode()
            self._set(self.fmu.told.inputs, inputs)
            self.slave.exitInitializationMode()

    def set(self, inputs: Mapping[str, float]) -> None:
        with self._named("does not take its inputs"):
            self._set(self.fmu.told.inputs, inputs)

    def _set(self, references: Mapping[str, int], values: Mapping[str, float]) -> None:
        if values:
            put = self.slave.setReal if self.fmu.told.version == 2 else self.slave.setFloat64
            put([references[name] for name in values], list(values.values()))

    def outputs(self) -> dict[str, float]:
        """Outputs as the mechanism knows them."""
        told, own = self.fmu.told.outputs, self.fmu.outputs
        if not own:
            return {}
        with self._named("does not give its outputs"):
            get = self.slave.getReal if self.fmu.told.version == 2 else self.slave.getFloat64
            values = get([told[item] for item in own.values()])
        return {f"{self.fmu.name}.{name}": float(value) for name, value in zip(own, values, strict=True)}

    @property
    def next(self) -> float:
        """The next communication point."""
        return (self.count + 1) * self.fmu.step

    def step(self) -> None:
        """To the next communication point."""
        begun = self.count * self.fmu.step
        self.at = begun
        with self._named("does not step on"):
            self.slave.doStep(begun, self.next - begun)
        self.count += 1

    def close(self) -> None:
        """Let go of the instance."""
        with self._named("does not end"):
            self.slave.terminate()
            self.slave.freeInstance()


class _Named:
    """Errors of an FMU, with its name."""

    def __init__(self, partner: Partner, what: str) -> None:
        self.partner, self.what = partner, what

    def __enter__(self) -> None:
        """Nothing is open."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, SolverError):
            name, t = self.partner.fmu.name, self.partner.at
            what = f"inputs.{name} {self.what}: {error}"
            remedy = "see the messages of the FMU, and whether its platform is this one"
            raise SolverError(Diagnostic("fmu.failed", f"t = {t:.6g} s", what, remedy)) from None


class Coupled(Simulation):
    """A simulation with its FMUs."""

    def __init__(self, system: Any, *args: Any) -> None:
        super().__init__(system, *args)
        if self.t != 0.0:
            raise UsageError(Diagnostic("fmu.time", "t", "FMUs begin at 0", "start the case at 0"))
        self.partners = [Partner(item) for item in system.model.fmus.values()]
        for partner in self.partners:  # twice, as one may follow from the other
            partner.start(self._inputs_of(partner))
        for _ in self.partners:
            for partner in self.partners:
                self.set(partner.outputs())
                partner.set(self._inputs_of(partner))
        self._lead_drives(self.partners)

    def _inputs_of(self, partner: Partner) -> dict[str, float]:
        """Inputs of an FMU at the present state."""
        return {name: self.expression(f"fmu:{partner.fmu.name}:{name}") for name in partner.fmu.inputs}

    def move(self, end: float, sampled: bool = True) -> None:
        """By pieces from communication point to communication point."""
        while True:
            point = min(partner.next for partner in self.partners)
            off = OFF * min(partner.fmu.step for partner in self.partners)
            if point > end + off:
                if end > self.t + off:
                    super().move(end, sampled)
                return
            at_end = point >= end - off
            super().move(end if at_end else point, sampled and at_end)
            self._exchange(point + off)
            if at_end:
                return

    def _exchange(self, until: float) -> None:
        """Step the FMUs whose communication point this is; then each sees what the others give."""
        due = [partner for partner in self.partners if partner.next <= until]
        for partner in due:
            partner.step()
        for partner in due:
            self.set(partner.outputs())
        for partner in due:
            partner.set(self._inputs_of(partner))
        self._lead_drives(due)

    def _lead_drives(self, due: list[Partner]) -> None:
        """Drives that follow velocities of these FMUs have them when the first of these is asked again."""
        for name, drive in self.system.model.drives.items():
            labels = drive.follows.names if drive.follows is not None else ()
            names = {label.split(".")[1] for label in labels if label.startswith("inputs.")}
            if not names & {partner.fmu.name for partner in due}:
                continue
            end = min(partner.next for partner in self.partners if partner.fmu.name in names)
            self.set({f"drives.{name}": self.expression(f"drive:{name}") / (end - self.t)})

    def snapshot(self) -> Snapshot:
        """Only the start can be kept, before there are FMUs."""
        if getattr(self, "partners", None):
            raise self._no_way_back()
        return super().snapshot()

    def restore(self, there: Snapshot) -> None:
        raise self._no_way_back()

    def _no_way_back(self) -> UsageError:
        names = ", ".join(f"inputs.{partner.fmu.name}" for partner in self.partners)
        what = f"{names}: FMUs do not go back with the mechanism"
        return UsageError(Diagnostic("simulation.snapshot", "simulation", what, "make another simulation"))

    def close(self) -> None:
        """Let go of all instances."""
        for partner in self.partners:
            partner.close()


def follow(sim: Coupled, times: np.ndarray, progress: Any = None) -> None:
    """Move through output times, each a sample of the recording; what fails keeps the samples before."""
    try:
        for t in times:
            sim.move(float(t))
            if progress is not None:
                progress(float(t / times[-1]), f"t = {t:.4g} s")
    except SolverError as error:
        sim.stop("failed", error.diagnostics[0].what)
        raise
    except KeyboardInterrupt:
        sim.stop("interrupted", f"interrupted at t = {sim.t:.6g} s")
        raise
