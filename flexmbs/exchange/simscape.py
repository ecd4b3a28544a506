"""Simscape Multibody's reduced-order flexible solid: a .mat file with P, K, M, C (version 5)."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from flexmbs.disk import atomic_file
from flexmbs.errors import Diagnostic, InputError
from flexmbs.exchange.boundary import NOT_KNOWN, Boundary, body_from, boundary_of
from flexmbs.exchange.mat5 import read_matrices
from flexmbs.modaldata import ModalData
from flexmbs.modaldata.validate import LARGEST


def write(modal: ModalData, path: Path, *, overwrite: bool = False) -> list[str]:
    """Write P, K, M, C; frames are the interfaces in their order, all with the axes of the body."""
    from scipy.io import savemat

    form, buffer = boundary_of(modal), io.BytesIO()
    savemat(buffer, {name: getattr(form, name) for name in "PKMC"}, do_compression=False)
    with atomic_file(path, overwrite) as file:
        file.write(buffer.getvalue())
    return [f"frame {k + 1} is the interface {name}" for k, name in enumerate(modal.interfaces)] + [NOT_KNOWN]


def read(path: Path) -> tuple[ModalData, list[str]]:
    """Read P, K, M and, where it is there, C."""
    arrays = read_matrices(path, "PKMC")
    for name in "PKM":
        if name not in arrays:
            raise InputError(
                Diagnostic("exchange.content", path.name, f"there is no {name}", "expected P, K, M")
            )
    for name, value in arrays.items():
        if not (np.abs(value) < LARGEST).all():
            what = f"{name} has numbers that are not finite, or beyond {LARGEST:g}"
            raise InputError(Diagnostic("exchange.content", path.name, what, "expected numbers of a body"))
    P, K = arrays["P"], arrays["K"]
    C = arrays.get("C", np.zeros_like(K))
    if (
        P.shape[1] != 3
        or len(K) < 6 * len(P)
        or any(A.shape != K.shape or A.shape[0] != A.shape[1] for A in (K, arrays["M"], C))
    ):
        what = f"P {P.shape}, K {K.shape}, M {arrays['M'].shape}"
        raise InputError(
            Diagnostic("exchange.content", path.name, what, "expected (n, 3) and square ones from 6 n on")
        )
    return body_from(path, Boundary(P, K, arrays["M"], C), "Simscape"), [NOT_KNOWN]
