"""Compiled kernels called with all but their last numbers given beforehand: no types are looked at again.

A call through numba unpacks every argument anew, and functions as arguments cost 20 us each. Who calls a
kernel thousands of times a second with the same functions and pointers lays them down once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numba
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
    types = (kinds, handle.kind, *(numba.typeof(number) for number in numbers))
    found = entry.overloads.get(types)
    if found is None or found.signature.return_type != numba.types.int64:
        return None
    context = cpu_target.target_context
    context.refresh()  # types are known from when something is compiled, and here all may have been loaded
    layout = context.call_conv.get_function_type(found.signature.return_type, types)
    converted = [_converted(item) for item in layout.args]
    given = [
        place for item, kind in zip(functions, kinds.types, strict=True) for place in _places(item, kind)
    ]
    given.append(handle.address)
    fits = isinstance(layout.return_type, ir.IntType) and layout.return_type.width == 32
    if not fits or None in converted or len(layout.args) != 2 + len(given) + len(numbers):
        return None
    address = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *converted)(address)
    result, raised = ctypes.c_int64(), ctypes.c_void_p()
    first = [ctypes.addressof(result), ctypes.addressof(raised), *given]

    def run(*last: Any) -> int:
        if call(*first, *last) != 0:
            raise RuntimeError("a kernel that raises nothing has raised")
        return result.value

    run.kept = (result, raised, call, handle, functions)  # type: ignore[attr-defined]
    return run


def _converted(kind: Any) -> Any:
    """Type of an argument for ctypes; None for what no kernel here takes."""
    if isinstance(kind, ir.PointerType):
        return ctypes.c_void_p
    if isinstance(kind, ir.DoubleType):
        return ctypes.c_double
    return ctypes.c_int64 if isinstance(kind, ir.IntType) and kind.width == 64 else None


def _places(function: Any, kind: Any) -> tuple[int, int, int]:
    """A function of declared type as numba holds it: address for C, Python's object, its own address."""
    found = function.get_compile_result(kind.signature)
    names = found.fndesc.llvm_cfunc_wrapper_name, found.fndesc.llvm_func_name
    wrapper, own = (found.library.get_pointer_to_function(name) for name in names)
    return wrapper, id(function), own
