"""Loaders that libraries build from the parts of MXNet's `DataLoader`."""

from __future__ import annotations

import io
import pickle
from importlib import import_module
from typing import Any

import numpy as np


def worker_functions(mx: Any) -> Any:
    dl = import_module("mxnet.gluon.data.dataloader")
    dl._worker_initializer([5, 6, 7], False, False)
    batch = pickle.loads(dl._worker_fn([0, 2], dl.default_batchify_fn))
    again = pickle.loads(dl._worker_fn([0, 2], dl.default_batchify_fn, [8, 9, 10]))
    return batch, again, dl._thread_worker_fn([1], dl.default_batchify_fn, [3, 4])


def batches_of_a_subclass_in_threads(mx: Any) -> Any:
    """Its own `_push_next` changes what the workers do, as in loaders with random transforms."""
    dl = import_module("mxnet.gluon.data.dataloader")

    class Doubling(dl._MultiWorkerIter):
        def _push_next(self) -> None:
            samples = next(self._iter, None)
            if samples is None:
                return
            made = self._worker_pool.apply_async(self._worker_fn, ([2 * k for k in samples], self._batchify_fn, self._dataset))
            self._data_buffer[self._sent_idx] = made
            self._sent_idx += 1

    pool = dl.ThreadPool(2)
    sampler = mx.gluon.data.BatchSampler(mx.gluon.data.SequentialSampler(5), 2, "keep")
    batches = Doubling(pool, dl.default_batchify_fn, sampler, worker_fn=dl._thread_worker_fn, prefetch=2, dataset=list(range(10)))
    before = len(batches), batches._sent_idx, batches._rcvd_idx, sorted(batches._data_buffer)
    found = list(batches)
    pool.terminate()
    return before, found, batches._sent_idx, batches._rcvd_idx, len(batches._data_buffer)


def nested_batches_on_a_device(mx: Any) -> Any:
    dl = import_module("mxnet.gluon.data.dataloader")
    moved = dl._as_in_context([mx.nd.ones(2), (mx.nd.ones(1), 3)], mx.cpu(1))
    return str(moved[0].context), type(moved[1]).__name__, str(moved[1][0].context), moved[1][1], dl._as_in_context("text", mx.cpu())


def arrays_pickled_for_other_processes(mx: Any) -> Any:
    dl = import_module("mxnet.gluon.data.dataloader")
    buffer = io.BytesIO()
    dl.ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump({"x": np.arange(3), "y": [1, "two"]})
    return pickle.loads(buffer.getvalue())
