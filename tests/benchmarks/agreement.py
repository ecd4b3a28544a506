"""How far two reductions of one body are apart: frequencies, integrals, shapes, stiffening, stresses.

Modes come in any combination where frequencies are equal, and with any sign: those of the second are turned
to those of the first within each cluster before anything is compared. Every number is a difference by the
norm of a whole array, relative to that norm; of static shapes, stresses, and of the stiffening by every unit
load the largest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

#: frequencies that differ by less than this part are of one cluster
CLUSTER = 1e-5
#: mode axes of the arrays of a body
AXES = {"S_f": (1,), "I_kl": (2,), "S_kl": (2, 3), "m_ff": (0, 1), "K_ff": (0, 1), "K_geo": (1, 2)}
RIGID = ("mass", "S_O", "Theta_kl")


def store(path: Path, modal: Any, static: np.ndarray) -> None:
    """Write what is compared; `static` (n, m) are the static shapes."""
    found = {name: np.asarray(getattr(modal.integrals, name)) for name in (*RIGID, *AXES)}
    found |= {"frequency_hz": modal.frequency_hz, "Phi": modal.Phi, "stress": modal.stress, "static": static}
    path.mkdir(parents=True, exist_ok=True)
    for name, values in found.items():
        np.save(path / f"{name}.npy", values)


def load(path: Path) -> dict[str, np.ndarray]:
    return {item.stem: np.load(item, mmap_mode="r") for item in path.glob("*.npy")}


def turn_of(frequency_hz: np.ndarray, one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Orthogonal W (nf, nf), zero between clusters: shapes `two` (mode, ...) by W are those of `one`."""
    W = np.zeros((len(one), len(one)))
    ends = np.flatnonzero(np.diff(frequency_hz) > CLUSTER * frequency_hz[1:]) + 1
    for group in np.split(np.arange(len(one)), ends):
        a, b = (np.asarray(shapes[group]).reshape(len(group), -1) for shapes in (one, two))
        left, _, right = np.linalg.svd(b @ a.T)
        W[np.ix_(group, group)] = left @ right
    return W


def apart(one: np.ndarray, two: np.ndarray, size: float | None = None) -> float:
    size = float(np.linalg.norm(one)) if size is None else size
    off = float(np.linalg.norm(np.asarray(one) - two))
    return off / size if off else 0.0


def differences(one: dict[str, np.ndarray], two: dict[str, np.ndarray]) -> dict[str, float]:
    """Of frequencies the largest relative difference, of every array that of its norm."""
    W = turn_of(one["frequency_hz"], one["Phi"], two["Phi"])
    found = {"frequency": float(np.abs(two["frequency_hz"] / one["frequency_hz"] - 1.0).max())}
    found |= {name: apart(one[name], two[name]) for name in RIGID}
    for name, axes in AXES.items():
        turned = np.asarray(two[name])
        for axis in axes:
            turned = np.moveaxis(np.tensordot(turned, W, axes=(axis, 0)), -1, axis)
        if name == "S_f":  # of elastic modes in the mean-axis frame it is rounding: as much as it could be
            found[name] = apart(one[name], turned, float(np.sqrt(one["mass"] * np.trace(one["m_ff"]))))
        elif name == "K_geo":
            found[name] = max(map(apart, one[name], turned), default=0.0)
        else:
            found[name] = apart(one[name], turned)
    found["static"] = max(map(apart, one["static"].T, two["static"].T), default=0.0)
    for name in ("Phi", "stress"):
        parts = [apart(one[name][k], np.tensordot(W[:, k], two[name], 1)) for k in range(len(W))]
        found[name] = max(parts, default=0.0)
    return found


def in_words(found: dict[str, float]) -> str:
    """The cells of a table: frequencies, integrals, static shapes, stiffening, stresses."""
    integrals = max(found[name] for name in (*RIGID, *AXES) if name != "K_geo")
    cells = [found["frequency"], integrals, found["static"], found["K_geo"], found["stress"]]
    return " | ".join(f"{value:.0e}" for value in cells)
