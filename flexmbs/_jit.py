"""`@kernel`, its cache on disk, and calls by address.

numba is imported here, in `_dispatch`, `_handles` and `_simd`, and nowhere else. Its cache does not notice a
change in a *called* kernel. So every kernel is cached in a folder named by the hash of its own module, of all
flexmbs modules that it imports (directly or not), and of the versions of numba and numpy: a change anywhere
below a kernel gives it a new folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

from flexmbs._dispatch import CHECKED, Apart, Compiler, Linked, Stored
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
    versions = f"{numba.__version__} {np.__version__} {sys.version_info[:2]} {'checked' * CHECKED}"
    digest = hashlib.sha256(versions.encode())
    for item in sorted(seen):
        digest.update(item.read_bytes())
    return digest.hexdigest()[:20]


def kernel(
    *args: Any,
    inline: bool = False,
    reassociate: bool = False,
    lean: bool = False,
    apart: bool = False,
) -> Any:
    """Compile a function of arrays and numbers, cached on disk.

    `signatures`: declare them on entry points only (a declared kernel is ready at import).
    `inline`: put the body into its callers at the level of machine code (small functions).
    `reassociate`: allow sums to be reordered, for plain contraction loops; no other fast-math.
    `lean`: do not count references to arrays (10 ns per array and call); such a kernel cannot allocate.
    `apart`: callers jump to it instead of containing a copy: it is compiled once, however many call it.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
    if lean:
        options["_nrt"] = False
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
    compiled.__class__ = Apart if apart else Linked
    compiled._cache.__class__, compiled._compiler.__class__ = Stored, Compiler
    for signature in signatures:
        compiled.compile(signature)
    return compiled


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
