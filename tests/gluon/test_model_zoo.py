"""The files of trained parameters: found, checked, extracted, and asked for when missing."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FormatError, InvalidValue, MissingFileError, ParameterError
from twofold.gluon.model_zoo import model_store, vision

NAME = "squeezenet1.1"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of parameters whose checksum stands in for the published one."""
    net = vision.squeezenet1_1()
    net.initialize()
    net(mx.nd.zeros((1, 3, 224, 224)))
    path = tmp_path / "made.params"
    net.save_parameters(path)
    monkeypatch.setitem(model_store.CHECKSUMS, NAME, hashlib.sha1(path.read_bytes()).hexdigest())
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "no server").as_uri())
    return path


def weight(net: mx.gluon.Block) -> np.ndarray:
    return next(iter(net.collect_params().values())).data().asnumpy()


def test_trained_parameters_are_loaded_from_a_folder(published: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    published.rename(folder / f"{NAME}-{model_store.short_hash(NAME)}.params")
    net = vision.get_model(NAME, pretrained=True, root=folder)
    again = vision.squeezenet1_1(pretrained=True, root=str(folder), ctx=mx.cpu())
    assert weight(net).std() > 0
    assert (weight(net) == weight(again)).all()
    model_store.purge(folder)
    assert list(folder.iterdir()) == []


def test_an_archive_beside_the_missing_file_is_extracted(published: Path, tmp_path: Path) -> None:
    folder, stem = tmp_path / "models", f"{NAME}-{model_store.short_hash(NAME)}"
    folder.mkdir()
    with zipfile.ZipFile(folder / f"{stem}.zip", "w") as archive:
        archive.write(published, f"{stem}.params")
        archive.writestr("../outside.params", b"")
    assert Path(model_store.get_model_file(NAME, folder)) == folder / f"{stem}.params"
    assert sorted(path.name for path in folder.iterdir()) == [f"{stem}.params", f"{stem}.zip"]


def test_an_archive_is_copied_from_the_repository(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stem = f"{NAME}-{model_store.short_hash(NAME)}"
    repository = tmp_path / "repository" / "gluon" / "models"
    repository.mkdir(parents=True)
    with zipfile.ZipFile(repository / f"{stem}.zip", "w") as archive:
        archive.write(published, f"{stem}.params")
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "repository").as_uri())
    assert Path(model_store.get_model_file(NAME, tmp_path / "new")).is_file()


def test_a_missing_file_says_which_file_to_put_where(published: Path, tmp_path: Path) -> None:
    stem = f"{NAME}-{model_store.short_hash(NAME)}"
    with pytest.raises(MissingFileError, match=rf"put {stem}\.params \(SHA-1 {model_store.CHECKSUMS[NAME]}\) or {stem}\.zip into"):
        vision.get_model(NAME, pretrained=True, root=tmp_path / "models")


def test_a_damaged_file_is_not_loaded(published: Path, tmp_path: Path) -> None:
    stem = f"{NAME}-{model_store.short_hash(NAME)}"
    (tmp_path / f"{stem}.params").write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="does not have the checksum"), pytest.raises(MissingFileError):
        model_store.get_model_file(NAME, tmp_path)
    (tmp_path / f"{stem}.params").unlink()
    with zipfile.ZipFile(tmp_path / f"{stem}.zip", "w") as archive:
        archive.writestr(f"{stem}.params", b"damaged")
    with pytest.raises(FormatError, match="another checksum"):
        model_store.get_model_file(NAME, tmp_path)
    assert not (tmp_path / f"{stem}.params").exists()
    (tmp_path / f"{stem}.zip").write_bytes(b"no archive")
    with pytest.raises(FormatError, match="not an archive"):
        model_store.get_model_file(NAME, tmp_path)


def test_unknown_networks_are_refused() -> None:
    with pytest.raises(ParameterError, match="Model foo is not supported; use one of alexnet, "):
        vision.get_model("foo")
    with pytest.raises(ParameterError, match="Pretrained model for foo is not available"):
        model_store.short_hash("foo")
    with pytest.raises(InvalidValue, match="Invalid resnet version: 3"):
        vision.get_resnet(3, 18)
    with pytest.raises(InvalidValue, match="Invalid number of layers: 20"):
        vision.get_resnet(1, 20)
    with pytest.raises(KeyError, match="no such number of layers"):
        vision.get_vgg(12)
    with pytest.raises(KeyError, match="no such number of layers"):
        vision.densenet.get_densenet(12)
    with pytest.raises(InvalidValue, match=r"Unsupported SqueezeNet version 2\.0"):
        vision.SqueezeNet("2.0")
    with pytest.raises(InvalidValue, match="layers and channels do not match"):
        vision.ResNetV1(vision.BasicBlockV1, [1, 1], [8, 8])
    with pytest.raises(MissingFileError, match="no such folder"):
        model_store.purge("no/such/folder")


def test_networks_take_arrays_of_mx_np() -> None:
    net = vision.resnet18_v1(classes=3, thumbnail=True)
    net.initialize()
    x = mx.np.ones((2, 3, 8, 8))
    out = net(x)
    net.hybridize()
    assert isinstance(out, mx.np.ndarray)
    np.testing.assert_allclose(net(x).asnumpy(), out.asnumpy(), rtol=1e-5)
