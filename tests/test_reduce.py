"""The reference problems of stage 1 through the whole reduction."""

import json

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.certificate import certificate_text
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shapes.parametric import box
from flexmbs.modaldata import ModalData
from flexmbs.resources import resource

STEEL = {"young": 2.1e11, "poisson": 0.3, "density": 7850.0}
LEAN = {"stress": "none", "geometric_stiffness": False}


def reference(name):
    return json.loads(resource("cases", "reference", f"{name}.json").read_text())


def box_recipe(element="hex20", divisions=(4, 3, 2), size=(0.3, 0.2, 0.1), **more):
    mesh = {"shape": "box", "size": list(size), "divisions": list(divisions), "element": element}
    corner = more.pop("corner", None)
    if corner is not None:
        mesh["corner"] = list(corner)
    return {"mesh": mesh, "material": STEEL, **more}


@pytest.mark.parametrize("element", ["hex8", "hex20", "hex27", "tet4", "tet10"])
def test_rigid_integrals_of_a_box_F2_F5(element):
    case = reference("fe-rigid-integrals-box")
    low, high = (np.array(case["parameters"][key]) for key in ("lower", "upper"))
    material = {**STEEL, "density": case["parameters"]["density"]}
    modal = fm.reduce(
        box_recipe(element, (3, 2, 2), high - low, corner=low), modes=0, material=material, **LEAN
    )
    body, expected = modal.integrals, case["reference"]
    assert modal.nf == 0
    assert body.mass == pytest.approx(expected["mass"], rel=1e-12)
    assert np.allclose(body.S_O, expected["S_t"], rtol=1e-12)
    assert np.allclose(body.Theta_kl, expected["Theta_kl"], rtol=1e-12)
    assert np.allclose(body.inertia, expected["inertia_about_origin"], rtol=1e-12)


@pytest.mark.parametrize("element", ["hex20", "tet10"])
def test_integrals_of_polynomial_shapes_are_exact_F4_F7(element):
    case = reference("fe-shape-integrals-box")
    geometry, S = case["parameters"]["geometry"], case["parameters"]["S"]
    low, high = np.array(geometry["box_lower"], float), np.array(geometry["box_upper"], float)
    given = {"shapes": [[S[k][a] for k in range(3)] for a in range(4)]}
    recipe = box_recipe(element, (3, 2, 2), high - low, corner=low, given=given)
    body = fm.reduce(recipe, material={**STEEL, "density": 1000.0}, **LEAN).integrals
    expected = case["reference"]["integrals"]
    assert np.allclose(body.S_f, expected["S_f"], atol=1e-11)  # rounding at 160 kg
    for k, a in enumerate("xyz"):
        for ell, b in enumerate("xyz"):
            assert np.allclose(body.I_kl[k, ell], expected["I_kl"][a + b], atol=1e-11)
            assert np.allclose(body.S_kl[k, ell], expected["S_kl"][a + b], atol=1e-11)


def bar_shapes(n, L):
    return [[f"1-x/{L}", "0", "0"], [f"x/{L}", "0", "0"]] + [
        [f"sin({i}*pi*x/{L})", "0", "0"] for i in range(1, n + 1)
    ]


def test_reduced_matrices_of_a_bar_in_closed_form_F8_F9():
    case = reference("fe-craig-bampton-bar")
    L, a = case["parameters"]["L"], 0.1
    material = {
        "young": case["parameters"]["EA"] / a**2,
        "poisson": 0.0,
        "density": case["parameters"]["rhoA"] / a**2,
    }
    for n in (0, 1, 3, 8):
        recipe = box_recipe(
            "hex20", (12, 1, 1), (L, a, a), corner=(0, 0, 0), given={"shapes": bar_shapes(n, L)}
        )
        modal = fm.reduce(recipe, material=material, **LEAN)
        if n == 3:
            assert np.allclose(
                modal.integrals.m_ff, case["reference"]["M_3"], atol=1e-8
            )  # quadrature of sines
            assert np.allclose(modal.integrals.K_ff, case["reference"]["K_3"], rtol=1e-8, atol=1e-3)
        expected = case["reference"]["reduced_angular_frequencies"][f"{n}_fixed_interface_modes"]
        omega = 2 * np.pi * modal.frequency_hz
        assert omega[0] < 1e-3  # the rigid translation is in the space of these shapes
        assert np.allclose(omega[1 : 1 + len(expected)], expected[: len(omega) - 1], rtol=1e-8)


@pytest.mark.parametrize("n", [0, 1, 3, 5])
def test_craig_bampton_of_a_solid_bar(n):
    case = reference("fe-craig-bampton-bar")
    L, a = case["parameters"]["L"], 0.1
    material = {
        "young": case["parameters"]["EA"] / a**2,
        "poisson": 0.0,
        "density": case["parameters"]["rhoA"] / a**2,
    }
    recipe = box_recipe(
        "hex20",
        (40, 1, 1),
        (L, a, a),
        interfaces={
            "left": {"set": "x_min", "tie": "rbe3", "dofs": "x"},
            "right": {"set": "x_max", "tie": "rbe3", "dofs": "x"},
        },
        sets={"all": {"box": [[-9, -9, -9], [9, 9, 9]]}},
        fix={"all": "y z"},
    )
    modal = fm.reduce(recipe, modes=n, material=material, **LEAN)
    assert modal.rigid_modes == 1 and modal.nf == n + 1
    expected = case["reference"]["reduced_angular_frequencies"][f"{n}_fixed_interface_modes"]
    omega = 2 * np.pi * modal.frequency_hz
    shared = min(len(expected), len(omega))
    assert np.allclose(omega[:shared], expected[:shared], rtol=1e-4)  # mesh
    rows = modal.interface("right").Phi[0] - modal.interface("left").Phi[0]
    elongation = 1000.0 * np.sum(rows**2 / omega**2)
    # the pair of end forces is in balance, so that inertia relief changes nothing: static exactness
    if n:
        assert elongation == pytest.approx(case["reference"]["static_elongation_under_1kN_tension"], rel=1e-8)
    exact = case["reference"]["exact_angular_frequencies"]
    assert (omega[: len(exact)] > np.array(exact[: len(omega)]) * (1 - 1e-6)).all()


@pytest.mark.parametrize("element", ["hex20", "tet10", "hex27"])
def test_frequencies_of_a_free_block_from_above(element):
    case = reference("fe-free-block")
    divisions, mesh = ((9, 6, 3), 0.003) if element == "hex20" else ((6, 4, 2), 0.03)
    modal = fm.reduce(box_recipe(element, divisions), modes=14, **LEAN)
    ratio = modal.frequency_hz / np.array(case["reference"]["frequencies_hz"])
    assert (ratio > 1.0).all() and (ratio < 1.0 + mesh).all()  # 0.2 % where converged
    assert modal.quality["sylvester_missing"] == 0 and modal.rigid_modes == 6


@pytest.mark.slow
def test_free_block_converged():
    case = reference("fe-free-block")
    modal = fm.reduce(box_recipe("hex20", (12, 8, 4)), modes=14, **LEAN)
    ratio = modal.frequency_hz / np.array(case["reference"]["frequencies_hz"])
    assert (ratio > 1.0).all() and (ratio < 1.002).all()


def beam_recipe(p, theory, divisions, **more):
    mesh = {"shape": "beam", "length": p["L"], "divisions": divisions, "theory": theory}
    mesh["section"] = {"rectangle": [p["b"], p["h"]]}
    material = {"young": p["E"], "poisson": p["nu"], "density": p["rho"]}
    return {"mesh": mesh, "material": material, **more}


@pytest.mark.parametrize("theory", ["euler-bernoulli", "timoshenko"])
def test_cantilever_of_beams(theory):
    case = reference("fe-beam-cantilever")
    p, expected = case["parameters"], case["reference"]
    n = 300 if theory == "timoshenko" else 60
    modal = fm.reduce(
        beam_recipe(p, theory, n, fix={"x_min": "x y z rx ry rz"}, interfaces={"tip": "x_max"}), modes=0
    )
    rows = modal.interface("tip").Phi[1:] / (2 * np.pi * modal.frequency_hz)
    force = 1000.0 * np.sum(rows**2, axis=1)  # unit load in z bends about the strong axis
    key = theory.replace("-", "_")
    assert force[1] == pytest.approx(expected["static_tip_force_1kN_strong_axis"][key], rel=1e-8)
    free = fm.reduce(beam_recipe(p, theory, n, fix={"x_min": "x y z rx ry rz"}), modes=6)
    known = sorted(
        expected["bending_about_strong_axis_h"][f"{key}_hz"]
        + expected["bending_about_weak_axis_b"][f"{key}_hz"]
        + expected["axial_bar_hz"]
        + expected["torsion_hz_st_venant"]
    )
    assert free.frame == "supports" and free.rigid_modes == 0
    bending = [
        k for k in range(6) if known[k] not in expected["axial_bar_hz"] + expected["torsion_hz_st_venant"]
    ]
    assert np.allclose(
        free.frequency_hz[bending], np.array(known[:6])[bending], rtol=1e-6 if n == 60 else 3e-6
    )


@pytest.mark.parametrize("tie", ["rbe2", "rbe3"])
def test_shaft_in_torsion(tie):
    case = reference("fe-shaft-torsion")
    p, expected = case["parameters"], case["reference"]
    material = {"young": p["E"], "poisson": p["nu"], "density": p["rho"]}
    mesh = {
        "shape": "cylinder",
        "radius": p["d"] / 2,
        "length": p["L"],
        "divisions": [1, 8, 16],
        "element": "hex20",
    }
    recipe = {"mesh": mesh, "material": material, "interfaces": {"end": {"set": "z_max", "tie": tie}}, **LEAN}

    def torsion(modal):
        size = np.abs(modal.interface("end").Psi[2])
        return modal.frequency_hz[size > 0.1 * size.max()]

    free = torsion(fm.reduce(recipe, method="free-interface", modes=16))
    assert np.allclose(free[:2], expected["free_free_hz"][:2], rtol=5e-3)
    held = fm.reduce({**recipe, "fix": {"z_min": "x y z"}}, method="free-interface", modes=16)
    assert np.allclose(torsion(held)[:2], expected["fixed_free_hz"][:2], rtol=5e-3)
    omega = 2 * np.pi * held.frequency_hz
    twist = np.sum((held.interface("end").Psi[2] / omega) ** 2)
    assert twist == pytest.approx(expected["static_twist_per_Nm"], rel=5e-3)
    disc = [{"interface": "end", "mass": 0.0, "inertia": [0.0, 0.0, p["J_disc"]]}]
    heavy = fm.reduce({**recipe, "fix": {"z_min": "x y z"}, "point_masses": disc}, modes=16)
    assert np.allclose(torsion(heavy)[:2], expected["fixed_with_disc_hz"][:2], rtol=5e-3)


def test_tapered_membrane_nafems_fv32():
    case = reference("fe-nafems-fv32")
    p = case["parameters"]
    flat = box(
        (p["L"], 1.0, p["thickness"]), (16, 8, 1), corner=(0, -0.5, -p["thickness"] / 2), element="hex20"
    )
    X = flat.points.copy()
    X[:, 1] *= p["H_root"] + (p["H_tip"] - p["H_root"]) * X[:, 0] / p["L"]
    mesh = Mesh(X, flat.cells, node_sets=flat.node_sets, source="fv32")
    modal = fm.reduce(
        mesh,
        material={"young": p["E"], "poisson": p["nu"], "density": p["rho"]},
        sets={"middle": {"plane": {"z": 0.0}}},
        fix={"x_min": "x y", "middle": "z"},
        modes=9,
        **LEAN,
    )
    flat = np.abs(modal.Phi).max(axis=1)
    in_plane = flat[:, 2] < 0.1 * flat.max(axis=1)  # nodes between the held ones may still move across
    ratio = modal.frequency_hz[in_plane][:6] / np.array(case["reference"]["recomputed_plane_stress_hz"])
    assert (ratio > 1.0 - 1e-5).all() and (ratio < 1.005).all()


def test_thick_plate_exact_in_three_dimensions():
    case = reference("fe-thick-plate-exact3d")
    p = case["parameters"]
    recipe = box_recipe("hex20", (12, 12, 2), (p["a"], p["a"], p["h"]))
    modal = fm.reduce(
        recipe,
        material={"young": p["E"], "poisson": p["nu"], "density": p["rho"]},
        fix={"x_min": "y z", "x_max": "y z", "y_min": "x z", "y_max": "x z"},
        fmax=2700.0,
        **LEAN,
    )
    for key, entry in case["reference"].items():
        if key.startswith("m="):
            expected = entry["first_three_hz"][0]
            distance = np.abs(modal.frequency_hz / expected - 1.0)
            assert distance.min() < 3e-3, key


def rotating_frequencies(modal, speed):
    """Imaginary parts [rad/s] about steady rotation about z, root fixed to the hub (F13, F17)."""
    body = modal.integrals
    softening = speed**2 * (body.S_kl[0, 0] + body.S_kl[1, 1])
    K = body.K_ff - softening
    if body.loads:
        K = K - speed**2 * body.K_geo[body.loads.index("w.zz")]
    G = 2 * speed * (body.S_kl[1, 0] - body.S_kl[0, 1])
    n = modal.nf
    A = np.block(
        [[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(body.m_ff, K), -np.linalg.solve(body.m_ff, G)]]
    )
    return np.sort(np.abs(np.linalg.eigvals(A).imag))[::2]


def rotating_beam(kind):
    p = reference("flex-rotating-beam-frequencies")["parameters"]["example"]
    L = p["L"]
    common = {
        "interfaces": {"root": "x_min", "tip": "x_max"},
        "frame": "tangent:root",
        "modes": 8,
        "stress": "none",
    }
    if kind == "beam":
        A, inertia = 1e-4, 1e-9
        section = {"A": A, "Iy": inertia, "Iz": inertia, "J": 1e-6}
        mesh = {"shape": "beam", "length": L, "divisions": 30, "section": section}
    else:
        a = 0.02
        A, inertia = a**2, a**4 / 12
        mesh = {"shape": "box", "size": [L, a, a], "corner": [0, -a / 2, -a / 2], "divisions": [30, 1, 1]}
        mesh["element"] = "hex20"
    poisson = 0.3 if kind == "beam" else 0.0
    material = {"young": p["EI"] / inertia, "poisson": poisson, "density": p["rhoA"] / A}
    return {"mesh": mesh, "material": material, **common}


@pytest.mark.parametrize("kind", ["beam", "solid"])
def test_rotating_beam_stiffens_as_published_F17(kind):
    case = reference("flex-rotating-beam-frequencies")["reference"]
    modal = fm.reduce(rotating_beam(kind))
    scale = case["example_scale_factor_rad_per_s"]
    for gamma in ("0", "2", "4", "6", "10", "12"):
        found = rotating_frequencies(modal, float(gamma) * scale)[:4] / scale
        expected = case["with_geometric_stiffening"][gamma]
        known = np.sort([*expected["flap"][:2], *expected["lag"][:2]])
        assert np.allclose(found, known, rtol=5e-3), gamma


def test_rotating_beam_softens_without_stiffening():
    case = reference("flex-rotating-beam-frequencies")["reference"]
    recipe = rotating_beam("beam")
    modal = fm.reduce({**recipe, "interfaces": {"root": "x_min"}, "modes": 20}, geometric_stiffness=False)
    scale = case["example_scale_factor_rad_per_s"]
    for gamma in ("1", "2", "3"):
        found = rotating_frequencies(modal, float(gamma) * scale)[:4] / scale
        expected = case["floating_frame_without_geometric_stiffening"][gamma]
        assert np.allclose(found, np.sort([*expected["flap"][:2], *expected["lag"][:2]]), rtol=5e-4), gamma


def test_given_shapes_stiffen_from_where_they_vanish_F17():
    case = reference("flex-rotating-beam-frequencies")
    p, scale = case["parameters"]["example"], case["reference"]["example_scale_factor_rad_per_s"]
    A, inertia, L = 1e-4, 1e-9, case["parameters"]["example"]["L"]
    shapes = [
        [f"(x/{L})**{k}" if axis == row else "0" for row in range(3)] for k in range(2, 7) for axis in (1, 2)
    ]
    mesh = {"shape": "beam", "length": L, "divisions": 40}
    mesh["section"] = {"A": A, "Iy": inertia, "Iz": inertia, "J": 1e-6}
    material = {"young": p["EI"] / inertia, "poisson": 0.3, "density": p["rhoA"] / A}
    modal = fm.reduce({"mesh": mesh, "material": material, "given": {"shapes": shapes}, "stress": "none"})
    for gamma in ("2", "6", "10"):
        found = rotating_frequencies(modal, float(gamma) * scale)[:4] / scale
        expected = case["reference"]["with_geometric_stiffening"][gamma]
        assert np.allclose(found, np.sort([*expected["flap"][:2], *expected["lag"][:2]]), rtol=2e-3), gamma


def two_interfaces(**more):
    interfaces = {"left": {"set": "x_min"}, "right": {"set": "x_max", "tie": "rbe3"}}
    return box_recipe("hex20", (6, 2, 2), (0.3, 0.04, 0.03), interfaces=interfaces, **more)


def test_mean_axis_conditions_hold_exactly_F50():
    body = fm.reduce(two_interfaces(), modes=6, **LEAN).integrals
    turn = np.stack(
        [
            body.I_kl[1, 2] - body.I_kl[2, 1],
            body.I_kl[2, 0] - body.I_kl[0, 2],
            body.I_kl[0, 1] - body.I_kl[1, 0],
        ]
    )
    assert np.abs(body.S_f).max() < 1e-11 * np.sqrt(body.mass)
    assert np.abs(turn).max() < 1e-11 * np.sqrt(np.trace(body.Theta_kl))
    assert np.allclose(body.m_ff, np.eye(body.nf), atol=1e-10)


def test_tangent_and_mean_axis_span_the_same_space_F50():
    mean = fm.reduce(two_interfaces(), modes=5, **LEAN)
    tangent = fm.reduce(two_interfaces(), modes=5, frame="tangent:left", **LEAN)
    assert mean.nf == tangent.nf == 11
    assert not tangent.interface("left").Phi.any() and not tangent.interface("left").Psi.any()
    assert np.abs(mean.interface("left").Phi).max() > 0.1
    X = mean.mesh.points
    rigid = np.zeros((6, len(X), 3))
    for k in range(3):
        rigid[k, :, k] = 1.0
        rigid[3 + k] = np.cross(np.eye(3)[k], X)
    both = np.concatenate([mean.Phi, rigid]).reshape(17, -1)
    for shape in tangent.Phi.reshape(11, -1):
        rest = shape - both.T @ np.linalg.lstsq(both.T, shape, rcond=None)[0]
        assert np.linalg.norm(rest) < 1e-8 * np.linalg.norm(shape)


@pytest.mark.parametrize("method", ["craig-bampton", "free-interface"])
def test_statically_exact_at_the_interfaces(method):
    modal = fm.reduce(two_interfaces(), modes=4, method=method, **LEAN)
    assert modal.quality["static_error"] < 1e-7
    assert modal.nf == (10 if method == "craig-bampton" else 16)


def test_free_interface_modes_by_tolerance_stay_statically_exact_F52():
    modal = fm.reduce(two_interfaces(), tol=0.2, fmax="6 kHz", method="free-interface", **LEAN)
    more = fm.reduce(two_interfaces(), modes=modal.nf - 12, method="free-interface", **LEAN)
    assert modal.quality["reduction_error"] <= 0.2 and modal.quality["static_error"] < 1e-7
    assert np.allclose(modal.frequency_hz, more.frequency_hz, rtol=1e-7)


def test_tolerance_takes_the_fewest_modes_F52():
    fine = fm.reduce(two_interfaces(), tol=0.02, fmax="6 kHz", **LEAN)
    assert fine.quality["reduction_error"] <= 0.02
    fewer = fm.reduce(two_interfaces(), modes=fine.nf - 6 - 1, **LEAN)
    count = fm.reduce(two_interfaces(), modes=fine.nf - 6, fmax="6 kHz", **LEAN)
    assert count.quality["reduction_error"] == pytest.approx(fine.quality["reduction_error"], rel=1e-3)
    assert fewer.nf == fine.nf - 1


def test_conventions_of_computed_modes():
    modal = fm.reduce(two_interfaces(), modes=6, stress="cells", geometric_stiffness=True)
    assert (np.diff(modal.frequency_hz) >= 0).all()
    flat = modal.Phi.reshape(modal.nf, -1)
    largest = np.argmax(np.abs(flat) >= (1 - 1e-6) * np.abs(flat).max(axis=1, keepdims=True), axis=1)
    assert (flat[np.arange(modal.nf), largest] > 0).all()
    assert np.allclose(np.diag(modal.integrals.K_ff), (2 * np.pi * modal.frequency_hz) ** 2, rtol=1e-9)
    assert modal.stress.shape == (modal.nf, modal.mesh.n_cells, 6)
    assert len(modal.integrals.loads) == 12 + 12 and modal.integrals.K_geo.shape[0] == 24


def test_the_same_input_gives_the_same_file(tmp_path):
    for name in ("a", "b"):
        fm.reduce(two_interfaces(), modes=3).save(tmp_path / f"{name}.modal.h5")
    assert (tmp_path / "a.modal.h5").read_bytes() == (tmp_path / "b.modal.h5").read_bytes()
    modal = ModalData.load(tmp_path / "a.modal.h5")
    assert "Sylvester" in certificate_text(modal) and modal.provenance["versions"]["flexmbs"]


def test_lumped_form_keeps_the_mass():
    consistent = fm.reduce(two_interfaces(), modes=4, **LEAN)
    lumped = fm.reduce(two_interfaces(), modes=4, mass="lumped", **LEAN)
    assert lumped.integrals.mass == pytest.approx(consistent.integrals.mass, rel=1e-12)
    assert np.allclose(lumped.frequency_hz[:3], consistent.frequency_hz[:3], rtol=0.1)  # mesh
    assert consistent.quality["lumped_difference"]["m_ff"] > 1e-4


def test_points_with_given_shapes_are_lumped():
    x, m = np.linspace(0.0, 1.0, 5), np.array([1.0, 2, 3, 4, 5])
    values = np.zeros((2, 5, 3))
    values[0, :, 1], values[1, :, 2] = x**2, x**3
    recipe = {
        "mesh": {"shape": "points", "points": np.stack([x, 0 * x, 0 * x], 1).tolist(), "masses": m.tolist()},
        "given": {"values": values.tolist(), "stiffness": [[6.0, 0.0], [0.0, 8.0]]},
        "interfaces": {"tip": {"node": 5}},
    }
    modal = fm.reduce(recipe)
    body = modal.integrals
    assert body.mass == pytest.approx(15.0) and np.allclose(body.S_O, [m @ x, 0, 0])
    assert np.allclose(body.m_ff, np.diag([m @ x**4, m @ x**6]))
    assert np.allclose(modal.interface("tip").Phi, [[0, 0], [1, 0], [0, 1]])
    assert np.allclose(modal.frequency_hz, np.sort(np.sqrt([6 / (m @ x**4), 8 / (m @ x**6)])) / (2 * np.pi))


ODD = [
    ({"modes": 1000, "interfaces": ["x_min", "x_max"]}, 42),  # more than there are: all of them
    ({"modes": 0, "interfaces": ["x_min"]}, 0),  # the static shapes of one interface are rigid motions
    ({"modes": 0, "interfaces": {"a": {"node": 1}}}, 0),
    ({"fmax": "1 Hz"}, 0),
    ({"modes": 3, "interfaces": {"a": {"node": 1}, "b": "x_max"}}, 6),
    ({"modes": 5, "fix": {"x_min": "x"}, "interfaces": ["x_max"]}, 8),
    ({"modes": 3, "solver": "superlu", "interfaces": ["x_min", "x_max:rbe3"]}, 9),
    (
        {
            "modes": 2,
            "interfaces": {"a": {"set": "x_min", "dofs": "x y z"}, "b": {"set": "x_max", "dofs": "x y z"}},
        },
        3,
    ),
]


@pytest.mark.parametrize("options, nf", ODD, ids=[str(options) for options, _ in ODD])
def test_odd_bases_have_the_size_they_should(options, nf):
    recipe = box_recipe("hex8", (4, 1, 1), (0.3, 0.04, 0.03))
    modal = fm.reduce(recipe, **options, **LEAN)
    assert modal.nf == nf
    assert modal.quality.get("sylvester_missing", 0) == 0
    assert not [text for text in modal.quality["warnings"] if "mean axis" in text]


HELD_TIPS = [("x y z ry rz", "rx"), ("x y z rx rz", "ry"), ("y z rx ry rz", "x"), ("x y z rx ry rz", "")]


@pytest.mark.parametrize(("fix", "left"), HELD_TIPS)
def test_directions_that_the_supports_hold_are_no_coordinates(fix, left, tmp_path):
    """A tip on supports keeps the directions that can still move, and says so."""
    mesh = {
        "shape": "beam",
        "length": 1.0,
        "divisions": 6,
        "section": {"circle": 0.02},
        "rotary_inertia": True,
    }
    body = {"mesh": mesh, "material": STEEL, "modes": 4, "fix": {"x_max": fix}}
    modal = fm.reduce({**body, "interfaces": {"tip": {"set": "x_max", "tie": "rbe3"}}}, **LEAN)
    held = [text for text in modal.quality["warnings"] if "interface tip" in text]
    assert len(held) == 1 and f"tip: {fix} cannot move" in held[0]
    assert modal.interfaces["tip"].dofs == left
    if left:
        asked = {"tip": {"set": "x_max", "tie": "rbe3", "dofs": left}}
    else:
        asked = {}
    same = fm.reduce({**body, "interfaces": asked}, **LEAN)
    assert not [text for text in same.quality["warnings"] if "cannot move" in text]
    np.testing.assert_allclose(modal.frequency_hz, same.frequency_hz, rtol=1e-9)
    modal.save(tmp_path / "tip.modal.h5")
    assert fm.ModalData.load(tmp_path / "tip.modal.h5").interfaces["tip"].dofs == left


def test_a_face_of_a_solid_that_the_supports_hold_in_part():
    recipe = box_recipe("hex8", (4, 1, 1), (0.3, 0.04, 0.03), fix={"x_max": "x y"})
    modal = fm.reduce(recipe, modes=4, interfaces=["x_max:rbe3", "x_min"], **LEAN)
    assert modal.interfaces["x_max"].dofs == "z rx"
    assert modal.quality["sylvester_missing"] == 0 and modal.quality["eigen_residual"] < 1e-6


def test_two_mean_interfaces_at_the_same_nodes():
    """Both describe one motion: the second adds no coordinate, and both have rows."""
    spec = {name: {"set": "x_max", "tie": "rbe3"} for name in ("one", "two")}
    recipe = box_recipe("hex8", (4, 1, 1), (0.3, 0.04, 0.03))
    modal = fm.reduce(recipe, modes=4, interfaces=spec, **LEAN)
    assert modal.interfaces["one"].dofs == "x y z rx ry rz" and modal.interfaces["two"].dofs == ""
    np.testing.assert_allclose(modal.interfaces["one"].Phi, modal.interfaces["two"].Phi, rtol=1e-9)


def test_the_band_of_the_error():
    """With modes or tol fmax is its end; modes up to fmax are meant for half of it."""
    recipe = box_recipe("hex8", (6, 2, 1), (0.3, 0.04, 0.03))
    ends = ["x_min", "x_max"]
    limit = fm.reduce(recipe, fmax=20e3, interfaces=ends, **LEAN)
    assert limit.quality["reduction_band_hz"] == 10e3
    fixed = limit.nf - 6  # twelve constraint modes less the rigid ones come on top
    assert fm.reduce(recipe, modes=3, interfaces=ends, **LEAN).quality["reduction_band_hz"] < 10e3
    number = fm.reduce(recipe, modes=fixed, fmax=10e3, interfaces=ends, **LEAN)
    assert number.quality["reduction_band_hz"] == 10e3
    assert number.quality["reduction_error"] == pytest.approx(limit.quality["reduction_error"], rel=1e-6)
    assert fm.reduce(recipe, tol=0.2, fmax=10e3, interfaces=ends, **LEAN).quality["reduction_band_hz"] == 10e3


def test_modes_far_above_the_band_are_tried_for_a_small_error():
    """The first fixed mode lies above 24 times the band; the static shapes alone do not reach the error."""
    recipe = box_recipe("hex8-plain", (8, 2, 2), (0.3, 0.1, 0.1))
    ends = ["x_min", "x_max"]
    static = fm.reduce(recipe, modes=0, fmax=200.0, interfaces=ends, **LEAN)
    tol = 0.3 * static.quality["reduction_error"]
    modal = fm.reduce(recipe, tol=tol, fmax=200.0, interfaces=ends, **LEAN)
    assert modal.nf > 6 and modal.quality["reduction_error"] <= tol
    assert modal.frequency_hz[0] > 24 * 200.0


@pytest.mark.parametrize(
    ("material", "says"),
    [
        ({"young": 210e9, "poisson": 0.3, "density": 7.85}, "sound travels at 1.64e+05 m/s"),
        ({"young": 210e3, "poisson": 0.3, "density": 7850}, "sound travels at 5.17 m/s"),
    ],
)
def test_a_material_in_other_units_is_noticed(material, says):
    modal = fm.reduce(box_recipe("hex8", (2, 1, 1)), material=material, modes=1, **LEAN)
    assert [text for text in modal.quality["warnings"] if says in text and "kg/m^3" in text]
    steel = fm.reduce(box_recipe("hex8", (2, 1, 1)), modes=1, **LEAN)
    assert not [text for text in steel.quality["warnings"] if "sound" in text]


def test_warnings_about_the_mesh_come_with_the_error_of_a_later_step():
    """Millimetres read as metres make the modes dense, for example; the error alone would not tell why."""
    recipe = box_recipe("hex8", (4, 1, 1), (300.0, 40.0, 30.0), fix={"x_max": "x y z"})
    with pytest.raises(fm.errors.InputError) as problem:
        fm.reduce(recipe, modes=1, interfaces=["x_max"], **LEAN)
    codes = [(item.code, item.severity) for item in problem.value.diagnostics]
    assert codes == [("recipe.fixed_interface", "error"), ("mesh.units", "warn")]
