"""What the keys of cases and recipes mean, for editors: by `Table.key`, or by `key` where it means one thing.

Read when the JSON Schema is made, and by nothing else. A key of a registered type (a joint, a force, a
coupling) needs no line here where the text of its own class names it in backticks.
"""

from __future__ import annotations

import re

_TEXTS = """
format_version: version of the format of this file; 1
title: a line that says what this is
gravity: acceleration of gravity, components in ground [m/s^2]; default none
include: files whose tables belong to this case
parameters: named numbers, used as "=name" in every expression; --set NAME=VALUE and sweeps change them
ground: frames of ground
bodies: rigid, flexible and point bodies by name
joints: joints by name, between two frames
couplings: gears, cams, screws and other laws between joint coordinates, by name
drives: prescribed joint coordinates, by name
states: own first-order states of controllers and filters, by name
forces: forces by name
sensors: what is measured, by name
analysis: what is computed, and how
output: where and when results are written
expected: expected values of channels or metrics; `run` and `verify` compare
metrics: numbers of the result, as expressions of channels
sweep: many runs over values of parameters
fit: parameters from measurements, found by flexmbs fit
optimise: parameters that make a metric best, found by flexmbs optimise
type: kind of this table; it decides which other keys there are
formulation: "recursive" (default), "minimal" or "descriptor": equations of motion
t_end: end of the motion [s]; 0 computes the initial state alone
until: expression that ends the run, on the point, where it turns positive
Analysis.start: "assembled" (default), "equilibrium" (statics first), or a result file whose last state it is
Analysis.method: "auto" (default), "generalized-alpha", "dopri5", "dop853", "rk4", "radau", "cvode" or "ida"
step: "auto", or a fixed step [s]
band: vibrations up to this frequency are computed [Hz]: "auto" (default), "all", or a number
redundant: "least-norm" (default) shares the forces of redundant joints; "error" refuses them
about: state of a linear model: "equilibrium" (default) or "assembled"
independent: joint coordinates that are the independent ones of the minimal form, as "crank.angle"
motion: file with the motion of inverse dynamics, .csv or a result
stabilisation: of the descriptor form: "projection" (default) or "baumgarte"
elastic: elastic coordinates under a given motion: "dynamic" (default) or "quasi-static"
inputs: inputs of a linear model
outputs: outputs of a linear model
frequencies: frequencies of a response [Hz]
campbell: parameter over which a linear model is computed
wheels: the two wheels: bodies, or "ground"
carrier: body that holds both axes; default ground
teeth: numbers of teeth of the two wheels
internal: true for a ring that meshes from inside
module: module of the teeth [m]; then tooth forces are reported and act
pressure_angle: pressure angle of the teeth; with it the whole force on the teeth is known
lead_angle: lead angle of the worm
from: frame or body that the relation starts at: marker P; "ground" too
to: frame or body that it leads to: marker Q
kinetic_energy: beside that of the mass [J], an expression of positions and velocities of joints and t
potential_energy: beside that of the weight [J], an expression of positions of joints and t
stiffness: stiffness [N/m] or [N m/rad]
damping: damping [N s/m] or [N m s/rad]
Bushing.stiffness: six stiffnesses in the axes of `from`: three translations, three rotations
Bushing.damping: six dampings in the axes of `from`: three translations, three rotations
FlexibleBodyTable.damping: damping of the elastic coordinates: modal, Rayleigh, a matrix, or none
cam: joint whose angle turns the cam
follower: joint whose travel follows
lift: lift over the angle, an expression of x
table: table of values, a CSV file
profile: outline of the cam, from which the lift follows
roller: radius of the follower's roller [m]
at: place on the body [m]
Cam.at: frame of the follower, centre of its roller or its flat face
pushes: side of its coordinate to which the cam drives the follower: "up" (default) or "down"
unilateral: true where the follower can lift off
polar: pairs of angle and radius
points: points [m]
file: a file, relative to this one
columns: names or numbers of the columns
values: the values
Campbell.from: first value
Campbell.to: last value
Frequencies.from: first frequency [Hz]
Frequencies.to: last frequency [Hz]
n: how many
spacing: "linear" (default) or "log"
parameter: name of the parameter
axis: direction of the joint's z axis in its frames: a vector, "x", "y" or "z"
Rotation.axis: axis of the turn
MovingRotation.axis: axis of the turn
CylinderPlace.axis: direction of the axis
point: point of the joint in ground, with all bodies at their poses
PlanePlace.point: a point of the plane [m]
CylinderPlace.point: a point of the axis [m]
RevoluteJoint.point: point of the joint in ground, with all bodies at their poses
initial: start of the coordinates
cut: true makes this joint the cut of its loop
compliance: compliances of the joint, which decide how redundant joints share forces
spring: spring on a coordinate of the joint
damper: damper on a coordinate of the joint
friction: dry friction in the joint
stop: stops of a coordinate of the joint
force: force [N], or an expression; components where it is a vector
Spring.force: force over x and v, an expression, in place of `stiffness`
Damper.force: force over v, an expression, in place of `damping`
SpringDamper.force: force over x (length) and v (its rate), an expression; tension is positive
Distributed.force: force per length, area or volume of the set [N/m, N/m^2, N/m^3]
coordinate: which coordinate of the joint, where it has several
on: body, or frame `body.frame`, on which it acts or is measured
set: node, face or cell set of the mesh
pressure: pressure on the face set; positive pushes on the body [Pa]
in: axes of the components: "ground" or "body"
joint: name of a joint
position: position over time, an expression or a number
JointInitial.position: position, or a list in the order of the coordinates
velocity: velocity over time, an expression or a number
JointInitial.velocity: velocity, or a list in the order of the coordinates
FreeInitial.velocity: velocity of the body's origin [m/s]
FlexibleInitial.velocity: velocity of the body's origin [m/s]
acceleration: acceleration over time, an expression or a number
LoadTable.acceleration: acceleration of the whole body [m/s^2]
modal: modal data of the body, a file of `flexmbs reduce`
reduce: recipe of the body, reduced when the case is run
recipe: keys of that recipe that are other here, as { modes = 8 }; "=L" is a parameter of the case
modes: choice among the modes of the modal data
RecipeFile.modes: number of fixed-interface or free modes; static modes come on top
pose: place and orientation of the body frame in ground, in the drawing of the mechanism
visual: how the body is drawn
inertia_terms: "full" (default), "first-order" or "constant": terms of the mass matrix in the modes
geometric_stiffening: false leaves out stiffening by loads
frames: frames of the body by name
nearest: coordinates whose nearest node is meant [m]
node: number of a node of the mesh
rot: orientation: axis and angle, Euler angles, quaternion, matrix, or two axes
pos: place of the origin [m]
angular_velocity: angular velocity [rad/s]
q: elastic coordinates at the start
q_dot: their rates at the start
effort: friction force or moment [N, N m]
coefficient: coefficient of friction, of the reaction
radius: radius [m]
lower: lower value
upper: upper value
hold: true keeps the given values exactly in the assembly
value: value, or an expression
pinion: joint of the pinion
rack: joint of the rack
nut: joint whose turn drives
slide: joint that travels
terms: factors of joint coordinates, whose sum is constant
matrix: matrix, row by row
ratio: damping ratio of all modes, or one per mode
count: number of modes, the first ones
max_frequency: highest frequency of the modes that are kept [Hz]
list: numbers of the modes that are kept
angle: angle of the turn
sequence: axes of the Euler angles, as "zyx"
angles: Euler angles in the order of `sequence`
quaternion: unit quaternion w, x, y, z
x: direction of the x axis, seen in the parent
y: direction of the y axis, seen in the parent
z: direction of the z axis, seen in the parent
PlanePlace.x: all nodes at this x [m]
PlanePlace.y: all nodes at this y [m]
PlanePlace.z: all nodes at this z [m]
every: distance of samples [s]; default t_end/1000
times: further times that are sampled exactly [s]
checkpoint_every: distance of checkpoints, from which a run can go on [s]
OutputTable.file: result file, relative to this one; default: the case's name in the current folder
function: Python function, "file.py:name"; needs --allow-python
channels: channels that the function gets
Related.parameters: the two parameters
method: how samples are drawn: "random", "sobol", "lhs", "grid", ...
RecipeFile.method: "craig-bampton" (default), "free-interface" or "given"
seed: number from which the samples follow
levels: levels of the designs of Morris
correlation: correlations of parameters
Sample.parameters: distributions of the parameters by name
relative_to: frame in which everything but the displacement is seen and resolved; default ground
shape: shape by its name
length: length [m]; a function of t where it may change
SpringDamper.length: free length [m]
preload: force at the free length [N]
RecipeFile.preload: static loads whose stress stiffens the body
size: size along x, y, z [m]
color: colour of the body
parts: further shapes
uniform: lower and upper bound
normal: mean and standard deviation
lognormal: median, and deviation of the logarithm
triangular: lower bound, peak, upper bound
weibull: scale and shape
within: bounds at which it is cut off
TieTable.within: largest gap that is tied [m]
grid: values per parameter; all combinations are run
zip: values per parameter, run side by side
Sweep.table: CSV file with a row per run
sample: samples of parameters
where: conditions between parameters; designs that miss one are left out
collect: metrics that are gathered; all where it is empty
keep: results that are kept: "all" (default), "failed", "none", "worst 5"
rank: metric by which designs are the worst, "-" before it where little is bad
limits: lower and upper limit by metric; how many designs lie beyond is told
time_out: a run that takes longer is ended [s]
on_failure: "go on" (default) or "stop"
measured: CSV file of measurements, time in its first column
deviation: of what was measured, by column; from what is left of it where it is not known
runs: most runs of a search
minimise: metric that is to be least
maximise: metric that is to be greatest
min: least value that a metric may have
max: greatest value that a metric may have
torque: torque, components or expressions [N m]
com: mass centre in the body frame [m]
inertia: inertia tensor about the mass centre, body axes [kg m^2]
PointMassTable.inertia: three principal moments, or three rows of three [kg m^2]
unit_system: units of mesh and matrices: "m" (default), "mm" (mm, N, t), or another set
mesh: mesh file, or a shape to be meshed
matrices: full matrices of another program in place of a mesh
ignore: cards of a deck that are left out
supports: supports of a deck: "drop" (default, the body is free), "interfaces" or "fix"
material: name of a material: steel, aluminium, titanium, or one of [materials]
materials: materials by name
young: Young's modulus [Pa]; three of an orthotropic material
poisson: Poisson's ratio; three of an orthotropic material
density: density [kg/m^3]
fmax: all modes up to this frequency, for a band of half of it [Hz]
tol: fewest modes whose measured error up to `fmax` is below this
frame: reference frame: "mean-axis" (default) or "tangent:INTERFACE"
mass: "consistent" (default) or "lumped" integrals
MatricesTable.mass: file of the mass matrix
MatricesTable.stiffness: file of the stiffness matrix
MatricesTable.nodes: table of node number, x, y, z, or a deck
stress: where stress modes are kept: "nodes" (default), "cells", "none"
geometric_stiffness: false leaves out the matrices of stiffening
merge_tol: nodes closer than this are one [m]
solver: "auto" (default), "superlu", "cholmod" or "pardiso"
point_masses: masses on nodes or interfaces
interfaces: markers by name: node sets that are tied to a frame
ties: surfaces that become one
sets: node sets by place
fix: sets whose nodes are held
loads: static loads
given: shapes of the user, taken as modes
section: cross section of the beam
nodes: nodes of the beam in order [m]
y_axis: direction of the section's y axis
theory: "euler-bernoulli" (default) or "timoshenko"
rotary_inertia: whether sections have inertia of their own when they turn
section_end: cross section at the far end, of a tapered beam
arcs: true takes the nodes as arcs of circles, through three each
BoxPlace.from: a corner [m]
BoxPlace.to: the opposite corner [m]
divisions: number of elements along each direction
corner: lowest corner [m]; without one it is centred
element: type of element
inside: true takes all up to the surface
inner_radius: radius of the bore [m]
origin: centre of the base [m]
shapes: modes: x, y, z components as expressions of x, y, z
plane: nodes in a plane
box: nodes in a box
cylinder: nodes on a cylinder
sphere: nodes on a sphere
tolerance: how far from the place a node may lie [m]
tie: "rbe2" (rigid) or "rbe3" (in the mean)
dofs: directions that are tied
angular_acceleration: angular acceleration of the whole body [rad/s^2]
temperature: change of temperature [K]
name: name of the material
shear: shear moduli of an orthotropic material [Pa]
loss_factor: loss factor of the material
expansion: coefficient of thermal expansion [1/K]
rotation: axes of the material
interface: name of an interface
inertias: inertia of every node, three rows of three [kg m^2]
rectangle: width along y and height along z [m]
circle: diameter [m]
tube: outer and inner diameter [m]
A: area [m^2]
Iy: second moment of area about y [m^4]
Iz: second moment of area about z [m^4]
J: torsion constant [m^4]
shear_factor: factors of the shear area
thickness: thickness of the shell [m]
offset: distance of the middle surface from the nodes, along the normal [m]
layers: layers from the bottom
ShellFile.axis: direction in the shell from which angles of layers count
ShellShape.axis: direction in the shell from which angles of layers count
ShellTable.axis: direction in the shell from which angles of layers count
sections: sections by cell set
center: centre [m]
surfaces: the two face sets, the first tied to the second
PlanePlace.normal: direction across the plane
CaseFile.inputs: numbers that come from outside, held between steps
Shape.to: frame of the body to which a link is drawn
Visual.to: frame of the body to which a link is drawn
RigidBodyTable.initial: start of a body that no joint holds
ParticleTable.initial: start of the particle
FlexibleBodyTable.initial: start of the elastic coordinates, and of a body that no joint holds
Optimise.method: "slsqp" (default), "cobyqa", "nelder-mead" or "differential-evolution"
Optimise.limits: what other metrics may be: [lower, upper], { min = value } or { max = value }
Optimise.tolerance: change of the metric, in parts of it, at which the search ends
Optimise.seed: number from which the random steps follow
Fit.tolerance: change, in parts, at which the search ends
Fit.channels: column of the file = channel of the result
Fit.parameters: parameters that may change, each with its lower and upper end
Optimise.parameters: parameters that may change, each with its lower and upper end
Sample.method: "sobol" (default), "halton", "latin", "random", "morris" or "saltelli"
LoadTable.angular_velocity: angular velocity of the whole body [rad/s]
LoadTable.force: force on the set or node [N]
GivenTable.values: nodal values of the modes: mode, node, x y z
GivenTable.stiffness: stiffness of these modes
GivenTable.damping: damping of these modes
"""


def _read(text: str) -> dict[str, str]:
    """Keys and texts; a key that stands twice is a mistake."""
    found = [line.split(": ", 1) for line in text.strip().splitlines()]
    assert len({key for key, _ in found}) == len(found), "a key is described twice"
    return {key: said for key, said in found}


TEXTS = _read(_TEXTS)


def described(table: str, key: str, about: str) -> str:
    """What a key of a table means; `about` is the text of the table's class, which may say it."""
    found = TEXTS.get(f"{table}.{key}") or (TEXTS.get(key) if not re.search(rf"`{key}`", about) else None)
    if found:
        return found
    return " ".join(about.split()) if re.search(rf"`{key}`", about) else TEXTS.get(key, "")
