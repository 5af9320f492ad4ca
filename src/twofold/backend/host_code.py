"""The interface to code for the host's own work on images and texts, `Target.host_code`."""

from typing import Protocol

from .pictures import PictureWriter
from .text import NumberReader


class HostCode(Protocol):
    """Functions that run in any thread and without the GIL. Each is None if the adapter has nothing for it."""

    def picture_writer(self) -> PictureWriter | None:
        """What resizes and normalizes images into batches."""
        ...

    def number_reader(self) -> NumberReader | None:
        """What reads the numbers of a text."""
        ...


class NoHostCode:
    """The `HostCode` of adapters that have none."""

    def picture_writer(self) -> None:
        """Nothing."""

    def number_reader(self) -> None:
        """Nothing."""


NO_HOST_CODE = NoHostCode()
