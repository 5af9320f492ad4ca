"""Other threads may act between any two instructions: a function runs once for each place, with the other thread's step put there."""

import dis
import sys
from itertools import pairwise
from types import CodeType

import numpy as np
import pytest

from twofold import autograd, nd
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold.imperative.array import Array
from twofold.imperative.cell import ALWAYS, Value
from twofold.imperative.deferral import join_backward
from twofold.imperative.recording import save_for_backward
from twofold.imperative.residuals import NodeCache
from twofold.imperative.tape import Tape, TapeEntry

from .operators import in_thread, ramp
from tests.probe import captured


def instructions(code: CodeType) -> list[int]:
    """The offsets of a function's instructions."""
    return [i.offset for i in dis.get_instructions(code)]


def after_calls(code: CodeType) -> list[int]:
    """The offsets at which CPython may switch threads: the start, and behind each call."""
    found = list(dis.get_instructions(code))
    return [b.offset for a, b in pairwise(found) if a.opname.startswith(("CALL", "RESUME"))]


def interrupted(work, code: CodeType, offset: int, action):
    """Run a function, with an action before an instruction of a code object when that is first reached; returns whether it is."""
    done = []

    def opcode(frame, event, argument):
        if event == "opcode" and frame.f_lasti == offset and not done:
            done.append(True)
            sys.settrace(None)
            action()
        return opcode

    def trace(frame, event, argument):
        if frame.f_code is not code or done:
            return None
        frame.f_trace_opcodes = True
        return opcode

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return bool(done)


@pytest.mark.usefixtures("deferred")
def test_a_head_gradient_of_another_thread_may_be_read_while_backward_joins_a_window():
    for offset in instructions(join_backward.__code__):
        x = nd.array(ramp())
        x.attach_grad()
        with autograd.record():
            y = x * 2.0
        head = in_thread(lambda: nd.array(ramp()) * 3.0).result()
        interrupted(lambda y=y, head=head: y.backward(head), join_backward.__code__, offset, head.asnumpy)
        np.testing.assert_array_equal(x.grad.asnumpy(), ramp() * np.float32(6))


@pytest.mark.usefixtures("deferred")
def test_a_reader_may_finish_while_another_thread_waits_to_write():
    code = Array.wait_to_write.__code__
    for offset in instructions(code):
        x = nd.array(ramp())
        y = x * 2.0
        v = captured(x)
        interrupted(x.wait_to_write, code, offset, lambda v=v: setattr(v, "producer", None))
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
        second_has = interrupted(lambda v=v, first=first: lend(v, first), code, offset, lambda v=v, second=second: v.lend(second))
        if second_has:
            assert v.sharing is ALWAYS
