"""A part in the browser: faces are clicked and become interfaces, the recipe grows beside them as text."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.errors import Diagnostic, FlexmbsError, InputError, nearest
from flexmbs.fe.check.mesh import size_of
from flexmbs.fe.materials import NAMED
from flexmbs.fe.mesh import Mesh
from flexmbs.modal.areas import centroid, set_pieces
from flexmbs.modal.interfaces import TIES, Interface
from flexmbs.modaldata import ModalData
from flexmbs.post.animation.page import animation_page
from flexmbs.post.scene import Scene
from flexmbs.reduce.options import recipe_text
from flexmbs.reduce.reading import recipe_of
from flexmbs.reduce.recipe import Recipe
from flexmbs.reduce.source import bare_interfaces, bare_mesh
from flexmbs.reduce.stage1 import run
from flexmbs.toml_file import parse_toml
from flexmbs.view.bodies import BodyDoor
from flexmbs.view.case_edit import with_value
from flexmbs.view.choice import Choices, Chosen
from flexmbs.view.kept import Kept
from flexmbs.view.patches import Patch, patches_of
from flexmbs.view.pictured import colours_of, edges_drawn, layer_of, part_scene, values_at
from flexmbs.view.recipe_edit import free_name, with_entry
from flexmbs.view.work import Work

if TYPE_CHECKING:
    from flexmbs.view.cad import CadPart

#: of interfaces on shapes, where the user gives none
NAMES = {"cylinder": "bore", "sphere": "ball", "circle": "ring", "line": "edge", "curve": "edge"}
#: of the size of the mesh: a distance that is none
NEAR = 1e-9


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
        self.mesh: Mesh
        if cad is None:
            self.mesh, self.check_mesh = bare_mesh(self.recipe(self.text))
        else:
            self.mesh, self.check_mesh = cad.mesh, lambda: cad.check
        self.patches: list[Patch] = patches_of(self.mesh) if cad is None else cad.patches
        self.sets = {name: self.mesh.node_set_of(name) for name in self.mesh.set_names}
        self.choices = Choices(self.mesh, self.patches, self.sets)
        self.judging: Work | None = None  # the check of the mesh, behind the first picture
        self.work: Work | None = None

    def recipe(self, text: str) -> Recipe:
        return recipe_of(parse_toml(text, name=self.target.name), self.target)

    @cached_property
    def scene(self) -> Scene:
        return part_scene(self.mesh, self.patches, self.target.name.split(".")[0])

    def page(self, name: str) -> str | None:
        if name == "":
            return animation_page(self.scene, more={"part": self.told()})
        if name == "modes" and self.work is not None and self.work.made is not None:
            return BodyDoor(self.work.made, self.target.name.split(".")[0]).page("")
        return None

    def told(self) -> dict[str, Any]:
        kinds = [{"kind": patch.kind, "nodes": len(patch.nodes)} for patch in self.patches]
        return {
            "file": self.target.name,
            "text": self.text,
            "patches": kinds,
            "sets": {name: len(nodes) for name, nodes in self.sets.items()},
            "ties": list(TIES),
            "materials": list(NAMED),
            "solids": list(self.mesh.cell_sets),
            "colours": colours_of(self.mesh),
            **self.check(self.text),
        }

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
            case "save":
                return self.save(text)
            case "reduce":
                return self.reduce(text)
            case "progress":
                return None if self.work is None else self.work.told()
        return self.shown(word, data)

    def shown(self, word: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """Requests about the picture: what is above it, what lies in it, what is wrong with the mesh."""
        match word:
            case "values":
                return values_at(self.mesh, self.scene, str(data.get("key")))
            case "layer":
                nodes = self.sets.get(str(data.get("set")))
                if nodes is None:
                    return None
                patches = self.choices.covered(nodes)
                own = [self.patches[k].nodes for k in patches]
                whole = bool(own) and np.array_equal(np.unique(np.concatenate(own)), nodes)
                return layer_of(self.mesh, self.scene, nodes) | (
                    {"patches": patches} if whole else {"nodes": nodes.tolist()}
                )
            case "edges":
                return {
                    "kinds": self.choices.kinds_of_edges(),
                    **edges_drawn(self.mesh, self.choices.edges),
                }
            case "within":
                nodes = self.choices.within(data)
                return None if nodes is None else {"nodes": nodes.tolist()}
            case "mesh":
                return self.judged()
        return None

    def judged(self) -> dict[str, Any]:
        """What the check of the mesh has found, which runs beside the page."""
        if self.judging is None:
            self.judging = Work(lambda progress: self.check_mesh().diagnostics)
        told = self.judging.told()
        found = self.judging.made or ()
        return {"done": told["done"], "errors": told["errors"], "findings": [str(item) for item in found]}

    def check(self, text: str) -> dict[str, Any]:
        """What is wrong with the text, and where its interfaces stand."""
        try:
            found = bare_interfaces(self.recipe(text), self.mesh)
        except FlexmbsError as error:
            return {"errors": [str(item) for item in error.diagnostics]}
        told = []
        for item in found:
            own = self.choices.covered(item.nodes)
            told.append({"name": item.name, "place": item.position.tolist(), "tie": item.tie, "patches": own})
        return {"errors": [], "interfaces": told}

    def interface(self, text: str, data: dict[str, Any]) -> dict[str, Any]:
        """The text with one more interface: the nodes of the chosen faces and edges, or the chosen nodes."""
        tie = str(data.get("tie", "rbe2"))
        if tie not in TIES:
            raise InputError(Diagnostic("view.tie", "view", f'unknown tie "{tie}"', nearest(tie, list(TIES))))
        chosen = self.choices.of(data)
        usual = chosen.named or NAMES.get(chosen.kind.name.split()[0], "face")
        name = free_name(text, str(data.get("name") or usual))
        entry = {"tie": tie} | chosen.place
        made = with_entry(text, "interfaces", name, entry)
        item, middle = self.placed(made, name, chosen)
        centre = chosen.kind.centre
        if centre is not None and np.linalg.norm(item.position - centre) > NEAR * size_of(self.mesh):
            pos = [float(f"{x:.10g}") if abs(x) > 1e-14 else 0.0 for x in centre]
            made = with_entry(text, "interfaces", name, entry | {"pos": pos})
            item, _ = self.placed(made, name, chosen)
        off = float(np.linalg.norm(item.position - middle))
        said = f"{name}: {len(chosen.nodes)} nodes, {chosen.kind.name}, frame {chosen.kind.where}, at "
        near = NEAR * size_of(self.mesh)
        said += ", ".join(f"{1e3 * x:.6g}" if abs(x) > near else "0" for x in item.position)
        said += f" mm: {1e3 * off if off > near else 0.0:.3g} mm from the middle of what was chosen"
        return {"text": made, "said": said, **self.check(made)}

    def placed(self, text: str, name: str, chosen: Chosen) -> tuple[Interface, Any]:
        """The interface of this name, and the middle of its faces, else of its nodes."""
        item = next(item for item in bare_interfaces(self.recipe(text), self.mesh) if item.name == name)
        pieces = set_pieces(self.mesh, name, chosen.nodes)
        return item, centroid(self.mesh, pieces) if pieces else self.mesh.points[chosen.nodes].mean(axis=0)

    def support(self, text: str, data: dict[str, Any]) -> dict[str, Any]:
        """The text with the chosen faces held in some directions."""
        chosen = self.choices.of(data)
        dofs = str(data.get("dofs") or "x y z")
        name = chosen.named
        if not name:
            name = free_name(text, str(data.get("name") or "support"), "sets")
            text = with_entry(text, "sets", name, chosen.place)
        made = with_entry(text, "fix", name, dofs)
        return {"text": made, "said": f"{name}: {len(chosen.nodes)} nodes held, {dofs}", **self.check(made)}

    def material(self, text: str, data: dict[str, Any]) -> dict[str, Any]:
        """The text with a material of the whole part, or of one of its solids."""
        solid, name = str(data.get("solid") or ""), str(data.get("material") or "")
        if name not in NAMED:
            remedy = nearest(name, list(NAMED))
            raise InputError(Diagnostic("view.material", "view", f'unknown material "{name}"', remedy))
        made = with_value(text, ("materials", solid) if solid else ("material",), name)
        return {"text": made, "said": f"{solid or 'the part'}: {name}", **self.check(made)}

    def save(self, text: str) -> dict[str, Any]:
        """Keep the text in its file, joined with what somebody else has changed there in other lines."""
        if self.cad is not None:
            self.cad.keep()
        joined, said = self.kept.save(text), f"{self.target.name} is kept; flexmbs reduce {self.target.name}"
        if joined == text:
            return {"errors": [], "said": said}
        return {"text": joined, "said": f"{said}; what somebody else changed is there", **self.check(joined)}

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
        for work in (self.judging, self.work):
            if work is not None:
                work.close()
        if self.cad is not None:
            self.cad.close()
