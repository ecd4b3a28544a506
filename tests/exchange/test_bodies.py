"""Bodies in the files of other programs: round trips, and the equations of those programs written down here.

The body is a random cloud of masses with random shapes (tests/ffrf/reference.py): nothing in it is symmetric,
so every sign and order shows. What the files say is compared with direct sums over its masses.
"""

from __future__ import annotations

import re
from dataclasses import replace

import h5py
import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import FlexmbsError, InputError, UsageError
from flexmbs.exchange import export_body, import_body
from flexmbs.exchange.mbdyn import Groups
from flexmbs.exchange.sid import parse
from flexmbs.fe.mesh import Mesh
from flexmbs.ffrf.mass import mass_matrix, quadratic_velocity_forces
from flexmbs.modaldata.data import InterfaceData, from_shapes
from flexmbs.post.skin import skin_of
from flexmbs.reduce import reduce
from flexmbs.spatial import exp_so3, skew
from tests.ffrf.reference import mass_matrix_by_nodal_sum, random_body, velocity_forces_by_nodal_sum

NF, FACES = 4, ("bore", "tip")
#: 17 digits are written
DIGITS = 1e-12


@pytest.fixture
def cloud_and_body():
    return body(geo=True)


def body(geo):
    """A cloud and modal data of it, with two interfaces in turned axes."""
    rng = np.random.default_rng(5)
    cloud, integrals = random_body(rng, NF, geo=geo, interfaces=FACES)
    A = rng.normal(size=(NF, NF))
    integrals = replace(integrals, K_ff=A @ A.T + np.diag([1.0, 2.0, 3.0, 4.0]))
    one = np.ones(1)
    faces = {
        name: InterfaceData(
            rng.normal(size=3), exp_so3(rng.normal(size=3)), *rng.normal(size=(2, 3, NF)), np.array([k]), one
        )
        for k, name in enumerate(FACES)
    }  # fmt: skip
    Phi = cloud.shapes[0].transpose(2, 0, 1)
    mesh = Mesh(cloud.points, {}, node_number=np.arange(11, 11 + len(cloud.points)))
    return cloud, from_shapes(integrals, mesh=mesh, Phi=Phi, Psi=0.5 * Phi, interfaces=faces)


def same(a, b, what, tolerance=DIGITS):
    np.testing.assert_allclose(b, a, rtol=0.0, atol=tolerance * np.abs(a).max(initial=1.0), err_msg=what)


def check_motion(a, b, tolerance=DIGITS):
    """Mass matrix and velocity forces at random states: what moves a body (F12, F13, F17a)."""
    rng = np.random.default_rng(6)
    for _ in range(3):
        q, q_dot, w = 0.3 * rng.normal(size=NF), rng.normal(size=NF), rng.normal(size=3)
        same(mass_matrix(a, q), mass_matrix(b, q), "M", tolerance)
        found = [quadratic_velocity_forces(i, q, q_dot, w) for i in (a, b)]
        same(*found, "Q_v", tolerance)
    for name in ("m_ff", "K_ff", "D_ff"):
        same(getattr(a, name), getattr(b, name), name, tolerance)


@pytest.mark.parametrize(
    ("file", "options", "geo"),
    [
        ("b.fem", {"invariants": True}, False),
        ("b.fem", {"invariants": True}, True),
        ("b.SID_FEM", {}, False),
        ("b.SID_FEM", {}, True),
        ("b.sid", {"inertia_order": "xy-yz-xz"}, True),
        ("b.mbsim.h5", {}, False),  # it has no place for geometric stiffness
    ],
)
def test_what_comes_back_moves_the_same(tmp_path, file, options, geo):
    _, modal = body(geo)
    export_body(modal, tmp_path / file, **options)
    found, notes = import_body(tmp_path / file)
    assert notes
    check_motion(modal.integrals, found.integrals)
    if geo:
        for k, name in enumerate(FACES):
            other = list(found.interfaces)[k]
            for kind in ("force", "moment"):
                wanted = modal.integrals.load_matrices([f"{name}.{kind}.{axis}" for axis in "xyz"])
                has = found.integrals.load_matrices([f"{other}.{kind}.{axis}" for axis in "xyz"])
                same(wanted, has, f"stiffness by a {kind} at {name}")


@pytest.mark.parametrize(("file", "has_axes"), [("b.fem", False), ("b.SID_FEM", True)])
def test_interfaces_come_back(tmp_path, file, has_axes):
    _, modal = body(geo=True)
    export_body(modal, tmp_path / file, **({"invariants": True} if file == "b.fem" else {}))
    found, _ = import_body(tmp_path / file)
    for one, other in zip(modal.interfaces.values(), found.interfaces.values(), strict=True):
        for name in ("position", "Phi", "Psi"):
            same(getattr(one, name), getattr(other, name), name)
        same(one.rotation if has_axes else np.eye(3), other.rotation, "axes")
    assert has_axes or list(found.interfaces) == list(FACES)


def test_nodes_of_mbsim_come_back(tmp_path):
    _, modal = body(geo=False)
    export_body(modal, tmp_path / "b.mbsim.h5")
    found, _ = import_body(tmp_path / "b.mbsim.h5")
    for number in modal.mesh.node_number:
        for a, b in zip(modal.marker_rows(node=number), found.marker_rows(node=number), strict=True):
            same(a, b, f"node {number}")
    assert list(found.mesh.node_number[-2:]) == [18, 19]  # the interfaces, behind 11 ... 17


def test_stresses_and_surfaces_of_mbsim_come_back(tmp_path):
    """Skin of the corners, stress modes at all nodes; what several cells share is inside."""
    mesh = {"shape": "box", "size": [0.4, 0.1, 0.05], "divisions": [3, 2, 1], "element": "hex20"}
    modal = reduce({"mesh": mesh, "interfaces": {"left": {"set": "x_min"}}}, material="steel", modes=2)
    notes = export_body(modal, tmp_path / "b.mbsim.h5")["notes"]
    assert any("without a static part" in note for note in notes)
    found, _ = import_body(tmp_path / "b.mbsim.h5")
    assert found.stress_at == "nodes" and modal.stress is not None and found.stress is not None
    same(modal.stress, found.stress[:, :-1], "stress")
    assert np.all(found.stress[:, -1] == 0.0), "an interface has none"
    skin = skin_of(found)
    assert {kind: len(rows) for kind, rows in found.mesh.cells.items()} == {"quad4": 22}
    same(modal.mesh.points[np.unique(found.mesh.cells["quad4"])], skin.mesh.points, "places")
    a, b, c = skin.mesh.points[skin.mesh.triangles.T]
    assert np.einsum("ij,ij", a, np.cross(b, c)) / 6.0 == pytest.approx(0.4 * 0.1 * 0.05), "outward"
    # as its own tools write: all faces of all cells, twice inside; here a hexagon besides
    faces = np.array([0, 1, 2, -1, 2, 1, 0, -1, 3, 4, 5, -1, 6, 7, 8, 9, 10, 11])
    with h5py.File(tmp_path / "b.mbsim.h5", "a") as file:
        del file["openmbv indices"]
        file["openmbv indices"] = faces
    triangles = import_body(tmp_path / "b.mbsim.h5")[0].mesh.cells["tri3"]
    assert triangles.tolist() == [[3, 4, 5], *([6, k, k + 1] for k in range(7, 11))]
    with h5py.File(tmp_path / "b.mbsim.h5", "a") as file:
        file["openmbv indices"][0] = 10_000
    with pytest.raises(InputError, match="expected places of"):
        import_body(tmp_path / "b.mbsim.h5")


def test_damaged_files_of_mbsim_are_told(tmp_path):
    path = tmp_path / "b.mbsim.h5"

    def told():
        with pytest.raises(InputError) as refused:
            import_body(path)
        return str(refused.value)

    export_body(body(geo=True)[1], path)
    with h5py.File(path, "a") as file:
        del file["node numbers"]
        file["node numbers"] = 3
    assert '"node numbers" is ()' in told()
    with h5py.File(path, "a") as file:
        file["mass"][()] = 1e300
    assert '"mass" has numbers that are not finite, or beyond' in told()
    data = path.read_bytes()
    k = data.index(b"OHDR", 200)  # the head of some dataset: its own checksum does not fit any more
    path.write_bytes(data[: k + 6] + bytes([data[k + 6] ^ 8]) + data[k + 7 :])
    assert "is damaged" in told()


BY_HAND = """** a file as people write it, for versions without invariants
** RECORD GROUP 1, HEADER
**   REVISION,  NODE,  NORMAL, ATTACHMENT, CONSTRAINT, REJECTED MODES.
      REV0         3         2         0         0         0
** RECORD GROUP 2, NODES
 11 12 13
** RECORD GROUP 5, X
 0
 0
 0
** RECORD GROUP 6, Y
-3.
 0
 3.
** RECORD GROUP 7, Z
 0
 0
 0
** RECORD GROUP 8, SHAPES
** NORMAL MODE SHAPE 1
0 0 1 0 0 0
0 0 -2 0 0 0
0 0 1 0 0 0
** NORMAL MODE SHAPE 2
1 0 0 0 0 0
-2 0 0 0 0 0
1 0 0 0 0 0
** RECORD GROUP 9, MODAL MASS MATRIX
12 0
0 12
** RECORD GROUP 10, MODAL STIFFNESS MATRIX
3 0
0 3e2
** RECORD GROUP 11, DIAGONAL OF LUMPED MASS MATRIX
2 2 2 .5 .5 .5
2 2 2 .5 .5 .5
2 2 2 .5 .5 .5
"""


def test_a_file_by_hand_says_its_mass_and_frequencies(tmp_path):
    (tmp_path / "b.fem").write_text(BY_HAND)
    modal, _ = import_body(tmp_path / "b.fem")
    assert modal.integrals.mass == 6.0
    same(np.diag([2 * 2 * 9 + 1.5, 1.5, 2 * 2 * 9 + 1.5]), modal.integrals.inertia, "inertia")
    same(np.sqrt([3 / 12, 300 / 12]) / (2 * np.pi), modal.frequency_hz, "frequencies")
    modal.save(tmp_path / "b.modal.h5")


#: block of a file, how the exponents of its numbers change -> what is said
IMPOSSIBLE = [
    ("Me", lambda exponent: exponent - 6, r"modes take [\d.e+]+ of the inertia of the body in one motion"),
    ("Cr", lambda exponent: exponent + 2, r"Ct, Cr and Me: .* most of it mode \d about [xyz]; expected less"),
    ("Me", lambda exponent: 0, "the modal mass is not positive definite"),
]


@pytest.mark.parametrize(("block", "change", "said"), IMPOSSIBLE)
def test_bodies_that_cannot_be_are_refused_by_what_the_file_says(tmp_path, block, change, said):
    """Some files in use couple a mode with more mass than there is."""
    export_body(body(geo=False)[1], tmp_path / "b.SID_FEM")
    text = (tmp_path / "b.SID_FEM").read_text()
    start, end = text.index(f" {block}\n"), text.index(f"end {block}")
    wrong = re.sub(r"D([+-]\d\d)", lambda found: f"D{change(int(found[1])):+03d}", text[start:end])
    (tmp_path / "b.SID_FEM").write_text(text[:start] + wrong + text[end:])
    with pytest.raises(InputError, match=said):
        import_body(tmp_path / "b.SID_FEM")


SIGMA = """          sigma
               order                      = {order}
               nrow                       = 6
               ncol                       = {ncol}
               nq                         = 4
               nqn                        = 0
               structure                  = 3
{values}          end sigma
"""


@pytest.mark.parametrize("order", [0, 1, 2])
def test_stresses_of_sid_come_along(tmp_path, order):
    """Of files of others: ours have none. As a matrix like phi, or as the slope of one column."""
    export_body(body(geo=False)[1], tmp_path / "b.SID_FEM")
    assert import_body(tmp_path / "b.SID_FEM")[0].stress is None
    text = (tmp_path / "b.SID_FEM").read_text()
    place = ["m0( 6, 3)", "m1( 6, 3, 1)", "m0( 6, 3)"][order]
    block = SIGMA.format(
        order=min(order, 1), ncol=[4, 1, 7][order], values=f"               {place} = 2.5D+06\n"
    )
    end = text.rindex("               end node")
    (tmp_path / "b.SID_FEM").write_text(text[:end] + block + text[end:])
    if order == 2:
        with pytest.raises(InputError, match=r"sigma of node 2 is \(6, 7\)"):
            import_body(tmp_path / "b.SID_FEM")
        return
    stress = import_body(tmp_path / "b.SID_FEM")[0].stress
    assert stress is not None and np.argwhere(stress).tolist() == [[2, 1, 5]] and stress.max() == 2.5e6


def parts(cloud):
    mass, place, rows = zip(*cloud.parts(), strict=True)
    return np.array(mass), np.array(place), np.array(rows)


def test_invariants_of_mbdyn_are_sums_over_masses(tmp_path, cloud_and_body):
    """Record groups 12 to 18 against the sums that MBDyn's manual and source define."""
    cloud, modal = cloud_and_body
    export_body(modal, tmp_path / "b.fem", invariants=True)
    file, (mass, x, Phi) = Groups(tmp_path / "b.fem"), parts(cloud)
    centre = mass @ x / mass.sum()
    J = -sum(m * skew(p - centre) @ skew(p - centre) for m, p in zip(mass, x, strict=True))
    same(np.concatenate([[mass.sum()], centre, J.ravel()]), file.array(12, 13), "mass, centre, J")
    same(np.einsum("p,pka->ka", mass, Phi), file.array(14, 3, NF), "Inv3")
    Inv4 = sum(m * skew(p) @ rows for m, p, rows in zip(mass, x, Phi, strict=True))
    same(Inv4, file.array(15, 3, NF), "Inv4")
    Inv8 = np.array(
        [[-m * skew(p) @ skew(r[:, j]) for j in range(NF)] for m, p, r in zip(mass, x, Phi, strict=True)]
    )
    same(Inv8.sum(axis=0).transpose(1, 0, 2), file.array(16, 3, NF, 3), "Inv8")
    Inv5 = np.array([[m * skew(r[:, j]) @ r for j in range(NF)] for m, r in zip(mass, Phi, strict=True)])
    same(Inv5.sum(axis=0).transpose(1, 0, 2), file.array(17, 3, NF, NF), "Inv5")
    Inv9 = np.array(
        [
            [[m * skew(r[:, j]) @ skew(r[:, k]) for k in range(NF)] for j in range(NF)]
            for m, r in zip(mass, Phi, strict=True)
        ]
    )
    same(Inv9.sum(axis=0).transpose(2, 0, 1, 3), file.array(18, 3, NF, NF, 3), "Inv9")


def test_equations_of_mbdyn_with_the_file_are_ours(tmp_path):
    """Its inertia forces (modal element, body axes) against M and Q_v by sums over the masses (F12, F13)."""
    cloud, modal = body(geo=False)
    export_body(modal, tmp_path / "b.fem", invariants=True)
    f, rng = Groups(tmp_path / "b.fem"), np.random.default_rng(7)
    mass, centre = f.array(12, 13)[0], f.array(12, 13)[1:4]
    Inv7 = f.array(12, 13)[4:].reshape(3, 3) - mass * skew(centre) @ skew(centre)
    Inv3, Inv4 = f.array(14, 3, NF), f.array(15, 3, NF)
    Inv8 = f.array(16, 3, NF, 3).transpose(1, 0, 2)
    Inv5 = f.array(17, 3, NF, NF).transpose(1, 0, 2)  # [j][:, k]
    Inv9 = f.array(18, 3, NF, NF, 3).transpose(1, 2, 0, 3)
    q, q_dot, q_ddot = 0.3 * rng.normal(size=(3, NF))
    a, w, alpha = rng.normal(size=(3, 3))
    S = mass * centre + Inv3 @ q
    J = (
        Inv7
        + sum(qj * (B + B.T) for qj, B in zip(q, Inv8, strict=True))
        - np.einsum("j,k,jkab->ab", q, q, Inv9)
    )
    force = (
        mass * a
        - np.cross(S, alpha)
        + np.cross(w, np.cross(w, S))
        + Inv3 @ q_ddot
        + 2 * np.cross(w, Inv3 @ q_dot)
    )
    moment = np.cross(S, a) + J @ alpha + np.cross(w, J @ w) + Inv4 @ q_ddot
    moment += np.einsum("j,jak,k->a", q, Inv5, q_ddot)
    moment += 2 * (np.einsum("j,jab->ab", q_dot, Inv8) - np.einsum("j,k,jkab->ab", q, q_dot, Inv9)) @ w
    modal_force = f.array(9, NF, NF) @ q_ddot + Inv3.T @ a
    for j in range(NF):
        modal_force[j] += (Inv4[:, j] + np.einsum("k,ka->a", q, Inv5[:, :, j])) @ alpha
        modal_force[j] += 2 * np.einsum("k,ka->a", q_dot, Inv5[:, :, j]) @ w
        modal_force[j] -= w @ (Inv8[j].T - np.einsum("k,kab->ab", q, Inv9[j])) @ w
    M, Q = mass_matrix_by_nodal_sum(cloud, q), velocity_forces_by_nodal_sum(cloud, q, q_dot, w)
    wanted = M @ np.concatenate([a, alpha, q_ddot]) - Q
    same(wanted, np.concatenate([force, moment, modal_force]), "inertia forces", 1e-11)


def taylor(block, q):
    return block.m0 + (0.0 if block.m1 is None else np.einsum("rkc,k->rc", block.m1, q))


@pytest.mark.parametrize("order", ["xy-yz-xz", "xy-xz-yz"])
def test_equations_of_sid_with_the_file_are_ours(tmp_path, order):
    """M_t, M_r, M_q of the standard with its expansions, to first order in q, against sums over masses."""
    cloud, modal = body(geo=False)
    export_body(modal, tmp_path / "b.SID_FEM", inertia_order=order)
    found, rng = parse(tmp_path / "b.SID_FEM"), np.random.default_rng(8)
    b = found.blocks
    q_dot, q_ddot = rng.normal(size=(2, NF))
    a, w, alpha = rng.normal(size=(3, 3))
    W = np.array([w[0] ** 2, w[1] ** 2, w[2] ** 2, w[0] * w[1], w[1] * w[2], w[0] * w[2]])
    direction = rng.normal(size=NF)

    def theirs(q):
        Jv = taylor(b["J"], q)[:, 0]
        xy, second, third = Jv[3:]
        yz, xz = (second, third) if order == "xy-yz-xz" else (third, second)
        J = np.array([[Jv[0], xy, xz], [xy, Jv[1], yz], [xz, yz, Jv[2]]])
        c, Ct, Cr = taylor(b["mdCM"], q)[:, 0], taylor(b["Ct"], q), taylor(b["Cr"], q)
        Gr = np.einsum("rkc,k->rc", taylor(b["Gr"], q).reshape(3, NF, 3), q_dot)
        Ge = np.einsum("akc,k->ac", b["Ge"].m0.reshape(NF, NF, 3), q_dot)
        t = (
            found.mass * a
            + np.cross(alpha, c)
            + np.cross(w, np.cross(w, c))
            + Ct.T @ q_ddot
            + 2 * np.cross(w, Ct.T @ q_dot)
        )
        r = np.cross(c, a) + J @ alpha + Cr.T @ q_ddot + Gr @ w + np.cross(w, J @ w)
        e = b["Me"].m0 @ q_ddot + Ct @ a + Cr @ alpha + Ge @ w + taylor(b["Oe"], q) @ W
        return np.concatenate([t, r, e])

    def ours(q):
        M = mass_matrix_by_nodal_sum(cloud, q)
        return M @ np.concatenate([a, alpha, q_ddot]) - velocity_forces_by_nodal_sum(cloud, q, q_dot, w)

    same(ours(np.zeros(NF)), theirs(np.zeros(NF)), "at rest", 1e-11)
    h = 1e-3  # ours is of second order in q: central differences are exact
    slopes = [(f(h * direction) - f(-h * direction)) / (2 * h) for f in (ours, theirs)]
    same(*slopes, "first order", 1e-9)


@pytest.mark.parametrize("order", ["xy-yz-xz", "xy-xz-yz"])
def test_the_order_of_J_is_found_and_the_other_one_refused(tmp_path, order):
    _, modal = body(geo=False)
    export_body(modal, tmp_path / "b.SID_FEM", inertia_order=order)
    found, notes = import_body(tmp_path / "b.SID_FEM")
    assert order.replace("-", " ") in notes[0]
    same(modal.integrals.inertia, found.integrals.inertia, "J")
    other = {"xy-yz-xz": "xy-xz-yz", "xy-xz-yz": "xy-yz-xz"}[order]
    with pytest.raises(FlexmbsError, match="Oe differs"):
        import_body(tmp_path / "b.SID_FEM", inertia_order=other)


def test_ExtPtfm_and_Simscape_keep_frequencies_and_mass(tmp_path):
    """Free vibration, mass and inertia come back; what is lost is said."""
    from scipy.linalg import eigh

    from flexmbs.reduce import reduce

    modal = reduce(
        {"mesh": {"shape": "box", "size": [0.5, 0.06, 0.04], "divisions": [6, 1, 1], "element": "hex20"}},
        interfaces=["x_min", "x_max"], modes=4, material="steel", frame="tangent:x_min",
    )  # fmt: skip
    export_body(modal, tmp_path / "b.simscape.mat")
    found, notes = import_body(tmp_path / "b.simscape.mat")
    assert any("not known" in note for note in notes) and "not known" in found.quality["warnings"][0]
    i, j = modal.integrals, found.integrals
    same(i.mass, j.mass, "mass", 1e-9)
    same(i.inertia, j.inertia, "inertia", 1e-9)
    K = np.zeros((6 + i.nf, 6 + i.nf))
    K[6:, 6:] = i.K_ff
    wanted = eigh(K, mass_matrix(i, np.zeros(i.nf)), eigvals_only=True)[6:]
    same(np.sqrt(wanted), np.sqrt(np.diag(j.K_ff)), "frequencies", 1e-7)
    place = [item.position for item in found.interfaces.values()]
    same(np.array([item.position for item in modal.interfaces.values()]), np.array(place), "frames")


OPENFAST_TITLES = ("MASS", "STIFFNESS", "DAMPING", "LOADING", "WEIGHT CONSTANT", "WEIGHT STIFFNESS")


def as_openfast_reads(path, version=5):
    """Its reader in words of its manual: what `!dimension:` says counts from the header on; behind a title
    come rows, up to version 4 after a line that is skipped; loads, which only version 4 has, are as many
    lines as the header says, with a time in front."""
    lines, n, dt, T, found = path.read_text().splitlines(), -1, -1.0, -1.0, {}
    k, skipped = 0, int(version == 4)
    while k < len(lines):
        line = lines[k].upper()
        title = next((t for t in OPENFAST_TITLES if line.startswith(f"!{t}")), None)
        k += 1
        if line.startswith("!DIMENSION"):
            n = int(line[11:])
        elif line.startswith("!TIME INCREMENT IN SIMULATION:"):
            dt = float(line[30:])
        elif line.startswith("!TOTAL SIMULATION TIME IN FILE:"):
            T = float(line[31:])
        elif title:
            assert (title == "LOADING") <= (version == 4) and title.startswith("WEIGHT") <= (version == 5)
            count = {"LOADING": round(T / dt) + 1, "WEIGHT CONSTANT": 1}.get(title, n)
            rows = [list(map(float, row.split())) for row in lines[k + skipped : k + skipped + count]]
            found[title], k = np.array(rows), k + skipped + count
    assert lines[0].startswith("!") and (version == 5 or "FLEX 5 FORMAT" in lines[1].upper())
    return n, found


@pytest.mark.parametrize("version", [5, 4])
def test_OpenFAST_reads_a_supported_pile(tmp_path, version):
    """The stiffness of a cantilever at its tip; loads are zero at all times."""
    L, outer, inner, E, nu = 20.0, 5.0, 4.88, 210e9, 0.3
    mesh = {
        "shape": "beam", "nodes": [[0, 0, z] for z in (-20, -15, -10, -5, 0)], "y_axis": [0, 1, 0],
        "section": {"tube": [outer, inner]},
    }  # fmt: skip
    recipe = {"mesh": mesh, "interfaces": {"top": {"set": "z_max"}}, "fix": {"z_min": "x y z rx ry rz"}}
    modal = reduce(recipe, material={"young": E, "poisson": nu, "density": 7850.0}, modes=4)
    export_body(modal, tmp_path / "b.extptfm", openfast=version)
    n, found = as_openfast_reads(tmp_path / "b.extptfm", version)
    assert n == 10 and all(found[name].shape == (10, 10) for name in ("MASS", "STIFFNESS", "DAMPING"))
    if version == 4:
        assert found["LOADING"].shape == (2, 11) and not found["LOADING"][:, 1:].any()
    else:
        assert found["WEIGHT CONSTANT"].shape == (1, 10) and found["WEIGHT STIFFNESS"].shape == (10, 10)
        assert not found["WEIGHT CONSTANT"].any() and not found["WEIGHT STIFFNESS"].any()
    np.testing.assert_allclose(
        import_body(tmp_path / "b.extptfm")[0].integrals.m_ff, found["MASS"], rtol=1e-12
    )
    A, I2 = np.pi / 4 * (outer**2 - inner**2), np.pi / 64 * (outer**4 - inner**4)
    EI, GJ = E * I2, E / (2 + 2 * nu) * 2 * I2
    K = np.diag([12 * EI / L**3, 12 * EI / L**3, E * A / L, 4 * EI / L, 4 * EI / L, GJ / L])
    K[0, 4] = K[4, 0] = -6 * EI / L**2
    K[1, 3] = K[3, 1] = 6 * EI / L**2
    np.testing.assert_allclose(found["STIFFNESS"][:6, :6], K, rtol=1e-9, atol=1e-9 * K.max())
    same(found["STIFFNESS"][:6, 6:], np.zeros((6, 4)), "modes with the top held", 1e-6)
    same(found["MASS"][6:, 6:], np.eye(4), "their mass", 1e-9)
    assert import_body(tmp_path / "b.extptfm")[0].held


@pytest.mark.parametrize("file", ["b.simscape.mat", "b.extptfm"])
def test_one_end_and_a_mass_centre_anywhere(tmp_path, file):
    """The first moments are those of the body, not their opposite; what one end resists is rounding."""
    modal = reduced_beam(interfaces=["x_min"], modes=3)
    assert np.abs(modal.integrals.S_O).min() > 0.1
    export_body(modal, tmp_path / file)
    found, _ = import_body(tmp_path / file)
    place = modal.interfaces["x_min"].position - found.interfaces["frame1"].position
    same(modal.integrals.com, found.integrals.com + place, "mass centre", 1e-9)
    same(modal.integrals.mass, found.integrals.mass, "mass", 1e-9)
    free = frequencies(modal)
    same(free, frequencies(found), "frequencies", 1e-7)


def test_a_body_of_solids_comes_back_from_MBDyn_with_its_invariants(tmp_path):
    """Lumped masses do not give the masses of modes of group 9: some motion would have a negative one."""
    modal = reduced_beam(interfaces=["x_min", "x_max"], modes=3)
    export_body(modal, tmp_path / "b.fem")
    with pytest.raises(FlexmbsError, match="masses of modes differ by .*; .*write the invariants into it"):
        import_body(tmp_path / "b.fem")
    export_body(modal, tmp_path / "b.fem", invariants=True, overwrite=True)
    found, _ = import_body(tmp_path / "b.fem")
    found.save(tmp_path / "b.modal.h5")  # which looks at it
    same(modal.integrals.m_ff, found.integrals.m_ff, "m_ff", 1e-9)
    same(modal.integrals.com, found.integrals.com, "mass centre", 1e-9)
    same(frequencies(modal), frequencies(found), "frequencies", 1e-9)


def reduced_beam(interfaces, modes):
    """A bar whose mass centre lies off all axes."""
    from flexmbs.reduce import reduce

    shape = {"shape": "box", "size": [0.5, 0.06, 0.04], "corner": [0.1, 0.2, 0.3], "divisions": [12, 2, 2]}
    return reduce(
        {"mesh": shape | {"element": "hex8"}}, interfaces=interfaces, modes=modes, material="steel",
        frame="tangent:x_min",
    )  # fmt: skip


def frequencies(modal):
    """Of the free body, rad/s."""
    from scipy.linalg import eigh

    i = modal.integrals
    K = np.zeros((6 + i.nf, 6 + i.nf))
    K[6:, 6:] = i.K_ff
    return np.sqrt(eigh(K, mass_matrix(i, np.zeros(i.nf)), eigvals_only=True)[6:])


def damaged(text, kind):
    lines = text.splitlines()
    if kind == "a number":
        k = next(k for k, line in enumerate(lines) if "D+" in line or line[:1].isdigit() and "e" in line)
        lines[k] = lines[k][:-3] + "x+y"
    elif kind == "cut":
        lines = lines[: len(lines) // 2]
    else:
        lines = [line for line in lines if "RECORD GROUP 9" not in line and "Me" not in line]
    return "\n".join(lines)


@pytest.mark.parametrize("kind", ["a number", "cut", "a block"])
@pytest.mark.parametrize("file", ["b.fem", "b.SID_FEM"])
def test_damage_is_named_with_its_place(tmp_path, file, kind):
    _, modal = body(geo=True)
    export_body(modal, tmp_path / file, **({"invariants": True} if file == "b.fem" else {}))
    (tmp_path / file).write_text(damaged((tmp_path / file).read_text(), kind))
    with pytest.raises(FlexmbsError) as caught:
        import_body(tmp_path / file)
    assert file in str(caught.value.diagnostics[0])


def test_unknown_formats_options_and_existing_files(tmp_path):
    _, modal = body(geo=False)
    with pytest.raises(FlexmbsError, match=r"\.fem"):
        export_body(modal, tmp_path / "b.mnf")
    with pytest.raises(FlexmbsError, match="invariants"):
        export_body(modal, tmp_path / "b.sid", invariants=True)
    export_body(modal, tmp_path / "b.sid")
    with pytest.raises(FlexmbsError, match="exists"):
        export_body(modal, tmp_path / "b.sid")
    export_body(modal, tmp_path / "b.sid", overwrite=True)
    with pytest.raises(FlexmbsError, match="--invariants"):  # its mass is not that of a mesh
        export_body(modal, tmp_path / "b.fem")


CASE = """
format_version = 1
gravity = [0, 0, -9.81]
[bodies.rod]
type = "flexible"
modal = "{file}"
frames = {{ {frames} }}
[joints.hub]
type = "revolute"
from = "ground"
to = "rod.{hub}"
axis = [0, 1, 0]
initial = {{ position = 0.4, velocity = 30 }}
[sensors.tip]
type = "position"
on = "rod.{tip}"
[analysis]
type = "dynamics"
t_end = 0.02
method = "generalized-alpha"
step = 1e-4
band = "all"
"""


@pytest.mark.parametrize("file", ["b.SID_FEM", "b.fem", "b.mbsim.h5"])
def test_a_body_that_was_read_swings_as_the_original(tmp_path, file):
    """Fast turning, joint and sensor on what the file names; stiffening where the format has it."""
    from flexmbs.case import Case, run
    from flexmbs.cli.main import main
    from flexmbs.reduce import reduce

    recipe = {"mesh": {"shape": "box", "size": [0.5, 0.06, 0.04], "divisions": [6, 1, 1], "element": "hex20"}}
    stiffening, options = file != "b.mbsim.h5", ["--invariants"] if file == "b.fem" else []
    modal = reduce(
        recipe, interfaces=["x_min", "x_max"], modes=3, material="steel", geometric_stiffness=stiffening
    )
    modal.save(tmp_path / "a.modal.h5")
    assert main(["export", str(tmp_path / "a.modal.h5"), "-o", str(tmp_path / file), *options]) == 0
    assert main(["import", str(tmp_path / file), "-o", str(tmp_path / "b.modal.h5")]) == 0
    last = int(modal.mesh.node_number.max())
    places = {
        "b.SID_FEM": ("node1", "node2", ""),
        "b.fem": ("x_min", "x_max", ""),
        "b.mbsim.h5": ("p", "q", f"p = {{ node = {last + 1} }}, q = {{ node = {last + 2} }}"),
    }[file]
    found = []
    for name, (hub, tip, frames) in (("a", ("x_min", "x_max", "")), ("b", places)):
        path = tmp_path / f"{name}.toml"
        path.write_text(CASE.format(file=f"{name}.modal.h5", hub=hub, tip=tip, frames=frames))
        found.append(np.asarray(run(Case.load(path), tmp_path / f"{name}.h5").sensors["tip"]))
    assert np.abs(found[0][-1] - found[0][0]).max() > 0.1
    np.testing.assert_allclose(*found, rtol=0.0, atol=1e-8)  # 17 digits, and the tolerance of a step


def test_shells_go_to_mbdyn_by_their_invariants(tmp_path):
    """Their inertia is none of masses at nodes, and they have no lumped mass of solids."""
    mesh = {"shape": "shell", "size": [0.3, 0.2], "divisions": [3, 2], "thickness": 0.002}
    recipe = {"mesh": mesh, "material": "steel", "modes": 2, "interfaces": {"end": "x_min"}}
    fm.reduce(recipe).save(tmp_path / "p.modal.h5")
    with pytest.raises(UsageError, match="write it with --invariants"):
        export_body(tmp_path / "p.modal.h5", tmp_path / "p.fem")
    export_body(tmp_path / "p.modal.h5", tmp_path / "p.fem", invariants=True)
    assert (tmp_path / "p.fem").exists()
