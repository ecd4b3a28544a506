"""FMUs beside a mechanism: partners in C, against the same steps by hand and against one set of equations."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import InputError, SolverError, UsageError
from flexmbs.exchange.fmi import described
from tests.test_stepping import ARM

pytestmark = pytest.mark.needs("fmpy", "cc")
VARIABLES = [
    ("angle", "input"),
    ("speed", "input"),
    ("torque", "output"),
    ("k", "parameter"),
    ("T", "parameter"),
]
#: T x' = 20 (0.5 - angle) - 4 speed - x
LAW = "=(20*(0.5 - pin.position) - 4*pin.velocity - states.x)/0.05"


def functions(version: int) -> set[str]:
    """All that fmpy asks a library for."""
    from importlib import import_module

    text = Path(str(import_module(f"fmpy.fmi{version}").__file__)).read_text()
    return set(re.findall(rf"def (fmi{version}\w+)", text))


def partner(folder: Path, version: int = 3, dependencies: str = "", name: str = "partner") -> Path:
    """The partner as an FMU; functions that it does not need say that all is well."""
    source = Path(__file__).with_name("partner.c")
    own = set(re.findall(rf"\b(fmi{version}\w+)\(", source.read_text()))
    rest = folder / "rest.c"
    rest.write_text("".join(f"int {item}(void) {{ return 0; }}\n" for item in functions(version) - own))
    command = [
        "cc",
        f"-DFMI{version}",
        "-shared",
        "-fPIC",
        "-o",
        str(folder / "p.so"),
        str(source),
        str(rest),
        "-lm",
    ]
    subprocess.run(command, check=True)
    said = f' dependencies="{dependencies}"' if dependencies != "all" else ""
    rows = []
    for k, (item, kind) in enumerate(VARIABLES):
        kinds = f'name="{item}" valueReference="{k}" causality="{kind}"'
        kinds += ' variability="fixed"' if kind == "parameter" else ' variability="continuous"'
        start = "" if kind == "output" else ' start="0"'
        rows.append(
            f"<Float64 {kinds}{start}/>"
            if version == 3
            else f"<ScalarVariable {kinds}><Real{start}/></ScalarVariable>"
        )
    if version == 3:
        head = 'fmiVersion="3.0" modelName="p" instantiationToken="p"'
        rows.append(
            '<Float64 name="time" valueReference="9" causality="independent" variability="continuous"/>'
        )
        tail = f'<ModelStructure><Output valueReference="2"{said}/></ModelStructure>'
    else:
        head = 'fmiVersion="2.0" modelName="p" guid="p"'
        tail = f'<ModelStructure><Outputs><Unknown index="3"{said}/></Outputs></ModelStructure>'
    path = folder / f"{name}.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(
            folder / "p.so", "binaries/" + ("x86_64-linux" if version == 3 else "linux64") + "/p.so"
        )
        archive.writestr(
            "modelDescription.xml",
            f'<fmiModelDescription {head}><CoSimulation modelIdentifier="p"/>'
            f"<ModelVariables>{''.join(rows)}</ModelVariables>{tail}</fmiModelDescription>",
        )
    return path


def coupled(step: float, /, **more) -> dict:
    table = {
        "type": "fmu", "file": "partner.fmu", "step": step,
        "inputs": {"angle": "=pin.position", "speed": "=pin.velocity"},
    }  # fmt: skip
    return ARM | {
        "inputs": {"servo": table | more},
        "forces": {"motor": {"type": "joint_force", "joint": "pin", "value": "=servo.torque"}},
        "analysis": {"t_end": 0.3, "rtol": 1e-10, "atol": 1e-12},
        "output": {"every": 0.05},
    }


def load(data: dict, folder: Path) -> Case:
    return Case.from_dict(data, folder=folder, allow_python=True)


@pytest.mark.parametrize("version", [2, 3])
def test_a_run_takes_the_steps_of_its_partner(version, tmp_path):
    """The same exchange by hand: inputs of one communication point act on the output of the next."""
    partner(tmp_path, version)
    result = execute(load(coupled(0.01, parameters={"k": 15.0}), tmp_path), tmp_path / "a.h5").result
    sim, torque, decay = fm.simulation(Case.from_dict(ARM)), 0.0, np.exp(-0.01 / 0.05)
    found = [0.0]
    for k in range(30):
        wanted = 15.0 * (0.5 - sim["pin.position"]) - 4.0 * sim["pin.velocity"]
        sim.step(0.01, {"torque": torque})
        held, torque = torque, wanted + (torque - wanted) * decay
        if (k + 1) % 5 == 0:
            found.append(sim["pin.position"])
    np.testing.assert_allclose(np.asarray(result.joints.pin.position)[:, 0], found, rtol=0, atol=1e-9)
    assert result.status == "complete" and len(result.time) == 7
    assert result["inputs/servo/torque"][-1] == pytest.approx(held, abs=1e-7), "a sample has what led to it"


def driven(key: str, law: str, **more) -> dict:
    """The arm with a coordinate that the partner drives."""
    data = coupled(0.01, **more)
    return data | {"forces": {}, "drives": {"servo": {"joint": "pin", key: law}}}


def by_hand(data: dict, acceleration) -> list[float]:
    """Places of the arm with an acceleration from outside, that of every step from velocity and output."""
    own = data | {"inputs": {"a": {}}, "drives": {"servo": {"joint": "pin", "acceleration": "=inputs.a"}}}
    sim, x, decay = fm.simulation(Case.from_dict(own)), 0.0, np.exp(-0.01 / 0.05)
    found = [0.0]
    for k in range(30):
        wanted = 20.0 * (0.5 - sim["pin.position"]) - 4.0 * sim["pin.velocity"]
        sim.step(0.01, {"a": acceleration(x, sim["pin.velocity"])})
        x = wanted + (x - wanted) * decay
        if (k + 1) % 5 == 0:
            found.append(sim["pin.position"])
    return found


def test_an_fmu_drives_an_acceleration(tmp_path):
    partner(tmp_path)
    data = driven("acceleration", "=3*servo.torque")
    result = execute(load(data, tmp_path), keep=False).result
    found = by_hand(data, lambda x, v: 3.0 * x)
    np.testing.assert_allclose(np.asarray(result.joints.pin.position)[:, 0], found, rtol=0, atol=1e-9)
    assert np.ptp(found) > 0.1 and np.abs(result["drives/servo/effort"]).max() > 1.0
    assert np.abs(result["energy/balance_error"]).max() < 1e-6


def test_a_velocity_of_an_fmu_is_reached_by_the_next_communication_point(tmp_path):
    partner(tmp_path)
    data = driven("velocity", "=servo.torque")
    result = execute(load(data, tmp_path), keep=False).result
    found = by_hand(data, lambda x, v: (x - v) / 0.01)
    np.testing.assert_allclose(np.asarray(result.joints.pin.position)[:, 0], found, rtol=0, atol=1e-9)
    assert np.ptp(found) > 0.1


def test_what_cannot_be_driven_from_outside_is_said(tmp_path):
    partner(tmp_path)
    with pytest.raises(InputError, match=r"position.*servo.torque.*only t and parameters; inputs drive vel"):
        load(driven("position", "=servo.torque"), tmp_path).model()
    data = driven("velocity", "=inputs.w")
    data["inputs"] = {"w": {}}
    with pytest.raises(InputError, match=r"follows FMUs alone.*give the acceleration"):
        load(data, tmp_path).model()


@pytest.mark.slow
def test_finer_steps_come_to_the_equations_of_both(tmp_path):
    """Order 1: the error is halved with the step, against the same law as a state of the case."""
    partner(tmp_path)
    own = ARM | {
        "inputs": {}, "states": {"x": {"rate": LAW}},
        "forces": {"motor": {"type": "joint_force", "joint": "pin", "value": "=states.x"}},
    }  # fmt: skip
    own |= {"analysis": {"t_end": 0.3, "rtol": 1e-10, "atol": 1e-12}}
    exact = execute(Case.from_dict(own), keep=False).result.joints.pin.position[-1, 0]
    errors = []
    for step in (0.004, 0.002, 0.001):
        found = execute(load(coupled(step), tmp_path), keep=False).result.joints.pin.position[-1, 0]
        errors.append(abs(float(found) - float(exact)))
    assert errors[2] < 2e-3
    np.testing.assert_allclose([errors[0] / errors[1], errors[1] / errors[2]], 2.0, rtol=0.1)


def test_output_times_beside_communication_points(tmp_path):
    """Samples every 7 ms, exchange every 10 ms, and steps from outside: the motion is one."""
    partner(tmp_path)
    data = coupled(0.01) | {"output": {"every": 0.007}}
    result = execute(load(data, tmp_path), keep=False).result
    sim = fm.simulation(load(data, tmp_path))
    for _ in range(20):
        sim.step(0.015)
    np.testing.assert_allclose(result.time[:4], [0.0, 0.007, 0.014, 0.021])
    assert sim["pin.position"] == pytest.approx(float(result.joints.pin.position[-1, 0]), abs=1e-9)
    with pytest.raises(UsageError, match="inputs.servo"):
        sim.snapshot()


def test_foreign_code_runs_with_leave_alone(tmp_path):
    partner(tmp_path)
    with pytest.raises(InputError, match="--allow-python"):
        fm.simulation(Case.from_dict(coupled(0.01), folder=tmp_path))


def test_descriptions_tell_what_depends_at_once(tmp_path):
    assert described(partner(tmp_path, 3, "0 1")).direct == {"torque": {"angle", "speed"}}
    assert described(partner(tmp_path, 2, "1")).direct == {"torque": {"angle"}}
    assert described(partner(tmp_path, 3, "all")).direct == {"torque": {"angle", "speed"}}
    told = described(partner(tmp_path, 3, ""))
    assert told.direct == {"torque": frozenset()} and told.parameters == {"k": 3, "T": 4}


def test_algebraic_loops_are_named(tmp_path):
    """Two partners that hand each other on what they get at once."""
    partner(tmp_path, 3, "all")
    data = coupled(0.01)
    table = data["inputs"]["servo"]
    data["inputs"] = {
        "one": table | {"inputs": {"angle": "=two.torque"}},
        "two": table | {"inputs": {"angle": "=pin.position + one.torque"}},
    }
    data["forces"] = {"motor": {"type": "joint_force", "joint": "pin", "value": "=one.torque"}}
    with pytest.raises(
        InputError, match=r"algebraic loop: inputs\.one\.torque -> inputs\.two\.torque -> inputs\.one"
    ):
        fm.simulation(load(data, tmp_path))
    data["inputs"]["two"] = table | {"inputs": {"angle": "=pin.acceleration"}}
    with pytest.raises(InputError, match="algebraic loop"):
        fm.simulation(load(data, tmp_path))


@pytest.mark.parametrize(
    "change, words",
    [
        ({"inputs": {"angel": "=pin.position"}}, 'did you mean "angle"'),
        ({"parameters": {"gain": 1.0}}, 'no parameter "gain"'),
        ({"file": "none.fmu"}, "is no FMU"),
        ({"step": 0.0}, "must be above 0"),
    ],
)
def test_wrong_tables_are_named(change, words, tmp_path):
    partner(tmp_path)
    with pytest.raises(InputError, match=words):
        load(coupled(0.01, **change), tmp_path).model()


def test_a_partner_that_fails_is_named_and_what_was_computed_stays(tmp_path):
    partner(tmp_path)
    case = load(coupled(0.01, parameters={"k": -1.0}), tmp_path)
    with pytest.raises(SolverError, match="inputs.servo does not step on"):
        execute(case, tmp_path / "a.h5")
    assert fm.Result.load(tmp_path / "a.h5").status == "failed"
    with pytest.raises(InputError, match="only go on in time"):
        execute(load(coupled(0.01) | {"analysis": {"type": "statics"}}, tmp_path), tmp_path / "b.h5")


def test_what_is_no_fmu_is_refused(tmp_path):
    (tmp_path / "a.fmu").write_bytes(b"PK")
    with pytest.raises(InputError, match="is no FMU"):
        described(tmp_path / "a.fmu")
    for text, words in (
        ("<f/>", "of FMI"),
        ('<f fmiVersion="2.0"/>', "not for co-simulation"),
        ("<f", "is no FMU"),
    ):
        with zipfile.ZipFile(tmp_path / "b.fmu", "w") as archive:
            archive.writestr("modelDescription.xml", text)
        with pytest.raises(InputError, match=words):
            described(tmp_path / "b.fmu")
