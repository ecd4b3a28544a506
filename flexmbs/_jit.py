"""`@kernel`, its cache on disk, and calls by address; with `_handles.py` the only importer of numba.

numba's cache does not notice a change in a *called* kernel. So every kernel is cached in a folder named
by the hash of its own module, of all flexmbs modules that it imports (directly or not), and of the
versions of numba and numpy: a change anywhere below a kernel gives it a new folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher
from numba.extending import get_cython_function_address, intrinsic

from flexmbs._handles import DISABLED, Handle, handle

__all__ = [
    "DISABLED", "Handle", "blas_address", "cache_root", "call_fortran", "declare", "handle", "is_cached",
    "kernel", "lapack_address", "prepare",
]  # fmt: skip

PACKAGE_DIR = Path(__file__).resolve().parent


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
