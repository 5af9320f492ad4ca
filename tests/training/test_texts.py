"""What modules, trainers, iterators and other objects print: one line with what notebooks show beside their names."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold.gluon import nn
from twofold.gluon.data import ArrayDataset, BatchSampler, DataLoader, RandomSampler, Sampler, SequentialSampler


def classifier() -> mx.sym.Symbol:
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="softmax")


def batches() -> mx.io.NDArrayIter:
    return mx.io.NDArrayIter(np.ones((10, 4)), np.ones(10), batch_size=5, shuffle=True)


def test_a_module_prints_its_state_and_its_arrays():
    module = mx.mod.Module(classifier())
    device = mx.current_context()
    assert repr(module) == f"Module(bound=False, initialized=False, context={device}, data=[data], outputs=[softmax_output])"
    module.fit(batches(), num_epoch=1)
    arrays = "data=[data (5, 4)], label=[softmax_label (5,)], outputs=[softmax_output]"
    assert repr(module) == f"Module(bound=True, initialized=True, optimizer=SGD, context={device}, {arrays})"


def test_all_kinds_of_modules_print_before_they_are_bound():
    buckets = mx.mod.BucketingModule(lambda key: (classifier(), ("data",), ("softmax_label",)), 5, context=mx.cpu())
    chain = mx.mod.SequentialModule()
    assert repr(buckets) == "BucketingModule(bound=False, initialized=False, context=cpu(0), data=[data], outputs=[softmax_output])"
    assert "bound: False" in buckets._repr_html_()
    assert repr(chain) == "SequentialModule(bound=False, initialized=False, data=[], outputs=[])"
    chain.add(mx.mod.Module(classifier()))
    assert repr(chain) == "SequentialModule(bound=False, initialized=False, data=[data], outputs=[softmax_output])"
    buckets.bind([("data", (5, 4))], [("softmax_label", (5,))])
    assert "data=[data (5, 4)], label=[softmax_label (5,)]" in repr(buckets)
    loss = mx.mod.PythonLossModule()
    assert repr(loss) == "PythonLossModule(bound=False, initialized=False, data=[data], outputs=[pyloss_output])"


def test_a_trainer_prints_its_optimizer_and_what_it_updates():
    net = nn.Dense(3, in_units=2)
    net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.25})
    facts = "optimizer=Adam, learning_rate=0.25, parameters=2, values=9, kvstore=device, context=cpu(0), cpu(1)"
    assert repr(trainer) == f"Trainer({facts})"
    alone = mx.gluon.Trainer(net.collect_params(), mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.CosineScheduler(9)), kvstore=None)
    assert repr(alone) == "Trainer(optimizer=SGD, learning_rate=CosineScheduler, parameters=2, values=9, context=cpu(0), cpu(1))"
    store = mx.kv.create("local")
    assert "kvstore=local" in repr(mx.gluon.Trainer(net.collect_params(), "sgd", kvstore=store))


def test_an_optimizer_prints_its_options_and_asks_no_schedule():
    assert repr(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9)).startswith("SGD(learning_rate=0.5, rescale_grad=1.0, wd=0.0,")
    assert "momentum=0.9" in repr(mx.optimizer.SGD(momentum=0.9))

    class Counting(mx.lr_scheduler.LRScheduler):
        calls = 0

        def __call__(self, num_update: int) -> float:
            self.calls += 1
            return 0.1

    schedule = Counting()
    assert repr(mx.optimizer.SGD(lr_scheduler=schedule)).startswith("SGD(learning_rate=Counting, ")
    assert schedule.calls == 0
    assert repr(mx.lr_scheduler.PolyScheduler(9)).startswith("PolyScheduler(base_lr=0.01, ")


def test_iterators_and_batches_print_their_shapes():
    arrays = "batch_size=5, data=[data (5, 4)], label=[softmax_label (5,)]"
    assert repr(batches()) == f"NDArrayIter({arrays}, num_data=10, shuffle=True, last_batch_handle=pad)"
    assert repr(mx.io.ResizeIter(batches(), 3)) == f"ResizeIter({arrays}, size=3)"
    assert repr(mx.io.PrefetchingIter(batches())) == f"PrefetchingIter({arrays})"
    assert repr(next(iter(batches()))) == "DataBatch(data=[(5, 4)], label=[(5,)], pad=0)"
    assert repr(mx.io.DataBatch([mx.nd.ones((1, 2))], bucket_key=7)) == "DataBatch(data=[(1, 2)], bucket_key=7)"


def test_many_arrays_are_counted():
    many = mx.io.NDArrayIter({f"x{k}": np.ones((2, 1)) for k in range(9)}, batch_size=2)
    assert "x5 (2, 1), 3 more], num_data=2" in repr(many)


def test_loaders_datasets_and_samplers_print_their_lengths():
    data = ArrayDataset(np.ones((10, 3)))
    assert repr(data) == "ArrayDataset(samples=10)"
    assert repr(DataLoader(data, batch_size=4)) == "DataLoader(dataset=ArrayDataset, samples=10, batch_size=4, batches=3, workers=0)"
    own = [[0, 1], [2]]
    assert repr(DataLoader(data, batch_sampler=own)) == "DataLoader(dataset=ArrayDataset, samples=10, batches=2, workers=0)"
    assert repr(BatchSampler(SequentialSampler(7), 3)) == "BatchSampler(length=3)"
    assert repr(RandomSampler(7)) == "RandomSampler(length=7)"


def test_executors_and_stores_print_what_they_hold():
    executor = classifier().simple_bind(mx.cpu(), data=(4, 5))
    assert repr(executor) == "Executor(outputs=[softmax_output], arguments=4, gradients=4, auxiliary_states=0, context=cpu(0))"
    store = mx.kv.create("device")
    store.init("w", mx.nd.ones(2))
    assert repr(store) == "KVStore(type=device, rank=0, num_workers=1, keys=1)"
    assert "num workers: 1" in store._repr_html_()


def test_initializers_print_the_arguments_that_their_files_have():
    assert repr(mx.init.Xavier(magnitude=2.5)) == "Xavier(rnd_type='uniform', factor_type='avg', magnitude=2.5)"
    assert repr(mx.init.Zero()) == "Zero()"
    assert repr(mx.image.CreateAugmenter((3, 24, 24))[0]) == "CenterCropAug(size=(24, 24), interp=2)"


def test_callbacks_models_and_symbolic_cells_print_their_options():
    assert repr(mx.mon.Monitor(10)) == "Monitor(interval=10, activated=False, step=0, sort=False, monitor_all=False)"
    assert repr(mx.callback.ProgressBar(3)) == "ProgressBar(bar_len=80, total=3)"
    assert repr(mx.callback.Speedometer(32, 50)).startswith("Speedometer(batch_size=32, frequent=50, ")
    assert repr(mx.model.FeedForward(classifier(), num_epoch=2)).startswith("FeedForward(num_epoch=2, begin_epoch=0, optimizer=sgd, ")
    assert repr(mx.rnn.LSTMCell(10)) == "LSTMCell(prefix='lstm_', num_hidden=10)"
    assert repr(mx.rnn.SequentialRNNCell()) == "SequentialRNNCell(prefix='')"


@pytest.mark.parametrize("kind", [mx.mod.Module, mx.gluon.Trainer, mx.optimizer.SGD, mx.io.NDArrayIter, DataLoader, mx.kvstore.KVStore])
def test_what_a_debugger_finds_before_its_constructor_has_ended_prints(kind):
    assert repr(kind.__new__(kind)) == f"{kind.__name__}(...)"


def test_classes_of_users_print_what_they_have():
    class Own(mx.mod.BaseModule): ...

    class Endless(Sampler): ...

    assert repr(Own()) == "Own(bound=False, initialized=False, ...)"
    assert "bound: False" in Own()._repr_html_()
    assert repr(Endless()) == "Endless(...)"

    class Pairs(mx.io.DataIter):
        provide_data = (("data", (2, 3)),)

    assert repr(Pairs(2)) == "Pairs(batch_size=2, data=[data (2, 3)])"


def test_memory_plans_print_as_tables():
    plans = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc").simple_bind(mx.cpu(), "null", data=(4, 5)).memory_plan()
    (plan,) = plans.values()
    rows = str(plan).splitlines()
    assert rows[0] == f"inputs  {plan.leaves} bytes, 0 of them overwritten"
    assert rows[-1] == f"total   {plan.nbytes} bytes"
    assert repr(plans).splitlines() == ["forward on cpu(0)", *(f"  {row}" for row in rows)]
    shown = plans._repr_html_()
    assert "forward on cpu(0)" in shown
    assert plan._repr_html_() in shown
