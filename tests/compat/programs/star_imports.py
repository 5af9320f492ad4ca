"""What ``from mxnet.x import *`` gives."""

from __future__ import annotations

from typing import Any

#: Names of MXNet's own that programs use after a star import, by module.
NAMES = {
    "": "nd sym gluon autograd np npx cpu gpu Context init metric mod executor_manager numpy_dispatch_protocol img rnd viz",
    "autograd": "NDArray Symbol record pause grad backward Function c_array check_call string_types",
    "gluon": "Block Parameter nn rnn loss data utils tensor_types parameter block trainer",
    "gluon.data": "DataLoader Dataset dataset sampler dataloader vision",
    "gluon.nn": "Dense Block HybridBlock activations basic_layers conv_layers",
    "image": "imresize ImageIter detection nd io recordio numeric_types",
    "initializer": "Xavier NDArray load registry string_types",
    "io": "NDArrayIter DataBatch io utils ImageRecordIter",
    "metric": "Accuracy EvalMetric numeric_types ndarray",
    "model": "FeedForward nd sym io opt metric DataDesc",
    "module": "Module BucketingModule base_module executor_group",
    "monitor": "Monitor NDArray",
    "ndarray": "NDArray array zeros Activation Convolution FullyConnected concat relu broadcast_add contrib linalg random sparse",
    "ndarray.random": "uniform normal uniform_like",
    "numpy.linalg": "norm svd inv",
    "numpy.random": "uniform choice",
    "optimizer": "SGD Optimizer Updater contrib",
    "rnn": "LSTMCell DataIter BucketSentenceIter load_rnn_checkpoint symbol",
    "symbol": "Symbol var Group Activation Convolution relu contrib linalg random",
}


def names_of_modules(mx: Any) -> Any:
    found = {}
    for module, names in NAMES.items():
        given: dict[str, Any] = {}
        exec(f"from mxnet{'.' if module else ''}{module} import *", given)
        found[module] = [name for name in names.split() if name in given]
    return found


def names_that_are_not_given(mx: Any) -> Any:
    """Inner modules, and what starts with an underscore."""
    given: dict[str, Any] = {}
    exec("from mxnet.ndarray import *\nfrom mxnet.gluon import *", given)
    return sorted(name for name in ("_internal", "contrib_functions", "register", "functions", "custom", "hybrid_block") if name in given)
