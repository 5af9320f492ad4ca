"""Arrays on the CPU and on several GPUs: which names are one array and which are copies; files and pickles."""

import pickle

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import DeviceError


def test_updates_in_place_are_seen_through_every_name(gpus):
    a = nd.ones((2, 3), mx.cpu())
    same = a
    copy = a.copy()
    part = a[1]
    a += 1
    assert same is a
    assert same.asnumpy().tolist() == [[2] * 3] * 2
    assert part.asnumpy().tolist() == [2] * 3  # a row is a view
    assert copy.asnumpy().tolist() == [[1] * 3] * 2


def test_a_copy_on_another_device_is_independent(gpus):
    a = nd.ones((2, 3), mx.cpu())
    b = a.copyto(gpus[0])
    c = b.copyto(gpus[1])
    a += 1
    b *= 3
    c *= 3
    c *= 3
    assert [x.context for x in (a, b, c)] == [mx.cpu(), gpus[0], gpus[1]]
    for array, value in ((a, 2), (b, 3), (c, 9)):
        np.testing.assert_array_equal(array.asnumpy(), np.full((2, 3), value))


def test_names_of_one_gpu_array_are_one_array(gpus):
    a = nd.ones((2,), gpus[2])
    b = a.as_in_context(gpus[2])
    c = a.copyto(gpus[2])
    b *= 3
    c *= 5
    assert b is a
    assert a.asnumpy().tolist() == [3, 3]
    assert c.asnumpy().tolist() == [5, 5]


def test_copying_into_an_array_writes_its_memory(gpus):
    source, target = nd.array([1, 2]), nd.zeros((2,), gpus[3])
    other_name = target
    source.copyto(target)
    source[:] = 7
    assert other_name.asnumpy().tolist() == [1, 2]


def test_results_are_on_the_device_of_their_operands(gpus):
    a, b = nd.ones((2,), gpus[0]), nd.ones((2,), gpus[1])
    assert (a + 1).context == gpus[0]
    assert (b * b).context == gpus[1]
    with pytest.raises(DeviceError):
        (a + b).wait_to_read()
    assert (a + b.as_in_context(gpus[0])).asnumpy().tolist() == [2, 2]


def test_a_context_is_the_default_of_its_block(gpus):
    with gpus[1]:
        inside = nd.zeros((1,))
    assert inside.context == gpus[1]
    assert nd.zeros((1,)).context == mx.cpu()


def test_a_pickle_is_a_copy_on_the_same_device(gpus):
    a = nd.array([[1, 2], [3, 4]], ctx=gpus[1], dtype="int32")
    b = pickle.loads(pickle.dumps(a))
    a += 1
    assert b.asnumpy().tolist() == [[1, 2], [3, 4]]
    assert b.dtype == np.int32
    assert b.context == gpus[1]


def test_arrays_are_saved_as_a_list_or_by_name(tmp_path):
    x, y = nd.ones((2, 3)), nd.arange(4, dtype="int64")
    nd.save(str(tmp_path / "list"), [x, y])
    nd.save(str(tmp_path / "names"), {"x": x, "y": y})
    as_list, by_name = nd.load(str(tmp_path / "list")), nd.load(str(tmp_path / "names"))
    assert isinstance(as_list, list)
    assert sorted(by_name) == ["x", "y"]
    for saved, found in ((x, as_list[0]), (y, as_list[1]), (x, by_name["x"]), (y, by_name["y"])):
        np.testing.assert_array_equal(found.asnumpy(), saved.asnumpy())
        assert found.dtype == saved.dtype
