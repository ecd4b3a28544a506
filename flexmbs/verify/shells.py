"""Reference problems of shells."""

from __future__ import annotations

from collections.abc import Iterator

from flexmbs.reduce import reduce
from flexmbs.resources import resource
from flexmbs.verify.reference import Reference
from flexmbs.verify.report import Line, compare
from flexmbs.verify.solids import LEAN, material


def free_arm(case: Reference, quick: bool) -> Iterator[Line]:
    """Ten elastic frequencies of a folded sheet."""
    p, known = case.parameters, case.numbers["free_frequencies_hz"]
    mesh = {"file": str(resource("meshes", "arm.msh")), "thickness": p["thickness"]}
    found = reduce({"mesh": mesh, "material": material(p)}, modes=len(known), **LEAN).frequency_hz
    yield compare("frequencies [Hz]", found, known, rtol=case.tolerances[0])
