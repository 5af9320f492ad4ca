"""First values of a module's parameters: given, or from an initializer; and what of those given does not fit."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import ndarray as nd
from ..device import CPU
from ..errors import ParameterError, ShapeError
from ..initializer.base import InitDesc
from ..ndarray.array import NDArray

__all__ = ["Start", "check_loaded", "refuse_unknown"]

Params = Mapping[str, NDArray]


@dataclass(frozen=True)
class Start:
    """How parameters start.

    Attributes
    ----------
    attributes
        Attributes of the symbol's variables, by name.
    initializer
        Fills those that are not given; None if nothing does.
    allow_missing
        Whether it does so if others are given.
    """

    attributes: Mapping[str, dict[str, str]]
    initializer: Any
    allow_missing: bool

    def fill(self, own: dict[str, NDArray], like: Params, given: Params | None) -> None:
        """Fill parameters.

        Parameters
        ----------
        own
            The parameters by name; arrays of others' shapes are replaced.
        like
            An array of the shape and dtype of each.
        given
            Values by name.

        Raises
        ------
        ParameterError
            If nothing says how one starts.
        ShapeError
            If a given one has another shape.
        """
        for name, array in like.items():  # the symbol's order is that of `get_params`
            if name not in own or own[name].shape != array.shape or own[name]._dtype != array._dtype:
                own[name] = nd.zeros(array.shape, ctx=CPU, dtype=array.dtype)
        for name in sorted(like):  # initializers draw in alphabetical order, as in MXNet
            self._fill(name, own[name], given)

    def _fill(self, name: str, target: NDArray, given: Params | None) -> None:
        if given is not None and name in given:
            check_shape(name, given[name], target)
            if given[name] is not target:
                target[:] = given[name]
        elif given is not None and not self.allow_missing:
            raise ParameterError(f"{name} is not presented", ", ".join(given), "give it, or pass allow_missing=True")
        elif self.initializer is not None:
            self.initializer(InitDesc(name, self.attributes.get(name)), target)
        elif given is None and not self.allow_missing:
            raise ParameterError(f"Module: nothing says how {name} starts", "no initializer, no arrays", "give one of them")


def check_shape(name: str, given: NDArray, own: NDArray) -> None:
    """Compare the shape of a parameter with what is needed.

    Raises
    ------
    ShapeError
        If it is another.
    """
    if given.shape != own.shape:
        raise ShapeError(f"Module: parameter {name} has another shape", f"{given.shape} for {own.shape}", "give those of this symbol")


def check_loaded(given: Params, names: Sequence[str], arrays: Sequence[Sequence[NDArray]]) -> None:
    """Compare parameters from a file with what a symbol needs.

    Parameters
    ----------
    given
        The parameters by name.
    names, arrays
        Names of those needed, and for each its arrays on the devices.

    Raises
    ------
    ParameterError
        If one is missing.
    ShapeError
        If one has another shape.
    """
    for name, block in zip(names, arrays, strict=True):
        if name not in given:
            raise ParameterError(
                f"Module: parameter {name} is missing", f"{len(given)} others", "load those of this symbol, or bind, then init_params"
            )
        check_shape(name, given[name], block[0])


def refuse_unknown(given: Params | None, own: Collection[str], what: str) -> None:
    """Look for parameters that a symbol does not have.

    Raises
    ------
    ParameterError
        If there are any.
    """
    for name in given or ():
        if name not in own:
            raise ParameterError(f'Find name "{name}" that is not in the {what}', None, "pass allow_extra=True to leave such out")
