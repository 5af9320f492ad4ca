"""Where `mx.nd` differs from MXNet 1.9.1 on purpose: rows of the oracle's conventions with what Twofold gives instead.

Each title is a row of docs/reference/compatibility.md, which says why.
"""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """One row: an expression of a topic, after a setup that contains these words, and the value here.

    ``ours`` is an expression of NumPy and Python; ``"raises X"`` names an exception.
    """

    title: str
    topic: str
    expression: str
    ours: str
    setup: str = ""


def floats(values: str) -> str:
    """An expression for a float32 array."""
    return f"np.array({values}, 'float32')"


DIFFERENCES = [
    Difference("Lists of arrays", "creation", "nd.array([nd.array([1, 2]), nd.array([3, 4])])", floats("[[1, 2], [3, 4]]")),
    Difference("Lists of arrays", "joining", "nd.concat([a, b])", floats("[[1, 2, 5, 6], [3, 4, 7, 8]]")),
    Difference("Lists of arrays", "joining", "nd.stack([a, b])", floats("[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]")),
    Difference("Arrays without elements or axes", "creation", "nd.zeros(())", "np.zeros((), 'float32')"),
    Difference("Arrays without elements or axes", "creation", "nd.zeros((0, 3)).shape", "(0, 3)"),
    Difference("Arrays without elements or axes", "creation", "nd.arange(0)", floats("[]")),
    Difference("More operators", "binary", "+a", floats("[[1, 2], [3, 4]]")),
    Difference("More operators", "binary", "a @ b", floats("[[19, 22], [43, 50]]")),
    Difference("More operators", "binary", "a // b", floats("[[0, 0], [0, 0]]")),
    Difference("More operators", "binary", "divmod(a, b)", f"({floats('[[0, 0], [0, 0]]')}, {floats('[[1, 2], [3, 4]]')})"),
    Difference("NumPy operands", "binary", "a + np.ones((2, 2))", floats("[[2, 3], [4, 5]]")),
    Difference("NumPy operands", "binary", "np.ones((2, 2)) + a", floats("[[2, 3], [4, 5]]")),
    Difference("NumPy operands", "comparison", "a == np.array([1, 2, 3])", floats("[1, 1, 1]")),
    Difference("NumPy operands", "in place", "a", floats("[2, 2]"), "a += np.ones(2)"),
    Difference("Arrays of bools", "booleans", "t + t", "np.array([True, False, True])"),
    Difference("Arrays of bools", "booleans", "nd.logical_not(t)", "np.array([False, True, False])"),
    Difference("Masks", "indexing by comparison", "x[nd.array([1, 0, 1, 0, 0, 1], dtype='bool')]", floats("[0, 2, 5]")),
    Difference("Overlapping assignment", "assignment", "x", floats("[[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7]]"), "x[1:] = x[:-1]"),
    Difference("Conversion to Python numbers", "conversion", "float(s)", "2.5"),
    Difference("Conversion to Python numbers", "conversion", "int(s)", "2"),
    Difference("Conversion to Python numbers", "conversion", "int(i)", "3"),
    Difference("Conversion to Python numbers", "conversion", "complex(s)", "2.5 + 0j"),
    Difference("Conversion to Python numbers", "conversion", "[10, 20, 30, 40][i]", "40"),
    Difference("Conversion to Python numbers", "conversion", "range(3)[i]", "raises IndexError"),
    Difference("Conversion to Python numbers", "conversion", "a.tolist()", "[[1.0, 2.0], [3.0, 4.0]]"),
    Difference("Conversion to Python numbers", "conversion", "a.item()", "raises ValueError"),
    Difference("asscalar", "conversion", "nd.array([[2]]).asscalar()", "np.float32(2)"),
    Difference("Pickles", "conversion", "a.__reduce__()[0].__name__", "'_restore'"),
    Difference("Names of later versions", "copies", "a.as_in_ctx(mx.cpu(1)).context", "mx.cpu(1)"),
    Difference("Complex numbers", "copies", "a.astype('complex64')", "np.array([1.7, -2.5], 'float32').astype('complex64')"),
    Difference("More methods", "methods", "a.dot(a.T)", floats("[[26, 13], [13, 29]]")),
    Difference("One gradient array", "gradients", "x.grad is x.grad", "True"),
    Difference("One gradient array", "grad_req", "g is x.grad", "True"),
    Difference("One gradient array", "grad_req", "x.grad is g", "True"),
    Difference("Names of scopes", "modes", "type(autograd.record()).__name__", "'Scope'"),
    Difference("Head gradients of another dtype", "gradients", "x.grad", floats("[2, 8, 18]"), "dtype='float64')"),
    Difference("Gradients after a later write", "gradients", "x.grad", floats("[2, 4, 6]"), "x[:] = 5"),
    Difference("Writes while recording", "writes while recording", "x", floats("[2, 3, 4]"), "x += 1"),
    Difference("Writes while recording", "writes while recording", "x", floats("[1, 1, 1]"), "x[:] = 1"),
    Difference("Writes while recording", "writes while recording", "x", floats("[1, 2, 3]"), "x[0] = 1"),
    Difference("Writes while recording", "writes while recording", "x.grad", floats("[2, 2, 2]"), "y = x * 2; y += 1"),
    Difference("Writes while recording", "writes while recording", "x.grad", floats("[0, 0, 0]"), "y = x * 2; y[:] = 1"),
    Difference("Writes while recording", "writes while recording", "x.grad", floats("[0, 2, 2]"), "y = x * 2; y[0] = 1"),
    Difference("Writes while recording", "writes while recording", "x.grad", floats("[0, 2, 0]"), "y[1] = x[1] * 2"),
    Difference("Writes while recording", "writes while recording", "x.grad", floats("[1, 1, 1]"), "c[:] = 7"),
    Difference(
        "Writes while recording", "writes while recording", "x.grad", "0.5 / np.sqrt(np.array([1, 2, 3], 'float32'))", "nd.sqrt(x, out=y)"
    ),
    Difference("Gradients of gradients", "second derivatives", "x.grad", floats("[6, 12, 18]"), "x * x * x"),
    Difference("Gradients of gradients", "second derivatives", "g", floats("[3, 12, 27]"), "x * x * x"),
]
