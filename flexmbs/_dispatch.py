"""How kernels are compiled, kept and put together: numba's dispatcher, for hundreds of small kernels.

What keeps the first start below half a minute and every other one below a second: a kernel that only
kernels call gets no ways in from Python, a third of the cost of a small one. The types of operators are
worked out once for all kernels that are compiled together, half of the rest. Kernels without allocations go
through those passes alone that they need, and none is compiled anew for a constant argument. What a mechanism
seldom has is compiled, and loaded, when it is first reached (`Later`). And what is loaded from disk does
without numba's tables of types and operations, 0.15 s of a start.

All of it rests on private names of numba: `_trial` says whether they mean the same in the release at hand.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import importlib
import logging
import os
import pickle
import signal
import sys
import threading
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from llvmlite import ir
from numba.core import cgutils, lowering, typed_passes, typing, untyped_passes
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler import CompilerBase
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]
from numba.core.sigutils import normalize_signature

from flexmbs._jit import CHECKED, cached_in
from flexmbs.interrupts import held

__all__ = ["Apart", "Compiler", "Files", "Later", "Linked", "Passes", "Stored", "Unopened", "adopt"]

logger = logging.getLogger(__name__)


def adopt(compiled: Any, folder: Path | None, apart: bool, later: Any = None) -> None:
    """Make numba's dispatcher of a kernel one of ours; `folder`: where it is kept, if it is."""
    compiled.__class__ = Later if later is not None else Apart if apart else Linked
    compiled.returns = later
    compiled._compiler.__class__ = Compiler
    if _without_allocations(compiled.targetoptions):
        compiled._compiler.pipeline_class = Passes
    if folder is not None:
        compiled._cache = Unopened(compiled, folder)


def _has_entry(cres: Any) -> bool:
    """Whether Python can call what was compiled."""
    return bool(cres.library.get_pointer_to_function(cres.fndesc.llvm_cpython_wrapper_name))


class Unopened:
    """The cache of a kernel that nobody has asked for yet: numba writes a file to try each one."""

    def __init__(self, kernel: Any, folder: Path) -> None:
        self.kernel, self.folder = kernel, folder

    def opened(self) -> FunctionCache:
        function = self.kernel.py_func
        with cached_in(self.folder):
            found: Any = FunctionCache(function)
        found.__class__, found._cache_file.__class__ = Stored, Files
        self.kernel._cache = found
        return found  # type: ignore[no-any-return]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return self.opened().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        self.opened().save_overload(sig, data)

    def flush(self) -> None:
        self.opened().flush()

    @property
    def cache_path(self) -> str:
        return str(self.opened().cache_path)


class Stored(FunctionCache):  # type: ignore[misc]
    """numba's cache; to load needs the runtime alone, to compile brings the tables up to date itself."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        _name_runtime()
        try:
            found = self._load_overload(sig, target_context)
        except Exception:  # torn, or written for tuples that are called otherwise now
            with suppress(OSError):
                self.flush()
            return None
        if found is None or found.signature.args != tuple(normalize_signature(sig)[0]):
            return None
        return found if Linked.depth > 1 or _has_entry(found) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # compiled again in the next run
            logger.warning("a kernel cannot be kept in %s: %s", self.cache_path, error.strerror)


class Files(IndexDataCacheFile):  # type: ignore[misc]
    """Files of a cache: code under a name that follows from its types, so that two processes that compile at
    once do not take each other's, and behind its checksum."""

    def save(self, key: Any, data: Any) -> None:
        name = self._data_name(int(hashlib.sha256(repr(key).encode()).hexdigest()[:12], 16))
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # torn by a power cut
            return {}

    def _save_data(self, name: str, data: Any) -> None:
        packed = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(zlib.crc32(packed).to_bytes(4, "little") + packed)

    def _load_data(self, name: str) -> Any:
        stored = Path(self._data_path(name)).read_bytes()
        if zlib.crc32(stored[4:]).to_bytes(4, "little") != stored[:4]:
            raise ValueError(f"{name} is damaged")
        return pickle.loads(stored[4:])


@cache
def _name_runtime() -> None:
    """What loaded code calls of numba's runtime: its functions in C; to compile brings the others."""
    for name, address in _nrt_python.c_helpers.items():
        llvmlite.binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


@contextmanager
def _remembered_types() -> Iterator[None]:
    """Work out the type of an operator once for each set of arguments, not at every place where it stands.

    Overloads of numba that are kernels themselves stay out: they depend on the options of the caller.
    """
    context = cpu_target.typing_context
    resolve = context.resolve_function_type
    known: dict[tuple[Any, Any], Any] = {}

    def remembered(function: Any, args: Any, kws: Any) -> Any:
        if kws or isinstance(function, str):  # constant subscripts are values, not types
            return resolve(function, args, kws)
        found = known.get((function, args))
        if found is None:
            found = resolve(function, args, kws)
            kind = context._lookup_global(function) or function
            is_builtin = found is not None and isinstance(kind, numba.types.Function)
            if is_builtin and kind.get_impl_key(found) is kind.typing_key:
                known[function, args] = found
        return found

    context.resolve_function_type = remembered
    try:
        yield
    finally:
        del context.resolve_function_type


@contextmanager
def _no_collections() -> Iterator[None]:
    """Do not look for garbage: the compiler makes millions of objects and hardly any, a tenth of its time.

    What is left of them is set aside for good: to look through it afterwards would take as long.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.enable()


def _without_allocations(options: Any) -> bool:
    return "_nrt" in options or "forceinline" in options


class Narrow(lowering.Lower):  # type: ignore[misc]
    """Code in vectors of four numbers: bodies have six to twenty modes, too few for loops by eights.

    On processors with vectors of eight the loops of six modes would be all remainder.
    """

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        # llvmlite knows attributes by their names alone, and prints what is in the set
        set.add(self.function.attributes, '"prefer-vector-width"="256"')


@register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(typed_passes.NativeLowering):  # type: ignore[misc]
    """numba's last pass, by `Narrow`."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> type[Narrow]:
        return Narrow


class Passes(CompilerBase):  # type: ignore[misc]
    """What numba does with a kernel that cannot allocate: there are no closures and no array expressions."""

    def define_pipelines(self) -> list[Any]:
        manager = PassManager("kernels")
        for each in (
            untyped_passes.TranslateByteCode, untyped_passes.FixupArgs, untyped_passes.IRProcessing,
            untyped_passes.GenericRewrites, untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference, typed_passes.PreLowerStripPhis, typed_passes.IRLegalization,
            typed_passes.AnnotateTypes, Lowering, typed_passes.NoPythonBackend,
        ):  # fmt: skip
            manager.add_pass(each, each.__name__)
        manager.finalize()
        return [manager]


class Compiler(_FunctionCompiler):  # type: ignore[misc]
    """numba's compiler; subscripts and the beginnings of slices are taken as they are in the time loop.

    To count negative ones from the end takes a fifth of the time of small mechanisms, and none is negative,
    as the checked build shows under the tests. Kernels that allocate stay as they are.
    """

    def compile(self, args: Any, return_type: Any) -> Any:
        array, cut, usual = _usual_ways()
        before = array.fix_integer_index, cut.fix_slice
        is_plain = _without_allocations(self.targetoptions)
        array.fix_integer_index, cut.fix_slice = (_plain_subscript, _plain_slice) if is_plain else usual
        try:
            return super().compile(args, return_type)
        finally:
            array.fix_integer_index, cut.fix_slice = before


@cache
def _usual_ways() -> Any:
    """numba's modules for subscripts and slices, and its ways with them.

    They take 0.1 s to import, which what is loaded from disk does without.
    """
    array, cut = (importlib.import_module(f"numba.{name}") for name in ("np.arrayobj", "cpython.slicing"))
    return array, cut, (array.fix_integer_index, cut.fix_slice)


def _plain_slice(builder: Any, slice: Any, size: Any) -> None:
    """A slice as it is: its step is one, and only its end may be left open."""
    if CHECKED:
        _usual_ways()[2][1](builder, slice, size)
    else:
        slice.stop = builder.select(builder.icmp_signed(">", slice.stop, size), size, slice.stop)


def _plain_subscript(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """An integer subscript as it is: only constants count from the end."""
    if isinstance(index, ir.Constant):
        return _usual_ways()[2][0](context, builder, kind, index, size)
    index = context.cast(builder, index, kind, numba.types.intp)
    if CHECKED:
        _check_subscript(context, builder, index, size)
    return index


def _check_subscript(context: Any, builder: Any, index: Any, size: Any) -> None:
    """End the process, with the name of the kernel, where a subscript is outside its array."""
    module, text = builder.module, ir.IntType(8).as_pointer()
    say = ir.FunctionType(ir.IntType(32), [ir.IntType(32), text], var_arg=True)
    message = f"{builder.function.name}: subscript %ld of %ld\n"
    with builder.if_then(builder.icmp_unsigned(">=", index, size), likely=False):
        place = builder.bitcast(context.insert_const_string(module, message), text)
        printer = cgutils.get_or_insert_function(module, say, "dprintf")
        builder.call(printer, [ir.Constant(ir.IntType(32), 2), place, index, size])
        ends = cgutils.get_or_insert_function(module, ir.FunctionType(ir.VoidType(), []), "abort")
        builder.call(ends, [])


class Linked(CPUDispatcher):  # type: ignore[misc]
    """A kernel that callers contain; it remembers the kernels apart that it jumps to."""

    depth = 0  # of kernels that are compiled or loaded for one another; the first of them is for Python
    without_entry: list[Any] = []  # compiled code that has been called stays
    returns: Any = None  # declared type of what it returns, where it is compiled later
    _cache: Any
    _cache_hits: Any

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """As numba's; constants are arguments like any other."""
        _, args = self._compiler.fold_argument_types(args, kws)  # type: ignore[attr-defined]
        return super().get_call_template(tuple(numba.types.unliteral(item) for item in args), {})

    def compile(self, sig: Any) -> Any:
        with global_compiler_lock:
            if Linked.depth:
                return self._compile_below(sig)
            args = tuple(normalize_signature(sig)[0])
            known = self.overloads.get(args)
            if known is not None and not _has_entry(known):
                Linked.without_entry.append(self.overloads.pop(args))
            with _no_collections(), _remembered_types():
                return self._compile_below(sig)

    def _compile_below(self, sig: Any) -> Any:
        options = self.targetoptions
        options["no_cpython_wrapper"] = options["no_cfunc_wrapper"] = Linked.depth > 0
        Linked.depth += 1
        try:
            return self._loaded(sig) or super().compile(sig)
        finally:
            Linked.depth -= 1

    def _loaded(self, sig: Any) -> Any:
        """The entry of a kernel that is on disk, as numba takes it from there less its clocks."""
        if tuple(normalize_signature(sig)[0]) in self.overloads:
            return None
        found = self._cache.load_overload(sig, self.targetctx)
        if found is None:
            return None
        self._cache_hits[sig] += 1
        self.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
        self.add_overload(found)
        return found.entry_point

    def add_overload(self, cres: Any) -> None:
        # numba keeps this list with what it stores, but forgets it when it loads a kernel into another
        needs = [item for item in cres.reload_init or () if not isinstance(item, _Symbols)]
        cres.library._reload_init.update(needs)
        if _has_entry(cres):
            super().add_overload(cres)
        else:  # a call from Python must not find it
            self.overloads[tuple(cres.signature.args)] = cres


class Apart(Linked):
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
        cpu_target.target_context.codegen()._engine._defined_symbols.update(self.names)


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


class Later(Apart):
    """A kernel of its own that is compiled, or loaded, when a caller first gets there.

    A caller knows the declared type of the result and a slot for the address, which is empty until then.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        pysig, args = self._compiler.fold_argument_types(args, kws)  # type: ignore[attr-defined]
        args = tuple(numba.types.unliteral(item) for item in args)
        name, found = self.py_func.__name__, typing.signature(self.returns, *args)
        return typing.make_concrete_template(name, key=name, signatures=[found]), pysig, args, {}

    def get_overload(self, sig: Any) -> Any:
        args = tuple(normalize_signature(sig)[0])
        slot = _Slot(self.py_func.__module__, self.py_func.__name__, args)
        known = cpu_target.target_context._defns
        if slot not in known:
            known[slot].append(_call_by(slot, self.returns), args)
        return slot

    def address(self, args: Any) -> int:
        """Where the code for these types stands; now it is needed."""
        with global_compiler_lock, _no_collections(), _remembered_types():
            if args not in self.overloads:
                Linked.depth += 1  # it is not for Python
                try:
                    self.compile(args)
                finally:
                    Linked.depth -= 1
            cres: Any = self.overloads[args]
        if cres.signature.return_type != self.returns:
            found = cres.signature.return_type
            raise TypeError(f"{self.py_func.__name__} returns {found}, not {self.returns}")
        return int(cres.library.get_pointer_to_function(cres.fndesc.llvm_func_name))


@dataclass(frozen=True)
class _Slot:
    """Place of the address of a kernel that is compiled later; stored with its callers, called on loading."""

    module: str
    name: str
    types: tuple[Any, ...]

    @property
    def symbol(self) -> str:
        types = hashlib.sha256(str(self.types).encode()).hexdigest()[:16]
        return f"{self.module}.{self.name}.{types}"

    def __call__(self) -> None:
        if self not in _PLACES:
            place = _PLACES[self] = ctypes.c_void_p(None)
            _SLOTS[ctypes.addressof(place)] = self
            llvmlite.binding.add_symbol(self.symbol, ctypes.addressof(place))
            llvmlite.binding.add_symbol(RESOLVE, ctypes.cast(_RESOLVE, ctypes.c_void_p).value)


_PLACES: dict[_Slot, ctypes.c_void_p] = {}
_SLOTS: dict[int, _Slot] = {}
RESOLVE = "flexmbs.resolve"


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def _RESOLVE(place: int) -> int:
    """Called by kernels: fills the slot at `place`. Signals wait; there is no way to raise an error here."""
    try:
        slot = _SLOTS[place]
        with held():
            module = sys.modules.get(slot.module) or importlib.import_module(slot.module)
            _PLACES[slot].value = getattr(module, slot.name).address(slot.types)
    except KeyboardInterrupt:  # again, when Python is back
        again = threading.main_thread().ident, signal.SIGINT
        threading.Timer(0.05, signal.pthread_kill, again).start()
    except BaseException:
        traceback.print_exc()
        os.abort()
    return _PLACES[slot].value or 0


@dataclass(eq=False)
class _Needs:
    """What callers of a slot link: nothing, but they remember the slot."""

    _reload_init: set[Any]

    def _ensure_finalized(self) -> None:
        pass

    def _get_module_for_linking(self) -> Any:
        return llvmlite.binding.parse_assembly("")


def _call_by(slot: _Slot, returns: Any) -> Any:
    """How numba writes a call of the kernel in a slot."""

    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        slot()
        module, pointer = builder.module, ir.IntType(8).as_pointer()
        place = module.globals.get(slot.symbol) or ir.GlobalVariable(module, pointer, slot.symbol)
        found = cgutils.alloca_once_value(builder, builder.load(place))
        with builder.if_then(cgutils.is_null(builder, builder.load(found)), likely=False):
            kind = ir.FunctionType(pointer, [pointer.as_pointer()])
            resolve = cgutils.get_or_insert_function(module, kind, RESOLVE)
            builder.store(builder.call(resolve, [place]), found)
        kind = context.call_conv.get_function_type(returns, slot.types)
        function = builder.bitcast(builder.load(found), kind.as_pointer())
        status, value = context.call_conv.call_function(builder, function, returns, slot.types, args)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return value

    call.signature = slot.types  # type: ignore[attr-defined]
    call.libs = (_Needs({slot}),)  # type: ignore[attr-defined]
    return call
