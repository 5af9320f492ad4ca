"""Iterators that read their worker's part of the data."""

from __future__ import annotations

import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import twofold as mx
from twofold.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def mnist(tmp_path: Path) -> dict[str, str]:
    """Twelve images of one pixel, numbered by their labels."""
    (tmp_path / "images").write_bytes(struct.pack(">4I", 2051, 12, 1, 1) + bytes(range(12)))
    (tmp_path / "labels").write_bytes(struct.pack(">2I", 2049, 12) + bytes(range(12)))
    return {"image": str(tmp_path / "images"), "label": str(tmp_path / "labels")}


def rows(files: dict[str, str], **options: object) -> list[int]:
    batches = mx.io.MNISTIter(**files, batch_size=1, silent=True, shuffle=False, **options)
    return [int(batch.label[0].asscalar()) for batch in batches]


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"])
def test_workers_divide_the_data_where_they_are_asked_to(mnist: dict[str, str], monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv("TWOFOLD_WORKERS", "3")
    found = []
    for rank in range(3):
        monkeypatch.setenv(variable, str(rank))
        found.append(rows(mnist, num_parts="workers"))
        assert rows(mnist) == list(range(12))  # as MXNet: who asks for nothing reads everything
    assert found == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    monkeypatch.setenv(variable, "3")  # a server, which has no part of its own
    assert rows(mnist, num_parts="workers") == [0, 1, 2, 3]


def test_outside_a_launcher_there_is_one_part(mnist: dict[str, str]) -> None:
    assert rows(mnist, num_parts="workers") == list(range(12))
    assert rows(mnist, num_parts="2", part_index="1") == [6, 7, 8, 9, 10, 11]  # as text, which MXNet takes


def test_the_other_iterators_over_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWOFOLD_WORKERS", "2")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    (tmp_path / "rows").write_text("0 0:000\n" + "".join(f"{k} 0:{k}\n" for k in range(1, 4)))  # parts are shares of bytes
    batches = mx.io.LibSVMIter(data_libsvm=str(tmp_path / "rows"), data_shape=(1,), batch_size=2, num_parts="workers")
    assert [batch.label[0].asnumpy().tolist() for batch in batches] == [[2, 3]]
    pytest.importorskip("PIL")
    paths = {"idx": str(tmp_path / "x.idx"), "rec": str(tmp_path / "x.rec")}
    file = mx.recordio.MXIndexedRecordIO(paths["idx"], paths["rec"], "w")
    for k in range(4):
        header = mx.recordio.IRHeader(0, float(k), k, 0)
        file.write_idx(k, mx.recordio.pack_img(header, np.full((8, 8, 3), 9, "uint8"), img_fmt=".png"))
    file.close()
    shape = {"data_shape": (3, 8, 8), "batch_size": 2, "num_parts": "workers"}
    records = mx.io.ImageRecordIter(path_imgrec=paths["rec"], path_imgidx=paths["idx"], **shape)
    assert [batch.label[0].asnumpy().tolist() for batch in records] == [[2, 3]]
    images = mx.image.ImageIter(path_imgrec=paths["rec"], path_imgidx=paths["idx"], **shape)
    assert [batch.label[0].asnumpy().tolist() for batch in images] == [[2, 3]]


def test_parts_that_do_not_exist(mnist: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match="num_parts='workers' sets part_index too: given part_index=1"):
        rows(mnist, num_parts="workers", part_index=1)
    for parts in (1, "all", 0):
        with pytest.raises(ParameterError, match="MNISTIter: no such part"):
            rows(mnist, num_parts=parts, part_index=1)


@pytest.mark.ci
def test_workers_draw_different_numbers_until_they_are_seeded_alike() -> None:
    text = "import twofold as mx\nprint(mx.nd.random.uniform().asscalar())\nmx.random.seed(3)\nprint(mx.nd.random.uniform().asscalar())"
    said = [subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split() for _ in range(2)]
    (one, seeded), (other, also) = said
    assert one != other
    assert seeded == also
