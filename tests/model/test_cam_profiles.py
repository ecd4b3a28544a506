"""Cams by their outline against eccentric discs, whose followers have closed forms."""

import numpy as np
import pytest
from scipy.interpolate import PPoly

from flexmbs.case import Case
from flexmbs.errors import InputError
from flexmbs.expressions import periodic_spline
from flexmbs.model.couplings.cam import _periodic
from flexmbs.model.touching.cam_outline import outline
from flexmbs.model.touching.cam_profile import Contact, Follower

A, E, R = 0.05, 0.02, 0.015  # radius of the disc, its eccentricity, radius of the roller
X = np.linspace(0.0, 2.0 * np.pi, 77)
CENTRE = E * np.exp(1j * X)


def disc(kind, n=360):
    """The eccentric disc as points or as a polar table."""
    angle = np.arange(n) * (2.0 * np.pi / n)
    if kind == "points":
        z = E + A * np.exp(1j * angle)
        return {"points": np.column_stack([z.real, z.imag]).tolist()}
    r = E * np.cos(angle) + np.sqrt(A * A - (E * np.sin(angle)) ** 2)
    return {"polar": np.column_stack([angle, r]).tolist()}


def contact(kind, **follower):
    return Contact("couplings.c", outline("couplings.c", **disc(kind)), Follower(**follower))


@pytest.mark.parametrize("kind", ["points", "polar"])
def test_sliding_followers_of_an_eccentric_disc(kind):
    flat = contact(kind, at=0j, sense=1.0, direction=1j, normal=1j).touch(X)
    np.testing.assert_allclose(flat.coordinate, A + E * np.sin(X), atol=1e-10)  # spline of 360 points
    np.testing.assert_allclose(flat.point, CENTRE + 1j * A, atol=1e-8)
    np.testing.assert_allclose(flat.pressure_angle, 0.0, atol=1e-6)
    offset = 0.01
    roller = contact(kind, at=offset + 0j, sense=1.0, direction=1j, radius=R).touch(X)
    expected = E * np.sin(X) + np.sqrt((A + R) ** 2 - (offset - E * np.cos(X)) ** 2)
    np.testing.assert_allclose(roller.coordinate, expected, atol=1e-10)
    np.testing.assert_allclose(
        np.sin(roller.pressure_angle), np.abs(offset - E * np.cos(X)) / (A + R), atol=1e-7
    )


@pytest.mark.parametrize("sense", [1.0, -1.0])
@pytest.mark.parametrize("turns", [1.0, -1.0])
def test_turning_followers_touch_the_eccentric_disc(sense, turns):
    pivot, arm = -0.1 + 0.03j, 0.09 * np.exp(0.7j)
    found = contact("polar", at=pivot + arm, sense=sense, pivot=pivot, turns=turns, radius=R).touch(X)
    roller = pivot + arm * np.exp(1j * turns * found.coordinate)
    np.testing.assert_allclose(np.abs(roller - CENTRE), A + R, atol=1e-10)
    normal = 1j * sense * turns
    face = contact(
        "polar", at=pivot + 0.01 * normal, sense=sense, pivot=pivot, turns=turns, normal=normal
    ).touch(X)
    n = normal * np.exp(1j * turns * face.coordinate)
    q = pivot + 0.01 * n
    np.testing.assert_allclose(((q - CENTRE) * n.conj()).real, A, atol=1e-10)
    np.testing.assert_allclose(face.normal, n, atol=1e-7)
    x = np.linspace(1.0, 1.0 + 1e-4, 3)  # the cam pushes to the side it should: rate of the gap, of the lift
    wide = contact("polar", at=pivot + arm * 1.0001, sense=sense, pivot=pivot, turns=turns, radius=R)
    assert np.all(sense * wide.touch(x).lever > 0.0)


@pytest.mark.parametrize("order", [1, -1])
def test_the_table_of_an_outline_is_periodic_and_the_sense_of_points_does_not_matter(order):
    points = np.array(disc("points")["points"])[::order]
    made = Contact("c", outline("c", points=points), Follower(at=0j, sense=1.0, direction=1j, normal=1j))
    x, s = made.table()
    assert s[0] == s[-1] and x[-1] == pytest.approx(2.0 * np.pi)
    np.testing.assert_allclose(s, A + E * np.sin(x), atol=1e-10)


def lift_of_disc(follower, x):
    """Closed forms of the lift on the eccentric disc; x may be complex in its small part."""
    c, s = E * np.cos(x), E * np.sin(x)  # its centre
    if follower.pivot is None:
        if follower.radius:
            return s + np.sqrt((A + follower.radius) ** 2 - (follower.at.real - c) ** 2)
        n = follower.normal
        return (c * n.real + s * n.imag + A) / n.imag
    u, v = c - follower.pivot.real, s - follower.pivot.imag
    far = np.sqrt(u * u + v * v)
    if follower.radius:
        arm = abs(follower.at - follower.pivot)
        share = (arm**2 + far * far - (A + follower.radius) ** 2) / (2 * arm * far)
        return np.arctan(v / u) + np.arccos(share) - np.angle(follower.at - follower.pivot)
    return np.arctan(v / u) + np.arcsin(A / far)  # the face points to its pivot, at zero along x


PIVOT = -0.11 + 0.02j
FOLLOWERS = {
    "sliding roller": Follower(at=0.01 + 0j, sense=1.0, direction=1j, radius=R),
    "sliding face": Follower(at=0j, sense=1.0, direction=1j, normal=1j),
    "sliding oblique face": Follower(at=0j, sense=1.0, direction=1j, normal=1j * np.exp(0.3j)),
    "turning roller": Follower(at=PIVOT + 0.1 * np.exp(0.3j), sense=1.0, pivot=PIVOT, radius=R),
    "turning face": Follower(at=PIVOT, sense=1.0, pivot=PIVOT, normal=1j),
}


@pytest.mark.parametrize("kind", ["points", "polar"])
@pytest.mark.parametrize("follower", FOLLOWERS.values(), ids=FOLLOWERS)
def test_accelerations_of_smooth_profiles_are_of_fourth_order_in_their_points(kind, follower):
    x, h = np.linspace(0.1, 6.2, 150), 1e-3
    wanted = lift_of_disc(follower, x)
    slope = [lift_of_disc(follower, z + 1e-20j).imag / 1e-20 for z in (x - h, x - h / 2, x + h / 2, x + h)]
    second = (8 * (slope[2] - slope[1]) - (slope[3] - slope[0])) / (6 * h)  # differences: h^4
    error = []
    for n in (48, 96, 192):
        found = Contact("c", outline("c", **disc(kind, n)), follower)
        law = _periodic(found, "c")
        spline = next(iter(law.tables.values()))
        pieces = PPoly(spline.c, spline.x)
        np.testing.assert_allclose(law.evaluate({"x": x + 2 * np.pi}), pieces(x), rtol=1e-12)
        error.append(np.abs(pieces(x, 2) - second).max() / np.abs(second).max())
    assert np.abs(pieces(x) - wanted).max() < 1e-11 * np.abs(wanted).max()
    assert error[2] < 1e-6
    assert np.all(np.log2(np.array(error[:-1]) / error[1:]) > 3.5), error


def test_points_at_uneven_distances_give_the_same_order():
    rng, error = np.random.default_rng(5), []
    for n in (100, 400):
        angle = (np.arange(n) + 0.3 * rng.uniform(-1, 1, n)) * (2 * np.pi / n)
        z = E + A * np.exp(1j * angle)
        curve = outline("c", points=np.column_stack([z.real, z.imag]))
        error.append(np.abs(A * curve.curvature(np.linspace(0.0, 6.28, 500)) - 1.0).max())
    assert error[0] < 1e-5 and error[0] > 100.0 * error[1], error  # by chords: 2e-2, of second order


def rounded(n, digits, polar):
    """The disc with rounded points, and a roller in line with its centre."""
    table = np.array(disc("polar" if polar else "points", n)["polar" if polar else "points"])
    table[:, polar:] = table[:, polar:].round(digits)
    shape = outline("couplings.c", **{"polar" if polar else "points": table})
    return Contact("couplings.c", shape, Follower(at=0j, sense=1.0, direction=1j, radius=R))


@pytest.mark.parametrize("polar", [False, True])
@pytest.mark.parametrize("n, digits", [(72, 16), (720, 16), (180, 9), (90, 7), (180, 6), (360, 6), (360, 7)])
def test_rounded_points_are_warned_of_as_far_as_they_spoil_accelerations(n, digits, polar):
    found = rounded(n, digits, polar)
    x, s = found.table()
    spline = periodic_spline(x, s, found.outline.degree)
    x = np.linspace(0.01, 6.27, 397)
    before, here, behind = (lift_of_disc(found.follower, x + h) for h in (-2e-3, 0.0, 2e-3))
    off = np.abs(PPoly(spline.c, spline.x)(x, 2) - (before - 2 * here + behind) / 4e-6).max() / E
    told = [text for text in found.warnings() if "rounded or scatter" in text]
    assert bool(told) == (off > 0.01), (off, found.outline.scatter)
    if told:  # of the size that is told
        assert 0.2 < off * E / found.outline.scatter < 5.0


@pytest.mark.parametrize("end", [6.2831853, 6.28319, 6.2832, 6.283])
def test_the_turn_of_a_polar_table_may_be_rounded(end):
    table = disc("polar", 72)["polar"]
    closed = outline("couplings.c", polar=[*table, [end, table[0][1]]])
    np.testing.assert_allclose(closed.at(X), outline("couplings.c", polar=table).at(X), atol=1e-15)
    with pytest.raises(InputError, match="the radius at the end of the turn"):
        outline("couplings.c", polar=[*table, [end, 1.01 * table[0][1]]])


def test_profiles_whose_curvature_jumps_are_cubic():
    """Rise and return by parabolas: a quintic would ring about the jumps of the acceleration."""
    angle = np.arange(360) * (2 * np.pi / 360)
    x = np.clip((angle - 0.5) / 1.7, 0, 1) - np.clip((angle - 3.2) / 1.7, 0, 1)
    rise = np.where(x < 0.5, 2 * x * x, 1 - 2 * (1 - x) ** 2)
    assert outline("c", polar=np.column_stack([angle, A + E * rise])).degree == 3
    assert outline("c", **disc("polar")).degree == outline("c", **disc("points")).degree == 5
    assert outline("c", **disc("points", 11)).degree == 3


def test_a_convex_profile_of_arcs_whose_spline_is_hollow_is_named():
    """Base circle, flanks and nose; curvatures 50, 11 and 125 1/m."""
    base, nose, flank, far = 0.02, 0.008, 0.09, 0.024
    cx = ((flank - base) ** 2 - (flank - nose) ** 2 + far * far) / (2 * far)
    c = cx - 1j * np.sqrt((flank - base) ** 2 - cx * cx)
    edges = np.array([0.0, np.angle(far - c), np.angle(-c), np.pi])
    pieces = [
        m + r * np.exp(1j * np.linspace(a, b, int((b - a) * r / 6e-4)))[:-1]
        for m, r, a, b in zip((far, c, 0), (nose, flank, base), edges[:-1], edges[1:], strict=True)
    ]
    upper = np.concatenate([*pieces, [-base]])
    z = np.concatenate([upper, upper[-2:0:-1].conj()])
    face = Follower(at=0j, sense=1.0, direction=1j, normal=1j)
    with pytest.raises(InputError, match="the spline through the convex profile is not convex"):
        Contact("c", outline("c", points=np.column_stack([z.real, z.imag])), face).table()


FACE = {"rot": {"axis": [1, 0, 0], "angle": -np.pi / 2}}  # z along y


def case(**coupling):
    """Cam on ground, sliding follower along y; drive 20 rad/s."""
    return {
        "gravity": [0, -9.81, 0],
        "bodies": {
            "disc": {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 1e-3, "iyy": 1e-3, "izz": 1e-3}},
            "rod": {"type": "rigid", "mass": 0.8, "frames": {"face": FACE}},
        },
        "joints": {
            "shaft": {"type": "revolute", "from": "ground", "to": "disc"},
            "guide": {
                "type": "prismatic", "from": "ground", "to": "rod", "axis": [0, 1, 0],
                "initial": {"position": 0.07},
            },
        },
        "couplings": {"c": {"type": "cam", "cam": "shaft", "follower": "guide"} | coupling},
        "drives": {"motor": {"joint": "shaft", "position": "=0.4 + 20*t"}},
        "analysis": {"type": "kinematics", "t_end": 0.1},
    }  # fmt: skip


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("roller", [None, R])
def test_force_torque_and_bearings_of_a_cam_are_those_of_its_contact(roller, reverse):
    keys = {"profile": disc("polar", 2880)} | ({"roller": roller} if roller else {"at": "rod.face"})
    data, way = case(**keys), -1.0 if reverse else 1.0
    if reverse:
        joint = data["joints"]["shaft"]
        joint["from"], joint["to"] = joint["to"], joint["from"]
        data["drives"]["motor"]["position"] = "=-0.4 - 20*t"
    system = Case.from_dict(data).system()
    state = system.initial_state()
    motion = system.forward_dynamics(state)
    phi, w = 0.4, 20.0
    arm = A + (roller or 0.0)
    if roller:
        root = np.sqrt(arm**2 - (E * np.cos(phi)) ** 2)
        lift = E * np.sin(phi) + root
        rate = E * np.cos(phi) + E * E * np.sin(phi) * np.cos(phi) / root
        c2, s2 = np.cos(2 * phi), np.sin(2 * phi)
        second = -E * np.sin(phi) + E * E * (c2 / root - E * E * s2 * s2 / (4 * root**3))
    else:
        lift, rate, second = A + E * np.sin(phi), E * np.cos(phi), -E * np.sin(phi)
    assert motion["joints.guide.position"][0] == pytest.approx(lift, abs=1e-10)
    assert motion["joints.guide.velocity"][0] == pytest.approx(rate * w, rel=1e-9)
    # C4 splines: h^4 of 2880 points, rounding over h^2 of 2048 pieces
    assert motion["joints.guide.acceleration"][0] == pytest.approx(second * w * w, rel=1e-8)
    push = 0.8 * (second * w * w + 9.81)
    assert motion["couplings.c"] == pytest.approx(push, rel=1e-8)
    assert way * motion["drives.motor"] == pytest.approx(push * rate, rel=1e-8)
    # the contact force along the common normal, by the disc's centre; what the guide and the shaft hold
    along = lift - E * np.sin(phi)
    side = -E * np.cos(phi) / arm if roller else 0.0
    force = push * arm / along if roller else push
    F = force * np.array([side, along / arm if roller else 1.0, 0.0])
    np.testing.assert_allclose(motion["joints.guide.reaction_force"], [-F[0], 0, 0], atol=1e-7 * force)
    np.testing.assert_allclose(
        way * motion["joints.shaft.reaction_force"], F + [0, 9.81, 0], rtol=1e-5, atol=1e-6
    )
    # at the guide's marker on the rod: the roller's centre, or the face, where the force has a lever
    lever = 0.0 if roller else E * np.cos(phi)
    np.testing.assert_allclose(
        motion["joints.guide.reaction_moment"], [0, 0, -lever * push], atol=1e-5 * push
    )


def test_what_is_reported_of_a_contact(tmp_path):
    from flexmbs.case.runner import execute

    result = execute(Case.from_dict(case(profile=disc("polar"), roller=R)), tmp_path / "c.h5").result
    phi = 0.4 + 20.0 * result["time"]
    centre = E * np.column_stack([np.cos(phi), np.sin(phi), 0 * phi])
    F, P = result["couplings/c/contact_force"], result["couplings/c/contact_point"]
    n = (P - centre) / A
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, atol=1e-7)
    N = result["couplings/c/normal_force"]
    np.testing.assert_allclose(F, N[:, None] * n, atol=1e-6 * N.max())
    np.testing.assert_allclose(F[:, 1], result["couplings/c/force"], rtol=1e-7)
    np.testing.assert_allclose(np.cos(result["couplings/c/pressure_angle"]), n[:, 1], atol=1e-7)
    power = result["couplings/c/power"]
    np.testing.assert_allclose(power, result["couplings/c/force"] * result["joints/guide/velocity"][:, 0])
    # the motor's power arrives there, since the disc turns evenly
    np.testing.assert_allclose(power, result["drives/motor/effort"] * 20.0, atol=1e-8 * np.abs(power).max())


def oval(hollow):
    angle = np.arange(240) * (2 * np.pi / 240)
    return {"polar": np.column_stack([angle, 0.05 * (1.0 + hollow * np.cos(2 * angle))]).tolist()}


BAD = [
    ({"profile": oval(0.3), "at": "rod.face"}, "cam.concave", "not convex"),
    ({"profile": oval(0.3), "roller": 0.2}, "cam.undercut", "the roller has 0.2 m"),
    ({"profile": disc("polar"), "at": "rod.turned", "roller": 0.01}, "cam.no_contact", "does not reach"),
    ({"profile": disc("polar"), "at": "rod.beside", "roller": 0.01}, "cam.pressure_angle", "pressure angle"),
    ({"profile": disc("polar"), "at": "rod.tilted"}, "cam.axes", "not parallel to the cam's axis"),
    ({"profile": disc("polar"), "at": "rod.face", "pushes": "down"}, "cam.axes", "would not leave"),
    ({"profile": disc("polar"), "at": "disc.rim", "roller": 0.01}, "cam.axes", "no frame of rod"),
    ({"profile": {"polar": [[0, 0.1], [1, 0.1]]}, "roller": 0.01}, "cam.profile", "four angles"),
    ({"profile": {"points": [[0, 0], [1, 0], [1, 0], [0, 1]]}, "roller": 0.01}, "cam.profile", "neighbours"),
    (
        {"profile": {"polar": [[k * np.pi / 2, 0.1 + 0.01 * k] for k in range(5)]}, "roller": 0.01},
        "cam.profile", "not that at its start",
    ),
]  # fmt: skip


@pytest.mark.filterwarnings("error::RuntimeWarning")  # numbers that are not there are no news on the screen
@pytest.mark.parametrize("keys, code, words", BAD)
def test_what_a_profile_cannot_do_is_named(keys, code, words):
    data = case(**keys)
    data["bodies"]["rod"]["frames"] |= {"turned": {"pos": [0.2, 0, 0]}, "beside": {"pos": [0.0399, 0, 0]}}
    data["bodies"]["rod"]["frames"]["tilted"] = {"rot": {"axis": [1, 0, 0], "angle": -1.0}}
    data["bodies"]["disc"]["frames"] = {"rim": {"pos": [0.1, 0, 0]}}
    with pytest.raises(InputError) as error:
        Case.from_dict(data).system()
    found = error.value.diagnostics[0]
    assert found.code == code and words in found.what and found.where == "couplings.c"


def test_a_dent_that_a_roller_bridges_is_named():
    """A notch whose flanks the roller touches both, though it fits the radius at its ground."""
    angle = np.arange(720) * (2 * np.pi / 720)
    r = 0.05 - 0.02 * np.exp(-(((angle - np.pi) / 0.25) ** 2))
    with pytest.raises(InputError, match="touches it in two places|hollow"):
        Contact(
            "c",
            outline("c", polar=np.column_stack([angle, r])),
            Follower(at=0j, sense=1.0, direction=1j, radius=0.004),
        ).table()


def test_large_pressure_angles_are_warned_of():
    from flexmbs.case.check import check

    data = case(profile=disc("polar"), roller=0.001)
    data["bodies"]["rod"]["frames"]["off"] = {"pos": [0.02, 0, 0]}
    assert not [w for w in check(Case.from_dict(data)).warnings if w.code == "cam.pressure_angle"]
    data["couplings"]["c"]["at"] = "rod.off"
    found = [w for w in check(Case.from_dict(data)).warnings if w.code == "cam.pressure_angle"]
    assert "reaches 51.7 deg" in found[0].what  # asin(0.04 / 0.051)


def test_a_table_of_one_turn_goes_on_from_turn_to_turn(tmp_path):
    x = np.linspace(0.0, 2.0 * np.pi, 181)
    np.savetxt(tmp_path / "lift.csv", np.column_stack([x, 0.05 + 0.02 * np.sin(x)]), delimiter=",")
    data = case(table="lift.csv")
    data["drives"]["motor"]["position"] = 15.0
    system = Case.from_dict(data, folder=tmp_path).system()
    state = system.initial_state()
    assert system.forward_dynamics(state)["joints.guide.position"][0] == pytest.approx(
        0.05 + 0.02 * np.sin(15.0), abs=1e-9
    )
    profile = disc("polar")["polar"]
    np.savetxt(tmp_path / "disc.csv", np.array(profile), delimiter=",")
    data = case(profile={"file": "disc.csv"})  # the face: across the guide's travel
    motion = (system := Case.from_dict(data, folder=tmp_path).system()).forward_dynamics(
        system.initial_state()
    )
    assert motion["joints.guide.position"][0] == pytest.approx(A + E * np.sin(0.4), abs=1e-10)


@pytest.mark.filterwarnings("error::RuntimeWarning")  # numbers that are not there are no news for people
def test_a_turning_follower_out_of_reach_is_named():
    keys = {"at": -0.2 + 0j, "sense": 1.0, "pivot": -0.3 + 0.02j, "turns": 1.0, "radius": 0.01}
    with pytest.raises(InputError, match="does not reach the cam"):
        contact("polar", **keys).table()
