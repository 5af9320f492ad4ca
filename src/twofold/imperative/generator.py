"""The random streams: Philox counters, taken when an operation is issued, so that a seed gives one stream whatever runs when.

State is (seed, position); it can be saved and restored for an exact resume.
"""

import threading

import numpy as np

#: Counters that one draw may use (a counter gives four words of 64 bits).
_SPAN = 1 << 32


class Generator:
    """One stream of random draws. Each draw gets a key of its own: 4 words of counter, 2 of key (uint64)."""

    def __init__(self, seed: int = 0) -> None:
        self._lock = threading.Lock()
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start the stream of a seed."""
        with self._lock:
            self._seed, self._draws = seed % (1 << 128), 0

    def next_key(self) -> np.ndarray:
        """The key of the next draw: uint64, shape (6,)."""
        with self._lock:
            at = self._draws
            self._draws += 1
        mask = (1 << 64) - 1
        return np.array([0, at & mask, at >> 64, 0, self._seed & mask, self._seed >> 64], np.uint64)

    @property
    def state(self) -> tuple[int, int]:
        """(seed, number of draws so far)."""
        return self._seed, self._draws

    @state.setter
    def state(self, value: tuple[int, int]) -> None:
        with self._lock:
            self._seed, self._draws = value


#: The stream of the imperative and symbolic samplers.
GENERATOR = Generator(np.random.SeedSequence().entropy or 0)  # type: ignore[arg-type]
