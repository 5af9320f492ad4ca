"""The private state of `FusedRNNCell` that programs with packed weights read; see `adopt`."""

from ..initializer.fused_rnn import PackedWeights
from ..ndarray import NDArray
from ..rnn.fused import FusedRNNCell
from .array_state import adopt


class FusedState(FusedRNNCell):
    """State of `FusedRNNCell`."""

    _directions = property(lambda cell: ["l", "r"] if cell._bidirectional else ["l"])

    def _slice_weights(self, arr: NDArray, li: int, lh: int) -> dict[str, NDArray]:
        """Views of the packed weights by name, for inputs of size ``li`` and states of size ``lh``."""
        packed = PackedWeights(lh, self._num_layers, self._mode, self._bidirectional)
        assert packed.length(li) == arr.size, "Invalid parameters size for FusedRNNCell"
        return {self._prefix + name: piece for name, piece in packed.pieces(arr, li)}


adopt(FusedRNNCell, FusedState)
