"""Operators whose results select by value, places of maxima and deformed windows: read, and compared with onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.errors import FormatError

from tests.onnx_files.test_import import node, outputs, saved

FLOAT, INT64 = 1, 7


def model_of(made, inputs, results, arrays=None, opset=22):
    """A model of one node; ``inputs`` are shapes by name (float32), ``results`` pairs of dtype and number of axes."""
    from onnx import helper, numpy_helper

    initializers = [numpy_helper.from_array(np.asarray(a), n) for n, a in (arrays or {}).items()]
    given = [helper.make_tensor_value_info(n, FLOAT, s) for n, s in inputs.items()]
    infos = [helper.make_tensor_value_info(n, dtype, [None] * axes) for n, (dtype, axes) in results.items()]
    graph = helper.make_graph([made], "test", given, infos, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def check(path, run, model, feed, exact=True):
    found, wanted = outputs(saved(model, path), **feed), run(path, feed)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=0 if exact else 1e-4, atol=0 if exact else 1e-5)


@pytest.mark.parametrize(
    ("most", "overlap", "least", "center"), [(5, 0.4, 0.2, 0), (100, 0.6, -1.0, 0), (3, 0.0, 0.5, 1), (10, 0.5, 5.0, 0), (0, 0.5, 0.0, 0)]
)
def test_boxes_without_overlap_are_selected(path, run, most, overlap, least, center):
    draw = np.random.default_rng(0)
    boxes, scores = draw.random((2, 40, 4), np.float32), draw.normal(size=(2, 3, 40)).astype("f")
    if center:
        boxes[..., 2:] *= 0.3
    numbers = {"most": np.array([most]), "overlap": np.array([overlap], "f"), "least": np.array([least], "f")}
    made = node("NonMaxSuppression", ["boxes", "scores", *numbers], ["chosen"], center_point_box=center)
    model = model_of(made, {"boxes": boxes.shape, "scores": scores.shape}, {"chosen": (INT64, 2)}, numbers)
    check(path, run, model, {"boxes": boxes, "scores": scores})


@pytest.mark.parametrize("options", [{}, {"sorted": 0}, {"axis": 0}, {"axis": 1, "sorted": 0}])
@pytest.mark.parametrize("count", [1, 4])
def test_distinct_elements(path, run, options, count):
    x = np.random.default_rng(0).integers(0, 2, (6, 3)).astype("f")
    names = ["values", "first", "inverse", "counts"][:count]
    types = {"values": (FLOAT, 2 if "axis" in options else 1), **dict.fromkeys(names[1:], (INT64, 1))}
    check(path, run, model_of(node("Unique", ["x"], names, **options), {"x": x.shape}, types), {"x": x})


def test_places_of_elements_that_are_not_zero(path, run):
    x = np.random.default_rng(0).integers(0, 2, (4, 3, 2)).astype("f")
    check(path, run, model_of(node("NonZero", ["x"], ["places"]), {"x": x.shape}, {"places": (INT64, 2)}), {"x": x})


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((2, 3, 9), {"kernel_shape": [3], "strides": [2]}),
        ((2, 3, 7, 8), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
        ((2, 2, 7, 8), {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1}),
        ((1, 2, 7, 8), {"kernel_shape": [2, 3], "dilations": [2, 1], "storage_order": 1}),
        ((2, 2, 4, 5, 6), {"kernel_shape": [2, 2, 2], "auto_pad": "SAME_UPPER"}),
    ],
    ids=["1 axis", "padded", "incomplete", "dilated", "3 axes"],
)
def test_maxima_and_their_places(path, run, shape, options):
    x = np.random.default_rng(0).integers(0, 9, shape).astype("f")  # with equal maxima, of which the first counts
    made = node("MaxPool", ["x"], ["y", "places"], **options)
    check(path, run, model_of(made, {"x": shape}, {"y": (FLOAT, len(shape)), "places": (INT64, len(shape))}), {"x": x})


@pytest.mark.parametrize("has_mask", [False, True])
def test_deformed_convolutions(path, run, has_mask):
    draw = np.random.default_rng(0)
    weights = {"w": draw.normal(size=(4, 2, 3, 3)).astype("f"), "b": draw.normal(size=4).astype("f")}
    feed = {"x": draw.normal(size=(2, 4, 6, 5)).astype("f"), "offset": draw.normal(size=(2, 36, 6, 5)).astype("f") * 2}
    if has_mask:
        feed["mask"] = draw.random((2, 18, 6, 5), np.float32)
    names = ["x", "w", "offset", "b", *(["mask"] if has_mask else [])]
    made = node("DeformConv", names, ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=2, offset_group=2)
    model = model_of(made, {n: a.shape for n, a in feed.items()}, {"y": (FLOAT, 4)}, weights)
    check(path, run, model, feed, exact=False)


def test_what_cannot_be_read_names_the_node(path):
    made = node("NonMaxSuppression", ["boxes", "scores", "most"], ["chosen"], name="choose")
    model = model_of(made, {"boxes": (1, 4, 4), "scores": (1, 1, 4), "most": (1,)}, {"chosen": (INT64, 2)})
    with pytest.raises(FormatError, match="choose"):
        outputs(saved(model, path), boxes=np.zeros((1, 4, 4)), scores=np.zeros((1, 1, 4)), most=np.ones(1))
    made = node("DeformConv", ["x", "w", "offset"], ["y"], name="deform", kernel_shape=[3, 3], pads=[1, 0, 0, 1])
    model = model_of(made, {"x": (1, 1, 4, 4), "offset": (1, 18, 3, 3)}, {"y": (FLOAT, 4)}, {"w": np.zeros((1, 1, 3, 3), "f")})
    with pytest.raises(FormatError, match="deform"):
        outputs(saved(model, path), x=np.zeros((1, 1, 4, 4)), offset=np.zeros((1, 18, 3, 3)))
