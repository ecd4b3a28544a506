"""Handles: named tuples of arrays as kernels take them cheaply: one pointer."""

from __future__ import annotations

import hashlib
import math
import pickle
from functools import cache
from typing import Any, get_type_hints

import numba
import numba.core.imputils
import numba.core.typing.templates
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import cgutils

DISABLED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]


class HandleType(numba.types.Type):  # type: ignore[misc]
    """Type of a `Handle` in kernels: a pointer to a packed named tuple."""

    def __init__(self, fields: tuple[tuple[str, Any, tuple[int, ...]], ...]) -> None:
        self.fields = fields
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
        return sum(_words(item) for _, item, _ in kind.fields)
    return 5 + 2 * kind.ndim if isinstance(kind, numba.types.Array) else 1


@cache
def _inner_shapes(owner: Any) -> dict[str, tuple[int, ...]]:
    """Shapes behind the first axis, of the fields of a named tuple that are `Annotated` with one."""
    hints = get_type_hints(owner, include_extras=True)
    return {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}


#: types by the tuple, and the dtypes, dimensions and types of its items
_KNOWN: dict[Any, HandleType] = {}


def _signature(value: Any) -> tuple[Any, ...]:
    """What the type of a tuple follows from; checks that arrays are as kernels take them."""
    owner: Any = type(value)
    found, shapes = [owner], _inner_shapes(owner)
    for name, item in zip(value._fields, value, strict=True):
        if isinstance(item, Handle):
            item = item.value
        if isinstance(item, np.ndarray):
            inner = shapes.get(name, ())
            if not item.flags.c_contiguous:
                raise TypeError(f"{name}: arrays of kernels are contiguous")
            if inner and item.shape[1:] != inner:
                raise TypeError(f"{name}: an array of {item.shape}, not (n, {str(inner)[1:]}")
            found.append((item.dtype, item.ndim))
        else:
            found.append(_signature(item) if isinstance(item, tuple) else isinstance(item, float))
    return tuple(found)


def _handle_type(value: Any) -> HandleType:
    """Type of a tuple; made once for all tuples alike, as numba takes milliseconds for it."""
    key = _signature(value)
    if key not in _KNOWN:
        _KNOWN[key] = _new_type(value)
    return _KNOWN[key]


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


def _pack(value: Any, words: list[int]) -> None:
    for item in value:
        if isinstance(item, Handle):
            item = item.value
        if isinstance(item, np.ndarray):
            place = item.__array_interface__["data"][0]
            words += [0, 0, item.size, item.itemsize, place, *item.shape, *item.strides]
        elif isinstance(item, tuple):
            _pack(item, words)
        elif isinstance(item, float):
            words.append(int(np.float64(item).view(np.int64)))
        else:
            words.append(int(item))


class Handle:
    """A named tuple (of arrays, numbers and named tuples) as kernels take it cheaply: one pointer.

    A tuple goes to a function as seven numbers per array; two hundred arrays make that a microsecond and
    minutes of compilation. A handle has the same fields, in kernels and in Python. A field annotated as
    `Annotated[Floats, 3, 3]` has the shape (n, 3, 3), which kernels then know when they are compiled.
    """

    def __init__(self, value: Any) -> None:
        words: list[int] = []
        _pack(value, words)
        self.value = value
        self.memory = np.array(words, dtype=np.int64)
        self.address = int(self.memory.ctypes.data)
        self.kind = _handle_type(value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value, name)


def handle(value: Any) -> Any:
    """Handle of a named tuple; the tuple itself when kernels are not compiled."""
    return value if DISABLED else Handle(value)


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
