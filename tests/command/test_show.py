"""``python -m twofold show``: what is in files of every kind, whole and damaged, printed, as JSON and as a page."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twofold as mx
from twofold.command import main
from twofold.command.contents.arrays import read_parameters
from twofold.command.contents.content import Content, Selection
from twofold.command.contents.inspected_file import opened
from twofold.errors import FormatError

from tests.data.programs.images import _pixels, _png

SCRIPT = "<script>alert(1)</script>"


class Page(HTMLParser):
    """A page, taken apart: its elements, and whether all that were opened were closed."""

    VOID = ("meta", "img", "br", "link")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def found(path: object, capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict[str, Any]:
    """What the command finds in a file, as JSON."""
    assert main(["show", str(path), "--json", *arguments]) == status
    return json.loads(capsys.readouterr().out)


def page(path: object, *arguments: str, status: int = 0) -> Page:
    out = Path(str(path)).with_suffix(".html")
    assert main(["show", str(path), "--html", str(out), *arguments]) == status
    return Page(out.read_text(encoding="utf-8"))


def records(path: Path, labels: list[Any], images: list[bytes]) -> Path:
    file = mx.recordio.MXIndexedRecordIO(str(path.with_suffix(".idx")), str(path), "w")
    for k, (label, data) in enumerate(zip(labels, images, strict=True)):
        file.write_idx(k, mx.recordio.pack(mx.recordio.IRHeader(0, label, k, 0), data))
    file.close()
    return path


# ------------------------------------------------------------------------------------------------------------------ arrays


def test_statistics_of_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    a = np.random.default_rng(0).normal(size=(1200, 1000)).astype(np.float32)  # more than one piece
    a[0, :7], a[1, :3], a[2] = np.nan, -np.inf, 0
    arrays = {"a": mx.nd.array(a), "half": mx.nd.array([65504, 65504], dtype="float16"), "int": mx.nd.array([2**62, -5], dtype="int64")}
    mx.nd.save(str(tmp_path / "x.params"), arrays)
    shown = {array["name"]: array for array in found(tmp_path / "x.params", capsys)["arrays"]}
    assert [(a["shape"], a["dtype"], a["size"]) for a in shown.values()] == [
        ([1200, 1000], "float32", 4_800_000),
        ([2], "float16", 4),
        ([2], "int64", 16),
    ]
    finite = a[np.isfinite(a)]
    s = shown["a"]["statistics"]
    assert (s["count"], s["zeros"], s["nans"], s["infinities"]) == (1_200_000, 1000, 7, 3)
    assert (s["minimum"], s["maximum"]) == (finite.min(), finite.max())
    assert s["mean"] == pytest.approx(finite.mean(dtype=float), abs=1e-12)
    every_second = a.ravel()[::2]
    expected, _ = np.histogram(every_second[np.isfinite(every_second)].astype(float), 24, (finite.min(), finite.max()))
    assert np.abs(np.array(s["histogram"]) - expected).sum() <= 4  # an element at an edge may round to either side
    assert shown["half"]["statistics"]["mean"] == 65504, "the sum of the halves overflows"
    assert (shown["int"]["statistics"]["maximum"], shown["int"]["statistics"]["minimum"]) == (2**62, -5)


def test_sparse_and_safetensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    csr = mx.nd.array([[0, 2.0], [0, 0]]).tostype("csr")
    mx.nd.save(str(tmp_path / "x.params"), {"s": csr})
    [array] = found(tmp_path / "x.params", capsys)["arrays"]
    assert (array["storage"], array["shape"], array["statistics"]["count"]) == ("csr", [2, 2], 1)
    mx.nd.save(str(tmp_path / "x.safetensors"), {"b": mx.nd.array([0, 1], dtype="bfloat16"), "t": mx.nd.array([True, False], dtype="bool")})
    b, t = sorted(found(tmp_path / "x.safetensors", capsys)["arrays"], key=lambda a: a["name"])
    assert (b["dtype"], b["statistics"]["mean"], t["dtype"], t["statistics"]["zeros"]) == ("bfloat16", 0.5, "bool", 1)


def test_an_array_of_an_unknown_type_does_not_hide_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "x.safetensors"
    mx.nd.save(str(path), {"a": mx.nd.ones((2,)), "b": mx.nd.ones((2,))})
    path.write_bytes(path.read_bytes().replace(b'"F32"', b'"F31"', 1))
    shown = found(path, capsys, status=2)
    assert [a["name"] for a in shown["arrays"]] == ["b"]
    assert "array 'a': its type, shape and offsets do not match" in shown["fault"]


def test_numpy_files_without_their_pickles(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=">i4").reshape(2, 3))
    [array] = found(tmp_path / "a.npy", capsys)["arrays"]
    assert (array["shape"], array["dtype"], array["statistics"]["mean"]) == ([2, 3], ">i4", 2.5)
    np.savez(tmp_path / "a.npz", x=np.ones(3), o=np.array([Exploding()], object), c=np.ones(2, np.complex64))
    x, o, c = found(tmp_path / "a.npz", capsys)["arrays"]
    assert (x["statistics"]["mean"], o["dtype"], o["statistics"], c["statistics"]) == (1, "pickled objects, not read", None, None)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-3])
    assert "21 of 24 bytes" in found(tmp_path / "cut.npy", capsys, status=2)["fault"]


class Exploding:
    """Ends the process if it is unpickled."""

    def __reduce__(self) -> Any:
        import os

        return os._exit, (1,)


def test_of_a_cut_parameter_file_the_whole_arrays_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "x.params"
    mx.nd.save(str(path), {"a": mx.nd.ones((50,)), "b": mx.nd.ones((50,))})
    path.write_bytes(path.read_bytes()[:300])
    assert main(["show", str(path)]) == 2
    out, err = capsys.readouterr()
    assert "[0]" in out
    assert "[1]" not in out
    assert err.startswith(f"twofold: {path}: byte ")
    assert "the file ends inside float32 elements" in err


def test_images_of_mnist_with_their_labels(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("PIL")
    images = shared / "fixtures" / "tiny-images-idx3-ubyte"
    shown = found(images, capsys, "--count", "4")
    labels = mx.io.MNISTIter(image=str(images), label=str(images).replace("images-idx3", "labels-idx1"), batch_size=4, shuffle=False)
    assert [s["label"] for s in shown["samples"]] == labels.next().label[0].asnumpy().tolist()
    copy = tmp_path / "tiny-images-idx3-ubyte"
    copy.write_bytes(images.read_bytes())
    assert page(copy, "--count", "5").count("image") == 5


# ----------------------------------------------------------------------------------------------------------------- records


def test_records_of_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("PIL")
    images = [_png(_pixels(10 + k, 20, k)) for k in range(5)]
    path = records(tmp_path / "x.rec", [0.0, 1.0, 1.0, 2.0, 1.0], [*images[:4], images[4][:70]])
    shown = found(path, capsys)
    assert shown["facts"]["records"] == 5
    assert shown["facts"]["index"] == "5 keys; it agrees"
    assert shown["facts"]["height in pixels"] == "10 to 14"
    tables = {t["title"]: t["rows"] for t in shown["tables"]}
    assert tables["Labels"] == [["1", 3], ["0", 1], ["2", 1]]
    assert tables["Formats"] == [["PNG RGB", 5]], "of which the headers are whole"
    assert shown["samples"][2]["label"] == "1"
    assert "damaged" in shown["samples"][4]["fault"]
    sheet = page(path)
    assert sheet.count("figure") == 5
    assert sheet.count("image") == 4


def test_without_pillow_the_rest_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    path = records(tmp_path / "x.rec", [4.0], [_png(_pixels(10, 20, 0))])
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    shown = found(path, capsys)
    assert "pip install 'twofold[image]'" in shown["facts"]["images"]
    assert shown["samples"][0]["label"] == "4"
    assert page(path).count("image") == 0


def test_boxes_are_drawn_for_labels_of_detection(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("PIL")
    two = [2, 5, 0, 0.1, 0.2, 0.5, 0.6, 3, 0.5, 0.5, 1, 1]
    no_shares = [2, 5, 0, 10, 20, 50, 60]
    image = _png(_pixels(20, 20, 0))
    path = records(tmp_path / "x.rec", [np.float32(two), np.float32(no_shares), 7.0], [image] * 3)
    boxes = [s["boxes"] for s in found(path, capsys)["samples"]]
    assert np.allclose(boxes[0], [[0, 0.1, 0.2, 0.5, 0.6], [3, 0.5, 0.5, 1, 1]])
    assert boxes[1:] == [[], []]
    assert page(path).count("rect") == 2
    capsys.readouterr()
    assert len(found(path, capsys, "--boxes")["samples"][1]["boxes"]) == 1


def test_samples_are_the_first_or_drawn_by_a_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = records(tmp_path / "x.rec", [float(k) for k in range(50)], [b"data"] * 50)

    def numbers(*arguments: str) -> list[int]:
        return [s["number"] for s in found(path, capsys, *arguments)["samples"]]

    assert numbers("--count", "3") == [0, 1, 2]
    drawn = numbers("--count", "5", "--seed", "1")
    assert drawn == numbers("--count", "5", "--seed", "1") != numbers("--count", "5", "--seed", "2")
    assert len(set(drawn)) == 5


def test_of_a_cut_record_file_the_whole_records_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = records(tmp_path / "x.rec", [1.0, 2.0, 3.0], [b"0123456789"] * 3)
    path.write_bytes(path.read_bytes()[:-8])
    shown = found(path, capsys, status=2)
    assert (shown["facts"]["whole records"], [s["label"] for s in shown["samples"]]) == (2, ["1", "2"])
    assert "byte 88: the file ends inside a record" in shown["fault"]


def test_the_index_of_other_records_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = records(tmp_path / "x.rec", [1.0, 2.0], [b"ab", b"cd"])
    path.with_suffix(".idx").write_text("0\t0\n1\t99\n")
    assert "does not belong" in found(path, capsys)["facts"]["index"]


def test_records_at_a_url_are_found_by_their_index(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    fsspec = pytest.importorskip("fsspec")
    path = records(tmp_path / "x.rec", [1.0, 2.0], [b"ab", b"cd"])
    memory = fsspec.filesystem("memory")
    for file in (path, path.with_suffix(".idx")):
        memory.pipe(f"/show/{file.name}", file.read_bytes())
    mx.nd.save("memory://show/x.params", {"w": mx.nd.ones((3,))})
    assert found("memory://show/x.rec", capsys)["facts"]["records"] == 2
    assert found("memory://show/x.params", capsys)["arrays"][0]["name"] == "w"


# ------------------------------------------------------------------------------------------------------------------ states


def test_states_of_an_optimizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    updater = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.25))
    updater(3, mx.nd.ones((2, 2)), mx.nd.ones((2, 2)))
    (tmp_path / "x.states").write_bytes(updater.get_states(dump_optimizer=True))
    shown = found(tmp_path / "x.states", capsys)
    assert shown["facts"]["optimizer"] == "mxnet.optimizer.optimizer.Adam"
    assert [a["name"] for a in shown["arrays"]] == ["3[0]", "3[1]"]
    assert ["lr", 0.25] in shown["tables"][0]["rows"]


def test_nothing_in_a_pickle_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "x.states").write_bytes(pickle.dumps({0: Exploding()}))
    assert "not allowed: given posix._exit" in found(tmp_path / "x.states", capsys, status=2)["fault"]


# ---------------------------------------------------------------------------------------------------------------- networks


def perceptron() -> mx.sym.Symbol:
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    return mx.sym.FullyConnected(mx.sym.Activation(x, act_type="relu", name="relu"), num_hidden=2, name=SCRIPT)


def test_layers_of_a_symbol(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "net-symbol.json"
    perceptron().save(str(path))
    shown = found(path, capsys, "--shape", "data=8,3")
    tables = {t["title"]: t["rows"] for t in shown["tables"]}
    assert tables["Layers"] == [
        ["fc1", "FullyConnected", "(8, 4)", 16, "data"],
        ["relu", "Activation", "(8, 4)", 0, "fc1"],
        [SCRIPT, "FullyConnected", "(8, 2)", 10, "relu"],
    ]
    assert (shown["facts"]["MXNet version"], shown["facts"]["parameters"]) == ("1.9.1", 26)
    assert shown["network"] == {"nodes": ["data", "fc1", "relu", SCRIPT], "edges": [[0, 1], [1, 2], [2, 3]]}
    assert tables["Operators"] == [["FullyConnected", 2, "yes"], ["Activation", 1, "yes"]]


def test_sizes_come_from_the_parameters_beside_a_symbol(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    perceptron().save(str(tmp_path / "net-symbol.json"))
    for epoch, size in ((2, 3), (10, 7)):
        mx.nd.save(str(tmp_path / f"net-{epoch:04}.params"), {"arg:fc1_weight": mx.nd.ones((4, size))})
    shown = found(tmp_path / "net-symbol.json", capsys)
    assert shown["facts"]["sizes of parameters"] == "from net-0010.params beside it"
    assert shown["tables"][3]["rows"][0][3] == 32


def test_a_network_of_unknown_operators_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "net-symbol.json"
    path.write_text(perceptron().tojson().replace("Activation", "TheirOwn"))
    shown = found(path, capsys)
    assert ["TheirOwn", 1, "no"] in shown["tables"][2]["rows"]
    assert page(path).count("title") == 1 + 4


def test_an_onnx_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("onnx")
    params = {"fc1_weight": mx.nd.ones((4, 3)), "fc1_bias": mx.nd.zeros(4)}
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    mx.onnx.export_model(net, params, [(8, 3)], onnx_file_path=str(tmp_path / "net.onnx"))
    shown = found(tmp_path / "net.onnx", capsys)
    assert (shown["kind"], shown["facts"]["operator sets"], shown["facts"]["parameters"]) == ("ONNX model", "ai.onnx 13", 16)
    assert {a["name"]: a["shape"] for a in shown["arrays"]} == {"fc1_weight": [4, 3], "fc1_bias": [4]}
    assert shown["tables"][0]["rows"] == [["data", "float", "(8, 3)"]]
    assert len(shown["network"]["nodes"]) == 1 + shown["facts"]["nodes"]
    damaged = (tmp_path / "net.onnx").read_bytes().replace(b"\x07twofold", b"\x07two\xffold", 1)
    (tmp_path / "net.onnx").write_bytes(damaged)
    assert "two\\xffold" in found(tmp_path / "net.onnx", capsys)["facts"]["written by"]


# ------------------------------------------------------------------------------------------------------------------- text


def test_files_of_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a").write_text("0\t1.000000\tcats/0.png\n7\t0.000000\tdogs/1.png\n8\t1.0\tcats/2.png\n")
    shown = found(tmp_path / "a", capsys)
    assert (shown["kind"], shown["facts"]["images"], shown["tables"][0]["rows"]) == ("list of images", 3, [["1", 2], ["0", 1]])
    (tmp_path / "a").write_text("a\t0\nb\t128\n")
    shown = found(tmp_path / "a", capsys)
    assert (shown["kind"], shown["tables"][0]["rows"]) == ("index of records", [["a", 0], ["b", 128]])
    (tmp_path / "a").write_text("1 3:0.5\n0\n1 0:1 9:2\n")
    shown = found(tmp_path / "a", capsys)
    assert (shown["kind"], shown["facts"]["rows"], shown["facts"]["largest index"]) == ("LibSVM data", 3, 9)
    (tmp_path / "a").write_text("1,2\n3,4.5\n-1e3,nan\n")
    shown = found(tmp_path / "a", capsys, "--count", "2")
    assert (shown["kind"], shown["facts"]["rows"], shown["tables"][0]["rows"]) == ("CSV data", 3, [[0, "1", "2"], [1, "3", "4.5"]])


def test_a_damaged_line_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.csv").write_text("1,2\n3,x\n")
    shown = found(tmp_path / "a.csv", capsys, status=2)
    assert shown["fault"] == f"{tmp_path / 'a.csv'}: line 2 of a CSV file has something that is no number: given 3,x"
    assert len(shown["tables"][0]["rows"]) == 2
    for line in ("1\tb.png", "1\t"):
        (tmp_path / "a.lst").write_text(f"0\t1\ta.png\n{line}\n")
        shown = found(tmp_path / "a.lst", capsys, status=2)
        assert shown["facts"]["images"] == 1
        assert "line 2 of a list of images" in shown["fault"]


def test_queries_weights_and_comments_of_libsvm_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.svm").write_text("3:0.5 qid:1 0:1.5 7:2 # the best\n\n# nothing\n1 qid:2 4:1\n")
    shown = found(tmp_path / "a.svm", capsys)
    assert shown["facts"]["largest index"] == 7
    assert shown["facts"]["values in a row"] == "1 to 2, 1.5 on average"
    assert shown["tables"][0]["rows"] == [[0, "3:0.5 qid:1", "0:1.5 7:2"], [1, "1 qid:2", "4:1"]]


def test_a_file_that_is_shortened_meanwhile_does_not_end_the_process(tmp_path: Path):
    path = tmp_path / "a.params"
    mx.nd.save(str(path), {"a": mx.nd.ones((3,)), "b": mx.nd.ones((100_000,))})
    with opened(str(path)) as source:
        content = Content(str(path), "MXNet parameters", source.size)
        path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(FormatError, match="the file ends inside"):
            read_parameters(source, content, Selection())
    assert [a.shape for a in content.arrays] == [(3,)], "what could be read"


def test_lines_of_a_large_file_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "a.csv").write_text("1.25,2.5,3.75\n" * 100_000)
    assert found(tmp_path / "a.csv", capsys)["facts"]["lines"] == 100_000


# ----------------------------------------------------------------------------------------------------------------- showing


def test_names_and_labels_are_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    name = f"{SCRIPT}\x1b[31m[bold]"
    mx.nd.save(str(tmp_path / "x.params"), {name: mx.nd.ones((2,))})
    assert main(["show", str(tmp_path / "x.params")]) == 0
    assert f"{SCRIPT}\\x1b[31m[bold]" in capsys.readouterr().out, "a terminal must not obey a name"
    (tmp_path / "x.lst").write_text(f"0\t1\t{SCRIPT}.png\n")
    perceptron().save(str(tmp_path / "x-symbol.json"))
    for file in ("x.params", "x.lst", "x-symbol.json"):
        shown = page(tmp_path / file)
        assert shown.count("script") == 0
        assert any("<script>" in text for text in shown.text)


def test_names_in_errors_do_not_command_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("\x1b[31mnotes.txt", b"")
        archive.writestr("\x1b]0;title\x07\x9b.npy", b"nothing of NumPy's")
    assert main(["show", str(tmp_path / "x.npz")]) == 2
    shown = capsys.readouterr()
    assert r"\x1b[31mnotes.txt" in shown.out
    assert r"array \x1b]0;title\x07\x9b: not a header" in shown.err
    assert (shown.out + shown.err).replace("\n", "").isprintable()


def test_names_in_messages_of_the_library_do_not_command_a_terminal(tmp_path: Path):
    (tmp_path / "\x1b[31m.params").write_bytes(b"nothing")
    with pytest.raises(FormatError) as caught:
        mx.nd.load(str(tmp_path / "\x1b[31m.params"))
    assert r"\x1b[31m.params" in str(caught.value)
    error = FormatError("a line\n\tand the next", "\u202e\x9b\r", path="p")
    assert str(error) == str(error.at_path("q")) == "p: a line\n\tand the next: given \\u202e\\x9b\\r"


def test_the_kind_is_told_by_content_and_not_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    mx.nd.save(str(tmp_path / "x.params"), [mx.nd.ones((2,))])
    perceptron().save(str(tmp_path / "x-symbol.json"))
    for old, new, kind in (("x.params", "a.rec", "MXNet parameters"), ("x-symbol.json", "a.states", "MXNet symbol")):
        (tmp_path / old).rename(tmp_path / new)
        assert found(tmp_path / new, capsys)["kind"] == kind


@pytest.mark.parametrize(("content", "status", "message"), [(b"", 2, "empty"), (b"# notes", 2, "not a kind of file"), (None, 1, "no such")])
def test_what_cannot_be_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, status: int, message: str):
    path = tmp_path / "notes.md"
    if content is not None:
        path.write_bytes(content)
    assert main(["show", str(path)]) == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--count", "-1"), ("--shape", "data=1,x"), ("--shape", "3,4")])
def test_options_that_make_no_sense(option: tuple[str, str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["show", "x", *option])
    error = capsys.readouterr().err
    assert f"argument {option[0]}: must be" in error
    assert f"not {option[1]!r}" in error


def test_every_file_that_mxnet_wrote_is_shown(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shown = 0
    for path in sorted((shared / "fixtures").iterdir()):
        if path.suffix in (".rec", ".idx", ".params", ".nd", ".states", ".csv", ".libsvm", ".npz") or path.name.endswith("-symbol.json"):
            assert main(["show", str(path), "--html", str(tmp_path / "out.html")]) == 0, capsys.readouterr().err
            Page((tmp_path / "out.html").read_text(encoding="utf-8"))
            shown += 1
    assert shown > 70


def test_damaged_files_are_faults_and_never_crashes(shared: Path, tmp_path: Path):
    from twofold.command.contents.content import Selection
    from twofold.command.contents.html import content_page
    from twofold.command.contents.reading import content_of
    from twofold.errors import FormatError

    rng = random.Random(7)
    for name in ("images.rec", "images.idx", "gluon_net.params", "gluon_adam.states", "sym_convnet-symbol.json", "data.libsvm", "data.csv"):
        whole = (shared / "fixtures" / name).read_bytes()
        for _ in range(15):
            data = bytearray(whole[: rng.randrange(len(whole) // 2, len(whole) + 1)])
            data[rng.randrange(len(data))] = rng.randrange(256)
            (tmp_path / name).write_bytes(data)
            try:
                content = content_of(str(tmp_path / name), Selection(count=3))
            except FormatError:
                continue  # its kind is not to be told any more
            content_page(content)
            assert content.fault is None or isinstance(content.fault, FormatError)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize("rows", [1, 40_000])
def test_output_that_cannot_be_written_is_told_in_one_line(tmp_path: Path, rows: int):
    """Whether it is written at the end or, if there is more of it than the buffer holds, on the way."""
    mx.nd.save(str(tmp_path / "a.params"), {f"array{k:05}": mx.nd.ones(1) for k in range(rows)})
    command = [sys.executable, "-m", "twofold", "show", str(tmp_path / "a.params")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["twofold: [Errno 28] No space left on device"]
