"""Functions of a Problem that are Python's: the compiled loop calls them by their addresses.

A formulation beside the recursion, or a motion that drives prescribe, gives rates, the shifted solve of the
implicit step and the projection; what goes round them, steps, events, change points and work, is the loop's.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.ctypeslib import as_array
from numpy.typing import NDArray

from flexmbs._jit import call_fortran, kernel
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.integrate import Problem

Floats = NDArray[np.float64]

#: places in `Equations.given`: addresses, and the status of the last call
RATES, SHIFTED, PROJECT, STATUS = range(4)


@kernel(lean=True, apart=True)
def given_rates(data, t, y, y_dot):
    """Rates by Python; see Problem. Writes: y_dot."""
    call_fortran(data.given[RATES], (t, y, y_dot))
    return data.given[STATUS]


@kernel(lean=True, apart=True)
def given_shifted(data, t, y, a, bh, gh, a_new, aux_dot):
    """A pass of the implicit step by Python; see Problem. Writes: a_new, aux_dot."""
    call_fortran(data.given[SHIFTED], (t, y, a, bh, gh, a_new, aux_dot))
    return data.given[STATUS]


@kernel(lean=True, apart=True)
def given_project(data, t, y, bh, gh, out):
    """Projection by Python; see Problem. Writes: y, out."""
    call_fortran(data.given[PROJECT], (t, y, bh, gh, out))
    return data.given[STATUS]


class Given(ABC):
    """What gives the functions of a problem in Python. They raise a `SolverError` where a state cannot be.

    `known`: the problem of the recursion, whose switches, increments and nearness go on to hold. `failure`:
    what was raised last. `events`: time, number and direction of what the form has to tell.
    """

    name = ""

    def __init__(self, known: Problem, **other: Any) -> None:
        self.known, self.events = known, list[tuple[float, int, float]]()
        self.failure: SolverError | None = None
        self.broken: BaseException | None = None
        size, n_vel, n_aux = known.size, known.n_vel, known.n_aux
        self._kept = [
            self._called(RATES, self.rates, (None, size, size)),
            self._called(SHIFTED, self.shifted, (None, size, n_vel, None, None, n_vel, n_aux)),
            self._called(PROJECT, self.project, (None, size, None, None, 3)),
        ]
        own = {"rates": given_rates, "shifted": given_shifted, "project": given_project}
        self.problem = replace(known, form=self, **own, **other)

    def _called(self, place: int, method: Any, sizes: tuple[int | None, ...]) -> Any:
        """A method as kernels call it, with numbers (None) and arrays that are theirs; it never raises."""
        kinds = [ctypes.c_double if size is None else ctypes.c_double * size for size in sizes]
        given = self.known.data.given

        def call(*addresses: int) -> None:
            args = [kind.from_address(at) for kind, at in zip(kinds, addresses, strict=True)]
            given[STATUS] = 1
            try:
                if self.broken is None:
                    method(*(x.value if isinstance(x, ctypes.c_double) else as_array(x) for x in args))
                    given[STATUS] = 0
            except SolverError as error:
                self.failure = error
            except BaseException as error:
                self.broken = error

        made = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(sizes))(call)
        given[place] = ctypes.cast(made, ctypes.c_void_p).value
        return made

    @abstractmethod
    def rates(self, t: float, y: Floats, y_dot: Floats) -> None: ...

    @abstractmethod
    def shifted(
        self, t: float, y: Floats, a: Floats, bh: float, gh: float, a_new: Floats, aux_dot: Floats
    ) -> None: ...

    @abstractmethod
    def project(self, t: float, y: Floats, bh: float, gh: float, out: Floats) -> None: ...

    @abstractmethod
    def row(self, t: float, y: Floats) -> Floats:
        """Everything that is reported at a state, as the form itself finds it."""

    @property
    def warnings(self) -> list[str]:
        """What to know of the motion so far."""
        return []

    def fail(self, t: float) -> SolverError:
        """What ended the run at a time: the last state that could not be."""
        assert self.failure is not None
        found = self.failure.diagnostics[0]
        what = f"{found.what} ({self.name})"
        return SolverError(Diagnostic(found.code, f"t = {t:.6g} s", what, found.remedy))

    def checkpoint(self) -> dict[str, Any]:
        """What the next step needs beside the state."""
        return {}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.failure = None
