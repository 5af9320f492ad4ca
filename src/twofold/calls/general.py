"""The general path of MXNet's generated functions: checks arguments, calls operators, wraps results or writes them to ``out``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..assembly import FREE, fragment, inlined
from ..device import Device, chosen_device, interned
from ..dtype import dtype_name
from ..errors import ParameterError, WrongType
from ..imperative.array import Array, from_host
from ..imperative.cell import PLAIN, Content, Value, new, wrap
from ..imperative.counters import COUNTERS
from ..imperative.dynamic_shapes import run_eagerly
from ..imperative.failure import host_results
from ..imperative.guards import is_differentiated, plain_or_value
from ..imperative.invoke import invoke, type_of
from ..imperative.recording import record_again
from ..imperative.row_updates import update_rows, updates_rows
from ..imperative.storage import SparseArray, by_storage, check_out, goes_by_storage, store_array
from ..imperative.tape import tls
from ..imperative.transfer import store
from ..opdef import BoundOp, Op
from ..opdef.frontend import Fast
from ..ops.primitive_arithmetic import multiply
from ..strictness import tolerate
from ..suggestions import operand_here
from .host_calls import arrays_in, refuse_cut

#: Classes of most parameters. Only values of other classes are searched for arrays.
SIMPLE = frozenset({bool, int, float, str, type(None)})


#: The array class of the calls; in the functions made by `opdef.frontend`.
cls: Any = FREE


@fragment
def inline_result(cls, found, arrays):
    """A new array around the only result of an `InlineRun`, for small arrays on cpu(0) that are not recorded."""
    COUNTERS.inline += 1
    results = host_results(found.function, found.run, arrays)
    result = new(cls)
    v = results[0]
    result._held = plain_or_value(v)
    return result


@fragment
def return_single(a, bound_op):
    """Return the result for an array of the class itself: `Calls._run` and `invoke._run_cached` without their frames."""
    if a.__class__ is cls and bound_op.visible == 1:
        v = a._held
        if v.__class__ is PLAIN and (found := bound_op.inline.get((v.shape, v.dtype))) is not None and found.count == 1:
            arrays = [v]
            return inline_result(cls, found, arrays)
        found = None
        if v.__class__ is Value and (tape := tls.tape) is not None and is_differentiated(v):
            found = record_again(bound_op, (a,), [v], tape)
        if found is None:
            found = invoke(bound_op, (a,))
        result = new(cls)
        result._held = found[0]
        return result


class Calls:
    """The entry points of generated functions, for one array class and its calling convention.

    Parameters
    ----------
    cls
        The class of operands and results.
    """

    def __init__(self, cls: Any) -> None:
        self.cls, self._legacy = cls, cls._legacy
        self.fast = Fast(
            self._run,
            return_single,
            cls,
            lambda op, params: self._bound(op, {k: v for k, v in params.items() if k in op.params}),
            lambda: tls.training,
            lambda params: not _has_array(params),
        )

    def call(self, op: Op, arrays: Sequence[Array | None], params: dict[str, Any], out: Array | Sequence[Array] | None = None) -> Any:
        """Run an operator.

        Parameters
        ----------
        op, arrays, params
            The operator and its arguments. The parameter ``ctx`` is the device of an operator without operands.
        out
            Array, or list of arrays, to write the results to.
        """
        # MXNet refuses it where there are operands, whose device is the operator's
        ctx = None if op.arrays and self._legacy and "ctx" not in op.params else params.pop("ctx", None)
        device = None if ctx is None or ctx == "" else _context(ctx)
        if op.ignores_unknown and self._legacy and not params.keys() <= op.params.keys():
            params = _without_unknown(op, params)
        operands = self._operands(op, arrays, params)
        _convert_arrays(op, params)
        scalars = [_scalar(op, name, params) for name in op.scalars]
        numbers = [self._number_array(op, name, params, operands) for name in op.front.numbers]
        bound_op = self._bound(op, params)
        if op.front.domain is not None:
            op.check_domain({**bound_op.params, **dict(zip(op.scalars, scalars, strict=True))})
        inputs = [*operands, *numbers, *scalars]
        if goes_by_storage(bound_op, inputs):
            if updates_rows(bound_op, inputs):
                return _update_rows(bound_op, inputs, out)
            return _deliver_stored(bound_op, operands, by_storage(bound_op, inputs), out)
        # an operator that reads values runs operation by operation, since no graph has a shape for its result
        contents = (run_eagerly if op.is_eager else invoke)(bound_op, inputs, device)
        if op.mutates:  # the last results are the new contents of states, such as the moving averages of BatchNorm
            for place, new in zip(bound_op.written, contents[len(contents) - len(bound_op.mutated) :], strict=True):
                target = operands[place]
                if target is not None:
                    store(target, new)
        # ``init_output=False`` of `all_finite`: ``out`` has 0 if an earlier call found a number that is not finite
        if op.front.starts_anew and out is not None and not bound_op.params[op.front.starts_anew]:
            contents = invoke(multiply.bind(True), [out if isinstance(out, Array) else out[0], wrap(self.cls, contents[0])])
        return self.deliver(op, contents[: bound_op.visible], out)

    def _number_array(self, op: Op, name: str, params: dict[str, Any], operands: Sequence[Any]) -> Array:
        """The numbers of a parameter as an array on the operands' device; see `Front.numbers`."""
        if name not in params:
            raise ParameterError(f"{op.spoken}: Required parameter {name} is not presented", None, "pass one number for each weight")
        if not operands:
            raise ParameterError(f"{op.spoken}: the arrays are missing", None, "pass the arrays of each weight")
        values = op.params[name].value(params[name], op.spoken)
        # the numbers are an operand now; as a parameter they would be part of the structure, and every learning rate a new program
        params[name] = ()
        return from_host(self.cls, np.array(values, np.float32), operands[0].context)

    @inlined
    def _run(self, bound_op: BoundOp, operands: tuple[Any, ...], *scalars: Any) -> Any:
        """The visible results of an operator; the fast path, for parameters already parsed."""
        cls = self.cls
        arrays: list[Any] = []
        key: list[object] = []
        for a in operands:
            v: Any = a._held if a.__class__ is cls else None
            if v.__class__ is not PLAIN:
                break
            arrays.append(v)
            key.append(v.shape)
            key.append(v.dtype)
        else:  # all are small arrays of the host, which are not recorded: as by `invoke`, without its frames
            ready = not scalars or (arrays and arrays[0].dtype.kind == "f")
            for x in scalars:
                if x.__class__ is float or (x.__class__ is int and bound_op.legacy and bound_op.op.elementwise):
                    key.append(float)
                    arrays.append(float(x))
                else:
                    ready = False
            found = bound_op.inline.get(tuple(key)) if ready else None
            if found is not None and found.count == bound_op.visible == 1:
                return inline_result(cls, found, arrays)
        given: list[Any] | None = []
        is_sparse = False
        for a in operands:
            if a is None and bound_op.op.variadic:
                raise _none_among(bound_op.op)
            if a is not None and (a.__class__ is not cls or a._held is None):
                if not isinstance(a, cls) or a._legacy is not self._legacy:
                    raise self._not_an_array(bound_op.op, a)
                is_sparse = is_sparse or isinstance(a, SparseArray)
                given = None  # a view is read by `invoke`, once
            elif given is not None:
                given.append(a if a is None else a._held)
        args = (*operands, *scalars) if scalars else operands
        contents = None
        if given is not None and (tape := tls.tape) is not None:
            for v in given:
                if v.__class__ is Value and is_differentiated(v):
                    contents = record_again(bound_op, args, [*given, *scalars] if scalars else given, tape)
                    break
        if is_sparse:
            if updates_rows(bound_op, args):
                return _update_rows(bound_op, args, None)
            found = by_storage(bound_op, args)[: bound_op.visible]
            return found[0] if bound_op.visible == 1 else found
        if contents is None:
            contents = invoke(bound_op, args)
        if bound_op.visible == 1:  # as `wrap` does, without its frame
            result = new(cls)
            result._held = contents[0]
            return result
        return [wrap(self.cls, c) for c in contents[: bound_op.visible]]

    def _bound(self, op: Op, params: dict[str, Any]) -> BoundOp:
        given = dict.fromkeys(op.training, tls.training) | params  # an explicit parameter overrides the mode
        dtype = given.get("dtype")
        if dtype is not None and dtype.__class__ is not str:  # NumPy's scalar classes and dtypes are accepted too
            given["dtype"] = dtype_name(dtype)
        return op.bind(self._by_legacy(op), **given)

    def _by_legacy(self, op: Op) -> bool:
        """Whether an operator follows MXNet's convention for scalars and dtypes."""
        return self._legacy

    def _not_an_array(self, op: Op, given: object) -> WrongType:
        name = self.cls.__name__
        if isinstance(given, self.cls):  # arrays of MXNet's dialect derive from `NDArray`, but have operators of their own
            what = f"{op.spoken}: this is a legacy operator, which takes no arrays of mx.np"
            return WrongType(what, type(given).__name__, "convert it with as_nd_ndarray()")
        if isinstance(given, Array):
            what = f"{op.spoken}: the operands must have {name} type"
            todo = "use as_nd_ndarray(), or mx.npx and mx.np" if self._legacy else "use as_np_ndarray()"
            return WrongType(what, f"an array of mx.np, type {type(given).__name__}" if self._legacy else "an array of mx.nd", todo)
        function = "mx.nd.array" if self._legacy else "mx.np.array"
        todo = operand_here(given, op.spoken) or f"convert it with {function}"
        return WrongType(f"{op.spoken}: the operands must have {name} type", type(given).__name__, todo)

    def _operands(self, op: Op, arrays: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        """One operand per array input, None where omitted.

        Raises
        ------
        ParameterError
            If a required array is missing, or the given number of arrays is wrong.
        DTypeError
            If an operand is not an array of the class.
        """
        for a in arrays:
            if a is not None and (not isinstance(a, self.cls) or a._legacy is not self._legacy):
                raise self._not_an_array(op, a)
        if op.variadic:
            counted = op.count_param  # a parameter of the rule, too, where the number of results depends on it
            take = params.get if counted in op.params else params.pop
            count = take(counted, len(arrays)) if counted is not None else len(arrays)
            if int(count) != len(arrays):
                raise ParameterError(f"{op.spoken}: {op.count_param} is not the number of arrays", f"{count} for {len(arrays)}", "omit it")
            if any(a is None for a in arrays):
                raise _none_among(op)
            return list(arrays)
        names = op.arrays
        for i, a in zip(names, arrays, strict=True):
            if a is None and not i.optional:
                # a misspelt parameter explains a missing one, or is at least easier to see
                for name in params.keys() - op.params.keys():
                    raise op.no_parameter(name)
                required, rest = (", ".join([n.name for n in names if n.optional is kind]) for kind in (False, True))
                todo = f"pass {required} (optional: {rest})" if rest else f"pass {required}"
                raise ParameterError(f"{op.spoken}: the array {i.name} is missing", None, todo)
        return list(arrays)

    @inlined
    def deliver(self, op: Op, contents: Sequence[Content], out: Array | Sequence[Array] | None) -> Any:
        """Return results as an array or a list of arrays, or write them to ``out`` and return that.

        Raises
        ------
        ShapeError, DTypeError
            If the shape or dtype of an array in ``out`` differs from that of its result.
        """
        if out is None:
            arrays = [wrap(self.cls, c) for c in contents]
            return arrays[0] if len(arrays) == 1 else arrays
        targets, what = [out] if isinstance(out, Array) else out, op.title
        for target, result in zip(targets, contents, strict=False):  # ``out`` may leave out the last results
            shape, dtype = type_of(result)
            check_out(what, target, shape, dtype)
            store(target, result)
        return out


def _none_among(op: Op) -> ParameterError:
    return ParameterError(f"{op.spoken}: one of the arrays is missing", None, "pass an array in its place, or leave it out")


def _without_unknown(op: Op, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that the operator has, and a warning for the others."""
    unknown = [name for name in params if name not in op.params]
    tolerate(f"{op.spoken}: there is no parameter", ", ".join(unknown), "omit it")
    return {name: value for name, value in params.items() if name in op.params}


def _update_rows(bound_op: BoundOp, inputs: Sequence[Any], out: Any) -> Any:
    """A lazy update in place, of a copy of the weight if that is not ``out``."""
    weight = inputs[0]
    target = weight.copy() if out is None else out if isinstance(out, Array) else out[0]
    if out is not None and target is not weight:
        store_array(bound_op.op.title, target, weight.copy())
    update_rows(bound_op, [target, *inputs[1:]])
    return target


def _deliver_stored(bound_op: BoundOp, operands: Sequence[Any], results: list[Any], out: Any) -> Any:
    """As the end of `Calls.call`, for results that may be sparse."""
    op = bound_op.op
    for place, result in zip(bound_op.written, results[len(results) - len(bound_op.mutated) :], strict=True):
        target = operands[place]
        if target is not None:
            store_array(op.title, target, result)
    seen = results[: bound_op.visible]
    if out is None:
        return seen[0] if len(seen) == 1 else seen
    for target, result in zip([out] if isinstance(out, Array) else out, seen, strict=False):
        store_array(op.title, target, result)
    return out


def _has_array(params: object) -> bool:
    return bool(arrays_in(params))


def _convert_arrays(op: Op, params: dict[str, Any]) -> None:
    """Replace arrays among the parameters by the values that they hold now: keys of tables of parameters must not change.

    Raises
    ------
    AutogradError
        If one of them is recorded: a parameter is a constant of the graph.
    """
    for name, value in params.items():
        if value.__class__ not in SIMPLE and name in op.params and _has_array(value):
            refuse_cut(f"{op.spoken}: parameter {name}", value, value)
            params[name] = op.params[name].value(value, op.spoken)


def _scalar(op: Op, name: str, params: dict[str, Any]) -> Any:
    param = op.params[name]
    if name in params:
        return param.value(params.pop(name), op.spoken)
    if param.required:
        raise ParameterError(f"{op.spoken}: Required parameter {name} is not presented", None, f"pass {name}=…")
    return param.default


def _context(ctx: Any) -> Device:
    """A context, or MXNet's spelling of one (``"cpu(0)"``)."""
    if isinstance(ctx, str) and ctx.endswith(")"):
        kind, number = ctx[:-1].split("(")
        return interned(kind, int(number))
    return chosen_device(ctx)
