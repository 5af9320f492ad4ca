"""`ParameterDict`: parameters by name, created or shared as layers ask for them; reading and writing them all."""

import re
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from os import PathLike
from typing import Any

import numpy as np

from .. import initializer
from .. import ndarray as nd
from ..device import Device
from ..dtype import dtype_name
from ..errors import ParameterError, UnboundArgumentError
from ..imperative.array import Array
from ..ndarray.array import NDArray
from .parameter import DEFAULT, Constant, Contexts, Parameter, check_dtype_source
from .refusals import Refused

__all__ = ["ParameterDict", "loaded_arrays"]

#: What counts only when a parameter is made.
ONLY_NEW = {"allow_deferred_init", "differentiable"}


class ParameterDict:
    """Parameters by their full names, in the order in which they came.

    Parameters
    ----------
    prefix
        What the names of parameters that `get` makes begin with.
    shared
        Another dictionary, whose parameters of the same name `get` takes instead of making new ones.
    """

    def __init__(self, prefix: str = "", shared: "ParameterDict | None" = None) -> None:
        self._prefix = prefix
        self._params: dict[str, Parameter] = {}
        self._shared = shared

    @property
    def prefix(self) -> str:
        """What the names of new parameters begin with."""
        return self._prefix

    def __repr__(self) -> str:
        name = f"{self._prefix} " if self._prefix else ""
        content = "\n".join(f"  {p!r}" for p in self.values())
        return f"{name}(\n{content}\n)"

    def __getitem__(self, key: str) -> Parameter:
        return self._params[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def items(self) -> ItemsView[str, Parameter]:
        """Names with parameters."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """Names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """Parameters."""
        return self._params.values()

    # making and sharing

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter of a name, made if there is none.

        Parameters
        ----------
        name
            Its name without the prefix.
        **kwargs
            What the parameter must be like; what is not known of one that is there (its shape, or an attribute that is None) is set.

        Raises
        ------
        ParameterError
            If the one that is there is different.
        """
        name = self._prefix + name
        found = self._find(name)
        if found is None:
            found = self._params[name] = Parameter(name, **kwargs)
            return found
        for key in kwargs.keys() - ONLY_NEW:
            self._agree(found, key, kwargs[key])
        return found

    def _find(self, name: str) -> Parameter | None:
        if name not in self._params and self._shared is not None and name in self._shared:
            self._params[name] = self._shared[name]
        return self._params.get(name)

    @staticmethod
    def _agree(param: Parameter, key: str, value: Any) -> None:
        """Make a parameter's attribute as it is wanted, if it is not something else already."""
        own = vars(param)
        have = own.get(key if key in own else f"_{key}")
        if have is None:
            setattr(param, key, value)
        elif key == "shape":
            merged = _merged_shape(value, have)
            if merged is None:
                raise _different(param.name, key, value, have)
            param._shape = merged
        elif value is not None and not (dtype_name(value) == dtype_name(have) if key == "dtype" else value == have):
            raise _different(param.name, key, value, have)

    def get_constant(self, name: str, value: Any = None) -> Parameter:
        """The constant of a name, made from a value if there is none.

        Parameters
        ----------
        name
            Its name without the prefix.
        value
            Its value; None if it must be there.

        Raises
        ------
        UnboundArgumentError
            If there is none, and no value.
        ParameterError
            If there is one of another value.
        """
        name = self._prefix + name
        found = self._find(name)
        if found is None:
            if value is None:
                raise UnboundArgumentError(f"No constant named '{name}'", None, "specify value if you want to create a new constant")
            found = self._params[name] = Constant(name, value)
        elif value is not None and not (isinstance(found, Constant) and np.array_equal(_host(value), found.value.asnumpy())):
            raise Refused(f"Constant '{name}' already exists but its value doesn't match new value", None, "use another name")
        return found

    def update(self, other: "ParameterDict") -> None:
        """Take in all parameters of another dictionary.

        Raises
        ------
        ParameterError
            If different parameters have one name.
        """
        for name, param in other.items():
            if self._params.get(name, param) is not param:
                raise Refused(
                    f"Cannot update self with other because they have different Parameters with the same name '{name}'", None, "rename one"
                )
        self._params.update(other.items())

    # acting on all

    def initialize(self, init: Any = DEFAULT, ctx: Contexts = None, verbose: bool = False, force_reinit: bool = False) -> None:
        """Initialize all parameters; see `Parameter.initialize`.

        Parameters
        ----------
        init
            The initializer of those that have none of their own.
        ctx
            The device, or several.
        verbose
            Whether to log what is initialized how.
        force_reinit
            Make also those anew that are there already.
        """
        if isinstance(init, str):
            init = initializer.create(init)
        if verbose:
            init.set_verbosity(verbose=verbose)
        for param in self.values():
            param.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        for param in self.values():
            param.zero_grad()

    def reset_ctx(self, ctx: Contexts) -> None:
        """Move all parameters to other devices."""
        for param in self.values():
            param.reset_ctx(ctx)

    def list_ctx(self) -> list[Device]:
        """All devices on which some parameter has arrays."""
        return list(dict.fromkeys(c for param in self.values() for c in param.list_ctx()))

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute of all parameters, such as ``grad_req`` or ``lr_mult``."""
        for param in self.values():
            setattr(param, name, value)

    # files

    def save(self, filename: str | PathLike[str], strip_prefix: str = "") -> None:
        """Write all parameters, by name.

        Parameters
        ----------
        filename
            The file.
        strip_prefix
            What to take away from the beginning of all names.

        Raises
        ------
        ParameterError
            If a name begins with something else.
        """
        strange = [p.name for p in self.values() if not p.name.startswith(strip_prefix)]
        if strange:
            raise ParameterError(
                f"Prefix '{strip_prefix}' is to be striped before saving, but a Parameter's name does not start with it",
                strange[0],
                "save blocks that share parameters without it, and create children inside name_scope()",
            )
        nd.save(filename, {p.name[len(strip_prefix) :]: p._reduce() for p in self.values()})

    def load(
        self,
        filename: str | PathLike[str],
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read parameters from a file that `save` or MXNet wrote; see `load_dict`."""
        arrays = loaded_arrays(filename)
        self.load_dict(arrays, ctx, allow_missing, ignore_extra, restore_prefix, str(filename), cast_dtype, dtype_source)

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take over arrays by name.

        Parameters
        ----------
        param_dict
            Name to array; ``arg:`` and ``aux:`` before names are ignored.
        ctx
            The device, or several, of parameters that are not initialized; the CPU if None.
        allow_missing
            Leave parameters as they are that have no array.
        ignore_extra
            Ignore arrays that belong to no parameter.
        restore_prefix
            What to put before all names.
        filename
            Where they come from, for messages.
        cast_dtype, dtype_source
            Whether arrays of another dtype are cast to the parameter's (``"current"``), or the parameter to theirs (``"saved"``).

        Raises
        ------
        ParameterError
            If an array is missing or belongs to no parameter, or its dtype is another.
        ShapeError
            If its shape is another.
        """
        check_dtype_source(cast_dtype, dtype_source)
        source = "param_dict" if filename is None else f"file: {filename}"
        for name in self.keys() if restore_prefix else ():
            if not name.startswith(restore_prefix):
                raise Refused(
                    f"restore_prefix is '{restore_prefix}' but Parameters name '{name}' does not start with it", None, "give another prefix"
                )
        arrays = {restore_prefix + re.sub("^(arg|aux):", "", name): array for name, array in param_dict.items()}
        if not allow_missing:
            self._check_complete(arrays, source, restore_prefix)
        for name, array in arrays.items():
            if name in self._params:
                self._params[name]._load_init(array, ctx, cast_dtype, dtype_source)
            elif not ignore_extra:
                raise Refused(
                    f"Parameter '{name[len(restore_prefix) :]}' loaded from {source} is not present in ParameterDict",
                    f"choices are: {brief_list(self.keys())}",
                    "set ignore_extra to True to ignore, or make sure source and target networks have the same prefix",
                )

    def _check_complete(self, arrays: Mapping[str, NDArray], source: str, prefix: str) -> None:
        missing = next((name for name in self.keys() if name not in arrays), None)
        if missing is not None:
            raise Refused(
                f"Parameter '{missing[len(prefix) :]}' is missing in {source}",
                f"which contains parameters: {brief_list(arrays)}",
                "make sure source and target networks have the same prefix, or set allow_missing to True",
            )


def _merged_shape(a: Any, b: Any) -> tuple[int, ...] | None:
    """Two shapes with unknown sizes (0) as one; None if they contradict."""
    a, b = (tuple([s] if isinstance(s, int) else s) for s in (a, b))
    if len(a) != len(b) or any(m != n and m * n > 0 for m, n in zip(a, b, strict=True)):
        return None
    return tuple(m if m > 0 else n for m, n in zip(a, b, strict=True))


def _different(name: str, key: str, wanted: Any, have: Any) -> Refused:
    return Refused(
        f"Cannot retrieve Parameter '{name}' because desired attribute does not match with stored for attribute '{key}'",
        f"desired '{wanted}' vs stored '{have}'",
        "use another name, or the same attributes",
    )


def _host(value: Any) -> Any:
    return value.asnumpy() if isinstance(value, Array) else value


def brief_list(names: Any, most: int = 7) -> str:
    """Names in quotes, the middle of many left out."""
    names = [f"'{n}'" for n in names]
    return ", ".join(names if len(names) <= 2 * most else [*names[:most], "...", *names[-most:]])


def loaded_arrays(filename: str | PathLike[str]) -> dict[str, NDArray]:
    """The arrays of a file by name.

    Raises
    ------
    ParameterError
        If they have no names.
    """
    found = nd.load(filename)
    if isinstance(found, dict):
        return found
    if found:
        raise ParameterError(
            f"load: the arrays of {filename} have no names", f"{len(found)} arrays", "load a file that was saved from a dict"
        )
    return {}
