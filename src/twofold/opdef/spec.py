"""What an operator is: ``Op`` (its declaration and rules) and ``BoundOp`` (an operator with its parameters fixed).

A ``BoundOp`` is interned: equal operators, parameters and conventions give the same object, which caches are keyed by.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal
from weakref import WeakValueDictionary

from ..dtype import FLOATS
from ..errors import OperatorError, ParameterError
from .inputs import Input
from .params import TRAINING, Param, exact, never
from .quantized_form import Quantizes

Rule = Callable[..., Any]
#: What an element-wise operator's result dtype is; see `Op.result`.
ResultDtype = Literal["promote", "float", "bool", "ufunc", "first", "tail", "dtype", "index"]
#: Above that number, an operator forgets its bound operators; those in use stay interned.
MOST_BOUND_OPS = 4096


@dataclass(frozen=True, eq=False, repr=False)
class Op:
    """An operator: everything the package knows about it, set where it is declared.

    The comment above each field describes it; decorators such as `opdef.declare.op` accept all of them as keyword arguments. The rules at
    the end are attached by decorators (``@relu.grad``), each at most once.
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
    #: The names of the outputs in symbols; empty for ``output``, ``output0`` …
    output_names: tuple[str, ...] = ()
    #: Inputs that get new values, which the rule returns after its results as a dict: names, or positions from the parameters.
    mutates: tuple[str, ...] | Callable[..., tuple[int, ...]] = ()
    #: Tuples of numbers that imperative calls pass as float32 arrays after the inputs, so that a schedule does not recompile.
    numbers: tuple[str, ...] = ()
    #: A parameter which if False means that the result is multiplied with what ``out`` contains.
    starts_anew: str = ""
    #: Result dtype of an element-wise operator: ``promote``, ``float``, ``bool``, ``ufunc``, ``first``, ``tail`` or ``dtype``;
    #: ``index`` for one that returns indices.
    result: ResultDtype = "promote"
    #: The first result has the first input's shape, whatever that is; with names, that of each of these inputs.
    keeps_shape: bool | tuple[str, ...] = False
    #: Operands of this element-wise operator do not broadcast: their shapes must be equal.
    equal_shapes: bool = False
    #: The shape of a result depends on the values of the inputs.
    dynamic_shape: bool = False

    # -- how it computes
    #: An adapter may write the result over an operand: it reads all operands of an element first.
    may_overwrite: bool = True
    #: Part of the closed vocabulary that backends implement; other operators are composites, lowered by their rule.
    primitive: bool = False
    #: A primitive that programs run themselves (loops, user code, taking one of several results): no adapter implements it.
    run_by_program: bool = False
    #: A scalar function of broadcast inputs.
    elementwise: bool = False
    #: Compares two numbers by value, however large an integer is.
    compares: bool = False
    #: The smallest integer right operand for which array libraries agree: no divisor 0, no negative power of an integer.
    least_right: int | None = None
    #: NumPy's ufunc of the same function.
    ufunc: str | None = None
    #: Its C text, such as ``"expf({0})"``; every element-wise primitive has one, so that it can join a fused kernel.
    c: str | None = None
    #: What a primitive computes, ``(np, <inputs>, *, <params>)`` over NumPy's functions: the default implementation of every adapter.
    #: It may return other libraries' arrays where ``np`` is a library with NumPy's functions. See `opdef.declare.primitive`.
    reference: Rule | None = None
    #: The reference takes NumPy arrays only, so adapters copy their arrays to the host for it.
    host_only: bool = False
    #: Floating-point dtypes it computes in (linear algebra: float32 and float64). Other floats raise a DTypeError; so do integers in a
    #: primitive, except for inputs with ``own_dtype``.
    floats: tuple[str, ...] = FLOATS
    #: The result shares its first input's memory when run on arrays.
    view: bool = False
    #: A view that keeps the order of elements: that of an array in row-major order is in row-major order too.
    keeps_order: bool = False
    #: A view with the axes in the order of its parameter ``axes``.
    permutes: bool = False
    #: The key with which NumPy's indexing gives this view, from the parameters.
    selects: Callable[..., Any] | None = None
    #: The same value without its history: it passes no gradient.
    detaches: bool = False
    #: Python's function of the same name: applied to operands that are all Python scalars, when a graph is built; where it returns None,
    #: the operation stays.
    fold: Callable[..., float | None] | None = None
    #: Every element of the result is an element of the first input.
    moves: bool = False
    #: An adapter's result is in row-major order (C-contiguous), as every element-wise primitive's is.
    packed: bool = False
    #: Never part of a fused kernel on the host: it runs at once if its operands are ready, so that small results are not deferred.
    alone: bool = False
    #: Of its first input it reads no more elements than its result has: that input does not wait for its size, if it is ready.
    picks: bool = False
    #: An operation on ready arrays is deferred from this many times the size from which element-wise ones are (see `imperative.dispatch`).
    waits_from: int = 1
    #: Computing an element takes no longer than reading and writing it.
    simple: bool = False
    #: May be part of a fused kernel, as a reduction over its last axis.
    row_reduction: bool = False
    #: Which inputs of a convolution are images (n, c, d…), rather than weights.
    images: tuple[int, ...] = ()
    #: If the operands are images, so is the result.
    gives_image: bool = True
    #: The method that it calls on its first input, a user's object.
    user_method: str = ""
    #: Draws random numbers; true of every operator with an ``rng`` input.
    random: bool = False
    #: An update (weight, gradient, states …) that with a row-sparse gradient reads and writes its rows only, unless the parameter
    #: ``lazy_update`` is false; ``"sparse"``: if the weight is row-sparse too.
    lazy: bool | Literal["sparse"] = False

    #: Of which operator it is the 8-bit form, and how it takes its place.
    quantizes: Quantizes | None = None

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

    # -- the LEGACY convention (``nd``, ``sym``)
    #: For operands of one dtype NumPy's result is also that convention's, even for integers: in their dtype, wrapped.
    wraps: bool = False
    #: Its arithmetic is not NumPy's: x % 0 is 0, and negative powers of integers are 0; `symbol` names the operator that has it.
    legacy_differs: bool = False
    #: All array inputs must have one dtype.
    alike: bool = False
    #: The first input must be floating-point.
    real: bool = False
    #: Its scalars are limits on elements, so they saturate where other scalars wrap.
    limits: bool = False
    #: One of MXNet's NumPy operators (``_np_sum``, ``_npi_add``): its results are those of its rule under this convention too.
    numpy: bool = False

    # -- front ends
    #: A method of arrays and symbols too: True under its registered name, or the method's name.
    method: bool | str = False
    #: Whether symbols have the method too.
    symbol_method: bool = True
    #: The Python operator that it implements, as the special method's name without underscores: ``add`` for ``__add__``.
    python: str = ""
    #: That method of arrays is generated with a short path for small operands in host memory.
    short_path: bool = False
    #: Names under which ``np`` has it.
    numpy_names: tuple[str, ...] = ()
    #: The name under which ``npx`` has it, if no registered name begins with ``_npx_``.
    npx_name: str = ""
    #: The registered operator that stands for a primitive without names in symbols; or three of them, for two arrays, an array and a
    #: scalar, a scalar and an array.
    symbol: tuple[str] | tuple[str, str, str] | None = None
    #: Parameters of that operator, from those of the primitive; None: the same.
    symbol_params: Rule | None = None
    #: Of MXNet's many operators of one formula: which formula, and on what (``pair``, ``broadcast``, ``scalar``, ``reversed``).
    variant: tuple[str, str] | None = None
    #: The parameter that names the storage type of its result in symbols.
    stored_as: str = ""
    #: How a drawing of a network shows it: ``layer``, ``activation``, ``norm``, ``pooling`` or ``shape``.
    drawn_as: str = ""
    #: The text below its name in a drawing: parameters in braces, each with its text if it is not given, ``{stride|1}``.
    label: str = ""

    # -- rules, attached by the decorators below
    #: See `grad`.
    grad_rule: Rule | None = None
    #: See `type`.
    type_rule: Rule | None = None
    #: See `infer`.
    infer_rule: Rule | None = None
    #: See `dtypes`.
    dtype_rule: Rule | None = None
    #: See `assumes`.
    assumed_rule: Rule | None = None
    #: See `on_backward`.
    backward_rule: Rule | None = None
    #: See `simplify`.
    simplify_rule: Rule | None = None
    #: See `logarithm`.
    log_rule: Rule | None = None
    #: See `stable`.
    stable_rule: Rule | None = None
    #: See `channels_last`.
    channels_rule: Rule | None = None
    #: See `strides`.
    strides_rule: Rule | None = None
    #: See `put_back`.
    put_back_rule: Rule | None = None
    #: See `cost`.
    cost_rule: Rule | None = None
    #: See `storage`.
    storage_rule: Rule | None = None
    #: See `spare_rows`.
    spare_rows_rule: Rule | None = None
    #: See `rows`.
    rows_rule: Rule | None = None
    #: See `gradient_stypes`.
    gradient_stypes_rule: Rule | None = None
    #: See `onnx`.
    onnx_rule: Rule | None = None
    #: See `sample`.
    samples: tuple[Rule, ...] = ()
    #: See `cases`.
    case_rule: Rule | None = None

    #: The last bound operators asked for, by parameters as they were given; at most `MOST_BOUND_OPS`.
    bound_ops: "dict[Any, BoundOp]" = field(default_factory=dict, init=False)
    #: All bound operators that are in use, by canonical parameters. Weak: a node, view or program that holds one keeps it unique, and
    #: a loop over ``x[k]`` does not keep one for every ``k``.
    interned: "WeakValueDictionary[Any, BoundOp]" = field(default_factory=WeakValueDictionary, init=False)

    def __post_init__(self) -> None:
        if any(i.injected for i in self.inputs):
            object.__setattr__(self, "random", True)

    # what follows from the declaration

    @cached_property
    def doc(self) -> str:
        """The rule's docstring."""
        return self.rule.__doc__ or ""

    @cached_property
    def title(self) -> str:
        """The name in messages: the registered name, or else the internal one."""
        return self.names[0] if self.names else self.name

    @cached_property
    def arrays(self) -> "tuple[Input, ...]":
        """The inputs that a caller passes: all but a random generator's key."""
        return tuple(i for i in self.inputs if not i.injected)

    @cached_property
    def is_eager(self) -> bool:
        """Whether its rule runs on arrays only, because the result's shape depends on values (see `imperative.dynamic_shapes`)."""
        return self.dynamic_shape and not self.run_by_program

    @cached_property
    def method_name(self) -> str:
        """The name of its method; empty if it has none."""
        return self.method if isinstance(self.method, str) else self.title if self.method and self.names else ""

    @cached_property
    def scalars(self) -> tuple[str, ...]:
        """Names of the run-time parameters."""
        return tuple(p.name for p in self.params.values() if p.kind.runtime)

    @cached_property
    def training(self) -> tuple[str, ...]:
        """Name of the parameter that is the training flag, or None."""
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
    def differentiates_complex(self) -> bool:
        """Whether gradients with respect to complex numbers pass through it correctly, or not at all."""
        return self.complex_gradient or self.moves or self.detaches

    @property
    def writes_through(self) -> bool:
        """Whether writing to the view changes the array that it is a view of."""
        return self.detaches or self.put_back_rule is not None

    @cached_property
    def infers_results(self) -> bool:
        """Whether the rule of `infer` accepts what is known about the results' shapes."""
        if self.infer_rule is None:
            return False
        kinds = [p.kind for p in inspect.signature(self.infer_rule).parameters.values()]
        return kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) > 1

    # rules

    def _attach(self, field_name: str, rule: Rule) -> Rule:
        """Add a rule to the declaration, once; otherwise an `Op` is frozen."""
        if getattr(self, field_name) is not None:
            raise OperatorError(
                f"{self.title}: {field_name} is set already", repr(rule), "attach a rule once, where the operator is declared"
            )
        object.__setattr__(self, field_name, rule)
        return rule

    def grad(self, rule: Rule) -> Rule:
        """Attach the gradient rule: ``(xp, dout, out, <inputs by name>, *, <params by name>)``, all arguments optional.

        Returns one gradient per array input (a tuple, or a single value for one input); None means no gradient.
        With several outputs ``dout`` and ``out`` are tuples (``dout`` contains None for an output on which nothing depends).
        """
        return self._attach("grad_rule", rule)

    def type(self, rule: Rule) -> Rule:
        """Attach typed inference, for primitives that are not element-wise: ``(*inputs, **params) -> (shape, dtype)``.

        ``inputs`` have ``.shape`` and ``.dtype``; with several outputs it returns a list of pairs.
        """
        return self._attach("type_rule", rule)

    def infer(self, rule: Rule) -> Rule:
        """Attach inference of input shapes: ``(shapes, **params) -> shapes``; unknown shapes and sizes are None.

        With a second positional argument, ``(shapes, results, **params) -> (shapes, results)``, the rule receives what is known about the
        results' shapes, and completes them too.
        """
        return self._attach("infer_rule", rule)

    def dtypes(self, rule: Rule) -> Rule:
        """Attach the results' dtypes, if they are neither the operands' nor a parameter ``dtype``: ``(dtypes, **params) -> dtypes``.

        ``dtypes`` has one entry per array input, None if not known yet; the list that the rule returns may contain None too.
        """
        return self._attach("dtype_rule", rule)

    def assumes(self, rule: Rule) -> Rule:
        """Attach dtypes of a symbol's inputs, if nothing else says them: ``(names, **params) -> dtypes``, None where nothing is assumed."""
        return self._attach("assumed_rule", rule)

    def cost(self, rule: Rule) -> Rule:
        """Attach the number of multiplications and additions of a product or convolution: ``(result, *inputs) -> count``."""
        return self._attach("cost_rule", rule)

    def on_backward(self, rule: Rule) -> Rule:
        """Attach new values of inputs, written when backward runs: ``(xp, out, <inputs by name>, *, <params>) -> {input: value}``.

        A rule with a keyword argument ``tracked`` receives which inputs have a gradient.
        """
        return self._attach("backward_rule", rule)

    def simplify(self, rule: Rule) -> Rule:
        """Attach algebra that is exact in floating point: ``(xp, node) -> node``, None if there is nothing simpler.

        ``xp`` builds nodes and answers questions about them (`graph.rewrite.Simplifier`); the operands of ``node`` are simplified.
        """
        return self._attach("simplify_rule", rule)

    def logarithm(self, rule: Rule) -> Rule:
        """Attach a formula for the result's logarithm without overflow: ``(xp, node) -> node``, None if no formula is known.

        ``xp`` provides the operands' logarithms (`graph.logarithms.Logarithms`). Operators with ``moves`` need no rule.
        """
        return self._attach("log_rule", rule)

    def stable(self, rule: Rule) -> Rule:
        """Attach a formula that replaces the operator if it might overflow: ``(xp, node) -> node``, None if it cannot.

        ``xp`` is as for `logarithm`, with the formulas of `graph.stabilise.Stabiliser`.
        """
        return self._attach("stable_rule", rule)

    def channels_last(self, rule: Rule) -> Rule:
        """Attach the parameters that change for images (n, d…, c): ``(last, *inputs, **params) -> params``, None if there is no such form.

        ``last`` moves item 1 of a sequence to the end. Element-wise operators need no rule.
        """
        return self._attach("channels_rule", rule)

    def strides(self, rule: Rule) -> Rule:
        """Attach the memory layout of a view: ``(view, **params) -> view``, None if the operation must copy.

        ``view`` is an `imperative.strided_view.StridedView`.
        """
        return self._attach("strides_rule", rule)

    def put_back(self, rule: Rule) -> Rule:
        """Attach how a write through a view reaches the viewed array: ``(shape of that array, **params) -> bound_op``.

        The bound operator is applied to the view's new contents, or to the array and those contents if it takes two arrays. A view
        without the rule is read-only.
        """
        return self._attach("put_back_rule", rule)

    def storage(self, rule: Rule) -> Rule:
        """Attach how sparse operands are treated: ``(xp, dense, *inputs, **params) -> result``, None to make them dense, with a warning."""
        return self._attach("storage_rule", rule)

    def spare_rows(self, rule: Rule) -> Rule:
        """Attach whether rows beyond the shape of a row-sparse operand change nothing but such rows: ``(stypes, **params) -> bool``."""
        return self._attach("spare_rows_rule", rule)

    def rows(self, rule: Rule) -> Rule:
        """Attach how the result is zero but for some rows: ``(xp, row_form, node) -> form``, None if it is not; see `graph.row_form`."""
        return self._attach("rows_rule", rule)

    def gradient_stypes(self, rule: Rule) -> Rule:
        """Attach the storage types of the inputs' gradients in symbols: ``(stypes, head, **params) -> one for each input``.

        ``stypes`` are those of the inputs, ``head`` that of the result's gradient. Without a rule gradients are dense, but
        those of an element-wise operator row-sparse if its operands and ``head`` are.
        """
        return self._attach("gradient_stypes_rule", rule)

    def onnx(self, rule: Rule) -> Rule:
        """Attach how it is written in ONNX: ``(onnx, node, *inputs) -> value(s)``, None if its definition is to be written instead.

        ``onnx`` has a method for every operator of ONNX (`contrib.onnx.writer.Writer`), ``node`` is the typed application, and inputs are
        the writer's values, None for omitted ones. A primitive has no definition, so without a rule it cannot be exported.
        """
        return self._attach("onnx_rule", rule)

    def sample(self, rule: Rule) -> Rule:
        """Attach a sample for the generated tests and benchmarks: ``(draw) -> Sample`` (see ``opdef.samples``)."""
        object.__setattr__(self, "samples", (*self.samples, rule))
        return rule

    def cases(self, rule: Rule) -> Rule:
        """Attach a primitive's conformance cases for adapters, if samples and a reference are not sufficient: ``(make) -> cases``.

        ``make`` is a `testing.backend_cases.CaseMaker`; ``make(*operands, want=function, **params)`` is a case.
        """
        return self._attach("case_rule", rule)

    def completed(self, shapes: Sequence[Any], results: Sequence[Any], params: Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """(shapes of inputs, shapes of results), completed by the rule of `infer`; unchanged if there is none."""
        if self.infer_rule is None:
            return shapes, results
        if self.infers_results:
            return self.infer_rule(shapes, results, **params)
        return self.infer_rule(shapes, **params), results

    def new_states(self, xp: Any, out: Sequence[Any], inputs: Sequence[Any], params: Mapping[str, Any], tracked: Sequence[bool]) -> Any:
        """The result of the rule of `on_backward`: new values by input.

        Parameters
        ----------
        xp, out, inputs, params
            See `on_backward`.
        tracked
            For each input, whether it has a gradient.
        """
        asked = {"tracked": tracked} if self._asks_tracked else {}
        return self.backward_rule(xp, out, *inputs, **asked, **params)  # type: ignore[misc]

    @cached_property
    def _asks_tracked(self) -> bool:
        return self.backward_rule is not None and "tracked" in inspect.signature(self.backward_rule).parameters

    # use

    def bind(self, legacy: bool = False, /, **params: object) -> "BoundOp":
        """The operator with structural parameters fixed, under one calling convention; interned.

        Raises
        ------
        ParameterError
            If a parameter is unknown, missing or of the wrong kind.
        """
        try:
            found = self.bound_ops.get((legacy, tuple(params.items())))
        except TypeError:  # an unhashable value, such as a list for a shape
            found = None
        return found or self._slow_sig(legacy, params)

    @cached_property
    def ignores_unknown(self) -> bool:
        """Whether MXNet ignores parameters that the operator does not have: for want of any, it parses none."""
        return self.unchecked_params or (not set(self.params) - set(self.training) and self.count_param is None)

    @cached_property
    def ambiguous(self) -> tuple[str, ...]:
        """Names of the structural parameters for which equal values may mean different things."""
        return tuple(p.name for p in self.params.values() if p.kind.ambiguous is not never)

    def is_plain(self, given: Mapping[str, object]) -> bool:
        """Whether a table may be keyed by these parameters as they were given: all that are equal to them make the same bound_op."""
        return not any(self.params[name].kind.ambiguous(given[name]) for name in self.ambiguous if name in given)

    def _slow_sig(self, legacy: bool, given: dict[str, object]) -> "BoundOp":
        """The bound_op for parameters that are unknown as they were given, or ambiguous: those are looked up by `exact`."""
        values = tuple(given.items())
        key = (legacy, values) if self.is_plain(given) else (legacy, exact(values))
        try:
            found = self.bound_ops.get(key)
        except TypeError:
            return self._new_sig(legacy, given)
        if found is None:
            found = self._new_sig(legacy, given)
            if len(self.bound_ops) >= MOST_BOUND_OPS:
                self.bound_ops.clear()
            self.bound_ops[key] = found
        return found

    def _new_sig(self, legacy: bool, given: dict[str, object]) -> "BoundOp":
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
                raise ParameterError(f"{self.title}: Required parameter {name} of {param.kind.name} is not presented", None, "pass it")
            else:
                full[name] = param.default
        values = tuple(full.values())
        legacy = legacy and not self.numpy
        return self.interned.setdefault((legacy, exact(values) if self.ambiguous else values), BoundOp(self, full, legacy))

    def __call__(self, xp: Any, *inputs: Any, **params: Any) -> Any:
        """Apply the operator on a namespace: how one rule uses another operator."""
        if self.primitive:
            return getattr(xp, self.name)(*inputs, **params)
        return xp.composite(self, inputs, params)

    def __repr__(self) -> str:
        return f"<operator {self.title}>"


class BoundOp:
    """An operator with its structural parameters fixed. ``typed`` maps input nodes to the (interned) typed application.

    ``inline`` is an opaque table for the layer that runs single operations.
    """

    __slots__ = ("__weakref__", "count", "inline", "legacy", "mutated", "op", "params", "typed", "visible")

    def __init__(self, op: Op, params: dict[str, Any], legacy: bool) -> None:
        self.op, self.params, self.legacy = op, params, legacy
        self.typed: dict[Any, Any] = {}
        self.inline: dict[Any, Any] = {}  # the imperative layer's programs by operand types
        own: int = op.outputs(**params) if callable(op.outputs) else op.outputs
        #: The inputs that get new values, as the rule names them: positions, or names (see `written`).
        self.mutated: tuple[Any, ...] = op.mutates(**params) if callable(op.mutates) else op.mutates
        self.count = own + len(self.mutated)  # new values of mutated inputs are hidden outputs at the end
        seen = op.visible if op.visible is not None else own
        self.visible: int = seen(**params) if callable(seen) else seen

    @property
    def written(self) -> tuple[int, ...]:
        """Positions of the inputs that get new values."""
        if callable(self.op.mutates):
            return self.mutated
        names = [i.name for i in self.op.inputs]
        return tuple(names.index(name) for name in self.mutated)

    def __repr__(self) -> str:
        return f"{self.op.name}({', '.join(f'{k}={v}' for k, v in self.params.items())})"


#: `Op.waits_from` of what is a program of its own: it gains little by joining the operations around it, and joining costs 40 µs.
WHOLE = 4


def unregistered(name: str, rule: Rule, inputs: int, outputs: int) -> BoundOp:
    """An internal operator with the given number of arrays or scalars and without a gradient."""
    given = tuple(Input(f"x{k}", optional=True) for k in range(inputs))
    return Op(name, rule, inputs=given, outputs=outputs, differentiable=False, waits_from=WHOLE).bind()
