"""`BucketingModule`: one module per input length, all sharing their parameters."""

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..checkpoint import load_params, save_checkpoint
from ..device import CPU
from ..errors import InvalidValue, NotReady, ParameterError
from ..io.iterator import DataDesc, Shapes, describe
from ..kvstore.base import KVStoreBase
from ..metric.base import EvalMetric
from ..monitor import Monitor
from ..ndarray.array import NDArray
from ..symbol.naming import NameManager
from ..symbol.symbol import Symbol
from .base_module import BaseModule
from .data_shapes import Arrays, Batch, Labels, NamedShapes, Requests, as_batch
from .interface import Binding, Filling, Logger, Optimization, Params, RowIds
from .module import Contexts, Groups, Module

Names = Sequence[str] | None
Found = Symbol | tuple[Symbol, Names, Names]
#: Function from a bucket's key to a symbol, or to (symbol, data names, label names).
SymGen = Callable[..., Found]


class BucketingModule(BaseModule):
    """One module per bucket, such as an input length. They share parameters and optimizer, and are created on first use.

    Parameters
    ----------
    sym_gen
        Function from a bucket's key to a symbol, or to (symbol, data names, label names).
    default_bucket_key
        Key of the bucket that has all parameters, usually the largest.
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params
        See `Module`.

    Raises
    ------
    ParameterError
        If ``default_bucket_key`` is missing, or the default symbol lacks one of the names.
    """

    def __init__(
        self,
        sym_gen: SymGen,
        default_bucket_key: Hashable = None,
        logger: Logger = logging,
        context: Contexts = CPU,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups | None = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        if default_bucket_key is None:
            raise InvalidValue("BucketingModule: there is no default bucket", None, "pass default_bucket_key")
        self._sym_gen, self._default_bucket_key = sym_gen, default_bucket_key
        # read by programs that count what is learned
        self._state_names, self._fixed_param_names = list(state_names or ()), list(fixed_param_names or ())
        self._context, self._work_load_list = context, work_load_list
        self._group2ctxs, self._compression_params = group2ctxs, compression_params
        self._default = self._create_module(default_bucket_key)
        self._buckets: dict[Hashable, Module] = {}
        self._curr_module: Module | None = None
        self._curr_bucket_key: Hashable = None
        self._grad_req: Requests = "write"
        self._monitors: list[Monitor] = []

    def _create_module(self, key: Hashable) -> Module:
        """The module of a bucket."""
        return Module(*self._call_sym_gen(key), **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        """What is passed to the module of each bucket."""
        return {
            "logger": self.logger,
            "context": self._context,
            "work_load_list": self._work_load_list,
            "fixed_param_names": self._fixed_param_names,
            "state_names": self._state_names,
            "group2ctxs": self._group2ctxs,
            "compression_params": self._compression_params,
        }

    def _call_sym_gen(self, *args: Any, **kwargs: Any) -> tuple[Symbol, Names, Names]:
        """A bucket's symbol and the names of its data and labels. A fresh name manager makes automatic names the same in all buckets."""
        with NameManager():
            found = self._sym_gen(*args, **kwargs)
        return found if isinstance(found, tuple) else (found, ("data",), ("softmax_label",))

    def _current(self, action: str) -> Module:
        self._require(action)
        assert self._curr_module is not None
        return self._curr_module

    # files

    def save_checkpoint(self, prefix: str | PathLike[str], epoch: int, remove_amp_cast: bool = False) -> None:
        """Write the symbols of all buckets (``prefix-KEY-symbol.json``), their keys (``prefix.buckets``) and the parameters.

        Parameters
        ----------
        prefix
            Prefix of the file names.
        epoch
            Epoch number in the name of the parameter file.
        remove_amp_cast
            Whether to remove the casts inserted for mixed precision.

        Raises
        ------
        ParameterError
            If keys are not integers or tuples of integers, which is all that the file of keys can hold.
        """
        self._require("save_checkpoint", params=True)
        keys = list(self._buckets)
        numbers = np.asarray(keys) if all(isinstance(k, (int, tuple)) for k in keys) else np.asarray(keys, dtype=object)
        if numbers.dtype.kind not in "iu":
            raise ParameterError("BucketingModule.save_checkpoint: keys are not integers", repr(keys), "use integers, or save_params")
        for key, module in self._buckets.items():
            module._symbol.save(f"{fspath(prefix)}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        save_checkpoint(prefix, epoch, None, *self.get_params())
        nd.save(f"{fspath(prefix)}.buckets", [nd.array(numbers, dtype="int32")])

    @staticmethod
    def load(
        prefix: str | PathLike[str], epoch: int, sym_gen: SymGen | None = None, default_bucket_key: Hashable = None, **kwargs: Any
    ) -> "BucketingModule":
        """Create a module with the parameters of a checkpoint. It must be bound next.

        Parameters
        ----------
        prefix, epoch
            See `save_checkpoint`.
        sym_gen, default_bucket_key
            See `BucketingModule`. Symbols are generated; those in the files are not read.
        **kwargs
            Other parameters of `BucketingModule`.

        Raises
        ------
        ParameterError
            If ``sym_gen`` or ``default_bucket_key`` is missing.
        """
        if sym_gen is None:
            raise ParameterError("sym_gen is required for loading BucketingModule", None, "pass it")
        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        module._adopt_params(*load_params(prefix, epoch))
        return module

    @staticmethod
    def load_dict(
        sym_dict: Mapping[Hashable, Symbol] | None = None,
        sym_gen: SymGen | None = None,
        default_bucket_key: Hashable = None,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        **kwargs: Any,
    ) -> "BucketingModule":
        """Create a module from symbols and parameters. It must be bound next.

        Parameters
        ----------
        sym_dict
            Symbols by bucket key.
        sym_gen
            Generates the symbols that are not in ``sym_dict``.
        default_bucket_key
            See `BucketingModule`.
        arg_params, aux_params
            Parameters and auxiliary states by name.
        **kwargs
            Other parameters of `BucketingModule`.

        Raises
        ------
        ParameterError
            If there are no symbols, or none for a bucket.
        """
        if not sym_dict and sym_gen is None:
            raise ParameterError("BucketingModule.load_dict: there are no symbols", None, "pass sym_dict or sym_gen")
        symbols = dict(sym_dict or {})

        def generate(key: Hashable) -> Found:
            if key in symbols:
                return symbols[key]
            if sym_gen is None:
                raise ParameterError("BucketingModule: there is no symbol for this bucket", repr(key), f"there are {list(symbols)}")
            return sym_gen(key)

        module = BucketingModule(generate, default_bucket_key, **kwargs)
        if arg_params is not None:
            module._adopt_params(dict(arg_params), dict(aux_params or {}))
        return module

    def _adopt_params(self, arg_params: dict[str, NDArray], aux_params: dict[str, NDArray]) -> None:
        self._default._arg_params, self._default._aux_params = arg_params, aux_params
        self._default.params_initialized = self.params_initialized = True

    # names and shapes

    @property
    def data_names(self) -> Sequence[str]:
        """Names of the current bucket's data."""
        return (self._curr_module or self._default).data_names

    @property
    def output_names(self) -> Sequence[str]:
        """Names of the current bucket's outputs."""
        return (self._curr_module or self._default).output_names

    @property
    def data_shapes(self) -> Sequence[DataDesc] | None:
        """Descriptions of the data that the current bucket is bound to."""
        return self._current("data_shapes").data_shapes

    @property
    def label_shapes(self) -> Shapes | None:
        """Descriptions of the labels that the current bucket is bound to."""
        return self._current("label_shapes").label_shapes

    @property
    def output_shapes(self) -> NamedShapes:
        """(name, shape) pairs of the current bucket's outputs."""
        return self._current("output_shapes").output_shapes

    @property
    def symbol(self) -> Symbol | None:
        """The symbol of the current bucket."""
        return self._current("symbol").symbol

    # binding

    def _reset_bind(self) -> None:
        """Forget all buckets; the parameters stay in the default one's module."""
        super()._reset_bind()
        self._buckets, self._curr_module, self._curr_bucket_key = {}, None, None

    def _bind(self, request: Binding) -> None:
        """Bind the default bucket. Others are bound when their first batch arrives."""
        _, _, for_training, inputs_need_grad, _, shared_module, grad_req = request
        if shared_module is not None:
            raise ParameterError("shared_module for BucketingModule is not supported", type(shared_module).__name__, "omit it")
        own = self._default
        own.bind(request.data_shapes, request.label_shapes, for_training, inputs_need_grad, own.binded, None, grad_req)
        self._buckets = {self._default_bucket_key: self._default}
        self._curr_module, self._curr_bucket_key = self._default, self._default_bucket_key
        self._grad_req = grad_req
        for monitor in self._monitors:
            self._default.install_monitor(monitor)

    def switch_bucket(self, bucket_key: Hashable, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Switch to another bucket, whose module is created and bound on first use.

        Parameters
        ----------
        bucket_key
            Its key.
        data_shapes, label_shapes
            Descriptions of its data and labels.

        Raises
        ------
        ParameterError
            If its symbol has parameters that the default bucket lacks.
        """
        self._require("switch_bucket")
        if bucket_key not in self._buckets:
            module = self._create_module(bucket_key)
            if not self.params_initialized:
                raise NotReady("BucketingModule.switch_bucket: there are no parameters to share yet", None, "call init_params() first")
            module.bind(
                data_shapes, label_shapes, self.for_training, self.inputs_need_grad, shared_module=self._default, grad_req=self._grad_req
            )
            for monitor in self._monitors:
                module.install_monitor(monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = self._buckets[bucket_key], bucket_key

    def _switch_to(self, given: Batch) -> None:
        """Switch to the bucket of a batch; a batch without a bucket key is for the current one."""
        batch = as_batch(given)
        if batch.bucket_key is None or batch.bucket_key == self._curr_bucket_key:
            return
        if batch.bucket_key not in self._buckets and not batch.provide_data:
            raise ParameterError(
                "BucketingModule: a batch does not describe its data", f"bucket {batch.bucket_key!r}", "pass DataBatch(provide_data=…)"
            )
        label = describe(batch.provide_label) if batch.provide_label else None
        self.switch_bucket(batch.bucket_key, describe(batch.provide_data), label)

    def prepare(self, data_batch: Batch, sparse_row_id_fn: RowIds | None = None) -> None:
        """Create and bind the module for the next batch.

        Parameters
        ----------
        data_batch
            The batch.
        sparse_row_id_fn
            See `BaseModule.prepare`.
        """
        self._require("prepare", params=True)
        # binding ahead of `forward`; the current bucket's outputs are still to be read, so it stays current
        before = self._curr_bucket_key, self._curr_module
        self._switch_to(data_batch)
        self._current("prepare").prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self._curr_bucket_key, self._curr_module = before

    # parameters and optimizer, which all belong to the default bucket

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """The parameters and auxiliary states on the CPU, as two dicts."""
        return self._default.get_params()

    def _init_params(self, request: Filling) -> None:
        self._default.init_params(*request)

    def _init_optimizer(self, request: Optimization) -> None:
        """Create the optimizer of all buckets."""
        self._require("init_optimizer", params=True)
        # the default bucket has all parameters, so its optimizer has states for those of every bucket
        self._default.init_optimizer(*request)
        for module in self._buckets.values():
            module.borrow_optimizer(self._default)

    @property
    def _kvstore(self) -> KVStoreBase | None:
        return self._default._kvstore

    def update(self) -> None:
        """Update the parameters with the gradients of the current bucket."""
        self._require("update", params=True, optimizer=True)
        self._current("update").update()

    # computation, by the current bucket

    def forward(self, data_batch: Batch, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch with the module of its bucket."""
        self._require("forward", params=True)
        self._switch_to(data_batch)
        self._current("forward").forward(data_batch, is_train)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute gradients; see `Module.backward`."""
        self._current("backward").backward(out_grads)

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        """The outputs of the last `forward`; see `Module.get_outputs`."""
        return self._current("get_outputs").get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        """Gradients with respect to the data; see `Module.get_input_grads`."""
        return self._current("get_input_grads").get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> Arrays:
        """The states of the current bucket; see `Module.get_states`."""
        return self._current("get_states").get_states(merge_multi_context)

    def set_states(self, states: Sequence[Sequence[NDArray]] | None = None, value: float | None = None) -> None:
        """Set the states of the current bucket; see `Module.set_states`."""
        self._current("set_states").set_states(states, value)

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        """Update a metric with the labels of a batch and the outputs of the last `forward`."""
        self._current("update_metric").update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a monitor on all buckets, including future ones."""
        self._require("install_monitor")
        # kept for buckets that are bound later
        self._monitors.append(mon)
        for module in self._buckets.values():
            module.install_monitor(mon)
