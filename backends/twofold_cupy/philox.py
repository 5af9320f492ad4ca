"""Random bits: Philox4x64-10, the same words as ``numpy.random.Philox``, so that equal seeds give equal draws on every device.

Source: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

import cupy
import numpy as np

from .launch import filled, function, run


def random_bits(key: cupy.ndarray, out: cupy.ndarray) -> None:
    """Fill a contiguous uint64 array with random words; ``key`` holds the counter's four words and the key's two."""
    run(function(filled({}, "philox"), "tf_philox"), -(-out.size // 4), np.int64(out.size), key, out)
