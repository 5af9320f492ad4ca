"""`Training`: the state that a process gets from the other workers when it joins the training of an estimator."""

from collections.abc import Mapping, Sequence
from typing import Any

from .... import ndarray as nd
from ....errors import ClusterError
from ....ndarray.array import NDArray
from ...block import Block
from ...numpy_arrays import as_legacy
from ...parameter import Parameter
from ...trainer import Trainer
from .events import Counting
from .handlers import StoppingHandler

#: The name of the array of counts: no parameter has it.
COUNTS = ":counts"


class Training:
    """The state of a call of `Estimator.fit` at the end of an epoch.

    Parameters
    ----------
    net, trainer
        The network and its trainer.
    handlers
        The handlers of events, with the `StoppingHandler` that counts.
    """

    def __init__(self, net: Block, trainer: Trainer, handlers: Sequence[Any]) -> None:
        self._net, self._trainer, self._handlers = net, trainer, handlers
        self._stopping: StoppingHandler = next(h for h in reversed(handlers) if isinstance(h, StoppingHandler))

    def _params(self) -> dict[str, Parameter]:
        found = self._net._collect_params_with_prefix()
        return {name: p for name, p in found.items() if p._stype == "default"}  # others are in the store

    def give(self) -> dict[str, NDArray]:
        """The parameters with values, and counts and limits of epochs and batches."""
        stop = self._stopping
        counts = [stop.current_epoch, stop.current_batch, stop.max_epoch or 0, stop.max_batch or 0]
        values = {name: as_legacy(p.list_data()[0]) for name, p in self._params().items() if p._data is not None}
        return {**values, COUNTS: nd.array(counts, dtype="int64")}

    def take(self, newest: Mapping[str, NDArray]) -> None:
        """Continue from the state of the other workers.

        Raises
        ------
        ClusterError
            If they have other parameters.
        """
        own = self._params()
        if not set(newest) <= {*own, COUNTS}:
            given = f"{list(own)[:8]}, they have {list(newest)[:8]}"
            raise ClusterError("Estimator.fit in a spare: the workers that it joins have other parameters", given, "run the same program")
        values = {own[name]: value for name, value in newest.items() if name != COUNTS}
        for param, value in values.items():
            if param._data is None:  # its shape was not known yet
                param.set_data(value)
        self._trainer._prepare_store()  # now: it copies from the store what is older there, as moving statistics are
        for param, value in values.items():
            for array in param.list_data():  # in place: a store that was passed in cannot be made again
                value.copyto(as_legacy(array))
        self._count(*map(int, newest[COUNTS].asnumpy()))

    def _count(self, epochs: int, batches: int, max_epoch: int, max_batch: int) -> None:
        for handler in self._handlers:
            if isinstance(handler, Counting):
                handler.go_on(epochs, batches)
        self._stopping.max_epoch, self._stopping.max_batch = max_epoch or None, max_batch or None
