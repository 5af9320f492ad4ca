"""Checkpoints: exchanged with MXNet's files, all or nothing; scalar statistics. The rest is in the programs."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import twofold as mx
from twofold.errors import FormatError, MissingFileError


def test_mxnets_checkpoints_can_be_loaded(shared):
    symbol, args, auxs = mx.model.load_checkpoint(shared / "fixtures" / "module_mlp", 2)
    expected = np.load(shared / "fixtures" / "module_mlp.expected.npz")
    assert symbol.list_arguments() == ["data", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias", "softmax_label"]
    assert auxs == {}
    for name, array in args.items():
        np.testing.assert_array_equal(array.asnumpy(), expected[f"p0_{name}"])


def test_a_loaded_checkpoint_is_saved_as_mxnet_saves_it(shared, tmp_path):
    source = shared / "fixtures" / "module_mlp"
    mx.model.save_checkpoint(tmp_path / "m", 2, *mx.model.load_checkpoint(source, 2))
    for ending in ("-0002.params", "-symbol.json"):
        assert (tmp_path / f"m{ending}").read_bytes() == source.with_name(f"module_mlp{ending}").read_bytes()


def test_arrays_with_unknown_names_are_rejected(tmp_path):
    mx.nd.save(tmp_path / "m-0001.params", {"weight": mx.nd.ones((1,))})
    with pytest.raises(FormatError, match=r"m-0001\.params.*neither arg: nor aux:"):
        mx.model.load_params(tmp_path / "m", 1)


def test_a_missing_checkpoint_says_which_file(tmp_path):
    with pytest.raises(MissingFileError, match=r"m-0007\.params"):
        mx.model.load_params(tmp_path / "m", 7)


def test_callbacks_log_the_saved_file(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    mx.callback.do_checkpoint(tmp_path / "m")(0, None, {}, {})
    assert caplog.messages == [f'Saved checkpoint to "{tmp_path}/m-0001.params"']


def test_statistics_can_be_scalars():
    executor = mx.sym.sqrt(mx.sym.Variable("x"), name="root").bind(mx.cpu(), {"x": mx.nd.ones((2,))})
    monitor = mx.mon.Monitor(1, stat_func=lambda array: array.shape)
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    assert [(name, text) for _, name, text in monitor.toc()] == [("root_output", "(2,)\t"), ("x", "(2,)\t")]
