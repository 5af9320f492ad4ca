"""Sums over workers, with a group that stands for the network: buckets, their order, and what passes meanwhile."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.kvstore.cluster import Cluster
from twofold.kvstore.collectives import FIRST, MOST, Collectives, buckets
from twofold.kvstore.distributed import DistributedStore
from twofold.kvstore.watch import Watch


class Alone:
    """A group of two workers, of which the other one always has the same arrays; a large sum takes some seconds."""

    rank, size, members, is_broken = 0, 2, [0, 1], False

    def __init__(self, seconds: float = 0) -> None:
        self.seconds = seconds
        self.sizes: list[int] = []

    def allreduce(self, array: np.ndarray, source: np.ndarray | None = None) -> None:
        if array.nbytes > 1000:
            time.sleep(self.seconds)
            self.sizes.append(array.nbytes)
        array[...] = 2 * (array if source is None else source)

    def broadcast(self, array: np.ndarray, root: int = 0) -> None: ...

    def barrier(self) -> None: ...

    def gather(self, array: np.ndarray) -> np.ndarray:
        return np.stack([array, array])

    def shrink(self) -> list[int]:
        return []


class Silence:
    """A channel without notices."""

    rank, size = 0, 2

    def __init__(self) -> None:
        self.dead: set[int] = set()

    def send(self, dest: int, *words: int) -> None: ...

    def poll(self) -> None:
        return None


@pytest.fixture
def made():
    watches = []

    def store(group: Alone) -> Any:
        watches.append(Watch(Silence(), 60, print))
        return DistributedStore("dist_sync", Cluster(0, 2, 0, Collectives(group, watches[-1])))

    yield store
    for watch in watches:
        watch.stop()


def test_buckets_are_filled_from_the_last_array():
    sizes = [5 * MOST, 300, MOST // 2, MOST // 2, MOST // 2, FIRST // 2, FIRST // 2]
    assert buckets(sizes, ["float32"] * 7) == [[6, 5], [4, 3], [2, 1], [0]]
    assert buckets([8, 8, 8], ["float32", "float64", "float64"]) == [[2, 1], [0]]
    assert buckets([], []) == []


def test_a_list_of_keys_travels_in_buckets_of_4_mb(made):
    store = made(group := Alone())
    shapes = [(1500, 1000), (10,), (500, 1000), (100, 1000), (1000,)]
    store.init(list(range(5)), [mx.nd.zeros(s) for s in shapes])
    store.push(list(range(5)), [mx.nd.ones(s) * k for k, s in enumerate(shapes)])
    outs = [mx.nd.zeros(s) for s in shapes]
    store.pull(list(range(5)), out=outs)
    assert [float(out.asnumpy().max()) for out in outs] == [0, 2, 4, 6, 8]
    # 0.4 MB of the last two and 2 MB, which start a new bucket, then 6 MB in two messages
    assert [round(size / 1e5) for size in group.sizes] == [4, 20, 42, 18]


def test_sums_pass_while_a_device_computes(made):
    store, layers, seconds = made(Alone(0.02)), 12, 0.02
    keys = list(range(layers))
    grads = [mx.nd.ones((1 << 20,)) for _ in keys]
    outs = [mx.nd.zeros((1 << 20,)) for _ in keys]
    store.init(keys, outs)

    def step(computes: bool, sums: bool) -> float:
        start = time.perf_counter()
        for k in reversed(keys):
            if computes:
                time.sleep(seconds)
            if sums:
                store.push(k, grads[k])
        for k in keys if sums else ():
            store.pull(k, out=outs[k])
            outs[k].wait_to_read()
        return time.perf_counter() - start

    step(True, True)
    found = [1 - (step(True, True) - step(True, False)) / step(False, True) for _ in range(5)]
    assert max(found) > 0.6, found  # 11/12 if all but the last are hidden
    assert all((out.asnumpy() == 2).all() for out in outs)
