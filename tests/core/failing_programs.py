"""Programs to inject failures into: each computes from the same inputs, writes to none of them, and returns host arrays.

Each line computes one operation or call, so that the line identifies what failed.
"""

import numpy as np

import twofold as mx
from twofold import autograd, nd

from .operators import SIZE

#: Rows of the inputs that are matrices.
ROWS = 4


def inputs_on(device):
    """Two vectors (SIZE), a matrix (ROWS, ROWS) and labels (ROWS); programs must not change them."""
    values = np.random.default_rng(5)
    x, y = (values.uniform(0.5, 1.5, SIZE).astype("float32") for _ in range(2))
    matrix = values.uniform(-1, 1, (ROWS, ROWS)).astype("float32")
    return [nd.array(a, ctx=device) for a in (x, y, matrix, np.arange(ROWS) % 2)]


def arithmetic(x, y, matrix, label):
    a = x * 2.0
    b = a + y
    c = b / x
    d = c - a
    e = -d
    return [e.asnumpy(), b.asnumpy()]


def functions(x, y, matrix, label):
    a = nd.tanh(x)
    b = a * y
    c = nd.exp(b)
    d = nd.maximum(c, y)
    e = nd.sqrt(d)
    f = nd.where(x > y, e, a)
    return [f.asnumpy()]


def reductions(x, y, matrix, label):
    a = nd.sum(matrix, axis=1)
    b = nd.max(matrix, axis=0)
    c = a * b
    d = nd.mean(x * y)
    e = nd.softmax(matrix)
    return [c.asnumpy(), d.asnumpy(), e.asnumpy(), nd.argmax(e, axis=1).asnumpy()]


def products(x, y, matrix, label):
    a = nd.dot(matrix, matrix)
    b = nd.dot(a, matrix, transpose_b=True)
    c = nd.concat(a, b, dim=0)
    d = nd.transpose(c)
    e = nd.take(d, label)
    return [d.asnumpy(), e.asnumpy()]


def writes(x, y, matrix, label):
    a = x.copy()
    a[2:6] = y[4:8]
    a += y
    b = a.reshape((ROWS, -1))
    b[1] = 3.0
    a *= x
    a[:] = a - y
    return [a.asnumpy(), b.asnumpy()]


def draws(x, y, matrix, label):
    mx.random.seed(7)
    a = nd.random.uniform(shape=(SIZE,), ctx=x.context)
    b = a * x
    c = nd.random.normal(shape=(SIZE,), ctx=x.context)
    d = b + c
    return [d.asnumpy()]


def gradients(x, y, matrix, label):
    w = x.copy()
    w.attach_grad()
    with autograd.record():
        a = w * y
        b = nd.exp(a)
        c = b * w
        d = nd.sum(c)
    d.backward()
    return [d.asnumpy(), w.grad.asnumpy()]


def gradients_of_gradients(x, y, matrix, label):
    w = x.copy()
    w.attach_grad()
    with autograd.record():
        a = nd.tanh(w) * y
        (first,) = autograd.grad([a], [w], create_graph=True)
        b = first * first
    b.backward()
    return [w.grad.asnumpy()]


def training(x, y, matrix, label):
    w = matrix.copy()
    w.attach_grad()
    for _ in range(2):
        with autograd.record():
            a = nd.dot(matrix, w)
            b = nd.relu(a)
            loss = nd.sum(b * b)
        loss.backward()
        w -= 0.1 * w.grad
    return [w.asnumpy(), loss.asnumpy()]


def optimizers(x, y, matrix, label):
    adam = mx.optimizer.create("adam", learning_rate=0.1)
    w, grad = x.copy(), y * 2.0
    state = adam.create_state(0, w)
    adam.update(0, w, grad, state)
    adam.update(0, w, grad, state)
    sgd = mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9)
    momentum = sgd.create_state(1, w)
    sgd.update(1, w, grad, momentum)
    return [w.asnumpy(), momentum.asnumpy()]


def blocks(x, y, matrix, label, hybrid=False):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(ROWS, activation="tanh"), mx.gluon.nn.Dense(2))
    net.initialize(mx.init.Constant(0.25), ctx=x.context)
    if hybrid:
        net.hybridize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    measure = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(2):
        with autograd.record():
            loss = measure(net(matrix), label)
        loss.backward()
        trainer.step(ROWS)
    return [loss.asnumpy(), *[p.data(x.context).asnumpy() for p in net.collect_params().values()]]


def hybrid_blocks(x, y, matrix, label):
    return blocks(x, y, matrix, label, hybrid=True)


def convolutions(x, y, matrix, label):
    image = matrix.reshape((1, 1, ROWS, ROWS))
    weight = nd.ones((2, 1, 3, 3), ctx=x.context)
    weight.attach_grad()
    with autograd.record():
        a = nd.Convolution(image, weight, kernel=(3, 3), num_filter=2, no_bias=True, pad=(1, 1))
        b = nd.Pooling(a, kernel=(2, 2), stride=(2, 2), pool_type="max")
        loss = nd.sum(b * b)
    loss.backward()
    return [b.asnumpy(), weight.grad.asnumpy()]


def executors(x, y, matrix, label):
    data, w = mx.sym.var("data"), mx.sym.var("w")
    out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, w, num_hidden=ROWS, no_bias=True), mx.sym.var("label"), name="out")
    executor = out.simple_bind(x.context, data=(ROWS, ROWS), w=(ROWS, ROWS), label=(ROWS,))
    executor.copy_params_from({"data": matrix, "w": matrix, "label": label})
    executor.forward(is_train=True)
    executor.backward()
    executor.forward(is_train=False)
    return [executor.outputs[0].asnumpy(), executor.grad_dict["w"].asnumpy()]


def loops(x, y, matrix, label):
    data, state = mx.sym.var("data"), mx.sym.var("state")
    out, last = mx.sym.contrib.foreach(lambda row, s: (row * s, s + row), data, state)
    executor = mx.sym.Group([out, last]).bind(x.context, {"data": matrix, "state": matrix[0]})
    executor.forward()
    return [a.asnumpy() for a in executor.outputs]


def modules(x, y, matrix, label):
    out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="dense"), name="softmax")
    module = mx.mod.Module(out, context=x.context)
    rows = mx.io.NDArrayIter(matrix, label, batch_size=2)
    module.bind(rows.provide_data, rows.provide_label)
    module.init_params(mx.init.Constant(0.5))
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    for batch in rows:
        module.forward_backward(batch)
        module.update()
    return [a.asnumpy() for a in module.get_params()[0].values()]


def loading(x, y, matrix, label):
    dataset = mx.gluon.data.ArrayDataset(matrix.asnumpy(), label.asnumpy())
    loader = mx.gluon.data.DataLoader(dataset, batch_size=2)
    return [(data * 2.0).asnumpy() for data, _ in loader]


def stores(x, y, matrix, label):
    store = mx.kv.create("local")
    store.init(3, x)
    store.push(3, [y, y * 2.0])
    out = nd.zeros(SIZE, ctx=x.context)
    store.pull(3, out=out)
    return [out.asnumpy()]


def copies(x, y, matrix, label):
    a = x.copyto(mx.cpu())
    b = a * 2.0
    c = b.as_in_context(x.context)
    d = c + y
    return [d.asnumpy(), b.asnumpy()]


def copied_gradients(x, y, matrix, label):
    w = x.as_in_context(mx.cpu()).copy()
    w.attach_grad()
    with autograd.record():
        a = (w * 2.0).as_in_context(x.context)
        b = nd.sum(a * y)
    b.backward()
    return [w.grad.asnumpy()]


class Cube(autograd.Function):
    """x³."""

    def forward(self, x):
        self.save_for_backward(x)
        return x * x * x

    def backward(self, dy):
        (x,) = self.saved_tensors
        return 3 * x * x * dy


def user_code(x, y, matrix, label):
    w = x.copy()
    w.attach_grad()
    with autograd.record():
        a = Cube()(w * y)
        b = nd.sum(a)
    b.backward()
    return [a.asnumpy(), w.grad.asnumpy()]


PROGRAMS = {
    f.__name__: f
    for f in (
        *(arithmetic, functions, reductions, products, writes, draws, gradients, gradients_of_gradients, training, optimizers, blocks),
        *(hybrid_blocks, convolutions, executors, loops, modules, loading, stores, copies, copied_gradients, user_code),
    )
}
