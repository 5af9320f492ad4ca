"""Counts how often operations ran in each execution mode, for tests and for the profiler."""


class Counters:
    """Counts since the last `reset`."""

    __slots__ = (
        "bridged",
        "compiled",
        "copied",
        "copied_bytes",
        "copies",
        "deferred",
        "donated",
        "fused",
        "in_place",
        "inline",
        "kernels",
        "rebound",
        "recorded",
        "resized",
        "windows",
    )

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set all to 0."""
        for name in self.__slots__:
            setattr(self, name, 0)

    def as_dict(self) -> dict[str, int]:
        """All counts by name."""
        return {name: getattr(self, name) for name in self.__slots__}


COUNTERS = Counters()
