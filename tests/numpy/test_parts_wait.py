"""Operations on parts with gaps of large arrays wait once their site is in use, and their program reads the parts in place."""

import gc

import numpy
import pytest

import twofold.np as np
from twofold import cpu
from twofold.autograd import record
from twofold.config import SETTINGS
from twofold.imperative import sites
from twofold.imperative.counters import COUNTERS
from twofold.imperative.deferral import UPDATES

SIZE = 400  # half of its elements are enough to wait


@pytest.fixture(autouse=True)
def no_sites():
    sites.SITES.clear()
    sites.PART_SITES.clear()
    COUNTERS.reset()


def given(*shape, seed=0):
    """Random numbers as NumPy's array and as ours."""
    x = numpy.random.default_rng(seed).normal(size=shape or (SIZE, SIZE))
    ours = np.array(x)
    ours.wait_to_read()
    return x, ours


def heat(u):
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]


def test_a_stencil_is_one_kernel_from_its_second_use_on():
    x, ours = given()
    for k in range(4):
        COUNTERS.reset()
        numpy.testing.assert_array_equal(numpy.asarray(heat(ours)), heat(x))
        if k:
            assert (COUNTERS.windows, COUNTERS.kernels, COUNTERS.fused, COUNTERS.inline) == (1, 1, 5, 0)


def test_other_parts_have_the_same_program():
    x, ours = given(SIZE + 20, SIZE)
    for k in range(20):
        a, b = ours[k : k + SIZE, 1:], ours[k : k + SIZE, :-1]
        found = numpy.asarray(a - b + a)
        numpy.testing.assert_array_equal(found, x[k : k + SIZE, 1:] - x[k : k + SIZE, :-1] + x[k : k + SIZE, 1:])
    assert COUNTERS.windows == 19
    assert COUNTERS.compiled <= 2


def test_parts_of_another_shape_each_time_are_read_now():
    x, ours = given()
    for k in range(1, 20):
        numpy.testing.assert_array_equal(numpy.asarray(ours[k:, k:] - ours[:-k, :-k]), x[k:, k:] - x[:-k, :-k])
    assert (COUNTERS.windows, COUNTERS.inline) == (0, 19)


def test_an_operation_that_is_read_at_once_does_not_wait():
    x, ours = given()
    for _ in range(sites.ALONE + 3):
        COUNTERS.reset()
        numpy.testing.assert_array_equal(numpy.asarray(ours[:, 1:] - ours[:, :-1]), x[:, 1:] - x[:, :-1])
    assert (COUNTERS.windows, COUNTERS.inline) == (0, 1)


PARTS = {
    "rows": lambda u: u[1:-1, 1:-1],
    "steps": lambda u: u[1:, ::2],
    "backwards": lambda u: u[::-1, ::-1],
    "a column": lambda u: u[:, 5:6],
    "new axes": lambda u: u[:, None, 2:],
    "a part of a part": lambda u: u[1:, 1:][:-1, ::2],
    "transposed": lambda u: u.T,
    "a transposed part": lambda u: u[:, 3:].T,
    "a flat step": lambda u: u.reshape(-1)[::2],
    "the diagonal": lambda u: u.diagonal(),
    "an element of an axis": lambda u: u.reshape(SIZE, 2, -1)[:, 1],
    "broadcast": lambda u: np.broadcast_to(u[:, :1], u.shape) if isinstance(u, np.ndarray) else numpy.broadcast_to(u[:, :1], u.shape),
}


def twice(operation):
    """The result of the second of two operations issued at one place: the one that waits."""
    for _ in range(2):
        found = operation()
    return found


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_all_kinds_have_numpys_values(name):
    x, ours = given()
    part = PARTS[name]
    for operation in (
        lambda u: part(u) * 2 + 1,
        lambda u: part(u) * 1,
        lambda u: part(u) - part(u) * 3,
        lambda u: abs(part(u)) ** 0.5 + part(u),
        lambda u: (u * 2).sum() + part(u),
    ):
        expected, found = operation(x), twice(lambda: operation(ours))  # noqa: B023
        assert found.shape == expected.shape
        numpy.testing.assert_allclose(numpy.asarray(found), expected, rtol=1e-12)
        assert not numpy.shares_memory(found.asnumpy(), ours.asnumpy())


@pytest.mark.parametrize(
    "part", [lambda u: u[::-1], lambda u: u[::2], lambda u: u[None, ::2], lambda u: u.reshape(1, SIZE, SIZE)[:, :, 1:]]
)
def test_reductions_along_the_last_axis_of_parts(part):
    x, ours = given()
    x, ours = x.ravel(), ours.ravel()
    y = part(x)
    for expected, operation in (
        (y / (abs(y) * 2.0).sum(axis=-1, keepdims=True), lambda: part(ours) / (abs(part(ours)) * 2.0).sum(axis=-1, keepdims=True)),
        ((y * 0.5).max(axis=-1), lambda: (part(ours) * 0.5).max(axis=-1)),
        (y - (y + 1.0).mean(axis=-1, keepdims=True), lambda: part(ours) - (part(ours) + 1.0).mean(axis=-1, keepdims=True)),
    ):
        numpy.testing.assert_allclose(numpy.asarray(twice(operation)), expected, rtol=1e-10, atol=1e-13)


NUMBERS = [
    "u < 300",
    "u > -1",
    "u == 256",
    "u + 300",
    "u * 2",
    "3 - u",
    "u ** 2",
    "u ** -1",
    "u | 1",
    "u + 1.5",
    "u * True",
    "u // 2",
    "u ** 0.5",
]


@pytest.mark.parametrize("text", NUMBERS)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool", "int64", "float32"])
def test_numbers_beside_parts_are_numpys(text, dtype):
    x = (given()[0] * 50).astype(dtype)
    ours = np.array(x)
    ours.wait_to_read()

    def outcome(u):
        try:
            with numpy.errstate(all="ignore"):
                return eval(text, {"u": u[:, 1:]})
        except (OverflowError, TypeError, ValueError) as error:
            return type(error)

    expected = outcome(x)
    for _ in range(3):  # the first one does not wait
        found = outcome(ours)
        if isinstance(expected, type):
            assert issubclass(found, expected)
        else:
            assert found.dtype == expected.dtype
            numpy.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(("other", "result"), [("float16", "float32"), ("int64", "float64"), ("bfloat16", "bfloat16")])
def test_parts_of_bfloat16_beside_others(other, result):
    x, y = np.ones((SIZE, SIZE), dtype="bfloat16"), np.ones((SIZE, SIZE), dtype=other)
    for _ in range(3):
        found = x[:, 1:] + y[:, 1:]
        assert found.dtype == result
        assert float(found.max()) == 2


def test_a_part_has_its_elements_of_when_the_operation_was_issued():
    x, ours = given()
    old = x[:, 1:] * 2.0 + 1.0
    waits = twice(lambda: ours[:, 1:] * 2.0 + 1.0)
    assert COUNTERS.deferred > 2  # else this tests nothing
    ours[:, 3] = 0.0
    again = twice(lambda: ours[1:, 1:] - 1.0)
    ours *= 2
    numpy.testing.assert_array_equal(numpy.asarray(waits), old)
    x[:, 3] = 0.0
    numpy.testing.assert_array_equal(numpy.asarray(again), x[1:, 1:] - 1.0)
    numpy.testing.assert_array_equal(numpy.asarray(ours), x * 2)


def test_a_result_does_not_overwrite_an_array_whose_elements_are_read_elsewhere():
    for step in (numpy.s_[::-1], numpy.s_[:, ::-1], numpy.s_[::-1, ::-1]):
        x, ours = given()
        for _ in range(3):
            x = x[step] * 0.5 + x
            ours = ours[step] * 0.5 + ours
            gc.collect()  # nothing refers to the former array
        numpy.testing.assert_array_equal(numpy.asarray(ours), x)


def test_memory_that_others_write_is_read_now():
    x = numpy.ones((SIZE, SIZE))
    ours = np.asarray(x)
    seen = ours.asnumpy() if not numpy.shares_memory(numpy.from_dlpack(ours), x) else x
    found = twice(lambda: ours[:, 1:] * 2.0 + 1.0)
    seen[:] = 5.0
    assert float(found[0, 0]) == 3.0


def test_gradients_through_parts():
    x, ours = given()
    ours.attach_grad()
    with record():
        y = (heat(ours) * heat(ours)).sum()
    y.backward()
    expected = numpy.zeros_like(x)
    d = 2 * heat(x)
    for part, weight in (((slice(2, None), slice(1, -1)), 1), ((slice(None, -2), slice(1, -1)), 1), ((slice(1, -1), slice(2, None)), 1)):
        expected[part] += weight * d
    expected[1:-1, :-2] += d
    expected[1:-1, 1:-1] -= 4 * d
    numpy.testing.assert_allclose(numpy.asarray(ours.grad), expected, rtol=1e-10, atol=1e-10)


def test_without_deferral_nothing_waits(monkeypatch):
    monkeypatch.setattr(SETTINGS, "engine", "naive")
    x, ours = given()
    found = twice(lambda: ours[:, 1:] - ours[:, :-1])
    assert COUNTERS.deferred == 0
    numpy.testing.assert_array_equal(numpy.asarray(found), x[:, 1:] - x[:, :-1])


def test_an_operator_in_place_joins_what_its_operand_waits_for():
    x, image = given()
    total, rows = numpy.zeros_like(x), np.zeros((SIZE, SIZE))
    rows.wait_to_read()
    view = rows[10:20]
    COUNTERS.reset()
    same = rows
    for k in range(UPDATES):
        total += (k + 0.5) * x
        rows += (k + 0.5) * image
    assert COUNTERS.windows == 0
    assert rows is same
    numpy.testing.assert_array_equal(numpy.asarray(view), total[10:20])
    assert (COUNTERS.windows, COUNTERS.kernels, COUNTERS.fused) == (1, 1, 2 * UPDATES)
    numpy.testing.assert_array_equal(numpy.asarray(rows), total)
    del view
    for _ in range(2):
        COUNTERS.reset()
        total += 2.0 * x
        rows += 2.0 * image
        rows.wait_to_read()
    assert (COUNTERS.windows, COUNTERS.kernels, COUNTERS.fused, COUNTERS.donated) == (1, 1, 2, 1)
    numpy.testing.assert_array_equal(numpy.asarray(rows), total)


def test_a_window_takes_a_few_operators_in_place():
    x, image = given()
    total, rows = numpy.zeros_like(x), np.zeros((SIZE, SIZE))
    rows.wait_to_read()
    for k in range(10 * (UPDATES + 1)):
        total += (k + 0.5) * x
        rows += (k + 0.5) * image
    rows.wait_to_read()
    assert (COUNTERS.windows, COUNTERS.compiled, COUNTERS.donated) == (10, 1, 10)
    numpy.testing.assert_array_equal(numpy.asarray(rows), total)


def test_an_operator_in_place_writes_memory_that_others_see():
    x, image = given()
    rows = np.zeros((SIZE, SIZE))
    seen = numpy.from_dlpack(rows)
    rows += 2.0 * image
    rows.wait_to_read()
    numpy.testing.assert_array_equal(seen, 2.0 * x)


PLACES = ["1:-1, 1:-1", "2:, 1:-1", ":-2, 1:-1", "1:-1, 2:", "1:-1, :-2", "-2:0:-1, 1:-1", "1:-1, -2:0:-1"]


#: Statements that end chains of element-wise operations.
WHOLE = [
    "a = {1} + 0.01 * ({0} * {1}).sum()",
    "b = {1} - ({0} * 0.5).sum(axis=1, keepdims=True) * 0.01",
    "a = {1} + ({0} - 1.0).max(axis=0)",
    "b = ({0} - {1}).T @ ({0} + 0.5) / 400",
    "a = ({0} > 0.25) * {1}",
    "b = abs({0} * {1}) ** 0.5",
    "a = ({0} * 0.5).cumsum(axis=1) / 400",
    "b = (({0} - {1}) * 0.25)[::-1].copy()",
    "a = ({0} + 0.5).mean(axis=0) - {1}",
    "b = 0.1 * ({0} - 0.25).reshape(-1)[::-1].reshape({1}.shape)",
]


def random_program(rng, steps):
    """Statements over arrays ``u``, ``v``, ``w`` of one shape and results ``a``, ``b`` of a smaller one."""
    arrays, small, lines = "uvw", ["a", "b"], []

    def part():
        return f"{rng.choice(list(arrays))}[{PLACES[rng.integers(len(PLACES))]}]"

    def term():
        kind = rng.integers(4)
        return part() if kind < 2 else str(rng.choice(small)) if kind == 2 else f"{rng.integers(1, 5) / 4} * {part()}"

    for _ in range(steps):
        kind = rng.integers(9)
        if kind < 3:
            lines.append(f"{rng.choice(small)} = {term()} {rng.choice(list('+-*'))} {term()}")
        elif kind == 3:
            lines.append(f"{rng.choice(small)} {rng.choice(['+=', '-=', '*='])} {term()}")
        elif kind in (4, 5):
            value = "1.5" if rng.integers(3) else f"0.5 * {rng.choice(small)}"
            lines.append(f"{part()} {rng.choice(['=', '+=', '-='])} {value}")
        elif kind == 6:
            lines.append(str(rng.choice([a.format(part(), rng.choice(small)) for a in WHOLE])))
        else:
            name = rng.choice(list(arrays))
            lines.append(str(rng.choice([f"{name} = {name} * 0.5", f"{name} *= 0.5", f"{name} = {name}.copy()", f"{name}[3] = 1.0"])))
    return "\n".join(lines)


def check_random_stencils(seeds):
    for seed in seeds:
        rng = numpy.random.default_rng(seed)
        code = compile(random_program(rng, 12), f"program {seed}", "exec")
        x, inner = rng.normal(size=(SIZE, SIZE)), rng.normal(size=(SIZE - 2, SIZE - 2))
        arrays = {name: x + k for k, name in enumerate("uvw")} | {"a": inner.copy(), "b": inner + 1}
        ours = {name: np.array(v) for name, v in arrays.items()}
        for _ in range(6):
            exec(code, arrays)
            exec(code, ours)
        for name in "uvwab":
            numpy.testing.assert_allclose(
                numpy.asarray(ours[name]), arrays[name], rtol=1e-9, atol=1e-12, err_msg=f"{name} of program {seed}"
            )


def test_random_stencils():
    check_random_stencils(range(15))


def test_random_stencils_take_all_paths():
    check_random_stencils(range(15, 55))
    counts = {name: getattr(COUNTERS, name) for name in ("deferred", "fused", "in_place", "donated", "copied")}
    print(counts)
    written = counts["in_place"] + counts["donated"] + counts["copied"]
    assert counts["fused"] >= counts["deferred"] / 50
    assert min(counts["in_place"], counts["donated"], counts["copied"]) >= written / 50


def test_updates_join_the_window_of_their_backward():
    weights = [np.ones((SIZE, SIZE)) * k for k in range(2 * UPDATES)]
    for w in weights:
        w.attach_grad()
    for _ in range(3):
        COUNTERS.reset()
        with record():
            loss = sum((w * w).sum() for w in weights)
        loss.backward()
        for w in weights:
            w -= 0.25 * w.grad
        assert COUNTERS.windows == 0
        weights[0].wait_to_read()
        assert COUNTERS.windows == 1
    numpy.testing.assert_array_equal(weights[-1].asnumpy(), numpy.full((SIZE, SIZE), (2 * UPDATES - 1) / 8))


def test_out_stays_on_its_device():
    x, out = np.array([4.0, 9.0]), np.zeros(2, device=cpu(1))
    assert np.sqrt(x, out=out) is out
    assert out.context == cpu(1)
    assert out.asnumpy().tolist() == [2.0, 3.0]
