"""Compiled kernels called with all but their last numbers given beforehand: no types are looked at again.

A call through numba unpacks every argument anew, and functions as arguments cost 20 us each. Who calls a
kernel often with the same functions and pointers lays them down once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numba.experimental.function_type  # how functions lie in memory; numba takes it in when it compiles
from llvmlite import ir
from numba.core.registry import cpu_target

from flexmbs._handles import DISABLED, Handle


def bound(
    entry: Any, functions: Sequence[Any], kinds: Any, handle: Any, *numbers: Any
) -> Callable[..., int] | None:
    """`entry(functions, handle, *numbers)`, an integer kernel that raises nothing, of the numbers alone.

    `kinds` is the type of the named tuple of functions (`tuple_of`). None where this release of numba lays
    arguments out in another way, or kernels are not compiled.
    """
    if DISABLED or not isinstance(handle, Handle):
        return None
    found = _call_of(entry, kinds, handle.kind, numbers)
    if found is None:
        return None
    call, width = found
    given = [
        place for item, kind in zip(functions, kinds.types, strict=True) for place in _places(item, kind)
    ]
    given.append(handle.address)
    if width != len(given):
        return None
    result, raised = ctypes.c_int64(), ctypes.c_void_p()
    first = [ctypes.addressof(result), ctypes.addressof(raised), *given]

    def run(*last: Any) -> int:
        if call(*first, *last) != 0:
            raise RuntimeError("a kernel that raises nothing has raised")
        return result.value

    run.kept = (result, raised, call, handle, functions)  # type: ignore[attr-defined]
    return run


#: by the entry and the identities of types, which are kept with what was found: their hashes take longer
_CALLS: dict[tuple[int, ...], Any] = {}
_PLACES: dict[tuple[int, int], Any] = {}


def _call_of(entry: Any, kinds: Any, kind: Any, numbers: Sequence[Any]) -> tuple[Any, int] | None:
    """How C calls an entry, and how many words stand between its results and its numbers."""
    key = (id(entry), id(kinds), id(kind), *(id(type(number)) for number in numbers))
    if key not in _CALLS:
        _CALLS[key] = _new_call(entry, (kinds, kind, *map(numba.typeof, numbers)), len(numbers)), kinds, kind
    found: tuple[Any, int] | None = _CALLS[key][0]
    return found


def _new_call(entry: Any, types: tuple[Any, ...], n_numbers: int) -> tuple[Any, int] | None:
    found = entry.overloads.get(types)
    if found is None or found.signature.return_type != numba.types.int64:
        return None
    context = cpu_target.target_context
    layout = context.call_conv.get_function_type(found.signature.return_type, types)
    converted = [_converted(item) for item in layout.args]
    fits = isinstance(layout.return_type, ir.IntType) and layout.return_type.width == 32
    if not fits or None in converted:
        return None
    address = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *converted)(address)
    return call, len(converted) - 2 - n_numbers


def _converted(kind: Any) -> Any:
    """Type of an argument for ctypes; None for what no kernel here takes."""
    if isinstance(kind, ir.PointerType):
        return ctypes.c_void_p
    if isinstance(kind, ir.DoubleType):
        return ctypes.c_double
    return ctypes.c_int64 if isinstance(kind, ir.IntType) and kind.width == 64 else None


def _places(function: Any, kind: Any) -> tuple[int, int, int]:
    """A function of declared type as numba holds it: address for C, Python's object, its own address."""
    key = id(function), id(kind)
    if key not in _PLACES:
        found = function.get_compile_result(kind.signature)
        names = found.fndesc.llvm_cfunc_wrapper_name, found.fndesc.llvm_func_name
        wrapper, own = (found.library.get_pointer_to_function(name) for name in names)
        _PLACES[key] = (wrapper, id(function), own), function, kind
    places: tuple[int, int, int] = _PLACES[key][0]
    return places
