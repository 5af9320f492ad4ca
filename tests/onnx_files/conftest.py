"""The packages that these tests need, and running models by them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.conftest import absent

if TYPE_CHECKING:
    from pathlib import Path

Run = Callable[..., list[np.ndarray]]


@pytest.fixture(scope="session", autouse=True)
def _packages() -> None:
    missing = [name for name in ("onnx", "onnxruntime") if find_spec(name) is None]
    if missing:
        absent(f"not installed: {', '.join(missing)}")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a model is written."""
    return str(tmp_path / "model.onnx")


@pytest.fixture(scope="session")
def run() -> Run:
    """Run a file by onnxruntime, or by ONNX's reference implementation where onnxruntime has no kernel."""
    import onnx
    import onnxruntime
    from onnx.reference import ReferenceEvaluator

    onnxruntime.set_default_logger_severity(4)
    lacking = onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented

    def model_outputs(path: str, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        given = {v.name: feed[v.name] for v in model.graph.input}
        try:
            return onnxruntime.InferenceSession(path).run(None, given)
        except lacking:
            return ReferenceEvaluator(model).run(None, given)

    return model_outputs
