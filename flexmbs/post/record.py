"""What stage 3 reads: the datasets of a result by path, their units, and the case they belong to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.results import Result

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Record:
    """A result, finished or not, as pictures need it; datasets are read when they are asked for."""

    result: Result

    @classmethod
    def load(cls, path: str | Path) -> Record:
        """Open a result by its name; the folder of an unfinished one is found by the same name."""
        return cls(Result.load(path))

    @property
    def path(self) -> Path:
        return self.result.path

    @cached_property
    def paths(self) -> list[str]:
        """Paths of all datasets but those of the integrator."""
        return [path for path in self.result.paths if not path.startswith("checkpoint/")]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.paths)

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """Names directly below each group."""
        found: dict[str, dict[str, None]] = {}
        for path in self.paths:
            group, _, rest = path.partition("/")
            found.setdefault(group, {})[rest.split("/")[0]] = None
        return {group: list(names) for group, names in found.items()}

    @cached_property
    def time(self) -> Floats:
        """Times of the samples (time,)."""
        time = np.atleast_1d(np.asarray(self.result["time"], dtype=float))
        if not len(time):
            what = "holds no sample yet"
            raise InputError(Diagnostic("result.empty", self.path.name, what, "wait for the first one"))
        return time

    @property
    def n_samples(self) -> int:
        return len(self.time)

    def names(self, group: str) -> list[str]:
        """Names directly below a group, `names("bodies")`."""
        return self._names.get(group, [])

    def has(self, path: str) -> bool:
        return path in self._known

    def get(self, path: str, default: Any = None) -> Any:
        return self.result[path] if self.has(path) else default

    def require(self, path: str) -> Any:
        """Dataset by path; an unknown one is an error with the nearest name."""
        if not self.has(path):
            what = f"/{path} is not in this result"
            raise InputError(Diagnostic("result.no_dataset", self.path.name, what, nearest(path, self.paths)))
        return self.result[path]

    def is_history(self, path: str) -> bool:
        """Whether time is the first dimension of a dataset."""
        return self.result.dimensions(path)[:1] == ("time",) and path != "time"

    def unit(self, path: str) -> str:
        unit = self.result.units(path)
        return "" if unit == "1" else unit

    def attribute(self, path: str, name: str, default: Any = None) -> Any:
        return self.result.attributes_of(path).get(name, default)

    @property
    def root(self) -> dict[str, Any]:
        """Attributes of the file: status, message, t_reached, ..."""
        return self.result.attributes

    @property
    def bodies(self) -> list[str]:
        return [name for name in self.names("bodies") if self.has(f"bodies/{name}/position")]

    @property
    def flexible(self) -> list[str]:
        return [name for name in self.bodies if self.has(f"bodies/{name}/q")]

    def require_body(self, name: str) -> None:
        """Raise with the flexible bodies of the result when `name` is none."""
        if name not in self.flexible:
            kind = "is rigid" if name in self.bodies else "is not in this result"
            what = f'body "{name}" {kind}'
            choices = "flexible bodies: " + (", ".join(self.flexible) or "none")
            raise InputError(Diagnostic("result.no_body", self.path.name, what, choices))

    @cached_property
    def case(self) -> dict[str, Any]:
        """The case as it stands with the result: its tables, with places, shapes and files as numbers."""
        found: dict[str, Any] = {}
        for name in ("provenance/case_resolved", "provenance/drawing"):
            raw = self.get(name, "")
            try:
                loaded = json.loads(raw) if isinstance(raw, str) and raw.strip() else {}
            except (ValueError, RecursionError):
                what = f"/{name} is no JSON"
                raise InputError(
                    Diagnostic("result.invalid", self.path.name, what, "run the case again")
                ) from None
            found |= loaded if isinstance(loaded, dict) else {}
        return found

    @property
    def title(self) -> str:
        return str(self.case.get("title") or self.path.name.split(".")[0])

    def find_file(self, name: str) -> Path | None:
        """A file that the case names, wherever it lies now; None when it cannot be found.

        Looked for where it was, seen from the result, then beside the result and in the current folder.
        """
        for folder in (self.path.parent, Path()):
            for candidate in (folder / name, folder / Path(name).name):
                if name and candidate.is_file():
                    return candidate
        return None


def table(tree: Any, *names: str) -> dict[str, Any]:
    """Nested table of a case, {} where it is absent."""
    for name in names:
        tree = tree.get(name, {}) if isinstance(tree, Mapping) else {}
    return dict(tree) if isinstance(tree, Mapping) else {}
