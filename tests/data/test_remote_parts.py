"""Remote files are read in parts: one parameter or record is fetched without the others."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import FormatError, ParameterError
from twofold.formats.files import read_file, write_file

from tests.remote import counted_fetches


def same(one: mx.nd.NDArray, other: mx.nd.NDArray) -> None:
    np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


@pytest.mark.parametrize("ending", ["params", "safetensors"])
def test_one_parameter_of_a_remote_file_is_read_without_the_others(store: str, monkeypatch: pytest.MonkeyPatch, ending: str):
    arrays = {f"w{k}": nd.full((500, 500), k) for k in range(20)}
    if ending == "params":
        arrays |= {"sparse": nd.array(np.eye(600)).tostype("csr"), "rows": nd.array(np.eye(600)).tostype("row_sparse")}
    name = f"{store}/net.{ending}"
    mx.nd.save(name, arrays)
    fetched = counted_fetches(monkeypatch)
    found = mx.nd.load(name, names=["w7"])
    assert list(found) == ["w7"]
    same(found["w7"], arrays["w7"])
    assert sum(fetched) < 1_000_000 + 24 * 65_536 < 20_000_000 / 5
    for wanted in [["w19", "w0"], [each for each in ("rows", "sparse") if each in arrays]]:
        found = mx.nd.load(name, names=wanted)
        assert list(found) == wanted
        for each in wanted:
            assert found[each].stype == arrays[each].stype
            same(found[each].tostype("default"), arrays[each].tostype("default"))
    with pytest.raises(ParameterError, match=r"net.* has no arrays of these names: given 'x'"):
        mx.nd.load(name, names=["w1", "x"])


@pytest.mark.parametrize("cut", [5, 30, 100, 4_000_000, 19_999_999])
def test_a_file_that_is_cut_has_no_parameters(store: str, cut: int):
    name = f"{store}/net.params"
    mx.nd.save(name, {f"w{k}": nd.full((500, 500), k) for k in range(20)})
    write_file(name, [read_file(name)[:cut]])
    with pytest.raises(FormatError, match=r"net\.params"):
        mx.nd.load(name, names=["w0"])


def test_one_record_of_a_remote_file_is_read_without_the_others(store: str, monkeypatch: pytest.MonkeyPatch):
    file = mx.recordio.MXIndexedRecordIO(f"{store}/a.idx", f"{store}/a.rec", "w")
    for k in range(100):
        file.write_idx(k, bytes([k]) * 100_000)
    file.close()
    fetched = counted_fetches(monkeypatch)
    found = mx.recordio.MXIndexedRecordIO(f"{store}/a.idx", f"{store}/a.rec", "r")
    assert found.read_idx(70) == bytes([70]) * 100_000
    assert sum(fetched) < 200_000
    assert len(fetched) == 3  # the index, the header with what follows it, and the rest
    fetched.clear()
    found.seek(0)
    assert sum(1 for _ in iter(found.read, None)) == 100
    assert sum(fetched) < 10_100_000
    assert len(fetched) < 12
