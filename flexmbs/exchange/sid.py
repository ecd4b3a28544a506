"""Standard input data (SID, Wallrapp): Taylor expansions in q of all that the equations of a body need.

    mdCM(q) = S_t,  J(q) = Theta,  Ct = S_f(q)^T,  Cr = I_Rf(q)^T,  Me = m_ff,  Gr, Ge: gyroscopic terms,
    Oe(q) times [wx^2, wy^2, wz^2, wx wy, wy wz, wx wz]: centrifugal terms,  Ke, De
    M_q: Me q_ddot + Ct (a - g) + Cr w_dot + Ge w + Oe W + Ke q + De q_dot = 0

Terms of first order hold the geometric stiffness too: Ct -= K_a, Cr -= K_alpha, Oe -= K_w, phi -= K_P (F17a).
What is read determines the motion: I^kl from J and Cr; of S^kl the part that is not symmetric in k and l from
the part of Cr that is not symmetric in the modes (its symmetric part is K_alpha), and the rest together with
K_w from Oe: they always act together. Gr and Ge say it again, and files in use disagree on the order of their
columns, as on that of J: they are written mode by mode and not read. Blocks are
`order nrow ncol nq nqn structure`, then `m0(r, c)` and `m1(r, mode, c)`; structures: 0 zero, 1 diagonal,
2 symmetric, 3 full, 4 unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from flexmbs.disk import atomic_file
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.exchange.given import Nodes, bad, body_of, interface_nodes, loads_of, real, symmetric
from flexmbs.ffrf.integrals import ShapeIntegrals, euler_tensor
from flexmbs.ffrf.mass import mass_matrix
from flexmbs.modaldata import ModalData
from flexmbs.spatial import LEVI_CIVITA, skew

Floats = NDArray[np.float64]

ONE, ZERO, DIAGONAL, SYMMETRIC, FULL, UNIT = np.eye(3), 0, 1, 2, 3, 4
#: places of the six numbers of Oe, and of J in the two orders that are in use
CENTRIFUGAL = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
INERTIA_ORDERS = {"xy-yz-xz": CENTRIFUGAL, "xy-xz-yz": ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))}
K_W = tuple("w." + "xyz"[k] + "xyz"[ell] for k, ell in CENTRIFUGAL)
K_A, K_AL = (tuple(f"{kind}.{axis}" for axis in "xyz") for kind in ("a", "alpha"))
AXES = tuple(f"{way} {axis}" for way in ("along", "about") for axis in "xyz")
#: numbers that a file says twice agree to this part: consistent and lumped integrals of a mesh differ
AGREE = 0.02
DIGITS = 1e-6
MAX_BYTES = 2**30
MOST = 5000


@dataclass
class Taylor:
    """m0 (r, c) and m1 (r, mode, c), or None for order 0."""

    m0: Floats
    m1: Floats | None = None
    line: int = 0

    def first(self, nf: int) -> Floats:
        """m1, zero where it is not given."""
        shape = (self.m0.shape[0], nf, self.m0.shape[1])
        return np.zeros(shape) if self.m1 is None else self.m1


AUTO = "auto"


def order_of(name: str) -> tuple[tuple[int, int], ...]:
    if name not in INERTIA_ORDERS:
        what = f'inertia order "{name}"'
        raise UsageError(
            Diagnostic("exchange.option", "inertia_order", what, f"choose {' or '.join(INERTIA_ORDERS)}")
        )
    return INERTIA_ORDERS[name]


def expansions(i: ShapeIntegrals, inertia_order: str = "xy-xz-yz") -> dict[str, Taylor]:
    """All blocks of `modal` (F10-F13, F17a)."""
    nf = i.nf
    I_kl, S_kl, six = i.I_kl, i.S_kl, order_of(inertia_order)

    def loads(names: tuple[str, ...]) -> Floats:
        found = i.load_matrices(names)
        return np.zeros((len(names), nf, nf)) if found is None else found

    J1 = 2.0 * np.einsum("cca,kl->kla", I_kl, ONE) - I_kl - I_kl.transpose(1, 0, 2)
    turn = np.einsum("ijk,jkba->iab", LEVI_CIVITA, S_kl)  # dI_Rf,ia / dq_b
    centrifugal = np.array([_centrifugal(I_kl, k, ell) for k, ell in CENTRIFUGAL])
    slopes = np.array([_centrifugal(S_kl, k, ell) for k, ell in CENTRIFUGAL]) - loads(K_W)  # (6, b, a)
    Gr0 = -2.0 * (I_kl.transpose(1, 0, 2) - np.einsum("cca,kl->kla", I_kl, ONE))
    Gr1 = -2.0 * (S_kl.transpose(1, 0, 2, 3) - np.einsum("ccba,kl->klba", S_kl, ONE))
    Ge = 2.0 * np.einsum("icm,imab->abc", LEVI_CIVITA, S_kl)
    return {
        "mdCM": Taylor(i.S_O[:, None], i.S_f[:, :, None]),
        "J": Taylor(
            np.array([[i.inertia[k, ell]] for k, ell in six]),
            np.array([J1[k, ell] for k, ell in six])[:, :, None],
        ),
        "Ct": Taylor(i.S_f.T.copy(), -loads(K_A).transpose(1, 2, 0)),
        "Cr": Taylor(
            np.einsum("ijk,jka->ai", LEVI_CIVITA, I_kl),
            turn.transpose(1, 2, 0) - loads(K_AL).transpose(1, 2, 0),
        ),
        "Me": Taylor(i.m_ff),
        "Gr": Taylor(
            Gr0.transpose(0, 2, 1).reshape(3, 3 * nf), Gr1.transpose(0, 2, 3, 1).reshape(3, nf, 3 * nf)
        ),
        "Ge": Taylor(Ge.reshape(nf, 3 * nf)),
        "Oe": Taylor(centrifugal.T.copy(), slopes.transpose(2, 1, 0)),
        "ksigma": Taylor(np.zeros((nf, 1))),
        "Ke": Taylor(i.K_ff),
        "De": Taylor(i.D_ff),
    }


def _centrifugal(C: Floats, k: int, ell: int) -> Floats:
    """Coefficient of w_k w_l in w_k w_l C^kl - w.w C^mm; C^kl or its slopes S^kl (by q_b first) (F13)."""
    return C[k, k] - np.einsum("cc...->...", C) if k == ell else C[k, ell] + C[ell, k]


def write(
    modal: ModalData, path: Path, *, overwrite: bool = False, inertia_order: str = "xy-xz-yz"
) -> list[str]:
    """Write the file; its nodes are the interfaces, numbered from 1."""
    nodes = interface_nodes(modal)
    text = "\n".join(_lines(modal, nodes, inertia_order)) + "\n"
    with atomic_file(path, overwrite) as file:
        file.write(text.encode("ascii", "replace"))
    notes = [f"node {k + 1} is the interface {label}" for k, label in enumerate(nodes.label)]
    notes.append(
        f"J stands in the order xx yy zz {inertia_order.replace('-', ' ')}: some readers take the other"
    )
    return [*notes, "the mesh and stresses are not in the file"]


def _lines(modal: ModalData, nodes: Nodes, inertia_order: str) -> Iterator[str]:
    i, nf = modal.integrals, modal.nf
    yield f"{len(nodes):5d}{nf:5d}    :No. nodes, No. modes: made by flexmbs, geometric stiffness of order 1"
    yield "part"
    yield "     new modal                                 ="
    yield "          refmod"
    yield f"               mass                            = {number(i.mass)}"
    yield f"               nelastq                         = {nf}"
    for a in range(nf):
        name = f"Eigen Mode {a + 1:4d} : {modal.frequency_hz[a]:.6g} Hz"
        yield f"               ielastq ({a + 1:4d})                  = {name}"
    yield "          end refmod"
    yield "          frame"
    for k in range(len(nodes)):
        yield f"               new node                        = {k + 1}"
        yield "                    rframe                     = body ref"
        for name, block in node_blocks(i, nodes, k).items():
            yield from _block(name, block, nf)
        yield "               end node"
    yield "          end frame"
    for name, block in expansions(i, inertia_order).items():
        yield from _block(name, block, nf)
    yield "     end modal"
    yield "end part"


def node_blocks(i: ShapeIntegrals, nodes: Nodes, k: int) -> dict[str, Taylor]:
    """Place, shapes and axes of a node; forces there are loads of the geometric stiffness (F17a, F18)."""
    Phi, Psi, nf = nodes.Phi[k], nodes.Psi[k], i.nf
    K = i.load_matrices(loads_of([nodes.label[k]])[-6:])
    K = np.zeros((6, nf, nf)) if K is None else K
    turned = np.array([skew(Psi[:, a]) @ nodes.rotation[k] for a in range(nf)]).reshape(nf, 3, 3)
    return {
        "origin": Taylor(nodes.position[k][:, None], Phi[:, :, None]),
        "phi": Taylor(Phi, -K[:3]),
        "psi": Taylor(Psi, -K[3:]),
        "AP": Taylor(nodes.rotation[k], turned.transpose(1, 0, 2)),
    }


def _block(name: str, block: Taylor, nf: int) -> Iterator[str]:
    order = 0 if block.m1 is None else 1
    rows, columns = block.m0.shape
    structure = FULL if np.any(block.m0) or order else ZERO
    pad = " " * 10
    yield f"{pad}{name}"
    for word, value in (
        ("order", order), ("nrow", rows), ("ncol", columns), ("nq", nf), ("nqn", 0), ("structure", structure)
    ):  # fmt: skip
        yield f"{pad}     {word:26s} = {value}"
    for r, c in zip(*np.nonzero(block.m0), strict=True):
        yield f"{pad}     m0({r + 1:4d},{c + 1:4d})             = {number(block.m0[r, c])}"
    if block.m1 is not None:
        for r, a, c in zip(*np.nonzero(block.m1), strict=True):
            yield f"{pad}     m1({r + 1:4d},{a + 1:4d},{c + 1:4d})        = {number(block.m1[r, a, c])}"
    yield f"{pad}end {name}"


def number(x: float) -> str:
    return f"{x: .16E}".replace("E", "D")


SIZES = ("order", "nrow", "ncol", "nq", "structure")
ENTRY = re.compile(r"(m0|m1)\s*\(\s*(\d+)\s*,\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)\s*=\s*(\S+)$")
PAIR = re.compile(r"(\w+)\s*=\s*(.*)$")


@dataclass
class File:
    """What a file says, before it is turned into integrals."""

    path: Path
    mass: float = float("nan")
    nf: int = -1
    blocks: dict[str, Taylor] = field(default_factory=dict)
    nodes: list[tuple[str, dict[str, Taylor]]] = field(default_factory=list)


def parse(path: Path) -> File:
    """All blocks of a file."""
    if path.stat().st_size > MAX_BYTES:
        raise InputError(
            Diagnostic("exchange.content", path.name, "is larger than 1 GiB", "expected a SID file")
        )
    found, into = File(path), ""
    target: dict[str, Taylor] = found.blocks
    sizes: dict[str, int] = {}
    open_block: Taylor | None = None
    for line, text in enumerate(path.read_text(encoding="ascii", errors="replace").splitlines(), start=1):
        word = text.strip()
        if line == 1 or not word:
            continue
        if open_block is not None and (entry := ENTRY.match(word)):
            _put(found, open_block, entry, line)
        elif word.startswith("end "):
            name = word[4:].strip()
            if into and name == into:
                target[into] = _finished(found, into, sizes, open_block, line)
                into, open_block, sizes = "", None, {}
            elif name == "node":
                target = found.blocks
        elif into:
            pair = PAIR.match(word)
            if pair is None or not pair[2].strip().lstrip("-").isdigit():
                raise bad(path, line, word[:80], f"expected a line of {into}")
            sizes[pair[1]] = int(pair[2])
            if all(key in sizes for key in SIZES):
                open_block = _opened(found, sizes, line)
        elif (pair := PAIR.match(word)) and pair[1] == "mass":
            found.mass = real(pair[2].strip(), path, line)
        elif pair and pair[1] == "nelastq":
            if not pair[2].strip().isdigit() or int(pair[2]) > MOST:
                raise bad(path, line, word[:80], f"expected a number of modes up to {MOST}")
            found.nf = int(pair[2])
        elif word.startswith("new node"):
            found.nodes.append((word.partition("=")[2].strip(), {}))
            target = found.nodes[-1][1]
        elif re.fullmatch(r"[A-Za-z]\w*", word) and word not in ("part", "refmod", "frame"):
            into = word
    return found


def _opened(found: File, sizes: dict[str, int], line: int) -> Taylor:
    rows, columns, nf = sizes["nrow"], sizes["ncol"], sizes["nq"]
    if nf != found.nf or not 0 <= rows <= 3 * MOST or not 0 <= columns <= 3 * MOST:
        what = f"{rows} rows, {columns} columns, nq = {nf}"
        raise bad(found.path, line, what, f"expected nq = {found.nf}, the number of modes")
    m0 = np.eye(rows, columns) if sizes["structure"] == UNIT else np.zeros((rows, columns))
    return Taylor(m0, np.zeros((rows, nf, columns)) if sizes["order"] > 0 else None, line)


def _put(found: File, block: Taylor, entry: re.Match[str], line: int) -> None:
    target = block.m0 if entry[1] == "m0" else block.m1
    place = tuple(int(k) - 1 for k in entry.groups()[1:4] if k is not None)
    if (
        target is None
        or len(place) != target.ndim
        or any(k < 0 or k >= n for k, n in zip(place, target.shape, strict=True))
    ):
        raise bad(found.path, line, entry[0][:80], "expected a place inside the block")
    target[place] = real(entry[5], found.path, line)


def _finished(found: File, name: str, sizes: dict[str, int], block: Taylor | None, line: int) -> Taylor:
    if block is None:
        raise bad(found.path, line, f"end {name}", f"expected {', '.join(SIZES)} before it")
    if sizes["structure"] == SYMMETRIC:
        for A in (block.m0,) if block.m1 is None else (block.m0, *block.m1.transpose(1, 0, 2)):
            lower = np.tril(A, -1)
            A += np.where(np.triu(A, 1) == 0.0, lower.T, 0.0)
            A += np.where(np.tril(A, -1) == 0.0, np.triu(A, 1).T, 0.0)
    return block


def read(path: Path, *, inertia_order: str = AUTO) -> tuple[ModalData, list[str]]:
    """Read a file; its nodes become interfaces `node1`, ... by their numbers.

    `inertia_order`: by default the one that agrees with Oe, which holds the same integrals.
    """
    found = parse(path)
    nf = found.nf
    for name, shape in (
        ("mdCM", (3, 1)), ("J", (6, 1)), ("Ct", (nf, 3)), ("Cr", (nf, 3)), ("Me", (nf, nf)),
        ("Oe", (nf, 6)), ("Ke", (nf, nf)), ("De", (nf, nf)),
    ):  # fmt: skip
        block = found.blocks.get(name)
        if block is None or block.m0.shape != shape:
            what = f"the block {name} is missing" if block is None else f"{name} is {block.m0.shape}"
            raise bad(path, block.line if block else 1, what, f"expected {shape}")
    if not found.mass > 0.0:
        raise InputError(Diagnostic("exchange.content", path.name, "no mass", "expected mass = in refmod"))
    labels = tuple(f"node{name}" for name, _ in found.nodes)
    nodes, K_P = _nodes(found, labels)
    if inertia_order == AUTO:
        off = {name: _disagreement(found, _bare(found, six)) for name, six in INERTIA_ORDERS.items()}
        inertia_order = min(off, key=lambda name: off[name])
    integrals = _integrals(found, order_of(inertia_order), labels, K_P)
    notes = [f"J is taken in the order xx yy zz {inertia_order.replace('-', ' ')}"]
    slopes = found.blocks["Oe"].first(nf)
    part = np.abs(slopes - slopes.transpose(1, 0, 2)).max(initial=0.0) / max(
        np.abs(slopes).max(initial=0.0), 1e-300
    )
    if part > DIGITS:
        notes.append(
            f"m1 of Oe is not symmetric in the modes by {part:.2g} of itself, as no kinetic energy is: "
            "its symmetric part is taken"
        )
    if found.blocks["Oe"].m1 is None:
        notes.append(
            "Oe is of order 0: neither centrifugal softening nor geometric stiffness, as in the file"
        )
    if found.blocks["Ct"].m1 is None:
        notes.append("Ct is of order 0: no geometric stiffness by accelerations")
    return body_of(path, integrals, nodes, labels, "SID", stress=_stress(found)), notes


def _stress(found: File) -> Floats | None:
    """Stress modes (mode, node, 6) of nodes that have `sigma`: as phi, or as the slope of one column."""
    stress = np.zeros((found.nf, len(found.nodes), 6))
    for k, (name, blocks) in enumerate(found.nodes):
        sigma = blocks.get("sigma")
        if sigma is None:
            continue
        if sigma.m0.shape not in ((6, found.nf), (6, 1)):
            raise bad(
                found.path,
                sigma.line,
                f"sigma of node {name} is {sigma.m0.shape}",
                f"expected (6, {found.nf})",
            )
        one = sigma.m0.shape == (6, 1) and sigma.m1 is not None
        stress[:, k] = sigma.first(found.nf)[:, :, 0].T if one else sigma.m0.T
    return stress if stress.any() else None


def _nodes(found: File, labels: tuple[str, ...]) -> tuple[Nodes, Floats]:
    """Places of a file, and K_P of the forces and moments there (n, 6, nf, nf)."""
    n, nf = len(labels), found.nf
    position, rotation = np.zeros((n, 3)), np.tile(ONE, (n, 1, 1))
    shapes, K_P = np.zeros((n, 6, nf)), np.zeros((n, 6, nf, nf))
    for k, (name, blocks) in enumerate(found.nodes):
        for key, shape in (("origin", (3, 1)), ("phi", (3, nf)), ("psi", (3, nf)), ("AP", (3, 3))):
            if key not in blocks or blocks[key].m0.shape != shape:
                what = f"node {name} has no {key} of {shape}"
                raise InputError(Diagnostic("exchange.content", found.path.name, what, "expected it"))
        position[k], rotation[k] = blocks["origin"].m0[:, 0], blocks["AP"].m0
        for row, key in ((0, "phi"), (3, "psi")):
            shapes[k, row : row + 3] = blocks[key].m0
            K_P[k, row : row + 3] = -blocks[key].first(nf)
    return Nodes(labels, position, rotation, shapes[:, :3].copy(), shapes[:, 3:].copy()), K_P


def _bare(found: File, six: tuple[tuple[int, int], ...]) -> ShapeIntegrals:
    """Integrals of a file without geometric stiffness."""
    b, nf = found.blocks, found.nf
    J = np.zeros((3, 3, 1 + nf))
    for place, (k, ell) in enumerate(six):
        J[k, ell] = J[ell, k] = np.concatenate([b["J"].m0[place], b["J"].first(nf)[place, :, 0]])
    trace = np.einsum("kka->a", J[:, :, 1:])
    even = 0.5 * (0.5 * trace * ONE[:, :, None] - J[:, :, 1:])  # (I^kl + I^lk) / 2
    I_kl = even + 0.5 * np.einsum("ikl,ai->kla", LEVI_CIVITA, b["Cr"].m0)
    m_ff = symmetric(b["Me"].m0, "Me", found.path)
    turn = b["Cr"].first(nf)
    turn = 0.5 * (turn - turn.transpose(1, 0, 2))  # eps_ckl S^kl_ba
    S_kl = np.einsum("ab,kl->klab", m_ff / 3.0, ONE) + 0.5 * np.einsum("ckl,bac->klab", LEVI_CIVITA, turn)
    return ShapeIntegrals(
        found.mass, b["mdCM"].m0[:, 0].copy(), b["Ct"].m0.T.copy(), euler_tensor(J[:, :, 0]), I_kl, S_kl,
        m_ff,        symmetric(b["Ke"].m0, "Ke", found.path), symmetric(b["De"].m0, "De", found.path),
    )  # fmt: skip


def _integrals(
    found: File, six: tuple[tuple[int, int], ...], labels: tuple[str, ...], K_P: Floats
) -> ShapeIntegrals:
    """Integrals and unit-load matrices that give the expansions of the file."""
    b, nf, bare = found.blocks, found.nf, _bare(found, six)
    _same(found, bare)
    plain = expansions(bare)
    loads = loads_of(labels)
    K_geo = np.zeros((len(loads), nf, nf))
    for name, names in (("Ct", K_A), ("Cr", K_AL), ("Oe", K_W)):
        left = plain[name].first(nf) - b[name].first(nf)
        for c, load in enumerate(names):  # what is not symmetric belongs to no energy (see `read`)
            K_geo[loads.index(load)] = 0.5 * (left[:, :, c] + left[:, :, c].T)
    for k in range(len(labels)):
        for c in range(6):
            K_geo[12 + 6 * k + c] = symmetric(K_P[k, c], f"m1 of {'phi' if c < 3 else 'psi'}", found.path)
    return ShapeIntegrals(**{**vars(bare), "K_geo": K_geo, "loads": loads})


def _disagreement(found: File, bare: ShapeIntegrals) -> float:
    """Largest difference of Oe to what J and Cr say, of its largest number."""
    wanted, has = expansions(bare)["Oe"].m0, found.blocks["Oe"].m0
    return float(np.abs(wanted - has).max(initial=0.0) / max(np.abs(has).max(initial=0.0), 1e-300))


def _same(found: File, bare: ShapeIntegrals) -> None:
    """What a file says twice must agree: Ct with mdCM, Oe with J and Cr, as far as its digits and mesh go."""
    moved, Ct = found.blocks["mdCM"].first(found.nf)[:, :, 0].T, found.blocks["Ct"].m0
    size = np.abs(Ct).max(initial=0.0)
    of_ct = float(np.abs(moved - Ct).max(initial=0.0) / size) if size > 1e-9 * found.mass**0.5 else 0.0
    for name, error, of in (("Ct", of_ct, "mdCM"), ("Oe", _disagreement(found, bare), "J and Cr")):
        if not error <= AGREE:
            what = f"{name} differs by {error:.3g} of itself from what {of} say"
            why = "expected expansions of the same shapes"
            raise InputError(Diagnostic("exchange.contradiction", found.path.name, what, why))
    part, axis, mode = _coupled(bare)
    if part > 1.0 + DIGITS:
        what = (
            f"Ct, Cr and Me: modes take {part:.3g} of the inertia of the body in one motion, "
            f"most of it mode {mode + 1} {axis}"
        )
        why = "expected less than 1: such a body gains energy. Have the file made again"
        raise InputError(Diagnostic("exchange.contradiction", found.path.name, what, why))


def _coupled(i: ShapeIntegrals) -> tuple[float, str, int]:
    """Largest part of the rigid inertia that modes take, whatever the frame; with its axis and mode.

    int rho |u + Phi q|^2 >= 0 for all u and q: C Me^-1 C^T <= M_rigid, the inequality of Cauchy and Schwarz.
    """
    M = mass_matrix(i, np.zeros(i.nf))
    rigid, C = M[:6, :6], M[6:, :6]
    if not i.nf or np.linalg.eigvalsh(i.m_ff)[0] <= 0.0 or np.linalg.eigvalsh(rigid)[0] <= 0.0:
        return 0.0, "", 0  # said elsewhere
    parts, motions = eigh(C.T @ np.linalg.solve(i.m_ff, C), rigid)
    worst = motions[:, -1]
    share = worst * (rigid @ worst)
    mode = int(np.argmax((C @ worst) ** 2 / np.diag(i.m_ff)))
    return float(parts[-1]), AXES[int(np.argmax(share))], mode
