"""Every public name has an example that runs: on its page of the API reference, or in its docstring."""

from __future__ import annotations

import contextlib
import doctest
import gc
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import twofold as mx

from tests.house.verdict import expect_none

api_pages = pytest.importorskip("api_pages")
operator_pages = pytest.importorskip("operator_pages")
examples_of_names = pytest.importorskip("examples_of_names")

NAMESPACES = {namespace.name: namespace for section in api_pages.SECTIONS for namespace in section.namespaces}

#: Names whose examples need what a page cannot have.
WITHOUT = {
    "npx.gpu_memory_info": "a GPU",
    "context.gpu_memory_info": "a GPU",
    "test_utils.get_cuda_compute_capability": "a GPU",
    "util.get_gpu_memory": "a GPU",
    "gluon.data.vision.CIFAR10": "the files of the data set",
    "gluon.data.vision.CIFAR100": "the files of the data set",
    "gluon.data.vision.FashionMNIST": "the files of the data set",
    "gluon.data.vision.MNIST": "the files of the data set",
    "test_utils.get_mnist": "the files of the data set",
    "test_utils.get_mnist_iterator": "the files of the data set",
    "test_utils.get_mnist_pkl": "the files of the data set",
    "test_utils.get_mnist_ubyte": "the files of the data set",
    "test_utils.get_cifar10": "the network",
    "test_utils.get_bz2_data": "the network",
    "test_utils.get_zip_data": "the network",
    "test_utils.download_model": "the network",
    "kvstore.KVStoreServer": "several processes",
    "mx.elementwise": "an operator more, which would be in the tables of the site",
    "mx.op": "an operator more, which would be in the tables of the site",
    "mx.load_ipython_extension": "a shell of IPython",
    "mx.unload_ipython_extension": "a shell of IPython",
    "contrib.amp.init": "a switch of the whole process",
    "contrib.amp.init_trainer": "a switch of the whole process",
    "contrib.amp.scale_loss": "a switch of the whole process",
    "contrib.amp.unscale": "a switch of the whole process",
    "viz.plot_cluster": "the trace of several processes",
}

#: Functions that the installed NumPy has no more, and `mx.np` neither.
REMOVED = {"row_stack"} - set(dir(numpy))


def named() -> Iterator[tuple[str, Any]]:
    """Every class and function with a page, by its page's name."""
    for place, namespace in NAMESPACES.items():
        yield from ((f"{place}.{name}", getattr(namespace.module, name)) for name in api_pages.public_names(namespace))


def documented() -> dict[str, str]:
    """The docstrings with examples, but NumPy's own, of classes, their methods, and functions."""
    found: dict[int, tuple[str, str]] = {}
    for page, value in named():
        members = vars(value).items() if inspect.isclass(value) else ()
        for name, each in ((page, value), *((f"{page}.{key}", member) for key, member in members if not key.startswith("_"))):
            doc = inspect.getdoc(each) or ""
            if ">>>" in doc and not api_pages.BORROWED.match(doc):
                found.setdefault(id(each), (name, doc))
    return dict(found.values())


def surroundings(name: str) -> dict[str, Any]:
    """The names that a docstring's example may use without an import: those of its module, as doctest has it, and ``mx``."""
    place = max((p for p in NAMESPACES if name.startswith(f"{p}.")), key=len)
    value = getattr(NAMESPACES[place].module, name.removeprefix(f"{place}.").partition(".")[0])
    return vars(sys.modules[value.__module__]) | {"mx": mx}


@pytest.mark.ci
def test_every_operator_has_an_example(pages):
    expect_none(o.dotted for o in operator_pages.operators() if ".. rubric:: Example" not in pages[f"op.{o.dotted}"])


@pytest.mark.ci
def test_every_class_and_function_has_an_example(pages):
    own = documented()
    without = {
        p
        for p, _ in named()
        if p not in own and ".. rubric:: Example" not in pages[p] and not re.search("The same (class|function) as", pages[p])
    }
    same = {page for page, value in named() if page in without and any(value is other and name in own for name, other in named())}
    assert without - same == set(WITHOUT)


def test_every_written_example_is_of_a_public_name():
    known = {page for page, _ in named()} | {f"op.{operator.dotted}" for operator in operator_pages.operators()}
    known |= {f"npx.{name}" for name in operator_pages.operators_of_npx()}
    known |= {f"np.{name}" for name in REMOVED}
    expect_none(f"{place}.{name}" for place, rows in examples_of_names.written().items() for name in rows if f"{place}.{name}" not in known)


@pytest.mark.ci
def test_every_written_example_shows_something(pages):
    for place, rows in examples_of_names.written().items():
        for name in rows if place != "np" else rows.keys() - REMOVED:
            shown = pages[f"{place}.{name}"].partition(".. code-block:: pycon\n\n")[2].split("\n\n")[0].strip().split("\n")
            assert any(not line.strip().startswith((">>>", "...")) for line in shown), f"{place}.{name}"


@pytest.fixture
def no_collection():
    """No garbage is collected: an example counts the memory of arrays, and those of former ones may be garbage."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_the_examples_of_docstrings_print_what_they_say(tmp_path, no_collection):
    wrong: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with contextlib.chdir(tmp_path):
        for name, doc in documented().items():
            case = doctest.DocTestParser().get_doctest(doc, surroundings(name), name, None, 0)
            doctest.DocTestRunner(optionflags=flags, verbose=False).run(case, out=wrong.append)
    expect_none(wrong)


def test_an_example_shows_what_its_statements_print():
    assert examples_of_names.session("x = 2\nfor k in (1, x):\n    print(k)\n\nx * 3") == (
        ">>> x = 2\n>>> for k in (1, x):\n...     print(k)\n1\n2\n>>> x * 3\n6"
    )


def test_an_example_that_warns_is_an_error():
    with pytest.raises(UserWarning, match="beware"):
        examples_of_names.session("import warnings\nwarnings.warn('beware')")
