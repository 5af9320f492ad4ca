"""Trains a small convolutional network on MNIST.

Run: python examples/mnist_cnn.py FOLDER, where FOLDER contains MNIST's four files
"""

import argparse

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.gluon import nn

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--images", type=int, default=60_000)
args = parser.parse_args()

to_floats = lambda image, label: (nd.transpose(image, (2, 0, 1)).astype("float32") / 255, label)  # noqa: E731
train = gluon.data.vision.MNIST(args.folder, train=True, transform=to_floats).take(args.images)
held_out = gluon.data.vision.MNIST(args.folder, train=False, transform=to_floats)

mx.random.seed(1)  # for the initial weights
np.random.seed(1)  # noqa: NPY002  (samplers shuffle with NumPy's global generator)
net = nn.HybridSequential()
net.add(nn.Conv2D(16, 3, activation="relu"), nn.MaxPool2D(), nn.Flatten(), nn.Dense(64, activation="relu"), nn.Dense(10))
net.initialize(mx.init.Xavier())
net.hybridize()
loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
for images, labels in gluon.data.DataLoader(train, batch_size=100, shuffle=True):
    with autograd.record():
        loss = loss_of(net(images), labels)
    loss.backward()
    trainer.step(len(labels))

metric = mx.metric.Accuracy()
for images, labels in gluon.data.DataLoader(held_out, batch_size=1000):
    metric.update([labels], [net(images)])
print("accuracy:", metric.get()[1])
