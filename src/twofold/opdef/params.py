"""Parameter kinds: the meanings of the annotations of a rule's keywords. A kind parses MXNet's strings and prints values for JSON.

Annotate with ``int``, ``float``, ``bool``, ``str``, ``Literal["a", "b"]``, ``X | None`` or one of the names below.
A ``Scalar`` is a run-time input (a leaf of graphs); every other kind is structure: part of a program's key.
"""

import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Number
from typing import Annotated, Any, Literal

from ..device import Device
from ..dtype import dtype_name
from ..errors import ParameterError, WrongArgument
from ..suggestions import did_you_mean
from ..syntax_trees import literal_value

#: MXNet's integers have 64 bits; what a rule computes with larger ones would neither fit an array's index nor end in time.
LEAST_INT, MOST_INT = -(2**63), 2**63 - 1
#: The most that a `Count` may be: a rule takes a second for so many.
MOST_COUNT = 2**15
#: The most layers: shape inference of so many takes a second.
MOST_LAYERS = 256

#: The sign of Python 2's long integers.
LONG = re.compile(r"(?<=[0-9])L(?![0-9A-Za-z])")
#: Characters from which a text is no literal other than a tuple or list of numbers, and such a number; its group is that of a float.
LONG_TEXT = 1 << 14
NUMBER = re.compile(r"\s*[-+]?(?:(?:0|[1-9][0-9]*)|([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?)\s*", re.ASCII)
#: The exceptions of parsing a value: a string may also be nested too deeply, or be a number out of range.
UNREADABLE = (ValueError, TypeError, AttributeError, SyntaxError, OverflowError, RecursionError, MemoryError)


def never(value: object) -> bool:
    """No value is ambiguous; see `Kind`."""
    return False


@dataclass(frozen=True)
class Kind:
    """How values of a parameter kind are parsed and printed.

    Attributes
    ----------
    name
        Its name in error messages.
    parse
        Converts any accepted value, including strings, to the canonical (hashable) one; raises ValueError or TypeError.
    runtime
        Whether the value is an input of the program rather than part of its structure.
    ambiguous
        Whether an equal value can mean something else, such as -0.0 and 0 for floats.
    """

    name: str
    parse: Callable[[Any], Any]
    runtime: bool = False
    ambiguous: Callable[[object], bool] = never


@dataclass(frozen=True)
class Param:
    """One parameter of an operator."""

    name: str
    kind: Kind
    default: object
    required: bool

    def value(self, given: object, op: str) -> Any:
        """The canonical form of an argument.

        Raises
        ------
        ParameterError
            If it is not of this kind.
        """
        try:
            return self.kind.parse(given)
        except UNREADABLE as error:
            # NumPy raises TypeError for dtypes
            kind = WrongArgument if self.kind is DTYPE or self.name == "dtype" else ParameterError
            raise kind(f"{op}: parameter {self.name} must be {self.kind.name}", repr(given), str(error)) from None


def exact(value: object) -> object:
    """A key that differs wherever values do: numbers by class and bits, in tuples too. In Python 0.0 == -0.0 and 1 == 1.0 == True."""
    if isinstance(value, float):
        return value.__class__, value.hex()
    if isinstance(value, int):
        return value.__class__, value
    if isinstance(value, tuple):
        return value.__class__, *map(exact, value)
    return (value.__class__, repr(value)) if isinstance(value, Number) else value  # NumPy's and complex numbers


def _has_number(value: object) -> bool:
    return any(map(_has_number, value)) if isinstance(value, tuple) else isinstance(value, Number)


def _has_zero(value: object) -> bool:
    return any(map(_has_zero, value)) if isinstance(value, tuple) else isinstance(value, Number) and not value


def text(value: object) -> str:
    """A canonical value as MXNet's attribute string."""
    if isinstance(value, tuple) and len(value) == 1:
        return f"({text(value[0])},)"
    if isinstance(value, tuple):
        return f"({', '.join(map(text, value))})"
    return str(value)


def literal(value: object) -> Any:
    """The Python value of a string such as ``"(2, 2)"``, ``"[1,2]"`` or ``"None"``; other strings unchanged."""
    if not isinstance(value, str):
        return value
    try:
        # MXNet's files contain Python 2's long integers, as in ``(2L, 2L)``
        spelled = LONG.sub("", _plain(value).strip()) or "None"
        return literal_value(spelled) if len(spelled) < LONG_TEXT else _numbers(spelled)
    except (ValueError, SyntaxError):  # whose messages are about Python's parser
        raise ValueError("this text is neither a number nor a tuple of numbers") from None


def _numbers(spelled: str) -> list[float] | tuple[float, ...]:
    """A tuple or list of numbers. For a long one Python's parser would take 500 times its text's memory."""
    parts = spelled[1:-1].split(",")
    if not parts[-1].strip():
        parts.pop()
    if spelled[0] + spelled[-1] not in ("()", "[]"):
        raise ValueError
    found: list[float] = []
    for part in parts:
        match = NUMBER.fullmatch(part)
        if match is None:
            raise ValueError
        found.append(float(part) if match[1] else int(part))
    return found if spelled[0] == "[" else tuple(found)


def _plain(spelled: str) -> str:
    """A text, unless it has underscores or digits of other scripts: Python reads them in numbers, MXNet does not."""
    if "_" in spelled or not spelled.isascii():
        raise ValueError("this text is neither a number nor a tuple of numbers")
    return spelled


def _int(value: Any) -> int:
    value = literal(value)
    if isinstance(value, bool) or not isinstance(value, float):
        # NumPy's integers too, but no text and nothing with a fraction
        found = int(value.__index__())
    elif value != (found := int(value)):
        raise ValueError("it has a fraction")
    if not LEAST_INT <= found <= MOST_INT:
        raise OverflowError("it does not fit 64 bits")
    return found


def _count(most: int) -> Kind:
    """The kind of a number of steps or things over which a rule loops: in a file it may ask for more than ever ends."""

    def parse(value: object) -> int:
        found = _int(value)
        if found > most:
            raise ValueError(f"it is more than {most}")
        return found

    return Kind("an int", parse)


def _float(value: Any) -> float:
    if isinstance(value, str):
        value = _plain(value).strip()
        # C's spelling, ``1e-5f``
        value = value if value.endswith("inf") else value.rstrip("f")
    return float(value)


def _bool(value: object) -> bool:
    if isinstance(value, str):
        lowered = value.strip().lower()
        if lowered not in ("true", "false", "0", "1"):
            raise ValueError("use True or False")
        return lowered in ("true", "1")
    if value is None:
        raise ValueError("use True or False")
    return bool(value)


def _str(value: object) -> str:
    if isinstance(value, Device):  # `ctx` of operators that have no use for it
        return str(value)
    if not isinstance(value, str):
        raise TypeError("use a string")
    return value


def _shape(value: object) -> tuple[int | None, ...]:
    value = literal(value)
    if value is None:
        raise ValueError("pass a size or a tuple of sizes")
    if isinstance(value, (list, tuple)):
        return tuple(None if n is None else _int(n) for n in value)
    return (_int(value),)


def _axis(value: object) -> int | tuple[int, ...] | None:
    value = literal(value)
    if value is None or isinstance(value, (list, tuple)):
        return None if value is None else tuple(map(_int, value))
    return _int(value)


def _floats(value: Any) -> tuple[float, ...]:
    value = literal(value)
    return tuple(map(float, value)) if isinstance(value, (list, tuple)) else (float(value),)


def _scalar(value: Any) -> float | int | bool:
    if isinstance(value, str):
        lowered = value.strip().lower()
        value = lowered == "true" if lowered in ("true", "false") else _number(lowered)
    if isinstance(value, (bool, int, float)):
        return value
    return value.item()


def _number(spelled: str) -> float | int:
    try:
        return int(_plain(spelled))
    except ValueError:
        return float(_plain(spelled))


SHAPE = Kind("a shape (an int or a tuple of ints)", _shape)
AXIS = Kind("an axis, a tuple of axes or None", _axis)
DTYPE = Kind("a dtype", dtype_name)
FLOATS = Kind("a tuple of floats", _floats, ambiguous=_has_zero)
SCALAR = Kind("a number", _scalar, runtime=True)
TRAINING = Kind("the training flag (injected)", _bool)
STATIC = Kind("a hashable value", lambda value: value, ambiguous=_has_number)
INTEGERS = Kind("a nested tuple of integers and None", lambda value: value)

#: A number of arrays, results or repetitions, which bounds a loop of the rule.
Count = Annotated[int, _count(MOST_COUNT)]
#: A number of layers, each of which is many nodes.
Layers = Annotated[int, _count(MOST_LAYERS)]
Shape = Annotated[tuple[int, ...], SHAPE]
Axis = Annotated[int | tuple[int, ...] | None, AXIS]
DType = Annotated[str, DTYPE]
Floats = Annotated[tuple[float, ...], FLOATS]
Scalar = Annotated[float, SCALAR]
#: True while the operator runs in training mode; the front end injects it, callers never give it.
Training = Annotated[bool, TRAINING]
#: Structure that cannot be written as a string: index tuples, nested programs, user callables.
Static = Annotated[Any, STATIC]
#: Structure that is made of integers only, such as slices.
Integers = Annotated[Any, INTEGERS]

_PLAIN = {
    int: Kind("an int", _int),
    float: Kind("a float", _float, ambiguous=_has_zero),
    bool: Kind("a bool", _bool),
    str: Kind("a string", _str),
}


def kind_of(annotation: object) -> Kind:
    """The kind that an annotation denotes.

    Raises
    ------
    TypeError
        If the annotation is not listed in this module's docstring.
    """
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    # `Shape` and its kind: the type is for readers and checkers, the kind beside it is ours
    if origin is Annotated:
        return next(a for a in args if isinstance(a, Kind))
    if origin is Literal:
        return _choice(args)
    if origin in (types.UnionType, typing.Union) and type(None) in args:
        return _optional(kind_of(next(a for a in args if a is not type(None))))
    raise TypeError(f"{annotation!r} is not a parameter type; see twofold.opdef.params")


def _choice(values: tuple[object, ...]) -> Kind:
    def parse(value: object) -> object:
        if value not in values:
            texts = [*map(str, values)]
            raise ValueError(did_you_mean(str(value), texts, f"valid values are: {', '.join(texts)}"))
        return values[values.index(value)]  # 1 where 1.0 or True was given

    return Kind("one of " + ", ".join(map(repr, values)), parse)


def _optional(inner: Kind) -> Kind:
    def parse(value: object) -> object:
        if value is None or (isinstance(value, str) and value.strip() == "None"):
            return None
        return inner.parse(value)

    return Kind(inner.name + " or None", parse, inner.runtime, inner.ambiguous)
