"""A case as an FMU, driven by fmpy: validation, loops with a controller, states, the same motion as a run."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.cli.main import main
from flexmbs.errors import InputError, UsageError
from flexmbs.fmu import export_fmu
from tests.test_stepping import ARM, FALLING

pytestmark = pytest.mark.needs("fmpy", "cc")
DATA = FALLING | {
    "title": "An arm",
    "parameters": {"m": 2.0, "twice": "=2*m"},
    "bodies": {"arm": FALLING["bodies"]["arm"] | {"mass": "=m"}},
    "analysis": {"t_end": 1.0, "method": "rk4", "step": 1e-3},
    "output": {"every": 0.01},
}


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    path = tmp_path_factory.mktemp("fmu") / "arm.fmu"
    export_fmu(Case.from_dict(DATA), path)
    return path


class Slave:
    """An instance by fmpy's own calls, with variables by name."""

    def __init__(self, path: Path, folder: Path, **parameters: float) -> None:
        import fmpy
        from fmpy.fmi3 import FMU3Slave

        self.told = fmpy.read_model_description(str(path))
        self.numbers = {item.name: item.valueReference for item in self.told.modelVariables}
        self.said: list[str] = []
        self.fmu = FMU3Slave(
            guid=self.told.guid, unzipDirectory=fmpy.extract(str(path), str(folder)),
            modelIdentifier=self.told.coSimulation.modelIdentifier, instanceName="a",
        )  # fmt: skip
        self.log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)(
            lambda environment, status, category, text: self.said.append(text.decode())
        )
        self.fmu.instantiate(logMessage=self.log)
        self.t = 0.0
        self.set(**parameters)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def set(self, **values: float) -> None:
        for name, value in values.items():
            self.fmu.setFloat64([self.number(name)], [value])

    def number(self, name: str) -> int:
        return next(
            self.numbers[key] for key in (f"inputs.{name}", f"parameters.{name}", name) if key in self.numbers
        )

    def __getitem__(self, name: str) -> float:
        return self.fmu.getFloat64([self.numbers[name]])[0]

    def step(self, h: float, **inputs: float) -> None:
        self.set(**inputs)
        self.fmu.doStep(self.t, h)
        self.t += h

    def steps(self, first: int, last: int) -> list[list[float]]:
        found = []
        for k in range(first, last):
            self.step(0.01, torque=3.0 * np.sin(0.3 * k))
            found.append([self["joints.pin.position"], self["joints.pin.velocity"], self["metrics.lowest"]])
        return found

    def close(self) -> None:
        self.fmu.terminate()
        self.fmu.freeInstance()


def test_the_description_is_valid_and_names_everything(arm):
    from fmpy import read_model_description
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(arm)) == []
    told = read_model_description(str(arm))
    found = {item.name: (item.causality, item.unit) for item in told.modelVariables}
    assert found["inputs.torque"] == ("input", "N*m") and found["parameters.m"] == ("parameter", None)
    assert found["sensors.tip.x"] == ("output", "m") and found["metrics.lowest"] == ("output", None)
    assert "parameters.twice" not in found, "it follows from m"
    assert told.coSimulation.canGetAndSetFMUstate and told.coSimulation.canSerializeFMUstate
    assert told.defaultExperiment.stopTime == "1.0" and told.defaultExperiment.stepSize == "0.01"


@pytest.mark.slow
def test_steps_are_those_of_a_run_in_one_piece(arm, tmp_path):
    slave = Slave(arm, tmp_path / "a")
    found = [slave["joints.pin.position"]]
    for _ in range(20):
        slave.step(0.01)
        found.append(slave["joints.pin.position"])
    whole = execute(Case.from_dict(DATA, **{"analysis.t_end": 0.2}), tmp_path / "a.h5").result
    np.testing.assert_allclose(found, np.asarray(whole.joints.pin.position)[:, 0], rtol=0, atol=1e-13)
    assert slave["metrics.lowest"] == pytest.approx(whole.metrics["lowest"], abs=1e-12)
    assert slave["time"] == pytest.approx(0.2)
    slave.close()


@pytest.mark.slow
def test_parameters_act_before_the_start_and_not_behind_it(arm, tmp_path):
    slave, ours = Slave(arm, tmp_path / "a", m=3.0), fm.simulation(Case.from_dict(DATA, m=3.0))
    ours.step(0.01, {"torque": 1.0})
    slave.step(0.01, torque=1.0)
    assert slave["joints.pin.velocity"] == ours["pin.velocity"]
    slave.set(m=4.0)
    with pytest.raises(Exception, match="fmi3DoStep"):
        slave.step(0.01)
    assert "parameters.m stays as it is" in slave.said[-1]
    slave.fmu.reset()
    slave.close()


@pytest.mark.slow
def test_states_lead_back_and_into_another_instance(arm, tmp_path):
    slave = Slave(arm, tmp_path / "a")
    begun = slave.steps(0, 3)
    there = slave.fmu.getFMUState()
    ahead = slave.steps(3, 8)
    further = slave.fmu.getFMUState()
    slave.fmu.setFMUState(there)
    slave.t = 0.03
    assert slave["joints.pin.position"] == begun[-1][0] and slave["metrics.lowest"] == begun[-1][2]
    assert slave.steps(3, 8) == ahead
    slave.fmu.setFMUState(there)
    slave.fmu.setFMUState(further)
    assert slave["metrics.lowest"] == ahead[-1][2], "what was recorded goes along"
    data = slave.fmu.serializeFMUState(there)
    other = Slave(arm, tmp_path / "b", m=5.0)
    other.fmu.setFMUState(other.fmu.deserializeFMUState(data))
    other.t = 0.03
    for k, expected in enumerate(ahead, start=3):
        other.step(0.01, torque=3.0 * np.sin(0.3 * k))
        assert [other["joints.pin.position"], other["joints.pin.velocity"]] == expected[:2]
    with pytest.raises(Exception, match="fmi3GetFloat64"):
        other["metrics.lowest"]
    assert "recorded" in other.said[-1]
    slave.fmu.freeFMUState(there)
    slave.close()
    other.close()


@pytest.mark.slow
def test_a_reset_begins_anew(arm, tmp_path):
    slave = Slave(arm, tmp_path / "a")
    once = slave.steps(0, 3)
    slave.fmu.reset()
    slave.fmu.enterInitializationMode()
    slave.fmu.exitInitializationMode()
    slave.t = 0.0
    assert slave.steps(0, 3) == once
    slave.close()


def controller(folder: Path) -> Path:
    """An FMU in C that knows nothing of this program."""
    variables = [("x", "input"), ("v", "input"), ("r", "parameter"), ("u", "output")]
    text = "".join(
        f'<Float64 name="{name}" valueReference="{k}" causality="{kind}" '
        f'variability="{"fixed" if kind == "parameter" else "continuous"}"'
        f"{'' if kind == 'output' else ' start=' + chr(34) + '0' + chr(34)}/>"
        for k, (name, kind) in enumerate(variables)
    )
    source = Path(__file__).with_name("controller.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(folder / "c.so"), str(source)], check=True)
    with zipfile.ZipFile(folder / "controller.fmu", "w") as archive:
        archive.write(folder / "c.so", "binaries/x86_64-linux/c.so")
        archive.writestr(
            "modelDescription.xml",
            '<fmiModelDescription fmiVersion="3.0" modelName="c" instantiationToken="c"><CoSimulation '
            f'modelIdentifier="c"/><ModelVariables><Float64 name="time" valueReference="4" '
            f'causality="independent" variability="continuous"/>{text}</ModelVariables><ModelStructure>'
            '<Output valueReference="3"/></ModelStructure></fmiModelDescription>',
        )
    return folder / "controller.fmu"


class Controller:
    """The C controller by the calls of the standard alone: fmpy asks for every function there is."""

    def __init__(self, path: Path, folder: Path) -> None:
        with zipfile.ZipFile(path) as archive:
            self.library = ctypes.CDLL(archive.extract("binaries/x86_64-linux/c.so", folder))
        self.library.fmi3InstantiateCoSimulation.restype = ctypes.c_void_p
        self.handle = ctypes.c_void_p(self.library.fmi3InstantiateCoSimulation())

    def step(self, t: float, h: float, x: float, v: float, r: float) -> float:
        numbers, flags, u = (ctypes.c_uint * 3)(0, 1, 2), (ctypes.c_bool * 3)(), ctypes.c_double()
        self.library.fmi3SetFloat64(self.handle, numbers, ctypes.c_size_t(3), (ctypes.c_double * 3)(x, v, r))
        pointers = [ctypes.byref(flags, k) for k in range(3)]
        last = ctypes.c_double()
        self.library.fmi3DoStep(
            self.handle, ctypes.c_double(t), ctypes.c_double(h), True, *pointers, ctypes.byref(last)
        )
        self.library.fmi3GetFloat64(self.handle, (ctypes.c_uint * 1)(3), ctypes.c_size_t(1), ctypes.byref(u))
        return u.value


@pytest.mark.slow
def test_in_a_loop_with_a_controller_in_c(arm, tmp_path):
    """Both stepped in turn; against the same law in Python around a simulation of our own."""
    slave, regulator = Slave(arm, tmp_path / "a"), Controller(controller(tmp_path), tmp_path / "c")
    ours = fm.simulation(Case.from_dict(DATA))
    for k in range(100):
        u = regulator.step(0.01 * k, 0.01, slave["joints.pin.position"], slave["joints.pin.velocity"], 0.5)
        slave.step(0.01, torque=u)
        ours.step(0.01, {"torque": 20.0 * (0.5 - ours["pin.position"]) - 4.0 * ours["pin.velocity"]})
        assert slave["joints.pin.position"] == pytest.approx(ours["pin.position"], abs=1e-12)
    slave.close()


@pytest.mark.slow
def test_what_goes_wrong_is_said_through_the_log(arm, tmp_path):
    slave = Slave(arm, tmp_path / "a")
    slave.t = 1.0
    with pytest.raises(Exception, match="fmi3DoStep"):
        slave.step(0.01)
    assert "the step is to begin at 1 s" in slave.said[-1]
    with pytest.raises(Exception, match="fmi3GetBoolean"):
        slave.fmu.getBoolean([1])
    assert "no variable of type Boolean" in slave.said[-1]
    with pytest.raises(Exception, match="fmi3GetFloat64"):
        slave.fmu.getFloat64([77])
    slave.close()


def test_one_case_is_one_file(arm, tmp_path):
    export_fmu(Case.from_dict(DATA), tmp_path / "arm.fmu")
    assert (tmp_path / "arm.fmu").read_bytes() == arm.read_bytes()


@pytest.mark.slow
def test_files_of_a_case_go_along(tmp_path, capsys):
    """Tables and modal data; the FMU is made by the command and moved away from the case."""
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "load.csv").write_text("0, 0\n1, 2\n")
    modal = fm.reduce(
        {"mesh": {"shape": "beam", "length": 1.0, "divisions": 4, "section": {"rectangle": [0.01, 0.02]}},
         "interfaces": {"root": {"set": "x_min"}, "tip": {"set": "x_max"}}},
        material="steel", modes=2,
    )  # fmt: skip
    modal.save(tmp_path / "case" / "beam.modal.h5")
    (tmp_path / "case" / "a.toml").write_text("""
[bodies.beam]
type = "flexible"
modal = "beam.modal.h5"
[joints.pin]
type = "revolute"
from = "ground"
to = "beam.root"
[forces.m]
type = "joint_force"
joint = "pin"
value = '=table("load.csv", t)'
[sensors.tip]
type = "position"
on = "beam.tip"
[analysis]
t_end = 0.1
rtol = 1e-9
atol = 1e-12
""")
    target = tmp_path / "beam.fmu"
    assert (
        main(["export", str(tmp_path / "case" / "a.toml"), "--fmi", "-o", str(target), "--channel", "beam.q"])
        == 0
    )
    assert "2 outputs" not in capsys.readouterr().out
    whole = execute(Case.load(tmp_path / "case" / "a.toml"), tmp_path / "a.h5").result
    shutil.rmtree(tmp_path / "case")
    slave = Slave(target, tmp_path / "b")
    for _ in range(5):
        slave.step(0.02)
    assert slave["sensors.tip.y"] == pytest.approx(float(np.asarray(whole["sensors/tip"])[-1, 1]), abs=1e-9)
    assert slave["bodies.beam.q[1]"] == pytest.approx(float(whole.bodies.beam.q[-1, 1]), abs=1e-9)
    slave.close()


def test_what_cannot_go_along_is_named(tmp_path):
    nothing = {"bodies": ARM["bodies"], "joints": {"fixed": {"type": "fixed", "from": "ground", "to": "arm"}}}
    with pytest.raises(InputError, match="show nothing"):
        export_fmu(Case.from_dict(nothing), tmp_path / "a.fmu")
    with pytest.raises(UsageError, match="NAME.fmu"):
        export_fmu(Case.from_dict(ARM), tmp_path / "a.zip")
    (tmp_path / "laws.py").write_text("def law(t):\n    return 1.0\n")
    law = ARM | {
        "forces": {"m": {"type": "joint_force", "joint": "pin", "value": {"function": "laws.py:law"}}}
    }
    with pytest.raises(InputError, match="does not carry"):
        export_fmu(Case.from_dict(law, folder=tmp_path, allow_python=True), tmp_path / "a.fmu")


@pytest.mark.slow
def test_an_fmu_that_carries_python_takes_nothing_else_from_its_host(arm, tmp_path, monkeypatch):
    """Every file that its process maps is its own or of the C library; the same numbers as the small one."""
    small = Slave(arm, tmp_path / "a")
    export_fmu(Case.from_dict(DATA), tmp_path / "big.fmu", carry=True)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.delenv("FLEXMBS_CACHE", raising=False)
    slave = Slave(tmp_path / "big.fmu", tmp_path / "b")
    assert slave.steps(0, 3) == small.steps(0, 3)
    own = str(tmp_path / "b")
    named = f"flexmbs.fmu.serve\0{own}".encode()
    found = [path for path in Path("/proc").glob("[0-9]*/cmdline") if named in read(path)]
    mapped = {
        line.split()[-1] for line in read(found[0].with_name("maps")).decode().splitlines() if "/" in line
    }
    others = {Path(name).name for name in mapped if not name.startswith((own, "/memfd"))}
    assert others, "there is a C library"
    of_host = (
        "libc.so",
        "libc-",
        "libm.so",
        "libm-",
        "ld-linux",
        "libdl",
        "libpthread",
        "librt",
        "libutil",
        "LC_",
        "gconv",
    )
    assert [name for name in others if not name.startswith(of_host)] == []
    for item in (slave, small):
        item.close()


def read(path: Path) -> bytes:
    """A file of a process, which may have ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_without_a_compiler_the_remedy_is_named(monkeypatch):
    from flexmbs.fmu import compiled

    monkeypatch.setattr(compiled, "BROUGHT", Path("nowhere.so"))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="wheel"):
        compiled.loader()


def test_the_loader_offers_every_function_of_the_standard():
    """By the functions that fmpy knows."""
    from fmpy import fmi3

    from flexmbs.fmu.compiled import SOURCE

    wanted = set(re.findall(r"def (fmi3\w+)", Path(fmi3.__file__).read_text()))
    text = SOURCE.read_text()
    own = set(re.findall(r"\b(fmi3[A-Z]\w+)\(", text)) | set(re.findall(r"REFUSED\((fmi3\w+)\)", text))
    for kind in re.findall(r"NONE_OF\((\w+)\)", text):
        own |= {f"fmi3Get{kind}", f"fmi3Set{kind}"}
    assert wanted <= own
