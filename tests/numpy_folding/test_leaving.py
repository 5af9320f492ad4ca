"""Code that is not the program's gets NumPy's own arrays, wherever an array may leave the program."""

import ast
import os
import subprocess
import sys

import pytest

from twofold.numpy_folding.rewriting import compiled, rewritten


def with_path(folder):
    """The environment of a child that finds modules in one more folder."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])}


#: Elsewhere than the program: it says which of the arrays that it gets are NumPy's.
LIBRARY = """
import numpy
PLAIN = []
def kind(x):
    return type(x) is numpy.ndarray
def kinds(*args, **options):
    return [kind(x) for x in [*args, *options.values()]]
def refuse(x):
    assert not kind(x)
def same(x, y):
    return x is y
def back(x):
    return x
def piece(x):
    return x[2:5]
def inside(holder):
    return [kind(x) for x in (holder.values() if isinstance(holder, dict) else holder)]
def called(function, *args):
    return kind(function(*args))
def drained(generator):
    return [kind(x) for x in generator]
def fill(holder):
    if isinstance(holder, dict):
        holder["new"] = 1
    else:
        holder.append(1)
    return inside(holder)
def with_state(function, state):
    function(state)
def converted(x):
    return bool(numpy.asarray(x)[1] == 3.0)
def attribute(owner, name):
    return kind(vars(owner)[name])
def method(owner, name, *args):
    return kind(getattr(owner, name)(*args))
def decorated(function):
    def inner(*args):
        PLAIN.append(kind(function(*args)))
        return PLAIN[-1]
    return inner
class Table:
    def __setitem__(self, key, value):
        self.key, self.item = key, value
    def __init__(self, value=None):
        self.value = value
    def take(self, value):
        return kind(value)
    def __getitem__(self, key):
        return inside(key) if isinstance(key, tuple) else kind(key)
    @classmethod
    def of(cls, value):
        return kind(value)
    @property
    def loc(self):
        return self
def objects(holder):
    return [kind(x) for x in (holder.flat if holder.dtype.names is None else holder["a"].flat)]
class Base:
    def whole(self, value):
        return kind(value)
    def ask(self, x):
        return kind(self.answer(x))
"""

PROGRAM = """
import functools, hashlib, pickle, copy, queue, threading, weakref
from dataclasses import dataclass
import numpy as np
import library
from library import Base, Table, kinds
N = 300_000
x = np.arange(float(N))

def folds(a):
    return a.__array_priority__ > 0
def digest(a):
    try:
        return hashlib.md5(a).hexdigest()
    except ValueError as error:
        return str(error)
def twice(a):
    return a * 2.0
def pair(a):
    return a, a * 2.0
def stream(a):
    yield a
    yield a * 2.0
def passed_on(a):
    return kinds(a)
@library.decorated
def decorated(a):
    return a + 1.0
@functools.lru_cache
def remembered(k):
    return folds(x), k
class Own:
    def __init__(self, a):
        self.a = a
    def answer(self, a):
        return a * 3.0
    def folds(self, a):
        return folds(a), self.inner(a * 2.0), folds(self.a)
    def inner(self, a):
        return folds(a)
class Shown:
    def __init__(self, a):
        self.a = a
    def __array__(self, dtype=None, copy=None):
        return self.a
class Derived(Base):
    def answer(self, a):
        return a * 3.0
    def __init__(self, a):
        self.a = a
    def whole(self, a):
        return super().whole(a)
@dataclass
class Record:
    a: object

class Strange(dict):
    __getattr__ = dict.__getitem__
    def __call__(self, a):
        return folds(a)
class Closing:
    closed = False
    def close(self):
        self.closed = True
        del self.method
        return 3
def write(state):
    state["written"] = True
def flat_set(a, mask):
    a.flat[mask] = 5
    return a[:3].tolist()
def annotated(a: kinds("text") = None) -> kinds("result"):
    return a
def own_only(holder):
    return folds(holder[0])
strange = Strange()
y = x * 2.0 + 1.0
kept = [y]
table = Table()
table.value = y
table["a"] = y
name = "b"
item = table.item
table[name] = x + 1.0
table.loc[1:2] = y
holder, options = [y, 1], {"a": y, "b": 2}
nested = {"deep": [y * 1.0]}
def held(dtype=object):
    found = np.empty(2, dtype)
    found[0] = y * 3.0
    return found
def put(a, b):
    table[0] = a
    first = library.objects(table.item)
    table[0:2] = b
    assert first == [True, False] and library.kind(table.item)
    table[0] = np.array([b, b[1:]], object)
    assert library.objects(table.item) == [True, True]
    a[1] = b
    assert folds(a[1])
    table[1:] = a
def doubled(k):
    return y * k
records = np.zeros(1, [("a", object), ("b", float)])
records["a"][0] = y
record = np.array((y, 1.0), records.dtype)[()]
frozen = held()
frozen.flags.writeable = False
around = held()
around[0] = held()
ragged = [y * 1.0, y[1:] * 1.0]
order = np.arange(N)[::-1].copy()
def chosen(of, key):
    return of[key], of[key, 1], of[..., key]
def located(of, key):
    return of.loc[key], of.loc[[key, 1], 1]
q = queue.Queue()
"""

#: Expressions of the program with their values.
CHECKS = {
    "kinds(y)": [True],
    "kinds(y + 1.0, k=x * 2.0)": [True, True],
    # two views that both live: an array that is dropped before the other leaves may have its place, and be taken for it
    "library.same(y, y), library.same(y, y[1:]), (lambda a, b: library.same(a, b))(x[1:], x[1:])": (True, False, False),
    "library.kinds(*holder, **options)": [True, False, True, False],
    "library.inside(holder)": [True, False],
    "library.inside([y, x * 2.0])": [True, True],
    "library.inside((y, 3))": [True, False],
    "library.inside(options)": [True, False],
    "library.inside({'a': y * 1.0})": [True],
    "library.called(twice, x)": True,
    "library.called(lambda: y * 2.0)": True,
    "library.called(lambda: y)": True,
    "library.drained(stream(x))": [True, True],
    "library.inside(pair(x))": [True, True],
    "library.attribute(table, 'value')": True,
    "library.attribute(table, 'item')": True,
    "library.kind(item)": True,
    "library.attribute(Derived(y), 'a')": True,
    "library.method(Own(y), 'answer', x)": True,
    "Derived(y).ask(x)": True,
    "Derived(y).whole(x * 2.0)": True,
    "library.converted(Shown(y))": True,
    "decorated(x)": True,
    "table.take(x * 2.0)": True,
    "Table.of(y)": True,
    "Table(y).value.__array_priority__ > 0": False,
    "passed_on(y)": [True],
    "functools.partial(kinds, y)(x * 2.0)": [True, True],
    "type(y) is np.ndarray, issubclass(type(x), np.ndarray), type(y + 1.0) is np.ndarray, type(holder) is list": (True, True, True, True),
    "bool(np.ndarray.sum(y) == y.sum())": True,
    "type(pickle.loads(pickle.dumps(nested))['deep'][0]) is np.ndarray": True,
    "pickle.loads(pickle.dumps(Record(y))).a.shape": (300_000,),
    # `joblib.dump` writes the class of each array into its file
    "[f(type(Record(y).a)) for f in (pickle.dumps, pickle._dumps)] and pickle.loads(pickle.dumps(type(Record(y).a))) is np.ndarray": True,
    # what a library gives back is what it was given, and its pieces are pieces of that
    "library.back(y) is y, y is library.back(y), library.back(y) is not y, library.back(y) is x": (True, True, False, False),
    "(lambda a, b: (a is b, b is a, a is not b, a is x))(library.back(y), y)": (True, True, False, False),
    "library.piece(x).base is x, x[3:9].base is x, x[3:9].base is y, x[1:].base is not x": (True, True, False, False),
    "[a is b for a, b in ((y, x), (y, y), (None, y), (y + 1.0, y))], y[1:] is y, y[1:] is not y": (
        [False, True, False, False],
        False,
        True,
    ),
    "library.numpy is np, np is not library.numpy, np == library.numpy, np is library, np is None": (True, False, True, False, False),
    "[y].index(y), [y].count(y), (d := {'a': [y, 1]}, d['a'].remove(y), d['a'])[2]": (0, 1, [1]),
    # an index, of an object of a library
    "chosen(table, order), table[order > 5], table[~(order > 5), 3], table[np.flatnonzero(y)]": (
        (True, [True, False], [False, True]),
        True,
        [True, False],
        True,
    ),
    "located(table, (order, 'text')), located(table, order)": (([True, False], [False, False]), (True, [False, False])),
    "folds(x[order]), x[order > 299_998].tolist(), chosen(np.eye(600), order[:2] - 299_990)[1].tolist()": (True, [0.0], [0.0, 0.0]),
    # the program's own code keeps folding
    "folds(y)": True,
    "folds(y + 1.0)": True,
    "[folds(a) for a in pair(x)]": [True, True],
    "[folds(a) for a in stream(x)]": [True, True],
    "Own(y).folds(y * 2.0)": (True, True, True),
    "folds(Record(y).a)": True,
    "remembered(1)": (True, 1),
    "folds((lambda a: a * 2.0)(y))": True,
    "[a is y for a in (y,)], [a is y for a in [y]]": ([True], [True]),
    "len(kept), folds(kept[0]), own_only(kept), folds(kept[0])": (1, True, True, True),
    # a list or dictionary that a library gets holds NumPy's arrays from then on
    "folds(holder[0]), folds(options['a'])": (False, False),
    "folds(max([y], key=lambda a: a[0]))": True,
    "folds(np.add(x, y)), folds(np.where(y > 1.0, x, y))": (True, True),
    "q.put(y) or library.kind(q.get())": True,
    # compiled code may take each array among an array's objects for NumPy's without looking
    "folds(record['a']), library.kinds(record)[0], library.kind(record['a'])": (True, False, True),
    "folds(held()[0]), library.objects(held())": (True, [True, False]),
    "library.objects(records), library.objects(frozen), library.objects(around), library.kind(around[0][0])": (
        [True],
        [True, False],
        [True, False],
        True,
    ),
    "library.objects(np.array(ragged, dtype=object)), library.objects(np.frompyfunc(doubled, 1, 1)([1, 2]))": ([True, True], [True, True]),
    "table.__setitem__(0, 1) or put(held(), y), library.objects(table.item)": (None, [True, True]),
    # NumPy's function calls the library's
    "np.testing.assert_raises(AssertionError, library.refuse, y)": None,
    # what a library writes into a container of the program stays there
    "library.fill(holder), holder[-1], len(holder)": ([True, False, False], 1, 3),
    "library.fill(options), options['new']": ([True, False, False], 1),
    "library.with_state(write, options), options['written']": (None, True),
    "(space := {'y': y}, exec('z = 5', space), space['z'])[2]": 5,
    "(s := {'y': y}, t := threading.Thread(target=write, args=(s,)), t.start(), t.join(), s['written'])[4]": True,
    "(r := weakref.ref(y), r() is y)[1]": True,
    "type('C', (), {'a': y}).a.shape": (300_000,),
    "strange(y)": True,
    "setattr(table, 'other', y) or library.attribute(table, 'other')": True,
    # NumPy's array over the memory would get the shape, and be dropped
    "(c := y * 1.0, setattr(c, 'shape', (2, -1)), c.shape, folds(c))[2:]": ((2, 150_000), True),
    "(c := Closing(), setattr(c, 'kept', y), c.kept is y)[2]": True,
    "list(map(library.kind, [y])), sorted([y], key=library.kind) and True": ([True], True),
    # callees are evaluated once
    "(d := {'a': len}, d['a'](d.pop('a', 'text') and 'abc'))[1]": 3,
    "(c := Closing(), setattr(c, 'method', str), c.method(c.close()))[2]": "3",
    "folds(copy.copy(y)) in (True, False)": True,
    # an exception of the buffer protocol cannot leave a folding array
    "digest(x.reshape(2, -1).T), digest(x[:0])": ("ndarray is not C-contiguous", "d41d8cd98f00b204e9800998ecf8427e"),
    # NumPy's iterator over the elements of an array that never folds, with a mask that does
    "folds(x > 1.0), (x * 1j).flat[x > 1.0].size, (x * 1j).flat[2:4].tolist(), flat_set(x * 1j, x > 1.0)": (
        True,
        299_998,
        [2j, 3j],
        [0j, 1j, 5 + 0j],
    ),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "library.py").write_text(LIBRARY, encoding="utf-8")
    lines = [PROGRAM, *(f"print(repr(({check})))" for check in CHECKS)]
    (folder / "script.py").write_text("\n".join(lines), encoding="utf-8")
    environment = with_path(folder / "elsewhere")
    done = subprocess.run(
        [sys.executable, "-m", "twofold", "run", "--numpy", "script.py"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(CHECKS, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("check", CHECKS)
def test_arrays_that_leave_are_numpys_and_others_fold(answers, check):
    assert answers[check] == repr(CHECKS[check])


#: What keeps Python from writing compiled files beside the sources.
PYCACHE = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")

UNCHANGED = """
import math
import numpy as np
from numba import njit, vectorize
from numba.experimental import jitclass
@njit
def compiled(x):
    return other(x)
def handed_over(x):
    return other(x * 2)
fast = vectorize(["float64(float64)"])(handed_over)
class Compiled:
    def total(self):
        return other(self.a)
Fast = jitclass([])(Compiled)
def aggregate(values, index):
    return other(values)
len([1].agg(aggregate, engine="numba"))
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(20), math.sqrt(fib(3)), np.sum(np.ones(3) * 2), len([1]), sorted([2, 1], key=lambda t: t))
for i in range(3):
    a = np.zeros(3)
    a[i] = a[i - 1] * 2.0
table = {"a": a}
name = "a"
row = 0
for key, other in table.items():
    row += 1
    print(table[key][row], table[name], [a[k] for k, e in enumerate(a)])
if table is None or len is other or a.__class__ is not np.ndarray or other is not int or a is other is key:
    pass
class Plain:
    def __init__(self, a):
        self.a = a
"""


def test_what_cannot_leave_is_not_tested():
    """Functions of other compilers, the program's own, NumPy's, built-in ones, elements, attributes of own objects."""
    assert ast.unparse(rewritten(ast.parse(UNCHANGED), is_first=True)) == ast.unparse(ast.parse(UNCHANGED))


TRICKY = '''
"""A docstring."""
from __future__ import annotations
import sys
def mixed(a, *args, key=lambda v: v, **options) -> int:
    """Another."""
    global seen
    seen = [f(b) for b in args if f(b)]
    text = f"{f(a)!r:>{9}}"
    return f(a), f(*args), f(**options), f(key(a)), f((yes := a)), yes, f(x for x in args), f([*args, a]), f({**options, "k": a}), text
def f(*a, **k):
    return [list(x) if hasattr(x, "__next__") else x for x in a], k
def order(log):
    def say(x):
        log.append(x)
        return x
    g = lambda *a, **k: (a, k)
    g(say(1), *[say(2)], say(3), k=say(4), **{"z": say(5)})
    return log
async def later(a):
    return await wait(g(a))
class C:
    __slots__ = ("a",)
    def __private(self):
        return self.__private
    def __init__(self, a=1): self.a = a
    @property
    def twice(self): return self.a * 2
def walk(n):
    try:
        yield from (n, [n])
        got = yield n
    finally:
        pass
    return got
def match(v):
    match v:
        case [a, *rest]: return g2(a, rest)
        case {"k": b, **c}: return g2(b, c)
        case str() as d: return g2(d)
g2 = lambda *a: a
matched = [match([1, 2]), match({"k": 1, "z": 2}), match("s")]
result = [mixed(1, 2, c=3), order([]), C(4).twice, list(walk(3)), matched, sys._getframe().f_lineno]
'''


def test_the_rest_of_a_program_computes_the_same(monkeypatch):
    from twofold.numpy_folding import leaving

    for name, thing in leaving.NAMES.items():
        monkeypatch.setattr("builtins." + name, thing, raising=False)
    expected, found = {}, {}
    exec(compile(TRICKY, "tricky.py", "exec"), expected)
    exec(compiled(TRICKY, "tricky.py"), found)
    assert found["result"] == expected["result"]
    assert found["mixed"].__doc__ == "Another."
    assert found["__doc__"] == "A docstring."
    for name in ("mixed", "order", "walk"):
        before, after = expected[name].__code__, found[name].__code__
        assert after.co_varnames == before.co_varnames
        assert {line for *_, line in after.co_lines() if line} == {line for *_, line in before.co_lines() if line}


def test_deep_sources_are_compiled():
    for text in ("x = " + "+".join(["1"] * 700), "x = 'a'" + ".strip()" * 300):
        found = {}
        exec(compiled(text, "deep.py"), found)
        assert found["x"] in (700, "a")


def test_annotations_are_kept_as_they_are():
    text = "from __future__ import annotations\ndef f(a: g(b), *c: g(d)) -> g(e):\n    x: g(h) = 1\ny: g(k)\n"
    assert ast.unparse(rewritten(ast.parse(text))) == ast.unparse(ast.parse(text))


def test_each_of_two_functions_on_one_line_has_its_own_original(monkeypatch):
    from twofold.numpy_folding import code_readers

    text = "f, g = (lambda a: h(a) + 1), (lambda a: h(a) * 10)\n"
    monkeypatch.setitem(code_readers.texts, "lambdas.py", text)
    found = {}
    exec(compiled(text, "lambdas.py", is_first=True), found)
    for name, constant in (("f", 1), ("g", 10)):
        plain = code_readers.original(found[name].__code__)
        assert constant in plain.co_consts
        assert plain.co_names == ("h",)


def test_compiled_files_belong_to_their_source_and_to_the_options(tmp_path):
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "module.py").write_text("def f(x):\n    assert x\n    return f.__code__.co_filename\n", encoding="utf-8")
    (tmp_path / "first" / "module.py").chmod(0o600)
    environment = {k: v for k, v in os.environ.items() if k not in PYCACHE}

    def say(folder, *options):
        code = "import module\ntry: print(module.f(0))\nexcept AssertionError: print('refused')"
        command = [sys.executable, *options, "-m", "twofold", "run", "--numpy", "-c", code]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout.strip()

    assert say(tmp_path / "first", "-O").endswith("first/module.py")
    assert say(tmp_path / "first") == "refused"
    assert {p.stat().st_mode & 0o077 for p in (tmp_path / "first" / "__pycache__").iterdir()} == {0}
    (tmp_path / "first").rename(tmp_path / "second")
    assert say(tmp_path / "second", "-O").endswith("second/module.py")


@pytest.mark.parametrize("text", ["return 1", "x = = 2", "def f(a, a): pass", "nonlocal x", "'\\N{no}'", "f(a for a in b, 1)"])
def test_syntax_errors_are_pythons(text):
    with pytest.raises(SyntaxError) as expected:
        compile(text, "wrong.py", "exec")
    with pytest.raises(SyntaxError) as found:
        compiled(text, "wrong.py")
    assert found.value.args == expected.value.args


def test_modules_and_tests_of_pytest_are_kept_in_files_of_their_own(tmp_path):
    """A plain Python would not know the names that rewritten code uses."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "library.py").write_text(LIBRARY, encoding="utf-8")
    (tmp_path / "module.py").write_text("import library\ndef check(x):\n    return library.kind(x)\n", encoding="utf-8")
    test = "import numpy as np, library, module\ndef test_it():\n    y = np.arange(3e5) * 2.0\n"
    (tmp_path / "test_it.py").write_text(test + "    assert library.kind(y) and module.check(y)\n", encoding="utf-8")
    environment = {k: v for k, v in with_path(tmp_path / "elsewhere").items() if k not in PYCACHE}
    pytests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_it.py"]
    for before in (["-m", "twofold", "run", "--numpy"], [], ["-m", "twofold", "run", "--numpy"]):
        done = subprocess.run(
            [sys.executable, *before, *pytests], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    kept = os.listdir(tmp_path / "__pycache__")
    assert len([name for name in kept if "folding" in name]) == 2
    assert len(kept) == 4
