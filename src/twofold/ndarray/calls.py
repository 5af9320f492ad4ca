"""Calls of operators by MXNet's functions, on arrays of one class: operands and parameters checked, results delivered."""

from collections.abc import Sequence
from typing import Any

from ..device import Device
from ..dtype import dtype_name
from ..errors import DTypeError, ParameterError, ShapeError
from ..imperative.cell import Value, new, wrap
from ..imperative.invoke import device_of, invoke, type_of
from ..imperative.record import tls
from ..opdef.frontend import Fast
from ..opdef.spec import Op, Sig


class Calls:
    """What generated functions call, for one array class and under its calling convention.

    Parameters
    ----------
    cls
        The class of operands and results.
    """

    def __init__(self, cls: Any) -> None:
        self.cls, self._legacy = cls, cls._legacy
        self.fast = Fast(
            self._run, lambda op, params: self._sig_of(op, {k: v for k, v in params.items() if k in op.params}), lambda: tls.training
        )

    def call(self, op: Op, arrays: Sequence[Any], params: dict[str, Any], out: Any = None) -> Any:
        """Run an operator.

        Parameters
        ----------
        op, arrays, params
            What to apply to what; among the parameters may be ``ctx``, the device of a result without operands.
        out
            Array (or list of arrays) to write the results into.
        """
        ctx = params.pop("ctx", None)
        device = None if ctx is None or ctx == "" else _context(ctx)
        operands = self._operands(op, arrays, params)
        scalars = [_scalar(op, name, params) for name in op.scalars]
        sig = self._sig_of(op, params)
        contents = invoke(sig, [*operands, *scalars], device)
        if op.mutates:
            for name, new in zip(op.mutates, contents[len(contents) - len(op.mutates) :], strict=True):
                target = operands[[i.name for i in op.inputs].index(name)]
                if target is not None:
                    target._rebind(new)
        return self.deliver(op, contents[: sig.visible], out)

    def _run(self, sig: Sig, operands: tuple[Any, ...], *scalars: Any) -> Any:
        """The visible results of an operator whose parameters are known."""
        cls = self.cls
        for a in operands:
            if a.__class__ is not cls and a is not None and not isinstance(a, cls):
                raise self._no_array(sig.op, a)
        contents = invoke(sig, (*operands, *scalars) if scalars else operands)
        if sig.visible == 1:
            result = new(cls)
            result._v = contents[0]
            return result
        return [wrap(self.cls, c) for c in contents[: sig.visible]]

    def _sig_of(self, op: Op, params: dict[str, Any]) -> Sig:
        given = dict.fromkeys(op.training, tls.training) | params
        dtype = given.get("dtype")
        if dtype is not None and dtype.__class__ is not str:  # NumPy's classes and dtypes denote one too
            given["dtype"] = dtype_name(dtype)
        return op.sig(self._legacy, **given)

    def _no_array(self, op: Op, given: Any) -> DTypeError:
        name = self.cls.__name__
        made = "mx.nd.array" if self._legacy else "mx.np.array"
        return DTypeError(f"{op.title}: the operands must have {name} type", type(given).__name__, f"make one with {made}")

    def _operands(self, op: Op, arrays: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        """One operand per array input, None where left out.

        Raises
        ------
        ParameterError
            If a required array is missing, or their given number is wrong.
        DTypeError
            If an operand is no array of the class.
        """
        for a in arrays:
            if a is not None and not isinstance(a, self.cls):
                raise self._no_array(op, a)
        if op.variadic:
            count = params.pop(op.count_param, len(arrays)) if op.count_param is not None else len(arrays)
            if int(count) != len(arrays):
                raise ParameterError(
                    f"{op.title}: {op.count_param} is not the number of arrays", f"{count} for {len(arrays)}", "leave it out"
                )
            return list(arrays)
        names = [i for i in op.inputs if not i.injected]
        for i, a in zip(names, arrays, strict=True):
            if a is None and not i.optional:
                raise ParameterError(f"{op.title}: the array {i.name} is missing", None, f"give {', '.join(n.name for n in names)}")
        return list(arrays)

    def deliver(self, op: Op, contents: list[Any], out: Any) -> Any:
        """Results as arrays: a single one, a list of several, or written into ``out``.

        Raises
        ------
        ShapeError, DTypeError
            If an array in ``out`` has another shape or dtype than its result.
        """
        if out is None:
            arrays = [wrap(self.cls, c) for c in contents]
            return arrays[0] if len(arrays) == 1 else arrays
        targets = out if isinstance(out, (list, tuple)) else [out]
        for target, result in zip(targets, contents, strict=False):
            shape, dtype = type_of(result)
            if target.shape != shape:
                raise ShapeError(
                    f"{op.title}: out has another shape than the result", f"{target.shape} for {shape}", "give an array of that shape"
                )
            if target._dtype != dtype:
                raise DTypeError(
                    f"{op.title}: out has another dtype than the result", f"{target._dtype} for {dtype}", "give an array of that dtype"
                )
            self._write(target, result)
        return out

    def _write(self, target: Any, new: Any) -> None:
        """Put a result where an array is: its content is bound anew, unless others see its memory."""
        v = target._v
        if type(target)._root is not None or (v.__class__ is Value and v.pinned) or device_of(v) is not device_of(new):
            target[...] = wrap(self.cls, new)
        else:
            target._rebind(new)


def _scalar(op: Op, name: str, params: dict[str, Any]) -> Any:
    param = op.params[name]
    if name in params:
        return param.value(params.pop(name), op.title)
    if param.required:
        raise ParameterError(f"{op.title}: Required parameter {name} is not presented", None, "give it")
    return param.default


def _context(ctx: Any) -> Device:
    """A context, or MXNet's spelling of one (``"cpu(0)"``)."""
    if isinstance(ctx, str) and ctx.endswith(")"):
        kind, number = ctx[:-1].split("(")
        return Device(kind, int(number))
    return Device(ctx)
