"""The private state of Gluon's objects as MXNet stores it. Libraries read it, assign to it and clear it; see `adopt`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .. import initializer
from ..device import Device, interned
from ..gluon.block import Block
from ..gluon.copies import RENEWALS, Copies
from ..gluon.hybrid_block import HybridBlock
from ..gluon.parameter import Constant, Parameter, _Deferred
from ..gluon.parameter_dict import ParameterDict
from ..gluon.rnn import BidirectionalCell, DropoutCell, GRUCell, HybridSequentialRNNCell, LSTMCell, RNNCell
from ..gluon.rnn.cells import _Cell
from ..gluon.rnn.layers import _RNNLayer
from ..gluon.signatures import OpHook
from ..gluon.structure import ARRAY, Format, parts, to_tuples
from ..gluon.tracing import Trace
from ..gluon.trainer import Trainer
from ..imperative.scope import Scope
from ..ndarray import arange
from ..ndarray.array import NDArray
from ..symbol import var
from ..symbol.symbol import Symbol
from .array_state import adopt

#: The numbers of kinds of devices in `_ctx_map`: MXNet takes the last bit of the number of a device's type.
_KINDS = ("gpu", "cpu")


class _Arrays(list[NDArray]):
    """The arrays of a parameter: graphs and trainers that have kept them notice that one is replaced."""

    def __setitem__(self, place: Any, array: Any) -> None:
        super().__setitem__(place, array)
        RENEWALS.count += 1


#: The state of parameters that is called and stored as in MXNet.
_KEPT = {"name", "value", "init", "lr_mult", "wd_mult", "_grad_req", "_shape", "_dtype", "_stype", "_grad_stype"} | {
    "_allow_deferred_init",
    "_differentiable",
}


class ParameterState(Parameter):
    """State of `Parameter`."""

    @property
    def _data(self) -> list[NDArray] | None:
        """The arrays of all devices; None before initialization."""
        if self._copies is None:
            return None
        if not isinstance(self._copies.arrays, _Arrays):
            self._copies.arrays = _Arrays(self._copies.arrays)
        return self._copies.arrays

    @_data.setter
    def _data(self, arrays: Sequence[NDArray] | None) -> None:
        RENEWALS.count += 1
        if arrays is None:
            self._copies = None
            return
        old = self._copies
        # unrecorded: what is assigned may be the result of a recorded operation
        with Scope(False, None):
            self._copies = Copies(arrays[0], [array.context for array in arrays], self._stype, self._grad_stype)
        # the arrays themselves, which another parameter may share
        self._copies.arrays = arrays if isinstance(arrays, _Arrays) else _Arrays(arrays)
        self._copies.grads = None if old is None else old.grads

    @property
    def _grad(self) -> list[NDArray] | None:
        """The gradients on all devices; None before initialization and without gradients."""
        return None if self._copies is None else self._copies.grads

    @_grad.setter
    def _grad(self, grads: Sequence[NDArray] | None) -> None:
        if self._copies is not None:
            RENEWALS.count += 1
            self._copies.grads = None if grads is None else list(grads)
            for array, grad in zip(self._copies.arrays, grads or (), strict=False):
                if array.grad is not grad:
                    array._attach(grad, self._grad_req)

    @property
    def _ctx_list(self) -> list[Device] | None:
        """The devices; None before initialization."""
        return None if self._copies is None else self._copies.contexts

    @_ctx_list.setter
    def _ctx_list(self, contexts: Sequence[Device] | None) -> None:
        if self._copies is not None and contexts is not None:
            self._copies.contexts = list(contexts)
            _place(self._copies, enumerate(contexts))

    @property
    def _ctx_map(self) -> list[list[int | None]] | None:
        """The places of the copies, by kind of device (0 for GPUs, 1 for the host) and number; None before initialization."""
        if self._copies is None:
            return None
        # None where there is no copy on a device of that number
        found: list[list[int | None]] = [[], []]
        for place, device in enumerate(self._copies.contexts):
            row = found[device.device_typeid & 1]
            row.extend([None] * (device.device_id + 1 - len(row)))
            row[device.device_id] = place
        return found

    @_ctx_map.setter
    def _ctx_map(self, places: Sequence[Sequence[int | None]] | None) -> None:
        if self._copies is not None and places is not None:
            rows = [(place, interned(kind, k)) for kind, row in zip(_KINDS, places, strict=True) for k, place in enumerate(row)]
            _place(self._copies, [(place, device) for place, device in rows if place is not None])

    @property
    def _deferred_init(self) -> tuple[object, ...]:
        """(initializer, devices, initializer of the model, value) of an initialization that waits for the shape; empty for none."""
        d = self._deferred
        # in MXNet's order
        return () if d is None else (d.init, d.contexts, d.default, d.data)

    @_deferred_init.setter
    def _deferred_init(self, waiting: Sequence[Any]) -> None:
        if waiting:
            # in MXNet's order, as above
            init, contexts, default, data = waiting
            self._deferred = _Deferred(init, default, contexts, data)
        else:
            self._deferred = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "_data" not in state:
            vars(self).update(state)
            return
        # a pickle that the real MXNet wrote; the rest of its private state follows from the arrays
        vars(self).update(vars(Parameter(state["name"])), **{name: value for name, value in state.items() if name in _KEPT})
        if isinstance(self, Constant):  # MXNet names an initializer that only the process that wrote it has
            self.init, self._grad_req = initializer.Constant(self.value.asnumpy()), "null"
        self._deferred_init = state["_deferred_init"]
        if state["_data"] is not None:
            self._data = [array.as_nd_ndarray() for array in state["_data"]]
            self._is_numpy = self._initialized().is_numpy = not state["_data"][0]._legacy
            self._init_grad()
            for grad, saved in zip(self._grad or (), state["_grad"] or (), strict=False):
                grad[:] = saved.as_nd_ndarray()

    def _check_and_get(self, arr_list: Sequence[NDArray] | None, ctx: Device | type | None) -> NDArray | Sequence[NDArray]:
        """One of the parameter's arrays or gradients, or all for ``list``; the errors are those of `data`."""
        if arr_list is None:
            raise self._missing()
        if isinstance(ctx, type):
            return arr_list
        return arr_list[self._initialized().place(ctx, self.name)]


def _place(copies: Copies, places: Iterable[tuple[int, Device]]) -> None:
    """Set which copy is that of each device."""
    RENEWALS.count += 1
    # the only copy serves where no device is named
    only = {None: 0} if len(copies.arrays) == 1 else {}
    copies.places = {**{device: place for place, device in places}, **only}
    copies.dense_places = copies.places if copies.stype == "default" else {}


def _as_lists(form: Format) -> object:
    """A format as MXNet stores it."""
    return [_as_lists(part) for part in form] if isinstance(form, tuple) else form


class BlockState(Block):
    """State of `Block`."""

    @property
    def _empty_prefix(self) -> bool:
        """Whether the names of the block's children begin with its parent's prefix only."""
        return self._scope._is_transparent


class HybridBlockState(HybridBlock):
    """State of `HybridBlock`: the traced graph."""

    @property
    def _callback(self) -> OpHook | None:
        """The hook of operators; None without one."""
        return None if self._op_hook is None else self._op_hook[0]

    @property
    def _monitor_all(self) -> bool:
        """Whether the hook gets inputs too."""
        return self._op_hook is not None and self._op_hook[1]

    @property
    def _cached_graph(self) -> tuple[list[Symbol], Symbol] | tuple[()]:
        """(inputs, outputs) of the traced graph as symbols; empty before the block is traced."""
        traced = self._trace
        if traced is None or traced is vars(self).get("_dropped_trace"):
            return ()
        return [var(name) for name in traced.names], traced.symbol

    @_cached_graph.setter
    def _cached_graph(self, graph: Sequence[Any]) -> None:
        if not graph:
            # what was compiled of it goes on to run until `_cached_op` is cleared too
            vars(self)["_dropped_trace"] = self._trace
            return
        inputs, outputs = graph
        # the nesting stays where the number of inputs does
        # a block with one input may give it without a list
        names = [str(symbol.name) for symbol in ([inputs] if isinstance(inputs, Symbol) else inputs)]
        old = self._trace
        form = old.inputs if old is not None and len(old.names) == len(names) else (ARRAY,) * len(names)
        nested: Format = ARRAY if len(outputs.heads) == 1 else (ARRAY,) * len(outputs.heads)
        self._trace = Trace(self.name, self.collect_params(), names, form, outputs, nested, self._mirror)

    @property
    def _cached_op_args(self) -> list[tuple[bool, object]]:
        """For each input of the traced graph, whether it is data, and its number among the data or the parameter."""
        traced = self._trace
        if traced is None:
            return []
        places, params = {name: k for k, name in enumerate(traced.names)}, self.collect_params()
        return [(True, places[name]) if name in places else (False, params[name]) for name in traced.symbol.list_inputs()]

    @property
    def _cached_op(self) -> Callable[..., object] | None:
        """What computes the traced graph; None before the block is traced."""
        return None if self._trace is None else self._trace.graph

    @_cached_op.setter
    def _cached_op(self, compiled: None) -> None:
        # the graph itself stays, unless it was dropped
        traced = self._trace
        if traced is None or traced is vars(self).get("_dropped_trace"):
            self._clear_cached_op()
        else:
            self._cached_graph = self._cached_graph

    @property
    def _in_format(self) -> object:
        """How the inputs are nested, as lists with 0 for an array; None before the block is traced."""
        return None if self._trace is None else [_as_lists(part) for part in parts(self._trace.inputs)]

    @_in_format.setter
    def _in_format(self, form: object) -> None:
        if self._trace is not None and form is not None:
            self._trace.inputs = to_tuples(form if isinstance(form, list) else [form])

    @property
    def _out_format(self) -> object:
        """How the outputs are nested; None before the block is traced."""
        return None if self._trace is None else _as_lists(self._trace.outputs)

    @_out_format.setter
    def _out_format(self, form: object) -> None:
        if self._trace is not None and form is not None:
            self._trace.outputs = to_tuples(form)


class ParametersState(ParameterDict):
    """Methods of `ParameterDict`."""

    def _get_impl(self, name: str) -> Parameter | None:
        """The parameter of a full name, from the dictionary or the shared one, which then shares it; None without one."""
        return self._find(name)


class _StoreOptions(dict[str, object]):
    """The store that a trainer was asked for. Assigning to an entry changes what the trainer will create."""

    def __init__(self, trainer: Trainer) -> None:
        super().__init__(kvstore=trainer._wanted_store, update_on_kvstore=trainer._wanted_update)
        self._trainer = trainer

    def __setitem__(self, name: str, value: object) -> None:
        super().__setitem__(name, value)
        setattr(self._trainer, "_wanted_store" if name == "kvstore" else "_wanted_update", value)


class TrainerState(Trainer):
    """State of `Trainer`: the store, and which parameters it has not got yet."""

    @property
    def _kvstore_params(self) -> dict[str, object]:
        """The store that was asked for."""
        # made at each look-up: the trainer itself has the values
        return _StoreOptions(self)

    @_kvstore_params.setter
    def _kvstore_params(self, options: dict[str, Any]) -> None:
        self._wanted_store, self._wanted_update = options["kvstore"], options["update_on_kvstore"]

    @property
    def _params_to_init(self) -> list[Parameter]:
        """The parameters that the store has not got yet: all before it is created."""
        return [param for k, param in enumerate(self._params) if k in self._unsent or not self._has_store]

    @_params_to_init.setter
    def _params_to_init(self, params: Sequence[Parameter]) -> None:
        # the trainer knows parameters by their places
        self._unsent = {self._param2idx[param.name] for param in params}

    @property
    def _compression_params(self) -> Mapping[str, str | float] | None:
        """How the store compresses gradients."""
        return self._compression

    @_compression_params.setter
    def _compression_params(self, options: Mapping[str, str | float] | None) -> None:
        self._compression = options

    @property
    def _contains_sparse_weight(self) -> bool:
        """Whether a parameter is stored by rows."""
        return any(param.stype != "default" for param in self._params)

    @property
    def _contains_sparse_grad(self) -> bool:
        """Whether the gradient of a parameter is stored by rows."""
        return any(param.grad_stype != "default" for param in self._params)

    @property
    def _distributed(self) -> bool | None:
        """Whether the store spans processes; None before it is created."""
        return None if not self._has_store or self._kvstore is None else "dist" in self._kvstore.type

    @property
    def _kv_initialized(self) -> bool:
        """Whether the store has been created, or a program says that there is nothing to create."""
        return self._has_store

    @_kv_initialized.setter
    def _kv_initialized(self, is_there: bool) -> None:
        self._has_store = bool(is_there)

    #: Whether a subclass overrides the next method, which parameters then call.
    _pulls_rows: bool = False

    def _row_sparse_pull(self, parameter: Parameter, out: Any, row_id: NDArray, full_idx: bool = False) -> None:
        """Copy rows of a row-sparse parameter, all of them with ``full_idx``, to an array or several, and send it to the store before."""
        if self._unsent or not self._has_store:
            self._prepare_store()
        copies = parameter._initialized()
        for array in out if isinstance(out, (list, tuple)) else [out]:
            # the parameter's own arrays have all rows
            if not any(array is own for own in copies.arrays):
                numbers = arange(parameter._sizes[0]) if full_idx else row_id
                copies.rows_on(copies.contexts[0], numbers, parameter.name).copyto(array)

    def _check_and_rescale_grad(self, scale: float) -> None:
        """Set the factor of the gradients."""
        self._optimizer.rescale_grad = scale


class RecurrentState(_RNNLayer):
    """Methods of `RNN`, `LSTM` and `GRU`."""

    def _unfuse(self) -> HybridSequentialRNNCell:
        """A stack of cells with the layer's parameters."""
        assert not self._projection_size, "_unfuse does not support projection layer yet!"
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        size = self._input_size
        with stack.name_scope():
            for k in range(self._num_layers):
                cells = [self._cell(f"{side}{k}_", size) for side in "lr"[: self._dir]]
                stack.add(BidirectionalCell(cells[0], cells[1]) if self._dir == 2 else cells[0])
                if self._dropout and k < self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                size = self._hidden_size * self._dir
        return stack

    def _cell(self, prefix: str, size: int) -> _Cell:
        """A cell of the layer's kind."""
        if self._mode in ("lstm", "gru"):
            return {"lstm": LSTMCell, "gru": GRUCell}[self._mode](self._hidden_size, input_size=size, prefix=prefix)
        return RNNCell(self._hidden_size, self._mode.removeprefix("rnn_"), input_size=size, prefix=prefix)


for _cls, _state in (
    (Parameter, ParameterState),
    (Block, BlockState),
    (HybridBlock, HybridBlockState),
    (ParameterDict, ParametersState),
    (Trainer, TrainerState),
    (_RNNLayer, RecurrentState),
):
    adopt(_cls, _state)
