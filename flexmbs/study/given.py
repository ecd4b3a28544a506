"""The case of a study, as every process of it reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flexmbs.case import Case

#: folder of a study for bodies, named by the content of their recipes
BODIES = "bodies"


def load(path: str | Path, root: Any, allow_python: bool, overrides: dict[str, Any]) -> Case:
    """The case of a study: [expected] values are those of one design only."""
    case = Case.load(path, root=root, allow_python=allow_python, **overrides)
    return without_expected(case)


def without_expected(case: Case) -> Case:
    """A case that is not compared, whatever its values are."""
    return case.with_tables(lambda data: data.pop("expected", None)) if case.spec.expected else case
