"""Pictures in notebooks and from Python: `result.show()`, `modal.show()`."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from flexmbs.modaldata import ModalData
from flexmbs.post.animation.animate import Story, result_story
from flexmbs.post.animation.page import animation_page, write_page
from flexmbs.post.record import Record
from flexmbs.post.scene import modal_scene
from flexmbs.post.skin import MAX_VERTICES


@dataclass(frozen=True)
class Picture:
    """A page that draws itself: in a notebook as a frame, elsewhere in the browser, or saved."""

    page: str = field(repr=False)
    height: int = 560

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #ccc"
        return f'<iframe title="flexmbs" style="{style}" srcdoc="{escape(self.page)}"></iframe>'

    def save(self, path: str | Path) -> Path:
        """Write the page, which then opens from a file."""
        write_page(path, self.page)
        return Path(path)

    def open(self) -> Path:
        """Write the page to a temporary file and hand it to the browser, where there is a screen."""
        folder = Path(tempfile.mkdtemp(prefix="flexmbs-"))
        path = self.save(folder / "animation.html")
        if (
            sys.platform in ("darwin", "win32")
            or os.environ.get("DISPLAY")
            or os.environ.get("WAYLAND_DISPLAY")
        ):
            webbrowser.open(path.as_uri())
        return path


def show(item: Any, *, limit: int = MAX_VERTICES, modal: dict[str, str | Path] | None = None) -> Picture:
    """Animation of a result, or of the modes of modal data; opens a browser outside notebooks."""
    if isinstance(item, ModalData):
        title = Path(item.source).name.split(".")[0] if item.source else "body"
        story = Story(modal_scene(item, title, limit))
    else:
        story = result_story(Record(item), modal, limit)
    picture = Picture(animation_page(story.scene, story.curves, story.shown, story.modes))
    if "ipykernel" not in sys.modules:
        picture.open()
    return picture
