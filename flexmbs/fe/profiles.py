"""Sections of beams by the names and sizes that decks give them -> Section and its principal axes.

A section is a set of rectangles, added or taken away, or an outline, in the axes y, z of its deck. Torsion is
that of thin walls where it is not solid: an open section has the sum of its walls, a closed one Bredt's.
The shear centre is that of the middle lines of open walls; of closed sections it is taken at the centroid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from flexmbs.fe.outlines import Floats, moments, shear_centre, solid_torsion
from flexmbs.fe.sections import Section, rectangle, tube


@dataclass(frozen=True)
class Profile:
    """A section whose principal axes are turned by `angle` [rad] from y to z, its centroid at (y, z)."""

    section: Section
    angle: float = 0.0
    centre: tuple[float, float] = (0.0, 0.0)


#: width along y, height along z, place of the middle y, z
Wall = tuple[float, float, float, float]
#: places (y, z) along the middle of a wall
Line = list[tuple[float, float]]


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
    middle: Sequence[Line] = (),
) -> Profile:
    """Section of rectangles, less those of holes, about their common centroid.

    If not given: J of open thin walls; `along`, the areas of the walls along y and z, which carry shear.
    middle : the middle line of each wall, joined at common places: of an open section
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
    profile = Profile(found.section, found.angle, (cy, cz))
    if not middle:
        return profile
    return with_shear_centre(profile, middle, [min(wall[:2]) for wall in walls])


def with_shear_centre(profile: Profile, middle: Sequence[Line], thickness: Sequence[float]) -> Profile:
    """With the shear centre of open thin walls by their middle lines."""
    points = sorted({place for line in middle for place in line})
    walls = [
        (points.index(a), points.index(b), t)
        for line, t in zip(middle, thickness, strict=True)
        for a, b in pairwise(line)
    ]
    return at_shear_centre(profile, *shear_centre(np.array(points), walls))


def at_shear_centre(profile: Profile, y: float, z: float) -> Profile:
    """With its shear centre at (y, z) of the axes of the deck."""
    y, z = y - profile.centre[0], z - profile.centre[1]
    c, s = np.cos(profile.angle), np.sin(profile.angle)
    own = (float(c * y + s * z), float(c * z - s * y))
    return replace(profile, section=replace(profile.section, shear_centre=own))


def on_shear_centre(profile: Profile) -> Profile:
    """With the origin at the shear centre."""
    y, z = profile.section.shear_centre
    c, s = np.cos(profile.angle), np.sin(profile.angle)
    return replace(profile, centre=(float(s * z - c * y), float(-s * y - c * z)))


def solid(outline: Floats) -> Profile:
    """A full convex section by its outline (n, 2), counterclockwise, shear like a rectangle."""
    A, centre, second = moments(outline)
    (Iz, Iyz), (_, Iy) = second - A * np.outer(centre, centre)
    found = principal(A, Iy, Iz, Iyz, solid_torsion(outline), shear_factor=(5.0 / 6.0, 5.0 / 6.0))
    return Profile(found.section, found.angle, (float(centre[0]), float(centre[1])))


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
    middle, upper = height - t_bottom - t_top, height - t_top / 2.0
    return of_walls(
        [
            (t_bottom, bottom, t_bottom / 2.0, 0.0),
            (middle, web, t_bottom + middle / 2.0, 0.0),
            (t_top, top, height - t_top / 2.0, 0.0),
        ],
        middle=[flange(t_bottom / 2.0, bottom), [(t_bottom / 2.0, 0.0), (upper, 0.0)], flange(upper, top)],
    )


def flange(y: float, width: float) -> Line:
    """Middle line along z, with a point where a web meets it."""
    return [(y, -width / 2.0), (y, 0.0), (y, width / 2.0)]


def tee(width: float, height: float, t: float, web: float) -> Profile:
    """Flange on top, along z; y from the bottom."""
    stem, at = height - t, height - t / 2.0
    walls = [(stem, web, stem / 2.0, 0.0), (t, width, at, 0.0)]
    return of_walls(walls, middle=[[(0.0, 0.0), (at, 0.0)], flange(at, width)])


def channel(width: float, height: float, web: float, flange: float) -> Profile:
    """Web along y at z = 0, flanges along z."""
    clear, y, z = height - 2.0 * flange, (height - flange) / 2.0, web / 2.0
    walls = [(clear, web, 0.0, z), (flange, width, y, width / 2.0), (flange, width, -y, width / 2.0)]
    return of_walls(walls, middle=[[(y, z), (-y, z)], [(y, z), (y, width)], [(-y, z), (-y, width)]])


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
    edge, end = top / 2.0 - t + (brim + t) / 2.0, top / 2.0 + brim
    low, high = t / 2.0, height - t / 2.0
    return of_walls(
        [
            (t, top, height - t / 2.0, 0.0),
            (web, t, height / 2.0, side),
            (web, t, height / 2.0, -side),
            (t, brim + t, t / 2.0, edge),
            (t, brim + t, t / 2.0, -edge),
        ],
        middle=[
            [(high, side), (high, -side)],
            *([(high, z), (low, z)] for z in (side, -side)),
            *([(low, z), (low, out)] for z, out in ((side, end), (-side, -end))),
        ],
    )


def trough(side: float, bottom: float, height: float, width: float) -> Profile:
    """Two sides along y on a bottom along z; y from the bottom."""
    rise, at = height - bottom, (width - side) / 2.0
    wall = (rise, side, bottom + rise / 2.0)
    floor = bottom / 2.0
    return of_walls(
        [(bottom, width, floor, 0.0), (*wall, at), (*wall, -at)],
        middle=[[(floor, -at), (floor, at)], *([(floor, z), (height, z)] for z in (at, -at))],
    )


def tee_on_its_side(height: float, web: float, t: float, t_web: float) -> Profile:
    """Flange along y, web along z from it; z from the middle of the flange."""
    walls = [(height, t, 0.0, 0.0), (t_web, web, 0.0, (t + web) / 2.0)]
    upright = [(-height / 2.0, 0.0), (0.0, 0.0), (height / 2.0, 0.0)]
    return of_walls(walls, middle=[upright, [(0.0, 0.0), (0.0, t / 2.0 + web)]])


def zee(flange: float, web: float, clear: float, height: float) -> Profile:
    """Web along y; the upper flange towards -z, the lower one towards z; half as far round, the same."""
    t = (height - clear) / 2.0
    y, z = (height - t) / 2.0, (flange + web) / 2.0
    return of_walls([(height, web, 0.0, 0.0), (t, flange, y, -z), (t, flange, -y, z)])


def angle(width: float, height: float, t: float, t_upright: float) -> Profile:
    """A leg along z, and one along y; from where their middle lines meet."""
    across, upright = width - t_upright / 2.0, height - t / 2.0
    rise = height - t
    walls = [
        (t, width, 0.0, across - width / 2.0),
        (rise, t_upright, t / 2.0 + rise / 2.0, 0.0),
    ]
    return of_walls(walls, middle=[[(0.0, 0.0), (0.0, across)], [(0.0, 0.0), (upright, 0.0)]])


def hexagon(edge: float, width: float, height: float) -> Profile:
    """Full, with two corners on the z axis, `edge` from them to the sides along z."""
    z = width / 2.0 - edge
    if not z > 0.0:
        raise ValueError("the sizes do not fit together")
    half = height / 2.0
    outline = [(0.0, width / 2), (half, z), (half, -z), (0.0, -width / 2), (-half, -z), (-half, z)]
    return solid(np.array(outline)[::-1])


def closed_hat(width: float, height: float, top: float, t: float, t_plate: float) -> Profile:
    """A hat on a plate along z; y from below the plate."""
    web, side, brim = height - t_plate, (top - t) / 2.0, (width - top) / 2.0
    a, b = top - t, height - (t + t_plate) / 2.0
    walls = [
        (t_plate, width, t_plate / 2.0, 0.0),
        (t, top - 2.0 * t, height - t / 2.0, 0.0),
        *((web, t, t_plate + web / 2.0, z) for z in (side, -side)),
        *((t, brim, t_plate + t / 2.0, z) for z in (top / 2.0 + brim / 2.0, -top / 2.0 - brim / 2.0)),
    ]
    return of_walls(walls, 4.0 * (a * b) ** 2 / ((a + 2.0 * b) / t + a / t_plate))


def two_cells(
    width: float, height: float, at: float, left: float, middle: float, right: float,
    top: float, bottom: float, top_2: float, bottom_2: float,
) -> Profile:  # fmt: skip
    """Three walls along y, the middle one at `at` from the left; y from the bottom, z from the left."""
    spans = ((left, at - middle / 2.0, top, bottom), (at + middle / 2.0, width - right, top_2, bottom_2))
    walls = [
        (height, t, height / 2.0, z) for t, z in ((left, left / 2), (middle, at), (right, width - right / 2))
    ]
    area, around, rise = np.zeros(2), np.zeros(2), np.zeros(2)
    for cell, (z_1, z_2, t_top, t_bottom) in enumerate(spans):
        z, clear = (z_1 + z_2) / 2.0, z_2 - z_1
        walls += [(t_top, clear, height - t_top / 2.0, z), (t_bottom, clear, t_bottom / 2.0, z)]
        outer = (left, right)[cell]
        a, b = clear + (middle + outer) / 2.0, height - (t_top + t_bottom) / 2.0
        area[cell], around[cell], rise[cell] = a * b, a / t_top + a / t_bottom + b / outer, b
    flow = np.diag(around) + rise.mean() / middle * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return of_walls(walls, float(4.0 * area @ np.linalg.solve(flow, area)))


def hollow_hexagon(radius: float, t: float) -> Profile:
    """Regular, by the radius through its corners and the thickness of its walls."""
    inner = radius - t / np.cos(np.pi / 6.0)
    if not inner > 0.0:
        raise ValueError("the sizes do not fit together")
    middle = (radius + inner) / 2.0
    share = 1.5 * np.sqrt(3.0)
    inertia = 5.0 * np.sqrt(3.0) / 16.0 * (radius**4 - inner**4)
    J = 4.0 * (share * middle**2) ** 2 * t / (6.0 * middle)
    section = Section(share * (radius**2 - inner**2), inertia, inertia, J, (0.5, 0.5))
    return Profile(section)


def trapezoid(bottom: float, height: float, top: float, at: float) -> Profile:
    """Full, sides along y; z from `at` above the bottom."""
    low, high = -at, height - at
    return solid(np.array([(-bottom / 2, low), (bottom / 2, low), (top / 2, high), (-top / 2, high)]))


def thin_walls(points: Floats, thickness: Floats) -> Profile:
    """A line of thin walls from point to point (n + 1, 2); a ring where it ends at its beginning."""
    a, b = points[:-1], points[1:]
    size = np.linalg.norm(b - a, axis=1)
    if not (size > 0.0).all() or not (thickness > 0.0).all():
        raise ValueError("a wall without length or thickness")
    area = size * thickness
    A = float(area.sum())
    centre = area @ (a + b) / (2.0 * A)
    p, q = a - centre, b - centre
    second = sum(np.einsum("n,ni,nj->ij", area / 6.0, u, v) for u, v in ((p, p), (p, q), (q, p), (q, q)))
    second = second + np.einsum("n,ni,nj->ij", area / 6.0, p, p) + np.einsum("n,ni,nj->ij", area / 6.0, q, q)
    ring = bool(np.linalg.norm(points[0] - points[-1]) < 1e-6 * size.sum())
    enclosed = 0.5 * float((p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]).sum())
    J = (
        4.0 * enclosed**2 / float((size / thickness).sum())
        if ring
        else float((size * thickness**3).sum()) / 3.0
    )
    share = np.abs(b - a).T @ thickness / A
    shear = tuple(float(min(max(part, 0.1), 1.0)) for part in share)
    found = principal(A, second[1, 1], second[0, 0], second[0, 1], J, shear_factor=shear)
    profile = Profile(found.section, found.angle, (float(centre[0]), float(centre[1])))
    if ring:
        return profile
    walls = [(k, k + 1, float(t)) for k, t in enumerate(thickness)]
    return at_shear_centre(profile, *shear_centre(points, walls))


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
    "T1": (4, tee_on_its_side),
    "L": (4, angle),
    "Z": (4, zee),
    "HEXA": (3, hexagon),
    "HAT1": (5, closed_hat),
    "DBOX": (10, two_cells),
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
    "L": (4, lambda a, b, t_1, t_2: angle(b, a, t_2, t_1)),
    "TRAPEZOID": (4, trapezoid),
    "HEX": (2, hollow_hexagon),
}


def quarter(found: Profile) -> Profile:
    """The same with its height along z instead of y: turned by a right angle."""
    y, z = found.centre
    return Profile(found.section, found.angle + 0.5 * np.pi, (-z, y))


def shifted(found: Profile, at: float) -> Profile:
    """With the origin at the height `at`."""
    y, z = found.centre
    return Profile(found.section, found.angle, (y, z - at))
