"""What the networks are trained on, and how; read by Python 3.9 too, for MXNet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

WORDS, FEATURES, FIELDS, NEGATIVES, LATENT = 10_000, 100_000, 39, 5, 100


@dataclass(frozen=True)
class Task:
    """A network's inputs and optimizer.

    Attributes
    ----------
    title
        What the table says of it.
    arrays
        Shapes of the inputs, integers with their limit, and last the labels.
    rate, momentum
        Of stochastic gradient descent; without momentum, and a ``beta``, of Adam.
    beta
        Adam's first beta.
    tolerance
        Largest relative difference of the libraries' losses.
    """

    title: str
    arrays: tuple[tuple[tuple[int, ...], int | None], ...]
    rate: float
    momentum: float = 0.0
    beta: float | None = None
    tolerance: float = 1e-2

    def draw(self) -> list[np.ndarray]:
        """The inputs and labels: normal numbers in float32, or integers below the limit in int32."""
        rng = np.random.RandomState(0)
        draws = [rng.standard_normal(shape) if limit is None else rng.randint(limit, size=shape) for shape, limit in self.arrays]
        return [a.astype("float32" if a.dtype == np.float64 else "int32") for a in draws]

    def optimizer(self) -> tuple[str, dict[str, Any]]:
        """Its name in Gluon, and its options there."""
        if self.beta is not None:
            return "adam", {"learning_rate": self.rate, "beta1": self.beta}
        return "sgd", {"learning_rate": self.rate, "momentum": self.momentum} if self.momentum else {"learning_rate": self.rate}


_IMAGES = ((8, 3, 128, 128), None), ((8,), 1000)
TASKS = {
    "resnet18": Task("ResNet-18, 8 images of 128x128", _IMAGES, 1e-4, momentum=0.9),
    # its steps enlarge roundings: after 20 steps torch's losses in float32 and in float64 are 2.2 % apart, Twofold's in float32 1.7 %
    "resnet50": Task("ResNet-50, 8 images of 128x128", _IMAGES, 1e-6, momentum=0.9, tolerance=5e-2),
    "mobilenet": Task("MobileNet, 8 images of 128x128", _IMAGES, 1e-5, momentum=0.9),
    "lstm": Task("language model, LSTM of 2x256, 32 texts of 35 words", (((35, 32), WORDS), ((35, 32), WORDS)), 1.0),
    "transformer": Task("encoder, 6 layers of 256, 4 heads, 16 texts of 128 words", (((16, 128), WORDS), ((16,), 10)), 1e-4, beta=0.9),
    "unet": Task("U-Net, 8 images of 96x96", (((8, 3, 96, 96), None), ((8, 96, 96), 2)), 0.01, momentum=0.9),
    "dcgan": Task("DCGAN, 16 images of 64x64", (((16, LATENT, 1, 1), None), ((16, 3, 64, 64), None)), 1e-5, beta=0.5),
    "word2vec": Task("word2vec, 64 words, 5 negatives", (((64,), WORDS), ((64, 1 + NEGATIVES), WORDS), ((64, 1 + NEGATIVES), 2)), 20.0),
    "fm": Task("factorization machine, 64 rows of 39 fields", (((64, FIELDS), FEATURES), ((64,), 2)), 1.0),
}
