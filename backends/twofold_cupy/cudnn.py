"""Convolution by cuDNN, through NVIDIA's `nvidia-cudnn-frontend`, where that and the library are installed.

A convolution, or the gradient of one, is a graph of one node. The plan that cuDNN proposes for it is kept for a kind, dtype and shapes.
Plans that do not give the same results every time are not taken, nor for float32 those that compute with fewer digits. Where
none is left, or for what cuDNN is not asked for, there is no result and the adapter computes it by columns.
"""

import importlib
import threading
import warnings
import weakref
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import cupy

from twofold.backend.strides import Sizes, row_major
from twofold.config import SETTINGS

from .library import runtime
from .operands import dtype_of
from .rehearsal import rehearses
from .streams import Stream

#: cuDNN's names of dtypes, and of those it computes in.
KINDS = {"float16": ("HALF", "FLOAT"), "bfloat16": ("BFLOAT16", "FLOAT"), "float32": ("FLOAT", "FLOAT"), "float64": ("DOUBLE", "DOUBLE")}
#: For each convolution the front end's node, and its names of the operands.
NODES = {
    "convolve": ("conv_fprop", "image", "weight"),
    "convolve_data": ("conv_dgrad", "loss", "filter"),
    "convolve_weight": ("conv_wgrad", "image", "loss"),
}
FEWER_DIGITS = ("TENSOR_CORE", "DOWN_CONVERT_INPUTS", "REDUCED_PRECISION_REDUCTION")
WINOGRAD = ("WINOGRAD", "WINOGRAD_TILE_4x4", "WINOGRAD_TILE_6x6", "WINOGRAD_TILE_13x13")
#: How many plans a stream keeps, and bytes of workspace that one may want.
KEPT, WORKSPACE = 512, 1 << 30

#: How many convolutions were computed by ``cudnn`` and by ``columns`` since the process began.
COMPUTED: Counter[str] = Counter()


@cache
def library() -> Any:
    """The front end; None where it, or the library itself, is not there."""
    try:
        module = importlib.import_module("cudnn")
        module.backend_version()
    except Exception:  # ImportError, or whatever the front end raises where it finds no library
        return None
    return module


class Shape(NamedTuple):
    """What a plan is for: sizes of both operands and of the result, and how windows lie."""

    kind: str
    dtype: str
    first: Sizes
    second: Sizes
    out: Sizes
    stride: Sizes
    dilate: Sizes
    pad: Sizes


class Plan(NamedTuple):
    """A graph that is ready, its three tensors, and the bytes of workspace that it wants."""

    graph: Any
    tensors: tuple[Any, Any, Any]
    workspace: int


#: Handles and plans belong to one thread at a time, which may come back: a finalizer or signal handler of it computes convolutions too.
_lock = threading.RLock()
_MISSING: Any = object()


class Convolutions:
    """cuDNN on one stream, whose device is current; plans serve all streams of a device."""

    def __init__(self, stream: Stream, plans: dict[Shape, Plan | None]) -> None:
        self._handle = library().create_handle()
        library().set_stream(handle=self._handle, stream=stream.cuda.ptr)
        self._plans = plans

    def run(self, xp: Any, shape: Shape, first: cupy.ndarray, second: cupy.ndarray, out: cupy.ndarray) -> bool:
        """Compute a convolution of arrays in row-major order into another; whether cuDNN has a plan for it."""
        plan = self._plan(shape)
        if plan is None:
            return False
        workspace = xp.empty((max(plan.workspace, 1),), "uint8")  # may wait, and run finalizers: nobody is to wait for that
        places = dict(zip(plan.tensors, [x.data.ptr for x in (first, second, out)], strict=True))
        with _lock:
            plan.graph.execute(places, workspace.data.ptr, handle=self._handle)
        return True

    def _plan(self, shape: Shape) -> Plan | None:
        with _lock:
            found = self._plans.get(shape, _MISSING)
            if found is _MISSING:
                found = plan_of(shape, self._handle)
                if len(self._plans) >= KEPT:
                    self._plans.clear()
                self._plans[shape] = found
            return found


def plan_of(shape: Shape, handle: Any, **options: Any) -> Plan | None:
    """The plan that cuDNN proposes; None if there is none that may be taken."""
    cudnn = library()
    stored, computed = (getattr(cudnn.data_type, name) for name in KINDS[shape.dtype])
    graph = cudnn.pygraph(io_data_type=stored, intermediate_data_type=computed, compute_data_type=computed, handle=handle, **options)
    node, *names = NODES[shape.kind]
    tensors = [
        graph.tensor(name=name, dim=list(size), stride=list(row_major(size)), data_type=stored)
        for name, size in zip(names, (shape.first, shape.second), strict=True)
    ]
    windows = {"padding": list(shape.pad), "stride": list(shape.stride), "dilation": list(shape.dilate)}
    result = getattr(graph, node)(**dict(zip(names, tensors, strict=True)), **windows)
    result.set_output(True).set_dim(list(shape.out)).set_stride(list(row_major(shape.out))).set_data_type(stored)
    try:
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        graph.deselect_numeric_notes([getattr(cudnn.numerical_note, name) for name in _refused(shape.dtype)])
        graph.deselect_workspace_greater_than(WORKSPACE)
        graph.check_support()
        graph.build_plans()
    except cudnn.cudnnGraphNotSupportedError:
        return None
    except RuntimeError as error:  # something is amiss: it is told, and computed all the same
        warnings.warn(f"gpu: cuDNN cannot plan {shape}, which is computed by columns: {error}", RuntimeWarning, stacklevel=2)
        return None
    return Plan(graph, (*tensors, result), graph.get_workspace_size())  # type: ignore[arg-type]


def _refused(dtype: str) -> tuple[str, ...]:
    fewer = FEWER_DIGITS if dtype in ("float32", "float64") else ()
    return ("NONDETERMINISTIC", *fewer, *(() if SETTINGS.winograd else WINOGRAD))


_known: weakref.WeakKeyDictionary[Stream, Convolutions] = weakref.WeakKeyDictionary()
_plans: dict[int, dict[Shape, Plan | None]] = {}


def prepare(stream: Stream) -> Convolutions:
    """What runs on a stream, which is current. What is captured there needs it beforehand."""
    found = _known.get(stream)
    if found is None:
        found = _known[stream] = Convolutions(stream, _plans.setdefault(stream.device, {}))
    return found


def computed(xp: Any, kind: str, first: Any, second: Any, out: Sizes, stride: Sizes, dilate: Sizes, pad: Sizes) -> cupy.ndarray | None:
    """A convolution by cuDNN; None where it is not there, is not to be used, or has no plan."""
    found = None
    if SETTINGS.cudnn and library() is not None and xp.dtype_of(first) == xp.dtype_of(second):
        found = _computed(xp, kind, xp.packed(first), xp.packed(second), out, (stride, dilate, pad))
    COMPUTED["columns" if found is None else "cudnn"] += not rehearses()
    return found


def _computed(xp: Any, kind: str, a: cupy.ndarray, b: cupy.ndarray, out: Sizes, windows: tuple[Sizes, ...]) -> cupy.ndarray | None:
    dtype = dtype_of(a)
    if dtype not in KINDS or len(out) not in (3, 4, 5) or not (a.size and b.size) or 0 in out:
        return None
    line = len(out) == 3  # cuDNN has no convolutions over one axis
    first, second, made = [(*x, 1) if line else tuple(x) for x in (a.shape, b.shape, out)]
    stride, dilate, pad = [(*own, rest) if line else tuple(own) for own, rest in zip(windows, (1, 1, 0), strict=True)]
    shape = Shape(kind, dtype, first, second, made, stride, dilate, pad)
    result = xp.empty(out, dtype)
    if rehearses():  # most have a plan
        return result
    return result if prepare(xp.streams.current(runtime.getDevice())).run(xp, shape, a, b, result) else None
