"""Sites: the instructions of the user's program that issue operations. Counts at a site decide whether its operations wait, never clocks.

An operation waits in a window so that others can join it. Where nothing ever joins, because each result is read at once, the window costs
some 20 µs and gains nothing: after `ALONE` such windows the operations of that site run at once, as long as their operands are ready.
Every `PROBE`-th of them waits again. If something joins it, the site waits as before.
"""

from collections.abc import Iterable
from functools import partial
from types import CodeType, FrameType
from typing import Any

from ..instructions import ByInstruction, InstructionSite
from ..origin import frame_of_user

#: Windows with a single operation after which a site stops waiting, and operations at once after which one waits again.
ALONE, PROBE = 4, 64


class Site(InstructionSite):
    """An instruction; ``alone`` counts the windows in succession that had no operation but the one issued here.

    Attributes
    ----------
    at_once
        How many operations have run at once since one has waited.
    """

    __slots__ = ("at_once",)

    def __init__(self, code: CodeType, instruction: int) -> None:
        super().__init__(code, instruction)
        self.at_once = 0


SITES: ByInstruction[Site] = ByInstruction()


def inline_site(user: FrameType) -> Site | None:
    """The site of the next operation issued by this frame if that does not wait where its operands are ready; the caller counts it."""
    site = SITES.get((id(user.f_code), user.f_lasti))
    return site if site is not None and site.alone >= ALONE and site.at_once < PROBE else None


def site_runs_inline() -> bool:
    """Whether the operation that is being issued does not wait, as its site says; its operands must be ready. It is counted."""
    site = inline_site(frame_of_user(1)) if SITES else None
    if site is None:
        return False
    site.at_once += 1
    return True


def count_window(issued: Iterable[tuple[Any, CodeType, int]], is_single: bool) -> None:
    """Count a window that has run.

    Parameters
    ----------
    issued
        Its operations, as in `Window.issued`.
    is_single
        Whether that is one.
    """
    for _, code, instruction in issued:
        if is_single:
            site = SITES.of(code, instruction, partial(Site, code, instruction))
            site.alone += 1
            site.at_once = 0
        elif (site := SITES.get((id(code), instruction))) is not None:
            site.alone = site.at_once = 0
