"""What may stand where one types in a case: keys and words of the schema, names of the case."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from flexmbs.errors import FlexmbsError
from flexmbs.input.registered import names_in
from flexmbs.toml_file import parse_toml

_TOKEN = re.compile(
    r'#[^\n]*|"""(?:[^"\\]|\\.|"(?!""))*(?:"""|$)|"(?:[^"\\\n]|\\.)*"?|\'[^\'\n]*\'?|[\[\]{},=\n.]|[^\s\[\]{},=.#"\']+',
    re.DOTALL,
)
_HEADER = re.compile(r"^[ \t]*\[([^\[\]\n]*)\][^\n]*$", re.MULTILINE)
_TYPE = re.compile(r'^[ \t]*type[ \t]*=[ \t]*"([^"\n]*)"', re.MULTILINE)
MOST = 60  # of offers
HERE = "\ufdd0"  # stands where one types


@dataclass
class Spot:
    """Where one types: the table it is in, whether a value is wanted, what is there already.

    `types`: by path of a table the word at its key `type`, as far as it was read; `seen`: keys before;
    `closers`: brackets that are open.
    """

    path: tuple[Any, ...]
    value: bool
    start: int
    typed: str
    quoted: bool
    types: dict[tuple[Any, ...], str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    closers: str = ""


def spot_of(text: str, at: int) -> Spot | None:
    """The spot at a character; None in a comment."""
    headers = [item for item in _HEADER.finditer(text) if item.end() < at]
    start, path = 0, tuple[Any, ...]()
    if headers:
        start, path = headers[-1].end(), tuple(_words(headers[-1][1]))
    opened = re.compile(r"^[ \t]*\[([^\]\n]*)$", re.MULTILINE).search(text, text.rfind("\n", 0, at) + 1, at)
    if opened and opened.end() == at and _at_line(text, start, opened.start()):
        *outer, last = opened[1].split(".")
        return Spot(tuple(w.strip() for w in outer), False, at - len(last.lstrip()), last.strip(), False)
    following = _HEADER.search(text, at)
    found = _TYPE.search(text, start, following.start() if following else len(text))
    types = {path: found[1]} if found else {}
    return _scanned(text, start, at, path, types)


def _words(dotted: str) -> list[str]:
    return [word.strip().strip("\"'") for word in dotted.split(".")]


def _at_line(text: str, start: int, at: int) -> bool:
    """Whether a line begins outside of any bracket."""
    plain = re.sub(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', "", text[start:at])
    return plain.count("[") == plain.count("]") and plain.count("{") == plain.count("}")


def _scanned(text: str, start: int, at: int, path: tuple[Any, ...], types: dict[Any, str]) -> Spot | None:
    """Follow keys, values and brackets from the header of the table to the spot."""
    stack: list[dict[str, Any]] = [{"path": path, "keys": [], "value": False, "array": False}]
    typed, begin = "", at
    for token in _TOKEN.finditer(text, start, at):
        word, here = token[0], stack[-1]
        if token.end() == at and word.startswith("#"):
            return None
        typed, begin = "", at
        if word[0] == "#" or word == ".":
            continue
        if word == "=":
            here["value"] = True
            here.setdefault("seen", set()).update(here["keys"][:1])
        elif word in "{[":
            inner = (*here["path"], *here["keys"], *([here["item"]] if here["array"] else []))
            stack.append({"path": inner, "keys": [], "value": word == "[", "array": word == "[", "item": 0})
        elif word in "}]":
            if len(stack) > 1:
                stack.pop()
        elif word == ",":
            if here["array"]:
                here["item"] += 1
            else:
                here["keys"], here["value"] = [], False
        elif word == "\n":
            if len(stack) == 1:
                here["keys"], here["value"] = [], False
        elif token.end() == at and not _closed(word):
            typed, begin = word, token.start()
        elif not here["value"]:
            here["keys"].append(word.strip("\"'"))
        elif here["keys"][-1:] == ["type"] and not here["array"]:
            types[(*here["path"], *here["keys"][:-1])] = word.strip("\"'")
    here = stack[-1]
    closers = "".join("]" if item["array"] else "}" for item in reversed(stack[1:]))
    quoted = typed[:1] in ('"', "'")
    inside = (*here["path"], *here["keys"], *([here["item"]] if here["array"] else []))
    return Spot(
        inside, here["value"], begin, typed.lstrip("\"'"), quoted, types, here.get("seen", set()), closers
    )


def _closed(word: str) -> bool:
    return len(word) > 1 and word[0] in "\"'" and word[-1] == word[0]


@lru_cache(maxsize=1)
def case_schema() -> dict[str, Any]:
    from flexmbs.case.editors import schema_of

    return schema_of("case")


def tables_at(path: tuple[Any, ...], types: dict[tuple[Any, ...], str]) -> list[dict[str, Any]]:
    """What the schema says of the place: its forms, those of another `type` left out."""
    schema = case_schema()
    forms = _forms(schema, schema)
    done: tuple[Any, ...] = ()
    for key in path:
        forms = [form for form in forms if _of_type(form, types.get(done))]
        found = [
            inner
            for form in forms
            if (item := _inside(form, key)) is not None
            for inner in _forms(item, schema)
        ]
        forms, done = found, (*done, key)
    return [form for form in forms if _of_type(form, types.get(done))]


def _forms(item: Any, schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternatives of a part of the schema, references followed; each with what is told of all."""
    if not isinstance(item, dict):
        return []
    told = {"description": item["description"]} if "description" in item else {}
    if "$ref" in item:
        return [form | told for form in _forms(schema["$defs"][item["$ref"].rpartition("/")[2]], schema)]
    parts = [part for key in ("anyOf", "allOf") for part in item.get(key, ())]
    return [form | told for part in parts for form in _forms(part, schema)] if parts else [item]


def _inside(form: dict[str, Any], key: Any) -> Any:
    if isinstance(key, int):
        return form.get("items")
    known = form.get("properties", {})
    others = [*form.get("patternProperties", {}).values(), form.get("additionalProperties")]
    return known[key] if key in known else others[0]


def _of_type(form: dict[str, Any], chosen: str | None) -> bool:
    own = form.get("properties", {}).get("type", {})
    known = own.get("enum", [own["const"]] if "const" in own else None)
    return chosen is None or known is None or chosen in known


@dataclass
class Offer:
    """A text that may stand there, and what is said of it; `tail` follows it."""

    text: str
    told: str = ""
    tail: str = ""


def offers(text: str, at: int, known: dict[str, list[str]]) -> dict[str, Any]:
    """What may stand at a character of the text, `start` where it begins.

    `known`: names by kind ("body", "frame", "joint", "coordinate") beside those that the text tells.
    """
    spot = spot_of(text, at)
    if spot is None:
        return {"start": at, "offers": []}
    found = _values(spot) if spot.value else _keys(text, spot)
    for kind, name in _names(text, at, spot, known):
        key = name if "." not in name or spot.quoted else f'"{name}"'
        found.append(Offer(name, kind, '"') if spot.value else Offer(key, kind, " = "))
    found = list({item.text: item for item in found}.values())
    found = [
        item for item in found if item.text.lower().startswith(spot.typed.lower()) and item.text != spot.typed
    ]
    start = spot.start + (1 if spot.quoted else 0)
    listed = []
    for item in found[:MOST]:
        insert = item.text + item.tail
        if item.tail == '"' and not spot.quoted:
            insert = f'"{insert}'
        if spot.quoted and text[at : at + 1] == '"':
            insert = insert.removesuffix('"')
        listed.append({"text": item.text, "told": item.told, "insert": insert})
    return {"start": start, "offers": listed}


def _keys(text: str, spot: Spot) -> list[Offer]:
    """Keys of the table that it does not have yet; words of a header end as one types them."""
    header = not spot.value and text[: spot.start].rpartition("\n")[2].lstrip().startswith("[")
    found: dict[str, Offer] = {}
    for form in tables_at(spot.path, spot.types):
        for key, item in form.get("properties", {}).items():
            is_table = any(inner.get("type") == "object" for inner in _forms(item, case_schema()))
            if is_table or not header:
                found.setdefault(key, Offer(key, str(item.get("description", "")), "" if header else " = "))
    given = _given(text, spot.path) | spot.seen
    return [item for key, item in sorted(found.items()) if header or key not in given]


def _given(text: str, path: tuple[Any, ...]) -> set[str]:
    try:
        data: Any = parse_toml(text).data
    except FlexmbsError:
        return set()
    for key in path:
        data = data.get(key, {}) if isinstance(data, dict) else {}
    return set(data) if isinstance(data, dict) else set()


def _values(spot: Spot) -> list[Offer]:
    """Words that the schema has for a value."""
    found: list[Offer] = []
    for form in tables_at(spot.path, spot.types if spot.path[-1:] != ("type",) else {}):
        told = str(form.get("description", ""))
        words = form.get("enum", [form["const"]] if "const" in form else [])
        found += [Offer(word, told, '"') for word in words if isinstance(word, str)]
        if form.get("type") == "boolean" and not spot.quoted:
            found += [Offer("true", told), Offer("false", told)]
    return found


def _names(text: str, at: int, spot: Spot, known: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Names of parts of the case, where such a name is wanted."""
    from flexmbs.case.schema import CaseFile

    rest = re.match(r'[^"\'\n]*["\']' if spot.quoted else r"[^\s,\]}#]*", text[at:])
    front, back = (
        f'{text[: spot.start]}"{HERE}"{"" if spot.value else " = 0"}',
        text[at + (rest.end() if rest else 0) :],
    )
    for filled in (front + back, front + spot.closers + "\n" + back.partition("\n")[2]):
        try:
            data = parse_toml(filled).data
            break
        except FlexmbsError:
            data = {}
    kinds = [item.kind for item in names_in(CaseFile, data) if item.text == HERE]
    bodies, joints = data.get("bodies"), data.get("joints")
    bodies, joints = (x if isinstance(x, dict) else {} for x in (bodies, joints))
    found = []
    for kind in kinds:
        own = list(joints) if kind in ("joint", "coordinate") else ["ground", *bodies]
        if kind in ("frame", "axes"):
            ground = data.get("ground")
            owners = {"ground": ground, **bodies}
            own += [
                f"{name}.{frame}"
                for name, table in owners.items()
                if isinstance(table, dict) and isinstance(table.get("frames"), dict)
                for frame in table["frames"]
            ]
        found += [(str(kind), name) for name in dict.fromkeys([*own, *known.get(kind, [])])]
    return found
