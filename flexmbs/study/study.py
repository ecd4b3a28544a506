"""A study that is done, or on its way: its rows as columns, its results by design."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, UsageError, unknown_name
from flexmbs.results import Result
from flexmbs.study.sensitivity import Index, indices, share_outside
from flexmbs.study.store import Row, Store
from flexmbs.units import UnitError, parse_quantity

#: parameters that the summary names for a metric
MOST_TOLD = 4


class Study:
    """`fm.Study.load("press.study")`: `.columns`, `.table` (pandas), `.result(k)`, `.summary()`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.rows: list[Row] = list(store.rows())

    @staticmethod
    def load(folder: str | Path) -> Study:
        """The study in a folder, as far as it is done."""
        return Study(Store.open(Path(folder)))

    @property
    def folder(self) -> Path:
        return self._store.folder

    @property
    def names(self) -> list[str]:
        """What varies."""
        return list(self._store.data["names"])

    @property
    def metrics(self) -> list[str]:
        """What is collected."""
        return list(self._store.data["collect"])

    @property
    def size(self) -> int:
        """Number of designs."""
        return len(self._store.ids)

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Design number, what varies, metrics (NaN where a run failed), status: arrays over the rows."""
        designs = self._store.data["designs"]
        found: dict[str, NDArray[Any]] = {"design": np.array([row["design"] for row in self.rows], dtype=int)}
        for name in self.names:
            found[name] = _column([designs[row["design"]]["values"][name] for row in self.rows])
        for name in self.metrics:
            found[name] = np.array([row["metrics"].get(name, np.nan) for row in self.rows], dtype=float)
        found["status"] = np.array([row["status"] for row in self.rows], dtype=object)
        return found

    @property
    def table(self) -> Any:
        """The columns as a pandas table."""
        try:
            import pandas
        except ImportError:
            what, remedy = "needs pandas", "pip install flexmbs[data], or take .columns"
            raise UsageError(Diagnostic("usage.pandas", "Study.table", what, remedy)) from None
        return pandas.DataFrame(self.columns).set_index("design")

    def to_xarray(self) -> Any:
        """The columns as an `xarray.Dataset`: over the axes of a grid, where all its designs are done."""
        table = self.table
        axes = [name for name in self.names if table[name].nunique() > 1]
        sizes = [table[name].nunique() for name in axes]
        whole = (
            bool(axes) and math.prod(sizes) == self.size == len(table) and not table.duplicated(axes).any()
        )
        return (table.reset_index().set_index(axes) if whole else table).to_xarray()

    def file(self, design: int) -> str:
        """Where the result of a design is, in the folder of the study; "" where it was not kept."""
        path = self._store.result(design)
        return str(path.relative_to(self.folder)) if path.is_file() else ""

    def result(self, design: int) -> Result:
        """The result of a design, if it was kept."""
        if not 0 <= design < self.size:
            raise unknown_name(str(self.folder), str(design), [str(row["design"]) for row in self.rows])
        path = self._store.result(design)
        if not path.is_file():
            what = f"keeps no result of design {design}"
            raise InputError(Diagnostic("study.result", str(self.folder), what, 'keep = "all" in [sweep]'))
        return Result.load(path)

    def sensitivity(self) -> dict[str, list[Index]]:
        """For every metric how much each sampled parameter matters; empty for grids, lists and tables."""
        method, columns = self._store.data["sample"], self.columns
        if not method or not self.rows:
            return {}
        X = np.full((self.size, len(self.names)), np.nan)
        for k, item in enumerate(self._store.data["designs"]):
            X[k] = [float(item["values"][name]) for name in self.names]
        found = {}
        for name in self.metrics:
            y = np.full(self.size, np.nan)
            y[columns["design"]] = columns[name]
            found[name] = indices(method, self.names, X, y)
        return found

    def outside(self) -> dict[str, tuple[float, float, float]]:
        """Share of the finished designs beyond `limits` of a metric, with its 95 % interval."""
        columns = self.columns
        return {
            name: share_outside(columns[name], *ends)
            for name, ends in self._store.data["limits"].items()
            if name in columns and self.rows
        }

    @property
    def limits(self) -> dict[str, list[float]]:
        """Limits of metrics."""
        return dict(self._store.data["limits"])

    @property
    def title(self) -> str:
        return str(self._store.data["title"]) or self.folder.name

    @property
    def counts(self) -> dict[str, int]:
        """Number of designs by status; `open` are those without a row."""
        found = Counter(row["status"] for row in self.rows)
        left = self.size - len(self.rows)
        return dict(found) | ({"open": left} if left else {})

    def summary(self) -> str:
        """Counts, the range of every metric and where its ends are, and the first failures."""
        lines = [", ".join(f"{number} {status}" for status, number in self.counts.items())]
        columns = self.columns
        for name in self.metrics:
            values = columns[name]
            good = np.flatnonzero(np.isfinite(values))
            if len(good):
                low, high = (good[pick(values[good])] for pick in (np.argmin, np.argmax))
                lines.append(
                    f"{name}: {values[low]:.6g} (design {columns['design'][low]}) to {values[high]:.6g} "
                    f"(design {columns['design'][high]}), mean {values[good].mean():.6g}"
                )
        for name, items in self.sensitivity().items():
            kind = items[0].kind if items else ""
            top = sorted((i for i in items if i.kind == kind), key=lambda item: -abs(item.value))[:MOST_TOLD]
            told = ", ".join(f"{i.parameter} {i.value:.3f} ({i.low:.3f} to {i.high:.3f})" for i in top)
            lines += [f"{name}, {kind}: {told}"] if top else []
        for name, (share, low, high) in self.outside().items():
            lines.append(f"{name} beyond its limits: {share:.3g} of all designs ({low:.3g} to {high:.3g})")
        wrong = [row for row in self.rows if row["status"] != "complete"]
        lines += [f"design {row['design']} {row['status']}: {row['message'][:200]}" for row in wrong[:5]]
        if len(wrong) > 5:
            lines.append(f"and {len(wrong) - 5} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<study {self.folder.name}: {self.size} designs of {', '.join(self.names)}>\n{self.summary()}"


def _column(values: list[Any]) -> NDArray[Any]:
    """Numbers in SI units where all are numbers, else as given."""
    try:
        return np.array([float(parse_quantity(v).value if isinstance(v, str) else v) for v in values])
    except (UnitError, TypeError, ValueError):
        return np.array([str(value) for value in values], dtype=object)
