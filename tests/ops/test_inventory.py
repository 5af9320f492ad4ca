"""Operators are declared as in MXNet 1.9.1's registry: aliases, inputs, parameters in order, defaults."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

import twofold.ndarray  # noqa: F401  (registers the operators)
from twofold.opdef.registry import NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from twofold.opdef.params import Param

#: Where the inventory is wrong or silent: (operator, parameter).
EXCEPTIONS = {
    ("_linspace", "*"),
    ("_set_value", "src"),
    ("smooth_l1", "scalar"),
    ("_contrib_backward_quadratic", "*"),
    ("_npi_norm", "*"),
    ("_linalg_potrf", "*"),  # takes `lower`, which its documentation does not mention
    ("_linalg_potri", "*"),
    ("_npi_concatenate", "*"),
    *((f"_np_atleast_{n}d", "*") for n in (1, 2, 3)),
}


@pytest.fixture(scope="module")
def registered(shared: Path) -> dict[str, Any]:
    """MXNet's operators that exist here too: registered name → its row of the inventory."""
    rows = json.loads((shared / "inventory" / "mxnet_api.json").read_text())["operators"]
    return {name: row for name, row in rows.items() if name in NAMES}


def params_of(name: str, row: dict[str, Any]) -> list[dict[str, Any]]:
    """The inventory's parameters, except the device and the number of arrays, which front ends handle."""
    return [p for p in row.get("params", []) if p["name"] not in ("ctx", NAMES[name].count_param)]


def same_default(param: Param, text: str) -> bool:
    """Whether the registry's text denotes the default; it prints floats with six to nine digits, and empty shapes as ``[]``."""
    if param.default is None or param.default == ():
        return text in ("None", "[]", "")
    found = param.kind.parse(text)
    return math.isclose(found, param.default, rel_tol=1e-6) if isinstance(found, float) else found == param.default


def test_an_alias_names_the_same_operator(registered: dict[str, Any]):
    wrong = [(name, alias) for name, row in registered.items() for alias in row.get("aliases", []) if NAMES.get(alias) is not NAMES[name]]
    assert wrong == []


def test_inputs_match_mxnet(registered: dict[str, Any]):
    theirs = {name: [i.removesuffix("[]") for i in row.get("inputs") or []] for name, row in registered.items()}
    for name in ("BatchNorm_v1", "IdentityAttachKLSparseReg"):  # their states are not among their inputs in the inventory
        theirs[name] += registered[name]["outputs"]["aux"]
    # the inventory does not know the inputs of operators that MXNet uses in gradients only
    known = [name for name, row in registered.items() if row.get("inputs") or "backward" not in row.get("flags", ())]
    ours = {name: [i.name for i in NAMES[name].inputs if not i.injected] for name in known}
    assert ours == {name: theirs[name] for name in known}


def test_parameters_match_mxnet_in_order(registered: dict[str, Any]):
    names = [name for name in registered if (name, "*") not in EXCEPTIONS]
    theirs = {name: [p["name"] for p in params_of(name, registered[name])] for name in names}
    ours = {name: [p for p in NAMES[name].params if p not in NAMES[name].training and p != "ctx"] for name in names}
    assert ours == theirs


def test_defaults_match_mxnet(registered: dict[str, Any]):
    wrong = []
    for name, row in registered.items():
        for p in params_of(name, row):
            if (name, "*") in EXCEPTIONS or (name, p["name"]) in EXCEPTIONS:
                continue
            param = NAMES[name].params[p["name"]]
            if param.required != p["required"] or not (param.required or same_default(param, p.get("default", ""))):
                wrong.append((name, p["name"], p.get("default"), param.default))
    assert wrong == []
