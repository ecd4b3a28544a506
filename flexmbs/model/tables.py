"""Flat arrays of a system, for the kernels: `Tables` is constant, `Workspace` is computed.

Row 0 of every table of bodies is ground; bodies 1 ... n_bodies are numbered so that `parent[i] < i`. The
6-rows of the recursion (twists, wrenches, inertia) are in *ground* axes at the origin of the body, elastic
rows are modal: rotating one 6x6 per joint is dearer than rotating a body's inertia once. Whatever `f_app`
holds is in body axes, as in the formulation.

`pos = [beta_1, q_1, beta_2, q_2, ...]`, `vel = [eta_1, q_dot_1, ...]` follow that numbering. The columns of
C_i for the speeds of a body are rows of `Workspace.tree.H` (F20).

Annotations are no texts here: named tuples would compile each of them again in every start.

Constraint rows (cut joints, couplings, drives on cut joints) come in groups, one group per cut joint or
law. A row is a sum of terms: relations between two markers (`term`), and tree coordinates (`speed`).
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions.table import ExpressionTable

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class BodyTables(NamedTuple):
    """Bodies, ground first: modes, offsets of their data, inertia blocks, stiffness."""

    nf: Ints
    o_q: Ints  # offset of q in pos
    o_f: Ints  # offset of a body's (6 + nf) forces in f_app
    o_block: Ints  # offset of the inertia block in block_data (ffrf/table.py)
    n_T: Ints
    n_A: Ints
    n_G: Ints
    low_rank: Ints  # columns of V in N_ff = S^2 + V C V^T, or -1 where it is factored as it is (F24a)
    o_rows: Ints  # offset of the inertia rows in body.rows, 7 nf numbers
    o_K: Ints  # offset of K_ff and then D_ff in K_data, 2 nf^2 numbers
    o_N: Ints  # offset of the factor of N_ff in elastic.N, nf^2 numbers
    o_E: Ints  # offset of 6 nf numbers: elastic.G
    block_data: Floats
    K_data: Floats


class TreeTables(NamedTuple):
    """The tree: parents, speeds, markers of the tree joints, what is prescribed."""

    parent: Ints
    joint: Ints  # joint of body i, or -1
    o_eta: Ints  # offset of the joint's speeds in vel, n_bodies + 2 long
    o_qd: Ints  # offset of q_dot in vel: speeds o_qd[i] ... o_eta[i + 1]
    child_start: Ints  # bodies outboard of body i: child[child_start[i] ... child_start[i + 1]]
    child: Ints
    o_B: Ints  # offset of 6 nf[parent] numbers: tree.B
    m_in: Ints  # marker on the parent of the joint of body i
    m_out: Ints  # marker on body i
    driven: Ints  # (n_vel,) place in law.x of a prescribed speed, or -1
    driven_pos: Ints  # (n_vel,) place in pos of its scalar coordinate, or -1
    attitude_pos: Ints  # place in pos of the quaternion that an attitude prescribes, or -1 in a cut
    massless: Floats  # (n_vel,) what is added to a vanishing pivot, else 0 (F26a)
    mass_scale: Floats  # (2,) a mass, and mass times length squared: what a pivot is compared with
    vel_of_pos: Ints  # (n_pos,) place in vel of a scalar coordinate, -1 in quaternions


class PrimTables(NamedTuple):
    """Elementary motions of the tree joints, in the order from the parent to the body; balls."""

    start: Ints  # n_bodies + 2 long
    axis: Ints  # 0, 1, 2; -1 a ball
    turn: Floats  # sign included: negative when P is on the outer side
    travel: Floats
    beta: Ints  # offset in pos
    eta: Ints  # offset in vel
    ball_beta: Ints
    ball_eta: Ints


class MarkerTables(NamedTuple):
    """Markers: place in their body, modal rows."""

    body: Ints
    u0: Annotated[Floats, 3]  # (n_markers, 3)
    R0: Annotated[Floats, 3, 3]  # (n_markers, 3, 3)
    row: Ints  # offset in data of Phi (3 nf) and Psi (3 nf), by mode: 6 numbers per mode; -1: none
    K: Ints  # offset in data of K_P of (F17a), six numbers for each of nf nf pairs of modes, or -1
    L: Ints  # offset of 6 nf numbers in marker.L
    data: Floats
    travel: Ints  # (n_markers,) row in travel.x, or -1
    start: Ints  # markers of body i: start[i] ... start[i + 1]


class TravelTables(NamedTuple):
    """Travelling markers on flexible bodies: splines of their rows (ffrf/travel.py)."""

    knots: Floats
    o_knot: Ints  # knots of row n of travel: o_knot[n] ... o_knot[n + 1]
    coefs: Floats
    o_coef: Ints
    o_row: Ints  # offset of 18 nf numbers in travel.rows
    line: Floats


class CoordTables(NamedTuple):
    """Joint coordinates, all joints with scalar coordinates: what springs, couplings and sensors see."""

    pos: Ints  # place in pos, or -1 for a cut joint
    vel: Ints  # place in vel, or -1
    entry: Ints  # entry that gives the coordinate of a cut joint, or -1
    turn: Ints  # 1 where the coordinate is an angle


class JointTables(NamedTuple):
    """Joints in the order of `System.joints`: where their force is found (dynamics/reactions/wrenches.py)."""

    body: Ints  # body whose tree joint it is, or 0
    sign: Floats  # 1, or -1 when P is on that body
    p: Ints  # marker P
    q: Ints  # marker Q
    soft: Annotated[Floats, 6]  # compliances in the axes of P, for forces that equilibrium leaves open
    row: Annotated[Ints, 2]  # (n_joints, 2) its rows, when it is a cut
    of_row: Ints  # (n_rows,) the cut joint that has a row, or -1
    coord: Annotated[Ints, 2]  # (n_joints, 2) its scalar coordinates


class DriveTables(NamedTuple):
    """Efforts of drives, in the order of the model; of a ball three, in the axes of Q."""

    coord: Ints  # scalar coordinate that is prescribed, or -1
    vel: Ints  # its place in vel, or -1 for a cut joint
    row: Ints  # its row, when the joint is a cut, or -1
    law: Ints  # its place in law.v


class RelationTables(NamedTuple):
    """Relations between two markers: kinds in model/relations.py."""

    kind: Ints
    p: Ints  # marker P
    q: Ints  # marker Q
    a: Ints
    b: Ints
    value: Floats
    joint: Ints  # cut joint whose coordinate the entry gives, or -1


class GroupTables(NamedTuple):
    """Groups of constraint rows: one per cut joint or law."""

    start: Ints  # rows of group g: start[g] ... start[g + 1]
    soft: Ints  # 1 where the rows are compliant: stiff forces in the implicit step (F45)


class BlockTables(NamedTuple):
    """Blocks of loops: groups whose forces pass through the same joints hang together."""

    of_group: Ints  # block of loops: groups whose forces pass through the same joints hang together
    of_joint: Ints  # block that loads the joint, or -1
    first: Ints  # rows of the blocks before


class RowTables(NamedTuple):
    """Constraint rows."""

    group: Ints
    massless: Ints  # speed whose inertia vanishes, or -1 (F26a)
    law: Ints  # place in law.x of what is subtracted (drive, length), or -1
    expr: Ints  # expression of joint coordinates that is added, or -1
    const: Floats  # constants; those taken at the start are written once, by the assembly
    side: Floats  # sign that the multiplier keeps, 0 any: contacts that open
    laws: ExpressionTable  # expressions of joint coordinates: slot 0 is t, 1 + c coordinate c
    shared: Ints  # rows of couplings: with the joints they share what redundancy leaves open (F28)
    contact: Ints  # rows of contacts


class TermTables(NamedTuple):
    """Terms of rows that are relations: those of row r are start[r] ... start[r + 1]."""

    start: Ints  # entries of row r: start[r] ... start[r + 1]
    relation: Ints
    coord: Ints  # joint coordinate by which an expression sees the entry, or -1: coefficient constant
    coef: Floats


class SpeedTables(NamedTuple):
    """Terms of rows that are tree coordinates."""

    start: Ints  # tree coordinates of a row
    coord: Ints
    expr: Ints  # 1 where the coefficient is a derivative of the row's expression
    coef: Floats


class FrontTables(NamedTuple):
    """Fronts of rows (F54): body i has front i; those of loops between branches of a body come behind."""

    row: Ints  # slots of front f, one per row: row[f] ... row[f + 1]
    closed: Ints  # its first rows, which close in it; the others stay open
    up: Ints  # front that takes the open ones
    run: Ints  # 1 where they stand side by side in it, in the same order
    tried: Ints  # rows behind those that close, which are tried: they close as soon as they can
    next: Ints  # slot in the next front of the first that is still open of these, -1 where all end
    room: Ints  # slots that it has there for them
    L: Ints  # offset of its compliances in loop.L_open
    e: Ints  # offset of (speeds of the joint) x (rows) numbers in loop.e
    m: Ints  # offset of (rows) x (modes) numbers in loop.e_f
    body: Ints
    branch: Ints  # fronts of branches of body i: branch[i] ... branch[i + 1]
    inner: Ints  # fronts whose open rows front f takes: inside[inner[f]] ... inside[inner[f + 1]]
    inside: Ints


class PathTables(NamedTuple):
    """Speeds on which rows may depend."""

    meet: Ints  # (n_groups,) body where the ends of a group meet
    start: Ints  # speeds of row r: start[r] ... start[r + 1]
    speed: Ints


class SlotTables(NamedTuple):
    """Slots of rows in fronts, and those that the terms of a row load."""

    row: Ints  # row at a slot, -1 where any that is tried may come
    up: Ints  # its slot in the next front, -1 where it closes or is tried
    p: Ints  # slot of the row of a term at the bodies of P and Q, -1 for ground
    q: Ints
    speed: Ints  # place in loop.e of the row of a tree coordinate, at its speed
    massless: Ints  # place in loop.e of a row without inertia at its speed, or -1 (F26a)


class Tables(NamedTuple):
    """Everything constant that kernels read; n_bodies rows are n_bodies + 1 long, ground first.

    Tables and workspaces go to kernels as handles (`_jit.handle`): one pointer in place of a thousand words,
    which makes calls fifty times cheaper and compilation short. Kernels look the same; a part is a constant
    offset behind that pointer.
    """

    grav: Floats  # (3,)
    length: Floats  # (1,) a length of the model, by which moments become forces
    body: BodyTables
    tree: TreeTables
    prim: PrimTables
    marker: MarkerTables
    travel: TravelTables
    coord: CoordTables
    joint: JointTables
    drive: DriveTables
    relation: RelationTables
    group: GroupTables
    block: BlockTables
    row: RowTables
    term: TermTables
    speed: SpeedTables
    front: FrontTables
    slot: SlotTables
    path: PathTables


class BodyWork(NamedTuple):
    """Per body, ground axes at its origin."""

    r: Annotated[Floats, 3]  # (n_bodies + 1, 3) origins
    R: Annotated[Floats, 3, 3]  # (n_bodies + 1, 3, 3) R_IB
    v: Annotated[Floats, 6]  # (n_bodies + 1, 6)
    a: Annotated[Floats, 6]  # (n_bodies + 1, 6) with the accelerations that were given
    M_star: Annotated[Floats, 6, 6]  # (n_bodies + 1, 6, 6) M of the body, then with what hangs on it (F22)
    f_star: Annotated[Floats, 6]  # (n_bodies + 1, 6) its residual, the same
    f_p: Annotated[Floats, 6]  # (n_bodies + 1, 6) joint wrench on the body, ground axes at its origin
    da: Annotated[Floats, 6]  # (n_bodies + 1, 6) change of the body accelerations
    out: Floats  # (n_bodies + 1, 15) ffrf/inertia.py
    rows: Floats
    f_app: Floats  # applied forces, body axes, (6 + nf) per body: laws add to it
    stands: Ints  # (1,) of which state kinematics is (dynamics/evaluate.py)


class TreeWork(NamedTuple):
    """Per speed of the tree: columns of C_i and B_i, efforts, what the elimination leaves (F20, F22)."""

    H: Annotated[Floats, 6]  # (n_vel, 6) columns of C_i at the body's origin: joint columns and Y_i (F20)
    B: Floats  # elastic columns of B_i at the body's origin, 6 numbers per mode of the parent
    tau: Floats  # (n_vel,) generalised forces
    K_tau: Floats  # (n_vel,) the same on the speeds of the tree
    D_tau: Floats
    U: Annotated[Floats, 6]  # (n_vel, 6)
    N: Floats  # (n_vel,) pivots of N_i of the joint, speed by speed
    N_inv: Floats
    u: Floats  # (n_vel,)
    eta_hat_dot: Floats  # (n_vel,) change of the rates of all speeds, those of joints and of modes


class ElasticWork(NamedTuple):
    """Elastic blocks and their factors (F22, F24a)."""

    M_f: Floats  # elastic columns of M_star's rigid rows, 6 numbers per mode
    N: Floats  # elastic blocks, then the inverses of their Cholesky factors
    G: Floats  # (N_ff's factor)^-1 E^T, six rows of nf numbers per body
    low_C: Floats  # scratch of the elastic block (F24a)
    low_R: Floats
    low_K: Floats
    low_p: Floats


class PrimWork(NamedTuple):
    """Elementary motions as they stand."""

    axis: Annotated[Floats, 3]  # (n_prims, 3) axes of the elementary motions (balls: unused)
    point: Annotated[Floats, 3]  # (n_prims, 3) points on the axes, after the travel
    travel: Floats  # (n_prims,) travels


class MarkerWork(NamedTuple):
    """Markers as they stand and move."""

    x: Annotated[Floats, 3]  # (n_markers, 3)
    R: Annotated[Floats, 3, 3]  # (n_markers, 3, 3) R_IP
    u: Annotated[Floats, 3]  # (n_markers, 3) u_P, body axes
    Rl: Annotated[Floats, 3, 3]  # (n_markers, 3, 3) R_P, body <- marker
    theta: Annotated[Floats, 3]  # (n_markers, 3) rotation of the marker by the modes, ground axes
    v: Annotated[Floats, 6]  # (n_markers, 6)
    a: Annotated[Floats, 6]  # (n_markers, 6)
    rel: Annotated[Floats, 12]  # velocity in the body and its rate beside the terms in w, ground axes
    L: Floats  # elastic columns of L_P at the marker, ground axes, 6 numbers per mode (F18)
    K_rate: Floats  # scratch: K_P q_dot of one marker


class TravelWork(NamedTuple):
    """Travelling markers: places with rates, and their rows."""

    x: Annotated[Floats, 3, 3]  # (n_travel, 3, 3) place of travelling markers, its rate, its second rate
    rows: Floats  # their rows with two rates, body axes


class LawWork(NamedTuple):
    """Functions of time and their rates, and scratch of expressions. Written before all stages."""

    x: Floats
    v: Floats
    a: Floats
    attitude: Annotated[Floats, 4]  # (n_attitudes, 4) prescribed quaternions, Q to P (F19a)
    stack: Annotated[Floats, 3]
    slots: Floats  # (3, 1 + n_coords) what expressions see: values, rates, second rates
    out3: Floats


class CoordWork(NamedTuple):
    """Joint coordinates and what acts on them."""

    x: Floats  # joint coordinates and their rates, all joints
    v: Floats
    tau: Floats  # efforts on joint coordinates: laws add to it
    K: Floats  # -d effort / d coordinate, for the shift (F43): laws set it
    D: Floats  # -d effort / d rate


class RelationWork(NamedTuple):
    """Relations between markers, evaluated."""

    at: Annotated[Floats, 10]  # value, rate, second rate; force (3), moment (3) on Q at its origin; spare
    turn: Floats  # (n_entries,) where the rate of an angle leads, to follow it beyond half a turn
    angle: Annotated[Floats, 3]  # angle of the pose nearest to that, its rate, its second rate


class RowWork(NamedTuple):
    """Constraint rows, evaluated, and their multipliers."""

    g: Floats  # (n_rows,) g, its rate, its second rate for the accelerations that were given
    g_dot: Floats
    g_ddot: Floats
    gap: Floats  # (n_rows,) how far a contact is open, also while g is that of a closed one
    c_term: Floats  # coefficients of the entries of rows, as used
    c_speed: Floats
    redundant: Ints  # (n_rows,) 1 where the row was found redundant
    soft: Floats  # (n_rows,) compliance 1/kh of a row, 0 of a constraint; negative: the row is off (F45)
    lam: Floats
    force: Floats  # (n_rows,) multipliers as they are reported


class LoopWork(NamedTuple):
    """Columns of the rows through the tree, and what closes loops (F25, F54)."""

    E: Annotated[Floats, 6]  # (n_slots, 6) columns at the origins of the bodies
    e: Floats  # what they have on the speeds of joints
    e_f: Floats  # and on modes
    L_open: Floats  # compliances between the rows of a front, packed; then its factors
    bias: Floats  # (n_rows,) what is asked of a row, less what happens without it
    whole: Floats  # (n_rows,) its compliance before others are taken out
    natural: Floats  # (n_rows,) what that would be if the row moved the whole model
    pivot_inv: Floats  # (n_slots,) reciprocals of the pivots, 0 of redundant rows
    order: Ints  # (n_slots,) row at every slot: those that close or are tried may have changed places
    up: Ints  # (n_slots,) slot in the next front, -1 where it closed
    closed: Ints  # (n_fronts,) rows that closed in a front
    found: Ints  # (n_groups,) independent rows of a group that were tried
    lost: Ints  # (n_groups,) redundant ones
    basis: Annotated[Floats, 6]  # (7, 6) scratch
    G: Floats  # values of the rows in tree coordinates, by path
    swap: Floats  # (n_rows,) scratch
    along: Floats  # (n_vel,) scratch, zero
    cap: Ints  # (n_groups,) most independent rows that a group may have
    near: Floats  # (2,) least pivot over its natural size since it was set, and its group (F28)


class JointWork(NamedTuple):
    """Outputs: forces through joints, efforts of drives."""

    reaction: Annotated[Floats, 6]  # (n_joints, 6) force and moment on Q's side, at Q, ground axes
    effort: Floats  # (n_efforts,)


class NullWork(NamedTuple):
    """States of self-stress (F28); those of a block have places behind the rows of the blocks before."""

    lam: Floats  # (n_null, n_rows) multipliers: in row k the k-th states of all blocks
    n: Ints  # (n_blocks,) how many there are
    span: Annotated[Ints, 2]  # (n_rows, 2) where the rows of a state begin and end in `rows`, by place
    rows: Ints
    w: Annotated[Floats, 6]  # wrenches of loaded joints, one entry for every state and joint
    of: Ints  # state of an entry in its block
    next: Ints  # next entry of the same joint, or -1
    head: Ints  # (n_joints,) last entry of a joint, or -1
    mark: Ints  # (n_joints,) its entry in the state that is made
    size: Ints  # (3,) rows and entries so far, the first entry of the state that is made
    lo: Ints  # (n_rows,) first state with which that of a place has products
    stack: Ints  # scratch
    v: Floats  # (n_null + 1, 6) wrenches of a joint or coupling in a metric, then as they are
    A: Floats  # (n_rows, n_null) squares of a block and their factors
    B: Floats  # energy, the same; at last factors of what decides where contacts push
    V: Floats  # (n_null, n_null) both metrics together, of one block
    y: Floats  # (n_rows,) how much of every state
    d: Floats  # what the energy asks for
    i: Ints


class SideWork(NamedTuple):
    """Contacts of a block among them: what they are, by contact; then in the order of `i`."""

    state: Ints
    i: Ints
    lo: Ints  # zero
    z: Floats
    M: Floats
    C: Floats
    f: Floats
    q: Floats
    u: Floats
    x: Floats


class Workspace(NamedTuple):
    """Everything computed; NaN until a stage fills it."""

    body: BodyWork
    tree: TreeWork
    elastic: ElasticWork
    prim: PrimWork
    marker: MarkerWork
    travel: TravelWork
    law: LawWork
    coord: CoordWork
    relation: RelationWork
    row: RowWork
    loop: LoopWork
    joint: JointWork
    null: NullWork
    side: SideWork
