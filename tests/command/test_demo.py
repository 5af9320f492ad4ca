"""``twofold demo``: it trains real digits in four ways that agree, writes its report, and fails where they do not agree."""

import gzip
import re
import sys
from base64 import b64decode
from importlib.util import find_spec
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from twofold.command import main
from twofold.command.demo import differences
from twofold.command.digits import digits, mnist_folder
from twofold.command.figures import curves_figure, misread_figure
from twofold.command.folding_sample import ELEMENTS, saving
from twofold.command.four_ways import WAYS, Outcome
from twofold.errors import MissingDependency, MissingFileError

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")


@pytest.fixture
def no_mnist(monkeypatch, tmp_path):
    monkeypatch.delenv("TWOFOLD_DATA", raising=False)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))


@pytest.fixture
def demo(no_mnist, tmp_path, capsys):
    status = main(["demo", "--epochs", "4", "--out", str(tmp_path / "report")])
    return status, capsys.readouterr().out.splitlines(), tmp_path / "report" / "report.html"


def test_the_four_ways_agree_and_the_last_line_is_the_accuracy(demo):
    status, lines, page = demo
    assert status == 0
    assert float(re.fullmatch(r"accuracy: (0\.\d+)", lines[-1])[1]) > 0.9
    text = page.read_text(encoding="utf-8")
    assert all(way in text for way in WAYS)
    assert "backward on cpu(0)" in text
    assert re.search(r"\d+ of 360; the first of them", text)
    assert text.count("<svg") > len(WAYS)


def outcome(way, losses, accuracy=0.9):
    return Outcome(way, np.zeros((1, 10)), accuracy, losses, 1.0)


def test_losses_that_differ_by_more_than_rounding_are_named():
    faults = differences([outcome("one", [1.0, 0.5]), outcome("other", [1.0, 0.50001])], 1000)
    assert faults == ["one and other: the loss of step 1 is 0.5 and 0.50001"]


def test_losses_after_the_first_twenty_may_differ():
    assert differences([outcome("one", [1.0] * 20 + [2]), outcome("other", [1.0] * 20 + [3])], 1000) == []


@pytest.mark.parametrize(
    ("images", "apart", "agree"), [(10_000, 0.004, True), (10_000, 0.006, False), (100, 0.03, True), (100, 0.04, False)]
)
def test_accuracies_may_differ_by_half_a_point_or_three_images(images, apart, agree):
    assert (differences([outcome("one", [1.0]), outcome("other", [1.0], 0.9 - apart)], images) == []) is agree


def test_a_difference_is_the_exit_status(no_mnist, monkeypatch, tmp_path, capsys):
    other = {**WAYS, "Gluon": lambda task, told: WAYS["NDArray and autograd"](task, lambda loss: told(loss * 1.1))}
    monkeypatch.setattr("twofold.command.four_ways.WAYS", other)
    assert main(["demo", "--epochs", "1", "--out", str(tmp_path)]) == 1
    assert "FAILED: Symbol and Module.fit and Gluon: the loss of step 0" in capsys.readouterr().out


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


@pytest.mark.parametrize("packed", [False, True])
def test_mnist_is_read_where_its_files_are(tmp_path, packed):
    images, labels = np.arange(32, dtype=np.uint8).reshape(2, 4, 4), np.array([3, 5], np.uint8)
    for part in ("train", "t10k"):
        for name, array in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", labels)):
            data = idx(array)
            (tmp_path / (name + ".gz" * packed)).write_bytes(gzip.compress(data) if packed else data)
    data = digits(str(tmp_path))
    np.testing.assert_array_equal(data.images, images.astype(np.float32) / 255)
    np.testing.assert_array_equal(data.held_out_labels, [3, 5])


def test_a_folder_that_lacks_files_is_an_error(tmp_path):
    with pytest.raises(MissingFileError, match="files are missing from the folder"):
        mnist_folder(str(tmp_path))


def test_scikit_learns_digits_stand_in_for_mnist(no_mnist):
    data = digits()
    assert data.images.shape == (1437, 8, 8)
    assert len(data.held_out_labels) == 360
    assert (data.images.min(), data.images.max()) == (0, 1)


def test_without_any_digits_the_demo_says_what_to_install(no_mnist, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingDependency, match=r"pip install 'twofold\[demo\]'"):
        digits()


def test_the_report_is_for_phones_too_and_has_each_thing_once(demo):
    text = demo[2].read_text(encoding="utf-8")
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert text.count('<table class="counts">') == 1
    assert "digraph" not in text, "the network is a picture"
    assert "FullyConnected 64" in text
    assert text.count("<table") == text.count('<div class="wide"><table') + text.count('<table style="border-collapse')
    assert "What folding saves" in text


def test_each_way_has_a_panel_of_its_own():
    assert curves_figure({"one": [1.0, 0.5], "other": [1.0, 0.5]}).count("<svg") == 2


def test_misread_images_are_pictures():
    assert "None" in misread_figure(np.zeros((2, 8, 8)), np.array([1, 2]), np.array([1, 2]))
    images = np.linspace(0, 1, 64).reshape(1, 8, 8).repeat(40, 0)
    page = misread_figure(images, np.zeros(40, int), np.ones(40, int))
    assert page.count("<img ") == 30
    with Image.open(BytesIO(b64decode(re.search(r"base64,([^\"]+)", page)[1]))) as image:
        np.testing.assert_array_equal(np.asarray(image), np.round(255 * (1 - images[0])))


def test_what_folding_saves_is_measured():
    found = saving()
    assert found.is_equal
    assert len(found.steps) == 1
    # NumPy's square root reads one array and writes another; a fused kernel needs some blocks
    assert found.plain.temporaries >= 8 * ELEMENTS
    assert found.fused.temporaries < ELEMENTS


def test_a_missing_file_is_one_line_and_an_exit_status(tmp_path, capsys):
    assert main(["demo", "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("twofold: MNIST: files are missing from the folder")


@pytest.mark.parametrize("given", ["0", "-1", "x", "1.5"])
def test_the_number_of_epochs_is_at_least_1(given, capsys):
    with pytest.raises(SystemExit):
        main(["demo", "--epochs", given])
    assert f"must be a positive integer, not '{given}'" in capsys.readouterr().err
