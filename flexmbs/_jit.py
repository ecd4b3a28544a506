"""The only importer of numba: `@kernel`, its cache on disk, and calls by address.

numba's cache does not notice a change in a *called* kernel. So every kernel is cached in a folder named
by the hash of its own module, of all flexmbs modules that it imports (directly or not), and of the
versions of numba and numpy: a change anywhere below a kernel gives it a new folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import math
import os
import pickle
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import llvmlite.binding
import numba
import numba.core.imputils
import numba.core.typing.templates
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher
from numba.extending import get_cython_function_address, intrinsic

PACKAGE_DIR = Path(__file__).resolve().parent
DISABLED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]


def cache_root() -> Path:
    """Folder of all compiled kernels: `FLEXMBS_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("FLEXMBS_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "flexmbs" / "kernels"


_IMPORT = re.compile(
    r"^from (flexmbs[\w.]*) import (?:\(([^)]*)\)|([^\n(]*))|^import (flexmbs[\w.]*)", re.MULTILINE
)


def _source_of(module: str) -> Path | None:
    base = PACKAGE_DIR.joinpath(*module.split(".")[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Source files of the flexmbs modules that stand in the top-level imports of `path`."""
    found = []
    for module, listed, names, plain in _IMPORT.findall(path.read_text(encoding="utf-8")):
        candidates = [module or plain]
        candidates += [f"{module}.{name.split()[0]}" for name in (listed or names).split(",") if name.strip()]
        for candidate in candidates:
            source = _source_of(candidate)
            if source is not None:
                found.append(source)
    return tuple(found)


@cache
def _sources_hash(path: Path) -> str:
    """Hash of a module and of everything below it in the import graph, and of the compiler's versions."""
    seen: set[Path] = set()
    stack = [path]
    while stack:
        item = stack.pop()
        if item not in seen:
            seen.add(item)
            stack.extend(_imports(item))
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__} {sys.version_info[:2]}".encode())
    for item in sorted(seen):
        digest.update(item.read_bytes())
    return digest.hexdigest()[:20]


def kernel(
    *args: Any,
    inline: bool = False,
    reassociate: bool = False,
    lean: bool = False,
    inner: bool = False,
    apart: bool = False,
) -> Any:
    """Compile a function of arrays and numbers, cached on disk.

    `signatures`: declare them on entry points only (a declared kernel is ready at import).
    `inline`: put the body into its callers at the level of machine code (small functions).
    `reassociate`: allow sums to be reordered, for plain contraction loops; no other fast-math.
    `lean`: do not count references to arrays (10 ns per array and call); such a kernel cannot allocate.
    `inner`: only other kernels call it; saves a second of compilation where arguments are wide tuples.
    `apart`: callers jump to it instead of containing a copy: it is compiled once, however many call it.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
    if lean:
        options["_nrt"] = False
    if inner:
        options["no_cpython_wrapper"] = options["no_cfunc_wrapper"] = True
    if inline:
        options["forceinline"] = True
    if reassociate:
        options["fastmath"] = {"reassoc", "nsz", "contract"}
    if len(args) == 1 and callable(args[0]) and not isinstance(args[0], numba.types.Type):
        return _compile(args[0], (), options, apart)
    return lambda function: _compile(function, args, options, apart)


def _compile(
    function: Callable[..., Any], signatures: tuple[Any, ...], options: dict[str, Any], apart: bool
) -> Any:
    if DISABLED:
        return function
    source = Path(function.__code__.co_filename)
    numba.config.CACHE_DIR = str(cache_root() / _sources_hash(source))  # type: ignore[attr-defined]
    compiled = numba.njit(**options)(function)
    compiled.__class__ = _Apart if apart else _Linked
    compiled._cache.__class__ = _Stored
    for signature in signatures:
        compiled.compile(signature)
    return compiled


class _Stored(FunctionCache):  # type: ignore[misc]
    """numba's cache; a hundred kernels that are loaded for one need its registries up to date once."""

    depth = 0

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if _Stored.depth > 0:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        _Stored.depth += 1
        try:
            return super().load_overload(sig, target_context)
        finally:
            _Stored.depth -= 1


class _Linked(CPUDispatcher):  # type: ignore[misc]
    """A kernel that callers contain; it remembers the kernels apart that it jumps to."""

    def add_overload(self, cres: Any) -> None:
        # numba keeps this list with what it stores, but forgets it when it loads a kernel into another
        needs = [item for item in cres.reload_init or () if not isinstance(item, _Symbols)]
        cres.library._reload_init.update(needs)
        super().add_overload(cres)


class _Apart(_Linked):
    """A kernel of its own: what callers link is empty, and they find it by the name of its symbol."""

    def add_overload(self, cres: Any) -> None:
        library, symbol = cres.library, cres.fndesc.llvm_func_name
        is_new = cres.metadata is not None  # compiled now, not loaded
        if is_new:
            names = tuple(item.name for item in library.get_defined_functions())
            cres.reload_init.insert(0, _Symbols(names))
        super().add_overload(cres)
        llvmlite.binding.add_symbol(symbol, library.get_pointer_to_function(symbol))
        library._shared_module = llvmlite.binding.parse_assembly("")
        library._reload_init.add(
            _Load(self.py_func.__module__, self.py_func.__name__, tuple(cres.signature.args), symbol)
        )


@dataclass(frozen=True)
class _Symbols:
    """Stored with a kernel apart and called before it is loaded: the symbols that its code defines."""

    names: tuple[str, ...]

    def __call__(self) -> None:
        numba.core.registry.cpu_target.target_context.codegen()._engine._defined_symbols.update(self.names)


@dataclass(frozen=True)
class _Load:
    """Stored with a compiled kernel and called before it is loaded: makes a kernel apart ready."""

    module: str
    name: str
    types: tuple[Any, ...]
    symbol: str

    def __call__(self) -> None:
        module = sys.modules.get(self.module) or importlib.import_module(self.module)
        found = getattr(module, self.name)
        if self.types not in found.overloads:
            found.compile(self.types)
        cres = found.overloads[self.types]
        # another process may have compiled it again, under another name
        own = cres.fndesc.llvm_func_name
        if own != self.symbol:
            llvmlite.binding.add_symbol(self.symbol, cres.library.get_pointer_to_function(own))


def blas_address(name: str) -> int:
    """Address of a BLAS routine of SciPy, to be handed to kernels as an integer."""
    return int(get_cython_function_address("scipy.linalg.cython_blas", name))


def lapack_address(name: str) -> int:
    """Address of a LAPACK routine of SciPy."""
    return int(get_cython_function_address("scipy.linalg.cython_lapack", name))


def _call_fortran_python(address: int, args: tuple[Any, ...]) -> None:
    """Twin of `call_fortran` for uncompiled kernels."""
    kept = []
    for value in args:
        if isinstance(value, np.ndarray):
            kept.append(ctypes.c_void_p(value.ctypes.data))
        elif isinstance(value, float):
            kept.append(ctypes.cast(ctypes.pointer(ctypes.c_double(value)), ctypes.c_void_p))
        else:
            kept.append(ctypes.cast(ctypes.pointer(ctypes.c_int32(int(value))), ctypes.c_void_p))
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kept))(int(address))(*kept)


@intrinsic
def _call_fortran_compiled(typing_context, address, args):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, values):  # type: ignore[no-untyped-def]
        pointers = []
        for k, kind in enumerate(signature.args[1].types):
            value = builder.extract_value(values[1], k)
            if isinstance(kind, numba.types.Array):
                slot = context.make_array(kind)(context, builder, value).data
            else:
                if isinstance(kind, numba.types.Integer):
                    value = context.cast(builder, value, kind, numba.types.int32)
                slot = cgutils.alloca_once_value(builder, value)
            pointers.append(builder.bitcast(slot, cgutils.voidptr_t))
        kind_of_call = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] * len(pointers))
        builder.call(builder.inttoptr(values[0], kind_of_call.as_pointer()), pointers)
        return context.get_dummy_value()

    return numba.types.void(numba.types.int64, args), codegen


#: Call a Fortran routine by address: integers go as int32, floats as doubles, arrays as their first element;
#: a character is its code, `ord("N")` (the low byte is what Fortran reads).
call_fortran: Any = _call_fortran_python if DISABLED else _call_fortran_compiled


def is_cached(function: Callable[..., Any]) -> bool:
    """Whether a kernel, and all below it, was compiled before; otherwise the next call takes a while."""
    if DISABLED:
        return True
    folder = cache_root() / _sources_hash(Path(function.__code__.co_filename))
    return any(folder.rglob("*.nbc"))


def declare(function: Callable[..., Any], *args: Any) -> Any:
    """Type of a kernel that is itself an argument: returns int, takes `args`; compiled or loaded now.

    A function of declared type is a pointer to the caller: nothing is compiled anew for another function.
    """
    if DISABLED:
        return None
    signature = numba.int64(*(numba.typeof(arg) for arg in args))
    function.compile(signature)  # type: ignore[attr-defined]
    return numba.types.FunctionType(signature)


def prepare(entry: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The kernel `entry` compiled or loaded for arguments like `args` (values, or types from `declare`)."""
    if DISABLED:
        return entry
    types = tuple(arg if isinstance(arg, numba.types.Type) else numba.typeof(arg) for arg in args)
    compiled: Callable[..., Any] = entry.compile(types)  # type: ignore[attr-defined]
    return compiled


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


def _handle_type(value: Any) -> HandleType:
    fields = []
    kind: Any
    owner: Any = type(value)
    shapes = _inner_shapes(owner)
    for name, item in zip(value._fields, value, strict=True):
        inner = shapes.get(name, ())
        if isinstance(item, Handle):
            item = item.value
        if isinstance(item, np.ndarray):
            if not item.flags.c_contiguous:
                raise TypeError(f"{name}: arrays of kernels are contiguous")
            if inner and item.shape[1:] != inner:
                raise TypeError(f"{name}: an array of {item.shape}, not (n, {str(inner)[1:]}")
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
            words += [0, 0, item.size, item.itemsize, item.ctypes.data, *item.shape, *item.strides]
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
