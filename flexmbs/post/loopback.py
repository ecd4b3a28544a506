"""A server for this machine alone, in threads of its own beside whatever the process does."""

from __future__ import annotations

import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LoopbackServer(ThreadingHTTPServer):
    """Answers on the loopback address from `begin` to `end`, which waits for requests under way."""

    daemon_threads = False  # they read HDF5: the program must not end in their midst

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self.shutdown()
        self.server_close()

    def _serve(self) -> None:
        # a page that is closed in the midst of an answer raises an error here, also where a library of the
        # process (gmsh) has let the signal end it; threads of requests begin with the mask of this one
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
        self.serve_forever()
