"""Name -> class tables that fill themselves from the files of a folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Generic, TypeVar

from flexmbs.errors import Diagnostic, InputError, nearest

T = TypeVar("T")


class Registry(Generic[T]):
    """Classes by the name a user writes, each in the file of its name in `package`.

    `@joint("revolute")` above a class in `revolute.py` is all that adding a joint takes. A file is imported
    when its name is looked up; classes from elsewhere are known once the decorator has run. Classes are told
    their `type_name`. `beside`: files without such a class; `dash`: names have - where files have _.
    """

    def __init__(
        self, kind: str, package: str, *, beside: tuple[str, ...] = ("base",), dash: bool = False
    ) -> None:
        self.kind = kind
        self.package = package
        self.beside = beside
        self.dash = dash
        self._classes: dict[str, type[T]] = {}

    def __call__(self, name: str) -> Callable[[type[T]], type[T]]:
        def add(cls: type[T]) -> type[T]:
            if name in self._classes:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._classes[name] = cls
            cls.type_name = name  # type: ignore[attr-defined]
            return cls

        return add

    @cached_property
    def _files(self) -> dict[str, str]:
        """Name -> module of the folder."""
        folder = importlib.import_module(self.package).__path__
        files = [module.name for module in pkgutil.iter_modules(folder) if module.name not in self.beside]
        return {name.replace("_", "-") if self.dash else name: name for name in files}

    def names(self) -> list[str]:
        return sorted({*self._files, *self._classes})

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self._classes or name in self._files

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._classes and name in self._files:
            importlib.import_module(f"{self.package}.{self._files[name]}")
        if name not in self._classes:
            raise InputError(
                Diagnostic(f"{self.kind}.type", self.kind, f'type "{name}"', nearest(name, self.names()))
            )
        return self._classes[name]
