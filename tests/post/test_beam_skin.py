"""Beams as drawn, and stresses at the outline of their section against formulas."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.modaldata import ModalData
from flexmbs.post.beam_skin import beam_surface, outline
from flexmbs.post.record import Record
from flexmbs.post.recovery import point_index, recover
from flexmbs.post.scene import modal_scene, result_scene

RECIPE = """
modes = 4
material = "steel"
frame = "tangent:root"
[mesh]
shape = "beam"
length = 0.5
divisions = 10
section = {section}
[interfaces]
root = {{ node = 1 }}
tip = {{ node = 11 }}
"""

CASE = """
format_version = 1
[bodies.beam]
type = "flexible"
modal = "beam.modal.h5"
[joints.wall]
type = "fixed"
from = "ground"
to = "beam.root"
[forces.tip]
type = "point"
on = "beam.tip"
force = [1.0, -0.02, 0.005]  # so small that tension does not stiffen
[forces.twist]
type = "torque"
on = "beam.tip"
torque = [3e-3, 0, 0]
[analysis]
type = "statics"
"""


def solved(folder, section):
    (folder / "beam.toml").write_text(RECIPE.format(section=section))
    fm.reduce(folder / "beam.toml").save(folder / "beam.modal.h5")
    (folder / "case.toml").write_text(CASE)
    fm.run(folder / "case.toml", folder / "case.h5")
    return Record.load(folder / "case.h5")


def test_the_section_is_drawn_as_it_is(tmp_path):
    record = solved(tmp_path, "{ rectangle = [0.03, 0.01] }")
    modal = ModalData.load(tmp_path / "beam.modal.h5")
    assert (
        modal.mesh.beam.beams[0].section.size == (0.03, 0.01)
        and modal.mesh.beam.beams[0].theory == "euler-bernoulli"
    )
    surface, Phi, nodes = beam_surface(modal)
    np.testing.assert_allclose(np.ptp(surface.points, axis=0), [0.5, 0.03, 0.01], atol=1e-15)
    p = surface.points[surface.triangles]
    volume = np.einsum("ti,ti->", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6.0
    assert volume == pytest.approx(0.5 * 0.03 * 0.01)  # closed, outward
    assert Phi.shape == (modal.nf, len(surface.points), 3) and len(nodes) == len(surface.points)
    body = result_scene(record).bodies[0]
    rows = modal.nf + len(modal.static_stress.stress)  # what the modes miss of the loads stands behind them
    assert body.stress.shape == (rows, len(surface.points), 6) and body.stress_q.shape[1] == rows
    assert modal_scene(modal, "beam").bodies[0].stress is not None


def test_sections_given_by_numbers_are_rectangles_of_their_radii():
    from flexmbs.fe.sections import section_from

    numbers = section_from({"A": 3e-4, "Iy": 3e-4 * 0.01**2 / 12, "Iz": 3e-4 * 0.03**2 / 12, "J": 1e-9})
    np.testing.assert_allclose(np.ptp(outline(numbers), axis=0), [0.03, 0.01])
    np.testing.assert_allclose(np.linalg.norm(outline(section_from({"tube": [0.02, 0.01]})), axis=1), 0.01)


def test_bending_and_tension_of_a_rectangle(tmp_path):
    found = recover(solved(tmp_path, "{ rectangle = [0.03, 0.01] }"), "beam")
    assert found.at == "fibres"
    root = np.flatnonzero(np.isclose(found.places[:, 0], 0.0))
    y, z = found.places[root, 1], found.places[root, 2]
    Iz, Iy = 0.01 * 0.03**3 / 12, 0.03 * 0.01**3 / 12
    # a force down and to +z: fibres above and on the side of -z are pulled
    expected = 1.0 / 3e-4 + 0.02 * 0.5 * y / Iz - 0.005 * 0.5 * z / Iy
    sigma = np.tensordot(found.q[-1], found.stress[:, root], axes=1)
    np.testing.assert_allclose(sigma[:, 0], expected, rtol=2e-3)  # levers of the deformed beam
    np.testing.assert_allclose(sigma[:, 1:], 0.0, atol=1e-6 * np.abs(expected).max())
    hottest = found.row(int(found.spots[0]))
    assert hottest["number"] == 1 and hottest["von_mises"] == pytest.approx(expected.max(), rel=2e-3)
    assert found.number[point_index(found, 1)] == 1
    assert found.row(point_index(found, 1))["von_mises"] == hottest["von_mises"]


def test_torsion_of_a_tube(tmp_path):
    found = recover(solved(tmp_path, "{ tube = [0.03, 0.02] }"), "beam")
    tip = np.flatnonzero(np.isclose(found.places[:, 0], 0.5))
    sigma = np.tensordot(found.q[-1], found.stress[:, tip], axes=1)
    J = np.pi * (0.03**4 - 0.02**4) / 32
    np.testing.assert_allclose(np.linalg.norm(sigma[:, [3, 5]], axis=1), 3e-3 * 0.015 / J, rtol=1e-3)
    # turned to +x at the face of +x, the fibre at +y is dragged to +z
    top = tip[np.argmax(found.places[tip, 1])]
    assert np.tensordot(found.q[-1], found.stress[:, top], axes=1)[5] > 0.0


def test_data_of_earlier_programs_say_what_they_lack(tmp_path):
    import dataclasses

    record = solved(tmp_path, "{ circle = 0.02 }")
    modal = ModalData.load(tmp_path / "beam.modal.h5")
    old = dataclasses.replace(modal, mesh=dataclasses.replace(modal.mesh, beam=None))
    old.save(tmp_path / "old.modal.h5")
    found = recover(record, "beam", modal={"beam": tmp_path / "old.modal.h5"})
    assert found.at == "nodes" and "means over their sections" in found.notes[0]
