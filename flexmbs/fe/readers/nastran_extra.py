"""Non-structural mass of Nastran decks: NSM, NSM1, NSML, NSML1, NSMADD."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from flexmbs.fe.deck import Deck, DeckExtra, count
from flexmbs.fe.readers.nastran_cards import Entry, parse_items
from flexmbs.fe.readers.raw import in_range
from flexmbs.fe.readers.source import Damaged, Ints

CARDS = ("NSM", "NSM1", "NSML", "NSML1", "NSMADD")
#: types whose numbers are those of elements; of all others those of properties
ELEMENTS = ("ELEMENT", "CONROD")


def read_extra(
    entries: list[Entry],
    taken: Collection[int] | None,
    wtmass: float,
    properties: dict[int, tuple[str, Ints]],
    deck: Deck,
) -> None:
    """Masses of the sets that the case control takes (None: all). Writes: deck.

    properties : number of a property of shells or lines -> its card, its elements
    """
    wanted = None if taken is None else set(taken)
    for entry in entries:
        if entry.name == "NSMADD" and wanted is not None and entry.whole(0) in wanted:
            wanted |= {entry.whole(k) for k in range(1, len(entry.fields)) if entry.text(k)}
    every = np.concatenate([np.zeros(0, dtype=np.int64), *(members for _, members in properties.values())])
    for entry in entries:
        if entry.name == "NSMADD":
            continue
        if wanted is not None and entry.whole(0) not in wanted:
            count(deck.no_effect, f"{entry.name} of a set not taken")
            continue
        kind, total = entry.text(1).upper(), entry.name.startswith("NSML")
        by_element = kind in ELEMENTS
        stem = kind.rstrip("L") or "-"  # PBAR stands for PBARL too
        own = {n: found for n, (card, found) in properties.items() if card.startswith(stem)}
        known = every if by_element else np.array([*own], dtype=np.int64)
        if entry.name.endswith("1"):
            pairs = [(listed(entry, known), entry.real(2))]
        else:
            places = [k for k in range(2, len(entry.fields), 2) if entry.text(k)]
            pairs = [(np.array([entry.whole(k)]), entry.real(k + 1)) for k in places]
        for numbers, value in pairs:
            unknown = np.setdiff1d(numbers, known)
            if len(unknown):
                what = "element" if by_element else f"{kind} with elements,"
                raise Damaged(f"{entry.name} {entry.text(0)}: there is no {what} {unknown[0]}", entry.line)
            parts = [numbers] if by_element else [own[n] for n in numbers.tolist()]
            where = f"{entry.name} {entry.text(0)}"
            deck.extras.append(DeckExtra(parts, "size", total, value * wtmass, where))


def listed(entry: Entry, known: Ints) -> Ints:
    """Numbers of NSM1 and NSML1: ALL, or singles and ranges, of which those count that exist."""
    words = [word.upper() for word in entry.fields[3:] if word]
    if words == ["ALL"]:
        return known
    parts = parse_items(" ".join(words), entry.line)
    every = [part for part in parts if not isinstance(part, tuple)]
    every += [known[in_range(known, part)] for part in parts if isinstance(part, tuple)]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *every]))
