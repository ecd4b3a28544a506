"""Results and modal data out of formulas: a slider-crank whose rod bends as told."""

import json
from pathlib import Path

import numpy as np

from flexmbs import hdf5
from flexmbs.fe.mesh import Mesh
from flexmbs.ffrf.integrals import ShapeIntegrals
from flexmbs.modaldata import InterfaceData, ModalData
from flexmbs.results import ResultWriter
from flexmbs.results.layout import (
    COMMON_AXES,
    FORMAT,
    FORMAT_VERSION,
    Axis,
    Field,
    Layout,
    write_axes,
    write_field,
    write_items,
)
from flexmbs.results.stacks import stacked, write_parts, write_stack

E = 2.1e11
RHO = 7850.0
LENGTH, SECTION = 0.4, np.array([0.03, 0.02])  # of the rod
RADIUS = 0.1  # of the crank
SPEED = 20.0 * np.pi


def lumped_integrals(mass, points, Phi, frequency_hz):
    """Integrals for equal masses at all nodes: consistent enough to pass the checks of a file."""
    m = mass / len(points)
    S_kl = m * np.einsum("ank,bnl->klab", Phi, Phi)
    m_ff = np.einsum("kkab->ab", S_kl)
    K_ff = np.diag((2 * np.pi * frequency_hz) ** 2 * np.diag(m_ff))
    return ShapeIntegrals(
        mass=mass,
        S_O=m * points.sum(axis=0),
        S_f=m * Phi.sum(axis=1).T,
        Theta_kl=m * points.T @ points,
        I_kl=m * np.einsum("nk,anl->kla", points, Phi),
        S_kl=S_kl,
        m_ff=m_ff,
        K_ff=K_ff,
        D_ff=0 * K_ff,
        K_geo=np.zeros((0, len(Phi), len(Phi))),
    )


def box_mesh(divisions=(24, 3, 2)):
    """Bricks of the rod, x from 0 to its length."""
    nx, ny, nz = divisions
    x, y, z = np.meshgrid(
        np.linspace(0, LENGTH, nx + 1),
        np.linspace(-0.5, 0.5, ny + 1) * SECTION[0],
        np.linspace(-0.5, 0.5, nz + 1) * SECTION[1],
        indexing="ij",
    )
    number = np.arange(x.size).reshape(x.shape)
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
    cells = [number[i : nx + i, j : ny + j, k : nz + k].ravel() for i, j, k in corners]
    return Mesh(np.stack([x, y, z], axis=-1).reshape(-1, 3), {"hex8": np.stack(cells, axis=1)}, source="box")


def mode_fields(points):
    """Displacements and stresses per unit of each mode: sine bending in y (two) and z, and stretching."""
    x, y, z = points.T
    Phi, stress = np.zeros((4, len(x), 3)), np.zeros((4, len(x), 6))
    for a, (n, axis, s) in enumerate([(1, 1, y), (2, 1, y), (1, 2, z)]):
        k = n * np.pi / LENGTH
        Phi[a, :, axis] = np.sin(k * x)
        Phi[a, :, 0] = -s * k * np.cos(k * x)
        stress[a, :, 0] = E * s * k**2 * np.sin(k * x)
    Phi[3, :, 0] = x / LENGTH
    stress[3, :, 0] = E / LENGTH
    return Phi, stress


def rod_modal(divisions=(24, 3, 2), stress_at="nodes"):
    mesh = box_mesh(divisions)
    Phi, stress = mode_fields(mesh.points)
    if stress_at == "cells":
        stress = stress[:, mesh.cells["hex8"]].mean(axis=2)
    mass = RHO * LENGTH * SECTION.prod()
    frequency = np.array([300.0, 1200.0, 1500.0, 5000.0])
    ends = {}
    for name, place in (("big", 0.0), ("small", LENGTH)):
        at, _ = mode_fields(np.array([[place, 0.0, 0.0]]))
        nodes = np.flatnonzero(np.isclose(mesh.points[:, 0], place))
        ends[name] = InterfaceData(
            np.array([place, 0, 0]), np.eye(3), at[:, 0].T.copy(), np.zeros((3, 4)), nodes,
            np.full(len(nodes), 1.0 / len(nodes)),
        )  # fmt: skip
    return ModalData(
        mesh=mesh,
        integrals=lumped_integrals(mass, mesh.points, Phi, frequency),
        Phi=Phi,
        stress=stress,
        stress_at=stress_at,
        frequency_hz=frequency,
        kind=("bending y", "bending y", "bending z", "stretching"),
        interfaces=ends,
        effective_mass=np.zeros((4, 6)),
        materials={"": {"E": E, "nu": 0.3, "rho": RHO}},
    )


def coordinates(t):
    """q(t) of the rod (time, 4)."""
    w = SPEED
    return np.stack(
        [4e-3 * np.sin(2 * w * t), 1e-3 * np.sin(5 * w * t), 2e-3 * np.cos(3 * w * t), 2e-5 * np.sin(w * t)],
        axis=1,
    )


def about_z(angle):
    zero = np.zeros_like(angle)
    return np.stack([np.cos(angle / 2), zero, zero, np.sin(angle / 2)], axis=1)


def case():
    return {
        "title": "Slider-crank with a flexible connecting rod",
        "gravity": [0.0, -9.81, 0.0],
        "ground": {"frames": {"rail": {"pos": [0.3, 0.0, 0.0]}}},
        "bodies": {
            "crank": {
                "type": "rigid", "mass": 0.5, "com": [0.05, 0, 0],
                "inertia": {"ixx": 1e-5, "iyy": 4e-4, "izz": 4e-4, "ixy": 0.0, "ixz": 0.0, "iyz": 0.0},
                "frames": {"pin": {"pos": [RADIUS, 0, 0]}},
                "visual": {"shape": "link", "to": "pin", "radius": 0.014},
            },
            "rod": {"type": "flexible", "modal": "rod.modal.h5", "frames": {"mid": {"at": [0.2, 0, 0]}}},
            "slider": {
                "type": "rigid", "mass": 1.0, "inertia": {"ixx": 4e-4, "iyy": 6e-4, "izz": 9e-4},
            },
        },
        "joints": {
            "main": {"type": "revolute", "from": "ground", "to": "crank"},
            "big": {"type": "revolute", "from": "crank.pin", "to": "rod.big"},
            "end": {"type": "revolute", "from": "rod.small", "to": "slider", "axis": [0, 0, 1]},
            "rail": {"type": "prismatic", "from": "ground.rail", "to": "slider", "axis": [1, 0, 0]},
        },
    }  # fmt: skip


def motion(t):
    """Positions and quaternions of crank, rod and slider."""
    phi = SPEED * t
    pin = RADIUS * np.stack([np.cos(phi), np.sin(phi), 0 * t], axis=1)
    psi = -np.arcsin(RADIUS * np.sin(phi) / LENGTH)
    slider = np.stack([pin[:, 0] + LENGTH * np.cos(psi), 0 * t, 0 * t], axis=1)
    return {
        "crank": (0 * pin, about_z(phi)),
        "rod": (pin, about_z(psi)),
        "slider": (slider, about_z(0 * t)),
    }


def histories(t):
    """All fields of the result: path -> (axes, units, values)."""
    found = {}
    for name, (position, quaternion) in motion(t).items():
        found[f"bodies/{name}/position"] = (("xyz",), "m", position)
        found[f"bodies/{name}/velocity"] = (("xyz",), "m/s", np.gradient(position, t, axis=0))
        found[f"bodies/{name}/quaternion"] = (("wxyz",), "1", quaternion)
    found["bodies/rod/q"] = (("bodies/rod/mode",), "1", coordinates(t))
    found["bodies/rod/q_dot"] = (("bodies/rod/mode",), "1/s", np.gradient(coordinates(t), t, axis=0))
    found["joints/main/position"] = (("joints/main/coordinate",), "rad", SPEED * t[:, None])
    found["joints/main/velocity"] = (("joints/main/coordinate",), "rad/s", 0 * t[:, None] + SPEED)
    found["sensors/mid"] = (("xyz",), "m", np.stack([0 * t, 4e-3 * np.sin(2 * SPEED * t), 0 * t], axis=1))
    kinetic, strain = 3.0 + np.cos(2 * SPEED * t), 0.5 - 0.4 * np.cos(2 * SPEED * t)
    work = kinetic + strain - (kinetic + strain)[0]
    for name, values in {
        "kinetic": kinetic, "strain": strain, "gravity": 0 * t, "spring": 0 * t, "dissipated": 0 * t,
        "work": work,
        "balance_error": 1e-9 * np.sin(SPEED * t),
    }.items():  # fmt: skip
        found[f"energy/{name}"] = ((), "J", values)
    for name, values in {"step_size": 1e-4 + 0 * t, "iterations": 3.0 + 0 * t, "rejected": 0 * t}.items():
        found[f"solver/{name}"] = ((), "s" if name == "step_size" else "1", values)
    found["solver/constraint_position"] = ((), "1", 1e-12 * (1 + np.sin(SPEED * t) ** 2))
    found["solver/constraint_velocity"] = ((), "1", 1e-10 * (1 + np.sin(SPEED * t) ** 2))
    return found


def layout_of(fields):
    """Layout of the fields with the axes they use."""
    n_modes = fields["bodies/rod/q"][2].shape[1] if "bodies/rod/q" in fields else 4
    axes = (*COMMON_AXES, Axis("bodies/rod/mode", n_modes), Axis("joints/main/coordinate", 1, ("angle",)))
    return Layout(axes, tuple(Field(name, item[0], item[1]) for name, item in fields.items()))


def write_unfinished(path, n=11, t_end=0.1):
    """The folder of a run that goes on: two segments of n samples each."""
    path = Path(path)
    if not (path.parent / "rod.modal.h5").exists():
        rod_modal().save(path.parent / "rod.modal.h5")
    times = np.linspace(0.0, t_end, 2 * n)
    fields = histories(times)
    items = {"provenance": {"case_resolved": json.dumps(case())}}
    with ResultWriter(path, layout_of(fields), items, {"case_sha256": "0" * 64}) as writer:
        for part in (slice(0, n), slice(n, 2 * n)):
            samples = {name: item[2][part] for name, item in fields.items()}
            writer.commit(samples | {"time": times[part]}, {"t": times[part][-1]}, times[part][-1])
    return path


def write_result(
    path, n=201, t_end=0.1, case_data=None, without=(), items=True, linear=None, said=None, more=None
):
    """Result file at `path`, and beside it `rod.modal.h5`; `more(t)` are fields to add or to replace."""
    path = Path(path)
    if not (path.parent / "rod.modal.h5").exists():
        rod_modal().save(path.parent / "rod.modal.h5")
    t = np.linspace(0.0, t_end, max(n, 2))
    given = histories(t) | (more(t) if more else {})
    fields = {name: (item[0], item[1], item[2][:n]) for name, item in given.items()}
    fields = {name: item for name, item in fields.items() if name not in without}
    t = t[:n]
    layout = layout_of(fields)

    def fill(root):
        stacks = stacked(layout)
        scales = write_axes(root, stacks.axes) | write_parts(root, stacks)
        scales["time"] = hdf5.scale(root, "time", t, "s")
        values = {path: item[2] for path, item in fields.items()}
        for item in stacks.alone:
            write_field(root, item, values[item.path], scales)
        for stack in stacks.stacks:
            write_stack(root, stack, stack.join(values), scales)
        group = root.create_group("events")
        axis = hdf5.scale(group, "event", np.arange(1))
        hdf5.dataset(group, "time", np.array([0.05]), units="s", scales=[axis])
        hdf5.dataset(group, "kind", ["change_point"], scales=[axis])
        hdf5.dataset(group, "text", ["joints.main passes a dead centre"], scales=[axis])
        resolved = json.dumps(case_data or case())
        if items:
            write_items(root, {"provenance": {"case_resolved": resolved, "log": "made by formulas"}})
        if linear is not None:
            write_items(root, {"linear": linear})
        if said is not None:
            write_items(root, {"summary": {"text": said}})
        hdf5.attributes(
            root, status="complete", message="", t_reached=t_end, case_sha256="0" * 64, wall_seconds=0.1
        )

    hdf5.build_file(path, fill, format=FORMAT, version=FORMAT_VERSION, overwrite=True)
    return path
