"""Sites: the instructions of a program that compute large arrays. Counts at a site decide whether it folds, never clocks.

A chain is computed by NumPy, block by block, until its site has computed so many elements that a compilation is no risk. Operations at a
site stop waiting if their results were always read at once. A site's results are NumPy's own arrays if none of them ever became part of a
chain.
"""

from functools import partial
from sys import _getframe
from types import FrameType

from ..instructions import ByInstruction, InstructionSite
from .importing import is_own
from .reasons import HANDED_OUT, numpys

PACKAGE = __package__
#: Elements that a site has computed before its chains are compiled: blocks have taken some 100 ms for a chain of ten operations then,
#: which is what loading the compiler and compiling takes.
HOT = 64_000_000
#: Elements that a site has made, none of them part of a chain, after which its arrays are NumPy's.
RETIRED = 128_000_000
#: Results read alone, none of them by an operation that waited, after which operations do not wait.
ALONE = 16
#: How often each path was taken: operations alone, chains in blocks and as programs, calls at once, views that fold, and operations that
#: did not wait because somebody looked at the memory.
PATHS = {"single": 0, "blocks": 0, "program": 0, "now": 0, "view": 0, "exported": 0}


class Site(InstructionSite):
    """An instruction; ``alone`` counts the results that were read before another operation joined them.

    Attributes
    ----------
    module
        The name of its module.
    elements
        How many it has computed.
    joined
        How many of its arrays became part of a chain.
    folded
        How many of its operations waited.
    made
        How many folding arrays functions that make arrays gave.
    reasons
        Why the others did not, and how many.
    is_own
        Whether it is in the program's own code. Results of libraries are NumPy's arrays, since compiled code may insist on their class.
    """

    __slots__ = ("elements", "folded", "is_own", "joined", "made", "module", "reasons")

    def __init__(self, frame: FrameType) -> None:
        super().__init__(frame.f_code, frame.f_lasti)
        self.module, self.is_own = str(frame.f_globals.get("__name__")), is_in_program(frame)
        self.elements = self.joined = self.folded = self.made = 0
        self.reasons: dict[str, int] = {}

    def folds(self, size: int) -> bool:
        """Whether operations here wait, because waiting has paid or may still pay; counts ``size`` elements more."""
        self.elements = elements = self.elements + size
        return self.joined > 0 or (self.alone < ALONE and elements < RETIRED)

    @property
    def is_hot(self) -> bool:
        """Whether so much has been computed here that compiling it is no risk."""
        return self.elements >= HOT

    def is_retired(self) -> bool:
        """Whether what is made here is NumPy's: folding has never paid for it, or a library makes it."""
        return not self.is_own or (not self.joined and self.elements >= RETIRED)

    def count(self, reason: str) -> None:
        """Note why an operation did not wait."""
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


SITES: ByInstruction[Site] = ByInstruction()


def is_in_program(frame: FrameType) -> bool:
    """Whether what a frame makes folds: in the program's own code, but not in a method that makes an array for NumPy's C code."""
    return frame.f_code.co_name != "__array__" and is_own(frame.f_globals)


def site() -> Site:
    """The site in the user's code that has called the package."""
    frame = _getframe(2)
    # code without a module's name, as `exec` runs it, is the program's
    while frame.f_globals.get("__package__") == PACKAGE and frame.f_back is not None:
        frame = frame.f_back
    found = SITES.get((id(frame.f_code), frame.f_lasti))
    return SITES.of(frame.f_code, frame.f_lasti, partial(Site, frame)) if found is None else found


def ran_at_once(name: str) -> None:
    """Note, at the site in the user's code, a function that never waits."""
    site().count(numpys(name))


def handed_out(depth: int) -> None:
    """Note, at the site in the program, that somebody took the memory of an array, unless it was this package.

    Parameters
    ----------
    depth
        How many frames the package has above the caller.
    """
    frame: FrameType | None = _getframe(1)
    for _ in range(depth + 1):
        frame = frame and frame.f_back
    if frame is None or frame.f_globals.get("__package__") == PACKAGE:
        return
    while not is_own(frame.f_globals):
        frame = frame.f_back
        if frame is None:
            return
    SITES.of(frame.f_code, frame.f_lasti, partial(Site, frame)).count(HANDED_OUT)
