"""Modules of ``mx.contrib`` where Twofold does more than MXNet, and what they say about wrong use."""

import hashlib
import sys
from collections import Counter
from types import ModuleType

import numpy as np
import pytest

import twofold as mx
from twofold.contrib.svrg_optimization.svrg_module import SVRGModule
from twofold.contrib.text import embedding, vocab
from twofold.errors import FormatError, MissingDependency, MissingFileError, MXNetError, NotReady

X = np.random.default_rng(0).uniform(-1, 1, (12, 3))
Y = X @ [1.0, 2.0, -1.0]


def svrg_module(**kwargs):
    line = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc", no_bias=True)
    return SVRGModule(mx.sym.LinearRegressionOutput(line, name="lin"), label_names=["lin_label"], update_freq=1, **kwargs)


def trained(epochs, **kwargs):
    """The weights after some epochs of batches of four rows."""
    data = mx.io.NDArrayIter(X, Y, 4, label_name="lin_label")
    module = svrg_module(**kwargs)
    start = {"fc_weight": mx.nd.array([[0.1, 0.2, 0.3]])}
    module.fit(data, eval_metric="mse", num_epoch=epochs, arg_params=start, initializer=None, optimizer_params={"learning_rate": 0.4})
    return module.get_params()[0]["fc_weight"].asnumpy()[0]


def by_formula(epochs):
    """The same in NumPy: g_b(w) - g_b(w') + the mean of all g_b(w'), each divided by the four rows."""
    weight = np.array([0.1, 0.2, 0.3])
    for _ in range(epochs):
        snapshot = weight
        for rows in (slice(0, 4), slice(4, 8), slice(8, 12)):
            everywhere = X.T @ (X @ snapshot - Y) / 3
            correction = X[rows].T @ (X[rows] @ (weight - snapshot))
            weight = weight - 0.4 / 4 * (correction + everywhere)
    return weight


@pytest.mark.parametrize("epochs", [1, 3])
def test_reduced_variance_follows_the_formula_at_every_snapshot(epochs):
    np.testing.assert_allclose(trained(epochs), by_formula(epochs), rtol=1e-5)


def test_reduced_variance_does_not_depend_on_the_number_of_devices():
    np.testing.assert_allclose(trained(3, context=[mx.cpu(0), mx.cpu(1)]), trained(3), rtol=1e-5)


def test_an_update_without_gradients_of_all_data_is_an_error():
    data = mx.io.NDArrayIter(X, Y, 4, label_name="lin_label")
    module = svrg_module()
    module.bind(data.provide_data, data.provide_label)
    module.init_params()
    module.init_optimizer()
    module.forward_backward(data.next())
    with pytest.raises(NotReady, match="update_full_grads"):
        module.update()


def test_frequencies_are_checked_as_in_mxnet():
    with pytest.raises(TypeError, match="must be an integer"):
        SVRGModule(mx.sym.Variable("data"), label_names=None)
    with pytest.raises(ValueError, match="must be a positive integer"):
        SVRGModule(mx.sym.Variable("data"), label_names=None, update_freq=0)


def test_leaving_a_section_restores_recording_and_training():
    with mx.autograd.record(train_mode=False):
        with mx.contrib.autograd.test_section():
            assert not mx.autograd.is_recording()
        assert mx.autograd.is_recording()
        assert not mx.autograd.is_training()


def test_incomplete_batches_are_filled_with_zeros():
    dataset = mx.gluon.data.ArrayDataset(np.ones((3, 2)), np.ones(3))
    *_, last = mx.contrib.io.DataLoaderIter(mx.gluon.data.DataLoader(dataset, batch_size=2), dtype="float64")
    assert last.data[0].asnumpy().tolist() == [[1, 1], [0, 0]]
    assert last.label[0].asnumpy().tolist() == [1, 0]
    assert last.data[0].dtype == np.float64


@pytest.mark.parametrize(("dataset", "given"), [(np.ones((3, 2)), "batches of 1 arrays"), ([], "no batches")])
def test_loaders_of_anything_but_pairs_are_refused(dataset, given):
    with pytest.raises(ValueError, match=given):
        mx.contrib.io.DataLoaderIter(mx.gluon.data.DataLoader(dataset, batch_size=2))


class Writer:
    """A stand-in for a package's SummaryWriter, which keeps what it is given."""

    def __init__(self, folder):
        self.folder, self.scalars = folder, []

    def add_scalar(self, tag, value, global_step):
        self.scalars.append((tag, value, global_step))


def test_metrics_are_written_by_name_and_epoch(monkeypatch):
    package = ModuleType("mxboard")
    package.SummaryWriter = Writer
    package.__spec__ = pytest.__spec__
    monkeypatch.setitem(sys.modules, "mxboard", package)
    metric = mx.metric.create(["acc", "mse"])
    metric.metrics[0].update([mx.nd.array([0.0])], [mx.nd.array([[1.0, 0.0]])])
    callback = mx.contrib.tensorboard.LogMetricsCallback("logs", prefix="train")
    callback(mx.model.BatchEndParam(epoch=3, nbatch=2, eval_metric=metric, locals={}))
    callback(mx.model.BatchEndParam(epoch=4, nbatch=2, eval_metric=None, locals={}))
    assert callback.summary_writer.folder == "logs"
    assert callback.summary_writer.scalars[0] == ("train-accuracy", 1.0, 3)
    assert [tag for tag, _, _ in callback.summary_writer.scalars] == ["train-accuracy", "train-mse"]


def test_a_missing_writer_names_what_to_install(monkeypatch):
    for name in mx.contrib.tensorboard.WRITERS:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("twofold.contrib.tensorboard.find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match="pip install 'tensorboardX'"):
        mx.contrib.tensorboard.LogMetricsCallback("logs")


def test_published_vectors_are_read_from_the_local_folder(tmp_path, monkeypatch):
    text = b"cat 1 2\ndog 3 4\n"
    name = "glove.6B.50d.txt"
    (tmp_path / "glove").mkdir()
    (tmp_path / "glove" / name).write_bytes(text)
    with pytest.raises(FormatError, match="checksum"):
        embedding.create("glove", pretrained_file_name=name, embedding_root=tmp_path)
    monkeypatch.setitem(embedding.GloVe.pretrained_file_name_sha1, name, hashlib.sha1(text).hexdigest())
    words = vocab.Vocabulary(Counter(["dog"]))
    found = embedding.create("glove", pretrained_file_name=name, embedding_root=tmp_path, vocabulary=words)
    assert found.get_vecs_by_tokens(["dog", "cat"]).asnumpy().tolist() == [[3, 4], [0, 0]]


def test_a_published_file_that_is_not_there_names_its_place(tmp_path):
    with pytest.raises(MissingFileError, match=r"fasttext.*wiki\.simple\.vec"):
        embedding.FastText(embedding_root=tmp_path)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 2\ndog 3 4\n")
    return path


def test_reserved_words_get_their_vectors_from_the_file(file):
    found = embedding.CustomEmbedding(file, reserved_tokens=["<pad>", "dog"])
    assert found.idx_to_token == ["<unk>", "<pad>", "dog", "cat"]
    assert found.idx_to_vec.asnumpy().tolist() == [[0, 0], [0, 0], [3, 4], [1, 2]]


def test_second_vectors_and_headers_are_skipped_with_a_warning(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("2 2\ncat 1 2\ncat 5 6\n")
    with pytest.warns(UserWarning, match="likely a header"), pytest.warns(UserWarning, match="a second vector of cat"):
        found = embedding.CustomEmbedding(path)
    assert found.idx_to_vec.asnumpy().tolist() == [[0, 0], [1, 2]]


@pytest.mark.parametrize("words", [{}, {"cat": 1}], ids=["no words", "a word"])
def test_the_unknown_word_of_a_vocabulary_has_the_vector_of_the_unknown_word_of_the_source(tmp_path, words):
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 2\n<u> 9 9\n")
    words = vocab.Vocabulary(Counter(words), unknown_token="<u>")  # in the file it is a word like others
    first, second = (embedding.CustomEmbedding(str(path), init_unknown_vec=start) for start in (mx.nd.zeros, mx.nd.ones))
    joined = embedding.CompositeEmbedding(words, [first, second])
    assert joined.idx_to_vec.asnumpy().tolist() == [[0, 0, 1, 1], [1, 2, 1, 2]][: len(words)]


@pytest.mark.parametrize(
    ("text", "message"),
    [("a 1 2\nb 1 2 3\n", "At line 2 .* 3 elements, those before 2"), ("a 1 x\n", "not numbers"), ("a\n", "no vector"), ("", "no vectors")],
)
def test_damaged_files_of_vectors_are_format_errors_with_their_line(tmp_path, text, message):
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        embedding.CustomEmbedding(path)


def test_classes_of_users_are_registered_by_name(file):
    @embedding.register
    class FromFile(embedding.CustomEmbedding):
        """Vectors of a test."""

    assert embedding.create("fromfile", pretrained_file_path=file).vec_len == 2
    assert "fromfile" not in embedding.get_pretrained_file_names()


def test_operators_of_contrib_are_the_same_by_both_names():
    assert mx.contrib.nd is mx.nd.contrib
    assert mx.contrib.symbol is mx.sym.contrib
    with pytest.raises(AttributeError, match="no attribute 'torch'"):
        _ = mx.contrib.torch
    assert issubclass(embedding.UnknownName, (KeyError, MXNetError))
