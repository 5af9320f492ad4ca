"""Private functions of MXNet's that published scripts import all the same."""

import io
import os
import pickle
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from multiprocessing.pool import AsyncResult, Pool, ThreadPool  # noqa: F401  (loaders in scripts take `ThreadPool` from here)
from multiprocessing.reduction import ForkingPickler
from numbers import Number
from typing import Any

from .. import symbol
from ..device import Device, interned
from ..errors import InvalidValue, MXNetError, ParameterError
from ..gluon.loss.base import weighted
from ..gluon.model_zoo.model_store import CHECKSUMS, apache_repo_url
from ..gluon.nn.normalization import _BatchNorm  # noqa: F401  (libraries take the base of the layers from `basic_layers`)
from ..gluon.rnn.layers import _RNNLayer  # noqa: F401  (libraries take the base of the layers from `rnn_layer`)
from ..gluon.rnn.sequences import merge, steps_of
from ..gluon.scope import BlockScope
from ..gluon.signatures import Functions, Operand, functions_for
from ..gluon.structure import ARRAY, NOTHING, flatten
from ..imperative.array import Array
from ..io.array_iterator import named_arrays
from ..io.iterator import DataDesc, Shapes, describe
from ..kvstore.base import KVStoreBase
from ..kvstore.create import store_for
from ..module.data_shapes import check_data, check_inputs
from ..ndarray import NDArray
from ..numpy_extension import set_np
from ..origin import warn
from ..symbol.symbol import Symbol

__all__: list[str] = []

#: The classes of arrays in inputs of blocks.
tensor_types = (Symbol, NDArray)

#: The header of a record, and its size in bytes.
_IR_FORMAT = "IfQQ"
_IR_SIZE = struct.calcsize(_IR_FORMAT)

#: A nested list of numbers: 0 for an array, -1 for None.
_Nesting = Any


# losses and iterators


def _apply_weighting(F: Functions, loss: Operand, weight: float | None = None, sample_weight: Operand | None = None) -> Operand:
    """A loss times the weights of the samples, which broadcast to it, and times a number; the loss classes in scripts call it."""
    if weight is not None and not isinstance(weight, Number):
        raise InvalidValue("weight must be a number", repr(weight), "pass weights of samples as sample_weight")
    return weighted(F, loss, weight, sample_weight)


def _init_data(data: object, allow_empty: bool, default_name: str) -> list[tuple[str, NDArray]]:
    """(name, array) pairs of the data of an iterator; iterators in scripts call it."""
    pairs = [] if data is None else named_arrays(data, default_name)
    if not pairs and not allow_empty:
        raise InvalidValue("an iterator needs data", "no array", "pass at least one")
    return pairs


# mixed precision


#: The names that `__getattr__` computes.
COMPUTED = ("_amp_initialized", "_amp_loss_scale_initialized", "_loss_scaler")


def __getattr__(name: str) -> object:
    """What ``contrib.amp.amp`` keeps in variables of the module, as it is now; libraries read there whether mixed precision is on."""
    if name not in COMPUTED:
        raise AttributeError(name)
    # imported here: most programs do without mixed precision
    state = import_module("..contrib.amp.start", __package__).STATE
    return {"_amp_initialized": state.rules is not None, "_loss_scaler": state.scaler}.get(name, state.scaler is not None)


# training loops of the symbolic interface

Arrays = Sequence[Sequence[NDArray]]


def _create_kvstore(
    kvstore: str | KVStoreBase | None, num_device: int, arg_params: Mapping[str, NDArray]
) -> tuple[KVStoreBase | None, bool]:
    """The store that a training loop uses, and whether the optimizer runs in it."""
    return store_for(kvstore, num_device, arg_params.values())


def _initialize_kvstore(
    kvstore: Any, param_arrays: Arrays, arg_params: Mapping[str, NDArray], param_names: Sequence[str], update_on_kvstore: bool
) -> None:
    """Send parameters to a store, and copy them to the devices from there if it updates them."""
    for place, (name, arrays) in enumerate(zip(param_names, param_arrays, strict=False)):
        kvstore.init(name, arg_params[name])
        if update_on_kvstore:
            kvstore.pull(name, arrays, priority=-place)


def _trained(param_arrays: Arrays, grad_arrays: Sequence[Sequence[NDArray | None]]) -> Iterable[tuple[int, Any, Any]]:
    """The place, arrays and gradients of each parameter that has gradients."""
    rows = zip(param_arrays, grad_arrays, strict=False)
    return ((place, weights, grads) for place, (weights, grads) in enumerate(rows) if grads[0] is not None)


def _update_params_on_kvstore(
    param_arrays: Arrays, grad_arrays: Sequence[Sequence[NDArray | None]], kvstore: Any, param_names: Sequence[str]
) -> None:
    """Push gradients to a store that updates with them, and pull the weights."""
    for place, weights, grads in _trained(param_arrays, grad_arrays):
        kvstore.push(param_names[place], grads, priority=-place)
        # the first layers have the highest priority: the next forward needs their weights first
        kvstore.pull(param_names[place], weights, priority=-place)


def _update_params_on_kvstore_nccl(
    param_arrays: Arrays, grad_arrays: Sequence[Sequence[NDArray | None]], kvstore: Any, param_names: Sequence[str]
) -> None:
    """The same, in rounds of the number of parameters that ``$MXNET_UPDATE_AGGREGATION_SIZE`` has: 4 if it is not set."""
    size = int(os.environ.get("MXNET_UPDATE_AGGREGATION_SIZE", "4"))
    rows = [(param_names[place], weights, grads) for place, weights, grads in _trained(param_arrays, grad_arrays)]
    for start in range(0, len(rows), size):
        names, weights, grads = map(list, zip(*rows[start : start + size], strict=True))
        kvstore.push(names, grads, priority=-start)
        kvstore.pull(names, weights, priority=-start)


def _update_params(
    param_arrays: Arrays,
    grad_arrays: Sequence[Sequence[NDArray | None]],
    updater: Callable[[list[int], list[NDArray], list[NDArray]], object],
    num_device: int,
    kvstore: Any = None,
    param_names: Sequence[str] | None = None,
) -> None:
    """Update weights on their devices. A store, if given, sums the gradients first. An updater is called once for each device."""
    updates: list[list[tuple[int, NDArray, NDArray]]] = [[] for _ in range(num_device)]
    for place, weights, grads in _trained(param_arrays, grad_arrays):
        if kvstore is not None:
            key = place if param_names is None else param_names[place]
            kvstore.push(key, grads, priority=-place)
            kvstore.pull(key, grads, priority=-place)
        for k, (weight, grad) in enumerate(zip(weights, grads, strict=True)):
            # MXNet's numbering of weights: optimizers keep a state for each weight on each device
            updates[k].append((place * num_device + k, grad, weight))
    for rows in updates:
        if rows:
            updater(*(list(column) for column in zip(*rows, strict=True)))


def _check_input_names(symbol: Symbol, names: Sequence[str], typename: str, throw: bool) -> None:
    """Check that a symbol has the arguments that a module names; without ``throw`` a missing one is a warning."""
    try:
        check_inputs(f"{typename}_names", names, symbol.list_arguments())
    except MXNetError as error:
        if throw:
            raise
        warn(str(error))


def _check_names_match(data_names: Sequence[str], data_shapes: Shapes, name: str, throw: bool) -> None:
    """Check that descriptions are of the data that a module names; without ``throw`` a difference is a warning."""
    given = [x[0] for x in data_shapes]
    if sorted(data_names) != sorted(given):
        text = f"Data provided by {name}_shapes don't match names specified by {name}_names ({data_shapes} vs. {data_names})"
        if throw:
            raise ParameterError(text, None, f"make {name}_names and {name}_shapes agree")
        warn(text)


def _parse_data_desc(
    data_names: Sequence[str], label_names: Sequence[str], data_shapes: Shapes, label_shapes: Shapes | None
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Descriptions of a module's data and labels."""
    data = describe(data_shapes)
    check_data(data, data_names)
    return data, None if label_shapes is None else describe(label_shapes)


# blocks


def _reshape_like(F: Functions, x: Operand, y: Operand) -> Operand:
    """One operand with the shape of another; the loss classes in scripts call it."""
    return F.reshape_like(x, y)


def _get_repo_url() -> str:
    """The server of published files, with a slash at the end: ``$MXNET_GLUON_REPO``, or MXNet's."""
    repository = os.environ.get("MXNET_GLUON_REPO", apache_repo_url)
    return repository if repository.endswith("/") else repository + "/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    """The URL of a published file, such as that of a dataset."""
    return f"{_get_repo_url()}{namespace}/{filename}"


#: The checksums of published parameters by model. Libraries enter their own models, which `get_model_file` then finds.
_model_sha1 = CHECKSUMS
_url_format = "{repo_url}gluon/models/{file_name}.zip"


def _infer_weight_shape(op_name: str, data_shape: Sequence[int], kwargs: Mapping[str, object]) -> list[tuple[int, ...]]:
    """The shapes of a layer's arguments for data of a shape, 0 where unknown; layers in scripts call it.

    Parameters
    ----------
    op_name, kwargs
        The operator and its parameters.
    data_shape
        The shape of the data, 0 where unknown.
    """
    made = getattr(symbol, op_name)(symbol.var("data", shape=tuple(data_shape)), **kwargs)
    return made.infer_shape_partial()[0]


class _BlockScope(BlockScope):
    """The scope of a block's names."""

    def __init__(self, block: Any) -> None:
        super().__init__(block, block is not None and block.prefix == "")


def _flatten(args: object, inout_str: str) -> tuple[list[Any], _Nesting]:
    """The arrays, symbols and Nones of nested lists in order, and how they were nested; see `_regroup`."""
    if args is None:
        return [None], NOTHING
    if not isinstance(args, (list, tuple)):
        return flatten(args, (Array, Symbol), inout_str)[0], ARRAY
    parts = [_flatten(x, inout_str) for x in args]
    return [x for flat, _ in parts for x in flat], [form for _, form in parts]


def _regroup(args: Iterable[Any], fmt: _Nesting) -> Any:
    """Flattened values nested again."""
    values = iter(args)

    def nested(form: _Nesting) -> Any:
        return [nested(f) for f in form] if isinstance(form, (list, tuple)) else next(values)

    return nested(fmt)


def _format_sequence(
    length: int, inputs: Any, layout: str, merge_outputs: bool | None, in_layout: str | None = None
) -> tuple[Any, int, Functions, int]:
    """A sequence as a list of steps (False), as one array (True) or as it is (None); its time axis, functions and batch size."""
    axis, given = layout.find("T"), layout if in_layout is None else in_layout
    if isinstance(inputs, (Array, Symbol)):
        F = functions_for(inputs)
        size = inputs.shape[layout.find("N")] if isinstance(inputs, Array) else 0
        if merge_outputs is False:
            return steps_of(length, inputs, given).values, axis, F, size
        there = given.find("T")
        return (inputs if there == axis else F.swapaxes(inputs, axis, there)), axis, F, size
    steps = steps_of(length, inputs, layout)
    return (merge(steps.F, steps.values, layout) if merge_outputs else steps.values), axis, steps.F, steps.batch_size


def _brief_print_list(lst: Iterable[object], limit: int = 7) -> str:
    """Items in quotes with commas between; of more than ``limit`` only the first and last ones."""
    items = list(lst)
    shown = [f"'{item}'" for item in items]
    if len(items) > limit:
        shown = [*shown[: limit // 2], "...", *shown[-(limit - limit // 2) :]]
    return ", ".join(shown)


def _indent(s_: str, numSpaces: int) -> str:
    """A text with all lines but the first indented."""
    return s_.replace("\n", "\n" + " " * numSpaces)


# loaders that libraries build of the parts of `DataLoader`

#: A function that collates samples.
Batchify = Callable[[list[object]], object]

#: The dataset of a worker process, which `_worker_initializer` sets.
_worker_dataset: Sequence[object] = ()


def _worker_initializer(dataset: Sequence[object], active_shape: bool, active_array: bool) -> None:
    """Prepare a worker process: its dataset, and the switches of ``npx.set_np``."""
    global _worker_dataset
    _worker_dataset = dataset
    set_np(shape=active_shape, array=active_array)


def _worker_fn(samples: Sequence[int], batchify_fn: Batchify, dataset: object = None) -> bytes:
    """A pickled batch of the worker's dataset; ``dataset`` is not used, as in MXNet."""
    buf = io.BytesIO()
    ForkingPickler(buf, pickle.HIGHEST_PROTOCOL).dump(batchify_fn([_worker_dataset[i] for i in samples]))
    return buf.getvalue()


def _thread_worker_initializer(active_shape: bool, active_array: bool) -> None:
    """Prepare a worker thread: the switches of ``npx.set_np``."""
    set_np(shape=active_shape, array=active_array)


def _thread_worker_fn(samples: Sequence[int], batchify_fn: Batchify, dataset: Sequence[object]) -> object:
    """A batch of a dataset."""
    return batchify_fn([dataset[i] for i in samples])


def _as_in_context(data: object, ctx: Device) -> object:
    """The arrays in nested lists on a device; other values stay as they are."""
    if isinstance(data, Array):
        return data.as_in_context(ctx)
    return [_as_in_context(part, ctx) for part in data] if isinstance(data, (list, tuple)) else data


class _MultiWorkerIter:
    """The batches that a pool of workers makes, in order. Subclasses override `_push_next`."""

    def __init__(
        self,
        worker_pool: Pool,
        batchify_fn: Batchify,
        batch_sampler: Collection[Sequence[int]],
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., object] = _worker_fn,
        prefetch: int = 0,
        dataset: Sequence[object] | None = None,
        data_loader: object = None,
        timeout: float = 120,
    ) -> None:
        self._worker_pool, self._batchify_fn, self._batch_sampler = worker_pool, batchify_fn, batch_sampler
        self._data_buffer: dict[int, AsyncResult[Any]] = {}
        self._rcvd_idx = self._sent_idx = 0
        self._iter = iter(batch_sampler)
        self._worker_fn = worker_fn
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._dataset, self._data_loader, self._timeout = dataset, data_loader, timeout
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[object]:
        return self

    def _push_next(self) -> None:
        """Let the workers make the next batch."""
        samples = next(self._iter, None)
        if samples is not None:
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(self._worker_fn, (samples, self._batchify_fn, self._dataset))
            self._sent_idx += 1

    def __next__(self) -> object:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        made = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
        self._rcvd_idx += 1
        # worker processes send bytes; threads have the dataset, and return the batch itself
        batch = pickle.loads(made) if self._dataset is None else made
        return _as_in_context(batch, interned("cpu_pinned", self._pin_device_id)) if self._pin_memory else batch

    def next(self) -> object:
        """The next batch."""
        return next(self)
