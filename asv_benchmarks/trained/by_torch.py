"""The networks in torch, with their parameters in the order of the Gluon ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F

from .inputs import FEATURES, LATENT, TASKS, WORDS

if TYPE_CHECKING:
    import numpy as np


def _convolution(n: int, out: int, kernel: int, stride: int = 1, bias: bool = False, relu: bool = True, groups: int = 1) -> nn.Sequential:
    """A convolution with batch normalization and, by default, ReLU."""
    layers: list[nn.Module] = [nn.Conv2d(n, out, kernel, stride, kernel // 2, groups=groups, bias=bias), nn.BatchNorm2d(out)]
    return nn.Sequential(*layers, *([nn.ReLU(inplace=True)] if relu else []))


class Residual(nn.Module):
    """A block of a ResNet: two 3x3 convolutions, or three, of which the middle one is 3x3."""

    def __init__(self, n: int, out: int, stride: int, deep: bool) -> None:
        super().__init__()
        if deep:
            parts = _convolution(n, out // 4, 1, stride, bias=True), _convolution(out // 4, out // 4, 3)
            self.body = nn.Sequential(*parts, _convolution(out // 4, out, 1, bias=True, relu=False))
        else:
            self.body = nn.Sequential(_convolution(n, out, 3, stride), _convolution(out, out, 3, relu=False))
        self.shortcut = _convolution(n, out, 1, stride, relu=False) if stride > 1 or n != out else nn.Identity()

    def forward(self, x: Any) -> Any:
        return F.relu(self.body(x) + self.shortcut(x), inplace=True)


def _resnet(deep: bool) -> nn.Module:
    layers: list[nn.Module] = [_convolution(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)]
    n = 64
    for k, count in enumerate((3, 4, 6, 3) if deep else (2, 2, 2, 2)):
        out = (256 if deep else 64) << k
        for j in range(count):
            layers.append(Residual(n, out, 2 if k > 0 and j == 0 else 1, deep))
            n = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n, 1000))


def mobilenet() -> nn.Module:
    """MobileNet: depthwise 3x3 convolutions and pointwise ones."""
    layers, n = [_convolution(3, 32, 3, 2)], 32
    for out, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)):
        layers += [_convolution(n, n, 3, stride, groups=n), _convolution(n, out, 1)]
        n = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n, 1000))


class Lstm(nn.Module):
    """Scores of the words that follow, (time, texts, WORDS)."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm, self.scores = nn.Embedding(WORDS, 256), nn.LSTM(256, 256, 2), nn.Linear(256, WORDS)

    def forward(self, x: Any) -> Any:
        return self.scores(self.lstm(self.embedding(x))[0])


class Transformer(nn.Module):
    """Six layers of an encoder, the mean over positions, and scores of ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 256)
        self.layers = nn.Sequential(*[nn.TransformerEncoderLayer(256, 4, 1024, dropout=0, batch_first=True) for _ in range(6)])
        self.scores = nn.Linear(256, 10)

    def forward(self, x: Any) -> Any:
        return self.scores(self.layers(self.embedding(x)).mean(1))


class UNet(nn.Module):
    """Three levels of 32, 64 and 128 channels around 256: scores of two classes at each place."""

    def __init__(self) -> None:
        super().__init__()

        def pair(n: int, channels: int) -> nn.Sequential:
            return nn.Sequential(_convolution(n, channels, 3), _convolution(channels, channels, 3))

        self.down1, self.down2, self.down3, self.bottom = pair(3, 32), pair(32, 64), pair(64, 128), pair(128, 256)
        self.grow3, self.up3 = nn.ConvTranspose2d(256, 128, 2, 2), pair(256, 128)
        self.grow2, self.up2 = nn.ConvTranspose2d(128, 64, 2, 2), pair(128, 64)
        self.grow1, self.up1 = nn.ConvTranspose2d(64, 32, 2, 2), pair(64, 32)
        self.scores = nn.Conv2d(32, 2, 1)

    def forward(self, x: Any) -> Any:
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.down3(F.max_pool2d(b, 2))
        x = self.up3(torch.cat([c, self.grow3(self.bottom(F.max_pool2d(c, 2)))], 1))
        x = self.up2(torch.cat([b, self.grow2(x)], 1))
        return self.scores(self.up1(torch.cat([a, self.grow1(x)], 1)))


class SkipGram(nn.Module):
    """Scores of words beside other words, (n, words)."""

    def __init__(self) -> None:
        super().__init__()
        self.centers, self.others = (nn.Embedding(WORDS, 100, sparse=True) for _ in range(2))

    def forward(self, centers: Any, others: Any) -> Any:
        return (self.centers(centers)[:, None] * self.others(others)).sum(-1)


class Machine(nn.Module):
    """Scores (n,) of a factorization machine of the second order."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.factors = nn.Embedding(FEATURES, 1, sparse=True), nn.Embedding(FEATURES, 16, sparse=True)

    def forward(self, x: Any) -> Any:
        v = self.factors(x)
        return self.linear(x).sum((1, 2)) + 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(-1)


def _generator() -> nn.Module:
    layers, n = [], LATENT
    for channels, stride, pad in ((512, 1, 0), (256, 2, 1), (128, 2, 1), (64, 2, 1)):
        layers += [nn.ConvTranspose2d(n, channels, 4, stride, pad, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]
        n = channels
    return nn.Sequential(*layers, nn.ConvTranspose2d(n, 3, 4, 2, 1, bias=False), nn.Tanh())


def _discriminator() -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
    n = 64
    for channels in (128, 256, 512):
        layers += [nn.Conv2d(n, channels, 4, 2, 1, bias=False), nn.BatchNorm2d(channels), nn.LeakyReLU(0.2, inplace=True)]
        n = channels
    return nn.Sequential(*layers, nn.Conv2d(n, 1, 4, bias=False))


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "resnet18": partial(_resnet, deep=False),
    "resnet50": partial(_resnet, deep=True),
    "mobilenet": mobilenet,
    "lstm": Lstm,
    "transformer": Transformer,
    "unet": UNet,
    "word2vec": SkipGram,
    "fm": Machine,
}


class Single:
    """A network with one loss.

    Parameters
    ----------
    name
        The network.
    compiled
        Whether ``torch.compile`` compiles it.
    """

    def __init__(self, name: str, compiled: bool = False) -> None:
        torch.manual_seed(0)
        self.task = TASKS[name]
        *self.x, y = (torch.tensor(a) for a in self.task.draw())
        self.nets, self.binary = self.made(name), name in ("word2vec", "fm", "dcgan")
        self.y = y.float() if self.binary else y.long()
        self.optimizers = [self._optimizer(net) for net in self.nets]
        self.calls = [torch.compile(net) for net in self.nets] if compiled else self.nets

    def made(self, name: str) -> list[nn.Module]:
        """The modules."""
        return [NETWORKS[name]()]

    def _optimizer(self, net: nn.Module) -> torch.optim.Optimizer:
        if self.task.beta is not None:
            return torch.optim.Adam(net.parameters(), lr=self.task.rate, betas=(self.task.beta, 0.999))
        return torch.optim.SGD(net.parameters(), lr=self.task.rate, momentum=self.task.momentum)

    def take(self, weights: list[np.ndarray]) -> None:
        """Copy weights, in the order of the layers."""
        with torch.no_grad():
            for own, given in zip([p for net in self.nets for p in net.parameters()], weights, strict=True):
                own.copy_(torch.tensor(given))

    def step(self) -> list[float]:
        """A step of training; returns the loss before it."""
        scores = self.calls[0](*self.x)
        loss = F.binary_cross_entropy_with_logits(scores, self.y) if self.binary else F.cross_entropy(*self._by_class(scores))
        self.optimizers[0].zero_grad()
        loss.backward()
        self.optimizers[0].step()
        return [float(loss.detach())]

    def _by_class(self, scores: Any) -> tuple[Any, Any]:
        """Scores and labels with all positions of texts in one row."""
        return (scores.flatten(0, 1), self.y.flatten()) if scores.ndim == 3 else (scores, self.y)


class Pair(Single):
    """DCGAN: a step of the discriminator and one of the generator, as `Single`."""

    def made(self, name: str) -> list[nn.Module]:
        """Generator and discriminator."""
        return [_generator(), _discriminator()]

    def step(self) -> list[float]:
        """A step of training; returns the losses of the discriminator and of the generator."""
        make, judge = self.calls
        ones, zeros = torch.ones(len(self.y), 1, 1, 1), torch.zeros(len(self.y), 1, 1, 1)
        made = make(*self.x)
        loss_of = F.binary_cross_entropy_with_logits
        loss = loss_of(judge(self.y), ones) + loss_of(judge(made.detach()), zeros)
        self.optimizers[1].zero_grad()
        loss.backward()
        self.optimizers[1].step()
        other = loss_of(judge(made), ones)
        self.optimizers[0].zero_grad()
        other.backward()
        self.optimizers[0].step()
        return [float(loss.detach()), float(other.detach())]


def trained(name: str, compiled: bool = False) -> Single:
    """A network that is ready to be trained."""
    return Pair(name, compiled) if name == "dcgan" else Single(name, compiled)
