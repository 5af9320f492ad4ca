"""The private methods of Gluon's classes that MXNet calls and that libraries override, at MXNet's moments; see `dispatch`."""

from collections.abc import Sequence
from typing import Any

from ..device import Device
from ..gluon.copies import RENEWALS
from ..gluon.hybrid_block import HybridBlock
from ..gluon.numpy_arrays import as_legacy
from ..gluon.parameter import Parameter
from ..gluon.structure import flatten
from ..gluon.tracing import ARRAYS, iter_arrays
from ..gluon.trainer import Trainer
from ..ndarray.array import NDArray
from ..symbol.symbol import Symbol
from . import layer_state, loader_state  # noqa: F401  (complete the classes of layers and loaders)
from .array_state import adopt
from .gluon_state import HybridBlockState, ParameterState
from .overriding import dispatch

# kept: the hooks of the base below must not lead to those of a subclass again
_named_inputs, _run_compiled = HybridBlock._named_inputs, HybridBlock._run_compiled
#: What ``_get_graph`` returns: the inputs and outputs as symbols.
Graph = tuple[list[Symbol], Symbol] | tuple[()]


class GraphMethods(HybridBlockState):
    """How MXNet's blocks compute by a traced graph, step by step."""

    def _get_graph(self, *args: Any) -> Graph:
        """(inputs, outputs) of the block's graph for such inputs, which is traced unless it was."""
        _named_inputs(self, args)
        return self._cached_graph

    def _build_cache(self, *args: Any) -> None:
        """Get the graph for such inputs, and initialize the parameters that waited for their shapes."""
        self._take_graph(args)
        waiting = [param for param in self.collect_params().values() if param._deferred is not None]
        if waiting:
            self._deferred_infer_shape(*flatten(args, ARRAYS, "input")[0])
        for param in waiting:
            # the others wait for the layers below, as without hooks
            if param._is_shaped:
                param._finish_deferred_init()

    def _call_cached_op(self, *args: Any) -> object:
        """The outputs by the graph, which is made in the first call."""
        # a `SymbolBlock` has a graph from the start, and others after a shape was inferred
        if self._trace is None or "is_built" not in vars(self._trace):
            self._build_cache(*args)
            vars(self._trace)["is_built"] = True
        return _run_compiled(self, _device_of(args), args)

    def _take_graph(self, args: Sequence[Any]) -> None:
        """Compute from now on with what ``_get_graph`` returns, which a subclass may have changed."""
        graph = self._get_graph(*args)
        # assigning the traced graph itself would only compile it again
        if graph and (self._trace is None or graph[1] is not self._trace.symbol):
            self._cached_graph = graph


class GraphCalls(GraphMethods):
    """Calls them."""

    # `forward` calls this one for each block that is hybridized
    def _run_compiled(self, device: Device, args: Sequence[Any]) -> object:
        return self._call_cached_op(*args)

    # and this one wherever shapes or dtypes are inferred
    def _named_inputs(self, args: Sequence[Any]) -> tuple[Symbol, dict[str, NDArray]]:
        self._take_graph(args)
        return _named_inputs(self, args)


def _device_of(args: Sequence[Any]) -> Device:
    """The device of the first array among nested inputs."""
    first: Any = next(iter_arrays(args))
    return first.context


class ArrayCalls(ParameterState):
    """A parameter that calls ``_check_and_get`` for each array."""

    def _on(self, ctx: Device | None) -> NDArray:
        RENEWALS.count += 1  # so that a compiled graph asks in its next call too
        return as_legacy(self._check_and_get(self._data, ctx))

    _array = _on

    #: One array for a device, all for ``list``.
    _check_and_get: Any

    def list_data(self) -> list[NDArray]:
        """The arrays on all devices."""
        return list(map(self._public, self._check_and_get(self._data, list)))

    def grad(self, ctx: Device | None = None) -> NDArray:
        """The gradient on a device."""
        return self._public(self._check_and_get(self._grad_or_error(), ctx))

    def list_grad(self) -> list[NDArray]:
        """The gradients on all devices."""
        return list(map(self._public, self._check_and_get(self._grad_or_error(), list)))

    def _grad_or_error(self) -> list[NDArray] | None:
        """The gradients; an error if there are arrays but no gradients."""
        return None if self._data is None else self._gradients()


class DataCalls(ParameterState):
    """A parameter whose layers compute with what `data` returns, in each call anew: it may drop parts of the weights."""

    def _on(self, ctx: Device | None) -> NDArray:
        RENEWALS.count += 1  # as above
        return as_legacy(self.data(ctx))


class RowMethods(ParameterState):
    """How rows of a row-sparse parameter are read: the trainer pulls them if its class overrides how."""

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """The rows on the device of their numbers; see `Parameter.row_sparse_data`."""
        trainer = None if self._trainer is None else self._trainer()
        if trainer is not None and trainer._pulls_rows:
            return self._get_row_sparse(self._data, row_id.context, row_id)
        return _row_sparse_data(self, row_id)

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """The rows on all devices."""
        trainer = None if self._trainer is None else self._trainer()
        if trainer is not None and trainer._pulls_rows:
            return self._get_row_sparse(self._data, list, row_id)
        return _list_row_sparse_data(self, row_id)

    def _get_row_sparse(self, arr_list: Sequence[NDArray] | None, ctx: Any, row_id: NDArray) -> Any:
        """Rows of the copy on a device, or of all copies for ``list``, which the trainer pulls before."""
        copies = self._row_copies("row_sparse_data", "a copy")
        trainer: Any = self._trainer
        trainer()._row_sparse_pull(self, self._check_and_get(arr_list, ctx), row_id)
        found = [copies.rows_on(device, row_id, self.name) for device in (copies.contexts if ctx is list else [ctx])]
        return found if ctx is list else found[0]


class PullingCalls(Trainer):
    """A trainer whose parameters read their rows through ``_row_sparse_pull``."""

    _pulls_rows = True


class RescalingCalls(Trainer):
    """A trainer that sets the factor of the gradients by ``_check_and_rescale_grad``."""

    _check_and_rescale_grad: Any

    def _begin(self, batch_size: float | None = None) -> None:
        if batch_size is not None:
            self._check_and_rescale_grad(self._scale / batch_size)
        Trainer._begin(self)


_row_sparse_data, _list_row_sparse_data = Parameter.row_sparse_data, Parameter.list_row_sparse_data
for _cls, _methods in ((HybridBlock, GraphMethods), (Parameter, RowMethods)):
    adopt(_cls, _methods)
dispatch(HybridBlock, ("_build_cache", "_get_graph", "_call_cached_op", "_deferred_infer_shape"), GraphCalls)
dispatch(Parameter, ("_check_and_get",), ArrayCalls)
dispatch(Parameter, ("data",), DataCalls)
dispatch(Trainer, ("_check_and_rescale_grad",), RescalingCalls)
dispatch(Trainer, ("_row_sparse_pull",), PullingCalls)
