"""The configuration of ``set_config``: every keyword of MXNet 1.9 with its type, default and meaning."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import MXNetError, ParameterError, UnknownKey
from ..suggestions import did_you_mean

BOOLEANS = {True: True, False: False, "true": True, "false": False, "True": True, "False": False, "1": True, "0": False}
PROCESSES = ("worker", "server")


def boolean(value: str | int) -> bool:
    """Parse a boolean as MXNet does: 0, 1 and their strings are accepted too."""
    return BOOLEANS[value]


def seconds(value: str | float) -> float:
    """Parse a positive number."""
    number = float(value)
    if not number > 0:  # not `<= 0`, which NaN would pass
        raise ValueError(value)
    return number


def process(value: str) -> str:
    """Check ``profile_process``."""
    if value not in PROCESSES:
        raise UnknownKey("profiler: unknown process", repr(value), f"use one of {', '.join(PROCESSES)}")
    return value


class Keyword(NamedTuple):
    """A keyword of ``set_config``."""

    name: str
    default: object
    parse: Callable[[Any], object]
    kind: str
    meaning: str


KEYWORDS = (
    Keyword("filename", "profile.json", os.fspath, "a path", "the trace file"),
    Keyword("profile_all", False, boolean, "a boolean", "enable the four options below"),
    Keyword("profile_symbolic", True, boolean, "a boolean", "record executors, hybridized blocks and compiled symbols"),
    Keyword("profile_imperative", True, boolean, "a boolean", "record imperative code"),
    Keyword("profile_memory", True, boolean, "a boolean", "track the memory of arrays on each device"),
    Keyword("profile_api", True, boolean, "a boolean", "no effect: there are no calls into a C library"),
    Keyword("continuous_dump", True, boolean, "a boolean", "write the file periodically while the profiler runs, not only when it stops"),
    Keyword("dump_period", 1.0, seconds, "a positive number", "seconds between periodic writes"),
    Keyword("aggregate_stats", False, boolean, "a boolean", "keep the statistics that dumps returns"),
    Keyword("profile_process", "worker", process, "worker or server", "this process, or the servers of the store"),
)
_BY_NAME = {k.name: k for k in KEYWORDS}


class Config:
    """The current configuration."""

    filename: str
    profile_all: bool
    profile_symbolic: bool
    profile_imperative: bool
    profile_memory: bool
    profile_api: bool
    continuous_dump: bool
    dump_period: float
    aggregate_stats: bool
    profile_process: str

    def __init__(self) -> None:
        self.assign({})

    def assign(self, given: Mapping[str, object]) -> None:
        """Set all values; those not given are reset to their defaults.

        Raises
        ------
        ParameterError
            For an unknown keyword or a value of the wrong type. Nothing changes then.
        """
        # all are parsed before any is set
        values = {k.name: k.default for k in KEYWORDS} | {name: _parse(name, value) for name, value in given.items()}
        for name, value in values.items():
            setattr(self, name, value)

    @property
    def symbolic(self) -> bool:
        """Whether graphs are recorded."""
        return self.profile_all or self.profile_symbolic

    @property
    def imperative(self) -> bool:
        """Whether imperative code is recorded."""
        return self.profile_all or self.profile_imperative

    @property
    def memory(self) -> bool:
        """Whether the memory of arrays is tracked."""
        return self.profile_all or self.profile_memory


def _parse(name: str, value: object) -> object:
    keyword = _BY_NAME.get(name)
    if keyword is None:
        todo = did_you_mean(name, _BY_NAME, f"the arguments are {', '.join(_BY_NAME)}")
        raise ParameterError(f"set_config: Cannot find argument '{name}'", None, todo)
    try:
        return keyword.parse(value)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, MXNetError):
            raise
        raise ParameterError(f"set_config: {name} is not {keyword.kind}", repr(value), keyword.meaning) from None
