"""Transformations of images, and random ones by what does not depend on the draw or by Python's generator."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.oracle_programs import fails


def _images(mx: Any, dtype: str = "uint8") -> Any:
    draw = np.random.RandomState(3)
    numbers = draw.randint(0, 256, (2, 9, 13, 3))
    return mx.nd.array(numbers / 255 if dtype == "float32" else numbers, dtype=dtype)


def resized(mx: Any) -> Any:
    T, images = mx.gluon.data.vision.transforms, _images(mx, "float32")
    blocks = [T.Resize(4), T.Resize((4, 3)), T.Resize(4, keep_ratio=True), T.Resize((4, 3), True, 0), T.Resize((20, 15), interpolation=2)]
    results = [block(x) for block in blocks for x in (images, images[0])]
    for block in blocks:
        block.hybridize()
    return results, [block(images).shape for block in blocks], fails(lambda: T.Resize(0)(images))


def resized_integers(mx: Any) -> Any:
    """Signed bytes are resized as bytes without a sign; of other integers the nearest pixels are taken."""
    T = mx.gluon.data.vision.transforms
    signed = [
        T.Resize(size, keep, kind)(_images(mx, "int8")) for size, keep, kind in (((4, 3), False, 1), (5, True, 1), ((4, 3), False, 0))
    ]
    return signed, T.Resize((7, 4), interpolation=0)(_images(mx, "int32"))


def normalized(mx: Any) -> Any:
    """Computed in single precision; integers are truncated and wrap around."""
    T, results = mx.gluon.data.vision.transforms, []
    for dtype in ("uint8", "int8", "int32", "float16", "float32", "float64"):
        x = mx.nd.array(np.arange(0, 120, 9).reshape(1, 1, -1).repeat(3, 0), dtype=dtype)
        for block in (T.Normalize(), T.Normalize(50.5, 0.3), T.Normalize((0.5, 0.25, -1), (0.5, 0.25, 2)), T.Normalize((1, 2, 3), 7)):
            results.append(block(x))
            block.hybridize()
            results.append(block(mx.nd.stack(x, x)))
    return results, [fails(lambda b=b: b(x).asnumpy()) for b in (T.Normalize((1, 2)), T.Normalize(0, (1, 2, 3, 4)))]


def arrays_of_numpy(mx: Any) -> Any:
    """Arrays of `mx.np` are cut and resized, and remain such; parts of NumPy's own are arrays of NumPy."""
    T, x = mx.gluon.data.vision.transforms, _images(mx)[0]
    random.seed(3)
    own = T.CenterCrop(3)(x.asnumpy())
    mx.npx.set_np()
    try:
        x = x.as_np_ndarray()
        blocks = [
            T.CenterCrop((4, 3)),
            T.RandomResizedCrop(4, interpolation=0),
            T.Compose([T.Resize(5), T.ToTensor(), T.Normalize(0.5, 0.25)]),
        ]
        found = [block(x) for block in blocks]
        return [isinstance(y, mx.np.ndarray) for y in found], [y.as_nd_ndarray() for y in found], isinstance(own, np.ndarray), own
    finally:
        mx.npx.reset_np()


def cropped(mx: Any) -> Any:
    T, images = mx.gluon.data.vision.transforms, _images(mx)
    parts = [T.CropResize(1, 2, 5, 4), T.CropResize(1, 2, 5, 4, (10, 8), 0), T.CropResize(1, 2, 5, 4, 3, 0)]
    results = [block(x) for block in parts for x in (images, images[0])]
    image = _images(mx, "float32")[0]
    centers = [T.CenterCrop(n, k)(image) for n, k in [(5, 1), ((4, 2), 1), ((26, 18), 0), ((16, 3), 1), (20, 9), ((5, 12), 1)]]
    return results, centers, [fails(lambda b=b: b(images)) for b in (T.CropResize(9, 2, 5, 4), T.CropResize(0, 0, 14, 2))]


def cropped_at_random(mx: Any) -> Any:
    T, image = mx.gluon.data.vision.transforms, _images(mx, "float32")[0]
    random.seed(7)
    blocks = [T.RandomResizedCrop(4), T.RandomResizedCrop((6, 2), (0.5, 0.9))]
    blocks += [T.RandomResizedCrop(4, 0.7, (1, 1)), T.RandomResizedCrop(5, (2, 2))]
    return [block(image) for _ in range(4) for block in blocks]


def rotated(mx: Any) -> Any:
    T, images = mx.gluon.data.vision.transforms, _images(mx, "float32").transpose((0, 3, 1, 2))[:, :2]
    modes = [(False, False), (True, False), (False, True)]
    results = [T.Rotate(angle, *mode)(images[0]) for angle in (0, 30, -110) for mode in modes] + [T.Rotate(20)(images)]
    whole = images.astype("uint8")
    failing = [lambda: T.Rotate(1)(whole), lambda: T.Rotate(1, True, True)(images), lambda: T.RandomRotation((3, 3), True)]
    failing += [lambda: T.RandomRotation((-1, 1), rotate_with_proba=2), lambda: T.RandomRotation((-1, 1))(whole)]
    return results, [fails(action) for action in failing], T.RandomRotation((-9, 9), rotate_with_proba=0)(whole)


def rotated_at_random(mx: Any) -> Any:
    T, images = mx.gluon.data.vision.transforms, _images(mx, "float32").transpose((0, 3, 1, 2))[:, :1]
    np.random.seed(5)  # noqa: NPY002  (what both draw from)
    return [T.RandomRotation((-40, 40), *mode)(x) for mode in ((), (True,)) for x in (images[0], images)]


def unchanged(mx: Any) -> Any:
    T, image = mx.gluon.data.vision.transforms, _images(mx)[0]
    same = [T.RandomBrightness(0), T.RandomContrast(0), T.RandomLighting(0), T.RandomApply(T.Cast("float32"), 0)]
    changed = T.RandomApply(T.Cast("float32"), 1)(image), T.RandomApply(lambda x: x + 1, 1)(image)
    return [bool((block(image) == image).min().asscalar()) for block in same], changed


def chained(mx: Any) -> Any:
    T, image = mx.gluon.data.vision.transforms, _images(mx)[0]
    block = T.Compose([T.Resize(8, interpolation=0), T.CenterCrop(6), T.ToTensor(), T.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))])
    data = mx.gluon.data.ArrayDataset(_images(mx), mx.nd.arange(2)).transform_first(block)
    batch = next(iter(mx.gluon.data.DataLoader(data, 2)))
    return block(image), batch[0].shape, batch[0][0, 0], list(block._children)


def draws_of_colors(mx: Any) -> Any:
    """Limits and means of factors over many draws, to one digit; a constant image shows the factor."""
    T = mx.gluon.data.vision.transforms
    mx.random.seed(1)
    image = mx.nd.ones((1, 1, 3)) * mx.nd.array([100, 100, 100])
    factors = [float(T.RandomBrightness(0.5)(image)[0, 0, 0].asscalar()) / 100 for _ in range(600)]
    ramp = mx.nd.array(np.arange(12).reshape(1, 4, 3))
    flips = [float(block(ramp)[0, 0, 0].asscalar()) > 0 for block in [T.RandomFlipLeftRight()] for _ in range(600)]
    upright = mx.nd.array(np.arange(12).reshape(4, 1, 3))
    falls = [float(T.RandomFlipTopBottom()(upright)[0, 0, 0].asscalar()) > 0 for _ in range(600)]
    shares = [abs(np.mean(factors) - 1) < 0.06, min(factors) > 0.499, max(factors) < 1.501, min(factors) < 0.55, max(factors) > 1.45]
    return [bool(s) for s in shares], [bool(abs(np.mean(v) - 0.5) < 0.08) for v in (flips, falls)]


def shapes_of_colors(mx: Any) -> Any:
    T, results = mx.gluon.data.vision.transforms, []
    mx.random.seed(2)
    for dtype in ("uint8", "float32"):
        image = _images(mx, dtype)[0]
        for block in (
            T.RandomContrast(0.4),
            T.RandomSaturation(0.4),
            T.RandomHue(0.2),
            T.RandomLighting(0.1),
            T.RandomColorJitter(0.1, 0.2, 0.3, 0.1),
        ):
            plain = block(image)
            block.hybridize()
            again = block(image)
            results.append([plain.shape, str(np.dtype(plain.dtype)), again.shape, bool((plain != image).max().asscalar())])
    return results
