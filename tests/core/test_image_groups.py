"""The part of a network that is computed for a few images at a time: which one it is, and that results do not change."""

import random
from itertools import product

import numpy as np
import pytest

from twofold.backend.loader import backend_for
from twofold.config import SETTINGS
from twofold.device import CPU
from twofold.graph import image_groups
from twofold.graph.build import G
from twofold.graph.control_flow import foreach
from twofold.graph.image_groups import in_groups_of_images
from twofold.graph.ir import Leaf, Node, applications, leaf, leaves_of
from twofold.opdef import primitives
from twofold.program.compile import Program
from twofold.program.kernels import treats_images_alike

from tests.machine_code import needs_wide_vectors

STEPS = {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 1}
WINDOWS = {"kernel": (2, 2), "stride": (2, 2), "before": (0, 0), "channels_last": False}
#: Parameters of lines, and of windows over the items too.
ONE = {"stride": (1,), "dilate": (1,), "pad": (1,), "groups": 1}
CUBE = {"kernel": (1, 2, 2), "stride": (1, 2, 2), "before": (0, 0, 0), "number": (6, 4, 4), "channels_last": False}


def batch(n: int = 6, c: int = 4, size: int = 8, name: str = "x") -> Leaf:
    return leaf(name, (n, c, size, size), "float32")


def conv(x: Node, name: str, filters: int = 4) -> Node:
    return G.convolve(x, leaf(name, (filters, x.shape[1], 3, 3), "float32"), **STEPS)


def halved(x: Node) -> Node:
    return G.window_max(x, number=(x.shape[2] // 2, x.shape[3] // 2), lowest=-1e38, **WINDOWS)


def split(outputs, images, alike=lambda n, few: True) -> list[Node]:
    return in_groups_of_images(outputs, images, alike)


def loop(outputs):
    """The loop of a graph: groups of images, and the names of the operations in its body; None if there is none."""
    (found,) = [n for n in applications(outputs) if n.bound_op.op is foreach] or [None]
    if found is None:
        return None
    return found.operands[0].shape[:2], [n.bound_op.op.name for n in applications(found.bound_op.params["body"].outputs)]


@pytest.fixture
def free(monkeypatch):
    """Neither steps nor weights cost anything: each operation that can be in the loop is."""
    monkeypatch.setattr(image_groups, "CACHE", 1 << 8)
    monkeypatch.setattr(image_groups, "STEP", 0)
    monkeypatch.setattr(image_groups, "WEIGHT", 0.0)


def assert_computes_the_same(outputs, inputs, found, seed=0, rtol=1e-4):
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(i.shape).astype(i.dtype) for i in inputs]
    backend = backend_for(CPU)
    for a, b in zip(Program(outputs, inputs, backend).run(arrays), Program(found, inputs, backend).run(arrays), strict=True):
        assert a.shape == b.shape
        # Winograd's algorithm is exact to a part of the largest number: see the page on convolutions
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol / 5 * max(1, np.abs(b).max()))


def test_a_network_that_ends_with_large_weights_is_split_before_them():
    x = batch(8, 3, 96)
    early = halved(conv(G.maximum(conv(x, "a", 64), 0), "b", 64))
    late = conv(halved(halved(early)), "c", 512)
    (found,) = split([late], [x])
    assert loop([found]) == ((8, 1), ["convolve", "maximum", "convolve", "window_max", "window_max"])
    assert [n.bound_op.op.name for n in applications([found])][-1] == "convolve"
    weights = [n for n in applications([late]) if n.bound_op.op.name == "convolve"]
    assert_computes_the_same([late], [x, *[n.operands[1] for n in weights]], [found])


@pytest.mark.parametrize(
    ("images", "size", "groups"),
    [(64, 32, (8, 8)), (64, 16, (2, 32)), (64, 8, None), (1, 128, None), (7, 128, (7, 1)), (64, 64, (32, 2)), (6, 256, (6, 1))],
)
def test_groups_are_as_large_as_the_cache_allows(images, size, groups):
    x = batch(images, 16, size)
    outputs = [conv(conv(conv(x, "a", 16), "b", 16), "c", 16)]
    found = loop(split(outputs, [x]))
    assert (found and found[0]) == groups


@pytest.mark.parametrize(("threads", "groups"), [(1, (8, 1)), (4, (4, 2)), (16, None)])
def test_threads_have_a_cache_each(threads, groups):
    x = batch(8, 16, 128)
    outputs = [conv(conv(x, "a", 16), "b", 16)]
    found = loop(in_groups_of_images(outputs, [x], lambda n, few: True, threads))
    assert (found and found[0]) == groups


def test_convolutions_that_would_differ_stay_whole(free):
    x = batch()
    outputs = [conv(conv(x, "a"), "b")]
    assert split(outputs, [x], lambda n, few: False) == outputs
    found = loop(split(outputs, [x], lambda n, few: few == 2))
    assert found
    assert found[0] == (3, 2)
    first = next(applications(outputs))
    assert loop(split(outputs, [x], lambda n, few: n is first)) == ((6, 1), ["convolve"])


def test_a_batch_without_convolutions_stays_whole(free):
    x = batch()
    outputs = [G.maximum(halved(x), 0)]
    assert split(outputs, [x]) == outputs


MIXES = {
    "the mean of the images": lambda x: G.subtract(x, G.sum(x, axis=(0,), keepdims=True)),
    "all axes": lambda x: G.sum(x),
    "images side by side": lambda x: G.concat(x, x, axis=0),
    "images as channels": lambda x: G.reshape(x, shape=(1, 24, 8, 8)),
    "another order": lambda x: G.reshape(G.permute_dims(x, axes=(1, 0, 2, 3)), shape=(6, 4, 8, 8)),
    "another image's": lambda x: G.add(x, G.flip(x, axis=0)),
    "along rows": lambda x: G.add(G.reshape(G.sum(x, axis=(1, 2, 3)), shape=(6, 1, 1, 1)), G.sum(x, axis=(1, 2, 3))),
    "as weights": lambda x: G.convolve(x, G.reshape(x, shape=(6, 4, 8, 8)), **(STEPS | {"pad": (4, 4)})),
    "windows over images": lambda x: G.window_max(
        G.reshape(x, shape=(6, 32, 8)),
        kernel=(2, 2, 2),
        stride=(2, 2, 2),
        before=(0, 0, 0),
        number=(3, 16, 4),
        lowest=-1e38,
        channels_last=False,
    ),
    "one operand of each image": lambda x: G.multiply(x, leaf("scales", (6, 1, 1, 1), "float32")),
    "an operand of no image": lambda x: G.concat(x, leaf("others", (6, 2, 8, 8), "float32"), axis=1),
}

#: Those that add up the images themselves, which are computed outside then.
ADDED_UP = ("the mean of the images", "all axes")


@pytest.mark.parametrize("name", MIXES)
def test_what_mixes_images_stays_whole(free, name):
    x = batch()
    y = G.maximum(conv(x, "a"), 0)
    outputs = [MIXES[name](y), y]
    others = [n for n in leaves_of(outputs) if n is not x]
    found = split(outputs, [x])
    in_loop = loop(found)
    assert in_loop
    groups, names = in_loop
    assert groups == (6, 1)
    # what each image gives alone, such as its sum, may be inside
    assert names[:2] == (["convolve"] if name in ADDED_UP else ["convolve", "maximum"])
    assert not {"concat", "flip", "permute_dims", "multiply", "subtract", "add"}.intersection(names)
    assert sum(n == "convolve" for n in names) == 1
    assert_computes_the_same(outputs, [x, *others], found)


def drawn(rng: random.Random, x: Leaf) -> list[Node]:
    """A random network, some of whose operations mix images."""
    values: list[Node] = [conv(x, "first")]
    for k in range(rng.randrange(3, 9)):
        a, b = rng.choice(values), rng.choice(values)
        way = rng.randrange(9)
        if way == 0:
            new = conv(a, f"w{k}", rng.choice([2, 4]))
        elif way == 1:
            new = halved(a) if min(a.shape[2:]) > 1 else G.sum(a, axis=(2, 3), keepdims=True)
        elif way == 2 and a.shape == b.shape:
            new = G.add(a, b)
        elif way == 3 and a.shape[2:] == b.shape[2:]:
            new = G.concat(a, b, axis=1)
        elif way == 4:
            new = G.multiply(G.maximum(a, 0), leaf(f"s{k}", (1, a.shape[1], 1, 1), "float32"))
        elif way == 5:
            new = G.subtract(a, G.sum(a, axis=rng.choice([(2, 3), (1,), (0,)]), keepdims=True))
        elif way == 6:
            new = G.reshape(a, shape=(a.shape[0], 1, -1, a.shape[3]))
        elif way == 7:
            new = G.multiply(a, leaf(f"s{k}", rng.choice([(a.shape[0], 1, 1, 1), (a.shape[1], 1, 1), (1, 1, 1, 1), ()]), "float32"))
        else:
            new = G.divide(G.flip(a, axis=rng.choice([0, 3])), 3)
        values.append(new)
    return [values[-1], *rng.sample(values, 2)]


@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=needs_wide_vectors)])
def test_random_networks_compute_the_same(free, jit, monkeypatch):
    """In machine code bit for bit: the adapter says which convolutions it computes alike."""
    monkeypatch.setattr(SETTINGS, "jit", jit)
    target = backend_for(CPU).target
    counts = {"loop": 0, "rest": 0, "several results": 0}
    for seed in range(60):
        rng = random.Random(seed)
        x = batch()
        outputs = drawn(rng, x)
        found = in_groups_of_images(outputs, [x], lambda n, few: treats_images_alike(target, n, few) or not jit)
        names = [n.bound_op.op.name for n in applications(found)]
        counts["loop"] += "foreach" in names
        counts["rest"] += not {*names} <= {"foreach", "reshape", "item"}
        counts["several results"] += "item" in names
        assert_computes_the_same(outputs, leaves_of(outputs), found, seed, 0.0 if jit else 1e-4)
    print(counts)
    assert min(counts.values()) > 20


#: Axes of sums and the like, also if only the rule for items could refuse them.
SUMS = [(((6, 4, 2),), {"axis": (1, 2), "keepdims": True}), (((6, 6),), {"axis": (0,)})]
SUMS += [(((6, 4, 2),), {"axis": axis}) for axis in (None, (1,), (-1,), (0, 1), (-3,))]
PLACES = [(((6, 6),), {"axis": axis}) for axis in (0, 1, -1, -2, None)]
#: Operands of six items and others, and parameters, of each operator with a rule.
WHOLE = (
    {
        "convolve": [
            (((6, 4, 9, 9), (6, 2, 3, 3)), STEPS | {"groups": 2}),
            (((6, 9, 4), (6, 4, 3)), {**STEPS, "channels_last": True} | ONE),
        ],
        "convolve_packed": [(((6, 4, 9, 9), (6, 36, 1)), STEPS | {"shape": (6, 4, 3, 3)})],
        "concat": [(((6, 4, 2), (6, 1, 2)), {"axis": -2}), (((6, 4), (6, 4)), {"axis": 0}), (((6, 4), (6, 4)), {"axis": -2})],
        "reshape": [(((6, 4, 2),), {"shape": (6, -1)}), (((6, 4),), {"shape": (-1, 2, 2)})],
        "window_max": [(((6, 4, 8, 8),), WINDOWS | {"number": (4, 4), "lowest": -1e30}), (((6, 8, 8),), CUBE | {"lowest": -1e30})],
        "window_sum": [(((6, 8, 8, 4),), WINDOWS | {"number": (4, 4), "channels_last": True}), (((6, 8, 8),), CUBE)],
    }
    | dict.fromkeys(["sum", "prod", "max", "min", "any", "all"], SUMS)
    | dict.fromkeys(["argmax", "argmin"], PLACES)
)


def test_every_rule_is_tried():
    assert {op.name for op in primitives().values() if op.algebra.apart_rule is not None} == {*WHOLE}


@pytest.mark.parametrize("name", WHOLE)
def test_a_rule_gives_the_parameters_for_few_items(name):
    """One item at a time, of each operand that could be the batch."""
    op, rng, answers = primitives()[name], np.random.default_rng(0), []
    rule, compute = op.algebra.apart_rule, getattr(backend_for(CPU).xp, name)
    assert rule is not None
    for shapes, given in WHOLE[name]:
        operands, params = [rng.standard_normal(shape).astype("float32") for shape in shapes], op.bind(**given).params
        whole = compute(*operands, **params)
        for flags in map(list, product((False, True), repeat=len(operands))):
            # a rule is asked for results with this batch only
            if not any(flags) or whole.shape[:1] != (6,):
                continue
            found = rule(2, flags, *operands, **params)
            answers.append(found is not None)
            for k in range(0, 6, 2) if found is not None else ():
                few = [a[k : k + 2] if f else a for a, f in zip(operands, flags, strict=True)]
                np.testing.assert_allclose(compute(*few, **(params | found)), whole[k : k + 2], rtol=1e-5, atol=1e-6)
    assert any(answers)
    assert not all(answers) or name == "reshape"
