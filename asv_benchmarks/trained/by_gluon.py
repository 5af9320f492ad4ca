"""The networks in Gluon; ``mx`` is Twofold or MXNet, whose Python 3.9 reads this too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .inputs import FEATURES, LATENT, TASKS, WORDS

if TYPE_CHECKING:
    import numpy as np


def resnet18(mx: Any) -> Any:
    """ResNet-18 of the model zoo."""
    return mx.gluon.model_zoo.vision.resnet18_v1()


def resnet50(mx: Any) -> Any:
    """ResNet-50 of the model zoo."""
    return mx.gluon.model_zoo.vision.resnet50_v1()


def mobilenet(mx: Any) -> Any:
    """MobileNet of the model zoo."""
    return mx.gluon.model_zoo.vision.mobilenet1_0()


def lstm(mx: Any) -> Any:
    """Scores of the words that follow, (time, texts, WORDS)."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Embedding(WORDS, 256), mx.gluon.rnn.LSTM(256, 2, input_size=256), mx.gluon.nn.Dense(WORDS, flatten=False))
    return net


def transformer(mx: Any) -> Any:
    """Six layers of an encoder, the mean over positions, and scores of ten classes."""
    nn, width, heads = mx.gluon.nn, 256, 4

    class Layer(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.projection, self.out = nn.Dense(3 * width, flatten=False), nn.Dense(width, flatten=False)
                self.first, self.second = nn.Dense(4 * width, flatten=False), nn.Dense(width, flatten=False)
                self.norm1, self.norm2 = nn.LayerNorm(), nn.LayerNorm()

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            parts = F.split(self.projection(x), num_outputs=3, axis=-1)
            q, k, v = (F.transpose(F.reshape(p, (0, 0, heads, -1)), (0, 2, 1, 3)) for p in parts)
            q, k, v = (F.reshape(p, (-3, 0, 0)) for p in (q, k, v))
            weights = F.softmax(F.batch_dot(q, k, transpose_b=True) / (width / heads) ** 0.5)
            h = F.transpose(F.reshape(F.batch_dot(weights, v), (-4, -1, heads, 0, 0)), (0, 2, 1, 3))
            x = self.norm1(x + self.out(F.reshape(h, (0, 0, -3))))
            return self.norm2(x + self.second(F.relu(self.first(x))))

    class Encoder(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.embedding, self.layers, self.scores = nn.Embedding(WORDS, width), nn.HybridSequential(), nn.Dense(10)
                self.layers.add(*[Layer() for _ in range(6)])

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return self.scores(F.mean(self.layers(self.embedding(x)), axis=1))

    return Encoder()


def unet(mx: Any) -> Any:
    """Three levels of 32, 64 and 128 channels around 256: scores of two classes at each place."""
    nn = mx.gluon.nn

    def pair(channels: int) -> Any:
        both = nn.HybridSequential()
        for _ in range(2):
            both.add(nn.Conv2D(channels, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        return both

    class UNet(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.down1, self.down2, self.down3, self.bottom = pair(32), pair(64), pair(128), pair(256)
                self.grow3, self.up3 = nn.Conv2DTranspose(128, 2, 2), pair(128)
                self.grow2, self.up2 = nn.Conv2DTranspose(64, 2, 2), pair(64)
                self.grow1, self.up1 = nn.Conv2DTranspose(32, 2, 2), pair(32)
                self.pool, self.scores = nn.MaxPool2D(), nn.Conv2D(2, 1)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            a = self.down1(x)
            b = self.down2(self.pool(a))
            c = self.down3(self.pool(b))
            x = self.up3(F.concat(c, self.grow3(self.bottom(self.pool(c)))))
            x = self.up2(F.concat(b, self.grow2(x)))
            return self.scores(self.up1(F.concat(a, self.grow1(x))))

    return UNet()


def word2vec(mx: Any) -> Any:
    """Scores of words beside other words, (n, words)."""

    class SkipGram(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.centers, self.others = (mx.gluon.nn.Embedding(WORDS, 100, sparse_grad=True) for _ in range(2))

        def hybrid_forward(self, F: Any, centers: Any, others: Any) -> Any:
            return F.sum(F.broadcast_mul(F.expand_dims(self.centers(centers), 1), self.others(others)), axis=-1)

    return SkipGram()


def fm(mx: Any) -> Any:
    """Scores (n,) of a factorization machine of the second order."""

    class Machine(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.linear = mx.gluon.nn.Embedding(FEATURES, 1, sparse_grad=True)
                self.factors = mx.gluon.nn.Embedding(FEATURES, 16, sparse_grad=True)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            v = self.factors(x)
            pairs = F.sum(F.square(F.sum(v, axis=1)) - F.sum(F.square(v), axis=1), axis=-1)
            return F.sum(self.linear(x), axis=(1, 2)) + 0.5 * pairs

    return Machine()


def generator(mx: Any) -> Any:
    """DCGAN's images (n, 3, 64, 64) of latent vectors (n, LATENT, 1, 1)."""
    nn, net = mx.gluon.nn, mx.gluon.nn.HybridSequential()
    for channels, stride, pad in ((512, 1, 0), (256, 2, 1), (128, 2, 1), (64, 2, 1)):
        net.add(nn.Conv2DTranspose(channels, 4, stride, pad, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.Conv2DTranspose(3, 4, 2, 1, use_bias=False), nn.Activation("tanh"))
    return net


def discriminator(mx: Any) -> Any:
    """DCGAN's scores (n, 1, 1, 1) of images."""
    nn, net = mx.gluon.nn, mx.gluon.nn.HybridSequential()
    net.add(nn.Conv2D(64, 4, 2, 1, use_bias=False), nn.LeakyReLU(0.2))
    for channels in (128, 256, 512):
        net.add(nn.Conv2D(channels, 4, 2, 1, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.2))
    net.add(nn.Conv2D(1, 4, 1, 0, use_bias=False))
    return net


NETWORKS = {f.__name__: f for f in (resnet18, resnet50, mobilenet, lstm, transformer, unet, word2vec, fm)}


def _learned(net: Any) -> list[Any]:
    return [p for p in net.collect_params().values() if p.grad_req != "null"]


class Single:
    """A network with one loss.

    Parameters
    ----------
    mx
        Twofold or MXNet.
    name
        The network.
    """

    def __init__(self, mx: Any, name: str) -> None:
        mx.random.seed(0)
        loss, task = mx.gluon.loss, TASKS[name]
        *self.x, self.y = (mx.nd.array(a) for a in task.draw())
        self.mx, self.net = mx, NETWORKS[name](mx)
        self.net.initialize(mx.init.Xavier())
        self.net(*self.x)
        self.net.hybridize(static_alloc=True, static_shape=True)
        axis = 1 if name == "unet" else -1
        self.loss = loss.SigmoidBCELoss() if name in ("word2vec", "fm") else loss.SoftmaxCELoss(axis=axis)
        self.loss.hybridize()
        self.learned = _learned(self.net)
        self.trainer = mx.gluon.Trainer(self.net.collect_params(), *task.optimizer())

    def weights(self) -> list[np.ndarray]:
        """All weights in the order of the layers."""
        return [p.data().asnumpy() for p in self.learned]

    def take(self, weights: list[np.ndarray]) -> None:
        """Copy weights."""
        for p, value in zip(self.learned, weights):  # noqa: B905  (Python 3.9 reads this)
            p.set_data(self.mx.nd.array(value))

    def step(self) -> list[float]:
        """A step of training; returns the loss before it."""
        with self.mx.autograd.record():
            loss = self.loss(self.net(*self.x), self.y).mean()
        loss.backward()
        self.trainer.step(1)
        self.mx.nd.waitall()
        return [float(loss.asscalar())]


class Pair(Single):
    """DCGAN: a step of the discriminator and one of the generator, as `Single`."""

    def __init__(self, mx: Any, name: str) -> None:
        mx.random.seed(0)
        task = TASKS[name]
        self.x, self.y = (mx.nd.array(a) for a in task.draw())
        self.ones, self.zeros = mx.nd.ones((len(self.y),)), mx.nd.zeros((len(self.y),))
        self.mx, self.nets = mx, [generator(mx), discriminator(mx)]
        given = mx.nd.zeros((1, LATENT, 1, 1))
        for net in self.nets:
            net.initialize(mx.init.Normal(0.02))
            given = net(given)
            net.hybridize(static_alloc=True, static_shape=True)
        self.loss = mx.gluon.loss.SigmoidBCELoss()
        self.loss.hybridize()
        self.learned = [p for net in self.nets for p in _learned(net)]
        self.trainers = [mx.gluon.Trainer(net.collect_params(), *task.optimizer()) for net in self.nets]

    def step(self) -> list[float]:
        """A step of training; returns the losses of the discriminator and of the generator."""
        record, (make, judge) = self.mx.autograd.record, self.nets
        with record():
            made = make(self.x)
            loss = (self.loss(judge(self.y), self.ones) + self.loss(judge(made.detach()), self.zeros)).mean()
        loss.backward()
        self.trainers[1].step(1)
        with record():
            other = self.loss(judge(made), self.ones).mean()
        other.backward()
        self.trainers[0].step(1)
        self.mx.nd.waitall()
        return [float(loss.asscalar()), float(other.asscalar())]


def trained(mx: Any, name: str) -> Single:
    """A network that is ready to be trained."""
    return Pair(mx, name) if name == "dcgan" else Single(mx, name)
