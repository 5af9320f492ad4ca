"""Sums over workers, with a group that stands for the network: buckets, their order, and what passes meanwhile."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ProcessGone
from twofold.imperative.counters import COUNTERS
from twofold.kvstore.buckets import FIRST, MOST, buckets
from twofold.kvstore.cluster import Cluster
from twofold.kvstore.collectives import Collectives
from twofold.kvstore.distributed import DistributedStore
from twofold.kvstore.watch import Watch
from twofold.optimizer.updater import Updater
from twofold.program.compile import Program

from tests import probe
from tests.probe import captured


class Alone:
    """A group of two workers, of which the other one always has the same arrays; a large sum takes some seconds."""

    rank, size, members, is_broken = 0, 2, [0, 1], False

    def __init__(self, seconds: float = 0) -> None:
        self.seconds = seconds
        self.sizes: list[int] = []

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        if array.nbytes > 1000:
            time.sleep(self.seconds)
            self.sizes.append(array.nbytes)
        array[...] = 2 * (array if source is None else source)

    def broadcast(self, array: np.ndarray, root: int = 0) -> None: ...

    def barrier(self) -> None: ...

    def gather(self, array: np.ndarray) -> np.ndarray:
        return np.stack([array, array])

    def shrink(self) -> list[int]:
        return []

    def agree(self, is_well: bool) -> bool:
        return is_well


class Silence:
    """A channel without notices."""

    rank, size = 0, 2

    def __init__(self) -> None:
        self.dead: set[int] = set()

    def send(self, dest: int, *words: int) -> None: ...

    def poll(self) -> None:
        return None


@pytest.fixture
def made():
    watches = []

    def store(group: Alone, **options: bool) -> Any:
        watches.append(Watch(Silence(), 60, print))
        return DistributedStore("dist_sync", Cluster(0, 2, 0, Collectives(group, watches[-1], **options)))

    yield store
    for watch in watches:
        watch.stop()


def test_buckets_are_filled_from_the_last_array():
    sizes = [5 * MOST, 300, MOST // 2, MOST // 2, MOST // 2, FIRST // 2, FIRST // 2]
    assert buckets(sizes, ["float32"] * 7) == [[6, 5], [4], [3], [2, 1], [0]]
    assert buckets([5 * MOST, *[FIRST - 1] * 7], ["float32"] * 8) == [[7], [6, 5, 4, 3], [2, 1], [0]]
    assert buckets([8, 8, 8], ["float32", "float64", "float64"]) == [[2, 1], [0]]
    assert buckets([], []) == []


def test_what_backward_makes_last_has_a_small_bucket_of_its_own():
    assert buckets([FIRST // 2, 300, MOST // 2, 300], ["float32"] * 4) == [[3], [2], [1, 0]]
    assert buckets([300, MOST // 2, 300], ["float32"] * 3) == [[2], [1, 0]]  # too little for a message
    assert buckets([FIRST // 2, FIRST // 4], ["float32"] * 2) == [[1, 0]]


def test_a_list_of_keys_travels_in_buckets_of_4_mb(made):
    store = made(group := Alone())
    shapes = [(1500, 1000), (10,), (500, 1000), (100, 1000), (1000,)]
    store.init(list(range(5)), [mx.nd.zeros(s) for s in shapes])
    store.push(list(range(5)), [mx.nd.ones(s) * k for k, s in enumerate(shapes)])
    outs = [mx.nd.zeros(s) for s in shapes]
    store.pull(list(range(5)), out=outs)
    assert [float(out.asnumpy().max()) for out in outs] == [0, 2, 4, 6, 8]
    # 0.4 MB of the last two and 2 MB, which start a new bucket, then 6 MB in two messages
    assert [round(size / 1e5) for size in group.sizes] == [4, 20, 42, 18]


class Meeting(Alone):
    """Tells when each sum of gradients begins."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[int] = []
        self.changed = threading.Condition()

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        if array.nbytes > 10_000:
            with self.changed:
                self.begun.append(array.nbytes)
                self.changed.notify_all()
        super().allreduce(array, source)

    def await_sum(self, number: int) -> bool:
        """Wait until so many sums have begun."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.begun) >= number, 20)


def train(how: str, store: Any, steps: int = 4, **options: Any) -> list[np.ndarray]:
    """The weights after some steps of a perceptron whose gradients fill three buckets."""
    draw = np.random.RandomState(1)
    images, labels = mx.nd.array(draw.rand(128, 600)), mx.nd.array(draw.randint(0, 10, 128))
    mx.random.seed(5)
    momentum = {"learning_rate": 0.1, "momentum": 0.5}
    if how == "Module":
        x = mx.sym.var("data")
        for k, units in enumerate((500, 600)):
            x = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=units, name=f"fc{k}"), act_type="relu")
        x = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=10, name="scores"), name="softmax")
        module = mx.mod.Module(x)
        module.bind([("data", images.shape)], [("softmax_label", labels.shape)])
        module.init_params(mx.init.Uniform(0.05))
        module.init_optimizer(store, "sgd", momentum)
        for _ in range(steps):
            module.forward_backward(mx.io.DataBatch([images], [labels]))
            module.update()
        return [a.asnumpy() for a in module.get_params()[0].values()]
    net = mx.gluon.nn.HybridSequential()
    net.add(*[mx.gluon.nn.Dense(units, "relu") for units in (500, 600)], mx.gluon.nn.Dense(10))
    net.initialize(mx.init.Uniform(0.05))
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", momentum, kvstore=store, **options)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(steps):
        with mx.autograd.record():
            losses = loss(net(images), labels)
        losses.backward()
        trainer.step(128 * (1 if store is None else 2))
    return [p.data().asnumpy() for p in net.collect_params().values()]


@pytest.fixture
def programs(monkeypatch):
    """The stages and ends of programs, in order; after each stage the program waits until the sum of that bucket has begun."""
    found: list[object] = []
    original = Program.run_in_stages

    def run_in_stages(self: Program, arrays: Any, groups: Any, tell: Any) -> list[Any]:
        started = len(groups_of.begun)

        def told(k: int, results: Any) -> None:
            tell(k, results)
            found.append((k, groups_of.await_sum(started + k + 1)))

        results = original(self, arrays, groups, told)
        found.append("end")
        return results

    groups_of = Meeting()
    monkeypatch.setattr(Program, "run_in_stages", run_in_stages)
    return groups_of, found


@pytest.mark.parametrize("how", ["Trainer", "Module"])
def test_a_bucket_is_summed_before_backward_has_ended(made, programs, how):
    group, found = programs
    store = made(group)
    weights = train(how, store)
    step = [(0, True), (1, True), (2, True), "end"]  # all of backward in one program, which waits for each sum to begin
    assert found[-len(step) :] == step
    assert [size > FIRST for size in group.begun[-3:]] == [False, True, True]
    if how == "Trainer":  # a module divides by the batch of one worker
        for ours, alone in zip(weights, train(how, None), strict=True):
            np.testing.assert_array_equal(ours, alone)


class Patient(Alone):
    """The sum of a large array after the first waits until a weight of the first bucket has been updated."""

    def __init__(self) -> None:
        super().__init__()
        self.weight: Any = None
        self.before: Any = None
        self.waits: list[bool] = []
        self.count = 0

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        self.count += array.nbytes > 10_000
        if array.nbytes > 10_000 and self.count == 2 and self.weight is not None:
            deadline = time.monotonic() + 20
            while not (is_new := probe.content(self.weight) is not self.before) and time.monotonic() < deadline:
                time.sleep(0.001)
            self.waits.append(is_new)
        super().allreduce(array, source)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_an_update_on_devices_waits_for_its_bucket_alone(made, optimizer):
    group = Patient()
    store = made(group)
    images, labels = mx.nd.ones((64, 600)), mx.nd.zeros(64)
    nets, trainers = [], []
    for kvstore in (store, None):
        mx.random.seed(5)
        net = mx.gluon.nn.HybridSequential()
        for inside, units in ((600, 500), (500, 600), (600, 10)):
            net.add(mx.gluon.nn.Dense(units, in_units=inside))
        net.initialize(mx.init.Uniform(0.05))
        net.hybridize()
        nets.append(net)
        options = {"update_on_kvstore": False} if kvstore is not None else {}
        trainers.append(mx.gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.5}, kvstore=kvstore, **options))
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for k in range(3):
        for net, trainer, workers in zip(nets, trainers, (2, 1), strict=True):
            with mx.autograd.record():
                losses = loss(net(images), labels)
            losses.backward()
            group.count = 0
            if k:  # the first step replaces it by worker 0's
                group.weight = nets[0][2].weight.data()
                group.before = probe.content(group.weight)
            trainer.step(64 * workers)
    assert group.waits == [True] * 2
    for ours, alone in zip(*[net.collect_params().values() for net in nets], strict=True):
        np.testing.assert_array_equal(ours.data().asnumpy(), alone.data().asnumpy())


def test_updates_of_buckets_are_planned_once(made, monkeypatch):
    store, planned = made(Alone()), []
    monkeypatch.setattr(Updater, "_call", lambda self, *given, plan=Updater._call: planned.append(given) or plan(self, *given))
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.5))
    grads, weights = (tuple(mx.nd.ones((1 << 19,)) for _ in range(2)) for _ in range(2))
    store.init([0, 1], grads)
    for _ in range(4):
        store.pushpull_list([0, 1], grads, grads)
        store.update_with(updater, (0, 1), grads, weights)
        mx.nd.waitall()
    assert 1 <= len(planned) <= 3, "one of both weights, or one of each"
    before = len(planned)
    store.update_with(updater, (0, 1), grads, tuple(reversed(weights)))
    assert len(planned) > before, "other weights are other work"


def test_updates_whose_order_matters_keep_it(made):
    store = made(Alone())
    updater = mx.optimizer.get_updater(mx.optimizer.create("nadam"))
    assert not updater.takes_any_order
    assert mx.optimizer.get_updater(mx.optimizer.create("sgd")).takes_any_order
    grads = [mx.nd.ones((1 << 19,)) for _ in range(2)]
    store.init([0, 1], grads)
    store.pushpull_list([0, 1], grads, grads)
    called = []

    class Spy(type(updater)):
        def __call__(self, index, grad, weight):
            called.append(index)

    store.update_with(Spy(updater.optimizer), [0, 1], grads, grads)
    assert called == [[0, 1]]


class Threads(Alone):
    """Notes which thread asks for each large sum, and where the summed array is."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[str] = []
        self.places: list[int] = []

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        if array.nbytes > 1000:
            self.threads.append(threading.current_thread().name)
            assert source is not None
            self.places.append(source.ctypes.data)
        super().allreduce(array, source)


@pytest.mark.parametrize("how", ["Trainer", "Module"])
def test_without_a_core_for_sums_the_program_itself_sums_a_list_and_updates_all_weights_at_once(made, monkeypatch, how):
    expected = train(how, made(Alone()))
    updated: list[int] = []
    original = Updater.__call__
    monkeypatch.setattr(Updater, "__call__", lambda self, index, *rest: updated.append(len(index)) or original(self, index, *rest))
    group = Threads()
    weights = train(how, made(group, has_core=False))
    assert updated == [6] * 4
    assert set(group.threads) == {threading.current_thread().name}
    for ours, with_core in zip(weights, expected, strict=True):
        np.testing.assert_array_equal(ours, with_core)


def test_pulled_weights_whose_update_is_deferred_stay_so(made):
    before = COUNTERS.windows
    train("Trainer", made(Alone(), has_core=False), steps=2)
    few = COUNTERS.windows - before
    train("Trainer", made(Alone(), has_core=False), steps=12)
    assert COUNTERS.windows - before - 2 * few <= 10, "one window for each further step: its update joins the next forward"


def test_a_pulled_variable_keeps_its_value_and_its_gradient(made):
    store = made(Alone(), has_core=False)
    weight, grad = mx.nd.ones((700, 700)), mx.nd.ones((700, 700))
    weight.attach_grad()
    store.init([0, 1], [weight, weight])
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.25))
    store.push([0, 1], [grad, grad])
    store.pull(0, out=weight)
    with mx.autograd.record():
        loss = (weight * weight).sum()
    store.push([0, 1], [grad, grad])  # the stored array changes, what was pulled does not
    loss.backward()
    assert float(loss.asscalar()) == 700 * 700 * 0.25
    assert (weight.grad.asnumpy() == 1).all()
    assert (weight.asnumpy() == 0.5).all()
    store.pull(0, out=weight)
    assert (weight.asnumpy() == 0).all()


def test_only_small_arrays_of_a_bucket_are_put_together(made):
    store = made(group := Threads(), has_core=False)
    arrays = [mx.nd.ones(shape) for shape in ((300,), (200,), (FIRST // 4,), (500,))]
    keys = list(range(4))
    store.init(keys, arrays)
    group.places.clear()
    store.push(keys, arrays)
    own = [captured(a).data.ctypes.data for a in arrays]
    assert [own.index(place) if place in own else None for place in group.places] == [3, None, 2]
    outs = [mx.nd.zeros(a.shape) for a in arrays]
    store.pull(keys, out=outs)
    assert all((out.asnumpy() == 2).all() for out in outs)


@pytest.mark.ci
def test_sums_pass_while_a_device_computes(made):
    store, layers, seconds = made(Alone(0.02)), 12, 0.02
    keys = list(range(layers))
    grads = [mx.nd.ones((1 << 20,)) for _ in keys]
    outs = [mx.nd.zeros((1 << 20,)) for _ in keys]
    store.init(keys, outs)

    def step(computes: bool, sums: bool) -> float:
        start = time.perf_counter()
        for k in reversed(keys):
            if computes:
                time.sleep(seconds)
            if sums:
                store.push(k, grads[k])
        for k in keys if sums else ():
            store.pull(k, out=outs[k])
            outs[k].wait_to_read()
        return time.perf_counter() - start

    step(True, True)
    found = [1 - (step(True, True) - step(True, False)) / step(False, True) for _ in range(5)]
    assert max(found) > 0.6, found  # 11/12 if all but the last are hidden
    assert all((out.asnumpy() == 2).all() for out in outs)


class Finished(Alone):
    """A group of three, of which worker 1 has finished and adds nothing; one of the other two dies in a sum of gradients."""

    def __init__(self, dies: int) -> None:
        super().__init__()
        self.size, self.members, self.dies, self.others = 3, [0, 1, 2], dies, [2]

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        if self.dies in self.members and array.dtype == np.float32:
            raise ProcessGone("worker died")
        array[...] = (1 + len(self.others)) * (array if source is None else source)

    def gather(self, array: np.ndarray) -> np.ndarray:
        return np.stack([array] * self.size)

    def shrink(self) -> list[int]:
        gone = [self.dies] if self.dies in self.members else []
        self.members = [k for k in self.members if k not in gone]
        self.others = [k for k in self.others if k not in gone]
        self.size = len(self.members)
        return gone


@pytest.mark.parametrize("dies", [1, 2])
def test_a_mean_stays_one_if_a_worker_dies_during_the_sum_that_had_finished_or_had_not(dies):
    watch = Watch(Silence(), 60, print)
    try:
        group = Finished(dies)
        calls = Collectives(group, watch, is_tolerant=True)
        gradient = mx.nd.ones(5)
        share = calls.agree("facts", [1])
        assert share == (2, 3)
        for _ in range(2):
            ((_, (total,)),) = calls.sums("push", [gradient], share)
            assert total.asnumpy().tolist() == [3] * 5  # as if all three workers had added ones
            share = calls.agree("facts", [1])
    finally:
        watch.stop()
