"""Other threads may act between any two instructions: a function runs once for each place, with the other thread's step put there."""

import dis
import gc
import threading
from itertools import pairwise
from types import CodeType

import numpy as np
import pytest

import twofold as mx
import twofold.np
from twofold import autograd, nd
from twofold.errors import EngineError
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.imperative import write
from twofold.imperative.array import Array
from twofold.imperative.cell import ALWAYS, REPLACING, Value
from twofold.imperative.concurrent_writes import replace
from twofold.imperative.deferral import join_backward
from twofold.imperative.recording import save_for_backward
from twofold.imperative.residuals import NodeCache
from twofold.imperative.tape import Tape, TapeEntry
from twofold.imperative.views import Viewable, ready_memory
from twofold.numpy.operators import owned_memory

from .operators import SIZE, in_thread, ramp
from .signals import at_instruction
from tests.probe import captured


def instructions(code: CodeType) -> list[int]:
    """The offsets of a function's instructions."""
    return [i.offset for i in dis.get_instructions(code)]


def after_calls(code: CodeType) -> list[int]:
    """The offsets at which CPython may switch threads: the start, and behind each call."""
    found = list(dis.get_instructions(code))
    return [b.offset for a, b in pairwise(found) if a.opname.startswith(("CALL", "RESUME"))]


@pytest.mark.usefixtures("deferred")
def test_a_head_gradient_of_another_thread_may_be_read_while_backward_joins_a_window():
    for offset in instructions(join_backward.__code__):
        x = nd.array(ramp())
        x.attach_grad()
        with autograd.record():
            y = x * 2.0
        head = in_thread(lambda: nd.array(ramp()) * 3.0).result()
        at_instruction(lambda y=y, head=head: y.backward(head), join_backward.__code__, offset, head.asnumpy)
        np.testing.assert_array_equal(x.grad.asnumpy(), ramp() * np.float32(6))


@pytest.mark.usefixtures("deferred")
def test_a_reader_may_finish_while_another_thread_waits_to_write():
    code = Array.wait_to_write.__code__
    for offset in instructions(code):
        x = nd.array(ramp())
        y = x * 2.0
        v = captured(x)
        at_instruction(x.wait_to_write, code, offset, lambda v=v: setattr(v, "producer", None))
        np.testing.assert_array_equal(y.asnumpy(), ramp() * np.float32(2))


def lent_inline(v: Value, tape: Tape) -> None:
    node = G.sqrt(leaf("no other test's", (2,), "float32"))
    node.cache = NodeCache()
    node.cache.lends = (0,)
    save_for_backward(TapeEntry(node, (), (), tape), [v], [], tape)


@pytest.mark.parametrize(
    ("lend", "code"),
    [(Value.lend, Value.lend.__code__), (lent_inline, save_for_backward.__code__)],
    ids=["lend", "inline"],
)
@pytest.mark.parametrize("lent_before", [False, True])
def test_of_two_threads_that_record_an_operand_neither_loses_its_borrow(lend, code, lent_before):
    for offset in after_calls(code):
        v, first, second = Value(ramp()), Tape(), Tape()
        if lent_before:
            v.lend(Tape())  # which is gone
        second_has = at_instruction(lambda v=v, first=first: lend(v, first), code, offset, lambda v=v, second=second: v.lend(second))
        if second_has:
            assert v.sharing is ALWAYS


def _assign(row):
    row[:] = 5.0


def _add(row):
    row += 5.0


def _assign_in_a_copy(row):
    v = captured(row._base)
    if v.__class__ is Value:
        v.share()
    row[:] = 5.0


@pytest.mark.usefixtures("deferred")
@pytest.mark.parametrize("module", [nd, mx.np, twofold.np], ids=["nd", "mx.np", "twofold.np"])
@pytest.mark.parametrize("is_read", [False, True], ids=["alone", "read"])
@pytest.mark.parametrize("is_ready", [False, True], ids=["pending", "ready"])
@pytest.mark.parametrize("mine", [_assign, _add])
@pytest.mark.parametrize("other", [_assign, _add, _assign_in_a_copy])
def test_threads_may_write_different_rows_of_an_array(module, is_read, is_ready, mine, other):
    kind = type(module.zeros((4, SIZE)))
    methods = [getattr(kind, name).__code__ for name in ("__setitem__", "__iadd__")]
    reached = 0
    for code in [f.__code__ for f in (replace, write._change_part, write.update_in_place, write.write)] + methods:
        for offset in after_calls(code):
            x = module.zeros((4, SIZE)) + 1.0
            if is_ready:
                x.wait_to_read()
            y = x * 2.0 if is_read else None
            first, third = x[0], x[2]
            others = []

            def act(third=third, others=others):
                others.append(in_thread(lambda: other(third)))
                threading.Thread.join(others[0], 0.003)  # it may have to wait until this thread has written

            reached += at_instruction(lambda first=first: mine(first), code, offset, act)
            for thread in others:
                thread.result()
            want = np.ones((4, SIZE))
            want[0] += 5.0 if mine is _add else 4.0
            want[2] += 0.0 if not others else 5.0 if other is _add else 4.0
            np.testing.assert_array_equal(x.asnumpy(), want)
            if y is not None:
                assert y.asnumpy()[0, 0] == 2.0
    assert reached


#: Writes to a row that call functions of the package for an operand or an index.
BY_FUNCTIONS = {
    "a total": "row += total",
    "a large array": "row += fives",
    "a part": "row += rows[1]",
    "elements of a list": "row[[np.int64(0), 1]] = 5.0",
    "elements of a tuple": "row[(np.int64(0),)], row[1] = 5.0, 5.0",
}


@pytest.mark.usefixtures("deferred")
@pytest.mark.parametrize("text", BY_FUNCTIONS.values(), ids=BY_FUNCTIONS)
@pytest.mark.parametrize("module", [nd, twofold.np], ids=["nd", "twofold.np"])
def test_a_row_is_written_though_another_thread_copies_the_array_while_an_operand_is_read(module, text):
    kind = type(module.zeros((4, SIZE)))
    rows = module.zeros((2, SIZE)) + 5.0
    names = {"fives": rows[0] + 0.0, "rows": rows, "total": rows[0, :1].sum(), "np": np}
    for array in (rows, names["fives"], names["total"]):
        array.wait_to_read()
    functions = [
        kind.__setitem__,
        kind.__iadd__,
        owned_memory,
        ready_memory,
        kind.__setitem__.__globals__["host_key"],
        Viewable._content.fget,
    ]
    program, reached = compile(text, "<text>", "exec"), 0
    for code in [f.__code__ for f in functions]:
        for offset in after_calls(code):
            x = module.zeros((4, SIZE)) + 1.0
            x.wait_to_read()
            row, third = x[0], x[2]
            others = []

            def act(third=third, others=others):
                others.append(in_thread(lambda: _assign_in_a_copy(third)))
                threading.Thread.join(others[0], 0.003)

            reached += at_instruction(lambda row=row: exec(program, {**names, "row": row}), code, offset, act)
            for thread in others:
                thread.result()
            assert x.asnumpy()[0, :2].tolist() == [6.0 if "+=" in text else 5.0] * 2, (code.co_name, offset)
            assert x.asnumpy()[2, 0] == (5.0 if others else 1.0)
    assert reached


@pytest.mark.usefixtures("deferred")
def test_a_copy_waits_for_threads_that_write_in_place():
    x = nd.zeros((4, SIZE)) + 1.0
    x.wait_to_read()
    v = captured(x)
    v.share()  # so that the other thread must copy
    v.writers += 1
    other = in_thread(lambda: _assign(x[2]))
    threading.Thread.join(other, 0.05)
    assert captured(x) is v
    v.data[0] = 5.0
    v.writers -= 1
    other.result()
    assert x.asnumpy()[:, 0].tolist() == [5.0, 1.0, 5.0, 1.0]


@pytest.mark.usefixtures("deferred")
@pytest.mark.parametrize("module", [nd, mx.np, twofold.np], ids=["nd", "mx.np", "twofold.np"])
@pytest.mark.parametrize("change", [_assign, _add, lambda row: row.__setitem__(slice(1, 3), 5.0)], ids=["all", "add", "part"])
def test_what_another_thread_replaces_is_not_written_in_place(module, change):
    x = module.zeros((4, SIZE)) + 1.0
    x.wait_to_read()
    row, v = x[0], captured(x)
    v.writers += REPLACING
    change(row)
    v.writers -= REPLACING
    assert captured(x) is not v
    assert v.data[0, 1] == 1.0 != x.asnumpy()[0, 1]


@pytest.mark.usefixtures("deferred")
def test_a_ufunc_writes_no_array_that_another_thread_replaces():
    x = twofold.np.zeros((4, SIZE)) + 1.0
    x.wait_to_read()
    row, v = x[0], captured(x)
    v.writers += REPLACING
    twofold.np.add(twofold.np.ones(SIZE), 4.0, out=row)
    v.writers -= REPLACING
    assert v.data[0, 1] == 1.0
    assert x.asnumpy()[:2, 0].tolist() == [5.0, 1.0]


@pytest.mark.usefixtures("deferred")
def test_a_finalizer_of_a_cycle_that_reads_a_pending_array_gets_an_error_that_says_so():
    errors = []

    class Cycle:
        def __init__(self):
            self.own, self.array = self, nd.array(ramp()) * 2.0

        def __del__(self):
            try:
                self.array.asnumpy()
            except EngineError as error:
                errors.append(str(error))

    Cycle()
    gc.collect()
    (text,) = errors
    assert text.startswith("an array is read that was not computed, as nothing else could read it any more: given a finalizer")


def test_a_content_that_another_thread_binds_while_one_is_captured_stays():
    code = Viewable._promote.__code__
    reached = 0
    for offset in after_calls(code):
        x = twofold.np.zeros(4)
        new = np.ones(4)
        is_reached = at_instruction(x._capture, code, offset, lambda x=x, new=new: in_thread(lambda: x._rebind(new)).result())
        assert x.tolist() == [float(is_reached)] * 4
        reached += is_reached
    assert reached


def test_a_plain_content_is_replaced_without_loss_of_what_another_thread_writes():
    def changed(v):
        data = (v.data if v.__class__ is Value else v).copy()
        data[0] = 5.0
        return data

    reached = 0
    for offset in after_calls(replace.__code__):
        x = twofold.np.zeros((2, 3))
        others = []

        def act(x=x, others=others):
            others.append(in_thread(lambda: x.__setitem__(1, 7.0)))
            threading.Thread.join(others[0], 0.003)  # it may have to wait until this thread has written

        reached += at_instruction(lambda x=x: replace(x, changed), replace.__code__, offset, act)
        for thread in others:
            thread.result()
        assert x.tolist() == [[5.0] * 3, [7.0 if others else 0.0] * 3]
    assert reached
