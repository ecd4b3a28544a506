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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.errors import FlexmbsError
from flexmbs.post.animation.animate import result_story
from flexmbs.post.animation.page import animation_page
from flexmbs.post.channels import catalogue
from flexmbs.post.record import Record
from flexmbs.post.skin import Skin
from flexmbs.post.stress import largest_von_mises

PAUSE = 0.25  # seconds between two looks at the folder
MAX_BATCH = 400  # samples in one message; of more, every second, third, ... is sent
WAITING = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>flexmbs</title>
<meta http-equiv="refresh" content="1"><link rel="icon" href="data:,"></head>
<body><p>The run has begun; the first samples are not there yet.</p></body></html>"""


class Source:
    """The unfinished result, read again when it has grown."""

    def __init__(self, path: Path, t_end: float) -> None:
        self.path, self.t_end = path, t_end
        self.skins: dict[str, Skin] = {}

    def record(self) -> Record | None:
        """The result as far as it is durable, None before the first sample."""
        try:
            record = Record.load(self.path)
            return record if record.n_samples else None
        except FlexmbsError:  # between two states of the folder, or not begun
            return None

    def page(self) -> str:
        """The animation with the samples so far, told to follow."""
        record = self.record()
        if record is None:
            return WAITING
        story = result_story(record, None)
        self.skins = {body.name: body.skin for body in story.scene.bodies if body.skin is not None}
        text = animation_page(story.scene, story.curves, story.shown)
        return text.replace('<div id="app">', f'<div id="app" data-live="{record.n_samples}">', 1)

    def batch(self, start: int) -> dict[str, Any] | None:
        """Samples from number `start` on, None when there are no new ones."""
        record = self.record()
        if record is None or record.n_samples <= start:
            return None
        step = max(1, (record.n_samples - start) // MAX_BATCH)
        rows = slice(start, None, step)
        bodies = [_motion(record, name, rows) for name in record.bodies]
        channels = {c.short: c.values(record)[rows].tolist() for c in catalogue(record)}
        t = float(record.time[-1])
        return {
            "next": record.n_samples,
            "time": record.time[rows].tolist(),
            "bodies": bodies,
            "channels": channels,
            "stress_max": self.largest_stress(record, rows),
            "progress": t / self.t_end if self.t_end > 0.0 else 1.0,
            "status": str(record.root.get("status", "running")),
        }

    def largest_stress(self, record: Record, rows: slice) -> float:
        """Largest von Mises stress among the new samples, for the end of the colours."""
        found = [0.0]
        for name, skin in self.skins.items():
            if skin.stress is not None:
                found.append(largest_von_mises(record.require(f"bodies/{name}/q")[rows], skin.stress))
        return max(found)


def _motion(record: Record, name: str, rows: slice) -> dict[str, Any]:
    position = record.require(f"bodies/{name}/position")[rows]
    quaternion = record.get(f"bodies/{name}/quaternion")
    unturned = np.tile([1.0, 0.0, 0.0, 0.0], (len(position), 1))
    q = record.get(f"bodies/{name}/q")
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
        self.source = Source(Path(path), t_end)
        self.done = threading.Event()
        handler = type("Handler", (_Handler,), {"live": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self._thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self) -> LiveServer:
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.done.set()
        time.sleep(2 * PAUSE)  # the last samples still reach the page
        self.server.shutdown()
        self.server.server_close()

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
        data = self.live.source.page().encode("utf-8")
        self._head("text/html; charset=utf-8")
        self.wfile.write(data)

    def _events(self, start: str) -> None:
        if not start.isdigit():
            self.send_error(404)
            return
        self._head("text/event-stream")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for found in self.live.batches(int(start)):
                text = ": waiting\n\n" if found is None else f"data: {json.dumps(found)}\n\n"
                self.wfile.write(text.encode("utf-8"))
                self.wfile.flush()
            self.wfile.write(b"event: end\ndata: {}\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed: the terminal belongs to the run."""
