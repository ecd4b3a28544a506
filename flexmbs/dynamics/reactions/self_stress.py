"""Self-stress: what the null space of G^T says about the reactions of redundant joints (F28)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.loops.frontal import Frontal
from flexmbs.dynamics.loops.null_spaces import Blocks
from flexmbs.dynamics.loops.sparse import Sparse
from flexmbs.dynamics.reactions.wrenches import push_rows, wrenches
from flexmbs.dynamics.tolerances import NOTHING
from flexmbs.model.blocks import loaded_bodies
from flexmbs.model.touching.ends import load_of

if TYPE_CHECKING:
    from flexmbs.dynamics.evaluator import Evaluator
    from flexmbs.model.rows import Row
    from flexmbs.model.system import System

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

#: a reaction component is open where its share of a self-stress is above this
LOADED = 1e-6
#: a force of a self-stress below this part of its largest is none
ROUNDING = 1e-12
#: a self-stress that strains bodies and joints by less than this part of another strains nothing
NO_STRAIN = 1e-6
#: a mode that moves interfaces by less than this part of another does not move them
UNMOVED = 1e-9

#: directions of a joint, the force of a coupling, or the effort of a drive
Component = tuple[str, str, str]


@dataclass
class States:
    """States of self-stress as columns, the largest force in each of them one.

    `forces` (rows, states): what the rows put on joints, moments over a length, so that a law counts alike
    whatever its numbers are. `loads` (6 n_joints, states): wrenches of the joints, moments over that length.
    `efforts` (n_efforts, states): those of drives, as forces. What is small beside one is rounding: a state
    between couplings alone loads no joint.
    """

    forces: Array
    loads: Array
    efforts: Array


def open_reactions(
    system: System,
    evaluator: Evaluator,
    rows: list[Row],
    found: Blocks,
    gives_way: NDArray[np.bool_],
    length: float,
) -> tuple[list[str], list[str]]:
    """Reactions that a self-stress changes: those that stay open, those that stiffness decides (F28).

    What is `found` holds with rigid bodies, and with drives that hold. What it does to compliant joints and,
    by G, to the modes that give way, decides all that strains something. Texts of joints with the directions,
    of couplings and drives. Needs `loops`.
    """
    numbers = np.array([row.number for row in rows], dtype=np.int64)
    G = evaluator.sparse_rows().take(numbers)
    size = evaluator.row_sizes(length)[numbers][:, None]
    blocks = [(own, _plain(states, size[own])) for own, states in found]

    def of(stress: Array) -> States:
        unit = np.tile(np.repeat([1.0, length], 3), len(system.joints))[:, None]
        loads = stress_of_joints(evaluator, numbers, stress) / unit
        return States(size * stress, loads, _efforts(system, numbers, stress, G, length))

    stress, state_at = _side_by_side(system, rows, blocks)
    states = of(stress)
    in_any = _components(system, evaluator, rows, states, length)
    modes = _bending(system, G.without(~gives_way), stress, size[:, 0])
    joints = _straining(system, evaluator, states, length)
    strain = _by_states(np.vstack([modes[0], joints[0]]), np.append(modes[1], joints[1]), state_at)
    if not len(strain.value):
        return _texts(in_any), []
    still = _components(system, evaluator, rows, of(_unstrained(system, rows, blocks, strain)), length)
    return _texts(still), _texts([item for item in in_any if item not in still])


def _plain(states: Array, size: Array) -> Array:
    """The largest force of every state made one, and what is rounding beside it nothing."""
    states = states / np.maximum(np.abs(size * states).max(axis=0), NOTHING)
    return np.where(np.abs(size * states) > ROUNDING, states, 0.0)


def _side_by_side(system: System, rows: list[Row], blocks: Blocks) -> tuple[Array, Ints]:
    """States as few columns, in each of which those stand that load nothing in common.

    A joint or a mode feels one of them alone, as if it had a column of its own: as many columns as states
    load it, however many loops there are. And which state (or -1) a body feels in a column, groups behind
    bodies.
    """
    n_bodies = len(system.numbers.names)
    of_group = [
        (group, loaded_bodies(group, system.numbers) | {n_bodies + g})
        for g, group in enumerate(system.groups)
    ]
    of_row = {id(row): loaded for group, loaded in of_group for row in group.rows}
    columns: dict[int, dict[int, int]] = {}  # of what is loaded: its states by their columns
    chosen = []
    for number, (own, state) in enumerate((own, state) for own, states in blocks for state in states.T):
        held = own[np.flatnonzero(state)]
        loaded = set[int]().union(*(of_row[id(rows[k])] for k in held))
        taken = set[int]().union(*(columns.get(item, ()) for item in loaded))
        column = next(n for n in range(len(taken) + 1) if n not in taken)
        for item in loaded:
            columns.setdefault(item, {})[column] = number
        chosen.append((column, held, state[state != 0.0]))
    width = 1 + max((column for column, _, _ in chosen), default=-1)
    out, state_at = np.zeros((len(rows), width)), np.full((n_bodies + len(system.groups), width), -1)
    for column, held, values in chosen:
        out[held, column] = values
    for item, there in columns.items():
        state_at[item, list(there)] = list(there.values())
    return out, state_at


def _by_states(strain: Array, item: Ints, state_at: Ints) -> Sparse:
    """Strains of every state, from those of states side by side and what each strains."""
    row, column = np.nonzero(strain)
    state = state_at[item[row], column]
    row, column, state = row[state >= 0], column[state >= 0], state[state >= 0]
    start = np.searchsorted(row, np.arange(len(strain) + 1))
    return Sparse(start, state, strain[row, column], int(state_at.max(initial=-1)) + 1)


def _unstrained(system: System, rows: list[Row], blocks: Blocks, strain: Sparse) -> Array:
    """States that strain nothing, side by side, and combinations of others that strain nothing together."""
    strains = np.bincount(strain.column, minlength=strain.width) > 0
    place = np.cumsum(strains) - 1
    few = replace(strain, column=place[strain.column], width=int(strains.sum()))
    combined = Frontal(few, NO_STRAIN).null()
    free, out, first = [], np.zeros((len(rows), combined.shape[1])), 0
    for own, states in blocks:
        here = np.arange(first, first + states.shape[1])
        first += states.shape[1]
        free.append((own, states[:, ~strains[here]]))
        held = strains[here]
        out[own] += states[:, held] @ combined[place[here[held]]]
    return np.hstack([_side_by_side(system, rows, free)[0], out])


def _efforts(system: System, numbers: Ints, stress: Array, G: Sparse, length: float) -> Array:
    """Efforts of drives under states of self-stress, moments over a length (n_efforts, states).

    On cut joints they are multipliers; in the tree they hold what the rows put on their speeds.
    """
    t = system.tables
    out = np.zeros((len(t.drive.coord), stress.shape[1]))
    if not len(out):
        return out
    place, pushed = {int(number): k for k, number in enumerate(numbers)}, G.transposed(stress)
    for d, (c, k, row) in enumerate(zip(t.drive.coord, t.drive.vel, t.drive.row, strict=True)):
        out[d] = stress[place[row]] if row >= 0 else -pushed[k]
        out[d] /= length if c < 0 or t.coord.turn[c] else 1.0
    return out


def _bending(system: System, G: Sparse, stress: Array, size: Array) -> tuple[Array, Ints]:
    """What states do to modes, all made of one size (modes, states), and the bodies of these.

    Modes in which no interface moves are moved by rounding alone.
    """
    largest = np.zeros(G.width)
    np.maximum.at(largest, G.column, np.abs(G.value / np.where(size > 0.0, size, 1.0)[G.row]))
    moving = np.flatnonzero(largest > UNMOVED * largest.max(initial=0.0))
    bends = G.transposed(stress)[moving] / largest[moving, None]
    return bends, np.searchsorted(system.tables.tree.o_eta, moving, side="right") - 1


def _straining(system: System, evaluator: Evaluator, states: States, length: float) -> tuple[Array, Ints]:
    """Root of the energy of compliant joints under states (6 n_joints, states), and what holds their loads.

    One is that of a unit of force in the softest joint, which need not be loaded.
    """
    t, ws = evaluator.tables, evaluator.ws
    if not np.any(t.joint.soft):
        return np.zeros((0, states.loads.shape[1])), np.zeros(0, dtype=np.int64)
    root = np.sqrt(t.joint.soft) * np.repeat([1.0, length], 3)
    R = np.repeat(ws.marker.R[t.joint.p], 2, axis=0)
    own = np.einsum("nji,njk->nik", R, states.loads.reshape(len(R), 3, -1)).reshape(states.loads.shape)
    number = {id(group): len(system.numbers.names) + g for g, group in enumerate(system.groups)}
    # a cut joint without rows feels nothing, as ground does
    held = [place.body or number.get(id(place.group), 0) for place in system.joints.values()]
    energy = root.reshape(-1, 1) * own / max(float(root.max(initial=0.0)), NOTHING)
    return energy, np.repeat(np.array(held, dtype=np.int64), 6)


def _components(
    system: System, evaluator: Evaluator, rows: list[Row], states: States, length: float
) -> list[Component]:
    """Directions in which states of self-stress load joints, and couplings and drives that they load."""
    found: list[Component] = []
    for j, (name, place) in enumerate(system.joints.items()):
        R = evaluator.ws.marker.R[place.P.number]
        for word, first in (("translation", 6 * j), ("rotation", 6 * j + 3)):
            part = np.abs(R.T @ states.loads[first : first + 3]).max(axis=1, initial=0.0)
            found += [(f"joints.{name}", word, n) for n, x in zip("xyz", part, strict=True) if x > LOADED]
    part = np.abs(states.forces).max(axis=1, initial=0.0)
    own = {id(group.rows[0]): group.name for group in system.groups if group.kind == "coupling"}
    loaded = [own[id(row)] for row, x in zip(rows, part, strict=True) if id(row) in own and x > LOADED]
    for name in loaded:
        found += [item for item in _carried(system, evaluator, name, length) if item not in found]
    part = np.abs(states.efforts).max(axis=1, initial=0.0)
    drives = [name for name, places in system.efforts.items() if np.any(part[places] > LOADED)]
    found += [(f"couplings.{name}", "force", "") for name in loaded]
    return found + [(f"drives.{name}", "effort", "") for name in drives]


def _carried(system: System, evaluator: Evaluator, name: str, length: float) -> list[Component]:
    """Directions in which the force where the parts of a coupling touch loads the joints between them."""
    touching = system.model.couplings[name].touching(system.model)
    if touching is None:
        return []
    ws, found = evaluator.ws, []
    x = [ws.coord.x[c.number] for c in system.coordinates if c.joint == touching.follows]
    for sense in (1.0, -1.0):
        touch = touching.at(np.array([sense]), np.array(x[:1] or [0.0]))
        i = system.bodies.index(touching.holder)
        force, point = touch.force @ ws.body.R[i].T, ws.body.r[i] + touch.point @ ws.body.R[i].T
        for item in touching.path:
            place = system.joints[item.joint]
            load = load_of(item, force, point, ws.marker.x[place.Q.number][None])[0]
            part = np.abs(ws.marker.R[place.P.number].T @ load.reshape(2, 3).T)
            part /= max(float(part[:, 0].max()), float(part[:, 1].max()) / length, NOTHING)
            free = {(move.turn != 0.0, move.axis) for move in place.joint.motion or ()}
            found += [
                (f"joints.{item.joint}", word, "xyz"[n])
                for word, k, unit in (("translation", 0, 1.0), ("rotation", 1, length))
                for n in range(3)
                if part[n, k] > LOADED * unit and (bool(k), n) not in free
            ]
    return list(dict.fromkeys(found))


def _texts(components: list[Component]) -> list[str]:
    """`joints.a (translation x, y; rotation z)`, `couplings.b (force)`."""
    parts: dict[str, dict[str, list[str]]] = {}
    for name, word, axis in components:
        parts.setdefault(name, {}).setdefault(word, []).append(axis)
    found = []
    for name, words in parts.items():
        texts = [f"{word} {', '.join(axes)}".rstrip() for word, axes in words.items()]
        found.append(f"{name} ({'; '.join(texts)})")
    return found


def stress_of_joints(evaluator: Evaluator, rows: Ints, stress: Array) -> Array:
    """Wrenches (6 n_joints, states of self-stress) at the origins of Q; `stress` by the given rows."""
    ws, multipliers = evaluator.ws, np.zeros((evaluator.system.n_rows, stress.shape[1]))
    multipliers[rows] = stress
    loads = np.zeros((stress.shape[1], 6 * len(evaluator.system.joints)))
    for k, out in enumerate(loads):
        ws.body.f_star[:] = 0.0
        ws.row.force[:] = multipliers[:, k]
        evaluator.call(push_rows, evaluator.tables, ws, ws.row.force)
        evaluator.call(wrenches, evaluator.tables, ws, 0.0)
        out[:] = ws.joint.reaction.ravel()
    return loads.T
