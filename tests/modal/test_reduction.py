"""Algorithms of the reduction against dense algebra on small meshes."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.materials import isotropic
from flexmbs.fe.shapes.parametric import box
from flexmbs.modal import eigen
from flexmbs.modal.areas import centroid, nodal_sizes, set_pieces
from flexmbs.modal.basis import Columns, independent, orthonormalise, signs
from flexmbs.modal.craig_bampton import craig_bampton
from flexmbs.modal.eigen import lowest_modes
from flexmbs.modal.frame import apply_frame, parse_frame
from flexmbs.modal.free_interface import free_interface
from flexmbs.modal.interfaces import check_separate, make_interface, mean_rows, tie_columns
from flexmbs.modal.receptance import FullResponse, reduced, scaled_rows
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import rigid_field, tie
from flexmbs.modal.unit_loads import body_loads, unit_responses
from flexmbs.reduce import reduce

STEEL = isotropic("steel", 2.1e11, 0.3, 7850.0)
TIES = [("rbe2", "rbe2"), ("rbe3", "rbe3"), ("rbe2", "rbe3")]


def small(ties=("rbe2", "rbe3"), element="hex8", divisions=(3, 2, 2), **options):
    mesh = box((0.3, 0.2, 0.1), divisions, element=element)
    fe = assemble(mesh, STEEL)
    items = [
        make_interface(mesh, name, mesh.node_set_of(name), set_name=name, tie=kind, **options)
        for name, kind in zip(("x_min", "x_max"), ties, strict=True)
    ]
    return fe, tie(fe.K_fe, fe.M_fe, mesh.points, 3, items)


def dense(model):
    return model.K.toarray(), model.M.toarray()


@pytest.mark.parametrize("element", ["tet4", "tet10", "hex8", "hex20", "hex27"])
def test_area_and_centroid_of_a_face(element):
    mesh = box((0.3, 0.2, 0.1), (2, 3, 2), corner=(1, 2, 3), element=element)
    nodes = mesh.node_set_of("x_max")
    faces = set_pieces(mesh, "x_max", nodes)
    assert nodal_sizes(mesh, faces).sum() == pytest.approx(0.02, rel=1e-12)
    assert np.allclose(centroid(mesh, faces), [1.3, 2.1, 3.05], rtol=1e-12)
    assert np.allclose(nodal_sizes(mesh, faces) @ mesh.points, 0.02 * np.array([1.3, 2.1, 3.05]))


@pytest.mark.parametrize("tie_name", ["rbe2", "rbe3"])
def test_a_marker_follows_rigid_motion_exactly(tie_name):
    mesh = box((0.3, 0.2, 0.1), (2, 2, 2), element="hex20")
    R = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    item = make_interface(
        mesh,
        "end",
        mesh.node_set_of("x_max"),
        set_name="x_max",
        tie=tie_name,
        position=[0.2, 0.01, 0],
        rotation=R,
    )
    dofs = (item.nodes[:, None] * 3 + np.arange(3)).ravel()
    motion = rigid_field(mesh.points, 3)
    y = mean_rows(mesh.points, item, 3) @ motion[dofs]
    expected = np.zeros((6, 6))
    expected[:3, :3] = expected[3:, 3:] = R.T
    expected[:3, 3:] = R.T @ np.cross(np.eye(3), item.position).T
    assert np.allclose(y, expected, atol=1e-12)
    assert np.allclose(tie_columns(mesh.points, item, 3) @ y, motion[dofs], atol=1e-12)


def test_single_nodes_carry_no_rotation_and_lines_only_two():
    mesh = box((0.3, 0.2, 0.1), (2, 2, 2), element="hex8")
    point = make_interface(mesh, "p", [3])
    assert point.dof_names == "x y z"
    edge = make_interface(mesh, "e", np.intersect1d(mesh.node_sets["x_min"], mesh.node_sets["y_min"]))
    assert edge.dof_names == "x y z rx ry"
    with pytest.raises(InputError, match="cannot carry the direction rz"):
        make_interface(mesh, "p", [3], dofs=(0, 5))
    assert check_separate([edge, make_interface(mesh, "x", mesh.node_set_of("x_min"))])


@pytest.mark.parametrize("ties", TIES)
def test_fixed_interface_modes_are_those_of_the_dense_problem(ties):
    _, model = small(ties)
    statics = Statics(model)
    static, dynamic, modes = craig_bampton(statics, 10, None)
    N = scipy.linalg.null_space(model.boundary.toarray())
    K, M = dense(model)
    exact = scipy.linalg.eigh(N.T @ K @ N, N.T @ M @ N, eigvals_only=True)
    assert np.allclose(modes.omega2, exact[:10], rtol=1e-9)
    assert np.allclose(model.boundary @ static.U, np.eye(12), atol=1e-9)
    assert np.abs(model.boundary @ dynamic.U).max() < 1e-9 * np.abs(dynamic.U).max()
    up_to = craig_bampton(statics, None, np.sqrt(exact[6]) / (2 * np.pi) * (1 + 1e-6))[2]
    assert len(up_to.omega2) == 7


def test_constraint_modes_need_no_force_inside():
    _, model = small()
    static, _, _ = craig_bampton(Statics(model), 0, None)
    force = model.K @ static.U
    C = model.boundary.toarray()
    inside = force - C.T @ np.linalg.lstsq(C.T, force, rcond=None)[0]
    assert np.abs(inside).max() < 1e-9 * np.abs(force).max()


@pytest.mark.parametrize("dofs", [(0,), (0, 1, 2), (2, 3, 5)])
def test_partial_interfaces_leave_rigid_motions_in_the_basis(dofs):
    _, model = small(("rbe3", "rbe3"), dofs=dofs)
    static, _, modes = craig_bampton(Statics(model), 5, None)
    K, M = dense(model)
    N = scipy.linalg.null_space(model.boundary.toarray())
    exact = scipy.linalg.eigh(N.T @ K @ N, N.T @ M @ N, eigvals_only=True)
    loose = sum(name.startswith("rigid") for name in static.names)
    assert np.abs(exact[:loose]).max(initial=0.0) < 1e-6 * exact[loose]
    assert np.allclose(modes.omega2, exact[loose : loose + 5], rtol=1e-8)
    rest = model.rigid - static.U @ np.linalg.lstsq(static.U, model.rigid, rcond=None)[0]
    assert np.abs(rest).max() < 1e-9 * np.abs(model.rigid).max()


def test_free_modes_and_attachment_modes_of_a_free_body():
    _, model = small()
    K, M = dense(model)
    static, _, modes = free_interface(Statics(model), 8, None)
    exact = scipy.linalg.eigh(K, M, eigvals_only=True)
    assert np.abs(exact[:6]).max() < 1e-7 * exact[6]
    assert np.allclose(modes.omega2, exact[6:14], rtol=1e-9)
    attachment = static.U[:, 6:]
    C = model.boundary.toarray()
    V = scipy.linalg.eigh(K, M)[1][:, 6:]
    assert np.allclose(attachment, V @ ((V.T @ C.T) / exact[6:, None]), atol=1e-8 * np.abs(attachment).max())


def test_inertia_relief_is_the_pseudo_inverse():
    _, model = small()
    K, M = dense(model)
    F = np.random.default_rng(3).normal(size=(model.n, 2))
    U = Statics(model).holding().respond(F)
    omega2, V = scipy.linalg.eigh(K, M)
    exact = V[:, 6:] @ ((V[:, 6:].T @ F) / omega2[6:, None])
    assert np.allclose(U, exact, atol=1e-8 * np.abs(exact).max())


@pytest.mark.parametrize("frame", ["mean-axis", "tangent:x_min", "tangent:x_max"])
@pytest.mark.parametrize("method", [craig_bampton, free_interface])
def test_frames_remove_exactly_the_rigid_motions_F50(method, frame):
    _, model = small()
    static, dynamic, _ = method(Statics(model), 4, None)
    columns = Columns.join([static, dynamic])
    moved, expected = apply_frame(columns, parse_frame(frame, model), model)
    basis = orthonormalise(moved, model.K, model.M, expected)
    assert basis.U.shape[1] == columns.U.shape[1] - 6 and not basis.dropped
    assert np.allclose(basis.U.T @ (model.M @ basis.U), np.eye(basis.U.shape[1]), atol=1e-9)
    if frame == "mean-axis":
        assert np.abs(model.rigid.T @ (model.M @ basis.U)).max() < 1e-9
    else:
        assert np.abs(model.rows[frame[8:]] @ basis.U).max() < 1e-8 * np.abs(basis.U).max()


def test_frames_that_make_no_sense_are_refused():
    _, model = small()
    for text, message in (
        ("tangent:x_mx", 'mean "x_max"'),
        ("tangent", "needs the name"),
        ("fixed", "choices"),
    ):
        with pytest.raises(InputError, match=message):
            parse_frame(text, model)


def test_dependent_columns_are_dropped_by_name_F51():
    rng = np.random.default_rng(0)
    U = rng.normal(size=(20, 3))
    U = np.concatenate([U, U[:, :1] + U[:, 1:2]], axis=1)
    U /= np.linalg.norm(U, axis=0)
    combine, dropped = independent(U.T @ U, ["a", "b", "c", "d"])
    assert combine.shape == (4, 3) and len(dropped) == 1 and dropped[0] in "abd"
    assert independent(U.T @ U, ["a", "b", "c", "d"], expected=1)[1] == []


def test_massless_directions_are_dropped():
    K = sp.csr_matrix(np.diag([1.0, 2.0, 3.0]))
    M = sp.csr_matrix(np.diag([1.0, 1.0, 0.0]))
    basis = orthonormalise(Columns(np.eye(3), ("a", "b", "c")), K, M)
    assert np.allclose(basis.omega2, [1, 2]) and basis.dropped == ("c",)


def test_signs_do_not_depend_on_rounding():
    Phi = np.array([[[0.5, -1.0, 0.0], [0.0, 1.0 + 1e-12, 0.0]], [[0.0, 0, 0], [0, 0, -2.0]]])
    assert signs(Phi).tolist() == [-1.0, -1.0]


def full_receptance(model, rows, frequency_hz):
    K, M = dense(model)
    w = 2 * np.pi * frequency_hz
    return rows @ np.linalg.solve(K * 1.02j / 1.02 * 0.02 + K - w**2 * M, rows.T)


@pytest.mark.parametrize("method", [craig_bampton, free_interface])
def test_receptance_of_the_full_model_and_error_of_the_reduced_F52(method):
    _, model = small(divisions=(4, 3, 2))
    statics = Statics(model)
    static, dynamic, _ = method(statics, 6, None)
    columns = Columns.join([static, dynamic])
    full = FullResponse(statics, columns, 9000.0)
    for k in (0, 40, len(full.frequencies) - 1):
        exact = full_receptance(model, scaled_rows(model), full.frequencies[k])
        assert np.linalg.norm(full.response[k] - exact) < 1e-5 * np.linalg.norm(exact)
    basis = reduced(columns, model)
    found = full.error_of_basis(basis)
    C = full.rows
    U = np.concatenate([model.rigid, basis.U], axis=1)
    K, M = dense(model)
    worst = 0.0
    for f in full.frequencies:
        w = 2 * np.pi * f
        small_model = U.T @ (K * (1 + 0.02j) - w**2 * M) @ U
        H = C @ U @ np.linalg.solve(small_model, U.T @ C.T)
        exact = full_receptance(model, C, f)
        worst = max(worst, np.linalg.norm(H - exact) / np.linalg.norm(exact))
    assert found.error == pytest.approx(worst, rel=1e-3)


def test_lanczos_finds_multiple_eigenvalues():
    values = np.array([1.0, 1, 1, 2, 2, 3, 5, 5, 5, 5] + list(range(10, 60)))
    M = sp.identity(60, format="csr")
    modes = lowest_modes(lambda V: V / values[:, None], M, n=10)
    assert np.allclose(modes.omega2, np.sort(values)[:10], rtol=1e-9)
    assert len(lowest_modes(lambda V: V / values[:, None], M, fmax=np.sqrt(4.0) / (2 * np.pi)).omega2) == 6


def test_unit_loads_are_the_forces_of_a_moving_body_F17():
    fe, model = small(("rbe2", "rbe2"), element="hex20")
    points, n = fe.mesh.points, fe.n_dof
    F = body_loads(fe.mass_form, points, n)
    fields = np.zeros((n // 3, 3, 12))
    for k in range(3):
        fields[:, k, k] = 1.0
        fields[:, :, 3 + k] = np.cross(np.eye(3)[k], points)
    c = 6
    for k in range(3):
        for ell in range(k, 3):
            if k == ell:
                fields[:, :, c] = -points
                fields[:, k, c] += points[:, k]
            else:
                fields[:, k, c], fields[:, ell, c] = points[:, ell], points[:, k]
            c += 1
    assert np.allclose(F, fe.M_fe @ fields.reshape(n, 12), atol=1e-12 * np.abs(F).max())
    U = unit_responses(Statics(model), np.asarray(model.G.T @ F), None)
    assert not U[:, :6].any()  # inertia relief balances uniform accelerations by themselves
    assert U[:, 6].any()


def test_a_mechanism_is_an_error_that_names_the_parts():
    mesh = box((0.3, 0.2, 0.1), (2, 1, 1), element="hex8")
    fe = assemble(mesh, STEEL)
    K, M = (sp.block_diag([A, A], format="csc") for A in (fe.K_fe, fe.M_fe))
    points = np.concatenate([mesh.points, mesh.points + 1.0])
    with pytest.raises(InputError, match="falls into 2 parts"):
        Statics(tie(K, M, points, 3))


def test_a_spinning_beam_without_inertia_about_its_axis_is_refused():
    K = sp.csc_matrix((6, 6))
    M = sp.diags([1.0, 1, 1, 0, 0, 0], format="csc")
    points = np.zeros((1, 3))
    with pytest.raises(InputError):
        Statics(tie(K + M * 0, M, points, 6))


def test_lanczos_finds_all_modes_of_a_space_and_no_more():
    """The space of the held body is exhausted: what rounding leaves of it must not count as a mode."""
    _, model = small(("rbe2", "rbe2"), divisions=(6, 4, 3))
    statics = Statics(model)
    modes = craig_bampton(statics, 10_000, None)[2]
    N = scipy.linalg.null_space(model.boundary.toarray())
    K, M = dense(model)
    exact = scipy.linalg.eigh(N.T @ K @ N, N.T @ M @ N, eigvals_only=True)
    assert len(modes.omega2) == len(exact) == model.n - 12
    assert np.allclose(modes.omega2, exact, rtol=1e-8)


def test_held_coordinates_stay_at_rest_to_the_last_digit():
    _, model = small(("rbe3", "rbe3"))
    held = Statics(model).holding(model.boundary)
    U = held.respond(np.random.default_rng(3).normal(size=(model.n, 5)))
    moved = np.abs(model.boundary @ U).max() / np.abs(U).max()
    assert moved < 3e-15  # rounding; 6e-14 without the second correction


@pytest.mark.parametrize("method", ["craig-bampton", "free-interface"])
def test_shapes_of_equal_frequency_do_not_depend_on_rounding(method, monkeypatch):
    """Bending of a square section goes along the axes; plate modes of a square do not follow the start."""
    bar = {"shape": "beam", "length": 1.0, "divisions": 4, "section": {"rectangle": [0.02, 0.02]}}
    plate = {"shape": "box", "size": [1.0, 1.0, 0.05], "divisions": [4, 4, 1], "element": "hex8"}
    ends = {"root": {"set": "start"}, "tip": {"set": "end"}}
    recipes = [
        {"modes": 4, "material": "steel", "frame": "tangent:root", "mesh": bar, "interfaces": ends},
        {"modes": 8, "material": "steel", "frame": "mean-axis", "mesh": plate},
    ]
    seeded = np.random.default_rng
    for recipe in recipes:
        found = []
        for seed in (7, 11):
            monkeypatch.setattr(eigen.np.random, "default_rng", lambda _, seed=seed: seeded(seed))
            found.append(reduce(recipe | {"method": method}))
        a, b = found
        equal = np.diff(a.frequency_hz) < 1e-8 * a.frequency_hz[1:]
        assert equal.sum() >= 2
        np.testing.assert_allclose(b.Phi, a.Phi, rtol=0, atol=1e-6 * np.abs(a.Phi).max())  # eigen.TOLERANCE
        np.testing.assert_allclose(b.frequency_hz, a.frequency_hz, rtol=1e-9)
    along = np.abs(reduce(recipes[0] | {"method": method}).Phi).max(axis=1)
    assert np.all(np.sum(along > 1e-8 * along.max(), axis=1) <= 1)


@pytest.mark.parametrize("thickness", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("interfaces", [{}, {"a": {"set": "x_min", "tie": "rbe2"}}])
def test_two_shells_have_all_the_modes_that_their_mass_allows(thickness, interfaces):
    """Turning about the normal has stiffness and no mass; membranes are 1e12 times as stiff as bending."""
    mesh = {"shape": "shell", "size": [1.0, 0.5], "divisions": [1, 2], "element": "quad4"}
    recipe = {"material": "steel", "frame": "mean-axis", "interfaces": interfaces}
    found = reduce(recipe | {"modes": 12, "mesh": mesh | {"thickness": thickness}})
    assert found.quality["eigen_backward_error"] < 1e-8 and found.quality["eigen_residual"] < 1e-5
    assert found.quality["sylvester_missing"] == 0
