"""An unmodified script from 2018: it imports mxnet and uses names that NumPy has since removed.

Run: python -m twofold run examples/mxnet_script.py --epochs 5
"""

import argparse
import logging

import mxnet as mx
import numpy as np

logging.basicConfig(level=logging.INFO)
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
args = parser.parse_args()

# Which of two interleaved spirals does a point lie on?
n = 400
turn = np.sqrt(np.random.RandomState(0).uniform(size=n)).astype(np.float) * 1.5 * np.pi  # noqa: NPY001
label = (np.arange(n) % 2).astype(np.int)  # noqa: NPY001
sign = 1 - 2 * label
points = np.stack([sign * turn * np.cos(turn), sign * turn * np.sin(turn)], axis=1)
train = mx.io.NDArrayIter(points, label, batch_size=20, shuffle=True, label_name="softmax_label")

net = mx.sym.Variable("data")
for k, units in enumerate([32, 32]):
    net = mx.sym.FullyConnected(net, num_hidden=units, name=f"fc{k}")
    net = mx.sym.Activation(net, act_type="tanh")
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=2, name="out"), name="softmax")

mx.random.seed(1)
model = mx.mod.Module(net, context=mx.cpu())
model.fit(train, optimizer="adam", optimizer_params={"learning_rate": 0.01}, initializer=mx.init.Xavier(), num_epoch=args.epochs)
print("accuracy: {:.3f}".format(model.score(train, "acc")[0][1]))
