"""`flexmbs run --verify`: the same case by the other formulation, and by how much the two differ."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.case.case import Case, Progress
from flexmbs.case.runner import execute, prepare, settings
from flexmbs.dynamics.descriptor.own_energies import bodies_with_energies
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.results import Result
from flexmbs.simulate.analyses import FORMULATIONS

Floats = NDArray[np.float64]
OTHER = {"recursive": "descriptor", "minimal": "descriptor", "descriptor": "recursive"}
#: largest tolerance of the second run, and the agreement asked for, over the rtol of the first
RTOL, FACTOR, FLOOR = 1e-7, 1e3, 1e-6
ENERGIES = ("kinetic", "gravity", "strain", "spring")


@dataclass(frozen=True)
class Opinion:
    """Largest difference of one kind between two formulations, over the largest magnitude of the kind."""

    kind: str
    where: str
    time: float
    difference: float
    size: float
    tolerance: float

    @property
    def passed(self) -> bool:
        return bool(self.difference <= self.tolerance * self.size)

    def __str__(self) -> str:
        word = "ok    " if self.passed else "FAILED"
        what = f"{self.difference:.2e} in {self.where} at t = {self.time:.6g} s"
        return (
            f"{word} {self.kind}: largest difference {what} ({self.tolerance:.0e} of {self.size:.3g} allowed)"
        )


def other_formulation(case: Case) -> str | None:
    """The formulation that can check a case, or None where its analysis has no second one."""
    chosen = settings(case)
    other = OTHER.get(chosen.formulation)
    if other is None or chosen.start != "assembled" or chosen.type not in FORMULATIONS["descriptor"]:
        return None
    if bodies_with_energies(case.model()):
        return None  # no other formulation knows them
    if chosen.type == "kinematics" and not _all_driven(case):
        return None
    return other


def _all_driven(case: Case) -> bool:
    """Whether drives leave nothing open."""
    system = prepare(case.with_values(**{"analysis.formulation": "recursive"}))
    return not len(Minimal(system.evaluator(), system.initial_state()).split.ind)


def second_opinion(
    case: Case,
    result: Result,
    other: str,
    *,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> list[Opinion]:
    """Run a case by the formulation `other` and compare with its result.

    The second run integrates by the method of its formulation with tolerances at least as tight, so that
    what differs is the formulation and the error of the first run. Raises as `execute` does.
    """
    chosen = settings(case)
    values = {
        "analysis.formulation": other, "analysis.method": "auto", "analysis.step": "auto",
        "analysis.rtol": min(chosen.rtol, RTOL), "analysis.atol": min(chosen.atol, 1e-10),
        "analysis.type": chosen.type,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        done = execute(case.with_values(**values), Path(folder) / "second.h5", progress=progress, say=say)
        found = opinions(result, done.result, max(FACTOR * chosen.rtol, FLOOR))
        done.result.close()
    return found


def opinions(a: Result, b: Result, tolerance: float) -> list[Opinion]:
    """Largest differences of positions, rotations, modes, reactions, efforts and energies."""
    n = min(len(a.time), len(b.time))
    times = np.asarray(a.time)[:n]
    bodies = list(a.bodies) if "bodies" in a else []
    length = max([1e-3, *(_size(a, f"bodies/{name}/position") for name in bodies)])
    modes = [f"bodies/{name}/q" for name in bodies if f"bodies/{name}/q" in a.paths]
    kinds = {
        "end of the run": (["time"], abs(float(times[-1])) if n else 0.0),
        "positions": ([f"bodies/{name}/position" for name in bodies], length),
        "rotations": ([f"bodies/{name}/quaternion" for name in bodies], 1.0),
        "modes": (modes, max([1e-12, *(_size(a, path) for path in modes)])),
    }
    names = list(a.joints) if "joints" in a else []
    force = max([1e-9, *(_size(a, f"joints/{name}/reaction_force") for name in names)])
    force = max([force, *(_size(a, f"joints/{name}/reaction_moment") / length for name in names)])
    for shared in (False, True):  # by redundant rows: all formulations share by the same rule (F28)
        some = [name for name in names if _determinate(a, b, name) is not shared]
        for what, size in (("force", force), ("moment", force * length)):
            kind = f"{'shared ' if shared else ''}reaction {what}s"
            kinds[kind] = ([f"joints/{name}/reaction_{what}" for name in some], size)
    efforts = [f"drives/{name}/effort" for name in (a.drives if "drives" in a else ())]
    kinds["efforts"] = (efforts, max([1e-9, *(_size(a, path) for path in efforts)]))
    energies = [f"energy/{name}" for name in ENERGIES]
    kinds["energies"] = (energies, max([1e-12, *(_size(a, path) for path in energies)]))
    return [
        _worst(kind, a, b, paths, n, times, size, tolerance)
        for kind, (paths, size) in kinds.items()
        if paths and n
    ]


def _determinate(a: Result, b: Result, joint: str) -> bool:
    """Whether a joint's forces follow from equilibrium, in both results."""
    path = f"joints/{joint}/reaction_force"
    return all(bool(result.attributes_of(path).get("determinate", True)) for result in (a, b))


def _size(result: Result, path: str) -> float:
    return float(np.abs(np.asarray(result[path])).max(initial=0.0))


def _worst(
    kind: str, a: Result, b: Result, paths: list[str], n: int, times: Floats, size: float, tolerance: float
) -> Opinion:
    found = []
    for path in paths:
        x, y = np.asarray(a[path])[:n].reshape(n, -1), np.asarray(b[path])[:n].reshape(n, -1)
        error = np.abs(x - y)
        if path.endswith("quaternion"):  # both signs are the same rotation
            error = np.minimum(error.max(axis=1), np.abs(x + y).max(axis=1))[:, None]
        worst = np.where(np.isfinite(error), error, np.inf).max(axis=1, initial=0.0)
        k = int(np.argmax(worst))
        found.append((float(worst[k]), path, float(times[k])))
    difference, path, time = max(found)
    return Opinion(kind, path.replace("/", "."), time, difference, size, tolerance)
