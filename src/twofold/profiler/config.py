"""What ``set_config`` sets: every keyword of MXNet 1.9 with its kind, default and meaning."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import MXNetError, ParameterError

BOOLEANS = {True: True, False: False, "true": True, "false": False, "True": True, "False": False, "1": True, "0": False}
PROCESSES = ("worker", "server")


def boolean(value: Any) -> bool:
    """A boolean as MXNet takes it: also 0, 1 and their texts."""
    return BOOLEANS[value]


def seconds(value: Any) -> float:
    """A positive number."""
    number = float(value)
    if not number > 0:
        raise ValueError(value)
    return number


def process(value: str) -> str:
    """The process that is meant: the one that runs this.

    Raises
    ------
    MXNetError
        For ``"server"``: servers of key-value stores over machines do not exist here.
    """
    if value not in PROCESSES:
        raise ParameterError("profiler: no such process", repr(value), f"it is one of {', '.join(PROCESSES)}")
    if value == "server":
        raise MXNetError("profiler: there is no server", None, 'key-value stores over machines are not there; leave "worker"')
    return value


class Keyword(NamedTuple):
    """One keyword of ``set_config``."""

    name: str
    default: Any
    parse: Callable[[Any], Any]
    kind: str
    meaning: str


KEYWORDS = (
    Keyword("filename", "profile.json", os.fspath, "a path", "the trace's file"),
    Keyword("profile_all", False, boolean, "a boolean", "as if the four others were on"),
    Keyword("profile_symbolic", True, boolean, "a boolean", "record what executors, hybridized blocks and compiled symbols run"),
    Keyword("profile_imperative", True, boolean, "a boolean", "record what imperative code runs"),
    Keyword("profile_memory", True, boolean, "a boolean", "follow the bytes of arrays on each device"),
    Keyword("profile_api", True, boolean, "a boolean", "no effect: there are no calls into a C library"),
    Keyword("continuous_dump", True, boolean, "a boolean", "write the file every so often while the profiler runs, not only when it stops"),
    Keyword("dump_period", 1.0, seconds, "a positive number", "seconds between two writes"),
    Keyword("aggregate_stats", False, boolean, "a boolean", "keep the statistics that dumps shows"),
    Keyword("profile_process", "worker", process, "worker or server", "the process that is meant: only worker"),
)
_BY_NAME = {k.name: k for k in KEYWORDS}


class Config:
    """Values in force."""

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

    def assign(self, given: Mapping[str, Any]) -> None:
        """Take values; what is not given gets its default.

        Raises
        ------
        ParameterError
            For an unknown keyword or a value that is not of its kind; then nothing changes.
        """
        values = {k.name: k.default for k in KEYWORDS} | {name: _parsed(name, value) for name, value in given.items()}
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
        """Whether the bytes of arrays are followed."""
        return self.profile_all or self.profile_memory


def _parsed(name: str, value: Any) -> Any:
    keyword = _BY_NAME.get(name)
    if keyword is None:
        raise ParameterError(f"set_config: Cannot find argument '{name}'", None, f"the arguments are {', '.join(_BY_NAME)}")
    try:
        return keyword.parse(value)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, MXNetError):
            raise
        raise ParameterError(f"set_config: {name} is not {keyword.kind}", repr(value), keyword.meaning) from None
