"""Intern tables are bounded: a generation can be dropped at any moment without changing results, and this really empties the caches."""

import gc
import weakref
from time import sleep

import numpy as np
import pytest

from twofold import autograd, cpu, gluon, nd, sym
from twofold.graph import ir, tables
from twofold.graph.build import apply
from twofold.imperative import scalars
from twofold.opdef.registry import OPS
from twofold.program.cache import PROGRAMS

from .conftest import limit_nodes
from .operators import SIZE, growth, in_thread, logistic, pair, ramp, soft
from .random_programs import run


def results_of(x, keep):
    """A recorded computation in several steps; ``keep()`` is called between them."""
    rate = nd.array(ramp().reshape(4, 4) * 0.125)
    with autograd.record():
        h = logistic(soft((x * 0.5 + 1.0).reshape((4, 4))))
        keep()
        a, b = pair(h * 2.0)
        keep()
        y = growth(a * b + h, rate)
    keep()
    y.backward(retain_graph=True)
    first = x.grad.asnumpy()
    keep()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), first)
    return [h.asnumpy(), y.asnumpy(), first]


def test_dropping_a_generation_between_steps_changes_nothing(mode):
    x = nd.array(ramp() * 0.1)
    x.attach_grad()
    wanted = results_of(x, lambda: None)
    for _ in range(2):
        for a, b in zip(results_of(x, tables.drop_generation), wanted, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("limit", [0, 5, 40])
def test_a_small_table_limit_changes_no_result(mode, monkeypatch, limit):
    wanted = [run(seed, record) for seed in range(6) for record in (False, True)]
    limit_nodes(monkeypatch, limit)
    before = tables.TABLES.forgotten
    for want, (seed, record) in zip(wanted, [(s, r) for s in range(6) for r in (False, True)], strict=True):
        for a, b in zip(run(seed, record), want, strict=True):
            np.testing.assert_array_equal(a, b)
    assert tables.TABLES.forgotten > before


def test_recording_scopes_keep_the_tables_bounded(inline, monkeypatch):
    limit_nodes(monkeypatch, 50)
    x = nd.array(ramp())
    x.attach_grad()
    for k in range(1, 40):
        with autograd.record():
            y = x[0:1] * 1.0
            for _ in range(k):
                y = y * y
        assert tables.TABLES.count < 250


def test_a_scope_with_backward_keeps_the_tables_bounded(inline, monkeypatch):
    limit_nodes(monkeypatch, 50)
    x = nd.array(ramp())
    x.attach_grad()
    with autograd.record():
        for k in range(1, 30):
            y = x * 1.0
            for _ in range(k):
                y = y * 0.5
            y.backward()
            assert tables.TABLES.count < 1300  # of 5,000; the last two programs, of 300 nodes each, are spared


def test_windows_keep_the_tables_bounded(deferred, monkeypatch):
    limit_nodes(monkeypatch, 50)
    for n in range(SIZE, SIZE + 60):
        x = nd.array(ramp(0.0, n))
        (x * 2.0 + 1.0).wait_to_read()
        assert tables.TABLES.count < 400


def test_what_is_not_in_use_is_forgotten(mode):
    """Structures in use stay as they are: a held graph is the same node when it is built again, and a network is not compiled again."""
    tables.forget_unused()
    held = apply(OPS["exp"].bind(), (ir.leaf("held", (3,), "float32"),))
    apply(OPS["exp"].bind(), (ir.leaf("not held", (3,), "float32"),))
    x = nd.array(ramp())
    x.attach_grad()

    def step(n):
        with autograd.record():
            loss = soft(x[:n] * 2.0).sum()
        loss.backward()
        return loss.asscalar()

    for n in [*range(1, 7), SIZE, SIZE, SIZE]:
        step(n)
    cache_size, before = len(PROGRAMS), tables.TABLES.count
    tables.forget_unused()  # new programs are spared once
    step(SIZE)
    tables.forget_unused()
    assert tables.TABLES.count < before
    assert not any(n.name == "not held" for n in tables.TABLES.leaves.values())
    assert apply(OPS["exp"].bind(), (ir.leaf("held", (3,), "float32"),)) is held
    assert 0 < len(PROGRAMS) < cache_size
    added = PROGRAMS.added
    step(SIZE)
    assert PROGRAMS.added == added


@pytest.mark.parametrize("several", [False, True], ids=["one shape", "shapes"])
def test_networks_and_shapes_leave_no_memory_behind(several):
    """The tables after 120 networks are as full as after 60: what belonged to a network goes with it."""
    network = gluon.nn.Dense(2)
    network.initialize()

    def use(k):
        net = network if several else gluon.nn.Dense(2)
        if not several:
            net.initialize()
        net.hybridize()
        with autograd.record():
            loss = net(nd.ones((k + 1 if several else 3, 4))).sum()
        loss.backward()

    held = []
    for k in range(120):
        use(k)
        if k in (59, 119):
            gc.collect()  # blocks, and what they hold, have reference cycles
            tables.forget_unused()
            tables.forget_unused()
            held.append((tables.TABLES.count, len(PROGRAMS)))
    assert held[1] <= (held[0][0] + 30, held[0][1] + 2), held


def _stepper(kind):
    """Makes a training step for arrays of a shape: by a bound executor, a hybridized network, or operations one by one."""
    if kind == "bound":
        symbol = sym.SoftmaxOutput(sym.LayerNorm(sym.FullyConnected(sym.var("x"), num_hidden=3, flatten=False)))

        def step(shape):
            executor = symbol.simple_bind(cpu(), x=shape)
            executor.forward(is_train=True)
            executor.backward()

        return step
    network = gluon.nn.HybridSequential()
    network.add(gluon.nn.Dense(3, flatten=False), gluon.nn.LayerNorm())  # whose normalization has several results
    network.initialize()
    if kind == "hybridized":
        network.hybridize()

    def train(shape):
        with autograd.record():
            loss = network(nd.ones(shape)).sum()
        loss.backward()

    return train


KINDS = pytest.mark.parametrize("kind", ["bound", "hybridized", "eager"])


@KINDS
def test_graphs_of_many_shapes_stay_within_the_limit(kind, monkeypatch):
    """From the first second on: the tables are bounded by bytes and by nothing else."""
    limit = 3000
    monkeypatch.setattr(tables.SETTINGS, "graph_memory", limit * tables.NODE_BYTES)
    tables.drop_generation()
    step, counts = _stepper(kind), []
    for k in range(120):
        step((k + 1, 2, 4))
        counts.append(tables.TABLES.count)
    assert tables.TABLES.forgotten
    # new programs are spared once, and a step's own nodes are made before the tables are looked at again
    assert max(counts) < 2.5 * limit
    assert sum(counts) / len(counts) < 1.5 * limit


@KINDS
def test_graphs_and_programs_have_no_reference_cycles(kind):
    """What is forgotten is freed at once, not when Python's collector runs next."""
    step = _stepper(kind)
    step((1, 2, 4))
    tables.drop_generation()
    gc.collect()
    gc.disable()
    try:
        for n in (4, 5, 6):
            step((n, 2, 4))
        made = [weakref.ref(n) for b in tables.TABLES.bound_ops for n in b.typed.values()]
        programs = [weakref.ref(weight) for weight in tables.TABLES.weights]
        tables.drop_generation()
        left = [sum(each() is not None for each in refs) for refs in (made, programs)]
        gc.collect()
        assert left == [sum(each() is not None for each in refs) for refs in (made, programs)]
    finally:
        gc.enable()
    assert left[0] < len(made) / 2 > 25
    assert left[1] < len(programs)


def test_a_result_of_several_is_made_again_where_it_was_forgotten():
    node = apply(pair.op.bind(), (ir.leaf("x", (3,), "float32"),))
    first = node.parts[0]
    gone = weakref.ref(node.parts[1])
    tables.drop_generation()
    assert gone() is None
    assert node.parts[0] is first
    again = node.parts[1]
    assert node.parts[1] is again
    assert again.inputs == (node,)


def test_networks_that_only_infer_leave_nothing_for_the_tables_to_forget():
    def use():
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(2, in_units=3))
        net.initialize()
        net.hybridize()
        net(nd.ones((2, 3))).asnumpy()
        return weakref.ref(net)

    forgotten, networks = tables.TABLES.forgotten, [use() for _ in range(12)]
    gc.collect()
    assert not [network for network in networks if network() is not None]
    assert sum(b.op.name.startswith("graph hybridsequential") for b in tables.TABLES.bound_ops) < 10
    assert tables.TABLES.forgotten == forgotten


def test_a_step_that_needs_more_nodes_than_the_limit_is_compiled_once(inline, monkeypatch):
    monkeypatch.setattr(tables.SETTINGS, "graph_memory", 50 * tables.NODE_BYTES)
    x = nd.array(ramp())
    x.attach_grad()

    def step():
        with autograd.record():
            y = x
            for k in range(60):
                y = y.reshape((1, 16)) if k % 2 else y.reshape((16,)) * y.sum()
        y.backward()
        return PROGRAMS.added

    tables.drop_generation()
    step()
    compiled, generation = step(), tables.TABLES.generation
    assert step() == compiled
    assert tables.TABLES.generation == generation


def test_dropping_empties_every_cache(deferred):
    x = nd.array(ramp())
    x.attach_grad()
    for _ in range(2):
        with autograd.record():
            y = soft((x * 2.0).reshape((4, 4)))
        y.backward()
    small = nd.array([1.0, 2.0])
    small.attach_grad()
    for _ in range(2):
        with autograd.record():
            (small * 2.5 * 2.5).backward()
        nd.array([1.0]) + nd.array([[2.0]])
        ir.const(2.0)
    caches = [PROGRAMS, scalars.FLOAT_LEAVES, tables.TABLES.leaves, tables.TABLES.constants]
    kinds = {type(entry).__name__ for entry in PROGRAMS.values()}
    assert kinds == {"Backward", "WindowProgram", "_Operation"}
    assert all(caches)
    bound_ops = list(tables.TABLES.bound_ops)
    tables.drop_generation()
    assert not any(caches)
    assert not tables.TABLES.bound_ops
    assert not any(bound_op.typed or bound_op.inline for bound_op in bound_ops)
    assert tables.TABLES.count == 0


def test_a_dropped_structure_is_freed():
    ir.leaf("gone", (3,), "float32")
    tables.drop_generation()
    gc.collect()
    assert not [o for o in gc.get_objects() if isinstance(o, ir.Leaf) and o.name == "gone"]


def test_a_structure_keeps_its_identity_until_dropped():
    bound_op, a = OPS["exp"].bind(), ir.leaf("a", (3,), "float32")
    node = apply(bound_op, (a,))
    assert apply(bound_op, (a,)) is node
    tables.drop_generation()
    again = apply(bound_op, (ir.leaf("a", (3,), "float32"),))
    assert again is not node
    assert (again.shape, again.dtype) == (node.shape, node.dtype)


def test_a_tape_outlives_its_generation(mode):
    x = nd.array(ramp(1.0))
    x.attach_grad()
    with autograd.record():
        y = x * x
        tables.drop_generation()
        z = y * x + x * x  # x · x twice, from two generations
    tables.drop_generation()
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 3 * ramp(1.0) ** 2 + 2 * ramp(1.0), rtol=1e-6)


def test_a_bridge_spans_generations(mode):
    x = nd.array(ramp(1.0) * 0.1)
    x.attach_grad()
    with autograd.record():
        y = soft(x.reshape((4, 4)))
    tables.drop_generation()
    with autograd.record():
        z = y * y
    tables.drop_generation()
    z.backward()
    got = x.grad.asnumpy()
    with autograd.record():
        s = soft(x.reshape((4, 4)))
        w = s * s
    w.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), got)


@pytest.mark.parametrize("clear", [tables.drop_generation, tables.forget_unused], ids=["all", "unused"])
def test_other_threads_can_empty_the_tables_while_one_records(mode, clear):
    x = nd.array(ramp() * 0.1)
    x.attach_grad()
    wanted = results_of(x, lambda: None)
    stop = []

    def drop():
        while not stop:
            clear()
            sleep(1e-4)  # else the other thread waits for the lock most of the time

    task = in_thread(drop)
    try:
        for _ in range(10):
            for a, b in zip(results_of(x, lambda: None), wanted, strict=True):
                np.testing.assert_array_equal(a, b)
    finally:
        stop.append(True)
    task.result()


def test_what_one_large_graph_took_is_given_back(monkeypatch):
    """After it the tables shrink to the limit again, although new graphs are made all the time."""
    limit = 2000
    monkeypatch.setattr(tables.SETTINGS, "graph_memory", limit * tables.NODE_BYTES)
    tables.drop_generation()
    step = _stepper("bound")
    for n in range(1, 21):
        with autograd.record():  # one tape: the tables are not looked at inside
            for k in range(1, 11):
                nd.ones((n, k)) * 2.0 + 1.0
        step((n, 2, 4))
    large = [apply(OPS["exp"].bind(), (ir.leaf(k, (3,), "float32"),)) for k in range(10 * limit)]
    tables.forget_unused()
    del large
    counts = []
    for n in range(21, 141):
        step((n, 2, 4))
        counts.append(tables.TABLES.count)
    assert max(counts[-40:]) < 2.5 * limit, counts[-40:]


def test_programs_for_texts_of_many_lengths_stay_while_they_fit(monkeypatch):
    """Each is needed only after all others; the tables may grow to half as much again as what was in use."""
    network = gluon.rnn.LSTM(3, input_size=2)
    network.initialize()
    network.hybridize()

    def epoch():
        for n in range(20, 40):
            with autograd.record():
                loss = network(nd.ones((n, 1, 2))).sum()
            loss.backward()

    tables.drop_generation()
    epoch()
    tables.forget_unused()  # new programs are spared once
    monkeypatch.setattr(tables.SETTINGS, "graph_memory", int(0.8 * tables.TABLES.used * tables.NODE_BYTES))
    tables.drop_generation()
    before = tables.TABLES.forgotten
    epoch()
    epoch()
    added = PROGRAMS.added
    epoch()
    assert tables.TABLES.forgotten > before
    assert PROGRAMS.added == added
