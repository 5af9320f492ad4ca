"""Tables with an entry for each instruction of the user's program that issues operations. Their counts decide how later operations run."""

from collections.abc import Callable
from types import CodeType
from typing import Generic, TypeVar

T = TypeVar("T")
#: Instructions are forgotten beyond this many: programs that generate code without end must not keep it all.
MOST = 8192


class ByInstruction(dict[tuple[int, int], T], Generic[T]):
    """What is known about instructions, by the address of their code object and their position in it.

    Hashing the code itself would take time in proportion to its length. Entries must hold the code, so that no other code gets its address.
    """

    def of(self, code: CodeType, position: int, new: Callable[[], T]) -> T:
        """What is known of an instruction; what ``new`` returns at first."""
        place = id(code), position
        found = self.get(place)
        if found is None:
            if len(self) >= MOST:
                self.clear()
            found = self[place] = new()
        return found
