"""Flat arrays of a system, for the kernels: `Tables` is constant, `Workspace` is computed.

Row 0 of every table of bodies is ground; bodies 1 ... n_bodies are numbered so that `parent[i] < i`. The
6-rows of the recursion (twists, wrenches, inertia) are in *ground* axes at the origin of the body, elastic
rows are modal: rotating one 6x6 per joint is dearer than rotating a body's inertia once. Whatever `f_app`
holds is in body axes, as in the formulation.

`pos = [beta_1, q_1, beta_2, q_2, ...]`, `vel = [eta_1, q_dot_1, ...]` follow that numbering. The columns of
C_i for the speeds of a body are rows of `Workspace.H` (F20).

Constraint rows (cut joints, couplings, drives on cut joints) come in groups, one group per cut joint or
law. A row is a sum of entries: relations between two markers (`ent_*`), and joint speeds (`dof_*`).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions import ExpressionTable

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Tables(NamedTuple):
    """Everything constant that kernels read; n_bodies rows are n_bodies + 1 long, ground first.

    Tables and workspaces go to kernels as handles (`_jit.handle`): one pointer in place of a thousand words,
    which makes calls fifty times cheaper and compilation short. Kernels look the same.
    """

    grav: Floats  # (3,)
    length: Floats  # (1,) a length of the model, by which moments become forces
    # bodies
    parent: Ints
    nf: Ints
    o_q: Ints  # offset of q in pos
    o_eta: Ints  # offset of the joint's speeds in vel, n_bodies + 2 long
    o_qd: Ints  # offset of q_dot in vel: speeds o_qd[i] ... o_eta[i + 1]
    o_f: Ints  # offset of a body's (6 + nf) forces in f_app
    o_block: Ints  # offset of the inertia block in block_data (ffrf/table.py)
    n_T: Ints
    n_A: Ints
    n_G: Ints
    low_rank: Ints  # columns of V in N_ff = S^2 + V C V^T, or -1 where it is factored as it is (F24a)
    child_start: Ints  # bodies outboard of body i: child[child_start[i] ... child_start[i + 1]]
    child: Ints
    o_rows: Ints  # offset of the inertia rows in Workspace.rows, 7 nf numbers
    o_K: Ints  # offset of K_ff and then D_ff in K_data, 2 nf^2 numbers
    o_N: Ints  # offset of the factor of N_ff in Workspace.N, nf^2 numbers
    o_E: Ints  # offset of 6 nf numbers: Workspace.G
    o_B: Ints  # offset of 6 nf[parent] numbers: Workspace.B
    block_data: Floats
    K_data: Floats
    m_in: Ints  # marker on the parent of the joint of body i
    m_out: Ints  # marker on body i
    # elementary motions of the tree joints, in the order from the parent to the body
    prim_start: Ints  # n_bodies + 2 long
    prim_axis: Ints  # 0, 1, 2; -1 a ball
    prim_turn: Floats  # sign included: negative when P is on the outer side
    prim_travel: Floats
    prim_beta: Ints  # offset in pos
    prim_eta: Ints  # offset in vel
    driven: Ints  # (n_vel,) place in drive_x of a prescribed speed, or -1
    attitude_pos: Ints  # place in pos of the quaternion that an attitude prescribes, or -1 in a cut
    massless: Floats  # (n_vel,) what is added to a vanishing pivot, else 0 (F26a)
    mass_scale: Floats  # (2,) a mass, and mass times length squared: what a pivot is compared with
    driven_pos: Ints  # (n_vel,) place in pos of its scalar coordinate, or -1
    # balls in pos, for x (+) v: places of the quaternion and of its three speeds
    ball_beta: Ints
    ball_eta: Ints
    vel_of_pos: Ints  # (n_pos,) place in vel of a scalar coordinate, -1 in quaternions
    # markers
    mark_body: Ints
    mark_u0: Annotated[Floats, 3]  # (n_markers, 3)
    mark_R0: Annotated[Floats, 3, 3]  # (n_markers, 3, 3)
    mark_row: Ints  # offset in mark_data of Phi (3 nf) and Psi (3 nf), by mode: 6 numbers per mode; -1: none
    mark_K: Ints  # offset in mark_data of K_P (6, nf, nf) of (F17a), or -1
    mark_L: Ints  # offset of 6 nf numbers in Workspace.L
    mark_data: Floats
    mark_travel: Ints  # (n_markers,) row in Workspace.travel, or -1
    # travelling markers on flexible bodies: splines of their rows (ffrf/travel.py)
    path_knots: Floats
    path_knot: Ints  # knots of row n of travel: path_knot[n] ... path_knot[n + 1]
    path_coefs: Floats
    path_coef: Ints
    path_row: Ints  # offset of 18 nf numbers in Workspace.path_rows
    path_line: Floats
    mark_start: Ints  # markers of body i: mark_start[i] ... mark_start[i + 1]
    # joint coordinates, all joints with scalar coordinates: what springs, couplings and sensors see
    coord_pos: Ints  # place in pos, or -1 for a cut joint
    coord_vel: Ints  # place in vel, or -1
    coord_entry: Ints  # entry that gives the coordinate of a cut joint, or -1
    coord_turn: Ints  # 1 where the coordinate is an angle
    # joints, in the order of `System.joints`: where their force is found (see dynamics/reactions/wrenches.py)
    joint_body: Ints  # body whose tree joint it is, or 0
    joint_sign: Floats  # 1, or -1 when P is on that body
    joint_p: Ints  # marker P
    joint_q: Ints  # marker Q
    joint_soft: Annotated[Floats, 6]  # compliances in the axes of P, for forces that equilibrium leaves open
    joint_row: Annotated[Ints, 2]  # (n_joints, 2) its rows, when it is a cut
    joint_coord: Annotated[Ints, 2]  # (n_joints, 2) its scalar coordinates
    # efforts of drives, in the order of the model; of a ball three, in the axes of Q
    drive_coord: Ints  # scalar coordinate that is prescribed, or -1
    drive_vel: Ints  # its place in vel, or -1 for a cut joint
    drive_row: Ints  # its row, when the joint is a cut, or -1
    drive_law: Ints  # its place in drive_v
    # relations between two markers: kinds in model/joints/relations.py
    ent_kind: Ints
    ent_p: Ints  # marker P
    ent_q: Ints  # marker Q
    ent_a: Ints
    ent_b: Ints
    ent_value: Floats
    ent_joint: Ints  # cut joint whose coordinate the entry gives, or -1
    # constraint rows and their groups
    group_start: Ints  # rows of group g: group_start[g] ... group_start[g + 1]
    group_of_row: Ints
    group_soft: Ints  # 1 where the rows are compliant: stiff forces in the implicit step (F45)
    row_massless: Ints  # speed whose inertia vanishes, or -1 (F26a)
    row_law: Ints  # place in drive_x of what is subtracted (drive, length), or -1
    row_expr: Ints  # expression of joint coordinates that is added, or -1
    row_const: Floats  # constants; those taken at the start are written once, by the assembly
    row_side: Floats  # sign that the multiplier keeps, 0 any: contacts that open
    share_row: Ints  # rows of couplings: with the joints they share what redundancy leaves open (F28)
    side_row: Ints  # rows of contacts
    block_of_group: Ints  # block of loops: groups whose forces pass through the same joints hang together
    block_of_joint: Ints  # block that loads the joint, or -1
    block_first: Ints  # rows of the blocks before
    rowent_start: Ints  # entries of row r: rowent[rowent_start[r] ... rowent_start[r + 1]]
    rowent: Ints
    rowent_coord: Ints  # joint coordinate by which an expression sees the entry, or -1: coefficient constant
    rowent_coef: Floats
    rowent_p: Ints  # places of the bodies of P and Q in path_body, -1 for ground
    rowent_q: Ints
    rowdof_start: Ints  # tree coordinates of a row
    rowdof_coord: Ints
    rowdof_expr: Ints  # 1 where the coefficient is a derivative of the row's expression
    rowdof_coef: Floats
    rowdof_place: Ints  # place of the coordinate's body in path_body
    # paths of the groups: bodies from the cut to the root, falling
    path_start: Ints
    path_body: Ints
    path_parent: Ints  # place of the parent in path_body, or -1 at the root
    path_e: Ints  # offset of (speeds of the body) x (rows of the group) numbers in Workspace.e
    path_col: Ints  # offset of the rows' sixes in Workspace.gcol, counted in sixes
    path_mode: Ints  # offset of (modes of the body) x (rows) numbers in Workspace.gcol_f
    # groups that pass a body: places in path_body
    body_path_start: Ints
    body_path: Ints
    path_group: Ints
    # envelope of the loop matrix: row r holds columns env_first[r] ... r from env_start[r]
    env_first: Ints
    env_start: Ints
    row_laws: ExpressionTable  # expressions of joint coordinates: slot 0 is t, 1 + c coordinate c


class Workspace(NamedTuple):
    """Everything computed; NaN until a stage fills it."""

    # position stage
    r: Annotated[Floats, 3]  # (n_bodies + 1, 3) origins
    R: Annotated[Floats, 3, 3]  # (n_bodies + 1, 3, 3) R_IB
    H: Annotated[Floats, 6]  # (n_vel, 6) columns of C_i at the body's origin: joint columns and Y_i (F20)
    B: Floats  # elastic columns of B_i at the body's origin, 6 numbers per mode of the parent
    mark_x: Annotated[Floats, 3]  # (n_markers, 3)
    mark_R: Annotated[Floats, 3, 3]  # (n_markers, 3, 3) R_IP
    mark_u: Annotated[Floats, 3]  # (n_markers, 3) u_P, body axes
    mark_Rl: Annotated[Floats, 3, 3]  # (n_markers, 3, 3) R_P, body <- marker
    mark_theta: Annotated[Floats, 3]  # (n_markers, 3) rotation of the marker by the modes, ground axes
    L: Floats  # elastic columns of L_P at the marker, ground axes, 6 numbers per mode (F18)
    e_axis: Annotated[Floats, 3]  # (n_prims, 3) axes of the elementary motions (balls: unused)
    e_point: Annotated[Floats, 3]  # (n_prims, 3) points on the axes, after the travel
    e_travel: Floats  # (n_prims,) travels
    # velocity stage: absolute, ground axes
    v: Annotated[Floats, 6]  # (n_bodies + 1, 6)
    a: Annotated[Floats, 6]  # (n_bodies + 1, 6) with the accelerations that were given
    mark_v: Annotated[Floats, 6]  # (n_markers, 6)
    mark_a: Annotated[Floats, 6]  # (n_markers, 6)
    mark_rel: Annotated[Floats, 12]  # velocity in the body and its rate beside the terms in w, ground axes
    # functions of time and their rates: drives (for a ball its speeds, then the laws that give
    # them), then lengths (`System.time_laws`); written before all stages
    drive_x: Floats
    drive_v: Floats
    drive_a: Floats
    attitude: Annotated[Floats, 4]  # (n_attitudes, 4) prescribed quaternions, Q to P (F19a)
    stack: Annotated[Floats, 3]
    slots: Floats  # (3, 1 + n_coords) what expressions see: values, rates, second rates
    out3: Floats
    travel: Annotated[Floats, 3, 3]  # (n_travel, 3, 3) place of travelling markers, its rate, its second rate
    path_rows: Floats  # their rows with two rates, body axes
    coord_x: Floats  # joint coordinates and their rates, all joints
    coord_v: Floats
    beta_ref: Floats  # (n_entries,) last value of every entry, to follow angles beyond half a turn
    # mass and force stage
    body_out: Floats  # (n_bodies + 1, 15) ffrf/inertia.py
    rows: Floats
    f_app: Floats  # applied forces, body axes, (6 + nf) per body: laws add to it
    tau: Floats  # (n_vel,) generalised forces
    tau_coord: Floats  # efforts on joint coordinates: laws add to it
    K_coord: Floats  # -d effort / d coordinate, for the shift (F43): laws set it
    D_coord: Floats  # -d effort / d rate
    K_tau: Floats  # (n_vel,) the same on the speeds of the tree
    D_tau: Floats
    # recursion
    M: Annotated[Floats, 6, 6]  # (n_bodies + 1, 6, 6) M_star
    f: Annotated[Floats, 6]  # (n_bodies + 1, 6) f_star of the residual
    M_f: Floats  # elastic columns of M_star's rigid rows, 6 numbers per mode
    N: Floats  # elastic blocks, then their Cholesky factors
    low_C: Floats  # scratch of the elastic block (F24a)
    low_R: Floats
    low_K: Floats
    low_p: Floats
    G: Floats  # (N_ff's factor)^-1 E^T, six rows of nf numbers per body
    U: Annotated[Floats, 6]  # (n_vel, 6)
    D: Floats  # (n_vel,)
    u: Floats  # (n_vel,)
    da: Annotated[Floats, 6]  # (n_bodies + 1, 6) change of the body accelerations
    delta: Floats  # (n_vel,) change of the accelerations
    f_p: Annotated[Floats, 6]  # (n_bodies + 1, 6) joint wrench on the body, ground axes at its origin
    # loops
    ent: Annotated[Floats, 10]  # value, rate, second rate; force (3), moment (3) on Q at its origin; spare
    rowent_c: Floats  # coefficients of the entries of rows, as used
    rowdof_c: Floats
    g: Floats  # (n_rows,) g, its rate, its second rate for the accelerations that were given
    g_dot: Floats
    g_ddot: Floats
    gap: Floats  # (n_rows,) how far a contact is open, also while g is that of a closed one
    gcol: Annotated[Floats, 6]  # (..., 6)
    gcol_f: Floats
    e: Floats
    e_f: Floats  # (max nf,) scratch: one column on the modes of a body
    S: Floats  # envelope of G A (F26), then its factors
    S_diag: Floats  # its diagonal before the factorisation
    S_inv: Floats  # (n_rows,) reciprocals of the pivots
    redundant: Ints  # (n_rows,) 1 where the row was found redundant
    used: Ints  # places of the other rows, one after another
    used_before: Ints  # (n_rows + 1,) how many of them come before the group of a place
    order: Ints  # (n_rows,) row at every place of S: rows of a group may have changed places
    swap: Floats  # (n_rows,) scratch by place
    cap: Ints  # (n_groups,) most independent rows that a group may have
    near: Floats  # (2,) least pivot over its natural size since it was set, and its group (F28)
    soft: Floats  # (n_rows,) compliance 1/kh of a row, 0 of a constraint; negative: the row is off (F45)
    rhs: Floats
    lam: Floats
    # outputs
    row_force: Floats  # (n_rows,) multipliers as they are reported
    reaction: Annotated[Floats, 6]  # (n_joints, 6) force and moment on Q's side, at Q, ground axes
    effort: Floats  # (n_efforts,)
    # states of self-stress (F28); those of a block have their places behind the rows of the blocks before
    null: Floats  # (n_null, n_rows) multipliers: in row k the k-th states of all blocks
    null_n: Ints  # (n_blocks,) how many there are
    null_w: Floats  # (n_null, 6 n_joints) their joint wrenches
    null_v: Floats  # (n_null + 1, 6) those of a joint or coupling in a metric, then as they are
    null_A: Floats  # (n_rows, n_null) squares, energies, directions without energy
    null_B: Floats
    null_V: Floats
    null_y: Floats  # (n_rows,) how much of every state
    null_d: Floats
    null_e: Floats
    null_i: Ints
    # contacts of a block among them: what they are, by side_row; then in the order of side_i
    side_is: Ints
    side_i: Ints
    side_z: Floats
    side_M: Floats
    side_C: Floats
    side_f: Floats
    side_q: Floats
    side_u: Floats
    side_x: Floats
