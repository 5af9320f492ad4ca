"""Sites: the instructions of the user's program that issue operations. Counts, never clocks, decide whether a site's operations wait.

An operation waits in a window so that others can join it. Where each result is read immediately, nothing ever joins: the window costs
some 20 µs and gains nothing. After `ALONE` such windows the site's operations run immediately, as long as their operands are ready.
Every `PROBE`-th of them waits again. If something joins it, the site waits as before.

An operation on parts with gaps, ``x[:, 1:] - x[:, :-1]``, waits only if the site's last one had the same shape. NumPy reads such parts
where they are, and where each has another shape, each window would need a program of its own.
"""

from collections.abc import Iterable
from functools import partial
from types import CodeType, FrameType

from ..assembly import fragment
from ..instructions import ByInstruction, InstructionSite
from ..origin import frame_of_user

#: Windows with a single operation after which a site stops waiting, and immediate operations after which one operation waits again.
ALONE, PROBE = 4, 64


class Site(InstructionSite):
    """An instruction. ``alone`` counts successive windows whose only operation was issued here.

    Attributes
    ----------
    inline
        Number of operations that have run inline since the last one that waited.
    """

    __slots__ = ("inline",)

    def __init__(self, code: CodeType, instruction: int) -> None:
        super().__init__(code, instruction)
        self.inline = 0


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
def site_runs_inline() -> bool:
    """Whether the operation being issued runs immediately, by the counts of its site, and count it. Its operands must be ready."""
    return _counted() if SITES else False  # without sites, as in a program whose windows all have several operations, without a call


def _counted() -> bool:
    site = inline_site(frame_of_user(1))
    if site is None:
        return False
    site.inline += 1
    return True


def count_window(issued: Iterable[tuple[object, CodeType, int]], is_single: bool) -> None:
    """Count a window that has run.

    Parameters
    ----------
    issued
        Its operations, as in `Window.issued`.
    is_single
        Whether the window has a single operation.
    """
    for _, code, instruction in issued:
        if is_single:
            site = SITES.of(code, instruction, partial(Site, code, instruction))
            site.alone += 1
            site.inline = 0
        # another operation has joined this one: the site waits again, until the next run of windows with a single operation
        elif (site := SITES.get((id(code), instruction))) is not None:
            site.alone = site.inline = 0


def notes_same_shape(shape: tuple[int, ...]) -> bool:
    """Note the shape of an operation on parts that is issued here; whether the last one had it, too."""
    user = frame_of_user(1)
    code, instruction = user.f_code, user.f_lasti
    site = PART_SITES.of(code, instruction, partial(PartSite, code, instruction))
    same, site.shape = site.shape == shape, shape
    return same
