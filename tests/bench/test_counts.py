"""What a step costs in counts: Python frames, programs compiled, kernels, calls, memory. Seconds are `ratios`' to report."""

import pytest

import twofold as mx
from asv_benchmarks import counting, networks, small
from asv_benchmarks.hand_written import LeNet, Perceptron
from asv_benchmarks.ratios import operations, recorded_frames
from asv_benchmarks.timing import frames
from twofold.graph.tables import drop_generation
from twofold.imperative.counters import COUNTERS

OPERATIONS = ("x + x", "x * 2.5", "x[1:3]", "x.sum()")
WAYS = {
    "imperative": networks.imperative,
    "executor": networks.executor,
    "hybridized": lambda net: networks.gluon(net, hybrid=True),
}


@pytest.fixture(autouse=True)
def _nothing_compiled():
    """Forget what other tests compiled."""
    drop_generation()


def steady(step, steps=3):
    """Run a step until its programs are compiled: the first use is interpreted, the second compiled."""
    for _ in range(steps):
        step()
    COUNTERS.reset()
    return step


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_enters_few_functions(name):
    function = operations(mx.nd.array([1, 2, 3, 4]))[name]
    assert frames(steady(function)) <= 2


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_recorded_operation_enters_few_functions(name):
    x = mx.nd.array([1, 2, 3, 4])
    x.attach_grad()
    assert recorded_frames(operations(x)[name]) <= 6


@pytest.mark.parametrize("case", small.CASES, ids=[case.text for case in small.CASES])
def test_a_small_operation_of_np_enters_few_functions(case):
    assert frames(steady(small.statement(case.text, mx.np, "float64"))) <= case.frames


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("net", [Perceptron(), LeNet(batch=4)], ids=["perceptron", "lenet"])
def test_from_the_third_on_steps_compile_nothing(net, way):
    step = steady(WAYS[way](net).step, 2)
    with counting.programs() as compiled:
        for _ in range(5):
            step()
    assert compiled == []


def test_an_imperative_perceptron_is_a_program_for_each_kind_of_operation_and_one_for_backward():
    """The two dense layers differ in shape; the negation is called directly. Backward computes its constants by one more."""
    step = networks.imperative(Perceptron()).step
    with counting.programs() as compiled:
        step(), step()
    assert len(compiled) == len(["dense", "relu", "dense", "log_softmax", "pick", "mean"]) + 2


def test_a_hybridized_step_is_one_recorded_operation():
    steady(networks.gluon(Perceptron(), hybrid=True).step)()
    assert COUNTERS.recorded == 1
    assert COUNTERS.inline == COUNTERS.deferred == 0


def test_training_with_adam_and_a_schedule_compiles_nothing_from_the_third_step_on():
    step = networks.trained(networks.gluon(Perceptron(), hybrid=True), *networks.adam())
    step(), step()
    with counting.programs() as compiled:
        for _ in range(50):
            step()
    assert compiled == []


def test_sgd_updates_small_parameters_by_one_call():
    steady(networks.trained(networks.gluon(Perceptron(), hybrid=True)))()
    assert COUNTERS.inline == 1


def test_a_chain_on_a_large_array_is_one_kernel_without_scratch():
    x = mx.nd.ones((400, 400))

    def chain():
        y = x
        for _ in range(6):
            y = mx.nd.tanh(y * 0.5 + 1)
        y.wait_to_read()

    with counting.programs() as compiled:
        steady(chain)()
    assert COUNTERS.kernels == COUNTERS.windows == 1
    assert [counting.buffer_bytes(program) for program in compiled] == [0]


def test_backward_keeps_less_scratch_than_the_hand_written_step():
    net = Perceptron()
    own = sum(a.nbytes for a in (net.h, net.dh, net.mask, net.y, net.p, net.top, net.total))
    with counting.programs() as compiled:
        steady(networks.imperative(net).step)()
    assert max(counting.buffer_bytes(program) for program in compiled) < own


def test_a_constant_of_a_program_is_computed_once():
    x = mx.nd.array([1, 2, 3, 4])
    x.attach_grad()

    def step():
        with mx.autograd.record():
            loss = x[1:3].sum()
        loss.backward()

    with counting.programs() as compiled:
        steady(step)()
    backward = next(p for p in compiled if p.constants)
    assert len(backward.steps) == 0
    assert x.grad.asnumpy().tolist() == [0, 1, 1, 0]


def test_a_constant_gradient_is_a_new_array_at_each_step():
    x = mx.nd.array([1, 2, 3, 4])
    x.attach_grad()
    for _ in range(4):
        with mx.autograd.record():
            loss = mx.nd.mean(-x)
        loss.backward()
        assert x.grad.asnumpy().tolist() == [-0.25] * 4
        x.grad[:] = 7


@pytest.mark.parametrize("hybrid", [False, True], ids=["imperative", "hybridized"])
def test_training_leaks_no_memory(hybrid):
    step = networks.trained(networks.gluon(Perceptron(), hybrid=hybrid))
    for _ in range(50):
        step()
    assert counting.allocated_per_step(step, 300) < 16
