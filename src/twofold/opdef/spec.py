"""What an operator is: ``Op`` (its declaration and rules) and ``Sig`` (an operator with its parameters fixed).

A ``Sig`` is interned: the same operator, parameters and convention are the same object, and everything caches on it.
"""

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError

if TYPE_CHECKING:
    from .params import Param

Rule = Callable[..., Any]


@dataclass(frozen=True)
class Input:
    """One array input of an operator."""

    name: str
    optional: bool = False
    auxiliary: bool = False

    @property
    def injected(self) -> bool:
        """Whether the front end supplies it: ``rng``, six uint64 words that select a random stream (see ``ops.random_bits``)."""
        return self.name == "rng"


class Op:
    """An operator: its declaration (read from the rule's signature) and the rules attached to it.

    Attributes
    ----------
    name
        The name inside the package; primitives stand under it in the namespace ``xp``.
    names
        The registered name and its aliases, as MXNet's files and front ends know them.
    inputs, variadic
        Array inputs in order; with ``variadic`` the last stands for any number.
    params
        Parameters in registry order; those whose kind is ``runtime`` (``scalars``) are further inputs of a node.
    outputs
        Number of outputs, or a function of the parameters; ``visible`` likewise for those a caller sees.
    primitive
        Part of the closed vocabulary: backends implement it. Other operators are composites, lowered by their rule.
    elementwise, result
        One scalar function over broadcast inputs, and which dtype it gives (see ``graph.infer``).
    alike, real
        Under the LEGACY convention all array inputs must have one dtype; the first must be of floating-point numbers.
    limits
        Its scalars are limits of elements: under the LEGACY convention they do not wrap as other numbers do.
    keeps_shape
        The first result has the first input's shape, whatever that is.
    view
        The result shares its first input's memory when run on arrays.
    recompute
        Backward computes most of what is inside the definition again, instead of keeping it from forward.
    """

    def __init__(self, name: str, rule: Rule, **facts: Any) -> None:
        self.name, self.rule, self.doc = name, rule, rule.__doc__ or ""
        self.names: tuple[str, ...] = facts.pop("names")
        self.inputs: tuple[Input, ...] = facts.pop("inputs")
        self.variadic: bool = facts.pop("variadic")
        self.params: dict[str, Param] = facts.pop("params")
        self.scalars = tuple(p.name for p in self.params.values() if p.kind.runtime)
        self.outputs: int | Callable[..., int] = facts.pop("outputs", 1)
        self.visible: int | Callable[..., int] | None = facts.pop("visible", None)
        self.output_names: tuple[str, ...] = facts.pop("output_names", ())
        self.primitive: bool = facts.pop("primitive", False)
        self.elementwise: bool = facts.pop("elementwise", False)
        self.result: str = facts.pop("result", "promote")
        self.ufunc: str | None = facts.pop("ufunc", None)
        self.c: str | None = facts.pop("c", None)
        self.keeps_shape: bool = facts.pop("keeps_shape", False)
        self.view: bool = facts.pop("view", False)
        self.alike: bool = facts.pop("alike", False)
        self.real: bool = facts.pop("real", False)
        self.limits: bool = facts.pop("limits", False)
        self.dynamic_shape: bool = facts.pop("dynamic_shape", False)
        self.differentiable: bool = facts.pop("differentiable", True)
        self.recompute: bool = facts.pop("recompute", False)
        self.ignores_head: bool = facts.pop("ignores_head", False)
        self.mutates: tuple[str, ...] = facts.pop("mutates", ())
        self.method: bool | str = facts.pop("method", False)
        self.numpy_names: tuple[str, ...] = facts.pop("numpy_names", ())
        self.random: bool = facts.pop("random", False) or any(i.injected for i in self.inputs)
        self.count_param: str | None = facts.pop("count_param", None)
        if facts:
            raise TypeError(f"operator {name}: unknown facts {sorted(facts)}")
        self.training = tuple(p.name for p in self.params.values() if p.kind.name.startswith("the training flag"))
        self.grad_rule: Rule | None = None
        self.type_rule: Rule | None = None
        self.infer_rule: Rule | None = None
        self.dtype_rule: Rule | None = None
        self.infers_results = False
        self.backward_rule: Rule | None = None
        self.samples: list[Rule] = []
        self.sigs: dict[Any, Sig] = {}

    @property
    def auxiliary(self) -> tuple[str, ...]:
        """Names of the inputs that are auxiliary states."""
        return tuple(i.name for i in self.inputs if i.auxiliary)

    def grad(self, rule: Rule) -> Rule:
        """Attach the gradient rule: ``(xp, dout, out, <inputs by name>, *, <params by name>)``, each asked for only if wanted.

        Returns one gradient per array input (a tuple; a single value where there is one input); None means no gradient.
        With several outputs ``dout`` and ``out`` are tuples (``dout`` holds None for an output nothing depends on).
        """
        self.grad_rule = rule
        return rule

    def type(self, rule: Rule) -> Rule:
        """Attach typed inference, for primitives that are not element-wise: ``(*inputs, **params) -> (shape, dtype)``.

        ``inputs`` have ``.shape`` and ``.dtype``; with several outputs it returns a list of pairs.
        """
        self.type_rule = rule
        return rule

    def infer(self, rule: Rule) -> Rule:
        """Attach completion of input shapes: ``(shapes, **params) -> shapes``; unknown shapes are None, unknown sizes too.

        With a second positional argument, ``(shapes, results, **params) -> (shapes, results)``, the rule is told what is known of
        the results' shapes, and completes these too.
        """
        self.infer_rule = rule
        kinds = [p.kind for p in inspect.signature(rule).parameters.values()]
        self.infers_results = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) > 1
        return rule

    def completed(self, shapes: Sequence[Any], results: Sequence[Any], params: Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """(shapes of inputs, shapes of results) as the rule of `infer` completes them; the same where there is none."""
        if self.infer_rule is None:
            return shapes, results
        if self.infers_results:
            return self.infer_rule(shapes, results, **params)
        return self.infer_rule(shapes, **params), results

    def dtypes(self, rule: Rule) -> Rule:
        """Attach the results' dtypes where they are not the operands' nor a parameter ``dtype``: ``(dtypes, **params) -> dtypes``.

        ``dtypes`` has one entry for each array input, None where it is not known yet; so may the list that the rule returns.
        """
        self.dtype_rule = rule
        return rule

    def on_backward(self, rule: Rule) -> Rule:
        """Attach new values of inputs, written when backward runs: ``(xp, out, <inputs by name>, *, <params>) -> {input: value}``."""
        self.backward_rule = rule
        return rule

    def sample(self, rule: Rule) -> Rule:
        """Attach a sample for the generated tests and benchmarks: ``(draw) -> Sample`` (see ``opdef.samples``)."""
        self.samples.append(rule)
        return rule

    def sig(self, legacy: bool = False, /, **params: Any) -> "Sig":
        """The operator with structural parameters fixed, under one calling convention; interned.

        Raises
        ------
        ParameterError
            If a parameter is unknown, missing or not of its kind.
        """
        try:
            found = self.sigs.get((legacy, tuple(params.items())))
        except TypeError:  # an unhashable value, such as a list for a shape
            found = None
        return found or self._new_sig(legacy, params)

    def _new_sig(self, legacy: bool, given: dict[str, Any]) -> "Sig":
        unknown = set(given) - set(self.params)
        if unknown:
            raise ParameterError(
                f"{self.title}: Cannot find argument", ", ".join(sorted(unknown)), f"Possible Arguments: {', '.join(self.params) or 'none'}"
            )
        full = {}
        for name, param in self.params.items():
            if param.kind.runtime:
                continue
            if name in given:
                full[name] = param.value(given[name], self.title)
            elif param.required:
                raise ParameterError(f"{self.title}: Required parameter {name} of {param.kind.name} is not presented", None, "give it")
            else:
                full[name] = param.default
        key = legacy, tuple(full.items())
        sig = self.sigs.get(key) or self.sigs.setdefault(key, Sig(self, full, legacy))
        with contextlib.suppress(TypeError):
            self.sigs[legacy, tuple(given.items())] = sig
        return sig

    @property
    def title(self) -> str:
        """The name in messages: the registered one, or that inside the package."""
        return self.names[0] if self.names else self.name

    def __call__(self, xp: Any, *inputs: Any, **params: Any) -> Any:
        """Run the rule: how one rule uses another operator."""
        return self.rule(xp, *inputs, **params)

    def __repr__(self) -> str:
        return f"<operator {self.title}>"


class Sig:
    """An operator with its structural parameters fixed. ``typed`` maps input nodes to the (interned) typed application.

    ``inline`` is one opaque table for the layer that runs single operations.
    """

    __slots__ = ("count", "inline", "legacy", "op", "params", "typed", "visible")

    def __init__(self, op: Op, params: dict[str, Any], legacy: bool) -> None:
        self.op, self.params, self.legacy = op, params, legacy
        self.typed: dict[Any, Any] = {}
        self.inline: dict[Any, Any] = {}  # the imperative layer's programs by types of operands
        own: int = op.outputs(**params) if callable(op.outputs) else op.outputs
        self.count = own + len(op.mutates)  # new values of mutated inputs are hidden outputs at the end
        seen = op.visible if op.visible is not None else own
        self.visible: int = seen(**params) if callable(seen) else seen

    def __repr__(self) -> str:
        return f"{self.op.name}({', '.join(f'{k}={v}' for k, v in self.params.items())})"


def unregistered(name: str, rule: Rule, inputs: int, outputs: int) -> Sig:
    """An operator that the package makes for itself, of so many arrays or scalars and without a gradient."""
    given = tuple(Input(f"x{k}", optional=True) for k in range(inputs))
    return Op(name, rule, names=(), inputs=given, variadic=False, params={}, outputs=outputs, differentiable=False).sig()
