"""MXNet's parameter files: every version read, the current one written byte for byte as MXNet 1.9.1 writes it."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twofold.errors import FormatError
from twofold.formats.params import ParameterFile, dump_array, dump_params, load_array, load_params, params_chunks
from twofold.formats.records import ITEM_SIZES, ArrayRecord

from tests.formats.arrays import assert_same, numpy_dtype, to_numpy, to_record

if TYPE_CHECKING:
    from pathlib import Path

V2, V3 = 0xF993FAC9, 0xF993FACA
WRITTEN_BY_MXNET = [
    "gluon_export-0003.params",
    "gluon_grucell.params",
    "gluon_lstm.params",
    "gluon_net.params",
    "gluon_net_prefixed.params",
    "module_mlp-0002.params",
    "nd_bool_names.params",
    "nd_dict_dtypes.params",
    "nd_empty_list.nd",
    "nd_list.nd",
    "nd_single.nd",
    "nd_sparse.params",
    "np_list.params",
    "np_shape_semantics.params",
]
RECORDS = st.builds(
    lambda dtype, shape: to_record((np.arange(np.prod(shape, dtype=int)) % 2).astype(numpy_dtype(dtype)).reshape(shape)),
    st.sampled_from(sorted(ITEM_SIZES)),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
)


def load_named(path: Path) -> dict[str, ArrayRecord]:
    file = load_params(path.read_bytes())
    return dict(zip(file.names, file.arrays, strict=True))


def one_array(*fields: bytes) -> bytes:
    return struct.pack("<QQQ", 0x112, 0, 1) + b"".join(fields) + struct.pack("<Q", 0)


def block(*shape: int, magic: int = V2, stype: int = 0, dtype: int = 0) -> bytes:
    return struct.pack(f"<Iii{len(shape)}qiii", magic, stype, len(shape), *shape, 1, 0, dtype)


@pytest.mark.parametrize("name", WRITTEN_BY_MXNET)
def test_mxnets_parameter_files_round_trip_byte_for_byte(shared: Path, name: str):
    data = (shared / "fixtures" / name).read_bytes()
    assert dump_params(load_params(data)) == data


@pytest.mark.parametrize("name", ["nd_dict_dtypes", "np_shape_semantics"])
def test_named_arrays_have_the_values_that_mxnet_stored(shared: Path, name: str):
    expected = np.load(shared / "fixtures" / f"{name}.expected.npz")
    arrays = load_named(shared / "fixtures" / f"{name}.params")
    assert set(arrays) == set(expected.files)
    for key, record in arrays.items():
        assert_same(record, expected[key])


@pytest.mark.parametrize(("name", "numpy_shape"), [("nd_list.nd", False), ("nd_single.nd", False), ("np_list.params", True)])
def test_a_list_has_no_names_and_keeps_its_order(shared: Path, name: str, numpy_shape: bool):
    expected = np.load(shared / "fixtures" / f"{name.partition('.')[0]}.expected.npz")
    file = load_params((shared / "fixtures" / name).read_bytes())
    assert (file.names, file.numpy_shape, len(file.arrays)) == ((), numpy_shape, len(expected.files))
    for position, record in enumerate(file.arrays):
        assert_same(record, expected[f"arr_{position}"])


@pytest.mark.parametrize("name", ["nd_legacy_v0.params", "nd_legacy_v1.params"])
def test_layouts_from_before_1_0_are_read(shared: Path, name: str):
    assert_same(load_named(shared / "fixtures" / name)["arg:w"], np.arange(6, dtype="float32").reshape(2, 3))


def test_names_are_utf_8_with_any_character(shared: Path):
    assert set(load_named(shared / "fixtures" / "nd_bool_names.params")) == {"a b/c:d", "ünï"}


def test_a_sparse_array_keeps_its_storage_and_its_index_arrays(shared: Path):
    expected = np.load(shared / "fixtures" / "nd_sparse.expected.npz")
    arrays = load_named(shared / "fixtures" / "nd_sparse.params")
    csr, rsp = arrays["csr"], arrays["rsp"]
    assert (csr.stype, csr.shape, rsp.stype, rsp.shape) == ("csr", (3, 4), "row_sparse", (5, 2))
    np.testing.assert_array_equal(to_numpy(csr), expected["csr_data"])
    np.testing.assert_array_equal(to_numpy(csr.aux[0]), expected["csr_indptr"])
    np.testing.assert_array_equal(to_numpy(csr.aux[1]), expected["csr_indices"])
    np.testing.assert_array_equal(to_numpy(rsp), expected["rsp_data"])
    np.testing.assert_array_equal(to_numpy(rsp.aux[0]), expected["rsp_indices"])


def test_a_large_array_is_a_view_into_the_file(shared: Path):
    data = (shared / "fixtures" / "gluon_net.params").read_bytes()
    record = load_params(data).arrays[0]
    assert isinstance(record.data, memoryview)
    assert record.data.obj is data


def test_an_array_without_a_shape_is_read_and_written():
    data = one_array(struct.pack("<Iii", V2, 0, 0))
    file = load_params(data)
    assert file.arrays[0].shape is None
    assert dump_params(file) == data


def test_bytes_after_the_end_are_ignored_as_mxnet_ignores_them(shared: Path):
    data = (shared / "fixtures" / "nd_list.nd").read_bytes()
    assert load_params(data + b"rest") == load_params(data)


def test_unused_capacity_after_the_last_csr_row_is_not_checked():
    indptr = to_record(np.array([0, 0, 1], "int64"))
    record = ArrayRecord("float32", (2, 2), bytes(8), "csr", (indptr, to_record(np.array([1, 10**9], "int64"))))
    assert load_array(dump_array(record)) == record


@given(st.lists(RECORDS, max_size=4))
def test_dense_arrays_round_trip(records: list[ArrayRecord]):
    for numpy_shape in (False, True):
        file = ParameterFile(tuple(records), tuple(f"n{i}" for i in range(len(records))), numpy_shape and bool(records))
        assert load_params(dump_params(file)) == file


def test_an_array_is_written_without_copying_its_elements():
    data = bytearray(4096)
    file = ParameterFile((ArrayRecord("uint8", (4096,), memoryview(data)),))
    assert any(isinstance(chunk, memoryview) and chunk.obj is data for chunk in params_chunks(file))


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        (b"", "the file ends inside the list's magic number", 0),
        (bytes(24), "not an MXNet parameter file", 0),
        (struct.pack("<QQQ", 0x112, 0, 2**60), "the number of arrays is beyond the end", 16),
        (one_array(b"\xff" * 64), "no array starts here", 24),
        (one_array(block(2, 3)), "the file ends inside float32 elements", 64),
        (one_array(block(-1, 1)), "the shape is not a shape", 32),
        (one_array(struct.pack("<Iii", V2, 0, 33) + bytes(400)), "the shape is not a shape", 32),
        (one_array(block(0, 2**62, 2**62)), "a shape with more elements", 72),
        (one_array(block(1, stype=7)), "unknown storage type", 28),
        (one_array(block(1, dtype=13)), "unknown element type", 52),
        (one_array(block(1, magic=V3, stype=2)), "a sparse array cannot have NumPy shape semantics", 32),
        (struct.pack("<QQQQQ", 0x112, 0, 0, 1, 1) + b"a", "names and arrays differ", 41),
        (struct.pack("<QQQQQ", 0x112, 0, 0, 1, 1) + b"\xff", "a name is not UTF-8", 40),
        (struct.pack("<QQQQQ", 0x112, 0, 0, 1, 9) + b"a", "a name's length is beyond the end", 32),
    ],
)
def test_a_damaged_file_is_rejected_with_the_position(data: bytes, reason: str, offset: int):
    with pytest.raises(FormatError, match=reason) as caught:
        load_params(data)
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [([0, 1, 1], [4]), ([0, 1, 1], [-1]), ([1, 1, 1], [0]), ([0, 1, 0], [0]), ([0, 1, 2], [0]), ([0, 1], [0])],
)
def test_a_csr_array_with_out_of_range_indices_is_rejected(indptr: list[int], indices: list[int]):
    aux = (to_record(np.array(indptr, "int64")), to_record(np.array(indices, "int64")))
    with pytest.raises(FormatError, match="csr array"):
        load_array(dump_array(ArrayRecord("float32", (2, 4), bytes(4 * len(indices)), "csr", aux)))


def test_a_row_sparse_array_with_out_of_range_rows_is_rejected():
    record = ArrayRecord("float32", (2, 1), bytes(4), "row_sparse", (to_record(np.array([2])),))
    with pytest.raises(FormatError, match="row_sparse array: an index is out of range"):
        load_array(dump_array(record))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (lambda: ArrayRecord("complex64", (1,), bytes(8)), "unknown element type"),
        (lambda: ArrayRecord("float32", (2,), bytes(4)), "needs 8 bytes: given 4 bytes"),
        (lambda: ArrayRecord("uint8", (2,), memoryview(b"abcd")[::2]), "not contiguous"),
        (lambda: ArrayRecord("uint8", (2,), b"ab", "csr"), "storage, shape and index arrays do not match"),
        (lambda: ArrayRecord("uint8", (1, 1), b"a", "row_sparse", (ArrayRecord("int64", (), bytes(8)),)), "must be 1-d"),
    ],
)
def test_a_record_with_inconsistent_parts_cannot_be_created(record, reason: str):
    with pytest.raises(FormatError, match=reason):
        record()


def test_a_0_d_array_can_be_written_only_under_numpy_shapes():
    record = ArrayRecord("float32", (), bytes(4))
    assert load_array(dump_array(record, numpy_shape=True)) == record
    with pytest.raises(FormatError, match="0-d array"):
        dump_array(record)


def test_a_sparse_array_cannot_be_written_under_numpy_shapes():
    record = ArrayRecord("float32", (2, 1), b"", "row_sparse", (ArrayRecord("int64", (0,)),))
    with pytest.raises(FormatError, match="only dense arrays"):
        dump_array(record, numpy_shape=True)


def test_written_names_and_arrays_must_have_equal_counts():
    with pytest.raises(FormatError, match="numbers of names and arrays differ"):
        dump_params(ParameterFile((), ("a",)))


READ_BY_MXNET = """
import json, sys, mxnet as mx
plain = mx.nd.load(sys.argv[1])
with mx.util.np_shape(True), mx.util.np_array(True):
    numpy = mx.npx.load(sys.argv[2])
told = {name: [array.stype, str(array.context), array.shape, str(array.dtype), array.asnumpy().tolist()] for name, array in plain.items()
        if 'bfloat16' not in name}
told['bfloat16'] = [plain['bfloat16'].shape, plain['bfloat16'].astype('float32').asnumpy().tolist()]
print(json.dumps([told, {name: [array.shape, array.tolist()] for name, array in numpy.items()}]))
"""


@pytest.mark.oracle
def test_mxnet_reads_our_parameter_files(oracle, tmp_path: Path):
    # MXNet 1.9.1 has no arrays of the other integers, though codes for them.
    dtypes = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64", "bfloat16"]
    arrays = {dtype: np.array([[0, 1, 3], [1, 0, 2]]).astype(numpy_dtype(dtype)) for dtype in dtypes}
    records = {name: to_record(array) for name, array in arrays.items()}
    indices = to_record(np.array([0, 2]))
    records["csr"] = ArrayRecord("float32", (2, 3), np.array([5, 6], "f4").tobytes(), "csr", (to_record(np.array([0, 1, 2])), indices))
    records["rsp"] = ArrayRecord("float32", (3, 1), np.array([5, 6], "f4").tobytes(), "row_sparse", (indices,))
    plain, numpy = tmp_path / "a.params", tmp_path / "b.params"
    plain.write_bytes(dump_params(ParameterFile(tuple(records.values()), tuple(records))))
    numpy.write_bytes(dump_params(ParameterFile((ArrayRecord("float32", (), np.float32(2.5).tobytes()),), ("scalar",), numpy_shape=True)))
    told, told_numpy = json.loads(oracle(READ_BY_MXNET, plain, numpy))
    assert told.pop("bfloat16") == [[2, 3], arrays["bfloat16"].tolist()]
    assert told.pop("csr") == ["csr", "cpu(0)", [2, 3], "<class 'numpy.float32'>", [[5, 0, 0], [0, 0, 6]]]
    assert told.pop("rsp") == ["row_sparse", "cpu(0)", [3, 1], "<class 'numpy.float32'>", [[5], [0], [6]]]
    assert {name: values for name, (*_, values) in told.items()} == {name: arrays[name].tolist() for name in dtypes[:-1]}
    assert told_numpy == {"scalar": [[], 2.5]}
