"""Real training on MNIST: LeNet and a perceptron reach the accuracies that their authors and everyone since have reported."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.command.digits import mnist, mnist_folder
from twofold.gluon import nn
from twofold.gluon.loss import SoftmaxCrossEntropyLoss

pytestmark = [pytest.mark.mnist, pytest.mark.slow, pytest.mark.timeout(900)]

BATCH = 100


@pytest.fixture(scope="module")
def folder(shared):
    return mnist_folder() or shared / "data" / "mnist"


@pytest.fixture(scope="module")
def digits(folder):
    return mnist(folder)


def images_of(array):
    return mx.nd.array(array[:, None])


def accuracy(net, digits):
    right = 0
    for start in range(0, len(digits.held_out_labels), 1000):
        rows = slice(start, start + 1000)
        read = net(images_of(digits.held_out_images[rows])).asnumpy().argmax(axis=1)
        right += int(np.sum(read == digits.held_out_labels[rows]))
    return right / len(digits.held_out_labels)


def train(net, digits, rates, momentum=0.9):
    """Train with one learning rate for each epoch."""
    mx.random.seed(1)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = SoftmaxCrossEntropyLoss()
    loss_of.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rates[0], "momentum": momentum})
    for epoch, rate in enumerate(rates):
        trainer.set_learning_rate(rate)
        order = np.random.RandomState(epoch).permutation(len(digits.labels))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            with autograd.record():
                loss = loss_of(net(images_of(digits.images[rows])), mx.nd.array(digits.labels[rows]))
            loss.backward()
            trainer.step(BATCH)


def test_lenet_reads_98_5_percent_after_two_epochs(digits):
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, kernel_size=5, activation="relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Conv2D(50, kernel_size=5, activation="relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Dense(500, activation="relu"),
        nn.Dense(10),
    )
    train(net, digits, rates=(0.05, 0.01))
    assert accuracy(net, digits) >= 0.985


def test_perceptron_reads_97_percent_after_five_epochs(digits):
    net = nn.HybridSequential()
    net.add(nn.Dense(128, activation="relu"), nn.Dense(64, activation="relu"), nn.Dense(10))
    train(net, digits, rates=(0.05, 0.05, 0.05, 0.01, 0.01))
    assert accuracy(net, digits) >= 0.97


@pytest.mark.filterwarnings("ignore:.* is not the published file")  # training images of value 1 are 0 in the shared copy
def test_a_cnn_reads_a_data_set_through_a_lambda(digits, folder):
    transform = lambda image, label: (nd.transpose(image, (2, 0, 1)).astype("float32") / 255, label)  # noqa: E731
    part = gluon.data.vision.MNIST(folder, train=True, transform=transform).take(6000)
    held_out = gluon.data.vision.MNIST(folder, train=False, transform=transform).take(1000)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, kernel_size=3, activation="relu"), nn.MaxPool2D(), nn.Flatten(), nn.Dense(64, activation="relu"), nn.Dense(10))
    mx.random.seed(1)
    net.initialize(mx.init.Xavier())
    loss_of = SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    for _ in range(2):
        for images, labels in gluon.data.DataLoader(part, BATCH):
            with autograd.record():
                loss = loss_of(net(images), labels)
            loss.backward()
            trainer.step(BATCH)
    metric = mx.metric.Accuracy()
    for images, labels in gluon.data.DataLoader(held_out, BATCH):
        metric.update([labels], [net(images)])
    assert metric.get()[1] >= 0.92
