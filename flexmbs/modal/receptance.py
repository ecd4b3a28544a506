"""Error of the reduction over a band, and the smallest basis that keeps it below a bound (F52)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.pieces.mapped import kept
from flexmbs.modal.basis import Basis, Columns, independent, orthonormalise
from flexmbs.modal.frame import apply_frame
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import TiedModel

Floats = NDArray[np.float64]

LOSS_FACTOR = 0.02
N_FREQUENCIES = 120
#: the full model is solved until its receptance changes by less than this
SOLVED = 1e-6
MAX_BLOCKS = 24
#: part of a mode that has to lie in the mode of the full model that it stands for
ALIKE = 0.8


@dataclass(frozen=True)
class ModalReceptance:
    """Receptance of the markers by all modes: C rows (n_b, n), omega2 (n,), rigid ones included."""

    C: Floats
    omega2: Floats

    def at(self, frequency_hz: Floats) -> Floats:
        """H (n_freq, n_b, n_b), with the loss factor in the stiffness."""
        w2 = (2.0 * np.pi * np.asarray(frequency_hz)) ** 2
        gain = 1.0 / (self.omega2 * (1.0 + 1j * LOSS_FACTOR) - w2[:, None])
        return np.einsum("ia,fa,ja->fij", self.C, gain, self.C, optimize=True)


@dataclass(frozen=True)
class BandError:
    """Largest relative error of the receptance over the band, where, and how well it is known.

    errors : (n_freq, 2) frequency and error along the band
    modes : (nf, 2) frequencies of the free body by the basis, and their relative errors; NaN where the full
    model shows none that is alike
    free : the same as `error` for as many free modes with their residual shapes
    """

    error: float
    frequency_hz: float
    band_hz: float
    uncertainty: float
    errors: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    modes: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    free: float = np.inf

    def good_hz(self, bound: float) -> float:
        """Up to where every error along the band stays within a bound; 0 where none does."""
        beyond = np.flatnonzero(~(self.errors[:, 1] <= bound))
        last = int(beyond[0]) if len(beyond) else len(self.errors)
        return float(self.errors[last - 1, 0]) if last else 0.0


class FullResponse:
    """Receptance of the full model at its interfaces, by a block Krylov iteration that begins at the basis.

    The space of all reduced columns grows by the static responses, then by K^-1 M applied to them again and
    again, until the receptance no longer changes; each block matches two more moments of the full model.
    """

    def __init__(self, statics: Statics, columns: Columns, band_hz: float) -> None:
        self.model = statics.model
        self.band_hz = band_hz
        self.rows = scaled_rows(self.model)
        self.basis = reduced(columns, self.model)
        grid = np.geomspace(0.01 * band_hz, band_hz, N_FREQUENCIES)
        own = self.basis.frequency_hz
        self.frequencies = np.unique(np.concatenate([grid, own[(own < band_hz) & (own > grid[0])]]))
        self.change = np.inf
        self.full = self.of(self.basis.U, self.basis.omega2)
        self.turn = np.eye(len(self.basis.omega2))
        self.response = self.of(self.basis.U, self.basis.omega2).at(self.frequencies)
        self._iterate(statics)

    def _iterate(self, statics: Statics) -> None:
        """Grow the space, M-orthonormal, until the receptance stays."""
        K, M, free = self.model.K, self.model.M, statics.holding()
        U = [self.basis.U]
        MU = [kept(M @ self.basis.U)]
        C, K_r = self.rows @ self.basis.U, np.diag(self.basis.omega2)
        load, empty = np.ascontiguousarray(self.rows.T), 0
        for step in range(MAX_BLOCKS):
            response = free.respond(load)
            load = M @ response
            size = np.sqrt(np.maximum(np.einsum("ij,ij->j", response, load), 0.0))
            scale = 1.0 / np.where(size > 0.0, size, 1.0)
            response, load = response * scale, load * scale
            block, M_block = remainder(response, load, U, MU)
            empty = 0 if block.shape[1] else empty + 1
            if empty == 2:  # one says nothing: attachment modes are the static responses of the first block
                self.change = 0.0
                break
            K_block = K @ block
            cross = np.concatenate([known.T @ K_block for known in U])
            K_r = np.block([[K_r, cross], [cross.T, block.T @ K_block]])
            C = np.concatenate([C, self.rows @ block], axis=1)
            U.append(kept(block))
            MU.append(kept(M_block))
            omega2, turn = np.linalg.eigh(0.5 * (K_r + K_r.T))
            self.full, self.turn = self._with_rigid(C @ turn, np.maximum(omega2, 0.0)), turn
            new = self.full.at(self.frequencies)
            self.change = float(np.max(relative_difference(self.response, new)))
            self.response = new
            if self.change < SOLVED and step and not empty:
                break

    def of(self, U: Floats, omega2: Floats) -> ModalReceptance:
        """Receptance of elastic modes U (n_t, nf) together with the rigid motions."""
        return self._with_rigid(self.rows @ U, omega2)

    def _with_rigid(self, C: Floats, omega2: Floats) -> ModalReceptance:
        rigid = self.rows @ self.model.rigid
        return ModalReceptance(
            np.concatenate([rigid, C], axis=1), np.concatenate([np.zeros(rigid.shape[1]), omega2])
        )

    def error_of_basis(self, basis: Basis) -> BandError:
        """Error of a reduced basis, of its frequencies, and of as many free modes."""
        found = self.error_of(self.of(basis.U, basis.omega2))
        return replace(found, modes=self.frequency_errors(basis), free=self.free_error(basis))

    def frequency_errors(self, basis: Basis) -> Floats:
        """Modes of a basis, and how much higher each lies than the mode of the full model that is like it."""
        rigid, known = self.model.rigid.shape[1], self.basis
        alike = (known.U.T @ (self.model.M @ basis.U)).T @ self.turn[: known.U.shape[1]]
        if not alike.size:
            return np.zeros((0, 2))
        same = np.argmax(np.abs(alike), axis=1)
        full = np.maximum(self.full.omega2[rigid:][same], 1e-300)
        near = np.abs(alike[np.arange(len(same)), same]) > ALIKE
        return np.column_stack(
            [basis.frequency_hz, np.where(near, np.sqrt(np.maximum(basis.omega2, 0.0) / full) - 1.0, np.nan)]
        )

    def free_error(self, basis: Basis) -> float:
        """Error with as many free modes of the full model as the basis has fixed ones, and residual shapes.

        Those are the static responses less the part of the modes, with their own inertia.
        """
        rigid, full = self.model.rigid.shape[1], self.full
        count = max(len(basis.omega2) - self.rows.shape[0] + rigid, 0)
        omega2, C = full.omega2[rigid:], full.C[:, rigid:]
        omega2 = np.maximum(omega2, np.finfo(float).eps * omega2.max(initial=0.0))  # what rounding leaves
        rest = C[:, count:].T / omega2[count:, None]
        if not rest.size:
            return np.inf
        size = np.linalg.norm(rest, axis=0)
        turn, _ = independent(rest.T @ rest / np.outer(size, size), [""] * len(size))
        shapes = rest / size @ turn
        w2, vector = np.linalg.eigh(shapes.T @ (omega2[count:, None] * shapes))
        own = C[:, count:] @ shapes @ vector
        few = self._with_rigid(np.hstack([C[:, :count], own]), np.concatenate([omega2[:count], w2]))
        return self.error_of(few).error

    def error_of(self, modes: ModalReceptance) -> BandError:
        """Error of a reduced basis against the full response."""
        error = relative_difference(modes.at(self.frequencies), self.response)
        worst, along = int(np.argmax(error)), np.column_stack([self.frequencies, error])
        return BandError(
            float(error[worst]), float(self.frequencies[worst]), self.band_hz, self.change, along
        )


def remainder(block: Floats, M_block: Floats, U: list[Floats], MU: list[Floats]) -> tuple[Floats, Floats]:
    """What a block of columns of unit size has outside of the M-orthonormal spaces U; and M times it."""
    for known, M_known in zip(U, MU, strict=True):
        part = M_known.T @ block
        block, M_block = block - known @ part, M_block - M_known @ part
    turn, _ = independent(block.T @ M_block, [""] * block.shape[1])
    return block @ turn, M_block @ turn


def relative_difference(H: Floats, H_full: Floats) -> Floats:
    """|H - H_full| / |H_full| per frequency (Frobenius norms over the interface coordinates)."""
    return np.asarray(
        np.linalg.norm(H - H_full, axis=(1, 2)) / np.linalg.norm(H_full, axis=(1, 2)), dtype=float
    )


def scaled_rows(model: TiedModel) -> Floats:
    """Rows of the interface coordinates (n_b, n_t), rotations times a length of the body."""
    length = float(np.sqrt(np.mean(np.sum((model.points - model.points.mean(axis=0)) ** 2, axis=1)))) or 1.0
    scale = [1.0 if k < 3 else length for item in model.interfaces.values() for k in item.dofs]
    return np.asarray(model.boundary.toarray() * np.array(scale)[:, None])


def reduced(columns: Columns, model: TiedModel) -> Basis:
    """Elastic modes of columns in the mean-axis frame; with the rigid motions they span the same."""
    frame = "mean-axis" if model.rigid.shape[1] else "supports"
    moved, expected = apply_frame(columns, frame, model)
    return orthonormalise(moved, model.K, model.M, expected)
