"""`TrainingState`: the state that a spare gets from the workers when it joins a training, and its bytes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import FormatError
from ..formats.params import ParameterFile, dump_params
from ..ndarray.array import NDArray
from ..ndarray.saving import load_frombuffer, record_of
from .base import Key


@dataclass(slots=True)
class TrainingState:
    """The state of a training at the end of an epoch. In a spare, the part that the program has not used yet.

    Attributes
    ----------
    loop
        The number of the program's loop over epochs, from 1; 0 in a spare once it is in that loop.
    epoch, steps
        The epoch that begins, and the number of lists of keys that were pushed.
    stored
        The arrays of the store by key.
    arrays
        Other arrays by name.
    updates
        The optimizer's states and counts; None if the store has no optimizer.
    """

    loop: int
    epoch: int
    steps: int
    stored: dict[Key, NDArray]
    arrays: Mapping[str, NDArray]
    updates: bytes | None = None

    def to_bytes(self) -> bytes:
        """The state as bytes: a line of JSON, the optimizer's states, and the arrays in MXNet's format."""
        both = [*self.stored.values(), *self.arrays.values()]
        updates = self.updates or b""
        numbers = [self.loop, self.epoch, self.steps]
        about = {"numbers": numbers, "keys": list(self.stored), "names": list(self.arrays)}
        head = json.dumps({**about, "updates": None if self.updates is None else len(updates)}).encode()
        names = tuple(f"{k:08}" for k in range(len(both)))
        return head + b"\n" + updates + dump_params(ParameterFile(tuple(map(record_of, both)), names))

    @classmethod
    def of_bytes(cls, data: bytes) -> "TrainingState":
        """The state that `to_bytes` has written.

        Raises
        ------
        FormatError
            If the bytes are damaged.
        """
        head, _, rest = data.partition(b"\n")
        try:
            about = json.loads(head)
            (loop, epoch, steps), keys, names, size = about["numbers"], about["keys"], about["names"], about["updates"]
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError("not the state of a training", f"{len(data)} bytes", "run the same version on all machines") from error
        found = load_frombuffer(rest[size or 0 :])
        both = [found[name] for name in sorted(found)] if isinstance(found, dict) else []
        stored = dict(zip(keys, both[: len(keys)], strict=True))
        updates = None if size is None else rest[:size]
        return cls(loop, epoch, steps, stored, dict(zip(names, both[len(keys) :], strict=True)), updates)
