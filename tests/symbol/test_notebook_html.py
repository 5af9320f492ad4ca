"""What notebooks show of arrays, networks and what trains them: well-formed HTML, escaped, without running pending work."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from xml.etree import ElementTree

import numpy as np
import pytest

import twofold as mx
from twofold.gluon import nn

from tests.house.sources import ROOT


def html_of(shown: object) -> ElementTree.Element:
    """What is shown, which is well-formed and loads nothing."""
    text = shown._repr_html_()  # type: ignore[attr-defined]
    assert "<script" not in text
    assert not re.search(r'(src|href)="(?!data:)', text)
    return ElementTree.fromstring(text)


def text_of(shown: object) -> str:
    return "".join(html_of(shown).itertext())


def cells_of(shown: object) -> list[list[str]]:
    """The rows of all tables."""
    return [["".join(cell.itertext()) for cell in row] for row in html_of(shown).iter("tr")]


def network() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    return net


@pytest.mark.parametrize("make", [mx.nd.array, mx.np.array])
def test_an_array_shows_its_type_values_and_histogram(make):
    shown = text_of(make(np.array([[1.5, 2], [3, 4]], np.float32)))
    assert all(part in shown for part in ("2 × 2", "float32", "cpu(0)", "16 bytes", "from 1.5 to 4, mean 2.625", "[[1.5 2. ]"))


@pytest.mark.parametrize(
    "values", [np.float64(3), np.zeros((0, 2)), np.array([np.nan, np.inf]), np.array([-1e308, 1e308]), np.array([True, False]), np.zeros(3)]
)
def test_arrays_of_all_kinds_are_shown(values):
    assert "· float64" in text_of(mx.np.array(values)) or "· bool" in text_of(mx.np.array(values))


def test_not_every_element_of_a_large_array_is_written_or_counted():
    shown = mx.np.array(np.arange(1_000_000.0))._repr_html_()
    assert "counted in every 10th" in shown
    assert len(shown) < 10_000


def test_what_is_pending_stays_so():
    pending = mx.np.exp(mx.np.ones((500, 500)) * 2.0)
    assert pending._content.data is None
    assert "pending" in text_of(pending)
    assert pending._content.data is None
    pending.wait_to_read()
    assert "pending" not in text_of(pending)


def test_sparse_arrays_say_their_storage():
    assert "csr" in text_of(mx.nd.ones((2, 3)).tostype("csr"))


def test_a_block_is_a_table_of_layers():
    net = network()
    assert "of unknown shape" in text_of(net)
    net.initialize()
    net(mx.nd.ones((1, 3)))
    rows = cells_of(net)
    assert rows[0] == ["layer", "kind", "parameters", "values"]
    assert rows[1] == ["0", "Dense(3 -> 4, Activation(relu))", "weight 4 × 3, bias 4", "16"]
    assert ["1", "Dense(4 -> 2, linear)", "weight 2 × 4, bias 2", "10"] in rows
    assert ["net_dense1_weight", "2 × 4", "float32", "8", "write", str(mx.current_context())] in rows
    assert "4 parameters · 26 values" in text_of(net)
    assert cells_of(net.collect_params())[1:] == rows[-4:]
    assert "Parameter net_dense0_bias" in text_of(net[0].bias)


def test_names_are_escaped():
    symbol = mx.sym.FullyConnected(mx.sym.var("<data>"), num_hidden=3, name="f&g")
    assert "<data>" in text_of(symbol)
    assert "f&g" in text_of(symbol)


def test_symbols_executors_modules_and_plans():
    symbol = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"), name="softmax")
    executor = symbol.simple_bind(mx.cpu(), data=(4, 5))
    assert all("FullyConnected 3" in text_of(shown) for shown in (symbol, executor))
    assert ["fc_weight", "3 × 5", "float32", "cpu(0)"] in cells_of(executor)
    assert ["memory", "size", ""] in cells_of(executor.memory_plan()["forward on cpu(0)"])
    module = mx.mod.Module(symbol)
    assert "bound: False" in text_of(module)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params()
    assert ["data", "4 × 5"] in cells_of(module)
    assert ["fc_weight", "3 × 5", "float32", "15"] in cells_of(module)


def test_what_trains():
    net = network()
    net.initialize()
    net(mx.nd.ones((1, 3)))
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.25})
    assert "learning rate: 0.25" in text_of(trainer)
    assert ["beta1", "0.9"] in cells_of(trainer.optimizer)
    metric = mx.metric.Accuracy()
    metric.update(mx.nd.array([0, 1]), mx.nd.array([[1, 0], [1, 0]]))
    assert ["accuracy", "0.5"] in cells_of(metric)
    loader = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(np.ones((10, 3))), batch_size=4)
    assert "dataset: ArrayDataset · samples: 10 · batch size: 4 · batches: 3 · workers: 0" in text_of(loader)
    iterator = mx.io.NDArrayIter(np.ones((10, 3)), np.ones(10), batch_size=4)
    assert "NDArrayIter · batch size: 4 · num data: 10 · shuffle: False · last batch handle: pad" in text_of(iterator)
    assert cells_of(iterator)[1:] == [["data", "data", "4 × 3", "float32"], ["label", "softmax_label", "4", "float32"]]


def test_a_report_lists_programs():
    x = mx.np.ones((500, 500))
    with mx.explain() as report:
        (mx.np.exp(x * 2.0) + 1.0).wait_to_read()
    assert "1 program · 1 fused kernel · 4,000,000 bytes read and written" in text_of(report)
    assert cells_of(report)[1][0].startswith("test_notebook_html.py:")
    assert "multiply + exp + add" in text_of(report)


NOTEBOOK = """
import json, nbformat, sys
from nbclient import NotebookClient
cells = [nbformat.v4.new_code_cell(source) for source in json.loads(sys.argv[1])]
book = nbformat.v4.new_notebook(cells=cells)
NotebookClient(book, timeout=120, kernel_name="python3").execute()
print(json.dumps([output["data"].get("text/html", "") for cell in book.cells for output in cell.outputs if "data" in output]))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("nbclient") is None or find_spec("ipykernel") is None, reason="nbclient or ipykernel is not installed")
def test_a_notebook_shows_it():
    head = f"import sys; sys.path[:0] = [{str(ROOT / 'src')!r}, {str(ROOT / 'backends')!r}]\nimport twofold as mx"
    cells = [head, "mx.nd.ones((2, 3))", "mx.gluon.nn.Dense(3, in_units=2)", "with mx.explain() as report:\n    pass\nreport"]
    run = subprocess.run([sys.executable, "-c", NOTEBOOK, json.dumps(cells)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    array, block, report = json.loads(run.stdout)
    assert "2 × 3" in array
    assert "Dense(2 -&gt; 3, linear)" in block
    assert "fused kernels" in report
