"""Runs the examples in a small setting and writes a page of each: what it shows, how to run it, what it printed, and how long it takes.

``make gallery`` runs all, ``ARGS="arithmetic toy_autodiff"`` some. The pages stand in ``docs/gallery``.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

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
    arguments
        Its arguments: a small setting, if it has one.
    by
        What runs it, between ``python`` and its name.
    picture
        What the picture shows that it draws with ``--picture FILE``; empty if it draws none.
    """

    title: str
    arguments: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    picture: str = ""


#: The small setting of the language model.
SMALL = ("--num-hidden", "24", "--num-embed", "16", "--num-layers", "1", "--num-epochs", "8")
#: The examples in the order of the gallery; `mnist_cnn` needs MNIST's files.
LISTED = {
    "character_gpt": Example("A GPT that learns to write"),
    "gpt_cluster": Example("The GPT in two processes", by=("-m", "twofold", "launch", "-n", "2")),
    "digits_cluster": Example("Digits in two processes", by=("-m", "twofold", "launch", "-n", "2")),
    "low_rank": Example("Low-rank fine-tuning"),
    "vae": Example("A variational autoencoder", picture="The plane of codes as the decoder draws it, and held-out digits as points in it"),
    "diffusion": Example("Digits out of noise", picture="Six drawings of each digit"),
    "physics_informed": Example("A physics-informed network", picture="The solution of Burgers' equation, and sections of it"),
    "fluid": Example("A fluid with a gradient", picture="Smoke that flows from a square into a star"),
    "cellular_automaton": Example("A star that grows from one cell", picture="The cells after 0 to 128 steps"),
    "per_sample_gradients": Example("Gradients of single examples", picture="The images with the longest gradients, and their labels"),
    "ppo_pole": Example("Balancing a pole", picture="How long a pole stays up after each round of training"),
    "word_vectors": Example("Word vectors", picture="Words in the plane of the two largest principal components"),
    "matrix_factorization": Example("Ratings from a sparse matrix", picture="The error of predicted ratings after each epoch"),
    "linear_regression": Example("Linear regression, from scratch and with Gluon"),
    "arithmetic": Example("The same arithmetic at once and as a graph"),
    "toy_autodiff": Example("Automatic differentiation in twenty lines"),
    "estimator": Example("Digits, by Gluon's Estimator", by=RUN),
    "image_classifier": Example("Images from a file of records, with a run that is killed", by=RUN),
    "fine_tuning": Example("Fine-tuning a network of the model zoo", by=RUN),
    "shape_detector": Example("Detecting objects", by=RUN),
    "mixed_precision_cnn": Example("Mixed precision"),
    "quantized_cnn": Example("8-bit integers", by=RUN),
    "lstm_bucketing": Example("A language model with buckets, as of 2017", SMALL, RUN),
    "mxnet_script": Example("An unmodified script of 2018", ("--epochs", "30"), RUN),
    "sparse_linear_classification": Example("Sparse data, linear", by=RUN),
    "sparse_factorization_machine": Example("A factorization machine", by=RUN),
    "key_value_store": Example("A key-value store, step by step"),
    "onnx_round_trip": Example("To ONNX and back"),
    "on_torch": Example("On the arrays of another library", ("array_api_strict",)),
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


def output_of(name: str) -> tuple[list[str], float]:
    """The lines that an example prints, and the seconds of processor time that it and the processes that it starts take."""
    before = os.times()
    drawing = ["--picture", str(PAGES / f"{name}.png")] if LISTED[name].picture else []
    words = [sys.executable, *command_of(name).split()[1:], *drawing]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "TWOFOLD_DATA": ""})
    if done.returncode:
        sys.exit(f"{command_of(name)}: status {done.returncode}\n{done.stderr}")
    after = os.times()
    return done.stdout.splitlines(), after.children_user + after.children_system - before.children_user - before.children_system


def page_of(name: str, lines: list[str], seconds: float) -> str:
    """The page of an example."""
    left_out = ["…"] if len(lines) > SHOWN else []
    printed = "\n".join([f"$ {command_of(name)}", *left_out, *lines[-SHOWN:]])
    alternative = LISTED[name].picture
    picture = f"\n![{alternative}]({name}.png)\n" if alternative else ""
    return f"""# {LISTED[name].title}

{about(name)}

```console
{printed}
```
{picture}
It takes {seconds:.0f} second{"s" * (round(seconds) != 1)} of processor time.

```{{literalinclude}} ../../examples/{name}.py
:language: python
```
"""


def index() -> str:
    """The page that lists all."""
    firsts = {name: about(name).partition("\n\n")[0].replace("\n", " ") for name in LISTED}
    rows = "\n".join(f"| [{LISTED[name].title}]({name}.md) | {first} |" for name, first in firsts.items())
    names = "\n".join(LISTED)
    return f"""# Examples

Programs that run as they are, each in at most two minutes on two cores. Their sources are in `examples/`.

| example | what it shows |
|---|---|
{rows}

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
