"""Case file, includes and overrides -> one tree of data that still knows where everything stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flexmbs.disk import OutsideError, inside, root_of
from flexmbs.errors import Diagnostic, Diagnostics, InputError, nearest
from flexmbs.expressions import ExpressionError, confined
from flexmbs.toml_file import TomlFile, parse_toml, parse_value, read_toml

Path_ = tuple[str | int, ...]
MAX_INCLUDES = 100


@dataclass
class Source:
    """Data of a case or recipe (`kind`), the file of every path; `root` confines all files that it names."""

    name: str
    folder: Path
    data: dict[str, Any]
    owners: dict[Path_, TomlFile] = field(default_factory=dict)
    files: list[TomlFile] = field(default_factory=list)
    kind: str = "case"
    root: Path | None = None

    def owner(self, path: Path_) -> TomlFile | None:
        path = tuple(path)
        while path and path not in self.owners:
            path = path[:-1]
        return self.owners.get(path) or (self.files[0] if self.files else None)

    def where(self, path: Path_, *, key: bool = False, offset: int | None = None) -> str:
        """`file:line:column` of a path; `offset` counts characters into a string value."""
        owner = self.owner(path)
        if owner is None or not owner.text:
            return owner.name if owner else self.name
        if offset is None:
            return owner.where(path, key=key)
        return owner.where(path, key=key, offset=offset + 1 if _is_plain_string(owner, path) else 0)

    def placed(self, item: Diagnostic) -> Diagnostic:
        """A finding about a part, `forces.wind.set`, with the place of that part in the file."""
        path = tuple(item.where.split("."))
        known = path if path in self.owners else path[:2]
        if known not in self.owners:
            return item
        return replace(item, where=self.where(known, key=len(known) < 3), what=f"{item.where}: {item.what}")

    def folder_of(self, path: Path_) -> Path:
        """Folder to which file names at `path` are relative: that of the file where they stand."""
        owner = self.owner(path)
        return owner.folder if owner is not None and owner.folder is not None else self.folder

    def file(self, path: Path_, text: str) -> Path:
        """A file that is named at `path`; one on the command line may lie anywhere, others in the root."""
        owner = self.owner(path)
        root = self.root if owner is not None and owner.text else None
        try:
            return inside(root, self.folder_of(path), text)
        except OutsideError as error:
            what = f"{'.'.join(map(str, path))}: {error}"
            raise InputError(Diagnostic("file.outside", self.where(path), what)) from None

    def text(self) -> str:
        """All files of the case, one after the other, for the record."""
        return "\n".join(f"# file: {item.name}\n{item.text}" for item in self.files if item.text)


def _is_plain_string(owner: TomlFile, path: Path_) -> bool:
    """Whether the value is a string on one line, so that columns can be counted into it."""
    if path not in owner.places:
        return False
    line, column = owner.place(path)
    rest = owner.text.split("\n")[line - 1][column - 1 :]
    return rest[:1] in ("'", '"') and rest[:3] not in ("'''", '"""')


def read_source(
    path: str | Path,
    root: str | Path | None = None,
    text: str | None = None,
    others: Mapping[Path, str] | None = None,
) -> Source:
    """Read a case file with its includes; raises `InputError` with all that is wrong with them.

    `text`: in place of that of the file, `others`: of included ones, by their resolved paths.
    """
    path = Path(path)
    file = read_toml(path) if text is None else parse_toml(text, name=str(path))
    file.folder = path.parent
    if {"mesh", "matrices"} & set(file.data) and not {"bodies", "joints"} & set(file.data):
        remedy = "flexmbs reduce makes modal data of it, which a case names as reduce or modal"
        raise InputError(Diagnostic("case.recipe", str(path), "is the recipe of a body, no case", remedy))
    source = Source(str(path), path.parent, {}, root=Path(root) if root else root_of(path.parent))
    problems = Diagnostics()
    _take(source, file, problems, (path.resolve(),), others or {})
    problems.raise_errors()
    return source


def source_from(data: Mapping[str, Any], folder: str | Path = ".", name: str = "case") -> Source:
    """A case written as Python dictionaries; messages then have no lines."""
    import copy

    return Source(name, Path(folder), copy.deepcopy(dict(data)))


def _take(
    source: Source,
    file: TomlFile,
    problems: Diagnostics,
    chain: tuple[Path, ...],
    others: Mapping[Path, str],
) -> None:
    """Merge a file and, before it, nothing: what it includes is merged behind it."""
    source.files.append(file)
    for place in file.places:
        source.owners.setdefault(place, file)
    _merge(source, source.data, file.data, (), file, problems)
    includes = file.data.get("include", [])
    if not isinstance(includes, list):
        return  # the schema says what is wrong
    for k, item in enumerate(includes):
        where = file.where(("include", k))
        if len(source.files) > MAX_INCLUDES:
            problems.error("case.include", where, f"more than {MAX_INCLUDES} files are included")
            return
        if isinstance(item, str):
            _include(source, file, item, where, problems, chain, others)


def _include(
    source: Source,
    file: TomlFile,
    item: str,
    where: str,
    problems: Diagnostics,
    chain: tuple[Path, ...],
    others: Mapping[Path, str],
) -> None:
    """An include lies inside the root; its own file names are relative to itself."""
    folder = file.folder or source.folder
    try:
        target = confined(folder, item, source.root or source.folder)
    except ExpressionError as error:
        problems.error("case.include", where, f"include: {error}")
        return
    if target in chain:
        problems.error("case.include", where, f'include: "{item}" includes itself')
        return
    try:
        name = str(folder / item)
        found = parse_toml(others[target], name=name) if target in others else read_toml(target, name=name)
        found.folder = target.parent
        _take(source, found, problems, (*chain, target), others)
    except InputError as error:
        problems.extend(error.diagnostics)


def _merge(
    source: Source,
    into: dict[str, Any],
    data: dict[str, Any],
    path: Path_,
    file: TomlFile,
    problems: Diagnostics,
) -> None:
    for key, value in data.items():
        here = (*path, key)
        if not path and key in ("include", "format_version") and len(source.files) > 1:
            continue
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(source, into[key], value, here, file, problems)
        elif key in into:
            first = source.where(here, key=True)
            dotted = ".".join(str(part) for part in here)
            problems.error(
                "case.duplicate", file.where(here, key=True), f"{dotted} is also defined at {first}"
            )
        else:
            into[key] = _copy(value)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def parse_settings(items: list[str]) -> dict[str, Any]:
    """`key=value` texts of `--set` -> overrides; values as in a case file, other texts as they are."""
    overrides = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key.strip():
            raise InputError(
                Diagnostic("case.set", f"--set {item}", "expected key=value", "such as speed=1500rpm")
            )
        overrides[key.strip()] = parse_value(text.strip())
    return overrides


def override(
    source: Source, overrides: Mapping[str, Any], tables: list[str], folder: Path = Path(".")
) -> None:
    """Put values in place of those of the file: parameters by name, anything by its dotted key.

    folder : of files that they name
    """
    problems = Diagnostics()
    for key, value in overrides.items():
        parameters = source.data.get("parameters", {})
        words = key.split(".")
        if isinstance(parameters, dict) and key in parameters:
            words = ["parameters", key]
        elif words[0] not in tables or (len(words) == 1 and isinstance(source.data.get(key), dict)):
            choices = [*parameters, *tables]
            problems.error(
                "case.set", f"--set {key}", f'there is no parameter "{key}"', nearest(key, choices)
            )
            continue
        if not _put(source.data, words, value):
            problems.error("case.set", f"--set {key}", f'"{key}" is no key of the case')
            continue
        path = tuple(int(w) if w.isdigit() else w for w in words)
        for known in [item for item in source.owners if item[: len(path)] == path]:
            del source.owners[known]
        source.owners[path] = TomlFile(f"--set {key}", "", {}, folder=folder)
    problems.raise_errors()


def _put(data: Any, words: list[str], value: Any) -> bool:
    for word in words[:-1]:
        if isinstance(data, list) and word.isdigit() and int(word) < len(data):
            data = data[int(word)]
        elif isinstance(data, dict):
            data = data.setdefault(word, {})
        else:
            return False
    if isinstance(data, list) and words[-1].isdigit() and int(words[-1]) < len(data):
        data[int(words[-1])] = value
    elif isinstance(data, dict):
        data[words[-1]] = value
    else:
        return False
    return True
