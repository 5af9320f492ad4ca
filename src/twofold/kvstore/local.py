"""`KVStore`, the store of a single process. It sums the values that devices push, updates the stored arrays, and copies them back."""

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, cast

from ..device import CPU, Device
from ..errors import DTypeError, InvalidValue, MXNetError, NotReady, ParameterError
from ..formats.files import read_file, write_file
from ..ndarray.array import NDArray
from ..ndarray.sparse_array import retained
from ..optimizer.base import Optimizer
from ..optimizer.updater import Updater, get_updater
from .base import Key, Keys, KVStoreBase, UpdateFunction, Values
from .compression import TwoBitCompression, compression_of
from .keyed import KeyedStore, check_optimizer, check_shapes, copy_shared

if TYPE_CHECKING:
    from .cluster import Cluster

#: Kinds of store, and whether each sums gradients on a device rather than on the CPU.
KINDS = {
    "local": False,
    "local_update_cpu": False,
    "local_allreduce_cpu": False,
    "device": True,
    "local_allreduce_device": True,
    "nccl": True,
}


class KVStore(KeyedStore[NDArray]):
    """Arrays by key that the devices of one process share.

    Parameters
    ----------
    kind
        ``"local"`` keeps sums and stored arrays on the CPU; ``"device"`` and ``"nccl"`` on the first device that pushes.
    like
        The kind of store to work as, if ``kind`` is a name only.
    cluster
        The processes that share the store; None for this process alone.
    """

    def __init__(self, kind: str = "local", like: str | None = None, cluster: "Cluster | None" = None) -> None:
        super().__init__(kind, KINDS[like or kind], cluster)
        self._updater: UpdateFunction | None = None
        self._compression: TwoBitCompression | None = None

    def init(self, key: Keys, value: Values) -> None:
        """Initialize keys.

        Parameters
        ----------
        key
            An integer or a string, or a list of these. All keys of a store have the same type.
        value
            An array for each key.

        Raises
        ------
        MXNetError
            If a key exists already, or is not of the type of the existing keys.
        """
        for k, values in self._by_key(key, value):
            if k in self._stored or len(values) > 1:
                raise MXNetError(f"KVStore: duplicate init of key {k}", None, "init or broadcast each key once")
            self._stored[k] = values[0].copyto(values[0].context if self._is_on_device else CPU)

    def push(self, key: Keys, value: Values, priority: int = 0) -> None:
        """Sum values over devices, and store the sum or, with an updater, update the stored array with it.

        Parameters
        ----------
        key
            A key, or a list of keys.
        value
            For each key an array, or a list of arrays, one per device.
        priority
            Has no effect: copies run in the order in which their results are needed.

        Raises
        ------
        MXNetError
            If a key was not initialized.
        ShapeError
            If a value does not have the shape of the stored array.
        """
        for k, values in self._by_key(key, value):
            check_shapes(k, values, self._of_key(k))
            merged = self._sum(k, values)
            # the sum of a single value is that value, and the store must not share an array with its caller
            self._take(k, merged.copy() if self._updater is None and merged is values[0] else merged)

    def _take(self, key: Key, merged: NDArray) -> None:
        """Store a sum, or update the stored array with it."""
        if self._updater is None:
            self._stored[key] = merged
            return
        self._updater(key, merged, self._stored_at(key, merged.context))

    def _stored_at(self, key: Key, device: Device) -> NDArray:
        """The stored array, moved to a device if it is elsewhere, such as a key that was initialized on the CPU and pushed from a GPU."""
        stored = self._of_key(key)
        # moved once, at the first push from that device: from then on sums and the stored array are in one place
        if stored.context is not device:
            self._stored[key] = stored = stored.as_in_context(device)
        return stored

    def _sum(self, key: Key, values: list[NDArray]) -> NDArray:
        if self._compression is not None:  # each device has a residual of its own
            # compressed before they are summed, as if each device sent its gradient over a network
            values = [self._compression((key, n), x) for n, x in enumerate(values)]
        return self._total(values)

    def pull(self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy stored arrays into ``out``.

        Parameters
        ----------
        key
            A key, or a list of keys.
        out
            For each key an array, or a list of arrays, on any devices.
        priority
            Has no effect, see `push`.
        ignore_sparse
            Whether to leave out stored row-sparse arrays if ``out`` is row-sparse too.

        Raises
        ------
        MXNetError
            If a key was not initialized.
        ShapeError
            If an array does not have the shape of the stored one.
        """
        if out is None:
            raise InvalidValue("KVStore.pull: out is missing", f"key {key!r}", "pass the arrays to copy into as out")
        for k, outs in self._by_key(key, out):
            stored = self._of_key(k)
            for target in outs:
                if not (ignore_sparse and stored.stype == target.stype == "row_sparse"):
                    copy_shared(stored, target)

    def pushpull(self, key: Keys, value: Values, out: Values | None = None, priority: int = 0) -> None:
        """`push`, then `pull` into ``out``, or into the values themselves if ``out`` is None."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority, ignore_sparse=False)

    def replace(self, key: Key, value: NDArray) -> None:
        """Replace a stored value on this worker. MXNet's stores have no such method.

        Parameters
        ----------
        key
            A key that was initialized.
        value
            An array of the same shape as the stored one.
        """
        value.copyto(self._of_key(key))

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        """`init`, then `pull` into ``out``."""
        self.init(key, value)
        self.pull(key, out, priority, ignore_sparse=False)

    def row_sparse_pull(self, key: Keys, out: Values | None = None, priority: int = 0, row_ids: Values | None = None) -> None:
        """Copy rows of stored row-sparse arrays into row-sparse arrays.

        Parameters
        ----------
        key
            A key, or a list of keys.
        out
            For each key a row-sparse array, or a list of these, on any devices.
        priority
            Has no effect, see `push`.
        row_ids
            Row numbers: an array of any shape for all of ``out``, or one such array for each of them.

        Raises
        ------
        ParameterError
            If ``out`` or ``row_ids`` is missing, or they differ in number.
        MXNetError
            If a key was not initialized, or its array or one of ``out`` is not row-sparse.
        ShapeError
            If there is no row of a number.
        """
        for _, stored, target, numbers in self._row_requests(key, out, row_ids):
            retained(cast("Any", stored), numbers.as_in_context(stored.context)).copyto(target)

    # updates of the stored arrays

    @property
    def _in_process(self) -> Self:
        """The store itself: its arrays are in this process."""
        return self

    def set_updater(self, updater: UpdateFunction) -> None:
        """Call a function with each pushed sum instead of storing the sum.

        Parameters
        ----------
        updater
            Function of the key, the sum and the stored array, which it updates in place.
        """
        self._updater = updater

    _set_updater = set_updater

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update stored arrays with an optimizer: pushed values are gradients from now on.

        Parameters
        ----------
        optimizer
            The optimizer.

        Raises
        ------
        DTypeError
            If it is not an `Optimizer`.
        """
        check_optimizer(optimizer)
        self.set_updater(get_updater(optimizer))

    def save_optimizer_states(self, fname: str | PathLike[str], dump_optimizer: bool = False) -> None:
        """Write the optimizer's states to a file, which MXNet can read too.

        Parameters
        ----------
        fname
            The file.
        dump_optimizer
            Whether to include the optimizer and its update counts.

        Raises
        ------
        MXNetError
            If no optimizer is set.
        """
        write_file(fname, [self._optimizer_updater("save").get_states(dump_optimizer)])

    def load_optimizer_states(self, fname: str | PathLike[str]) -> None:
        """Read the optimizer's states from a file written by `save_optimizer_states` or MXNet.

        Raises
        ------
        MXNetError
            If no optimizer is set.
        FormatError
            If the file is damaged, or a state has another shape than the stored array. The former states stay.
        """
        self._optimizer_updater("load")._load(read_file(fname), self._stored)

    def _optimizer_updater(self, action: str) -> Updater:
        if not isinstance(self._updater, Updater):
            raise NotReady(f"KVStore: there are no optimizer states to {action}", None, "call set_optimizer first")
        return self._updater

    def set_gradient_compression(self, compression_params: Mapping[str, str | float]) -> None:
        """Compress the gradients that devices push.

        Parameters
        ----------
        compression_params
            ``{"type": "2bit", "threshold": 0.5}``, or ``{"type": "none"}``.

        Raises
        ------
        ParameterError
            If the store sums on the CPU, or the compression is unknown.
        """
        if not self._is_on_device:
            raise ParameterError("Gradient compression is not supported for this type of kvstore", self._kind, "create it as 'device'")
        self._compression = compression_of(compression_params)

    def _send_command_to_servers(self, head: int, body: str) -> None:
        """Do nothing, as in MXNet: there are no servers. Raise a `DTypeError` for arguments that no server could be sent."""
        if not isinstance(head, int) or not isinstance(body, str):
            given = f"{type(head).__name__} and {type(body).__name__}"
            raise DTypeError("send_command_to_servers: a command is a number and a text", given, "pass an int and a str")

    def _barrier(self) -> None:
        """Wait for all workers: there is only this one."""

    def _live_workers(self) -> list[int]:
        """Wait at a barrier, and return the numbers of the workers."""
        self._barrier()
        return list(range(self.num_workers))


class KVStoreServer:
    """MXNet's class for a server process. Servers of Twofold are run by ``twofold launch -s N`` instead.

    Parameters
    ----------
    kvstore
        The store.
    """

    def __init__(self, kvstore: KVStoreBase) -> None:
        self.kvstore = kvstore

    def run(self) -> None:
        """Return immediately: a store of a single process has no workers to serve."""
