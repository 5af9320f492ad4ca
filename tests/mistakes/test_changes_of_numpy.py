"""What NumPy has changed since MXNet's time and `twofold run` cannot restore: its errors are followed by what to do."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold.advice import advise


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="NumPy converts arrays of one element up to 2.3")
@pytest.mark.parametrize("program", ["float(x.asnumpy())", "'%f' % x.asnumpy()", "y[1] = x.asnumpy()"])
def test_who_takes_an_array_of_one_element_for_a_number_learns_of_numpys_change(program: str):
    with pytest.raises((TypeError, ValueError)) as found:
        exec(program, {"np": np, "x": mx.nd.ones(1), "y": np.zeros(3)})
    advise(found.value, found.tb)
    assert found.value.__notes__ == [
        "NumPy 2.4 and later convert only 0-d arrays: write x.item(), or install an earlier version, pip install 'numpy<2.4'"
    ]


def test_other_errors_of_values_get_no_note():
    with pytest.raises(ValueError, match="inhomogeneous") as found:
        np.array([[1], [1, 2]])
    advise(found.value, found.tb)
    assert not hasattr(found.value, "__notes__")
