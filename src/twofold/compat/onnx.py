"""``mxnet.contrib.onnx``'s other names: its functions with an underscore, and the class behind them."""

from typing import Any

from ..contrib.onnx.export import export_model
from ..contrib.onnx.files import parsed_model
from ..contrib.onnx.importing import Model, block_of, described, get_model_metadata, import_model, import_to_gluon, read_model
from ..contrib.onnx.package import onnx_package
from ..device import CPU, Device
from ..gluon.symbol_block import SymbolBlock

__all__ = ["GraphProto", "export_model_", "get_model_metadata_", "import_model_", "import_to_gluon_"]

export_model_ = export_model
get_model_metadata_ = get_model_metadata
import_model_ = import_model
import_to_gluon_ = import_to_gluon


class GraphProto:
    """Reads graphs that the package ``onnx`` has loaded."""

    def from_onnx(self, graph: object, opset_version: int) -> Model:
        """The symbol, parameters and auxiliary states of a graph; see `contrib.onnx.import_model`."""
        return read_model(_model_of(graph, opset_version))

    def get_graph_metadata(self, graph: object) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
        """Names and shapes of a graph's inputs and outputs; see `contrib.onnx.get_model_metadata`."""
        return described(graph)

    def graph_to_gluon(self, graph: object, ctx: Device = CPU, opset_version: int = 13) -> SymbolBlock:
        """A graph as a block; see `contrib.onnx.import_to_gluon`."""
        return block_of(_model_of(graph, opset_version), ctx)


def _model_of(graph: Any, opset_version: int) -> Any:
    """The model that consists of a graph."""
    helper = onnx_package("reading ONNX files").helper
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset_version)])
    return parsed_model(model.SerializeToString(), "onnx")
