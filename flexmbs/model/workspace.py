"""Arrays that one line of evaluations needs (see `tables.py`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions.table import STACK
from flexmbs.model.tables import (
    BodyWork,
    CoordWork,
    ElasticWork,
    JointWork,
    LawWork,
    LoopWork,
    MarkerWork,
    NullWork,
    PrimWork,
    RelationWork,
    RowWork,
    SideWork,
    Tables,
    TravelWork,
    TreeWork,
    Workspace,
)

Array = NDArray[np.float64]

#: numbers of an array of states of self-stress; beyond, where more loops hang together than that, not all
#: are shared
MOST_NULL = 10**8


def make_workspace(t: Tables, n_laws: int, n_travels: int) -> Workspace:
    """Arrays of the sizes that the tables need; what never changes in them is there from the start."""
    bodies, n_vel, n_mark = len(t.tree.parent), len(t.tree.driven), len(t.marker.body)
    n_prim, n_coord, n_ent, n_rows = len(t.prim.axis), len(t.coord.pos), len(t.relation.kind), len(t.row.law)
    modes = int(t.body.nf.sum())
    sizes = t.group.start[1:] - t.group.start[:-1]
    n_slots = len(t.slot.row)

    def nan(*shape: int) -> Array:
        found = np.empty(shape)
        found.fill(np.nan)  # np.full takes three times as long to get there
        return found

    k_low = int(max(0, t.body.low_rank.max(initial=0)))
    n_L = int((6 * t.body.nf[t.marker.body]).sum())
    return Workspace(
        body=BodyWork(
            r=nan(bodies, 3),
            R=nan(bodies, 3, 3),
            v=nan(bodies, 6),
            a=nan(bodies, 6),
            M_star=nan(bodies, 6, 6),
            f_star=nan(bodies, 6),
            f_p=nan(bodies, 6),
            da=nan(bodies, 6),
            out=nan(15 * bodies),
            rows=nan(7 * modes),
            f_app=np.zeros(6 * bodies + modes),
            stands=np.zeros(1, dtype=np.int64),
        ),
        tree=TreeWork(
            H=nan(n_vel, 6),
            B=nan(int((6 * t.body.nf[t.tree.parent]).sum())),
            tau=nan(n_vel),
            K_tau=nan(n_vel),
            D_tau=nan(n_vel),
            U=nan(n_vel, 6),
            N=nan(n_vel),
            N_inv=nan(n_vel),
            u=nan(n_vel),
            eta_hat_dot=nan(n_vel),
        ),
        elastic=ElasticWork(
            M_f=nan(6 * modes),
            N=nan(int((t.body.nf * t.body.nf).sum())),
            G=nan(6 * modes),
            low_C=nan(k_low, k_low),
            low_R=nan(k_low, k_low),
            low_K=nan(k_low, k_low),
            low_p=nan(6 * k_low),
        ),
        prim=PrimWork(axis=nan(n_prim, 3), point=nan(n_prim, 3), travel=nan(n_prim)),
        marker=MarkerWork(
            x=nan(n_mark, 3),
            R=nan(n_mark, 3, 3),
            u=t.marker.u0.copy(),
            Rl=t.marker.R0.copy(),
            theta=np.zeros((n_mark, 3)),
            v=nan(n_mark, 6),
            a=nan(n_mark, 6),
            rel=np.zeros((n_mark, 12)),
            L=nan(n_L),
            K_rate=nan(6 * int(t.body.nf.max())),
        ),
        travel=TravelWork(x=nan(n_travels, 3, 3), rows=nan(int(t.travel.o_row[-1]))),
        law=LawWork(
            x=nan(n_laws),
            v=nan(n_laws),
            a=nan(n_laws),
            attitude=nan(len(t.tree.attitude_pos), 4),
            stack=nan(STACK, 3),
            slots=np.zeros((3, 1 + n_coord)),
            out3=nan(3),
        ),
        coord=CoordWork(
            x=nan(n_coord), v=nan(n_coord), tau=np.zeros(n_coord), K=np.zeros(n_coord), D=np.zeros(n_coord)
        ),
        relation=RelationWork(at=nan(n_ent, 10), turn=np.zeros(n_ent), angle=nan(n_ent, 3)),
        row=RowWork(
            g=nan(n_rows),
            g_dot=nan(n_rows),
            g_ddot=nan(n_rows),
            gap=nan(n_rows),
            c_term=nan(len(t.term.relation)),
            c_speed=nan(len(t.speed.coord)),
            redundant=np.zeros(n_rows, dtype=np.int64),
            soft=np.zeros(n_rows),
            lam=np.zeros(n_rows),
            force=np.zeros(n_rows),
        ),
        loop=LoopWork(
            E=nan(n_slots, 6),
            e=nan(int(t.front.e[-1])),
            e_f=nan(int(t.front.m[-1])),
            L_open=nan(int(t.front.L[-1])),
            bias=nan(n_rows),
            whole=nan(n_rows),
            natural=nan(n_rows),
            pivot_inv=nan(n_slots),
            order=t.slot.row.copy(),
            up=t.slot.up.copy(),
            closed=t.front.closed.copy(),
            found=np.zeros(len(sizes), dtype=np.int64),
            lost=np.zeros(len(sizes), dtype=np.int64),
            basis=nan(7, 6),
            G=nan(len(t.path.speed)),
            swap=nan(n_rows),
            along=np.zeros(n_vel),
            cap=sizes.astype(np.int64),
            near=np.full(2, np.inf),
        ),
        joint=JointWork(reaction=nan(len(t.joint.body), 6), effort=nan(len(t.drive.coord))),
        null=null_work(t),
        side=side_work(t),
    )


def null_work(t: Tables) -> NullWork:
    """States of self-stress (F28): as many as the largest block of loops can have, within a bound.

    Zeros, of which memory is taken only where something is written: seldom are all rows redundant.
    """
    n_rows, n_joints, n_null, zero = len(t.row.law), len(t.joint.body), most_null(t), np.zeros
    rows = np.diff(t.block.first)
    joints = np.bincount(t.block.of_joint[t.block.of_joint >= 0], minlength=len(rows))
    most = np.minimum(rows, n_null)
    entries = int(most @ joints)
    return NullWork(
        lam=zero((n_null, n_rows)), n=zero(len(rows), np.int64), span=zero((n_rows, 2), np.int64),
        rows=zero(int(most @ rows), np.int64), w=zero((entries, 6)), of=zero(entries, np.int64),
        next=zero(entries, np.int64), head=zero(n_joints, np.int64), mark=zero(n_joints, np.int64),
        size=zero(3, np.int64), lo=zero(n_rows, np.int64),
        stack=zero(max(len(t.front.body), len(rows)), np.int64),
        v=zero((n_null + 1, 6)), A=zero((n_rows, n_null)), B=zero((n_rows, n_null)), V=zero((n_null, n_null)),
        y=zero(n_rows), d=zero(n_rows), i=zero(n_null, np.int64),
    )  # fmt: skip


def side_work(t: Tables) -> SideWork:
    """Contacts among the states of self-stress."""
    n, zero = len(t.row.contact), np.zeros
    return SideWork(
        state=zero(n, np.int64), i=zero(n, np.int64), lo=zero(n, np.int64), z=zero((n, most_null(t))),
        M=zero((n, n)), C=zero((n, n)), f=zero(n), q=zero(n), u=zero(n), x=zero(n),
    )  # fmt: skip


def most_null(t: Tables) -> int:
    """States of self-stress that there is room for."""
    return min(largest_block(t), MOST_NULL // max(len(t.row.law), 6 * len(t.joint.body), 1))


def largest_block(t: Tables) -> int:
    """Rows of the largest block of loops."""
    return int(np.diff(t.block.first).max(initial=0))
