"""User code that fails, wherever the package calls it: the user's error is raised, or one of ours with it as the cause."""

import traceback
from contextlib import ExitStack

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.errors import MXNetError, ShapeError
from twofold.graph.tables import drop_generation
from twofold.imperative.tape import tls

from .conftest import set_mode
from .operators import SIZE, ramp
from .test_failures import usable
from tests.devices import fake_gpus


class Strange(Exception):
    """An error class that only the user knows."""


ERRORS = (ValueError, KeyError, ZeroDivisionError, Strange, ShapeError)
PLACES = ("naive", "inline", "deferred", "gpu late")


class Trap:
    """Raises an error at the place for which it was set."""

    where, error = "", Strange

    @classmethod
    def spring(cls, where):
        if cls.where == where:
            raise cls.error("the user's own")


spring = Trap.spring


class Doubled(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        spring("CustomOp.forward")
        self.assign(out_data[0], req[0], in_data[0] * 2.0)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        spring("CustomOp.backward")
        self.assign(in_grad[0], req[0], out_grad[0] * 2.0)


@mx.operator.register("tests_trapped")
class DoubledProp(mx.operator.CustomOpProp):
    def __init__(self):
        spring("CustomOpProp")
        super().__init__()

    def list_arguments(self):
        spring("CustomOpProp.list_arguments")
        return ["data"]

    def infer_shape(self, in_shape):
        spring("CustomOpProp.infer_shape")
        return in_shape, [in_shape[0]], []

    def infer_type(self, in_type):
        spring("CustomOpProp.infer_type")
        return in_type, [in_type[0]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        spring("CustomOpProp.create_operator")
        return Doubled()


class Halved(autograd.Function):
    def forward(self, x):
        spring("Function.forward")
        return x * 0.5

    def backward(self, dy):
        spring("Function.backward")
        return dy * 0.5


def trained(operator, device):
    x = nd.array(ramp(1.0), ctx=device)
    x.attach_grad()
    with autograd.record():
        y = operator(x * 1.0)
        z = (y * y).sum()
    z.backward()
    return [y.asnumpy(), x.grad.asnumpy()]


def custom(device):
    return trained(lambda x: nd.Custom(x, op_type="tests_trapped"), device)


def function(device):
    return trained(lambda x: Halved()(x), device)


def bound(device):
    out = mx.sym.Custom(mx.sym.var("data") * 1.0, op_type="tests_trapped")
    executor = out.simple_bind(device, data=(SIZE,))
    executor.arg_dict["data"][:] = nd.array(ramp(1.0))
    (y,) = executor.forward(is_train=True)
    executor.backward(nd.ones(SIZE, ctx=device))
    return [y.asnumpy(), executor.grad_dict["data"].asnumpy()]


class Trapped(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.dense = gluon.nn.Dense(2, in_units=SIZE, weight_initializer=Quarters())

    def hybrid_forward(self, F, x):
        spring("hybrid_forward")
        return F.Custom(self.dense(x), op_type="tests_trapped")


class Quarters(mx.init.Initializer):
    def _init_weight(self, name, array):
        spring("Initializer")
        array[:] = 0.25


class Step(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        spring("Optimizer.create_state")

    def update(self, index, weight, grad, state):
        spring("Optimizer.update")
        weight -= 0.1 * grad


def block(device, hybrid=False):
    net = Trapped()
    net.initialize(ctx=device)
    net.register_forward_pre_hook(lambda *_: spring("forward_pre_hook"))
    net.register_forward_hook(lambda *_: spring("forward_hook"))
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), Step())
    x = nd.ones((3, SIZE), ctx=device)
    for _ in range(2):
        with autograd.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        trainer.step(3)
    return [loss.asnumpy(), net.dense.weight.data().asnumpy()]


def hybridized(device):
    return block(device, hybrid=True)


class Rows(gluon.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, k):
        spring("Dataset.__getitem__")
        return np.full(2, k, np.float32)


class Backwards(gluon.data.Sampler):
    def __iter__(self):
        spring("Sampler.__iter__")
        return iter((3, 2, 1, 0))

    def __len__(self):
        return 4


def transformed(row):
    spring("transform")
    return row * 2


def stacked(rows):
    spring("batchify_fn")
    return nd.array(np.stack(rows))


def loaded(device):
    loader = gluon.data.DataLoader(Rows().transform(transformed), batch_size=2, sampler=Backwards(), batchify_fn=stacked)
    return [batch.asnumpy() for batch in loader]


class Batches(mx.io.DataIter):
    def __init__(self):
        super().__init__(batch_size=2)
        self.provide_data, self.provide_label = [("data", (2, 3))], [("softmax_label", (2,))]
        self.reset()

    def reset(self):
        spring("DataIter.reset")
        self.left = 2

    def next(self):
        spring("DataIter.next")
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return mx.io.DataBatch([nd.ones((2, 3))], [nd.zeros(2)], pad=0)


class Counted(mx.metric.EvalMetric):
    def __init__(self):
        super().__init__("counted")

    def update(self, labels, preds):
        spring("EvalMetric.update")
        self.sum_metric += 1
        self.num_inst += 1


class Slower(mx.lr_scheduler.LRScheduler):
    def __call__(self, num_update):
        spring("LRScheduler")
        return 0.1


def fitted(device):
    out = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="dense"), name="softmax")
    module = mx.mod.Module(out, context=device)
    module.fit(
        Batches(),
        eval_metric=Counted(),
        num_epoch=1,
        initializer=Quarters(),
        optimizer_params={"lr_scheduler": Slower()},
        batch_end_callback=lambda _: spring("batch_end_callback"),
        epoch_end_callback=lambda *_: spring("epoch_end_callback"),
        monitor=mx.monitor.Monitor(1, stat_func=watched),
    )
    return [a.asnumpy() for a in module.get_params()[0].values()]


def watched(array):
    spring("Monitor")
    return array.norm()


def stored(device):
    store = mx.kv.create("local")

    def updated(key, new, old):
        spring("updater")
        old += new

    store._set_updater(updated)
    store.init(1, nd.ones(SIZE, ctx=device))
    store.push(1, nd.ones(SIZE, ctx=device))
    out = nd.zeros(SIZE, ctx=device)
    store.pull(1, out=out)
    return [out.asnumpy()]


#: For each program, the places where it calls user code: those whose errors are wrapped, as they may surface later, and the rest.
CALLED = {
    custom: (
        (
            *("CustomOp.forward", "CustomOp.backward", "CustomOpProp", "CustomOpProp.list_arguments"),
            *("CustomOpProp.infer_shape", "CustomOpProp.infer_type", "CustomOpProp.create_operator"),
        ),
        (),
    ),
    function: (("Function.forward", "Function.backward"), ()),
    bound: (("CustomOp.forward", "CustomOp.backward", "CustomOpProp.infer_shape", "CustomOpProp.create_operator"), ()),
    block: (
        ("CustomOp.forward", "CustomOp.backward"),
        ("hybrid_forward", "Initializer", "Optimizer.create_state", "Optimizer.update", "forward_pre_hook", "forward_hook"),
    ),
    hybridized: (("CustomOp.forward", "CustomOp.backward"), ("hybrid_forward", "Optimizer.update", "forward_pre_hook", "forward_hook")),
    loaded: ((), ("Dataset.__getitem__", "Sampler.__iter__", "transform", "batchify_fn")),
    fitted: (
        (),
        (
            *("DataIter.reset", "DataIter.next", "EvalMetric.update", "LRScheduler"),
            *("batch_end_callback", "epoch_end_callback", "Initializer", "Monitor"),
        ),
    ),
    stored: ((), ("updater",)),
}
CASES = [(p, where, wrapped) for p, both in CALLED.items() for wrapped, places in zip((True, False), both, strict=True) for where in places]
LEAST = 600


@pytest.fixture(params=PLACES)
def device(request, monkeypatch):
    with ExitStack() as stack:
        if request.param.startswith("gpu"):
            yield stack.enter_context(fake_gpus(1, request.param.split()[1]))[0]
        else:
            set_mode(monkeypatch, request.param)
            yield mx.cpu()


@pytest.fixture(autouse=True)
def _not_set():
    yield
    Trap.where = ""


def raised_by(program, device, where, error):
    """What a program raises when its user code raises an error in one place."""
    Trap.where, Trap.error = where, error
    try:
        with pytest.raises(Exception, match="the user's own") as caught:
            program(device)
        return caught.value
    finally:
        Trap.where = ""


def names_the_users_line(error):
    """Whether the trap's line is in the traceback of an error, or in that of its cause."""
    chain = (error, error.__cause__) if error.__cause__ is not None else (error,)
    return any("spring" in (frame.name for frame in traceback.extract_tb(e.__traceback__)) for e in chain)


@pytest.mark.parametrize(("program", "where", "wrapped"), CASES, ids=[f"{p.__name__}-{where}" for p, where, _ in CASES])
def test_errors_of_user_code_propagate_and_harm_nothing(program, where, wrapped, device):
    wanted = program(device)
    for kind in ERRORS:
        drop_generation()
        error = raised_by(program, device, where, kind)
        if wrapped and not issubclass(kind, MXNetError):
            assert type(error) is MXNetError
            assert type(error.__cause__) is kind
        else:
            assert type(error) is kind
        assert names_the_users_line(error)
        assert tls.tape is None
        assert not autograd.is_training()
        for got, want in zip(program(device), wanted, strict=True):
            np.testing.assert_array_equal(got, want)
    assert usable()


def test_there_are_enough_cases():
    assert len(CASES) * len(ERRORS) * len(PLACES) >= LEAST
