"""Kinds of files, with whole ones of each, how a user reads them, and what is done to their bytes."""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import twofold as mx
from twofold.errors import FormatError, LaunchError, MissingFileError, MXNetError, ParameterError, ShapeError
from twofold.formats.image_lists import load_image_list
from twofold.kvstore.optimizer_json import optimizer_from_json, optimizer_to_json

from tests.campaign.trials import Ended, Trial, described, measured
from tests.formats.mutations import mutated
from tests.formats.test_data_mutations import LISTS, SPARSE, TEXT, compressed, rotated, with_checksums
from tests.formats.test_mutations import edited_symbol, in_use, network_of_states
from tests.formats.test_unclean_errors import TRACE, edited_json, with_right_checksum

SHARED = Path(__file__).parents[3] / "shared"
FIXTURES = SHARED / "fixtures"
#: What a field of a few bytes becomes: sizes, counts, offsets and types that are wrong.
FIELDS = [0, 1, 2, 127, 128, 255, 256, 32_767, 65_535, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]

Mutate = Callable[[int, list[bytes]], bytes]


class Kind(NamedTuple):
    """A kind of files.

    Attributes
    ----------
    wholes
        Makes whole files, in a folder.
    load
        Reads a file by its name, as users do; what it returns is compared with what the whole files give.
    refusals
        The documented errors.
    mutate
        What is done to the bytes, one of these each time.
    is_checked
        Whether the format has a checksum, so that no other value may be accepted.
    """

    title: str
    name: str
    wholes: Callable[[Path], list[bytes]]
    load: Callable[[Path], object]
    refusals: tuple[type[Exception], ...] = (FormatError,)
    mutate: tuple[Mutate, ...] = (mutated,)
    is_checked: bool = False


def told(value: Any) -> Any:
    """A value in terms that compare equal if all of it is: of arrays dtype, shape and bytes, of sparse ones those of their parts."""
    if isinstance(value, mx.nd.sparse.BaseSparseNDArray):  # as a dense array, a few bytes of a file may be gigabytes
        parts = [value.data, value.indices, *([value.indptr] if value.stype == "csr" else [])]
        return value.stype, value.shape, told(parts)
    if isinstance(value, mx.nd.NDArray):
        value = value.asnumpy()
    if hasattr(value, "asnumpy"):
        value = value.asnumpy()
    if isinstance(value, np.ndarray | np.generic):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, dict):
        return [(told(key), told(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [told(item) for item in value]
    return repr(value)


# what is done to bytes


def spliced(seed: int, files: list[bytes]) -> bytes:
    """The beginning of one file and the end of another."""
    draw = random.Random(seed)
    first, second = draw.choice(files), draw.choice(files)
    return first[: draw.randrange(len(first) + 1)] + second[draw.randrange(len(second) + 1) :]


def with_wrong_fields(seed: int, files: list[bytes]) -> bytes:
    """Some fields that look like sizes, counts or types replaced: four or eight bytes of which few are not zero."""
    draw = random.Random(seed)
    data = bytearray(draw.choice(files))
    sizes = [(at, size) for size in (4, 8) for at in range(len(data) - size + 1) if data[at] and not any(data[at + 2 : at + size])]
    for at, size in draw.sample(sizes, min(len(sizes), draw.choice([1, 1, 2, 3]))):
        old = int.from_bytes(data[at : at + size], "little")
        new = draw.choice([*FIELDS, old - 1, old + 1, 2 * old, -old])
        data[at : at + size] = (new % 2 ** (8 * size)).to_bytes(size, "little")
    return bytes(data)


BINARY = (mutated, with_wrong_fields, spliced)
TEXTUAL = (mutated, spliced)


def in_zip(seed: int, files: list[bytes]) -> bytes:
    """A zip archive in which a member's content is mutated and its checksum right, or one that is itself mutated."""
    draw = random.Random(seed)
    whole = draw.choice(files)
    if draw.random() < 0.3:
        return draw.choice(BINARY)(seed, files)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive, zipfile.ZipFile(out, "w", draw.choice([0, zipfile.ZIP_DEFLATED])) as new:
        names = archive.namelist()
        touched = draw.choice(names)
        for name in names:
            content = archive.read(name)
            new.writestr(name, draw.choice(BINARY[:2])(seed, [content]) if name == touched else content)
    return out.getvalue()


def in_gzip(seed: int, files: list[bytes]) -> bytes:
    """A gzipped file whose content is mutated, or which is itself mutated."""
    draw = random.Random(seed)
    if draw.random() < 0.3:
        return draw.choice(BINARY)(seed, files)
    content = draw.choice(BINARY)(seed, [gzip.decompress(data) for data in files])
    return gzip.compress(content, mtime=0)


def _onnx(which: str) -> Mutate:
    def mutate(seed: int, files: list[bytes]) -> bytes:
        from tests.onnx_files import mutations

        draw = random.Random(seed)
        return getattr(mutations, which)(draw, draw.choice(files))

    return mutate


# whole files


def fixtures(*patterns: str) -> Callable[[Path], list[bytes]]:
    """The files of the fixtures with some names."""
    return lambda _: [path.read_bytes() for pattern in patterns for path in sorted(FIXTURES.glob(pattern))]


def _pictures(*made: tuple[str, str, dict[str, Any]]) -> Callable[[Path], list[bytes]]:
    return lambda _: [compressed(mode, format, **options) for mode, format, options in made]


def _saved(*names: str, by: Callable[[Path], object]) -> Callable[[Path], list[bytes]]:
    """The files that a call writes into a folder."""

    def wholes(folder: Path) -> list[bytes]:
        by(folder)
        return [(folder / name).read_bytes() for name in names]

    return wholes


def _save_safetensors(folder: Path) -> None:
    mx.nd.save(str(folder / "a.safetensors"), {"w": mx.nd.array(np.arange(6).reshape(2, 3)), "b": mx.nd.ones((3,), dtype="float16")})


def _save_npy(folder: Path) -> None:
    for k, array in enumerate(
        [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6, dtype="int8").reshape(2, 3)), np.array(3 + 0j)]
    ):
        np.save(folder / f"{k}.npy", array)
    np.savez(folder / "a.npz", w=np.arange(6.0), b=np.ones((2, 2), "float32"))
    np.savez_compressed(folder / "b.npz", w=np.arange(6), flags=np.array([True, False]))


def _of_cluster(folder: Path) -> None:
    if not list(folder.glob("run/step-*.json")):
        arrays = {"w": mx.nd.array(np.arange(6).reshape(2, 3)), "b": mx.nd.ones((3,))}
        state = b"state of an optimizer"
        own = {"at": [1, 2]}
        mx.kv.save_checkpoint(folder / "run", 1, mx.kv.create("local"), arrays, lambda name: Path(name).write_bytes(state), own=own)


def _cluster_file(pattern: str) -> Callable[[Path], list[bytes]]:
    def wholes(folder: Path) -> list[bytes]:
        _of_cluster(folder)
        [path] = (folder / "run").glob(pattern)
        return [path.read_bytes()]

    return wholes


def _load_cluster(pattern: str) -> Callable[[Path], object]:
    def load(path: Path) -> object:
        [target] = (path.parent / "run").glob(pattern)
        whole = target.read_bytes()
        target.write_bytes(path.read_bytes())
        states: list[bytes] = []
        try:
            found = mx.kv.load_checkpoint(path.parent / "run")
            found.load_states(lambda name: states.append(Path(name).read_bytes()))
            random_state = mx.random.get_state(), np.random.get_state(legacy=True)[1:]  # noqa: NPY002
            return [found.step, found.arrays, found.own, states, random_state]
        finally:
            target.write_bytes(whole)

    return load


def _vectors(folder: Path) -> list[bytes]:
    return [b"cat 1 2 3\ndog 3 4 5\nflo\xc3\x9f 4 5 6\n", b"3 2\ncat 1 2\ndog 3 4\nowl 5 6e-3\n"]


def _block(folder: Path) -> mx.gluon.Block:
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize(mx.init.One())
    net.save(str(folder / "net"))
    return net


# how they are read


def _all(load: Callable[[str], Any]) -> Callable[[Path], object]:
    """Read by a function that takes a name."""
    return lambda path: load(str(path))


def _symbol(path: Path) -> object:
    symbol = mx.sym.load(str(path))
    in_use(symbol)
    return symbol.tojson()


def _states(path: Path) -> object:
    updater = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    updater.set_states(path.read_bytes())
    return updater.states


def _trainer(path: Path) -> object:
    trainer = mx.gluon.Trainer(network_of_states().collect_params(), "adam")
    trainer.load_states(str(path))
    return trainer.learning_rate


def _records(path: Path) -> object:
    file = mx.recordio.MXRecordIO(str(path), "r")
    return list(iter(file.read, None))


def _indexed(path: Path) -> object:
    file = mx.recordio.MXIndexedRecordIO(str(path), str(FIXTURES / "indexed.rec"), "r")
    return [(key, file.read_idx(key)) for key in file.keys]


def _image(path: Path) -> object:
    data = path.read_bytes()
    return [mx.image.imdecode(data, flag) for flag in (1, 0)]


def _record_images(path: Path) -> object:
    it = mx.io.ImageRecordIter(path_imgrec=str(path), data_shape=(3, 9, 9), batch_size=3, preprocess_threads=1)
    return [batch.data[0] for batch in it]


def _header(path: Path) -> object:
    header, rest = mx.recordio.unpack(path.read_bytes())
    return [np.asarray(header.label), header.id, header.id2, header.flag, rest]


def _headers(_: Path) -> list[bytes]:
    return [mx.recordio.pack((0, 1.5, 7, 0), b"content"), mx.recordio.pack((0, np.arange(3), 7, 0), b"content")]


def _rows(iterator: Callable[..., Any]) -> Callable[[Path], object]:
    return lambda path: [batch.data[0].asnumpy() for batch in iterator(str(path), (4,), batch_size=2)]


def _digits(path: Path) -> object:
    it = mx.io.MNISTIter(image=str(path), label=str(FIXTURES / "tiny-labels-idx1-ubyte"), batch_size=2, shuffle=False)
    return [batch.data[0] for batch in it]


def _colors(path: Path) -> object:
    for name in ("test_batch.bin",):
        (path.parent / name).write_bytes(path.read_bytes())
    found = mx.gluon.data.vision.CIFAR10(str(path.parent), train=False)
    return [found[k] for k in range(len(found))]


def _color_images(_: Path) -> list[bytes]:
    draw = np.random.default_rng(1)
    return [b"".join(bytes([k]) + draw.bytes(3072) for k in range(3))]


def _onnx_model(path: Path) -> object:
    symbol, params, aux = mx.contrib.onnx.import_model(str(path))
    return [symbol.tojson(), params, aux]


def _onnx_wholes(folder: Path) -> list[bytes]:
    from tests.onnx_files.mutations import networks

    return networks(str(folder))


def _traces(path: Path) -> object:
    first, out = path.parent / "first.json", path.parent / "all.json"
    first.write_text(json.dumps(TRACE))
    mx.profiler.merge_traces([str(first), str(path)], str(out))
    mx.viz.plot_cluster(str(path))
    mx.viz.plot_timeline(str(path))
    return out.read_bytes()


def _embedding(path: Path) -> object:
    found = mx.contrib.text.embedding.CustomEmbedding(str(path))
    return [found.idx_to_token, found.idx_to_vec]


def _structure(path: Path) -> object:
    (path.parent / "net-model.json").write_bytes(path.read_bytes())
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize()
    net.load(str(path.parent / "net"))
    return net.weight.data()


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def _creations(path: Path) -> object:
    return [repr(mx.init.create(_text(path)))]


def _optimizer(path: Path) -> object:
    return repr(sorted(vars(optimizer_from_json(_text(path))).items(), key=repr))


def _optimizers(_: Path) -> list[bytes]:
    schedule = mx.lr_scheduler.FactorScheduler(10, 0.9)
    made = [mx.optimizer.SGD(momentum=0.5, lr_scheduler=schedule), mx.optimizer.Adam(wd=0.1, param_idx2name={0: "w"})]
    return [optimizer_to_json(one).encode() for one in made]


def _cached(path: Path) -> object:
    from twofold_numpy.jit.cache import CACHE

    CACHE.folder.mkdir(parents=True, exist_ok=True)
    CACHE.path("key").write_bytes(path.read_bytes())
    CACHE.path("key").chmod(0o600)
    found = CACHE.load("key")
    if found is None:
        raise FormatError("a damaged file of the cache, which is not used")
    return found


def _cache_files(_: Path) -> list[bytes]:
    from twofold_numpy.jit.cache import CACHE

    CACHE.store("key", b"machine code " * 20)
    return [CACHE.path("key").read_bytes()]


def _hosts(path: Path) -> object:
    from twofold.command.hosts import hosts_of_file

    return hosts_of_file(str(path))


def _shown(path: Path) -> object:
    from twofold.command.contents.as_json import json_text
    from twofold.command.contents.content import Selection
    from twofold.command.contents.html import content_page
    from twofold.command.contents.reading import content_of

    content = content_of(str(path), Selection(3, 0, False, {}))
    content_page(content)
    if content.fault is not None:
        raise content.fault
    return json_text(content)


def _message_wholes(_: Path) -> list[bytes]:
    from twofold.kvstore.messages import encode

    from tests.kvstore.test_shard import valid_messages

    return [bytes(encode(message)) for message in valid_messages()]


def _with_right_checksums(seed: int, files: list[bytes]) -> bytes:
    from twofold.kvstore.messages import encode

    from tests.kvstore.test_shard import mutated as changed
    from tests.kvstore.test_shard import valid_messages

    draw = random.Random(seed)
    return bytes(encode(changed(draw, draw.choice(valid_messages())._replace(seq=seed))))


def _message(path: Path) -> object:
    from twofold.kvstore.messages import Opcode, decode

    from tests.kvstore.server_driver import Server

    server = Server(2)
    server.init(0, np.zeros((4, 2), np.float32), stype="row_sparse")
    message = decode(path.read_bytes())
    if len(message.payload) > server.core.limit(message):
        raise FormatError("larger than announced")
    for _, reply in server.core.handle(0, message) if message.op != Opcode.STOP else ():
        if reply.op == Opcode.ERROR:
            raise FormatError("answered with an error")
    return message.op


def _kinds() -> Iterator[Kind]:
    states = fixtures("gluon_*.states")
    yield Kind("parameters, all versions", "params", fixtures("*.params", "*.nd"), _all(mx.nd.load), mutate=BINARY)
    yield Kind("symbols, their bytes", "symbol.json", fixtures("*-symbol.json"), _symbol, mutate=TEXTUAL)
    yield Kind("symbols, their nodes", "nodes.json", fixtures("*-symbol.json"), _symbol, mutate=(edited_symbol,))
    yield Kind("states of updaters", "states", fixtures("*.states"), _states, mutate=BINARY)
    yield Kind("states of trainers", "trainer.states", states, _trainer, mutate=BINARY)
    yield Kind("records", "rec", fixtures("*.rec"), _records, mutate=BINARY)
    yield Kind("indexes of records", "idx", fixtures("indexed.idx"), _indexed, mutate=TEXTUAL)
    yield Kind("headers of records", "header", _headers, _header, mutate=BINARY)
    images = (FormatError, ShapeError)
    yield Kind("images in records", "images.rec", fixtures("images_scalar.rec"), _record_images, images, BINARY)
    jpegs: list[tuple[str, str, dict[str, Any]]] = [("RGB", "JPEG", {"quality": 90}), ("RGB", "JPEG", {"progressive": True})]
    jpegs += [("L", "JPEG", {}), ("CMYK", "JPEG", {}), ("RGB", "JPEG", {"exif": rotated(), "subsampling": 0})]
    yield Kind("JPEG", "jpg", _pictures(*jpegs), _image, mutate=TEXTUAL)
    pngs = [(mode, "PNG", {}) for mode in ("RGB", "P", "I;16", "LA", "RGBA", "1")]
    yield Kind("PNG", "png", _pictures(*pngs), _image, mutate=(mutated, with_checksums))
    others: list[tuple[str, str, dict[str, Any]]] = [("RGB", "BMP", {}), ("P", "GIF", {}), ("RGB", "TIFF", {}), ("RGB", "PPM", {})]
    others += [("RGB", "TIFF", {"compression": "tiff_lzw"}), ("RGBA", "WEBP", {})]
    yield Kind("BMP, GIF, TIFF, PPM, WebP", "images", _pictures(*others), _image, mutate=BINARY)
    yield Kind("CSV", "csv", lambda _: TEXT, _rows(mx.io.CSVIter), images, TEXTUAL)
    yield Kind("LibSVM", "libsvm", lambda _: SPARSE, _rows(mx.io.LibSVMIter), mutate=TEXTUAL)
    yield Kind("lists of images", "lst", lambda _: LISTS, lambda path: list(load_image_list(path.read_bytes())), mutate=TEXTUAL)
    yield Kind("digits (IDX)", "ubyte", fixtures("tiny-images-idx3-ubyte"), _digits, images, BINARY)
    yield Kind("digits, gzipped", "gz", lambda f: [gzip.compress(x) for x in fixtures("tiny-images*")(f)], _digits, images, (in_gzip,))
    yield Kind("CIFAR's images", "bin", _color_images, _colors, images, BINARY)
    yield Kind("safetensors", "safetensors", _saved("a.safetensors", by=_save_safetensors), _all(mx.nd.load), mutate=BINARY)
    yield Kind("NumPy's arrays by `show`", "npy", _saved("0.npy", "1.npy", "2.npy", by=_save_npy), _shown, (MXNetError,), mutate=BINARY)
    yield Kind("NumPy's archives by `show`", "npz", _saved("a.npz", "b.npz", by=_save_npy), _shown, (MXNetError,), mutate=(in_zip,))
    onnx = (_onnx("with_damaged_bytes"), _onnx("with_damaged_fields"), spliced)
    yield Kind("ONNX", "onnx", _onnx_wholes, _onnx_model, mutate=onnx)
    edited = (edited_json, mutated)
    yield Kind("clusters' checkpoints: index", "index.json", _cluster_file("step-???????.json"), *_cluster("step-???????.json", edited))
    yield Kind("clusters' checkpoints: shares", "share.json", _cluster_file("*-of-1.json"), *_cluster("*-of-1.json", edited))
    right = (with_right_checksum,)
    index, share = "step-???????.json", "*-of-1.json"
    yield Kind("clusters' checkpoints: index, checksum right", "index.right", _cluster_file(index), *_cluster(index, right, False))
    yield Kind("clusters' checkpoints: shares, checksum right", "share.right", _cluster_file(share), *_cluster(share, right, False))
    yield Kind("clusters' checkpoints: arrays", "share.params", _cluster_file("*.params"), *_cluster("*.params", BINARY))
    yield Kind("clusters' checkpoints: states", "share.states", _cluster_file("*.states"), *_cluster("*.states", BINARY))
    yield Kind("traces", "trace.json", lambda _: [json.dumps(TRACE).encode()], _traces, (FormatError, ParameterError), edited)
    yield Kind("word vectors", "vectors.txt", _vectors, _embedding, mutate=TEXTUAL)
    yield Kind("structures of blocks", "net.json", _saved("net-model.json", by=_block), _structure, (FormatError, ParameterError), edited)
    inits = [b'["xavier", {"magnitude": 2}]', b'["constant", {"value": 0.5}]', b"uniform", b'["mixed", {"patterns": []}]']
    yield Kind("initializers as text", "init", lambda _: inits, _creations, (FormatError, ParameterError), TEXTUAL)
    yield Kind("optimizers as JSON", "optimizer.json", _optimizers, _optimizer, (FormatError, ParameterError), (edited_json,))
    yield Kind("kept machine code", "code", _cache_files, _cached, mutate=BINARY, is_checked=True)
    hosts = [b"node1:2\nnode2 slots=4 max_slots=8 # big\n\nlocalhost\n"]
    yield Kind("hosts of `launch`", "hosts", lambda _: hosts, _hosts, (LaunchError,), TEXTUAL)
    messages = (mutated, _with_right_checksums)
    yield Kind("messages to servers", "message", _message_wholes, _message, mutate=messages)
    yield Kind("any of them by `show`", "shown", _any_wholes, _shown, (MXNetError,), BINARY)


def _cluster(pattern: str, mutate: tuple[Mutate, ...], is_checked: bool = True) -> tuple[Any, ...]:
    return _load_cluster(pattern), (FormatError, MissingFileError), mutate, is_checked


def _any_wholes(folder: Path) -> list[bytes]:
    """Whole files of some kinds that `show` knows."""
    found = fixtures("*.params", "*-symbol.json", "*.states", "*.rec", "*.nd", "tiny-*", "*.npz", "*.csv")(folder)
    return [data for data in found if len(data) < 4000] + _saved("a.safetensors", by=_save_safetensors)(folder)


KINDS = {kind.name: kind for kind in _kinds()}


def reader_of(kind: Kind, wholes: list[bytes], folder: Path) -> Callable[[bytes], Ended]:
    """How the reader of a kind of files ends with some bytes, which it finds in a file of the folder."""
    path = folder / f"damaged.{kind.name}"
    rights = []
    for whole in wholes:
        path.write_bytes(whole)
        try:
            rights.append(told(kind.load(path)))
        except kind.refusals:  # such as the states of an optimizer that this reader does not have
            continue
    assert rights

    def load(data: bytes) -> Ended:
        try:
            found = told(kind.load(path))
        except kind.refusals:
            return Ended("refused")
        except Exception as error:
            return Ended("undocumented error", f"{described(error)}: {data[:60]!r}")
        if found in rights:
            return Ended("right")
        return Ended("different" if not kind.is_checked else "different value accepted", f"{data[:60]!r}")

    def read(data: bytes) -> Ended:
        path.write_bytes(data)
        return measured(lambda: load(data), len(data))

    return read


def trial_of(kind: Kind) -> Callable[[Path], Trial]:
    """The trials of a kind of files."""

    def make(folder: Path) -> Trial:
        wholes = kind.wholes(folder)
        read = reader_of(kind, wholes, folder)
        return lambda seed: read(kind.mutate[seed % len(kind.mutate)](seed, wholes))

    return make
