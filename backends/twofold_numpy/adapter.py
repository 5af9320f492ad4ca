"""The NumPy adapter's implementation of the protocol."""

import contextvars
import importlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from twofold.backend.forks import IMPORTING
from twofold.backend.kernel import Array, ArrayType, Call, KernelEpilogue, OperandType, Params, RowProgram
from twofold.backend.protocol import Backend, Target
from twofold.config import SETTINGS
from twofold.device import Device
from twofold.dtype import NAME_OF, NUMPY
from twofold.errors import MXNetError

from . import (
    bfloat16_products,
    column_sums,
    copies,
    depthwise_gradients,
    direct,
    integer_products,
    planning,
    scatter,
    sparse_products,
    threads,
    tiles,
    window_reductions,
    winograd,
)
from .blas import Blas
from .blocked import compile_kernel
from .calls import call_for
from .host_code import MachineCode
from .jit.availability import is_installed
from .long_rows import in_blocks_of_rows
from .memory import ALIGNED, POOL, allocator
from .namespace import BLOCK, NumpyNamespace
from .packing import has_wide_vectors
from .products import IN_MACHINE_CODE, InnerProduct, Multiplication, Product

if TYPE_CHECKING:  # importing it takes 1.5 ms
    from numpy.typing import ArrayLike

T = TypeVar("T")


def _compiles() -> bool:
    """Whether kernels are compiled to machine code."""
    return SETTINGS.jit and is_installed()


def _product_in_machine_code(library: Blas, of: Multiplication | InnerProduct) -> Product | None:
    """A product in machine code; None if kernels are not compiled."""
    if not _compiles():
        return None
    with IMPORTING:
        from .jit.packed_products import packed_product
        from .jit.products import bound_product
        from .jit.row_products import row_product

    return packed_product(library, of) or row_product(library, of) or bound_product(library, of)


def _from_jit(module: str, function: str) -> Callable[..., Any]:
    """A function of `jit` that returns machine code, imported at the first call; it returns None if kernels are not compiled."""

    def make(*given: object) -> Any:
        if not _compiles():
            return None
        with IMPORTING:
            found = importlib.import_module(f"{__package__}.jit.{module}")
        return getattr(found, function)(*given)

    return make


def _multiplies_bfloat16() -> bool:
    """Whether kernels are compiled, and the processor has instructions for products of bfloat16."""
    if not (_compiles() and has_wide_vectors()):
        return False
    with IMPORTING:
        from .jit.compiler import compiler

    own = compiler()
    return own is not None and own.has_bfloat16_products


IN_MACHINE_CODE.append(_product_in_machine_code)
direct.IN_MACHINE_CODE.append(_from_jit("direct", "binder"))
depthwise_gradients.IN_MACHINE_CODE.append(_from_jit("run_products", "run_products"))
copies.IN_MACHINE_CODE.append(_from_jit("transpose", "transpose"))
column_sums.IN_MACHINE_CODE.append(_from_jit("column_sums", "column_sums"))
scatter.IN_MACHINE_CODE.append(_from_jit("scatter", "add_rows"))
sparse_products.IN_MACHINE_CODE.append(_from_jit("csr_products", "add_product"))
winograd.IN_MACHINE_CODE.append(_from_jit("tile_transforms", "tile_transform"))
tiles.TRANSFORMS.append(_from_jit("image_tiles", "image_tiles"))
tiles.PRODUCTS.append(_from_jit("tile_products", "tile_products"))
tiles.SUMS.append(_from_jit("tile_weights", "tile_weights"))
window_reductions.IN_MACHINE_CODE.append(_from_jit("window_reductions", "bound_part"))
integer_products.IN_MACHINE_CODE.append(_from_jit("integer_products", "integer_products"))
bfloat16_products.IN_MACHINE_CODE.append(_multiplies_bfloat16)


def _fuses_from(op: str, operands: Sequence[str], dtype: str) -> int | None:
    """1 if the primitive can be compiled, as a kernel then costs less than one ufunc; otherwise None."""
    with IMPORTING:
        from .jit.primitives import has_rule

    return 1 if has_rule(op, (*operands, dtype)) else None


def _gain_of_channels_last(op: str, params: Params, inputs: Sequence[ArrayType]) -> float | None:
    """The convolution table's value; large sums per channel reduce the batch axis first in any case, and gain nothing."""
    if op == "sum":
        return 0.0 if math.prod(inputs[0].shape) > BLOCK and inputs[0].dtype in ("float32", "float64") else None
    with IMPORTING:
        from .convolution import bytes_saved

    (first, second), dtype = (i.shape for i in inputs), inputs[0].dtype
    return bytes_saved(op, params, first, second, dtype) if inputs[1].dtype == dtype else None


NUMPY_ALONE = Target(
    "numpy",
    "cpu",
    np.ndarray,
    shares_constants=True,
    row_reductions=True,
    any_rows=True,
    runs_in_order=True,
    gain_of_channels_last=_gain_of_channels_last,
    planning=planning.facts,
    libraries=threads.report,
)


def _takes_epilogue(op: str, params: Params, inputs: Sequence[ArrayType]) -> bool:
    """Whether a convolution is computed directly, in blocks of filters."""
    with IMPORTING:
        from .convolution import direct_geometry

    return direct_geometry(params, inputs) is not None


def _packs(params: Params, inputs: Sequence[ArrayType]) -> int:
    """The filters of a panel, for convolutions that are computed directly and read it faster."""
    with IMPORTING:
        from .convolution import direct_geometry
        from .jit.panels import width

    g = direct_geometry(params, inputs)
    return 0 if g is None else width(g)


def _treats_images_alike(params: Params, inputs: Sequence[ArrayType], images: int) -> bool:
    with IMPORTING:
        from .convolution import treats_images_alike

    return treats_images_alike(params, inputs, images)


def _computes(op: str, params: Params, inputs: Sequence[ArrayType]) -> bool:
    """Whether windows are computed by their own machine code: those that overlap, and gradients.

    Maxima and sums of windows that do not overlap are kernels, which the operations around them join.
    """
    overlap = any(map(int.__gt__, params["kernel"], params["stride"]))
    if not op.endswith("transposed"):
        return overlap
    is_max = op == "window_max_transposed"
    # the elements of a row that are further apart are copied one by one
    is_near = params["channels_last"] or params["stride"][-1] <= (3 if overlap or is_max else 2)
    return is_near or (overlap and is_max)


#: Elements of a plane that are worth being a row of their own: if they are computed, and if they are in memory.
PLANES = range(32, 1 << 17), range(1024, 1 << 17)
#: For machine code comparisons along a row are free, and strided inputs are read in place; blocked ufuncs copy them.
MACHINE_CODE = replace(
    NUMPY_ALONE,
    whole_rows=True,
    strided_kernels=True,
    plane_sums=PLANES,
    fuses_from=_fuses_from,
    takes_epilogue=_takes_epilogue,
    packs=_packs,
    treats_images_alike=_treats_images_alike,
    computes=_computes,
    host_code=MachineCode(),
)


class NumpyBackend(Backend):
    """NumPy arrays on the CPU. There is one device; further CPU devices are aliases of the same memory."""

    def __init__(self) -> None:
        self._xp = NumpyNamespace()
        vars(self)["quick"] = quiet_context().run  # replaces the method: 16 ns per call, and raises if it is entered twice
        os.register_at_fork(after_in_child=POOL.after_fork)

    @property
    def target(self) -> Target:
        """What NumPy's functions can do, or machine code if llvmlite is installed and the setting ``jit`` is on."""
        return MACHINE_CODE if _compiles() else NUMPY_ALONE

    @property
    def xp(self) -> NumpyNamespace:
        """The primitives."""
        return self._xp

    def device_count(self) -> int:
        """One; other device numbers are aliases of the same memory."""
        return 1

    def memory_info(self, device: Device) -> tuple[int, int]:
        """(available, total) bytes of the host's memory."""
        page = os.sysconf("SC_PAGE_SIZE")
        return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")

    def empty(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """A new uninitialized array, from the pool if it is large."""
        try:
            return POOL.empty(shape, NUMPY[dtype])
        except (MemoryError, ValueError) as error:
            raise self.failure(error) from error

    def allocator(self, shape: tuple[int, ...], dtype: str) -> Callable[[], np.ndarray]:
        """`empty` with its arguments bound and everything looked up in advance."""
        return allocator(shape, NUMPY[dtype])

    def trim(self) -> None:
        """Return the pool's unused memory to the system."""
        POOL.trim()

    def as_array(self, value: "ArrayLike") -> np.ndarray:
        """A C-contiguous array: NumPy scalars become 0-d arrays, and results with other memory layouts are copied."""
        try:
            return copies.packed(value) if isinstance(value, np.ndarray) and value.ndim else np.asarray(value, order="C")
        except (MemoryError, ValueError) as error:
            raise self.failure(error) from error

    def quietly(self, function: Callable[..., T], *args: object) -> T:
        """Call in a separate context in which NumPy's error state is "ignore"."""
        try:
            context = _QUIET.pop()
        except IndexError:
            context = quiet_context()
        try:
            return context.run(function, *args)
        except MXNetError:
            raise
        except Exception as error:
            raise self.failure(error) from error
        finally:
            # also after an error: the context has been left with its error state restored
            _QUIET.append(context)

    def from_host(self, array: np.ndarray, device: Device) -> np.ndarray:
        """A C-contiguous copy."""
        return self.copy(array, device)

    def to_host(self, array: np.ndarray) -> np.ndarray:
        """The array itself."""
        return array

    def copy(self, array: np.ndarray, device: Device) -> np.ndarray:
        """A C-contiguous copy."""
        try:
            return _copied(array)
        except MemoryError as error:
            raise self.failure(error) from error

    def type_of(self, array: np.ndarray) -> ArrayType:
        """Shape and dtype name."""
        return ArrayType(array.shape, NAME_OF[array.dtype])

    def scalar(self, value: float | int | bool, dtype: str) -> np.ndarray:
        """A 0-d array, which a ufunc takes 200 ns faster than a Python scalar. Cached, except for 0.0, which equals -0.0."""
        # True, 1 and 1.0 are equal keys, but make the same array of a given dtype
        key = value, dtype
        found = _SCALARS.get(key)
        if found is None:
            found = np.array(value).astype(NUMPY[dtype])
            if value != 0.0:
                if len(_SCALARS) > MOST_SCALARS:
                    _SCALARS.clear()
                _SCALARS[key] = found
        return found

    def constant(self, value: float | int | bool, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """An array of stride 0."""
        # one element in memory, whatever the shape
        try:
            return np.broadcast_to(np.array(value).astype(NUMPY[dtype]), shape)
        except ValueError as error:
            raise self.failure(error) from error

    def from_dlpack(self, source: Array) -> np.ndarray:
        """NumPy's view of the producer's memory."""
        return np.from_dlpack(source)

    def call(self, op: str, params: Params, inputs: Sequence[OperandType], *outputs: ArrayType) -> Call:
        """NumPy's fastest call for a primitive."""
        return call_for(op, params, inputs, outputs[0]) or super().call(op, params, inputs, *outputs)

    def product(self, epilogue: str | KernelEpilogue) -> Callable[..., None]:
        """A convolution and its kernel as machine code where they can be; otherwise one after the other."""
        if isinstance(epilogue, str):
            return super().product(epilogue)
        with IMPORTING:
            from .convolution import direct_geometry
            from .jit.direct import with_kernel

        g = direct_geometry(epilogue.params, epilogue.inputs)
        found = None if g is None else with_kernel(g, epilogue.program, epilogue.place, epilogue.op == "convolve_packed")
        return found or super().product(epilogue)

    def compile(self, program: RowProgram, *others: RowProgram) -> Callable[..., None]:
        """A kernel that is compiled to machine code at its second use, if llvmlite is installed; otherwise one over cache-sized blocks."""
        if others:
            return super().compile(program, *others)
        if not _compiles():
            return in_blocks_of_rows(program, compile_kernel)
        with IMPORTING:
            from .jit.tiering import jit_kernel  # imports llvmlite, so not at the top

        return in_blocks_of_rows(program, jit_kernel)


def _copied(array: np.ndarray) -> np.ndarray:
    if array.nbytes < ALIGNED:
        return np.array(array, order="C") if array.flags.c_contiguous else copies.packed(array)
    out = POOL.empty(array.shape, array.dtype)
    # `np.array` would allocate outside the pool
    copies.copy_into(out, array)
    return out


def quiet_context() -> contextvars.Context:
    """A context without floating-point warnings; NumPy's error state is a context variable."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    return context


#: A free list of contexts: one is taken per call, since a context cannot be entered twice.
_QUIET: list[contextvars.Context] = []
_SCALARS: dict[Any, np.ndarray] = {}
#: How many of them are kept: an optimizer whose rate changes makes one in each step.
MOST_SCALARS = 4096
