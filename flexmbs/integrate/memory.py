"""Arrays of a time loop: what it carries from step to step, and scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flexmbs.integrate.methods.tableaus import Tableau
    from flexmbs.integrate.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# what the loop returns
DONE, PAUSED, FULL = 0, 1, 2
TOO_SMALL, NOT_EVALUATED, CANNOT_START, CORNERED, RESTING = -1, -2, -3, -4, -5

INFO = 5  # columns of Samples.info: step size, passes, rejected so far, closure of positions, of speeds
MAX_PASSES = 12
CHATTER = 50.0  # so many events in quick succession, and a switching function is located no more
RESTS = 3.0  # so many, and a motion has come to rest in the corner of a relation


class Calls(NamedTuple):
    """Functions of a problem, as kernels call them (see integrate/problem.py)."""

    rates: Any
    shifted: Any
    increment: Any
    project: Any
    switches: Any
    nearness: Any
    turn: Any


class Options(NamedTuple):
    """Numbers that stay as they are during a run."""

    explicit: int  # 1: tableau; 0: generalised-alpha
    n_pos: int
    n_vel: int
    n_aux: int
    n_held: int
    n_control: int  # components in error control
    n_work: int  # the last ones of them are quadratures, on which nothing depends
    n_switch: int
    rtol: float
    atol: float
    step: float  # fixed step [s]; 0: adaptive
    t_start: float
    t_end: float
    rho_inf: float
    until: int  # number of the switching function that ends the run, or -1
    n_follow: int  # quadratures at the end of aux that follow angles; 0 where none is one
    sharp: float  # so much smaller the changes that the iteration of an implicit step leaves
    n_sided: int  # so many switching functions, the last ones, are positive on both sides of their zeros
    longest: float  # step under error control


class Memory(NamedTuple):
    """Everything the next step reads; the first fields are saved with each segment, so that a run goes on
    to the same bits. The others name the numbers of `real` and `count`, one each.
    """

    real: Floats
    count: Ints  # type: ignore[assignment]
    y: Floats
    f: Floats  # rates at y
    a: Floats  # accelerations of the last two steps, and the auxiliary ones (F43)
    a_prev: Floats
    acc: Floats
    aux_prev: Floats  # rates of aux at the step before
    sign: Floats  # side of every switching function
    mute: Floats  # events in quick succession; at CHATTER the function is no longer located
    last: Floats  # time of the last event of every function
    # numbers of `real`
    t: Floats
    h: Floats  # size of the next step
    h_last: Floats
    err_old: Floats
    t_step: Floats  # end of the accepted step that waits for output
    h_step: Floats
    closure_pos: Floats
    closure_vel: Floats
    t_event: Floats
    nearness: Floats  # of constraints to a change point, at the last two steps
    last_nearness: Floats
    end_nearness: Floats  # and at the end of the pending one
    t_last: Floats
    work: Floats  # largest value of the quadratures so far
    tried_err: Floats  # error of the work in the last trial of a step, and its size
    tried_h: Floats
    blurred: Floats  # rounding in the accelerations of the implicit step, in terms of its change, where met
    contraction: Floats  # by which the iteration of an implicit step shrank its changes; 1 not known
    origin: Floats  # of the grid of fixed steps, and its spacing
    spacing: Floats
    # numbers of `count`
    started: Ints
    pending: Ints
    out: Ints
    steps: Ints
    rejected: Ints
    evaluations: Ints
    history: Ints
    grid: Ints
    step_passes: Ints
    after_reject: Ints
    ended: Ints
    event: Ints
    dense: Ints
    failure: Ints
    no_filter: Ints
    changed: Ints
    over: Ints
    sampling: Ints
    noisy: Ints  # steps in which the error of the work is not asked for


SAVED = Memory._fields[: Memory._fields.index("t")]
REAL = Memory._fields[len(SAVED) : Memory._fields.index("started")]
COUNT = Memory._fields[len(SAVED) + len(REAL) :]


def with_names(saved: Sequence[Any]) -> Memory:
    """Memory of the arrays that are saved."""
    real, count = saved[:2]
    names = [real[k : k + 1] for k in range(len(REAL))] + [count[k : k + 1] for k in range(len(COUNT))]
    return Memory(*saved, *names)


class Scratch(NamedTuple):
    """Arrays without meaning between steps."""

    group: Ints
    twin: Ints  # place in pos of the coordinate of a speed, or -1 (rotations)
    bound: Floats  # largest local error of a displacement that constraints determine
    reach: Floats  # largest displacement in a step
    scale: Floats
    K: Floats
    F: Floats
    y1: Floats
    y_try: Floats
    y_half: Floats
    y_out: Floats
    err: Floats
    a1: Floats
    a_new: Floats
    acc0: Floats
    acc1: Floats
    delta: Floats
    aux_dot: Floats
    a_end: Floats  # of the accepted step, while output inside it uses the arrays above
    acc_end: Floats
    f_end: Floats
    closure: Floats
    near: Floats  # nearness to a change point at the stages of an explicit step, of its halves, of one inside
    s0: Floats
    s1: Floats
    s2: Floats
    turned: Floats
    dip: Floats  # switching functions at places inside a step
    jumps: Floats  # 1 for switching functions at whose zeros speeds jump


class Samples(NamedTuple):
    """Buffer of output states; the loop returns when it is full."""

    t: Floats
    at: Floats  # times of the states: behind an event on an output time, its own
    y: Floats
    info: Floats
    count: Ints  # type: ignore[assignment]


class Events(NamedTuple):
    """Buffer of located events: time, number of the switching function, direction."""

    t: Floats
    index: Ints  # type: ignore[assignment]
    direction: Floats
    count: Ints  # type: ignore[assignment]


class Run(NamedTuple):
    """All that the kernels of a run see: the problem's data, numbers that stay, memory, scratch, buffers."""

    data: Any
    opt: Any
    tab: Any
    mem: Any
    scr: Any
    times: Floats
    samples: Any
    events: Any


def memory(problem: Problem, t: float, y: Floats) -> Memory:
    """Memory at the start of a run."""
    n_vel, n_switch = problem.n_vel, problem.n_switch
    sign = np.where(np.arange(n_switch) < n_switch - problem.n_sided, 0.0, 1.0)
    found = with_names(
        (
            np.zeros(len(REAL)), np.zeros(len(COUNT), dtype=np.int64), np.array(y, dtype=float),
            np.zeros(problem.size), np.zeros(n_vel), np.zeros(n_vel), np.zeros(n_vel),
            np.zeros(problem.n_aux), sign, np.zeros(n_switch), np.full(n_switch, -np.inf),
        )
    )  # fmt: skip
    found.t[0] = found.t_last[0] = t
    found.work[0] = problem.energy
    found.nearness[0] = found.last_nearness[0] = np.inf
    return found


def scratch(problem: Problem, tab: Tableau) -> Scratch:
    """Scratch arrays, filled with NaN."""
    size, n_vel, n_switch = problem.size, problem.n_vel, problem.n_switch
    group = problem.groups
    n_groups = int(group.max()) + 1 if group.size else 0
    n_dense = max(3 + tab.D.shape[0], 4)

    def full(*shape: int) -> Floats:
        return np.full(shape, np.nan)

    return Scratch(
        group, problem.twins, problem.bounds, problem.reaches,
        full(n_groups), full(tab.A.shape[0], size), full(n_dense, size),
        full(size), full(size), full(size), full(size), full(size),
        full(n_vel), full(n_vel), full(n_vel), full(n_vel), full(n_vel), full(problem.n_aux),
        full(n_vel), full(n_vel), full(size), np.zeros(3), full(4 * tab.A.shape[0]),
        full(n_switch), full(n_switch), full(n_switch), full(n_switch), full(8 * n_switch),
        problem.jumping,
    )  # fmt: skip


def samples(problem: Problem, capacity: int) -> Samples:
    return Samples(
        np.zeros(capacity), np.zeros(capacity), np.zeros((capacity, problem.size)),
        np.zeros((capacity, INFO)), np.zeros(1, dtype=np.int64),
    )  # fmt: skip


def events(capacity: int) -> Events:
    count = np.zeros(1, dtype=np.int64)
    return Events(np.zeros(capacity), np.zeros(capacity, dtype=np.int64), np.zeros(capacity), count)
