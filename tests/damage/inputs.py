"""A folder with one small input of every kind, all of them good, and the commands that read each."""

import contextlib
import os
import shutil
from unittest import mock

import meshio

import flexmbs as fm
from flexmbs.exchange import export_body
from flexmbs.fe.assembly import assemble
from flexmbs.fe.materials import material
from flexmbs.results import ResultWriter, segments
from flexmbs.study.run import plan
from flexmbs.study.store import Store
from tests.decks import corpus
from tests.decks import test_matrix_files as matrices
from tests.decks import test_small_readers as small
from tests.fe import mesh_writers as writers
from tests.fe.mesh_samples import sample

RECIPE = """\
modes = 2
frame = "tangent:left"

[mesh]
shape = "box"
size = [0.3, "40 mm", 0.03]
corner = [0, 0, 0]
divisions = [2, 1, 1]
element = "hex8"

[material]
young = "=E"
poisson = 0.3
density = 7850

[parameters]
E = "210 GPa"

[interfaces]
left = { set = "x_min", tie = "rbe2" }
right = { set = "x_max", dofs = "x y z" }

[sets]
top = { plane = { point = [0, 0, 0.03], normal = [0, 0, 1] }, tolerance = 1e-6 }
"""

CASE = """\
format_version = 1
title = "Two links, one of them bends"
gravity = [0.0, -9.81, 0.0]
include = ["more.toml"]

[parameters]
r = "50 mm"
speed = "60 rpm"

[ground.frames]
rail = { pos = [0.2, 0, 0] }

[bodies.crank]
type = "rigid"
mass = 0.4
com = ["=r/2", 0, 0]
inertia = { ixx = 2e-5, iyy = 1.1e-4, izz = 1.1e-4 }
frames = { pin = { pos = ["=r", 0, 0] } }
visual = { shape = "link", to = "pin", radius = "8 mm" }

[bodies.rod]
type = "flexible"
modal = "rod.modal.h5"
modes = { count = 4 }
damping = { type = "modal", ratio = 0.01 }
frames = { mid = { at = [0.15, 0.02, 0.015] } }

[joints.main]
type = "revolute"
from = "ground"
to = "crank"
axis = [0, 0, 1]
initial = { velocity = "=speed" }
spring = { stiffness = 3.0, free = 0.1 }

[joints.bigend]
type = "revolute"
from = "crank.pin"
to = "rod.left"
axis = [0, 0, 1]
damper = { damping = 0.01 }

[sensors.mid]
type = "displacement"
on = "rod.mid"

[analysis]
type = "dynamics"
t_end = 0.01
method = "generalized-alpha"
step = 1e-3

[output]
file = "case.h5"
every = 1e-3

[metrics]
peak = "=max(abs(mid.y))"

[expected]
"joints.main.position[0]" = { value = 0.0, atol = 1e-9 }
"""

INCLUDED = """\
[forces.push]
type = "point"
on = "rod.right"
force = ["=2*sin(10*t)", "=-0.1*main.velocity", "=table(\\"push.csv\\", t)"]

[forces.spring]
type = "spring_damper"
from = "ground.rail"
to = "rod.right"
stiffness = "1 N/mm"
damping = 0.1
length = 0.1
"""

PUSH = "t, F\n0, 0\n0.5, 1\n1, 0\n"

#: of the corpus: solids, shells of layers, beams with offsets, a hub; free, small and large fields
CORPUS = (
    "hex8-mm-t-s-G-free-0.bdf", "hex8-mm-t-s-MAT9-small-1.bdf", "CQUADR-mm-t-s-layers.bdf",
    "CTRIA3-mm-t-s-plain.bdf", "PBARL-m-kg-s.bdf", "CROD-mm-t-s.bdf", "hex8-mm-t-s-ENGINEERING.inp",
    "S8R-mm-t-s.inp", "B31-mm-t-s.inp",
)  # fmt: skip
UNIT_OF_UNV = "         5  mm (milli newton)         2\n  1.0000000000000000D+03  1.0D+03  1.0D+00\n  2.7D+02"

MESHES = {
    "a41.msh": lambda mesh, path: writers.write_gmsh41(mesh, path),
    "b41.msh": lambda mesh, path: writers.write_gmsh41(mesh, path, binary=True),
    "a22.msh": lambda mesh, path: writers.write_gmsh22(mesh, path),
    "b22.msh": lambda mesh, path: writers.write_gmsh22(mesh, path, binary=True),
    "a.inp": writers.write_inp,
    "a.bdf": writers.write_bdf,
    "a.vtk": writers.write_vtk,
    "b.vtk": lambda mesh, path: writers.write_vtk(mesh, path, binary=True, version=5),
    "a.vtu": writers.write_vtu,
    "b.vtu": lambda mesh, path: writers.write_vtu(mesh, path, form="appended"),
}
BINARY = {"b41.msh", "b22.msh", "b.vtk", "b.vtu", "MAA-binary.op4", "rod.simscape.mat"}

#: decks of other programs, of whole bodies
DECKS = {
    "b.unv": lambda: small.unv(*small.part("tet10", (1, 1, 1)), "tet10", UNIT_OF_UNV),
    "b.mail": lambda: small.mail(*small.part("hex8"), "hex8"),
    "b.ftl": lambda: small.ftl(*small.part("hex8"), "hex8"),
    "b.cdb": lambda: small.cdb(*small.part("hex8"), "hex8", 185, ["D,       1,UX  ,  0.0,  0.0"]),
    **{name: lambda name=name: corpus_deck(name) for name in CORPUS},
}
#: mass matrices of other programs, and how each is written
MATRICES = {
    "a.mas": matrices.write_calculix, "a_MASS1.mtx": matrices.write_abaqus,
    "m.mtx": matrices.write_coordinate,
    "MAAX.pch": matrices.write_dmig, "MAA.op4": matrices.write_op4,
    "MAA-sparse.op4": matrices.write_op4_sparse, "MAA-binary.op4": matrices.write_op4_binary,
    "mass.hb": matrices.write_hbmat,
}  # fmt: skip


def corpus_deck(name):
    return next(text for known, text, _ in corpus.decks() if known == name)


def make_matrices(folder):
    mesh = matrices.part("hex8", (2, 1, 1))  # as small as may be: each number is parsed again and again
    fe = assemble(mesh, material("steel"))
    for name, write in MATRICES.items():
        own = folder / write.__name__  # some forms have files beside
        own.mkdir()
        _, made = write(own, mesh, fe.K_fe, fe.M_fe)
        made.rename(own / name)
        for path in own.iterdir():
            path.rename(folder / path.name)
        own.rmdir()


#: how commands read them
BARE = ("--modes", "0", "--no-geometric-stiffness", "--stress", "none", "-o", "out.modal.h5")


def reduce_deck(name):
    given = ("--material", "steel") if name.endswith((".unv", ".mail")) else ()  # which have none
    return ["reduce", name, *given, *BARE]


def reduce_matrices(name):
    return ["reduce", "--from-matrices", "k.mtx", name, "nodes.txt", *BARE]


#: bodies in the files of other programs; the last two have exactly one interface, moved in all directions
BODIES = ("rod.fem", "rod.sid_fem", "rod.mbsim.h5", "rod.simscape.mat", "rod.extptfm")
ONE_END = RECIPE.replace('right = { set = "x_max", dofs = "x y z" }\n', "")

ARM = """<robot name="arm">
<link name="foot"/>
<link name="upper">
  <inertial><origin xyz="0.1 0 0.02" rpy="0 0.1 0"/><mass value="2.5"/>
    <inertia ixx="0.01" ixy="0.001" ixz="0" iyy="0.02" iyz="0" izz="0.025"/></inertial>
  <visual><origin xyz="0.1 0 0"/><geometry><box size="0.2 0.05 0.04"/></geometry></visual>
</link>
<link name="fore">
  <inertial><mass value="1.5"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
  <visual><geometry><mesh filename="../outside/canary.txt"/></geometry></visual>
</link>
<link name="tool"><visual><geometry><cylinder radius="0.02" length="0.1"/></geometry></visual></link>
<joint name="shoulder" type="revolute">
  <parent link="foot"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="2" effort="7" velocity="3"/><dynamics damping="0.5" friction="0.25"/>
</joint>
<joint name="elbow" type="prismatic">
  <parent link="upper"/><child link="fore"/><origin xyz="0.2 0 0"/><axis xyz="1 0 0"/>
  <limit lower="0" upper="0.1" effort="1" velocity="1"/>
  <mimic joint="shoulder" multiplier="-0.5" offset="0.1"/>
</joint>
<joint name="wrist" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0.1 0 0"/></joint>
</robot>
"""
WALKER = """<mujoco model="walker">
<compiler angle="radian" meshdir="."/>
<option gravity="0 0 -9.81"/>
<worldbody>
  <body name="torso" pos="0 0 1.3">
    <freejoint name="root"/>
    <inertial pos="0.02 0.01 0.1" mass="4" diaginertia="0.2 0.15 0.1"/>
    <body name="thigh" pos="0.1 0 -0.2">
      <joint name="hip" axis="1 0 0" damping="0.3" range="-1 1" limited="true" stiffness="3"/>
      <inertial pos="0 0.02 -0.2" mass="1.5" fullinertia="0.03 0.031 0.01 0.002 -0.001 0.003"/>
      <body name="shin" pos="0 0 -0.4">
        <joint name="knee" type="slide" axis="0 0 1" frictionloss="0.2"/>
        <inertial pos="0 0 -0.1" mass="0.8" diaginertia="0.01 0.012 0.004"/>
      </body>
    </body>
  </body>
</worldbody>
<equality><joint name="both" joint1="hip" joint2="knee" polycoef="0 1 0 0 0"/></equality>
</mujoco>
"""
ROBOTS = {"arm.urdf": ARM, "walker.xml": WALKER}

#: formats that meshio reads
MESHIO = ("med", "xdmf", "exo", "cgns", "mesh", "avs", "mdpa", "su2", "vol", "h5m", "tec", "f3grid")
#: what inputs need beside the dependencies
NEEDS = {"arm.urdf": ("yourdfpy",), "walker.xml": ("mujoco",), "m.exo": ("netCDF4",)}

SWEPT = """\
include = ["case.toml"]

[sweep]
keep = "all"
grid = { r = ["40 mm", "50 mm"], speed = ["60 rpm", "70 rpm"] }
time_out = "60 s"
limits = { peak = [0, 0.1] }
"""
STUDY = "swept.study"


def make_study(folder):
    """Two designs are done, one of them failed, two are open."""
    made = plan(folder / "swept.toml", folder / STUDY)
    store = Store.create(made.folder, made.data)
    store.write_row(0, {"status": "complete", "message": "", "metrics": {"peak": 0.05}, "seconds": 1.0})
    store.write_row(1, {"status": "failed", "message": "joints.main", "metrics": {}, "seconds": 1.0})
    shutil.copy(folder / "result.h5", store.result(0))
    store.write_table()
    for row, name in ((0, "done.json"), (1, "failed.json")):
        (folder / STUDY / "rows" / name).symlink_to(f"{store.ids[row]}.json")


#: an unfinished result with some segments, and what goes on with it
PARTS = "cut.h5.parts"
SETTING = {"output.checkpoint_every": 0.004}
RESUME = ["run", "case.toml", "-o", "cut.h5", "--resume", "--set", "output.checkpoint_every=0.004"]


class Stopped(Exception):
    """Stands for the end of a process."""


def make(folder):
    """Write all inputs; their names are those of READERS."""
    for name, text in {
        "rod.reduce.toml": RECIPE, "case.toml": CASE, "more.toml": INCLUDED, "push.csv": PUSH,
    }.items():  # fmt: skip
        (folder / name).write_text(text)
    fm.reduce(folder / "rod.reduce.toml").save(folder / "rod.modal.h5")
    fm.run(folder / "case.toml", folder / "result.h5")
    with mock.patch.object(ResultWriter, "finish", side_effect=Stopped), contextlib.suppress(Stopped):
        fm.run(folder / "case.toml", folder / "cut.h5", **SETTING)
    segments.write_status(folder / PARTS, "failed", "the process ended")
    (folder / "link.h5").symlink_to("../outside/canary.txt")
    os.mkfifo(folder / "pipe")
    mesh = sample("hex8")
    for name, write in MESHES.items():
        write(mesh, folder / name)
    make_foreign(folder)


def make_foreign(folder):
    """Inputs in the forms of other programs."""
    for name, text in {name: text() for name, text in DECKS.items()}.items() | ROBOTS.items():
        (folder / name).write_text(text)
    make_matrices(folder)
    (folder / "nodes.txt").write_text(matrices.table(matrices.part("hex8", (2, 1, 1))))
    (folder / "one.reduce.toml").write_text(ONE_END)
    body = fm.reduce(folder / "one.reduce.toml")
    for name in BODIES:
        export_body(body, folder / name, **({"invariants": True} if name.endswith(".fem") else {}))
    solid = sample("tet4")
    cells = [("tetra", solid.cells["tet4"])]
    for ending in MESHIO:
        meshio.write(folder / f"m.{ending}", meshio.Mesh(solid.points, cells))
    (folder / "swept.toml").write_text(SWEPT)
    make_study(folder)


#: inputs that no command on another one reads
ALONE = {*MESHES, *DECKS, *MATRICES, *BODIES, *ROBOTS, *(f"m.{ending}" for ending in MESHIO)}
STUDIES = (["sweep", "status", STUDY], ["sweep", "report", STUDY, "-o", "out.html"])

#: input -> commands that read it, in the folder where it lies
READERS = {
    "case.toml": (*4 * (["check", "case.toml"],), ["run", "case.toml", "-o", "out.h5"]),
    "more.toml": (["check", "case.toml"],),
    "push.csv": (["check", "case.toml"],),
    "rod.reduce.toml": (["reduce", "rod.reduce.toml", "-o", "out.modal.h5"],),
    "rod.modal.h5": (
        ["info", "rod.modal.h5"],
        ["run", "case.toml", "-o", "out.h5"],
        ["animate", "rod.modal.h5", "-o", "out.glb"],
    ),
    "result.h5": (
        ["info", "result.h5"],
        ["export", "result.h5", "-o", "out.csv"],
        ["export", "result.h5", "-o", "out.vtkhdf"],
        ["animate", "result.h5", "-o", "out.glb"],
        ["report", "result.h5", "-o", "out.html", "--no-animation"],
        ["animate", "result.h5", "-o", "out.html"],
        ["stress", "result.h5", "rod"],
        ["compare", "result.h5", "result.h5"],
    ),
    **{f"{PARTS}/{name}": (["info", "cut.h5"], RESUME) for name in ("header.h5", "000000.h5", "000001.h5")},
    **{f"{PARTS}/{name}": (RESUME, ["info", "cut.h5"]) for name in ("manifest.jsonl", "status.json")},
    **{name: (["info", name],) for name in MESHES},
    **{name: (reduce_deck(name),) for name in DECKS},
    **{name: (reduce_matrices(name),) for name in MATRICES},
    **{name: (["import", name, "-o", "out.modal.h5"],) for name in BODIES},
    **{name: (["import", name, "-o", "out.toml"],) for name in ROBOTS},
    **{f"m.{ending}": (["info", f"m.{ending}"],) for ending in MESHIO},
    "swept.toml": (["sweep", "swept.toml", "--dry-run"],),
    **{f"{STUDY}/{name}": STUDIES for name in ("study.json", "rows/done.json", "rows/failed.json")},
}
