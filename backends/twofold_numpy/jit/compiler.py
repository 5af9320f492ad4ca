"""LLVM: compiles a kernel's IR to object code for this machine, and loads object code into memory."""

import ctypes
import functools
import hashlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from twofold.backend.forks import BUILDING, LOCKS
from twofold.signal_handlers import unless_signalled

from .cache import CACHE
from .callables import CONTENT
from .kernel import Machine
from .llvm_text import FIELDS, word_of


class Code(NamedTuple):
    """Machine code in memory: its address, and the object that keeps it loaded."""

    address: int
    library: Any


@functools.cache
def compiler() -> "Compiler | None":
    """The process's compiler; None if this machine, interpreter or llvmlite is not supported."""
    try:
        with BUILDING:  # no fork meets it half made
            import llvmlite.binding as llvm

            return Compiler(llvm)
    except RecursionError:  # of the caller's depth: it is tried again at the next call
        raise
    except unless_signalled((ImportError, OSError, RuntimeError, AttributeError)):
        return None


class Compiler:
    """LLVM for this processor.

    Parameters
    ----------
    llvm
        The module ``llvmlite.binding``.

    Raises
    ------
    RuntimeError
        If the processor has no fused multiply-add or no conversion of 16-bit floats, or NumPy's objects are not laid out as its C API says.
    """

    def __init__(self, llvm: Any) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        self._llvm = llvm
        self.triple = llvm.get_default_triple()
        self.machine = Machine(_vector_bits(self.triple, features))
        #: Whether one instruction adds four products of 8-bit integers to each lane of a vector.
        self.has_integer_products = bool(features.get("avx512vnni" if self.machine.vector_bits == 512 else "avxvnni"))
        #: Whether two multiply-adds of 512 bits begin in each cycle. Processors do not tell: those with 16-bit floats in such vectors have
        #: both units, and others are taken to have one, as AMD's Zen 4 has.
        self.has_two_wide_units = self.machine.vector_bits == 512 and bool(features.get("avx512fp16"))
        #: Whether one instruction adds two products of bfloat16 numbers to each lane of a vector of 512 bits.
        self.has_bfloat16_products = self.machine.vector_bits == 512 and bool(features.get("avx512bf16"))
        # before any kernel can run: a wrong offset would read memory of something else
        _check_fields(self.machine.head)
        cpu, flat = llvm.get_host_cpu_name(), features.flatten()
        self._target = llvm.Target.from_triple(self.triple).create_target_machine(cpu=cpu, features=flat, opt=3, jit=True)
        self._linker = llvm.create_lljit_compiler(self._target)
        self._numbers = itertools.count()
        # llvmlite's own lock, which the finalizers of its objects take too: a fork beside one would leave it locked in the child
        own = getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)
        if own is not None:
            LOCKS.append(own)
        #: Everything besides the IR that object code depends on.
        # a new LLVM may compile the same IR to other instructions, so its version is part of the key
        self.target = "\n".join((self.triple, cpu, flat, ".".join(map(str, llvm.llvm_version_info))))

    def key(self, text: str) -> str:
        """The cache key of the object code of some IR."""
        return hashlib.sha256(f"{self.target}\n{text}".encode()).hexdigest()

    def object_code(self, text: str, inlines: bool = False) -> bytes:
        """Compile IR to object code. The printed IR is optimized already; only if it has functions to be inlined it is here."""
        module = self._parsed(text)
        if inlines:
            passes = self._llvm.create_pass_builder(self._target, self._llvm.create_pipeline_tuning_options(speed_level=2))
            passes.getModulePassManager().run(module, passes)
        return self._target.emit_object(module)

    def stored_object_code(self, text: str, inlines: bool = False) -> tuple[bytes, bool]:
        """Object code from the cache on disk, or compiled and stored there; and whether it was compiled."""
        key = self.key(f"{text}\n; with functions written in" if inlines else text)
        code = CACHE.load(key)
        if code is not None:
            return code, False
        code = self.object_code(text, inlines)
        CACHE.store(key, code)
        return code, True

    def assembly(self, text: str) -> str:
        """Compile IR to assembly, for tests and readers."""
        return self._target.emit_assembly(self._parsed(text))

    def _parsed(self, text: str) -> Any:
        module = self._llvm.parse_assembly(text)
        # the printed IR contains neither, so its text is the same on all machines
        module.triple, module.data_layout = self.triple, str(self._target.target_data)
        module.verify()
        return module

    def loaded(self, code: bytes) -> Code:
        """Load object code; the result is ready to be called."""
        name = f"kernel{next(self._numbers)}"  # a separate library for each kernel, because all export the symbol "kernel"
        library = self._llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol("kernel")
        loaded = library.link(self._linker, name)
        return Code(loaded["kernel"], loaded)

    def built(self, text: str, inlines: bool = False) -> Code:
        """The machine code of some IR, compiled or from the cache on disk."""
        with BUILDING:
            return self.loaded(self.stored_object_code(text, inlines)[0])

    def function(self, text: str, result: type | None, *arguments: type) -> Callable[..., Any]:
        """The kernel of some IR as a function of ctypes, which releases the GIL."""
        code = self.built(text)
        run: Any = ctypes.CFUNCTYPE(result, *arguments)(code.address)
        run.library = code.library  # stays loaded as long as the function
        return run


def _vector_bits(triple: str, features: Any) -> int:
    """The vector width in bits."""
    if triple.startswith(("aarch64", "arm64")):
        return 128
    if features.get("fma") and features.get("avx2") and features.get("f16c"):
        # masked loads and stores of all element sizes, at all vector widths
        wide = all(features.get(f"avx512{part}") for part in ("f", "bw", "dq", "vl"))
        return 512 if wide else 256
    raise RuntimeError("the processor has no fused multiply-add, or does not convert 16-bit floats")


def _check_fields(head: int) -> None:
    """Check on real objects the struct layouts that kernels rely on: arrays, dtypes, bytes."""
    array = np.zeros((2, 3), np.float32)
    at = id(array) + head
    data = ctypes.c_void_p.from_address(at + FIELDS["data"]).value
    nd = ctypes.c_int.from_address(at + FIELDS["nd"]).value
    if data != array.ctypes.data or nd != array.ndim:
        raise RuntimeError("array objects are not laid out as NumPy's C interface says")
    dimensions = ctypes.c_void_p.from_address(at + FIELDS["dimensions"]).value
    if ctypes.c_void_p.from_address(at - 8).value != id(np.ndarray):
        raise RuntimeError("objects are not laid out as this interpreter's C API says")
    strides = ctypes.c_void_p.from_address(at + FIELDS["strides"]).value
    found = [tuple((ctypes.c_ssize_t * nd).from_address(where or 0)) for where in (dimensions, strides)]
    data = bytes(range(1, 9))
    if ctypes.string_at(id(data) + CONTENT, 8) != data:
        raise RuntimeError("bytes objects are not laid out as this interpreter's C API says")
    if found != [array.shape, array.strides] or ctypes.c_int.from_address(at + FIELDS["flags"]).value != array.flags.num:
        raise RuntimeError("array objects are not laid out as NumPy's C interface says")
    word = word_of("float32", head)
    if ctypes.c_void_p.from_address(at + FIELDS["descr"]).value != id(array.dtype) or (word & 0xFF, word >> 32) != (
        ord("f"),
        array.dtype.num,
    ):
        raise RuntimeError("dtype objects are not laid out as NumPy's C API says")
