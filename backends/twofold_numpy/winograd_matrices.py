"""The linear transforms of Winograd's algorithm: of tiles of data, of kernels, and to results.

The interpolation points are 0, ±3/4, ±3/2 and infinity (after Barabasz et al., "Error analysis and improving the accuracy of Winograd
convolution for deep neural networks", 2020), with a quarter of the error of integer points.
"""

import math
from functools import cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from .tiles import Matrix

POINTS = (0.0, 0.75, -0.75, 1.5, -1.5)
#: Along one axis, the size of usual kernels, the results of a tile with these and its pixels.
KERNEL, RESULTS, TILE = 3, 4, 6


def transforms(kernel: int = KERNEL, results: int = RESULTS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The 1-d transforms (of_data, of_kernel, to_results): result = to_results · ((of_kernel · kernel) * (of_data · data)).

    This is the transpose of the Toom-Cook algorithm, which multiplies polynomials by their values at points.
    """
    tile = results + kernel - 1
    points = POINTS[: tile - 1]
    values = [[p**k for k in range(tile)] for p in points]
    # the denominators of Lagrange's interpolation; the point at infinity gives the last row, the leading coefficient
    denominators = [math.prod(p - q for q in points if q != p) for p in points]
    to_results = np.array([[v[k] for v in values] + [float(k == results - 1)] for k in range(results)])
    of_kernel = np.array([[x / d for x in v[:kernel]] for v, d in zip(values, denominators, strict=True)] + [[0] * (kernel - 1) + [1]])
    of_data = np.zeros((tile, tile))
    for k, p in enumerate(points):
        of_data[k, : tile - 1] = np.poly([q for q in points if q != p])[::-1]
    of_data[-1] = np.poly(points)[::-1]
    return of_data, of_kernel, to_results


T = TypeVar("T")


class Transforms(NamedTuple, Generic[T]):
    """The transforms, as matrices or in machine code; ``of_rotated`` is that of kernels rotated by half a turn."""

    of_data: T
    to_results: T
    from_results: T
    of_kernel: T
    of_rotated: T


@cache
def matrices(kernel: int = KERNEL, results: int = RESULTS) -> Transforms[Matrix]:
    """The 1-d transforms."""
    of_data, of_kernel, to_results = transforms(kernel, results)
    found = of_data, to_results, to_results.T, of_kernel, of_kernel[:, ::-1]
    return Transforms(*[tuple(map(tuple, matrix.tolist())) for matrix in found])
