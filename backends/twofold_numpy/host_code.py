"""`MachineCode`: functions for images and texts as machine code, by llvmlite."""

from twofold.backend.forks import IMPORTING
from twofold.backend.host_code import NumberReader, PictureWriter


class MachineCode:
    """A `HostCode`. The results of its methods are compiled at their first use."""

    def picture_writer(self) -> PictureWriter | None:
        """Resizes and normalizes images into batches; None if LLVM does not support this processor."""
        with IMPORTING:
            from .jit.pictures import picture_writer  # imports llvmlite, so not at the top

        return picture_writer()

    def number_reader(self) -> NumberReader | None:
        """Reads the numbers of a text; None if LLVM does not support this processor."""
        with IMPORTING:
            from .jit.numbers import number_reader

        return number_reader()
