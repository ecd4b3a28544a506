"""A part from its CAD file in one go: meshed beside it, its faces those of the geometry."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from flexmbs import disk
from flexmbs.errors import Diagnostic, UsageError
from flexmbs.fe.check.mesh import MeshCheck, size_of
from flexmbs.fe.mesh import Mesh
from flexmbs.view.patches import Patch, patches_of
from flexmbs.view.places import FREE, kind_of


@dataclass
class CadPart:
    """A mesh that is not kept yet: it is written beside its geometry when the recipe is."""

    source: Path
    folder: TemporaryDirectory[str] = field(init=False)
    mesh: Mesh = field(init=False)
    check: MeshCheck = field(init=False)
    patches: list[Patch] = field(init=False)

    def __post_init__(self) -> None:
        from flexmbs.fe.cad.convert import mesh_cad

        if self.target.exists():
            what = f"has been meshed already: there is {self.target.name}"
            remedy = f"flexmbs view {self.target.name}"
            raise UsageError(Diagnostic("view.geometry", str(self.source), what, remedy))
        self.folder = TemporaryDirectory(prefix="flexmbs-view-")
        made = mesh_cad(self.source, self.made)
        self.mesh, self.check = made.check.mesh, made.check
        self.patches = faces_of(self.mesh, made.groups)

    @property
    def target(self) -> Path:
        return self.source.with_suffix(".msh")

    @property
    def made(self) -> Path:
        return Path(self.folder.name) / self.target.name

    def keep(self) -> None:
        """Write the mesh, once."""
        if self.made.exists():
            with disk.atomic_file(self.target, overwrite=False) as file:
                file.write(self.made.read_bytes())
            self.made.unlink()

    def close(self) -> None:
        self.folder.cleanup()


def faces_of(mesh: Mesh, groups: list[dict[str, Any]]) -> list[Patch]:
    """The faces of the geometry with their kinds; where they are not all there, faces by angle."""
    found, size = [], size_of(mesh)
    for group in groups:
        if group["name"] not in mesh.face_sets:
            continue
        faces = [rows for rows in mesh.face_nodes(mesh.face_sets[group["name"]]) if len(rows)]
        nodes = np.unique(np.concatenate([rows.ravel() for rows in faces]))
        kind = kind_of(mesh.points[nodes], size).name
        if kind == FREE and "," not in str(group.get("kind", ",")):
            kind = str(group["kind"]).lower()
        found.append(Patch(faces, nodes, kind))
    whole = patches_of(mesh)
    if sum(_count(patch) for patch in found) != sum(_count(patch) for patch in whole):
        return whole
    return sorted(found, key=lambda patch: -len(patch.nodes))


def _count(patch: Patch) -> int:
    return sum(len(rows) for rows in patch.faces)
