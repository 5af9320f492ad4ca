"""The transpose of windows (col2im): each element sums its occurrences in the windows that contain it, in a fixed order."""

from functools import cache

import cupy
import numpy as np

from twofold.backend.c_text import C_TYPES, ENCODED, STORED
from twofold.backend.strides import Sizes

from .launch import each, function, run
from .operands import dtype_of


def fold(x: cupy.ndarray, out: cupy.ndarray, kernel: Sizes, stride: Sizes, dilate: Sizes) -> None:
    """Sum contiguous windows (…, windows…, kernel…) into (…, size…)."""
    axes = len(kernel)
    lead = x.ndim - 2 * axes
    numbers = [out.size, *out.shape[lead:], *x.shape[lead : lead + axes], *kernel, *stride, *dilate]
    run(function(kernel_source(dtype_of(x), axes), "tf_fold"), out.size, *[np.int64(n) for n in numbers], x, out)


@cache
def kernel_source(dtype: str, axes: int) -> str:
    """The source for elements of a dtype and windows along ``axes`` axes."""
    names = [f"{name}{k}" for name in ("size", "windows", "kernel", "stride", "dilate") for k in range(axes)]
    parameters = ["const long long count", *[f"const long long {n}" for n in names], f"const {STORED[dtype]} *in", f"{STORED[dtype]} *out"]
    # the coordinates of an element, last axis first; afterwards `rest` is the number of the image and channel
    body = ["long long rest = i;"]
    body += [f"const long long c{k} = rest % size{k}; rest /= size{k};" for k in range(axes - 1, -1, -1)]
    body.append(f"{C_TYPES[dtype]} sum = 0;")
    for k in range(axes):
        body.append(f"for (long long p{k} = 0; p{k} < kernel{k}; ++p{k}) {{")
        body.append(f"const long long w{k} = (c{k} - p{k} * dilate{k}) / stride{k}, left{k} = (c{k} - p{k} * dilate{k}) % stride{k};")
        # a window contains the element at this place of the kernel only if the distance is a multiple of the stride, and the window exists
        body.append(f"if (c{k} < p{k} * dilate{k} || left{k} || w{k} >= windows{k}) continue;")
    at = "rest"
    for k in range(axes):
        at = f"({at} * windows{k} + w{k})"
    for k in range(axes):
        at = f"({at} * kernel{k} + p{k})"
    body.append(f"sum += {'tf_float' if dtype in ENCODED else ''}(in[{at}]);")
    body += ["}"] * axes
    body.append(f"out[i] = {ENCODED.get(dtype, '')}(sum);")
    return each("tf_fold", parameters, "count", body)
