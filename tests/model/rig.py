"""A system with its workspaces, evaluated stage by stage: what tests of laws and joints stand on."""

import numpy as np

from flexmbs._jit import handle, kernel
from flexmbs.dynamics.tree.kinematics import positions, velocities
from flexmbs.model.laws.applied import applied_forces
from flexmbs.model.laws.tables import DISSIPATED, POTENTIAL, WORK, workspace
from flexmbs.model.laws.values import drives
from flexmbs.model.system import build_system
from flexmbs.spatial import exp_so3, quat_from_matrix, quat_multiply


@kernel(lean=True)
def stages(laws, lw, sys, ws, t, pos, vel, acc, aux):
    """All stages up to the forces; coordinates of tree joints only."""
    drives(laws, lw, ws, t, aux)
    positions(sys, ws, pos)
    velocities(sys, ws, pos, vel, acc)
    for c in range(ws.coord.x.shape[0]):
        ws.coord.x[c], ws.coord.v[c] = pos[sys.coord.pos[c]], vel[sys.coord.vel[c]]
    applied_forces(laws, lw, sys, ws, t, pos, vel, aux)


class Rig:
    """Positions, velocities and forces of a model without loops at any state."""

    def __init__(self, model):
        self.system = build_system(model)
        self.sys, self.ws = handle(self.system.tables), handle(self.system.workspace())
        self.part = self.system.laws
        self.laws, self.lw = handle(self.part.tables), handle(workspace(self.part.tables))
        self.n_pos, self.n_vel = self.system.n_pos, self.system.n_vel
        self.aux = np.zeros(self.system.n_aux)

    def random_state(self, rng, size=0.3):
        pos, vel = size * rng.normal(size=self.n_pos), rng.normal(size=self.n_vel)
        for b in self.sys.prim.ball_beta:
            pos[b : b + 4] = quat_from_matrix(exp_so3(rng.normal(size=3)))
        return pos, vel

    def moved(self, pos, step):
        """pos (+) step, with the balls by the exponential."""
        out = pos.copy()
        for k, v in enumerate(self.sys.tree.vel_of_pos):
            if v >= 0:
                out[k] += step[v]
        for b, e in zip(self.sys.prim.ball_beta, self.sys.prim.ball_eta, strict=True):
            out[b : b + 4] = quat_multiply(pos[b : b + 4], quat_from_matrix(exp_so3(step[e : e + 3])))
        return out

    def evaluate(self, pos, vel, t=0.0):
        """All stages up to the forces; returns the output table of the laws."""
        stages(self.laws, self.lw, self.sys, self.ws, t, pos, vel, np.zeros(self.n_vel), self.aux)
        return self.lw.out

    def power(self, vel):
        """Power of all forces on the bodies and coordinates at the evaluated state."""
        ws, total = self.ws, float(self.ws.coord.tau @ self.ws.coord.v)
        for i in range(1, len(self.sys.tree.parent)):
            R, v, f = ws.body.R[i], ws.body.v[i], self.force(i)
            total += f[:3] @ R.T @ v[:3] + f[3:6] @ R.T @ v[3:] + f[6:] @ vel[self.speeds(i)]
        return total

    def force(self, i):
        """f_app of body i."""
        o = self.sys.body.o_f[i]
        return self.ws.body.f_app[o : o + 6 + self.sys.body.nf[i]]

    def speeds(self, i):
        return slice(self.sys.tree.o_qd[i], self.sys.tree.o_qd[i] + self.sys.body.nf[i])

    def total_wrench(self):
        """Sum of all f_app as force and moment about the origin of ground, ground axes."""
        total = np.zeros(6)
        for i in range(1, len(self.sys.tree.parent)):
            R, f = self.ws.body.R[i], self.force(i)
            total[:3] += R @ f[:3]
            total[3:] += R @ f[3:6] + np.cross(self.ws.body.r[i], R @ f[:3])
        return total

    def sums(self):
        """Potential, dissipated power, power without a potential, over all laws."""
        return self.lw.out[:, POTENTIAL].sum(), self.lw.out[:, DISSIPATED].sum(), self.lw.out[:, WORK].sum()
