"""Written by ``make stubs`` from the table of public names."""

# ruff: noqa: I001  (in the order of the table)

from . import ndarray as nd
from . import ndarray
from . import autograd
from . import context
from . import random
from . import image
from . import image as img
from . import recordio
from . import random as rnd
from . import rnn
from .compat import base
from .context import Context
from .context import cpu
from .context import cpu_pinned
from . import gluon
from .context import gpu
from . import operator
from .context import num_gpus
from .context import current_context
from .errors import MXNetError
from . import symbol as sym
from . import symbol
from . import engine
from .profiler.explanation import explain
from . import executor
from .executor import Executor
from . import contrib
from .opdef.declare import elementwise
from . import func
from .symbol.compilation import compile
from .symbol import naming as name
from .symbol import naming as attribute
from .symbol.naming import AttrScope
from .command.run import unload_ipython_extension
from . import visualization as viz
from . import visualization
from . import callback
from . import initializer as init
from . import initializer
from . import io
from . import kvstore as kv
from . import kvstore
from .command.run import load_ipython_extension
from .ndarray.torch_files import load_torch
from . import lr_scheduler
from . import metric
from . import module as mod
from . import model
from . import module
from . import monitor as mon
from . import monitor
from . import numpy as np
from . import numpy_extension as npx
from . import numpy
from . import numpy_extension
from .contrib import onnx
from .opdef.declare import op
from . import optimizer as opt
from . import optimizer
from . import profiler
from .progress_bars import progress
from . import registry
from .compat import error
from .numpy_extension import is_np_array
from .numpy_extension import is_np_shape
from .compat import libinfo
from .compat import log
from .numpy_extension import np_array
from .numpy_extension import np_shape
from .compat import runtime
from .numpy_extension import set_np_shape
from . import test_utils
from .numpy_extension import use_np
from .numpy_extension import use_np_array
from .numpy_extension import use_np_shape
from .compat import numpy_switches as util

__all__ = [
    "AttrScope",
    "Context",
    "Executor",
    "MXNetError",
    "attribute",
    "autograd",
    "base",
    "callback",
    "compile",
    "context",
    "contrib",
    "cpu",
    "cpu_pinned",
    "current_context",
    "elementwise",
    "engine",
    "error",
    "executor",
    "explain",
    "func",
    "gluon",
    "gpu",
    "image",
    "img",
    "init",
    "initializer",
    "io",
    "is_np_array",
    "is_np_shape",
    "kv",
    "kvstore",
    "libinfo",
    "load_ipython_extension",
    "load_torch",
    "log",
    "lr_scheduler",
    "metric",
    "mod",
    "model",
    "module",
    "mon",
    "monitor",
    "name",
    "nd",
    "ndarray",
    "np",
    "np_array",
    "np_shape",
    "npx",
    "num_gpus",
    "numpy",
    "numpy_extension",
    "onnx",
    "op",
    "operator",
    "opt",
    "optimizer",
    "profiler",
    "progress",
    "random",
    "recordio",
    "registry",
    "rnd",
    "rnn",
    "runtime",
    "set_np_shape",
    "sym",
    "symbol",
    "test_utils",
    "unload_ipython_extension",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "util",
    "visualization",
    "viz",
]

__version__: str
