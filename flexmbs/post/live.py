"""A page on the loopback address that follows a run: progress, channels, moving bodies.

The run knows nothing of it: the server reads the durable segments of the unfinished result, and hands
new samples to the page as an event stream.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import hdf5
from flexmbs.errors import FlexmbsError
from flexmbs.post.animation.animate import Story, result_story
from flexmbs.post.animation.page import animation_page
from flexmbs.post.channels import Channel, catalogue
from flexmbs.post.loopback import LoopbackServer
from flexmbs.post.record import Floats, Record
from flexmbs.post.skin import Skin
from flexmbs.post.stress import largest_von_mises
from flexmbs.results import FORMAT_VERSION, Result, segments
from flexmbs.results.layout import HEADER_FORMAT, SEGMENT_FORMAT
from flexmbs.results.stacks import Stacks, stacked

PAUSE = 0.25  # seconds between two looks at the folder
MAX_BATCH = 400  # samples in one message; of more, every second, third, ... is sent
AT_ONCE = 16  # segments read for one message: who is behind catches up step by step, and keeps no run waiting
WAITING = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>flexmbs</title>
<meta http-equiv="refresh" content="1"><link rel="icon" href="data:,"></head>
<body><p>The run has begun; the first samples are not there yet.</p></body></html>"""


class Source:
    """The unfinished result: read whole for the page, then segment by segment."""

    def __init__(self, path: Path, t_end: float, done: threading.Event) -> None:
        self.path, self.t_end, self.done = path, t_end, done
        self.skins: dict[str, Skin] = {}
        self.bodies: list[str] = []
        self.channels: list[Channel] = []
        self.known: tuple[str, Stacks] | None = None
        self.guard = threading.Lock()  # HDF5 is read by one thread at a time

    def page(self) -> str:
        """The animation with the samples so far, told to follow."""
        begun = self.begun()
        if begun is None:
            return WAITING
        story, count = begun
        text = animation_page(story.scene, story.curves, story.shown)
        told = f'<div id="app" data-live="{count}" data-end="{self.t_end:.17g}">'
        return text.replace('<div id="app">', told, 1)

    def begun(self) -> tuple[Story, int] | None:
        """What is there so far, and how many samples; None before the first ones."""
        unfinished = (segments.parts_folder(self.path) / segments.HEADER).is_file()
        if not unfinished and not self.done.is_set():
            return None  # a file of that name is the result of an earlier run
        try:
            record = Record(Result.load(self.path, unfinished=unfinished))
            count, story = record.n_samples, result_story(record, None)
        except FlexmbsError:  # not begun, or between two states of the folder
            return None
        moving = [replace(body, static=None) for body in story.scene.bodies]  # segments come without it
        story = replace(story, scene=replace(story.scene, bodies=moving))
        self.skins = {body.name: body.skin for body in story.scene.bodies if body.skin is not None}
        shown = {curve.name for curve in story.curves}
        self.bodies, self.channels = record.bodies, [c for c in catalogue(record) if c.short in shown]
        return story, count

    def fresh(self, start: int) -> dict[str, Floats] | None:
        """Histories of samples from number `start` on, of some segments; None when there are no new ones."""
        paths = ["time", *(c.path for c in self.channels)]
        paths += [f"bodies/{b}/{word}" for b in self.bodies for word in ("position", "quaternion", "q")]
        folder = segments.parts_folder(self.path)
        if not folder.is_dir():
            record = Record.load(self.path)
            whole = {path: np.asarray(record.get(path))[start:] for path in paths if record.has(path)}
            return whole if len(whole["time"]) else None
        parts: list[dict[str, Floats]] = []
        first, stacks = 0, self.stacks(folder)
        for entry in segments.read_manifest(folder):
            if len(parts) == AT_ONCE:
                break
            if first + entry.samples > start:
                found = read_segment(folder / entry.name, paths, stacks)
                parts.append({path: values[max(0, start - first) :] for path, values in found.items()})
            first += entry.samples
        return {path: np.concatenate([part[path] for part in parts]) for path in parts[0]} if parts else None

    def stacks(self, folder: Path) -> Stacks:
        """Where histories stand in the segments of this run."""
        head = folder / segments.HEADER
        if self.known is None or self.known[0] != segments.file_hash(head):
            with hdf5.open_checked(head, format=HEADER_FORMAT, max_version=FORMAT_VERSION) as file:
                version = int(file.attrs["format_version"])
                self.known = segments.file_hash(head), stacked(segments.layout_of(folder, file), version)
        return self.known[1]

    def batch(self, start: int) -> dict[str, Any] | None:
        """A message with the new samples, None when there are none."""
        try:
            with self.guard:
                found = self.fresh(start)
        except (FlexmbsError, OSError):  # the folder is being packed: ask again
            found = None
        if found is None:
            return None
        count = len(found["time"])
        rows = slice(None, None, max(1, count // MAX_BATCH))
        values = {c.short: found[c.path].reshape(count, -1)[rows, c.column].tolist() for c in self.channels}
        t = float(found["time"][-1])
        return {
            "next": start + count,
            "time": found["time"][rows].tolist(),
            "bodies": [_motion(found, name, rows) for name in self.bodies],
            "channels": values,
            "stress_max": self.largest_stress(found, rows),
            "progress": t / self.t_end if self.t_end > 0.0 else 1.0,
        }

    def largest_stress(self, found: dict[str, Floats], rows: slice) -> float:
        """Largest von Mises stress among the new samples, for the end of the colours."""
        sizes = [
            largest_von_mises(found[f"bodies/{name}/q"][rows], skin.stress)
            for name, skin in self.skins.items()
            if skin.stress is not None
        ]
        return max(sizes, default=0.0)


def read_segment(path: Path, paths: list[str], stacks: Stacks) -> dict[str, Floats]:
    """The wanted histories of one segment."""
    fields = {item.path: item for item in stacks.layout.fields}
    opened = hdf5.open_checked(path, format=SEGMENT_FORMAT, max_version=FORMAT_VERSION, verify=False)
    with opened as file:
        found, group = {"time": file["time"][()]}, file["fields"]
        whole: dict[str, Floats] = {}  # each stack is read once: a run beside waits at every call of HDF5
        for name in paths:
            stack = stacks.place.get(name)
            if stack is not None:
                if stack.path not in whole:
                    whole[stack.path] = group[stack.path][()]
                found[name] = whole[stack.path][:, stack.columns[name]]
            elif name in fields:
                found[name] = group[name][()]
        return found


def _motion(found: dict[str, Floats], name: str, rows: slice) -> dict[str, Any]:
    position = found[f"bodies/{name}/position"][rows]
    unturned = np.tile([1.0, 0.0, 0.0, 0.0], (len(position), 1))
    quaternion, q = (found.get(f"bodies/{name}/{word}") for word in ("quaternion", "q"))
    return {
        "position": position.ravel().tolist(),
        "quaternion": (unturned if quaternion is None else quaternion[rows]).ravel().tolist(),
        "q": [] if q is None else q[rows].ravel().tolist(),
    }


class LiveServer:
    """Serves the page while the block runs; `url` is its address.

    Only on the loopback address, only reading; requests that name another host are refused, so that no
    page from elsewhere can look in.
    """

    def __init__(self, path: str | Path, t_end: float) -> None:
        self.done = threading.Event()
        self.source = Source(Path(path), t_end, self.done)
        handler = type("Handler", (_Handler,), {"live": self})
        self.server = LoopbackServer(handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def __enter__(self) -> LiveServer:
        self.server.begin()
        return self

    def __exit__(self, *error: Any) -> None:
        self.done.set()
        self.server.end()  # waits until the last samples have reached the pages

    def batches(self, start: int) -> Iterator[dict[str, Any] | None]:
        """New samples as they come (None: still nothing), until the run has ended and all are sent."""
        while True:
            ended = self.done.is_set()
            found = self.source.batch(start)
            if found is not None:
                start = found["next"]
                yield found
            elif ended:
                return
            else:
                yield None
            if not ended:
                time.sleep(PAUSE)


class _Handler(BaseHTTPRequestHandler):
    live: LiveServer
    timeout = 10.0  # seconds; of a page that no longer listens

    def do_GET(self) -> None:
        host = self.headers.get("Host", "")
        if host.split(":")[0] not in ("127.0.0.1", "localhost"):
            self.send_error(403)
        elif self.path == "/":
            self._page()
        elif self.path.startswith("/events?from="):
            self._events(self.path.partition("=")[2])
        else:
            self.send_error(404)

    def _head(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()

    def _page(self) -> None:
        with self.live.source.guard:
            data = self.live.source.page().encode("utf-8")
        with contextlib.suppress(OSError):  # the page was closed
            self._head("text/html; charset=utf-8")
            self.wfile.write(data)

    def _events(self, start: str) -> None:
        if not start.isdigit():
            self.send_error(404)
            return
        self._head("text/event-stream")
        with contextlib.suppress(OSError):  # the page was closed
            for found in self.live.batches(int(start)):
                text = ": waiting\n\n" if found is None else f"data: {json.dumps(found)}\n\n"
                self.wfile.write(text.encode("utf-8"))
                self.wfile.flush()
            self.wfile.write(b"event: end\ndata: {}\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed: the terminal belongs to the run."""
