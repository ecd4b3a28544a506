"""`@kernel`, its cache on disk, and calls by address.

numba is imported here, in `_dispatch`, `_handles` and `_simd`, and nowhere else. Its cache does not notice a
change in a *called* kernel. So every kernel is cached in a folder named by the hash of its own module, of all
flexmbs modules that it imports (directly or not), and of the versions of numba and numpy: a change anywhere
below a kernel gives it a new folder.

`_dispatch` makes kernels faster to compile and to run, by private names of numba. It is tried once with every
release (`_trial`); where it does not fit, numba's own ways do the same in more time. FLEXMBS_COMPILER=plain
leaves it out, FLEXMBS_COMPILER=own takes it untried.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

from flexmbs._handles import DISABLED, Copies, Handle, handle
from flexmbs._trial import outcome

__all__ = [
    "DISABLED", "Copies", "Handle", "blas_address", "cache_root", "call_fortran", "declare", "handle",
    "is_cached", "kernel", "lapack_address", "prepare", "ready", "tuple_of", "sources_hash",
]  # fmt: skip

PACKAGE_DIR = Path(__file__).resolve().parent

#: A build for tests, by FLEXMBS_SUBSCRIPTS=checked: a subscript outside its array ends the process
CHECKED = os.environ.get("FLEXMBS_SUBSCRIPTS") == "checked"

logger = logging.getLogger(__name__)


def cache_root() -> Path:
    """Folder of all compiled kernels: `FLEXMBS_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("FLEXMBS_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "flexmbs" / "kernels"


#: what stands behind `from flexmbs` and `import flexmbs`
_NAMES, _MODULE = re.compile(r"([\w.]*) import (?:\(([^)]*)\)|([^\n(]*))"), re.compile(r"[\w.]*")


@cache
def _sources_of(module: str) -> tuple[Path, Path | None]:
    """Where a module of flexmbs stands, and the folder of its own modules, if it has any."""
    base = PACKAGE_DIR.joinpath(*module.split(".")[1:])
    plain = base.with_suffix(".py")
    return (plain, None) if plain.is_file() else (base / "__init__.py", base)


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Source files of the flexmbs modules that stand in the top-level imports of `path`."""
    text, found = f"\n{path.read_text(encoding='utf-8')}", list[Path]()
    for rest in text.split("\nimport flexmbs")[1:]:
        if match := _MODULE.match(rest):
            found.append(_sources_of(f"flexmbs{match[0]}")[0])
    for rest in text.split("\nfrom flexmbs")[1:]:
        if match := _NAMES.match(rest):
            source, folder = _sources_of(f"flexmbs{match[1]}")
            found.append(source)
            if folder is not None:
                names = (name.split()[0] for name in (match[2] or match[3]).split(",") if name.strip())
                inner = (_sources_of(f"flexmbs{match[1]}.{name}")[0] for name in names)
                found += [item for item in inner if item.is_file()]
    return tuple(found)


@cache
def sources_hash(path: Path) -> str:
    """Hash of a module and of everything below it in the import graph, and of the compiler's versions."""
    seen: set[Path] = set()
    stack = [path, PACKAGE_DIR / "_dispatch.py"]
    while stack:
        item = stack.pop()
        if item not in seen:
            seen.add(item)
            stack.extend(_imports(item))
    versions = f"{numba.__version__} {np.__version__} {sys.version_info[:2]} {'checked' * CHECKED}"
    digest = hashlib.sha256(versions.encode())
    for item in sorted(seen):
        digest.update(_digest(item))
    return digest.hexdigest()[:20]


@cache
def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def kernel(
    *args: Any,
    inline: bool = False,
    reassociate: bool = False,
    lean: bool = False,
    apart: bool = False,
    later: str | tuple[str, ...] = "",
) -> Any:
    """Compile a function of arrays and numbers, cached on disk.

    `signatures`: declare them on entry points only (a declared kernel is ready at import).
    `inline`: put the body into its callers at the level of machine code (small functions).
    `reassociate`: allow sums to be reordered, for plain contraction loops; no other fast-math.
    `lean`: do not count references to arrays (10 ns per array and call); such a kernel cannot allocate.
    `apart`: callers jump to it instead of containing a copy: it is compiled once, however many call it.
    `later`: apart, and compiled or loaded when a caller first gets there: what many mechanisms do without;
    names what the kernel returns: "void", "int64", ("int64", "float64").
    """
    options: dict[str, Any] = {"cache": _is_kept(), "nogil": True, "error_model": "numpy"}
    if lean:
        options["_nrt"] = False
    if inline:
        options["forceinline"] = True
    if reassociate:
        options["fastmath"] = {"reassoc", "nsz", "contract"}
    if len(args) == 1 and callable(args[0]) and not isinstance(args[0], numba.types.Type):
        return _compile(args[0], (), options, apart, later)
    return lambda function: _compile(function, args, options, apart, later)


@cache
def _is_kept() -> bool:
    """Whether compiled kernels can be kept; numba would take folders that notice no change below a kernel."""
    try:
        cache_root().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache_root()):
            return True
    except OSError as error:
        what = "kernels are compiled anew in this run, as they cannot be kept in %s (%s); set FLEXMBS_CACHE"
        logger.warning(what, cache_root(), error.strerror)
        return False


@cache
def _own_dispatcher() -> Any:
    """The module `_dispatch`, or None where it does not fit the release of numba."""
    chosen = os.environ.get("FLEXMBS_COMPILER", "")
    reason = "FLEXMBS_COMPILER=plain" if chosen == "plain" else ""
    if not chosen:
        reason = outcome(cache_root() / sources_hash(PACKAGE_DIR / "_trial_kernels.py") / "trial")
    if not reason:
        return importlib.import_module("flexmbs._dispatch")
    if CHECKED:
        raise RuntimeError(f"FLEXMBS_SUBSCRIPTS=checked needs our own compiler, which is left out: {reason}")
    version = numba.__version__
    logger.warning("numba %s compiles kernels in its own ways, which takes longer: %s", version, reason)
    return None


def _folder(function: Callable[..., Any]) -> Path:
    """Where a kernel is kept: what our own compiler has stored is of no use to numba's, and the other way."""
    return _folder_of(function.__code__.co_filename)


@cache
def _folder_of(source: str) -> Path:
    sources = sources_hash(Path(source))
    return cache_root() / (sources if _own_dispatcher() else f"{sources}-plain")


@contextmanager
def cached_in(folder: Path) -> Iterator[None]:
    """What numba is told to compile meanwhile is kept in this folder."""
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


def _compile(
    function: Callable[..., Any],
    signatures: tuple[Any, ...],
    options: dict[str, Any],
    apart: bool,
    later: str | tuple[str, ...],
) -> Any:
    if DISABLED:
        return function
    own = _own_dispatcher()
    folder = _folder(function)
    if own is None:
        options.pop("_nrt", None)
        with cached_in(folder):
            compiled = numba.njit(**options)(function)
    else:
        is_kept = options.pop("cache")
        compiled = numba.njit(**options)(function)
        own.adopt(compiled, folder if is_kept else None, apart, _type_named(later) if later else None)
    for signature in signatures:
        compiled.compile(signature)
    return compiled


def _type_named(name: str | tuple[str, ...]) -> Any:
    """A type of numba by its name, a tuple by the names of its items."""
    if isinstance(name, tuple):
        return numba.types.BaseTuple.from_types([_type_named(item) for item in name])
    return getattr(numba.types, name)


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
    if DISABLED or function in _SEEN:
        return True
    if any(_folder(function).rglob("*.nbc")):
        _SEEN.add(function)
    return function in _SEEN


_SEEN: set[Callable[..., Any]] = set()


def declare(function: Callable[..., Any], *args: Any) -> Any:
    """Type of a kernel that is itself an argument: returns int, takes `args`; compiled or loaded now.

    A function of declared type is a pointer to the caller: nothing is compiled anew for another function.
    """
    if DISABLED:
        return None
    types = tuple(map(_type_of, args))
    if (function, types) not in _READY:
        signature = numba.int64(*types)
        function.compile(signature)  # type: ignore[attr-defined]
        _READY[function, types] = numba.types.FunctionType(signature)
    return _READY[function, types]


#: kernels that were asked for before, by their types: numba takes a millisecond to find one again
_READY: dict[tuple[Any, ...], Any] = {}


def _type_of(arg: Any) -> Any:
    """Type of an argument of a kernel."""
    if isinstance(arg, Handle):
        return arg.kind
    if type(arg) is np.ndarray and arg.flags.carray:
        return _array_type(arg.dtype, arg.ndim)
    if isinstance(arg, tuple):
        return numba.types.BaseTuple.from_types(tuple(map(_type_of, arg)), type(arg))
    return arg if isinstance(arg, numba.types.Type) else numba.typeof(arg)


@cache
def _array_type(dtype: np.dtype, ndim: int) -> Any:
    """What numba finds for a contiguous array that can be written to, in a fifth of the time."""
    return numba.types.Array(numba.from_dtype(dtype), ndim, "C")


def tuple_of(owner: Any, types: Sequence[Any]) -> Any:
    """Type of a named tuple whose items have these types, for `prepare`."""
    return None if DISABLED else numba.types.NamedTuple(types, owner)


def prepare(entry: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """The kernel `entry` compiled or loaded for arguments like `args` (values, or types from `declare`)."""
    if DISABLED:
        return entry
    types = tuple(map(_type_of, args))
    if ("entry", entry, types) not in _READY:
        _READY["entry", entry, types] = entry.compile(types)  # type: ignore[attr-defined]
    compiled: Callable[..., Any] = _READY["entry", entry, types]
    return compiled


def ready(entry: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """As `prepare`, for an entry whose arguments have the same types in every call but for the handles."""
    if DISABLED:
        return entry
    key = (entry, *(arg.kind for arg in args if isinstance(arg, Handle)))
    if key not in _READY:
        _READY[key] = prepare(entry, *args)
    compiled: Callable[..., Any] = _READY[key]
    return compiled
