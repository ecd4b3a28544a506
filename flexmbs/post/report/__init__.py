"""One page that tells a run: case, freedoms, motion, energies, stresses, certificates, provenance."""

from flexmbs.post.report.report import report

__all__ = ["report"]
