"""What verification says: one line per compared quantity, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Line:
    """One quantity of a reference problem: within its tolerance, or not.

    `error` is absolute and so is `tolerance`. Of a list of numbers the line shows the one that is farthest
    off, measured by its tolerance. `seconds` is processor time, which does not depend on what else goes on.
    `problem` and `proves` are filled in by the runner.
    """

    quantity: str
    reference: float
    obtained: float
    tolerance: float
    formulation: str = ""
    method: str = ""
    seconds: float = 0.0
    problem: str = ""
    proves: str = ""
    note: str = ""

    @property
    def error(self) -> float:
        return abs(self.obtained - self.reference)

    @property
    def ratio(self) -> float:
        """Error over tolerance."""
        if self.error == 0.0:
            return 0.0
        return self.error / self.tolerance if self.tolerance > 0.0 else float("inf")

    @property
    def passed(self) -> bool:
        return bool(self.ratio <= 1.0)  # false for a nan

    def data(self) -> dict[str, Any]:
        """Plain data; what is not a finite number is None, for JSON has no other word."""
        values = asdict(self) | {"error": self.error, "ratio": self.ratio, "passed": self.passed}
        return {
            key: None if isinstance(value, float) and not np.isfinite(value) else value
            for key, value in values.items()
        }


def compare(
    quantity: str, obtained: ArrayLike, reference: ArrayLike, *, rtol: float = 0.0, atol: float = 0.0
) -> Line:
    """The worst of the numbers in `obtained`, within `atol + rtol |reference|`."""
    found, known = np.broadcast_arrays(np.asarray(obtained, float), np.asarray(reference, float))
    found, known = found.ravel(), known.ravel()
    tolerance = atol + rtol * np.abs(known)
    error = np.where(np.isfinite(found), np.abs(found - known), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        k = int(np.argmax(np.where(error == 0.0, 0.0, error / tolerance)))
    if found.size > 1:
        quantity = f"{quantity} (worst of {found.size})"
    return Line(quantity, float(known[k]), float(found[k]), float(tolerance[k]))


def not_below(quantity: str, obtained: ArrayLike, reference: ArrayLike, *, rtol: float) -> Line:
    """By how much the smallest of `obtained / reference` falls below one: zero when all lie above."""
    shortfall = 1.0 - np.min(np.asarray(obtained, float) / np.asarray(reference, float))
    return Line(quantity, 0.0, max(float(shortfall), 0.0), rtol)


@dataclass
class Report:
    """All lines of a verification, and what did not run.

    `missing`: methods whose component is not installed. `left_out`: by problem, what does not apply or is not
    compared, each with the reason.
    """

    lines: list[Line] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, dict[str, str]] = field(default_factory=dict)
    seconds: float = 0.0
    quick: bool = False

    @property
    def passed(self) -> bool:
        return bool(self.lines) and all(line.passed for line in self.lines)

    @property
    def problems(self) -> list[str]:
        return list(dict.fromkeys(line.problem for line in self.lines))

    def data(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "problems": len(self.problems),
            "seconds": self.seconds,
            "quick": self.quick,
            "missing": self.missing,
            "left_out": self.left_out,
            "lines": [line.data() for line in self.lines],
        }

    @property
    def text(self) -> str:
        """Table for a terminal: per problem and run the worst quantity, and every miss."""
        blocks = []
        for problem in self.problems:
            lines = [line for line in self.lines if line.problem == problem]
            blocks.append(f"{problem}: {lines[0].proves}")
            blocks += ["  " + row for row in table(shown(lines))]
            reasons = self.left_out.get(problem, {}).items()
            blocks += [f"  left out, {what}: {why}" for what, why in reasons]
        misses = sum(not line.passed for line in self.lines)
        blocks += [f"not run, {what}: {why}" for what, why in self.missing.items()]
        verdict = "all within tolerance" if not misses else f"{misses} OUTSIDE TOLERANCE"
        count = f"{len(self.problems)} problems, {len(self.lines)} quantities"
        return "\n".join([*blocks, f"{count}, {self.seconds:.1f} s: {verdict}"])


def shown(lines: Sequence[Line]) -> list[Line]:
    """Of one problem: of every run the quantity closest to its tolerance, and all that miss it."""
    worst: dict[tuple[str, str, str], Line] = {}
    for line in lines:
        key = (line.note, line.formulation, line.method)
        if key not in worst or not line.ratio <= worst[key].ratio:
            worst[key] = line
    kept = {id(line) for line in worst.values()}
    return [line for line in lines if id(line) in kept or not line.passed]


COLUMNS = (
    "",
    "model",
    "quantity",
    "reference",
    "obtained",
    "error",
    "tolerance",
    "formulation",
    "method",
    "s",
)


def cells(line: Line) -> tuple[str, ...]:
    return (
        "ok" if line.passed else "MISS", line.note, line.quantity, f"{line.reference:.10g}",
        f"{line.obtained:.10g}", f"{line.error:.1e}", f"{line.tolerance:.1e}", line.formulation,
        line.method, f"{line.seconds:.2f}",
    )  # fmt: skip


def table(lines: Sequence[Line]) -> list[str]:
    """Rows in columns of equal width, under a head."""
    rows = [COLUMNS, *(cells(line) for line in lines)]
    width = [max(len(row[k]) for row in rows) for k in range(len(COLUMNS))]
    return ["  ".join(text.ljust(n) for text, n in zip(row, width, strict=True)).rstrip() for row in rows]
