"""`DistributedStore`: the store of workers in several processes without servers. Each worker has a copy of every stored array.

The copies stay equal because all workers apply the same operations to them: a pushed value is summed over the devices of each worker, then
over the workers, and every copy is updated with that sum.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..config import SETTINGS
from ..device import CPU, Device
from ..errors import ClusterError, ParameterError
from ..imperative.array import adopted
from ..imperative.cell import Value
from ..imperative.invoke import host_of
from ..imperative.pending import by_task
from ..imperative.storage import sparse_array
from ..imperative.window import flush_all
from ..ndarray.array import NDArray
from ..opdef import Sparse
from ..optimizer.base import Index, Optimizer
from ..optimizer.updater import Updater
from .base import Entry, Give, Key, Keys, Take, UpdateFunction, Values
from .cluster import Cluster, join
from .collective_calls import Contributors
from .collectives import Collectives
from .compression import compression_of, pack_two_bit, sum_of_packed
from .keyed import check_optimizer, check_shapes
from .local import KVStore
from .optimizer_json import optimizer_facts
from .training_state import TrainingState


class DistributedStore(KVStore):
    """Arrays by key that the devices of several processes share. All workers call each method, in the same order.

    Parameters
    ----------
    kind
        ``"dist_sync"`` keeps sums and stored arrays on the CPU, ``"dist_device_sync"`` on the first device that pushes.
    cluster
        The processes of the cluster. None joins the cluster that a launcher has started.

    Raises
    ------
    ClusterError
        If the processes do not form one cluster.
    ParameterError
        If the kind is asynchronous and there are no servers.

    Notes
    -----
    A worker that has finished its program contributes zeros to the sums of the others, so workers may have different numbers of batches.
    Gradients are then scaled up as if all workers contributed, and their mean stays a mean. The same holds after a worker has died, if
    ``twofold launch --ft`` lets the others go on.
    """

    def __init__(self, kind: str = "dist_sync", cluster: Cluster | None = None) -> None:
        is_on_device = "device" in kind or kind in ("horovod", "nccl")
        super().__init__(kind, "device" if is_on_device else "local", join() if cluster is None else cluster)
        if "async" in kind and self.num_workers > 1:
            raise ParameterError("kvstore.create: asynchronous updates need a server", repr(kind), "start one: twofold launch -n 2 -s 1 …")
        self._all = None if self._cluster is None else self._cluster.collectives
        #: Steps of training, counted to know when checksums are due. All workers must count alike: a checksum is a collective operation.
        self._steps = 0
        #: The keys that the store has updated. A push of the first of them counts as a step.
        self._updated: dict[Key, None] = {}
        #: The device of the first `update_with`. Only updates there count as steps: workers may have different numbers of devices.
        self._checked: Device | None = None
        #: The last operands of `update_with`, and tuples of some of them by position: an updater keeps a plan for a tuple that it knows.
        self._columns: tuple[Sequence[Index], Sequence[NDArray], Sequence[NDArray]] = ((), (), ())
        self._parts: dict[tuple[int, ...], list[tuple[Any, ...]]] = {}
        self._inherited = None if self._cluster is None else self._cluster.inherited
        if self._inherited is not None:
            self._steps = self._inherited.steps
        #: The program's arrays that a spare has overwritten with the values of the others. They are newer than the store's if the store
        #: never updates them, so `init` with one of them keeps it.
        self._taken: list[NDArray] = []
        self._has_warned = False
        # devices are not connected where spares may join: workers that go on after a death sum by MPI
        self._is_connected = self._cluster is not None and self._cluster.pool is not None

    # values

    def init(self, key: Keys, value: Values) -> None:
        """Initialize keys with the values of worker 0; see `KVStore.init`.

        Raises
        ------
        MXNetError
            If a key exists already, or is not of the type of the existing keys.
        ClusterError
            If the workers initialize different keys, or arrays of different shapes or dtypes.
        """
        super().init(key, value)
        if self._all is None:
            return
        given = {k: values[0] for k, values in self._by_key(key, value)}
        keys = list(given)
        if self._inherited is not None and self._inherited.stored:
            self._inherit(given, self._inherited)
            return
        stored = [self._stored[k] for k in keys]
        label = "init", tuple(keys)
        self._all.agree(label, [(k, x.shape, x._dtype, x.stype) for k, x in zip(keys, stored, strict=True)])
        for k, x in zip(keys, stored, strict=True):
            self._stored[k] = self._of_first(("init", (k,)), x)

    def _inherit(self, given: Mapping[Key, NDArray], state: TrainingState) -> None:
        """In a spare: begin with the newest arrays of the other workers, which are past their `init` and do not call it again."""
        updated = self._updater.states if isinstance(self._updater, Updater) else {}
        for k, array in given.items():
            newest = state.stored.get(k)
            if newest is not None and newest.shape == array.shape:
                if k in updated or all(array is not taken for taken in self._taken):
                    self._stored[k] = newest.copyto(self._stored[k].context)
                if not state.loop:
                    del state.stored[k]
            elif (
                self._all is not None and state.loop <= self._all.loops + 1
            ):  # a higher number: the others have finished the loop of this `init`
                text = f"{k!r} of shape {array.shape}; they have {list(state.stored)[:8]}"
                raise ClusterError("init in a spare: the workers that it joins have no such key", text, "run the same program")

    def _of_first(self, label: object, array: NDArray) -> NDArray:
        """Worker 0's array."""
        assert self._all is not None
        if array.stype == "default":
            return self._all.broadcast(label, array).as_in_context(array.context)
        whole = self._all.broadcast(label, array.tostype("default"))
        return whole.tostype(array.stype).as_in_context(array.context)

    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sum values over devices and workers, and store the sums or, with an updater, update the stored arrays with them.

        Parameters
        ----------
        key
            A key, or a list of keys. The values of a list are sent in messages of several megabytes, the last one first.
        value
            For each key an array, or a list of arrays, one per device.
        priority
            Has no effect: all workers send in the order of their calls.

        Raises
        ------
        MXNetError
            If a key was not initialized.
        ShapeError
            If a value does not have the shape of the stored array.
        ClusterError
            If the workers push different keys.
        """
        self._push(key, value, self._updater is not None)

    def _push(self, key: Keys, value: Values, is_gradient: bool) -> None:
        keys: list[Key] = []
        merged: list[NDArray] = []
        for k, values in self._by_key(key, value):
            check_shapes(k, values, self._of_key(k))
            keys.append(k)
            merged.append(self._own(values))
        everyone, label = self._all, ("push", tuple(keys))
        share = None
        if everyone is not None:
            if self._is_on_device and not self._is_connected:
                everyone.connect_devices(merged[0].context)
                self._is_connected = True
            facts = [(k, x.shape, x._dtype, x.stype) for k, x in zip(keys, merged, strict=True)]
            # at every push: workers that push in different orders, as servers allow, would add the values of different keys
            share = everyone.agree(label, facts)
        dense: tuple[list[Key], list[NDArray]] = ([], [])
        for k, x in zip(keys, merged, strict=True):
            if x.stype != "default" or self._compression is not None:
                total = self._special_sum(k, x)
                # of a gradient all rows are new: others would be those of an earlier step
                self._take(k, total if is_gradient else self._with_stored_rows(k, total))
            else:
                dense[0].append(k)
                dense[1].append(x)
        if everyone is None:
            for k, x in zip(*dense, strict=True):
                self._take(k, x)
        elif dense[0]:
            self._take_sums(everyone, label, *dense, share if is_gradient else None)
        if self._updater is not None:
            is_step = not self._updated or next(iter(self._updated)) in keys
            self._updated.update(dict.fromkeys(keys))
            if is_step:
                names = sorted(self._updated, key=str)  # a spare has received the keys in another order
                self._check_weights(names, [self._stored[k] for k in names])

    def _own(self, values: list[NDArray]) -> NDArray:
        """The sum over the devices of this worker. Compression comes later: it applies only to data sent to other workers."""
        merged = self._total(values)
        # without other workers the sum is stored directly, and the store must not share an array with its caller
        return merged.copy() if self._all is None and self._updater is None and merged is values[0] else merged

    def _take_sums(
        self, everyone: Collectives, label: object, keys: Sequence[Key], merged: Sequence[NDArray], share: Contributors | None
    ) -> None:
        """Sum dense arrays over workers, and store the sums or update with them, a bucket at a time."""
        for numbers, totals in everyone.sums(label, merged, share):
            if len(numbers) == 1 or not isinstance(self._updater, Updater):
                for n, total in zip(numbers, totals, strict=True):
                    self._take(keys[n], total)
            else:
                places = [keys[n] for n in numbers]
                self._updater(places, totals, [self._stored_at(k, total.context) for k, total in zip(places, totals, strict=True)])
            v = totals[0]._content
            if self._updater is not None and isinstance(v, Value) and v.data is None:
                flush_all()  # closes the window here, so that this update waits for this bucket only and not for the next ones

    def _special_sum(self, key: Key, array: NDArray) -> NDArray:
        """The sum over workers of a sparse array, or of a compressed one."""
        label = "push", (key,)
        if array.stype == "row_sparse":
            return array if self._all is None else self._sum_of_rows(label, array)
        if array.stype != "default":
            raise ParameterError(f"KVStore.push: key {key!r}: arrays of this storage type have no sum", array.stype, "push dense arrays")
        return self._sum_of_compressed(label, key, array)

    def _sum_of_compressed(self, label: object, key: Key, array: NDArray) -> NDArray:
        assert self._compression is not None
        sent = self._compression(key, array)
        if self._all is None:
            return sent
        codes = pack_two_bit(host_of(sent).reshape(-1))
        # gathered, not summed by MPI: two-bit codes cannot be added, and every worker adds them in the same order
        total = sum_of_packed(self._all.gather(codes, label), array.size, self._compression.threshold)
        return adopted(NDArray, total.reshape(array.shape).astype(array.dtype, copy=False), array.context)

    def _sum_of_rows(self, label: object, array: NDArray) -> NDArray:
        """The sum over workers of row-sparse arrays with different rows, repeatable: rows are added in the order of workers."""
        assert self._all is not None
        values, numbers = array._content.hosts()
        most = self._all.largest(len(numbers), label)
        own = np.full(most, 0, np.int64)  # row number + 1, because 0 marks no row: finished workers send 0
        own[: len(numbers)] = numbers + 1
        rows = np.zeros((most, *array.shape[1:]), values.dtype)
        rows[: len(numbers)] = values
        all_numbers, all_rows = self._all.gather(own, label).reshape(-1), self._all.gather(rows, label).reshape(-1, *array.shape[1:])
        there = all_numbers > 0
        # gather returns rows in the order of workers and `np.add.at` adds in order of position, so every worker rounds alike
        found, places = np.unique(all_numbers[there] - 1, return_inverse=True)
        total = np.zeros((len(found), *array.shape[1:]), values.dtype)
        np.add.at(total, places, all_rows[there])
        parts = [adopted(NDArray, part, array.context) for part in (total, found)]
        return sparse_array(Sparse("row_sparse", array.shape, *parts), checked=True)

    def _with_stored_rows(self, key: Key, total: NDArray) -> NDArray:
        """What is stored after a push without an updater: other rows stay, as on MXNet's servers."""
        stored = self._of_key(key)
        return _with_rows(stored, total) if total.stype == "row_sparse" and stored.stype == "row_sparse" else total

    def pushpull_list(self, keys: Sequence[Key], values: Sequence[Entry], outs: Sequence[Entry] | None = None) -> None:
        """`pushpull` of the gradients of several keys, summed in common buckets."""
        self._push(keys, values, True)
        self.pull(keys, values if outs is None else outs, ignore_sparse=False)

    def update_with(self, updater: Updater, indices: Sequence[Index], grads: Sequence[NDArray], weights: Sequence[NDArray]) -> None:
        """Update weights of a device with summed gradients: the weights of a bucket as soon as that bucket is summed."""
        self._update_with(updater, indices, grads, weights)
        if self._checked is None:
            self._checked = weights[0].context
        if weights[0].context is self._checked:
            self._check_weights(indices, weights)

    def _update_with(self, updater: Updater, indices: Sequence[Index], grads: Sequence[NDArray], weights: Sequence[NDArray]) -> None:
        # a group for each bucket: its gradients become available together
        groups = by_task([g._content for g in grads]) if updater.takes_any_order else []
        if len(groups) < 2:
            updater(indices, grads, weights)  # with the same tuples in each step, so that the updater uses its plan again
            return
        columns = indices, grads, weights
        if any(own is not given for own, given in zip(self._columns, columns, strict=True)):
            self._columns, self._parts = columns, {}
        for numbers in map(tuple, groups):
            part = self._parts.get(numbers)
            if part is None:
                part = self._parts[numbers] = [tuple([column[n] for n in numbers]) for column in columns]
            updater(*part)
            flush_all()  # a window for each group: the first waits for no sum, each of the others for its bucket only

    def _check_weights(self, names: Iterable[Key], weights: Sequence[NDArray]) -> None:
        """Every ``TWOFOLD_KV_CHECKSUM`` steps, check that all workers have the same weights."""
        self._steps += 1
        if self._all is not None and SETTINGS.kv_checksum and self._steps % SETTINGS.kv_checksum == 0:
            self._all.check_equal(("weights", tuple(names)), [w for w in weights if w.stype == "default"])

    def set_gradient_compression(self, compression_params: Mapping[str, str | float]) -> None:
        """Compress the gradients that workers send each other; see `KVStore.set_gradient_compression`.

        Raises
        ------
        ParameterError
            If the compression is unknown.
        """
        self._compression = compression_of(compression_params)
        if self._all is not None and not (self._inherited is not None and self._inherited.stored):
            self._all.agree("set_gradient_compression", sorted(compression_params.items()))

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update stored arrays with an optimizer; see `KVStore.set_optimizer`.

        Raises
        ------
        DTypeError
            If it is not an `Optimizer`.
        ClusterError
            If the optimizers of the workers differ in class, numbers, texts or multipliers.
        """
        check_optimizer(optimizer)
        # a spare comes when the others have long agreed: it gets their states
        if self._all is not None and (self._inherited is None or self._inherited.updates is None):
            self._all.agree("set_optimizer", optimizer_facts(optimizer))
        super().set_optimizer(optimizer)

    def set_updater(self, updater: UpdateFunction) -> None:
        """Call a function with each pushed sum; see `KVStore.set_updater`. In a spare, an optimizer gets the states of the others."""
        super().set_updater(updater)
        if self._inherited is not None:
            self._inherit_updates(self._inherited)

    _set_updater = set_updater

    def _inherit_updates(self, state: TrainingState) -> None:
        if isinstance(self._updater, Updater) and state.updates is not None:
            self._updater.set_states(state.updates)
            self._updated = dict.fromkeys(self._updater.states)
            if not state.loop:
                state.updates = None

    # epochs

    def _epochs(self, first: int, end: int | None, give: Give, take: Take) -> Iterable[int]:
        if self._all is None:
            yield from super()._epochs(first, end, give, take)
            return
        self._all.loops += 1
        state = self._inherited
        # the others have finished this loop, so the spare runs none of its epochs
        if state is not None and state.loop > self._all.loops:
            return
        epoch = first
        if state is not None and state.loop == self._all.loops:
            epoch = state.epoch
            self._begin(state, give, take)
        while end is None or epoch < end:
            yield epoch
            epoch += 1
            self._admit(self._all, epoch, give)

    def _begin(self, state: TrainingState, give: Give, take: Take) -> None:
        """In a spare: begin to train with the state of the others, whatever the program has loaded since `create`."""
        for key in set(state.stored) & set(self._stored):
            state.stored[key].copyto(self._stored[key])
        take(state.arrays)
        state.stored = {key: value for key, value in state.stored.items() if key not in self._stored}
        # the spare is in the loop of the others now: the rest of the state is used once and then dropped
        state.loop, state.arrays = 0, {}
        self._inherit_updates(state)
        self._taken = list(give().values())

    def _admit(self, everyone: Collectives, epoch: int, give: Give) -> None:
        """At the end of an epoch: let spares take the places of workers that have died."""
        if self._cluster is None or self._cluster.pool is None:
            return
        updater = self._updater
        if not isinstance(updater, Updater):
            if not self._has_warned and everyone.is_first:
                logging.warning("no spare joins a training whose optimizer is not in the store: it would lack the optimizer's states")
            self._has_warned = True
            return
        if not everyone.admit("end of an epoch", (everyone.loops, epoch, *((name, a.shape) for name, a in give().items()))):
            return

        def state() -> bytes:
            updates = updater.get_states(dump_progress=True)
            return TrainingState(everyone.loops, epoch, self._steps, dict(self._stored), give(), updates).to_bytes()

        everyone.handed_over(state)

    # workers

    def _barrier(self) -> None:
        """Wait until all workers have called this and everything they have pushed is summed."""
        if self._all is not None:
            self._all.barrier()

    barrier = _barrier

    def _live_workers(self) -> list[int]:
        """Wait at a barrier, and return the workers that came to it, the same list on all of them."""
        if self._all is None:
            return [0]
        self._all.barrier()  # names the workers that do something else
        return np.flatnonzero(self._all.gather(np.ones(1, np.int64), "barrier")).tolist()

    def get_num_dead_node(self, node_id: int = 0, timeout: float = 60) -> int:
        """The number of other workers that have died or do not answer.

        Parameters
        ----------
        node_id
            A group of MXNet's processes. It has no effect: all processes of this store are workers.
        timeout
            Seconds to wait for answers.
        """
        return 0 if self._all is None else self._all.missing(timeout)


def _with_rows(array: NDArray, new: NDArray) -> NDArray:
    """A row-sparse array with some rows replaced or added."""
    (old_values, old_numbers), (values, numbers) = array._content.hosts(), new._content.hosts()
    kept = ~np.isin(old_numbers, numbers)
    rows, found = np.concatenate([old_values[kept], values]), np.concatenate([old_numbers[kept], numbers])
    order = np.argsort(found)
    parts = [adopted(NDArray, np.ascontiguousarray(part), CPU) for part in (rows[order], found[order])]
    return sparse_array(Sparse("row_sparse", array.shape, *parts), checked=True).as_in_context(array.context)
