"""Operators: ``Op`` (a declaration and its rules) and ``BoundOp`` (an operator with its parameters fixed).

A ``BoundOp`` is interned: equal operators, parameters and conventions give the same object, which caches are keyed by.
"""

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal
from weakref import WeakValueDictionary

from ..dtype import FLOATS
from ..errors import ParameterError
from ..signal_handlers import unless_signalled
from ..suggestions import did_you_mean, renamed_argument
from .facets.algebra import Algebra
from .facets.execution import WHOLE, Execution
from .facets.front import Front
from .facets.layout import Layout
from .facets.storage_types import Storage
from .facets.symbolic import Symbolic
from .inputs import Input
from .params import TRAINING, Param, exact, never
from .rules import Attaches, Rule

#: The rule for an element-wise operator's result dtype; see `Op.result`.
ResultDtype = Literal["promote", "float", "bool", "ufunc", "first", "tail", "dtype", "index"]
#: Above that number, an operator forgets its bound operators; those in use stay interned.
MOST_BOUND_OPS = 4096
_INTERNAL, _OF_A_MODULE = (
    re.compile("^_(?:numpy|npi|npx|np)_|^_(?=sample_)|^_cv"),
    re.compile("^_(contrib|image|linalg|random|sparse)_(.+)"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Op:
    """An operator: everything the package knows about it, set where it is declared.

    The fields of `Op` itself are the core, which many parts of the package read; facets have the fields that only some parts read. The
    comment above each field describes it. Decorators such as `opdef.declare.op` accept all fields but the rules as keyword arguments, those
    of facets too; rules are attached by decorators (``@relu.grad``), each at most once.
    """

    # -- identity
    #: The name inside the package, which is a primitive's name in the namespace ``xp``.
    name: str
    #: The definition, ``(xp, <inputs>, *, <params>) -> result(s)``; its signature is the declaration. A primitive's has no body.
    rule: Rule
    #: The registered name and its aliases, as MXNet's files and front ends know them.
    names: tuple[str, ...] = ()

    # -- inputs and parameters, read from the rule's signature
    #: Array inputs in order.
    inputs: tuple[Input, ...] = ()
    #: Whether the last input stands for any number of arrays.
    variadic: bool = False
    #: Parameters in registry order; those whose kind is ``runtime`` (see ``scalars``) are further inputs of a node.
    params: Mapping[str, Param] = field(default_factory=dict)
    #: The parameter in which MXNet's files store the number of variadic inputs.
    count_param: str | None = None
    #: Unknown parameters are ignored although it has parameters, as MXNet does; see `ignores_unknown`.
    unchecked_params: bool = False

    # -- results
    #: Number of outputs, or a function of the parameters.
    outputs: int | Callable[..., int] = 1
    #: Number of outputs that a caller sees (None: all), or a function of the parameters.
    visible: int | Callable[..., int] | None = None
    #: Inputs that get new values, which the rule returns after its results as a dict: names, or positions from the parameters.
    mutates: tuple[str, ...] | Callable[..., tuple[int, ...]] = ()
    #: Result dtype of an element-wise operator: ``promote``, ``float``, ``bool``, ``ufunc``, ``first``, ``tail`` or ``dtype``;
    #: ``index`` for one that returns indices.
    result: ResultDtype = "promote"
    #: The shape of a result depends on the values of the inputs.
    dynamic_shape: bool = False
    #: One of MXNet's NumPy operators (``_np_sum``, ``_npi_add``): its results are those of its rule under the LEGACY convention too.
    numpy: bool = False

    # -- what it computes
    #: Part of the closed vocabulary that backends implement; other operators are composites, lowered by their rule.
    primitive: bool = False
    #: A scalar function of broadcast inputs.
    elementwise: bool = False
    #: Computing an element takes no longer than reading and writing it.
    simple: bool = False
    #: NumPy's ufunc of the same function.
    ufunc: str | None = None
    #: The Python operator that it implements, as the special method's name without underscores: ``add`` for ``__add__``.
    python: str = ""
    #: The result shares its first input's memory when run on arrays; `Layout` describes where its elements are.
    view: bool = False
    #: The same value without its history: it passes no gradient.
    detaches: bool = False
    #: Draws random numbers; true of every operator with an ``rng`` input.
    random: bool = False
    #: Floating-point dtypes it computes in (linear algebra: float32 and float64). Other floats raise a DTypeError; so do integers in a
    #: primitive, except for inputs with ``own_dtype``.
    floats: tuple[str, ...] = FLOATS

    # -- gradients
    #: Whether it has a gradient at all.
    differentiable: bool = True
    #: The gradient rule gives the gradient of the definition, computed in a better way.
    faithful: bool = False
    #: Backward recomputes most values inside the definition, instead of saving them in forward.
    recompute: bool = False
    #: Its gradient rule holds for complex numbers too, by the convention of `graph.gradient`; see `differentiates_complex`.
    complex_gradient: bool = False
    #: The gradient does not depend on the head gradient (losses).
    ignores_head: bool = False
    #: Its gradient rule may not be linear in the head gradient, so that forward mode cannot be derived from it.
    reverse_only: bool = False
    #: It adds to the head gradient, or user code may, so that it has a gradient even without one.
    adds_gradient: bool = False

    # -- rules, attached by the decorators below
    #: ``type``: typed inference, for primitives that are not element-wise, ``(*inputs, **params) -> (shape, dtype)``. ``inputs`` have
    #: ``.shape`` and ``.dtype``; with several outputs it returns a list of pairs.
    type_rule: Rule | None = None
    #: ``grad``: the gradient, ``(xp, dout, out, <inputs by name>, *, <params by name>)``, all arguments optional. Returns one gradient per
    #: array input (a tuple, or a single value for one input); None means no gradient. With several outputs ``dout`` and ``out``
    #: are tuples (``dout`` contains None for an output on which nothing depends).
    grad_rule: Rule | None = None
    #: ``on_backward``: new values of inputs, written when backward runs, ``(xp, out, <inputs by name>, *, <params>) -> {input: value}``.
    #: A rule with a keyword argument ``tracked`` receives which inputs have a gradient.
    backward_rule: Rule | None = None
    #: ``draws``: whether it reads its random key, ``(**params)``; it always does without this rule. Otherwise it gets none.
    draws_rule: Rule | None = None
    #: ``sample``: samples for the generated tests and benchmarks, ``(draw) -> Sample`` (see `opdef.samples`); there may be several rules.
    samples: tuple[Rule, ...] = ()

    # -- facets
    layout: Layout = Layout()  # noqa: RUF009 -- frozen, so operators may share it, as all those below
    algebra: Algebra = Algebra()  # noqa: RUF009
    execution: Execution = Execution()  # noqa: RUF009
    symbolic: Symbolic = Symbolic()  # noqa: RUF009
    storage: Storage = Storage()  # noqa: RUF009
    front: Front = Front()  # noqa: RUF009

    #: The bound operators that were requested last, by parameters in their given form; at most `MOST_BOUND_OPS`.
    bound_ops: "dict[object, BoundOp]" = field(default_factory=dict, init=False)
    #: All bound operators that are in use, by canonical parameters. Weak: a node, view or program that holds one keeps it unique, and
    #: a loop over ``x[k]`` does not keep one for every ``k``.
    interned: "WeakValueDictionary[object, BoundOp]" = field(default_factory=WeakValueDictionary, init=False)

    # the decorators: each is described at the field that it fills
    type = Attaches("type_rule")
    grad = Attaches("grad_rule")
    on_backward = Attaches("backward_rule")
    draws = Attaches("draws_rule")
    simplify = Attaches("simplify_rule", "algebra")
    logarithm = Attaches("log_rule", "algebra")
    stable = Attaches("stable_rule", "algebra")
    batched = Attaches("batch_rule", "algebra")
    apart = Attaches("apart_rule", "algebra")
    strides = Attaches("strides_rule", "layout")
    put_back = Attaches("put_back_rule", "layout")
    channels_last = Attaches("channels_rule", "layout")
    cost = Attaches("cost_rule", "execution")
    definition = Attaches("definition_rule", "execution")
    cases = Attaches("case_rule", "execution")
    infer = Attaches("infer_rule", "symbolic")
    dtypes = Attaches("dtype_rule", "symbolic")
    assumes = Attaches("assumed_rule", "symbolic")
    onnx = Attaches("onnx_rule", "symbolic")
    shown = Attaches("shown_rule", "symbolic")
    sparse = Attaches("sparse_rule", "storage")
    spare_rows = Attaches("spare_rows_rule", "storage")
    rows = Attaches("rows_rule", "storage")
    gradient_stypes = Attaches("gradient_stypes_rule", "storage")

    def sample(self, rule: Rule) -> Rule:
        """Attach a sample; see `samples`."""
        object.__setattr__(self, "samples", (*self.samples, rule))
        return rule

    def __post_init__(self) -> None:
        # the class is frozen, so a derived field is set past its own `__setattr__`
        if any(i.injected for i in self.inputs):
            object.__setattr__(self, "random", True)

    # facts derived from the declaration

    @cached_property
    def doc(self) -> str:
        """The rule's docstring."""
        return self.rule.__doc__ or ""

    @cached_property
    def title(self) -> str:
        """The name in symbols' JSON: the registered name, or else the internal one."""
        return self.names[0] if self.names else self.name

    @cached_property
    def spoken(self) -> str:
        """The name in messages, as users write it: ``image.resize`` for ``_image_resize``, ``add`` for ``_npi_add``."""
        # the longer prefixes of MXNet's names say in which module a function is
        return _OF_A_MODULE.sub(r"\1.\2", _INTERNAL.sub("", self.title))

    @cached_property
    def arrays(self) -> "tuple[Input, ...]":
        """The inputs that a caller passes: all but a random generator's key."""
        return tuple(i for i in self.inputs if not i.injected)

    @cached_property
    def is_eager(self) -> bool:
        """Whether its rule runs on arrays only, because the result's shape depends on values (see `imperative.dynamic_shapes`)."""
        return self.dynamic_shape and not self.execution.run_by_program

    @cached_property
    def method_name(self) -> str:
        """The name of its method; empty if it has none."""
        method = self.front.method
        return method if isinstance(method, str) else self.title if method and self.names else ""

    @cached_property
    def scalars(self) -> tuple[str, ...]:
        """Names of the run-time parameters."""
        return tuple(p.name for p in self.params.values() if p.kind.runtime)

    @cached_property
    def training(self) -> tuple[str, ...]:
        """Names of the parameters that are training flags: one, or none."""
        return tuple(p.name for p in self.params.values() if p.kind is TRAINING)

    @cached_property
    def auxiliary(self) -> tuple[str, ...]:
        """Names of the inputs that are auxiliary states."""
        return tuple(i.name for i in self.inputs if i.auxiliary)

    @cached_property
    def state_names(self) -> tuple[str, ...]:
        """Names of the inputs that get new values; none of a variadic operator's (see `BoundOp.written`)."""
        return () if callable(self.mutates) else self.mutates

    @property
    def differs_from_definition(self) -> bool:
        """Whether its gradient is not that of its definition."""
        return not self.differentiable or (self.grad_rule is not None and not self.faithful)

    @property
    def starts_gradient(self) -> bool:
        """Whether it has a gradient even if nothing passes one to its results."""
        return self.ignores_head or self.adds_gradient

    @property
    def differentiates_complex(self) -> bool:
        """Whether gradients with respect to complex numbers pass through it correctly, or not at all."""
        return self.complex_gradient or self.algebra.moves or self.detaches

    @property
    def writes_through(self) -> bool:
        """Whether writing to the view changes the array that it is a view of."""
        return self.detaches or self.layout.put_back_rule is not None

    # use

    def check_domain(self, values: Mapping[str, Any]) -> None:
        """Refuse numbers outside of `Front.domain`, which must not be None, among the parameters' values.

        Raises
        ------
        ParameterError
            If there are any.
        """
        domain = self.front.domain
        assert domain is not None
        numbers = {name: values[name] for name in inspect.signature(domain.holds).parameters}
        if not domain.holds(**numbers):
            given = ", ".join(f"{name}={value}" for name, value in numbers.items())
            raise ParameterError(f"{self.spoken}: {domain.text}", given, "pass such numbers")

    def new_states(self, xp: Any, out: Sequence[Any], inputs: Sequence[Any], params: Mapping[str, Any], tracked: Sequence[bool]) -> Any:
        """The result of the rule of `on_backward`: new values by input.

        Parameters
        ----------
        xp, out, inputs, params
            See `on_backward`.
        tracked
            For each input, whether it has a gradient.
        """
        rule, asked = self.backward_rule, {"tracked": tracked} if self._asks_tracked else {}
        assert rule is not None
        return rule(xp, out, *inputs, **asked, **params)

    @cached_property
    def _asks_tracked(self) -> bool:
        return self.backward_rule is not None and "tracked" in inspect.signature(self.backward_rule).parameters

    def bind(self, legacy: bool = False, /, **params: object) -> "BoundOp":
        """The operator with structural parameters fixed, under one calling convention; interned.

        Raises
        ------
        ParameterError
            If a parameter is unknown, missing or of the wrong kind.
        """
        try:
            # most calls repeat parameters: their given form, before parsing, is a key
            found = self.bound_ops.get((legacy, tuple(params.items())))
        except unless_signalled(TypeError):  # an unhashable value, such as a list for a shape
            found = None
        return found or self._bind_checked(legacy, params)

    @cached_property
    def ignores_unknown(self) -> bool:
        """Whether MXNet ignores parameters that the operator does not have: for want of any, it parses none."""
        return self.unchecked_params or (not set(self.params) - set(self.training) and self.count_param is None)

    @cached_property
    def ambiguous(self) -> tuple[str, ...]:
        """Names of the structural parameters for which equal values may mean different things."""
        return tuple(p.name for p in self.params.values() if p.kind.ambiguous is not never)

    def is_plain(self, given: Mapping[str, object]) -> bool:
        """Whether these parameters, in their given form, may be keys of a table: equal parameters make the same bound operator."""
        return not any(self.params[name].kind.ambiguous(given[name]) for name in self.ambiguous if name in given)

    def _bind_checked(self, legacy: bool, given: dict[str, object]) -> "BoundOp":
        """The bound operator for parameters that were not seen before in this form, or are ambiguous: those are looked up by `exact`."""
        values = tuple(given.items())
        # -0.0 == 0 and 1 == True: where that matters the key has classes and bits
        key = (legacy, values) if self.is_plain(given) else (legacy, exact(values))
        try:
            found = self.bound_ops.get(key)
        except unless_signalled(TypeError):
            return self._new_bound_op(legacy, given)
        if found is None:
            found = self._new_bound_op(legacy, given)
            if len(self.bound_ops) >= MOST_BOUND_OPS:
                self.bound_ops.clear()
            self.bound_ops[key] = found
        return found

    def no_parameter(self, name: str) -> ParameterError:
        """The error for a parameter that the operator does not have."""
        known = [*self.params, *(i.name for i in self.inputs)]
        todo = did_you_mean(name, known, renamed_argument(name, known) or f"Possible Arguments: {', '.join(self.params) or 'none'}")
        return ParameterError(f"{self.spoken}: Cannot find argument", name, todo)

    def _new_bound_op(self, legacy: bool, given: dict[str, object]) -> "BoundOp":
        unknown = [key for key in given.keys() - self.params.keys() if not is_attribute(key)]
        if unknown:
            raise self.no_parameter(min(unknown))
        full = {}
        for name, param in self.params.items():
            if param.kind.runtime:
                continue
            if name in given:
                full[name] = param.value(given[name], self.spoken)
            elif param.required:
                raise ParameterError(
                    f"{self.spoken}: Required parameter {name} of {param.kind.name} is not presented", None, f"pass {name}=…"
                )
            else:
                full[name] = param.default
        values = tuple(full.values())
        # both conventions would give the same results: they share programs
        legacy = legacy and not self.numpy
        # one object for all spellings of the same parameters, such as 2 and (2,) for a shape
        return self.interned.setdefault((legacy, exact(values) if self.ambiguous else values), BoundOp(self, full, legacy))

    def __call__(self, xp: Any, *inputs: Any, **params: Any) -> Any:
        """Apply the operator on a namespace: how one rule uses another operator."""
        if self.primitive:
            return getattr(xp, self.name)(*inputs, **params)
        return xp.composite(self, inputs, params)

    def __repr__(self) -> str:
        return f"<operator {self.title}>"


def is_attribute(key: str) -> bool:
    """Whether MXNet's operators take a keyword that is no parameter: the name, or another attribute, of a node."""
    return key == "name" or (key.startswith("__") and key.endswith("__"))


class BoundOp:
    """An operator with its structural parameters fixed. ``typed`` maps input nodes to the (interned) typed application.

    ``inline`` is an opaque table for the layer that runs single operations, and ``is_listed`` tells whether the graph's tables know it.
    """

    __slots__ = (
        "__weakref__",
        "count",
        "draws",
        "gives_sparse",
        "inline",
        "is_listed",
        "largest",
        "legacy",
        "mutated",
        "op",
        "params",
        "typed",
        "visible",
    )

    def __init__(self, op: Op, params: dict[str, Any], legacy: bool) -> None:
        self.op, self.params, self.legacy = op, params, legacy
        self.typed: dict[Any, Any] = {}
        self.largest: dict[Any, int] = {}  # elements of its largest result, likewise
        self.inline: dict[Any, Any] = {}  # the imperative layer's programs by operand types
        self.is_listed = False
        #: Whether it reads a random key, which the front end then supplies.
        self.draws: bool = op.random and (op.draws_rule is None or op.draws_rule(**params))
        own: int = op.outputs(**params) if callable(op.outputs) else op.outputs
        #: The inputs that get new values, as the rule names them: positions, or names (see `written`).
        self.mutated: tuple[Any, ...] = op.mutates(**params) if callable(op.mutates) else op.mutates
        self.count = own + len(self.mutated)  # new values of mutated inputs are hidden outputs at the end
        seen = op.visible if op.visible is not None else own
        self.visible: int = seen(**params) if callable(seen) else seen
        #: Whether a parameter asks for a sparse result: the operator then follows its rules for sparse storage even on dense operands.
        self.gives_sparse = op.storage.stored_as != "" and params[op.storage.stored_as] not in (None, "default")

    @property
    def written(self) -> tuple[int, ...]:
        """Positions of the inputs that get new values."""
        if callable(self.op.mutates):
            return self.mutated
        names = [i.name for i in self.op.inputs]
        return tuple(names.index(name) for name in self.mutated)

    def __repr__(self) -> str:
        return f"{self.op.name}({', '.join(f'{k}={v}' for k, v in self.params.items())})"


_FACETS = {"layout": Layout, "algebra": Algebra, "execution": Execution, "symbolic": Symbolic, "storage": Storage, "front": Front}
_FACET_OF = {f.name: name for name, facet in _FACETS.items() for f in fields(facet)}


def in_facets(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of an operator as the fields of `Op`: those of facets gathered in the facets."""
    core, gathered = dict[str, Any](), defaultdict[str, dict[str, Any]](dict)
    for name, value in facts.items():
        (gathered[_FACET_OF[name]] if name in _FACET_OF else core)[name] = value
    return core | {name: _FACETS[name](**own) for name, own in gathered.items()}


def unregistered(name: str, rule: Rule, inputs: int, outputs: int) -> BoundOp:
    """An internal operator with the given number of arrays or scalars and without a gradient."""
    given = tuple(Input(f"x{k}", optional=True) for k in range(inputs))
    return Op(name, rule, inputs=given, outputs=outputs, differentiable=False, execution=Execution(waits_from=WHOLE)).bind()
