"""Name -> class tables that fill themselves from the files of a folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from flexmbs.errors import Diagnostic, InputError, nearest

T = TypeVar("T")


class Registry(Generic[T]):
    """Classes by the name a user writes; the modules of `package` are imported at the first look-up.

    `@joint("revolute")` above a class is all that adding a joint takes.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._classes: dict[str, type[T]] = {}
        self._complete = False

    def __call__(self, name: str) -> Callable[[type[T]], type[T]]:
        def add(cls: type[T]) -> type[T]:
            if name in self._classes:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._classes[name] = cls
            return cls

        return add

    def _load(self) -> None:
        if not self._complete:
            self._complete = True
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self.package}.{module.name}")

    def names(self) -> list[str]:
        self._load()
        return sorted(self._classes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._classes

    def __getitem__(self, name: str) -> type[T]:
        self._load()
        if name not in self._classes:
            raise InputError(
                Diagnostic(f"{self.kind}.type", self.kind, f'type "{name}"', nearest(name, self.names()))
            )
        return self._classes[name]
