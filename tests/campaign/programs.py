"""Random programs in every mode against one another and NumPy, and loops that must not grow."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.config import SETTINGS
from twofold.graph.tables import NODE_BYTES, TABLES, forget_unused
from twofold_numpy import adapter, blocked

from tests.campaign.trials import Ended, Trial, described
from tests.core.random_programs import reference, run

#: By name: the engine, from how many elements operations wait, and the elements of a block.
MODES = {
    "naive": ("naive", 1 << 40, 65_536),
    "inline": ("window", 1 << 40, 65_536),
    "waiting": ("window", 8, 65_536),
    "blocks of 7": ("window", 8, 7),
    "again": ("window", 8, 65_536),
}
#: Steps of a loop between two counts, and how many blocks and bytes of memory a step may leave behind.
STEPS, SLOPE, BYTES = 150, 0.8, 50
#: How often they are counted: what a process keeps once, such as interned texts, comes to an end, and a leak does not.
ROUNDS = 5
#: Blocks of memory that a node of a graph may take, with its share of a program: those of networks that train take 7.
BLOCKS_OF_A_NODE = 20


def in_modes(_: Path) -> Trial:
    """Trials of programs on arrays: the same bits in all modes, recorded and not, and NumPy's results."""
    SETTINGS.verify = True

    def trial(seed: int) -> Ended:
        for record in (False, True):
            results = {}
            for name, (SETTINGS.engine, SETTINGS.defer_elements, blocked.BLOCK) in MODES.items():
                results[name] = run(seed, record)
            for name, found in results.items():
                if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(results["naive"], found, strict=True)):
                    return Ended("other bits", f"{name}, record={record}")
            if not record:
                for got, want in zip(results["naive"], reference(seed), strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        return Ended("right")

    return trial


def three_ways(_: Path) -> Trial:
    """Trials of NumPy programs on folding arrays and in `twofold.np`."""
    from twofold.numpy_folding import sites

    from tests.three_ways.programs import Folding, Twofold, program

    counts = Counter[str]()
    sites.ALONE = sites.RETIRED = 1 << 60
    sites.has_machine_code = lambda: True

    def trial(seed: int) -> Ended:
        sites.HOT = 0 if seed % 2 else 1 << 60
        for way in (Folding(), Twofold()):
            try:
                program(seed, way, counts)
            except AssertionError as error:
                return Ended("wrong", f"{way.name}: {error!s:.300}")
        return Ended("right")

    return trial


def folding(_: Path) -> Trial:
    """Trials of NumPy programs with views, exports and writes on folding arrays, bit by bit."""
    from tests.numpy_folding.random_programs import run as run_programs

    def trial(seed: int) -> Ended:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                run_programs(1, seed)
        except AssertionError as error:
            return Ended("wrong", described(error))
        return Ended("right")

    return trial


# loops

Loop = Callable[[Path], Callable[[], object]]
LOOPS: dict[str, Loop] = {}


def loop(make: Loop) -> Loop:
    """A loop, by a function that makes its step."""
    LOOPS[make.__name__] = make
    return make


def _net(**options: Any) -> gluon.nn.HybridSequential:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, in_units=3), gluon.nn.Dense(1, in_units=4))
    net.initialize()
    if options.get("hybridize", True):
        net.hybridize()
    return net


def _training(net: Any, trainer: gluon.Trainer, x: nd.NDArray) -> Callable[[], object]:
    def step() -> None:
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(2)

    return step


def _trained(optimizer: str, hybridize: bool) -> Loop:
    def make(_: Path) -> Callable[[], object]:
        net = _net(hybridize=hybridize)
        return _training(net, gluon.Trainer(net.collect_params(), optimizer, kvstore=None), nd.ones((2, 3)))

    return make


@loop
def small_operations(_: Path) -> Callable[[], object]:
    x = nd.ones((4,))
    return lambda: (x * 2 + 1).asnumpy()


@loop
def large_operations(_: Path) -> Callable[[], object]:
    x = nd.ones((70_000,))
    return lambda: (x * 2 + 1).asnumpy()


@loop
def never_read(_: Path) -> Callable[[], object]:
    x = nd.ones((70_000,))
    return lambda: x * 2 + 1


@loop
def views_and_writes(_: Path) -> Callable[[], object]:
    x = nd.ones((8, 9))

    def step() -> None:
        x[1:3] = x[4:6] * 0.5
        x.reshape((9, 8))[0] += 1
        x.asnumpy()

    return step


@loop
def recording(_: Path) -> Callable[[], object]:
    x = nd.ones((4,))
    x.attach_grad()

    def step() -> None:
        with autograd.record():
            y = nd.tanh(x * 2).sum()
        y.backward()

    return step


@loop
def recording_without_backward(_: Path) -> Callable[[], object]:
    x = nd.ones((4,))
    x.attach_grad()

    def step() -> None:
        with autograd.record():
            nd.tanh(x * 2).sum()

    return step


LOOPS["training with Adam"] = _trained("adam", False)
LOOPS["training with SGD, hybridized"] = _trained("sgd", True)


@loop
def networks_made_and_dropped(_: Path) -> Callable[[], object]:
    return lambda: _net()(nd.ones((2, 3))).asnumpy()


@loop
def inference(_: Path) -> Callable[[], object]:
    net, shapes = _net(), iter(lambda: 1, 0)
    del shapes
    return lambda: net(nd.ones((2, 3))).asnumpy()


@loop
def binding(_: Path) -> Callable[[], object]:
    symbol = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="layer")
    return lambda: symbol.simple_bind(mx.cpu(), x=(2, 3)).forward()[0].asnumpy()


@loop
def modules(_: Path) -> Callable[[], object]:
    output = mx.sym.LinearRegressionOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1), mx.sym.var("label"))
    module = mx.mod.Module(output, label_names=["label"])
    batches = mx.io.NDArrayIter(np.ones((4, 3), "f"), np.ones((4, 1), "f"), 2, label_name="label")
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params()
    module.init_optimizer()

    def step() -> None:
        batches.reset()
        for batch in batches:
            module.forward_backward(batch)
            module.update()

    return step


@loop
def saving_and_loading(folder: Path) -> Callable[[], object]:
    def step() -> None:
        mx.nd.save(str(folder / "a.params"), {"w": nd.ones((3,))})
        mx.nd.load(str(folder / "a.params"))

    return step


@loop
def symbols_from_text(_: Path) -> Callable[[], object]:
    text = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="layer").tojson()
    return lambda: mx.sym.load_json(text).tojson()


@loop
def loaders(_: Path) -> Callable[[], object]:
    data = gluon.data.ArrayDataset(np.ones((6, 3), "f"), np.arange(6))
    return lambda: [batch[0].asnumpy() for batch in gluon.data.DataLoader(data, 2, shuffle=True)]


@loop
def stores(_: Path) -> Callable[[], object]:
    store, out = mx.kv.create("local"), nd.zeros((3,))
    store.init(1, out)

    def step() -> None:
        store.push(1, nd.ones((3,)))
        store.pull(1, out=out)
        out.asnumpy()

    return step


@loop
def metrics(_: Path) -> Callable[[], object]:
    metric, labels, found = mx.metric.Accuracy(), nd.array([0, 1]), nd.array([[1, 0], [0, 1]])

    def step() -> None:
        metric.update([labels], [found])
        metric.get()
        metric.reset()

    return step


@loop
def numpy_functions(_: Path) -> Callable[[], object]:
    x = mx.np.ones((8, 9))
    return lambda: float(mx.np.sum(mx.np.tanh(x[1:, ::2]) @ mx.np.ones((5, 2))))


@loop
def folding_numpy(_: Path) -> Callable[[], object]:
    from twofold.numpy_folding.face import numpy as face

    x = face.ones((30, 40))

    def step() -> None:
        y = face.sqrt(x * 2 + 1)
        y[3:5] = x[5:7]
        float(y.sum())

    return step


@loop
def errors(_: Path) -> Callable[[], object]:
    x = nd.ones((4,))

    def step() -> None:
        with contextlib.suppress(mx.errors.ShapeError):
            (x + nd.ones((3,))).asnumpy()

    return step


@loop
def sparse_rows(_: Path) -> Callable[[], object]:
    weight = nd.ones((6, 2))
    return lambda: mx.nd.sparse.retain(weight.tostype("row_sparse"), nd.array([1, 3])).asnumpy()


class _Memory(ctypes.Structure):
    """glibc's ``struct mallinfo2``: ten counts, of which those of mapped and of other bytes in use are read."""

    _fields_ = [(name, ctypes.c_size_t * count) for name, count in (("_", 4), ("mapped", 1), ("__", 2), ("used", 1), ("___", 2))]


def _allocated() -> int:
    """Bytes that the C library has given out."""
    read = ctypes.CDLL(None).mallinfo2
    read.restype = _Memory
    found = read()
    return found.mapped[0] + found.used[0]


class Held(NamedTuple):
    """What the process holds: blocks of Python's allocator, bytes of the C library's, and nodes that the tables of graphs count."""

    blocks: int
    bytes: int
    nodes: int

    @classmethod
    def now(cls) -> Held:
        """What it holds when all work is done and cycles are collected."""
        mx.nd.waitall()
        gc.collect()
        return cls(sys.getallocatedblocks(), _allocated(), TABLES.count)

    def exceeds(self, before: Held, steps: int) -> bool:
        """Whether steps have left more behind than slopes and the tables' own counts allow."""
        nodes = max(0, self.nodes - before.nodes)
        blocks, more = SLOPE * steps + BLOCKS_OF_A_NODE * nodes, BYTES * steps + 3 * NODE_BYTES * nodes
        return self.blocks - before.blocks > blocks or self.bytes - before.bytes > more


def leaks(folder: Path) -> Trial:
    """Trials of loops: `STEPS` steps up to `ROUNDS` times, until they leave no more behind than `Held.exceeds` allows.

    What has a bound is no leak: the cache of scalars is small here, and what the tables of graphs count they forget between the rounds.
    """
    steps: dict[str, Callable[[], object]] = {}
    adapter.MOST_SCALARS = 16

    def trial(seed: int) -> Ended:
        name = [*LOOPS][seed % len(LOOPS)]
        if name not in steps:
            steps[name] = LOOPS[name](folder)
            for _ in range(STEPS):
                steps[name]()
        rounds: list[tuple[Held, Held]] = []
        while len(rounds) < ROUNDS and all(after.exceeds(before, STEPS) for before, after in rounds):
            forget_unused()
            for _ in range(10):  # what they use is made anew
                steps[name]()
            before = Held.now()
            for _ in range(STEPS):
                steps[name]()
            rounds.append((before, Held.now()))
        if not all(after.exceeds(before, STEPS) for before, after in rounds):
            return Ended("level")
        grown = [tuple(b - a for a, b in zip(before, after, strict=True)) for before, after in rounds]
        return Ended("grows", f"{name}: {grown} blocks, bytes and nodes in {STEPS} steps each")

    return trial
