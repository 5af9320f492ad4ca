"""ResNet-50 in PyTorch, layer for layer as in `resnet`, and its training with `torch.autocast` and channels last, as is usual there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional as tf

from asv_benchmarks.peers import inputs
from asv_benchmarks.peers.libraries.by_torch import compiled_anew

#: Momentum of stochastic gradient descent.
MOMENTUM = 0.9


def convolved(channels: int, kernel: int, stride: int, inner: int) -> Iterator[nn.Module]:
    """A convolution without bias, padded to keep height and width except for its stride, and batch norm."""
    yield nn.Conv2d(inner, channels, kernel, stride, kernel // 2, bias=False)
    yield nn.BatchNorm2d(channels)


class Bottleneck(nn.Module):
    """Three convolutions and a shortcut."""

    def __init__(self, inner: int, width: int, stride: int, is_first: bool) -> None:
        super().__init__()
        first, second = convolved(width, 1, 1, inner), convolved(width, 3, stride, width)
        self.body = nn.Sequential(*first, nn.ReLU(), *second, nn.ReLU(), *convolved(4 * width, 1, 1, width))
        self.past = nn.Sequential(*(convolved(4 * width, 1, stride, inner) if is_first else ()))

    def forward(self, x: Any) -> Any:
        """The output: (n, 4 width, h / stride, w / stride)."""
        return tf.relu(self.body(x) + self.past(x))


def resnet(stages: tuple[tuple[int, int], ...]) -> nn.Module:
    """Images (n, 3, h, w) to (n, 1000), through stages with the given numbers of blocks and widths."""
    layers = [*convolved(64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for stage, (blocks, width) in enumerate(stages):
        for k in range(blocks):
            layers.append(Bottleneck(inner, width, 2 if stage and not k else 1, not k))
            inner = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, 1000))


def trained_resnet(arrays: dict[str, Any], dtype: Any, device: str, is_compiled: bool) -> tuple[Callable[[], Any], Any]:
    """A training step, and the untrained network's output (n, 1000)."""
    net = resnet(inputs.stages(len(arrays["x"])))
    weights = [p for p in net.parameters() if p.ndim > 1]
    with torch.no_grad():
        for p, value in zip(weights, inputs.parameters(arrays).values(), strict=True):
            p.copy_(torch.from_numpy(value))
        nn.init.zeros_(net[-1].bias)
    net = net.to(device, memory_format=torch.channels_last).train()
    x = torch.from_numpy(arrays["x"]).to(device, dtype, memory_format=torch.channels_last)
    label = torch.from_numpy(arrays["label"]).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=inputs.LEARNING_RATE, momentum=MOMENTUM)
    with torch.no_grad(), torch.autocast(device, dtype):
        untrained = net(x)
    forward = compiled_anew(net) if is_compiled else net

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype):
            loss = tf.cross_entropy(forward(x), label)
        loss.backward()
        optimizer.step()
        return loss

    return step, untrained
