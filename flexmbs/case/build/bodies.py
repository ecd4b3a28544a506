"""Tables of bodies -> bodies of the model; modal data are read, or built from their recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.case.build.frames import flexible_frame, free_start, rigid_frame
from flexmbs.case.build.report import Report
from flexmbs.case.schema.bodies import (
    FlexibleBodyTable,
    MatrixDamping,
    ModalDamping,
    NoDamping,
    ParticleTable,
    RayleighDamping,
    RigidBodyTable,
)
from flexmbs.errors import InputError
from flexmbs.input.source import Path_
from flexmbs.model.band import modal_damping
from flexmbs.model.bodies import Body, FlexibleBody, Particle, RigidBody

if TYPE_CHECKING:
    from flexmbs.modaldata import ModalData

Array = NDArray[np.float64]


def body_of(report: Report, name: str, table: Any) -> Body | None:
    """A body of the model; None when its modal data cannot be had (the report says why)."""
    common: dict[str, Any] = {"name": name}
    if table.pose is not None:
        common |= {"pose_pos": np.array(table.pose.pos), "pose_rot": table.pose.matrix(), "pose_given": True}
    if table.initial is not None:
        common["initial"] = free_start(table.initial)
    if table.visual is not None:
        common["visual"] = _visual(report, name, table.visual)
    builders: dict[type, Any] = {
        RigidBodyTable: _rigid,
        ParticleTable: _particle,
        FlexibleBodyTable: _flexible,
    }
    return builders[type(table)](report, ("bodies", name), table, common)


def _visual(report: Report, name: str, visual: Any) -> dict[str, Any]:
    """Keys for drawing; a file is found here, so that a missing one is an error of the case."""
    plain: dict[str, Any] = visual.plain()
    place: Path_ = ("bodies", name, "visual")
    things = [(place, plain), *((((*place, "parts", k)), part) for k, part in enumerate(plain["parts"]))]
    for where, thing in things:
        if "file" in thing:
            with report.at((*where, "file")):
                path = report.source.file((*where, "file"), thing["file"])
                if not path.is_file():
                    report.fail((*where, "file"), f'there is no file "{thing["file"]}"')
                thing["file"] = str(path)
    return plain


def _rigid(report: Report, path: Path_, table: RigidBodyTable, common: dict[str, Any]) -> RigidBody:
    frames = {name: rigid_frame(report, (*path, "frames", name), item) for name, item in table.frames.items()}
    return RigidBody(
        **common,
        frames=frames,
        mass=table.mass,
        com=list(map(float, table.com)),
        inertia=table.inertia.matrix(),
    )


def _particle(report: Report, path: Path_, table: ParticleTable, common: dict[str, Any]) -> Particle:
    return Particle(**common, mass=table.mass)


def _flexible(
    report: Report, path: Path_, table: FlexibleBodyTable, common: dict[str, Any]
) -> FlexibleBody | None:
    from flexmbs.case.build.reduction import modal_data  # late: rigid models need no stage 1

    modal = modal_data(report, path, table)
    if modal is None:
        return None
    modes = _modes(report, path, table, modal)
    nf = modal.nf if modes is None else len(modes)
    frames = {}
    for name, item in table.frames.items():
        frames[name] = flexible_frame(report, (*path, "frames", name), item)
        _check_place(report, (*path, "frames", name), modal, item)
        if name in modal.interfaces:
            report.fail((*path, "frames", name), f'"{name}" is already an interface of {modal.source}')
    start = table.initial
    return FlexibleBody(
        **common,
        frames=frames,
        modal=modal,
        modes=modes,
        D_ff=_damping(report, path, table, modal, modes),
        inertia_terms=table.inertia_terms,
        geometric_stiffening=_stiffening(report, path, table, modal),
        q=_elastic(report, (*path, "initial", "q"), start.q if start else [], nf),
        q_dot=_elastic(report, (*path, "initial", "q_dot"), start.q_dot if start else [], nf),
    )


def _modes(report: Report, path: Path_, table: FlexibleBodyTable, modal: ModalData) -> list[int] | None:
    """Indices (from 0) of the modes that are kept."""
    choice = table.modes
    if choice is None:
        return None
    from flexmbs.modaldata import choose_modes

    with report.at((*path, "modes")):
        pick = choose_modes(modal.frequency_hz, choice.list, choice.count, choice.max_frequency, modal.source)
        return [int(a) for a in pick]
    return None


def _elastic(report: Report, path: Path_, values: list[float], nf: int) -> list[float]:
    if len(values) > nf:
        report.fail(path, f"{len(values)} values, but the body has {nf} elastic coordinates")
    return [float(value) for value in values[:nf]]


def _stiffening(report: Report, path: Path_, table: FlexibleBodyTable, modal: ModalData) -> bool | None:
    if table.geometric_stiffening and not len(modal.integrals.K_geo):
        report.fail(
            (*path, "geometric_stiffening"),
            f"{modal.source} has no geometric stiffness",
            "reduce the mesh again without --no-geometric-stiffness",
        )
    return table.geometric_stiffening


def _check_place(report: Report, path: Path_, modal: ModalData, table: Any) -> None:
    """A place that does not move must lie in the mesh."""
    try:
        if table.node is not None:
            modal.marker_rows(node=table.node)
        elif table.at is not None and all(entry.is_constant for entry in table.at):
            modal.marker_rows(at=[entry.number() for entry in table.at])
    except InputError as error:
        for item in error.diagnostics:
            report.fail(path, item.what, item.remedy, code=item.code)


def _damping(
    report: Report, path: Path_, table: FlexibleBodyTable, modal: ModalData, modes: list[int] | None
) -> Array | None:
    """Damping matrix of the kept modes (F14); None keeps that of the modal data."""
    damping = table.damping
    pick = np.arange(modal.nf) if modes is None else np.array(modes, dtype=np.int64)
    m_ff = modal.integrals.m_ff[np.ix_(pick, pick)]
    K_ff = modal.integrals.K_ff[np.ix_(pick, pick)]
    if damping is None:
        return None
    if isinstance(damping, NoDamping):
        return np.zeros_like(m_ff)
    if isinstance(damping, RayleighDamping):
        return damping.alpha * m_ff + damping.beta * K_ff
    if isinstance(damping, ModalDamping):
        if len(damping.ratio) not in (1, len(pick)):
            report.fail(
                (*path, "damping", "ratio"),
                f"{len(damping.ratio)} ratios for {len(pick)} modes",
                "give one, or one per mode",
            )
            return None
        return modal_damping(m_ff, K_ff, np.broadcast_to(np.array(damping.ratio), len(pick)))
    return _matrix(report, (*path, "damping", "matrix"), damping, len(pick))


def _matrix(report: Report, path: Path_, damping: MatrixDamping, n: int) -> Array | None:
    if len(damping.matrix) != n or any(len(row) != n for row in damping.matrix):
        report.fail(path, f"the matrix must be {n} by {n}, as many rows and columns as modes")
        return None
    D = np.array(damping.matrix)
    if not np.allclose(D, D.T, rtol=1e-9, atol=0.0):
        report.fail(path, "the matrix is not symmetric")
        return None
    if np.linalg.eigvalsh(D).min(initial=0.0) < -1e-9 * np.abs(D).max(initial=0.0):
        report.fail(path, "the matrix has a negative eigenvalue: it would feed energy into the body")
        return None
    return 0.5 * (D + D.T)
