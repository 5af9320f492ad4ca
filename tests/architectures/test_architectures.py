"""Each network equals its published implementation with random weights, whose answers `make_answers` has stored."""

import importlib.util
import json
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

import twofold as mx
from twofold import gluon, nd

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".venv-torch" / "bin" / "python"
STORED = json.loads((HERE / "answers.json").read_text())


def module(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / "architectures" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def numbers(name, shape):
    """The numbers of `make_answers`."""
    found = np.sin(np.arange(int(np.prod(shape))) * 0.7 + zlib.crc32(name.encode()) % 1000) * 0.3
    return (found + (len(shape) == 1 and name.endswith("weight"))).reshape(shape).astype("float32")


def image(*shape):
    return nd.array(numbers("image", shape))


TOKENS = nd.array(np.arange(14).reshape(2, 7) * 7 % 31)
KINDS, MASK = nd.array([[0] * 4 + [1] * 3] * 2), nd.array([[1] * 7, [1] * 5 + [0] * 2])
SMALL = {"units": 16, "hidden_size": 24, "layers": 2, "heads": 4}
NETS = {
    "gpt2": (lambda m: m.GPT2(31, 12, 16, 2, 4), lambda net: net(TOKENS)),
    "llama": (lambda m: m.Llama(31, **SMALL, kv_heads=2), lambda net: net(TOKENS)),
    "bert": (lambda m: m.BERT(31, 12, **SMALL), lambda net: net(TOKENS, KINDS, MASK)[1]),
    "vit": (lambda m: m.ViT(5, 16, 8, **SMALL), lambda net: net(image(2, 3, 16, 16))),
    "convnext": (lambda m: m.ConvNeXt(5, (8, 16), (1, 2)), lambda net: net(image(2, 3, 32, 32))),
    "unet": (lambda m: m.UNet((8, 16), 1, (False, True), 1, 4, 4), lambda net: net(image(2, 1, 8, 8), nd.array([3, 500]))),
    "whisper": (lambda m: m.WhisperEncoder(10, **SMALL), lambda net: net(image(2, 6, 20))),
}


def loaded(name):
    """A network with the weights of the published one."""
    found, (make, _) = module(name), NETS[name]
    net = make(found)
    net.initialize()
    arrays = {key: nd.array(numbers(key, shape)) for key, shape in STORED[name]["shapes"].items()}
    if name == "gpt2":
        # of the two names of one parameter, published files have the first
        arrays["transformer.wte.weight"] = arrays.pop("lm_head.weight")
    gluon.load_weights(net, arrays, found.RULES, allow_missing=name == "whisper")
    return net


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", NETS)
def test_answers_of_the_published_implementation(name, hybrid):
    net = loaded(name)
    if hybrid:
        net.hybridize()
    stored = STORED[name]
    found = NETS[name][1](net).asnumpy()
    assert list(found.shape) == stored["shape"]
    expected = np.reshape(stored["answer"], stored["shape"])
    assert abs(found - expected).max() < 1e-5 * max(1, abs(expected).max())


def test_only_biases_of_keys_are_missing_in_whisper():
    net = loaded("whisper")
    missing = [name for name in net._collect_params_with_prefix() if name.endswith("key.bias")]
    with pytest.raises(mx.MXNetError) as caught:
        gluon.load_weights(net, {k: nd.array(numbers(k, s)) for k, s in STORED["whisper"]["shapes"].items()}, module("whisper").RULES)
    assert all(f"'{name}'" in str(caught.value) for name in missing)
    assert "no parameters for" not in str(caught.value)


def test_stored_answers_are_those_of_the_installed_libraries(tmp_path):
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import transformers, diffusers"], capture_output=True, check=False).returncode:
        pytest.skip("transformers and diffusers are not installed: make .venv-torch/architectures")
    subprocess.run([PYTHON, HERE / "make_answers.py", tmp_path / "answers.json"], check=True, capture_output=True)
    for name, entry in json.loads((tmp_path / "answers.json").read_text()).items():
        np.testing.assert_allclose(entry["answer"], STORED[name]["answer"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_generation_with_a_cache_is_that_without(name):
    net = loaded(name)
    found = gluon.generate(net, [[1, 2, 3], [4, 5, 6]], 5)
    whole = np.array([[1, 2, 3], [4, 5, 6]])
    for _ in range(5):
        whole = np.concatenate([whole, net(nd.array(whole))[:, -1].asnumpy().argmax(1)[:, None]], 1)
    assert found.tolist() == whole.tolist()
