"""Binding: creates an executor from a symbol and arrays, which are given or allocated."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..device import Device, current_device, interned
from ..dtype import DTypeLike, dtype_name
from ..errors import DTypeError, ParameterError, ShapeError, WrongArgument
from ..executor.executor import Executor
from ..executor.transport import zeros_in
from ..imperative.array import Array, check_gradient
from ..ndarray.array import NDArray
from ..strictness import tolerate
from ..suggestions import did_you_mean
from .inference import infer_all, inside_shape
from .node import Composition, Head, SymbolNode, topological, variables
from .partition import Groups, Partition, device_of
from .storage_types import declared_stype

REQUESTS = ("null", "write", "add")
Arrays = Mapping[str, NDArray] | Sequence[NDArray]


def _by_name(given: object, names: Sequence[str], what: str, optional: bool = False) -> dict[str, NDArray]:
    """Arrays by name, from a list in order or a dictionary.

    Raises
    ------
    ParameterError
        If one is missing or is not an array, or there are too many or too few.
    """
    if isinstance(given, Mapping):
        missing = [n for n in names if n not in given]
        if missing and not optional:
            unknown = next((key for key in given if key not in names), "")
            todo = did_you_mean(unknown, missing, f"pass {', '.join(names)}")
            raise ParameterError(f"key `{missing[0]}` is missing in `{what}`", f"keys {', '.join(given)}", todo)
        found: dict[str, Any] = {n: given[n] for n in names if n in given}
    elif isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ParameterError(f"Length of {what} does not match the number of arguments", f"{len(given)}", f"pass {', '.join(names)}")
        # None means "no gradient"; among arguments it is a mistake, which the check below reports.
        found = {n: a for n, a in zip(names, given, strict=True) if a is not None or not optional}
    else:
        raise WrongArgument(
            "Only accept list of NDArrays or dict of str to NDArray", f"{what}: {type(given).__name__}", "pass a list or a dictionary"
        )
    for name, array in found.items():
        if not isinstance(array, Array):
            raise WrongArgument(
                "Only accept list of NDArrays or dict of str to NDArray", f"{name}: {type(array).__name__}", "convert them to arrays"
            )
    return found


def _requests(grad_req: str | Sequence[str] | Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The gradient request of each argument, from one request for all, a list in order, or a dictionary (``"null"`` for missing names).

    Raises
    ------
    ParameterError
        If a request is unknown, or a list has another length.
    """
    if isinstance(grad_req, str):
        found = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, Mapping):
        found = {n: grad_req.get(n, "null") for n in names}
    else:
        if len(grad_req) != len(names):
            tolerate("bind: grad_req and the arguments differ in length", f"{len(grad_req)}", f"pass one for {', '.join(names)}")
        found = dict.fromkeys(names, "null") | dict(zip(names, grad_req, strict=False))
    for name, request in found.items():
        if request not in REQUESTS:
            raise ParameterError(f"grad_req must be in {', '.join(REQUESTS)}", f"{request!r} for {name}", "use one of them")
    return found


def _device(ctx: object, what: str) -> Device:
    if not isinstance(ctx, Device):
        raise DTypeError(f"{what}: Context type error", repr(ctx), "pass a context such as mx.cpu() or mx.gpu(0)")
    return interned(ctx)


def distinct_names(heads: Sequence[Head]) -> tuple[list[str], list[str]]:
    """Names of arguments and of states.

    Raises
    ------
    ParameterError
        If two variables have the same name.
    """
    arguments, states = ([v.name for v in vs] for vs in variables(topological(heads)))
    every = [*arguments, *states]
    if len(set(every)) < len(every):
        twice = ", ".join(sorted({n for n in every if every.count(n) > 1}))
        raise ParameterError("symbol: several variables have the same name", twice, "use the same Variable, or give them different names")
    return arguments, states


def bind(
    self: Composition,
    ctx: Device,
    args: Arrays,
    args_grad: Arrays | None = None,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    aux_states: Arrays | None = None,
    group2ctx: Groups | None = None,
    shared_exec: Executor | None = None,
) -> Executor:
    """Create an executor of this symbol on given arrays.

    Parameters
    ----------
    ctx
        The device.
    args
        Arrays for all arguments, in order or by name.
    args_grad
        Gradient arrays, in order (None for no gradient) or by name; if None, no gradients are computed.
    grad_req
        ``"write"``, ``"add"`` or ``"null"``: one for all arguments, or one each in order or by name.
    aux_states
        Arrays for all auxiliary states, in order or by name.
    group2ctx
        Devices of the nodes with a ``ctx_group`` attribute, by group.
    shared_exec
        An executor to share scratch memory with. Has no effect: programs in a process share memory anyway.

    Raises
    ------
    ParameterError
        If an array is missing.
    ShapeError, DTypeError
        If arrays do not match the symbol, or gradient arrays their arguments; the message names the node or argument.
    """
    names, state_names = distinct_names(self.heads)
    arguments = _by_name(args, names, "args")
    states = _by_name([] if aux_states is None else aux_states, state_names, "aux_states")
    gradients = {} if args_grad is None else _by_name(args_grad, names, "args_grad", optional=True)
    # A gradient without an array to receive it is not computed.
    requests = {n: r if n in gradients else "null" for n, r in _requests(grad_req, names).items()}
    for name, gradient in gradients.items():
        if requests[name] != "null":
            check_gradient(f"bind: the array in args_grad for {name}", gradient, arguments[name])
    given = arguments | states
    inference = infer_all(self.heads, {n: a.shape for n, a in given.items()}, {n: a._dtype for n, a in given.items()}, "bind")
    partition = Partition(self.heads, inference, _device(ctx, "bind"), group2ctx or {}, requests, self)
    executor = partition.executor(arguments, {n: gradients.get(n) for n in names}, states)
    executor._grad_req, executor._group2ctx = grad_req, group2ctx
    return executor


def simple_bind(
    self: Composition,
    ctx: Device,
    grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    type_dict: Mapping[str, DTypeLike] | None = None,
    stype_dict: Mapping[str, str] | None = None,
    group2ctx: Groups | None = None,
    shared_arg_names: Sequence[str] | None = None,
    shared_exec: Executor | None = None,
    shared_buffer: dict[str, NDArray] | None = None,
    **kwargs: Sequence[int],
) -> Executor:
    """Create an executor of this symbol on new arrays of zeros, whose shapes are inferred.

    Parameters
    ----------
    ctx
        The device.
    grad_req
        ``"write"``, ``"add"`` or ``"null"``: one for all arguments, or one each in order or by name.
    type_dict
        Dtypes of arguments by name; dtypes that cannot be inferred from them are float32.
    stype_dict
        Storage types of arguments by name. Others have those of their variables. A gradient is row-sparse if the operators that read its
        argument compute only some rows of it. The gradient of a csr matrix stores the same places as the matrix.
    group2ctx
        Devices of the nodes and variables with a ``ctx_group`` attribute, by group.
    shared_arg_names, shared_exec
        Arguments whose arrays and gradients are shared with another executor, as are its auxiliary states.
    shared_buffer
        Arrays by name, which are used if their types match; new arrays are added.
    **kwargs
        Shapes of arguments by name; unknown names are ignored.

    Raises
    ------
    ShapeError, DTypeError
        If shapes contradict one another or cannot be inferred; the message names nodes and variables.
    """
    names, state_names = distinct_names(self.heads)
    unknown = set(type_dict or {}) - {*names, *state_names}
    if unknown:
        what = "simple_bind: type_dict contains an unknown argument"
        tolerate(what, ", ".join(sorted(unknown)), f"it has {', '.join(names)}")
    # MXNet ignores other names, and programs pass the shapes of everything that their data iterator provides.
    shapes = {n: inside_shape(s) for n, s in kwargs.items() if n in names or n in state_names}
    dtypes = {n: dtype_name(d) for n, d in (type_dict or {}).items() if d is not None and n not in unknown}
    try:
        inference = infer_all(self.heads, shapes, dtypes, "simple_bind")
    except ShapeError as error:
        for name in set(kwargs) - set(shapes):  # unknown names are ignored as long as the others are enough
            todo = did_you_mean(name, names, "see list_arguments()")
            raise ShapeError(f"simple_bind error: there is no argument '{name}'", f"{name}={kwargs[name]}", todo) from error
        raise
    partition = Partition(self.heads, inference, _device(ctx, "simple_bind"), group2ctx or {}, _requests(grad_req, names), self)
    stypes = {v.name: (stype_dict or {}).get(v.name) or declared_stype(v) for v in partition.arguments}
    memory = _Memory(partition, stypes, shared_arg_names or (), shared_exec, shared_buffer)
    executor = partition.executor(*memory.arrays())
    executor._grad_req, executor._group2ctx = grad_req, group2ctx
    return executor


class _Memory:
    """The arrays of `simple_bind`: shared with another executor or taken from a buffer where their types match, else new."""

    def __init__(
        self,
        partition: Partition,
        stypes: Mapping[str, str],
        shared_names: Sequence[str],
        shared: Executor | None,
        buffer: dict[str, NDArray] | None,
    ) -> None:
        self.partition, self.stypes, self.shared_names, self.shared, self.buffer = partition, stypes, set(shared_names), shared, buffer

    def arrays(self) -> tuple[dict[str, NDArray], dict[str, NDArray | None], dict[str, NDArray]]:
        """Arguments, gradients and states by name."""
        arguments: dict[str, NDArray] = {}
        gradients: dict[str, NDArray | None] = {}
        of_gradients = self.partition.gradient_stypes(self.stypes)
        for v in self.partition.arguments:
            name, wanted = v.name, self.partition.requests[v.name] != "null"
            other = self.shared if name in self.shared_names else None
            arguments[name] = self._array(v, self.stypes[name], other and other.arg_dict.get(name), self.buffer)
            own = of_gradients.get(name, "default")
            # Not from the buffer, in which the argument has this name.
            gradients[name] = self._array(v, own, other and other.grad_dict.get(name), None) if wanted else None
        old = self.shared.aux_dict if self.shared is not None else {}
        return arguments, gradients, {v.name: self._array(v, "default", old.get(v.name), self.buffer) for v in self.partition.states}

    def _array(self, variable: SymbolNode, stype: str, shared: NDArray | None, buffer: dict[str, NDArray] | None) -> NDArray:
        known = self.partition.inference.known[variable][0]
        shape, dtype = known.sizes, known.dtype or "float32"
        for candidate in (shared, None if buffer is None else buffer.get(variable.name)):
            # a buffer array of another type stays there unused: buckets of different lengths share only arrays of equal type
            if candidate is not None and candidate.shape == shape and candidate._dtype == dtype and candidate.stype == stype:
                return candidate
        new = zeros_in(stype, shape, dtype, device_of(variable, self.partition.device, self.partition.groups))
        if buffer is not None:
            buffer[variable.name] = new
        return new


def eval_(self: Composition, ctx: Device | None = None, **kwargs: NDArray) -> list[NDArray]:
    """Compute the outputs for arrays of all arguments, by name.

    Parameters
    ----------
    ctx
        The device; the current context if None.
    **kwargs
        The arrays.

    Raises
    ------
    ParameterError
        If one is missing.
    """
    _, state_names = distinct_names(self.heads)
    states = {n: kwargs[n] for n in state_names if n in kwargs}
    return bind(self, ctx or current_device(), kwargs, aux_states=states).forward()
