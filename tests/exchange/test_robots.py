"""Robot descriptions as cases: the accelerations of Pinocchio and MuJoCo at random states."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.cli.main import main
from flexmbs.errors import FlexmbsError
from flexmbs.exchange import import_robot

#: public robots: an arm, a gripper with mimic joints, legs, a humanoid, one with dozens of fixed links
ROBOTS = ("ur5_robot", "panda", "solo12", "talos_reduced", "anymal-kinova", "pr2")


def robot_file(name):
    """A file of the package example-robot-data."""
    import cmeel

    root = Path(next(iter(cmeel.__path__))).parent / "cmeel.prefix" / "share" / "example-robot-data"
    return next(root.rglob(f"{name}.urdf"))


def bare(path):
    """The case without losses, stops and relations: what forward dynamics of a tree knows."""
    data = Case.load(path).source.data
    data.pop("couplings", None)
    data["joints"] = {name: joint for name, joint in data["joints"].items() if not joint.get("cut")}
    for joint in data["joints"].values():
        for key in ("stop", "friction", "damper", "spring"):
            joint.pop(key, None)
    for body in data["bodies"].values():
        body.pop("visual", None)
    return Case.from_dict(data, folder=path.parent).system()


@pytest.mark.needs("pinocchio", "yourdfpy", "cmeel")
@pytest.mark.parametrize("name", ROBOTS)
def test_public_robots_move_as_in_pinocchio(name, tmp_path):
    import pinocchio as pin

    source = robot_file(name)
    done = import_robot(source, tmp_path / "robot.toml")
    assert done["joints"] > 3
    model, system = pin.buildModelFromUrdf(str(source)), bare(tmp_path / "robot.toml")
    rng, state = np.random.default_rng(1), system.initial_state()
    q, v = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq)), rng.normal(size=model.nv)
    names = [n.replace("-", "_") for n in model.names]
    for joint, n in zip(model.joints[1:], names[1:], strict=True):
        c, angle = system.joints[n].coordinates[0], q[joint.idx_q]
        state.pos[c.pos] = angle if joint.nq == 1 else np.arctan2(q[joint.idx_q + 1], angle)
        state.vel[c.vel] = v[joint.idx_v]
    wanted = pin.aba(model, model.createData(), q, v, np.zeros(model.nv))
    motion = system.forward_dynamics(state)
    found = [motion.joints[n].acceleration[0] for n in names[1:]]
    np.testing.assert_allclose(
        found, [wanted[j.idx_v] for j in model.joints[1:]], rtol=0.0, atol=1e-10 * np.abs(wanted).max()
    )


WALKER = """
<mujoco model="walker">
  <compiler angle="radian"/>
  <option gravity="0.3 -0.4 -9.5"/>
  <worldbody>
    <body name="torso" pos="0 0 1.3" quat="0.9 0.1 -0.2 0.3">
      <freejoint name="root"/>
      <inertial pos="0.02 0.01 0.1" mass="4" diaginertia="0.2 0.15 0.1" quat="0.8 0.2 0.1 0.5"/>
      <body name="thigh" pos="0.1 0 -0.2" euler="0.2 0.1 -0.3">
        <joint name="hip.x" axis="1 0 0" pos="0 0 0.05" damping="0.3" armature="0.02"/>
        <joint name="hip.y" axis="0 1 0.2" pos="0.01 0 0" stiffness="3" springref="0.4"/>
        <inertial pos="0 0.02 -0.2" mass="1.5" fullinertia="0.03 0.031 0.01 0.002 -0.001 0.003"/>
        <body name="shin" pos="0 0 -0.4">
          <joint name="knee" type="slide" axis="0 0 1" range="-0.1 0.1" frictionloss="0.2" armature="0.3"/>
          <inertial pos="0 0 -0.1" mass="0.8" diaginertia="0.01 0.012 0.004"/>
          <body name="foot" pos="0 0 -0.3">
            <joint name="ankle" type="ball"/>
            <inertial pos="0.05 0 -0.02" mass="0.3" diaginertia="0.001 0.002 0.0015"/>
          </body>
        </body>
      </body>
      <body name="camera" pos="0 0.1 0.2">
        <inertial pos="0 0 0" mass="0.2" diaginertia="1e-4 1e-4 1e-4"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hip.x" gear="3"/></actuator>
</mujoco>
"""


@pytest.mark.needs("mujoco")
def test_a_walker_moves_as_in_mujoco(tmp_path):
    """Several joints a body, ball and free joints, springs and dampers, full inertias."""
    import mujoco

    (tmp_path / "walker.xml").write_text(WALKER)
    done = import_robot(tmp_path / "walker.xml", tmp_path / "walker.toml")
    assert any("actuators" in note for note in done["notes"])
    case = Case.load(tmp_path / "walker.toml")
    data = case.source.data
    assert data["joints"]["knee"]["stop"]["upper"] == 0.1
    assert data["joints"]["knee"]["friction"]["effort"] == 0.2
    del data["joints"]["knee"]["friction"], data["joints"]["knee"]["stop"]
    system = Case.from_dict(data, folder=tmp_path).system()
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "walker.xml"))
    model.dof_frictionloss[:] = 0.0
    assert_moves_as_in_mujoco(model, system, ["root", "hip_x", "hip_y", "knee", "ankle"])


def assert_moves_as_in_mujoco(model, system, names, scale=0.05):
    """The same accelerations of all joints, in the order of MuJoCo, at a random state."""
    import mujoco

    state, d, rng = system.initial_state(), mujoco.MjData(model), np.random.default_rng(2)
    for k, name in enumerate(names):
        a, v, place = model.jnt_qposadr[k], model.jnt_dofadr[k], system.joints[name]
        n_pos, n_vel = {0: (7, 6), 1: (4, 3)}.get(int(model.jnt_type[k]), (1, 1))
        x, w = scale * rng.normal(size=n_pos), rng.normal(size=n_vel)
        if n_pos > 1:
            x[-4:] = rng.normal(size=4)
            x[-4:] /= np.linalg.norm(x[-4:])
        d.qpos[a : a + n_pos], d.qvel[v : v + n_vel] = x, w
        if n_pos == 1:  # MuJoCo counts from there
            d.qpos[a] += model.qpos0[a]
        for part in (place, system.joints.get(f"{name}_rotor")):
            if part is not None:
                state.pos[part.pos : part.pos + n_pos], state.vel[part.vel : part.vel + n_vel] = x, w
    mujoco.mj_forward(model, d)
    motion = system.forward_dynamics(state)
    found = [np.ravel(motion.joints[n].acceleration) for n in names]
    # rotors take part by multipliers: rounding is that of the accelerations without them
    lost = np.finfo(float).eps * np.abs(bare_accelerations(model, d)).max()
    atol = 1e-9 * np.abs(d.qacc).max() + lost
    np.testing.assert_allclose(np.concatenate(found), d.qacc, rtol=0.0, atol=atol)


def bare_accelerations(model, data):
    """Without armatures."""
    import mujoco

    bare, other = copy.copy(model), mujoco.MjData(model)
    bare.dof_armature[:] = 0.0
    mujoco.mj_setConst(bare, other)  # inertias of bodies that only slide are constants
    other.qpos, other.qvel = data.qpos, data.qvel
    mujoco.mj_forward(bare, other)
    return other.qacc


#: models that Gymnasium ships: legs, arms, hands, carts; with springs and dampers in their joints
MODELS = (
    "ant", "half_cheetah", "hopper", "humanoid", "walker2d_v5", "pusher_v5", "reacher", "swimmer",
    "inverted_double_pendulum",
)  # fmt: skip


@pytest.mark.needs("mujoco", "gymnasium")
@pytest.mark.parametrize("name", MODELS)
def test_public_models_move_as_in_mujoco(name, tmp_path):
    """With their armatures; without what the import lists as left out, contacts and the medium, and without
    limits and friction, which are softer there."""
    import mujoco

    shutil.copy(shipped(f"{name}.xml"), tmp_path)
    import_robot(tmp_path / f"{name}.xml", tmp_path / "robot.toml")
    data = Case.load(tmp_path / "robot.toml").source.data
    for joint in data["joints"].values():
        for key in ("stop", "friction"):
            joint.pop(key, None)
    system = Case.from_dict(data, folder=tmp_path).system()
    model, off = mujoco.MjModel.from_xml_path(str(tmp_path / f"{name}.xml")), mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS
    model.opt.density = model.opt.viscosity = 0.0
    names = [model.joint(k).name.replace("-", "_") for k in range(model.njnt)]
    rotors = [name for name in names if f"{name}_rotor" in system.joints]
    assert len(rotors) == np.count_nonzero(model.dof_armature)
    assert_moves_as_in_mujoco(model, system, names, 0.3)


def shipped(name):
    """A file of the package gymnasium."""
    from importlib.util import find_spec

    return Path(find_spec("gymnasium").origin).parent / "envs" / "mujoco" / "assets" / name


LOOP = """
<mujoco>
  <compiler angle="radian"/>
  <default><geom type="capsule" size="0.01"/></default>
  <worldbody>
    <body name="crank">
      <joint name="a" axis="0 1 0"/><geom fromto="0 0 0 0.2 0 0"/>
      <body name="coupler" pos="0.2 0 0"><joint name="b" axis="0 1 0"/><geom fromto="0 0 0 0 0 0.3"/></body>
    </body>
    <body name="rocker" pos="0.3 0 0"><joint name="c" axis="0 1 0"/><geom fromto="0 0 0 -0.1 0 0.3"/></body>
    <body name="wheel" pos="1 0 0"><joint name="w" axis="0 1 0"/><geom type="sphere" size="0.05"/></body>
  </worldbody>
  <equality>
    <connect name="pin" body1="coupler" body2="rocker" anchor="0 0 0.3"/>
    <joint name="ratio" joint1="w" joint2="a" polycoef="0 2.5 0 0 0"/>
  </equality>
</mujoco>
"""


@pytest.mark.needs("mujoco")
def test_loops_and_relations_of_mjcf_hold(tmp_path):
    (tmp_path / "loop.xml").write_text(LOOP)
    import_robot(tmp_path / "loop.xml", tmp_path / "loop.toml")
    system = Case.load(tmp_path / "loop.toml").system()
    state = system.initial_state()
    motion = system.forward_dynamics(state)
    a, w = (float(motion.joints[name].acceleration[0]) for name in "aw")
    assert w == pytest.approx(2.5 * a, rel=1e-9) and abs(a) > 1.0
    place = {name: np.asarray(motion.bodies[name].position) for name in ("coupler", "rocker")}
    np.testing.assert_allclose(place["coupler"], [0.2, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(place["rocker"], [0.3, 0.0, 0.0], atol=1e-9)


ONE = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
MIMIC = f"""<robot name="g">
<link name="a b"/>
<link name="l">{ONE}</link>
<link name="r">{ONE}</link>
<joint name="one" type="revolute">
  <parent link="a b"/><child link="l"/><axis xyz="0 0 2"/>
  <limit lower="-1" upper="2" effort="7" velocity="3"/><dynamics damping="0.5" friction="0.25"/>
</joint>
<joint name="two" type="prismatic">
  <parent link="a b"/><child link="r"/><axis xyz="0 1 0"/>
  <limit lower="0" upper="0" effort="1" velocity="1"/><mimic joint="one" multiplier="-0.5" offset="0.1"/>
</joint>
</robot>"""


@pytest.mark.needs("yourdfpy")
def test_limits_losses_and_mimic_of_urdf(tmp_path, capsys):
    (tmp_path / "g.urdf").write_text(MIMIC)
    assert main(["import", str(tmp_path / "g.urdf"), "-o", str(tmp_path / "g.toml")]) == 0
    said = capsys.readouterr().out
    assert "largest speed of joint one" in said and "limits of joint two" in said and "1 stops" in said
    data = Case.load(tmp_path / "g.toml").source.data
    one = data["joints"]["one"]
    assert (
        one["damper"] == {"damping": 0.5} and one["friction"] == {"effort": 0.25} and "a_b" in data["bodies"]
    )
    assert one["stop"]["lower"] == -1 and one["stop"]["stiffness"] == pytest.approx(7 * 180 / np.pi, rel=1e-5)
    state = Case.load(tmp_path / "g.toml").system().initial_state()
    assert state.pos[1] == pytest.approx(-0.5 * state.pos[0] + 0.1, abs=1e-9)


DAMAGED = [("a.urdf", "<robot"), ("a.urdf", "<robot name='x'/>"), ("a.xml", "<mujoco>"), ("a.dae", "x")]


@pytest.mark.needs("yourdfpy", "mujoco")
@pytest.mark.parametrize(("name", "text"), DAMAGED)
def test_damaged_files_are_named(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(FlexmbsError) as caught:
        import_robot(tmp_path / name, tmp_path / "out.toml")
    assert name in str(caught.value) and not (tmp_path / "out.toml").exists()


LINKS = '<link name="a"/><link name="b"/><link name="c"/>'
CHILD = '<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/></joint>'
ROW = "".join(f'<link name="l{k}"/>' + CHILD.format(f"j{k}", f"l{k}", f"l{k + 1}") for k in range(250))
WRONG = [
    (LINKS + CHILD.format("j", "a", "b") + CHILD.format("k", "b", "a"), "ring of joints through link a"),
    (LINKS + CHILD.format("j", "a", "c") + CHILD.format("k", "b", "c"), "c is the child of joints j and k"),
    (LINKS + '<link name="a"/>', "links of the same name"),
    (ROW + '<link name="l250"/>', "more than 200 links in a row"),
    (LINKS + CHILD.format("j", "a", "b").replace("</j", '<axis xyz="0 0 0"/></j'), "joint j has the axis"),
    (LINKS.replace("/>", '><inertial><mass value="nan"/></inertial></link>', 1), "mass of link a is not fin"),
    (LINKS.replace("/>", '><inertial><mass value="-2"/></inertial></link>', 1), "link a has the mass -2"),
    (LINKS.replace("/>", "><inertial></link>", 1), "is no XML: mismatched tag"),
    (LINKS + CHILD.format("j", "a", "z"), "joint j connects a and z"),
    (LINKS + CHILD.format("j", "a", "b").replace("revolute", "screw"), 'joint j of type "screw"'),
]


@pytest.mark.needs("yourdfpy")
@pytest.mark.parametrize(("text", "said"), WRONG)
def test_robots_that_are_none_are_refused(tmp_path, text, said):
    """Rings vanished without a word, and torn elements were left out."""
    (tmp_path / "a.urdf").write_text(f'<robot name="r">{text}</robot>')
    with pytest.raises(FlexmbsError, match=said):
        import_robot(tmp_path / "a.urdf", tmp_path / "out.toml")
    assert not (tmp_path / "out.toml").exists()


SHAPES = """<robot name="s"><link name="a">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><sphere radius="0.2"/></geometry></visual>
<visual><geometry><box size="1 2 3"/></geometry></visual>
<visual><geometry><cylinder radius="0.1" length="2"/></geometry></visual>
<visual><origin xyz="1 0 0"/><geometry><mesh filename="part.stl" scale="2 1 -1"/></geometry></visual>
<visual><geometry><mesh filename="package://bot/meshes/part.dae"/></geometry></visual>
<visual><geometry><mesh filename="package://bot/meshes/part.dae"/></geometry></visual>
<visual><geometry><mesh filename="torn.obj"/></geometry></visual>
<visual><geometry><mesh filename="none.dae"/></geometry></visual>
<visual><geometry><mesh filename="../../far.stl"/></geometry></visual>
<visual><geometry><mesh filename="part.step"/></geometry></visual>
</link></robot>"""
#: a tetrahedron in centimetres, as another program writes it
DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimeter" meter="0.01"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="f" count="12">0 0 0 100 0 0 0 200 0 0 0 300</float_array><technique_common>
<accessor source="#f" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node id="n">
<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


@pytest.mark.needs("yourdfpy")
def test_shapes_to_draw_of_urdf(tmp_path):
    """Meshes are drawn from files of their own; what cannot be drawn is said, as is an impossible inertia of
    a link that moves."""
    import trimesh

    robot = tmp_path / "bot" / "urdf"
    (tmp_path / "bot" / "meshes").mkdir(parents=True)
    robot.mkdir()
    for name in ("bot/.flexmbs-root", "far.stl", "bot/urdf/part.step"):
        (tmp_path / name).touch()
    (robot / "a.urdf").write_text(SHAPES)
    (robot / "torn.obj").write_text("f 1 2 9")
    (tmp_path / "bot" / "meshes" / "part.dae").write_text(DAE)
    trimesh.creation.box([1, 2, 3]).apply_translation([0.5, 1, 1.5]).export(robot / "part.stl")
    done = import_robot(robot / "a.urdf", tmp_path / "a.toml", base="fixed")
    notes = "\n".join(done["notes"])
    assert "inertia of a, which does not move" in notes and "NOT RIGHT" not in notes
    assert notes.count("picture of a: ") == 4
    for what in (
        "torn.obj: ", "none.dae: there is no such file", "far.stl: outside of bot: put an empty file",
        "part.step: one of .stl, .dae, .obj, .ply is drawn",
    ):  # fmt: skip
        assert what in notes, notes
    text = (tmp_path / "a.toml").read_text()
    assert all(word in text for word in ('"sphere"', "radius = 0.2", '"box"', '"cylinder"'))
    assert text.count('"a.meshes/part_2.stl"') == 2 and text.count(".stl") == 3
    part, other = (trimesh.load(tmp_path / "a.meshes" / f"{name}.stl") for name in ("part", "part_2"))
    assert part.bounds.tolist() == [[0, 0, -3], [2, 2, 0]] and part.volume == pytest.approx(12.0)
    assert other.bounds.tolist() == [[0, 0, 0], [1, 2, 3]] and other.volume == pytest.approx(1.0)
    assert Case.load(tmp_path / "a.toml").model().bodies["a"].visual, "the files are where it looks for them"
    again = import_robot(robot / "a.urdf", tmp_path / "a.toml", root=tmp_path, overwrite=True)
    assert "outside" not in "\n".join(again["notes"])
    (tmp_path / "a.toml").unlink()
    with pytest.raises(FlexmbsError, match="exists already"):
        import_robot(robot / "a.urdf", tmp_path / "a.toml", base="fixed")


PICTURES = """<mujoco><asset><mesh name="part" file="part.stl" scale="2 1 1"/></asset><worldbody>
<geom type="plane" size="1 1 1"/>
<body name="a"><joint axis="0 0 1"/>
  <geom type="mesh" mesh="part" pos="0 0 5" euler="0 0 90"/>
  <geom type="capsule" size="0.1" fromto="0 0 0 0 0 2"/><geom type="box" size="1 2 3"/>
  <geom type="ellipsoid" size="1 2 3"/><geom size="0.3" group="3"/><geom size="0.4" pos="1 2 3"/>
</body></worldbody></mujoco>"""


@pytest.mark.needs("mujoco", "yourdfpy")
def test_shapes_to_draw_of_mjcf(tmp_path):
    """MuJoCo moves meshes into their axes of inertia; they are drawn where the file has them."""
    import trimesh

    (tmp_path / "m.xml").write_text(PICTURES)
    trimesh.creation.box([1, 2, 3]).apply_translation([0.5, 1, 1.5]).export(tmp_path / "part.stl")
    done = import_robot(tmp_path / "m.xml", tmp_path / "m.toml")
    assert "pictures of 3 shapes" in "\n".join(done["notes"])
    parts = Case.load(tmp_path / "m.toml").source.data["bodies"]["a"]["visual"]["parts"]
    assert [part.get("shape") for part in parts] == [None, "cylinder", "sphere", "sphere", "box", "sphere"]
    assert parts[1]["length"] == 2.0 and parts[4]["size"] == [2.0, 4.0, 6.0]
    balls = sorted(parts[k]["pos"][2] for k in (2, 3, 5))
    np.testing.assert_allclose(balls, [0, 2, 3], atol=1e-12)
    mesh = trimesh.load(tmp_path / parts[0]["file"])
    points = mesh.vertices @ np.array(parts[0]["rot"]["matrix"]).T + parts[0]["pos"]
    np.testing.assert_allclose([points.min(0), points.max(0)], [[-2, 0, 5], [0, 2, 8]], atol=1e-6)
    assert mesh.volume == pytest.approx(12.0)


SITES = """<mujoco><worldbody>
<body name="a"><joint name="a" axis="0 1 0"/><geom size="0.1" pos="0.5 0 0"/>
<site name="p" pos="1 0 0"/></body>
<body name="b" pos="1 0 0"><joint name="b" axis="0 1 0"/><geom size="0.1" pos="0.4 0 0"/>
<site name="q" pos="0 0 0" euler="0 90 0"/></body>
<body name="c" pos="0 0 1"><freejoint/><geom size="0.1" pos="0.1 0 0"/>
<site name="r" pos="0 0 0" euler="0 90 0"/></body></worldbody>
<equality><connect site1="p" site2="q"/><weld site1="r" site2="q"/></equality></mujoco>"""


@pytest.mark.needs("mujoco")
def test_loops_between_sites_of_mjcf(tmp_path):
    (tmp_path / "s.xml").write_text(SITES)
    import_robot(tmp_path / "s.xml", tmp_path / "s.toml")
    case = Case.load(tmp_path / "s.toml")
    pin, weld = (case.source.data["joints"][f"equality{k}"] for k in (0, 1))
    assert (pin["type"], pin["from"], pin["to"]) == ("spherical", "a.equality0", "b.equality0")
    assert (weld["type"], weld["from"], weld["to"]) == ("fixed", "c.equality1", "b.equality1")
    system = case.system()
    motion = system.forward_dynamics(system.initial_state())
    np.testing.assert_allclose(motion.bodies["c"].position, [1.0, 0.0, 0.0], atol=1e-9)


MODEL = """<mujoco><option density="1.2"><flag spring="disable" damper="disable"/></option>
<worldbody>
<body name="held" mocap="true"><geom size="0.1"/></body>
<body name="a" gravcomp="1"><geom size="0.1"/>
  <joint name="turn" axis="0 0 1" ref="10" armature="0.5" damping="2" stiffness="3"/>
  <body name="b" pos="1 0 0"><geom size="0.1"/>
    <joint name="ball" type="ball" frictionloss="1" armature="0.2" range="0 1" limited="true"/></body>
</body>
</worldbody>
<tendon><fixed name="t"><joint joint="turn" coef="1"/></fixed></tendon>
<equality>
<connect name="off" body1="a" body2="b" anchor="1 0 0" active="false"/>
<tendon name="rope" tendon1="t"/>
<joint name="stay" joint1="turn" polycoef="0.5 0 0 0 0"/>
</equality></mujoco>"""


@pytest.mark.needs("mujoco")
def test_what_a_case_does_not_take_of_mjcf_is_listed(tmp_path):
    (tmp_path / "m.xml").write_text(MODEL)
    notes = "\n".join(import_robot(tmp_path / "m.xml", tmp_path / "m.toml")["notes"])
    for what in (
        "body held is moved from outside", "joint turn counts from 0.174533 in MuJoCo, from zero here",
        "armature of joint ball, 0.2", "limit of joint ball", "damping, friction, spring of joint ball",
        "equality off: not active at the start", "equality rope: only connect, weld and joint are taken",
        "1 tendons", "forces of the medium", "weight that is taken off 1 bodies",
    ):  # fmt: skip
        assert what in notes, notes
    case = Case.load(tmp_path / "m.toml").source.data
    assert "damper" not in case["joints"]["turn"] and "spring" not in case["joints"]["turn"]  # switched off
    law = next(law for law in case["couplings"].values() if law["type"] == "expression")
    assert "0.5" in str(law) and "turn.position" in str(law)


@pytest.mark.needs("mujoco")
def test_warnings_of_mujoco_are_told_and_leave_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("w.xml").write_text(WALKER.replace('pos="0 0.02 -0.2"', 'pos="0 2147483648 -0.2"'))
    notes = import_robot(Path("w.xml"), Path("w.toml"))["notes"]
    assert any("what MuJoCo warns of: Inertia matrix" in note for note in notes)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w.toml", "w.xml"]


@pytest.mark.needs("yourdfpy")
def test_entities_bring_nothing_in(tmp_path):
    (tmp_path / "secret.txt").write_text("precious")
    head = '<!DOCTYPE robot [<!ENTITY x SYSTEM "secret.txt">]>'
    (tmp_path / "a.urdf").write_text(f'{head}<robot name="r"><link name="a"/>&x;</robot>')
    with pytest.raises(FlexmbsError, match="declares entities"):
        import_robot(tmp_path / "a.urdf", tmp_path / "out.toml")


NAMING = [
    '<worldbody><include file="../part.xml"/></worldbody>',
    '<worldbody><include file="inner.xml"/></worldbody>',
    '<asset><mesh name="m" file="../part.xml"/></asset>',
    '<compiler meshdir=".."/><asset><mesh name="m" file="part.xml"/></asset>',
]


@pytest.mark.needs("mujoco")
@pytest.mark.parametrize("text", NAMING)
def test_files_of_a_model_lie_in_its_root(tmp_path, text):
    body = '<body name="b"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
    (tmp_path / "in").mkdir()
    (tmp_path / "part.xml").write_text(f"<mujocoinclude>{body}</mujocoinclude>")
    (tmp_path / "in" / "inner.xml").write_text('<mujocoinclude><include file="../part.xml"/></mujocoinclude>')
    (tmp_path / "in" / "a.xml").write_text(f"<mujoco>{text}</mujoco>")
    with pytest.raises(FlexmbsError, match="part.xml.*, outside of in; .*.flexmbs-root"):
        import_robot(tmp_path / "in" / "a.xml", tmp_path / "out.toml")
    (tmp_path / ".flexmbs-root").touch()
    if "include" in text:
        assert import_robot(tmp_path / "in" / "a.xml", tmp_path / "out.toml")["bodies"] > 0


@pytest.mark.needs("yourdfpy")
def test_an_impossible_inertia_is_named(tmp_path):
    (tmp_path / "g.urdf").write_text(MIMIC.replace('ixx="1" iyy="1" izz="1"', 'ixx="1" iyy="1" izz="9"', 1))
    done = import_robot(tmp_path / "g.urdf", tmp_path / "g.toml")
    assert any("NOT RIGHT: link l" in note for note in done["notes"])
