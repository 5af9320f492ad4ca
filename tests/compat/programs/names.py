"""Private functions of MXNet's that libraries import."""

from __future__ import annotations

import hashlib
import json
import os
from importlib import import_module
from typing import Any

from tests.oracle_programs import fails


def urls_of_published_files(mx: Any) -> Any:
    utils, store = import_module("mxnet.gluon.utils"), import_module("mxnet.gluon.model_zoo.model_store")
    found = [utils._get_repo_url(), utils._get_repo_file_url("gluon/dataset", "a.zip")]
    os.environ["MXNET_GLUON_REPO"] = "http://host/files"
    try:
        found += [utils._get_repo_url(), utils._get_repo_file_url("gluon/dataset", "a.zip")]
    finally:
        del os.environ["MXNET_GLUON_REPO"]
    return found, store._url_format.format(repo_url="r/", file_name="f")


def checksums_of_word_vectors(mx: Any) -> Any:
    constants = import_module("mxnet.contrib.text._constants")
    kinds = [f"{name}_SHA1" for name in ("GLOVE_PRETRAINED_FILE", "GLOVE_PRETRAINED_ARCHIVE", "FAST_TEXT_FILE", "FAST_TEXT_ARCHIVE")]
    sums = [hashlib.sha1(json.dumps(getattr(constants, kind), sort_keys=True).encode()).hexdigest() for kind in kinds]
    return sums, constants.APACHE_REPO_URL, constants.UNKNOWN_IDX


def a_library_enters_its_own_models(mx: Any) -> Any:
    store = import_module("mxnet.gluon.model_zoo.model_store")
    store._model_sha1.update({"my_model": "0123456789abcdef"})
    try:
        return store.short_hash("my_model"), store.short_hash("resnet18_v1")
    finally:
        del store._model_sha1["my_model"]


def interpolations(mx: Any) -> Any:
    method = import_module("mxnet.image.image")._get_interp_method
    sizes = [(), (10, 10, 5, 5), (5, 5, 10, 10), (10, 5, 5, 10), (5, 5, 5, 5)]
    return [[method(k, size) for size in sizes] for k in (0, 1, 2, 3, 4, 9)], fails(lambda: method(11))


def classes_of_operands(mx: Any) -> Any:
    return [kind.__name__ for kind in mx.gluon.tensor_types], isinstance(mx.nd.ones(1), mx.gluon.tensor_types)


def reshaped_like(mx: Any) -> Any:
    return import_module("mxnet.gluon.loss")._reshape_like(mx.nd, mx.nd.arange(6), mx.nd.ones((2, 3)))


def batch_normalizations(mx: Any) -> Any:
    kind, nn = import_module("mxnet.gluon.nn.basic_layers")._BatchNorm, mx.gluon.nn

    class Own(kind):
        pass

    layers = [nn.BatchNorm(), nn.BatchNormReLU(), mx.gluon.contrib.nn.SyncBatchNorm(), Own(), nn.Dense(1)]
    rectified = kind(fuse_relu=True, in_channels=2)
    return [isinstance(layer, kind) for layer in layers], isinstance(nn.BatchNorm(), Own), rectified.fuse_relu


def state_of_mixed_precision(mx: Any) -> Any:
    amp = import_module("mxnet.contrib.amp.amp")
    return amp._amp_initialized, amp._amp_loss_scale_initialized, amp._loss_scaler


def scopes_of_switches(mx: Any) -> Any:
    util = import_module("mxnet.util")
    with util._NumpyShapeScope(True):
        with util._NumpyArrayScope(True):
            inside = util.is_np_array(), util.is_np_shape()
        between = util.is_np_array(), util.is_np_shape()
    return inside, between, util.is_np_array(), util.is_np_shape()


def distinct_classes(mx: Any) -> Any:
    mx.random.seed(3)
    samples, tries = mx.nd._internal._sample_unique_zipfian(20, shape=(4, 5))
    rows = samples.asnumpy()
    return (
        [samples.shape, str(rows.dtype), tries.shape, str(tries.asnumpy().dtype)],
        [len(set(row)) for row in rows.tolist()],
        bool((rows >= 0).all() and (rows < 20).all() and (tries.asnumpy() >= 5).all()),
    )


def operators_by_their_names(mx: Any) -> Any:
    signatures, protocol = import_module("mxnet.numpy_op_signature"), import_module("mxnet.numpy_dispatch_protocol")
    names = ["_np_sum", "_npx_relu", "_np__linalg_svd", "_np__random_shuffle", "exp"]
    found = [signatures._get_builtin_op(name) for name in names]
    return (
        [None if f is None else f.__name__ for f in found],
        fails(lambda: signatures._get_builtin_op("_np_no_such_function")),
        protocol._NUMPY_ARRAY_FUNCTION_LIST,
        protocol._NUMPY_ARRAY_UFUNC_LIST,
        [protocol._find_duplicate(["a", "b", "a"]), protocol._find_duplicate(["a"])],
    )


def folders_of_files(mx: Any) -> Any:
    base = mx.base
    before = base.data_dir() == base.data_dir_default()
    os.environ["MXNET_HOME"] = "/elsewhere"
    try:
        return before, base.data_dir()
    finally:
        del os.environ["MXNET_HOME"]


def libraries_of_operators(mx: Any) -> Any:
    return fails(lambda: mx.library.load("no_such_file.so")), mx.img is mx.image, mx.__file__.endswith("__init__.py")


def shares_of_devices(mx: Any) -> Any:
    split = import_module("mxnet.module.executor_group")._split_input_slice
    return [[s.start, s.stop] for s in split(10, [1, 3])], fails(lambda: split(1, [1, 1, 1]))


def modules_named_like_those_of_python(mx: Any) -> Any:
    from mxnet.image import image
    from mxnet.io import io

    return [io.__name__, io.DataBatch is mx.io.DataBatch, image.__name__, import_module("mxnet.io").io is io]
