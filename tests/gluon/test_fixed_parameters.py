"""Hybridized blocks that predict: what depends on parameters alone is computed once, until these change."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.backend import workers
from twofold.config import SETTINGS
from twofold.executor import fixed_inputs
from twofold.gluon import nn
from twofold.gluon.cached_graph import LATE
from twofold.graph.control_flow import foreach
from twofold.graph.ir import Node, applications
from twofold.program.cache import program_of

from tests.machine_code import needs_wide_vectors

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def on_the_cpu() -> Iterator[None]:
    """Only there are parameters taken as fixed."""
    with mx.cpu():
        yield


def network(**options: bool) -> nn.HybridSequential:
    """A network whose normalizations depend on parameters alone when it predicts."""
    mx.random.seed(3)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, in_channels=2), nn.BatchNorm(), nn.Activation("relu"), nn.Dense(3))
    net.initialize(mx.init.Normal(0.5))
    net.hybridize(**options)
    return net


def static() -> nn.HybridSequential:
    return network(static_alloc=True, static_shape=True)


def images(*shape: int) -> nd.NDArray:
    return nd.array(np.random.default_rng(1).standard_normal(shape or (2, 2, 6, 6)), dtype="float32")


def fixed(net: nn.HybridSequential) -> object:
    """The graph with fixed parameters; None if there is none at present."""
    assert net._trace is not None
    return net._trace.graph._fixed


def expected(net: nn.HybridSequential, x: nd.NDArray) -> np.ndarray:
    """What the network computes layer by layer."""
    for layer in net:
        layer.hybridize(False)
        x = layer(x)
    found = x.asnumpy()
    for layer in net:
        layer.hybridize()
    return found


def warm(net: nn.HybridSequential) -> nd.NDArray:
    x = images()
    for _ in range(2):
        net(x).asnumpy()
    assert fixed(net) is not None
    return x


def test_results_are_those_of_the_layers_bit_for_bit() -> None:
    net = static()
    x = images()
    found = [net(x).asnumpy() for _ in range(4)]
    assert fixed(net) is not None
    for each in found[1:]:
        np.testing.assert_array_equal(each, found[0])
    np.testing.assert_allclose(found[0], expected(net, x), rtol=2e-6, atol=1e-6)


def test_a_block_that_is_not_static_takes_many_calls() -> None:
    net, x = network(), images()
    for _ in range(LATE - 1):  # the first one calls the graph twice, as the last layer does not know its shape
        net(x)
    assert fixed(net) is None
    first = net(x).asnumpy()
    assert fixed(net) is not None
    np.testing.assert_array_equal(net(x).asnumpy(), first)


def _by_dlpack(net: nn.HybridSequential) -> None:
    np.from_dlpack(net[0].weight.data())[...] *= 2


def _by_trainer(net: nn.HybridSequential) -> None:
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    with autograd.record():
        loss = (net(images()) ** 2).sum()
    loss.backward()
    trainer.step(1)


def _by_operator(net: nn.HybridSequential) -> None:
    weight = net[0].weight.data()
    nd.sgd_update(weight, nd.ones_like(weight), lr=0.1, out=weight)


def _by_store(net: nn.HybridSequential) -> None:
    store = mx.kv.create("local")
    store.init(0, nd.ones((4,)) * 5)
    store.pull(0, out=net[1].gamma.data())


CHANGES: dict[str, Callable[[nn.HybridSequential], object]] = {
    "set_data": lambda net: net[1].gamma.set_data(nd.array([1, 2, 3, 4])),
    "whole": lambda net: net[1].running_var.data().__setitem__(slice(None), 4),
    "part": lambda net: net[1].beta.data().__setitem__(1, 7),
    "view": lambda net: net[0].weight.data()[0][1].__setitem__(slice(None), 3),
    "augmented": lambda net: net[0].weight.data().__imul__(3),
    "operator": _by_operator,
    "dlpack": _by_dlpack,
    "trainer": _by_trainer,
    "store": _by_store,
    "renewed": lambda net: net.initialize(mx.init.Normal(2), force_reinit=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_parameters_is_seen(change: str) -> None:
    net = static()
    x = warm(net)
    before = net(x).asnumpy()
    for _ in range(2):
        CHANGES[change](net)
        after = net(x).asnumpy()
        np.testing.assert_allclose(after, expected(net, x), rtol=1e-5, atol=1e-5)
    assert np.abs(after - before).max() > 1e-3


def _with_profiler(net: nn.HybridSequential, x: nd.NDArray) -> None:
    mx.profiler.set_state("run")
    try:
        net(x).wait_to_read()
    finally:
        mx.profiler.set_state("stop")
        mx.profiler.dumps(reset=True)


def _with_hook(net: nn.HybridSequential, x: nd.NDArray) -> None:
    net.register_op_hook(lambda *of: None)
    net(x).wait_to_read()
    net._op_hook = None


@pytest.mark.parametrize("past", [_with_profiler, _with_hook, lambda net, x: net(x.as_in_context(mx.cpu(1))).wait_to_read()])
def test_parameters_that_are_replaced_before_a_call_of_another_kind_are_seen(
    past: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the profiler writes its file there
    net = static()
    net.initialize(mx.init.Normal(0.5), ctx=[mx.cpu(0), mx.cpu(1)], force_reinit=True)
    x = warm(net)
    net.initialize(mx.init.Normal(2), ctx=[mx.cpu(0), mx.cpu(1)], force_reinit=True)
    past(net, x)
    np.testing.assert_allclose(net(x).asnumpy(), expected(net, x), rtol=1e-5, atol=1e-5)


def test_parameters_on_another_device_do_not_keep_the_old_ones_alive() -> None:
    net = static()
    x = warm(net)
    old = weakref.ref(net[0].weight.data())
    net.initialize(mx.init.Normal(2), ctx=mx.cpu(1), force_reinit=True)
    net(x.as_in_context(mx.cpu(1))).wait_to_read()
    gc.collect()
    assert old() is None


def test_an_error_of_types_names_the_node() -> None:
    net = static()
    net(images())
    with pytest.raises(mx.base.MXNetError, match="it reads"):
        net(images().astype("float64"))


def test_threads_that_write_do_not_wait_for_a_collection_of_garbage() -> None:
    """Frames of threads are looked at while no collection of garbage runs, which would wait for the GIL with a lock of Python's."""
    seen = []
    frames = sys._current_frames

    def looked() -> object:
        seen.append(gc.isenabled())
        return frames()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "_current_frames", looked)
        warm(static())
    assert seen == [False]
    assert gc.isenabled()


def test_memory_that_was_exported_before_is_not_taken_as_fixed() -> None:
    net = static()
    x = images()
    net(x)
    shown = np.from_dlpack(net[0].weight.data())
    for scale in (1, 2, 3):
        shown[...] = scale
        np.testing.assert_allclose(net(x).asnumpy(), expected(net, x), rtol=1e-5, atol=1e-5)
    assert fixed(net) is None


def test_statistics_that_a_training_pass_moves_are_seen() -> None:
    net = static()
    x = warm(net)
    with autograd.record():
        net(x + 3)
    nd.waitall()
    np.testing.assert_allclose(net(x).asnumpy(), expected(net, x), rtol=1e-5, atol=1e-5)
    with autograd.train_mode():
        net(x + 3)
    nd.waitall()
    np.testing.assert_allclose(net(x).asnumpy(), expected(net, x), rtol=1e-5, atol=1e-5)


def test_training_may_write_parameters_in_place_again() -> None:
    net = static()
    x = warm(net)
    assert not net[0].weight.data()._capture().exclusive
    with autograd.record():
        loss = (net(x) ** 2).sum()
    assert fixed(net) is None
    loss.backward()
    del loss
    nd.waitall()
    assert net[0].weight.data()._capture().exclusive


def test_inputs_of_other_types_are_computed_as_before() -> None:
    net = static()
    x = warm(net)
    for other in (images(5, 2, 6, 6), x[:1], images(2, 2, 6, 6).astype("float32"), x.transpose((1, 0, 2, 3)).transpose((1, 0, 2, 3))):
        np.testing.assert_allclose(net(other).asnumpy(), expected(net, other), rtol=1e-5, atol=1e-5)
    assert fixed(net) is not None
    with pytest.raises(mx.base.MXNetError):
        net(images(2, 3, 6, 6)).asnumpy()
    np.testing.assert_allclose(net(x).asnumpy(), expected(net, x), rtol=1e-5, atol=1e-5)


def test_another_type_of_inputs_becomes_the_usual_one() -> None:
    net = static()
    warm(net)
    first, x = fixed(net), images(5, 2, 6, 6)
    for _ in range(100):
        found = net(x).asnumpy()
    assert fixed(net) not in (None, first)
    np.testing.assert_allclose(found, expected(net, x), rtol=1e-5, atol=1e-5)


def test_casts_of_weights_are_kept() -> None:
    class Layer(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.weight = self.params.get("weight", shape=(40, 50))

        def hybrid_forward(self, F: object, x: object, weight: object) -> object:
            return F.dot(x, F.cast(weight, "float64"))  # type: ignore[attr-defined]

    layer = Layer()
    layer.initialize(mx.init.Normal(1))
    layer.hybridize(static_alloc=True, static_shape=True)
    x = nd.ones((3, 40), dtype="float64")
    for _ in range(3):
        found = layer(x).asnumpy()
    held = layer._trace.graph._fixed  # type: ignore[union-attr]
    assert [a.dtype for a in held[1]._arrays] == [np.float64]  # type: ignore[index]
    np.testing.assert_allclose(found, x.asnumpy() @ layer.weight.data().asnumpy().astype("float64"))


def test_layers_that_are_random_only_in_training_are_fixed_and_draw_nothing() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=4), nn.Dropout(0.5), nn.LeakyReLU(0.1), nn.GELU(), nn.Dense(2, in_units=3))
    net.initialize()
    x = nd.ones((2, 4))
    mx.random.seed(1)
    wanted, drawn = net(x).asnumpy(), nd.random.uniform(shape=3).asnumpy()
    net.hybridize(static_alloc=True, static_shape=True)
    mx.random.seed(1)
    for _ in range(4):
        np.testing.assert_array_equal(net(x).asnumpy(), wanted)
    assert fixed(net) is not None
    np.testing.assert_array_equal(nd.random.uniform(shape=3).asnumpy(), drawn)
    with autograd.record():
        assert not np.array_equal(net(x).asnumpy(), net(x).asnumpy())


class Sorted(gluon.HybridBlock):
    """Computes its weight in steps, of which one needs memory of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = self.params.get("weight", shape=(64, 200))

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        return F.dot(x, F.sort(F.sort(weight * 2, axis=0) + 1, axis=1))


def test_what_is_computed_once_leaves_no_scratch_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = []

    def recorded(*args: Any, **options: Any) -> Any:
        programs.append(program_of(*args, **options))
        return programs[-1]

    monkeypatch.setattr(fixed_inputs, "program_of", recorded)
    net = Sorted()
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    for _ in range(3):
        net(nd.ones((2, 64))).wait_to_read()
    assert net._trace is not None
    assert net._trace.graph._fixed is not None
    assert programs[0].plan.buffers
    assert not programs[0].scratch


@needs_wide_vectors
@pytest.mark.parametrize("threads", [1, 2])
def test_images_whose_activations_are_large_are_computed_one_by_one(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SETTINGS, "jit", True)
    monkeypatch.setattr(workers, "count", lambda: threads)
    mx.random.seed(2)
    net = nn.HybridSequential()
    for filters in (16, 32):
        net.add(nn.Conv2D(filters, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.MaxPool2D(3, 2), nn.Conv2D(32, 1), nn.GlobalAvgPool2D(), nn.Dense(5))
    net.initialize(mx.init.Normal(0.3))
    net.hybridize(static_alloc=True, static_shape=True)
    x = images(4, 3, 96, 96)
    first = net(x).asnumpy()
    programs = list[list[Node]]()
    monkeypatch.setattr(fixed_inputs, "program_of", lambda outputs, *a, **k: programs.append(outputs) or program_of(outputs, *a, **k))
    for _ in range(4):
        np.testing.assert_array_equal(net(x).asnumpy(), first)
    loops = [n for n in applications(programs[-1]) if n.bound_op.op is foreach]
    assert [n.operands[0].shape for n in loops] == [(4, 1, 3, 96, 96)]
    np.testing.assert_allclose(net(x[1:3]).asnumpy(), first[1:3], rtol=1e-6)  # a dense layer of two rows


def test_random_layers_and_large_results_are_not_fixed() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=4), nn.HybridLambda(lambda F, x: F.random.uniform_like(x) + x))
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    x = nd.ones((2, 4))
    found = [net(x).asnumpy() for _ in range(4)]
    assert fixed(net) is None
    assert not np.array_equal(found[2], found[3])
    wide = nn.Dense(SETTINGS.defer_elements, in_units=2)
    wide.initialize()
    wide.hybridize(static_alloc=True, static_shape=True)
    for _ in range(4):
        wide(nd.ones((2, 2))).wait_to_read()
    assert wide._trace is not None
    assert wide._trace.graph._fixed is None


def test_threads_see_changes_whole() -> None:
    net = nn.Dense(1, use_bias=False, in_units=1)
    net.initialize(mx.init.One())
    net.hybridize(static_alloc=True, static_shape=True)
    x, stop, seen = nd.ones((1, 1)), threading.Event(), set[float]()

    def predict() -> None:
        while not stop.is_set():
            seen.add(float(net(x).asnumpy()[0, 0]))

    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    for k in range(200):
        net.weight.data()[:] = k
    stop.set()
    for thread in threads:
        thread.join()
    assert seen <= {float(k) for k in range(200)}
    assert float(net(x).asnumpy()[0, 0]) == 199


def test_a_block_that_is_gone_keeps_no_parameters() -> None:
    net = static()
    warm(net)
    held = weakref.ref(net[0].weight.data())
    del net
    gc.collect()
    assert held() is None
