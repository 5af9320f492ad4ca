"""Convolution by cuDNN, through NVIDIA's `nvidia-cudnn-frontend`, where that and the library are installed.

A convolution, or the gradient of one, is a cuDNN graph of one node, whose execution plan is cached per kind, dtype and shapes.
Nondeterministic plans are excluded, and, for float32, plans with reduced precision (tensor cores, TF32). If no plan is left, the adapter
falls back to matrix products over columns.
"""

import atexit
import importlib
import os
import threading
import warnings
import weakref
from collections import Counter
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import cupy

from twofold.backend.kernel import Array, Namespace
from twofold.backend.strides import Sizes, row_major
from twofold.config import SETTINGS

from .dry_run import in_dry_run
from .library import runtime
from .operands import dtype_of
from .streams import Stream

#: cuDNN's names of each dtype and of the type that it is computed in.
KINDS = {"float16": ("HALF", "FLOAT"), "bfloat16": ("BFLOAT16", "FLOAT"), "float32": ("FLOAT", "FLOAT"), "float64": ("DOUBLE", "DOUBLE")}
#: For each primitive, the front end's node and the names of its operands.
NODES = {
    "convolve": ("conv_fprop", "image", "weight"),
    "convolve_data": ("conv_dgrad", "loss", "filter"),
    "convolve_weight": ("conv_wgrad", "image", "loss"),
}
REDUCED_PRECISION = ("TENSOR_CORE", "DOWN_CONVERT_INPUTS", "REDUCED_PRECISION_REDUCTION")
WINOGRAD = ("WINOGRAD", "WINOGRAD_TILE_4x4", "WINOGRAD_TILE_6x6", "WINOGRAD_TILE_13x13")
#: Plans cached per device, and the largest workspace in bytes that a plan may use.
MAX_PLANS, WORKSPACE = 512, 1 << 30

#: Convolutions computed by ``cudnn`` and by ``columns`` since the process started.
COMPUTED: Counter[str] = Counter()


@cache
def library() -> Any:
    """The front end; None if it or the library is not installed."""
    try:
        module = importlib.import_module("cudnn")
        module.backend_version()
    except Exception:  # ImportError, or any error that the front end raises if it finds no library
        return None
    return module


class Shape(NamedTuple):
    """What a plan depends on: shapes of both operands and the result, and the windows' parameters."""

    kind: str
    dtype: str
    first: Sizes
    second: Sizes
    out: Sizes
    stride: Sizes
    dilate: Sizes
    pad: Sizes


class CudnnGraph(NamedTuple):
    """An executable cuDNN graph, its three tensors, and its workspace in bytes."""

    graph: Any
    tensors: tuple[Any, Any, Any]
    workspace: int


#: Guards handles and plans, which are not thread-safe. Reentrant: a finalizer or signal handler may compute a convolution too.
_lock = threading.RLock()
_MISSING: Any = object()


class Convolutions:
    """A cuDNN handle of one stream, whose device is current; plans are shared by all streams of a device."""

    def __init__(self, stream: Stream, plans: dict[Shape, CudnnGraph | None]) -> None:
        self._handle = library().create_handle()
        library().set_stream(handle=self._handle, stream=stream.cuda.ptr)
        self._plans = plans

    def run(self, xp: Namespace, shape: Shape, first: cupy.ndarray, second: cupy.ndarray, out: cupy.ndarray) -> bool:
        """Compute a convolution of contiguous arrays into ``out``. Returns False, and does nothing, if cuDNN has no plan."""
        plan = self._plan(shape)
        if plan is None:
            return False
        # allocated before the lock is taken: it may wait for other streams and run finalizers
        workspace = xp.empty((max(plan.workspace, 1),), "uint8")
        places = dict(zip(plan.tensors, [x.data.ptr for x in (first, second, out)], strict=True))
        with _lock:
            plan.graph.execute(places, workspace.data.ptr, handle=self._handle)
        return True

    def _plan(self, shape: Shape) -> CudnnGraph | None:
        with _lock:
            # None is an answer too: there is no plan
            found = self._plans.get(shape, _MISSING)
            if found is _MISSING:
                found = graph_for(shape, self._handle)
                if len(self._plans) >= MAX_PLANS:
                    self._plans.clear()
                self._plans[shape] = found
            return found


def graph_for(shape: Shape, handle: object, **options: object) -> CudnnGraph | None:
    """The first allowed plan of cuDNN's heuristics, or None."""
    cudnn = library()
    stored, computed = (getattr(cudnn.data_type, name) for name in KINDS[shape.dtype])
    graph = cudnn.pygraph(io_data_type=stored, intermediate_data_type=computed, compute_data_type=computed, handle=handle, **options)
    node, *names = NODES[shape.kind]
    first, second = (
        graph.tensor(name=name, dim=list(size), stride=list(row_major(size)), data_type=stored)
        for name, size in zip(names, (shape.first, shape.second), strict=True)
    )
    windows = {"padding": list(shape.pad), "stride": list(shape.stride), "dilation": list(shape.dilate)}
    result = getattr(graph, node)(**dict(zip(names, (first, second), strict=True)), **windows)
    result.set_output(True).set_dim(list(shape.out)).set_stride(list(row_major(shape.out))).set_data_type(stored)
    try:
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        # before the plans are built, which compiles them
        graph.deselect_numeric_notes([getattr(cudnn.numerical_note, name) for name in _refused(shape.dtype)])
        graph.deselect_workspace_greater_than(WORKSPACE)
        graph.check_support()
        graph.build_plans()
    except cudnn.cudnnGraphNotSupportedError:
        return None
    except RuntimeError as error:  # an unexpected failure: warn, but fall back as well
        warnings.warn(
            f"gpu: cuDNN cannot plan {shape}; it is computed by matrix products over columns: {error}", RuntimeWarning, stacklevel=2
        )
        return None
    return CudnnGraph(graph, (first, second, result), graph.get_workspace_size())


def _refused(dtype: str) -> tuple[str, ...]:
    fewer = REDUCED_PRECISION if dtype in ("float32", "float64") else ()
    return ("NONDETERMINISTIC", *fewer, *(() if SETTINGS.winograd else WINOGRAD))


_handles: weakref.WeakKeyDictionary[Stream, Convolutions] = weakref.WeakKeyDictionary()
_plans: dict[int, dict[Shape, CudnnGraph | None]] = {}
_PROCESS = os.getpid()


@atexit.register
def _forget_plans() -> None:
    """Drop all plans at the end of the process that made them: the front end reports those that are left when it is unloaded."""
    if os.getpid() != _PROCESS:
        return
    with _lock, suppress(runtime.CUDARuntimeError):
        for device, plans in _plans.items():
            with cupy.cuda.Device(device):
                runtime.deviceSynchronize()
            plans.clear()


def prepare(stream: Stream) -> Convolutions:
    """The cuDNN handle of a stream, which must be current; create it before a capture, during which it cannot be."""
    found = _handles.get(stream)
    if found is None:
        found = _handles[stream] = Convolutions(stream, _plans.setdefault(stream.device, {}))
    return found


def try_convolution(
    xp: Namespace, kind: str, first: Array, second: Array, out: Sizes, stride: Sizes, dilate: Sizes, pad: Sizes
) -> cupy.ndarray | None:
    """A convolution by cuDNN; None if it is not installed, switched off, or has no plan."""
    found = None
    if SETTINGS.cudnn and library() is not None and xp.dtype_of(first) == xp.dtype_of(second):
        found = _by_cudnn(xp, kind, xp.packed(first), xp.packed(second), out, (stride, dilate, pad))
    COMPUTED["columns" if found is None else "cudnn"] += not in_dry_run()
    return found


def _by_cudnn(xp: Namespace, kind: str, a: cupy.ndarray, b: cupy.ndarray, out: Sizes, windows: tuple[Sizes, ...]) -> cupy.ndarray | None:
    dtype = dtype_of(a)
    if dtype not in KINDS or len(out) not in (3, 4, 5) or not (a.size and b.size) or 0 in out:
        return None
    line = len(out) == 3  # cuDNN has no 1-d convolutions: add an axis of size 1
    first, second, made = [(*x, 1) if line else tuple(x) for x in (a.shape, b.shape, out)]
    stride, dilate, pad = [(*own, rest) if line else tuple(own) for own, rest in zip(windows, (1, 1, 0), strict=True)]
    shape = Shape(kind, dtype, first, second, made, stride, dilate, pad)
    result = xp.empty(out, dtype)
    if in_dry_run():  # planning is slow; most convolutions have a plan, so the fallback's kernels are not compiled early
        return result
    return result if prepare(xp.streams.current(runtime.getDevice())).run(xp, shape, a, b, result) else None
