"""Hidden degrees of freedom: motions of a body, or of bodies held together, that move nothing else (F28)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.initial import elsewhere
from flexmbs.dynamics.tree.screws import coordinate_wrenches, locked_wrenches
from flexmbs.model.bodies import GROUND, Particle
from flexmbs.model.joints.base import DISTANCE, EQUAL_TURN, ROTATION, SQUARE
from flexmbs.model.laws.tables import POINT_TORQUE, SPAN, SPAN_LAW
from flexmbs.model.topology import body_of, floating
from flexmbs.spatial import skew

if TYPE_CHECKING:
    from flexmbs.dynamics.evaluator import Evaluator
    from flexmbs.model.model import Model
    from flexmbs.model.places import JointPlace
    from flexmbs.model.state import State
    from flexmbs.model.system import System

Array = NDArray[np.float64]

#: part of a wrench that a motion may work against and still be free, in radians or lengths of the group
NO_WORK = 1e-9
#: bodies that a strut is made of, each as many as slide in each other
PARTS = 3


@dataclass(frozen=True)
class Link:
    """What joint `name`, or a force element (""), on two bodies resists: wrenches (n, 6) at a place."""

    name: str
    ends: tuple[str, str]
    wrenches: Array
    at: Array
    ball: bool = False


@dataclass(frozen=True)
class Hidden:
    """Bodies with the joints that let them move, and their motions: twists (k, 6) at the origin of ground.

    `places` (n, 3) are those of the joints.
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    places: Array
    twists: Array

    @property
    def text(self) -> str:
        """What may move how, for people."""
        who = " and ".join(f"bodies.{body}" for body in self.bodies)
        between = " and ".join(f"joints.{name}" for name in self.joints)
        return f"{who} may {how(self.twists, self.places, len(self.bodies) > 1)} {between}"


def how(twists: Array, places: Array, several: bool) -> str:
    """The kind of some motions, up to the names of the joints."""
    together = " together" if several else ""
    slides = null_space(twists[:, 3:].T) @ twists  # what is without a turn
    k, turns = len(twists), len(twists) - len(slides)
    v, w = twists[0, :3], twists[0, 3:]
    if k == 1 and np.abs(v - places @ skew(w)).max() < 1e-6 * np.linalg.norm(w):
        return f"spin{together} about the line through"
    if turns == 0 and k == 1:
        return f"slide{together} along"
    if turns == 1 and k == 2 and np.abs(np.cross(slides[0, :3], twists[:, 3:])).max() < 1e-6:
        return f"spin{together} about and slide along the line through"
    if turns == k == 3:
        return f"turn{together} any way about"
    return f"move{together} alone{f' in {k} ways' if k > 1 else ''} between"


def hidden_freedoms(system: System, evaluator: Evaluator, state: State) -> list[Hidden]:
    """Motions of bodies, alone or held together, while everything else rests: here, and where the others
    have moved.

    A body that ground or one neighbour alone holds in hinges is no such thing, that is how doors hang: there
    all joints must be balls. Nor is what moves a drive, a coupling, a spring or another force element.
    """
    found = idle_motions(system, evaluator, candidates(system))
    held = [item.bodies for item in found if len(item.bodies) > 1]
    rest = {
        name
        for name, joint in system.model.joints.items()
        for bodies in held
        if body_of(joint.from_frame) in bodies and body_of(joint.to_frame) in bodies
    }
    if found and elsewhere(system, evaluator, state, rest) is not None:
        found = idle_motions(system, evaluator, [item.bodies for item in found])
    evaluator.kinematics(state.copy())
    return found


def idle_motions(system: System, evaluator: Evaluator, groups: Iterable[tuple[str, ...]]) -> list[Hidden]:
    """Those of the groups that may move alone where the evaluator stands."""
    model, afloat, everything = system.model, free_bodies(system), list[Hidden]()
    links, found = defaultdict[str, list[Link]](list), defaultdict[str, list[Hidden]](list)
    for link in (*joint_links(system, evaluator), *element_links(system, evaluator)):
        for end in link.ends:
            links[end].append(link)
    for bodies in groups:
        if not afloat.isdisjoint(bodies):
            continue
        inside = set(bodies)
        ends = [x for body in bodies for x in links[body] if (x.ends[0] in inside) != (x.ends[1] in inside)]
        joints = [link for link in ends if link.name]
        others = {end for link in joints for end in link.ends} - inside
        if len(joints) < 2 or (len(others) < 2 and not all(link.ball for link in joints)):
            continue
        point = len(bodies) == 1 and isinstance(model.bodies[bodies[0]], Particle)
        twists = free_motions(ends, point)
        known = list({id(item): item for body in bodies for item in found[body]}.values())
        if len(twists) and is_new(bodies, twists, known):
            item = Hidden(
                bodies, tuple(link.name for link in joints), np.array([link.at for link in joints]), twists
            )
            everything.append(item)
            for body in bodies:
                found[body].append(item)
    return everything


def free_motions(links: list[Link], point: bool) -> Array:
    """Twists (k, 6) at the origin of ground that no link resists; a mass point has no turns."""
    places = np.array([link.at for link in links])
    apart = float(np.linalg.norm(places - places[0], axis=1).max())
    size = apart if apart > NO_WORK * np.abs(places).max() else 1.0  # at one point, but for rounding
    rows = []
    for link in links:
        force, moment = link.wrenches[:, :3], link.wrenches[:, 3:]
        rows.append(np.hstack([force, (moment + force @ skew(link.at - places[0]).T) / size]))
    if point:
        rows.append(np.eye(6)[3:])
    stacked = np.vstack(rows)
    length = np.linalg.norm(stacked, axis=1)
    stacked = stacked[length > 0] / length[length > 0, None]
    free = null_space(stacked)
    w = free[:, 3:] / size
    return np.hstack([free[:, :3] + w @ skew(places[0]).T, w])


def null_space(A: Array) -> Array:
    """Basis of the x with A x = 0, in rows."""
    _, s, Vt = np.linalg.svd(A)
    return np.asarray(Vt[int(np.sum(s > NO_WORK)) :])


def is_new(bodies: tuple[str, ...], twists: Array, known: list[Hidden]) -> bool:
    """Whether motions of bodies that move together are more than those known of each for itself."""
    if not known:
        return True
    members = sorted({body for item in known for body in item.bodies} | set(bodies))
    old = np.vstack([motion(item.bodies, item.twists, members) for item in known])
    both = np.vstack([old, motion(bodies, twists, members)])
    return int(np.linalg.matrix_rank(both, 1e-6)) > int(np.linalg.matrix_rank(old, 1e-6))


def motion(bodies: tuple[str, ...], twists: Array, members: list[str]) -> Array:
    """Motions (k, 6 n) of all members where `bodies` move by the same twists."""
    return np.asarray(np.kron([[float(body in bodies) for body in members]], twists))


def free_bodies(system: System) -> set[str]:
    """Bodies that stand free against ground, by a joint of theirs or by that which the program adds."""
    model = system.model
    own = {body_of(p) for j in model.joints.values() if not j.locked for p in (j.from_frame, j.to_frame)}
    return (own | set(floating(model))) - {GROUND}


def joint_links(system: System, evaluator: Evaluator) -> Iterator[Link]:
    """What joints lock, and those of their coordinates that a drive, coupling or law on them resists."""
    used = used_coordinates(system)
    for name, joint in system.model.joints.items():
        place = system.joints[name]
        if not joint.locked:
            continue
        wrenches = locked_wrenches(place, evaluator)
        if any(relation.kind == DISTANCE for relation in joint.locked):
            wrenches = np.eye(6)[:3]  # stands for a rod, whose end has to rest, or the rod would move too
        if name in used:
            own = coordinate_wrenches(place, evaluator)
            wrenches = np.vstack([wrenches, *(own[item] for item in own if used[name] & {item, None})])
        at = evaluator.ws.marker.x[place.Q.number]
        yield Link(name, (place.P.body, place.Q.body), wrenches, at, joint.type_name == "spherical")


def used_coordinates(system: System) -> dict[str, set[str | None]]:
    """Coordinates by joint with a drive, coupling or law; None stands for all of a joint."""
    model, used = system.model, defaultdict[str, set[str | None]](set)
    for drive in model.drives.values():
        used[drive.joint].add(None if drive.coordinate == ROTATION else drive.coordinate)
    for part in model.couplings.values():
        law = part.law(model)
        for joint, number in (*((term.joint, term.coordinate) for term in law.terms), *law.of):
            used[joint].add(model.joints[joint].coordinates[number])
    for number in system.laws.tables.coord:
        if number >= 0:
            used[system.coordinates[number].joint].add(system.coordinates[number].name)
    return used


def element_links(system: System, evaluator: Evaluator) -> Iterator[Link]:
    """Force elements between two bodies, and forces and torques on one, which are meant to move it."""
    laws, ws = system.laws.tables, evaluator.ws
    bodies, of = list(system.bodies), system.tables.marker.body
    for kind, p, q in zip(laws.kind, laws.mark_p, laws.mark_q, strict=True):
        if q < 0:
            continue
        wrenches = np.eye(6)
        if kind in (SPAN, SPAN_LAW):
            wrenches = np.concatenate([ws.marker.x[q] - ws.marker.x[p], np.zeros(3)])[None]
        elif p < 0:
            wrenches = np.eye(6)[3:] if kind == POINT_TORQUE else np.eye(6)[:3]
        yield Link("", (bodies[of[p]] if p >= 0 else GROUND, bodies[of[q]]), wrenches, ws.marker.x[q])


def candidates(system: System) -> list[tuple[str, ...]]:
    """Bodies that may be free: alone, and as many as turn with each other, a strut of cylinder and rod, say.

    Joints that lock all turns, then those that lock two or three, hold bodies together; what ground so holds
    is left out. Of the latter also parts of a chain, up to PARTS clusters of the former; but hinges with
    a drive or law between them make them a shaft train, which is meant to turn.
    """
    joints = [p for p in system.joints.values() if p.joint.name in system.model.joints]
    stiff, hinged = clusters(system.model, joints, 3), clusters(system.model, joints, 2)
    found: list[tuple[str, ...]] = [(body,) for body in system.model.bodies]
    found += [tuple(bodies) for bodies in stiff if GROUND not in bodies]
    found += [tuple(bodies) for bodies in hinged if GROUND not in bodies]
    found += parts_of_chains(joints, stiff, set(used_coordinates(system)))
    return list(dict.fromkeys(found))


def n_locked_turns(place: JointPlace) -> int:
    """How many turns a joint locks."""
    return sum(relation.kind in (SQUARE, EQUAL_TURN) for relation in place.joint.locked)


def clusters(model: Model, joints: list[JointPlace], least: int) -> list[list[str]]:
    """Bodies held together by joints that lock so many turns; ground and what it holds so among them."""
    held: dict[str, list[str]] = {body: [body] for body in (GROUND, *model.bodies)}
    for place in joints:
        one, other = held[place.P.body], held[place.Q.body]
        if n_locked_turns(place) >= least and one is not other:
            one += other
            held |= dict.fromkeys(other, one)
    return list({id(bodies): bodies for bodies in held.values()}.values())


def parts_of_chains(
    joints: list[JointPlace], stiff: list[list[str]], used: set[str]
) -> list[tuple[str, ...]]:
    """Up to PARTS clusters in a row, each with two joints; those between lock two turns and are not used."""
    number = {body: k for k, bodies in enumerate(stiff) for body in bodies}
    at: dict[int, list[tuple[int, bool]]] = defaultdict(list)
    for place in joints:
        one, other = number[place.P.body], number[place.Q.body]
        if one != other:
            hinge = n_locked_turns(place) == 2 and place.joint.name not in used
            at[one].append((other, hinge))
            at[other].append((one, hinge))
    ground = number[GROUND]
    binary = {k for k, ends in at.items() if len(ends) == 2 and k != ground}
    found = []
    for start in sorted(binary):
        for second in [k for k, hinge in at[start] if hinge and k in binary]:
            row = [start, second]
            while len(row) <= PARTS:
                found.append(tuple(body for k in sorted(row) for body in stiff[k]))
                further = [k for k, hinge in at[row[-1]] if hinge and k in binary and k not in row]
                if not further:
                    break
                row.append(further[0])
    return found
