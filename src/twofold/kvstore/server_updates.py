"""`ServerUpdates`: a server's updates of its part of the weights, by an optimizer or a user's updater."""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..errors import ClusterError, DTypeError, FormatError, MXNetError, ParameterError
from ..ndarray.array import NDArray
from ..optimizer import states as state_files
from ..optimizer.base import Optimizer, State
from ..optimizer.layerwise import LAMB, LARS, LBSGD
from .optimizer_json import allowed_object, optimizer_from_json
from .shard import Shard

#: Optimizers whose update of an element depends on the whole tensor.
OF_WHOLE_TENSORS = (LAMB, LARS, LBSGD)


class ServerUpdates:
    """Updates shards with an optimizer or a user's updater, once one is set.

    Parameters
    ----------
    allowed
        Classes and functions, as ``module:Class``, that workers may name.
    """

    def __init__(self, allowed: Collection[str] = ()) -> None:
        self._allowed = frozenset(allowed)
        self._optimizer: Optimizer | None = None
        self._updater: Callable[[int | str, NDArray, NDArray], object] | None = None
        #: The number of workers for which the optimizer's ``rescale_grad`` was chosen.
        self._workers = 1
        #: The optimizer's numbers that each worker has changed. Those of all workers are kept, because the first one may leave.
        self._changes: dict[int, dict[str, float]] = {}

    @property
    def is_set(self) -> bool:
        """Whether pushed values are gradients."""
        return self._optimizer is not None or self._updater is not None

    def configure(self, text: str, worker: int, workers: Sequence[int], shards: Collection[Shard]) -> None:
        """Set or change the object that updates weights.

        Parameters
        ----------
        text
            JSON: an optimizer; ``{"updater": "module:Class"}``; or ``{"change": {"lr": 0.1}}``, new values of its attributes.
        worker, workers
            The worker that asks, and the workers that push. Changes by the first of these take effect; others are kept for `follow`.
        shards
            The shards of the server, whose former states are dropped.

        Raises
        ------
        FormatError, ParameterError, DTypeError
            If the text is not such JSON, names an unknown class or attribute, or has a value of another type.
        """
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FormatError("set_optimizer: this is not JSON", text[:80], "send it with set_optimizer") from error
        if not isinstance(fields, dict):
            raise FormatError("set_optimizer: not a JSON object", text[:80], "send it with set_optimizer")
        if "change" in fields:
            self._change(worker, fields["change"])
            self.follow(workers[0])
            return
        if "updater" in fields:
            made = allowed_object(str(fields["updater"]), self._allowed)
            self._updater, self._optimizer = made() if isinstance(made, type) else made, None
            return
        optimizer = optimizer_from_json(text, self._allowed)
        # a norm over a part of a tensor is not the norm of the tensor
        cut = next((s.name for s in shards if s.is_cut), None)
        if cut is not None and isinstance(optimizer, OF_WHOLE_TENSORS):
            todo = "raise MXNET_KVSTORE_BIGARRAY_BOUND above its size, or use a single server"
            raise ParameterError(f"{type(optimizer).__name__} needs whole tensors: key {cut!r} is divided among servers", None, todo)
        self._optimizer, self._updater, self._workers, self._changes = optimizer, None, len(workers), {}
        for shard in shards:
            shard.has_state, shard.state = False, None

    def _change(self, worker: int, values: object) -> None:
        if self._optimizer is None:
            raise MXNetError("set_learning_rate: the server has no optimizer", None, "call set_optimizer first")
        if not isinstance(values, dict):
            raise FormatError("set_optimizer: changes are not a JSON object", str(values)[:80], "send them with change_optimizer")
        for name, value in values.items():
            if type(vars(self._optimizer).get(name)) not in (int, float) or type(value) not in (int, float):
                given = f"{name}={value!r}"
                raise DTypeError(f"{type(self._optimizer).__name__} has no number to change", given, "change lr, wd or rescale_grad")
        self._changes.setdefault(worker, {}).update(values)

    def follow(self, worker: int) -> None:
        """Give the optimizer the numbers that a worker has set. The server calls this with the first live worker."""
        if self._optimizer is not None:
            # attributes, not a new optimizer: its states and counts of updates stay
            vars(self._optimizer).update(self._changes.get(worker, {}))

    def apply(self, shard: Shard, gradient: NDArray, contributors: int | None = None) -> None:
        """Update a shard.

        Parameters
        ----------
        shard
            The shard.
        gradient
            The gradient, of its shape.
        contributors
            The number of workers in the sum; None for the gradient of one worker. With fewer workers than ``rescale_grad`` was chosen
            for, the scale is raised, so that a mean stays a mean.

        Raises
        ------
        MXNetError
            If no optimizer is set, or a user's updater fails.
        """
        try:
            if self._optimizer is not None:
                self._optimize(self._optimizer, shard, gradient, contributors)
            elif self._updater is not None:
                self._updater(shard.name, gradient, shard.weight)
            else:
                todo = "call set_optimizer first"
                raise MXNetError("Updater needs to be set", f"push of key {shard.name!r} to an asynchronous store", todo)
        except MXNetError:
            raise
        except Exception as error:  # a user's code may raise anything, and the server must go on
            given = f"{type(error).__name__}: {error}"
            raise ClusterError(f"server: the update of key {shard.name!r} failed", given, "mend the optimizer") from error

    def _optimize(self, optimizer: Optimizer, shard: Shard, gradient: NDArray, contributors: int | None) -> None:
        if not shard.has_state:
            shard.state, shard.has_state = optimizer.create_state_multi_precision(shard.name, shard.weight), True
        # counts of updates are kept by part: after a server's death two parts of a tensor may be here, and share a name
        optimizer._set_current_context(shard.index)
        if contributors is None or contributors == self._workers:
            optimizer.update_multi_precision(shard.name, shard.weight, gradient, shard.state)
            return
        scale = optimizer.rescale_grad
        optimizer.rescale_grad = scale * self._workers / contributors
        try:
            optimizer.update_multi_precision(shard.name, shard.weight, gradient, shard.state)
        finally:
            optimizer.rescale_grad = scale

    # states

    def states(self, shards: Collection[Shard]) -> bytes:
        """The states of shards and the optimizer's counts, in the format of MXNet's ``.states`` files."""
        states: dict[Any, State] = {f"{s.name!r}:{s.index}": s.state for s in shards if s.has_state}
        return state_files.dump(states, None, self._optimizer.get_progress() if self._optimizer is not None else None)

    def restore(self, data: bytes, shards: Collection[Shard]) -> list[Shard]:
        """Give shards the states that `states` wrote.

        Returns
        -------
        list
            The shards that have no state in the bytes. Their states begin again.

        Raises
        ------
        FormatError
            If the bytes are damaged.
        """
        states, _, progress = state_files.load(data)
        missing = []
        for shard in shards:
            name = f"{shard.name!r}:{shard.index}"
            if name not in states:
                missing.append(shard)
                continue
            shard.state, shard.has_state = states[name], True
            if self._optimizer is not None and progress is not None:
                counts = progress["_all_index_update_counts"].get(shard.index, {})
                if shard.name in counts:
                    self._optimizer._all_index_update_counts.setdefault(shard.index, {})[shard.name] = counts[shard.name]
                    self._optimizer.num_update = max(self._optimizer.num_update, counts[shard.name])
        return missing
