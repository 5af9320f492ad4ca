"""How an operator runs: the code that computes it, and whether it runs alone or with the operations around it."""

from dataclasses import dataclass

from ..rules import Rule

#: `Execution.waits_from` of operators that are whole programs: they gain little by joining other operations, and joining costs 40 µs.
WHOLE = 4


@dataclass(frozen=True, eq=False)
class Execution:
    """What an operator declares to programs, to adapters and to the choice between running now and deferring."""

    # -- by which code
    #: Its C text, such as ``"expf({0})"``; every element-wise primitive has one, so that it can join a fused kernel.
    c: str | None = None
    #: The part of ``backend/c_special.h`` that its C text calls, see `backend.c_text.PARTS`. Only kernels with such a step include it.
    c_part: str = ""
    #: A primitive's computation, ``(np, <inputs>, *, <params>)`` over NumPy's functions: the default implementation of every adapter.
    #: It may return other libraries' arrays where ``np`` is a library with NumPy's functions. See `opdef.declare.primitive`.
    reference: Rule | None = None
    #: ``definition``: a primitive in terms of others, ``(xp, <inputs>, *, <params>)``, which replaces it in programs for a target without
    #: code for it (`backend.protocol.Target.computes`).
    definition_rule: Rule | None = None
    #: The reference takes NumPy arrays only, so adapters copy their arrays to the host for it.
    host_only: bool = False
    #: A primitive that programs run themselves (loops, user code, taking one of several results): no adapter implements it.
    run_by_program: bool = False
    #: The method that it calls on its first input, a user's object.
    user_method: str = ""

    # -- alone or with others
    #: May be part of a fused kernel, as a reduction over its last axis.
    row_reduction: bool = False
    #: Never part of a fused kernel on the host: it runs at once if its operands are ready, so that small results are not deferred.
    alone: bool = False
    #: Of its first input it reads no more elements than its result has: that input does not wait for its size, if it is ready.
    picks: bool = False
    #: An operation on ready arrays is deferred from this many times the size from which element-wise ones are (see `imperative.dispatch`).
    waits_from: int = 1

    # -- what is told and tested of it
    #: ``cost``: the number of multiplications and additions of a product or convolution, ``(result, *inputs) -> count``.
    cost_rule: Rule | None = None
    #: ``cases``: a primitive's conformance cases for adapters, if samples and a reference are not sufficient, ``(make) -> cases``. ``make``
    #: is a `testing.backend_cases.CaseMaker`; ``make(*operands, want=function, **params)`` is a case.
    case_rule: Rule | None = None
