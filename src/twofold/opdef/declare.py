"""The decorators that declare operators: a rule's signature is the declaration.

``@op`` declares a composite (an operator defined in terms of ``xp``), ``@elementwise`` a composite that is a scalar function of broadcast
inputs, ``@numpy_op`` one of MXNet's NumPy operators, ``@primitive`` a member of the closed vocabulary that backends implement.
Positional arguments of the rule are arrays (default None: optional; ``*data``: any number), keyword-only arguments are parameters, their
annotations are the kinds.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any, get_args

from ..errors import OperatorError, ParameterError
from . import registry
from .inputs import Input
from .numpy_rows import rows_of
from .params import Param, kind_of
from .rules import Rule
from .spec import Op, ResultDtype, in_facets


def op(
    name: str | None = None,
    *aliases: str,
    aux: tuple[str, ...] = (),
    like: Op | None = None,
    without: tuple[str, ...] = (),
    **facts: Any,
) -> Callable[[Rule], Op]:
    """Declare a composite operator.

    Parameters
    ----------
    name
        The registered name (MXNet's); the function's own name if not given.
    *aliases
        Additional registered names.
    aux
        Names of the inputs that are auxiliary states.
    like, without
        An operator whose parameters this one has too, except some; the rule's own parameters follow. The rule may name parameters of
        ``like`` that it reads, without annotations. If the rule takes ``*arrays``, it has the inputs of that operator as well.
    **facts
        Other fields of `Op`: ``outputs``, ``visible``, ``output_names``, ``mutates``, ``method``, ``numpy_names``, ``differentiable`` …

    Raises
    ------
    ParameterError
        If it is used without parentheses.
    OperatorError
        If a name is taken, or an option is not valid.
    """
    if callable(name):
        raise ParameterError("an operator's decorator is called", repr(name), "write it with parentheses: @op() or @op('name')")

    def declare(rule: Rule) -> Op:
        named = () if name is None and facts.get("primitive") else (name or rule.__name__, *aliases)
        if like is not None:
            vars(rule)["__signature__"] = _derived(inspect.signature(rule), inspect.signature(like.rule), without)
        new = build(rule, named, aux, facts)
        registry.register(new)
        return new

    return declare


def elementwise(name: str | None = None, *aliases: str, **facts: Any) -> Callable[[Rule], Op]:
    """Declare a composite operator that is a scalar function of its broadcast inputs."""
    return op(name, *aliases, aux=(), elementwise=True, **facts)


def numpy_op(name: str, *aliases: str, **facts: Any) -> Callable[[Rule], Op]:
    """Declare one of MXNet's NumPy operators (``_npi_add``): a composite whose results are those of its rule by every convention."""
    return op(name, *aliases, aux=(), numpy=True, **facts)


def primitive(
    name: str | None = None, *aliases: str, ufunc: str | None = None, reference: Rule | None = None, **facts: Any
) -> Callable[[Rule], Op]:
    """Declare a member of the vocabulary, which backends implement. The function has a docstring and no body.

    Parameters
    ----------
    name, *aliases
        Registered names, if it is available to users; without any, only rules can use it, as ``xp.<function's name>``.
    ufunc
        NumPy's ufunc of the same function, or None.
    reference
        Its definition with NumPy's functions: ``lambda np, x, *, upper: np.linalg.cholesky(x)``. Every adapter then supports it: it runs
        the reference with its own library as ``np`` if that has the functions, else on the host. The generated tests compare adapters that
        override it with the reference, on the declared samples. A ufunc is its own reference.
    **facts
        Other fields of `Op`. An element-wise primitive has ``elementwise=True``, a C expression ``c`` (``"expf({0})"``), and
        ``result``: ``"promote"`` (default), ``"float"``, ``"bool"``, ``"ufunc"``. Any other needs a ``.type`` rule.
    """
    if reference is None and ufunc is not None:
        reference = partial(_by_ufunc, ufunc)
    return op(name, *aliases, aux=(), primitive=True, ufunc=ufunc, reference=reference, **facts)


def of_ufunc(
    name: str | None = None, *aliases: str, ufunc: str | None = None, numpy_names: tuple[str, ...] | None = None, **facts: Any
) -> Callable[[Rule], Op]:
    """Declare an element-wise primitive that is NumPy's ufunc with the function's name (or ``ufunc``), also available as ``np.<name>``."""

    def declare(rule: Rule) -> Op:
        own = ufunc or rule.__name__
        known = {"elementwise": True, "result": "ufunc", "ufunc": own, "numpy_names": numpy_names or (own,)}
        return primitive(name, *aliases, **{**known, **facts})(rule)

    return declare


def _by_ufunc(ufunc: str, np: Any, *operands: Any) -> Any:
    return getattr(np, ufunc)(*operands)


def build(rule: Rule, names: tuple[str, ...], aux: tuple[str, ...], facts: dict[str, Any]) -> Op:
    """Read a rule's signature into an `Op` (unregistered)."""
    inputs, params, variadic = [], {}, False
    for name, kind, default, annotation in _signature(rule)[1:]:
        if kind == "keyword-only":
            required = default is EMPTY
            params[name] = Param(name, kind_of(annotation), None if required else default, required)
        elif kind == "variadic positional":
            variadic = True
            inputs.append(Input(name))
        elif default not in (EMPTY, None) or annotation in (bool, int, float, str):
            given = f"{name}={default!r}" if default is not EMPTY else f"{name}: {annotation.__name__}"
            raise OperatorError(
                f"{rule.__name__}: a positional argument of a rule is an array, or None", given, f"write *, before the parameter {name}"
            )
        else:  # default None: optional
            inputs.append(_input(name, annotation, optional=default is None, auxiliary=name in aux))
    given = {"names": names, "inputs": tuple(inputs), "variadic": variadic, "params": params, **in_facets(facts)}
    # `sum_` and its kind: the underscore only keeps the function from hiding a name of Python
    return _checked(Op(rule.__name__.rstrip("_"), rule, **given))


EMPTY = inspect.Parameter.empty


def _derived(own: inspect.Signature, base: inspect.Signature, without: tuple[str, ...]) -> inspect.Signature:
    """The signature of a rule that is declared with ``like`` and ``without``; see `op`.

    Raises
    ------
    OperatorError
        If a parameter to leave out does not exist.
    """
    if unknown := [name for name in without if name not in base.parameters]:
        raise OperatorError("without: no such parameters", ", ".join(unknown), f"leave out some of {', '.join(base.parameters)}")
    mine, theirs = own.parameters.values(), base.parameters.values()
    takes_all = any(p.kind is p.VAR_POSITIONAL for p in mine)
    arrays = [p for p in (theirs if takes_all else mine) if p.kind is p.POSITIONAL_OR_KEYWORD]
    shared = [p for p in theirs if p.kind is p.KEYWORD_ONLY and p.name not in without]
    known = {p.name for p in shared}
    return inspect.Signature([*arrays, *shared, *[p for p in mine if p.kind is p.KEYWORD_ONLY and p.name not in known]])


def _signature(rule: Rule) -> list[tuple[str, str, Any, Any]]:
    """(name, kind, default, annotation) of each argument. Of plain functions from their code: `inspect` takes 20 ms for all operators."""
    if not isinstance(rule, FunctionType) or "__signature__" in vars(rule) or "__wrapped__" in vars(rule):
        return [(p.name, p.kind.description, p.default, p.annotation) for p in inspect.signature(rule).parameters.values()]
    # co_varnames has the positional parameters first, then the keyword-only ones, then *args
    code, annotations = rule.__code__, rule.__annotations__
    count, every = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    defaults, named = rule.__defaults__ or (), rule.__kwdefaults__ or {}
    given = [*[EMPTY] * (count - len(defaults)), *defaults]
    found = [(n, "positional or keyword", d) for n, d in zip(code.co_varnames, given, strict=False)]
    if code.co_flags & inspect.CO_VARARGS:
        found.append((code.co_varnames[every], "variadic positional", EMPTY))
    found += [(n, "keyword-only", named.get(n, EMPTY)) for n in code.co_varnames[count:every]]
    return [(n, kind, default, annotations.get(n, EMPTY)) for n, kind, default in found]


def _checked(new: Op) -> Op:
    """The operator, whose options are valid.

    Raises
    ------
    OperatorError
        If they are not.
    """
    if new.primitive and new.elementwise and new.execution.c is None:
        todo = 'give one, such as c="expf({0})", or leave out elementwise and declare .type'
        raise OperatorError(f"{new.title}: an element-wise primitive without a C text", f"c={new.execution.c}", todo)
    if new.primitive and new.scalars:
        names = ", ".join(new.scalars)
        raise OperatorError(f"{new.title}: a primitive cannot have a Scalar parameter", names, "make it a positional argument of the rule")
    if new.result not in get_args(ResultDtype):
        raise OperatorError(
            f"{new.title}: unknown rule for the result's dtype", repr(new.result), f"use one of {', '.join(get_args(ResultDtype))}"
        )
    rows_of([new])  # raises for a row that is none
    return new


def _input(name: str, annotation: object, *, optional: bool, auxiliary: bool) -> Input:
    """An array input, with the facts that its annotation gives."""
    given = next((a for a in get_args(annotation) if isinstance(a, Input)), None)
    if given is None:
        return Input(name, optional, auxiliary)
    return replace(given, name=name, optional=optional, auxiliary=auxiliary or given.auxiliary)
