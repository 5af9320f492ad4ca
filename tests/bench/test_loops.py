"""The kernels of ``make bench-loops`` give NumPy's results."""

import pytest

from asv_benchmarks import loop_kernels, loops


@pytest.mark.parametrize("name", loop_kernels.KERNELS)
def test_a_kernel_gives_numpys_results_and_is_measured(name):
    seconds, ratio = loops.measured(name, repetitions=1)  # compares the results
    assert seconds > 0
    assert ratio > 0
