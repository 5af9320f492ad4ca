"""Random programs of 10 to 40 statements give what MXNet gives, however operations are executed. `compare` compares thousands."""

import json
import warnings
from pathlib import Path

import pytest

import twofold as mx
from twofold.config import SETTINGS

from .compare import KEPT, first_difference, rounds_otherwise
from .kinds import KINDS
from .known import ROWS, Difference, row_of
from .outcomes import differs
from tests.cases import later_in_ci

MODES = {
    "defaults": {},
    "waiting": {"defer_elements": 1},
    "at once": {"engine": "naive"},
    "machine code": {"defer_elements": 1, "jit": True, "jit_eager": True},
}
ANSWERS = json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("mode", later_in_ci(MODES))
def test_programs_give_what_mxnet_gives(mode, kind, monkeypatch, machine_code):
    for name, value in machine_code.items() if mode == "machine code" else ():
        monkeypatch.setenv(name, value)
    for setting, value in MODES[mode].items():
        monkeypatch.setattr(SETTINGS, setting, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [first_difference(kind, seed, answers) for seed, answers in enumerate(ANSWERS[kind]) if answers is not None]
    assert len(found) >= 30
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.parametrize(
    ("want", "got"),
    [
        ("float32 (3) 0 1.5 2.5", "float32 (3) 0 1.6 2.5"),
        ("float32 (3) 0 1.5 2.5", "float64 (3) 0 1.5 2.5"),
        ("float32 (3) 0 1.5 2.5", "float32 (1,3) 0 1.5 2.5"),
        ("float32 (3) 0 1.5 2.5", "error MXNetError"),
        ("error ValueError", "error MXNetError TypeError"),
        ("value bool True", "value bool False"),
    ],
)
def test_other_outcomes_are_differences(want, got):
    assert differs(want, got)
    assert not differs(want, want)


def test_rows_are_in_the_compatibility_tables():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "compatibility.md").read_text(encoding="utf-8")
    assert [row for row in ROWS if f"**{row}**" not in page] == []


ONES, COMPUTED = "float32 (1) 0 1 1", [("v0 = exp(a0)", "x")]
#: A difference of each row: statements with their outcomes, and MXNet's outcome of the last one.
OF_ROWS = {
    "An array assigned to itself": ([("v0[:, 0] = v0", "error MXNetError ValueError")], "float32 (4,1) 0 30 12"),
    "Executors of `cond` and `while_loop`": (
        [("v0 = cond(a0, a0, 1, 2)", "x"), ("heads ['v0'], {}", ""), ("recorded 0 v0", ONES), ("json 0 v0", ONES)],
        "error MXNetError",
    ),
    "`foreach` in static memory": (
        [*COMPUTED, ("v1 = foreach(v0, a0, 1, 2)", "x"), ("heads ['v1'], {}", ""), ("recorded 0 v1", ONES), ("static 0 v1", ONES)],
        "float32 (1) 0 9 9",
    ),
    "Gradients of `cond` in graphs": (
        [
            *[*COMPUTED, ("v1 = cond(v0, a1, 1, 2)", "x"), ("heads ['v1'], {}", "")],
            *[("recorded 0 gradient of a0", ONES), ("hybridized 0 gradient of a0", ONES)],
        ],
        "float32 (1) 0 9 9",
    ),
    "Gradients of `while_loop` in graphs": (
        [
            *[("v0 = while(a0, a1, 1, 2)", "x"), ("heads ['v0'], {}", "")],
            *[("recorded 0 gradient of a0", ONES), ("alloc 0 gradient of a0", ONES)],
        ],
        "float32 (1) 0 9 9",
    ),
    "Gradient of `hard_sigmoid` in graphs": (
        [
            *[("v0 = hard_sigmoid(a0)", "x"), ("v1 = a0 + v0", "x"), ("heads ['v1'], {}", "")],
            *[("recorded 0 gradient of a0", ONES), ("json 0 gradient of a0", ONES)],
        ],
        "float32 (1) 0 2 2",
    ),
    "Gradient of a product with zeros": ([("nd.prod(v0)", "x"), ("v0.grad", "float32 (1) 0 1 1")], "float32 (1) 1 0 0"),
    'Gradients with `grad_req="add"`': (
        [("v0.attach_grad(add)", "x"), ("v0.grad", "float32 (1) 0 2 2"), ("v0.grad", "float32 (1) 0 3 3")],
        "float32 (1) 0 1 1",
    ),
    "Gradients after a later write": (
        [
            *[("record(True)", ""), ("v1 = v0 * v0", "x"), ("v2 = v1 * v1", "x"), ("v2.backward()", "x"), ("v1 += v1", "x")],
            *[("record(True)", ""), ("v3 = nd.sum(v1)", "x"), ("v3.backward()", "x"), ("v0.grad", "float32 (1) 0 1 1")],
        ],
        "float32 (1) 0 2 2",
    ),
    "Gradients of gradients": ([("v1 = second(sin, v0)", "float32 (1) 0 1 1")], "error MXNetError"),
    "Mode of the backward pass": (
        [("record(False)", ""), ("v1 = BatchNorm of v0", "x"), ("v0.grad", "float32 (1) 0 1 1")],
        "float32 (1) 0 2 2",
    ),
    "Graphs partly freed": (
        [
            *[("record(True)", ""), ("v1 = v0 * 2", "x"), ("v2 = nd.exp(v1)", "x"), ("v1.backward()", "x")],
            *[("record(True)", ""), ("v3 = nd.sum(v2)", "x"), ("v3.backward()", "float32 (1) 0 1 1")],
        ],
        "error MXNetError",
    ),
    "Means, products and norms of 16-bit floats": ([("v1 = nd.mean(v0)", "float16 (1) 0 0.5 0.5")], "float16 (1) 0 0 0"),
    "Norms of whole numbers": ([("v1 = nd.norm(v0)", "int32 (1) 0 10 10")], "int32 (1) 0 8 8"),
    "Order of equal elements": (
        [("v0 = sort(a0)", "float32 (2,17) 0 1 1"), ("heads ['v0'], {}", ""), ("recorded 0 gradient of a0", ONES)],
        "float32 (2,17) 0 9 9",
    ),
    "Outputs that are sums of inputs": (
        [*COMPUTED, ("v1 = a0 + a1", "x"), ("heads ['v0', 'v1'], {}", ""), ("recorded among 0 v1", ONES), ("among 0 v1", ONES)],
        "error MXNetError",
    ),
    "Overlapping assignment": ([("v1 = v0[0]", "x"), ("v0 -= v1", "float32 (1) 0 1 1")], "float32 (1) 0 2 2"),
    "Reductions of sums of csr matrices": ([("s1 = sparse s0 + s0", "x"), ("v2 = sum 0 of s1", "float32 (1) 0 1 1")], "float32 (1) 0 0 0"),
    "Sums with empty csr matrices": (
        [("s1 = nd.sparse.sign(s0)", "x"), ("s2 = sparse s1 + s1", "float32 (1,3) 0 0 0")],
        "error MXNetError",
    ),
    "Writes while recording": ([("record(True)", ""), ("v0[0] = 2", "float32 (1) 0 2 2")], "error MXNetError"),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_told_by_its_cause(row):
    ran, want = OF_ROWS[row]
    answers = [*(outcome for _, outcome in ran[:-1]), want]
    assert row_of(Difference(ran, answers, len(ran) - 1)) == row
    # not without the statements before, or the state that is the cause
    other = ("v9 = nd.exp(v0)", ran[-1][1])
    assert row_of(Difference([*ran[:-1], other], answers, len(ran) - 1)) is None


@pytest.mark.parametrize(("total", "is_known"), [("a1 + v0", True), ("v0 + a1", True), ("a1 - v0", False), ("a0 + v0", False)])
def test_a_sum_with_an_input_that_adds_has_a_row(total, is_known):
    ran = [*COMPUTED, (f"v1 = {total}", "x"), ("heads ['v1'], {'a0': 'write', 'a1': 'add'}", "")]
    ran += [("recorded 1 gradient of a0", ONES), ("hybridized 1 gradient of a0", ONES)]
    answers = [*(outcome for _, outcome in ran[:-1]), "float32 (1) 0 2 2"]
    assert row_of(Difference(ran, answers, len(ran) - 1)) == ('Gradients with `grad_req="add"`' if is_known else None)


@pytest.mark.parametrize(
    ("statement", "heads", "what"),
    [
        ("v1 = while(v0, a1, 1, 2)", "v1", "gradient of a1"),  # only chooses how often
        ("v1 = while(v0, a1, 1, 1)", "v1", "gradient of a0"),  # runs once
        ("v1 = while(v0, a1, 1, 2)", "v0", "gradient of a0"),  # is not in the graph
        ("v1 = while(v0, a1, 1, 2)", "v1", "v1"),
        ("v1 = while_over(v0, a1, 1, 2)", "v1", "gradient of a0"),
        ("v1 = cond(a0, a1, 1, 2)", "v1", "gradient of a0"),
        ("v1 = cond(v0, a1, 1, 2)", "v1", "v1"),
        ("v1 = foreach(v0, a1, 1, 2)", "v1", "gradient of a0"),
        ("v1 = sort(a0)", "v1", "gradient of a0"),
        ("v1 = sort(v0)", "v0", "gradient of a0"),
    ],
)
def test_right_forms_of_statements_have_no_row(statement, heads, what):
    ran = [
        *COMPUTED,
        (statement, "float32 (2,16) 0 1 1"),
        (f"heads ['{heads}'], {{}}", ""),
        (f"recorded 0 {what}", ONES),
        (f"hybridized 0 {what}", ONES),
    ]
    answers = [*(outcome for _, outcome in ran[:-1]), "float32 (1) 0 9 9"]
    assert row_of(Difference(ran, answers, len(ran) - 1)) is None


def test_rounding_excuses_no_gradient_that_last_bits_leave_as_it_is():
    checked = 0
    for seed, answers in enumerate(ANSWERS["statements"][:40]):
        ran = KINDS["statements"](mx, seed, answers or ()).run()
        gradients = [k for k, (statement, outcome) in enumerate(ran) if statement.endswith(".grad") and not outcome.startswith("error")]
        assert not any(rounds_otherwise("statements", seed, answers or (), k, ran[k][1]) for k in gradients)
        checked += len(gradients)
    assert checked > 5


def test_a_write_to_a_view_is_one_to_what_a_gradient_needs():
    ran = [("record(True)", ""), ("v1 = nd.prod(v0)", "x"), ("v2 = v0[0]", "x"), ("v2[0] = 2", "x"), ("record(True)", "")]
    ran += [("v3 = v1 + v1", "x"), ("v0.grad", ONES)]
    answers = [*(outcome for _, outcome in ran[:-1]), "float32 (1) 0 2 2"]
    assert row_of(Difference(ran, answers, len(ran) - 1)) == "Gradients after a later write"
    copied = [(s.replace("v0[0]", "v0.copy()"), outcome) for s, outcome in ran]
    assert row_of(Difference(copied, answers, len(ran) - 1)) is None


@pytest.mark.parametrize(("name", "row"), [("v0", 'Gradients with `grad_req="add"`'), ("v5", None)])
def test_a_function_adds_no_gradient_in_mxnet(name, row):
    ran = [("v0.attach_grad(add)", "x"), ("record(True)", ""), (f"v1 = Function of {name}", "x"), ("v1.backward()", "x"), ("v0.grad", ONES)]
    answers = [*(outcome for _, outcome in ran[:-1]), "float32 (1) 0 0 0"]
    assert row_of(Difference(ran, answers, len(ran) - 1)) == row
