"""``mx.autograd``: recording scopes and gradients. The public face of `imperative`."""

from collections.abc import Sequence
from typing import Any

from .backend.loader import backend_for
from .errors import DTypeError, InvalidValue, MXNetError, ParameterError, Undefined
from .imperative.array import Array, apply_op, check_gradient, record_of, stored_heads
from .imperative.array import backward as _backward
from .imperative.backward import run_backward
from .imperative.cell import Cell, Value, wrap
from .imperative.invoke import data_of
from .imperative.row_gradients import gradient_array
from .imperative.scope import Scope, set_recording, set_training
from .imperative.tape import MISFIT, Variable, tls
from .imperative.user_code import arrays_of, call, fitted
from .imperative.user_function import UserFunction, user_code
from .ops import primitive_shape
from .strictness import tolerate
from .symbol.from_tape import symbol_from_entry
from .symbol.symbol import Symbol

__all__ = [
    "Function",
    "backward",
    "get_symbol",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]


def is_recording() -> bool:
    """Whether operations are being recorded in this thread."""
    return tls.tape is not None


def is_training() -> bool:
    """Whether operators run in training mode in this thread."""
    return tls.training


def record(train_mode: bool = True) -> Scope:
    """A scope in which operations are recorded, by default in training mode.

    Parameters
    ----------
    train_mode
        Whether operators such as dropout run in training mode inside.
    """
    return Scope(True, train_mode)


def pause(train_mode: bool = False) -> Scope:
    """A scope in which nothing is recorded.

    Parameters
    ----------
    train_mode
        Whether operators such as dropout run in training mode inside.
    """
    return Scope(False, train_mode)


def train_mode() -> Scope:
    """A scope in which operators run in training mode; recording is not affected."""
    return Scope(None, True)


def predict_mode() -> Scope:
    """A scope in which operators run in inference mode; recording is not affected."""
    return Scope(None, False)


#: An array, or a list of them.
Arrays = Array | Sequence[Array]
#: None means ones.
HeadGrads = Array | Sequence[Array | None] | None


def mark_variables(variables: Arrays, gradients: Arrays, grad_reqs: str | Sequence[str] = "write") -> None:
    """Mark arrays as variables, with given arrays for their gradients.

    Parameters
    ----------
    variables, gradients
        An array and the array for its gradient, or lists of them.
    grad_reqs
        ``"write"``, ``"add"`` or ``"null"``: one for all, or one for each.

    Raises
    ------
    ParameterError
        If the lists differ in length.
    DTypeError
        If a variable or gradient is not an array.
    """
    marked, stores = _list(variables), _list(gradients)
    reqs = [grad_reqs] * len(marked) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(marked) == len(stores) == len(reqs):
        raise ParameterError("mark_variables: lists of different lengths", f"{len(marked)}, {len(stores)}, {len(reqs)}", "pass one each")
    # all are checked before any is marked
    fitting = [_fits(f"mark_variables: the gradient of variable {k}", *pair) for k, pair in enumerate(zip(stores, marked, strict=True))]
    for variable, gradient, req, fits in zip(marked, stores, reqs, fitting, strict=True):
        variable._attach(gradient, req if fits or req == "null" else MISFIT)


def _fits(what: str, gradient: object, variable: object) -> bool:
    """Whether an array can receive a variable's gradient; a warning if not, as MXNet raises only where backward would write it."""
    try:
        check_gradient(what, gradient, variable)
    except MXNetError as error:
        if not (isinstance(gradient, Array) and isinstance(variable, Array)):
            raise
        tolerate(error.what, error.given, f"{error.todo}; backward() will raise", type(error))
        return False
    return True


def backward(heads: Arrays, head_grads: HeadGrads = None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Compute the gradients of recorded arrays with respect to marked ones, and store them; see ``NDArray.backward``.

    Parameters
    ----------
    heads
        An array, or a list of arrays, that were computed while recording.
    head_grads
        The gradients of the heads, in their shapes; None for ones, for all of them or some in a list.
    retain_graph
        Whether the recorded graph is kept for another backward pass.
    train_mode
        Has no effect: the mode was determined when the operations were recorded.
    """
    _backward(_list(heads), None if head_grads is None else _list(head_grads), retain_graph)


def grad(
    heads: Arrays,
    variables: Arrays,
    head_grads: HeadGrads = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> list[Any]:
    """Compute and return the gradients of recorded arrays with respect to marked ones, instead of storing them.

    Parameters
    ----------
    heads, variables
        Arrays or lists of arrays.
    head_grads
        Head gradients; ones if None.
    retain_graph
        Whether to keep the graph for another backward pass; defaults to ``create_graph``.
    create_graph
        Whether to record the computation, so that the gradients can be differentiated.
    train_mode
        Has no effect: the mode was determined when the operations were recorded.

    Returns
    -------
    list
        One gradient per variable, in a list even for a single variable.

    Raises
    ------
    ParameterError
        If a variable is not marked, there are no variables, or heads and head gradients differ in number.
    """
    wanted = _list(variables)
    outputs = _list(heads)
    grads = [None] * len(outputs) if head_grads is None else _list(head_grads)
    if not wanted or len(grads) != len(outputs):
        given = f"{len(wanted)} variables, {len(outputs)} heads, {len(grads)} head gradients"
        raise InvalidValue("grad: variables, and one head gradient per head, are needed", given, "pass them")
    for v in wanted:
        if not isinstance(v, Array):
            raise DTypeError("grad: a variable is not an array", type(v).__name__, "pass arrays with attach_grad()")
        if v._request is None:
            raise ParameterError(
                "grad: a variable was not marked", f"an array of shape {v.shape}", "call attach_grad() on it before recording"
            )
    retain = create_graph if retain_graph is None else retain_graph
    cls = wanted[0]._kind
    outputs, grads = stored_heads(outputs, grads)
    # gradients that will be differentiated are recorded, also where `grad` is called outside `record()`
    with Scope(True if create_graph else None, None):
        got = run_backward([record_of(h, "grad") for h in outputs], grads, cls, retain=retain, create_graph=create_graph)
    found = {id(variable): gradient_array(cls, variable, g) for variable, g in got}
    return [_result(found, v, cls, wanted[:k]) for k, v in enumerate(wanted)]


def get_symbol(x: Array) -> Symbol:
    """The recorded computation of an array, as a symbol. The arrays it depends on become variables ``var0``, ``var1`` ….

    Parameters
    ----------
    x
        An array that was computed while recording.

    Raises
    ------
    AutogradError
        If the array was not recorded, or its graph was freed by backward.
    """
    return symbol_from_entry(record_of(x, "get_symbol"))


class Function:
    """A function with a user-defined gradient: override `forward` and `backward`, then call an instance once.

    Examples
    --------
    >>> import twofold as mx
    >>> class Double(mx.autograd.Function):
    ...     def forward(self, x):
    ...         return x * 2
    ...
    ...     def backward(self, dy):
    ...         return dy * 2
    >>> x = mx.nd.array([1.0, 3.0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = Double()(x)
    >>> y.backward()
    >>> x.grad.asnumpy().tolist()
    [2.0, 2.0]
    """

    saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *arrays: Any) -> None:
        """Keep arrays for `backward`, as ``self.saved_tensors``."""
        self.saved_tensors = arrays

    def forward(self, *inputs: Any) -> Any:
        """Compute the results. Runs with recording off."""
        raise Undefined(f"{type(self).__name__}: forward is not defined", None, "override forward()")

    def backward(self, *output_grads: Any) -> Any:
        """Compute the gradients of the inputs from those of the results."""
        raise Undefined(f"{type(self).__name__}: backward is not defined", None, "override backward()")

    def __call__(self, *inputs: Any) -> Any:
        """Run forward, and record the call if recording is on.

        With symbols, what `forward` computes is part of their graph, `backward` is not: there is a warning.

        Raises
        ------
        DTypeError
            If an input is neither an array nor a symbol, or is a symbol while recording.
        """
        if any(isinstance(x, Symbol) for x in inputs):
            return self._composed(inputs)
        for x in inputs:
            if not isinstance(x, Cell):
                raise DTypeError(
                    f"{type(self).__name__}: an input is not an array", type(x).__name__, "store numbers as attributes of the instance"
                )
        cls: Any = inputs[0]._kind
        recording, training = tls.tape is not None, tls.training
        with Scope(False, training), user_code(f"{type(self).__name__}: forward"):
            results = self.forward(*inputs)
        several = isinstance(results, (list, tuple))
        arrays: list[Any] = list(results) if several else [results]
        for a in arrays:
            if not isinstance(a, Cell):
                raise DTypeError(
                    f"{type(self).__name__}: forward must return arrays", type(a).__name__, "return an array, or a list of them"
                )
        if not recording:
            return results
        # the operation on the tape is made after forward has run: until then the types of the results are not known
        handle = _FunctionHandle(self, arrays, [(x.shape, x._dtype) for x in inputs], cls)
        out = call(handle, inputs, [(a.shape, a._dtype) for a in arrays], cls, needs=())
        return (tuple(out) if isinstance(results, tuple) else out) if several else out[0]

    def _composed(self, inputs: Sequence[Any]) -> Any:
        name, todo = type(self).__name__, "write it as mx.operator.CustomOp, which graphs contain"
        if tls.tape is not None:
            todo = f"do not hybridize the block, or {todo}"
            raise DTypeError(f"{name}: a graph cannot contain its backward", "Symbol while recording", todo)
        tolerate(f"{name}: a graph contains what its forward computes, but not its backward", "Symbol", todo, DTypeError)
        with user_code(f"{name}: forward"):
            return self.forward(*inputs)


class _FunctionHandle(UserFunction):
    """A `Function` whose forward has already run: the recorded operation only returns its results, and can run its backward."""

    def __init__(self, function: Function, results: list[Any], types: list[Any], cls: type) -> None:
        super().__init__(type(function).__name__)
        self._function, self._results, self._types, self._cls = function, results, types, cls
        self._device = results[0].context

    def _forward(self, arrays: list[object]) -> list[object]:
        # copies: the user may hold the arrays that forward returned, and write into them
        backend = backend_for(self._device)
        given, self._results = self._results, []
        return [backend.copy(data_of(r._content), self._device) for r in given]

    def backward_on_cells(self, cells: Sequence[Any]) -> list[Any]:
        """Run the user's backward code with recording on."""
        with user_code(f"{self.label}: backward"):
            grads = self._function.backward(*cells)
        return fitted(f"{self.label}: backward", grads, self._types, self._device)

    def _backward(self, arrays: list[object]) -> list[object]:
        with Scope(False, None):
            grads = self._function.backward(*[wrap(self._cls, Value(a, device=self._device)) for a in arrays])
            return arrays_of(f"{self.label}: backward", grads, self._types, self._device)


def _result(found: dict[int, Cell], v: Any, cls: type, before: Sequence[Any]) -> Any:
    variable: Variable = v._request
    if id(variable) not in found:
        raise ParameterError("grad: the heads do not depend on a variable", f"an array of shape {v.shape}", "omit it")
    grad = found[id(variable)]
    # a variable named twice gets two arrays: a write to one result must not change the other
    return apply_op(primitive_shape.contiguous, grad, cls=cls) if any(w._request is variable for w in before) else grad


def _list(arrays: object) -> list[Any]:
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]
