"""Modes of linearised mechanisms: what a real result holds moves its bodies as the joints allow."""

import json
import struct

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.cli.main import main
from flexmbs.post.animation import animate
from flexmbs.post.animation.animate import result_story
from flexmbs.post.animation.frames import View, system_frames
from flexmbs.post.record import Record
from flexmbs.resources import resource


@pytest.fixture(scope="module")
def four_bar(tmp_path_factory):
    """The four-bar with a flexible coupler, linearised where it starts, its crank free to turn."""
    folder = tmp_path_factory.mktemp("linear")
    text = resource("cases", "four-bar-flexible.toml").read_text()
    head = text.split("[drives.motor]")[0]
    (folder / "four-bar-flexible.reduce.toml").write_text(
        resource("cases", "four-bar-flexible.reduce.toml").read_text()
    )
    (folder / "four.toml").write_text(head + '\n[analysis]\ntype = "linearize"\nabout = "assembled"\n')
    fm.run(folder / "four.toml", folder / "four.h5")
    return folder / "four.h5"


def test_motion_of_the_bodies_is_in_ground_axes(four_bar):
    """Crank pin and coupler's end move together: both are the velocity of one point."""
    record = Record.load(four_bar)
    crank, coupler = (record.require(f"linear/motion/{name}") for name in ("crank", "coupler"))
    pin = record.require("bodies/coupler/position")[0] - record.require("bodies/crank/position")[0]
    for k in range(len(crank)):
        v = crank[k, :3].T + np.cross(crank[k, 3:6].T, pin)
        largest = np.abs(record.require("linear/motion/coupler")[k, :6]).max()
        left = coupler[k, :3].T  # the tangent or mean frame may move against the marker by elastic speeds
        rod = result_story(record, None).scene.bodies[0].modal
        R = rotation(record, "coupler")
        elastic = R @ rod.interfaces["left"].Phi @ coupler[k, 6:]
        place = R @ rod.interfaces["left"].position
        left = left + np.cross(coupler[k, 3:6].T, place) + elastic.T
        np.testing.assert_allclose(left, v, atol=1e-9 * max(1.0, largest))


def rotation(record, body):
    from flexmbs.spatial import quat_to_matrix

    return quat_to_matrix(record.require(f"bodies/{body}/quaternion")[0])


def bending(record):
    """Number of the first bending mode; the free turning of the crank before it is one mode or two."""
    return 1 + int(np.argmin(np.abs(record.require("linear/frequency_hz") - 65.82)))


def test_joints_stay_closed_in_pictures_of_a_mode(four_bar):
    record = Record.load(four_bar)
    story = result_story(record, None)
    scene, frames = system_frames(story.scene, story.modes, View(mode=bending(record)), single=False)
    names = [body.name for body in scene.bodies]
    coupler, rocker = (scene.bodies[names.index(name)] for name in ("coupler", "rocker"))
    assert len(frames) == 40 and "65.82 Hz" in frames[0].text
    reach = []
    for frame in frames:
        end = coupler.points_at(frame.k)
        reach.append(end - story.scene.bodies[names.index("coupler")].points_at(0))
    largest = np.abs(reach).max()
    assert 0.01 * scene.radius() < largest < 0.1 * scene.radius()
    from flexmbs.spatial import quat_to_matrix

    right = coupler.modal.interfaces["right"]
    pin = np.array([0.4, 0.0, 0.0])
    for frame in frames:
        k = frame.k
        a = coupler.position[k] + quat_to_matrix(coupler.quaternion[k]) @ (
            right.position + right.Phi @ coupler.q[k]
        )
        b = rocker.position[k] + quat_to_matrix(rocker.quaternion[k]) @ pin
        assert np.linalg.norm(a - b) < 0.1 * largest  # closed to first order


def test_every_mode_of_the_system_is_an_animation_of_the_glb(four_bar, tmp_path):
    animate(four_bar, tmp_path / "a.glb")
    data = (tmp_path / "a.glb").read_bytes()
    (length,) = struct.unpack("<I", data[12:16])
    tree = json.loads(data[20 : 20 + length])
    record = Record.load(four_bar)
    assert len(tree["animations"]) == len(record.require("linear/frequency_hz"))
    number = bending(record)
    assert tree["animations"][number - 1]["name"].startswith(f"mode {number} of the system, 65.")
    assert len(tree["animations"][2]["channels"]) == 7  # three bodies, one of them with weights


def test_picture_of_a_mode_that_is_not_there(four_bar, tmp_path, capsys):
    assert main(["animate", str(four_bar), "-o", str(tmp_path / "a.png"), "--mode", "33"]) == 3
    assert "modes run from 1 to" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.needs("ffmpeg")
def test_film_plays(four_bar, tmp_path):
    import subprocess

    animate(four_bar, tmp_path / "a.mp4", view=View(mode=3))
    words = ["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=codec_name,nb_read_frames"]
    done = subprocess.run(
        [*words, "-of", "csv=p=0", str(tmp_path / "a.mp4")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "h264,40"


def test_a_system_without_modes_is_said_to_have_none(tmp_path):
    """A crank whose only freedom a drive determines."""
    crank = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 1e-3, "iyy": 1e-3, "izz": 1e-3}}
    case = fm.Case.from_dict(
        {
            "bodies": {"crank": crank},
            "joints": {"main": {"type": "revolute", "from": "ground", "to": "crank"}},
            "drives": {"motor": {"joint": "main", "position": "=1.0"}},
            "analysis": {"type": "linearize"},
        }
    )
    fm.run(case, tmp_path / "a.h5")
    for ending in ("html", "png", "glb"):
        done = animate(tmp_path / "a.h5", tmp_path / f"a.{ending}")
        assert done["notes"] == ["the linearised system has no modes: nothing in it can move by itself"]
