"""Modes on their mesh for other viewers: what meshio and VTK read is what the body has."""

import meshio
import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import UsageError
from flexmbs.exchange import export_body, import_body


@pytest.mark.parametrize("ending", [".vtu", ".xdmf"])
@pytest.mark.parametrize("stress", ["nodes", "cells"])
def test_modes_are_read_back_by_others(tmp_path, ending, stress):
    table = {"shape": "box", "size": [0.3, 0.02, 0.03], "divisions": [4, 1, 1], "element": "hex20"}
    modal = fm.reduce({"mesh": table, "material": "steel", "modes": 3, "stress": stress})
    done = export_body(modal, tmp_path / f"m{ending}")
    assert any("mode_1" in text and "Hz" in text for text in done["notes"])
    again = meshio.read(tmp_path / f"m{ending}")
    np.testing.assert_allclose(again.points, modal.mesh.points)
    np.testing.assert_allclose(again.point_data["mode_2"], modal.Phi[1], rtol=1e-12, atol=1e-15)
    found = again.point_data["mode_3_stress"] if stress == "nodes" else again.cell_data["mode_3_stress"][0]
    np.testing.assert_allclose(found, modal.stress[2], rtol=1e-12)
    with pytest.raises(fm.FlexmbsError, match="exists"):
        export_body(modal, tmp_path / f"m{ending}")
    with pytest.raises(UsageError, match="no body"):
        import_body(tmp_path / f"m{ending}")


def test_shells_and_beams_have_rotations_in_the_picture(tmp_path):
    table = {"shape": "shell", "size": [0.3, 0.2], "divisions": [3, 2], "thickness": 0.002}
    modal = fm.reduce({"mesh": table, "material": "steel", "modes": 2})
    export_body(modal, tmp_path / "m.vtu")
    again = meshio.read(tmp_path / "m.vtu")
    np.testing.assert_allclose(again.point_data["mode_1_rotation"], modal.Psi[0])
