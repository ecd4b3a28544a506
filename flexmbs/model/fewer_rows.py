"""Tables with fewer constraint rows, for a motion that does not need them all (F28)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.blocks import first_rows
from flexmbs.model.forces.stiff import STIFF
from flexmbs.model.forces.tables import Laws
from flexmbs.model.numbering import offsets
from flexmbs.model.tables import Tables

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


def with_rows(t: Tables, kept: Flags) -> Tables:
    """The same tables with the rows where `kept` (n_rows,); every group keeps one row or more.

    Bodies, coordinates, entries and groups keep their numbers; relations that no row needs any more are of
    the kind that is not evaluated.
    """
    n_ent, n_dof = np.diff(t.rowent_start)[kept], np.diff(t.rowdof_start)[kept]
    ent = np.repeat(kept, np.diff(t.rowent_start))
    dof = np.repeat(kept, np.diff(t.rowdof_start))
    fields: dict[str, Any] = {
        name: getattr(t, name)[kept]
        for name in ("group_of_row", "row_massless", "row_law", "row_expr", "row_const", "row_side")
    }
    fields |= {
        name: getattr(t, name)[ent]
        for name in ("rowent", "rowent_coord", "rowent_coef", "rowent_p", "rowent_q")
    }
    fields |= {
        name: getattr(t, name)[dof] for name in ("rowdof_coord", "rowdof_expr", "rowdof_coef", "rowdof_place")
    }
    fields |= {"rowent_start": offsets(n_ent), "rowdof_start": offsets(n_dof)}
    needed = np.union1d(fields["rowent"], t.coord_entry[t.coord_entry >= 0])
    kinds = np.full(len(t.ent_kind), STIFF, dtype=np.int64)
    kinds[needed] = t.ent_kind[needed]
    return t._replace(
        ent_kind=kinds,
        drive_row=renumbered(t.drive_row, kept),
        share_row=renumbered(t.share_row[kept[t.share_row]], kept),
        side_row=renumbered(t.side_row[kept[t.side_row]], kept),
        joint_row=_before(kept)[t.joint_row],
        **fields,
        **_sizes(t, kept),
    )


def laws_with_rows(laws: Laws, kept: Flags) -> Laws:
    """The laws for those tables."""
    return laws._replace(stiff_row=renumbered(laws.stiff_row, kept))


def renumbered(rows: Ints, kept: Flags) -> Ints:
    """New numbers of rows; -1 stays."""
    return np.where(rows < 0, -1, _before(kept)[rows])


def _before(kept: Flags) -> Ints:
    """How many rows are kept before every row, and in all."""
    return offsets(kept)


def _sizes(t: Tables, kept: Flags) -> dict[str, Any]:
    """Groups, their paths and the envelope of the loop matrix for groups of fewer rows."""
    old = np.diff(t.group_start)
    new = np.bincount(t.group_of_row[kept], minlength=len(old))
    start = offsets(new)
    g = t.path_group
    speeds = (t.o_eta[1:] - t.o_eta[:-1])[t.path_body]
    first = start[t.group_of_row[t.env_first[kept]]]
    return {
        "group_start": start,
        "path_e": offsets(speeds * new[g])[:-1].copy(),
        "path_col": t.path_col // old[g] * new[g],
        "path_mode": t.path_mode // old[g] * new[g],
        "block_first": first_rows(t.block_of_group, new),
        "env_first": first,
        "env_start": offsets(np.arange(len(first)) - first + 1),
    }
