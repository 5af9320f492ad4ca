"""The pages of the API reference: which names have one, and what an operator's page says."""

from __future__ import annotations

import ast
import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import twofold as mx
from twofold.opdef.registry import NAMES

from tests.house.sources import ROOT

api_pages = pytest.importorskip("api_pages")
class_members = pytest.importorskip("class_members")
operator_pages = pytest.importorskip("operator_pages")
restructured = pytest.importorskip("restructured")
see_also = pytest.importorskip("see_also")
signatures = pytest.importorskip("signatures")


@pytest.mark.ci
def test_every_public_class_and_function_has_a_page(pages):
    for section in api_pages.SECTIONS:
        for namespace in section.namespaces:
            names = api_pages.public_names(namespace)
            assert names, namespace
            missing = [name for name in names if f"{namespace.name}.{name}" not in pages]
            assert not missing, (namespace.name, missing)


@pytest.mark.ci
def test_every_operator_has_a_page_that_names_all_its_synonyms(pages):
    for operator in operator_pages.operators():
        page = pages[f"op.{operator.dotted}"]
        assert all(f"mx.nd.{name}" in page for name in operator.all_names), operator.dotted


def test_signatures_of_operators_are_pythons():
    shown = {operator.dotted: operator_pages.signature(operator.op) for operator in operator_pages.operators()}
    for name, signature in shown.items():
        assert ast.parse(f"def f({signature}): pass"), name  # a SyntaxError if a required parameter follows an optional one
    assert "mode='clip'" in shown["take"]
    assert "sequence_length=None, *, state_size, num_layers" in shown["RNN"]
    take = next(operator for operator in operator_pages.operators() if operator.dotted == "take")
    assert "mx.sym.take(a, indices, axis=0, mode='clip', name=None, attr=None)" in operator_pages.operator_text(take)


@pytest.mark.ci
def test_the_operators_of_npx_have_pages_that_show_calls_with_arrays_of_np(pages):
    assert {"relu", "convolution", "image.resize"} <= operator_pages.operators_of_npx().keys()
    for name in operator_pages.operators_of_npx():
        assert f".. py:function:: mx.npx.{name}(" in pages[f"npx.{name}"], name
        assert "mx.nd.array" not in pages[f"npx.{name}"], name
        assert f">>> mx.npx.{name}(" in pages[f"npx.{name}"] or f"= mx.npx.{name}(" in pages[f"npx.{name}"], name
    assert ">>> data = mx.np.array(" in pages["npx.softmax"]
    assert "   npx.softmax <npx.softmax>" not in pages["npx"]
    assert "   softmax <npx.softmax>" in pages["npx"]


@pytest.mark.ci
def test_transforms_of_numpy_are_described_below_the_namespace_of_ours(pages):
    assert ".. py:function:: twofold.numpy.fft.rfft(a, n=None, axis=-1, norm=None, out=None)" in pages["np.fft.rfft"]
    assert "``numpy.fft.rfft``, computed on the host; with a gradient." in pages["np.fft.rfft"]


def test_public_names_of_operators_are_on_pages():
    named = {name for operator in operator_pages.operators() for name in operator.all_names}
    public = [n for n, op in NAMES.items() if not n.startswith("_") and op.rule.__module__.startswith("twofold.")]
    assert set(public) <= named


@pytest.mark.ci
def test_an_example_shows_what_the_call_prints(pages):
    assert ">>> mx.nd.relu(data)" in pages["op.relu"]
    assert "<NDArray 3x4 @cpu(0)>" in pages["op.relu"]


def test_stars_outside_of_code_are_text():
    assert restructured.escaped("sizes d*, ``a*b`` and |x|") == r"sizes d\*, ``a*b`` and \|x\|"


@pytest.mark.ci
def test_a_class_of_two_namespaces_has_one_description(pages):
    assert ".. autoclass:: HybridBlock" in pages["gluon.HybridBlock"]
    assert "The same class as" in pages["gluon.nn.HybridBlock"]
    assert mx.gluon.nn.HybridBlock is mx.gluon.HybridBlock


def test_the_chart_of_the_landing_page_is_up_to_date():
    landing_chart = pytest.importorskip("landing_chart")
    pytest.importorskip("matplotlib")
    assert landing_chart.main(check=True) == 0, "run python docs/landing_chart.py"
    assert Path(ROOT / "docs/measured.svg").exists()


@pytest.mark.parametrize(
    ("cls", "own"),
    [
        (mx.nd.NDArray, {"attach_grad", "asnumpy", "backward", "grad", "detach", "wait_to_read", "context", "shape", "size", "dtype"}),
        (mx.np.ndarray, {"attach_grad", "asnumpy", "backward"}),
        (mx.mod.BaseModule, {"bind", "init_params", "init_optimizer", "fit", "score", "predict"}),
        (mx.kv.KVStore, {"rank", "num_workers", "type"}),
        (mx.gluon.contrib.estimator.EarlyStoppingHandler, {"go_on"}),
    ],
)
def test_members_of_bases_without_a_page_are_on_the_page_of_a_class(cls, own):
    hidden = class_members.shown_elsewhere(cls, api_pages.described_classes())
    owners = {name: next(base for base in cls.__mro__ if name in vars(base)) for name in own}
    assert not {name: owner for name, owner in owners.items() if owner in hidden}
    assert all(class_members.has_docstring(getattr(cls, name)) for name in own)


@pytest.mark.ci
def test_members_of_bases_with_a_page_are_links(pages):
    assert ":py:obj:`fit <twofold.module.BaseModule.fit>`" in pages["mod.Module"]
    assert ":py:obj:`attach_grad <twofold.ndarray.sparse.BaseSparseNDArray.attach_grad>`" in pages["nd.sparse.CSRNDArray"]
    assert ":py:obj:`item <twofold.ndarray.NDArray.item>`" in pages["nd.sparse.CSRNDArray"]


def test_every_documented_member_of_a_class_is_on_its_page_or_linked():
    classes = api_pages.described_classes()
    for cls in classes:
        linked = {name for names in class_members.linked_members(cls, classes).values() for name in names}
        hidden = class_members.shown_elsewhere(cls, classes)
        for base in filter(class_members.is_ours, cls.__mro__):
            names = {n for n, value in vars(base).items() if not n.startswith("_") and class_members.has_docstring(value)}
            assert base not in hidden or names <= linked | {n for b in set(cls.__mro__) - hidden for n in vars(b)}, (cls, base)


def test_bases_without_a_page_are_not_named():
    def names(cls: type) -> list[str]:
        return [base.__name__ for base in class_members.public_bases(cls.__bases__, api_pages.described_classes())]

    assert names(mx.nd.NDArray) == []
    assert names(mx.kv.KVStore) == ["KVStoreBase"]
    assert names(mx.gluon.nn.Conv2D) == ["HybridBlock"]
    assert names(mx.io.DataDesc) == ["tuple"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (logging, "logging"),
        (float, "float"),
        (mx.nd.zeros, "zeros"),
        (mx.init.Uniform(0.01), "Uniform(scale=0.01)"),
        (functools.partial(mx.nd.LeakyReLU, slope=0.2), "LeakyReLU(slope=0.2)"),
        (f"{Path.home()}/.mxnet", "'~/.mxnet'"),
        (object(), "…"),
        ("<unk>:", "'<unk>:'"),
        ((1, None), "(1, None)"),
    ],
)
def test_a_default_is_shown_as_users_write_it(value, text):
    assert signatures.default_text(value) == text


def described() -> Iterator[Callable[..., object]]:
    """The classes and functions that the pages describe, and the methods of the classes."""
    for section in api_pages.SECTIONS:
        for namespace in section.namespaces:
            for name in api_pages.public_names(namespace):
                found = getattr(namespace.module, name)
                yield found
                if inspect.isclass(found):
                    yield from (getattr(found, n) for n in dir(found) if not n.startswith("_") and callable(getattr(found, n, None)))


def test_no_signature_holds_an_object_or_a_path_of_the_machine():
    for found in described():
        try:
            defaults = [p.default for p in inspect.signature(found).parameters.values()]
        except (TypeError, ValueError):
            continue
        texts = [signatures.default_text(default) for default in defaults]
        assert not [text for text in texts if text.startswith("<") or f"{Path.home()}/" in text], found


def test_the_defaults_of_a_signature_are_replaced():
    shown = "(logger=<module 'logging' from 'anywhere'>)".replace("anywhere", logging.__file__)
    assert signatures.readable(inspect.signature(mx.mod.BaseModule), shown) == "(logger=logging)"


@pytest.mark.ci
def test_the_search_finds_a_page_under_the_names_of_mxnet(pages):
    assert pages["gluon.Trainer"].startswith("mx.gluon.Trainer\n")
    # the exclamation mark makes them main entries: others come after all other results
    assert "\n.. index:: ! mxnet.gluon.Trainer\n" in pages["gluon.Trainer"]
    assert "\n.. index:: ! mxnet.mod.Module, ! mxnet.module.Module\n" in pages["mod.Module"]
    assert "\n.. index:: ! mxnet.nd.Convolution, ! mxnet.sym.Convolution\n" in pages["op.Convolution"]


@pytest.mark.ci
def test_layers_and_their_operators_link_to_each_other(pages):
    for operator, layers in see_also.LAYERS.items():
        for layer in layers:
            assert f":doc:`mx.{layer} <{layer}>`" in pages[f"op.{operator}"]
            assert f":doc:`mx.nd.{operator} <op.{operator}>`" in pages[layer]


def test_fields_stand_in_the_order_of_a_call():
    from docutils import nodes

    names = ["raises ShapeError", "returns", "param x", "note", "param y"]
    fields = [nodes.field("", nodes.field_name(text=name), nodes.field_body()) for name in names]
    content = nodes.section("", nodes.paragraph(), nodes.field_list("", *fields))
    api_pages.order_fields(None, "py", "function", content)
    assert [field[0].astext() for field in content[1]] == ["param x", "param y", "returns", "raises ShapeError", "note"]


@pytest.mark.ci
def test_functions_of_numpy_link_to_those_that_it_names_beside_them(pages):
    assert ":doc:`mx.np.hsplit <np.hsplit>`, " in pages["np.concatenate"]
    assert "<np.linalg.eigvalsh>`" in pages["np.linalg.eigh"]
    assert "numpy.ma" not in pages["np.concatenate"]  # it has no page


def test_names_link_to_the_pages_that_teach_them():
    assert ":doc:`Neural networks with Gluon </tutorial/gluon>`" in see_also.shown_in(["gluon.Trainer"])
    assert see_also.shown_in(["gluon.Trainer"]).count(":doc:") == see_also.MOST_SHOWN
    assert see_also.shown_in(["gluon.NoSuchName"]) == ""


@pytest.mark.ci
def test_pages_link_to_the_differences_that_mention_them(pages):
    expected = "`Fixed gamma <../reference/compatibility.html#operators-of-neural-networks>`__"
    assert expected in pages["op.BatchNorm"]
    assert "#mxmod>`__" in pages["mod.Module"]
    assert "Differences from MXNet" not in pages["gluon.data.batchify.Pad"]  # a row has the operator of that name
