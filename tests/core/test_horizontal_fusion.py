"""Identical kernels at a program's end run as one step, in any order among themselves, with the same bits."""

import functools
import operator
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from twofold.backend.kernel import RowProgram
from twofold.backend.protocol import Target
from twofold.graph.build import G
from twofold.graph.ir import Application, leaf
from twofold.program.compile import Program
from twofold_numpy.adapter import NumpyBackend


class Together(NumpyBackend):
    """A NumPy backend that is handed identical kernels together and runs the last one first."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    @property
    def target(self) -> Target:
        epilogues = frozenset({"bias", "bias relu", "sums"})
        return replace(super().target, few_kernels=True, whole_rows=True, epilogues=epilogues)

    def compile(self, program: RowProgram, *others: RowProgram) -> Callable[..., None]:
        programs = (program, *others)
        if not others:
            return super().compile(program)
        self.sizes.append(len(programs))
        kernels = [self.compile(p) for p in programs]
        width = len(programs[0].inputs) + len(programs[0].outputs)

        def kernel(*arrays: Any) -> None:
            for k in reversed(range(len(kernels))):
                kernels[k](*arrays[k * width : (k + 1) * width])

        return kernel


APART = NumpyBackend()


def leaves_of(*shapes):
    return [leaf(f"l{k}", s, "float32") for k, s in enumerate(shapes)]


def data_of(leaves, seed=0):
    draw = np.random.default_rng(seed)
    return [draw.normal(size=n.shape).astype(np.float32) if n.dtype == "float32" else float(draw.normal()) for n in leaves]


def run_both(outputs, leaves, **options):
    """The program's results with and without grouping, and the number of kernels in each group."""
    together = Together()
    programs = [Program(outputs, leaves, backend, big=1, **options) for backend in (together, APART)]
    found = [[np.array(a) for a in program.run(data_of(leaves))] for program in programs * 2]
    for other in found[1:]:
        for got, want in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(got, want)
    return together.sizes


def momentum(weight, gradient, state, rate):
    new = state * 0.9 - gradient * rate
    return [weight + new, new]


@pytest.mark.parametrize("is_donated", [False, True])
def test_the_updates_of_all_weights_are_one_step(is_donated):
    shapes = [(3, 4), (5,), (2, 2), (5,)]
    weights, gradients, states = (leaves_of(*shapes)[:0] for _ in range(3))
    for k, shape in enumerate(shapes):
        for kind, nodes in (("w", weights), ("g", gradients), ("s", states)):
            nodes.append(leaf(f"{kind}{k}", shape, "float32"))
    rate = leaf("rate", (), "weakf")
    outputs = [r for own in zip(weights, gradients, states, strict=True) for r in momentum(*own, rate)]
    leaves = [*weights, *gradients, *states, rate]
    donated = weights + states if is_donated else ()
    assert run_both(outputs, leaves, donated=donated) == [4]
    program = Program(outputs, leaves, Together(), big=1, donated=donated)
    assert program.explain().split("\n") == ["4 at once: multiply + multiply + subtract + add"]
    assert len(program.plan.donated) == 8 * is_donated
    assert len(program.kernels) == 1


def test_shared_inputs_of_grouped_kernels_are_not_overwritten():
    a, b, c, shared = leaves_of((4,), (4,), (4,), (4,))
    outputs = [G.tanh(a) - shared, G.tanh(b) - shared, G.tanh(c) - shared]
    assert run_both(outputs, [a, b, c, shared], donated=[shared]) == [3]
    assert run_both(outputs, [a, b, c, shared], donated=[a, shared]) == [3]


def test_no_grouped_kernel_overwrites_what_another_reads():
    a, b, x, y = leaves_of((4,), (4,), (4,), (4,))
    assert run_both([G.tanh(a) - x, G.tanh(b) - y], [a, b, x, y], donated=[a, x]) == [2]


def test_each_grouped_kernel_recomputes_the_scalars_it_needs():
    a, b = leaves_of((4,), (2, 3))
    rate = leaf("rate", (), "weakf")
    factor = G.exp(G.astype(rate, dtype="float32")) + 1.0
    outputs = [a * factor, b * factor]
    assert run_both(outputs, [a, b, rate]) == [2]
    program = Program(outputs, [a, b, rate], Together(), big=1)
    assert program.explain() == "2 at once: astype + exp + add + multiply"
    assert run_both([*outputs, factor], [a, b, rate]) == [2], "a number that is a result is computed once, before"


def test_a_kernel_runs_after_those_it_reads():
    a, b = leaves_of((1, 4), (4,))
    small = [a * 2.0, b * 2.0]
    outputs = [*small, G.exp(small[0] + leaf("m", (3, 4), "float32")), G.exp(small[1] + leaf("n", (5, 4), "float32"))]
    leaves = [a, b, leaf("m", (3, 4), "float32"), leaf("n", (5, 4), "float32")]
    assert run_both(outputs, leaves) == [2], "an operand that is broadcast along an axis keeps a kernel apart"


def total(terms):
    return functools.reduce(operator.add, terms)


def test_long_sums_are_consecutive_kernels():
    terms = [leaves_of(*[shape] * 150) for shape in ((4,), (2, 3))]
    terms = [[leaf((shape, k), t.shape, "float32") for k, t in enumerate(own)] for shape, own in enumerate(terms)]
    assert run_both([total(own) for own in terms], [t for own in terms for t in own]) == [2, 2, 2]


def test_a_scalar_reduced_from_an_array_is_computed_once():
    a, b = leaves_of((4,), (2, 3))
    numbers = [leaf(("number", k), (), "float32") for k in range(40)]
    few, many = total(numbers[:5]), total(numbers)
    assert run_both([a * few, b * few], [a, b, *numbers[:5]]) == [2]
    program = Program([a * many, b * many], [a, b, *numbers], Together(), big=1)
    assert program.explain().splitlines()[-1] == "2 at once: multiply"
    assert run_both([a * many, b * many], [a, b, *numbers]) == [2]


def test_different_kernels_are_not_grouped():
    a, b = leaves_of((4,), (5,))
    for outputs in ([a + 1.0, b + 2.0], [a + 1.0, b - 1.0], [G.exp(a), G.sum(G.exp(b), axis=None)]):
        assert run_both(outputs, [a, b]) == []


def drawn_graph(draw: random.Random):
    """Outputs and leaves of a random graph: element-wise operations, sums, products and views over a few shapes."""
    shapes = [(4,), (3, 4), (1, 4), ()]
    leaves = [leaf(f"d{k}", draw.choice(shapes), "float32") for k in range(6)]
    nodes, squares = list(leaves), []
    for _ in range(draw.randrange(6, 25)):
        kind = draw.random()
        x, y = draw.choice(nodes), draw.choice(nodes)
        if kind < 0.55:
            nodes.append(draw.choice([G.add, G.multiply, G.subtract, G.maximum])(x, y))
        elif kind < 0.8:
            nodes.append(draw.choice([G.tanh, G.negative])(x) * 0.5)
        elif kind < 0.9 and x.shape:
            nodes.append(G.sum(x, axis=-1, keepdims=True))
        elif x.shape == (3, 4) and kind < 0.95:
            nodes.append(G.permute_dims(G.reshape(x, shape=(4, 3)), axes=(1, 0)))
        elif x.shape == (3, 4):
            squares.append(G.matmul(G.permute_dims(x, axes=(1, 0)), x))
            nodes.append(G.sum(x, axis=0))
            nodes.append(G.maximum(G.add(G.matmul(x, squares[-1]), draw.choice([n for n in nodes if n.shape == (4,)])), 0))
    nodes = [n for n in nodes + squares if isinstance(n, Application)]
    outputs = draw.sample(nodes, min(len(nodes), draw.randrange(2, 9)))
    return outputs, leaves, leaves


def test_a_number_computed_from_an_output_of_one_element_is_no_part_of_another_kernel():
    a, b, c, d = leaves_of((), (), (), ())
    first = b - d * c
    assert run_both([a - d * first, first], [a, b, c, d]) == []


def test_random_programs_give_the_same_bits():
    fused = 0
    for seed in range(300):
        outputs, leaves, donated = drawn_graph(random.Random(seed))
        fused += len(run_both(outputs, leaves, donated=donated))
    assert fused > 20
