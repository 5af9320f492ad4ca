"""The tests of single nodes that the package ``onnx`` ships, run on Twofold: which pass, and why the others do not.

    python -m tests.onnx_files.node_tests

writes the list of those that do not pass into the documentation.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from twofold.contrib.onnx import backend
from twofold.contrib.onnx.op_reader import OP_READERS
from twofold.errors import MXNetError

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "onnx-node-tests.md"
NARROW = "strings, and numbers of 2, 4 or 8 bits other than int8 and uint8"
#: What messages say, as reasons: the first that is found in a message counts.
REASONS = {
    r"unknown data type|of this dtype|to this dtype|dtype of an operand": NARROW,
    r"holds strings": NARROW,
    r"is not an array|sequence_type|optional_type": "inputs that are sequences or optional values",
    r"not supported: given (ai\.onnx\.preview\.training)": "optimizers: train with `gluon.Trainer`",
    r"not supported: given (ai\.onnx\.ml)": "classical machine learning (the domain `ai.onnx.ml`)",
    r"given ai\.onnx\.(String\w*|RegexFullMatch|TfIdfVectorizer)": NARROW,
    r"given ai\.onnx\.(Sequence\w*|Optional\w*|SplitToSequence|ConcatFromSequence)": "values that are sequences or optional",
    r"given ai\.onnx\.(Random\w*|Multinomial)|random numbers|only the form for inference": "random numbers, which differ from run to run",
    r"the operator is not supported": "the operator is not supported: {}",
    r"not equal|Not equal": "the result differs: {}",
}
#: What is known about results that differ.
DIFFERENCES = {
    "test_bernoulli": "random numbers",
    "test_dft_inverse": "the expected values carry a rounding error of 2e-7 that Twofold's do not",
    "test_attention": "16-bit floats, rounded at other places (by one unit in the last place)",
}


def node_tests() -> list[Any]:
    """The tests of nodes, sorted by name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package's own examples
        return sorted(load_model_tests(kind="node"), key=lambda test: test.name)


def _array(value: Any) -> Any:
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def fault_of(test: Any) -> str | None:
    """Why a test does not pass, None if it does."""
    from onnx.backend.test.runner import Runner

    operator = test.model.graph.node[-1].op_type
    try:
        prepared = backend.prepare(test.model)
        for inputs, wanted in test.data_sets:
            found = prepared.run([_array(a) for a in inputs])
            Runner.assert_similar_outputs([_array(a) for a in wanted], found, rtol=test.rtol, atol=test.atol)
    except AssertionError as error:
        return _reason(f"not equal {error}", next((v for k, v in DIFFERENCES.items() if test.name.startswith(k)), operator))
    except MXNetError as error:
        return _reason(str(error), operator)
    return None


def _reason(message: str, detail: str) -> str:
    found = next((reason for pattern, reason in REASONS.items() if re.search(pattern, message)), None)
    if found is not None:
        return found.format(detail)
    return re.sub(r"^onnx: node '[^']*' \((\w+)\): ([^;:]*).*", r"\1: \2", message, flags=re.S)


def faults(tests: list[Any]) -> dict[str, str]:
    """The tests that do not pass, with the reasons."""
    with np.errstate(all="ignore"):
        found = {test.name: fault_of(test) for test in tests}
    return {name: fault for name, fault in found.items() if fault is not None}


def _operators() -> list[str]:
    """How many of ONNX's operators are read."""
    import onnx

    schemas = {s.name: s for s in onnx.defs.get_all_schemas() if not s.domain}
    defined = {n for n, s in schemas.items() if s.has_function or s.has_context_dependent_function} - set(OP_READERS)
    absent = sorted(set(schemas) - set(OP_READERS) - defined)
    return [
        f"Of ONNX's {len(schemas)} operators {len(schemas) - len(defined) - len(absent)} are read as they are and {len(defined)} by their",
        "definition in terms of others. Not read are " + ", ".join(absent) + ".",
    ]


def page(tests: list[Any]) -> str:
    """The page of the documentation."""
    import onnx

    failed = faults(tests)
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name, reason in failed.items():
        by_reason[reason].append(name)
    lines = [
        "# ONNX's node tests",
        "",
        f"The package `onnx` {onnx.__version__}, whose operators have versions up to {onnx.defs.onnx_opset_version()},",
        f"ships {len(tests)} tests of single nodes.",
        f"`twofold.contrib.onnx.backend` passes {len(tests) - len(failed)} of them, {(len(tests) - len(failed)) / len(tests):.1%}.",
        *_operators(),
        "",
        "The tests that do not pass, by reason (`python -m tests.onnx_files.node_tests` writes this page):",
        "",
    ]
    for reason, names in sorted(by_reason.items(), key=lambda row: (-len(row[1]), row[0])):
        lines += [f"* **{reason}** ({len(names)}): " + ", ".join(f"`{n.removeprefix('test_')}`" for n in names)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(node_tests()), encoding="utf-8")
    sys.exit(0)
