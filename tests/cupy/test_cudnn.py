"""Convolution by cuDNN: how its front end is called, in which order, and that other cases fall back to columns.

A mock front end accepts exactly what NVIDIA's accepts, and computes on the host when the stream gets there.
"""

import ctypes
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import CPU, interned
from twofold.dtype import NUMPY

from tests.cupy.conftest import simulated

pytest.importorskip("cupy")
cudnn = pytest.importorskip("twofold_cupy.cudnn")
pytestmark = simulated  # a real device uses the real library, see test_device
GPU = interned("gpu", 0)
NOTES = ("NONDETERMINISTIC", "TENSOR_CORE", "DOWN_CONVERT_INPUTS", "REDUCED_PRECISION_REDUCTION", *cudnn.WINOGRAD)
KINDS = {"HALF": "float16", "BFLOAT16": "bfloat16", "FLOAT": "float32", "DOUBLE": "float64"}
#: The required order of calls.
ORDER = ("validate", "build_operation_graph", "create_execution_plans", "check_support", "build_plans", "get_workspace_size")


class NotSupportedError(Exception):
    """The front end's error class."""


class Tensor:
    def __init__(self, dim=None, stride=None, data_type=None):
        self.dim, self.stride, self.data_type, self.is_output = dim, stride, data_type, False

    def set_output(self, value):
        self.is_output = value
        return self

    def set_dim(self, dim):
        self.dim = dim
        return self

    def set_stride(self, stride):
        self.stride = stride
        return self

    def set_data_type(self, data_type):
        self.data_type = data_type
        return self


class Graph:
    """``cudnn.pygraph``."""

    refuses = False
    made: list = []  # noqa: RUF012

    def __init__(self, *, io_data_type, intermediate_data_type, compute_data_type, handle):
        self.handle, self.called, self.refused = handle, [], []
        Graph.made.append(self)

    def tensor(self, *, name, dim, stride, data_type):
        assert stride == list(np.empty(dim, np.int8).strides)
        return Tensor(dim, stride, data_type)

    def conv_fprop(self, *, image, weight, padding, stride, dilation):
        return self._node("convolve", image, weight, padding, stride, dilation)

    def conv_dgrad(self, *, loss, filter, padding, stride, dilation):
        return self._node("convolve_data", loss, filter, padding, stride, dilation)

    def conv_wgrad(self, *, image, loss, padding, stride, dilation):
        return self._node("convolve_weight", image, loss, padding, stride, dilation)

    def _node(self, kind, first, second, padding, stride, dilation):
        self.kind, self.operands, self.windows = kind, (first, second), (padding, stride, dilation)
        self.result = Tensor()
        return self.result

    def deselect_numeric_notes(self, notes):
        assert self.called[-1] == "create_execution_plans"
        self.refused = notes

    def deselect_workspace_greater_than(self, limit):
        assert limit == cudnn.WORKSPACE

    def __getattr__(self, name):
        if name not in ORDER:
            raise AttributeError(name)

        def call(*args):
            assert self.called == list(ORDER[: ORDER.index(name)])
            self.called.append(name)
            if name == "check_support" and Graph.refuses:
                raise NotSupportedError("no plan")
            return 1000 if name == "get_workspace_size" else None

        return call

    def execute(self, places, workspace, handle):
        assert self.called == list(ORDER)
        assert handle is self.handle
        assert workspace
        assert self.result.is_output
        first, second, out = [_memory(places[t], t) for t in (*self.operands, self.result)]
        pad, stride, dilate = map(tuple, self.windows)
        params = {"stride": stride, "dilate": dilate, "pad": pad}

        def compute(_):
            inner = {"convolve": (first, 1), "convolve_data": (out, 1), "convolve_weight": (first, 1)}[self.kind][0].shape[1]
            depth = {"convolve": second, "convolve_data": second, "convolve_weight": out}[self.kind].shape[1]
            params["groups"] = inner // depth
            if self.kind == "convolve_data":
                params["size"] = out.shape[2:]
            if self.kind == "convolve_weight":
                params["kernel"] = out.shape[2:]
            xp = backend_for(CPU).xp
            wide = [x.astype(np.float64) for x in (first, second)]
            np.copyto(out, np.asarray(getattr(xp, self.kind)(*wide, **params)).astype(out.dtype))

        handle["stream"].launch_host_func(compute, None)


def _memory(place, tensor):
    dtype = NUMPY[KINDS[tensor.data_type]]
    count = int(np.prod(tensor.dim))
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(place), dtype).reshape(tensor.dim)


def front_end():
    def set_stream(*, handle, stream):
        handle["stream"] = next(s for s in streams if s.ptr == stream)

    streams = [s.cuda for s in backend_for(GPU).streams.on(0)]
    names = {name: name for name in KINDS}
    return SimpleNamespace(
        data_type=SimpleNamespace(**names),
        heur_mode=SimpleNamespace(A="A", FALLBACK="FALLBACK"),
        numerical_note=SimpleNamespace(**{n: n for n in NOTES}),
        pygraph=Graph,
        cudnnGraphNotSupportedError=NotSupportedError,
        create_handle=dict,
        set_stream=set_stream,
    )


@pytest.fixture
def library(backend, monkeypatch):
    backend.stream(GPU)
    module = front_end()
    monkeypatch.setattr(cudnn, "library", lambda: module)
    monkeypatch.setattr(cudnn, "_handles", {})
    monkeypatch.setattr(cudnn, "_plans", {})
    monkeypatch.setattr(Graph, "made", [])
    cudnn.COMPUTED.clear()
    return module


CASES = {
    "plain": (((2, 3, 6, 5), (4, 3, 3, 2), (2, 4, 4, 4)), {"stride": (1, 1), "dilate": (1, 1), "pad": (0, 0), "groups": 1}),
    "groups": (((2, 4, 7, 6), (6, 2, 3, 3), (2, 6, 4, 6)), {"stride": (2, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 2}),
    "line": (((2, 3, 9), (4, 3, 3), (2, 4, 5)), {"stride": (1,), "dilate": (2,), "pad": (0,), "groups": 1}),
    "space": (((1, 2, 4, 4, 3), (3, 2, 2, 2, 2), (1, 3, 3, 3, 2)), {"stride": (1,) * 3, "dilate": (1,) * 3, "pad": (0,) * 3, "groups": 1}),
}


def operands_of(case, kind):
    (data, weight, result), params = CASES[case]
    draw = np.random.default_rng(0)
    d, w, r = (draw.normal(size=s).astype(np.float32) for s in (data, weight, result))
    return {
        "convolve": ((d, w), params),
        "convolve_data": ((r, w), params | {"size": data[2:]}),
        "convolve_weight": ((d, r), params | {"kernel": weight[2:]}),
    }[kind]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", cudnn.NODES)
def test_cudnn_computes_convolutions_and_their_gradients(backend, library, kind, case):
    arrays, params = operands_of(case, kind)
    there = [backend.from_host(a, GPU) for a in arrays]
    for _ in range(2):
        got = backend.quietly(lambda: getattr(backend.xp, kind)(*there, **params))
        want = getattr(backend_for(CPU).xp, kind)(*[a.astype(np.float64) for a in arrays], **params)
        np.testing.assert_allclose(backend.to_host(got), want, 2e-6, 2e-6)
    assert len(Graph.made) == 1, "the plan is kept"
    assert cudnn.COMPUTED == {"cudnn": 2}
    assert {"NONDETERMINISTIC", "TENSOR_CORE"} <= {*Graph.made[0].refused}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("at", ["empty", "graph_for"])
def test_a_convolution_can_be_reentered_on_the_same_thread(backend, library, monkeypatch, at):
    """A finalizer or a signal handler may do so, in the middle of an allocation or of planning."""
    arrays, params = operands_of("plain", "convolve")
    there = [backend.from_host(a, GPU) for a in arrays]
    want, inner = backend_for(CPU).xp.convolve(*arrays, **params), []
    owner, name = (type(backend.xp), "empty") if at == "empty" else (cudnn, "graph_for")
    real = getattr(owner, name)

    def interrupted(*args):
        if not inner:
            inner.append(None)
            with cudnn._lock if at == "graph_for" else nullcontext():
                inner.append(backend.xp.convolve(*there, **params))
        elif at == "empty":
            others.append(taken_by_another())
        return real(*args)

    def taken_by_another():
        thread = threading.Thread(target=lambda: found.append(cudnn._lock.acquire(timeout=5) and (cudnn._lock.release() or True)))
        found = []
        thread.start()
        thread.join()
        return found[0]

    others = []
    monkeypatch.setattr(owner, name, interrupted)
    got = backend.quietly(lambda: backend.xp.convolve(*there, **params))
    for result in (got, inner[1]):
        np.testing.assert_allclose(backend.to_host(result), want, 2e-5, 2e-5)
    assert all(others), "no lock is held while memory is looked for"


def test_plans_are_dropped_at_the_end_of_the_process_that_made_them(backend, library, monkeypatch):
    arrays, params = operands_of("plain", "convolve")
    there = [backend.from_host(a, GPU) for a in arrays]
    result = backend.quietly(lambda: backend.xp.convolve(*there, **params))
    with monkeypatch.context() as patch:
        patch.setattr(cudnn, "_PROCESS", -1)
        cudnn._forget_plans()
    assert [*map(len, cudnn._plans.values())] == [1], "a forked child leaves its parent's plans alone"
    cudnn._forget_plans()
    assert [*map(len, cudnn._plans.values())] == [0]
    np.testing.assert_allclose(backend.to_host(result), backend_for(CPU).xp.convolve(*arrays, **params), 2e-5, 2e-5)


def test_float16_convolutions_may_use_tensor_cores(backend, library):
    arrays, params = operands_of("plain", "convolve")
    there = [backend.xp.astype(backend.from_host(a, GPU), dtype="float16") for a in arrays]
    backend.to_host(backend.quietly(lambda: backend.xp.convolve(*there, **params)))
    assert Graph.made[0].refused == ["NONDETERMINISTIC"]


def test_convolutions_without_a_plan_fall_back_to_columns(backend, library, monkeypatch):
    monkeypatch.setattr(Graph, "refuses", True)
    arrays, params = operands_of("plain", "convolve")
    there = [backend.from_host(a, GPU) for a in arrays]
    want = backend_for(CPU).xp.convolve(*arrays, **params)
    for _ in range(2):
        np.testing.assert_allclose(backend.to_host(backend.quietly(lambda: backend.xp.convolve(*there, **params))), want, 2e-5, 2e-5)
    assert cudnn.COMPUTED == {"columns": 2}
    assert len(Graph.made) == 1, "it is asked once"


def test_cudnn_failures_are_reported(backend, library, monkeypatch):
    monkeypatch.setattr(Graph, "validate", lambda self: (_ for _ in ()).throw(RuntimeError("broken")), raising=False)
    arrays, params = operands_of("plain", "convolve")
    there = [backend.from_host(a, GPU) for a in arrays]
    with pytest.warns(RuntimeWarning, match=r"computed by matrix products over columns: broken"):
        backend.quietly(lambda: backend.xp.convolve(*there, **params))


def test_cudnn_is_not_used_if_disabled_or_missing(backend, library, monkeypatch):
    arrays, params = operands_of("plain", "convolve")
    there = [backend.from_host(a, GPU) for a in arrays]
    monkeypatch.setattr(SETTINGS, "cudnn", False)
    backend.quietly(lambda: backend.xp.convolve(*there, **params))
    monkeypatch.setattr(SETTINGS, "cudnn", True)
    monkeypatch.setattr(cudnn, "library", lambda: None)
    backend.quietly(lambda: backend.xp.convolve(*there, **params))
    assert cudnn.COMPUTED == {"columns": 2}
    assert not Graph.made
