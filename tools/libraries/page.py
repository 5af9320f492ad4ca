"""What has been found, as lines and as a page of the docs."""

from __future__ import annotations

import json
import platform
import re
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from .environment import ROOT, Library, libraries

#: The figures of the last run that was written down, and the page that shows them.
FIGURES = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "reference" / "libraries.md"
TIMES = {"first call": "first call", "steady call": "later calls", "first step": "first step", "steady step": "later steps"}
HEAD = """# Libraries built on MXNet

Libraries that were written for MXNet 1.x, by Twofold and by MXNet 1.9.1, from source distributions that are unmodified but for what the
last section lists. `make test-libraries` makes this page (`tools/libraries` says how). Tried on {day}, with Python {python} and NumPy
{numpy}. A run may be of some parts or libraries; the other figures are those of earlier runs, since November 2026.

* **Modules**: how many are imported, of those that are not left out below; in brackets by MXNet.
* **Networks** of the library's zoo, with parameters drawn alike on both sides: outputs, gradients, hybridized outputs and gradients, the
  exported graph read back, and parameters after a step of training agree within {outputs} of their norm (gradients {gradients}), or
  {nudges} times what MXNet's own change if the input changes by rounding, or Twofold's do after such a change. Those that MXNet cannot
  run at the sizes tried are not counted. GluonCV's zoo has some 300 names, most of them sizes and data sets of the networks that are
  tried here. GluonNLP's models have small vocabularies. Empty: not compared yet; Sockeye 1.18 has symbols, which its tests build.
* **Its tests**: how many pass, of those that pass with MXNet; in brackets all that pass. Empty: there are
  none, as in GluonNLP's source distribution.
* **Program**: a small model trained on generated data until a loss is reached.
* **Times**: the median of Twofold's time divided by MXNet's, one thread each, on a machine that other programs used too.

"""

TRIED_ONCE = """
## Others, tried once

Other distributions of PyPI, unmodified, tried on 2026-11-26 with NumPy 2.0.2 beside MXNet 1.9.1 with NumPy 1.23.5. **Modules**: how many
are imported by both, of those that MXNet imports (others need PyTorch, TensorFlow and the like).

| library | modules | what gave MXNet's results |
|---|---|---|
| accel-brain-base-1.1.0 | 184 of 184 | trainings of autoencoders, Boltzmann machines, MobileNet, LSTM, transformer, GAN: 288 arrays |
| adversarial-robustness-toolbox-1.10.0 | 203 of 203 | |
| autogluon-contrib-nlp-0.0.1b20220208 | 46 of 46 | small BERT, ALBERT, ELECTRA, RoBERTa and MobileBERT: outputs and gradients |
| cnocr-1.2.2 | 22 of 22 | four networks with CTC: outputs and gradients |
| cnstd-0.1.1 | 12 of 12 | its loss and gradient |
| d2l-0.14.4 | 2 of 2 | regression, recurrent and residual networks, sequence to sequence, attention, BERT, boxes: 220 lines of results |
| d2lzh-1.0.0 | 2 of 2 | networks and training loops |
| foolbox-2.4.0 | 84 of 84 | gradients and 8 attacks on blocks and symbols |
| gluoncv2-0.0.64 | 145 of 145 | outputs and exported graphs of 105 networks, one of each file |
| gluonfr-1.0.2 | 15 of 15 | losses and their gradients |
| insightface-0.1.5 | 13 of 13 | alignment of faces |
| keras-mxnet-2.2.4.3 | 90 of 90 | layers, losses, optimizers, saved and exported models: 270 lines of results |
| mxboard-0.1.0 | 19 of 19 | event files of all kinds |
| mxfusion-0.3.1 | 80 of 80 | distributions, kernels, Gaussian processes, MAP and variational inference |
| mxnet-model-server-1.0.8 | 31 of 31 | its functions on images and texts |
| mxnet-octave-conv-0.1.0 | 2 of 2 | a training with `FeedForward` |
| smdebug-1.0.34 | 94 of 94 | what its hook saves of a training: parameters, gradients, inputs and outputs of layers |
| tensorly-0.5.1 | 63 of 63 | its tests: 99 of 99 |
| xfer-ml-1.1.0 | 38 of 38 | features of layers; those of `act1` in MXNet lack its activation, which a subgraph's fusion has lost |

What differs is random draws, and gradients without a scale, such as those of a bias before batch normalization, which Adam enlarges.
AutoGluon 0.0.15 and openml-mxnet 0.0.2 are not imported: they need a ConfigSpace that was built for NumPy 1, and `np.sctypes`.
Of shake-drop networks the graphs leave out a custom gradient, as MXNet's do, with a warning.

Tried on 2026-11-27 and 28 with NumPy 2.4.6, by their own tests if they have any, and by small programs:

| library | what ran | Twofold | MXNet |
|---|---|---|---|
| autogluon.extra, autogluon.mxnet 0.0.16b20210206 | EfficientNet, ENAS, loaders; a stand-in for its core | MXNet's numbers | |
| dgl-1.0.1 | messages on graphs and their gradients, batches, files; three steps of 22 layers | MXNet's numbers | |
| einops-0.3.2 | its tests with MXNet as the backend | 38 of 39 | 38 of 39 |
| einops-0.6.1 | the same | 82 of 88 | 81 of 88 |
| gluonar-0.1.0 | its tests of transforms and data, on simulated GPUs | the others need librosa 0.7 | needs a GPU |
| gluonbook-0.8.10 | its training loops, samplers, crops | MXNet's numbers; losses of a residual network within 0.2% | |
| keras-mxnet-skm-1.2.2.1 | networks, its backend | MXNet's numbers; SGD, Adamax, Nadam raise in both | no recurrent ones |
| lpot-1.6 | its tests with MXNet: quantization by its own collectors | 8 of 11; one downloads, one names fused layers of oneDNN | 9 of 11 |
| minpy-0.3.4 | gradients by its tape, a training by its `Solver` with NumPy 2.3.5 | MXNet's numbers | |
| mlflow-1.30.1 | `mlflow.gluon`: logs of an `Estimator`, models saved and loaded | as MXNet | |
| mmdnn-0.3.1 | a checkpoint to its format and back to a program | MXNet's files, byte for byte | |
| monk-gluon-cpu-0.0.1 | its unit tests, and 10 trainings with evaluation | 70 of 80, all 10; the others download weights | not run |
| mxlearn-0.1.0 | its tests | 2 of 2 | not run |
| mxop-0.2.0 | operations and parameters of 8 networks, by hooks | MXNet's numbers | |
| mxnet-donkeycar-1.0 | its trainer, a network saved and loaded | MXNet's numbers | |
| onnx-mxnet-0.4.2 | its importer: 69 operators, a network | MXNet's numbers; 39 operators | 35; the others raise |
| optuna-2.10.1 | studies of `Module.fit` with pruning | the same trials pruned | |
| resnest-0.0.6b20230402 | outputs of two networks, hybridized too, with random weights | MXNet's numbers | |
| rl-coach-slim-1.0.1 | its tests of MXNet's parts, and a DQN on CartPole for 600 steps | 46 of 48 | 45 of 48 |
| tensorly-0.4.5 | its tests with MXNet as the backend | 67 of 67 | 67 of 67 |
| tensorly-0.7.0 | the same | 195 of 195 | not run |
| tensorly-0.8.1 | the same | 338 of 342; the others lack data | not run to the end |
| thinc-8.3.4 | its tests of models and of `MXNetWrapper` | 83 of 84; one downloads data | 17 of 17 of the wrapper |

Six things were mended: parameters saved to a file that the program has open, as thinc does, were not read from it; `run` did not restore
`int(label.asnumpy())`, which NumPy 2.4 refuses and Monk writes; NumPy's error did not say what to do, as for MinPy's own arrays;
`calib_graph` took no collector of a library's own, and no float32 parameters, as lpot passes. What `inspect.getargspec` gives had no names,
which Keras reads, and `__import__("mxnet.gluon", fromlist=["any"])` raised.

## Repositories, tried once

Programs of MXNet's users on GitHub, of 2017 to 2021, tried on 2026-11-26 with NumPy 2.4.6 beside MXNet 1.9.1. Their files ran unmodified;
drivers gave both sides small data, the same parameters, and the same numbers in place of drawn ones, and `mx.gpu` was the CPU.
**Files**: how many ran; the others read data sets and command lines, or call MXNet's C functions. **Arrays** that were compared: outputs,
losses, gradients, parameters after two or three steps, and the results of files that MXNet had saved. Names, shapes and what is printed
were compared too.

| repository | what it is | files | arrays |
|---|---|---|---|
| artur-deluca/sac-mxnet | reinforcement learning (soft actor-critic) in float64, pickled | 3 | 100 |
| CoinCheung/GAN-mxnet | a conditional GAN of two modules, which pass gradients on | 9 | 28 |
| Davidham3/ASTGCN-2019-mxnet | graph convolutions on traffic, whose parameters get their shapes in `forward` | 1 | 451 |
| haleuh/ArcFace-MXNet-Gluon | recognition of faces: two losses with angular margins on a residual network | 1 | 239 |
| hey-yahei/Quantization.MXNet | training of quantized networks: replaced methods of layers, hooks, `autograd.Function` | 13 | 295 |
| ijkguo/mx-rcnn | Faster R-CNN of symbols, targets by a custom operator | 5 | 260 |
| jennyzhang0215/DKVMN | knowledge tracing with a memory, unrolled symbols, `Module` | 4 | 37 |
| jkznst/RetinaNet-mxnet | a focal loss as a custom operator | 1 | 12 |
| safrooze/LSTNet-Gluon | forecasts by convolution and GRU, a `DataLoader` with workers | 3 | 30 |
| sanjaradylov/moleculegen-ml | a language model of molecules on `mx.np` | 2 | 165 |
| sxjscience/HKO-7 | a subclass of `Module` that reads its executors: norms, sums of gradients, states | 1 | 51 |
| wkcn/UGATIT-mxnet | translation of images: spectral norms by a custom operator with states, changed classes of layers | 4 | 381 |

Two differences were mended: `Module.backward` raised if it got more head gradients than there are outputs, and an initializer's own
`_init_default` was not called for moving averages. What still differs is [listed](compatibility.md): fixed gammas, which MXNet overwrites,
gradients after a custom operator has updated its states again, gradients of PReLU's slopes in graphs, and moving averages that MXNet reads
before they are written. Gradients through two of UGATIT's generators change by 6 to 12% on both sides if the image changes by 1e-6; there
they agree within 5%.
"""


def times(ours: Any, theirs: Any) -> dict[str, Any]:
    """The times of both sides, where both have them."""
    found = {}
    for name in ("first call", "steady call"):
        if all(isinstance(side.get(name), float) for side in (ours, theirs)):
            found[name] = [ours[name], theirs[name]]
    steps = [side.get("step", {}) for side in (ours, theirs)]
    for name in ("first", "steady"):
        if all(isinstance(step, dict) and name in step for step in steps):
            found[f"{name} step"] = [step[name] for step in steps]
    return found


def network_line(found: dict[str, Any]) -> str:
    """A network's line."""
    if found["mxnet"]:
        return f"not by MXNet: {found['mxnet']}"
    ratios = [f"{name} {pair[0] / pair[1]:.2f}x" for name, pair in found.items() if isinstance(pair, list)]
    wrong = [f"{part}: {text}" for part, text in found["differences"].items()]
    return "; ".join(["agrees" if not wrong else "DIFFERS " + ", ".join(wrong), *ratios])


def modules(library: Library, found: dict[str, Any]) -> tuple[dict[str, int], dict[str, str]]:
    """How many modules are imported by each side, and what is wrong with others that no reason explains."""
    counts = {}
    wrong: dict[str, str] = {}
    for side, answers in found.items():
        if "error" in answers:
            counts[side], wrong["all"] = 0, answers["error"]
            continue
        tried = {name: text for name, text in answers.items() if not is_ignored(library, name)}
        counts[side], counts["all"] = sum(not text for text in tried.values()), len(tried)
        if side == "twofold":
            wrong |= {name: text for name, text in tried.items() if text and not found.get("mxnet", {}).get(name)}
    return counts, wrong


def is_ignored(library: Library, module: str) -> bool:
    """Whether a module is left out."""
    return any(f"{module}.".startswith(f"{name}.") for name in library.ignored)


def failed_tests(library: Library, found: dict[str, Any]) -> dict[str, str]:
    """The tests that fail, pass with MXNet and have no reason."""
    ours, theirs = found["twofold"], found.get("mxnet", {"failed": {}})
    if "error" in ours:
        return {"all": ours["error"]}
    explained = tuple(library.excepted)
    return {name: text for name, text in ours["failed"].items() if name not in theirs.get("failed", {}) and not name.startswith(explained)}


def problems(library: Library, found: dict[str, Any]) -> dict[str, str]:
    """All that differs from MXNet without a reason."""
    wrong: dict[str, str] = {}
    if found.get("imports"):
        wrong |= modules(library, found["imports"])[1]
    if found.get("suites"):
        wrong |= failed_tests(library, found["suites"])
    for name, network in (found.get("networks") or {}).items():
        if network["differences"] and name not in library.excepted:
            wrong[name] = ", ".join(f"{part}: {text}" for part, text in network["differences"].items())
    program = (found.get("programs") or {}).get("twofold", {"reached": True})
    if not program.get("reached"):
        wrong["its program"] = str(program)
    return wrong


def compared(networks: dict[str, Any]) -> list[dict[str, Any]]:
    """The networks that MXNet runs."""
    return [network for network in networks.values() if not network["mxnet"]]


def ratios(networks: dict[str, Any]) -> list[str]:
    """The medians of the times."""
    found = []
    for name in TIMES:
        pairs = [network[name] for network in compared(networks) if name in network]
        found.append(f"{median(a / b for a, b in pairs):.1f}x" if pairs else "")
    return found


def row(library: Library, found: dict[str, Any]) -> str:
    """A library's row of the table."""
    counts = modules(library, found["imports"])[0] if found.get("imports") else {}
    imported = f"{counts['twofold']} of {counts['all']} ({counts.get('mxnet', '?')})" if counts else ""
    networks = found.get("networks") or {}
    agreeing = sum(not network["differences"] for network in compared(networks))
    suite = found.get("suites") or {}
    tests = ""
    if suite:
        lost = len([name for name in suite["twofold"].get("failed", {}) if name not in suite.get("mxnet", {}).get("failed", {})])
        passed = suite.get("mxnet", suite["twofold"]).get("passed", 0)
        tests = f"{passed - lost} of {passed} ({suite['twofold'].get('passed', 0)})"
    cells = [library.title, imported, f"{agreeing} of {len(compared(networks))}" if networks else "", tests, *ratios(networks)]
    return "| " + " | ".join(cells) + " |"


def network_rows(networks: dict[str, Any]) -> list[str]:
    """Rows with each network's times."""
    found = []
    for name, network in networks.items():
        pairs = [network.get(time) for time in TIMES]
        cells = [f"{pair[0] / pair[1]:.2f}x ({pair[0] * 1000:.{0 if pair[0] > 0.02 else 1}f} ms)" if pair else "" for pair in pairs]
        if any(cells):
            found.append(f"| {name} | {' | '.join(cells)} |")
    return found


def program_row(library: Library, found: dict[str, Any]) -> str:
    """A row of the table of programs."""
    sides = [found["programs"].get(side, {}) for side in ("twofold", "mxnet")]
    losses = [f"{side['loss']:.3g}" if "loss" in side else side.get("error", "") for side in sides]
    seconds = [f"{side['cpu']:.1f} s" if "cpu" in side else "" for side in sides]
    goal = next((f"{side['goal']:.3g}" for side in sides if "goal" in side), "")
    return f"| {library.title} | {goal} | {' | '.join(losses)} | {' | '.join(seconds)} |"


def summary(results: dict[str, Any]) -> tuple[list[str], int]:
    """Lines for the terminal, and how many problems there are."""
    lines = []
    count = 0
    for library in libraries():
        if library.title in results:
            wrong = problems(library, results[library.title])
            count += len(wrong)
            lines += [row(library, results[library.title]), *(f"  ! {name}: {text}" for name, text in wrong.items())]
    return lines, count


def page(results: dict[str, Any], about: dict[str, str]) -> str:
    """The page."""
    from .comparison import CLOSE, NUDGES

    parts = [HEAD.format(**about, outputs=f"{CLOSE['outputs']:g}", gradients=f"{CLOSE['gradients']:g}", nudges=NUDGES)]
    known = [library for library in libraries() if library.title in results]
    parts.append("| library | modules | networks that agree | its tests | " + " | ".join(TIMES.values()) + " |\n" + "|---" * 8 + "|\n")
    parts += [row(library, results[library.title]) + "\n" for library in known]
    programs = [library for library in known if results[library.title].get("programs")]
    parts.append("\n## Programs\n\nThe loss to be reached, the losses and the CPU time of the whole program.\n\n")
    parts.append("| library | goal | Twofold | MXNet | Twofold | MXNet |\n" + "|---" * 6 + "|\n")
    parts += [program_row(library, results[library.title]) + "\n" for library in programs]
    parts.append("\n## Each network\n\nTwofold's time divided by MXNet's, and Twofold's time.\n")
    for library in known:
        rows = network_rows(results[library.title].get("networks") or {})
        if rows:
            head = f"\n### {library.title}\n\n| network | " + " | ".join(TIMES.values()) + " |\n" + "|---" * 5 + "|\n"
            parts.append(head + "\n".join(rows) + "\n")
    parts.append("\n## What differs\n\n")
    for library in known:
        parts += [f"* {library.title}: `{name}`: {clean(text)}\n" for name, text in problems(library, results[library.title]).items()]
    parts.append("\n## Left out, and allowed to differ\n\n")
    for library in known:
        parts += [f"* {library.title}: {name}: {reason}\n" for name, reason in (library.ignored | library.excepted).items()]
        parts += [f"* {library.title}: changed in {change['file']}: {change['reason']}\n" for change in library.mended]
    return "".join([*parts, TRIED_ONCE])


def clean(text: str) -> str:
    """An error's text without marks of Markdown, and short."""
    return "`" + text.replace("`", "'")[:160] + "`"


def write(results: dict[str, Any]) -> None:
    """Keep what has been found, beside what earlier runs have found of other parts, and write the page."""
    import numpy as np

    kept = json.loads(FIGURES.read_text(encoding="utf-8"))["results"] if FIGURES.exists() else {}
    for title, found in results.items():
        before = kept.get(title, {})
        if "networks" in found and "networks" in before:  # a run may be of some networks
            found = found | {"networks": before["networks"] | found["networks"]}
        kept[title] = before | found
    about = {"day": date.today().isoformat(), "python": platform.python_version(), "numpy": np.__version__}
    text = json.dumps({"about": about, "results": kept}, indent=1) + "\n"
    # errors name places of the machine and of the network that say nothing elsewhere
    FIGURES.write_text(re.sub(r"(https?://|host=')[^\s'\"\\)]+|/(?:[\w.-]+/){2,}", "…", text), encoding="utf-8")
    PAGE.write_text(page(json.loads(FIGURES.read_text(encoding="utf-8"))["results"], about), encoding="utf-8")
