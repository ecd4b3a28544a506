"""Loading case files: values, overrides, includes, and every error at its place."""
# ruff: noqa: E501

import random
from pathlib import Path

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.schema import CaseFile
from flexmbs.errors import InputError, nearest
from flexmbs.input.problems import MOST_TOLD
from flexmbs.resources import resource

GOOD = """\
format_version = 1
title = "Slider-crank"
gravity = [0.0, -9.81, 0.0]
[parameters]
r = "50 mm"
speed = "1500 rpm"
twice = "=2*r"
[ground.frames]
rail = { pos = [0.2, 0, 0] }
[bodies.crank]
type = "rigid"
mass = "400 g"
com = ["=r/2", 0, 0]
inertia = { ixx = 2e-5, iyy = 1.1e-4, izz = 1.1e-4 }
frames = { pin = { pos = ["=twice", 0, 0], rot = { axis = [0, 0, 1], angle = "90 deg" } } }
[bodies.slider]
type = "rigid"
mass = 0.2
[joints.main]
type = "revolute"
from = "ground"
to = "crank"
initial = { position = "30 deg", velocity = "=speed" }
[joints.guide]
type = "prismatic"
from = "ground.rail"
to = "slider"
axis = [1, 0, 0]
initial = { position = "5 mm" }
[drives.motor]
joint = "main"
position = "=speed*t"
[forces.gas]
type = "point"
on = "slider"
force = ["=-2000*max(0, sin(main.position))", "3 kN", 0]
[sensors.place]
type = "position"
on = "crank.pin"
[analysis]
t_end = "80 ms"
"""


def load(tmp_path, text, **overrides):
    path = tmp_path / "sc.toml"
    path.write_text(text)
    return Case.load(path, **overrides)


def errors(tmp_path, text, **overrides):
    with pytest.raises(InputError) as caught:
        load(tmp_path, text, **overrides).model()
    return [str(item).replace(str(tmp_path) + "/", "") for item in caught.value.diagnostics]


def test_values_are_si_numbers(tmp_path):
    case = load(tmp_path, GOOD)
    assert case.parameters == pytest.approx({"r": 0.05, "speed": 1500 * np.pi / 30, "twice": 0.1})
    model = case.model()
    crank = model.bodies["crank"]
    assert crank.mass == pytest.approx(0.4)
    np.testing.assert_allclose(crank.com, [0.025, 0, 0])
    np.testing.assert_allclose(crank.frames["pin"].pos, [0.1, 0, 0])
    np.testing.assert_allclose(crank.frames["pin"].rot, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    assert model.joints["main"].position == pytest.approx([np.pi / 6])
    assert model.joints["guide"].position == pytest.approx([0.005])
    assert set(model.drives["motor"].position.names) == {"t"}
    assert set(model.forces["gas"].force[0].names) == {"joints.main.position[0]"}
    assert model.forces["gas"].force[1:] == [3000.0, 0.0]
    assert case.spec.analysis.t_end == pytest.approx(0.08)


def test_overrides(tmp_path):
    case = load(tmp_path, GOOD, speed="100 rad/s", **{"analysis.t_end": 2, "bodies.crank.com": [0, 0, 0]})
    assert case.parameters["speed"] == 100.0
    assert case.spec.analysis.t_end == 2.0
    assert case.spec.bodies["crank"].com == [0, 0, 0]
    assert case.with_values(r=0.1).parameters["twice"] == pytest.approx(0.2)
    assert case.parameters["twice"] == pytest.approx(0.1)
    for key, words in [
        ("sped", 'did you mean "speed"'),
        ("analysis.t_ed", 'unknown key "t_ed"'),
        ("x.y", "x.y"),
    ]:
        with pytest.raises(InputError, match=words):
            load(tmp_path, GOOD, **{key: 1})
    with pytest.raises(InputError, match="--set speed  error  parameters.speed"):
        load(tmp_path, GOOD, speed="fast")


CHANGES = [
    ('type = "revolute"', 'type = "revolut"', '20:8  error  joints.main: type "revolut"; did you mean "revolute"?'),
    ('type = "revolute"', "", '19:1  error  joints.main: needs "type"'),
    ("mass = 0.2", "mas = 0.2", '18:1  error  bodies.slider: unknown key "mas"; did you mean "mass"?'),
    ("mass = 0.2", "mass = -0.2", "18:8  error  bodies.slider.mass: must be at least 0"),
    ("mass = 0.2", 'mass = "3 m"', '18:8  error  bodies.slider.mass: "3 m" is a length, expected a mass such as kg'),
    ("mass = 0.2", 'mass = "=q*2"', '18:10  error  bodies.slider.mass: "q" is no parameter'),
    ("mass = 0.2", "mass = nan", "18:8  error  bodies.slider.mass: nan is not a finite number"),
    ("mass = 0.2", "mass = true", "18:8  error  bodies.slider.mass"),
    ("mass = 0.2", "", '16:1  error  bodies.slider: needs "mass"'),
    ('to = "crank"', 'to = "crnk"', '22:6  error  joints.main.to: there is no body "crnk"; did you mean "crank"?'),
    ('to = "crank"', 'to = "crank.pn"', '22:6  error  joints.main.to: body crank has no frame "pn"; did you mean'),
    ('to = "crank"', 'to = "ground"', '22:6  error  joints.main.to: both sides are on "ground"'),
    ('from = "ground.rail"', 'from = "ground.rial"', '26:8  error  joints.guide.from: ground has no frame "rial"'),
    ("[joints.main]", '[joints."2nd"]', 'error  joints: "2nd" is no name'),
    ('joint = "main"', 'joint = "man"', '31:9  error  drives.motor.joint: there is no joint "man"; did you mean'),
    ('"=speed*t"', '"=speed*main.velocity"', '32:20  error  drives.motor.position: "joints.main.velocity[0]" cannot'),
    ("mass = 0.2", 'mass = "=r"', '18:8  error  bodies.slider.mass: "=r" is a length, expected a mass such as kg'),
    ('"=speed*t"', '"=speed"', "drives.motor.position: the unit is an angular velocity, expected an angle"),
    ('"=speed*t"', '"=sped*t"', 'there is no channel or parameter "sped"; did you mean "speed"?'),
    ('"=speed*t"', '"=speed*t)"', 'drives.motor.position: not an expression: unmatched'),
    ('"=speed*t"', '"=speed t"', 'drives.motor.position: not an expression: invalid syntax at "t"'),
    ("[bodies.slider]", "[bodies.crank]", "the table [bodies.crank] stands here for the second time"),
    ("mass = 0.2", "mass = heavy", "18:8  error  not valid TOML: invalid value; texts stand in quotes"),
    ('"=speed*t"', '"=speed*tt"', '32:20  error  drives.motor.position: there is no channel or parameter "tt"'),
    ('"=speed*t"', '"=speed*"', "32:14  error  drives.motor.position: not an expression"),
    ('"=speed*t"', '"3 mm"', "32:12  error  drives.motor.position: the unit is a length, expected an angle"),
    ("sin(main.position)", "sinn(main.position)", '36:25  error  forces.gas.force[0]: unknown function "sinn"'),
    ("sin(main.position)", "main.acceleration", '36:25  error  forces.gas.force[0]: "main.acceleration" would be an'),
    ("sin(main.position)", "slider.position", '36:25  error  forces.gas.force[0]: "slider.position" must pick'),
    ("sin(main.position)", "main.positio", '36:25  error  forces.gas.force[0]: there is no channel "main.positio"'),
    ('"3 kN"', '"3 kg"', '"3 kg" is a mass, expected a force such as N'),
    ('"5 mm"', '"5 deg"', "29:24  error  joints.guide.initial.position: the unit is an angle, expected a length"),
    ('"5 mm"', "[1, 2]", "29:24  error  joints.guide.initial.position: 2 values, but a prismatic joint has 1"),
    ("axis = [1, 0, 0]", "axis = [0, 0, 0]", "joints.guide: the axis is zero"),
    ("axis = [1, 0, 0]", "axis = [5e-324, 0, 0]", "joints.guide: the axis is zero"),
    ("axis = [1, 0, 0]", "axis = [1e308, 1e308, 0]", "joints.guide: the axis is zero, or too long"),
    ("axis = [0, 0, 1]", "axis = [5e-324, 0, 0]", "bodies.crank.frames.pin.rot: the direction axis is zero"),
    ('t_end = "80 ms"', "t_end = 5e-324", "analysis.t_end: 4.941e-324 s is out of range, 1e-60 to 1e+60 s"),
    ('t_end = "80 ms"', "t_end = 1e308", "analysis.t_end: 1e+308 s is out of range"),
    ('t_end = "80 ms"', 't_end = 1\nstep = "5e-320 ms"', "analysis.step: 4.941e-323 s is out of range"),
    ("axis = [1, 0, 0]", "axis = [1, 0, 0]\ndamper = { damping = -0.1 }", "joints.guide.damper.damping: must be at least 0, found -0.1"),
    ("axis = [1, 0, 0]", 'axis = [1, 0, 0]\ndamper = { damping = "=-r" }', "joints.guide.damper.damping: must be at least 0, found -0.05"),
    ("axis = [1, 0, 0]", "axis = [1, 0]", "28:8  error  joints.guide.axis: expected 3 values, found 2"),
    ("[1.1e-4]", "", ""),
    ("izz = 1.1e-4", "izz = 5e-4", "14:11  error  bodies.crank.inertia: no mass distribution"),
    ("izz = 1.1e-4", "izz = -5e-4", "14:11  error  bodies.crank.inertia: the inertia tensor has a negative"),
    (', angle = "90 deg"', "", "15:50  error  bodies.crank.frames.pin.rot: a rotation needs axis and angle"),
    ('t_end = "80 ms"', 'method = "rk5"', 'analysis: method "rk5"; did you mean "rk4"?'),
    ('t_end = "80 ms"', "", 'analysis: an analysis of type "dynamics" needs "t_end"'),
    ('twice = "=2*r"', 'twice = "=2*twice"', "7:9  error  parameters.twice: refers to itself: twice -> twice"),
    ('twice = "=2*r"', 'twice = "=2*rr"', '7:13  error  parameters.twice: "rr" is no parameter; did you mean "r"'),
    ("format_version = 1", "format_version = 2", "1:18  error  format_version: expected 1, the only"),
    ("format_version = 1", "format_version = true", "1:18  error  format_version: expected 1, the only"),
    ("format_version = 1", "format_version = -1", "1:18  error  format_version: expected 1, the only"),
    ("[bodies.slider]", "[body.slider]", '16:1  error  unknown key "body"; did you mean "bodies"?'),
    ("[bodies.slider]", "[[bodies.slider]]", "bodies.slider: expected a table"),
    ("gravity = [0.0, -9.81, 0.0]", "gravity = 9.81", "3:11  error  gravity: expected a list"),
    ('on = "crank.pin"', "on = 3", "39:6  error  sensors.place.on: expected a text in quotes, found 3"),
    ('on = "crank.pin"', "", 'sensors.place: a sensor of type "position" needs "on"'),
    ("title =", "title", "2:7  error  not valid TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), [item for item in CHANGES if item[0] in GOOD])
def test_errors_name_place_and_remedy(tmp_path, old, new, expected):
    found = errors(tmp_path, GOOD.replace(old, new, 1))
    assert any(expected in text for text in found), found


def test_all_errors_come_together_in_the_order_of_the_file(tmp_path):
    text = GOOD
    for old, new in [
        ("mass = 0.2", "mas = 0.2"),
        ('"revolute"', '"revolut"'),
        ('"ground.rail"', '"ground.rial"'),
    ]:
        text = text.replace(old, new)
    found = errors(tmp_path, text.replace('t_end = "80 ms"', 't_end = "8 mm"'))
    lines = [int(item.split(":")[1]) for item in found]
    assert len(found) >= 5
    assert lines == sorted(lines)


def test_includes_merge_and_keep_their_places(tmp_path):
    (tmp_path / "parts").mkdir()
    head, tail = GOOD.split("[bodies.slider]")
    (tmp_path / "parts" / "slider.toml").write_text("[bodies.slider]\ntype = 'rigid'\nmass = 0.2\n")
    body = (
        head.replace("title =", 'include = ["parts/slider.toml"]\ntitle =')
        + tail.partition("mass = 0.2\n")[2]
    )
    assert load(tmp_path, body).model().bodies["slider"].mass == 0.2
    (tmp_path / "parts" / "slider.toml").write_text("[bodies.slider]\ntype = 'rigid'\nmas = 0.2\n")
    assert any(text.startswith("parts/slider.toml:3:1") for text in errors(tmp_path, body))
    (tmp_path / "parts" / "slider.toml").write_text("[bodies.crank]\nmass = 1\n")
    assert any("bodies.crank.mass is also defined at sc.toml:13:1" in text for text in errors(tmp_path, body))


@pytest.mark.parametrize("name", ["../x.toml", "/etc/hostname", "missing.toml", "sc.toml", "a\\u0000b"])
def test_includes_stay_in_the_folder(tmp_path, name):
    (tmp_path.parent / "x.toml").write_text("")
    found = errors(tmp_path, GOOD.replace("title =", f'include = ["{name}"]\ntitle ='))
    assert found[0].startswith("sc.toml:2:12  error  include")


def test_python_functions_need_leave(tmp_path):
    law = '{ function = "laws.py:gas", channels = ["main.position"] }'
    text = GOOD.replace('"=-2000*max(0, sin(main.position))"', law)
    assert "runs only with --allow-python" in errors(tmp_path, text)[0]
    (tmp_path / "laws.py").write_text("def gas(t, x):\n    return -t * x\n")
    path = tmp_path / "sc.toml"
    number = Case.load(path, allow_python=True).model().forces["gas"].force[0]
    assert number.function(2.0, 3.0) == -6.0
    assert set(number.channels[0].names) == {"joints.main.position[0]"}
    (tmp_path / "laws.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(InputError, match=r"laws.py cannot be loaded: ModuleNotFoundError"):
        Case.load(path, allow_python=True).model()


def test_flexible_bodies_need_their_files(tmp_path):
    text = GOOD + '[bodies.rod]\ntype = "flexible"\nmodal = "rod.modal.h5"\n'
    assert any('there is no file "rod.modal.h5"' in item for item in errors(tmp_path, text))
    (tmp_path / "rod.modal.h5").write_text("nothing of ours")
    assert "rod.modal.h5" in errors(tmp_path, text)[0]
    both = text + 'reduce = "x.toml"\n'
    assert any("either" in item for item in errors(tmp_path, both))


def test_a_case_from_dictionaries():
    data = {
        "bodies": {"a": {"type": "rigid", "mass": "2 kg", "com": ["=L/2", 0, 0]}},
        "joints": {"j": {"type": "revolute", "from": "ground", "to": "a"}},
        "parameters": {"L": "1 m"},
    }
    assert Case.from_dict(data).model().bodies["a"].com[0] == 0.5
    assert Case.from_dict(data, L=4).model().bodies["a"].com[0] == 2.0
    with pytest.raises(InputError, match="bodies.b"):
        Case.from_dict({"bodies": {"b": {}}})


def test_algebraic_loops_are_named(tmp_path):
    text = GOOD + (
        '[sensors.p]\ntype = "expression"\nvalue = "=q + 1"\n[sensors.q]\ntype = "expression"\nvalue = "=2*p"\n'
    )
    assert any(
        "algebraic loop: p -> q -> p" in item or "q -> p -> q" in item for item in errors(tmp_path, text)
    )


def test_expression_sensors_are_put_in_place(tmp_path):
    text = GOOD.replace("sin(main.position)", "double") + (
        '[sensors.double]\ntype = "expression"\nvalue = "=2*main.position"\n[states.s]\nrate = "=double - s"\n'
    )
    model = load(tmp_path, text).model()
    assert set(model.forces["gas"].force[0].names) == {"joints.main.position[0]"}
    assert set(model.states["s"].rate.names) == {"joints.main.position[0]", "states.s"}


@pytest.mark.parametrize(
    ("rot", "matrix"),
    [
        ('{ sequence = "xy", angles = ["90 deg", "90 deg"] }', [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
        ("{ quaternion = [1, 0, 0, 1] }", [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
        ("{ matrix = [[0, -1, 0], [1, 0, 0], [0, 0, 1]] }", [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
        ("{ x = [0, 1, 0], z = [0, 0, 2] }", [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
        ("{ y = [-1, 0, 0], z = [0, 0, 2] }", [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
    ],
)
def test_rotations(tmp_path, rot, matrix):
    text = GOOD.replace("rail = { pos = [0.2, 0, 0] }", f"rail = {{ rot = {rot} }}")
    np.testing.assert_allclose(load(tmp_path, text).model().ground_frames["rail"].rot, matrix, atol=1e-12)


@pytest.mark.parametrize(
    "rot",
    ["{ matrix = [[1, 0, 0], [0, 1, 0], [0, 0, -1]] }", "{ x = [1, 0, 0], y = [1, 0.1, 0] }", "{ x = [1, 0, 0] }",
     "{ quaternion = [0, 0, 0, 0] }", "{ axis = [0, 0, 0], angle = 1 }", '{ sequence = "xy", angles = [1] }',
     '{ sequence = "xq", angles = [1, 2] }', "{}"],
)  # fmt: skip
def test_wrong_rotations_are_errors(tmp_path, rot):
    text = GOOD.replace("rail = { pos = [0.2, 0, 0] }", f"rail = {{ rot = {rot} }}")
    assert any("9:16" in item or "9:18" in item or "9:" in item for item in errors(tmp_path, text))


def test_two_drives_on_one_coordinate_contradict(tmp_path):
    text = GOOD + '[drives.again]\njoint = "main"\nvelocity = 3\n'
    assert any("already driven by drives.motor" in item for item in errors(tmp_path, text))


def test_start_of_a_held_body_belongs_to_its_joint(tmp_path):
    text = GOOD.replace("mass = 0.2", "mass = 0.2\ninitial = { velocity = [1, 0, 0] }")
    found = errors(tmp_path, text)
    assert any(
        "bodies.slider.initial: gives velocity, but joints.guide holds the body" in item for item in found
    )


def test_sweeps_vary_what_exists(tmp_path):
    text = GOOD + '[sweep]\ngrid = { spedd = [1, 2] }\ncollect = ["peak"]\n'
    found = errors(tmp_path, text)
    assert any(
        'sweep.grid.spedd: there is no parameter "spedd"; did you mean "speed"?' in item for item in found
    )
    assert any('sweep.collect[0]: there is no metric "peak"' in item for item in found)
    good = (
        GOOD
        + '[metrics]\npeak = "=max(main.position)"\n[sweep]\nzip = { speed = ["1 rpm"] }\ncollect = ["peak"]\n'
    )
    assert load(tmp_path, good).spec.sweep.collect == ["peak"]


def test_schema_knows_every_joint_type():
    text = str(CaseFile.model_json_schema())
    for word in ("constant_velocity", "helical", "'lead'", "'from'", "spring_damper", "rayleigh"):
        assert word in text


@pytest.mark.parametrize("path", sorted(resource("cases").glob("*.toml")), ids=lambda path: path.name)
def test_shipped_cases_pass_the_schema(path):
    if not path.name.endswith(".reduce.toml"):
        Case.load(path)


def test_damaged_cases_end_in_named_errors(tmp_path):
    rng = random.Random(5)
    words = ["=", "[", "]", "{", "}", '"', "'", "nan", "1e999", "-1", '"=1/0"', '"=t"', "true", "\n", ".", "[[x]]",
             '"5 mm"', "0", "[]", "{}", "ground", "crank", "#", "999999999999999999999"]  # fmt: skip
    path = Path(tmp_path) / "sc.toml"
    tokens = GOOD.replace("\n", " \n ").split(" ")
    for _ in range(300):
        damaged = list(tokens)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.choice(words)
        path.write_text(" ".join(damaged))
        try:
            Case.load(path).model()
        except InputError as error:
            assert error.diagnostics and all(item.where and item.what for item in error.diagnostics)


def test_nearest_without_choices():
    assert nearest("x", []) == "there are none"


def test_nearest_lists_all_joints():
    from flexmbs.model.joints import JOINTS

    assert nearest("cardan", sorted(JOINTS)).endswith("spherical, universal")


CAM = """
[couplings.c]
type = "cam"
cam = "shaft"
follower = "guide"
"""


@pytest.mark.parametrize(
    "line, words",
    [
        ('roller = "10 deg"', 'cam.toml:6:10  error  couplings.c.roller: "10 deg" is an angle'),
        ("roler = 0.01", 'cam.toml:6:1  error  couplings.c: unknown key "roler"; did you mean "roller"?'),
        ("roller = 0.01", "cam.toml:2:1  error  couplings.c: a cam needs one of lift, table, profile"),
    ],
)
def test_findings_stand_at_their_key_where_the_type_is_also_the_name_of_a_key(line, words, tmp_path):
    path = tmp_path / "cam.toml"
    path.write_text(CAM + line)
    with pytest.raises(InputError) as error:
        Case.load(path)
    assert words in str(error.value)


def test_outputs_of_a_linear_model_are_checked_before_it_is_made():
    from flexmbs.case.check import check

    data = {
        "bodies": {"a": {"type": "rigid", "mass": 1, "frames": {"tip": {"pos": [0, 0, 1]}}}},
        "joints": {"a": {"type": "prismatic", "from": "ground", "to": "a", "spring": {"stiffness": 1}}},
        "analysis": {"type": "linearize", "outputs": ["bodies.a.position.z", "a.position[2]", "energy.kinetic"]},
    }  # fmt: skip
    check(Case.from_dict(data))
    for name, remedy in (("a.tip.position.z", 'a frame is seen by a sensor: type = "position" (velocity, ...), '
                          'on = "a.tip"'), ("a.positio", 'did you mean "a.position"?')):  # fmt: skip
        data["analysis"]["outputs"][2] = name
        with pytest.raises(InputError) as error:
            check(Case.from_dict(data))
        assert f'analysis.outputs[2]: the result will have no channel "{name}"; {remedy}' in str(error.value)


def test_a_case_without_bodies_is_told(tmp_path):
    assert errors(tmp_path, "") == ["sc.toml  error  has no bodies; flexmbs new writes a case to begin with"]


def test_a_flood_of_findings_is_told_in_part(tmp_path):
    found = errors(tmp_path, "".join(f"k{n} = 1\n" for n in range(5000)))
    assert len(found) == MOST_TOLD + 1 and found[3].startswith("sc.toml:3:1  error  unknown key")
