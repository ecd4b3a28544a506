"""Units of laws whose dimension follows from the joint coordinate or the set on which they act."""

import pytest

from flexmbs.case import Case
from flexmbs.errors import InputError

CASE = """
[bodies.a]
type = "rigid"
mass = 1
inertia = { ixx = 1, iyy = 1, izz = 1 }

[joints.j]
type = "cylindrical"
from = "ground"
to = "a"
"""
RECIPE = """
modes = 1
material = "steel"
[mesh]
shape = "box"
size = [1, 0.1, 0.1]
divisions = [2, 1, 1]
element = "hex8"
"""
WRONG = [
    ("spring", 'stiffness = "3 N/m", coordinate = "angle"', "a torsional stiffness such as N"),
    ("spring", 'stiffness = 1, free = "3 deg", coordinate = "travel"', "expected a length"),
    ("spring", 'force = "3 N", coordinate = "angle"', "expected a torque"),
    ("damper", 'damping = "3 N*m*s/rad", coordinate = "travel"', "expected a damping constant"),
    ("friction", 'effort = "3 N*m", coordinate = "travel"', "expected a force"),
    ("friction", 'coefficient = "3 N", coordinate = "travel"', "expected a plain number"),
    ("friction", 'effort = 1, stiction_velocity = "1 mm/s", coordinate = "angle"', "an angular velocity"),
    ("friction", 'coefficient = 0.1, coordinate = "angle"', "needs a radius"),
    ("friction", 'coefficient = 0.1, radius = 0.1, coordinate = "travel"', "radius goes with a coefficient"),
    ("stop", 'upper = "3 mm", stiffness = 1, coordinate = "angle"', "expected an angle"),
    ("stop", 'upper = 1, stiffness = "3 N*m/rad", coordinate = "travel"', "expected a stiffness"),
]  # fmt: skip
RIGHT = [
    ("spring", 'stiffness = "3 N*m/deg", free = "3 deg", coordinate = "angle"'),
    ("spring", 'stiffness = "3 N*m", coordinate = "angle"'),
    ("damper", 'damping = "3 kg/s", coordinate = "travel"'),
    ("friction", 'coefficient = 0.1, radius = "1 cm", stiction_velocity = "1 rpm", coordinate = "angle"'),
    ("stop", 'lower = "-1 cm", stiffness = "3 kN/mm", coordinate = "travel"'),
]


def errors(tmp_path, text):
    path = tmp_path / "c.toml"
    path.write_text("format_version = 1\n" + text)
    with pytest.raises(InputError) as error:
        Case.load(path).system()
    return str(error.value)


@pytest.mark.parametrize(("kind", "keys", "words"), WRONG)
def test_units_in_joints_are_those_of_the_coordinate(tmp_path, kind, keys, words):
    text = errors(tmp_path, CASE + f"{kind} = {{ {keys} }}\n")
    assert "c.toml:12:" in text and f"joints.j.{kind}." in text and words in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(("kind", "keys"), RIGHT)
def test_right_units_in_joints_are_taken(tmp_path, kind, keys):
    (tmp_path / "c.toml").write_text("format_version = 1\n" + CASE + f"{kind} = {{ {keys} }}\n")
    Case.load(tmp_path / "c.toml").system()


def test_units_of_forces_are_those_of_their_place(tmp_path):
    push = '[forces.f]\ntype = "joint_force"\njoint = "j"\ncoordinate = "angle"\nvalue = "3 N"\n'
    assert "16:9  error  forces.f.value: the unit is a force, expected a torque" in errors(
        tmp_path, CASE + push
    )
    six = 'stiffness = ["1 N/mm", 1, 1, 1, "2 N/mm", 1]\ndamping = ["1 N", 1, 1, 1, 1, 1]\n'
    found = errors(tmp_path, CASE + '[forces.f]\ntype = "bushing"\nfrom = "ground"\nto = "a"\n' + six)
    assert "forces.f.stiffness[4]: the unit is a stiffness, expected a torsional" in found
    assert "forces.f.damping[0]: the unit is a force, expected a damping" in found


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('set = "x_min"\nforce = ["1 N/m", 0, 0]', "9:10  error  forces.w.force[0]: the unit is a stiffness"),
        ('set = "x_mn"\nforce = [1, 0, 0]', '8:7  error  forces.w.set: there is no face or cell set "x_mn"'),
        ('set = "x_mn"\npressure = 1', '8:7  error  forces.w.set: there is no face set "x_mn" in this body'),
    ],
)
def test_distributed_loads_are_checked_against_their_set(tmp_path, keys, words):
    (tmp_path / "b.reduce.toml").write_text(RECIPE)
    body = '[bodies.b]\ntype = "flexible"\nreduce = "b.reduce.toml"\n'
    assert words in errors(tmp_path, body + '[forces.w]\ntype = "distributed"\non = "b"\n' + keys)
