"""Writes torch_files/*.pt by PyTorch: python tests/formats/make_torch_files.py, in an environment that has it (make .venv-torch/ready)."""

from collections import OrderedDict
from pathlib import Path

import torch

FOLDER = Path(__file__).with_name("torch_files")
TYPES = ["float64", "float32", "float16", "bfloat16", "bool", "uint8", "int8", "int16", "int32", "int64", "complex64", "complex128"]
LATER = ["uint16", "uint32", "uint64"]


def numbers(names):
    return {name: torch.arange(5).to(getattr(torch, name)).reshape(5, 1) for name in names}


def main():
    whole = torch.arange(24.0).reshape(4, 6)
    noted = torch.ones(3)
    noted.note = "an attribute"
    state = OrderedDict(
        part=whole[1:, ::2],
        turned=whole.t(),
        expanded=torch.ones(1, 3).expand(4, 3),
        parameter=torch.nn.Parameter(torch.ones(2)),
        scalar=torch.tensor(3.5),
        empty=torch.zeros(0, 3),
        noted=noted,
        nested={"model": torch.nn.Linear(1, 2).state_dict(), "epoch": 3, "rest": [0.1, None, "x", torch.Size([2, 3])]},
        **numbers(TYPES),
    )
    torch.save(state, FOLDER / "older.pt", _use_new_zipfile_serialization=False)
    state.update(numbers(LATER))
    torch.save(state, FOLDER / "archive.pt")
    lazy = torch.ones(2, dtype=torch.complex64).conj()
    refused = {
        "module": torch.nn.ReLU(),
        "sparse": torch.ones(2).to_sparse(),
        "float8": torch.ones(2).to(torch.float8_e5m2),
        "conjugate": lazy,
    }
    for name, value in refused.items():
        torch.save({"x": value}, FOLDER / ("refused_" + name + ".pt"))


if __name__ == "__main__":
    main()
