"""The random streams: Philox counters, drawn when an operation is issued, so that a seed gives the same stream in every schedule.

One stream serves all CPU devices and each GPU has its own, so that two GPUs do not draw the same numbers. A stream's state is
(seed, draws so far, lane); all of them together are saved and restored for an exact resume.
"""

import itertools
import os
import threading
from typing import TypedDict

import numpy as np

from ..backend.kernel import Array
from ..backend.loader import backend_for
from ..device import CPU, Device, interned

WORD = 64
MASK = (1 << WORD) - 1
#: Words of the Mersenne Twister of `np.random`.
TWISTER_WORDS = 624


class Generator:
    """One stream of random draws. Each draw gets its own key: 4 words of counter, 2 of key (uint64).

    Parameters
    ----------
    seed
        128 bits of it are used: Philox's key.
    lane
        A word of the counter: streams of one seed and different lanes have nothing in common.
    """

    def __init__(self, seed: int = 0, lane: int = 0) -> None:
        self._lock = threading.RLock()  # reentrant: a signal handler may draw while this thread is drawing
        self._seed, self._draws, self._lane = seed % (1 << 128), 0, lane
        self._numbers = itertools.count()

    def next_key(self) -> np.ndarray:
        """The key of the next draw: uint64, shape (6,). A draw may use 2**64 counters of four 64-bit words."""
        with self._lock:
            at = next(self._numbers)
            # a signal handler that draws right before this line has counted further already
            self._draws = max(self._draws, at + 1)
        # the draw itself counts in the first word, so it may use 2**64 blocks before it overlaps the next draw's
        return np.array([0, at & MASK, at >> 64, self._lane, self._seed & MASK, self._seed >> 64], np.uint64)

    @property
    def state(self) -> tuple[int, int, int]:
        """(seed, draws so far, lane)."""
        return self._seed, self._draws, self._lane

    @state.setter
    def state(self, value: tuple[int, int, int]) -> None:
        with self._lock:
            self._seed, self._draws, self._lane = value
            self._numbers = itertools.count(self._draws)


class State(TypedDict):
    """The states of all streams: the common seed, and each stream's state by the name of its device."""

    seed: int
    streams: dict[str, list[int]]


class Streams:
    """The streams of all devices, each created at its first use."""

    def __init__(self, seed: int) -> None:
        self._lock = threading.RLock()
        self.seed(seed)

    def renew_locks(self) -> None:
        """In a forked child, replace the lock: one that another thread held would stay locked forever."""
        self._lock = threading.RLock()
        for stream in self._of.values():
            stream._lock = threading.RLock()

    def seed(self, seed: int, device: Device | None = None) -> None:
        """Restart all streams, with a separate lane for each GPU but the first; or the stream of one device, with exactly that seed."""
        with self._lock:
            if device is None:
                self._seed, self._of = seed, {CPU: Generator(seed)}
            else:
                self._of[_owner(device)] = Generator(seed)

    def of(self, device: Device) -> Generator:
        """The stream that a device draws from."""
        found = self._of.get(_owner(device))
        if found is None:
            with self._lock:
                found = self._of.setdefault(device, Generator(self._seed, device.device_id))
        return found

    def next_key(self, device: Device) -> Array:
        """The key of a device's next draw, in the device's memory."""
        return backend_for(device).from_host(self.of(device).next_key(), device)

    @property
    def state(self) -> State:
        """The states of all streams, as JSON-compatible numbers and strings."""
        streams = {f"{d.device_type}({d.device_id})": list(g.state) for d, g in self._of.items()}
        return {"seed": self._seed, "streams": streams}

    @state.setter
    def state(self, value: State) -> None:
        made: dict[Device, Generator] = {}
        for name, (seed, draws, lane) in dict(value["streams"]).items():
            kind, number = name.rstrip(")").split("(")
            made[interned(kind, int(number))] = stream = Generator()
            stream.state = _below(2 * WORD, seed), _below(2 * WORD, draws), _below(WORD, lane)
        new_seed = int(value["seed"])
        with self._lock:
            self._seed, self._of = new_seed, made


def _below(bits: int, value: int) -> int:
    if not 0 <= int(value) < 1 << bits:
        raise ValueError(f"not a number of {bits} bits: {value}")
    return int(value)


def numpy_state(value: object) -> tuple[str, np.ndarray, int, int, float]:
    """A result of ``np.random.get_state``, from a file in which tuples have become lists.

    Raises
    ------
    ValueError
        If it is anything else. NumPy itself reads beyond its memory if the position is too large.
    """
    match value:
        case ["MT19937", keys, int(position), int(has_gauss), int() | float() as gauss] if 0 <= position <= TWISTER_WORDS:
            words = np.array(keys)
            if words.shape == (TWISTER_WORDS,) and words.dtype.kind in "iu" and words.min() >= 0 and words.max() < 1 << 32:
                return "MT19937", words.astype(np.uint32), position, int(has_gauss != 0), float(gauss)
    raise ValueError(f"not a state of NumPy's random numbers: {value!r:.80}")


def _owner(device: Device) -> Device:
    return CPU if device.is_host else device


#: The random streams of the imperative and symbolic samplers.
STREAMS = Streams(int.from_bytes(os.urandom(16), "little"))
os.register_at_fork(after_in_child=STREAMS.renew_locks)
