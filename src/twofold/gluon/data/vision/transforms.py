"""Image transformations: blocks for ``Dataset.transform_first``."""

from collections.abc import Sequence
from typing import Any

from ...block import Block
from ...hybrid_block import HybridBlock
from ...nn.containers import HybridSequential, Sequential
from ...signatures import DTypeLike, Functions, Operand

__all__ = ["Cast", "Compose", "Normalize", "ToTensor"]


class Compose(Sequential):
    """Applies transformations one after another. Consecutive hybrid ones are compiled into one graph.

    Parameters
    ----------
    transforms
        The transformations, which are blocks.

    Examples
    --------
    >>> import twofold as mx
    >>> from twofold.gluon.data.vision import transforms
    >>> image = mx.nd.full((4, 4, 3), 255, dtype="uint8")
    >>> float(transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])(image)[0, 0, 0].asscalar())
    2.0
    """

    def __init__(self, transforms: Sequence[Block]) -> None:
        super().__init__()
        # Runs of hybrid blocks become one stack each; the None at the end closes the last one.
        run: list[HybridBlock] = []
        for transform in [*transforms, None]:
            if isinstance(transform, HybridBlock):
                run.append(transform)
                continue
            if len(run) == 1:
                self.add(run[0])
            elif run:
                stack = HybridSequential()
                stack.add(*run)
                stack.hybridize()
                self.add(stack)
            run = []
            if transform is not None:
                self.add(transform)


class Cast(HybridBlock, arrays="nd"):
    """Casts images to a dtype.

    Parameters
    ----------
    dtype
        The dtype.
    """

    def __init__(self, dtype: DTypeLike = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape."""
        return F.Cast(x, dtype=self._dtype)


class ToTensor(HybridBlock, arrays="nd"):
    """Converts images (h, w, c) or (n, h, w, c) with values 0 to 255 to float32 (c, h, w) or (n, c, h, w) with values 0 to 1."""

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image with channels first."""
        # Negative axes, so that single images and batches take the same path.
        first = F.swapaxes(F.swapaxes(x, dim1=-1, dim2=-3), dim1=-1, dim2=-2)
        return F.Cast(first, dtype="float32") / 255.0


class Normalize(HybridBlock, arrays="nd"):
    """Computes ``(image − mean) / std`` for each channel of images (…, c, h, w).

    Parameters
    ----------
    mean, std
        One number per channel, or one for all channels.
    """

    def __init__(self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0) -> None:
        super().__init__()
        self._mean = mean
        self._std = std

    def hybrid_forward(self, F: Functions, x: Operand) -> Operand:
        """The image, with the same shape."""
        return F.broadcast_div(F.broadcast_sub(x, _per_channel(F, self._mean)), _per_channel(F, self._std))


def _per_channel(F: Functions, values: float | Sequence[float]) -> Any:
    """The numbers as an array (c, 1, 1)."""
    numbers = [values] if isinstance(values, (int, float)) else list(values)
    return F.concat(*[F.full((1, 1, 1), float(v)) for v in numbers], dim=0)
