"""Times the forward pass of the model zoo's networks, hybridized, on 224x224 images (Inception: 299x299).

Run with Twofold:          python asv_benchmarks/model_zoo_forward.py twofold 1 resnet18_v1 mobilenet1_0
Run with the real MXNet:   ../shared/tools/oracle asv_benchmarks/model_zoo_forward.py mxnet 1 resnet18_v1 mobilenet1_0
"""

from __future__ import annotations

import importlib
import sys
import time

import numpy as np


def seconds(mx, name: str, batch: int, runs: int = 7) -> list[float]:
    """Times of runs after two that warm up."""
    side = 299 if name.startswith("inception") else 224
    net = getattr(mx.gluon.model_zoo.vision, name)()
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    draw = np.random.RandomState(0)
    images = mx.nd.array(draw.standard_normal((batch, 3, side, side)).astype("float32"))
    found = []
    for _ in range(runs + 2):
        start = time.perf_counter()
        net(images).wait_to_read()
        found.append(time.perf_counter() - start)
    return found[2:]


if __name__ == "__main__":
    package, size, *names = sys.argv[1:]
    for name in names:
        times = seconds(importlib.import_module(package), name, int(size))
        print(f"{name} x{size}: median {np.median(times) * 1e3:.1f} ms, minimum {min(times) * 1e3:.1f} ms", flush=True)
