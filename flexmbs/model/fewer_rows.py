"""Tables with fewer constraint rows, for a motion that does not need them all (F28)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.blocks import first_rows
from flexmbs.model.forces.stiff import STIFF
from flexmbs.model.forces.tables import Laws
from flexmbs.model.numbering import offsets
from flexmbs.model.rows import counts_turns
from flexmbs.model.tables import EnvelopeTables, PathTables, Tables

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
    return t._replace(
        relation=t.relation._replace(kind=kinds),
        drive=t.drive._replace(row=renumbered(t.drive.row, kept)),
        joint=t.joint._replace(row=_before(kept)[t.joint.row]),
        row=row._replace(
            shared=renumbered(t.row.shared[kept[t.row.shared]], kept),
            contact=renumbered(t.row.contact[kept[t.row.contact]], kept),
        ),
        term=_some(t.term, terms, "relation", "coord", "coef", "p", "q")._replace(
            start=offsets(np.diff(t.term.start)[kept])
        ),
        speed=_some(t.speed, speeds, "coord", "expr", "coef", "place")._replace(
            start=offsets(np.diff(t.speed.start)[kept])
        ),
        group=t.group._replace(start=offsets(size)),
        block=t.block._replace(first=first_rows(t.block.of_group, size)),
        path=_path(t, size),
        envelope=_envelope(t, kept, offsets(size)),
    )


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


def _path(t: Tables, size: Ints) -> PathTables:
    """Paths of groups that have `size` rows."""
    g, old = t.path.group, np.diff(t.group.start)
    speeds = (t.tree.o_eta[1:] - t.tree.o_eta[:-1])[t.path.body]
    return t.path._replace(
        e=offsets(speeds * size[g])[:-1].copy(),
        col=t.path.col // old[g] * size[g],
        mode=t.path.mode // old[g] * size[g],
    )


def _envelope(t: Tables, kept: Flags, start: Ints) -> EnvelopeTables:
    """Envelope of the loop matrix of fewer rows."""
    first = start[t.row.group[t.envelope.first[kept]]]
    return EnvelopeTables(first=first, start=offsets(np.arange(len(first)) - first + 1))
