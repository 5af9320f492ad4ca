"""Sites: the instructions of the user's program that issue operations. Counts, never clocks, decide whether a site's operations wait.

An operation waits in a window so that others can join it. A window costs some 30 µs. Where each result is read immediately, nothing ever
joins and the window gains nothing; where only few simple operations on arrays of moderate size join, it gains less than it costs. After
`ALONE` such windows the site's operations run immediately, as long as their operands are ready and not larger than those arrays. Every
`PROBE`-th of them waits again. If that window pays, the site waits as before.

An operation on parts with gaps, ``x[:, 1:] - x[:, :-1]``, waits only if the site's last one had the same shape. NumPy reads such parts
where they are, and where each has another shape, each window would need a program of its own.
"""

from collections.abc import Iterable
from functools import partial
from types import CodeType, FrameType
from typing import Any

from ..assembly import fragment
from ..instructions import ByInstruction, InstructionSite
from ..origin import frame_of_user
from .cell import PLAIN, Value

#: Windows that did not pay after which a site stops waiting, and immediate operations after which one operation waits again.
ALONE, PROBE = 4, 64


class Site(InstructionSite):
    """An instruction. ``alone`` counts successive windows that did not pay, with an operation issued here.

    Attributes
    ----------
    inline
        Number of operations that have run inline since the last one that waited.
    nbytes
        The largest total of arrays in one of these windows, in bytes. How an operation on a larger array runs is not known.
    """

    __slots__ = ("inline", "nbytes")

    def __init__(self, code: CodeType, instruction: int) -> None:
        super().__init__(code, instruction)
        self.inline = self.nbytes = 0


class PartSite(InstructionSite):
    """An instruction that issues operations on parts with gaps, and the ``shape`` of the last one."""

    __slots__ = ("shape",)

    def __init__(self, code: CodeType, instruction: int) -> None:
        super().__init__(code, instruction)
        self.shape: tuple[int, ...] | None = None


SITES: ByInstruction[Site] = ByInstruction()
PART_SITES: ByInstruction[PartSite] = ByInstruction()


def inline_site(user: FrameType) -> Site | None:
    """The site of this frame's next operation, if ready operands let that operation run immediately; else None. The caller counts it."""
    site = SITES.get((id(user.f_code), user.f_lasti))
    return site if site is not None and site.alone >= ALONE and site.inline < PROBE else None


@fragment
def site_runs_inline(operands: Iterable[object]) -> bool:
    """Whether the operation being issued runs immediately, by the counts of its site, and count it. Its operands must be ready."""
    # without sites, as in a program whose windows all have several operations, without a call
    return _counted(operands) if SITES else False


def _counted(operands: Iterable[object]) -> bool:
    site = inline_site(frame_of_user(1))
    if site is None or not are_of_site(operands, site):
        return False
    site.inline += 1
    return True


def are_of_site(operands: Iterable[Any], site: Site) -> bool:
    """Whether what is known of a site holds for operands that are ready: they are not larger than those of its windows."""
    for v in operands:
        data = v.data if isinstance(v, Value) else v
        if data.__class__ is PLAIN and data.nbytes > site.nbytes:
            return False
    return True


def count_unpaid(issued: Iterable[tuple[object, CodeType, int]], nbytes: int) -> None:
    """Count a window that has spared less time than it costs, by its operations (`Window.issued`) and the bytes of its arrays."""
    for code, instruction in dict.fromkeys([(code, instruction) for _, code, instruction in issued]):
        site = SITES.of(code, instruction, partial(Site, code, instruction))
        site.alone += 1
        site.inline = 0
        site.nbytes = max(site.nbytes, nbytes)


def count_paid(issued: Iterable[tuple[object, CodeType, int]]) -> None:
    """Count a window that has paid: its sites wait again, until the next run of windows that do not pay."""
    for _, code, instruction in issued:
        if (site := SITES.get((id(code), instruction))) is not None:
            site.alone = site.inline = site.nbytes = 0


def notes_same_shape(shape: tuple[int, ...]) -> bool:
    """Note the shape of an operation on parts that is issued here; whether the last one had it, too."""
    user = frame_of_user(1)
    code, instruction = user.f_code, user.f_lasti
    site = PART_SITES.of(code, instruction, partial(PartSite, code, instruction))
    same, site.shape = site.shape == shape, shape
    return same
