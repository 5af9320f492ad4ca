"""Programs: planned memory, scratch checked out per run, results that nobody else holds, verified graphs."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from twofold.backend.kernel import Call
from twofold.backend.loader import backend_for
from twofold.device import CPU
from twofold.errors import EngineError, InternalError
from twofold.graph.build import G
from twofold.graph.ir import Application, leaf
from twofold.graph.verify import verify
from twofold.program import passes, printer
from twofold.program.compile import Program
from twofold.program.passes import PASSES
from twofold_numpy import NumpyBackend, blocked

from .comparison import without_pass
from .operators import in_thread

HOST = backend_for(CPU)
N = 40


def inputs(*shapes, dtype="float32"):
    return [leaf(k, shape, dtype) for k, shape in enumerate(shapes)]


def values(node, first=0.0):
    size = int(np.prod(node.shape))
    return ((np.arange(size) * 0.37 + first) % 5 + 0.5).reshape(node.shape).astype(node.dtype)


def check(outputs, leaves, want, *, donated=(), big=1 << 40, runs=3):
    """Run a program several times and check that its results are right, unshared and unchanged by later runs."""
    program = Program(outputs, leaves, HOST, donated=donated, big=big)
    kept = []
    for k in range(runs):
        arrays = [values(x, float(k)) for x in leaves]
        before = [a.copy() for a in arrays]
        kept.append((program.run(arrays), want(*before)))
        for x, a, b in zip(leaves, arrays, before, strict=True):
            if x not in donated:
                np.testing.assert_array_equal(a, b)
                assert not any(np.shares_memory(a, r) for r in kept[-1][0])
    everything = [r for results, _ in kept for r in results]
    for k, a in enumerate(everything):
        assert not any(np.shares_memory(a, b) for b in everything[:k])
        assert a.flags.c_contiguous
        assert a.flags.writeable
    for results, expected in kept:
        for r, e in zip(results, expected, strict=True):
            np.testing.assert_allclose(r, e, rtol=1e-6)
    return program


BIGS = pytest.mark.parametrize("big", [1, 1 << 40])


@pytest.fixture(params=[7, 65_536])
def block(request, monkeypatch):
    """Kernels of several blocks, and of one."""
    monkeypatch.setattr(blocked, "BLOCK", request.param)


# in place and donation


@BIGS
def test_an_operand_that_is_read_later_is_not_overwritten(block, big):
    (x,) = inputs((N,))
    t = G.exp(x * 0.25)
    a = t + 1
    s = G.sum(a)
    check([G.multiply(t, s), G.negative(a)], [x], lambda x: [np.exp(x / 4) * (np.exp(x / 4) + 1).sum(), -(np.exp(x / 4) + 1)], big=big)


@BIGS
def test_a_donated_operand_that_is_read_later_is_not_overwritten(block, big):
    x, y = inputs((N,), (N,))
    a = x + y
    b = a * x
    program = check([a, b], [x, y], lambda x, y: [x + y, (x + y) * x], donated=[x], big=big)
    assert program.plan.donated == {x: b}


@BIGS
def test_an_operand_that_was_not_donated_is_not_overwritten(block, big):
    x, y = inputs((N,), (N,))
    program = check([x + y], [x, y], lambda x, y: [x + y], donated=[y], big=big)
    assert list(program.plan.donated) == [y]


@BIGS
def test_a_result_of_another_type_does_not_reuse_memory(block, big):
    x, y = inputs((N,), (4, 1))
    check([G.astype(x, dtype="float64"), y * 1.5 + x], [x, y], lambda x, y: [x.astype("f8"), y * 1.5 + x], donated=[x, y], big=big)


@BIGS
def test_where_does_not_overwrite_its_operands(block, big):
    x, y, c = inputs((N,), (N,), (N,))
    for a, b in ((x, y), (y, x)):
        t, u = a * 2, b + 1
        check(
            [G.where(c, t, u) * 3],
            [x, y, c],
            lambda x, y, c, a=a: [np.where(c, *(((x * 2), (y + 1)) if a is x else ((y * 2), (x + 1)))) * 3],
            donated=[x, y, c],
            big=big,
        )
    over = G.where(G.greater(x, 2), x, y)
    check([over], [x, y, c], lambda x, y, c: [np.where(x > 2, x, y)], donated=[x, y, c], big=big)
    condition = G.where(c - 1.5, x, y)
    check([condition], [x, y, c], lambda x, y, c: [np.where(c - 1.5, x, y)], donated=[x, y, c], big=big)


@BIGS
@pytest.mark.parametrize("key", [((None, None, -1),), ((0, 1, None),)])
def test_an_operand_still_read_through_a_view_is_not_overwritten(block, big, key):
    (x,) = inputs((N,))
    t = G.exp(x)
    n = t + G.slice(t, key=key)
    index = tuple(slice(*k) for k in key)
    check([n, n * 3], [x], lambda x: [np.exp(x) + np.exp(x)[index], 3 * (np.exp(x) + np.exp(x)[index])], big=big)
    n = x + G.slice(x, key=key)
    check([n, n * 3], [x], lambda x: [x + x[index], 3 * (x + x[index])], donated=[x], big=big)


@BIGS
def test_an_operand_read_transposed_is_not_overwritten(block, big):
    (x,) = inputs((6, 6))
    t = G.exp(x)
    n = G.permute_dims(t, axes=(1, 0)) * 2
    check([n + 1], [x], lambda x: [np.exp(x).T * 2 + 1], big=big)
    check([G.negative(G.permute_dims(x, axes=(1, 0)))], [x], lambda x: [-x.T], donated=[x], big=big)


def test_a_result_whose_memory_was_used_before_is_counted_once():
    (x,) = inputs((N,))
    s = G.sum(x * 2 + 1)
    t = G.exp(x * 3) * s
    program = check([G.sum(t), t + 1], [x], lambda x: [(np.exp(x * 3) * (2 * x + 1).sum()).sum(), np.exp(x * 3) * (2 * x + 1).sum() + 1])
    made = {id(b): b.nbytes for b in (a if a.base is None else a.base for a in program.run.args[0].__globals__["pool"][0])}
    assert sum(made.values()) == sum(n for n, _ in program.plan.buffers)


# results


@BIGS
def test_results_that_are_views_leaves_or_duplicates_are_copies(big):
    x, y = inputs((4, 6), (4, 6))
    t = G.exp(x)
    outputs = [t, t, G.reshape(t, shape=(24,)), G.permute_dims(t, axes=(1, 0)), x, G.reshape(y, shape=(24,)), G.stop_gradient(x)]
    check(outputs, [x, y], lambda x, y: [np.exp(x), np.exp(x), np.exp(x).ravel(), np.exp(x).T, x, y.ravel(), x], big=big)


def test_a_view_of_scratch_is_a_copy():
    (x,) = inputs((4, 6))
    t = x * 2 + 1
    check([G.permute_dims(t, axes=(1, 0)), G.sum(t, axis=0)], [x], lambda x: [(2 * x + 1).T, (2 * x + 1).sum(0)])


def test_constant_results_are_copies():
    (x,) = inputs((4,))
    ones = G.full(shape=(4,), value=1, dtype="float32")
    check(
        [ones, x * 2, G.iota(size=3, dtype="int64"), G.iota(size=3, dtype="int64")],
        [x],
        lambda x: [np.ones(4), x * 2, [0, 1, 2], [0, 1, 2]],
    )


def test_a_reshape_that_must_copy_runs_every_time():
    (x,) = inputs((4, 6))
    t = G.exp(x)
    flat = G.reshape(G.permute_dims(t, axes=(1, 0)), shape=(24,))
    check([flat * 2, G.sum(t)], [x], lambda x: [np.exp(x).T.ravel() * 2, np.exp(x).sum()])


def test_a_reshape_of_scratch_is_built_once_and_stays_right():
    (x,) = inputs((4, 6))
    t = x * 2 + 1
    check(
        [G.sum(G.reshape(t, shape=(8, 3)), axis=0), G.sum(t, axis=0)], [x], lambda x: [(2 * x + 1).reshape(8, 3).sum(0), (2 * x + 1).sum(0)]
    )


def test_zero_d_results_are_arrays():
    (x,) = inputs(())
    program = check([x + 1, G.exp(x), G.sum(x * 2), G.negative(x + 1)], [x], lambda x: [x + 1, np.exp(x), x * 2, -(x + 1)])
    for result in program.run([np.float32(2.0).reshape(())]):
        assert result.__class__ is np.ndarray
        assert result.shape == ()


def test_a_chain_of_zero_d_values_keeps_its_dtype():
    x = leaf(0, (), "float32")
    (got,) = Program([(x * 2.5 + 1) / 3 - 0.25], [x], HOST).run([np.array(2.0, np.float32)])
    assert got.dtype == np.float32


def test_python_scalars_are_operands_of_the_arrays_dtype():
    x, s, k = leaf(0, (4,), "float16"), leaf(1, (), "weakf"), leaf(2, (), "weaki")
    program = Program([x * s + k, x - k], [x, s, k], HOST)
    for scale, shift in ((2.5, 3), (0.0, -1)):
        got = program.run([np.arange(4, dtype=np.float16), scale, shift])
        assert [g.dtype for g in got] == [np.float16] * 2
        np.testing.assert_array_equal(got[0], np.arange(4) * scale + shift)


# memory of a run


def test_large_values_of_the_backend_are_released_after_their_last_use(monkeypatch):
    monkeypatch.setattr(printer, "RELEASE", 8)
    (x,) = inputs((4, 6))
    steps = G.cumulative_sum(x, axis=1)
    seen = G.reshape(steps, shape=(24,))
    again, last = G.cumulative_sum(steps, axis=0), G.cumulative_sum(x + 1, axis=0)
    program = check(
        [G.sum(seen), again * 2, G.sum(G.cumulative_sum(again, axis=1)), last, last * 3],
        [x],
        lambda x: [
            x.cumsum(1).sum(),
            x.cumsum(1).cumsum(0) * 2,
            x.cumsum(1).cumsum(0).cumsum(1).sum(),
            (x + 1).cumsum(0),
            (x + 1).cumsum(0) * 3,
        ],
    )
    assert program.source.count("del ") == 2  # not those that a view refers to
    lines = program.source.splitlines()
    for k, line in enumerate(lines):
        if line.startswith(" del "):
            name = line.removeprefix(" del ")
            assert name in lines[k - 1]
            assert not any(name in later for later in lines[k + 1 :])


def test_large_buffers_of_a_run_are_not_kept(monkeypatch):
    monkeypatch.setattr(printer, "KEEP_SCRATCH", 8)
    (x,) = inputs((4, 6))
    program = check([G.sum(x * 2 + 1)], [x], lambda x: [(2 * x + 1).sum()])
    assert "pool" not in program.source


def test_scratch_is_returned_after_a_run():
    (x,) = inputs((4, 6))
    program = check([G.sum(x * 2 + 1)], [x], lambda x: [(2 * x + 1).sum()], runs=5)
    assert len(program.run.args[0].__globals__["pool"]) == 1


class Hooked(NumpyBackend):
    """A backend whose ``tanh`` calls a function on the way."""

    hook = staticmethod(lambda: None)

    def call(self, op, params, inputs, *outputs):
        if op != "tanh":
            return super().call(op, params, inputs, *outputs)
        return Call("{hooked}({0})", {"hooked": self._tanh})

    def _tanh(self, x):
        self.hook()
        return np.tanh(x)


def around_tanh(backend):
    """``exp(x·2) · tanh(exp(x·2))``: scratch is in use while tanh runs."""
    (x,) = inputs((N,))
    t = G.exp(x * 2)
    return Program([G.sum(G.multiply(t, G.tanh(t)))], [x], backend)


def expected(x):
    return (np.exp(x * 2) * np.tanh(np.exp(x * 2))).sum()


def test_a_reentrant_run_has_its_own_scratch():
    backend, found = Hooked(), []
    program = around_tanh(backend)
    a, b = np.linspace(0, 1, N, dtype=np.float32), np.linspace(-1, 0, N, dtype=np.float32)

    def again():
        if not found:
            found.append(None)
            found[0] = program.run([b])[0]

    backend.hook = again
    np.testing.assert_allclose(program.run([a])[0], expected(a), rtol=1e-5)
    np.testing.assert_allclose(found[0], expected(b), rtol=1e-5)


def test_threads_run_one_program_concurrently():
    backend, both = Hooked(), threading.Barrier(3)
    program = around_tanh(backend)
    backend.hook = lambda: both.wait(20)
    data = [np.linspace(k, k + 1, N, dtype=np.float32) for k in range(3)]
    tasks = [in_thread(lambda a=a: program.run([a])[0]) for a in data]
    for a, task in zip(data, tasks, strict=True):
        np.testing.assert_allclose(task.result(), expected(a), rtol=1e-5)
    assert len(program.run.args[0].__globals__["pool"]) == 3


def test_a_program_is_usable_after_an_error():
    backend = Hooked()
    program = around_tanh(backend)
    x = np.linspace(0, 1, N, dtype=np.float32)

    def fail():
        raise ArithmeticError("on purpose")

    backend.hook = fail
    with pytest.raises(EngineError, match="on purpose"):
        program.run([x])
    backend.hook = lambda: None
    for _ in range(2):
        np.testing.assert_allclose(program.run([x])[0], expected(x), rtol=1e-5)


def test_floating_point_warnings_are_off_in_a_program_and_nowhere_else():
    (x,) = inputs((4,))
    (got,) = Program([G.log(x)], [x], HOST).run([np.zeros(4, np.float32)])
    assert np.isneginf(got).all()
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.log(np.zeros(1))


# the verifier


def broken(change):
    x = leaf(0, (4,), "float32")
    node = G.exp(x)
    copy = Application(node.bound_op, node.inputs, node.shape, node.dtype, node.tracked)
    return change(copy, x)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda n, x: (setattr(n, "shape", (5,)), [n])[1], "interned application"),
        (lambda n, x: (setattr(n, "shape", (None,)), [n])[1], "known sizes"),
        (lambda n, x: (setattr(n, "body", (x,)), [n])[1], "primitive"),
        (lambda n, x: (setattr(n, "results", (SimpleNamespace(node_of=lambda owner: x),) * 2), [n])[1], "names each part"),
        (lambda n, x: [G.exp(leaf("elsewhere", (4,), "float32"))], "among the program's inputs"),
    ],
)
def test_the_verifier_finds_a_broken_graph(change, says):
    graph = broken(change)
    with pytest.raises(InternalError, match=says):
        verify(graph, [leaf(0, (4,), "float32")], "a pass")


def test_every_program_is_verified():
    with pytest.raises(InternalError, match="the pass 'lower': a leaf is not among"):
        Program([G.exp(leaf("elsewhere", (4,), "float32"))], [leaf(0, (4,), "float32")], HOST)


def test_the_pass_that_breaks_an_invariant_is_named(monkeypatch):
    (x,) = inputs((4,))

    def spoil(outputs, context):
        return broken(lambda n, x: (setattr(n, "shape", (None,)), [n])[1])

    rows = [replace(row, rule=spoil) if row.name == "simplify" else row for row in PASSES]
    monkeypatch.setattr(passes, "PASSES", tuple(rows))
    with pytest.raises(InternalError, match="the pass 'simplify': not every node has a shape of known sizes"):
        Program([G.exp(x)], [x], HOST)


def test_a_program_names_the_passes_that_changed_it():
    (x,) = inputs((4,))
    assert Program([G.exp(x) * 1.0], [x], HOST).passes == ("simplify",)
    with without_pass("simplify"):
        assert Program([G.exp(x) * 1.0], [x], HOST).passes == ()
    assert Program([G.exp(x)], [x], HOST).passes == ()
