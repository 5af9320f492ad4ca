"""Sites: the instructions of a program that compute large arrays. Counts at a site decide whether it folds, never clocks.

NumPy computes a chain, block by block, until its site has computed enough elements for compiling to be sure to pay. Operations at a site
stop waiting if the program always read their results before another operation joined. A site makes NumPy's own arrays if none of its
results ever became part of a chain.
"""

from functools import partial
from sys import _getframe
from types import FrameType

from ..device import CPU
from ..instructions import ByInstruction, InstructionSite
from .importing import is_own
from .reasons import HANDED_OUT, numpys

PACKAGE = __package__
#: Elements that a site has computed before its chains are compiled. By then the blocks of a chain of ten operations have taken some
#: 100 ms, as long as loading the compiler and compiling take.
HOT = 64_000_000
#: Elements that a site has made, without any of them becoming part of a chain, after which its arrays are NumPy's.
RETIRED = 128_000_000
#: Results that were read before another operation joined them, after which operations at the site do not wait.
ALONE = 16
#: How often each path was taken: single operations, chains in blocks and as programs, calls computed by NumPy, views that fold, and
#: operations that did not wait because other code held the lease of an operand's memory.
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
        How many folding arrays its calls of functions that make arrays returned.
    reasons
        Why operations here did not wait, with how many.
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
        """Whether so much has been computed here that compiling is sure to pay, if there is machine code at all."""
        return self.elements >= HOT and has_machine_code()

    def is_retired(self) -> bool:
        """Whether arrays made here are NumPy's: they never became part of a chain, or a library makes them."""
        return not self.is_own or (not self.joined and self.elements >= RETIRED)

    def count(self, reason: str) -> None:
        """Note why an operation did not wait."""
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


SITES: ByInstruction[Site] = ByInstruction()


def has_machine_code() -> bool:
    """Whether programs become machine code. Those of NumPy's functions copy operands that are views, which takes longer than blocks."""
    from ..backend.loader import backend_for  # here, as short scripts need no adapter

    return backend_for(CPU).target.strided_kernels


def is_in_program(frame: FrameType) -> bool:
    """Whether operations on arrays made in this frame may be folded.

    They may in the program's own code, except in a method ``__array__``: NumPy's C code requires its result to be an ndarray.
    """
    return frame.f_code.co_name != "__array__" and is_own(frame.f_globals)


def site() -> Site:
    """The site in the user's code that called this package."""
    # 0 is this function, and 1 its caller, which is always in this package.
    frame = _getframe(2)
    # Code that `exec` runs has no ``__package__``; it counts as the program's.
    while frame.f_globals.get("__package__") == PACKAGE and frame.f_back is not None:
        frame = frame.f_back
    # Looked up here first: the site exists nearly always, and then nothing is called or made.
    found = SITES.get((id(frame.f_code), frame.f_lasti))
    return SITES.of(frame.f_code, frame.f_lasti, partial(Site, frame)) if found is None else found


def ran_inline(name: str) -> None:
    """Note, at the site in the user's code, a function that never waits."""
    site().count(numpys(name))


def handed_out(depth: int) -> None:
    """Note, at the site in the program, that code outside this package took the memory of an array.

    Parameters
    ----------
    depth
        How many frames of the package lie between the caller and the code outside.
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
