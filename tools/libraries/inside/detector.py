"""GluonCV: a single-shot detector learns to find bright boxes."""

from __future__ import annotations

import mxnet as mx
import numpy as np
from gluoncv import model_zoo
from gluoncv.data.batchify import Stack, Tuple
from gluoncv.data.transforms.presets.ssd import SSDDefaultTrainTransform
from gluoncv.loss import SSDMultiBoxLoss
from programs import answer_with

SIDE, COUNT, BATCH = 64, 96, 8


class Boxes(mx.gluon.data.Dataset):
    """Pictures with one box each, and where it is."""

    def __init__(self) -> None:
        self.random = np.random.RandomState(4)
        self.made = [self.one() for _ in range(COUNT)]

    def one(self) -> tuple[mx.nd.NDArray, np.ndarray]:
        """A noisy picture and a row of corners and a class."""
        picture = self.random.randint(0, 60, (SIDE, SIDE, 3))
        left, top = self.random.randint(2, SIDE - 34, 2)
        width, height = self.random.randint(18, 32, 2)
        picture[top : top + height, left : left + width] += 150
        return mx.nd.array(picture, dtype="uint8"), np.array([[left, top, left + width, top + height, 0]], "float32")

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> tuple[mx.nd.NDArray, np.ndarray]:
        return self.made[index]


def train(version: str) -> tuple[float, float]:
    """The mean loss of the last batches."""
    net = model_zoo.get_model("ssd_512_mobilenet1.0_custom", classes=["box"], pretrained_base=False)
    net.initialize(mx.init.Normal(0.05))
    with mx.autograd.train_mode():
        anchors = net(mx.nd.zeros((1, 3, SIDE, SIDE)))[2]
    data = Boxes().transform(SSDDefaultTrainTransform(SIDE, SIDE, anchors))
    batches = mx.gluon.data.DataLoader(data, BATCH, shuffle=True, batchify_fn=Tuple(Stack(), Stack(), Stack()), last_batch="discard")
    net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.02, "momentum": 0.9, "wd": 5e-4})
    loss_of = SSDMultiBoxLoss()
    losses: list[float] = []
    for _ in range(10):
        for batch in batches:
            pictures, classes, corners = (part.as_in_context(mx.cpu()) for part in batch)
            with mx.autograd.record():
                found, boxes, _ = net(pictures)
                total, _, _ = loss_of(found, boxes, classes, corners)
            mx.autograd.backward(total)
            trainer.step(1)
            losses.append(total[0].mean().asscalar())
    return sum(losses[-10:]) / 10, 3.0


if __name__ == "__main__":
    answer_with(train)
