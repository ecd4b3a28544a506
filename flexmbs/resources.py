"""Where the shipped cases, meshes and reference problems lie: in the wheel, or in the tree of a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(*parts: str) -> Path:
    """Path of a shipped file or folder, `resource("cases", "reference", "fe-free-block.json")`."""
    for root in (_PACKAGE / "data", _PACKAGE.parent):
        path = root.joinpath(*parts)
        if path.exists():
            return path
    raise FileNotFoundError(f"the installation lacks {'/'.join(parts)}")
