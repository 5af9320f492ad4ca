"""The private state of `FeedForward` and `FusedRNNCell`, MXNet's interfaces before Gluon, that programs read; see `adopt`."""

from collections.abc import Mapping

import numpy as np

from ..executor.executor import Executor
from ..initializer.fused_rnn import PackedWeights
from ..io.iterator import DataDesc, DataIter, Shapes, describe
from ..model import FeedForward
from ..module.module import Module
from ..ndarray import NDArray
from ..rnn.fused import FusedRNNCell
from .array_state import adopt


class PredictorState(FeedForward):
    """The executor of predictions, and parameters without training."""

    @property
    def _pred_exec(self) -> Executor | None:
        """The executor, whose arrays of data programs fill; None before the first prediction."""
        return None if self._predictor is None else self._predictor._exec_group.execs[0]

    def _init_predictor(self, input_shapes: Shapes, type_dict: Mapping[str, type] | None = None) -> None:
        """Make it for data of the given shapes, unless it is there, and copy the parameters to it.

        Parameters
        ----------
        input_shapes
            Descriptions of the data.
        type_dict
            Dtypes of data by name, float32 for others.
        """
        data = [DataDesc(desc.name, desc.shape, (type_dict or {}).get(desc.name, np.float32)) for desc in describe(input_shapes)]
        # binding asks an iterator for nothing else
        source = DataIter()
        source.provide_data, source.provide_label = data, []
        self._bind_predictor(source)

    def _init_params(self, inputs: Shapes, overwrite: bool = False) -> tuple[list[str], list[str], list[str]]:
        """Initialize the parameters that are missing, or all of them, for inputs of the given descriptions.

        Returns
        -------
        tuple
            The names of all arguments, of the parameters, and of the auxiliary states.
        """
        module = Module(self.symbol, [desc.name for desc in describe(inputs)], None, context=self.ctx)
        module.bind(inputs)
        known = (None, None) if overwrite else (self.arg_params, self.aux_params)
        module.init_params(self.initializer, *known, allow_missing=True, allow_extra=True)
        self._copy_params(module)
        return self.symbol.list_arguments(), list(self.arg_params or ()), list(self.aux_params or ())

    @staticmethod
    def _is_data_arg(name: str) -> bool:
        """Whether an argument is of data or labels, by its name."""
        return name.endswith(("data", "label"))


class FusedState(FusedRNNCell):
    """State of `FusedRNNCell`."""

    _directions = property(lambda cell: ["l", "r"] if cell._bidirectional else ["l"])

    def _slice_weights(self, arr: NDArray, li: int, lh: int) -> dict[str, NDArray]:
        """Views of the packed weights by name, for inputs of size ``li`` and states of size ``lh``."""
        # not the packing of the cell itself, whose states may have another size
        packed = PackedWeights(lh, self._num_layers, self._mode, self._bidirectional)
        assert packed.length(li) == arr.size, "Invalid parameters size for FusedRNNCell"
        return {self._prefix + name: piece for name, piece in packed.pieces(arr, li)}


adopt(FeedForward, PredictorState)
adopt(FusedRNNCell, FusedState)
