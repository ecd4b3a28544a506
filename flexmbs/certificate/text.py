"""The certificate as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexmbs.certificate.certify import ERRORS, WARNINGS, enough
from flexmbs.certificate.discretisation import LABEL, mesh_row, mesh_told
from flexmbs.modaldata import ModalData

LABELS = {
    "mass_error": "mass against surface",
    "centre_error": "mass centre against surface",
    "inertia_error": "second moments against surface",
    "rigid_residual": "stiffness under rigid motion",
    "eigen_residual": "worst residual of an eigenpair",
    "frequency_bound": "frequencies of the modes, bound of error",
    "eigen_backward_error": "backward error of an eigenpair",
    "sylvester_missing": "eigenvalues missed (Sylvester)",
    "orthogonality": "orthogonality of the modes",
    "mean_axis_residual": "mean-axis conditions",
    "static_error": "unit loads at the interfaces",
    "reduction_error": "interface response over the band",
}


def proven(modal: ModalData) -> list[tuple[str, str, str, str, str]]:
    """Per test of the certificate: what, value, bound, verdict, remark."""
    quality, rows = modal.quality, []
    bounds = {**ERRORS, **WARNINGS}
    bounds["reduction_error"] = float(quality.get("reduction_tolerance", bounds["reduction_error"]))
    for name, label in LABELS.items():
        if name not in quality:
            continue
        value, bound = float(quality[name]), bounds[name]
        counted = name == "sylvester_missing"
        shown, limit = f"{value:.0f}" if counted else f"{value:.1e}", "0" if counted else f"{bound:.0e}"
        remark = ""
        if name == "reduction_error" and "reduction_error_at_hz" in quality:
            worst, top = quality["reduction_error_at_hz"], quality.get("reduction_band_hz", 0.0)
            remark = f"worst at {worst:.4g} Hz, up to {top:.4g} Hz"
            good = quality.get("reduction_good_hz")
            if not value <= bound and good is not None and not enough(quality):
                remark += f"; good to {bound:g} up to {good:.4g} Hz"
        verdict = "ok" if value <= bound else "BEYOND"
        if verdict != "ok" and name == "reduction_error" and enough(quality):
            verdict = f"up to {quality['reduction_good_hz']:.4g} Hz"
        rows.append((label, shown, limit, verdict, remark))
    return rows + mesh_row(quality)


def frequencies(quality: Mapping[str, Any]) -> str:
    """How right the frequencies of the free body are; "" where nothing is known of them."""
    modes = np.asarray(quality.get("frequency_error", np.zeros((0, 2))), dtype=float)
    top = quality.get("interest_hz", np.inf)
    modes = modes[(modes[:, 0] <= top) & np.isfinite(modes[:, 1])]
    if not len(modes):
        return ""
    parts: list[str] = []
    for bound in (0.001, 0.01, 0.1):
        count = int(np.argmin(np.append(modes[:, 1] <= bound, False)))
        if count:
            parts.append(f"within {100 * bound:g} % up to {modes[count - 1, 0]:.4g} Hz")
        if count == len(modes):
            break
    return ", ".join(parts) or f"the first is off by {modes[0, 1]:.1%}"


def certificate_text(modal: ModalData) -> str:
    """One line per test: what, value, bound, verdict; then the warnings."""
    quality = modal.quality
    lines = ["certificate"]
    lines.append(f"  {'rigid motions':<34} {quality.get('rigid_modes', 6):>10}")
    for label, shown, limit, verdict, remark in proven(modal):
        extra = f" ({remark})" if remark else ""
        lines.append(f"  {label:<34} {shown:>10}  <= {limit:<7} {verdict}{extra}")
    told = frequencies(quality)
    if told:
        lines.append(f"  {'frequencies of the free body':<34} {told}")
    told = mesh_told(quality)
    if told:
        lines.append(f"  {LABEL:<34} {told}")
    if "tie_patch_error" in quality:
        lines.append(f"  {'patch test across ties':<34} {float(quality['tie_patch_error']):>10.1e}")
    lumped = quality.get("lumped_difference", {})
    if lumped:
        parts = ", ".join(f"{name} {float(value):.1e}" for name, value in lumped.items())
        lines.append(f"  {'consistent against lumped mass':<34} {parts}")
    warnings = list(quality.get("warnings", []))
    lines += [f"  warning: {text}" for text in warnings if text]
    return "\n".join(lines)
