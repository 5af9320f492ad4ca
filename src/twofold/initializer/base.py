"""`Initializer`: dispatches on a parameter's name; the registry, and initializers composed of others."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from .. import ndarray as nd
from .. import random, registry
from ..errors import DTypeError, InvalidValue, ParameterError, ShapeError, Undefined, WrongShape, WrongType
from ..extension_points import shown_as_text
from ..imperative.array import Array
from ..ndarray.array import NDArray
from ..patterns import compiled

#: Suffix of a parameter's name to the method that initializes it; the first match counts.
_BY_SUFFIX = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
    ("weight_quantize", "_init_quantized_weight"),
    ("bias_quantize", "_init_quantized_bias"),
)
#: The same for moving averages: of plain names, and what `_init_default` does unless a subclass overrides it.
_MOVING_AVERAGES = (
    ("moving_mean", "_init_zero"),
    ("moving_var", "_init_one"),
    ("moving_inv_var", "_init_zero"),
    ("moving_avg", "_init_zero"),
)


class InitDesc(str):
    """The name of a parameter, with its attributes.

    Parameters
    ----------
    name
        The name.
    attrs
        Attributes of its variable; ``"__init__"`` holds its own initializer.
    global_init
        The initializer of the whole model, for initializers that delegate.
    """

    attrs: Mapping[str, Any]
    global_init: "Initializer | None"

    # `str` is immutable: its content is set by __new__, so the attributes are too.
    def __new__(cls, name: str, attrs: Mapping[str, Any] | None = None, global_init: "Initializer | None" = None) -> "InitDesc":  # noqa: D102
        new = super().__new__(cls, name)
        new.attrs = attrs or {}
        new.global_init = global_init
        return new


class Initializer:
    """Base class of initializers: biases and offsets become 0, scales 1. Subclasses define ``_init_weight``.

    Parameters
    ----------
    kwargs
        The parameters that `dumps` serializes.
    """

    __repr__ = shown_as_text("arguments")

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], str] | None = None

    def set_verbosity(self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None) -> "Initializer":
        """Set whether to log how each parameter is initialized.

        Parameters
        ----------
        verbose
            Whether to log.
        print_func
            Function that describes an array; its root mean square if None.
        """
        self._verbose = verbose
        self._print_func = print_func or _root_mean_square
        return self

    def dumps(self) -> str:
        """The initializer as JSON that `create` accepts: ``'["name", {parameters}]'``."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Initialize an array.

        Parameters
        ----------
        desc
            The parameter's name. An `InitDesc` whose attributes name an initializer is initialized by that one.
        arr
            The array, of any shape.

        Raises
        ------
        ParameterError
            If the name matches no pattern.
        """
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        # The first initializer called is the model's: one that a variable names below finds it here.
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            # A parameter's own initializer applies whatever the name: a bias initialized by "ones" must not become 0.
            create(own)._init_weight(desc, arr)
        else:
            getattr(self, _method_for(desc))(desc, arr)
        self._verbose_print(desc, own or _method_for(desc).removeprefix("_init_"), arr)

    def _legacy_init(self, name: str, arr: NDArray) -> None:
        """Initialize an array of a plain name."""
        if not isinstance(name, str):
            raise DTypeError("Initializer: name must be string", type(name).__name__, "pass a name or an InitDesc")
        if not isinstance(arr, Array):
            raise DTypeError("Initializer: arr must be NDArray", type(arr).__name__, "pass the array to be filled")
        getattr(self, _method_for_plain(name))(name, arr)

    def _verbose_print(self, desc: str, init: str, arr: NDArray) -> None:
        if self._verbose:
            logging.info("Initialized %s as %s: %s", desc, init, (self._print_func or _root_mean_square)(arr))

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise Undefined(f"{type(self).__name__} has no _init_weight method", str(name), "define _init_weight(self, name, arr) in it")

    def _init_default(self, name: str, arr: NDArray) -> None:
        method = _by_suffix(name, _MOVING_AVERAGES)
        if method:
            getattr(self, method)(name, arr)
            return
        raise ParameterError(
            "Initializer: Unknown initialization pattern for this name",
            str(name),
            "default initialization is limited to names that end in weight, bias, gamma (1.0) and beta (0.0); "
            "use mx.sym.Variable(init=mx.init.*) to set an initializer",
        )

    def _init_zero(self, _: str, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, _: str, arr: NDArray) -> None:
        arr[:] = 1.0

    _init_bias = _init_beta = _init_quantized_bias = _init_zero
    _init_gamma = _init_one

    def _init_quantized_weight(self, _: str, arr: NDArray) -> None:
        arr[:] = random.randint(-127, 127, shape=arr.shape, ctx=arr.context)

    def _init_bilinear(self, _: str, arr: NDArray) -> None:
        arr[:] = bilinear_kernel(arr.shape)

    def _init_loc_bias(self, _: str, arr: NDArray) -> None:
        """A spatial transformer starts as the identity, a 2x3 affine map."""
        if arr.shape != (6,):
            raise ShapeError("Initializer: the bias of an affine map has 6 elements", f"shape {arr.shape}", "give it shape (6,)")
        arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Initializer) and type(other) is type(self) and other._kwargs == self._kwargs

    # Equal initializers may be changed apart later (`set_verbosity`), so they cannot be keys.
    __hash__ = None  # type: ignore[assignment]


#: Rules for plain names, used before MXNet 1.0 had `InitDesc`: (prefix, suffix, method).
_BY_PREFIX = (
    ("upsampling", "", "_init_bilinear"),
    ("stn_loc", "weight", "_init_zero"),
    ("stn_loc", "bias", "_init_loc_bias"),
)


def _by_suffix(name: str, table: tuple[tuple[str, str], ...]) -> str | None:
    return next((method for suffix, method in table if name.endswith(suffix)), None)


def _method_for(name: str) -> str:
    """The method that initializes the array of an `InitDesc`."""
    return _by_suffix(name, _BY_SUFFIX) or "_init_default"


def _method_for_plain(name: str) -> str:
    """The method that initializes an array of a plain name."""
    for prefix, suffix, method in _BY_PREFIX:
        if name.startswith(prefix) and name.endswith(suffix):
            return method
    return _by_suffix(name, _BY_SUFFIX + _MOVING_AVERAGES) or "_init_default"


register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
create = registry.get_create_func(Initializer, "initializer")


def bilinear_kernel(shape: tuple[int, ...]) -> np.ndarray:
    """The bilinear interpolation kernel (n, c, h, w) of a transposed convolution, the same for each n and c.

    Notes
    -----
    Long, Shelhamer and Darrell, Fully convolutional networks for semantic segmentation, 2015, section 3.3.
    """
    # MXNet uses the width's factor for the rows too: it expects square kernels.
    f = np.ceil(shape[3] / 2.0)
    centre = (2 * f - 1 - f % 2) / (2.0 * f)
    rows, columns = (1 - np.abs(np.arange(n) / f - centre) for n in shape[2:])
    return np.broadcast_to(np.outer(rows, columns), shape)


def _root_mean_square(arr: NDArray) -> str:
    host = arr.asnumpy().astype("float64")  # squares of float16 overflow
    return str(np.float32(np.linalg.norm(host) / np.sqrt(host.size)))


class Load:
    """Initializes arrays from a file or dict by name, and others by an initializer.

    Parameters
    ----------
    param
        Dict from name to array, or the path of a file that holds one. The prefixes ``arg:`` and ``aux:`` are ignored.
    default_init
        The initializer of arrays without an entry.
    verbose
        Whether to log the source of each array.
    """

    def __init__(
        self,
        param: str | PathLike[str] | Mapping[str, NDArray],
        default_init: "Callable[[str, NDArray], None] | None" = None,
        verbose: bool = False,
    ) -> None:
        loaded = nd.load(param) if isinstance(param, (str, PathLike)) else param
        if not isinstance(loaded, Mapping):
            raise WrongType("Load: not a dict from names to arrays", type(loaded).__name__, "pass a dict, or a file saved from one")
        self.param = {name.removeprefix("arg:").removeprefix("aux:"): array for name, array in loaded.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        """Initialize an array.

        Raises
        ------
        ShapeError
            If the shape of the loaded array differs.
        ParameterError
            If there is neither an entry of that name nor a default.
        """
        if name in self.param:
            loaded = self.param[name]
            if loaded.shape != arr.shape:
                raise WrongShape(
                    f"Load: Parameter {name} cannot be initialized from loading: Shape mismatch",
                    f"target {arr.shape}, loaded {loaded.shape}",
                    "load the file of this model",
                )
            arr[:] = loaded
        elif self.default_init is None:
            raise InvalidValue(
                f"Load: Cannot Initialize {name}", f"{len(self.param)} loaded arrays, but none of that name", "pass default_init"
            )
        else:
            self.default_init(name, arr)
        if self.verbose:
            logging.info("Initialized %s by %s", name, "loading" if name in self.param else "default")


class Mixed:
    """Initializes each array by the initializer of the first pattern that its name matches.

    Parameters
    ----------
    patterns
        Regular expressions, matched at the start of names. The last one should be ``".*"``.
    initializers
        One initializer per pattern.
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Callable[[str, NDArray], None]]) -> None:
        if len(patterns) != len(initializers):
            raise InvalidValue(
                "Mixed: the numbers of patterns and initializers differ",
                f"{len(patterns)} and {len(initializers)}",
                "pass one initializer per pattern",
            )
        self.map = [(compiled("Mixed: patterns", pattern), init) for pattern, init in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: NDArray) -> None:
        """Initialize an array.

        Raises
        ------
        ParameterError
            If no pattern matches its name.
        """
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise ParameterError(
            f"Mixed: Parameter name {name} did not match any pattern",
            ", ".join(pattern.pattern for pattern, _ in self.map),
            'add a ".*" pattern at the end with a default Initializer',
        )
