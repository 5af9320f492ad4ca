"""Ordinary programs, each returning arrays by name; run as a script, this writes the results of all to a file.

Run: python tests/backend/programs.py results.npz (TWOFOLD_BACKEND_CPU and TWOFOLD_ARRAY_API say on what)
"""

import sys
import traceback

import numpy

import twofold as mx
from twofold import autograd, gluon, nd, np, npx
from twofold.gluon import nn

PROGRAMS = {}


def program(function):
    """Add a program to the table."""
    PROGRAMS[function.__name__] = function
    return function


def real(*shape, seed=0):
    """Real numbers of a shape, the same in every run."""
    return nd.array(numpy.random.RandomState(seed).uniform(-1, 1, shape))


@program
def functions():
    x = real(3, 4)
    return {
        "softmax": nd.softmax(x),
        "log_softmax": nd.log_softmax(x, axis=0),
        "product": nd.dot(x, x.T),
        "sorted": nd.sort(x, axis=1),
        "best": nd.topk(x, k=2, ret_typ="both")[1],
        "norm": nd.LayerNorm(x, nd.ones((4,)), nd.zeros((4,))),
        "integers": (nd.arange(7, dtype="int32") // 2) % 3,
    }


@program
def draws():
    out = {
        "uniform": nd.random.uniform(-1, 2, shape=(3, 4)),
        "normal": nd.random.normal(1, 2, shape=(5,), dtype="float64"),
        "randint": nd.random.randint(-3, 9, shape=(6,)),
        "gamma": nd.random.gamma(2, 3, shape=(4,)),
        "multinomial": nd.random.multinomial(nd.array([0.2, 0.3, 0.5]), shape=7),
        "shuffled": nd.random.shuffle(nd.arange(6)),
        "dropped": nd.Dropout(nd.ones((20,)), mode="always"),
    }
    mx.random.seed(4)
    return {**out, "seeded": nd.random.normal(shape=(3,))}


@program
def initializers():
    out = {}
    for name in ("zeros", "ones", "xavier", "orthogonal", "normal", "uniform"):
        parameter = gluon.Parameter("weight", shape=(2, 3))
        parameter.initialize(init=name)
        out[name] = parameter.data()
    return out


def _trained(hybrid):
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(3, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2), nn.Dropout(0.3), nn.Dense(4, activation="tanh"), nn.Dense(2)
    )
    net.initialize(mx.init.Xavier())
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    images, labels = real(8, 1, 8, 8), nd.array([0, 1] * 4)
    losses = []
    for _ in range(4):
        with autograd.record():
            loss = loss_of(net(images), labels)
        loss.backward()
        trainer.step(8)
        losses.append(loss.mean().asscalar())
    weights = {f"weight {k}": p.data() for k, p in enumerate(net.collect_params().values())}
    return {"losses": losses, "prediction": net(images), **weights}


@program
def net_trained():
    return _trained(hybrid=False)


@program
def hybrid_net_trained():
    return _trained(hybrid=True)


@program
def module_fitted():
    data = mx.sym.Variable("data")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=5, name="hidden"), act_type="relu")
    head = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=2, name="top"), name="softmax")
    points = numpy.random.RandomState(3).uniform(-1, 1, (32, 3)).astype("float32")
    batches = mx.io.NDArrayIter(points, (points.sum(1) > 0).astype("float32"), batch_size=8)
    model = mx.mod.Module(head)
    options = {"learning_rate": 0.5, "momentum": 0.9}
    model.fit(batches, num_epoch=3, optimizer="sgd", optimizer_params=options, initializer=mx.init.Xavier(), eval_metric="acc")
    weights, _ = model.get_params()
    return {**weights, "accuracy": model.score(batches, "acc")[0][1], "predicted": model.predict(batches)}


@program
def recurrent():
    cells = gluon.rnn.LSTM(4, num_layers=2, bidirectional=True)
    cells.initialize(mx.init.Uniform(0.5))
    x = real(5, 2, 3)
    x.attach_grad()
    with autograd.record():
        out, states = cells(x, cells.begin_state(2))
        total = (out**2).sum()
    total.backward()
    return {"out": out, "hidden": states[0], "cell": states[1], "gradient": x.grad}


@program
def indices():
    x = nd.arange(24).reshape((2, 3, 4))
    out = {"element": x[1, 2, 3], "row": x[0], "backwards": x[:, ::-1, ::2], "taken": x[:, nd.array([2, 0])], "pairs": x[[0, 1], [2, 0]]}
    x[0, 1] = 7
    x[:, ::-2, 1:3] = nd.array([[1, 2], [3, 4]])
    x[1][0][:] = numpy.array([9, 8, 7, 6])
    x[[0, 1], [2, 0]] = -1
    x.reshape((6, 4))[4] += 100
    out["written"] = x
    y = np.arange(12.0).reshape(3, 4)
    y[::-1, 1][:2] = 50
    y.T[3] *= 2
    y[y > 40] = numpy.array([-1.0, -2.0])
    return {**out, "views": y, "masked": y[y < 5], "moved": y.transpose(1, 0)[::-1]}


@program
def shared_memory():
    host = numpy.zeros((2, 3), "float32")
    x = nd.from_numpy(host)
    x[1] = 5
    y = nd.from_dlpack(numpy.ones(3))
    y += 1
    return {"host": host.copy(), "array": x * 2, "exchanged": y, "back": numpy.from_dlpack(y).copy()}


@program
def higher_derivatives():
    x = nd.array([0.5, 1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = nd.sin(x) * x**3
        first = autograd.grad(y, x, create_graph=True, retain_graph=True)[0]
        second = autograd.grad(first, x, create_graph=True, retain_graph=True)[0]
    second.backward()
    return {"first": first, "second": second, "third": x.grad}


@program
def symbols():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    total = mx.sym.sum(mx.sym.tanh(a * b) + mx.sym.Dropout(a, p=0.5))
    bound = total.simple_bind(mx.cpu(), a=(3, 2), b=(3, 2))
    out = bound.forward(is_train=True, a=real(3, 2), b=real(3, 2, seed=1))
    bound.backward()
    compiled = mx.compile(a * b + 1)
    return {"total": out[0], **bound.grad_dict, "compiled": compiled(a=real(2), b=real(2, seed=1))}


@program
def loops():
    x = real(4, 3)
    x.attach_grad()
    with autograd.record():
        outs, last = nd.contrib.foreach(lambda row, state: (row * state, state + row), x, nd.ones((3,)))
        total = (outs * outs).sum() + last.sum()
    total.backward()
    return {"outs": outs, "last": last, "gradient": x.grad}


@program
def numpy_front_end():
    x = np.array(numpy.linspace(-2, 2, 12).reshape(3, 4))
    x.attach_grad()
    with autograd.record():
        y = (npx.relu(x @ x.T) + np.where(x > 0, x, -x).sum(axis=1)).mean()
    y.backward()
    stacked = np.concatenate([x, np.ones((1, 4))])
    return {
        "mean": y,
        "gradient": x.grad,
        "stacked": stacked,
        "median": np.median(stacked, axis=0),
        "counts": np.bincount(np.array([1, 1, 3])),
    }


class Cube(autograd.Function):
    """A user's function with its own gradient."""

    def forward(self, x):
        self.save_for_backward(x)
        return x * x * x

    def backward(self, dy):
        (x,) = self.saved_tensors
        return 3 * x * x * dy


@program
def user_code():
    x = real(4)
    x.attach_grad()
    with autograd.record():
        y = Cube()(x)
    y.backward()
    return {"cubes": y, "gradient": x.grad}


def results():
    """Arrays by program and name; where a program fails, its traceback under the name of the error."""
    out = {}
    for name, function in PROGRAMS.items():
        mx.random.seed(11)
        try:
            out |= {f"{name}: {key}": numpy.asarray(value) for key, value in function().items()}
        except Exception:
            out[f"{name}: error"] = numpy.array(traceback.format_exc())
    return out


if __name__ == "__main__":
    numpy.savez(sys.argv[1], **results())
