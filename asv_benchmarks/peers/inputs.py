"""The arrays of each item, which depend only on its name and size, so that every process draws the same ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: Classes of softmax cross-entropy.
CLASSES = 100
#: Layers, batch size and width of the perceptron for the memory benchmark: 30 activations of 16 MB.
DEPTH, DEEP_BATCH, DEEP_WIDTH = 30, 40960, 100
#: Image size of a ResNet's 3x3 convolutions by number of channels, and batch size.
HEIGHT = {64: 56, 128: 28, 256: 14}
IMAGES = 8
#: Time steps, batch size, units and layers of the LSTM.
TIME, BATCH, UNITS, LAYERS = 35, 32, 200, 2
#: Row length of softmax and layer norm; channels and image size of batch norm.
COLUMNS, CHANNELS, SIDE = 4096, 256, 28
#: Blocks and width of ResNet-50's stages; image size; batch size up to which images and stages are small, for smoke tests.
RESNET, PIXELS, FEW = ((3, 64), (4, 128), (6, 256), (3, 512)), 224, 4
#: Learning rate of SGD.
LEARNING_RATE = 0.01

_f = np.float32


def _normal(draw: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (draw.standard_normal(shape) * scale).astype(_f)


def _uniform(draw: np.random.Generator, low: float, high: float, size: int) -> np.ndarray:
    return draw.uniform(low, high, size).astype(_f)


def _black_scholes(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    return {"price": _uniform(draw, 50, 150, size), "strike": _uniform(draw, 50, 150, size), "time": _uniform(draw, 0.1, 2, size)}


def _vector(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    return {"x": _normal(draw, size)}


def _adam(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    zero = np.zeros(size, _f)
    return {"gradient": _normal(draw, size), "weight": _normal(draw, size), "mean": zero, "square": zero.copy()}


def _cross_entropy(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    rows = size // CLASSES
    return {"x": _normal(draw, rows, CLASSES), "label": draw.integers(0, CLASSES, rows)}


def _dense(draw: np.random.Generator, batch: int, widths: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Input, labels, and weights (out, in) with biases of dense layers."""
    arrays = {"x": _normal(draw, batch, widths[0]), "label": draw.integers(0, widths[-1], batch)}
    for k, (inputs, outputs) in enumerate(zip(widths[:-1], widths[1:]), 1):  # noqa: B905, RUF007  (Python 3.9 reads this)
        arrays[f"w{k}"] = _normal(draw, outputs, inputs, scale=inputs**-0.5)
        arrays[f"b{k}"] = np.zeros(outputs, _f)
    return arrays


def _perceptron(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    return _dense(draw, size, (64, 32, 10))


def _mlp(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    return _dense(draw, size, (784, 128, 64, 10))


def _lenet(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    arrays = {"x": _normal(draw, size, 1, 28, 28), "label": draw.integers(0, 10, size)}
    for k, shape in enumerate([(20, 1, 5, 5), (50, 20, 5, 5), (500, 800), (10, 500)], 1):
        arrays[f"w{k}"] = _normal(draw, *shape, scale=float(np.prod(shape[1:])) ** -0.5)
        arrays[f"b{k}"] = np.zeros(shape[0], _f)
    return arrays


def _lstm(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    """Input (time, batch, units) and, for each layer, ``wx``, ``wh`` (4 units, units), gates in the order i, f, g, o, ``bx``, ``bh``."""
    arrays = {"x": _normal(draw, TIME, size, UNITS)}
    for k in range(LAYERS):
        for name in ("wx", "wh"):
            arrays[f"{name}{k}"] = _normal(draw, 4 * UNITS, UNITS, scale=0.05)
        for name in ("bx", "bh"):
            arrays[f"{name}{k}"] = np.zeros(4 * UNITS, _f)
    return arrays


def _convolution(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    shape = (IMAGES, size, HEIGHT[size], HEIGHT[size])
    weight = _normal(draw, size, size, 3, 3, scale=(9 * size) ** -0.5)
    return {"x": _normal(draw, *shape), "w": weight, "dout": _normal(draw, *shape)}


def _deep(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    arrays = {"x": _normal(draw, DEEP_BATCH, DEEP_WIDTH)}
    arrays.update((f"w{k}", _normal(draw, DEEP_WIDTH, DEEP_WIDTH, scale=DEEP_WIDTH**-0.5)) for k in range(size))
    return arrays


def _rows(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    return {"x": _normal(draw, -(-size // COLUMNS), COLUMNS)}


def _layer_norm(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    x, dout = (_rows(draw, size)["x"] for _ in range(2))
    return {"x": x, "gamma": 1 + _normal(draw, COLUMNS, scale=0.1), "beta": _normal(draw, COLUMNS, scale=0.1), "dout": dout}


def _batch_norm(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    """Images with `CHANNELS` channels of size `SIDE`."""
    shape = (-(-size // (CHANNELS * SIDE**2)), CHANNELS, SIDE, SIDE)
    x, dout = (_normal(draw, *shape) for _ in range(2))
    return {"x": x, "gamma": 1 + _normal(draw, CHANNELS, scale=0.1), "beta": _normal(draw, CHANNELS, scale=0.1), "dout": dout}


def _adam_many(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    """Gradients ``g0`` … bounded away from 0, and weights ``w0`` …, with a ResNet's shapes and at least ``size`` elements."""
    shapes: list[tuple[int, ...]] = []
    while sum(int(np.prod(s)) for s in shapes) < size:
        shapes += [(64, 64), (64,), (64,), (256, 64), (256,), (128, 128, 3, 3), (128,), (512, 256), (512,)]
    grads = [_normal(draw, *shape) for shape in shapes]
    arrays = {f"g{k}": g + np.copysign(_f(0.1), g) for k, g in enumerate(grads)}
    arrays.update((f"w{k}", _normal(draw, *shape)) for k, shape in enumerate(shapes))
    return arrays


def _matrices(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    return {"a": _normal(draw, size, size), "b": _normal(draw, size, size, scale=size**-0.5)}


def _resnet(draw: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    """Images (small ones for up to `FEW`), labels, and the weights that `resnet_shapes` lists."""
    pixels = PIXELS if size > FEW else PIXELS // 7
    arrays = {"x": _normal(draw, size, 3, pixels, pixels), "label": draw.integers(0, 1000, size)}
    for k, shape in enumerate(resnet_shapes(stages(size))):
        arrays[f"w{k}"] = _normal(draw, *shape, scale=(2 / float(np.prod(shape[1:]))) ** 0.5 if len(shape) == 4 else 0.01)
    return arrays


def stages(images: int) -> tuple[tuple[int, int], ...]:
    """Blocks and width of the stages: ResNet-50's, or one block each for up to `FEW` images."""
    return RESNET if images > FEW else tuple((1, width) for _, width in RESNET)


def resnet_shapes(stages: tuple[tuple[int, int], ...]) -> list[tuple[int, ...]]:
    """Shapes of a ResNet's weights without those of normalization: stem, bottlenecks, dense layer.

    In each bottleneck the three convolutions precede that of the shortcut. Source: He et al., 2015, with the stride in the 3x3
    convolution.
    """
    shapes: list[tuple[int, ...]] = [(64, 3, 7, 7)]
    channels = 64
    for blocks, width in stages:
        for k in range(blocks):
            shapes += [(width, channels, 1, 1), (width, width, 3, 3), (4 * width, width, 1, 1)]
            if k == 0:
                shapes.append((4 * width, channels, 1, 1))
            channels = 4 * width
    return [*shapes, (1000, channels)]


_DRAWN: dict[str, Callable[[np.random.Generator, int], dict[str, np.ndarray]]] = {
    "add": _vector,
    "add_recorded": _vector,
    "black_scholes": _black_scholes,
    "gelu": _vector,
    "clip": _vector,
    "adam": _adam,
    "cross_entropy": _cross_entropy,
    "new_chain": _vector,
    "perceptron": _perceptron,
    "mlp": _mlp,
    "lenet": _lenet,
    "lstm": _lstm,
    "convolution": _convolution,
    "deep": _deep,
    "copy": _vector,
    "softmax": _rows,
    "layer_norm": _layer_norm,
    "layer_norm_gradient": _layer_norm,
    "batch_norm_gradient": _batch_norm,
    "adam_many": _adam_many,
    **{f"matmul_{dtype}": _matrices for dtype in ("float32", "float16", "bfloat16")},
    **{f"resnet50_{dtype}": _resnet for dtype in ("float16", "bfloat16")},
}


def drawn(work: str, size: int) -> dict[str, np.ndarray]:
    """Draw the arrays of an item, by name: float32, and int64 for labels.

    Parameters
    ----------
    work
        The workload: a key of the table above.
    size
        Elements of a chain, batch size of a network, channels of a convolution, or layers of the deep perceptron.
    """
    return _DRAWN[work](np.random.default_rng(7), size)


def parameters(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The trainable ones, weights and biases, in order."""
    return {name: value for name, value in arrays.items() if name[0] in "wb"}
