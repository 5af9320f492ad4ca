"""The module that a script sees as ``numpy``: every name is NumPy's own object, except the functions that make arrays.

``numpy.ndarray`` is NumPy's class. Folding arrays are instances of it to ``isinstance`` and equal it by ``type(x) == numpy.ndarray``;
``type(x) is numpy.ndarray`` is false for them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, Signature, signature
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..assembly import attach_method
from .array import FoldingArray
from .leaving import watch_objects
from .makers import CONVERSIONS, DRAWS, NAMES, Grid, conversion, drawing, generator_class, maker, meshgrid, shuffle


class Signed:
    """The function whose signature ``inspect.signature`` shows for a method of the face: NumPy's, with one more parameter for the face."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function

    @property
    def __signature__(self) -> Signature:
        found = signature(self.function)
        return found.replace(parameters=[Parameter("face", Parameter.POSITIONAL_ONLY), *found.parameters.values()])


def signed(function: Any) -> Any:
    """A method of the face that has the signature of NumPy's function."""
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None:
        function.__text_signature__ = getattr(wrapped, "__text_signature__", None)
        function.__wrapped__ = Signed(wrapped)
    return function


class Functions:
    """The object that a face's functions are bound to: thus, like NumPy's built-in ones, they never become methods of a class."""

    __slots__ = ("_module",)

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        return getattr(self._module, name)

    def __reduce__(self) -> tuple[object, ...]:
        return _functions_of, (self._module.__name__,)  # those that are sent to other processes fold there


def _functions_of(name: str) -> Functions:
    return Functions(numpy if name == numpy.__name__ else numpy.random)


def face_of(module: ModuleType, own: Mapping[str, object], later: Mapping[str, Callable[[], object]] | None = None) -> ModuleType:
    """A module that looks like another one, with some additional names.

    It is an instance of `ModuleType` itself: Python finds its attributes in a fifth of the time that a subclass's instance needs.

    Parameters
    ----------
    module
        The other one.
    own
        Its own names; functions get an additional first argument, which they ignore.
    later
        Makes names on their first use.
    """
    face = ModuleType(module.__name__, module.__doc__)
    functions, missing = Functions(face), later or {}

    def __getattr__(name: str) -> object:
        make = missing.get(name)
        if make is not None:
            return vars(face).setdefault(name, make())
        return getattr(module, name)  # submodules that are loaded on first use, and NumPy's messages

    def __dir__() -> list[str]:
        return dir(module)

    for function in (__getattr__, __dir__):
        function.__module__, function.__qualname__ = module.__name__, function.__name__

    # Copied, so that Python finds a name in the face's own dictionary, without `__getattr__`.
    names = {name: x for name, x in vars(module).items() if name not in missing}
    names |= {name: MethodType(signed(x), functions) if isinstance(x, FunctionType) else x for name, x in own.items()}
    vars(face).update(names, __getattr__=__getattr__, __dir__=__dir__)
    return face


def _random() -> ModuleType:
    module = np.random
    own: dict[str, object] = {name: drawing(name) for name in DRAWS if name in vars(module)}
    own["shuffle"] = drawing("shuffle", shuffle)
    generator = generator_class(module.Generator)
    own |= {"Generator": generator, "RandomState": generator_class(module.RandomState)}

    def default_rng(face: object, seed: Any = None) -> object:
        found = module.default_rng(seed)
        # NumPy returns a generator that it is given as the seed.
        return found if found is seed else generator(found.bit_generator)

    default_rng.__doc__ = module.default_rng.__doc__
    return face_of(module, own | {"default_rng": default_rng})


def _numpy() -> ModuleType:
    own: dict[str, Callable[..., object]] = {name: maker(getattr(np, name), name) for name in NAMES}
    own |= {name: conversion(getattr(np, name)) for name in (*CONVERSIONS, "array")}
    later: dict[str, Callable[[], object]] = {"random": _random}  # which takes as long to load as the rest
    later |= {name: partial(_collecting, name) for name in ("frompyfunc", "vectorize")}
    return face_of(np, own | {"meshgrid": meshgrid, "mgrid": Grid()}, later)


def _collecting(name: str) -> object:
    """A name of NumPy's whose functions collect what functions of the program return, in arrays of objects."""
    watch_objects()
    return getattr(np, name)


#: The module that a script imports as ``numpy``.
numpy = _numpy()
_namespace = FoldingArray.__array_namespace__


def _array_namespace(self: FoldingArray, *, api_version: str | None = None) -> ModuleType:
    """As NumPy's, but for the module: the script's own."""
    _namespace(self, api_version=api_version)
    return numpy


attach_method(FoldingArray, "__array_namespace__", _array_namespace)
