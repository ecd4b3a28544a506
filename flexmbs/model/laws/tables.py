"""Flat tables of force laws, channels and expressions, for the kernels; no law knows where it acts.

A law is a row: its kind, where it acts (markers or a joint coordinate), its first number in `value`. Numbers
are constants, or results of expressions and Python functions, written before the laws are looked at.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions.table import STACK, ExpressionTable

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Kinds of channels: what a slot of `LawWork.x` holds; a, b, c are the columns of `Laws.slot`.
TIME = 0
COORD_X, COORD_V = 1, 2  # a: joint coordinate
POS, VEL, AUX = 3, 4, 5  # a: place in the state
MARK_X, MARK_V, MARK_QUAT = 6, 7, 8  # a: marker, c: component; ground axes
REL_X, REL_V, REL_TURN, REL_QUAT, REL_W = 9, 10, 11, 12, 13  # a: marker, b: as seen from, c: component
ELASTIC_U = 14  # a: marker, c: component of u_P - u_P0, body axes
LOCAL = 15  # argument of a law: length or coordinate, and its rate

#: Slots with a fixed place.
SLOT_T, SLOT_X, SLOT_V = 0, 1, 2

#: Kinds of laws, with their numbers in `value`.
POINT_FORCE = 0  # 3 components in the axes of marker `axes`
POINT_TORQUE = 1  # 3 components
SPAN = 2  # stiffness, damping, length, preload
SPAN_LAW = 3  # local expression of x, v
BUSHING = 4  # 6 stiffnesses, 6 dampings
MODAL_LOAD = 5  # factor of a constant load vector in `load`
COORD_SPRING = 6  # stiffness, free
COORD_DAMPER = 7  # damping
COORD_LAW = 8  # local expression of x, v
COORD_FORCE = 9  # effort
COORD_FRICTION = 10  # effort, coefficient * radius, stiction velocity
COORD_STOP = 11  # lower, upper, stiffness, damping

#: What `switch_law` says of functions where speeds jump: laws of time, and relations between coordinates.
OF_TIME, RELATION = -2, -3

#: Columns of `LawWork.out`.
FORCE, MOMENT = 0, 3  # on the `on` or `to` side, ground axes
LENGTH, RATE, VALUE = 6, 7, 8  # length or coordinate, its rate, tension or effort
POTENTIAL, DISSIPATED, WORK = 9, 10, 11  # [J], [W], [W]
STIFFNESS, DAMPING = 12, 13  # -d VALUE / d LENGTH (+ for tension), the same by RATE
N_OUT = 14


class Laws(NamedTuple):
    """Everything constant about forces, drives, own states and sensors that kernels read."""

    expr: ExpressionTable
    slot: Annotated[Ints, 4]  # (n_slots, 4): kind, a, b, c
    value: Floats  # constants; NaN where an expression or function writes
    dyn_value: Ints  # values that expressions write
    dyn_expr: Ints
    py_address: Ints  # functions, by address
    py_value: Ints
    py_start: Ints  # arguments of function k: py_expr[py_start[k] : py_start[k + 1]]
    py_expr: Ints
    kind: Ints
    mark_p: Ints  # marker on the `from` side, or -1
    mark_q: Ints  # marker on the `on` or `to` side, or -1
    axes: Ints  # marker whose axes the components are in; -1 ground
    first: Ints  # first number in `value`
    coord: Ints  # joint coordinate, or -1
    local: Ints  # local expression, or -1
    conservative: Ints  # 1 when all numbers are constant: then the elastic part has a potential
    body: Ints  # body of a modal load, or -1
    load_start: Ints  # offset in `load`: force (3), moment (3), then moment and modal load by mode (4 nf)
    load: Floats
    stiff_law: Ints  # compliant rows (F45): law,
    stiff_direction: Ints  # its direction,
    stiff_entry: Ints  # entry and row that stand for it
    stiff_row: Ints
    state_expr: Ints  # rates of own states
    drive_expr: Ints  # (n_laws,) functions of time: `System.time_laws`
    drive_order: Ints  # what the law gives: 0 position, 1 velocity, 2 acceleration
    drive_aux: Ints  # first own place in aux (order 1: position; 2: position, velocity); -1: law as it is
    # prescribed rotations (laws/attitudes.py): what their laws give, places in drive_x of the first law and
    # of the three speeds, first place in aux or -1, axes of factors
    att_kind: Ints
    att_law: Ints
    att_speed: Ints
    att_aux: Ints
    att_axis_start: Ints  # (n_attitudes + 1,)
    att_axis: Annotated[Floats, 3]
    travel_expr: Annotated[Ints, 3]  # (n_travel, 3) place of travelling markers
    free_expr: Ints  # expressions evaluated on demand: sensors, until
    switch_expr: Ints  # functions whose zeros are where a law or a slope of it jumps
    # law whose length or coordinate (and rate) such a function takes as x and v, or -1; where speeds jump
    # with it: OF_TIME, RELATION
    switch_law: Ints
    press_law: Ints  # laws of friction by the reaction of their joint
    press_joint: Ints  # joint, in the order of `System.joints`
    press_axis: Ints  # axis of marker Q along which the joint slides, or -1 where it turns


class LawWork(NamedTuple):
    """What the kernels of laws write."""

    x: Floats  # (n_slots,) channels, with rates and second rates
    x_dot: Floats
    x_ddot: Floats
    stack: Annotated[Floats, 3]
    result: Floats  # (3,) of the postfix machine
    value: Floats
    args: Floats
    returned: Floats  # (1,)
    out: Annotated[Floats, N_OUT]  # (n_laws, N_OUT)
    load_of: Floats  # (n_coords,) size of the joint's force that presses on the friction of a coordinate
    power: Floats  # (2,) work, dissipated: of all laws [W]
    wrench: Floats  # (12,) deflection scratch of bushings
    rate: Floats  # (3,) scratch of attitudes


def workspace(laws: Laws) -> LawWork:
    """Arrays for one evaluation; NaN until a kernel fills them. Not to be shared between threads."""
    n_slots, n_args = len(laws.slot), int(np.diff(laws.py_start).max(initial=0)) + 1

    def nan(*shape: int) -> Floats:
        return np.full(shape, np.nan)

    zeros = np.zeros(n_slots), np.zeros(n_slots)
    n_coords = int(laws.coord.max(initial=-1)) + 1
    return LawWork(
        nan(n_slots),
        *zeros,
        nan(STACK, 3),
        nan(3),
        laws.value.copy(),
        nan(n_args),
        nan(1),
        np.zeros((len(laws.kind), N_OUT)),
        np.zeros(n_coords),
        np.zeros(2),
        nan(12),
        nan(3),
    )
