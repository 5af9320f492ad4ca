"""NumPy's functions that make arrays, with folding arrays for large results, and arrays of `twofold.numpy` where a GPU is the context."""

import copy
from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any

import numpy as np

from ..device import ENTERED, Device
from ..named_out import naming_out
from . import buffers, flat, folding_operators, methods  # noqa: F401  (attach to the class)
from .array import LEAST, NDARRAY, FoldingArray, owned
from .calls import Given
from .leaving import watch_objects
from .sites import ran_inline, site

LOCAL = Device._local

#: Functions whose large results are always in new memory, whatever their arguments.
NAMES = (
    "zeros", "ones", "empty", "full", "linspace", "logspace", "geomspace", "arange", "eye", "identity", "tri", "vander", "indices",
    "fromiter", "fromfile", "fromstring", "loadtxt", "genfromtxt", "load",
)  # fmt: skip
#: Functions whose result depends on a shape and a dtype alone.
FILLED = ("zeros", "ones", "empty")
#: Functions of `NAMES` whose results are arrays of objects for some arguments.
OF_OBJECTS = ("full", "fromiter", "load", "loadtxt", "genfromtxt")
#: Functions that may return their argument itself.
CONVERSIONS = ["asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite", "require"]
#: Classes whose objects have no memory that a conversion could share.
SEQUENCES = (list, tuple, int, float, complex, range)
MISSING = object()
#: Draws of NumPy's generators; large ones fold.
DRAWS = (
    "rand", "randn", "random", "random_sample", "ranf", "sample", "normal", "uniform", "standard_normal", "randint",
    "random_integers", "integers", "choice", "exponential", "poisson", "binomial", "beta", "gamma", "lognormal", "laplace",
    "logistic", "gumbel", "rayleigh", "weibull", "pareto", "power", "triangular", "vonmises", "wald", "zipf", "chisquare",
    "noncentral_chisquare", "f", "noncentral_f", "standard_cauchy", "standard_exponential", "standard_gamma", "standard_t",
    "geometric", "hypergeometric", "logseries", "negative_binomial", "multinomial", "dirichlet", "multivariate_normal", "permutation",
    "permuted",
)  # fmt: skip
#: Other names of ``random_sample``; generators have no methods of these names.
SAMPLES = ("ranf", "sample")


def is_elsewhere() -> bool:
    """Whether the current context is a device with memory of its own."""
    stack = LOCAL.stack
    return bool(stack) and not stack[-1].is_host


def maker(function: Callable[..., Any], name: str) -> Callable[..., object]:
    """A NumPy function that makes arrays, as a method of the face: as an attribute of a class it is not bound, as NumPy's is not."""

    def elsewhere(*args: object, **options: object) -> object:
        from ..numpy.namespace import MAKERS  # here: it loads all of Twofold, and few programs need it

        there = MAKERS.get(name)
        return there(*args, **options) if there is not None else moved(function(*args, **options))

    @wraps(function)
    def make(face: object, *args: object, **options: object) -> object:
        if ENTERED and is_elsewhere():
            return elsewhere(*args, **options)
        found = watched(function(*args, **options)) if name in OF_OBJECTS else function(*args, **options)
        return found if type(found) is not NDARRAY or found.size < LEAST else folded(found)

    @wraps(function)
    def fill(face: object, shape: object, dtype: object = float, order: object = "C", *, device: object = None, like: object = None):
        # Named parameters, since collecting arguments into a tuple and a dictionary would take as long as NumPy's function.
        if ENTERED or device is not None or like is not None:
            given = {"dtype": (dtype, float), "order": (order, "C"), "device": (device, None), "like": (like, None)}
            return make(face, shape, **{key: value for key, (value, default) in given.items() if value is not default})
        found = function(shape, dtype, order)
        if dtype is not float and found.dtype.hasobject:
            watch_objects()
        return found if found.size < LEAST else folded(found)

    return fill if name in FILLED else make


def folded(found: np.ndarray) -> FoldingArray | np.ndarray:
    """A folding array for a large array that the program has just made; the array itself where folding is impossible or does not pay."""
    where = site()
    result = owned(found, where)
    where.made += type(result) is FoldingArray
    return result


def watched(found: Any) -> Any:
    """A result, after a look whether it is an array of objects, among which the program may store folding arrays."""
    if type(found) is NDARRAY and found.dtype.hasobject:
        watch_objects()
    return found


def moved(found: object) -> object:
    """NumPy's result, copied to the device of the context."""
    from .. import numpy as twofolds

    return twofolds.array(found) if type(found) is NDARRAY else found


def conversion(function: Callable[..., Any]) -> Callable[..., object]:
    """A NumPy function that converts its argument to an array, as a method of the face."""

    @wraps(function)
    def convert(face: object, a: object = MISSING, *args: object, **options: object) -> object:
        kind = type(a)  # compared by `is`: the class of folding arrays equals NumPy's, so a set could not tell them apart
        if (kind is list or kind is NDARRAY or kind is tuple) and not (args or options or ENTERED):
            found = function(a)
            if found.dtype.hasobject:
                watch_objects()
            if found.size < LEAST or found is a:
                return found
            # Only `np.array` copies an array; from the other functions the result may share memory that the program knows.
            return folded(found) if kind is not NDARRAY or function is np.array else found
        return convert_any(a, args, options)

    def convert_any(a: object, args: tuple[object, ...], options: dict[str, object]) -> object:
        if a is MISSING:  # ``np.array`` takes its argument by the name ``object``, too; without any, NumPy raises its own error
            return convert_any(options.pop("object"), args, options) if "object" in options else function(**options)
        if ENTERED and is_elsewhere():
            from .. import numpy as twofolds

            if isinstance(a, twofolds.ndarray) and function is not np.array and not args and not options:
                return a
            return moved(function(a.ready() if type(a) is FoldingArray else a, *args, **options))
        if type(a) is FoldingArray:
            given = Given(function is np.array)
            if type(options.get("like")) is FoldingArray:
                # NumPy would pass the call to the folding array's ``__array_function__``.
                del options["like"]
            if function is np.array:
                ran_inline("array")
            return given.folded(function(given.plain(a), *args, **options), site())
        try:
            found = watched(function(a, *args, **options))
        # NumPy raises ValueError if ``__array__`` does not return NumPy's own array, and a folding array is not one.
        except ValueError:
            if not hasattr(type(a), "__array__") or isinstance(a, (np.generic, np.ndarray)):
                raise
            shown = _Shown(a)
            found = function(shown, *args, **options)
            return shown.given.folded(found, site())
        if type(found) is not NDARRAY or found.size < LEAST:
            return found
        # Any other object with a buffer or an ``__array__`` may share its memory with the result.
        is_new = isinstance(a, SEQUENCES) or (function is np.array and not args[1:] and options.get("copy", True) is True)
        return folded(found) if is_new and found is not a else found

    return convert


class _Shown:
    """Replaces an object of the program whose ``__array__`` may return a folding array: NumPy gets a view of that array's memory."""

    def __init__(self, of: Any) -> None:
        self.of, self.given = of, Given(False)

    def __array__(self, *args: object, **options: object) -> object:
        return self.given.plain(type(self.of).__array__(self.of, *args, **options))


def meshgrid(face: object, *xi: Any, **options: Any) -> object:
    """As NumPy's."""
    found: Any = np.meshgrid(*xi, **options)
    # Without a copy the results are views of the arguments, which the program may write.
    if options.get("copy", True) is not True or options.get("sparse", False) is not False:
        return found
    return type(found)([folded(x) if type(x) is NDARRAY and x.size >= LEAST else x for x in found])


_Grid: Any = type(np.mgrid)


class Grid(_Grid):
    """``numpy.mgrid``, whose large results fold."""

    def __getitem__(self, key: object) -> object:
        found = super().__getitem__(key)
        return folded(found) if type(found) is NDARRAY and found.size >= LEAST else found


def draw(function: Callable[..., object]) -> Callable[..., object]:
    """A generator's function, or a method of a generator's class."""
    with_out = naming_out(function)

    @wraps(function)
    def drawn(*args: object, **options: object) -> object:
        if args and type(args[-1]) is FoldingArray:
            args, options = with_out(args, options)
        if "out" in options:
            out = options["out"]
            found = function(*args, **(options | {"out": out.shown() if type(out) is FoldingArray else out}))
            return found if out is None else out
        found = function(*args, **options)
        if type(found) is not NDARRAY or (found.size < LEAST and not ENTERED):
            return found
        # Even a small draw moves to the device of the context.
        return moved(found) if is_elsewhere() else folded(found) if found.size >= LEAST else found

    return drawn


def shuffle(function: Callable[..., object]) -> Callable[..., object]:
    """A generator's ``shuffle``, which writes into its operand."""

    # `shown` computes every pending operation that reads the operand before the shuffle overwrites it.
    @wraps(function)
    def shuffled(*args: object, **options: object) -> None:
        args = tuple([x.shown() if type(x) is FoldingArray else x for x in args])
        function(*args, **{k: x.shown() if type(x) is FoldingArray else x for k, x in options.items()})

    return shuffled


class GeneratorClass(type):
    """The metaclass of `generator_class`: NumPy's own generators, which pickles and libraries make, are instances too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1])

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__mro__[1])


def _copied(self: "np.random.Generator | np.random.RandomState", memo: dict[int, Any]) -> object:
    """A copy whose large draws fold, too; a copy by ``__reduce__`` would be of NumPy's class."""
    _, args, state = self.__reduce__()
    found = type(self)(*copy.deepcopy(args, memo))
    if state is not None:
        found.__setstate__(copy.deepcopy(state, memo))
    return found


def generator_class(base: "type[np.random.Generator] | type[np.random.RandomState]") -> type:
    """A class of NumPy's generators whose large draws fold."""
    own: dict[str, object] = {name: draw(getattr(base, name)) for name in DRAWS if name in dir(base)}
    own["__deepcopy__"] = _copied
    own |= {"shuffle": shuffle(base.shuffle), "__module__": base.__module__, "__doc__": base.__doc__}
    return GeneratorClass(base.__name__, (base,), own)


def drawing(name: str, draws: Callable[[Callable[..., object]], Callable[..., object]] = draw) -> MethodType:
    """A function of ``numpy.random``: a method of NumPy's hidden generator."""
    hidden: Any = np.random.random_sample
    owner = hidden.__self__
    return MethodType(draws(getattr(type(owner), "random_sample" if name in SAMPLES else name)), owner)
