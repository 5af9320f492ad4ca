"""Models of other makers: operators, versions, functions, names, external data, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import FormatError, MissingFileError

FLOAT, INT64 = 1, 7


def model_of(nodes, inputs, outputs, arrays=None, opset=17, functions=()):
    """A model of ONNX: inputs and outputs are shapes by name, all float32."""
    from onnx import helper, numpy_helper

    def infos(types):
        return [helper.make_tensor_value_info(n, FLOAT, s) for n, s in types.items()]

    initializers = [numpy_helper.from_array(np.asarray(a), n) for n, a in (arrays or {}).items()]
    graph = helper.make_graph(nodes, "test", infos(inputs), infos(outputs), initializers)
    imports = [helper.make_opsetid("", opset), *[helper.make_opsetid(d, 1) for d in {f.domain for f in functions}]]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions))


def node(*args, **attributes):
    from onnx import helper

    return helper.make_node(*args, **attributes)


def saved(model, path):
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    return path


def outputs(path, **inputs):
    symbol, args, states = mx.contrib.onnx.import_model(path)
    arrays = {**args, **{n: nd.array(a) for n, a in inputs.items()}}
    return [a.asnumpy() for a in symbol.bind(mx.cpu(), arrays, aux_states=states).forward()]


def test_arrays_become_parameters_under_their_names(path):
    weight = np.arange(6, dtype=np.float32).reshape(2, 3)
    model = model_of(
        [node("Gemm", ["x", "w", "b"], ["y"], transB=1)], {"x": (1, 3)}, {"y": (1, 2)}, {"w": weight, "b": np.ones(2, np.float32)}
    )
    symbol, args, states = mx.contrib.onnx.import_model(saved(model, path))
    assert (symbol.list_arguments(), sorted(args), states) == (["x", "w", "b"], ["b", "w"], {})
    np.testing.assert_array_equal(outputs(path, x=[[1, 2, 3]])[0], [[9, 27]])


def test_statistics_become_auxiliary_states(path):
    vectors = {n: np.ones(2, np.float32) for n in ("scale", "bias", "mean", "var")}
    model = model_of([node("BatchNormalization", ["x", *vectors], ["y"])], {"x": (1, 2)}, {"y": (1, 2)}, vectors)
    _, args, states = mx.contrib.onnx.import_model(saved(model, path))
    assert (sorted(args), sorted(states)) == (["bias", "scale"], ["mean", "var"])


def test_a_block_takes_the_inputs_in_the_order_of_the_file(path):
    # the first operator reads c and a, and none reads d
    nodes = [node("Sub", ["c", "a"], ["y"]), node("Mul", ["b", "y"], ["z"])]
    saved(model_of(nodes, dict.fromkeys("abdc", (2,)), {"z": (2,)}), path)
    assert [n for n, _ in mx.contrib.onnx.get_model_metadata(path)["input_tensor_data"]] == ["a", "b", "d", "c"]
    block = mx.contrib.onnx.import_to_gluon(path, ctx=mx.cpu())
    for _ in range(2):
        found = block(*(nd.array(x) for x in ([1, 2], [3, 4], [9, 9], [7, 9])))
        np.testing.assert_array_equal(found.asnumpy(), [(7 - 1) * 3, (9 - 2) * 4])
        block.hybridize()


def test_computations_of_shapes_are_done_while_reading(path):
    # what torch writes for x.view(x.shape[0], -1)
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["first"], axis=0),
        node("Unsqueeze", ["first", "zeros"], ["row"]),
        node("Concat", ["row", "rest"], ["wanted"], axis=0),
        node("Reshape", ["x", "wanted"], ["y"]),
    ]
    arrays = {"zero": np.int64(0), "zeros": np.array([0]), "rest": np.array([-1])}
    saved(model_of(nodes, {"x": (2, 3, 4)}, {"y": (2, 12)}, arrays), path)
    assert outputs(path, x=np.ones((2, 3, 4)))[0].shape == (2, 12)


def test_a_shape_that_an_input_decides_is_refused_by_name(path):
    from onnx import helper

    model = model_of([node("Reshape", ["x", "shape"], ["y"])], {"x": (2, 3)}, {"y": (3, 2)})
    model.graph.input.append(helper.make_tensor_value_info("shape", INT64, (2,)))
    with pytest.raises(
        FormatError, match=r"node 'y' \(Reshape\).*must be constant: given shape, computed from shape; make it an initializer"
    ):
        mx.contrib.onnx.import_model(saved(model, path))


def test_the_same_shape_is_taken_from_the_inputs_by_the_backend():
    from onnx import helper

    from twofold.contrib.onnx import backend

    model = model_of([node("Reshape", ["x", "shape"], ["y"])], {"x": (2, 3)}, {"y": (None, None)})
    model.graph.input.append(helper.make_tensor_value_info("shape", INT64, (2,)))
    prepared = backend.prepare(model, "CPU")
    for shape in ((3, 2), (6, 1)):
        assert prepared.run([np.ones((2, 3), np.float32), np.array(shape)])[0].shape == shape


def test_an_operator_that_onnx_defines_by_others_is_read_by_its_definition(path):
    saved(model_of([node("HardSwish", ["x"], ["y"])], {"x": (3,)}, {"y": (3,)}), path)
    np.testing.assert_allclose(outputs(path, x=[-4, 1, 4])[0], [0, 4 / 6, 4], rtol=1e-6)


def test_a_function_of_the_model_is_read_with_its_attributes(path):
    from onnx import AttributeProto, helper

    inner = node("LeakyRelu", ["a"], ["b"])
    inner.attribute.append(AttributeProto(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="slope"))
    body = [inner, node("Add", ["b", "b"], ["c"])]
    function = helper.make_function("own", "Twice", ["a"], ["c"], body, [helper.make_opsetid("", 17)], ["slope"])
    model = model_of([node("Twice", ["x"], ["y"], domain="own", slope=0.5)], {"x": (2,)}, {"y": (2,)}, functions=[function])
    np.testing.assert_array_equal(outputs(saved(model, path), x=[-2, 3])[0], [-2, 6])


def test_attributes_that_became_inputs_are_read_in_older_versions(path):
    saved(model_of([node("Squeeze", ["x"], ["y"], axes=[0])], {"x": (1, 3)}, {"y": (3,)}, opset=11), path)
    assert outputs(path, x=np.ones((1, 3)))[0].shape == (3,)


def test_softmax_of_older_versions_normalizes_all_axes_from_one_on(path):
    saved(model_of([node("Softmax", ["x"], ["y"])], {"x": (1, 2, 2)}, {"y": (1, 2, 2)}, opset=11), path)
    np.testing.assert_allclose(outputs(path, x=np.zeros((1, 2, 2)))[0], np.full((1, 2, 2), 0.25))


def test_a_network_is_trained_further_as_a_block(path):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(8, activation="relu"), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(1))
    net.initialize()
    net.hybridize()
    rng = np.random.default_rng(0)
    x = nd.array(rng.normal(size=(32, 4)))
    y = x.sum(axis=1, keepdims=True)
    net(x)
    net.export(path.removesuffix(".onnx"))
    files = [path.removesuffix(".onnx") + end for end in ("-symbol.json", "-0000.params")]
    mx.onnx.export_model(*files, [(32, 4)], onnx_file_path=path)
    block = mx.contrib.onnx.import_to_gluon(path, ctx=mx.cpu())
    np.testing.assert_allclose(block(x).asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)
    trainer = mx.gluon.Trainer(block.collect_params(), "adam", {"learning_rate": 0.03})
    losses = []
    for _ in range(40):
        with mx.autograd.record():
            loss = mx.gluon.loss.L2Loss()(block(x), y)
        loss.backward()
        trainer.step(32)
        losses.append(loss.mean().asscalar())
    assert losses[-1] < 0.1 * losses[0]


def test_a_comparison_does_not_decide_the_dtype_of_a_block(path):
    nodes = [node("Softmax", ["x"], ["s"]), node("Greater", ["s", "z"], ["c"]), node("Where", ["c", "s", "z"], ["y"])]
    saved(model_of(nodes, {"x": (1, 3)}, {"y": (1, 3)}, {"z": np.float32(0.3)}), path)
    found = mx.contrib.onnx.import_to_gluon(path, ctx=mx.cpu())(nd.array([[0.0, 1.0, 2.0]])).asnumpy()
    s = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    np.testing.assert_allclose(found, [np.maximum(s, 0.3)], rtol=1e-6)


# what is refused


def test_an_unknown_operator_is_named_with_its_node(path):
    saved(model_of([node("Frobnicate", ["x"], ["y"], name="seventh")], {"x": (1,)}, {"y": (1,)}), path)
    with pytest.raises(
        FormatError, match=r"node 'seventh' \(Frobnicate\): unknown operator: given ai.onnx.Frobnicate, version 17; convert"
    ):
        mx.contrib.onnx.import_model(path)


def test_an_operator_of_an_unknown_domain_is_named(path):
    saved(model_of([node("Relu", ["x"], ["y"], domain="com.example")], {"x": (1,)}, {"y": (1,)}), path)
    with pytest.raises(FormatError, match=r"com\.example\.Relu"):
        mx.contrib.onnx.import_model(path)


def test_an_unknown_version_is_refused(path):
    saved(model_of([node("Relu", ["x"], ["y"])], {"x": (1,)}, {"y": (1,)}, opset=999), path)
    with pytest.raises(FormatError, match="unknown version of the operators: given 999; convert the model"):
        mx.contrib.onnx.import_model(path)


def test_an_unknown_attribute_is_named(path):
    saved(model_of([node("Relu", ["x"], ["y"], steepness=2)], {"x": (1,)}, {"y": (1,)}), path)
    with pytest.raises(FormatError, match=r"node 'y' \(Relu\): unknown attributes: given steepness"):
        mx.contrib.onnx.import_model(path)


def test_shapes_that_do_not_match_are_reported_with_the_node(path):
    saved(model_of([node("MatMul", ["x", "w"], ["y"])], {"x": (2, 3)}, {"y": (2, 2)}, {"w": np.ones((4, 2), np.float32)}), path)
    with pytest.raises(FormatError, match=r"node 'y' \(MatMul\)"):
        mx.contrib.onnx.import_model(path)


def test_a_missing_file_and_other_files(tmp_path):
    with pytest.raises(MissingFileError):
        mx.contrib.onnx.import_model(str(tmp_path / "none.onnx"))
    for data in (b"", b"not a model", b"\x89PNG\r\n\x1a\n"):
        (tmp_path / "other.onnx").write_bytes(data)
        with pytest.raises(FormatError, match="not an ONNX model"):
            mx.contrib.onnx.import_model(str(tmp_path / "other.onnx"))


# arrays in other files


def with_external_data(path, location, offset="0", length="12"):
    from onnx import TensorProto

    model = model_of([node("Add", ["x", "w"], ["y"])], {"x": (3,)}, {"y": (3,)}, {"w": np.zeros(3, np.float32)})
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return saved(model, path)


def test_arrays_in_files_of_the_folder_are_read(path, tmp_path):
    (tmp_path / "weights.bin").write_bytes(b"----" + np.array([1, 2, 3], np.float32).tobytes())
    with_external_data(path, "weights.bin", offset="4")
    np.testing.assert_array_equal(outputs(path, x=[10, 10, 10])[0], [11, 12, 13])


@pytest.mark.parametrize("location", ["../secret.bin", "sub/../../secret.bin", "{root}/secret.bin", "link.bin", "", "none.bin", "."])
def test_arrays_outside_of_the_folder_are_refused(location, tmp_path):
    inside = tmp_path / "model"
    (inside / "sub").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(bytes(12))
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")
    path = with_external_data(str(inside / "model.onnx"), location.format(root=tmp_path))
    with pytest.raises(FormatError, match=r"the array 'w' is in a file that is not in the model's folder"):
        mx.contrib.onnx.import_model(path)


@pytest.mark.parametrize(("offset", "length"), [("8", "12"), ("0", "99"), ("-4", "12"), ("99", "0"), ("x", "12")])
def test_arrays_that_reach_beyond_their_file_are_refused(offset, length, path, tmp_path):
    (tmp_path / "weights.bin").write_bytes(bytes(16))
    with_external_data(path, "weights.bin", offset, length)
    with pytest.raises(FormatError, match="the array 'w'"):
        mx.contrib.onnx.import_model(path)


def test_the_names_of_mxnet_lead_to_the_same(path):
    from twofold.compat.onnx import GraphProto

    model = model_of([node("Relu", ["x"], ["y"])], {"x": (2,)}, {"y": (2,)})
    symbol, _, _ = GraphProto().from_onnx(model.graph, opset_version=17)
    np.testing.assert_array_equal(symbol.eval(x=nd.array([-1, 1]))[0].asnumpy(), [0, 1])
    assert GraphProto().get_graph_metadata(model.graph)["input_tensor_data"] == [("x", (2,))]
    block = GraphProto().graph_to_gluon(model.graph, mx.cpu(), 17)
    np.testing.assert_array_equal(block(nd.array([-1, 1])).asnumpy(), [0, 1])


def flattened(first, opset=17):
    """``x.reshape(shape(first)[0], -1)`` of a convolution's result, as other exporters write it, for any number of samples."""
    nodes = [
        node("Conv", ["x", "w"], ["features"], pads=[1, 1, 1, 1]),
        node("Shape", [first], ["shape"]),
        node("Gather", ["shape", "zero"], ["samples"], axis=0),
        node("Unsqueeze", ["samples", "zeros"], ["row"]),
        node("Concat", ["row", "rest"], ["wanted"], axis=0),
        node("Reshape", ["features", "wanted"], ["y"]),
    ]
    arrays = {"w": np.ones((2, 1, 3, 3), np.float32), "zero": np.int64(0), "zeros": np.array([0]), "rest": np.array([-1])}
    return model_of(nodes, {"x": ("n", 1, 4, 4)}, {"y": ("n", 32)}, arrays, opset)


@pytest.mark.parametrize("first", ["x", "features"])
def test_computations_of_unknown_sizes_are_done_while_reading(first, path):
    saved(flattened(first), path)
    for samples in (1, 3):
        assert outputs(path, x=np.ones((samples, 1, 4, 4)))[0].shape == (samples, 32)


def test_a_product_of_unknown_sizes_is_refused_with_what_to_do(path):
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("ReduceProd", ["shape"], ["count"]),
        node("Reshape", ["x", "count"], ["y"]),
    ]
    saved(model_of(nodes, {"x": ("n", 6)}, {"y": ("m",)}), path)
    with pytest.raises(FormatError, match=r"\(ReduceProd\): an operand depends on unknown sizes.*give the inputs fixed sizes"):
        mx.contrib.onnx.import_model(path)


def test_a_size_that_is_not_in_its_place_is_not_taken_for_the_one_there(path):
    # (n, 6) to (2 n, 3), and back by the shape of x: the first size there is 2 n, which a reshape must not keep
    nodes = [
        node("Reshape", ["x", "halves"], ["rows"]),
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["samples"], axis=0),
        node("Unsqueeze", ["samples", "zeros"], ["row"]),
        node("Concat", ["row", "rest"], ["wanted"], axis=0),
        node("Reshape", ["rows", "wanted"], ["y"]),
    ]
    arrays = {"halves": np.array([-1, 3]), "zero": np.int64(0), "zeros": np.array([0]), "rest": np.array([6])}
    saved(model_of(nodes, {"x": ("n", 6)}, {"y": ("n", 6)}, arrays), path)
    x = np.arange(12.0).reshape(2, 6)
    np.testing.assert_array_equal(outputs(path, x=x)[0], x)
    arrays["rest"] = np.array([-1])
    saved(model_of(nodes, {"x": ("n", 6)}, {"y": ("n", 6)}, arrays), path)
    with pytest.raises(FormatError, match=r"node 'y' \(Reshape\): more than one size of the shape is unknown.*give the inputs fixed sizes"):
        mx.contrib.onnx.import_model(path)
