"""Iterators over text files: comma-separated values and LibSVM's sparse rows."""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import Any

import numpy as np

from tests.oracle_programs import fails

ROWS = "".join(",".join(str(3 * r + c) for c in range(3)) + "\n" for r in range(5))
LABELS = "".join(f"{10 + r}\n" for r in range(5))
SPARSE = "1 0:1 3:2\n-1 1:3\n2 \n3 2:5 3:1\n0 0:7\n"


def _epochs(iterator: Any, epochs: int) -> Any:
    found = []
    for _ in range(epochs):
        found.append([[[_read(a) for a in (*b.data, *b.label)], b.pad, [int(k) for k in b.index]] for b in iterator])
        iterator.reset()
    return found


def _read(array: Any) -> Any:
    """The content of an array, which the real iterators overwrite with a later batch."""
    if array.stype == "csr":
        return ["csr", array.shape, array.data.asnumpy().tolist(), array.indices.asnumpy().tolist(), array.indptr.asnumpy().tolist()]
    return [np.dtype(array.dtype).name, array.asnumpy().tolist()]


def _layout(iterator: Any) -> Any:
    return [[d.name, d.shape, d.dtype.__name__] for d in (*iterator.provide_data, *iterator.provide_label)]


class _Files:
    """Writes files to a folder that ends with the program."""

    def __enter__(self) -> Any:
        self.folder = tempfile.TemporaryDirectory()
        self.count = 0
        return self.write

    def write(self, text: str) -> str:
        self.count += 1
        path = os.path.join(self.folder.name, f"{self.count}.txt")
        with open(path, "w", newline="") as file:
            file.write(text)
        return path

    def __exit__(self, *details: object) -> None:
        self.folder.cleanup()


def comma_separated_values(mx: Any) -> Any:
    found = []
    with _Files() as file:
        data, label = file(ROWS), file(LABELS)
        for options in (
            {},
            {"round_batch": False},
            {"label_csv": label},
            {"label_csv": label, "dtype": "int32", "data_name": "x", "label_name": "y"},
            {"label_csv": label, "dtype": "int64", "label_shape": (1, 1)},
            {"label_csv": data, "label_shape": (3,)},
        ):
            it = mx.io.CSVIter(data_csv=data, data_shape=(3,), batch_size=2, **options)
            found.append([_layout(it), _epochs(it, 3)])
        it = mx.io.CSVIter(data_csv=data, data_shape=(3, 1), batch_size="3", round_batch="True", label_shape="(1,)")
        found.append([_layout(it), _epochs(it, 4)])
    return found


def texts_of_values(mx: Any) -> Any:
    texts = ["1,2\n3,4\n\n5,6\n", "1, 2\n 3,4e-1\n", "1,2\r\n3,4\r\n", "nan,inf\n-1,.5\n", "1,2\n3,4", "+1,-0\n1e3,2.\n"]
    wrong = ["a,b\n1,2\n", "1,2,3\n4,5,6\n", "1\n2\n", "1,2\n3\n", "", "1;2\n3;4\n"]
    with _Files() as file:
        make = lambda text: mx.io.CSVIter(data_csv=file(text), data_shape=(2,), batch_size=2, round_batch=False)  # noqa: E731
        good = [[_read(batch.data[0]) for batch in make(text)] for text in texts]
        return [good, [fails(lambda text=text: [b.data[0].asnumpy() for b in make(text)]) for text in wrong]]


def decimals_as_integers(mx: Any) -> Any:
    """Also exponents, which MXNet ignores."""
    found = []
    with _Files() as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        data, label = file("0.24136,1.9,-1.9\n-0.5, +4.7 ,7.\n1,-2,2.5e-3\n"), file("1.9\n-2.6\n16777217\n")
        powers = file("1e3,-1.5E1,3\n2.5e+2,3e9,-3\n")
        for dtype in ("int32", "int64"):
            found.append(_epochs(mx.io.CSVIter(data_csv=data, data_shape=(3,), label_csv=label, batch_size=3, dtype=dtype), 1))
            found.append(_epochs(mx.io.CSVIter(data_csv=powers, data_shape=(3,), batch_size=2, dtype=dtype), 1))
        return [found, fails(lambda: next(mx.io.CSVIter(data_csv=file("1.2.x,2\n1,b\n"), data_shape=(2,), batch_size=2, dtype="int32")))]


def wrong_iterators_over_values(mx: Any) -> Any:
    with _Files() as file:
        data, label = file(ROWS), file(LABELS)
        make = mx.io.CSVIter
        return [
            fails(lambda: make(data_csv=data, data_shape=(3,), batch_size=2, dtype="float64")),
            fails(lambda: make(data_csv=data, batch_size=2)),
            fails(lambda: make(data_csv=data + "x", data_shape=(3,), batch_size=2)),
            fails(lambda: list(make(data_csv=data, data_shape=(3,), label_csv=label + "x", batch_size=2))),
        ]


def sparse_rows(mx: Any) -> Any:
    found = []
    with _Files() as file:
        data, label = file(SPARSE), file("0 0:1 1:1\n0 1:2\n0 0:3\n0 1:1\n0 0:9\n")
        for options in ({}, {"label_libsvm": label, "label_shape": (2,)}, {"data_name": "x", "label_name": "y"}):
            it = mx.io.LibSVMIter(data_libsvm=data, data_shape=(4,), batch_size=2, **options)
            found.append([_layout(it), _epochs(it, 3)])
        for text in (
            "1 0:1 2:2\n2 3:1 1:2\n",
            "1 0:1 0:2\n2 3:1\n",
            "1 qid:1 0:1\n2 3:1\n",
            "1 0:1 # c\n2 3:1\n",
            "1 0:1\n\n2 3:1\n3 1:1\n",
        ):
            it = mx.io.LibSVMIter(data_libsvm=file(text), data_shape=(4,), batch_size=2)
            found.append(_epochs(it, 1))
        found.append(
            [
                fails(lambda: mx.io.LibSVMIter(data_libsvm=data, data_shape=(4,), batch_size=2, round_batch=False)),
                fails(lambda: mx.io.LibSVMIter(data_libsvm=data, data_shape=(4,), batch_size=2, label_shape=(2,))),
                fails(lambda: list(mx.io.LibSVMIter(data_libsvm=data, data_shape=(4,), batch_size=2, dtype="float64"))),
                fails(lambda: mx.io.LibSVMIter(data_libsvm=data + "x", data_shape=(4,), batch_size=2)),
            ]
        )
    return found


def shares_of_sparse_rows(mx: Any) -> Any:
    """Which rows of different lengths each of several parts has."""
    rows = "".join(f"{k} " + " ".join(f"{c}:{k + c}" for c in range(k * 7 % 5)) + "\n" for k in range(12))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.svm")
        with open(path, "w") as file:
            file.write(rows)
        for count in (1, 2, 3, 4, 5):
            for part in range(count):
                it = mx.io.LibSVMIter(data_libsvm=path, data_shape=(5,), batch_size=1, num_parts=count, part_index=part)
                found.append([int(batch.label[0].asnumpy()[0]) for batch in it])
    return found


def several_files(mx: Any) -> Any:
    """Files with semicolons between, of which one does not end its last line, and the files of a folder."""
    found: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, csv, svm in (
            ("a", "1,1\n2,2\n3,3\n", "1 0:1\n2 1:2\n3 2:3\n"),
            ("b", "4,4\n5,5\n", "4 0:4\n5 1:5\n"),
            ("n", "6,6\n7,7", "6 0:6\n7 1:7"),
            ("e", "", ""),
        ):
            for form, text in (("csv", csv), ("svm", svm)):
                os.makedirs(os.path.join(folder, form), exist_ok=True)
                with open(os.path.join(folder, form, f"{name}.{form}"), "w") as file:
                    file.write(text)

        def joined(form: str, names: str) -> str:
            return ";".join(os.path.join(folder, form, f"{name}.{form}") if name else "" for name in names.split(";"))

        def rows(cls: str, **options: Any) -> list[Any]:
            batches = getattr(mx.io, cls)(**options)
            return [[_read(batch.data[0]), _read(batch.label[0]), batch.pad] for batch in batches]

        def csv_rows(names: str, **options: Any) -> list[Any]:
            return rows("CSVIter", data_csv=joined("csv", names), data_shape=(2,), **{"batch_size": 2, **options})

        def svm_rows(names: str, **options: Any) -> list[Any]:
            return rows("LibSVMIter", data_libsvm=joined("svm", names), data_shape=(3,), **{"batch_size": 1, **options})

        found += [csv_rows(names) for names in ("a;b", "b;a;", "n;a", "a;e;b")]
        found += [csv_rows("b;a", label_csv=joined("csv", "a;b"), label_shape=(2,)), csv_rows("a;n", dtype="int32")]
        found += [svm_rows(names) for names in ("a;b", "b;a;", "n;a", "a;e;b")]
        found += [svm_rows("a;b", label_libsvm=joined("svm", "b;a"), label_shape=(3,))]
        found += [svm_rows("a;b", num_parts=n, part_index=k) for n in (2, 3) for k in range(n)]
        found += [
            sorted(rows("CSVIter", data_csv=os.path.join(folder, "csv"), data_shape=(2,), batch_size=1)),
            sorted(rows("LibSVMIter", data_libsvm=os.path.join(folder, "svm"), data_shape=(3,), batch_size=1)),
        ]
        wrong = ("a;;b", ";a", "missing")
        found += [[fails(lambda call=call, names=names: call(names)) for names in wrong] for call in (csv_rows, svm_rows)]
    return found


def options_after_names(mx: Any) -> Any:
    """What MXNet's reader is told after the name of a file, and the weights of labels, which it reads and drops."""
    found: list[Any] = []
    with _Files() as file:
        comma, semicolon, tab = file("1,2,3\n4,5,6\n"), file("1;2;3\n4;5;6\n"), file("1\t2\t3\n4\t5\t6\n")
        for name, columns in (
            (f"{comma}?format=csv", 3),
            (f"{comma}?label_column=0", 2),
            (f"{comma}?format=csv&label_column=2&weight_column=0", 1),
            (f"{comma}?label_column=7", 3),
            (f"{semicolon}?delimiter=;", 3),
            (f"{tab}?delimiter=\t", 3),
            (f"{comma};{comma}?label_column=1", 2),
            (f"{comma}#cache", 3),
        ):
            batches = mx.io.CSVIter(data_csv=name, data_shape=(columns,), batch_size=1)
            found.append([[_read(batch.data[0]), _read(batch.label[0])] for batch in batches])
        one, zero, weighted = file("1 1:5 2:6\n0 3:7\n"), file("1 0:5 2:6\n0 3:7\n"), file("1:0.5 1:5 2:6\n0:2 2:7\n")
        for name in (f"{one}?indexing_mode=1", f"{one}?indexing_mode=-1", f"{zero}?indexing_mode=-1", f"{one}?format=libsvm", weighted):
            batches = mx.io.LibSVMIter(data_libsvm=name, data_shape=(4,), batch_size=1)
            found.append([[_read(batch.data[0]), _read(batch.label[0])] for batch in batches])
        wrong = [f"{comma}?foo=1", f"{comma}?format=libsvm", f"{comma}?label_column=x"]
        found.append([fails(lambda name=name: mx.io.CSVIter(data_csv=name, data_shape=(3,), batch_size=1)) for name in wrong])
    return found
