"""Datasets, samplers, loaders and transformations of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from .running import real
from tests.oracle_programs import fails


def arrays(mx: Any) -> Any:
    d = mx.gluon.data
    both = d.ArrayDataset(np.arange(10).reshape(5, 2), np.arange(5))
    return [
        both[2],
        len(both),
        d.ArrayDataset([1, 2, 3])[1],
        d.ArrayDataset(mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([5, 6]))[1],
        fails(lambda: d.ArrayDataset([1, 2], [1])),
        fails(lambda: d.ArrayDataset()),
    ]


def shards_and_subsets(mx: Any) -> Any:
    d = mx.gluon.data
    numbers = d.SimpleDataset(list(range(10)))

    def listed(data: Any) -> list[Any]:
        return [data[k] for k in range(len(data))]

    return [
        [listed(numbers.shard(3, k)) for k in range(3)],
        listed(numbers.take(3)),
        len(numbers.take(None)),
        len(numbers.take(30)),
        listed(numbers.filter(lambda x: x % 2)),
        listed(numbers.sample(d.SequentialSampler(3, 2))),
        fails(lambda: numbers.shard(3, 3)),
        fails(lambda: numbers.sample(3)),
    ]


def transforming(mx: Any) -> Any:
    d = mx.gluon.data
    calls: list[int] = []
    numbers, pairs = d.SimpleDataset([1, 2, 3]), d.ArrayDataset([1, 2, 3], [4, 5, 6])

    def doubled(x: int) -> int:
        calls.append(x)
        return 2 * x

    lazy, ready = numbers.transform(doubled), numbers.transform(doubled, lazy=False)
    return [list(calls), lazy[1], ready[1], pairs.transform(lambda x, y: (y, x))[0], pairs.transform_first(doubled)[2]]


def samplers(mx: Any) -> Any:
    d = mx.gluon.data
    np.random.seed(1)  # noqa: NPY002  (what samplers draw from)
    found: list[Any] = [
        list(d.SequentialSampler(3)),
        [int(k) for k in d.RandomSampler(10)],
        list(d.FilterSampler(lambda x: x > 3, list(range(6)))),
    ]
    for last in ("keep", "discard", "rollover"):
        batches = d.BatchSampler(d.SequentialSampler(10), 3, last)
        found.append([len(batches), list(batches), len(batches), list(batches), len(batches)])
    return [found, fails(lambda: len(d.BatchSampler(d.SequentialSampler(10), 3, "other")))]


def loaders(mx: Any) -> Any:
    d = mx.gluon.data
    pairs, numbers = d.ArrayDataset(np.arange(10).reshape(5, 2), np.arange(5)), d.SimpleDataset([1.5, 2.5, 3.5])
    return [
        list(d.DataLoader(pairs, 2)),
        list(d.DataLoader(pairs, 2, last_batch="discard")),
        list(d.DataLoader(numbers, 2)),
        list(d.DataLoader(d.SimpleDataset([np.ones(2, "uint8"), np.zeros(2, "uint8")]), 2)),
        list(d.DataLoader(d.SimpleDataset([(1, mx.nd.ones(2)), (2, mx.nd.zeros(2))]), 2)),
        list(d.DataLoader(numbers, 2, batchify_fn=lambda samples: len(samples))),
        list(d.DataLoader(pairs, batch_sampler=d.BatchSampler(d.SequentialSampler(4), 3))),
        list(d.DataLoader(pairs, 2, num_workers=2, thread_pool=True)),
        len(d.DataLoader(pairs, 2)),
    ]


def invalid_loaders(mx: Any) -> Any:
    d = mx.gluon.data
    numbers = d.SimpleDataset([1, 2, 3])
    batches = d.BatchSampler(d.SequentialSampler(3), 2)
    return [
        fails(lambda: d.DataLoader(numbers)),
        fails(lambda: d.DataLoader(numbers, 2, batch_sampler=batches)),
        fails(lambda: d.DataLoader(numbers, shuffle=True, batch_sampler=batches)),
        fails(lambda: d.DataLoader(numbers, 2, shuffle=True, sampler=d.SequentialSampler(3))),
        fails(lambda: d.DataLoader(numbers, 2, timeout=0)),
        fails(lambda: list(d.DataLoader(d.SimpleDataset([np.ones(2), np.ones(3)]), 2))),
        fails(lambda: list(d.DataLoader(d.SimpleDataset(["a", "b"]), 2))),
    ]


def images(mx: Any) -> Any:
    t = mx.gluon.data.vision.transforms
    image = mx.nd.array(np.arange(24).reshape(2, 4, 3), dtype="uint8")
    batch = mx.nd.array(np.arange(24).reshape(2, 2, 2, 3), dtype="uint8")
    tensor = mx.nd.array(real(3, 2, 2))
    return [
        t.ToTensor()(image),
        t.ToTensor()(batch),
        t.Normalize(0.5, (1.0, 2.0, 4.0))(tensor),
        t.Normalize((0.1, 0.2, 0.3), 0.5)(tensor),
        t.Cast("float16")(image),
        t.Compose([t.ToTensor(), t.Normalize(0.1, 0.2)])(image),
        repr(t.Compose([t.ToTensor(), t.Normalize(0.1, 0.2)])),
        fails(lambda: t.ToTensor()(image[0])),
        fails(lambda: t.Normalize((1, 2), 1)(tensor)),
    ]
