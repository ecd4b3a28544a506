"""What can go wrong, as values and exceptions; `cli/main.py` alone turns them into text and exit codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import IntEnum
from typing import TYPE_CHECKING, Any

#: as many choices as a message lists: all joints, couplings, forces, sensors
MOST_CHOICES = 20


#: as much as a message shows of a value that it found
MOST_SHOWN = 80
#: as many findings of the same kind are told one by one
FEW = 3
_PART = re.compile(r"\b(bodies|joints|couplings|drives|forces|sensors|states)\.[A-Za-z_]\w*")
_LONG = re.compile(rf'\S{{{3 * MOST_SHOWN},}}|"[^"]{{{MOST_SHOWN + 1},}}"')
#: control characters but line feeds and tabs, and marks that turn the direction of what follows
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def visible(text: str) -> str:
    """A text for the screen: what would move the cursor, ring or turn the line is shown as an escape."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def shortened(text: str) -> str:
    """The finding without the rest of values that are too long to be read."""

    def cut(found: re.Match[str]) -> str:
        value, quote = found[0], found[0][:1] if found[0][:1] == '"' else ""
        return f"{value[:MOST_SHOWN]}...{quote} ({len(value)} characters)"

    text = _LONG.sub(cut, text)
    return text if len(text) <= 15 * MOST_SHOWN else f"{text[: 15 * MOST_SHOWN]}..."


class ExitCode(IntEnum):
    """Exit codes of the command line; promised to users."""

    DONE = 0
    INTERNAL = 1
    USAGE = 2
    INPUT = 3
    SOLVER = 4
    MISSING = 5
    DIFFERENT = 6
    INTERRUPTED = 130


@dataclass(frozen=True)
class Diagnostic:
    """One finding about an input: where it is, what was found, what was expected, what to do.

    `code` is the stable name of the finding (`mesh.inverted_cells`), documented in `docs/errors.md`.
    """

    code: str
    where: str
    what: str
    remedy: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        text = f"{self.where}  {self.severity:<5}  {shortened(self.what)}"
        return visible(f"{text}; {self.remedy}" if self.remedy else text)


class FlexmbsError(Exception):
    """Base of all errors that flexmbs raises on purpose; carries one diagnostic or several."""

    exit_code = ExitCode.INTERNAL

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(item) for item in self.diagnostics))


class UsageError(FlexmbsError):
    """The command or the call is wrong."""

    exit_code = ExitCode.USAGE


class UnknownNameError(UsageError, KeyError, AttributeError):
    """There is nothing of that name; mappings and attributes ask for errors of their kind."""

    __str__ = Exception.__str__


class InputError(FlexmbsError):
    """A case, mesh, modal data or result file is not valid."""

    exit_code = ExitCode.INPUT


class SolverError(FlexmbsError):
    """The solver stopped early, or the mechanism cannot be assembled."""

    exit_code = ExitCode.SOLVER


class MissingComponentError(FlexmbsError):
    """An optional component is needed and not installed."""

    exit_code = ExitCode.MISSING


class Interrupted(FlexmbsError):
    """Stopped by the user; what was computed is kept."""

    exit_code = ExitCode.INTERRUPTED


class Diagnostics:
    """Collects the findings of one stage, so that all of them are reported together."""

    def __init__(self) -> None:
        self.items: list[Diagnostic] = []

    def error(self, code: str, where: str, what: str, remedy: str = "") -> None:
        self.items.append(Diagnostic(code, where, what, remedy))

    def warn(self, code: str, where: str, what: str, remedy: str = "") -> None:
        self.items.append(Diagnostic(code, where, what, remedy, severity="warn"))

    def extend(self, items: Iterable[Diagnostic]) -> None:
        self.items.extend(items)

    @property
    def errors(self) -> list[Diagnostic]:
        return [item for item in self.items if item.severity == "error"]

    @property
    def warnings(self) -> list[Diagnostic]:
        return [item for item in self.items if item.severity == "warn"]

    def raise_errors(self, kind: type[FlexmbsError] = InputError) -> None:
        """Raise all errors found so far as one exception; do nothing when there are none."""
        if self.errors:
            raise kind(*merged(self.errors))


def merged(items: Iterable[Diagnostic]) -> list[Diagnostic]:
    """One finding, with a count, where more than FEW parts share it word for word but for their names."""
    alike: dict[Any, list[Diagnostic]] = {}
    for item in items:
        key = item.code, item.severity, item.remedy, _PART.sub(r"\1.*", item.what)
        alike.setdefault(key if _PART.search(f"{item.where} {item.what}") else item, []).append(item)
    found: list[Diagnostic] = []
    for group in alike.values():
        found += group if len(group) <= FEW else [_of_all(group)]
    return found


def _of_all(group: Sequence[Diagnostic]) -> Diagnostic:
    """The first of findings that are the same, with the names of some others."""
    first = group[0]
    names = [match[0] for item in group if (match := _PART.search(f"{item.what} {item.where}"))]
    listed = ", ".join(dict.fromkeys(names[1:FEW]))
    more = f"the same in {len(group) - 1} more: {listed}, ..."
    return replace(first, what=f"{first.what} ({more})")


def nearest(name: str, choices: Sequence[str]) -> str:
    """A phrase that names the nearest valid choice, or lists the choices."""
    match = get_close_matches(str(name), [str(choice) for choice in choices], n=1, cutoff=0.6)
    if match:
        return f'did you mean "{match[0]}"?'
    if not choices:
        return "there are none"
    listed = ", ".join(str(choice) for choice in list(choices)[:MOST_CHOICES])
    return f"choices: {listed}" + (", ..." if len(choices) > MOST_CHOICES else "")


class Known(dict[str, Any]):
    """Things by name; an unknown name is an error with the choices."""

    def __init__(self, kind: str, items: Mapping[str, Any]) -> None:
        super().__init__(items)
        self.kind = kind

    def __missing__(self, name: str) -> Any:
        raise unknown_name(self.kind, str(name), list(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, dict(self))


class Told:
    """Makes an unknown attribute an error with the choices."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):  # a property that failed says why itself
                return object.__getattribute__(self, name)
            choices = [word for word in dir(self) if not word.startswith("_")]
            raise unknown_name(type(self).__name__, name, choices)


def known_fields(owner: Any, *names: str) -> None:
    """Make fields of a dataclass that are mappings `Known` by their names."""
    for name in names:
        object.__setattr__(owner, name, Known(name, getattr(owner, name)))


def unknown_name(where: str, name: str, choices: Sequence[str]) -> UnknownNameError:
    """The error of a name that nothing has."""
    return UnknownNameError(
        Diagnostic("name.unknown", where, f'there is no "{name}"', nearest(name, choices))
    )


def missing_component(what: str, needs: str, extra: str) -> MissingComponentError:
    """Error for a feature whose optional dependency is not installed, with the command that installs it."""
    return MissingComponentError(
        Diagnostic(
            "missing." + extra, what, f"needs {needs}", f'install it with: pip install "flexmbs[{extra}]"'
        )
    )
