"""Arrays that one line of evaluations needs (see `tables.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions import STACK
from flexmbs.model.tables import Tables, Workspace

Array = NDArray[np.float64]

#: numbers of an array of states of self-stress; beyond, where more loops hang together than that, not all
#: are shared
MOST_NULL = 10**8


def make_workspace(t: Tables, n_laws: int, n_travels: int) -> Workspace:
    """Arrays of the sizes that the tables need; what never changes in them is there from the start."""
    bodies, n_vel, n_mark = len(t.parent), len(t.driven), len(t.mark_body)
    n_prim, n_coord, n_ent, n_rows = len(t.prim_axis), len(t.coord_pos), len(t.ent_kind), len(t.row_law)
    modes = int(t.nf.sum())
    sizes = t.group_start[1:] - t.group_start[:-1]
    path = np.repeat(sizes, t.path_start[1:] - t.path_start[:-1])
    speeds = t.o_eta[1:] - t.o_eta[:-1]

    def nan(*shape: int) -> Array:
        return np.full(shape, np.nan)

    k_low = int(max(0, t.low_rank.max(initial=0)))
    n_L = int((6 * t.nf[t.mark_body]).sum())
    return Workspace(
        r=nan(bodies, 3), R=nan(bodies, 3, 3), H=nan(n_vel, 6), B=nan(int((6 * t.nf[t.parent]).sum())),
        mark_x=nan(n_mark, 3), mark_R=nan(n_mark, 3, 3), mark_u=t.mark_u0.copy(), mark_Rl=t.mark_R0.copy(),
        mark_theta=np.zeros((n_mark, 3)), L=nan(n_L),
        e_axis=nan(n_prim, 3), e_point=nan(n_prim, 3), e_travel=nan(n_prim),
        v=nan(bodies, 6), a=nan(bodies, 6), mark_v=nan(n_mark, 6), mark_a=nan(n_mark, 6),
        mark_rel=np.zeros((n_mark, 12)),
        drive_x=nan(n_laws), drive_v=nan(n_laws), drive_a=nan(n_laws),
        attitude=nan(len(t.attitude_pos), 4),
        stack=nan(STACK, 3), slots=np.zeros((3, 1 + n_coord)), out3=nan(3), travel=nan(n_travels, 3, 3),
        path_rows=nan(int(t.path_row[-1])),
        coord_x=nan(n_coord), coord_v=nan(n_coord), beta_ref=np.zeros(n_ent),
        body_out=nan(15 * bodies), rows=nan(7 * modes), f_app=np.zeros(6 * bodies + modes), tau=nan(n_vel),
        tau_coord=np.zeros(n_coord), K_coord=np.zeros(n_coord), D_coord=np.zeros(n_coord),
        K_tau=nan(n_vel), D_tau=nan(n_vel),
        M=nan(bodies, 6, 6), f=nan(bodies, 6), M_f=nan(6 * modes), N=nan(int((t.nf * t.nf).sum())),
        low_C=nan(k_low, k_low), low_R=nan(k_low, k_low), low_K=nan(k_low, k_low), low_p=nan(6 * k_low),
        G=nan(6 * modes), U=nan(n_vel, 6), D=nan(n_vel), u=nan(n_vel), da=nan(bodies, 6), delta=nan(n_vel),
        f_p=nan(bodies, 6),
        ent=nan(n_ent, 10), rowent_c=nan(len(t.rowent)), rowdof_c=nan(len(t.rowdof_coord)),
        g=nan(n_rows), g_dot=nan(n_rows), g_ddot=nan(n_rows), gap=nan(n_rows),
        gcol=nan(int(max([0, *(t.path_col + path)])), 6),
        gcol_f=nan(int(max([0, *(t.path_mode + path * t.nf[t.path_body])]))),
        e=nan(int((speeds[t.path_body] * path).sum())), e_f=nan(int(t.nf.max())),
        S=nan(int(t.env_start[-1])), S_diag=nan(n_rows),
        S_inv=nan(n_rows), redundant=np.zeros(n_rows, dtype=np.int64), used=np.zeros(n_rows, dtype=np.int64),
        used_before=np.zeros(n_rows + 1, dtype=np.int64), order=np.arange(n_rows, dtype=np.int64),
        swap=nan(n_rows), cap=sizes.astype(np.int64), near=np.full(2, np.inf),
        rhs=nan(n_rows), lam=np.zeros(n_rows),
        soft=np.zeros(n_rows), row_force=np.zeros(n_rows), reaction=nan(len(t.joint_body), 6),
        effort=nan(len(t.drive_coord)),
        **share_arrays(t),
    )  # fmt: skip


def share_arrays(t: Tables) -> dict[str, Any]:
    """States of self-stress (F28): as many as the largest block of loops can have, within a bound.

    Zeros, of which memory is taken only where something is written: seldom are all rows redundant.
    """
    n_rows, n_wrench, n_side = len(t.row_law), 6 * len(t.joint_body), len(t.side_row)
    n_null = min(largest_block(t), MOST_NULL // max(n_rows, n_wrench, 1))
    sizes: dict[str, tuple[int, ...]] = {
        "null": (n_null, n_rows),
        "null_w": (n_null, n_wrench),
        "null_v": (n_null + 1, 6),
    }
    sizes |= {"null_A": (n_rows, n_null), "null_B": (n_rows, n_null), "null_V": (n_null, n_null)}
    sizes |= {"null_y": (n_rows,), "null_d": (n_rows,), "null_e": (2 * n_null,)}
    sizes |= {"side_z": (n_side, n_null), "side_M": (n_side, n_side), "side_C": (n_side, n_side)}
    sizes |= {f"side_{name}": (n_side,) for name in "fqux"}
    counts = {"null_n": len(t.block_first) - 1, "null_i": n_null, "side_is": n_side, "side_i": n_side}
    floats = {name: np.zeros(size) for name, size in sizes.items()}
    return floats | {name: np.zeros(n, dtype=np.int64) for name, n in counts.items()}


def largest_block(t: Tables) -> int:
    """Rows of the largest block of loops."""
    return int(np.diff(t.block_first).max(initial=0))
