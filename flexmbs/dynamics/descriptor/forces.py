"""Joint forces of the descriptor form, with the share that redundancy leaves open (F28, F32)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.descriptor.saddle import ACCURATE, SOFT, Blocks
from flexmbs.dynamics.reactions.least_distance import without_pull
from flexmbs.dynamics.reactions.symmetric import NO_ENERGY
from flexmbs.dynamics.tolerances import NOTHING, RANK
from flexmbs.model.joints.base import OFFSET

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

    from flexmbs.dynamics.descriptor.equations import Descriptor, Place

Array = NDArray[np.float64]

#: weight of multipliers that load no joint
UNLOADED = 1e-12


class JointForces:
    """Wrenches of all joints at a place: least squares, or least energy where joints have compliances.

    Forces of couplings count like those of joints: they stand below the wrenches, one row each.
    """

    def __init__(self, form: Descriptor, here: Place) -> None:
        from scipy.sparse import csc_matrix, diags, vstack

        self.form, self.here = form, here
        matrices, self.n_wrench = form.matrices, len(form.wrench_scale)
        wrenches, efforts = matrices.wrenches(here.found, here.coef, form.joint_of, len(form.system.joints))
        couplings = self._couplings(wrenches.shape[1])
        self.rows = vstack([wrenches, couplings], format="csc")
        none = csc_matrix((couplings.shape[0], efforts.shape[1]))
        self.efforts = vstack([efforts, none], format="csc")
        self.squares = diags(np.concatenate([form.wrench_scale, np.ones(couplings.shape[0])]))
        self.M, self.Phi = here.M, here.Phi
        if matrices.planar:
            self.Phi, self.M = matrices.balance(form.ws, here.found, here.coef, form.scale_of_mass)

    def _couplings(self, n: int) -> Any:
        """Forces of couplings from all `n` multipliers: the norm of their efforts on joint coordinates."""
        from scipy.sparse import csc_matrix

        sums, t = self.form.sums, self.form.tables
        unit = np.where(t.relation.kind[sums.entry] == OFFSET, 1.0, self.form.length)
        size = np.sqrt(np.bincount(sums.part, (self.here.coef / unit) ** 2, len(sums.rows)))
        own = np.flatnonzero(np.isin(sums.rows, t.row.shared))
        return csc_matrix((size[own], (np.arange(len(own)), own)), (len(own), n))

    def _nearest(
        self, metric: Any, b: Array, c: Array, target: Array, small: float = 0.0
    ) -> tuple[Array, Array, float]:
        """Solution whose multipliers make `metric @ rows @ lam` nearest to a target."""
        from scipy.sparse import identity

        rows = (metric @ self.rows).tocsc()
        weight = (rows.T @ rows).tocsc() + UNLOADED * identity(rows.shape[1], format="csc")
        # nearest in the metric to the multipliers that hit the target without any equation
        start = least_squares(rows, target) if target.any() else np.zeros(rows.shape[1])
        blocks = Blocks(self.M, self.Phi, weight)
        for soft in SOFT:
            saddle = self.form.factorise(blocks, self.M, self.Phi, weight, soft)
            found = saddle.solve_nearest(b, c, start, small)
            if found[2] <= ACCURATE:
                break
        return found

    def solve(self, state: Any, tau: Array) -> tuple[Array, Array, Array, float]:
        """Accelerations, multipliers, joint wrenches (6 n_joints,), and what is left of the equations."""
        form, here = self.form, self.here
        z_ddot, left = np.zeros(0), 0.0
        b, c = form.force(here, tau), -here.gamma
        if form.matrices.planar or here.own is not None:
            z_ddot, left = form.solve(here, b, c, form.rounding(here))
        if here.own is not None:  # what the accelerations leave of the efforts of own energies
            tau = tau + here.own.effort - here.own.mass @ (here.coordinates @ z_ddot)
        if form.matrices.planar:
            form.evaluator.kinematics(state, z_ddot.copy())
            b, c = form.matrices.missing(form.ws, here.found, here.coef, tau), np.zeros(self.Phi.shape[0])
        own = self.efforts @ tau
        found, lam, rest = self._nearest(self.squares, b, c, -(self.squares @ own), form.rounding(here))
        if np.any(form.tables.joint.soft):
            lam = self._least_energy(own, lam)
        lam = self._without_pull(lam)
        wrench = np.asarray(self.rows @ lam + own)
        wrench = wrench[: self.n_wrench]
        if form.matrices.planar:  # it has been solved, and the joints hold everything out of it
            return z_ddot, lam, wrench, left
        return found, lam, wrench, rest

    def _least_energy(self, own: Array, lam: Array) -> Array:
        """Multipliers of least elastic energy, nearest to those of least squares `lam`.

        They differ by self-stresses: null vectors of Phi^T. Dense: only where reactions are reported.
        """
        rows, energy = (self.squares @ self.rows).toarray(), (self._energy() @ self.rows).toarray()
        null = null_space(self.Phi.T.toarray())
        # a basis that is orthonormal in the squares; self-stresses that load no joint drop out
        U, s, Vt = np.linalg.svd(rows @ null, full_matrices=False)
        kept = s > 1e-10 * s.max(initial=NOTHING)
        null = null @ Vt[kept].T / s[kept]
        value = energy @ lam + self._energy() @ own
        # of the softest joint under a unit of force: where no state loads it, all is rounding
        softest = np.max(np.sqrt(self.form.tables.joint.soft.ravel()) / self.form.wrench_scale)
        U, s, Vt = np.linalg.svd(energy @ null, full_matrices=False)
        kept = s > np.sqrt(NO_ENERGY) * softest
        return np.asarray(lam - null @ (Vt[kept].T @ ((U[:, kept].T @ value) / s[kept])))

    def _without_pull(self, lam: Array) -> Array:
        """Multipliers in which no contact pulls that need not; the nearest ones. Dense, where one does."""
        t, side = self.form.tables, np.zeros(len(lam))
        side[: len(self.form.sums.rows)] = t.row.side[self.form.sums.rows]
        side[np.isin(self.form.sums.rows, self.form.evaluator.open_rows).nonzero()] = 0.0
        if not np.any(side * lam < 0.0):
            return lam
        null = null_space(self.Phi.T.toarray())
        energy = (self._energy() @ self.rows) @ null
        return without_pull(lam, null, (self.squares @ self.rows) @ null, energy, side)

    def _energy(self) -> Any:
        """Square root of twice the elastic energy, from wrenches in ground axes."""
        from scipy.sparse import block_diag, csc_matrix, diags, hstack

        t = self.form.tables
        R = self.form.ws.marker.R[t.joint.p]
        root = np.sqrt(t.joint.soft)
        blocks = [block for j in range(len(R)) for block in (R[j].T, R[j].T)]
        rigid = csc_matrix((self.n_wrench, self.rows.shape[0] - self.n_wrench))  # couplings do not give way
        return hstack([diags(root.ravel()) @ block_diag(blocks, format="csc"), rigid], format="csc")


def least_squares(A: csc_matrix, b: Array) -> Array:
    """Shortest x with |A x - b| least."""
    return np.asarray(np.linalg.lstsq(A.toarray(), b, rcond=1e-12)[0])


def null_space(A: Array) -> Array:
    """Orthonormal basis of the null space, columns of A made equally long."""
    size = np.linalg.norm(A, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    _, s, Vt = np.linalg.svd(A / size, full_matrices=True)
    rank = int(np.sum(s > RANK * s.max(initial=NOTHING)))
    return np.asarray(Vt[rank:].T / size[:, None])
