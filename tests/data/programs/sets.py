"""Datasets of records, parts of datasets and samplers, also at their limits."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracle_programs import fails


def _listed(data: Any) -> list[Any]:
    return [data[k] for k in range(len(data))]


def _records(mx: Any) -> str:
    path = Path(tempfile.mkdtemp()) / "x.rec"
    file = mx.recordio.MXIndexedRecordIO(str(path.with_suffix(".idx")), str(path), "w")
    for key in (5, 2, 9):
        file.write_idx(key, b"record %d" % key)
    file.close()
    return str(path)


def files_of_records(mx: Any) -> Any:
    """Samples are counted in the order of the index."""
    data = mx.gluon.data.RecordFileDataset(_records(mx))
    again = pickle.loads(pickle.dumps(data))
    texts = [
        [record.decode() for record in found] for found in (_listed(data), [again[np.int64(1)], data[-1]], data, _listed(data.shard(2, 1)))
    ]
    sets = data.transform(len), data.filter(lambda record: record != b"record 2"), data.take(1)
    return texts, [len(d) for d in (data, *sets)], [fails(action) for action in (lambda: data[3], lambda: data[0:2])]


def parts(mx: Any) -> Any:
    d = mx.gluon.data
    numbers, pairs = d.SimpleDataset(list(range(10))), d.ArrayDataset([1, 2, 3], [4, 5, 6])
    found = [_listed(numbers.shard(n, k)) for n, k in ((12, 11), (12, 3), (10, 9), (1, 0))] + [
        _listed(numbers.take(n)) for n in (0, 10, 11)
    ]
    np.random.seed(4)  # noqa: NPY002  (what samplers draw from)
    found += [_listed(numbers.sample(s)) for s in (d.RandomSampler(10), d.FilterSampler(lambda x: x > 6, numbers))]
    found += [_listed(numbers.transform(lambda x: x + 1).filter(lambda x: x % 2).take(3).shard(2, 0)), numbers.take(3)[-1]]
    found += [
        list(pairs),
        _listed(pairs.filter(lambda sample: sample[0] > 1)),
        _listed(pairs.transform_first(lambda a: 10 * a, lazy=False)),
    ]
    found += [d.SimpleDataset([[1, 2], [3, 4]]).transform(lambda a: a)[1], d.SimpleDataset([(1,)]).transform_first(lambda a: 10 * a)[0]]
    wrong = [lambda: numbers.take("a"), lambda: numbers.take(3)[3], lambda: numbers.sample([1, 2])]
    wrong += [lambda: numbers.shard(3, -1), lambda: numbers.shard(0, 0), lambda: numbers.sample(None), lambda: numbers.transform(None)[0]]
    wrong += [
        lambda: pairs.filter(lambda a, b: True),
        lambda: pairs.transform(lambda a: a)[0],
        lambda: d.Dataset()[0],
        lambda: list(d.Sampler()),
    ]
    return found, [fails(action) for action in wrong]


def batches_over_several_epochs(mx: Any) -> Any:
    d, found = mx.gluon.data, []
    for last in ("keep", "discard", "rollover"):
        for count, size in ((10, 3), (9, 3), (2, 3), (0, 3), (5, 1), (10, 4)):
            sampler = d.BatchSampler(d.SequentialSampler(count, 1), size, last)
            found.append([[len(sampler), list(sampler)] for _ in range(4)])
    stopped = d.BatchSampler(d.SequentialSampler(10), 4, "rollover")
    next(iter(stopped))
    nested = list(d.BatchSampler(d.BatchSampler(d.SequentialSampler(7), 2), 2))
    return found, list(stopped), nested, list(d.BatchSampler([3, 1, 2], 2)), fails(lambda: list(d.BatchSampler([1], 2, "other")))


def sparse_samples(mx: Any) -> Any:
    matrix = mx.nd.sparse.csr_matrix(([1.5, 2.5], ([0, 2], [1, 0])), shape=(3, 2))
    whole = mx.nd.sparse.csr_matrix(([1, 2], ([0, 2], [1, 0])))
    data = mx.gluon.data.ArrayDataset(matrix)
    return [data[1], data[-1], whole]
