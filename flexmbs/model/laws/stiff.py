"""Stiff forces between bodies as compliant constraints of the implicit step (F45).

Each direction of a spring or bushing is a row of the loop matrix with the compliance 1/kh,
kh = bh K + gh D. The force itself stays with the applied forces; what the rows add is how it changes with the
accelerations, so that the passes settle however stiff it is. Without a step the rows are off.
"""

from __future__ import annotations

from typing import Any

from flexmbs._jit import kernel
from flexmbs.ffrf.marker import inverse_jacobian_coefficient
from flexmbs.model.laws.pair_kernels import deflection
from flexmbs.model.laws.tables import BUSHING, DAMPING, LENGTH, SPAN, SPAN_LAW, STIFFNESS
from flexmbs.model.rows import Entry, Group, Row
from flexmbs.model.vectors import from_axes

#: Kind of the relations of these rows: their forces are written here, their values are zero.
STIFF = 8
OFF = -1.0
#: Rows of a law of each kind.
DIRECTIONS = {SPAN: 1, SPAN_LAW: 1, BUSHING: 6}


@kernel(lean=True, apart=True)
def stiff_rows(laws, lw, sys, ws, gh, bh):
    """Directions and compliances of all rows (F45). Needs applied_forces. Writes: ent of the rows, soft."""
    for s in range(laws.stiff_row.shape[0]):
        k, c, r = laws.stiff_law[s], laws.stiff_direction[s], laws.stiff_row[s]
        if laws.kind[k] == BUSHING:
            n = laws.first[k] + c
            kh = bh * lw.value[n] + gh * lw.value[n + 6]
        else:
            kh = bh * lw.out[k, STIFFNESS] + gh * lw.out[k, DAMPING]
        if not kh > 0.0:
            ws.row.soft[r] = OFF
            continue
        ws.row.soft[r] = 1.0 / kh
        direction(laws, lw, ws, k, c, ws.relation.at[laws.stiff_entry[s]])


@kernel(lean=True, later="void")
def direction(laws, lw, ws, k, c, ent):
    """Unit force and moment on Q of direction c of law k, ground axes. Writes: ent."""
    p, q = laws.mark_p[k], laws.mark_q[k]
    x = y = z = 0.0
    if laws.kind[k] != BUSHING:
        length = lw.out[k, LENGTH]
        scale = 1.0 / length if length > 0.0 else 0.0
        for row in range(3):
            ent[3 + row] = scale * (ws.marker.x[q, row] - ws.marker.x[p, row])
        return
    if c < 3:
        ent[3], ent[4], ent[5] = ws.marker.R[p, 0, c], ws.marker.R[p, 1, c], ws.marker.R[p, 2, c]
        return
    deflection(ws, p, q, lw.wrench)
    x, y, z = lw.wrench[3], lw.wrench[4], lw.wrench[5]
    # moment conjugate to the rate of phi_c: J^-T e_c
    i, j, m = 0.0, 0.0, 0.0
    if c == 3:
        i = 1.0
    elif c == 4:
        j = 1.0
    else:
        m = 1.0
    e = inverse_jacobian_coefficient(x * x + y * y + z * z)
    a, b, d = y * m - z * j, z * i - x * m, x * j - y * i
    i, j, m = (
        i + 0.5 * a + e * (y * d - z * b),
        j + 0.5 * b + e * (z * a - x * d),
        m + 0.5 * d + e * (x * b - y * a),
    )
    ent[6], ent[7], ent[8] = from_axes(ws.marker.R, p, i, j, m)


def stiff_groups(rows: list[Any]) -> list[Group]:
    """One group of rows for every stiff law, to be numbered with the other rows."""
    groups = []
    for row in rows:
        if row.stiff:
            count = DIRECTIONS[row.kind]
            own = [
                Row(f"direction {c + 1}", entries=[(1.0, Entry(STIFF, row.p, row.q))]) for c in range(count)
            ]
            row.group = Group(row.owner.partition(".")[2], "force", own)
            groups.append(row.group)
    return groups


def stiff_numbers(rows: list[Any]) -> dict[str, list[int]]:
    """Law, direction, entry and row number of every compliant row."""
    found: dict[str, list[int]] = {
        "stiff_law": [],
        "stiff_direction": [],
        "stiff_entry": [],
        "stiff_row": [],
    }
    for k, row in enumerate(rows):
        for c, item in enumerate(row.group.rows if row.group is not None else ()):
            for name, number in zip(found, (k, c, item.entries[0][1].number, item.number), strict=True):
                found[name].append(number)
    return found
