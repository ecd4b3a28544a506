"""The process behind an instance of an FMU: `python -m flexmbs.fmu.serve RESOURCES FILE`.

FILE is the number of the socket on which the loader asks (`loader.c`). Frames are two integers, a word and a
length, and so many bytes; requests begin with what was set since the last one.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.case import Case, simulation
from flexmbs.errors import Diagnostic, FlexmbsError, UsageError
from flexmbs.fmu.variables import INPUTS, METRICS, PARAMETERS, Ports
from flexmbs.simulate.stepping import Simulation, Snapshot

OK, ERROR = 0, 3
#: by how much of a step a communication point may be off
OFF = 1e-6


class Instance:
    """An FMU between instantiation and its end; the simulation is made when something is asked of it."""

    def __init__(self, resources: Path) -> None:
        told = json.loads((resources / "fmu.json").read_text("utf-8"))
        self.case = Case.from_dict(told["case"], folder=resources)
        self.ports = Ports.from_data(told["ports"])
        self.n_known = 1 + len(self.ports.outputs)
        self.states: dict[int, tuple[dict[int, float], float, Snapshot | None]] = {}
        self.last_state = 0
        self.reset()

    def reset(self) -> None:
        """As after instantiation."""
        self.values = {port.reference: port.start for port in (*self.ports.inputs, *self.ports.parameters)}
        self.rtol, self.begun = 0.0, False
        self._sim: Simulation | None = None

    # -- requests, by the numbers of the loader

    def requests(self) -> dict[int, Callable[[bytes], bytes]]:
        return dict(
            enumerate(
                (self.get, self.enter, self.exit, self.step, self.save, self.load, self.drop, self.write,
                 self.read, self.renew, self.terminate), start=1,
            )
        )  # fmt: skip

    def get(self, data: bytes) -> bytes:
        return _packed([self.value(int(k)) for k in np.frombuffer(data, dtype=np.uint32)])

    def enter(self, data: bytes) -> bytes:
        tolerance, start, _ = struct.unpack("3d", data)
        if start != 0.0:
            what = f"the experiment begins at {start:g} s, a case at 0"
            raise UsageError(Diagnostic("fmu.time", "startTime", what, "shift the time of the system"))
        self.rtol = tolerance
        return b""

    def exit(self, data: bytes) -> bytes:
        self.begun = True
        return self.known()

    def step(self, data: bytes) -> bytes:
        point, size = struct.unpack("2d", data)
        sim = self.sim
        if not abs(point - sim.t) <= OFF * size:
            what = f"the step is to begin at {point:.12g} s, and the FMU stands at {sim.t:.12g} s"
            raise UsageError(Diagnostic("fmu.time", "fmi3DoStep", what, "steps follow on each other"))
        sim.step(point + size - sim.t)
        return self.known()

    def save(self, data: bytes) -> bytes:
        (number,) = struct.unpack("q", data)
        if number < 0:
            self.last_state += 1
            number = self.last_state
        there = None if self._sim is None else self._sim.snapshot()
        self.states[number] = dict(self.values), self.rtol, there
        return struct.pack("q", number)

    def load(self, data: bytes) -> bytes:
        values, rtol, there = self.states[struct.unpack("q", data)[0]]
        if any(values[port.reference] != self.values[port.reference] for port in self.ports.parameters):
            self._sim = None
        if rtol != self.rtol or there is None:
            self._sim = None
        self.values, self.rtol = dict(values), rtol
        if there is not None:
            if there.chunks is None:  # of another process: what metrics need was recorded there
                self.sim.discard()
            self.sim.restore(there)
        self.begun = there is not None
        return self.known() if self.begun else b""

    def drop(self, data: bytes) -> bytes:
        self.states.pop(struct.unpack("q", data)[0], None)
        return b""

    def write(self, data: bytes) -> bytes:
        values, rtol, there = self.states[struct.unpack("q", data)[0]]
        told = json.dumps([rtol, sorted(values.items())]).encode()
        return struct.pack("q", len(told)) + told + (there.to_bytes() if there is not None else b"")

    def read(self, data: bytes) -> bytes:
        (size,) = struct.unpack_from("q", data)
        rtol, values = json.loads(data[8 : 8 + size])
        rest = data[8 + size :]
        self.last_state += 1
        there = Snapshot.from_bytes(rest) if rest else None
        self.states[self.last_state] = {int(k): float(value) for k, value in values}, float(rtol), there
        return struct.pack("q", self.last_state)

    def renew(self, data: bytes) -> bytes:
        self.reset()
        return b""

    def terminate(self, data: bytes) -> bytes:
        return b""

    # -- values

    def set(self, reference: int, value: float) -> None:
        """An input, or before the start a parameter, which makes another simulation."""
        if reference not in self.values:
            what = f"the variable of reference {reference} cannot be set"
            raise UsageError(Diagnostic("fmu.variable", "fmi3SetFloat64", what, "set inputs and parameters"))
        if not np.isfinite(value):
            what = f"{value} is no value of the variable of reference {reference}"
            raise UsageError(Diagnostic("fmu.variable", "fmi3SetFloat64", what, "give a number"))
        if reference >= PARAMETERS:
            if self.begun and value != self.values[reference]:
                name = self.ports.parameters[reference - PARAMETERS].name
                what = f"{name} stays as it is once the initialization is over"
                raise UsageError(Diagnostic("fmu.variable", "fmi3SetFloat64", what, "reset the FMU before"))
            if value != self.values[reference]:
                self._sim = None
        self.values[reference] = value
        if reference < PARAMETERS and self._sim is not None:
            self._sim.set({self._input(reference): value})

    def _input(self, reference: int) -> str:
        return self.ports.inputs[reference - INPUTS].name.removeprefix("inputs.")

    @property
    def sim(self) -> Simulation:
        """The simulation with the parameters and inputs as they were set."""
        if self._sim is None:
            changed = {
                port.name.removeprefix("parameters."): self.values[port.reference]
                for port in self.ports.parameters
                if self.values[port.reference] != port.start
            }
            keys = {"analysis.rtol": self.rtol} if self.rtol > 0.0 and self.case.spec.analysis else {}
            case = self.case.with_values(**changed, **keys) if changed or keys else self.case
            self._sim = simulation(case)
            if self.ports.metrics:
                self._sim.record()
            self._sim.set(
                {self._input(port.reference): self.values[port.reference] for port in self.ports.inputs}
            )
        return self._sim

    def known(self) -> bytes:
        """Time and outputs."""
        return _packed([self.sim.t, *(self._output(port.place) for port in self.ports.outputs)])

    def _output(self, place: tuple[str, int]) -> float:
        path, component = place
        return float(np.reshape(self.sim.field(path), -1)[component])

    def value(self, reference: int) -> float:
        """Of any variable."""
        if reference in self.values:
            return self.values[reference]
        if 1 <= reference < self.n_known:
            return self._output(self.ports.outputs[reference - 1].place)
        if METRICS <= reference < METRICS + len(self.ports.metrics):
            name = self.ports.metrics[reference - METRICS].name.removeprefix("metrics.")
            return self.sim.metrics_now()[name]
        if reference != 0:
            what = f"there is no variable of reference {reference}"
            raise UsageError(Diagnostic("fmu.variable", "fmi3GetFloat64", what, "see modelDescription.xml"))
        return self.sim.t


def _packed(values: Any) -> bytes:
    return np.asarray(values, dtype=np.float64).tobytes()


def serve(resources: Path, link: socket.socket) -> None:
    """Answer until the other side closes."""
    read = link.makefile("rb")

    def answer(word: int, data: bytes) -> None:
        link.sendall(struct.pack("2q", word, len(data)) + data)

    instance = Instance(resources)
    answer(OK, struct.pack("q", instance.n_known))
    requests = instance.requests()
    while len(head := read.read(16)) == 16:
        word, length = struct.unpack("2q", head)
        data = read.read(length)
        (count,) = struct.unpack_from("q", data)
        try:
            for k in range(count):
                instance.set(*struct.unpack_from("qd", data, 8 + 16 * k))
            found = OK, requests[word](data[8 + 16 * count :])
        except FlexmbsError as error:
            found = ERROR, "\n".join(str(item) for item in error.diagnostics).encode()
        except Exception as error:  # whatever goes wrong, the importer is told
            found = ERROR, f"internal error: {type(error).__name__}: {error}".encode()
        answer(*found)


def main() -> None:
    resources, file = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(file, False)
    serve(resources, socket.socket(fileno=file))


if __name__ == "__main__":
    main()
