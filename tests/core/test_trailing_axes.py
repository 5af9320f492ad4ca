"""Reductions of trailing axes join the kernels that compute what they reduce; the same bits as reducing it afterwards."""

import random

import numpy as np
import pytest

from twofold.config import SETTINGS
from twofold.graph.build import G
from twofold.graph.ir import leaf
from twofold_numpy.jit.availability import is_installed
from twofold_numpy.namespace import BLOCK

from .test_kernels import compare

RNG = np.random.default_rng(5)
REDUCTIONS = ["sum", "max", "min"]


def kernels_of(program):
    """The operations of each step that is more than a view."""
    names = [[n.bound_op.op.name for n in step.nodes] for step in program.steps]
    return [" ".join(own) for own in names if own != ["reshape"]]


def leaves(*shapes, dtype="float64"):
    return [leaf(k, shape, dtype) for k, shape in enumerate(shapes)], [RNG.random(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("shape", "axis"), [((30,), None), ((30, 4), 1), ((3, 4, 5), (1, 2)), ((3, 4, 5), None), ((3, 4, 5), -1)])
def test_what_is_reduced_is_not_in_memory(name, shape, axis):
    (x, y), arrays = leaves(shape, shape)
    for keepdims in (False, True):
        program = compare([getattr(G, name)(G.absolute(x - y), axis=axis, keepdims=keepdims)], [x, y], arrays)
        assert kernels_of(program) == [f"subtract absolute {name}"]


def test_what_others_read_is_computed_once():
    (x,), arrays = leaves((6, 50))
    y = x * 2 + 1
    program = compare([y, G.sum(y, axis=1)], [x], arrays)
    assert kernels_of(program) == ["multiply add sum"]  # the rows are the kernel's own
    program = compare([G.sqrt(y), G.sum(y)], [x], arrays)
    assert sorted(kernels_of(program)) == ["multiply add sqrt", "sum"]
    program = compare([G.max(y, axis=1), G.sum(y), G.min(y)], [x], arrays)
    assert sorted(kernels_of(program)) == ["max", "min", "multiply add", "sum"]  # not once more for each number of axes


def test_several_reductions_of_one_chain_are_one_kernel():
    (x,), arrays = leaves((8, 50))
    d = x - 0.5
    program = compare([G.sum(d * d), G.sum(d * d * d), G.max(d)], [x], arrays)
    assert len(kernels_of(program)) == 1


def test_operands_with_some_of_the_axes_are_read_before():
    (x, mean, scale), arrays = leaves((6, 50), (50,), (6, 1))
    program = compare([G.sum((x - mean) * 2), G.sum(x * scale)], [x, mean, scale], arrays)
    assert sorted(kernels_of(program)) == ["multiply", "multiply sum", "subtract", "sum"]


def test_arrays_that_are_in_memory_are_reduced_as_they_are():
    (x,), arrays = leaves((6, 50))
    program = compare([G.sum(x), G.max(x, axis=1), G.exp(x + 1)], [x], arrays)
    assert sorted(kernels_of(program)) == ["add exp", "max", "sum"]


def chain(rng, x, y):
    """A random chain of up to five operations."""
    found = [x, y]
    for _ in range(rng.randint(1, 5)):
        a, b = rng.choice(found), found[-1]
        found.append(
            rng.choice([lambda a, b: a + b, lambda a, b: a * b - 0.5, lambda a, b: G.absolute(a - b), lambda a, b: G.maximum(a, b)])(a, b)
        )
    return found[2:]


@pytest.fixture(params=["ufuncs", "machine code"])
def form(request, monkeypatch, machine_code):
    """Kernels in one form."""
    if request.param == "machine code":
        if not is_installed():
            pytest.skip("no llvmlite")
        monkeypatch.setenv("TWOFOLD_CACHE", machine_code["TWOFOLD_CACHE"])
        monkeypatch.setattr(SETTINGS, "jit", True)
        monkeypatch.setattr(SETTINGS, "jit_eager", True)
    return request.param


@pytest.mark.parametrize("seed", range(30))
def test_random_reductions_have_the_bits_of_single_operations(seed, form):
    rng = random.Random(seed)
    long = rng.choice([BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + rng.randint(1, BLOCK - 1)])
    shape = rng.choice([(long,), (2, long), (rng.randint(1, 3), rng.randint(1, 500), rng.randint(1, 400)), (rng.randint(1, 40_000), 3)])
    (x, y), arrays = leaves(shape, rng.choice([shape, shape[-1:], (1,), (*shape[:-1], 1), ()]), dtype=rng.choice(["float32", "float64"]))
    made = chain(rng, x, y)
    outputs = [G.absolute(y) * 0.5 + 0.25]  # always a kernel
    if rng.random() < 0.3:
        outputs.append(made[-1])
    for value in (made[-1], rng.choice(made)):
        if value.shape == shape:
            axes = rng.randint(1, len(shape))
            axis = rng.choice([tuple(range(len(shape) - axes, len(shape))), None])
            outputs.append(getattr(G, rng.choice(REDUCTIONS))(value, axis=axis, keepdims=rng.random() < 0.5))
    compare(outputs, [x, y], arrays)


@pytest.mark.parametrize("layout", ["reversed", "stepped", "columns", "transposed"])
def test_long_rows_of_arrays_with_gaps(layout, form):
    n = BLOCK + 70
    whole = RNG.random((3, 2 * n))
    arrays = {
        "reversed": whole[:, :n][:, ::-1],
        "stepped": whole[:, ::2],
        "columns": whole[:, 5 : n + 5],
        "transposed": np.ascontiguousarray(whole[:, :n].T).T,
    }
    x = leaf(0, (3, n), "float64")
    for outputs in ([G.sum(x * x, axis=1)], [G.sum(x * 2), G.max(x * 2)], [x * 2, G.sum(x * 2, axis=1)]):
        program = compare(outputs, [x], [arrays[layout]])
        assert ("in blocks" in program.explain()) is (outputs[0].shape != (3, n))  # results as large as rows would have gaps
