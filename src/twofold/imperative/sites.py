"""Sites: the instructions of the user's program that issue operations. Counts at a site decide whether its operations wait, never clocks.

An operation waits in a window so that others can join it. Where nothing ever joins, because each result is read at once, the window costs
some 20 µs and gains nothing: after `ALONE` such windows the operations of that site run at once, as long as their operands are ready.
Every `PROBE`-th of them waits again. If something joins it, the site waits as before.
"""

from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

#: Windows with a single operation after which a site stops waiting, and operations at once after which one waits again.
ALONE, PROBE = 4, 64
#: Sites are forgotten beyond this many: programs that generate code without end must not keep it all.
MOST_SITES = 8192


class Site:
    """An instruction of the program.

    Attributes
    ----------
    code
        What it is part of, kept so that no other code has its address, by which it is found.
    alone
        How many windows in succession had no operation but the one issued here.
    at_once
        How many operations have run at once since one has waited.
    """

    __slots__ = ("alone", "at_once", "code")

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.alone = self.at_once = 0


#: By the address of the code, since its hash takes as long as the code has instructions, and the instruction.
SITES: dict[tuple[int, int], Site] = {}


def is_lone(user: FrameType) -> bool:
    """Whether the next operation issued by this frame runs at once if its operands are ready."""
    site = SITES.get((id(user.f_code), user.f_lasti))
    return site is not None and site.alone >= ALONE and site.at_once < PROBE


def runs_at_once(user: FrameType) -> bool:
    """Whether an operation issued by this frame, whose operands are ready, runs at once; counts it."""
    site = SITES.get((id(user.f_code), user.f_lasti))
    if site is None or site.alone < ALONE or site.at_once >= PROBE:
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
        place = id(code), instruction
        site = SITES.get(place)
        if not is_single:
            if site is not None:
                site.alone = site.at_once = 0
            continue
        if site is None:
            if len(SITES) >= MOST_SITES:
                SITES.clear()
            site = SITES[place] = Site(code)
        site.alone += 1
        site.at_once = 0
