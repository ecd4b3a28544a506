"""A force and a coupling are one file each: their class and its keys are all that the program has of them."""

import sys

import pytest

from flexmbs.case import Case
from flexmbs.case.schema import CaseFile
from flexmbs.errors import InputError
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.forces.base import FORCES
from flexmbs.model.model import Model

MODULE = '''
from dataclasses import dataclass

from flexmbs.input.laws import ForceLaw
from flexmbs.input.registered import CoordinateName
from flexmbs.input.values import Plain, Table
from flexmbs.model.couplings.base import Coupling, Law, Term, coordinate_number, coupling
from flexmbs.model.forces.base import Number, PairForce, PairKeys, force
from flexmbs.model.laws.tables import SPAN


@force("rope")
@dataclass(kw_only=True)
class Rope(PairForce):
    class Keys(PairKeys):
        """A tension between two points."""

        tension: ForceLaw

    tension: Number

    def laws(self, build):
        ends = {"p": build.marker(self.from_frame), "q": build.marker(self.to_frame)}
        build.row(SPAN, (0.0, 0.0, 0.0, self.tension), **ends)


@coupling("belt")
@dataclass(kw_only=True)
class Belt(Coupling):
    class Keys(Table):
        """One coordinate turns `ratio` times as fast as another."""

        driven: CoordinateName
        driver: CoordinateName
        ratio: Plain

    driven: str
    driver: str
    ratio: float

    def law(self, model):
        driven, driver = (coordinate_number(model, path) for path in (self.driven, self.driver))
        return Law(terms=(Term(1.0, *driven), Term(-self.ratio, *driver)))
'''

BODY = {
    "type": "rigid",
    "mass": 2.0,
    "inertia": {"ixx": 0.5, "iyy": 0.5, "izz": 0.5},
    "frames": {"end": {"pos": [0.3, 0.1, 0.0]}},
}
ROPE = {"type": "rope", "from": "ground.hook", "to": "a.end", "tension": "=20 + joints.b.velocity"}
BELT = {"type": "belt", "driven": "b", "driver": "a.angle", "ratio": 2}


def case(force, coupling):
    joint = {"type": "revolute", "from": "ground", "to": "a", "initial": {"velocity": 1.5}}
    return Case.from_dict(
        {
            "ground": {"frames": {"hook": {"pos": [1.0, 1.0, 0.0]}}},
            "bodies": {"a": BODY, "b": BODY},
            "joints": {"a": joint, "b": joint | {"to": "b", "initial": {"velocity": 3.0}}},
            "forces": {"f": force},
            "couplings": {"c": coupling},
        }
    )


@pytest.fixture
def registered(tmp_path, monkeypatch):
    (tmp_path / "rope_and_belt.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    __import__("rope_and_belt")
    yield
    del sys.modules["rope_and_belt"], FORCES._classes["rope"], COUPLINGS._classes["belt"]


def test_a_new_force_and_coupling_move_a_case(registered):
    spring = {"type": "spring_damper"} | {k: ROPE[k] for k in ("from", "to")} | {"preload": ROPE["tension"]}
    linear = {"type": "linear", "terms": {"b": 1, "a": -2}}
    found, expected = (case(*laws).system() for laws in ((ROPE, BELT), (spring, linear)))
    motion = found.forward_dynamics(found.initial_state())
    twin = expected.forward_dynamics(expected.initial_state())
    assert motion.acc.tolist() == twin.acc.tolist() and abs(motion.acc[0]) > 1.0
    assert motion["couplings.c"] == twin["couplings.c"] != 0.0
    assert found.model.forces["f"].type_name == "rope"
    ends = {"from_frame": "ground", "to_frame": "ground"}
    assert Model().add(FORCES["rope"](name="r", tension=1.0, **ends)).forces["r"].tension == 1.0


def test_their_keys_are_checked(registered):
    wrong = ROPE | {"to": "a.edn", "tension": "3 m", "colour": "red"}
    with pytest.raises(InputError) as caught:
        case(wrong, BELT | {"driver": "z"})
    found = " ".join(str(item) for item in caught.value.diagnostics)
    for words in (
        'forces.f.to: body a has no frame "edn"; did you mean "end"?',
        'forces.f.tension: "3 m" is a length, expected a force',
        'forces.f: unknown key "colour"',
        'couplings.c.driver: there is no joint "z"',
    ):
        assert words in found
    with pytest.raises(InputError, match='revolute joint a has no coordinate "travel"'):
        case(ROPE, BELT | {"driver": "a.travel"}).model()


def test_the_schema_has_them(registered):
    schema = CaseFile.model_json_schema(by_alias=True)
    assert schema["$defs"]["Rope"]["required"] == ["from", "to", "tension", "type"]
    assert schema["$defs"]["Belt"]["description"] == "One coordinate turns `ratio` times as fast as another."
    kinds = schema["properties"]["forces"]["patternProperties"].popitem()[1]["discriminator"]["mapping"]
    assert kinds["rope"] == "#/$defs/Rope" and kinds["torque"] == "#/$defs/Torque"


def test_without_the_module_the_types_are_unknown():
    with pytest.raises(InputError, match='forces.f: type "rope"'):
        case(ROPE, BELT)


@pytest.mark.parametrize("registry", [FORCES, COUPLINGS], ids=lambda item: item.kind)
def test_types_stand_in_files_of_their_names(registry):
    for name in registry:
        assert registry[name].__module__ == f"{registry.package}.{name}"
