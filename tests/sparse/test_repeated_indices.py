"""Files hold each index of a sparse array once; unsorted indices are read as they are."""

import numpy as np
import pytest

from twofold import nd
from twofold.errors import FormatError, ParameterError
from twofold.formats.params import ParameterFile, dump_params
from twofold.formats.records import ArrayRecord


def record(stype, shape, values, *aux):
    aux = tuple(ArrayRecord("int64", (len(part),), np.array(part, np.int64).tobytes()) for part in aux)
    return ArrayRecord("float32", shape, np.array(values, np.float32).tobytes(), stype, aux)


def read(found, file):
    file.write_bytes(dump_params(ParameterFile((found,), ("a",))))
    return nd.load(str(file))["a"]


REPEATED = {
    "rows": record("row_sparse", (5, 1), [1, 5, 3], [1, 1, 3]),
    "rows out of order": record("row_sparse", (5, 1), [1, 5, 3], [3, 1, 3]),
    "columns": record("csr", (2, 3), [1, 5, 2, 7], [0, 3, 4], [1, 1, 2, 0]),
    "columns out of order": record("csr", (2, 3), [1, 5, 2, 7], [0, 3, 4], [2, 1, 2, 0]),
}


@pytest.mark.parametrize("found", REPEATED.values(), ids=list(REPEATED))
def test_a_file_with_an_index_twice_is_refused(found, tmp_path):
    with pytest.raises(FormatError, match="an index occurs twice"):
        read(found, tmp_path / "a.params")


def test_indices_out_of_order_are_read(tmp_path):
    rows = read(record("row_sparse", (4, 1), [3, 10, 1], [3, 0, 1]), tmp_path / "rows.params")
    assert rows.asnumpy()[:, 0].tolist() == [10, 1, 0, 3]
    matrix = read(record("csr", (2, 3), [2, 10, 1, 7], [0, 3, 4], [2, 0, 1, 1]), tmp_path / "matrix.params")
    assert matrix.asnumpy().tolist() == [[10, 1, 2], [0, 7, 0]]


def test_one_column_in_two_rows_is_no_repetition(tmp_path):
    assert read(record("csr", (2, 3), [2, 3], [0, 1, 2], [1, 1]), tmp_path / "a.params").asnumpy().tolist() == [[0, 2, 0], [0, 3, 0]]


def test_an_array_that_could_not_be_read_again_is_not_saved(tmp_path):
    matrix = nd.sparse.csr_matrix((np.ones(4), [1, 1, 2, 0], [0, 3, 4]), shape=(2, 3))
    with pytest.raises(ParameterError, match="an index twice"):
        nd.save(str(tmp_path / "a.params"), {"a": matrix})


def test_scipys_elements_in_one_place_are_summed_as_in_mxnet():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    source = scipy_sparse.csr_matrix((np.array([1, 5, 2, 7], np.float32), [1, 1, 2, 0], [0, 3, 4]), shape=(2, 3))
    matrix = nd.sparse.csr_matrix(source)
    assert matrix.indices.asnumpy().tolist() == [1, 2, 0]  # as the real MXNet has them
    assert matrix.asnumpy().tolist() == [[0, 6, 2], [7, 0, 0]]
    assert source.nnz == 4
