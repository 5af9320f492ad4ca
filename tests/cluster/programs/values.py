"""What a store holds after pushes of several workers. Its sums are checked against what each worker pushes."""

from __future__ import annotations

import numpy as np

import twofold as mx

store = mx.kv.create("dist_sync")
rank, count = store.rank, store.num_workers


def pulled(key: object, shape: tuple[int, ...]) -> list[float]:
    out = mx.nd.zeros(shape)
    store.pull(key, out=out)
    return out.asnumpy().tolist()


def worker_0_initializes() -> None:
    store.init("a", mx.nd.ones(3) * (rank + 5))
    assert pulled("a", (3,)) == [5, 5, 5]
    out = [mx.nd.zeros(2), mx.nd.zeros(2)]
    store.broadcast("b", mx.nd.array([rank, 1.0]), out=out)
    assert [x.asnumpy().tolist() for x in out] == [[0, 1], [0, 1]]


def pushes_are_summed_over_devices_and_workers() -> None:
    values = [mx.nd.ones(3) * (rank + 1), mx.nd.ones(3) * 10]
    for _ in range(2):  # the sum replaces what is stored
        store.push("a", values)
        assert pulled("a", (3,)) == [count * (count + 1) / 2 + 10 * count] * 3
    assert values[0].asnumpy().tolist() == [rank + 1] * 3
    store.pushpull("a", values[0])
    assert values[0].asnumpy().tolist() == [count * (count + 1) / 2] * 3
    for dtype in ("float64", "float16", "int32", "uint8"):
        store.init(dtype, mx.nd.zeros(2, dtype=dtype))
        store.pushpull(dtype, mx.nd.array([1, rank], dtype=dtype), out := mx.nd.zeros(2, dtype=dtype))
        assert (out.dtype, out.asnumpy().tolist()) == (np.dtype(dtype), [count, count * (count - 1) / 2])


def lists_travel_in_buckets() -> None:
    shapes = [(10,), (300, 300), (7, 5), (1200, 1000), (5, 1), (600, 800), (3,)]
    keys = [f"list{k}" for k in range(len(shapes))]
    store.init(keys, [mx.nd.zeros(s) for s in shapes])
    values = [mx.nd.array(np.random.RandomState(k + 10 * rank).rand(*s)) for k, s in enumerate(shapes)]
    store.push(keys, values)
    outs = [mx.nd.zeros(s) for s in shapes]
    store.pull(keys, out=outs)
    for k, (out, s) in enumerate(zip(outs, shapes, strict=True)):
        expected = sum(np.random.RandomState(k + 10 * worker).rand(*s).astype("float32") for worker in range(count))
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=3e-7)
        outs[k][:] = -1  # what was pulled is the caller's own
    assert pulled(keys[3], shapes[3])[0][0] > 0


def an_optimizer_gets_the_sum() -> None:
    own = mx.kv.create("dist_device_sync")
    own.init(["w", "v"], [mx.nd.ones(4), mx.nd.ones(400_000)])
    own.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, rescale_grad=1 / count))
    outs = [mx.nd.zeros(4), mx.nd.zeros(400_000)]
    own.pushpull(["w", "v"], [mx.nd.ones(4) * rank, mx.nd.ones(400_000)], out=outs)
    assert outs[0].asnumpy().tolist() == [1 - 0.5 * (count - 1) / 2] * 4
    assert (outs[1].asnumpy() == 0.5).all()


def gradients_are_compressed() -> None:
    own = mx.kv.create("dist_sync")
    own.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    own.init("c", mx.nd.zeros(5))
    signs = [[0, 1, -1, 0, 1], [1, 1, -1, 0, 1], [0, 1, -1, 0, 1]]  # as of MXNet 1.9.1 with two workers
    for expected in signs:
        own.push("c", mx.nd.array([0.3, 0.6, -0.7, 0.1, 2.0]))
        own.pull("c", out=(out := mx.nd.zeros(5)))
        assert out.asnumpy().tolist() == [0.5 * count * sign for sign in expected]


def rows_are_summed() -> None:
    rows = mx.nd.sparse.row_sparse_array((np.ones((2, 2)), [rank, 4]), shape=(6, 2))
    store.init("s", mx.nd.ones((6, 2)).tostype("row_sparse") * 7)
    store.push("s", rows)
    out = mx.nd.sparse.zeros("row_sparse", (6, 2))
    store.row_sparse_pull("s", out=out, row_ids=mx.nd.array([4, 0, 5, 4]))
    assert out.indices.asnumpy().tolist() == [0, 4, 5]
    assert out.asnumpy()[:, 0].tolist() == [1, 0, 0, 0, count, 7]  # rows that nobody has pushed stay


def workers_may_push_different_numbers_of_times() -> None:
    store.init("u", mx.nd.zeros(2))
    for n in range(3 + rank):
        store.push("u", mx.nd.ones(2))
        live = count - max(0, n - 2)
        assert pulled("u", (2,)) == [live, live], (rank, n, pulled("u", (2,)))


for check in (
    worker_0_initializes,
    pushes_are_summed_over_devices_and_workers,
    lists_travel_in_buckets,
    an_optimizer_gets_the_sum,
    gradients_are_compressed,
    rows_are_summed,
):
    check()
store.barrier()
assert store.get_num_dead_node() == 0
workers_may_push_different_numbers_of_times()
print(f"worker {rank} of {count} is done")
