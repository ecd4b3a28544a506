"""Damage to inputs: blind to bytes and lines, and aware of the structure of TOML, meshes and HDF5.

Every generator takes bytes and a random generator and returns a `Damage`: the bytes, what was done, and,
where it is known, whether the input is now surely wrong and which name a message about it has to have.
"""

import copy
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import h5py
import numpy as np

from flexmbs.hdf5.content import content_hash


@dataclass(frozen=True)
class Damage:
    """A damaged input; `wrong`: a command that accepts it is at fault.

    `names`: a message holds one of these, "" where the damage does not know what it hits.
    """

    data: bytes
    what: str
    wrong: bool = False
    names: tuple[str, ...] = ()


# blind to what the bytes mean


def flip(data, rng):
    place, bit = int(rng.integers(len(data))), int(rng.integers(8))
    changed = bytearray(data)
    changed[place] ^= 1 << bit
    return Damage(bytes(changed), f"bit {bit} of byte {place} flipped")


def cut(data, rng):
    place = int(rng.integers(len(data)))
    return Damage(data[:place], f"cut off after {place} bytes")


def double(data, rng):
    a, b = sorted(int(x) for x in rng.integers(0, len(data), 2))
    b = min(b, a + 4096)
    return Damage(data[:b] + data[a:b] + data[b:], f"bytes {a} to {b} doubled")


def zero(data, rng):
    a = int(rng.integers(len(data)))
    n = int(rng.integers(1, 200))
    return Damage(data[:a] + b"\0" * len(data[a : a + n]) + data[a + n :], f"{n} bytes from {a} on are zero")


BLIND = (flip, cut, double, zero)

# lines of text


def _lines(data):
    return data.decode("utf-8", errors="surrogateescape").split("\n")


def _joined(lines):
    return "\n".join(lines).encode("utf-8", errors="surrogateescape")


def delete_line(data, rng):
    lines = _lines(data)
    k = int(rng.integers(len(lines)))
    return Damage(_joined(lines[:k] + lines[k + 1 :]), f"line {k + 1} deleted: {lines[k][:60]!r}")


def double_line(data, rng):
    lines = _lines(data)
    k = int(rng.integers(len(lines)))
    return Damage(_joined(lines[:k] + [lines[k]] + lines[k:]), f"line {k + 1} doubled: {lines[k][:60]!r}")


def swap_lines(data, rng):
    lines = _lines(data)
    j, k = (int(x) for x in rng.integers(0, len(lines), 2))
    lines[j], lines[k] = lines[k], lines[j]
    return Damage(_joined(lines), f"lines {j + 1} and {k + 1} swapped")


NUMBER = re.compile(r"(?<![\w.\"])[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?(?![\w.])")
NUMBERS = (
    "nan", "inf", "-1", "0", "1e308", "5e-324", "99999999999999999999", "0x10", "1.5", "1,5", "1e400", "",
    "two", "-0.0", "1_000", "2147483648", "4294967296",
)  # fmt: skip


def other_number(data, rng):
    """One number of the text is another one, or none."""
    text = data.decode("utf-8", errors="surrogateescape")
    places = list(NUMBER.finditer(text))
    if not places:
        return flip(data, rng)
    place = places[int(rng.integers(len(places)))]
    new = NUMBERS[int(rng.integers(len(NUMBERS)))]
    line = text.count("\n", 0, place.start()) + 1
    text = text[: place.start()] + new + text[place.end() :]
    what = f"line {line}: {place[0]} -> {new!r}"
    return Damage(text.encode("utf-8", errors="surrogateescape"), what)


TEXT = (delete_line, double_line, swap_lines, other_number)

# TOML

VALUES = (
    "nan", "inf", "-1", "0", "true", "[]", "{}", '""', '"x"', "[1, 2]", "[[1]]", "1e308", "5e-324", "-5",
    "1e-300",
    '"\\u001b[31mred\\u0007"', '"../outside/canary.txt"', '"../outside/made.h5"',
    '"link.h5"', '"pipe"', '"/etc/passwd"', '"= 1/0"', '"=" ', '"=nan"',
    '"3 parsec"',
    "1979-05-27", "[nan, 0, 0]", "{ x = 1 }", '"' + "y" * 3000 + '"', "99999999999999999999", '"\\u202e"',
)  # fmt: skip
PAIR = re.compile(r"^([ \t]*)([\w.\"-]+)([ \t]*=[ \t]*)(.+)$", re.MULTILINE)
SURELY_WRONG = {"nan", '"3 parsec"', "{ x = 1 }", '"= 1/0"', '"=" ', "1979-05-27", "[nan, 0, 0]"}
TEXTS = {"title", "file", "name"}  # keys that take any text


def other_value(data, rng):
    """The value of one key is of another kind."""
    text = data.decode()
    pairs = [item for item in PAIR.finditer(text) if not item[4].endswith(("[", "{"))]
    if not pairs:
        return other_number(data, rng)
    pair = pairs[int(rng.integers(len(pairs)))]
    new = VALUES[int(rng.integers(len(VALUES)))]
    line = text.count("\n", 0, pair.start()) + 1
    changed = text[: pair.start()] + pair[1] + pair[2] + pair[3] + new + text[pair.end() :]
    wrong = new in SURELY_WRONG and not (pair[2] in TEXTS and new.startswith('"'))
    what = f"line {line}: {pair[2]} = {pair[4][:40]} -> {new[:40]}"
    return Damage(changed.encode(), what, wrong, (pair[2].strip('"'), f":{line}:"))


def unknown_key(data, rng):
    text = data.decode()
    pairs = list(PAIR.finditer(text))
    pair = pairs[int(rng.integers(len(pairs)))]
    line = text.count("\n", 0, pair.start()) + 1
    changed = text[: pair.start()] + pair[1] + pair[2] + "_x = 1\n" + text[pair.start() :]
    return Damage(changed.encode(), f"line {line}: key {pair[2]}_x added", False, (f"{pair[2]}_x",))


def delete_key(data, rng):
    text = data.decode()
    pairs = list(PAIR.finditer(text))
    pair = pairs[int(rng.integers(len(pairs)))]
    line = text.count("\n", 0, pair.start()) + 1
    changed = text[: pair.start()] + text[pair.end() :]
    return Damage(changed.encode(), f"line {line}: key {pair[2]} deleted")


def deep(data, rng):
    """Nesting without end, by brackets, braces or dots."""
    n = int(rng.integers(30, 3000))
    brackets, braces = "q = " + "[" * n + "]" * n, "q = " + "{ a = " * n + "1" + " }" * n
    new = (brackets, braces, ".".join("q" * n) + " = 1")[int(rng.integers(3))]
    return Damage(new.encode() + b"\n" + data, f"nested {n} times", True, ("nested",))


TOML = (other_value, unknown_key, delete_key, deep, other_number, delete_line, double_line)

# JSON and XML

ITEMS = (
    None,
    -1,
    2**70,
    1e300,
    float("nan"),
    True,
    "",
    "\x1b[31m\u202e",
    "../outside/canary.txt",
    [],
    {},
    [[1]],
)


def _places(data, rng):
    """A container of a JSON value and a key of it."""
    found, todo = [], [data]
    while todo:
        owner = todo.pop()
        keys = owner if isinstance(owner, dict) else range(len(owner))
        found += [(owner, key) for key in keys]
        todo += [owner[key] for key in keys if isinstance(owner[key], dict | list)]
    return _pick(found, rng)


def other_item(data, rng):
    """One value of a JSON file is of another kind."""
    tree = json.loads(data)
    owner, key = _places(tree, rng)
    owner[key] = _pick(ITEMS, rng)
    return Damage(json.dumps(tree).encode(), f"{key} is {owner[key]!r}")


def lost_item(data, rng):
    tree = json.loads(data)
    owner, key = _places(tree, rng)
    del owner[key]
    return Damage(json.dumps(tree).encode(), f"{key} is gone")


JSON = (other_item, other_item, lost_item)


def other_attribute_of_xml(data, rng):
    """One attribute is another text; a number that is none is refused by the name of its element."""
    root = ElementTree.fromstring(data)
    element, key = _pick([(item, key) for item in root.iter() for key in item.keys()], rng)
    old, new = element.get(key), _pick(NUMBERS + ("../outside/canary.txt", "\u202e", "x" * 3000), rng)
    element.set(key, new)
    wrong = new in ("nan", "two") and element.tag in NUMERIC
    return Damage(ElementTree.tostring(root), f"{element.tag}@{key}: {old} -> {new[:40]!r}", wrong)


NUMERIC = {"mass", "inertia", "limit", "inertial", "axis"}


def lost_element(data, rng):
    root = ElementTree.fromstring(data)
    owner = _pick([item for item in root.iter() if len(item)], rng)
    child = owner[int(rng.integers(len(owner)))]
    owner.remove(child)
    return Damage(ElementTree.tostring(root), f"{child.tag} of {owner.tag} is gone")


def double_element(data, rng):
    root = ElementTree.fromstring(data)
    owner = _pick([item for item in root.iter() if len(item)], rng)
    child = owner[int(rng.integers(len(owner)))]
    owner.append(copy.deepcopy(child))
    return Damage(ElementTree.tostring(root), f"{child.tag} of {owner.tag} is there twice")


XML = (other_attribute_of_xml, other_attribute_of_xml, lost_element, double_element)

# HDF5


def _rehashed(data, change):
    """Change an HDF5 file and give it the checksum of its new content; returns bytes and what was done."""
    memory = io.BytesIO(data)
    with h5py.File(memory, "r+") as file:
        what, wrong = change(file)
        file.attrs.modify("content_sha256", np.bytes_(content_hash(file)))
    return Damage(memory.getvalue(), what, wrong)


def _datasets(file):
    found = []
    file.visititems(lambda name, node: found.append(name) if isinstance(node, h5py.Dataset) else None)
    return sorted(found)


def _replace(file, name, data):
    """Another array under the same name, with attributes and scales as far as they can be kept."""
    old = file[name]
    kept = {key: value for key, value in old.attrs.items() if key not in HIDDEN}
    scales = [dim[0].name if len(dim) else None for dim in old.dims] if not old.is_scale else []
    was_scale = old.is_scale
    del file[name]
    node = file.create_dataset(name, data=data)
    for key, value in kept.items():
        node.attrs[key] = value
    if was_scale:
        node.make_scale(name.rpartition("/")[2])
    for axis, scale in enumerate(scales[: node.ndim]):
        if scale is not None and scale in file:
            node.dims[axis].attach_scale(file[scale])


HIDDEN = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST"}


def _numbers(node, rng):
    """A changed copy of an array of numbers, and what was done."""
    values = node[()]
    kind = int(rng.integers(10))
    if kind == 0:
        return np.asarray(values)[..., None] * np.ones(2), "an extra axis"
    if kind == 1 and values.ndim:
        return values[:1].reshape(values.shape[1:]) if values.shape[0] else values[None], "an axis less"
    if kind == 2 and values.ndim and values.shape[0]:
        return values[:-1], "an entry less"
    if kind == 3 and values.ndim:
        return np.concatenate([values, values[-1:]]), "an entry more"
    if kind == 4 and values.size:
        return np.full(np.shape(values), np.nan), "NaN"
    if kind == 5:
        return np.asarray(values).astype("S5"), "texts"
    if kind == 6:
        return np.zeros((0, *np.shape(values)[1:])), "nothing in it"
    if kind == 7 and np.ndim(values) > 1:
        return np.moveaxis(values, 0, -1), "axes turned"
    if kind == 8 and values.dtype.kind in "iu" and values.size:
        return -np.abs(values) - 1, "negative numbers"
    return np.asarray(values, dtype=float) * 1e300, "numbers too large"


def other_array(data, rng):
    """One dataset is another one, behind a valid checksum."""

    def change(file):
        name = _pick(_datasets(file), rng)
        node = file[name]
        if node.dtype.kind in "fiub":
            new, what = _numbers(node, rng)
        elif int(rng.integers(2)):
            new, what = np.zeros(3), "numbers for texts"
        else:
            new, what = np.bytes_(b"\x1b[31m \xff\xfe [{"), "other texts"
        _replace(file, name, new)
        return f"/{name}: {what}", False

    return _rehashed(data, change)


def lost_array(data, rng):
    def change(file):
        name = _pick(_datasets(file), rng)
        del file[name]
        return f"/{name} is gone", False

    return _rehashed(data, change)


def other_attribute(data, rng):
    def change(file):
        owners = ["/", *_datasets(file)]
        owner = file[_pick(owners, rng)] if int(rng.integers(2)) else file
        names = [name for name in owner.attrs if name not in HIDDEN | {"content_sha256"}]
        if not names:
            return "nothing", False
        name = _pick(sorted(names), rng)
        values = (np.nan, np.zeros(3), np.bytes_(b"\xff\x1b["), -5, np.zeros((2, 2)), 2**40)
        value = values[int(rng.integers(len(values)))]
        del owner.attrs[name]
        owner.attrs[name] = value
        return f"{owner.name}@{name} = {value!r}", False

    return _rehashed(data, change)


def array_for_group(data, rng):
    def change(file):
        groups = []
        file.visititems(lambda name, node: groups.append(name) if isinstance(node, h5py.Group) else None)
        name = _pick(sorted(groups), rng)
        del file[name]
        file[name] = np.zeros(2)
        return f"/{name} is an array", False

    return _rehashed(data, change)


def _pick(items, rng):
    return items[int(rng.integers(len(items)))]


HDF5 = (other_array, other_array, other_array, lost_array, other_attribute, array_for_group)


def damaged(data, kind, rng):
    """One damage; where there is no text, key or group left to change, a bit of what is there."""
    try:
        return kind(data, rng)
    except ValueError:
        return flip(data, rng) if data else Damage(b"\0", "a zero")


def damages(data, kinds, count, seed):
    """`count` damages by the generators `kinds`, in turn."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        yield damaged(data, kinds[k % len(kinds)], rng)
