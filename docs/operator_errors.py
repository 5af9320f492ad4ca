"""What operators raise, for their pages: from what they declare, and from lists of those that refuse more, or less, than others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twofold.dtype import FLOATS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twofold.opdef.spec import Op

#: Operators that take arrays of any shape, and whose parameters fit all of them, or are refused by a ParameterError.
OF_ANY_SHAPE = """
    all_finite amp_cast amp_multicast cast_storage Flatten IdentityAttachKLSparseReg MakeLoss multi_all_finite multi_sum_sq ones_like Pad
    reset_arrays shape_array _shuffle size_array slice tile _unravel_index zeros_like _contrib_backward_index_copy _contrib_div_sqrt_dim
    _contrib_fft _contrib_getnnz _contrib_quantize_asym _contrib_quantize_v2 _linalg_makediag _sparse_retain"""
#: What operators refuse that declare no dtypes: the words for it, and the operators.
REFUSED = {
    "an array is complex": "cbrt ceil fix floor rcbrt SequenceMask trunc _unravel_index",
    "an array is of bools": """
        Activation moments negative sigmoid sign _contrib_backward_hawkesll _contrib_hawkesll _contrib_quantize_asym _contrib_quantize_v2
        _contrib_sign_ste""",
    "an array is complex or of bools": "rint round _contrib_round_ste",
    "the arrays differ in dtype": "Concat RNN stack",
    "``data`` has a dtype other than those named above": """
        _contrib_dequantize _contrib_quantized_act _contrib_quantized_batch_norm _contrib_quantized_concat _contrib_quantized_conv
        _contrib_quantized_elemwise_add _contrib_quantized_elemwise_mul _contrib_quantized_embedding _contrib_quantized_fully_connected
        _contrib_quantized_pooling _contrib_quantized_rnn _contrib_requantize _image_resize""",
}
#: Operators whose indices must be within the bounds; others clip or ignore them.
WITH_BOUNDS = "gather_nd scatter_nd _contrib_backward_index_copy _contrib_count_sketch _contrib_edge_id _contrib_index_copy _sparse_retain"


def errors_of(op: Op, *, legacy: bool = True) -> Iterator[tuple[str, str]]:
    """The classes of errors that an operator raises for wrong arrays and parameters, and when; in ``mx.npx`` unless ``legacy``."""
    yield "ParameterError", reason_of_parameters(op)
    if reason := reason_of_shapes(op):
        yield "ShapeError", reason
    if reasons := reasons_of_dtypes(op, legacy):
        yield "DTypeError", either(reasons)
    if op.title == "take":
        yield "IndexingError", 'an index is out of bounds in mode "raise", or the axis has no elements'
    if op.title == "pick":
        yield "IndexingError", "the axis has no elements"
    if op.title in WITH_BOUNDS.split():
        yield "IndexingError", "an index is out of bounds, when the result is read"
    if op.title in ("_linalg_inverse", "_linalg_potrf"):
        kind = "singular" if op.title == "_linalg_inverse" else "not positive definite"
        yield "LinearAlgebraError", f"a matrix is {kind}, when the result is read"
    if op.title == "_contrib_arange_like":
        yield "UnknownDevice", "``ctx`` names no device"


def either(reasons: list[str], last: str = "or") -> str:
    """Words as a list in a sentence."""
    *first, final = reasons
    return f"{', '.join(first)} {last} {final}" if first else final


def reason_of_parameters(op: Op) -> str:
    """When it raises a ParameterError."""
    params = [p for p in op.params.values() if p.name not in op.training]
    missing = ["an array"] * bool(op.arrays) + ["a required parameter"] * any(p.required for p in params)
    wrong = ["of another kind", "out of range"] + ["unknown"] * (not op.ignores_unknown) if params else []
    reasons = [f"{either(missing)} is missing"] if missing else []
    return ", or ".join([*reasons, f"a parameter is {either(wrong)}"] if wrong else reasons)


def reason_of_shapes(op: Op) -> str:
    """When it raises a ShapeError; empty if it never does."""
    if not op.arrays:
        return "a size of the result is negative"
    several = len(op.arrays) > 1 or op.variadic
    if op.title in OF_ANY_SHAPE.split() or (op.elementwise and not several):
        return ""
    if op.elementwise:
        return "the shapes differ" if op.symbolic.equal_shapes else "the operands do not broadcast to one shape"
    whose = "the shapes of the arrays do not fit each other" if several else "the shape of the array does not fit"
    return whose + " or a parameter" * bool(set(op.params) - set(op.training))


def reasons_of_dtypes(op: Op, legacy: bool) -> list[str]:
    """When it raises a DTypeError."""
    several, reasons = op.variadic or op.arrays[1:], []
    if legacy and (op.front.alike or (op.elementwise and several)):
        reasons.append("the arrays differ in dtype")
    if legacy and op.front.real:
        reasons.append(f"``{op.arrays[0].name}`` holds other than real floating-point numbers")
    if op.floats != FLOATS:
        reasons.append(f"an array holds floating-point numbers other than {either(list(op.floats), 'and')}")
    reasons += [words for words, titles in REFUSED.items() if op.title in titles.split()]
    return reasons + (["``dtype`` is no data type"] if "dtype" in op.params else [])
