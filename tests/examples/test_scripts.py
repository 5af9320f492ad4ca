"""Every script of examples/ runs, and prints what its text promises."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from twofold.command.digits import mnist_folder
from twofold.errors import MissingDependency

EXAMPLES = Path(__file__).parents[2] / "examples"


def output_of(name, *arguments, by=(), **variables):
    """What a script prints; one that trains on digits takes scikit-learn's, unless an argument says where MNIST's are."""
    command = [sys.executable, *by, str(EXAMPLES / name), *map(str, arguments)]
    environment = {**os.environ, "TWOFOLD_DATA": "", **variables}
    result = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.ci
def test_arithmetic_needs_three_arrays_or_two():
    printed = output_of("arithmetic.py")
    assert re.findall(r"total +(\d+) bytes", printed) == ["240", "160"]


@pytest.mark.ci
def test_the_toy_and_autograd_agree(tmp_path):
    pytest.importorskip("matplotlib")
    closures, recorded = output_of("toy_autodiff.py", "--picture", tmp_path / "tangents.png").splitlines()
    assert closures.removeprefix("closures:") == recorded.removeprefix("autograd:")
    assert (tmp_path / "tangents.png").stat().st_size > 5000


@pytest.mark.ci
def test_both_regressions_find_the_plane(tmp_path):
    pytest.importorskip("matplotlib")
    for line in output_of("linear_regression.py", "--picture", tmp_path / "weights.png").splitlines():
        assert [round(float(x), 1) for x in re.findall(r"-?\d+\.\d+", line)] == [2.0, -3.4, 4.2]
    assert (tmp_path / "weights.png").stat().st_size > 5000


@pytest.mark.parametrize("gpus", ["0", "4"])
def test_the_store_adds_up_and_updates(gpus):
    lines = output_of("key_value_store.py", TWOFOLD_FAKE_GPUS=gpus).splitlines()
    kind = "gpu" if gpus == "4" else "cpu"
    assert lines[1] == f"the sum of 4 {[[4.0] * 3] * 2}"
    assert lines[2:] == [f"on {kind}({k}): {[[6.0] * 3] * 2}" for k in range(4)]


def test_a_script_of_2018_runs_as_it_is():
    printed = output_of("mxnet_script.py", "--epochs", 30, by=("-m", "twofold", "run"))
    assert float(re.fullmatch(r"accuracy: (.*)\n", printed)[1]) > 0.95


@pytest.mark.ci
@pytest.mark.parametrize("cells", [[], ["--fused"]])
def test_a_language_model_learns_the_order_of_words(cells):
    sizes = ["--num-hidden", 24, "--num-embed", 16, "--num-layers", 1, "--num-sentences", 400, "--num-epochs", 12]
    printed = output_of("lstm_bucketing.py", *sizes, *cells, by=("-m", "twofold", "run"))
    perplexity, speed = re.fullmatch(r"perplexity: (.*)\nwords/s: (.*)\n", printed).groups()
    assert float(perplexity) < 10  # of 22 words
    assert float(speed) > 0


@pytest.mark.ci
def test_a_net_trains_on_the_arrays_of_another_library():
    there, here, difference = output_of("on_torch.py", "array_api_strict").splitlines()
    assert there.startswith("array_api_strict: ")
    for line in (there, here):
        first, *_, last = [float(x) for x in re.findall(r"\d+\.\d+", line)]
        assert last < first / 4
    assert float(difference.removeprefix("largest difference ")) < 1e-4


def test_a_library_that_is_not_there_is_said_so():
    command = [sys.executable, str(EXAMPLES / "on_torch.py"), "no_such_library"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert "no_such_library is not installed; `make example-torch`" in result.stderr


@pytest.mark.mnist
def test_the_cnn_reads_digits(shared):
    printed = output_of("mnist_cnn.py", mnist_folder() or shared / "data" / "mnist", "--images", 20_000)
    assert float(printed.removeprefix("accuracy:")) > 0.9


def test_every_script_is_tested():
    text = Path(__file__).read_text(encoding="utf-8")
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in text] == []


@pytest.mark.ci
def test_sparse_data_are_classified_from_the_rows_that_they_need():
    printed = output_of("sparse_linear_classification.py", by=("-m", "twofold", "run"))
    majority, *after = [float(x) for x in re.findall(r"0\.\d{3}", printed)]
    assert after[-1] > majority + 0.1
    rows, features = map(int, re.search(r"(\d+) of (\d+)", printed).groups())
    assert rows < features / 100


@pytest.mark.ci
def test_networks_in_mixed_precision_are_as_accurate():
    printed = output_of("mixed_precision_cnn.py")
    accuracies = [float(x) for x in re.findall(r"accuracy (\d\.\d+)", printed)]
    assert len(accuracies) == 3
    assert min(accuracies) > 0.9
    whole, half, mixed = (int(x) for x in re.findall(r"(\d+) bytes", printed))
    assert half < 0.55 * whole
    assert mixed == whole  # the optimizer updates float32 weights


@pytest.mark.ci
def test_a_factorization_machine_learns_what_a_linear_model_does_not():
    linear, machine, read = output_of("sparse_factorization_machine.py", by=("-m", "twofold", "run")).splitlines()
    accuracies = [float(line.rpartition(" ")[2]) for line in (linear, machine)]
    assert accuracies[0] < 0.6
    assert accuracies[1] > 0.8
    rows, features = map(int, re.search(r"(\d+) of (\d+)", read).groups())
    assert rows < features / 50


@pytest.mark.ci
def test_a_quantized_network_is_as_accurate_and_a_quarter_of_the_size():
    printed = output_of("quantized_cnn.py", by=("-m", "twofold", "run"))
    rows = re.findall(r"(\w+): accuracy (\d\.\d+), (\d+) kB", printed)
    assert [row[0] for row in rows] == ["float32", "quantize_net", "quantize_model"]
    accuracies, sizes = [float(row[1]) for row in rows], [int(row[2]) for row in rows]
    assert min(accuracies) > 0.95
    assert max(sizes[1:]) < 0.3 * sizes[0]


@pytest.mark.ci
def test_features_of_old_shapes_help_with_new_ones():
    printed = output_of("fine_tuning.py", by=("-m", "twofold", "run"))
    old, tuned, anew = [float(x) for x in re.findall(r": (0\.\d+)", printed)]
    assert old > 0.5  # of eight shapes
    assert tuned > max(0.5, anew + 0.15)  # of four


@pytest.mark.ci
def test_a_network_survives_the_round_trip_through_an_onnx_file(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    text = output_of("onnx_round_trip.py", "--picture", tmp_path / "network.svg")
    assert "Convolution" in (tmp_path / "network.svg").read_text(encoding="utf-8")
    differences = [float(x) for x in re.findall(r"largest difference is (\S+)", text)]
    assert differences
    assert max(differences) < 1e-4
    before, after = (float(x) for x in re.findall(r"(\d+\.\d)% (?:before|after)", text))
    assert after >= max(before, 95)


@pytest.mark.ci
def test_a_detector_finds_drawn_shapes(tmp_path):
    pytest.importorskip("matplotlib")
    printed = output_of("shape_detector.py", "--picture", tmp_path / "boxes.png", by=("-m", "twofold", "run"))
    found, objects, boxes = map(int, re.fullmatch(r"found (\d+) of (\d+) objects, with (\d+) boxes\n", printed).groups())
    assert found > 0.85 * objects
    assert boxes < 1.25 * objects
    assert (tmp_path / "boxes.png").stat().st_size > 10_000


@pytest.mark.ci
def test_an_estimator_keeps_its_best_checkpoint():
    printed = output_of("estimator.py", by=("-m", "twofold", "run"))
    validation = numbers("validation accuracy:", printed)
    assert float(printed.splitlines()[-1].removeprefix("accuracy: ")) == max(validation) > 0.95


@pytest.mark.ci
def test_two_processes_learn_digits_together(tmp_path):
    for module in ("mpi4py", "sklearn"):
        pytest.importorskip(module)
    trace = str(tmp_path / "cluster.json")
    options = ("-m", "twofold", "launch", "-n", 2, "--trace", trace)
    printed = output_of("digits_cluster.py", "--epochs", 4, by=map(str, options), TWOFOLD_DATA=str(tmp_path), HOME=str(tmp_path))
    found = re.fullmatch(r"worker 0 \| scikit-learn's digits\nworker 0 \| accuracy: (.*)\n", printed)
    assert float(found[1]) > 0.85
    drawing = (tmp_path / "cluster.json.svg").read_text()
    assert "push of keys" in drawing  # sums are seen
    assert "worker 1" in drawing


@pytest.mark.ci
def test_a_classifier_of_images_goes_on_after_it_was_killed(monkeypatch, tmp_path):
    pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("IMAGES", "16")
    monkeypatch.setenv("WAYS", "gluon")
    printed = output_of("image_classifier.py", "--picture", tmp_path / "images.png", by=("-m", "twofold", "run"))
    assert (tmp_path / "images.png").stat().st_size > 10_000
    runs = re.findall(r"(\w+): accuracy (\S+), \d+ images/s; killed after step (\d+) of (\d+), same weights: (\w+)", printed)
    assert [run[0] for run in runs] == ["gluon"]
    for _, accuracy, step, steps, same in runs:
        assert float(accuracy) > 0.3  # of six classes, after 9 batches
        assert 3 < int(step) < int(steps) == 9
        assert same == "True"


def numbers(pattern, text):
    """The numbers that follow a text in what a script prints."""
    return [float(x) for x in re.findall(pattern + r"\s*(\d+\.?\d*)", text)]


@pytest.mark.ci
def test_a_gpt_learns_more_than_pairs_of_characters_tell():
    printed = output_of("character_gpt.py", "--steps", 90)
    (pairs,) = numbers("of pairs:", printed)
    *_, last = numbers(r"\d: perplexity", printed)
    assert last < pairs
    assert len(printed.splitlines()[-1]) >= 390  # what it writes


@pytest.mark.ci
def test_a_gpt_reads_parts_of_words():
    pytest.importorskip("tokenizers")
    printed = output_of("character_gpt.py", "--steps", 60, "--tokens", 400)
    assert numbers("one has", printed)[0] > 1.5
    first, *_, last = numbers(r"\d: perplexity", printed)
    assert last < 0.8 * first
    assert printed.splitlines()[-1].startswith("The ")


def test_the_library_of_parts_of_words_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    names = runpy.run_path(str(EXAMPLES / "character_gpt.py"))
    with pytest.raises(MissingDependency, match=re.escape("pip install 'twofold[text]'")):
        names["PartsOfWords"]("text", 300)


@pytest.mark.ci
def test_two_processes_train_one_gpt():
    pytest.importorskip("mpi4py")
    printed = output_of("gpt_cluster.py", "--steps", 20, by=("-m", "twofold", "launch", "-n", "2"))
    first, *_, last = numbers(r"\d: perplexity", printed)
    assert last < 0.8 * first
    assert "2 workers; their weights differ by 0.0e+00" in printed


@pytest.mark.ci
def test_thin_matrices_teach_a_gpt_another_text_and_leave_it_the_first():
    printed = output_of("low_rank.py", "--steps", 60)
    before_english, before, after, english = numbers(r"(?:English|\d\), source|, source|numbers: source)", printed)
    assert after < 0.8 * before
    assert english == before_english


@pytest.mark.ci
def test_an_autoencoder_knows_that_pixels_depend_on_each_other(tmp_path):
    pytest.importorskip("matplotlib")
    printed = output_of("vae.py", "--epochs", 25, "--picture", tmp_path / "plane.png")
    (independent,) = numbers("independent:", printed)
    assert numbers(r"epoch\s+\d+:", printed)[-1] < independent - 1.5
    assert (tmp_path / "plane.png").stat().st_size > 10_000


@pytest.mark.ci
def test_digits_are_drawn_out_of_noise_as_asked(tmp_path):
    pytest.importorskip("matplotlib")
    printed = output_of("diffusion.py", "--steps", 300, "--picture", tmp_path / "digits.png")
    real, drawings = numbers("(?:digits|drawings):", printed)
    assert real > 0.95
    assert drawings > 0.7  # 0.1 by chance
    assert (tmp_path / "digits.png").stat().st_size > 1000


@pytest.mark.ci
def test_a_network_that_knows_burgers_equation_comes_near_its_solution():
    errors = numbers("relative error", output_of("physics_informed.py", "--steps", 300))
    assert errors[-1] < 0.4 < errors[0]


@pytest.mark.ci
def test_a_fluid_is_stirred_until_smoke_is_a_star():
    printed = output_of("fluid.py", "--steps", 20)
    (unstirred,) = numbers("the error is", printed)
    assert numbers(r"step\s+\d+:", printed)[-1] < unstirred / 3


@pytest.mark.ci
def test_cells_learn_to_grow_towards_a_picture():
    printed = output_of("cellular_automaton.py", "--steps", 80)
    first, grown = numbers("(?:first cell|after 32 steps):", printed)
    assert grown < 0.7 * first


@pytest.mark.ci
def test_wrong_labels_have_long_gradients():
    printed = output_of("per_sample_gradients.py")
    assert numbers("suspects,", printed)[0] > 0.7  # of one in twenty
    right, wrong = numbers("(?:right labels|wrong ones)", printed)
    assert wrong > 5 * right


@pytest.mark.ci
def test_poles_stay_up_for_longer():
    lengths = numbers("stays up for", output_of("ppo_pole.py", "--rounds", 10))
    assert lengths[-1] > 3 * lengths[0]


@pytest.mark.ci
def test_words_that_belong_together_have_near_vectors():
    printed = output_of("word_vectors.py", "--epochs", 2)
    near, count = re.search(r"or (\d+)th nearest of (\d+)", printed).groups()
    assert int(near) < int(count) / 8


@pytest.mark.ci
def test_factors_predict_ratings_better_than_means():
    printed = output_of("matrix_factorization.py", "--epochs", 6)
    (mean,), (factors,), (noise,) = (numbers(what, printed) for what in ("mean:", "factors:", "alone:"))
    assert noise < factors < 0.9 * mean
