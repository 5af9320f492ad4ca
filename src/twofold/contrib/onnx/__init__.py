"""``mx.contrib.onnx``: networks as ONNX files. It needs the package ``onnx`` (``pip install 'twofold[onnx]'``)."""

from .export import export_model, get_operator_support
from .importing import get_model_metadata, import_model, import_to_gluon

__all__ = ["export_model", "get_model_metadata", "get_operator_support", "import_model", "import_to_gluon"]
