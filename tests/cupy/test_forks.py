"""Processes that were forked after the program has used a GPU: they compute on the CPU, and what would need a GPU says so."""

import os

import numpy
import pytest

import twofold as mx
from twofold.errors import DeviceError
from twofold.gluon.data import DataLoader, SimpleDataset

from tests.forked import in_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

USES = {
    "an array is made": lambda gpu, x: mx.nd.ones((2,), ctx=gpu),
    "an array is copied there": lambda gpu, x: mx.nd.array([1, 2]).as_in_context(gpu).asnumpy(),
    "an array is read": lambda gpu, x: x.asnumpy(),
    "an array is computed": lambda gpu, x: (x * 3).asnumpy(),
    "elements are written": lambda gpu, x: (x.__setitem__(0, 1), x.asnumpy()),
    "it is asked for its memory": lambda gpu, x: mx.context.gpu_memory_info(0),
    "memory is freed": lambda gpu, x: gpu.empty_cache(),
    "it is the default": lambda gpu, x: gpu.__enter__() and mx.np.arange(3.0).asnumpy(),
}


@pytest.mark.parametrize("use", USES)
def test_the_use_of_a_gpu_says_what_to_do(gpus, use):
    x = mx.nd.array([1, 2], ctx=gpus[0])
    mx.nd.waitall()

    def check():
        with pytest.raises(DeviceError, match=r"a forked process cannot use GPUs.*mx.cpu.*thread_pool=True.*spawn"):
            USES[use](gpus[0], x)

    assert in_child(check) == ""
    assert x.asnumpy().tolist() == [1, 2]


def test_the_cpu_goes_on_and_nothing_waits_for_gpus(gpus):
    x = mx.nd.array([1, 2], ctx=gpus[0])
    held = [mx.nd.array(numpy.arange(1000.0), ctx=gpus[0]) * 2 for _ in range(3)]

    def check():
        held.clear()
        assert (mx.nd.array([1, 2]) + 1).asnumpy().tolist() == [2, 3]
        mx.nd.waitall()
        assert mx.num_gpus() == len(gpus)

    assert in_child(check) == ""
    assert (x + held[0][0]).asnumpy().tolist() == [1, 2]


class _Computed:
    """Samples that are computed with arrays on the default context, or on one."""

    def __init__(self, ctx=None):
        self.ctx = ctx

    def __len__(self):
        return 4

    def __getitem__(self, k):
        return mx.nd.ones((2,), ctx=self.ctx) * k


def test_workers_compute_on_the_cpu_whatever_the_default_is(gpus):
    with gpus[0]:
        assert mx.nd.ones((1,)).asnumpy().tolist() == [1]
        found = list(DataLoader(_Computed(), 2, num_workers=1))
        assert mx.current_context() == gpus[0]
    assert [(a.context, a.asnumpy().tolist()) for a in found] == [(mx.cpu(), [[0, 0], [1, 1]]), (mx.cpu(), [[2, 2], [3, 3]])]


def test_workers_that_are_told_to_use_a_gpu_say_why_they_cannot(gpus):
    mx.nd.ones((1,), ctx=gpus[0]).asnumpy()
    for dataset in (_Computed(gpus[0]), SimpleDataset(mx.nd.ones((4, 2), ctx=gpus[0]))):
        with pytest.raises(DeviceError, match="a forked process cannot use GPUs"):
            list(DataLoader(dataset, 2, num_workers=1))
    assert len(list(DataLoader(_Computed(gpus[0]), 2, num_workers=1, thread_pool=True))) == 2
