"""Sites: the instructions of the user's program that issue operations. What is counted there decides how the next operations run.

`imperative.sites` and `numpy_folding.sites` say what each engine counts. Counts decide, never clocks, so that every run does the same.
"""

from collections.abc import Callable
from types import CodeType
from typing import Generic, TypeVar

from .origin import line_of

#: Instructions are forgotten beyond this many: programs that generate code without end must not keep it all.
MOST = 8192


class InstructionSite:
    """An instruction of the program.

    Attributes
    ----------
    code, instruction
        Where the instruction is. The site holds the code: `ByInstruction` finds it by its address, so no other code may get that address.
    alone
        How often an operation issued here was computed alone, so that its waiting did not pay.
    """

    __slots__ = ("alone", "code", "instruction")

    def __init__(self, code: CodeType, instruction: int) -> None:
        self.code, self.instruction, self.alone = code, instruction, 0

    @property
    def line(self) -> int:
        """The line of the program."""
        return line_of(self.code, self.instruction)


S = TypeVar("S", bound=InstructionSite)


class ByInstruction(dict[tuple[int, int], S], Generic[S]):
    """Sites by the address of their code and their position in it: hashing the code would take time in proportion to its length."""

    def of(self, code: CodeType, position: int, new: Callable[[], S]) -> S:
        """The site of an instruction; at its first use, ``new`` makes it."""
        place = id(code), position
        found = self.get(place)
        if found is None:
            if len(self) >= MOST:
                self.clear()
            found = self[place] = new()
        return found
