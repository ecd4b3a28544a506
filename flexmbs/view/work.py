"""Work beside the page: a thread that tells how far it is, and that has ended when the server has."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from flexmbs.errors import FlexmbsError


class Stopped(Exception):
    """Raised at the next word of progress of work that is no longer wanted."""


class Work:
    """A piece of work, begun at once: `make(progress)` gives `made`; what people can mend is in `errors`.

    The interpreter waits for its thread, for a library that is taken down under a thread ends in a crash.
    """

    def __init__(self, make: Callable[[Callable[..., None]], Any]) -> None:
        self.share, self.text, self.done, self.stopped = 0.0, "", False, False
        self.errors: list[str] = []
        self.made: Any = None
        self._make = make
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _progress(self, share: float, text: str = "") -> None:
        if self.stopped:
            raise Stopped
        self.share, self.text = share, text

    def _run(self) -> None:
        try:
            self.made = self._make(self._progress)
        except Stopped:
            self.text = "stopped"
        except FlexmbsError as error:
            self.errors = [str(item) for item in error.diagnostics]
        except Exception as error:  # a mistake of ours: the page says it, the server goes on
            self.errors = [f"{type(error).__name__}: {error}"]
            raise
        finally:
            self.done = True

    def told(self) -> dict[str, Any]:
        return {"share": self.share, "text": self.text, "errors": self.errors, "done": self.done}

    def close(self) -> None:
        """Stop at the next word of progress, and wait for it."""
        self.stopped = True
        self._thread.join()
