"""Handles: named tuples of arrays as kernels take them cheaply: one pointer."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import math
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, get_type_hints

import numba
import numba.core.imputils
import numba.core.typing.templates
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import cgutils

logger = logging.getLogger(__name__)
DISABLED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]


class HandleType(numba.types.Type):  # type: ignore[misc]
    """Type of a `Handle` in kernels: a pointer to a packed named tuple."""

    def __init__(self, fields: tuple[tuple[str, Any, tuple[int, ...]], ...]) -> None:
        self.fields, self.words = fields, sum(_words(kind) for _, kind, _ in fields)
        text = ",".join(f"{name}:{kind}:{inner}" for name, kind, inner in fields)
        # a short name: numba writes it into the symbol of every function that takes one
        super().__init__(name=f"Handle{hashlib.sha256(text.encode()).hexdigest()[:16]}")

    def __reduce__(self) -> Any:
        # every stored kernel names its types: a process that has made a type takes it by its name
        return _handle_named, (self.name, pickle.dumps(self.fields))

    def place(self, wanted: str) -> tuple[int, Any, tuple[int, ...]]:
        """Offset in words, type and known inner shape of a field."""
        offset = 0
        for name, kind, inner in self.fields:
            if name == wanted:
                return offset, kind, inner
            offset += _words(kind)
        raise AttributeError(wanted)


_HANDLE_TYPES: dict[str, HandleType] = {}


def _handle_named(name: str, fields: bytes) -> HandleType:
    found = _HANDLE_TYPES.get(name)
    return _HANDLE_TYPES.setdefault(name, HandleType(pickle.loads(fields))) if found is None else found


def _words(kind: Any) -> int:
    if isinstance(kind, HandleType):
        return int(kind.words)
    return 5 + 2 * kind.ndim if isinstance(kind, numba.types.Array) else 1


@cache
def _inner_shapes(owner: Any) -> dict[str, tuple[int, ...]]:
    """Shapes behind the first axis, of the fields of a named tuple that are `Annotated` with one."""
    hints = get_type_hints(owner, include_extras=True)
    return {name: hint.__metadata__ for name, hint in hints.items() if hasattr(hint, "__metadata__")}


#: types by the tuple, and the dtypes, dimensions and names of types of its items
_KNOWN: dict[Any, HandleType] = {}


def _new_type(value: Any) -> HandleType:
    fields = []
    kind: Any
    owner: Any = type(value)
    shapes = _inner_shapes(owner)
    for name, item in zip(value._fields, value, strict=True):
        inner = shapes.get(name, ())
        if isinstance(item, Handle):
            item = item.value
        if isinstance(item, np.ndarray):
            kind = numba.types.Array(numba.from_dtype(item.dtype), item.ndim, "C")
        elif isinstance(item, tuple):
            kind = _handle_type(item)
        else:
            kind = numba.types.float64 if isinstance(item, float) else numba.types.int64
        fields.append((name, kind, inner))
    found = HandleType(tuple(fields))
    return _HANDLE_TYPES.setdefault(found.name, found)


_word_at = ctypes.c_ssize_t.from_address


def _data_of(array: Any) -> int:
    """Address of the data of an array, by NumPy's own word: takes a microsecond."""
    return int(array.__array_interface__["data"][0])


def _quick_data_of() -> Callable[[Any], int]:
    """The same, read where NumPy keeps it in the object; by its own word where it is kept elsewhere."""
    place = 2 * ctypes.sizeof(ctypes.c_ssize_t)
    for probe in (np.zeros(3), np.zeros((2, 5), dtype=np.int64)[:, 1:]):
        if _word_at(id(probe) + place).value != _data_of(probe):
            logger.info("arrays of this NumPy are laid out in another way: kernels take them more slowly")
            return _data_of
    return lambda array: _word_at(id(array) + place).value


data_of = _quick_data_of()


def _pack(value: Any, words: list[int], like: Any = None) -> tuple[Any, ...]:
    """Put what stands behind a tuple into `words`; checks that arrays are as kernels take them.

    Returns what the type of the tuple follows from.
    """
    owner: Any = type(value)
    found, shapes, kind = [owner], _inner_shapes(owner), None
    for k, item in enumerate(value):
        if like is not None and item is like.value[k]:
            kind, start = like.kind.fields[k][1], len(words)
            words += like.memory[start : start + _words(kind)].tolist()
            found.append(kind.name)
        elif isinstance(item, np.ndarray):
            if not item.flags.c_contiguous:
                raise TypeError(f"{value._fields[k]}: arrays of kernels are contiguous")
            shape, dtype = item.shape, item.dtype
            if shapes:
                inner = shapes.get(value._fields[k], ())
                if inner and shape[1:] != inner:
                    raise TypeError(f"{value._fields[k]}: an array of {shape}, not (n, {str(inner)[1:]}")
            words += (0, 0, item.size, dtype.itemsize, data_of(item), *shape, *item.strides)
            found += (dtype, len(shape))
        elif isinstance(item, Handle):
            words += item.memory.tolist()
            found.append(item.kind.name)
        elif isinstance(item, tuple):
            found.append(_pack(item, words))
        elif isinstance(item, float):
            words.append(int(np.float64(item).view(np.int64)))
            found.append(True)
        else:
            words.append(int(item))
            found.append(False)
    return tuple(found)


def _handle_type(value: Any) -> HandleType:
    """Type of a tuple; made once for all tuples alike, as numba takes milliseconds for it."""
    return _known_type(value, _pack(value, []))


def _known_type(value: Any, key: tuple[Any, ...]) -> HandleType:
    if key not in _KNOWN:
        _KNOWN[key] = _new_type(value)
    return _KNOWN[key]


class Handle:
    """A named tuple (of arrays, numbers and named tuples) as kernels take it cheaply: one pointer.

    A tuple goes to a function as seven numbers per array; two hundred arrays make that a microsecond and
    minutes of compilation. A handle has the same fields, in kernels and in Python. A field annotated as
    `Annotated[Floats, 3, 3]` has the shape (n, 3, 3), which kernels then know when they are compiled.
    `like`: the handle of another tuple of the same kind, for fields that are the very same.
    """

    value: Any

    def __init__(self, value: Any, like: Any = None) -> None:
        words: list[int] = []
        key = _pack(value, words, like)
        # what is looked up often is found without a detour; nothing shadows what a handle has itself
        self.__dict__.update(zip(value._fields, value, strict=True))
        self.value, self.memory = value, np.array(words, dtype=np.int64)
        self.address = data_of(self.memory)
        self.kind = _known_type(value, key)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_numba_type_":  # asked by numba at every call
            raise AttributeError(name)
        return getattr(self.value, name)


def handle(value: Any, like: Any = None) -> Any:
    """Handle of a named tuple; the tuple itself when kernels are not compiled. `like`: see `Handle`."""
    return value if DISABLED else Handle(value, like)


#: bytes of arrays that are copied together; what is larger may be memory that nobody ever touches
MOST_TOGETHER = 2**20
#: bytes between the beginnings of arrays that lie in one piece of memory
LINE = 64
#: of the words of an array in a handle, the one that holds its address
ADDRESS = 4


class Copies:
    """Handles of tuples equal to a named tuple of arrays, each with arrays of its own.

    Many arrays cost microseconds each to make and to find; a copy of all of them in one piece of memory does
    not. `make` gives the tuple afresh, which is what large ones are.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        first = make()
        arrays: list[Any] = []
        self.parts: dict[str, tuple[Any, int, int]] = {}
        for name, item in zip(first._fields, first, strict=True):
            start = len(arrays)
            _arrays_of((item,), arrays)
            self.parts[name] = item, start, len(arrays)
        self._places = np.cumsum([0, *(-(-item.nbytes // LINE) * LINE for item in arrays)]).tolist()
        self.together = not DISABLED and 0 < self._places[-1] <= MOST_TOGETHER
        if not self.together:
            return
        self.owner, self._kinds = type(first), [(item.shape, item.dtype) for item in arrays]
        self._memory = np.zeros(self._places[-1], dtype=np.uint8)
        here = data_of(self._memory)
        for item, place in zip(arrays, self._places, strict=False):
            ctypes.memmove(here + place, data_of(item), item.nbytes)
        whole = Handle(first)
        self.kind, self._words = whole.kind, whole.memory
        self._addresses = np.array(_address_words(first, [0]), dtype=np.int64)
        self._offsets = np.array(self._places[:-1], dtype=np.int64)

    def view(self, memory: Any, k: int) -> Any:
        shape, dtype = self._kinds[k]
        return np.ndarray(shape, dtype, memory, self._places[k])

    def part(self, name: str, memory: Any) -> Any:
        """A field, with its arrays in this memory."""
        item, start, end = self.parts[name]
        views = iter([self.view(memory, k) for k in range(start, end)])
        return _with_arrays((item,), views)[0]

    def new(self) -> Any:
        """A handle of its own."""
        if not self.together:
            return handle(self._make())
        memory, words = self._memory.copy(), self._words.copy()
        words[self._addresses] = self._offsets + data_of(memory)
        return _Copy(self, memory, words)


class _Copy(Handle):
    """One of `Copies`; fields are made for Python when it asks for them."""

    def __init__(self, copies: Copies, arrays: Any, words: Any) -> None:
        self.memory, self.kind, self.address = words, copies.kind, data_of(words)
        self._copies, self._arrays = copies, arrays

    def __getattr__(self, name: str) -> Any:
        if name == "value":
            names = self._copies.owner._fields
            found = self._copies.owner(*(self._copies.part(field, self._arrays) for field in names))
        elif name in self._copies.parts:
            item, start, _ = self._copies.parts[name]
            is_plain = isinstance(item, tuple) and not any(isinstance(x, tuple) for x in item)
            found = _Part(self, item, start) if is_plain else self._copies.part(name, self._arrays)
        else:
            return super().__getattr__(name)
        self.__dict__[name] = found
        return found


class _Part:
    """A field of a copy that is a named tuple: its arrays are made for Python one by one, when it asks."""

    def __init__(self, copy: _Copy, item: Any, start: int) -> None:
        self._copy, self._item, self._start = copy, item, start

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._item._fields:
            return getattr(self._whole(), name)
        k = self._item._fields.index(name)
        found = self._item[k]
        if isinstance(found, np.ndarray):
            place = self._start + sum(isinstance(item, np.ndarray) for item in self._item[:k])
            found = self._copy._copies.view(self._copy._arrays, place)
        self.__dict__[name] = found
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self._whole())

    def _whole(self) -> Any:
        places = range(self._start, self._start + sum(isinstance(item, np.ndarray) for item in self._item))
        views = iter([self._copy._copies.view(self._copy._arrays, k) for k in places])
        return _with_arrays(self._item, views)


def _arrays_of(value: Any, found: list[Any]) -> None:
    for item in value:
        if isinstance(item, np.ndarray):
            found.append(item)
        elif isinstance(item, tuple):
            _arrays_of(item, found)


def _address_words(value: Any, end: list[int]) -> list[int]:
    """Places of the addresses of all arrays among the words of a handle; `end`: words so far."""
    found = []
    for item in value:
        if isinstance(item, tuple):
            found += _address_words(item, end)
            continue
        if isinstance(item, np.ndarray):
            found.append(end[0] + ADDRESS)
            end[0] += 5 + 2 * item.ndim
        else:
            end[0] += item.kind.words if isinstance(item, Handle) else 1
    return found


def _with_arrays(value: Any, arrays: Iterator[Any]) -> Any:
    """A tuple with other arrays in the places of its own."""
    items = [
        next(arrays) if isinstance(item, np.ndarray)
        else _with_arrays(item, arrays) if isinstance(item, tuple) else item
        for item in value
    ]  # fmt: skip
    return tuple(items) if type(value) is tuple else type(value)(*items)


@numba.extending.typeof_impl.register(Handle)
def _typeof_handle(value: Handle, context: Any) -> HandleType:
    return value.kind


@numba.extending.register_model(HandleType)
class _HandleModel(numba.extending.models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(64).as_pointer())


@numba.extending.unbox(HandleType)
def _unbox_handle(kind: Any, value: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(value, "address")
    number = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    pointer = c.builder.inttoptr(number, ir.IntType(64).as_pointer())
    return numba.extending.NativeValue(
        pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    )


@numba.core.typing.templates.infer_getattr
class _HandleFields(numba.core.typing.templates.AttributeTemplate):  # type: ignore[misc]
    key = HandleType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        return kind.place(name)[1] if name in {field for field, _, _ in kind.fields} else None


def _load_word(builder: Any, pointer: Any, offset: int) -> Any:
    place = builder.gep(pointer, [ir.Constant(ir.IntType(64), offset)])
    loaded = builder.load(place)
    # handles do not change while kernels run: let loops keep what they have read
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@numba.core.imputils.lower_getattr_generic(HandleType)
def _get_handle_field(context: Any, builder: Any, kind: Any, pointer: Any, name: str) -> Any:
    offset, field_kind, inner = kind.place(name)
    if isinstance(field_kind, HandleType):
        return builder.gep(pointer, [ir.Constant(ir.IntType(64), offset)])
    if not isinstance(field_kind, numba.types.Array):
        word = _load_word(builder, pointer, offset)
        is_float = isinstance(field_kind, numba.types.Float)
        return builder.bitcast(word, ir.DoubleType()) if is_float else word
    array = context.make_array(field_kind)(context, builder)
    words = [_load_word(builder, pointer, offset + k) for k in range(2, _words(field_kind))]
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    array.nitems, array.itemsize = words[0], words[1]
    array.data = builder.inttoptr(words[2], array.data.type)
    n = field_kind.ndim
    shape, strides = words[3 : 3 + n], words[3 + n :]
    if inner:  # known sizes make offsets of items constants
        size = field_kind.dtype.bitwidth // 8
        known = [math.prod(inner[k:]) for k in range(n)]
        shape[1:] = [ir.Constant(ir.IntType(64), item) for item in inner]
        strides = [ir.Constant(ir.IntType(64), size * item) for item in known]
    array.shape = cgutils.pack_array(builder, shape)
    array.strides = cgutils.pack_array(builder, strides)
    return array._getvalue()
