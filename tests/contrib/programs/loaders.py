"""Gluon's data loaders as iterators."""

from __future__ import annotations

from typing import Any

import numpy as np


def _loader(mx: Any, rows: int = 7, **kwargs: Any) -> Any:
    data = mx.gluon.data.ArrayDataset(np.arange(3.0 * rows).reshape(rows, 3), np.arange(rows))
    return mx.gluon.data.DataLoader(data, batch_size=3, **kwargs)


def _described(descriptions: Any) -> Any:
    return [[d.name, list(d.shape), np.dtype(d.dtype).name] for d in descriptions]


def epochs_of_loaders(mx):
    found = []
    for last_batch in ("keep", "discard", "rollover"):
        batches = mx.contrib.io.DataLoaderIter(_loader(mx, last_batch=last_batch))
        for _ in range(2):
            batches.reset()
            # the rows that fill the last batch are arbitrary in MXNet
            found.append([[b.data[0][: 3 - b.pad], b.label[0][: 3 - b.pad], list(b.data[0].shape), b.pad, b.index] for b in batches])
    return found


def names_and_types(mx):
    batches = mx.contrib.io.DataLoaderIter(_loader(mx), data_name="x", label_name="y", dtype="int32")
    batch = next(batches)
    facts = [_described(batches.provide_data), _described(batches.provide_label), batches.batch_size]
    return [
        *facts,
        batch.data[0],
        batch.label[0],
        batches.getpad(),
        batches.getindex(),
        batches.iter_next(),
        batches.iter_next(),
        batches.getpad(),
    ]


def a_module_trains_on_a_loader(mx):
    batches = mx.contrib.io.DataLoaderIter(_loader(mx, rows=6))
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc"), name="softmax")
    module = mx.mod.Module(net)
    start = {"fc_weight": mx.nd.array(np.linspace(-1, 1, 18).reshape(6, 3)), "fc_bias": mx.nd.zeros((6,))}
    module.fit(batches, num_epoch=2, arg_params=start, initializer=None, optimizer_params={"learning_rate": 0.01})
    return module.get_params()[0]
