"""Tables with fewer constraint rows, for a motion that does not need them all (F28)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.blocks import first_rows
from flexmbs.model.fronts import front_tables
from flexmbs.model.laws.stiff import STIFF
from flexmbs.model.laws.tables import Laws
from flexmbs.model.numbering import offsets
from flexmbs.model.rows import counts_turns
from flexmbs.model.tables import Tables

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


def with_rows(t: Tables, kept: Flags) -> Tables:
    """The same tables with the rows where `kept` (n_rows,); every group keeps one row or more.

    Bodies, coordinates, entries and groups keep their numbers; relations that no row needs any more are of
    the kind that is not evaluated; angles, which are followed, always are.
    """
    terms = np.repeat(kept, np.diff(t.term.start))
    speeds = np.repeat(kept, np.diff(t.speed.start))
    angles = np.flatnonzero(counts_turns(t.relation.kind))
    needed = np.union1d(np.union1d(t.term.relation[terms], angles), t.coord.entry[t.coord.entry >= 0])
    kinds = np.full(len(t.relation.kind), STIFF, dtype=np.int64)
    kinds[needed] = t.relation.kind[needed]
    row = _some(t.row, kept, "group", "massless", "law", "expr", "const", "side")
    size = np.bincount(row.group, minlength=len(t.group.soft))
    fewer = t._replace(
        relation=t.relation._replace(kind=kinds),
        drive=t.drive._replace(row=renumbered(t.drive.row, kept)),
        joint=t.joint._replace(row=_before(kept)[t.joint.row], of_row=t.joint.of_row[kept]),
        row=row._replace(
            shared=renumbered(t.row.shared[kept[t.row.shared]], kept),
            contact=renumbered(t.row.contact[kept[t.row.contact]], kept),
        ),
        term=_some(t.term, terms, "relation", "coord", "coef")._replace(
            start=offsets(np.diff(t.term.start)[kept])
        ),
        speed=_some(t.speed, speeds, "coord", "expr", "coef")._replace(
            start=offsets(np.diff(t.speed.start)[kept])
        ),
        group=t.group._replace(start=offsets(size)),
        block=t.block._replace(first=first_rows(t.block.of_group, size)),
    )
    front, slot, path = front_tables(fewer)
    return fewer._replace(front=front, slot=slot, path=path)


def _some(part: Any, kept: Flags, *names: str) -> Any:
    """The part with some of the items of these arrays."""
    return part._replace(**{name: getattr(part, name)[kept] for name in names})


def laws_with_rows(laws: Laws, kept: Flags) -> Laws:
    """The laws for those tables."""
    return laws._replace(stiff_row=renumbered(laws.stiff_row, kept))


def renumbered(rows: Ints, kept: Flags) -> Ints:
    """New numbers of rows; -1 stays."""
    return np.where(rows < 0, -1, _before(kept)[rows])


def _before(kept: Flags) -> Ints:
    """How many rows are kept before every row, and in all."""
    return offsets(kept)
