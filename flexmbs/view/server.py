"""Our own page on the loopback address: a token in its address, and nobody else's page may ask."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol

from flexmbs.errors import FlexmbsError
from flexmbs.post.loopback import LoopbackServer

MAX_BODY = 4_000_000  # bytes of a request
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}


class Door(Protocol):
    """What is looked at: pages by name ("" is the first), and what the page may ask for."""

    def page(self, name: str) -> str | None: ...

    def act(self, word: str, data: dict[str, Any]) -> dict[str, Any] | None: ...

    def close(self) -> None: ...


class ViewServer:
    """Serves one door while the block runs; `url` is its address."""

    def __init__(self, door: Door, port: int = 0) -> None:
        self.door, self.token = door, secrets.token_urlsafe(16)
        self.guard = threading.Lock()  # HDF5 is read by one thread at a time
        handler = type("Handler", (_Handler,), {"view": self})
        self.server = LoopbackServer(handler, port)
        self.hosts = [f"{name}:{self.server.server_address[1]}" for name in ("127.0.0.1", "localhost")]
        self.url = f"http://{self.hosts[0]}/{self.token}/"

    def __enter__(self) -> ViewServer:
        self.server.begin()
        return self

    def __exit__(self, *error: Any) -> None:
        self.server.end()
        self.door.close()


class _Handler(BaseHTTPRequestHandler):
    view: ViewServer
    timeout = 10.0  # seconds; of a page that no longer listens

    def do_GET(self) -> None:
        name = self._asked()
        if name is not None:
            with self.view.guard:
                self._answer(lambda: self.view.door.page(name), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        name = self._asked()
        size = self.headers.get("Content-Length", "")
        if name is None:
            return
        if not size.isdigit() or int(size) > MAX_BODY:
            self.send_error(413)
            return
        try:
            data = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            self.send_error(400)
            return
        with self.view.guard:
            self._answer(lambda: self.view.door.act(name, data), "application/json")

    def _asked(self) -> str | None:
        """What is asked for behind the token; None where the answer was an error.

        A request that names another host, or comes from another page, is none of ours.
        """
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if host not in self.view.hosts or origin not in (None, f"http://{host}"):
            self.send_error(403)
            return None
        token, _, name = self.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.view.token.encode()):
            self.send_error(404)
            return None
        return name

    def _answer(self, make: Any, kind: str) -> None:
        try:
            found = make()
        except FlexmbsError as error:
            found = {"errors": [str(item) for item in error.diagnostics]}
            found = found if kind == "application/json" else "\n".join(found["errors"])
            kind = kind if kind == "application/json" else "text/plain; charset=utf-8"
        if found is None:
            self.send_error(404)
            return
        data = (found if isinstance(found, str) else _json(found)).encode("utf-8")
        with contextlib.suppress(OSError):  # the page was closed
            self.send_response(200)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **HEADERS}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed: the terminal belongs to the command."""


def _json(tree: Any) -> str:
    return json.dumps(tree, default=lambda value: value.tolist())
