"""Files of torch.save: what PyTorch wrote (`make_torch_files`) is read, and damaged or foreign files raise errors."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FormatError, MissingFileError, ParameterError

from tests.formats.mutations import CASES, mutated, outcomes

FOLDER = Path(__file__).with_name("torch_files")
SOUND = ("archive", "older")


@pytest.mark.parametrize("kind", SOUND)
def test_tensors_of_every_kind(kind: str):
    found = mx.load_torch(FOLDER / f"{kind}.pt")
    whole = np.arange(24, dtype="float32").reshape(4, 6)
    expected = {
        "part": whole[1:, ::2],
        "turned": whole.T,
        "expanded": np.ones((4, 3), "float32"),
        "parameter": np.ones(2, "float32"),
        "scalar": np.float32(3.5),
        "empty": np.zeros((0, 3), "float32"),
        "noted": np.ones(3, "float32"),
    }
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name].asnumpy(), value, strict=True)
    nested = found["nested"]
    assert (nested["epoch"], nested["rest"]) == (3, [0.1, None, "x", (2, 3)])
    assert {name: a.shape for name, a in nested["model"].items()} == {"weight": (2, 1), "bias": (2,)}


@pytest.mark.parametrize("kind", SOUND)
def test_every_element_type(kind: str):
    found = mx.load_torch(FOLDER / f"{kind}.pt")
    names = "float64 float32 float16 bfloat16 bool uint8 int8 int16 int32 int64 complex64 complex128"
    for name in [*names.split(), *(["uint16", "uint32", "uint64"] if kind == "archive" else [])]:
        host = found[name].asnumpy()
        assert host.dtype == name
        np.testing.assert_array_equal(
            host.astype("complex128"), np.arange(5).reshape(5, 1) if name != "bool" else [[0], [1], [1], [1], [1]]
        )


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("module", "torch.nn.modules.activation.ReLU"),
        ("sparse", "_rebuild_sparse_tensor"),
        ("float8", "float8_e5m2"),
        ("conjugate", "conj"),
    ],
)
def test_anything_else_is_named(kind: str, named: str):
    with pytest.raises(FormatError, match=named) as caught:
        mx.load_torch(FOLDER / f"refused_{kind}.pt")
    assert f"refused_{kind}.pt" in str(caught.value)


def rewritten(change) -> bytes:
    """The archive, with other members, whose checksums are right."""
    out = io.BytesIO()
    with zipfile.ZipFile(FOLDER / "archive.pt") as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = change(name.partition("/")[2], source.read(name))
            if content is not None:
                target.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda name, data: b"big" if name == "byteorder" else data, "little-endian"),
        (lambda name, data: None if name == "data/3" else data, "data/3 must have"),
        (lambda name, data: data[:-1] if name == "data/0" else data, "must have 96 bytes"),
        (lambda name, data: None if name == "data.pkl" else data, "no pickle"),
        # the offset of the first tensor: 6 of 24 elements
        (lambda name, data: data.replace(b"QK\x06", b"QK\x0a", 1) if name == "data.pkl" else data, "beyond its storage"),
    ],
)
def test_damaged_archives(change, message: str, tmp_path: Path):
    path = tmp_path / "model.pt"
    path.write_bytes(rewritten(change))
    with pytest.raises(FormatError, match=message):
        mx.load_torch(path)


def test_compressed_members_are_refused(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "model.pt", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("model/data.pkl", b"N." * 1000)
    with pytest.raises(FormatError, match="compressed"):
        mx.load_torch(tmp_path / "model.pt")


def edited_member(seed: int, files: list[bytes]) -> bytes:
    """An archive whose pickle is mutated, with a checksum that is right."""
    return rewritten(lambda name, data: mutated(seed, [data]) if name == "data.pkl" else data)


@pytest.mark.fuzz
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("kind", "mutate"), [("archive", mutated), ("older", mutated), ("archive", edited_member)])
def test_mutations(kind: str, mutate, tmp_path: Path):
    def load(data: bytes) -> None:
        path = tmp_path / "damaged.pt"
        path.write_bytes(data)
        mx.load_torch(path)

    loaded, refused = outcomes([(FOLDER / f"{kind}.pt").read_bytes()], load, mutate)
    assert min(loaded, refused) > CASES // 50


def in_shards(folder: Path, arrays: dict[str, mx.nd.NDArray]) -> Path:
    """A model in two safetensors files with an index."""
    table = {}
    for k, (name, array) in enumerate(arrays.items()):
        file = f"model-{k % 2 + 1:05}-of-00002.safetensors"
        table.setdefault(file, {})[name] = array
    for file, own in table.items():
        mx.nd.save(folder / file, own)
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": {name: file for file, own in table.items() for name in own}}))
    return index


def test_models_in_several_files(tmp_path: Path):
    arrays = {name: mx.nd.full((2,), k) for k, name in enumerate("abc")}
    index = in_shards(tmp_path, arrays)
    for path in (index, tmp_path):
        assert {name: float(a[0].asscalar()) for name, a in mx.nd.load(path).items()} == {"a": 0, "b": 1, "c": 2}
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    # only the files of what is asked for are read
    assert list(mx.nd.load(index, ["c"])) == ["c"]
    with pytest.raises(ParameterError, match="'d'"):
        mx.nd.load(index, ["c", "d"])
    with pytest.raises(MissingFileError):
        mx.nd.load(index)


def test_a_folder_with_one_file(tmp_path: Path):
    with pytest.raises(MissingFileError, match=r"no file \*\.safetensors"):
        mx.nd.load(tmp_path)
    mx.nd.save(tmp_path / "model.safetensors", {"a": mx.nd.ones(2)})
    assert list(mx.nd.load(tmp_path)) == list(mx.nd.load(tmp_path, ["a"])) == ["a"]
    mx.nd.save(tmp_path / "other.safetensors", {"a": mx.nd.ones(2)})
    with pytest.raises(FormatError, match="several files"):
        mx.nd.load(tmp_path)


@pytest.mark.parametrize("file", ["../a.safetensors", "/a.safetensors", "a.params", 3])
def test_an_index_names_files_beside_it_only(file: object, tmp_path: Path):
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {"a": file}}))
    with pytest.raises(FormatError, match="'a'"):
        mx.nd.load(path)


def test_files_of_torch_in_shards(tmp_path: Path):
    for k, kind in enumerate(SOUND):
        (tmp_path / f"pytorch_model-{k}.bin").write_bytes((FOLDER / f"{kind}.pt").read_bytes())
    path = tmp_path / "pytorch_model.bin.index.json"
    path.write_text(json.dumps({"weight_map": {"part": "pytorch_model-0.bin", "turned": "pytorch_model-1.bin"}}))
    assert {"part", "turned"} <= set(mx.load_torch(path))


def test_older_files_name_their_storages(tmp_path: Path):
    draw = random.Random(0)
    data = (FOLDER / "older.pt").read_bytes()
    path = tmp_path / "model.pt"
    for _ in range(20):
        path.write_bytes(data[: draw.randrange(2, len(data))])
        with pytest.raises(FormatError, match=r"model\.pt"):
            mx.load_torch(path)
