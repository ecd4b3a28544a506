"""Which door a file has: parts and recipes are worked on, bodies, mechanisms and results are looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flexmbs import hdf5
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.fe.readers import is_mesh_file
from flexmbs.reduce.source import GEOMETRY
from flexmbs.toml_file import read_toml
from flexmbs.view.server import Door


class PageDoor:
    """Pages that are made when they are asked for, and ask for nothing."""

    def __init__(self, make: Callable[[], str], **more: Callable[[], str]) -> None:
        self.pages = {"": make, **more}
        make()  # what is wrong with the file is said before anything is served

    def page(self, name: str) -> str | None:
        return self.pages[name]() if name in self.pages else None

    def act(self, word: str, data: dict[str, Any]) -> dict[str, Any] | None:
        return None

    def close(self) -> None:
        """Nothing goes on beside it."""


def door_of(path: Path) -> Door:
    """The door of a mesh, a recipe, a reduced body, a case or a result."""
    ending = path.suffix.lower()
    if ending in GEOMETRY:
        from flexmbs.view.cad import CadPart
        from flexmbs.view.part import PartDoor

        part = CadPart(path)
        return PartDoor(part.target, part)
    if is_mesh_file(path):
        from flexmbs.view.part import PartDoor

        return PartDoor(path)
    if ending == ".toml":
        if _is_recipe(path):
            from flexmbs.view.part import PartDoor

            return PartDoor(path)
        from flexmbs.view.case import CaseDoor

        return CaseDoor(path)
    if path.exists() and not hdf5.file_format(path):
        what, remedy = "is no part, recipe, case or result", "a mesh, X.toml, X.modal.h5 or a result"
        raise UsageError(Diagnostic("view.kind", str(path), what, remedy))
    if hdf5.file_format(path) == "flexmbs-modal":
        from flexmbs.modaldata import ModalData
        from flexmbs.view.bodies import BodyDoor

        return BodyDoor(ModalData.load(path), path.name.split(".")[0])
    return PageDoor(lambda: _story(path), report=lambda: _report(path))


def _is_recipe(path: Path) -> bool:
    """By its keys; by its name where it cannot be read, but is there and can be mended."""
    try:
        return "mesh" in read_toml(path).data
    except InputError:
        if not path.is_file():
            raise
        return path.name.endswith(".reduce.toml")


def _story(path: Path) -> str:
    """What `animate` shows, with the report beside it."""
    from flexmbs.post.animation.animate import load_story
    from flexmbs.post.animation.page import SERVED_SAMPLES, animation_page

    story = load_story(path)
    more = {"report": "report"}
    return animation_page(
        story.scene, story.curves, story.shown, story.modes, more=more, samples=SERVED_SAMPLES
    )


def _report(path: Path) -> str:
    from flexmbs.post.record import Record
    from flexmbs.post.report.report import report_page

    return report_page(Record.load(path), animation=False)[0]
