"""Flexible bodies of a study: each distinct recipe is reduced once, before the designs, wherever they run."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexmbs.case import Case
from flexmbs.case.build import cache
from flexmbs.errors import FlexmbsError
from flexmbs.study.given import BODIES, load
from flexmbs.study.store import Store

if TYPE_CHECKING:
    from flexmbs.reduce import Recipe

#: one body: number of a design that has it, its name, the name of its file
Task = tuple[int, str, str]


def to_reduce(store: Store, case: Case, designs: Sequence[int], *, elsewhere: bool = False) -> list[Task]:
    """Bodies of designs that nobody has, once for each distinct recipe by its content.

    elsewhere : workers may not see what the user's cache has
    """
    found: dict[str, Task] = {}
    seen: set[str] = set()
    for k in designs:
        values = store.data["designs"][k]["values"]
        key = json.dumps({name: values[name] for name in _of_bodies(case, values)}, sort_keys=True)
        if key in seen:
            continue
        seen.add(key)
        with suppress(FlexmbsError):  # what is wrong with a design is said by itself
            for name, recipe in recipes(case.with_design(values)):
                with cache.shared(store.folder / BODIES):
                    place = cache.place(recipe)
                if not place.is_file() and (elsewhere or not (cache.own_folder() / place.name).is_file()):
                    found.setdefault(place.name, (k, name, place.name))
    return list(found.values())


def _of_bodies(case: Case, values: dict[str, Any]) -> list[str]:
    """Names of what varies that a recipe may follow: keys of bodies, and parameters that recipes name."""
    texts = json.dumps([getattr(body, "recipe", {}) for body in case.spec.bodies.values()], default=str)
    return [name for name in values if name.startswith("bodies.") or name in texts]


def recipes(case: Case) -> Iterator[tuple[str, Recipe]]:
    """Recipes of the bodies of a case."""
    for name, table in case.spec.bodies.items():
        if getattr(table, "reduce", None) is not None:
            yield name, recipe_of(case, name)[1]


def recipe_of(case: Case, name: str) -> tuple[Path, Recipe]:
    """File and recipe of a body."""
    from flexmbs.case.build.reduction import recipe_with  # not where no body has a recipe

    table: Any = case.spec.bodies[name]
    file = case.source.file(("bodies", name, "reduce"), table.reduce)
    return file, recipe_with(file, table.recipe, case.parameters, case.source.root)


def reduce_body(folder: str, k: int, name: str) -> None:
    """Reduce a body of a design, on a worker; what fails is said by the design itself."""
    from flexmbs.case.build.reduction import body_of_recipe

    store = Store.open(Path(folder))
    told = store.data
    with suppress(FlexmbsError), cache.shared(store.folder / BODIES):
        case = load(told["case"], told["root"], told["allow_python"], told["overrides"])
        body_of_recipe(*recipe_of(case.with_design(told["designs"][k]["values"]), name))


def reduce_here(store: Store, tasks: Sequence[Task], workers: int, tell: Callable[[int], None]) -> None:
    """Reduce bodies by processes on this machine; one that dies leaves its body to the designs."""
    context = multiprocessing.get_context("forkserver")
    folder = str(store.folder)
    with suppress(BrokenProcessPool), ProcessPoolExecutor(min(workers, len(tasks)), context) as pool:
        for n, _ in enumerate(
            pool.map(reduce_body, *zip(*[(folder, k, name) for k, name, _ in tasks], strict=True))
        ):
            tell(n + 1)
