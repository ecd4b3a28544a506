"""A part in the browser: faces are clicked and become interfaces, the recipe grows beside them as text."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.errors import Diagnostic, FlexmbsError, InputError, nearest
from flexmbs.fe.check.quality import shapes
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import NAMED
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.skin import triangles_of_faces
from flexmbs.modal.areas import centroid, set_pieces
from flexmbs.modal.interfaces import TIES
from flexmbs.modaldata import ModalData
from flexmbs.post.animation.page import Arrays, animation_page
from flexmbs.post.scene import Scene, SceneBody
from flexmbs.post.visuals import TriMesh
from flexmbs.reduce.options import recipe_text
from flexmbs.reduce.reading import recipe_of
from flexmbs.reduce.recipe import Recipe
from flexmbs.reduce.source import bare_interfaces, bare_mesh
from flexmbs.reduce.stage1 import run
from flexmbs.toml_file import parse_toml
from flexmbs.view.bodies import modal_page
from flexmbs.view.case_edit import with_value
from flexmbs.view.kept import Kept
from flexmbs.view.patches import Patch, patches_of, place_of
from flexmbs.view.recipe_edit import free_name, with_entry
from flexmbs.view.work import Work

if TYPE_CHECKING:
    from flexmbs.view.cad import CadPart

FAMILIES = ("tet", "hex", "wedge", "pyramid", "tri", "quad")
STONE = (0.62, 0.66, 0.71)
#: of interfaces on shapes, where the user gives none
NAMES = {"cylinder": "bore", "sphere": "ball"}


class PartDoor:
    """A mesh, or the recipe of one. The text of the recipe is all that there is; `save` keeps it."""

    def __init__(self, path: Path, cad: CadPart | None = None) -> None:
        self.cad = cad
        own = path.suffix.lower() == ".toml"
        self.target = path if own else path.with_name(f"{path.name.split('.')[0]}.reduce.toml")
        self.kept = Kept(self.target)
        if self.kept.text is not None and not own:
            what = "there is a recipe of this part already"
            raise InputError(Diagnostic("view.recipe", str(self.target), what, f"flexmbs view {self.target}"))
        self.text = self.kept.text or recipe_text({"mesh": path.name, "modes": 6})
        self.mesh: Mesh = bare_mesh(self.recipe(self.text)) if cad is None else cad.mesh
        self.patches: list[Patch] = patches_of(self.mesh) if cad is None else cad.patches
        self.sets = {name: self.mesh.node_set_of(name) for name in self.mesh.set_names}
        self.work: Work | None = None

    def recipe(self, text: str) -> Recipe:
        return recipe_of(parse_toml(text, name=self.target.name), self.target)

    def page(self, name: str) -> str | None:
        if name == "":
            return animation_page(self.scene(), more={"part": self.told()})
        if name == "modes" and self.work is not None and self.work.made is not None:
            return modal_page(self.work.made, self.target.name.split(".")[0])
        return None

    def told(self) -> dict[str, Any]:
        kinds = [{"kind": patch.kind, "nodes": len(patch.nodes)} for patch in self.patches]
        sets = {name: self.covered(nodes) for name, nodes in self.sets.items()}
        return {
            "file": self.target.name,
            "text": self.text,
            "patches": kinds,
            "sets": {name: own for name, own in sets.items() if own and len(own) < len(self.patches)},
            "ties": list(TIES),
            "materials": list(NAMED),
            "solids": list(self.mesh.cell_sets),
            "colours": self.colours(),
            **self.check(self.text),
        }

    def covered(self, nodes: Any) -> list[int]:
        """Numbers of the patches whose nodes are all among these."""
        inside = np.zeros(self.mesh.n_nodes, dtype=bool)
        inside[nodes] = True
        return [k for k, patch in enumerate(self.patches) if inside[patch.nodes].all()]

    def act(self, word: str, data: dict[str, Any]) -> dict[str, Any] | None:
        text = data.get("text", "")
        if not isinstance(text, str):
            return None
        match word:
            case "check":
                return self.check(text)
            case "interface":
                return self.interface(text, data)
            case "support":
                return self.support(text, data)
            case "material":
                return self.material(text, data)
            case "values":
                return self.values(str(data.get("key")))
            case "save":
                return self.save(text)
            case "reduce":
                return self.reduce(text)
            case "progress":
                return None if self.work is None else self.work.told()
        return None

    def check(self, text: str) -> dict[str, Any]:
        """What is wrong with the text, and where its interfaces stand."""
        try:
            found = bare_interfaces(self.recipe(text), self.mesh)
        except FlexmbsError as error:
            return {"errors": [str(item) for item in error.diagnostics]}
        told = []
        for item in found:
            own = self.covered(item.nodes)
            told.append({"name": item.name, "place": item.position.tolist(), "tie": item.tie, "patches": own})
        return {"errors": [], "interfaces": told}

    def interface(self, text: str, data: dict[str, Any]) -> dict[str, Any]:
        """The text with one more interface: the nodes of the chosen patches, or the chosen nodes."""
        tie = str(data.get("tie", "rbe2"))
        if tie not in TIES:
            raise InputError(Diagnostic("view.tie", "view", f'unknown tie "{tie}"', nearest(tie, list(TIES))))
        nodes = self.chosen(data)
        kind, place, named = self.place(nodes)
        usual = named or NAMES.get(kind.split()[0], "face")
        name = free_name(text, str(data.get("name") or usual))
        made = with_entry(text, "interfaces", name, {"tie": tie} | place)
        item = next(item for item in bare_interfaces(self.recipe(made), self.mesh) if item.name == name)
        middle = centroid(self.mesh, set_pieces(self.mesh, name, nodes))
        off = float(np.linalg.norm(item.position - middle))
        said = f"{name}: {len(nodes)} nodes, {kind}, at " + ", ".join(f"{1e3 * x:.6g}" for x in item.position)
        said += " mm" + (
            f", on the axis, {1e3 * off:.3g} mm from the middle of its faces" if off > 0.0 else ""
        )
        return {"text": made, "said": said, **self.check(made)}

    def chosen(self, data: dict[str, Any]) -> Any:
        """Nodes that were pointed at: those of patches, or by their numbers."""
        patches, nodes = data.get("patches") or [], data.get("nodes") or []
        if not (isinstance(patches, list) and isinstance(nodes, list) and (patches or nodes)):
            raise InputError(Diagnostic("view.choice", "view", "no face is chosen", "click one or several"))
        for numbers, n in ((patches, len(self.patches)), (nodes, self.mesh.n_nodes)):
            if not all(type(k) is int and 0 <= k < n for k in numbers):
                raise InputError(Diagnostic("view.choice", "view", "there is no such face", "click one"))
        parts = [self.patches[k].nodes for k in patches] + [np.array(nodes, dtype=np.int64)]
        return np.unique(np.concatenate(parts))

    def place(self, nodes: Any) -> tuple[str, dict[str, Any], str]:
        """Kind of a choice of nodes, its place in a recipe, and the set of the mesh that it is, or ""."""
        kind, place = place_of(self.mesh, nodes)
        named = next((name for name, own in self.sets.items() if np.array_equal(own, nodes)), "")
        return kind, {"set": named} if named else place, named

    def support(self, text: str, data: dict[str, Any]) -> dict[str, Any]:
        """The text with the chosen faces held in some directions."""
        nodes = self.chosen(data)
        _, place, named = self.place(nodes)
        dofs = str(data.get("dofs") or "x y z")
        name = named
        if not named:
            name = free_name(text, str(data.get("name") or "support"), "sets")
            text = with_entry(text, "sets", name, place)
        made = with_entry(text, "fix", name, dofs)
        return {"text": made, "said": f"{name}: {len(nodes)} nodes held, {dofs}", **self.check(made)}

    def material(self, text: str, data: dict[str, Any]) -> dict[str, Any]:
        """The text with a material of the whole part, or of one of its solids."""
        solid, name = str(data.get("solid") or ""), str(data.get("material") or "")
        if name not in NAMED:
            remedy = nearest(name, list(NAMED))
            raise InputError(Diagnostic("view.material", "view", f'unknown material "{name}"', remedy))
        made = with_value(text, ("materials", solid) if solid else ("material",), name)
        return {"text": made, "said": f"{solid or 'the part'}: {name}", **self.check(made)}

    def colours(self) -> list[dict[str, str]]:
        """What may be seen as colours; the numbers come when they are asked for."""
        known = [{"key": "quality", "title": "scaled Jacobian", "unit": ""}]
        return known + [{"key": "thickness", "title": "thickness", "unit": "mm"}] * (
            self.mesh.shell is not None
        )

    def values(self, key: str) -> dict[str, Any] | None:
        """Numbers at the points of every patch, and their ends."""
        of_nodes = node_values(self.mesh, key)
        if of_nodes is None:
            return None
        arrays = Arrays()
        found = [arrays.put(of_nodes[patch.nodes]) for patch in self.patches]
        ends = {"low": float(np.nanmin(of_nodes)), "high": float(np.nanmax(of_nodes))}
        return {"values": found, "arrays": arrays.text(), **ends}

    def save(self, text: str) -> dict[str, Any]:
        """Keep the text in its file, unless somebody else has changed that."""
        if self.cad is not None:
            self.cad.keep()
        self.kept.save(text)
        return {"errors": [], "said": f"{self.target.name} is kept; flexmbs reduce {self.target.name}"}

    def reduce(self, text: str) -> dict[str, Any]:
        """Begin the reduction; its modal data stay in memory until a command keeps them."""
        if self.work is not None and not self.work.done:
            return self.work.told()
        recipe = self.recipe(text)
        mesh = None if self.cad is None else self.cad.mesh

        def make(progress: Any) -> ModalData:
            with TemporaryDirectory() as folder:  # as the dynamics would read it
                run(recipe, mesh, progress).save(Path(folder) / "part.modal.h5")
                return ModalData.load(Path(folder) / "part.modal.h5")

        self.work = Work(make)
        return self.work.told()

    def close(self) -> None:
        if self.work is not None:
            self.work.close()
        if self.cad is not None:
            self.cad.close()

    def scene(self) -> Scene:
        """The patches as bodies at rest, each by its own."""
        bodies = []
        for k, patch in enumerate(self.patches):
            number = np.zeros(self.mesh.n_nodes, dtype=np.int64)
            number[patch.nodes] = np.arange(len(patch.nodes))
            triangles = number[triangles_of_faces(patch.faces)]
            mesh = TriMesh(self.mesh.points[patch.nodes], triangles, rim_of(triangles))
            rest = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 0))
            found = SceneBody(f"face {k + 1}", patch.kind, mesh, *rest, STONE, nodes=patch.nodes)
            bodies.append(found)
        return Scene(self.target.name.split(".")[0], np.zeros(1), bodies, at_rest=True)


def node_values(mesh: Mesh, key: str) -> Any:
    """What is told of cells, at their nodes: the worst quality, the least thickness [mm], or None."""
    least = np.full(mesh.n_nodes, np.inf)
    for kind, rows in mesh.cells.items():
        values = _of_cells(mesh, kind, key)
        if values is not None:
            np.minimum.at(least, rows.ravel(), np.repeat(values, rows.shape[1]))
    return np.where(np.isfinite(least), least, np.nan) if np.isfinite(least).any() else None


def _of_cells(mesh: Mesh, kind: str, key: str) -> Any:
    if key == "quality":
        return shapes(mesh, kind).scaled if ELEMENTS[kind].family in FAMILIES else None
    if key != "thickness" or mesh.shell is None or kind not in mesh.shell.index:
        return None
    return 1e3 * np.array([item.thickness for item in mesh.shell.sections])[mesh.shell.index[kind]]


def rim_of(triangles: Any) -> Any:
    """Edges that belong to one triangle only."""
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges, count = np.unique(np.sort(pairs, axis=1), axis=0, return_counts=True)
    return edges[count == 1]
