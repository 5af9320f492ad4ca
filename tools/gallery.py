"""Runs the examples in a small setting and writes a page of each: what it shows, how to run it, what it printed, and how long it takes.

``make gallery`` runs all, ``ARGS="arithmetic toy_autodiff"`` some. The pages stand in ``docs/gallery``.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.gallery_charts import Bars, Chart, Flow, Lines, Stacks, draw

ROOT = Path(__file__).parents[1]
EXAMPLES, PAGES = ROOT / "examples", ROOT / "docs/gallery"
#: Lines of output that a page shows, from the end.
SHOWN = 20
RUN = ("-m", "twofold", "run")


class Example(NamedTuple):
    """How an example is run for its page.

    Attributes
    ----------
    title
        The title of its page.
    picture
        What its picture shows.
    charts
        What is drawn from the numbers that it prints or logs; empty if it draws the picture itself, with ``--picture FILE``.
    arguments
        Its arguments: a small setting, if it has one.
    by
        What runs it, between ``python`` and its name.
    ending
        Of the file that it draws itself.
    data
        Whether it reads the data sets in ``TWOFOLD_DATA``; the others run without them.
    """

    title: str
    picture: str
    charts: tuple[Chart, ...] = ()
    arguments: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    ending: str = "png"
    data: bool = False


#: The small setting of the language model.
SMALL = ("--num-hidden", "24", "--num-embed", "16", "--num-layers", "1", "--num-epochs", "8")
TWO = ("-m", "twofold", "launch", "-n", "2")
PERPLEXITY = Lines(r"(?P<x>\d+): perplexity +(?P<y>[\d.]+)", "step", "perplexity of a character")
#: The examples in the order of the gallery.
LISTED = {
    "character_gpt": Example(
        "A GPT that learns to write",
        "The perplexity of a held-out character falls below that of a table of pairs of characters",
        (PERPLEXITY._replace(level=("a table of pairs of characters", r"perplexity of pairs: ([\d.]+)")),),
    ),
    "gpt_cluster": Example("The GPT in two processes", "The perplexity of a held-out character falls step by step", (PERPLEXITY,), by=TWO),
    "digits_cluster": Example(
        "Digits in two processes",
        "The loss of both processes falls alike, epoch by epoch",
        (Lines(r"(?P<name>worker \d) \| epoch (?P<x>\d+): loss (?P<y>[\d.]+)", "epoch", "loss"),),
        by=TWO,
    ),
    "low_rank": Example(
        "Low-rank fine-tuning",
        "The perplexity of source falls to about half, that of English stays as it was",
        (
            Bars(
                "perplexity of a character",
                {
                    "source, before": r"before: .*source ([\d.]+)",
                    "source, with thin matrices": r"numbers: source ([\d.]+)",
                    "English, before": r"before: English ([\d.]+)",
                    "English, without them": r"without them: English ([\d.]+)",
                },
            ),
        ),
    ),
    "vae": Example("A variational autoencoder", "The plane of codes as the decoder draws it, and held-out digits as points in it"),
    "diffusion": Example("Digits out of noise", "Six drawings of each digit"),
    "physics_informed": Example("A physics-informed network", "The solution of Burgers' equation, and sections of it"),
    "fluid": Example("A fluid with a gradient", "Smoke that flows from a square into a star"),
    "cellular_automaton": Example("A star that grows from one cell", "The cells after 0 to 128 steps"),
    "per_sample_gradients": Example("Gradients of single examples", "The images with the longest gradients, and their labels"),
    "ppo_pole": Example("Balancing a pole", "How long a pole stays up after each round of training"),
    "word_vectors": Example("Word vectors", "Words in the plane of the two largest principal components"),
    "matrix_factorization": Example("Ratings from a sparse matrix", "The error of predicted ratings after each epoch"),
    "linear_regression": Example("Linear regression, from scratch and with Gluon", "The way of the weights down the squared error"),
    "arithmetic": Example(
        "The same arithmetic at once and as a graph",
        "The arrays in memory: three, or two if the result takes the place of an argument",
        (
            Stacks(
                "bytes",
                {
                    "no argument\noverwritten": (r"overwriting[^$]*?total +(\d+)", {"a": 80, "b": 80, "the result": 80}),
                    "b donated": (r"donated:[^$]*total +(\d+)", {"a": 80, "b, then the result": 80}),
                },
            ),
        ),
    ),
    "toy_autodiff": Example("Automatic differentiation in twenty lines", "The formula, with a tangent for each gradient that was found"),
    "estimator": Example(
        "Digits, by Gluon's Estimator",
        "The accuracy in training and validation, epoch by epoch",
        (Lines(r"Finished in .*, (?P<name>\w+) accuracy: (?P<y>\d\.\d{4})(?!\naccuracy)", "epoch", "accuracy"),),
        by=RUN,
    ),
    "mnist_cnn": Example("A convolutional network on MNIST", "Held-out digits that it misreads: what they are, and as what", data=True),
    "image_classifier": Example(
        "Images from a file of records, with a run that is killed",
        "Held-out images of six classes, and what the network takes them for",
        by=RUN,
    ),
    "fine_tuning": Example(
        "Fine-tuning a network of the model zoo",
        "Accuracy on new shapes: high from the features of the old ones, hardly above chance anew",
        (
            Bars(
                "accuracy on new shapes",
                {"from the features of the old ones": r"old ones: ([\d.]+)", "anew": r"anew: ([\d.]+)", "by chance": 0.25},
            ),
        ),
        by=RUN,
    ),
    "shape_detector": Example("Detecting objects", "Held-out images with the boxes that were found", by=RUN),
    "mixed_precision_cnn": Example(
        "Mixed precision",
        "The loss in mixed precision falls as in float32, a little later; a converted network takes half the memory and is as accurate",
        (
            Lines(r"^(?P<name>float32|mixed precision): .*losses (?P<y>.*)", "pass over the images", "loss"),
            Bars(
                "bytes of parameters",
                {"float32": r"float32: .* (\d+) bytes", "converted to float16": r"float16: .* (\d+) bytes"},
            ),
            Bars("accuracy", {"float32": r"float32: accuracy ([\d.]+)", "converted to float16": r"float16: accuracy ([\d.]+)"}),
        ),
    ),
    "quantized_cnn": Example(
        "8-bit integers",
        "The file of 8-bit parameters has a quarter of the size; the accuracy stays",
        (
            Bars("kB of parameters", {name: name + r": .* (\d+) kB" for name in ("float32", "quantize_net", "quantize_model")}),
            Bars("accuracy", {name: name + r": accuracy ([\d.]+)" for name in ("float32", "quantize_net", "quantize_model")}),
        ),
        by=RUN,
    ),
    "lstm_bucketing": Example(
        "A language model with buckets, as of 2017",
        "The perplexity of the next word, beside that of 22 words that are equally likely",
        (Bars("perplexity of a word", {"22 equally likely words": 22, "the model": r"perplexity: ([\d.]+)"}),),
        SMALL,
        RUN,
    ),
    "mxnet_script": Example(
        "An unmodified script of 2018",
        "The accuracy in training, epoch by epoch",
        (Lines(r"Epoch\[(?P<x>\d+)\] Train-accuracy=(?P<y>[\d.]+)", "epoch", "accuracy"),),
        ("--epochs", "10"),
        RUN,
    ),
    "sparse_linear_classification": Example(
        "Sparse data, linear",
        "The accuracy on new samples after each epoch, above the share of the larger class",
        (
            Lines(
                r"epoch (?P<x>\d+): accuracy (?P<y>[\d.]+)",
                "epoch",
                "accuracy on new samples",
                level=("the larger class", r"class 0: ([\d.]+)"),
            ),
        ),
        by=RUN,
    ),
    "sparse_factorization_machine": Example(
        "A factorization machine",
        "The accuracy on new samples: a linear model is hardly better than chance, a factorization machine is",
        (
            Bars(
                "accuracy on new samples",
                {
                    "factorization machine": r"factors: .*accuracy ([\d.]+)",
                    "linear model": r"linear model: .*accuracy ([\d.]+)",
                    "by chance": 0.5,
                },
            ),
        ),
        by=RUN,
    ),
    "key_value_store": Example(
        "A key-value store, step by step",
        "Four devices push, the store adds up, its updater changes the sum, and all devices pull it",
        (
            Flow(
                {
                    "push": {f"device {k}": 1 for k in range(4)},
                    "sum": {"store": r"the sum of 4 \[\[([\d.]+)"},
                    "plus 2 x a push of 1": {"store": r"on \w+\(0\): \[\[([\d.]+)"},
                    "pull": {f"device {k}": rf"on \w+\({k}\): \[\[([\d.]+)" for k in range(4)},
                }
            ),
        ),
    ),
    "onnx_round_trip": Example("To ONNX and back", "The network as it was read from the ONNX file", ending="svg"),
    "on_torch": Example(
        "On the arrays of another library",
        "The losses on the arrays of array_api_strict and of NumPy are the same",
        (Lines(r"^(?P<name>\w+): +loss (?P<y>[\d. ]+\d)", "step", "loss", every=4),),
        ("array_api_strict",),
    ),
}


def command_of(name: str) -> str:
    """The command line of an example, as a user types it."""
    example = LISTED[name]
    return " ".join(["python", *example.by, f"examples/{name}.py", *example.arguments])


def about(name: str) -> str:
    """What an example's docstring says, without how to run it, which its page says."""
    doc = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))) or ""
    paragraphs = [part for part in doc.split("\n\n") if not part.lstrip().startswith(("Run", "python", "pip", "make"))]
    return "\n\n".join(paragraphs).replace("``", "`")


def picture_of(name: str) -> Path:
    """The file of an example's picture."""
    example = LISTED[name]
    return PAGES / f"{name}.{'svg' if example.charts else example.ending}"


def output_of(name: str) -> tuple[list[str], float]:
    """The lines that an example prints, and the seconds of processor time that it and the processes that it starts take.

    Its picture is drawn too.
    """
    before, charts, picture = os.times(), LISTED[name].charts, picture_of(name)
    drawing = [] if charts else ["--picture", str(picture)]
    words = [sys.executable, *command_of(name).split()[1:], *drawing]
    environment = os.environ if LISTED[name].data else {**os.environ, "TWOFOLD_DATA": ""}
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{command_of(name)}: status {done.returncode}\n{done.stderr}")
    after = os.times()
    if charts:
        draw(picture, charts, done.stdout + done.stderr)
    elif picture.suffix == ".png":
        reduce(picture)
    return done.stdout.splitlines(), after.children_user + after.children_system - before.children_user - before.children_system


def reduce(picture: Path) -> None:
    """Reduce a drawing to 256 colors, which halves its file."""
    from PIL import Image

    Image.open(picture).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)


def page_of(name: str, lines: list[str], seconds: float) -> str:
    """The page of an example."""
    left_out = ["…"] if len(lines) > SHOWN else []
    printed = "\n".join([f"$ {command_of(name)}", *left_out, *lines[-SHOWN:]])
    return f"""# {LISTED[name].title}

{about(name)}

```console
{printed}
```

![{LISTED[name].picture}]({picture_of(name).name})

It takes {seconds:.0f} second{"s" * (round(seconds) != 1)} of processor time.

```{{literalinclude}} ../../examples/{name}.py
:language: python
```
"""


def card(name: str) -> str:
    """What the page that lists all has of an example."""
    first = about(name).partition("\n\n")[0]
    seconds = re.search(r"^It takes (.*)\.$", (PAGES / f"{name}.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert seconds is not None
    return f"""::::{{grid-item-card}} {LISTED[name].title}
:link: {name}
:link-type: doc
:img-top: {picture_of(name).name}
:img-alt: {LISTED[name].picture}
:footer: {seconds[1]}

{first}
::::"""


def index() -> str:
    """The page that lists all."""
    cards = "\n\n".join(map(card, LISTED))
    names = "\n".join(LISTED)
    return f"""# Examples

Programs that run as they are, each in at most two minutes on two cores. Their sources are in `examples/`. None needs a download, but one
reads MNIST's files.

:::::{{grid}} 1 2 2 3
:gutter: 3
:class-container: gallery

{cards}
:::::

```{{toctree}}
:hidden:

{names}
```
"""


def main() -> None:
    """Run the examples that are named, or all, and write their pages."""
    names = sys.argv[1:] or list(LISTED)
    for name in names:
        if name not in LISTED:
            sys.exit(f"gallery: no such example: given {name}; name one of examples/ without its ending")
        lines, seconds = output_of(name)
        (PAGES / f"{name}.md").write_text(page_of(name, lines, seconds), encoding="utf-8")
        print(f"{name}: {seconds:.1f} s", flush=True)
    (PAGES / "index.md").write_text(index(), encoding="utf-8")


if __name__ == "__main__":
    main()
