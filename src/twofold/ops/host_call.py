"""The primitive that ``xp.host`` calls: a function of NumPy arrays as a step of programs."""

from dataclasses import dataclass

from ..errors import AutogradError, ShapeError
from ..opdef import Rule, Static, primitive


def _call(np, *arrays, function, types, grad, given):
    found = function(np, *arrays, **dict(given))
    parts = [np.asarray(part) for part in (found if isinstance(found, (tuple, list)) else (found,))]
    # memory for the results is planned before the function runs, so another shape cannot be taken
    if [part.shape for part in parts] != [shape for shape, _ in types]:
        shapes, wanted = (", ".join(map(str, s)) for s in ([p.shape for p in parts], [shape for shape, _ in types]))
        raise ShapeError("xp.host: the function returns shapes that differ from those declared", f"{shapes} for {wanted}", "correct `like`")
    # a library may compute in float64 where float32 was declared; programs rely on the declared types
    parts = [part.astype(np.dtype(dtype), copy=False) for part, (_, dtype) in zip(parts, types, strict=True)]
    return parts if len(types) > 1 else parts[0]


@primitive(reference=_call, host_only=True, outputs=lambda function, types, grad, given: len(types))
def host_call(xp, *arrays, function: Static, types: Static, grad: Static, given: Static):
    """``function(np, *arrays, **given)`` on NumPy arrays: results of the given ``types``, with a given gradient rule.

    Rules write it as ``xp.host``, which describes the parameters.
    """


host_call.type(lambda *arrays, function, types, grad, given: list(types))


@host_call.grad
def _(xp, dout, out, arrays, *, function, grad, given):
    if grad is None:
        what = f"the host function {getattr(function, '__name__', function)!s} has no gradient"
        todo = "use stop_gradient if the result is a constant; an operator of your own gives xp.host a gradient rule"
        raise AutogradError(what, "a gradient that passes through it", todo)
    return grad(xp, dout, out, *arrays, **dict(given))


@dataclass(frozen=True)
class _OfBatch:
    """A function of arrays for a batch of examples. ``flags`` says which arrays have the batch as their first axis."""

    function: Rule
    flags: tuple[bool, ...]
    size: int

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__name__", str(self.function))

    def __call__(self, np, *arrays, **given):
        """The results of the examples, stacked."""
        rows = []
        for k in range(self.size):
            found = self.function(np, *[a[k] if f else a for a, f in zip(arrays, self.flags, strict=True)], **given)
            rows.append(found if isinstance(found, (tuple, list)) else (found,))
        return [np.stack(parts) for parts in zip(*rows, strict=True)]


@host_call.batched
def _(xp, size, flags, *arrays, function, types, grad, given):
    if grad is not None or not size:
        return None  # a gradient rule is one for an example: the batch is a loop of the program
    # one step for all examples
    batches = tuple([((size, *shape), dtype) for shape, dtype in types])
    return xp.host_call(*arrays, function=_OfBatch(function, flags, size), types=batches, grad=None, given=given)


def _product_of_rows(np, x):
    return np.prod(x, axis=-1)


def _product_gradient(xp, dout, out, x):
    return xp.expand_dims(dout * out, -1) / x


@host_call.sample
def _(draw):
    static = {"function": _product_of_rows, "types": (((3,), "float32"),), "grad": _product_gradient, "given": ()}
    return draw(draw.integer((3, 4), 1, 5), gradient=False, **static)
