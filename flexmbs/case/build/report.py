"""What all builders share: the case, its places, and the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError

from flexmbs.case.schema import CaseFile
from flexmbs.errors import Diagnostics, InputError
from flexmbs.expressions import ExpressionError
from flexmbs.input.problems import dotted
from flexmbs.input.source import Path_, Source

if TYPE_CHECKING:
    from flexmbs.modaldata import ModalData

Progress = Callable[[float, str], None]


@dataclass
class Report:
    """Case file, places and findings of one build; `modal` holds the modal data by file, read once."""

    spec: CaseFile
    source: Source
    problems: Diagnostics = field(default_factory=Diagnostics)
    modal: dict[Path, ModalData] = field(default_factory=dict)
    progress: Progress | None = None
    allow_python: bool = False

    def fail(self, path: Path_, what: str, remedy: str = "", *, code: str = "case.value") -> None:
        self.problems.error(code, self.source.where(path), f"{dotted(path)}: {what}", remedy)

    def raw(self, path: Path_) -> Any:
        """The value at a path as the file has it."""
        data: Any = self.source.data
        for step in path:
            data = data[step]
        return data

    @contextmanager
    def at(self, path: Path_) -> Iterator[None]:
        """Turn errors of values and expressions into findings at `path`."""
        try:
            yield
        except ExpressionError as error:
            where = self.source.where(path, offset=error.column)
            self.problems.error("case.expression", where, f"{dotted(path)}: {error}")
        except PydanticCustomError as error:
            self.fail(path, str((error.context or {}).get("what", error)))
        except InputError as error:
            self.problems.extend(error.diagnostics)

    def folder_of(self, path: Path_) -> Path:
        return self.source.folder_of(path)


def given(table: Any, *names: str) -> dict[str, Any]:
    """The named fields of a table that are not None."""
    return {name: getattr(table, name) for name in names if getattr(table, name) is not None}
