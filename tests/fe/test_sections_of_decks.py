"""Sections of beams by name: areas and moments by a fine grid, torsion by Prandtl's membrane on it."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.ndimage import label
from scipy.sparse.linalg import spsolve

from flexmbs.fe.beams import Beam, interpolation, local_stiffness
from flexmbs.fe.outlines import solid_torsion
from flexmbs.fe.profiles import ABAQUS, NASTRAN, thin_walls
from flexmbs.fe.sections import rectangle


def in_hexagon(y, z, radius):
    return np.maximum(np.abs(z), np.abs(y) * np.sqrt(3) / 2 + np.abs(z) / 2) < radius * np.sqrt(3) / 2


def closed_hat(y, z):
    z = np.abs(z)
    hat = (y > 1) & (y < 30) & (z > 14) & (z < 15) | (y > 29) & (y < 30) & (z < 15)
    return (y > 0) & (y < 1) & (z < 30) | hat | (y > 1) & (y < 2) & (z > 15) & (z < 30)


def two_cells(y, z):
    inside = (y > 0) & (y < 30) & (z > 0) & (z < 60)
    left = (z > 1) & (z < 24.25) & (y > 0.75) & (y < 29)
    right = (z > 25.75) & (z < 58.5) & (y > 1.5) & (y < 29.25)
    return inside & ~left & ~right


def ell(y, z):
    return (np.abs(y) < 2) & (z > -1.5) & (z < 38.5) | (np.abs(z) < 1.5) & (y > -2) & (y < 48)


def zee(y, z):
    flanges = (y > 17) & (z > -22) & (z < -2) | (y < -17) & (z < 22) & (z > 2)
    return (np.abs(y) < 20) & ((np.abs(z) < 2) | flanges)


def i_beam(y, z):
    return (np.abs(y) < 16) & (np.abs(z) < 11) & ((np.abs(y) > 14) | (np.abs(z) < 1))


def channel(y, z):
    return (np.abs(y) < 16) & (z > 0) & (z < 20) & ((np.abs(y) > 14) | (z < 2))


def trapezoid(y, z):
    return (z > -10) & (z < 20) & (np.abs(y) < 20 - 10 * (z + 10) / 30)


def hollow(y, z):
    return in_hexagon(z, y, 30) & ~in_hexagon(z, y, 30 - 3 / np.cos(np.pi / 6))


#: sizes, outline (y, z) as the sketches of manuals draw it, and how far thin walls may be from the membrane
SHAPES = {
    "L": (NASTRAN, (40, 50, 4, 3), ell, 0.06),
    "Z": (NASTRAN, (20, 4, 34, 40), zee, 0.08),
    "HEXA": (NASTRAN, (10, 50, 30), lambda y, z: (np.abs(y) < 15) & (np.abs(z) < 25 - np.abs(y) / 1.5), 0.01),
    "HAT1": (NASTRAN, (60, 30, 30, 1, 1), closed_hat, 0.08),
    "DBOX": (NASTRAN, (60, 30, 25, 1, 1.5, 1.5, 1, 0.75, 0.75, 1.5), two_cells, 0.05),
    "TUBE2": (NASTRAN, (20, 5), lambda y, z: (np.hypot(y, z) < 20) & (np.hypot(y, z) > 15), 0.01),
    "I1": (NASTRAN, (20, 2, 28, 32), i_beam, 0.1),
    "CHAN1": (NASTRAN, (18, 2, 28, 32), channel, 0.1),
    "TRAPEZOID": (ABAQUS, (40, 30, 20, 10), trapezoid, 0.01),
    "HEX": (ABAQUS, (30, 3), hollow, 0.02),
    "L of Abaqus": (ABAQUS, (50, 40, 3, 4), ell, 0.06),
}  # fmt: skip
CUTS = ((slice(0, -1), slice(None)), (slice(1, None), slice(None)))


def membrane(inside, step):
    """J = 2 int phi with div(grad phi / G) = -2: holes have no G, their part of phi is level."""
    parts, _ = label(~inside)
    outer = parts == parts[0, 0]
    number = np.full(inside.shape, -1)
    kept = ~outer
    number[kept] = np.arange(kept.sum())
    soft = np.where(inside, 1.0, 1e7)
    rows, cols, values = [], [], []
    for a, b in (CUTS, tuple(cut[::-1] for cut in CUTS)):
        i, j = number[a].ravel(), number[b].ravel()
        w = (2.0 / (1.0 / soft[a] + 1.0 / soft[b])).ravel()
        w = np.where(
            (i < 0) | (j < 0), 2.0 * np.where(i < 0, soft[b].ravel(), soft[a].ravel()), w
        )  # phi = 0 at half a step
        for own, other in ((i, j), (j, i)):
            take = own >= 0
            rows.append(own[take]), cols.append(own[take]), values.append(w[take])
            both = take & (other >= 0)
            rows.append(own[both]), cols.append(other[both]), values.append(-w[both])
    K = sp.csc_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))))
    phi = spsolve(K, np.full(K.shape[0], 2.0 * step**2))
    return 2.0 * phi.sum() * step**2


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_have_the_numbers_of_their_outlines(name):
    table, sizes, outline, far = SHAPES[name]
    step = 0.25
    grid = np.arange(-64.0, 64.0, step) + step / 2
    Y, Z = np.meshgrid(grid, grid, indexing="ij")
    inside = outline(Y, Z)
    n, make = table[name.partition(" ")[0]]
    assert n == len(sizes)
    found = make(*map(float, sizes))
    y, z = Y[inside], Z[inside]
    close = 4e-3 if name in ("HEXA", "TRAPEZOID", "HEX", "TUBE2") else 1e-9  # slanted or round
    np.testing.assert_allclose(found.section.A, inside.sum() * step**2, rtol=close)
    if name != "I1":
        np.testing.assert_allclose(found.centre, [y.mean(), z.mean()], atol=close * 30)
    y, z = y - y.mean(), z - z.mean()
    c, s = np.cos(found.angle), np.sin(found.angle)
    own = np.array([c * y + s * z, c * z - s * y])  # principal
    second = own @ own.T * step**2
    np.testing.assert_allclose(
        np.diag(second), [found.section.Iz, found.section.Iy], rtol=max(2e-3, 2 * close)
    )
    assert abs(second[0, 1]) < 2e-3 * found.section.Iy
    np.testing.assert_allclose(found.section.J, membrane(inside, step), rtol=far)


def test_torsion_of_full_sections():
    """Rectangle by its series, equilateral triangle in closed form (Timoshenko and Goodier)."""
    square = np.array([(0, 0), (2, 0), (2, 1), (0, 1.0)])
    assert solid_torsion(square) == pytest.approx(rectangle(2.0, 1.0).J, rel=1e-5)
    triangle = np.array([(0, 0), (1, 0), (0.5, np.sqrt(0.75))])
    assert solid_torsion(triangle) == pytest.approx(np.sqrt(3) / 80, rel=1e-9)


def test_shear_centres_of_open_sections():
    """Channel: 3 b^2 t / (6 b t + h t_web) behind its web; I: as its flanges bend; T, L: where walls meet."""
    b, h, t, web = 19.0, 30.0, 2.0, 2.0
    channel = NASTRAN["CHAN"][1](b + web / 2, h + t, web, t)
    y, z = np.add(channel.centre, turned(channel))
    np.testing.assert_allclose([y, z], [0.0, web / 2 - 3 * b**2 * t / (6 * b * t + h * web)], atol=1e-9)
    beam = NASTRAN["I"][1](33.0, 10.0, 24.0, 2.0, 2.0, 4.0)
    low, high = 2.0 * 10.0**3, 4.0 * 24.0**3
    np.testing.assert_allclose(
        np.add(beam.centre, turned(beam)), [1 + 30 * high / (low + high), 0], atol=1e-9
    )
    meeting = {"T": ((30, 40, 4, 2), (38, 0)), "L": ((40, 50, 4, 3), (0, 0)), "T1": ((30, 20, 4, 2), (0, 0))}
    for name, (sizes, place) in meeting.items():
        found = NASTRAN[name][1](*map(float, sizes))
        np.testing.assert_allclose(np.add(found.centre, turned(found)), place, atol=1e-9)


def turned(profile):
    """From the centroid to the shear centre, in axes of the deck."""
    c, s = np.cos(profile.angle), np.sin(profile.angle)
    return np.array([[c, -s], [s, c]]) @ profile.section.shear_centre


def test_thin_walls_by_their_middle_lines():
    """A channel drawn as a line agrees with that of rectangles, a ring with the box of Bredt."""
    b, h, t = 18.0, 30.0, 0.5
    line = np.array([(h / 2, b), (h / 2, 0), (-h / 2, 0), (-h / 2, b)])
    one = thin_walls(line, np.full(3, t))
    other = NASTRAN["CHAN"][1](b + t / 2, h + t, t, t)
    for name in ("A", "Iy", "Iz", "J"):
        assert getattr(one.section, name) == pytest.approx(getattr(other.section, name), rel=2e-2)
    np.testing.assert_allclose(turned(one), turned(other), rtol=1e-2, atol=1e-9)
    ring = thin_walls(np.array([*line, line[0]]), np.full(4, t))
    assert ring.section.J == pytest.approx(4 * (b * h) ** 2 * t / (2 * (b + h)), rel=1e-12)
    assert ring.section.shear_centre == (0.0, 0.0)


def test_a_force_through_the_shear_centre_does_not_twist():
    """Tip of a channel: P L^3 / 3 E I; the rigid turn about the axis moves the centroids by it alone."""
    profile = NASTRAN["CHAN"][1](20.0, 32.0, 2.0, 2.0)
    beam = Beam(profile.section, "euler-bernoulli", False)
    E, nu, L = 2.1e5, 0.3, 500.0
    K = local_stiffness(beam, E, nu, np.array([L]))[0]
    y, z = profile.section.shear_centre
    load = np.zeros(6)
    load[1], load[3] = 1.0, -z  # through the shear centre, moment about the centroid
    tip = np.linalg.solve(K[6:, 6:], load)
    assert tip[3] == pytest.approx(0.0, abs=1e-12 * abs(tip[1]))
    assert tip[1] == pytest.approx(L**3 / (3 * E * profile.section.Iz), rel=1e-9)
    tip = np.linalg.solve(K[6:, 6:], [0, 0, 0, 1.0, 0, 0])
    angle = L / (E / (2 * (1 + nu)) * profile.section.J)
    np.testing.assert_allclose(tip[[1, 2, 3]], [z * angle, -y * angle, angle], rtol=1e-9, atol=1e-15)
    turn = np.zeros(12)
    turn[[3, 9]] = 1.0
    flat = np.zeros(1)
    move, about, slope = interpolation(beam, 0.3, np.array([L]), flat, flat)
    np.testing.assert_allclose(move[0] @ turn, 0.0, atol=1e-12)
    np.testing.assert_allclose(about[0] @ turn, [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(slope[0] @ turn, 0.0, atol=1e-12)
    np.testing.assert_allclose(K @ turn, 0.0, atol=1e-9 * np.abs(K).max())
