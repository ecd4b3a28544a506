"""A case: the file, checked, and the model and system made from it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexmbs.case.references import check_references, table_of
from flexmbs.case.schema import CaseFile, Context
from flexmbs.errors import Diagnostics, InputError, Told, known_fields
from flexmbs.input import parameters
from flexmbs.input.problems import read_tables
from flexmbs.input.source import Source, override, read_source, source_from

if TYPE_CHECKING:
    from flexmbs.dynamics.by_symbol import Matrices
    from flexmbs.dynamics.mechanism import Mechanism
    from flexmbs.modaldata import ModalData
    from flexmbs.model.model import Model

Progress = Callable[[float, str], None]


#: as many names of a kind as the summary of a case lists
MOST_NAMES = 8
#: bodies that stay in memory for cases made from one
MOST_KEPT = 16


@dataclass(repr=False)
class Case(Told):
    """A case that has passed its schema. `spec` holds the tables in SI units; `source` knows their places.

    `model()` builds the mechanism (reading or reducing flexible bodies), `system()` numbers it for the
    kernels. `parameters` are the values in force, overrides included.
    """

    spec: CaseFile
    source: Source
    parameters: dict[str, float]
    allow_python: bool = False
    _model: Model | None = field(default=None, repr=False)
    _modal: dict[Path, ModalData] = field(default_factory=dict, repr=False)
    _keeps: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        known_fields(self, "parameters")

    @staticmethod
    def load(
        path: str | Path, *, root: str | Path | None = None, allow_python: bool = False, **overrides: Any
    ) -> Case:
        """Read a case file. `overrides` replace parameters by name, or values by dotted key.

        `Case.load("a.toml", speed="2000 rpm", **{"analysis.t_end": 2})`. All errors come in one `InputError`.
        What the case names lies in `root`: by default the nearest folder upwards that is marked as one, else
        that of the case.
        """
        return _checked(read_source(path, root), overrides, allow_python)

    @staticmethod
    def from_text(
        text: str, path: str | Path, *, allow_python: bool = False, others: Mapping[Path, str] | None = None
    ) -> Case:
        """A case whose file has this text, or will have: other files are found as seen from it.

        `others`: texts of included files in place of what they hold, by resolved path.
        """
        return _checked(read_source(path, text=text, others=others), {}, allow_python)

    @staticmethod
    def from_dict(
        data: Mapping[str, Any], *, folder: str | Path = ".", allow_python: bool = False,
        modal: Mapping[Path, ModalData] | None = None, **overrides: Any,
    ) -> Case:  # fmt: skip
        """A case as Python dictionaries, with the keys of the file; `folder` holds its other files.

        `modal`: modal data in place of files that the case names.
        """
        made = _checked(source_from(data, folder), overrides, allow_python)
        return made._with_modal({path.resolve(): item for path, item in (modal or {}).items()})

    def _with_modal(self, modal: dict[Path, ModalData]) -> Case:
        self._modal = modal
        return self

    def keep_bodies(self) -> Case:
        """Modal data that cases made from this one read stay with it, whatever becomes of the files."""
        self._keeps = True
        return self

    def with_values(self, **overrides: Any) -> Case:
        """The same case with other parameters or keys."""
        made = _checked(self._copy(), overrides, self.allow_python)._with_modal(self._modal)
        made._keeps = self._keeps
        return made

    def with_design(self, values: Mapping[str, Any]) -> Case:
        """The same case with values of a design of its [sweep], which names files as the case does."""
        source = self._copy()
        override(source, values, list(CaseFile.model_fields), self.folder)
        made = _checked(source, {}, self.allow_python)._with_modal(self._modal)
        made._keeps = self._keeps
        return made

    def with_tables(self, change: Callable[[dict[str, Any]], None]) -> Case:
        """The same case with its tables changed in place by a function."""
        changed = self._copy()
        change(changed.data)
        return _checked(changed, {}, self.allow_python)._with_modal(self._modal)

    def _copy(self) -> Source:
        source = self.source
        return Source(
            source.name,
            source.folder,
            _copied(source.data),
            dict(source.owners),
            source.files,
            root=source.root,
        )

    def __repr__(self) -> str:
        """What it consists of, in a few lines; `case.spec` holds the tables."""
        spec = self.spec
        lines = [f"case {self.name}" + (f": {spec.title}" if spec.title else "")]
        for kind in ("bodies", "joints", "couplings", "drives", "forces", "states", "inputs", "sensors"):
            names = list(getattr(spec, kind))
            if names:
                more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
                lines.append(f"  {len(names)} {kind}: {', '.join(names[:MOST_NAMES])}{more}")
        values = [f"{name} = {value:.6g}" for name, value in list(self.parameters.items())[:MOST_NAMES]]
        if values:
            more = (
                f", and {len(self.parameters) - MOST_NAMES} more" if len(self.parameters) > MOST_NAMES else ""
            )
            lines.append(f"  parameters: {', '.join(values)}{more}")
        if spec.analysis is not None:
            until = f" to {spec.analysis.t_end:.6g} s" if spec.analysis.t_end else ""
            lines.append(f"  analysis: {spec.analysis.type}{until}")
        return "\n".join(lines)

    @property
    def name(self) -> str:
        return Path(self.source.name).stem

    @property
    def folder(self) -> Path:
        return self.source.folder

    def model(self, progress: Progress | None = None) -> Model:
        """The mechanism as named parts; raises `InputError` with all that does not fit together."""
        if self._model is None:
            from flexmbs.case.build import build_model
            from flexmbs.case.build.report import Report

            report = Report(
                self.spec, self.source, modal=dict(self._modal), progress=progress,
                allow_python=self.allow_python,
            )  # fmt: skip
            self._model = build_model(report)
            if self._keeps:
                self._modal |= report.modal
                for old in list(self._modal)[:-MOST_KEPT]:
                    del self._modal[old]
        return self._model

    def system(self, progress: Progress | None = None) -> Mechanism:
        """The numbered system: `initial_state`, `forward_dynamics`, `mass_matrix`."""
        from flexmbs.dynamics.mechanism import build

        with self.placed():
            return build(self.model(progress))

    def explain(self, t: float = 0.0, result: Any = None, **options: Any) -> Matrices:
        """Every symbol of the notes at time t of the motion, as arrays by name and body.

        The state is that of `result`, if one is given, else the motion is computed up to t. Options are those
        of `Mechanism.explain`: rotations, rows.
        """
        from flexmbs.case.moment import explain

        return explain(self, t, result, **options)

    def show(self) -> Any:
        """The mechanism as it is assembled: in a notebook in place, else in the browser."""
        from importlib import import_module

        from flexmbs.case.runner import execute

        still = self.with_tables(_only_assembled)
        return import_module("flexmbs.post.show").show(execute(still, keep=False).result)

    def _repr_html_(self) -> str:
        """What it consists of, in notebooks."""
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Findings about parts of the model, within this block, get their places in the file."""
        try:
            yield
        except InputError as error:
            raise InputError(*(self.source.placed(item) for item in error.diagnostics)) from None


def _only_assembled(data: dict[str, Any]) -> None:
    """Leave out what belongs to a motion."""
    for name in ("expected", "metrics", "sweep", "output", "analysis"):
        data.pop(name, None)


def _copied(data: Any) -> Any:
    """Tables and lists of their own; numbers and texts, which do not change, are shared."""
    if type(data) is dict:
        return {key: _copied(item) for key, item in data.items()}
    if type(data) is list:
        return [_copied(item) for item in data]
    return data if isinstance(data, str | int | float) else copy.deepcopy(data)


def _checked(source: Source, overrides: Mapping[str, Any], allow_python: bool) -> Case:
    """Parameters, references and schema; the findings of all three together, in the order of the file."""
    override(source, overrides, list(CaseFile.model_fields))
    problems = Diagnostics()
    values, wrong = parameters.resolve(table_of(source.data, "parameters"))
    for name, what, column in wrong:
        where = source.where(("parameters", name), offset=column or None)
        problems.error("case.parameter", where, f"parameters.{name}: {what}")
    check_references(source, CaseFile, problems)
    if source.files and not source.data.get("bodies"):
        problems.error("case.empty", source.name, "has no bodies", "flexmbs new writes a case to begin with")
    data = dict(source.data)
    if "parameters" in data:
        data["parameters"] = values if isinstance(data["parameters"], dict) else data["parameters"]
    context = Context(values, source.folder, source.root, allow_python=allow_python)
    return Case(read_tables(CaseFile, data, source, context, problems), source, values, allow_python)
