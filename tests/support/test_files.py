"""Downloads from local files and caches, archives, MNIST from its files."""

from __future__ import annotations

import bz2
import gzip
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FileAccessError, MissingFileError, ParameterError
from twofold.testing.datasets import MNIST_FILES

SHA1 = "c22b5f9178342609428d6f51b2c5af4c0bde6a42"  # of the two bytes "hi"
NOWHERE = "http://127.0.0.1:9/nothing.txt"  # the port of a service that discards what it gets; nobody listens


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, an empty cache, and a file source.txt."""
    (tmp_path / "here").mkdir()
    (tmp_path / "source.txt").write_text("hi")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TWOFOLD_DATA", raising=False)
    return tmp_path


def test_a_file_url_is_copied(here: Path):
    url = (here / "source.txt").as_uri()
    assert mx.test_utils.download(url) == "source.txt"
    assert mx.test_utils.download(url, dirname="a/b") == str(Path("a/b/source.txt"))
    assert mx.test_utils.download(url, fname="other.txt") == "other.txt"
    assert mx.gluon.utils.download(url, "c") == "c"
    assert {p.read_text() for p in (Path("source.txt"), Path("a/b/source.txt"), Path("other.txt"), Path("c"))} == {"hi"}


def test_an_existing_file_is_kept_unless_it_is_to_be_overwritten(here: Path):
    url = (here / "source.txt").as_uri()
    Path("source.txt").write_text("own")
    assert Path(mx.test_utils.download(url)).read_text() == "own"
    assert Path(mx.gluon.utils.download(url)).read_text() == "own"
    assert Path(mx.test_utils.download(url, overwrite=True)).read_text() == "hi"


@pytest.mark.parametrize("folder", ["", "datasets", "models"])
def test_a_cached_file_stands_for_a_url(here: Path, folder: str):
    cache = here / "home" / folder
    cache.mkdir(parents=True)
    (cache / "nothing.txt").write_text("cached")
    assert Path(mx.test_utils.download(NOWHERE)).read_text() == "cached"


def test_a_failed_download_says_where_the_file_may_be_put(here: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(FileAccessError, match=r"nothing\.txt into .*home"):
        mx.test_utils.download(NOWHERE, retries=2)
    assert capsys.readouterr().out == "download failed, retrying, 1 attempt left\n"
    assert not list(Path().iterdir())


def test_a_checksum_is_verified(here: Path):
    url = (here / "source.txt").as_uri()
    assert mx.gluon.utils.check_sha1(mx.gluon.utils.download(url, sha1_hash=SHA1), SHA1)
    with pytest.raises(FileAccessError, match="content hash"):
        mx.gluon.utils.download(url, "wrong.txt", sha1_hash="0" * 40, retries=0)
    assert not mx.gluon.utils.check_sha1("source.txt", SHA1[:-1])


def test_wrong_arguments_of_download(here: Path):
    with pytest.raises(ParameterError, match="retries"):
        mx.gluon.utils.download(NOWHERE, retries=-1)
    with pytest.raises(ParameterError, match="`path`"):
        mx.gluon.utils.download("http://127.0.0.1:9/folder/")
    with pytest.raises(OSError, match="Moving"):
        mx.gluon.utils.replace_file("missing", "target")


def test_archives_are_extracted(here: Path):
    with zipfile.ZipFile(here / "z.zip", "w") as archive:
        archive.writestr("inner.txt", "inside")
    (here / "q.bz2").write_bytes(bz2.compress(b"hello"))
    mx.test_utils.get_zip_data("zip", (here / "z.zip").as_uri(), "z.zip")
    mx.test_utils.get_bz2_data("bz2", "q.txt", (here / "q.bz2").as_uri(), "q.bz2")
    assert Path("zip/inner.txt").read_text() == "inside"
    assert [p.name for p in Path("bz2").iterdir()] == ["q.txt"]
    assert Path("bz2/q.txt").read_bytes() == b"hello"


def test_a_model_is_two_files(here: Path):
    urls = {"symbol": (here / "source.txt").as_uri(), "params": (here / "source.txt").as_uri()}
    assert mx.test_utils.download_model("m", "models", {"m": urls}) == (str(Path("models/m")), 0)
    assert sorted(p.name for p in Path("models").iterdir()) == ["m-0000.params", "m-symbol.json"]
    assert mx.test_utils.download_model("other", "models", {"m": urls}) == (None, 0)


def _mnist(folder: Path, images: int = 20) -> None:
    folder.mkdir(parents=True)
    for name in MNIST_FILES:
        shape = (images, 28, 28) if "images" in name else (images,)
        data = np.arange(np.prod(shape), dtype=np.int64).astype(np.uint8)
        content = struct.pack(f">I{len(shape)}I", 0x800 + len(shape), *shape) + data.tobytes()
        (folder / f"{name}.gz").write_bytes(gzip.compress(content))


def test_mnist_is_read_from_the_cache(here: Path):
    _mnist(here / "home" / "datasets" / "mnist")
    found = mx.test_utils.get_mnist()
    assert {k: (v.shape, v.dtype.name) for k, v in found.items()} == {
        "train_data": ((20, 1, 28, 28), "float32"),
        "train_label": ((20,), "int8"),
        "test_data": ((20, 1, 28, 28), "float32"),
        "test_label": ((20,), "int8"),
    }
    assert found["train_data"].max() == 1
    train, test = mx.test_utils.get_mnist_iterator(4, (784,), num_parts=2, part_index=1)
    assert next(train).data[0].shape == (4, 784)
    assert sum(1 for _ in test) == 2  # of 10 rows in the second part
    assert mx.test_utils.get_mnist_iterator(4, (1, 28, 28))[0].provide_data[0].shape == (4, 1, 28, 28)


def test_missing_data_sets_say_so(here: Path):
    with pytest.raises(FileAccessError, match=r"mnist\.zip into"):
        mx.test_utils.get_mnist()
    with pytest.raises(MissingFileError, match=r"im2rec\.py"):
        mx.test_utils.get_im2rec_path()
