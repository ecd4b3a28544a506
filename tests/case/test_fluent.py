"""`fm.Model()`: the tables, systems and messages of files; independent coordinates; leads without end."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.fluent import Model
from flexmbs.case.schema import CaseFile
from flexmbs.errors import InputError, SolverError, UnknownNameError, UsageError
from flexmbs.input.toml_text import toml_text
from flexmbs.model.couplings.base import COUPLINGS
from flexmbs.model.forces.base import FORCES
from flexmbs.model.joints.base import JOINTS
from flexmbs.resources import resource
from flexmbs.toml_file import parse_toml, read_toml


def crank():
    """A slider-crank in Python."""
    model = fm.Model("slider-crank", gravity=[0, -9.81, 0])
    speed = model.parameter("speed", "10 rad/s")
    inertia = {"ixx": 1e-3, "iyy": 0.01, "izz": 0.01}
    arm = model.body("crank", mass=1, com=[0.1, 0, 0], inertia=inertia)
    rod = model.body("rod", mass=2, com=np.array([0.25, 0, 0]), inertia=inertia)
    slider = model.body("slider", mass="3 kg", inertia=inertia)
    start = {"position": 0.3, "velocity": speed, "hold": True}
    model.revolute("main", model.ground.frame("bearing", pos=[0, 0, 0]), arm, initial=start)
    model.revolute("big", arm.frame("pin", pos=[0.2, 0, 0]), rod).damper(0.01)
    model.revolute("small", rod.frame("pin", pos=[0.5, 0, 0]), slider)
    guide = model.prismatic("guide", "ground", slider, axis="x", initial={"position": 0.68})
    guide.spring(stiffness=100, free=0.5)
    model.point("gas", slider, force=["=-10*guide.velocity", 0, 0], in_=model.ground)
    model.sensor("x", "position", on=slider)
    model.analysis(t_end=0.1).output(every=0.05)
    return model


def test_a_model_is_the_case_of_its_file(tmp_path):
    model = crank()
    path = model.save(tmp_path / "case.toml")
    assert read_toml(path).data == model.data
    one, other = model.case(), Case.load(path)
    assert one.spec == other.spec and one.parameters == {"speed": 10.0}
    systems = [case.system() for case in (one, other)]
    states = [system.initial_state() for system in systems]
    np.testing.assert_array_equal(states[0].pos, states[1].pos)
    for a, b in zip(
        *(s.explain(x).bodies.values() for s, x in zip(systems, states, strict=True)), strict=True
    ):
        np.testing.assert_array_equal(a.M_star, b.M_star)
    with pytest.raises(InputError, match="exists already"):
        model.save(path)
    result = model.run()
    assert result.status == "complete" and len(result["time"]) == 3


def test_modal_data_are_taken_as_they_are_and_saved_beside(tmp_path):
    shape = {"shape": "beam", "length": 1.0, "divisions": 4, "section": {"rectangle": [0.01, 0.02]}}
    sets = {"root": {"set": "x_min"}, "tip": {"set": "x_max"}}
    modal = fm.reduce({"mesh": shape, "interfaces": sets}, material="steel", modes=2)
    model = fm.Model(folder=tmp_path)
    arm = model.body("arm", modal, damping={"type": "modal", "ratio": 0.02})
    model.revolute("hub", "ground", arm.frame("root"), axis="z")
    system = model.system()
    assert system.integrals("arm").nf == modal.nf
    changed = model.case().with_values(gravity=[0, 0, -1]).system()
    assert changed.integrals("arm").nf == modal.nf
    model.save(tmp_path / "a.toml")
    again = Case.load(tmp_path / "a.toml").system()
    np.testing.assert_array_equal(again.integrals("arm").S_f, system.integrals("arm").S_f)


def test_messages_are_those_of_files():
    model = fm.Model()
    model.body("arm", mass=-1)
    model.joint("revolut", "hub", "ground", "arm")
    with pytest.raises(InputError) as found:
        model.case()
    told = [item.code for item in found.value.diagnostics]
    try:
        Case.from_dict(model.data)
    except InputError as error:
        assert [item.code for item in error.diagnostics] == told
    assert any("revolut" in str(item) for item in found.value.diagnostics)
    with pytest.raises(UsageError, match="already"):
        model.body("arm")
    with pytest.raises(UnknownNameError, match='did you mean "revolute"'):
        model.revolut("hub", "ground", "arm")


@pytest.mark.parametrize("registry", [JOINTS, COUPLINGS, FORCES])
def test_every_type_has_a_method_that_editors_know(registry):
    for name in registry.names():
        assert callable(getattr(Model, name)), name


def test_what_editors_complete_are_the_keys_of_the_file():
    from flexmbs.case import fluent_keys
    from flexmbs.case.schema.analysis import Analysis, OutputTable
    from flexmbs.case.schema.joints import JointTable

    for keys, table in (
        (fluent_keys.AnalysisKeys, Analysis),
        (fluent_keys.OutputKeys, OutputTable),
        (fluent_keys.JointKeys, JointTable),
    ):
        wanted = {item.alias or name for name, item in table.model_fields.items()}
        assert set(keys.__annotations__) == wanted - {"from", "to"}, table
    assert {"bodies", "joints"} <= set(CaseFile.model_fields)


@pytest.mark.parametrize("path", sorted(resource("cases").glob("*.toml")), ids=lambda p: p.stem)
def test_tables_read_back_as_they_were_written(path):
    data = read_toml(path).data
    assert parse_toml(toml_text(data)).data == data


def test_awkward_texts_and_numbers_are_written():
    data = {
        "a b": 'quote " and \\ and \n',
        "é": [1, 2.5, True, float("inf")],
        "t": {"x": {}, "y": 1},
        "e": {},
    }
    assert parse_toml(toml_text(data)).data == data


def test_a_lead_without_end_is_a_prismatic_pair():
    """The same motion and the same reactions, in the tree and as a cut."""
    found = []
    for kind, keys in (("helical", {"lead": np.inf}), ("prismatic", {})):
        model = crank()
        table = model.data["joints"]["guide"]
        table |= {"type": kind, **keys}
        motion = model.system().forward_dynamics(model.system().initial_state())
        found.append((motion["joints.guide.reaction_force"], motion["joints.main.acceleration"]))
        table["cut"] = True
        cut = model.system()
        motion = cut.forward_dynamics(cut.initial_state())
        np.testing.assert_allclose(motion["joints.guide.reaction_force"], found[-1][0], atol=1e-9)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert JOINTS["helical"](name="j", from_frame="ground", to_frame="a", lead=np.inf).coordinates == [
        "travel"
    ]


@pytest.mark.parametrize("name", ["main", "main.angle", "guide.travel", "big"])
def test_independent_coordinates_are_those_that_are_asked_for_F29(name):
    model = crank().analysis(formulation="minimal", independent=[name])
    found = model.case().explain()
    joint = name.partition(".")[0]
    assert [text.partition(".")[0] for text in found.minimal.symbol("s").rows] == [joint]
    reference = crank().case().explain()
    np.testing.assert_allclose(found["a_hat", "slider"], reference["a_hat", "slider"], rtol=1e-8, atol=1e-8)
    result = model.run()
    expected = crank().run()
    np.testing.assert_allclose(result["sensors/x"], expected["sensors/x"], rtol=0, atol=1e-6)


def test_coordinates_that_cannot_be_independent_are_refused_F29():
    with pytest.raises(SolverError, match='"guide.travel" cannot|"main" cannot'):
        crank().analysis(formulation="minimal", independent=["main", "guide.travel"]).case().explain()
    with pytest.raises(InputError, match="did you mean"):
        crank().analysis(independent=["mian"]).case().system()


def test_cuts_keep_the_order_of_the_file():
    system = Case.load(resource("cases", "andrews-squeezer.toml")).system()
    order = list(system.model.joints)
    cuts = [joint.name for joint in system.topology.cuts]
    assert len(cuts) > 1 and cuts == sorted(cuts, key=order.index)
    rows = [
        text.partition(".")[2].partition(" ")[0]
        for text in system.explain(system.initial_state()).loops.symbol("lam").rows
    ]
    assert list(dict.fromkeys(rows)) == cuts
