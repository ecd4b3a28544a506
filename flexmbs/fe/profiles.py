"""Sections of beams by the names and sizes that decks give them -> Section and its principal axes.

A section is a set of rectangles, added or taken away, in the axes y, z of its deck; torsion is that of thin
walls where it is not solid: an open section has the sum of its walls, a closed one that of Bredt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from flexmbs.fe.sections import Section, rectangle, tube


@dataclass(frozen=True)
class Profile:
    """A section whose principal axes are turned by `angle` [rad] from y to z, its centroid at (y, z)."""

    section: Section
    angle: float = 0.0
    centre: tuple[float, float] = (0.0, 0.0)


#: width along y, height along z, place of the middle y, z
Wall = tuple[float, float, float, float]


def principal(A: float, Iy: float, Iz: float, Iyz: float, J: float, **options: object) -> Profile:
    """Section by its numbers, with its principal axes."""
    angle = 0.0
    if abs(Iyz) > 1e-12 * max(Iy, Iz):
        angle = 0.5 * float(np.arctan2(2.0 * Iyz, Iz - Iy))
        c, s = np.cos(angle), np.sin(angle)
        across = 2.0 * Iyz * s * c
        Iy, Iz = Iy * c**2 + Iz * s**2 - across, Iz * c**2 + Iy * s**2 + across
    return Profile(Section(A, float(Iy), float(Iz), float(J), **options), angle)  # type: ignore[arg-type]


def of_walls(
    walls: Sequence[Wall],
    J: float | None = None,
    along: tuple[float, float] | None = None,
    hole: Sequence[Wall] = (),
) -> Profile:
    """Section of rectangles, less those of holes, about their common centroid.

    If not given: J of open thin walls; `along`, the areas of the walls along y and z, which carry shear.
    """
    b, h, y, z = np.array([*walls, *hole], dtype=float).T
    if not min(b.min(), h.min()) > 0.0:
        raise ValueError("the sizes do not fit together")
    area = b * h * np.repeat([1.0, -1.0], [len(walls), len(hole)])
    A = float(area.sum())
    cy, cz = float(area @ y) / A, float(area @ z) / A
    Iz = float((area * (b**2 / 12 + (y - cy) ** 2)).sum())
    Iy = float((area * (h**2 / 12 + (z - cz) ** 2)).sum())
    Iyz = float((area * (y - cy) * (z - cz)).sum())
    if J is None:
        J = sum(rectangle(width, height).J for width, height in zip(b, h, strict=True))
    if along is None:
        along = float(area[b >= h].sum()), float(area[b < h].sum())
    shear = tuple(5.0 / 6.0 * min(max(part / A, 0.1), 1.0) for part in along)
    found = principal(A, Iy, Iz, Iyz, J, shear_factor=shear)
    return Profile(found.section, found.angle, (cy, cz))


def circle(r: float) -> Profile:
    return Profile(tube(2.0 * r))


def pipe(r: float, inner: float) -> Profile:
    if not 0.0 <= inner < r:
        raise ValueError("the sizes do not fit together")
    return Profile(tube(2.0 * r, 2.0 * inner))


def bar(width: float, height: float) -> Profile:
    """Height along y, width along z."""
    return Profile(rectangle(height, width))


def box(width: float, height: float, flange: float, flange_2: float, web: float, web_2: float) -> Profile:
    """Outer width along z and height along y; thickness of the walls at the top, bottom, and both sides."""
    y = (flange_2 - flange) / 2.0
    z = (web - web_2) / 2.0
    hole = (height - flange - flange_2, width - web - web_2, y, z)
    a, b = height - (flange + flange_2) / 2.0, width - (web + web_2) / 2.0
    J = 4.0 * (a * b) ** 2 / (b / flange + b / flange_2 + a / web + a / web_2)
    along = (height * (web + web_2), width * (flange + flange_2))
    return of_walls([(height, width, 0.0, 0.0)], J, along, [hole])


def i_beam(height: float, bottom: float, top: float, web: float, t_bottom: float, t_top: float) -> Profile:
    """Web along y, flanges along z; y from the bottom."""
    middle = height - t_bottom - t_top
    return of_walls(
        [
            (t_bottom, bottom, t_bottom / 2.0, 0.0),
            (middle, web, t_bottom + middle / 2.0, 0.0),
            (t_top, top, height - t_top / 2.0, 0.0),
        ]
    )


def tee(width: float, height: float, flange: float, web: float) -> Profile:
    """Flange on top, along z; y from the bottom."""
    stem = height - flange
    return of_walls([(stem, web, stem / 2.0, 0.0), (flange, width, height - flange / 2.0, 0.0)])


def channel(width: float, height: float, web: float, flange: float) -> Profile:
    """Web along y at z = 0, flanges along z."""
    clear = height - 2.0 * flange
    return of_walls(
        [
            (clear, web, 0.0, web / 2.0),
            (flange, width, (height - flange) / 2.0, width / 2.0),
            (flange, width, -(height - flange) / 2.0, width / 2.0),
        ]
    )


def cross(arms: float, web: float, height: float, arm: float) -> Profile:
    """Web along y; two arms along z, of the length `arms` together."""
    side = (web + arms / 2.0) / 2.0
    return of_walls([(height, web, 0.0, 0.0), (arm, arms / 2.0, 0.0, side), (arm, arms / 2.0, 0.0, -side)])


def h_beam(clear: float, flanges: float, height: float, web: float) -> Profile:
    """Flanges along y, of the thickness `flanges` together; web along z between them."""
    side = (clear + flanges / 2.0) / 2.0
    half = (height, flanges / 2.0, 0.0)
    return of_walls([(*half, side), (*half, -side), (web, clear, 0.0, 0.0)])


def hat(height: float, t: float, top: float, brim: float) -> Profile:
    """Top and brims along z, two webs along y; y from the bottom."""
    web, side = height - 2.0 * t, (top - t) / 2.0
    edge = top / 2.0 - t + (brim + t) / 2.0
    return of_walls(
        [
            (t, top, height - t / 2.0, 0.0),
            (web, t, height / 2.0, side),
            (web, t, height / 2.0, -side),
            (t, brim + t, t / 2.0, edge),
            (t, brim + t, t / 2.0, -edge),
        ]
    )


def trough(side: float, bottom: float, height: float, width: float) -> Profile:
    """Two sides along y on a bottom along z; y from the bottom."""
    rise, at = height - bottom, (width - side) / 2.0
    wall = (rise, side, bottom + rise / 2.0)
    return of_walls([(bottom, width, bottom / 2.0, 0.0), (*wall, at), (*wall, -at)])


#: Names and sizes of PBARL and PBEAML; our y is their plane 1, z their plane 2.
NASTRAN: dict[str, tuple[int, Callable[..., Profile]]] = {
    "ROD": (1, circle),
    "TUBE": (2, pipe),
    "TUBE2": (2, lambda r, t: pipe(r, r - t)),
    "BAR": (2, bar),
    "BOX": (4, lambda w, h, t1, t2: box(w, h, t1, t1, t2, t2)),
    "BOX1": (6, lambda w, h, t1, t2, t3, t4: box(w, h, t1, t2, t3, t4)),
    "I": (6, i_beam),
    "I1": (4, lambda out, web, clear, h: i_beam(
        h, out + web, out + web, web, (h - clear) / 2.0, (h - clear) / 2.0)),
    "T": (4, tee),
    "CHAN": (4, channel),
    "CHAN1": (4, lambda out, web, clear, h: channel(out + web, h, web, (h - clear) / 2.0)),
    "CHAN2": (4, trough),
    "CROSS": (4, cross),
    "H": (4, h_beam),
    "HAT": (4, hat),
    "T1": (4, lambda h, web, flange, t: of_walls(
        [(h, flange, 0.0, 0.0), (t, web, 0.0, (flange + web) / 2.0)])),
    "T2": (4, lambda w, h, flange, web: tee(w, h, flange, web)),
}  # fmt: skip
#: Of Abaqus and CalculiX: y is their first axis, z the second. Of an I and a T the origin is given.
ABAQUS: dict[str, tuple[int, Callable[..., Profile]]] = {
    "RECT": (2, lambda a, b: bar(b, a)),
    "CIRC": (1, circle),
    "PIPE": (2, lambda r, t: pipe(r, r - t)),
    "THICKPIPE": (2, lambda r, t: pipe(r, r - t)),
    "BOX": (6, lambda a, b, t1, t2, t3, t4: quarter(box(a, b, t2, t4, t1, t3))),
    "I": (7, lambda at, h, b1, b2, t1, t2, t3: shifted(quarter(i_beam(h, b1, b2, t3, t1, t2)), at)),
    "T": (5, lambda b, h, at, tf, tw: shifted(quarter(tee(b, h, tf, tw)), at)),
}


def quarter(found: Profile) -> Profile:
    """The same with its height along z instead of y: turned by a right angle."""
    y, z = found.centre
    return Profile(found.section, found.angle + 0.5 * np.pi, (-z, y))


def shifted(found: Profile, at: float) -> Profile:
    """With the origin at the height `at`."""
    y, z = found.centre
    return Profile(found.section, found.angle, (y, z - at))
