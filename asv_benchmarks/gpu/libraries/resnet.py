"""ResNet-50 from Gluon layers, and its training in 16-bit floats. Source: He et al., 2015, with the stride in the 3x3 convolution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from asv_benchmarks.peers import inputs
from twofold import autograd, gluon, nd
from twofold.gluon import nn

#: Momentum of stochastic gradient descent.
MOMENTUM = 0.9


def convolved(channels: int, kernel: int, stride: int, inner: int) -> Iterator[Any]:
    """A convolution without bias, padded to keep height and width except for its stride, and batch norm."""
    yield nn.Conv2D(channels, kernel, stride, kernel // 2, use_bias=False, in_channels=inner)
    yield nn.BatchNorm(in_channels=channels)


class Bottleneck(gluon.HybridBlock):
    """Three convolutions and a shortcut.

    Parameters
    ----------
    inner, width
        Channels of the data and of the middle convolution; the output has four times as many.
    stride
        Of the middle convolution.
    is_first
        Whether the shortcut has a convolution, since the shape changes.
    """

    def __init__(self, inner: int, width: int, stride: int, is_first: bool) -> None:
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(*convolved(width, 1, 1, inner), nn.Activation("relu"))
        self.body.add(*convolved(width, 3, stride, width), nn.Activation("relu"))
        self.body.add(*convolved(4 * width, 1, 1, width))
        self.past = nn.HybridSequential()
        if is_first:
            self.past.add(*convolved(4 * width, 1, stride, inner))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The output: (n, 4 width, h / stride, w / stride)."""
        return F.relu(self.body(x) + self.past(x))


def resnet(stages: tuple[tuple[int, int], ...]) -> Any:
    """Images (n, 3, h, w) to (n, 1000), through stages with the given numbers of blocks and widths."""
    net = nn.HybridSequential()
    net.add(*convolved(64, 7, 2, 3), nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))
    inner = 64
    for stage, (blocks, width) in enumerate(stages):
        for k in range(blocks):
            net.add(Bottleneck(inner, width, 2 if stage and not k else 1, not k))
            inner = 4 * width
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(1000, in_units=inner))
    return net


def trained_resnet(arrays: dict[str, Any], dtype: str, ctx: Any) -> tuple[Callable[[], Any], Any]:
    """A training step, and the untrained network's output (n, 1000)."""
    net = resnet(inputs.stages(len(arrays["x"])))
    net.initialize(ctx=ctx)
    weights = [p for name, p in net.collect_params().items() if name.endswith("weight")]
    for p, value in zip(weights, inputs.parameters(arrays).values(), strict=True):
        p.set_data(nd.array(value, ctx=ctx))
    net.cast(dtype)
    net.apply(lambda block: block.cast("float32") if isinstance(block, nn.BatchNorm) else None)
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    x, label = nd.array(arrays["x"], ctx=ctx, dtype=dtype), nd.array(arrays["label"], ctx=ctx)
    options = {"learning_rate": inputs.LEARNING_RATE, "momentum": MOMENTUM, "multi_precision": True}
    trainer = gluon.Trainer(net.collect_params(), "sgd", options)
    with autograd.train_mode():
        untrained = net(x)
    untrained.wait_to_read()

    def step() -> Any:
        with autograd.record():
            loss = loss_of(net(x).astype("float32"), label)
        loss.backward()
        trainer.step(len(x))
        return loss

    return step, untrained
