"""Loads of a flexible body at one sample, on the nodes of its mesh: wrenches at its frames, gravity, inertia.

By d'Alembert they are in equilibrium on the deformed body, so it needs supports only against rigid motion.
All components are in body axes. A deck holds the body at rest, where the same forces have slightly other
moments: inertia forces take up the difference, so the deck balances as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.assembly import FeModel, assemble
from flexmbs.ffrf.mass import mass_matrix, quadratic_velocity_forces
from flexmbs.modal.interfaces import Interface
from flexmbs.modal.place import rows_at_node, rows_at_point
from flexmbs.modal.ties import marker_rows_of_nodes, rigid_field
from flexmbs.modaldata import InterfaceData, ModalData
from flexmbs.post.modals import materials_of
from flexmbs.post.record import Floats, Record, table
from flexmbs.post.wrenches import Wrench, wrenches_on
from flexmbs.spatial import quat_to_matrix


@dataclass(frozen=True)
class BodyLoads:
    """Nodal forces (node, 3) without the wrenches on rigid interfaces, which act on those as wholes.

    Where nodes have rotations, (node, 6), with moments.
    """

    time: float
    nodal: Floats
    rigid: dict[str, Wrench] = field(default_factory=dict)
    wrenches: list[Wrench] = field(default_factory=list)
    imbalance: float = 0.0  # of the loads on the deformed body: what the solution of the motion left
    levers: float = 0.0  # of those on the body at rest, before inertia forces took up the difference


class BodyState:
    """Motion of one body at sample k: `R` body to ground, velocities and accelerations in body axes."""

    def __init__(self, record: Record, body: str, k: int) -> None:
        def take(name: str) -> Floats:
            return np.asarray(record.require(f"bodies/{body}/{name}"), dtype=float)[k]

        self.R = quat_to_matrix(take("quaternion"))
        self.r = take("position")
        self.a, self.w = self.R.T @ take("acceleration"), self.R.T @ take("angular_velocity")
        self.alpha = self.R.T @ take("angular_acceleration")
        self.q, self.q_dot, self.q_ddot = take("q"), take("q_dot"), take("q_ddot")


def body_loads(record: Record, body: str, modals: Mapping[str, ModalData], k: int) -> BodyLoads:
    """All loads on a flexible body at sample k; `modals` of all flexible bodies, for their frames."""
    modal = modals[body]
    state = BodyState(record, body, k)
    model = fe_model(modal)
    nodal = inertia_forces(record, modal, model, state)
    nodal += relief(modal, model, second_order(record, body, modal, state))
    wrenches = wrenches_at(record, body, modals, k)
    rigid: dict[str, Wrench] = {}
    for item in wrenches:
        interface = modal.interfaces.get(item.frame)
        if interface is not None and interface.type == "rbe2":
            rigid[item.frame] = _sum(rigid.get(item.frame), item)
        else:
            nodal += spread(record, body, modal, item)
    moved = modal.mesh.points + np.tensordot(state.q, modal.Phi, axes=1)
    balance = _imbalance(modal, nodal, rigid, moved, state.q)
    at_rest = _imbalance(modal, nodal, rigid, modal.mesh.points, 0.0 * state.q)
    nodal += relief(modal, model, -at_rest.total)
    return BodyLoads(float(record.time[k]), nodal, rigid, wrenches, balance.share, at_rest.share)


@dataclass(frozen=True)
class Balance:
    """What is left of force and moment (6,), about the origin; its share of the loads."""

    total: Floats
    share: float


def _imbalance(
    modal: ModalData, nodal: Floats, rigid: Mapping[str, Wrench], points: Floats, q: Floats
) -> Balance:
    """Sum of the loads with the nodes at `points` and the interfaces displaced by q."""
    arms = np.cross(points, nodal[:, :3])
    if nodal.shape[1] == 6:
        arms = arms + nodal[:, 3:]
    total = np.concatenate([nodal[:, :3].sum(axis=0), arms.sum(axis=0)])
    size = np.array([np.abs(nodal[:, :3]).sum(), np.abs(arms).sum()])
    for name, item in rigid.items():
        place = item.place + modal.interfaces[name].Phi @ q
        total += np.concatenate([item.force, item.moment + np.cross(place, item.force)])
        size += [np.abs(item.force).sum(), np.abs(item.moment).sum()]
    length = float(np.ptp(modal.mesh.points, axis=0).max())
    scale = float(size[0] + size[1] / length)
    error = float(np.linalg.norm(total[:3]) + np.linalg.norm(total[3:]) / length)
    return Balance(total, error / scale if scale > 0.0 else 0.0)


def relief(modal: ModalData, model: FeModel, total: Floats) -> Floats:
    """Inertia forces on the nodes with the resultants `total` (6,) about the origin.

    The loads balance where the body is deformed, a linear deck knows the body at rest: the moments of the
    loads over the displacements, of second order, are left to these.
    """
    rows = rigid_field(modal.mesh.points, model.n_per_node)
    inertia = np.asarray(model.M_fe @ rows)
    return np.asarray(inertia @ np.linalg.solve(rows.T @ inertia, total)).reshape(-1, model.n_per_node)


def _sum(first: Wrench | None, second: Wrench) -> Wrench:
    if first is None:
        return second
    name = f"{first.name}, {second.name}"
    return Wrench(name, second.frame, second.place, first.force + second.force, first.moment + second.moment)


def fe_model(modal: ModalData) -> FeModel:
    """The finite-element model of the body, assembled again from what its data hold."""
    return assemble(modal.mesh, materials_of(modal), modal.mass_formalism)


def inertia_forces(record: Record, modal: ModalData, model: FeModel, state: BodyState) -> Floats:
    """Nodal forces of inertia and gravity, `-Ms (acceleration of the nodes - g)` (F1, F15).

    Fibres of shells turn with their nodes, and sections off their nodes have masses of their own (F7a).
    """
    gravity = np.asarray(record.case.get("gravity") or (0.0, 0.0, 0.0), dtype=float)

    def accelerations(u: Floats, u_dot: Floats, u_ddot: Floats) -> Floats:
        found = state.a - state.R.T @ gravity + np.cross(state.alpha, u) + u_ddot
        return found + np.cross(state.w, np.cross(state.w, u)) + 2.0 * np.cross(state.w, u_dot)

    shapes = modal.Phi if modal.Psi is None else np.concatenate([modal.Phi, modal.Psi], axis=2)
    moves = [np.tensordot(values, shapes, axes=1) for values in (state.q, state.q_dot, state.q_ddot)]
    nodal = accelerations(modal.mesh.points + moves[0][:, :3], *(part[:, :3] for part in moves[1:]))
    if modal.Psi is None:
        return -np.asarray(model.M_fe @ nodal.ravel()).reshape(-1, 3)
    form, columns = model.mass_form, np.stack([part.ravel() for part in moves], axis=1)
    forces = np.zeros((modal.mesh.n_nodes, 6))
    forces[:, :3] = -np.asarray(form.Ms @ nodal)
    points, turns = form.moves(columns), form.turns(columns)
    places = form.attached.position + points[..., 0]
    masses = form.attached.mass[:, None] * accelerations(places, points[..., 1], points[..., 2])
    w = state.w + turns[..., 1]
    spin = np.einsum(
        "jab,jb->ja", form.inertias, state.alpha + turns[..., 2] + np.cross(state.w, turns[..., 1])
    )
    spin = spin + np.cross(w, np.einsum("jab,jb->ja", form.inertias, w))
    forces.ravel()[:] -= form.attached.rows.T @ masses.ravel() + form.attached.turn_rows.T @ spin.ravel()
    return forces


def second_order(record: Record, body: str, modal: ModalData, state: BodyState) -> Floats:
    """Resultants (6,) of the inertia forces that the run had and (F1) has not: shortening (F17a).

    Where the run truncated its inertia terms, less those it left out.
    """
    data = table(record.case, "bodies", body)
    own: dict[str, Any] = {
        "inertia_terms": str(data.get("inertia_terms") or "full"),
        "stiffening": data.get("geometric_stiffening") is not False,
    }
    gravity = np.asarray(record.case.get("gravity") or (0.0, 0.0, 0.0), dtype=float)
    acceleration = np.concatenate([state.a - state.R.T @ gravity, state.alpha, state.q_ddot])
    found = []
    for options in (own, own | {"inertia_terms": "full", "stiffening": False}):
        M = mass_matrix(modal.integrals, state.q, **options)
        Q = quadratic_velocity_forces(modal.integrals, state.q, state.q_dot, state.w, **options)
        found.append((Q - M @ acceleration)[:6])
    return np.asarray(found[0] - found[1])


def wrenches_at(record: Record, body: str, modals: Mapping[str, ModalData], k: int) -> list[Wrench]:
    """Wrenches (3,) at sample k; forces that act elsewhere than at frames have no place in a deck."""
    found = wrenches_on(record, body, modals, [k])
    if found.elsewhere:
        what = f"{found.elsewhere[0]} acts on {body} in a way that a deck cannot repeat"
        raise InputError(Diagnostic("export.force", record.path.name, what, "let it act on a frame"))
    return [replace(item, force=item.force[0], moment=item.moment[0]) for item in found.found]


def spread(record: Record, body: str, modal: ModalData, item: Wrench) -> Floats:
    """Nodal loads (node, 3 or 6) of a wrench on an interface in the mean, or on a frame within the body."""
    turns = modal.Psi is not None
    loads = np.zeros((modal.mesh.n_nodes, 6 if turns else 3))
    interface = modal.interfaces.get(item.frame)
    if interface is not None:
        own = as_interface(item.frame, interface)
        rows = marker_rows_of_nodes(modal.mesh.points, own, loads.shape[1])
        return np.asarray(rows.T @ np.concatenate([item.force, item.moment])).reshape(loads.shape)
    data = table(record.case, "bodies", body, "frames", item.frame)
    if data.get("at") is not None:
        at = rows_at_point(modal.mesh, np.asarray(data["at"], dtype=float), modal.source, turns)
    elif data.get("node") is not None:
        at = rows_at_node(modal.mesh, int(modal.mesh.node_indices(data["node"])[0]), turns)
    elif data.get("nearest") is None:
        what = f'{item.name} acts on {body} at no interface and no frame with "at", "node" or "nearest"'
        raise InputError(Diagnostic("export.frame", record.path.name, what, "let it act on such a frame"))
    else:
        near = np.linalg.norm(modal.mesh.points - np.asarray(data["nearest"], dtype=float), axis=1)
        at = rows_at_node(modal.mesh, int(np.argmin(near)), turns)
    loads[at.nodes] += np.einsum("kna,k->na", at.displacement, item.force)
    loads[at.nodes] += np.einsum("kna,k->na", at.rotation, item.moment)
    return loads


def as_interface(name: str, data: InterfaceData) -> Interface:
    words = ("x", "y", "z", "rx", "ry", "rz")
    dofs = tuple(words.index(word) for word in data.dofs.split())
    return Interface(name, data.nodes, data.weights, data.position, data.rotation, data.type, dofs)
