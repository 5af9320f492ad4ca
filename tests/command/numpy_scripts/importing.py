"""Ways to import NumPy, and its functions as attributes."""

import importlib
import inspect
import sys

import numpy
import numpy as np
import numpy.fft
import numpy.lib.stride_tricks
import numpy.linalg
import numpy.linalg as la
import numpy.random as npr
import numpy.testing
from numpy import *
from numpy import float64, random
from numpy.lib.stride_tricks import sliding_window_view as windows
from numpy.random import Generator, default_rng

N = 70_000


def large():
    return np.arange(float(N))


def late():
    import numpy as inner
    from numpy.fft import fft

    return inner is np, fft(large())[0].real


print(
    np is numpy,
    late(),
    la is numpy.linalg,
    npr is np.random,
    np.__version__ == importlib.import_module("numpy").__version__,
    float64 is np.float64,
)
rng = default_rng(3)
print(rng.random(), rng.normal(size=N)[5], isinstance(rng, Generator), rng.integers(0, 9, N)[:4], rng.choice(5), rng.permutation(N)[:2])
np.random.seed(4)
print(np.random.rand(N)[3], np.random.randn(), np.random.randint(9), npr.uniform(size=3), random.choice([1, 2, 3]), npr.ranf())
s = np.random.RandomState(5)
print(s.rand(N)[-1], s.normal(), windows(large(), 3)[4], la.norm(large()), np.testing.assert_allclose(large(), large()))


class Holder:
    make = np.zeros
    convert = np.asarray
    draw = np.random.rand


print(
    Holder().make(3),
    Holder().convert([1, 2]),
    Holder().draw(2).shape,
    np.zeros.__name__,
    np.zeros.__doc__[:5],
    callable(np.array),
    np.array(object=[1]),
)
print(
    zeros(3).sum(),
    exec("import numpy as n2; print(n2 is np)", {"np": np}),
    eval("__import__('numpy') is np"),
    np.einsum("i,i", large()[:5], large()[:5]),
)
print(
    "numpy" in sys.modules,
    np.ndarray is sys.modules["numpy"].ndarray,
    inspect.ismodule(np),
    hasattr(np, "nothing"),
    len(dir(np)) > 500,
    np.__name__,
)
