"""What a result must hold before anything uses it: names, types, shapes and finite numbers, as a table.

A checksum says that the bytes are those that were written, not that a result was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, InputError

Finding = tuple[str, str, str]  # path, what was found, what was expected
STATUS = ("running", "complete", "failed", "interrupted")
#: as many dimensions as anything in a result has
MOST_AXES = 5
#: largest difference of a quaternion's length from one
UNIT = 1e-6
#: what a position or velocity of a run stays below: squares of it are numbers
LARGEST = 1e100


@dataclass(frozen=True)
class Rule:
    """Datasets that `paths` names (`*`: a name, `a|b`: either) have these sizes.

    A size is a number, or a word that means the same number everywhere; a word with `*` means one for each
    name, `?` any; `...` stands for further dimensions.
    """

    paths: str
    sizes: str
    kind: str = "fiu"
    finite: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.paths).replace(r"\*", "(.+)"))


def rules(*rows: Rule) -> tuple[Rule, ...]:
    """Each row once for every name of its last part."""
    found = []
    for row in rows:
        folder, slash, names = row.paths.rpartition("/")
        found += [Rule(folder + slash + name, row.sizes, row.kind, row.finite) for name in names.split("|")]
    return tuple(found)


#: what holds for a part, and, with the parts along the second dimension, for the dataset of all of them
RULES = rules(
    Rule("bodies/position|velocity|acceleration|angular_velocity|angular_acceleration", "T ? 3"),
    Rule("bodies/quaternion", "T ? 4"),
    Rule("bodies/applied", "T ?"),
    Rule("bodies/q|q_dot|q_ddot", "T modes"),
    Rule("bodies/ledger", "T ? ?"),
    Rule("joints/reaction_force|reaction_moment", "T ? 3"),
    Rule("joints/position|velocity|acceleration", "T ?"),
    Rule("forces/force|moment", "T ? 3"),
    Rule("forces/length|rate", "T ?"),
    Rule("forces/value", "T ..."),
    Rule("time", "T", finite=True),
    Rule("bodies/*/position", "T 3", finite=True),
    Rule("bodies/*/velocity|acceleration|angular_velocity|angular_acceleration", "T 3"),
    Rule("bodies/*/quaternion", "T 4", finite=True),
    Rule("bodies/*/applied", "T row*"),
    Rule("bodies/*/q|q_dot|q_ddot", "T mode*", finite=True),
    Rule("bodies/*/ledger", "T ?"),
    Rule("joints/*/reaction_force|reaction_moment", "T 3"),
    Rule("joints/*/position", "T coordinate*", finite=True),
    Rule("joints/*/velocity|acceleration", "T ?", finite=True),
    Rule("forces/*/force|moment", "T 3"),
    Rule("forces/*/length|rate|value", "T ..."),
    Rule("system/com|momentum|angular_momentum", "T 3"),
    Rule("energy/*", "T"),
    Rule("solver/*", "T"),
    Rule("events/event", "E"),
    Rule("events/time", "E", finite=True),
    Rule("events/kind|text", "E", kind="S"),
    Rule("topology/tree|cuts|redundant_rows|own_values|coordinates", "?", kind="S"),
    Rule("provenance/case|case_resolved|drawing|log", "", kind="S"),
    Rule("summary/text", "", kind="S"),
    Rule("linear/eigenvalues", "? 2"),
    Rule("linear/frequency_hz|damping_ratio", "oscillations"),
    Rule("linear/motion/*", "oscillations ? ..."),
    Rule("linear/A", "states states"),
    Rule("linear/B", "states inputs"),
    Rule("linear/C", "outputs states"),
    Rule("linear/D", "outputs inputs"),
    Rule("linear/inputs|outputs", "?", kind="S"),
)


@dataclass(frozen=True)
class Shape:
    """What a dataset is, without reading it."""

    kind: str
    shape: tuple[int, ...]
    dimensions: Callable[[], tuple[str, ...]]


def validate(name: str, datasets: dict[str, Shape], attributes: dict[str, Any]) -> None:
    """Raise `InputError` with all that a result has not as it should."""
    wrong = list(_attributes(attributes))
    if "time" not in datasets:
        wrong.append(("time", "is missing", "the times of the samples"))
    sizes: dict[str, tuple[int, str]] = {}
    for path in sorted(datasets, key=lambda item: (item != "time", item)):
        if path.rpartition("-")[0] not in datasets:  # entries of a dataset, only counted
            wrong += _dataset(path, datasets[path], sizes)
    _refuse(name, wrong)


def check_numbers(name: str, path: str, values: Any) -> Any:
    """The values of a dataset as they were read; raises `InputError` where the table asks for other ones."""
    rule, _ = _rule(path)
    if rule is not None and rule.finite:
        _refuse(name, list(_numbers(path, np.asarray(values))))
    return values


def _refuse(name: str, wrong: list[Finding]) -> None:
    remedy = "run the case again"
    if wrong:
        raise InputError(
            *(
                Diagnostic("result.invalid", name, f"/{path} {what}; expected {wanted}", remedy)
                for path, what, wanted in wrong
            )
        )


def _attributes(attributes: dict[str, Any]) -> Iterable[Finding]:
    status = attributes.get("status")
    if not isinstance(status, str) or status not in STATUS:
        yield "", f"has status {status!r:.80}", ", ".join(STATUS)
    for name in ("message", "title", "case_sha256"):
        if not isinstance(attributes.get(name, ""), str):
            yield "", f"has a {name} that is no text", "a text"
    for name in ("t_reached", "wall_seconds"):
        if not isinstance(attributes.get(name, 0.0), int | float):
            yield "", f"has a {name} that is no number", "a number"


def _dataset(path: str, found: Shape, sizes: dict[str, tuple[int, str]]) -> Iterable[Finding]:
    """Findings of one dataset; `sizes` knows what each word means so far, and from where."""
    rule, names = _rule(path)
    if rule is None:
        n = sizes.get("T", (0, ""))[0]
        if found.shape[:1] != (n,) and found.dimensions()[:1] == ("time",):
            yield path, f"has shape {found.shape}", f"one entry for each of the {n} times"
        return
    if found.kind not in rule.kind:
        yield path, f"holds {KINDS.get(found.kind, 'other things')}", KINDS[rule.kind[0]]
        return
    wanted = rule.sizes.split()
    open_end = wanted[-1:] == ["..."]
    wanted = wanted[:-1] if open_end else wanted
    if len(found.shape) < len(wanted) or len(found.shape) > (MOST_AXES if open_end else len(wanted)):
        yield path, f"has {len(found.shape)} dimensions", f"{len(wanted)}"
        return
    for axis, (size, word) in enumerate(zip(found.shape, wanted, strict=False)):
        meaning, first = _meaning(word, names, size, path, sizes)
        if size != meaning:
            yield path, f"has shape {found.shape}", f"{meaning} along axis {axis}{first}"
            return


def _rule(path: str) -> tuple[Rule | None, tuple[str, ...]]:
    for rule in RULES:
        match = rule.pattern.fullmatch(path)
        if match:
            return rule, match.groups()
    return None, ()


def _meaning(
    word: str, names: tuple[str, ...], size: int, path: str, sizes: dict[str, tuple[int, str]]
) -> tuple[int, str]:
    """The number that a word stands for, and where it comes from."""
    if word.isdigit():
        return int(word), ""
    if word == "?":
        return size, ""
    key = word.replace("*", "/" + "/".join(names))
    number, first = sizes.setdefault(key, (size, path))
    return number, f" as in /{first}"


def _numbers(path: str, values: np.ndarray) -> Iterable[Finding]:
    good = np.abs(values) < LARGEST
    if not good.all():
        place = tuple(map(int, np.argwhere(~good)[0]))
        yield path, f"holds {values[place]} at {list(place)}", f"numbers below {LARGEST:g}"
    elif path == "time" and not (np.diff(values) >= 0.0).all():
        yield path, f"falls at sample {int(np.argmax(np.diff(values) < 0.0)) + 1}", "ascending times"
    elif path.endswith("/quaternion") and values.size:
        off = np.abs(np.linalg.norm(values, axis=1) - 1.0)
        if off.max() > UNIT:
            yield path, f"has a length that is off by {off.max():.3g}", "quaternions of length one"


KINDS = {
    "f": "numbers",
    "i": "integers",
    "u": "integers",
    "b": "truth values",
    "S": "texts",
    "c": "complex numbers",
}
