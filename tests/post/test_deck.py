"""Back to finite elements: the loads balance, and CalculiX finds the recovered stresses."""

import json
import re
import subprocess

import numpy as np
import pytest

from flexmbs import hdf5
from flexmbs.cli.main import main
from flexmbs.post.export import export
from flexmbs.post.export.deck import supports
from flexmbs.post.export.loads import BodyState, body_loads, fe_model, inertia_forces
from flexmbs.post.record import Record
from flexmbs.post.stress import von_mises
from flexmbs.reduce import reduce
from flexmbs.results.layout import (
    COMMON_AXES,
    FORMAT,
    FORMAT_VERSION,
    Axis,
    Field,
    Layout,
    write_axes,
    write_items,
)
from flexmbs.results.stacks import stacked, write_parts, write_stack

SIZE = [0.4, 0.05, 0.03]


@pytest.fixture(scope="module", params=["rbe3", "rbe2"])
def bar(request):
    """A bar with an interface at each end, reduced with its constraint modes."""
    tie = request.param
    recipe = {
        "mesh": {"shape": "box", "size": SIZE, "divisions": [20, 4, 3], "element": "hex20"},
        "interfaces": {"left": {"set": "x_min", "tie": tie}, "right": {"set": "x_max", "tie": tie}},
        "material": "steel",
        "modes": 6,
    }
    return reduce(recipe)


def write_state(path, modal, values, joints, gravity=(0.0, 0.0, 0.0)):
    """Result of one sample of the body `bar`, with the joint reactions and motion given."""
    nf = modal.nf
    names = {"position": 3, "acceleration": 3, "angular_velocity": 3, "angular_acceleration": 3}
    rows = {f"bodies/bar/{name}": (("xyz",), values.get(name, np.zeros(3))) for name in names}
    rows["bodies/bar/quaternion"] = (("wxyz",), np.array([1.0, 0, 0, 0]))
    for name in ("q", "q_dot", "q_ddot"):
        rows[f"bodies/bar/{name}"] = (("bodies/bar/mode",), values.get(name, np.zeros(nf)))
    for name, (_, force, moment) in joints.items():
        rows[f"joints/{name}/reaction_force"] = (("xyz",), force)
        rows[f"joints/{name}/reaction_moment"] = (("xyz",), moment)
    axes = (*COMMON_AXES, Axis("bodies/bar/mode", nf))
    layout = Layout(axes, tuple(Field(name, item[0], "1") for name, item in rows.items()))
    case = {
        "gravity": list(gravity),
        "bodies": {"bar": {"type": "flexible", "modal": "bar.modal.h5"}},
        "joints": {name: {"type": "fixed", "from": "ground", "to": item[0]} for name, item in joints.items()},
    }

    def fill(root):
        stacks = stacked(layout)
        scales = write_axes(root, stacks.axes) | write_parts(root, stacks)
        scales["time"] = hdf5.scale(root, "time", np.zeros(1), "s")
        values = {path: np.asarray(item[1])[None] for path, item in rows.items()}
        for stack in stacks.stacks:
            write_stack(root, stack, stack.join(values), scales)
        write_items(root, {"provenance": {"case_resolved": json.dumps(case)}})
        hdf5.attributes(root, status="complete", message="", t_reached=0.0)

    hdf5.build_file(path, fill, format=FORMAT, version=FORMAT_VERSION, overwrite=True)
    modal.save(path.parent / "bar.modal.h5")
    return path


def pulled(folder, modal):
    """The bar at rest under a force and a moment at its right end, held at its left."""
    F, M = np.array([2e4, 500.0, -300.0]), np.array([20.0, 40.0, -60.0])
    left, right = (modal.interfaces[name] for name in ("left", "right"))
    back = -M - np.cross(right.position - left.position, F)
    load = right.Phi.T @ F + right.Psi.T @ M - left.Phi.T @ F + left.Psi.T @ back
    q = np.linalg.solve(modal.integrals.K_ff, load)
    joints = {"a": ("bar.left", -F, back), "b": ("bar.right", F, M)}
    return write_state(folder / "bar.h5", modal, {"q": q}, joints), q


def test_deck_balances(bar, tmp_path):
    path, _ = pulled(tmp_path, bar)
    done = export(path, tmp_path / "bar.inp")
    assert done["levers"] < 1e-9 and {item["of"] for item in done["wrenches"]} == {"joints.a", "joints.b"}
    text = (tmp_path / "bar.inp").read_text()
    rigid = bar.interfaces["left"].type == "rbe2"
    assert text.count("*RIGID BODY") == (2 if rigid else 0) and "TYPE=C3D20" in text
    boundary = text.split("*BOUNDARY\n")[1].split("*STEP")[0].strip().splitlines()
    assert len(boundary) == 6


def test_supports_hold_every_rigid_motion(bar):
    from flexmbs.modal.ties import rigid_field

    chosen = supports(bar.mesh.points, np.ones(bar.mesh.n_nodes, dtype=bool), "bar")
    rows = rigid_field(bar.mesh.points, 3).reshape(-1, 3, 6)
    held = np.array([rows[node, direction] for node, direction in chosen])
    assert np.linalg.cond(held) < 1e3


def test_inertia_of_a_spinning_body_is_that_of_its_mass(bar, tmp_path):
    """Resultants for rigid motion: -m (a - g) at the mass centre, -(J alpha + w x J w) about it."""
    w, alpha, a, g = (np.random.default_rng(2).normal(size=(4, 3)) * [[30], [400], [50], [5]])[:]
    values = {"acceleration": a, "angular_velocity": w, "angular_acceleration": alpha}
    path = write_state(tmp_path / "bar.h5", bar, values, {}, gravity=g)
    record = Record.load(path)
    forces = inertia_forces(record, bar, fe_model(bar), BodyState(record, "bar", 0))
    mass, S_O, J = bar.integrals.mass, bar.integrals.S_O, bar.integrals.inertia
    np.testing.assert_allclose(
        forces.sum(axis=0), -mass * (a - g) - np.cross(alpha, S_O) - np.cross(w, np.cross(w, S_O)), rtol=1e-9
    )
    moment = np.cross(bar.mesh.points, forces).sum(axis=0)
    expected = -np.cross(S_O, a - g) - J @ alpha - np.cross(w, J @ w)
    np.testing.assert_allclose(moment, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_loads_of_the_from_side_are_turned_round(bar, tmp_path):
    path, _ = pulled(tmp_path, bar)
    found = body_loads(Record.load(path), "bar", {"bar": bar}, 0)
    by_frame = {item.frame: item for item in found.wrenches}
    np.testing.assert_allclose(by_frame["left"].force, -by_frame["right"].force)


def test_what_a_deck_cannot_hold_is_named(result_path, tmp_path, capsys):
    assert main(["export", str(result_path), "-o", str(tmp_path / "a.inp"), "--body", "crank"]) == 3
    assert "flexible bodies: rod" in capsys.readouterr().err


def field_of(path, name, width):
    """Last block of a nodal field of a .frd file, node number -> values."""
    blocks = path.read_text().split(f" -4  {name}")
    rows = re.findall(
        r"^ -1\s*(\d+?)((?:[ -]\d\.\d{5}E[+-]\d\d)+)$", blocks[-1].split(" -3")[0], re.MULTILINE
    )
    return {int(n): [float(text[k : k + 12]) for k in range(0, 12 * width, 12)] for n, text in rows}


@pytest.mark.slow
@pytest.mark.needs("ccx")
def test_calculix_finds_the_recovered_stresses(bar, tmp_path):
    path, q = pulled(tmp_path, bar)
    export(path, tmp_path / "bar.inp")
    done = subprocess.run(
        ["ccx", "bar"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert "*ERROR" not in done.stdout, done.stdout[-2000:]
    stress = field_of(tmp_path / "bar.frd", "STRESS", 6)
    numbers = bar.mesh.node_number
    found = np.array([stress[int(n)] for n in numbers])
    recovered = np.tensordot(q, bar.stress, axes=1)
    inner = np.abs(bar.mesh.points[:, 0]) < 0.5 * SIZE[0] - 2.0 * SIZE[1]  # two widths from the interfaces
    error = np.abs(von_mises(found) - von_mises(recovered))[inner].max()
    assert error < 0.01 * von_mises(recovered)[inner].max()
    text = (tmp_path / "bar.inp").read_text()
    applied = {}
    for row in text.split("*CLOAD\n")[1].split("*NODE FILE")[0].strip().splitlines():
        number, direction, value = row.split(",")
        applied[int(number), int(direction)] = float(value)
    forces = field_of(tmp_path / "bar.frd", "FORC", 3)
    for row in text.split("*BOUNDARY\n")[1].split("*STEP")[0].strip().splitlines():
        number, direction, _ = map(int, row.split(","))
        reaction = forces[number][direction - 1] - applied.get((number, direction), 0.0)
        assert abs(reaction) < 1e-3 * 2e4  # supports carry nothing but the rounding of six digits
