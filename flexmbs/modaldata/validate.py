"""Checks of modal data: shapes and types while reading, physics of the whole afterwards."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from flexmbs import hdf5
from flexmbs.errors import Diagnostic, Diagnostics, InputError
from flexmbs.fe.elements import ELEMENTS
from flexmbs.ffrf.integrals import BODY_LOADS, RIGID_TERMS, ShapeIntegrals, interface_loads, standing
from flexmbs.modaldata.data import ModalData, StaticStress
from flexmbs.spatial import LEVI_CIVITA, skew

MAX_MODES = 5000
MAX_NODES = 50_000_000
DEFINITE = 1e-8  # how far below zero rounding takes eigenvalues of matrices with ones on their diagonals
SYMMETRY = 1e-8  # of the largest entry; files of ours are symmetric to rounding

Shape = tuple[int | None, ...]

LARGEST = 1e100  # numbers beyond this are damage, and their products would not be finite
SCALARS = (
    "mass_error", "centre_error", "inertia_error", "rigid_residual", "eigen_residual", "eigen_backward_error",
    "frequency_bound",
    "sylvester_count", "sylvester_missing", "orthogonality", "mean_axis_residual", "static_error",
    "reduction_error", "reduction_error_at_hz", "reduction_band_hz", "reduction_error_uncertainty",
    "reduction_good_hz", "free_interface_error", "interest_hz", "reduction_tolerance", "band_is_given",
    "tie_patch_error",
)  # fmt: skip


class Reader:
    """Reads datasets of an open file, each against the shape and kind it must have."""

    def __init__(self, root: hdf5.Group, name: str) -> None:
        self.root = root
        self.name = name

    def refuse(self, what: str) -> NoReturn:
        raise InputError(Diagnostic("modal.content", self.name, what, "write it again with flexmbs reduce"))

    def has(self, path: str) -> bool:
        return path in self.root

    def _node(self, path: str) -> Any:
        if path and path not in self.root:
            self.refuse(f"/{path} is missing")
        return self.root[path] if path else self.root

    def shape(self, path: str, ndim: int) -> tuple[int, ...]:
        node = self._node(path)
        if not isinstance(node, hdf5.Dataset) or node.ndim != ndim:
            self.refuse(f"/{path} is not an array with {ndim} axes")
        shape: tuple[int, ...] = node.shape
        if path == "inertia/m_ff" and shape[0] > MAX_MODES:
            self.refuse(f"{shape[0]} modes are more than the limit of {MAX_MODES}")
        return shape

    def _read(self, path: str, shape: Shape, kinds: str) -> NDArray[Any]:
        node = self._node(path)
        if not isinstance(node, hdf5.Dataset) or node.dtype.kind not in kinds:
            self.refuse(f"/{path} is not an array of numbers of the right kind")
        fits = node.ndim == len(shape) and all(
            want is None or want == have for want, have in zip(shape, node.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("n" if item is None else str(item) for item in shape)
            self.refuse(f"/{path} has the shape {node.shape}, expected ({wanted})")
        if node.ndim and node.shape[0] > MAX_NODES:
            self.refuse(f"/{path} has {node.shape[0]} rows, more than the limit of {MAX_NODES}")
        return np.asarray(node[()])

    def floats(self, path: str, shape: Shape) -> NDArray[np.float64]:
        """A finite array of floats."""
        array = self._read(path, shape, "fiu").astype(np.float64)
        if not (np.abs(array) < LARGEST).all():
            self.refuse(f"/{path} has values that are not finite or out of range")
        return array

    def not_known(self, path: str, shape: Shape) -> None:
        """An array of NaN."""
        if not np.isnan(self._read(path, shape, "f")).all():
            self.refuse(f"/{path} has numbers, and the frame is held")

    def indices(self, path: str, shape: Shape, below: int | None) -> NDArray[np.int64]:
        """An array of integers, each from 0 to below `below`."""
        array = self._read(path, shape, "iu").astype(np.int64)
        return array if below is None else self.in_range(array, below, f"/{path}")

    def in_range(self, array: Any, below: int, label: str) -> NDArray[np.int64]:
        array = np.asarray(array)
        if array.dtype.kind not in "iu" or (array.size and (array.min() < 0 or array.max() >= below)):
            self.refuse(f"{label} has indices outside 0 to {below - 1}")
        return array.astype(np.int64)

    def cell_types(self) -> list[str]:
        """Cell types in the order in which they were written."""
        order = self.text_list("mesh/cells", "order")
        if sorted(order) != sorted(self._node("mesh/cells")) or not set(order) <= set(ELEMENTS):
            self.refuse("/mesh/cells does not hold the cell types it names")
        return order

    def cell_rows(self, kind: str, n_nodes: int) -> NDArray[np.int64]:
        return self.indices(f"mesh/cells/{kind}", (None, ELEMENTS[kind].n_nodes), n_nodes)

    def names(self, path: str) -> list[str]:
        order = self.text_list(path, "order")
        return order if sorted(order) == sorted(self._node(path)) else sorted(self._node(path))

    def texts(self, path: str, count: int) -> list[str]:
        texts = hdf5.texts(self._read(path, (count,), "S"))
        return texts if len(texts) == count else [""] * count

    def text_attribute(self, path: str, name: str) -> str:
        node = self._node(path)
        if name not in node.attrs:
            self.refuse(f"/{path} lacks the attribute {name}")
        return hdf5.text(node.attrs[name]).strip()

    def text_list(self, path: str, name: str) -> list[str]:
        node = self._node(path)
        if name not in node.attrs:
            self.refuse(f"/{path} lacks the attribute {name}")
        return hdf5.texts(node.attrs[name])

    def int_attribute(self, path: str, name: str) -> int:
        node = self._node(path)
        value = np.asarray(node.attrs[name]) if name in node.attrs else np.asarray(6)
        if value.ndim or value.dtype.kind not in "iu":
            self.refuse(f"/{path} has no whole number as its attribute {name}")
        return int(value)

    def tree(self, path: str) -> dict[str, Any]:
        """Everything below a group, which may be absent."""
        if not self.has(path):
            return {}
        if not isinstance(self._node(path), hdf5.Group):
            self.refuse(f"/{path} is not a group")
        return hdf5.read_tree(self._node(path))

    def quality(self) -> dict[str, Any]:
        """`/quality`: single numbers are checked to be such, as texts and tables are made of them."""
        tree = self.tree("quality")
        numbers = [(name, tree, name) for name in SCALARS if name in tree]
        lumped = tree.get("lumped_difference", {})
        if not isinstance(lumped, dict):
            self.refuse("/quality/lumped_difference is not a group")
        numbers += [(f"lumped_difference/{name}", lumped, name) for name in lumped]
        for label, table, name in numbers:
            value = np.asarray(table[name])
            if value.ndim or value.dtype.kind not in "fiu":
                self.refuse(f"/quality/{label} is not a number")
        for name in ("frequency_error", "mesh_error"):
            if name in tree:
                tree[name] = self._read(f"quality/{name}", (None, 2), "fiu")
        for name in ("warnings", "dropped", "notes", "mesh_error_without"):
            if name in tree and not isinstance(tree[name], list):
                if np.size(tree[name]):
                    self.refuse(f"/quality/{name} is not a list of texts")
                tree[name] = []
        return {**tree, "rigid_modes": self.int_attribute("quality", "rigid_modes")}


def check(modal: ModalData) -> None:
    """Refuse modal data that contradict themselves; all findings together."""
    found = Diagnostics()
    name = modal.source

    def require(condition: Any, what: str) -> None:
        if not condition:
            found.error("modal.content", name, what, "write it again with flexmbs reduce")

    body = modal.integrals
    if modal.held:
        unknown = all(np.isnan(getattr(body, label)).all() for label in RIGID_TERMS)
        require(unknown and not body.loads, "the frame is held, and there are terms of its motion")
        found.raise_errors()
        body = standing(body)
    for label, array in _numbers(modal, body):
        require(np.isfinite(array).all(), f"{label} has values that are not finite")
    found.raise_errors()
    _check_integrals(body, require)
    _check_loads(modal, require)
    _check_shapes(modal, require)
    found.raise_errors()


def _numbers(modal: ModalData, body: ShapeIntegrals) -> list[tuple[str, Any]]:
    names = ("mass", "S_O", "S_f", "Theta_kl", "I_kl", "S_kl", "m_ff", "K_ff", "D_ff", "K_geo")
    items = [(label, np.asarray(getattr(body, label))) for label in names]
    return [*items, ("Phi", modal.Phi), ("frequency_hz", modal.frequency_hz)]


def _asymmetry(A: NDArray[np.float64]) -> float:
    """Largest |A - A^T| over the last two axes, relative to the largest entry."""
    largest = float(np.abs(A).max(initial=0.0))
    return float(np.abs(A - np.swapaxes(A, -1, -2)).max(initial=0.0)) / (largest or 1.0)


def _check_integrals(body: ShapeIntegrals, require: Any) -> None:
    for label in ("Theta_kl", "m_ff", "K_ff", "D_ff", "K_geo"):
        require(_asymmetry(getattr(body, label)) <= SYMMETRY, f"{label} is not symmetric")
    swapped = np.transpose(body.S_kl, (1, 0, 3, 2))
    largest = float(np.abs(body.S_kl).max(initial=0.0)) or 1.0
    require(np.abs(body.S_kl - swapped).max(initial=0.0) <= SYMMETRY * largest, "S^lk is not (S^kl)^T")
    trace = body.S_kl[0, 0] + body.S_kl[1, 1] + body.S_kl[2, 2]
    require(np.abs(body.m_ff - trace).max(initial=0.0) <= SYMMETRY * largest, "m_ff is not the trace of S_kl")
    require(body.mass >= 0.0, f"the mass is negative, {body.mass:g} kg")
    scale = float(np.trace(body.Theta_kl))
    what = "Theta_kl is not an inertia: one moment exceeds the two others together (beams as thick as long?)"
    require(np.linalg.eigvalsh(body.Theta_kl).min() >= -1e-9 * abs(scale) - 1e-300, what)
    require(
        body.S_O @ body.S_O <= body.mass * scale * (1 + 1e-9) + 1e-300, "S_O does not fit mass and Theta_kl"
    )
    if body.nf:
        floor = np.linalg.eigvalsh(body.m_ff).min()
        require(floor > 0.0, "m_ff is not positive definite")
        require(_lowest(_whole_mass(body)) >= -DEFINITE, "some motion has a negative mass: S_f, I_kl, m_ff")
        require(_lowest(body.K_ff) >= -DEFINITE, "K_ff gives energy when the body is bent")
        require(_lowest(body.D_ff) >= -DEFINITE, "D_ff feeds energy into the body")


def _whole_mass(body: ShapeIntegrals) -> NDArray[np.float64]:
    """Mass matrix (6+nf, 6+nf) of the body as it was meshed (F12)."""
    M = np.diag(np.full(6 + body.nf, float(body.mass)))
    M[3:6, :3] = skew(body.S_O)
    M[3:6, 3:6] = np.trace(body.Theta_kl) * np.eye(3) - body.Theta_kl
    M[6:, :3] = body.S_f.T
    M[6:, 3:6] = np.einsum("ijk,jka->ai", LEVI_CIVITA, body.I_kl)
    M[6:, 6:] = body.m_ff
    return np.tril(M) + np.tril(M, -1).T


def _lowest(A: NDArray[np.float64]) -> float:
    """Lowest eigenvalue of a symmetric matrix whose diagonal is scaled to one."""
    size = np.sqrt(np.abs(np.diagonal(A)))
    size[size == 0.0] = float(size.max(initial=0.0)) or 1.0
    return float(np.linalg.eigvalsh(A / np.outer(size, size)).min())


def _check_loads(modal: ModalData, require: Any) -> None:
    body = modal.integrals
    if not body.loads:
        require(body.K_geo.size == 0, "K_geo has no names of loads")
        return
    expected = [*BODY_LOADS]
    for name in modal.interfaces:
        expected += interface_loads(name)
    require(sorted(body.loads) == sorted(expected), "the loads of K_geo are not those of this body")
    require(body.K_geo.shape == (len(body.loads), body.nf, body.nf), "K_geo has not one matrix per load")


def _check_shapes(modal: ModalData, require: Any) -> None:
    nf, n = modal.nf, modal.mesh.n_nodes
    require(modal.Phi.shape == (nf, n, 3), f"Phi has the shape {modal.Phi.shape}, expected ({nf}, {n}, 3)")
    require(modal.Psi is None or modal.Psi.shape == (nf, n, 3), "Psi has not the shape of Phi")
    require(len(modal.kind) == nf, "kind has not one text per mode")
    frequency = modal.frequency_hz
    require(frequency.shape == (nf,) and (np.diff(frequency) >= 0).all(), "frequencies are not ascending")
    require((frequency >= 0).all(), "there are negative frequencies")
    if modal.stress is not None:
        count = n if modal.stress_at == "nodes" else modal.mesh.n_cells
        require(modal.stress.shape == (nf, count, 6), f"stress modes have the shape {modal.stress.shape}")
    if modal.static_stress is not None:
        _check_static(modal, modal.static_stress, require)
    if modal.preload_stress is not None:
        fits = modal.stress is not None and modal.preload_stress.shape == modal.stress.shape[1:]
        require(fits, "preload_stress does not fit the modes")
    if modal.preload_field is not None:
        fits = modal.preload_stress is not None and modal.preload_field.shape == (n, 6)
        require(fits, "preload_field does not fit the mesh")
    if modal.preload_strain is not None:
        fits = modal.preload_field is not None and modal.preload_strain.shape == (modal.mesh.n_cells, 3)
        require(fits, "preload_strain does not fit the mesh")
    for name, item in modal.interfaces.items():
        require(item.Phi.shape == (3, nf) and item.Psi.shape == (3, nf), f"interface {name}: rows do not fit")
        turned = item.rotation @ item.rotation.T - np.eye(3)
        require(np.abs(turned).max() < 1e-9, f"interface {name}: its frame is not a rotation")
        require(np.linalg.det(item.rotation) > 0, f"interface {name}: its frame is left-handed")
        require(len(item.nodes) == len(item.weights), f"interface {name}: weights do not fit its nodes")


def _check_static(modal: ModalData, static: StaticStress, require: Any) -> None:
    n_loads = len(modal.integrals.loads)
    require(modal.stress is not None, "static_stress stands without stress modes")
    points = 0 if modal.stress is None else modal.stress.shape[1]
    fits = static.stress.shape == (len(static.stress), points, 6)
    fits = (
        fits and static.share.shape == (len(static.stress), n_loads) and static.q.shape == (modal.nf, n_loads)
    )
    if static.field is not None:
        fits = fits and static.field.shape == (len(static.stress), modal.mesh.n_nodes, 6)
    require(fits, "static_stress does not fit the modes")
