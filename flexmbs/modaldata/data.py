"""ModalData: what stage 1 knows of a body and stage 2 needs, and its file `*.modal.h5`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import Diagnostic, InputError, Told, known_fields, nearest
from flexmbs.fe.mesh import Mesh
from flexmbs.ffrf.integrals import ShapeIntegrals
from flexmbs.modal.place import PlaceRows, rows_at_node, rows_at_point

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class InterfaceData(Told):
    """A marker of the body: frame at rest and its rows, in body axes.

    rotation : (3, 3) takes marker axes to body axes;  Phi, Psi : (3, nf)
    nodes : indices;  weights : (n,) shares of the nodes, sum 1;  dofs : coordinates among x y z rx ry rz
    """

    position: Floats
    rotation: Floats
    Phi: Floats
    Psi: Floats
    nodes: Ints
    weights: Floats
    type: str = "rbe2"
    dofs: str = "x y z rx ry rz"

    def select(self, modes: Ints) -> InterfaceData:
        return replace(self, Phi=self.Phi[:, modes], Psi=self.Psi[:, modes])


@dataclass(frozen=True)
class StaticStress:
    """The part of the static stresses of the unit loads (F17) that the modes miss (F53).

    stress : (shape, node or cell, 6), a few shapes that span that part for all unit loads
    share : (shape, load), how much of each shape a unit load has
    q : (mode, load), static elastic coordinates of the unit loads, `K_ff^-1 int S^T f_c`
    field : (shape, node, 6), displacements and rotations of the shapes, where nodes turn
    The loads are those of `integrals.loads`.
    """

    stress: Floats
    share: Floats
    q: Floats
    field: Floats | None = None

    def select(self, kept: Ints, stress: Floats, Phi: Floats, Psi: Floats | None) -> StaticStress:
        """The same for fewer modes: those that go are missed too. `stress`, `Phi`, `Psi`: of all modes."""
        gone = np.setdiff1d(np.arange(len(self.q)), kept)
        field = self.field
        if field is not None and Psi is not None:
            field = np.concatenate([field, np.concatenate([Phi[gone], Psi[gone]], axis=2)])
        return StaticStress(
            np.concatenate([self.stress, stress[gone]]),
            np.concatenate([self.share, self.q[gone]]),
            self.q[kept],
            field,
        )


@dataclass(frozen=True, repr=False)
class ModalData(Told):
    """Reduced body: integrals, interfaces, mode shapes on the mesh, stress modes, and its certificate.

    Phi : (mode, node, xyz);  Psi : the same for nodes with rotations, else None
    stress : (mode, node or cell, xx yy zz xy yz zx) or None; `stress_at` says which; cells in the order of
    `mesh.cells`
    static_stress : what the modes miss of the stresses of unit loads, or None
    preload_stress : (node or cell, 6), there at all times, or None without a preload
    preload_field : (n_nodes, 6) displacements and rotations of the preload, where nodes turn
    preload_strain : (n_cells, 3) that its temperatures alone would bring about at bottom, middle and top, or
    None without any
    effective_mass : (mode, 6) of the three translations and the three rotations about the body origin
    """

    mesh: Mesh
    integrals: ShapeIntegrals
    Phi: Floats
    frequency_hz: Floats
    kind: tuple[str, ...]
    interfaces: dict[str, InterfaceData] = field(default_factory=dict)
    Psi: Floats | None = None
    stress: Floats | None = None
    stress_at: str = "none"
    static_stress: StaticStress | None = None
    preload_stress: Floats | None = None
    preload_field: Floats | None = None
    preload_strain: Floats | None = None
    effective_mass: Floats = field(default_factory=lambda: np.zeros((0, 6)))
    materials: dict[str, dict[str, float]] = field(default_factory=dict)
    method: str = "given"
    frame: str = "given"
    mass_formalism: str = "consistent"
    quality: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    source_sha256: str = ""
    source: str = "modal data"

    def __post_init__(self) -> None:
        known_fields(self, "interfaces", "materials", "quality", "provenance")

    @property
    def nf(self) -> int:
        """Number of elastic coordinates."""
        return self.integrals.nf

    @property
    def rigid_modes(self) -> int:
        """Rigid motions that the supports leave; six for a free body."""
        return int(self.quality.get("rigid_modes", 6))

    @property
    def held(self) -> bool:
        """Whether only motions against a frame at rest are known: mass, S_O, S_f, ... are NaN."""
        return self.frame == "held"

    @staticmethod
    def load(path: str | Path) -> ModalData:
        """Read a file `*.modal.h5` after full validation."""
        from flexmbs.modaldata import store

        return store.load(path)

    def save(self, path: str | Path, *, overwrite: bool = True) -> None:
        """Write the file whole or not at all."""
        from flexmbs.modaldata import store

        store.save(self, path, overwrite=overwrite)

    def __repr__(self) -> str:
        """Size, mass, frequencies and interfaces, in three lines."""
        hertz = ", ".join(f"{value:.4g}" for value in self.frequency_hz[:6])
        more = f", ... {self.frequency_hz[-1]:.4g}" if len(self.frequency_hz) > 6 else ""
        lines = [
            f"modal data {self.source}: {self.method}, frame {self.frame}, {self.mesh.n_nodes} nodes",
            f"  mass {float(self.integrals.mass):.6g} kg, {self.nf} modes [Hz]: {hertz}{more}",
        ]
        if self.interfaces:
            lines.append(f"  interfaces: {', '.join(self.interfaces)}")
        return "\n".join(lines)

    def show(self) -> Any:
        """The modes as a moving picture: in a notebook in place, else in the browser."""
        return import_module("flexmbs.post.show").show(self)  # late: pictures stand above this room

    def _repr_html_(self) -> str:
        """A small table in notebooks."""
        return str(import_module("flexmbs.post.cards").card(self))  # late, as for show()

    def select(
        self,
        modes: Sequence[int] | None = None,
        *,
        count: int | None = None,
        max_frequency: float | None = None,
    ) -> ModalData:
        """The same body with fewer modes: the first `count`, those up to `max_frequency` [Hz], or a list of
        mode numbers (from 1)."""
        pick = choose_modes(self.frequency_hz, modes, count, max_frequency, self.source)
        return replace(
            self,
            integrals=self.integrals.select(pick),
            Phi=self.Phi[pick],
            Psi=None if self.Psi is None else self.Psi[pick],
            stress=None if self.stress is None else self.stress[pick],
            static_stress=self._missed_by(pick),
            frequency_hz=self.frequency_hz[pick],
            kind=tuple(self.kind[a] for a in pick),
            effective_mass=self.effective_mass[pick],
            interfaces={name: item.select(pick) for name, item in self.interfaces.items()},
        )

    def _missed_by(self, pick: Ints) -> StaticStress | None:
        if self.static_stress is None or self.stress is None:
            return None
        return self.static_stress.select(pick, self.stress, self.Phi, self.Psi)

    def interface(self, name: str) -> InterfaceData:
        """Interface by name; an unknown name is an error that lists those of the file."""
        if name not in self.interfaces:
            has = ", ".join(self.interfaces) or "none"
            what = f'interface "{name}" is not in this file (it has {has})'
            raise InputError(
                Diagnostic("modal.no_interface", self.source, what, nearest(name, list(self.interfaces)))
            )
        return self.interfaces[name]

    def marker_rows(
        self,
        at: ArrayLike | None = None,
        *,
        node: int | None = None,
        nearest: ArrayLike | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """Rows of a frame inside the body: place u0 (3,), Phi (3, nf), Psi (3, nf), in body axes (F18).

        `at`: a point, interpolated within its element; `node`: a node number of the mesh file; `nearest`: the
        node nearest to a point. On solids Psi is half the curl of the displacement.
        """
        if sum(choice is not None for choice in (at, node, nearest)) != 1:
            raise ValueError("give one of at, node, nearest")
        if at is not None:
            return self._rows(rows_at_point(self.mesh, np.asarray(at, dtype=float), self.source, self._turns))
        if node is not None:
            index = int(self.mesh.node_indices(node, self.source)[0])
        else:
            distance = np.linalg.norm(self.mesh.points - np.asarray(nearest, dtype=float), axis=1)
            index = int(np.argmin(np.where(self._candidates, distance, np.inf)))
        return self._rows(rows_at_node(self.mesh, index, self._turns))

    @property
    def _turns(self) -> bool:
        return self.Psi is not None

    @cached_property
    def _candidates(self) -> NDArray[np.bool_]:
        used = self.mesh.used_nodes()
        return used if used.any() else np.ones(self.mesh.n_nodes, dtype=bool)

    def _rows(self, place: PlaceRows) -> tuple[Floats, Floats, Floats]:
        """Contract the few nodes of a place with the modes."""
        U = self.Phi[:, place.nodes]
        if self.Psi is not None:
            U = np.concatenate([U, self.Psi[:, place.nodes]], axis=2)
        Phi = np.einsum("kna,mna->km", place.displacement, U)
        Psi = np.einsum("kna,mna->km", place.rotation, U)
        return place.position.copy(), np.ascontiguousarray(Phi), np.ascontiguousarray(Psi)


def choose_modes(
    frequency_hz: Floats,
    modes: Sequence[int] | None,
    count: int | None,
    max_frequency: float | None,
    source: str,
) -> Ints:
    """Indices (from 0) of the chosen modes; a choice that does not fit the file is an error."""
    n = len(frequency_hz)
    if count is not None and not 0 <= count <= n:
        what = f"{count} modes are asked for, the file has {n}"
        raise InputError(Diagnostic("modal.count", source, what, f"choose 0 to {n}"))
    if modes is not None:
        wrong = [number for number in modes if not 1 <= number <= n]
        if wrong or len(set(modes)) < len(modes):
            what = f"there is no mode {wrong[0]}" if wrong else "a mode is listed twice"
            raise InputError(Diagnostic("modal.list", source, what, f"mode numbers run from 1 to {n}"))
        return np.array([number - 1 for number in modes], dtype=np.int64)
    pick = np.arange(n if count is None else count, dtype=np.int64)
    if max_frequency is not None:
        pick = pick[frequency_hz[pick] <= max_frequency]
    return pick


def from_shapes(
    integrals: ShapeIntegrals,
    *,
    mesh: Mesh | None = None,
    Phi: ArrayLike | None = None,
    Psi: ArrayLike | None = None,
    interfaces: Mapping[str, InterfaceData] | None = None,
    source: str = "modal data",
) -> ModalData:
    """Modal data of bodies that are given by their integrals; frequencies of (K_ff, m_ff)."""
    from scipy.linalg import eigh

    nf = integrals.nf
    mesh = mesh if mesh is not None else Mesh(np.zeros((1, 3)), {})
    omega2 = eigh(integrals.K_ff, integrals.m_ff, eigvals_only=True) if nf else np.zeros(0)
    return ModalData(
        mesh=mesh,
        integrals=integrals,
        Phi=np.zeros((nf, mesh.n_nodes, 3)) if Phi is None else np.asarray(Phi, dtype=float),
        Psi=None if Psi is None else np.asarray(Psi, dtype=float),
        frequency_hz=np.sqrt(np.maximum(omega2, 0.0)) / (2.0 * np.pi),
        kind=tuple(f"given {a + 1}" for a in range(nf)),
        interfaces=dict(interfaces or {}),
        effective_mass=np.zeros((nf, 6)),
        source=source,
    )
