"""What the pages of ``mx.np`` say of parameters: signatures, types, results and errors, and where the source is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

api_pages = pytest.importorskip("api_pages")
numpy_docstrings = pytest.importorskip("numpy_docstrings")
sources = pytest.importorskip("sources")

#: Parameters that NumPy's docstrings do not describe either.
UNKNOWN = {"np.common_type", "np.einsum_path", "np.nested_iters", "np.random.ranf", "np.random.sample", "np.random.seed"}


def functions() -> Iterator[tuple[str, Any]]:
    """The functions of ``mx.np`` and its submodules."""
    for namespace in api_pages.every_namespace():
        if namespace.name.partition(".")[0] == "np":
            for name in api_pages.public_names(namespace):
                if not inspect.isclass(found := getattr(namespace.module, name)):
                    yield f"{namespace.name}.{name}", found


@pytest.mark.ci
def test_every_parameter_of_a_function_of_np_is_described(pages):
    bare = {}
    for dotted, found in functions():
        if "Parameters\n---" in (inspect.getdoc(found) or "") and not api_pages.BORROWED.match(found.__doc__):
            continue  # its own docstring describes them
        page = pages[dotted]
        shown = re.search(r"function:: [\w.]+\((.*)\)$", page, re.MULTILINE)
        if shown is None:
            assert "The same function as" in page, dotted
            continue
        signature = inspect.signature(eval(f"lambda {shown[1].replace('=…', '=None')}: None", {}))
        if missing := signature.parameters.keys() - set(re.findall(r":param (\w+):", page)):
            bare[dotted] = missing
    assert bare.keys() <= UNKNOWN, bare


@pytest.mark.ci
def test_pages_say_types_results_and_errors(pages):
    page = pages["np.linalg.svd"]
    assert "   :param full_matrices: bool, optional. If True (default), ``u`` and ``vh`` have the shapes" in page
    assert "       * **S**: (..., K) array. Vector(s) with the singular values" in page
    assert "   :raises LinAlgError: If SVD computation does not converge." in page
    assert "NumPy developers" in pages["np"]


def test_a_parameter_that_differs_is_not_described_as_numpys():
    lines = numpy_docstrings.field_lines("np.zeros", "(shape, dtype=float, order='C', *, device=None, ctx=None)")
    assert ":param device: The device of the result, such as ``mx.gpu(0)``; by default the current one." in lines
    assert not any('"cpu"' in line for line in lines)


@pytest.mark.parametrize(
    ("numpys", "ours"),
    [
        ("Uses `sort` [1]_, see :func:`numpy.sort <sort>`.", "Uses ``sort``, see ``numpy.sort``."),
        ("A list: *not* a | b, and dtype_ too.", r"A list: \*not\* a \| b, and dtype\_ too."),
        ("The method. See the notes for more details. Default is 0.", "The method. Default is 0."),
        ("``a_`` is _not_ `a_`.", "``a_`` is not ``a_``."),
    ],
)
def test_prose_of_numpys_becomes_the_markup_of_the_pages(numpys, ours):
    assert numpy_docstrings.marked_up(numpys) == ours


def test_sentences_that_announce_a_list_are_left_out():
    text = "The method. One of these:\n\n* 'a'\n* 'b'"
    assert numpy_docstrings.first_paragraph(text) == "The method."


@pytest.mark.ci
def test_sources_are_functions_and_classes_of_the_package():
    from sphinx.pycode import ModuleAnalyzer

    found = [found for _, found in functions()] + [operator.op for operator in api_pages.operators()]
    said = {source for source in map(sources.source_of, found) if source}
    assert {"twofold.ops.convolution:convolution", "twofold.numpy.parts:concatenate"} <= said
    missing = [s for s in said for module, _, name in [s.partition(":")] if name not in ModuleAnalyzer.for_module(module).find_tags()]
    assert not missing
    assert len(said) > 300
