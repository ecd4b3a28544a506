"""A file before HDF5 sees it: groups, datasets and what is said of them, as plain data.

Who writes a file describes it whole; what then goes to HDF5, and when, is a matter of `files.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexmbs.hdf5.content import CHECKSUMS, chunk_shape, digest_of, grid, text_array

#: a longer text fills a multiple of this, with zeros behind it: files that differ by a few words in their log
#: have the same structure
PAGE = 256
#: bytes from which on a dataset is large, and has digests of its chunks
DIGESTED = 2**20


@dataclass(eq=False)
class Node:
    """A group, or a dataset: its numbers until they are written, and what is said of it.

    `scales` are the paths of its dimension scales, "" where there is none; `scale` is its name as one.
    """

    draft: Draft
    path: str
    array: np.ndarray | None = None
    chunks: tuple[int, ...] | None = None
    compress: bool = False
    scales: tuple[str, ...] = ()
    scale: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path or "/"

    @property
    def labels(self) -> list[str]:
        """Names of the entries of a scale, if it has any."""
        return list(self.attributes.get("labels", []))

    def create_group(self, name: str) -> Node:
        return self.draft.add(Node(self.draft, f"{self.path}/{name}"))

    def require_group(self, name: str) -> Node:
        return self.draft.nodes.get(f"{self.path}/{name}") or self.create_group(name)


class Draft:
    """All of a file, in the order in which it was said. `added` is told of each node.

    `opened` gives the file itself, for what is written piece by piece.
    """

    def __init__(self, added: Callable[[Node], None], opened: Callable[[], Any]) -> None:
        self.root, self._added, self.opened = Node(self, ""), added, opened
        self.nodes: dict[str, Node] = {}

    def add(self, node: Node) -> Node:
        if node.path in self.nodes:
            raise ValueError(f"{node.path} is in this file already")
        above = node.path.rpartition("/")[0]
        if above and above not in self.nodes:
            self.add(Node(self, above))
        self.nodes[node.path] = node
        self._added(node)
        return node


def attributes(node: Node, **values: Any) -> None:
    """Set attributes: numbers, arrays, texts and lists of texts."""
    for name, value in values.items():
        if isinstance(value, np.ndarray) and value.dtype.kind not in "fiubSc":
            raise TypeError(f"an attribute of {value.dtype} does not go into a file")
        node.attributes[name] = value


def dataset(
    group: Node,
    name: str,
    data: Any,
    *,
    units: str = "",
    equation: str = "",
    scales: Sequence[Node | None] = (),
    compress: bool = False,
    chunks: tuple[int, ...] | None = None,
    digests: bool = False,
    **extra: Any,
) -> Node:
    """A dataset with checksum, `units`, `equation` and dimension scales (None: no scale there).

    `digests`: a large one gets a SHA-256 of every chunk, in `/checksums`, so that a part of it can be read
    and checked alone (`read_part`).
    """
    array = _array(data)
    if array.dtype.kind not in "fiubSc":
        raise TypeError(f"{name}: dtype {array.dtype} does not go into a file")
    cut = (chunks or chunk_shape(array)) if array.ndim and array.size else None
    paths = tuple(item.path if item is not None else "" for item in scales)
    paths = paths + ("",) * (array.ndim - len(paths)) if any(paths) else ()
    node = Node(group.draft, f"{group.path}/{name}", array, cut, compress and cut is not None, paths)
    attributes(node, units=units or "1", **({"equation": equation} if equation else {}), **extra)
    if digests and cut is not None and array.nbytes > DIGESTED:
        found = [digest_of(array[place]) for place in grid(array.shape, cut)]
        group.draft.add(node)
        dataset(group.draft.root.require_group(CHECKSUMS), node.path[1:], text_array(found))
        return node
    return group.draft.add(node)


def _array(data: Any) -> np.ndarray:
    """Numbers as they are; texts as fixed-length UTF-8 strings, which every reader knows."""
    if isinstance(data, str):
        encoded = data.encode("utf-8") or b" "
        size = len(encoded) if len(encoded) <= PAGE else -(-len(encoded) // PAGE) * PAGE
        return np.array(encoded, dtype=f"S{size}")
    if isinstance(data, list | tuple) and data and all(isinstance(item, str) for item in data):
        return text_array(data)
    return np.asarray(data)


def scale(group: Node, name: str, values: Any, units: str = "1") -> Node:
    """A dimension scale."""
    node = dataset(group, name, values, units=units)
    node.scale = name
    return node


def write_tree(group: Node, tree: Mapping[str, Any]) -> None:
    """Nested dictionaries of arrays, numbers and texts."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            write_tree(group.create_group(str(name)), value)
        else:
            dataset(group, str(name), value)
