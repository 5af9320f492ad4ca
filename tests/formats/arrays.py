"""NumPy arrays to array records and back, for tests of file formats."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from twofold.formats.records import ArrayRecord


def numpy_dtype(name: str) -> np.dtype:
    """The NumPy dtype of a record's element type."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def to_record(array: np.ndarray) -> ArrayRecord:
    """The record of a dense array."""
    return ArrayRecord(array.dtype.name, array.shape, array.tobytes())


def to_numpy(record: ArrayRecord) -> np.ndarray:
    """The array of a dense record, or the stored values of a sparse one."""
    return np.frombuffer(record.data, numpy_dtype(record.dtype)).reshape(record.stored_shape)


def assert_same(record: object, expected: np.ndarray) -> None:
    """Assert that a dense record has an array's shape, type and elements."""
    assert isinstance(record, ArrayRecord)
    assert (record.shape, record.dtype) == (expected.shape, expected.dtype.name)
    np.testing.assert_array_equal(to_numpy(record), expected)
