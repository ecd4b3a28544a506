"""openFEDEM .ftl -> RawMesh and deck: nodes, solids, materials, rigid elements, masses, groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from flexmbs.fe.deck import Deck, DeckMass, DeckMaterial, Mean, Rigid, count
from flexmbs.fe.node_orders import in_our_order
from flexmbs.fe.readers.raw import Block, RawMesh
from flexmbs.fe.readers.source import Damaged, one_int, reals

#: element -> our kind, number of nodes
KINDS = {
    "TET4": ("tet4", 4), "TET10": ("tet10", 10), "HEX8": ("hex8", 8), "HEX20": ("hex20", 20),
    "WEDG6": ("wedge6", 6), "WEDG15": ("wedge15", 15),
    "TRI3": ("tri3", 3), "TRI6": ("tri6", 6), "QUAD4": ("quad4", 4), "QUAD8": ("quad8", 8),
}  # fmt: skip
RECORD = re.compile(r"([A-Z][A-Z0-9_]*)\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
INNER = re.compile(r"\{\s*([A-Z0-9_]+)\s+([^{}]*)\}")
NO_EFFECT = {
    "FTLVERSION", "VISUAL", "PCOORDSYS", "PEFFLENGTH", "LOADCASE", "CFORCE", "CMOMENT", "FACELOAD",
    "EDGELOAD",
    "PSTRC", "PRBAR", "PTHICK", "PBEAMSECTION", "PBEAMORIENT", "PBEAMECCENT", "PBEAMPIN", "PCOMP", "PSHELL",
    "PORIENT", "PORIENT3", "PNSM", "PSPRING", "PBUSHCOEFF", "PBUSHECCENT", "PBUSHORIENT", "PWAVGM",
    "PMASS", "STRCOAT",
}  # fmt: skip


def read_fedem(path: Path, data: bytes, ignore: frozenset[str] = frozenset()) -> RawMesh:
    """Content of a link file of openFEDEM."""
    text = "\n".join(line.partition("#")[0] for line in data.decode("utf-8", "replace").splitlines())
    deck = Deck("openFEDEM")
    grids: dict[int, list[float]] = {}
    external: list[int] = []
    rows: dict[str, tuple[list[int], list[list[int]], list[int]]] = {}
    materials: dict[int, DeckMaterial] = {}
    masses: dict[int, list[float]] = {}
    pending: list[tuple[str, list[int], dict[str, str]]] = []
    raw = RawMesh(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), deck=deck)
    for name, content, line in records(text):
        if name in ignore:
            count(deck.ignored, name)
            continue
        inner = dict(INNER.findall(content))
        words = INNER.sub(" ", content).split()
        if name == "NODE":
            number, flag = one_int(words[0], "node", line), one_int(words[1], "flag", line)
            if number in grids:
                raise Damaged(f"node {number} is there twice", line)
            grids[number] = exactly(words[2:5], 3, line)
            if flag == 1:
                external.append(number)
        elif name == "PMAT":
            values = exactly(words[1:5], 4, line)
            label = f"mat_{words[0]}"
            materials[one_int(words[0], "material", line)] = DeckMaterial(
                label, f"{path}:{line}", values[0], values[2], values[3]
            )
        elif name == "PMASS":
            masses[one_int(words[0], "mass", line)] = reals(words[1:], line)
        elif name == "GROUP":
            raw.cell_sets[inner_name(content, words)] = [ints(words[1:], line)]
        elif name in KINDS:
            kind, n = KINDS[name]
            numbers = [one_int(word, "node", line) for word in words[: n + 1]]
            if len(numbers) != n + 1:
                raise Damaged(f"{name} {words[:1]} has {len(numbers) - 1} of {n} nodes", line)
            block = rows.setdefault(kind, ([], [], []))
            block[0].append(numbers[0])
            block[1].append(numbers[1:])
            block[2].append(int(inner.get("PMAT", "-1").split()[0]))
            if kind[:3] in ("tri", "qua"):
                raw.structural.append(np.array([numbers[0]]))
        elif name in ("RGD", "WAVGM", "CMASS"):
            pending.append((name, [one_int(word, "node", line) for word in words], inner))
            raw.left_out = np.append(raw.left_out, one_int(words[0], "element", line))
        elif name in NO_EFFECT:
            if name in ("CFORCE", "CMOMENT", "FACELOAD", "EDGELOAD"):
                count(deck.no_effect, name)
        else:
            count(deck.not_understood, name)
    raw.node_number = np.array(list(grids), dtype=np.int64)
    raw.points = np.array(list(grids.values())).reshape(-1, 3)
    if external:
        raw.node_sets["external"] = [np.array(external, dtype=np.int64)]
    index = {number: k for k, number in enumerate(materials)}
    deck.materials = list(materials.values())
    for kind, (numbers_of, nodes, material) in rows.items():
        table, cells = np.array(nodes, dtype=np.int64), np.array(numbers_of, dtype=np.int64)
        raw.blocks.append(Block(kind, cells, in_our_order(table, kind, "fedem")))
        for key in set(material) & set(index):
            deck.sections.append(([cells[np.array(material) == key]], index[key]))
    for name, numbers, inner in pending:
        attach(deck, name, numbers, inner, masses)
    return raw


def records(text: str) -> Iterator[tuple[str, str, int]]:
    """Name, content and line of each record; what stands between them is a record that was damaged."""
    at, line = 0, 1
    for found in RECORD.finditer(text):
        refuse_rest(text[at : found.start()], line)
        line += text.count("\n", at, found.start())
        yield found[1], found[2], line
        line += text.count("\n", found.start(), found.end())
        at = found.end()
    refuse_rest(text[at:], line)


def refuse_rest(text: str, line: int) -> None:
    if text.strip():
        line += text[: len(text) - len(text.lstrip())].count("\n")
        raise Damaged(f'expected a record NAME{{...}}, found "{text.split()[0][:40]}"', line)


def attach(
    deck: Deck, name: str, numbers: list[int], inner: dict[str, str], masses: dict[int, list[float]]
) -> None:
    """Writes: deck."""
    card = f"{name} {numbers[0]}"
    if name == "RGD":
        nodes = np.array(numbers[2:], dtype=np.int64)
        deck.links.append(Rigid(numbers[1], nodes, (0, 1, 2, 3, 4, 5), card))
    elif name == "WAVGM" and "PWAVGM" not in inner:
        nodes = np.array(numbers[2:], dtype=np.int64)
        deck.links.append(Mean(numbers[1], nodes, np.ones(len(nodes)), (0, 1, 2, 3, 4, 5), card))
    elif name == "WAVGM":
        count(deck.not_understood, "WAVGM with PWAVGM")
    else:
        values = masses.get(int(inner.get("PMASS", "-1").split()[0]), [])
        if not values or any(values[1:3]) and len(set(values[:3])) > 1:
            count(deck.not_understood, "CMASS of unequal directions, or without PMASS")
            return
        J = np.zeros((3, 3))
        deck.masses.append(DeckMass(numbers[1], values[0], J, np.zeros(3), card))
        if any(values[3:]):
            count(deck.not_understood, "CMASS with inertia")


def inner_name(text: str, words: list[str]) -> str:
    """Name of a group: `{NAME "x"}`, else group_number."""
    found = re.search(r'\{\s*NAME\s+"?([^"{}]*?)"?\s*\}', text)
    return found[1] if found else f"group_{words[0]}"


def ints(words: list[str], line: int) -> np.ndarray:
    return np.array([one_int(word, "element", line) for word in words], dtype=np.int64)


def exactly(words: list[str], n: int, line: int) -> list[float]:
    values = reals(words, line)
    if len(values) != n:
        raise Damaged(f"expected {n} numbers, found {len(values)}", line)
    return values
