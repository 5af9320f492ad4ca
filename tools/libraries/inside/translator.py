"""Sockeye: a small model learns to turn sentences round, by the library's own command line."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import sockeye.train as training  # isort: skip  (first: it refuses to be imported after mxnet)
import numpy as np
from programs import answer_with
from sockeye import constants as C

SENTENCES = {"train": 800, "dev": 60}
OPTIONS = {
    "2": "--transformer-model-size 32 --transformer-feed-forward-num-hidden 64 --transformer-attention-heads 4 --num-layers 2:2 "
    "--transformer-dropout-attention 0 --transformer-dropout-act 0 --transformer-dropout-prepost 0 --max-seq-len 12:12",
    "1": "--encoder rnn --decoder rnn --num-layers 1:1 --rnn-num-hidden 48 --num-embed 24:24 --rnn-attention-type dot --max-seq-len 12:12 "
    "--rnn-cell-type lstm --embed-dropout 0:0 --rnn-decoder-hidden-dropout 0",
}
ALWAYS = (
    "--batch-size 32 --optimizer adam --initial-learning-rate 0.005 --checkpoint-interval 100 --max-updates 400 --decode-and-evaluate 0 "
    "--batch-type sentence --use-cpu --seed 3 --overwrite-output --max-num-checkpoint-not-improved 8 --quiet"
)


def write(folder: Path) -> None:
    """Sentences of digits, and the same backwards."""
    random = np.random.RandomState(6)
    for name, count in SENTENCES.items():
        sentences = [[str(word) for word in random.randint(0, 10, random.randint(3, 9))] for _ in range(count)]
        for side, step in (("source", 1), ("target", -1)):
            text = "".join(" ".join(words[::step]) + "\n" for words in sentences)
            (folder / f"{name}.{side}").write_text(text, encoding="utf-8")


def perplexity(model: Path) -> float:
    """The least perplexity of the sentences that were kept back, from the file that Sockeye writes."""
    values = []
    for line in (model / C.METRICS_NAME).read_text(encoding="utf-8").splitlines():
        fields = dict(field.split("=", 1) for field in line.split("\t")[1:]) if not line.startswith("{") else json.loads(line)
        values.append(float(fields["perplexity-val"]))
    return min(values)


def train(version: str) -> tuple[float, float]:
    """The perplexity, between 1 and 13."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        files = [
            f"--{option}={folder / file}"
            for option, file in {
                "source": "train.source",
                "target": "train.target",
                "validation-source": "dev.source",
                "validation-target": "dev.target",
                "output": "model",
            }.items()
        ]
        sys.argv = ["sockeye-train", *files, *ALWAYS.split(), *OPTIONS[version.partition(".")[0]].split()]
        training.main()
        return perplexity(folder / "model"), 3.0


if __name__ == "__main__":
    answer_with(train)
