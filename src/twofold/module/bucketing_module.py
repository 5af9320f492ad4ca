"""`BucketingModule`: modules for inputs of different lengths, of one symbol each, that share their parameters."""

import logging
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..checkpoint import load_params, save_checkpoint
from ..device import CPU
from ..errors import MXNetError, ParameterError
from ..ndarray.array import NDArray
from ..symbol.naming import NameManager
from .base_module import LEARNING_RATE, UNIFORM, BaseModule, Params
from .module import Contexts, Groups, Module
from .shapes import Shapes, described

__all__ = ["BucketingModule"]


class BucketingModule(BaseModule):
    """Modules for inputs of different lengths, the buckets, that share parameters and optimizer; made when first needed.

    Parameters
    ----------
    sym_gen
        Function of a bucket's key to a symbol, or to a symbol, the names of its data and the names of its labels.
    default_bucket_key
        Key of the bucket that has all parameters; best the largest.
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params
        As of `Module`.

    Raises
    ------
    ParameterError
        Without ``default_bucket_key``, or if the default symbol lacks one of the names.
    """

    def __init__(
        self,
        sym_gen: Callable[[Any], Any],
        default_bucket_key: Any = None,
        logger: Any = logging,
        context: Contexts = CPU,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups | None = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        if default_bucket_key is None:
            raise ParameterError("BucketingModule: there is no default bucket", None, "give default_bucket_key")
        self._sym_gen, self._default_bucket_key = sym_gen, default_bucket_key
        self._kwargs: dict[str, Any] = {
            "logger": logger,
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
        }
        self._default = self._made(default_bucket_key)
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Module | None = None
        self._curr_bucket_key: Any = None
        self._grad_req: Any = "write"
        self._monitors: list[Any] = []

    def _made(self, key: Any) -> Module:
        """A new module of a bucket; automatic names are the same in each bucket."""
        with NameManager():
            found = self._sym_gen(key)
        if not isinstance(found, tuple):
            return Module(found, **self._kwargs)
        symbol, data_names, label_names = found
        return Module(symbol, data_names, label_names, **self._kwargs)

    def _current(self, action: str) -> Module:
        self._require(action)
        assert self._curr_module is not None
        return self._curr_module

    # files

    def save_checkpoint(self, prefix: str | PathLike[str], epoch: int, remove_amp_cast: bool = False) -> None:
        """Write the symbols of all buckets, ``prefix-KEY-symbol.json``, their keys, ``prefix.buckets``, and the parameters.

        Parameters
        ----------
        prefix
            How the files' names begin.
        epoch
            Number that the parameters' file has in its name.
        remove_amp_cast
            Leave out the casts that mixed precision put into the symbols.

        Raises
        ------
        ParameterError
            If keys are not integers or tuples of them, which the file of keys holds.
        """
        self._require("save_checkpoint", params=True)
        keys = list(self._buckets)
        numbers = np.asarray(keys) if all(isinstance(k, (int, tuple)) for k in keys) else np.asarray(keys, dtype=object)
        if numbers.dtype.kind not in "iu":
            raise ParameterError("BucketingModule.save_checkpoint: keys are not integers", repr(keys), "use integers, or save_params")
        for key, module in self._buckets.items():
            module.symbol.save(f"{fspath(prefix)}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        save_checkpoint(prefix, epoch, None, *self.get_params())
        nd.save(f"{fspath(prefix)}.buckets", [nd.array(numbers, dtype="int32")])

    @staticmethod
    def load(
        prefix: str | PathLike[str], epoch: int, sym_gen: Callable[[Any], Any] | None = None, default_bucket_key: Any = None, **kwargs: Any
    ) -> "BucketingModule":
        """A module with the parameters of a checkpoint; bind it next.

        Parameters
        ----------
        prefix, epoch
            As of `save_checkpoint`.
        sym_gen, default_bucket_key
            As of `BucketingModule`; symbols are made anew, those in the files are not read.
        **kwargs
            Further parameters of `BucketingModule`.

        Raises
        ------
        ParameterError
            Without ``sym_gen`` or ``default_bucket_key``.
        """
        if sym_gen is None:
            raise ParameterError("sym_gen is required for loading BucketingModule", None, "give it")
        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        module._take_params(*load_params(prefix, epoch))
        return module

    @staticmethod
    def load_dict(
        sym_dict: Mapping[Any, Any] | None = None,
        sym_gen: Callable[[Any], Any] | None = None,
        default_bucket_key: Any = None,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        **kwargs: Any,
    ) -> "BucketingModule":
        """A module of given symbols and parameters; bind it next.

        Parameters
        ----------
        sym_dict
            Symbols by bucket's key.
        sym_gen
            Makes those that are not there.
        default_bucket_key
            As of `BucketingModule`.
        arg_params, aux_params
            Parameters and auxiliary states by name.
        **kwargs
            Further parameters of `BucketingModule`.

        Raises
        ------
        ParameterError
            Without symbols, or for a bucket that neither has.
        """
        if not sym_dict and sym_gen is None:
            raise ParameterError("BucketingModule.load_dict: there are no symbols", None, "give sym_dict or sym_gen")
        symbols = dict(sym_dict or {})

        def generate(key: Any) -> Any:
            if key in symbols:
                return symbols[key]
            if sym_gen is None:
                raise ParameterError("BucketingModule: there is no symbol of this bucket", repr(key), f"there are {list(symbols)}")
            return sym_gen(key)

        module = BucketingModule(generate, default_bucket_key, **kwargs)
        if arg_params is not None:
            module._take_params(dict(arg_params), dict(aux_params or {}))
        return module

    def _take_params(self, arg_params: dict[str, NDArray], aux_params: dict[str, NDArray]) -> None:
        self._default._arg_params, self._default._aux_params = arg_params, aux_params
        self._default.params_initialized = self.params_initialized = True

    # names and shapes

    @property
    def data_names(self) -> Sequence[str]:
        """Names of the data, of the current bucket."""
        return (self._curr_module or self._default).data_names

    @property
    def output_names(self) -> Sequence[str]:
        """Names of the outputs, of the current bucket."""
        return (self._curr_module or self._default).output_names

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data that the current bucket is bound for."""
        return self._current("data_shapes").data_shapes

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels that the current bucket is bound for."""
        return self._current("label_shapes").label_shapes

    @property
    def output_shapes(self) -> Any:
        """Pairs of name and shape of the current bucket's outputs."""
        return self._current("output_shapes").output_shapes

    @property
    def symbol(self) -> Any:
        """The symbol of the current bucket."""
        return self._current("symbol").symbol

    # binding

    def bind(
        self,
        data_shapes: Shapes,
        label_shapes: Shapes | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: BaseModule | None = None,
        grad_req: Any = "write",
    ) -> None:
        """Bind the default bucket; others follow when batches for them come.

        Parameters
        ----------
        data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind, grad_req
            As of `Module.bind`, for the default bucket.
        shared_module
            Must be None: buckets share with one another.

        Raises
        ------
        ParameterError
            If it is not.
        """
        if shared_module is not None:
            raise ParameterError("shared_module for BucketingModule is not supported", type(shared_module).__name__, "leave it out")
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        self._default.bind(data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind=self._default.binded, grad_req=grad_req)
        self._buckets = {self._default_bucket_key: self._default}
        self._curr_module, self._curr_bucket_key = self._default, self._default_bucket_key
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True
        self._grad_req = grad_req
        for monitor in self._monitors:
            self._default.install_monitor(monitor)

    def switch_bucket(self, bucket_key: Any, data_shapes: Shapes, label_shapes: Shapes | None = None) -> None:
        """Go on with another bucket; its module is made and bound when it comes first.

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
            module = self._made(bucket_key)
            shared = self._default if self.params_initialized else None
            if shared is None:
                raise MXNetError("BucketingModule.switch_bucket: there are no parameters to share yet", None, "call init_params() first")
            module.bind(data_shapes, label_shapes, self.for_training, self.inputs_need_grad, shared_module=shared, grad_req=self._grad_req)
            for monitor in self._monitors:
                module.install_monitor(monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = self._buckets[bucket_key], bucket_key

    def _switch_to(self, batch: Any) -> None:
        """The bucket of a batch; a batch that names none is for the current one."""
        if batch.bucket_key is None or batch.bucket_key == self._curr_bucket_key:
            return
        if batch.bucket_key not in self._buckets and not batch.provide_data:
            raise ParameterError(
                "BucketingModule: a batch does not describe its data", f"bucket {batch.bucket_key!r}", "give DataBatch(provide_data=…)"
            )
        label = described(batch.provide_label) if batch.provide_label else None
        self.switch_bucket(batch.bucket_key, described(batch.provide_data), label)

    def prepare(self, data_batch: Any, sparse_row_id_fn: Callable[..., Any] | None = None) -> None:
        """Make and bind the module of a batch that comes next.

        Parameters
        ----------
        data_batch
            The batch.
        sparse_row_id_fn
            Has no effect, see `BaseModule.prepare`.
        """
        self._require("prepare", params=True)
        before = self._curr_bucket_key, self._curr_module
        self._switch_to(data_batch)
        self._curr_bucket_key, self._curr_module = before

    # parameters and optimizer: the default bucket has them all

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Dicts of the parameters and of the auxiliary states, on the CPU."""
        return self._default.get_params()

    def init_params(
        self,
        initializer: Any = UNIFORM,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters and auxiliary states their first values: see `Module.init_params`."""
        self._default.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
        self.params_initialized = True

    def init_optimizer(
        self, kvstore: Any = "local", optimizer: Any = "sgd", optimizer_params: Any = LEARNING_RATE, force_init: bool = False
    ) -> None:
        """Make the optimizer of all buckets: see `Module.init_optimizer`."""
        self._require("init_optimizer", params=True)
        self._default.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            module.borrow_optimizer(self._default)
        self.optimizer_initialized = True

    def update(self) -> None:
        """Update the parameters by the gradients of the current bucket."""
        self._require("update", params=True, optimizer=True)
        self._current("update").update()

    # computation, by the current bucket

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch, by the module of its bucket."""
        self._require("forward", params=True)
        self._switch_to(data_batch)
        self._current("forward").forward(data_batch, is_train)

    def backward(self, out_grads: Any = None) -> None:
        """Compute gradients: see `Module.backward`."""
        self._current("backward").backward(out_grads)

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        """The outputs of the last `forward`: see `Module.get_outputs`."""
        return self._current("get_outputs").get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """Gradients with respect to the data: see `Module.get_input_grads`."""
        return self._current("get_input_grads").get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> Any:
        """The states of the current bucket: see `Module.get_states`."""
        return self._current("get_states").get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: float | None = None) -> None:
        """Write the states of the current bucket: see `Module.set_states`."""
        self._current("set_states").set_states(states, value)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Give a metric the labels of a batch and the outputs of the last `forward`."""
        self._current("update_metric").update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Have a monitor watch all buckets, also those that come later."""
        self._require("install_monitor")
        self._monitors.append(mon)
        for module in self._buckets.values():
            module.install_monitor(mon)
