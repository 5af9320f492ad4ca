"""`MachineCode`: functions for images and texts as machine code, by llvmlite."""

from twofold.backend.forks import IMPORTING
from twofold.backend.host_code import NumberReader, PictureWriter


class MachineCode:
    """A `HostCode`. What it returns is compiled when it is first asked for."""

    def picture_writer(self) -> PictureWriter | None:
        """What resizes and normalizes images into batches; None if LLVM does not know this processor."""
        with IMPORTING:
            from .jit.pictures import picture_writer  # imports llvmlite, so not at the top

        return picture_writer()

    def number_reader(self) -> NumberReader | None:
        """What reads the numbers of a text; None if LLVM does not know this processor."""
        with IMPORTING:
            from .jit.numbers import number_reader

        return number_reader()
