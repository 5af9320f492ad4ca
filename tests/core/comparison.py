"""Programs compared with the same graph compiled in another way: without a pass, or for another backend. The bits must be the same."""

from contextlib import contextmanager

import numpy as np
import pytest

from twofold.program import passes
from twofold.program.compile import Program


def bits(arrays):
    return [np.ascontiguousarray(a).view(np.uint8).tolist() for a in arrays]


@contextmanager
def without_pass(name):
    """Programs that are compiled inside lack the pass of a name."""
    rows = tuple(row for row in passes.PASSES if row.name != name)
    assert len(rows) == len(passes.PASSES) - 1, f"there is no pass {name!r}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "PASSES", rows)
        yield


def with_and_without(name, outputs, leaves, arrays, backend, **options):
    """A program with a pass and one without it, after checking that both give the same bits."""
    with_ = Program(outputs, leaves, backend, **options)
    with without_pass(name):
        without = Program(outputs, leaves, backend, **options)
    assert bits(with_.run(list(arrays))) == bits(without.run(list(arrays)))
    return with_, without


def on_both(backends, outputs, leaves, arrays, **options):
    """A program for each of two backends, after checking that both give the same bits."""
    one, other = (Program(outputs, leaves, backend, **options) for backend in backends)
    assert bits(one.run(list(arrays))) == bits(other.run(list(arrays)))
    return one, other
