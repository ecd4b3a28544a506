"""What has no such name says which there are, as an error of ours."""

import copy
import pickle

import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.runner import execute
from flexmbs.errors import FlexmbsError, InputError, Known, Told, UnknownNameError
from tests.test_band import BAR

LINK = {"type": "rigid", "mass": 1, "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}}
CASE = {
    "bodies": {"crank": LINK},
    "joints": {"main": {"type": "revolute", "from": "ground", "to": "crank"}},
    "analysis": {"t_end": 0.0},
}


@pytest.mark.parametrize("group, wrong, right", [("bodies", "crnk", "crank"), ("joints", "mian", "main")])
def test_motions_name_their_parts(group, wrong, right):
    system = Case.from_dict(CASE).system()
    motion = system.forward_dynamics(system.initial_state())
    assert getattr(motion, group)[right] is motion[f"{group}.{right}"]
    with pytest.raises(FlexmbsError, match=f'did you mean "{right}"'):
        getattr(motion, group)[wrong]
    with pytest.raises(FlexmbsError, match="there are none"):
        motion.drives["motor"]


def test_results_name_their_parts(tmp_path):
    result = execute(Case.from_dict(CASE), tmp_path / "a.h5").result
    for wrong in (lambda: result["bodys"], lambda: result.bodys, lambda: result.attributes_of("bodys")):
        with pytest.raises(FlexmbsError, match='a.h5.*there is no "bodys"; did you mean "bodies"'):
            wrong()
    with pytest.raises(FlexmbsError, match='did you mean "position"'):
        result.bodies["crank"].positoin  # noqa: B018
    assert "bodys" not in result and not hasattr(result, "bodys") and result.get("bodys") is None


def test_unknown_names_are_errors_of_mappings_too():
    """So that `in`, `get` and `hasattr` work."""
    found = Known("motion.bodies", {"a": 1})
    assert found.get("b", 3) == 3 and "b" not in found and found["a"] == 1
    with pytest.raises(KeyError, match="there is no"):
        found["b"]
    assert issubclass(UnknownNameError, AttributeError)


def test_a_faulty_value_of_many_bodies_is_one_message_with_a_count():
    """The same finding of each; another one stays beside it."""
    bodies = {f"link{k}": LINK | {"mass": -2.0} for k in range(50)} | {"other": LINK | {"mass": "1 s"}}
    with pytest.raises(InputError) as caught:
        Case.from_dict({"bodies": bodies}).system()
    first, other = caught.value.diagnostics
    assert "bodies.link0" in str(first) and "the same in 49 more: bodies.link1, bodies.link2, ..." in str(
        first
    )
    assert "bodies.other" in str(other)
    with pytest.raises(InputError) as caught:
        Case.from_dict({"bodies": {name: bodies[name] for name in ("link0", "link1", "link2")}}).system()
    assert len(caught.value.diagnostics) == 3


def test_a_warning_of_many_bodies_is_one(tmp_path):
    fm.reduce(BAR | {"modes": 2}).save(tmp_path / "bar.modal.h5")
    bars = {f"bar{k}": {"type": "flexible", "modal": "bar.modal.h5"} for k in range(6)}
    case = Case.from_dict({"bodies": bars, "analysis": {"t_end": 0.1}}, folder=tmp_path)
    undamped = [item for item in check(case).warnings if item.code == "body.undamped"]
    assert len(undamped) == 1 and "the same in 5 more: bodies.bar1" in str(undamped[0])


@pytest.mark.parametrize("wrong", [
    lambda modal, case: modal.interfaces["rot"],
    lambda modal, case: modal.quality["eigen_residua"],
    lambda modal, case: modal.mesh.node_sets["strat"],
    lambda modal, case: modal.frequncy_hz,
    lambda modal, case: modal.interfaces["root"].Phii,
    lambda modal, case: case.parameters["sped"],
    lambda modal, case: case.modell(),
    lambda modal, case: case.model().bodies["crnk"],
    lambda modal, case: case.system().joints["mian"],
    lambda modal, case: case.system().foward_dynamics,
    lambda modal, case: case.system().initial_state().poss,
    lambda modal, case: case.system().forward_dynamics(case.system().initial_state()).jonts,
    lambda modal, case: fm.Modaldata,
])  # fmt: skip
def test_everything_that_is_touched_in_python_names_what_there_is(wrong):
    modal = fm.reduce(BAR | {"modes": 1, "frame": "tangent:root"})
    case = Case.from_dict(CASE | {"parameters": {"speed": 1.0}})
    with pytest.raises(FlexmbsError, match="there is no .*did you mean"):
        wrong(modal, case)


def test_a_property_that_fails_says_why_itself():
    class Part(Told):
        @property
        def broken(self):
            return {}["key"].missing

        @property
        def other(self):
            return None.missing

    with pytest.raises(KeyError, match="key"):
        Part().broken  # noqa: B018
    with pytest.raises(AttributeError, match="NoneType"):
        Part().other  # noqa: B018
    assert not hasattr(Part(), "_private") and copy.copy(Part()) is not None


def test_what_has_names_is_copied_and_pickled():
    modal = fm.reduce(BAR | {"modes": 1, "frame": "tangent:root"})
    for twin in (copy.deepcopy(modal), pickle.loads(pickle.dumps(modal))):
        assert list(twin.interfaces) == ["root", "tip"] and twin.nf == modal.nf
        with pytest.raises(FlexmbsError, match="did you mean"):
            twin.interfaces["rot"]
