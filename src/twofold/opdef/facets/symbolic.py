"""The facts about an operator that compositions use: its inference, its name in files, its form in ONNX, its picture."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ..inputs import Input
from ..rules import Rule


class Quantizes(NamedTuple):
    """Of which operator another is the 8-bit form, and how it takes its place.

    Attributes
    ----------
    op
        The operator on floats.
    places
        Positions of the inputs that are quantized; None for all.
    wide
        Whether the result is int32, which is brought back to 8 bits.
    leads
        Whether its 8-bit form pays alone, not only between other 8-bit operators.
    only
        A parameter of the operator, and its only values that have an 8-bit form.
    calibrated
        Whether it computes only with a known range of its results.
    unit
        A parameter of the operator with which an input counts as 1, and the input's position: the 8-bit form reads the input.
    """

    op: Any
    places: tuple[int, ...] | None = None
    wide: bool = False
    leads: bool = False
    only: tuple[str, tuple[str, ...]] | None = None
    calibrated: bool = False
    unit: tuple[str, int] | None = None


@dataclass(frozen=True, eq=False)
class Symbolic:
    """The facts about an operator that `symbol`, ONNX files, quantization and drawings use."""

    # -- inference
    #: The first result has the first input's shape, whatever that is; with names, that of each of these inputs.
    keeps_shape: bool | tuple[str, ...] = False
    #: Operands of this element-wise operator do not broadcast: their shapes must be equal.
    equal_shapes: bool = False
    #: ``infer``: the shapes of inputs, ``(shapes, **params) -> shapes``; unknown shapes and sizes are None. With a second positional
    #: argument, ``(shapes, results, **params) -> (shapes, results)``, the rule receives the known parts of the results' shapes, and
    #: completes them too.
    infer_rule: Rule | None = None
    #: ``dtypes``: the results' dtypes, if they are neither the operands' nor a parameter ``dtype``, ``(dtypes, **params) -> dtypes``.
    #: ``dtypes`` has one entry per array input, None if not known yet; the list that the rule returns may contain None too.
    dtype_rule: Rule | None = None
    #: ``assumes``: default dtypes of a symbol's inputs, ``(names, **params) -> dtypes``, None for inputs without a default.
    assumed_rule: Rule | None = None
    #: An input without whose dtype the inference of dtypes raises, as MXNet's does, rather than leave the result open.
    asks_dtype_of: str | None = None

    # -- names in files
    #: Of a variadic operator: inputs that it names, if a parameter has a value (see `Input.present`); variables are created for them.
    named_inputs: tuple[Input, ...] = ()
    #: The names of the outputs in symbols; empty for ``output``, ``output0`` …
    output_names: tuple[str, ...] = ()
    #: How many outputs more MXNet's files count, which nothing reads: the memory that its operator works in. Or one for a value of a
    #: parameter: its name, its default and the value.
    workspaces: int | tuple[str, str, str] = 0
    #: ``shown``: what MXNet's operator keeps for its gradient beside the results, as monitors show it under the last ``output_names``,
    #: ``(xp, <inputs>, *, <params>) -> value(s)``.
    shown_rule: Rule | None = None
    #: The registered operator that symbols use for a primitive without a name; or three operators: for two arrays, an array and a scalar, a
    #: scalar and an array.
    symbol: tuple[str] | tuple[str, str, str] | None = None
    #: Parameters of that operator, from those of the primitive; None: the same.
    symbol_params: Rule | None = None
    #: ``onnx``: how it is written in ONNX, ``(onnx, node, *inputs) -> value(s)``, None to write its definition instead. ``onnx``,
    #: a `contrib.onnx.graph_writer.GraphWriter`, has a method for every operator of ONNX, ``node`` is the typed application, and inputs are
    #: the writer's values, None for omitted ones. A primitive has no definition, so without a rule it cannot be exported.
    onnx_rule: Rule | None = None

    # -- quantization
    #: Of which operator it is the 8-bit form, and how it takes its place.
    quantizes: Quantizes | None = None

    # -- drawings of networks
    #: How a drawing shows it: ``layer``, ``activation``, ``norm``, ``pooling`` or ``shape``.
    drawn_as: str = ""
    #: The text below its name in a drawing: parameters in braces, each with its text if it is not given, ``{stride|1}``.
    label: str = ""

    def completed(self, shapes: Sequence[Any], results: Sequence[Any], params: Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """(shapes of inputs, shapes of results), completed by the rule of ``infer``; unchanged without a rule."""
        if self.infer_rule is None:
            return shapes, results
        if self._infers_results:
            return self.infer_rule(shapes, results, **params)
        return self.infer_rule(shapes, **params), results

    @cached_property
    def _infers_results(self) -> bool:
        assert self.infer_rule is not None
        kinds = [p.kind for p in inspect.signature(self.infer_rule).parameters.values()]
        return kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) > 1
