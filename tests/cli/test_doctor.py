"""`flexmbs doctor` tells the truth about what is installed."""

import json

from flexmbs.cli import doctor
from flexmbs.cli.main import main


def test_missing_component_is_named_with_its_command(monkeypatch, capsys):
    real = doctor.version_of
    monkeypatch.setattr(doctor, "version_of", lambda name: "" if name == "gmsh" else real(name))
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert 'gmsh           not installed (meshes from CAD): pip install "flexmbs[cad]"' in out


def test_json_has_the_versions(capsys):
    import numpy

    assert main(["doctor", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["required"]["numpy"] == numpy.__version__
    assert data["kernel_cache"]["writable"]
