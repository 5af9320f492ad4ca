"""`nd.save` writes what MXNet reads, `nd.load` reads what MXNet and safetensors wrote."""

import json
import struct

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import DTypeError, FormatError, MissingFileError, ParameterError
from twofold.formats.files import folder_entries
from twofold.formats.params import ParameterFile, dump_params
from twofold.formats.records import ArrayRecord

from tests.probe import dtype_name

DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"]


@pytest.mark.parametrize("ending", [".params", ".safetensors"])
def test_a_dictionary_round_trips(tmp_path, ending):
    arrays = {name: nd.array([[0, 1, 2]], dtype=name) for name in DTYPES}
    nd.save(str(tmp_path / f"a{ending}"), arrays)
    loaded = nd.load(tmp_path / f"a{ending}")
    assert set(loaded) == set(arrays)
    for name, array in loaded.items():
        assert dtype_name(array) == name
        np.testing.assert_array_equal(array.asnumpy(), arrays[name].asnumpy())


@pytest.mark.parametrize("data", [nd.ones((2,)), [nd.ones((2,)), nd.zeros((1, 3), dtype="int8")], []])
def test_lists_are_loaded_as_lists(tmp_path, data):
    nd.save(str(tmp_path / "a"), data)
    loaded = nd.load(str(tmp_path / "a"))
    expected = data if isinstance(data, list) else [data]
    assert isinstance(loaded, list)
    assert [(a.shape, a.dtype) for a in loaded] == [(a.shape, a.dtype) for a in expected]


def test_an_empty_dictionary_is_loaded_as_a_list_as_in_mxnet(tmp_path):
    nd.save(str(tmp_path / "a"), {})
    assert nd.load(str(tmp_path / "a")) == []


def test_views_and_pending_results_are_saved(tmp_path):
    x = nd.arange(200_000).reshape((2, 100_000))
    nd.save(str(tmp_path / "a"), [x[1], x + 1])
    row, sums = nd.load(str(tmp_path / "a"))
    np.testing.assert_array_equal(row.asnumpy(), x.asnumpy()[1])
    np.testing.assert_array_equal(sums.asnumpy(), x.asnumpy() + 1)


def test_loaded_arrays_can_be_written(tmp_path):
    nd.save(str(tmp_path / "a"), nd.ones((100_000,)))
    (a,) = nd.load(str(tmp_path / "a"))
    a[:] = 2
    assert a[0].asscalar() == 2


@pytest.mark.parametrize("fixture", ["nd_dict_dtypes", "nd_list", "nd_single", "nd_sparse", "gluon_net"])
def test_a_fixture_is_written_back_byte_for_byte(shared, tmp_path, fixture):
    path = next((shared / "fixtures").glob(f"{fixture}.[pn]*[sd]"))
    nd.save(str(tmp_path / "a"), nd.load(str(path)))
    assert (tmp_path / "a").read_bytes() == path.read_bytes()


def test_fixtures_hold_what_mxnet_saved(shared):
    folder = shared / "fixtures"
    for name in ("nd_dict_dtypes.params", "nd_list.nd"):
        loaded = nd.load(str(folder / name))
        expected = np.load(folder / f"{name.split('.')[0]}.expected.npz")
        got = loaded if isinstance(loaded, dict) else {f"arr_{k}": a for k, a in enumerate(loaded)}
        assert set(got) == set(expected.files)
        for key, array in got.items():
            np.testing.assert_array_equal(array.asnumpy(), expected[key])
    for name in ("nd_legacy_v0.params", "nd_legacy_v1.params"):
        np.testing.assert_array_equal(nd.load(str(folder / name))["arg:w"].asnumpy(), np.arange(6).reshape(2, 3))


def test_sparse_records_are_rejected_by_npx(shared):
    with pytest.raises(FormatError, match=r"nd_sparse\.params: .*csr"):
        mx.npx.load(str(shared / "fixtures/nd_sparse.params"))


@pytest.mark.ci
@pytest.mark.oracle
def test_mxnet_reads_our_files(oracle, tmp_path):
    nd.save(str(tmp_path / "a"), {"x": nd.arange(6).reshape((2, 3)), "y": nd.array([1, 0], dtype="int8")})
    script = "import sys, mxnet as mx; print({k: (v.dtype.__name__, v.asnumpy().tolist()) for k, v in mx.nd.load(sys.argv[1]).items()})"
    assert eval(oracle(script, tmp_path / "a")) == {"x": ("float32", [[0, 1, 2], [3, 4, 5]]), "y": ("int8", [1, 0])}


def test_an_array_without_a_shape_is_loaded_without_elements():
    (a,) = nd.load_frombuffer(dump_params(ParameterFile((ArrayRecord("float32", None),))))
    assert a.shape == (0,)


def test_safetensors_files_have_the_formats_layout(tmp_path):
    nd.save(str(tmp_path / "a.safetensors"), {"w": nd.array([1, 2])})
    data = (tmp_path / "a.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    assert json.loads(data[8 : 8 + size]) == {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    assert np.frombuffer(data[8 + size :], "<f4").tolist() == [1, 2]


def test_safetensors_need_names(tmp_path):
    with pytest.raises(ParameterError, match="name"):
        nd.save(str(tmp_path / "a.safetensors"), [nd.ones((1,))])


def test_load_frombuffer_reads_a_files_content(tmp_path):
    nd.save(str(tmp_path / "a"), {"x": nd.ones((2,))})
    data = (tmp_path / "a").read_bytes()
    for given in (data, bytearray(data), memoryview(data)):
        assert nd.load_frombuffer(given)["x"].asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("data", [b"", b"abc", b"\0" * 100, "text"])
def test_a_file_without_arrays_is_rejected(tmp_path, data):
    with pytest.raises(FormatError):
        nd.load_frombuffer(data)
    (tmp_path / "a.params").write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(FormatError, match=r"a\.params"):
        nd.load(str(tmp_path / "a.params"))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingFileError, match="nope"):
        nd.load(str(tmp_path / "nope"))


@pytest.mark.parametrize("data", [3, (nd.ones((1,)),), [3], {"a": 3}, {1: nd.ones((1,))}, None])
def test_only_arrays_are_saved(tmp_path, data):
    with pytest.raises((ParameterError, DTypeError), match=r"dict|NDArray"):
        nd.save(str(tmp_path / "a"), data)
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("name", [3, None, b"a"])
def test_a_file_name_is_a_string(name):
    with pytest.raises(TypeError, match="string"):
        nd.load(name)


def test_arrays_of_every_cpu_are_loaded_on_the_first(tmp_path):
    nd.save(str(tmp_path / "a"), nd.ones((1,), ctx=mx.cpu(1)))
    assert nd.load(str(tmp_path / "a"))[0].context == mx.cpu(0)


@pytest.mark.parametrize("name", ["a.params", "a.safetensors"])
def test_urls_are_written_and_read_through_fsspec(store, name):
    nd.save(f"{store}/{name}", {"x": nd.ones((2,))})
    assert folder_entries(store) == [name]
    assert nd.load(f"{store}/{name}")["x"].asnumpy().tolist() == [1, 1]


def test_arrays_without_axes_are_written_as_mxnet_writes_them_under_np_shape(tmp_path):
    with mx.util.np_shape(True):
        nd.save(str(tmp_path / "x"), {"a": nd.ones((), mx.cpu()), "b": nd.ones((1,), mx.cpu())})
        found = nd.load(str(tmp_path / "x"))
    # the same lines with MXNet 1.9.1: blocks of its third version, of 0 and of 1 axes
    blocks = (
        "cafa93f900000000000000000100000000000000000000000000803f",
        "cafa93f9000000000100000001000000000000000100000000000000000000000000803f",
    )
    names = "0200000000000000010000000000000061010000000000000062"
    assert (tmp_path / "x").read_bytes().hex() == "120100000000000000000000000000000200000000000000" + "".join(blocks) + names
    assert {name: array.shape for name, array in found.items()} == {"a": (), "b": (1,)}
