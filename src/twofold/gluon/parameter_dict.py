"""`ParameterDict`: parameters by name, created or shared on request; saving and loading them."""

import re
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from os import PathLike
from typing import Any, Unpack

import numpy as np

from .. import initializer
from .. import ndarray as nd
from ..device import Device
from ..dtype import dtype_name
from ..errors import InvalidValue, ParameterError, UnboundArgumentError
from ..extension_points import shown_in_notebooks
from ..imperative.array import Array
from ..ndarray.array import NDArray
from ..suggestions import unknown_key
from .parameter import DEFAULT, Constant, Contexts, Parameter, ParameterAttributes
from .signatures import InitializerLike, check_dtype_source

__all__ = ["ParameterDict", "load_named_arrays"]

#: Attributes that matter only when a parameter is created.
CREATION_ONLY = {"allow_deferred_init", "differentiable"}


class ParameterDict:
    """Parameters by full name, in insertion order.

    Parameters
    ----------
    prefix
        Prefix of the names of parameters that `get` creates.
    shared
        Another dictionary. `get` returns its parameter of the same name instead of creating one.
    """

    def __init__(self, prefix: str = "", shared: "ParameterDict | None" = None) -> None:
        self._prefix = prefix
        self._params: OrderedDict[str, Parameter] = OrderedDict()
        self._shared = shared

    @property
    def prefix(self) -> str:
        """The prefix of the names of new parameters."""
        return self._prefix

    def __repr__(self) -> str:
        name = f"{self._prefix} " if self._prefix else ""
        content = "\n".join(f"  {p!r}" for p in self.values())
        return f"{name}(\n{content}\n)"

    _repr_html_ = shown_in_notebooks("parameters")

    def __getitem__(self, key: str) -> Parameter:
        try:
            return self._params[key]
        except KeyError:
            raise unknown_key(f"ParameterDict {self._prefix!r}" if self._prefix else "ParameterDict", key, self._params) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __bool__(self) -> bool:  # also without parameters, as in MXNet, where it has no length
        return True

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def items(self) -> ItemsView[str, Parameter]:
        """(name, parameter) pairs."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """The parameters."""
        return self._params.values()

    # creating and sharing

    def get(self, name: str, **kwargs: Unpack[ParameterAttributes]) -> Parameter:
        """The parameter of a name, created on first use.

        Parameters
        ----------
        name
            Its name without the prefix.
        **kwargs
            Attributes of the parameter. On an existing one, unknown attributes (sizes of the shape, or attributes that are None) are
            set.

        Raises
        ------
        ParameterError
            If an existing parameter has other attributes.
        """
        name = self._prefix + name
        found = self._find(name)
        if found is None:
            found = self._params[name] = Parameter(name, **kwargs)
            return found
        for key, value in kwargs.items():
            if key not in CREATION_ONLY:
                self._match(found, key, value)
        return found

    def _find(self, name: str) -> Parameter | None:
        # A shared parameter enters this dictionary only when a layer requests it, so that `collect_params` lists no other.
        if name not in self._params and self._shared is not None and name in self._shared:
            self._params[name] = self._shared[name]
        return self._params.get(name)

    @staticmethod
    def _match(param: Parameter, key: str, value: Any) -> None:
        """Set an unknown attribute of a parameter, or check that a known one has the value."""
        # Some attributes are properties over an underscored one, whose setter would cast or check.
        own = vars(param)
        have = own.get(key if key in own else f"_{key}")
        if have is None:
            setattr(param, key, value)
        elif key == "shape":
            merged = _merge_shapes(value, have)
            if merged is None:
                raise _difference(param.name, key, value, have)
            param._shape = merged
        elif value is not None and not (dtype_name(value) == dtype_name(have) if key == "dtype" else value == have):
            raise _difference(param.name, key, value, have)

    def get_constant(self, name: str, value: object = None) -> Parameter:
        """The constant of a name, created from a value on first use.

        Parameters
        ----------
        name
            Its name without the prefix.
        value
            Its value; None if the constant must exist.

        Raises
        ------
        UnboundArgumentError
            If the constant does not exist and no value is given.
        ParameterError
            If a constant with another value exists.
        """
        name = self._prefix + name
        found = self._find(name)
        if found is None:
            if value is None:
                raise UnboundArgumentError(f"No constant named '{name}'", None, "specify value if you want to create a new constant")
            found = self._params[name] = Constant(name, value)
        elif value is not None and not (isinstance(found, Constant) and np.array_equal(_host(value), found.value.asnumpy())):
            raise InvalidValue(f"Constant '{name}' already exists but its value doesn't match new value", None, "use another name")
        return found

    def update(self, other: "ParameterDict") -> None:
        """Add all parameters of another dictionary.

        Raises
        ------
        ParameterError
            If different parameters have the same name.
        """
        for name, param in other.items():
            # The same parameter under two children is sharing; two parameters of one name would overwrite each other in files.
            if self._params.get(name, param) is not param:
                raise InvalidValue(
                    f"Cannot update self with other because they have different Parameters with the same name '{name}'", None, "rename one"
                )
        self._params.update(other.items())

    # operations on all parameters

    def initialize(self, init: InitializerLike = DEFAULT, ctx: Contexts = None, verbose: bool = False, force_reinit: bool = False) -> None:
        """Initialize all parameters; see `Parameter.initialize`.

        Parameters
        ----------
        init
            The initializer for parameters that have none of their own.
        ctx
            The device or devices.
        verbose
            Whether to log how each parameter is initialized.
        force_reinit
            Re-initialize initialized parameters too.
        """
        created = initializer.create(init)  # raises at once, even if parameters are initialized later
        if verbose and isinstance(created, initializer.Initializer):
            init = created.set_verbosity(verbose=verbose)
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
        """The devices of all parameters."""
        return list(dict.fromkeys(c for param in self.values() for c in param.list_ctx()))

    def setattr(self, name: str, value: object) -> None:
        """Set an attribute of all parameters, such as ``grad_req`` or ``lr_mult``."""
        for param in self.values():
            setattr(param, name, value)

    # files

    def save(self, filename: str | PathLike[str], strip_prefix: str = "") -> None:
        """Write all parameters under their names.

        Parameters
        ----------
        filename
            The file.
        strip_prefix
            Prefix to remove from all names.

        Raises
        ------
        ParameterError
            If a name does not start with it.
        """
        unprefixed = [p.name for p in self.values() if not p.name.startswith(strip_prefix)]
        if unprefixed:
            raise ParameterError(
                f"Prefix '{strip_prefix}' is to be striped before saving, but a Parameter's name does not start with it",
                unprefixed[0],
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
        """Read parameters from a file written by `save` or MXNet; see `load_dict`."""
        arrays = load_named_arrays(filename)
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
        """Set parameters to arrays, by name.

        Parameters
        ----------
        param_dict
            Name to array. The prefixes ``arg:`` and ``aux:`` are ignored.
        ctx
            The device or devices of parameters that are not initialized; the CPU if None.
        allow_missing
            Whether to leave parameters without an array unchanged.
        ignore_extra
            Whether to ignore arrays that belong to no parameter.
        restore_prefix
            Prefix to add to all names.
        filename
            The file that the arrays come from, for messages.
        cast_dtype, dtype_source
            Whether to cast if dtypes differ: the array to the parameter's dtype (``"current"``), or the parameter to the array's
            (``"saved"``).

        Raises
        ------
        ParameterError
            If an array is missing, belongs to no parameter, or its dtype differs from that of its parameter.
        ShapeError
            If the shape of an array differs from that of its parameter.
        """
        check_dtype_source(cast_dtype, dtype_source)
        source = "param_dict" if filename is None else f"file: {filename}"
        for name in self.keys() if restore_prefix else ():
            if not name.startswith(restore_prefix):
                raise InvalidValue(
                    f"restore_prefix is '{restore_prefix}' but Parameters name '{name}' does not start with it", None, "pass another prefix"
                )
        # Files of `Module` and `export` tell arguments from states, which parameters do by themselves.
        advice = _for_checkpoints(param_dict, filename)
        arrays = {restore_prefix + re.sub("^(arg|aux):", "", name): array for name, array in param_dict.items()}
        if not allow_missing:
            self._check_complete(arrays, source, restore_prefix, advice)
        for name in arrays:
            if name not in self._params and not ignore_extra:
                raise InvalidValue(
                    f"Parameter '{name[len(restore_prefix) :]}' loaded from {source} is not present in ParameterDict, "
                    f"which has {brief_list(self.keys())}",
                    None,
                    f"set ignore_extra to True to ignore, or make sure source and target networks have the same prefix{advice}",
                )
        load_all([(self._params[name], array) for name, array in arrays.items() if name in self._params], ctx, cast_dtype, dtype_source)

    def _check_complete(self, arrays: Mapping[str, NDArray], source: str, prefix: str, advice: str) -> None:
        missing = next((name for name in self.keys() if name not in arrays), None)
        if missing is not None:
            raise InvalidValue(
                f"Parameter '{missing[len(prefix) :]}' is missing in {source}",
                f"the parameters {brief_list(arrays)}",
                f"make sure source and target networks have the same prefix, or set allow_missing to True{advice}",
            )


def load_all(pairs: Sequence[tuple[Parameter, NDArray]], ctx: Contexts, cast_dtype: bool = False, dtype_source: str = "current") -> None:
    """Set parameters to arrays: all of them, or none if an array does not fit. See `ParameterDict.load_dict`."""
    for param, array in pairs:
        param._check_load(array, ctx, cast_dtype, dtype_source)
    for param, array in pairs:
        param._load_init(array, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)


def _for_checkpoints(names: Iterable[str], filename: str | None) -> str:
    """What to do if the names of a file of `Module` or `export`, which has its symbol beside it, are not those of a block."""
    if filename is None or not any(name.startswith(("arg:", "aux:")) for name in names):
        return ""
    symbol = re.sub(r"(-\d{4})?\.params$", "", filename) + "-symbol.json"
    return f"; with its symbol, this file is loaded by gluon.SymbolBlock.imports({symbol!r}, ['data'], {filename!r})"


def _merge_shapes(shape: int | Sequence[int], other: Sequence[int]) -> tuple[int, ...] | None:
    """The shape that two partially known shapes (0 for an unknown size) agree on; None if they contradict each other."""
    a, b = ((shape,) if isinstance(shape, int) else tuple(shape)), tuple(other)
    if len(a) != len(b) or any(m != n and m * n > 0 for m, n in zip(a, b, strict=True)):
        return None
    return tuple(m if m > 0 else n for m, n in zip(a, b, strict=True))


def _difference(name: str, key: str, wanted: object, have: object) -> InvalidValue:
    return InvalidValue(
        f"Cannot retrieve Parameter '{name}' because desired attribute does not match with stored for attribute '{key}'",
        f"desired '{wanted}' vs stored '{have}'",
        "use another name, or the same attributes",
    )


def _host(value: Any) -> Any:
    return value.asnumpy() if isinstance(value, Array) else value


def brief_list(names: Iterable[str], limit: int = 7) -> str:
    """Names in quotes; of more than ``2 * limit`` only the first and last ones."""
    quoted = [f"'{n}'" for n in names]
    return ", ".join(quoted if len(quoted) <= 2 * limit else [*quoted[:limit], "...", *quoted[-limit:]])


def load_named_arrays(filename: str | PathLike[str]) -> dict[str, NDArray]:
    """The arrays of a file by name.

    Raises
    ------
    ParameterError
        If the arrays have no names.
    """
    found = nd.load(filename)
    if isinstance(found, dict):
        return found
    if found:
        raise ParameterError(
            f"load: the arrays of {filename} have no names", f"{len(found)} arrays", "load a file that was saved from a dict"
        )
    return {}
