"""Backward of many operations, whose structure may never come again: interpreted at its first use, compiled at the second."""

import numpy as np
import pytest

from twofold import autograd, cpu, nd
from twofold.imperative import backward_program
from twofold.imperative.backward_program import LONG, Program

STEPS = LONG // 2  # each gives backward at least two nodes


@pytest.fixture
def compiled(inline, monkeypatch):
    """The titles of backward's programs, in the order in which they are compiled."""
    titles = []

    class Counted(Program):
        def __init__(self, *given, title, **settings):
            titles.append(title.name)
            super().__init__(*given, title=title, **settings)

    monkeypatch.setattr(backward_program, "Program", Counted)
    return titles


def gradient(choices):
    """The gradient of a sum of elements of a matrix that a loop chooses, one in each row."""
    x = nd.array(np.linspace(0.5, 1.5, 2 * len(choices)).reshape(-1, 2), ctx=cpu())
    x.attach_grad()
    with autograd.record():
        y = nd.zeros(1, ctx=cpu())
        for row, column in enumerate(choices):
            y = nd.tanh(y) * 0.5 + x[row, column] ** 2
    y.backward()
    return x.grad.asnumpy()


def test_a_long_backward_is_compiled_at_its_second_use_with_the_same_bits(compiled):
    choices = np.random.default_rng(0).integers(0, 2, STEPS)
    first = gradient(choices)
    assert compiled == []
    second, third = gradient(choices), gradient(choices)
    assert compiled == ["backward"]
    assert first.tobytes() == second.tobytes() == third.tobytes()


def test_a_loop_whose_choices_differ_each_time_compiles_nothing(compiled):
    for seed in range(1, 4):
        choices = np.random.default_rng(seed).integers(0, 2, STEPS)
        found = gradient(choices)
        assert not found[np.arange(STEPS), 1 - choices].any()
        # the last step reads its element alone: the derivative of a square
        assert found[-1, choices[-1]] == np.float32(2) * np.linspace(0.5, 1.5, 2 * STEPS).astype("f4").reshape(-1, 2)[-1, choices[-1]]
    assert compiled == []


def test_a_short_backward_is_compiled_at_once(compiled):
    gradient([0, 1, 1])
    assert compiled == ["backward"]
