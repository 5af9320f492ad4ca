"""What the pages of operators say that they raise, against what calls with wrong arrays and parameters do raise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import twofold as mx
from twofold import errors
from twofold.opdef.samples import Drawn, Sample, samples_of
from twofold.testing.operands import make_operands

from tests.house.verdict import expect_none

operator_errors = pytest.importorskip("operator_errors")
operator_pages = pytest.importorskip("operator_pages")
#: Wrong values: of no kind, of a wrong kind, out of range.
WRONG = (object(), "nonsense", -7, 0, 99, (1, 2, 3, 4, 5, 6, 7), 1.5, None)
DTYPES = ("int32", "bool", "float16", "float64", "complex64", "uint8")
#: (operator, class) of errors that need an array more than the samples have.
NOT_FOUND = {("Crop", "DTypeError")}


def entries():
    """(name, operator, namespace) of every public operator, once."""
    found = {id(o.op): (o.dotted, o.op, mx.nd) for o in operator_pages.operators()}
    for name, op in operator_pages.operators_of_npx().items():
        found.setdefault(id(op), (name, op, mx.npx))
    return list(found.values())


def faults(op, arrays, params) -> Iterator[tuple[list, dict]]:
    """Arrays and parameters with one fault each."""
    for name in [name for name in op.params if name not in op.training]:
        yield from ((arrays, params | {name: value}) for value in WRONG)
        yield arrays, {k: v for k, v in params.items() if k != name}
    yield arrays, params | {"nonsense": 1}
    for k, array in enumerate(arrays):
        if array is None:
            continue
        others = [None, array[None], array[..., None], array.ravel(), array[:0], np.full_like(array, 99)]
        others += [array[0]] if array.ndim > 1 else []
        others += [np.concatenate([array, array.take([0], axis)], axis) for axis in range(array.ndim)]
        others += [array.astype(dtype) for dtype in DTYPES]
        yield from (([*arrays[:k], other, *arrays[k + 1 :]], params) for other in others)


def classes_raised(name, op, namespace) -> set[type[BaseException]]:
    """The classes of what a function raises for the faults of its samples."""
    function = namespace
    for part in name.split("."):
        function = getattr(function, part)
    array_of = mx.nd.array if namespace is mx.nd else mx.np.array
    found: set[type[BaseException]] = set()
    for sample in samples_of(op) or [Sample(tuple(Drawn((2, 3), 0.1, 0.9) for _ in op.arrays))]:
        values = make_operands(op, sample)[: len(sample.inputs)]
        arrays = [None if drawn is None else np.asarray(value) for drawn, value in zip(sample.inputs, values, strict=True)]
        for given, params in faults(op, arrays, {k: v for k, v in sample.params.items() if k in op.params}):
            operands = [None if a is None else array_of(a, dtype=a.dtype) for a in given]
            named = {} if op.variadic else {i.name: a for i, a in zip(op.arrays, operands, strict=False) if a is not None}
            try:
                results = function(*(operands if op.variadic else []), **named, **params)
                for result in results if isinstance(results, list) else [results]:
                    result.asnumpy()
            except Exception as error:
                found.add(type(error))
    return found


def classes_named(op, namespace) -> dict[str, type[BaseException]]:
    return {name: getattr(errors, name) for name, _ in operator_errors.errors_of(op, legacy=namespace is mx.nd)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", [pytest.param(k, marks=[] if k == 0 else pytest.mark.ci) for k in range(12)])
def test_the_classes_of_errors_are_those_that_the_page_names(part):
    raised = {(name, op, namespace): classes_raised(name, op, namespace) for name, op, namespace in entries()[part::12]}
    named = {entry: classes_named(*entry[1:]) for entry in raised}
    # all errors are the package's own, with a message for the user: none is Python's about its own code
    expect_none(f"{e[0]}: {kind.__name__}" for e, kinds in raised.items() for kind in kinds if not issubclass(kind, (*named[e].values(),)))
    missed = {(e[0], name) for e, kinds in named.items() for name, kind in kinds.items() if not any(issubclass(r, kind) for r in raised[e])}
    assert missed == {entry for entry in NOT_FOUND if entry[0] in {name for name, *_ in raised}}
