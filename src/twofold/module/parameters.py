"""Initializes a module's parameters from given arrays or an initializer, and checks given arrays."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import ndarray as nd
from ..device import CPU
from ..errors import ParameterError, ShapeError
from ..initializer.base import InitDesc
from ..ndarray.array import NDArray
from ..ndarray.sparse_array import with_every_row

Params = Mapping[str, NDArray]


@dataclass(frozen=True)
class ParameterFiller:
    """Fills parameters with initial values.

    Attributes
    ----------
    attributes
        Attributes of the symbol's variables, by name.
    initializer
        Initializer of parameters without a given array, if any.
    allow_missing
        Whether parameters without a given array are allowed when others have one.
    """

    attributes: Mapping[str, dict[str, str]]
    initializer: Any
    allow_missing: bool

    def fill(self, own: dict[str, NDArray], like: Params, given: Params | None) -> None:
        """Fill parameters.

        Parameters
        ----------
        own
            The parameters by name; arrays of the wrong shape or dtype are replaced.
        like
            For each parameter, an array of its shape and dtype.
        given
            Given arrays by name.

        Raises
        ------
        ParameterError
            If a parameter has neither a given array nor an initializer.
        ShapeError
            If a given array has the wrong shape.
        """
        for name, array in like.items():  # `get_params` returns parameters in the symbol's order
            if name not in own or own[name].shape != array.shape or own[name]._dtype != array._dtype:
                own[name] = nd.zeros(array.shape, ctx=CPU, dtype=array.dtype, stype=array.stype)
        for name in sorted(like):  # initializers draw in alphabetical order, as in MXNet
            self._fill(name, own[name], given)

    def _fill(self, name: str, target: NDArray, given: Params | None) -> None:
        if given is not None and name in given:
            check_shape(name, given[name], target)
            # `get_params` returns the module's own arrays, which a caller may pass back
            if given[name] is not target:
                target[:] = given[name]
        elif given is not None and not self.allow_missing:
            raise ParameterError(f"{name} is not presented", ", ".join(given), "pass it, or allow_missing=True")
        elif self.initializer is not None:
            # initializers write dense arrays: a sparse target gets every row of one
            own = target if target.stype == "default" else nd.zeros(target.shape, ctx=target.context, dtype=target.dtype)
            self.initializer(InitDesc(name, self.attributes.get(name)), own)
            if own is not target:
                target[:] = with_every_row(own)
        elif given is None and not self.allow_missing:
            raise ParameterError(f"Module: cannot initialize {name}", "no initializer, no arrays", "pass one of them")


def check_shape(name: str, given: NDArray, own: NDArray) -> None:
    """Check the shape of a given parameter.

    Raises
    ------
    ShapeError
        If it is wrong.
    """
    if given.shape != own.shape:
        raise ShapeError(f"Module: parameter {name} has the wrong shape", f"{given.shape} for {own.shape}", "pass this symbol's parameters")


def check_shared(own: Sequence[str], shared: Sequence[str]) -> None:
    """Check that a module has all names of parameters, or of auxiliary states, of the module that is to share its arrays.

    Raises
    ------
    ParameterError
        If it lacks one.
    """
    missing = [name for name in own if name not in shared]
    if missing:
        todo = "share with a module that has all parameters, such as that of the default bucket"
        raise ParameterError("Module.bind: shared_module lacks parameters", ", ".join(missing), todo)


def check_shared_arrays(own: Mapping[str, NDArray], shared: Mapping[str, NDArray]) -> None:
    """Check that parameters or states of a module are those of the module that is to share them.

    Raises
    ------
    ShapeError
        If one has another shape or dtype: it could not be the same array.
    """
    for name, array in own.items():
        if array is not (other := shared[name]):
            given = f"{array.shape} of {array._dtype} for {other.shape} of {other._dtype}"
            what = f"Module.bind: {name} cannot be shared, as its shape or dtype is another one in shared_module, or in the default bucket"
            raise ShapeError(what, given, "let parameters' shapes not depend on the bucket")


def check_loaded(given: Params, names: Sequence[str], arrays: Sequence[Sequence[NDArray]]) -> None:
    """Check parameters from a file against a symbol's.

    Parameters
    ----------
    given
        The parameters by name.
    names, arrays
        Names of the symbol's parameters, and for each its arrays on the devices.

    Raises
    ------
    ParameterError
        If one is missing.
    ShapeError
        If one has the wrong shape.
    """
    for name, block in zip(names, arrays, strict=True):
        if name not in given:
            raise ParameterError(
                f"Module: parameter {name} is missing", f"{len(given)} others", "load this symbol's file, or bind, then init_params"
            )
        check_shape(name, given[name], block[0])


def check_names(given: Params | None, own: Collection[str], what: str) -> None:
    """Check that a symbol has all given parameters.

    Raises
    ------
    ParameterError
        If it lacks one.
    """
    for name in given or ():
        if name not in own:
            raise ParameterError(f'Find name "{name}" that is not in the {what}', None, "pass allow_extra=True to ignore it")
