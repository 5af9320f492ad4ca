"""Trains one perceptron in four ways, from the same weights on the same batches: by hand, Module, Gluon, hybridized Gluon."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from .. import autograd
from .. import ndarray as nd
from .. import symbol as sym
from ..device import CPU
from ..gluon import Trainer, nn
from ..gluon.loss import SoftmaxCrossEntropyLoss
from ..io import DataBatch, DataDesc, DataIter
from ..module import Module
from ..ndarray.array import NDArray
from ..symbol.symbol import Symbol
from .digits import Digits

Report = Callable[[float], None]  # called with the loss of each step


@dataclass(frozen=True)
class Task:
    """A training task.

    Attributes
    ----------
    data
        The digits.
    sizes
        Layer sizes: pixels, hidden units, …, classes.
    batch_size, epochs, learning_rate
        Parameters of stochastic gradient descent on the mean cross-entropy of a batch.
    """

    data: Digits
    sizes: tuple[int, ...]
    batch_size: int
    epochs: int
    learning_rate: float

    @property
    def steps_per_epoch(self) -> int:
        """Number of batches per epoch, without an incomplete last one."""
        return len(self.data.labels) // self.batch_size

    @property
    def images(self) -> np.ndarray:
        """The training images as rows, shape (n, pixels)."""
        return self.data.images.reshape(-1, self.sizes[0])

    @property
    def held_out(self) -> NDArray:
        """The test images as rows."""
        return nd.array(self.data.held_out_images.reshape(-1, self.sizes[0]))

    def initial(self) -> dict[str, np.ndarray]:
        """The initial weights by name, from a fixed seed: He et al. (2015), eq. 10."""
        draw, weights = np.random.RandomState(7), {}
        for k, (inputs, units) in enumerate(zip(self.sizes, self.sizes[1:], strict=False)):
            weights[f"fc{k}_weight"] = draw.normal(0, np.sqrt(2 / inputs), (units, inputs)).astype(np.float32)
            weights[f"fc{k}_bias"] = np.zeros(units, np.float32)
        return weights

    def batches(self, epoch: int) -> Iterator[tuple[NDArray, NDArray]]:
        """Images (batch, pixels) and labels (batch,) of an epoch, in an order that depends only on the epoch."""
        order, images = np.random.RandomState(epoch).permutation(len(self.data.labels)), self.images
        for start in range(0, self.steps_per_epoch * self.batch_size, self.batch_size):
            rows = order[start : start + self.batch_size]
            yield nd.array(images[rows]), nd.array(self.data.labels[rows])


@dataclass
class Outcome:
    """The result of a way.

    Attributes
    ----------
    way
        Its name.
    scores
        Scores of the test images, shape (n, classes).
    accuracy
        Fraction of test images classified correctly.
    losses
        The loss of each step.
    seconds
        Training time.
    """

    way: str
    scores: np.ndarray
    accuracy: float
    losses: list[float] = field(repr=False)
    seconds: float


def train(way: str, task: Task, report: Report) -> Outcome:
    """Train in one way, and evaluate on the test images.

    Parameters
    ----------
    way
        One of `WAYS`.
    task
        The task.
    report
        Called with the loss of each step.
    """
    losses: list[float] = []

    def note(loss: float) -> None:
        losses.append(loss)
        report(loss)

    start = perf_counter()
    scores_of = WAYS[way](task, note)
    seconds = perf_counter() - start
    scores = scores_of(task.held_out).asnumpy()
    return Outcome(way, scores, float(np.mean(scores.argmax(axis=1) == task.data.held_out_labels)), losses, seconds)


Scores = Callable[[NDArray], NDArray]


def _by_hand(task: Task, report: Report) -> Scores:
    """Arrays, recorded gradients, and a hand-written update."""
    parameters = [nd.array(value) for value in task.initial().values()]
    for parameter in parameters:
        parameter.attach_grad()

    def scores(x: NDArray) -> NDArray:
        # weights and biases in turn
        for k in range(0, len(parameters), 2):
            x = nd.dot(x if k == 0 else nd.relu(x), parameters[k], transpose_b=True) + parameters[k + 1]
        return x

    for epoch in range(task.epochs):
        for images, labels in task.batches(epoch):
            with autograd.record():
                loss = -nd.mean(nd.pick(nd.log_softmax(scores(images)), labels))
            loss.backward()
            for parameter in parameters:
                parameter -= task.learning_rate * parameter.grad
            report(loss.asscalar())
    return scores


def network(task: Task) -> Symbol:
    """The perceptron as a symbol, with its loss."""
    x = sym.Variable("data")
    for k, units in enumerate(task.sizes[1:]):
        x = sym.FullyConnected(x if k == 0 else sym.Activation(x, act_type="relu", name=f"relu{k}"), num_hidden=units, name=f"fc{k}")
    return sym.SoftmaxOutput(x, name="softmax")


class _Epochs(DataIter):
    """The batches of the task; each reset starts the next epoch."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.batch_size)
        self._task, self._epoch, self._batches = task, 0, task.batches(0)
        self.provide_data = [DataDesc("data", (task.batch_size, task.sizes[0]))]
        self.provide_label = [DataDesc("softmax_label", (task.batch_size,))]

    def reset(self) -> None:
        self._epoch += 1
        self._batches = self._task.batches(self._epoch)

    def next(self) -> DataBatch:
        images, labels = next(self._batches)
        return DataBatch([images], [labels], pad=0)


def _by_module(task: Task, report: Report) -> Scores:
    """A symbol with its loss, and `Module.fit`."""
    module = Module(network(task))

    def tell(progress: object) -> None:
        metric = progress.eval_metric  # type: ignore[attr-defined]
        report(metric.get()[1])
        metric.reset()

    # the loss layer's gradients are summed over the batch, and `fit` divides them by its size
    module.fit(
        _Epochs(task),
        eval_metric="ce",
        batch_end_callback=tell,
        optimizer="sgd",
        optimizer_params={"learning_rate": task.learning_rate},
        arg_params={name: nd.array(value) for name, value in task.initial().items()},
        num_epoch=task.epochs,
    )
    weights = module.get_params()[0]
    # scores are the outputs of the last layer before the softmax; the labels are not needed then
    scores = network(task).get_internals()[f"fc{len(task.sizes) - 2}_output"]
    return lambda x: scores.bind(CPU, {"data": x, **weights}).forward()[0]


def _by_gluon(task: Task, report: Report, hybridize: bool = False) -> Scores:
    """Layers, a loss and a `Trainer`."""
    net = nn.HybridSequential()
    for k, (inputs, units) in enumerate(zip(task.sizes, task.sizes[1:], strict=False)):
        net.add(nn.Dense(units, in_units=inputs, activation="relu" if k < len(task.sizes) - 2 else None))
    net.initialize()
    for parameter, value in zip(net.collect_params().values(), task.initial().values(), strict=True):
        parameter.set_data(nd.array(value))
    loss_of = SoftmaxCrossEntropyLoss()
    if hybridize:
        net.hybridize()
        loss_of.hybridize()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": task.learning_rate})
    for epoch in range(task.epochs):
        for images, labels in task.batches(epoch):
            with autograd.record():
                loss = loss_of(net(images), labels)
            loss.backward()
            # divides by the batch size: Gluon's loss has one number for each image, whose gradients are added up
            trainer.step(task.batch_size)
            report(loss.mean().asscalar())
    return net


#: The ways by name. Each trains and returns a function from images to scores.
WAYS: dict[str, Callable[[Task, Report], Scores]] = {
    "NDArray and autograd": _by_hand,
    "Symbol and Module.fit": _by_module,
    "Gluon": _by_gluon,
    "Gluon, hybridized": lambda task, report: _by_gluon(task, report, hybridize=True),
}
