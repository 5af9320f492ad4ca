"""Random programs of `mx.nd` and `autograd`, which run on Twofold and, as they are, on MXNet 1.9.1.

A program chooses each statement by the arrays that it has, so both libraries run the same statements until one of them differs.
"""

import random

import numpy as np

from .outcomes import outcome_at, outcome_of

UNARY = ["exp", "tanh", "relu", "sigmoid", "abs", "square", "sign", "floor", "negative", "softsign", "cbrt", "sin", "zeros_like", "rint"]
BINARY = ["+", "-", "*", "/", ">", "<=", "=="]
REDUCTIONS = ["sum", "mean", "max", "min", "prod", "norm", "argmax"]
#: From this size on operations wait for others, and fuse.
LARGE = (300, 300)
#: Elements of the largest array.
MOST = 1_000_000


class Program:
    """One random program.

    Parameters
    ----------
    mx
        The library.
    seed
        The program's number.
    answers
        What MXNet gave, if it has run the program: an array that it could not make is not used here either; so the program goes on alike.
    """

    def __init__(self, mx, seed, answers=()):
        self.mx, self.rng, self.answers = mx, random.Random(seed), answers
        self.arrays = {}
        self.log = []
        self.made = 0
        self.leaves = []
        #: Those of them that want no gradient.
        self.unasked = set()
        self.recording = self.train = False
        #: Arrays that may share the memory of others: recorded operations do not read them, see "Views of an array that is marked later".
        self.views = set()
        #: Changes the arrays' last bits before the first statement from this number on, by a random state, see `rounds_otherwise`.
        self.nudge = 0, None

    def run(self):
        """Run it; what it did is a list of pairs: a statement, and its outcome in words."""
        for _ in range(self.rng.randint(2, 4)):
            self.new()
        for _ in range(self.rng.randint(10, 40)):
            self.step()
        for name in sorted(self.arrays):
            self.note(name, lambda name=name: self.arrays[name])
        return self.log

    def note(self, statement, make):
        """Run a statement, and note the array that it gives or the class of its error."""
        at, random_state = self.nudge
        if random_state is not None and len(self.log) >= at:
            self.nudge = 0, None
            with self.mx.autograd.pause():
                self.nudge_arrays(random_state)
        found, outcome = outcome_of(make)
        self.log.append((statement, outcome))
        return None if outcome_at(self.answers, len(self.log) - 1).startswith("error") else found

    def nudge_arrays(self, random_state):
        """Give all arrays other last bits."""
        for name in sorted(self.arrays):
            nudge(self.arrays[name], random_state)

    def keep(self, statement, make, may_share=False):
        """Run a statement that makes an array, and give it a name."""
        name = f"v{self.made}"
        self.made += 1
        found = self.note(f"{name} = {statement}", make)
        if may_share:
            self.views.add(name)
        if found is not None:
            self.arrays[name] = found

    def pick(self, test=None):
        """The name of an array."""
        usable = [n for n in sorted(self.arrays) if not (self.recording and n in self.views)]
        names = [n for n in usable if test is None or test(self.arrays[n])]
        return self.rng.choice(names) if names else None

    def new(self):
        shape = self.rng.choice([(3,), (2, 3), (4, 3), (1, 3), (2, 3, 4), (4, 1), (1,), LARGE if self.rng.random() < 0.4 else (5, 2)])
        seed = self.rng.randint(0, 999)
        values = np.random.RandomState(seed).randint(-8, 9, shape).astype("float32") / 4
        self.keep(f"array(seed {seed}, {shape})", lambda: self.mx.nd.array(values))

    def step(self):
        """One statement."""
        if not self.arrays:
            return self.new()
        kinds = [self.new, self.unary, self.unary, self.binary, self.binary, self.scalar, self.view, self.view, self.write, self.write]
        kinds += [self.in_place, self.in_place, self.out, self.cast, self.reduce, self.shapes, self.record, self.record, self.attach]
        kinds += [self.look, self.drop, self.several, self.pick_rows, self.second_order, self.copies]
        return self.rng.choice(kinds)()

    def unary(self):
        a, f = self.pick(), self.rng.choice(UNARY)
        self.keep(f"nd.{f}({a})", lambda: getattr(self.mx.nd, f)(self.arrays[a]))

    def partner(self, a):
        shape = self.arrays[a].shape
        return self.rng.choice([self.pick(lambda b: size_together(shape, b.shape) <= MOST), self.pick(lambda b: b.shape == shape), a])

    def computed(self, a, f, b):
        x, y = self.arrays[a], self.arrays[b]
        if f == "+":
            return x + y
        if f == "-":
            return x - y
        if f == "*":
            return x * y
        if f == "/":
            return x / (y * y + 1)
        if f == ">":
            return x > y
        return x <= y if f == "<=" else x == y

    def binary(self):
        a, f = self.pick(), self.rng.choice(BINARY[:4] if self.recording else BINARY)
        b = self.partner(a)
        self.keep(f"{a} {f} {b}", lambda: self.computed(a, f, b))

    def scalar(self):
        a, c, f = self.pick(), self.rng.choice([2, 0.5, -1.5, 3, 0]), self.rng.choice(["+", "*", "r-", "maximum", "**2", "%"])
        nd = self.mx.nd
        formulas = {
            "+": lambda x: x + c,
            "*": lambda x: c * x,
            "r-": lambda x: c - x,
            "maximum": lambda x: nd.maximum(x, c),
            "**2": lambda x: x**2,
            "%": lambda x: x % 3,
        }
        self.keep(f"{a} {f} {c}", lambda: formulas[f](self.arrays[a]))

    def index(self, shape):
        """An index of basic kinds."""
        parts = []
        for n in shape[: self.rng.randint(1, max(1, len(shape)))]:
            kind = self.rng.randint(0, 4)
            k = self.rng.randint(0, n - 1) if n else 0
            choices = [k, slice(None), slice(k, None), slice(k, min(n, k + 2)), slice(None, None, 2)]
            parts.append(choices[kind])
        return tuple(parts) if len(parts) != 1 or self.rng.random() < 0.3 else parts[0]

    def view(self):
        a = self.pick(lambda x: len(x.shape) > 0)
        if a is None:
            return
        if self.rng.random() < 0.6:
            index = self.index(self.arrays[a].shape)
            self.keep(f"{a}[{index!r}]", lambda: self.arrays[a][index], may_share=True)
        else:
            shape = self.rng.choice([(-1,), (-1, 1), (0, -1), (1, -1)])
            self.keep(f"{a}.reshape({shape})", lambda: self.arrays[a].reshape(shape), may_share=True)

    def written(self, a):
        """Note an array after a statement that wrote it, and the others, which may share its memory."""
        for name in sorted(self.arrays):
            if name != a and self.rng.random() < 0.3:
                self.note(f"  then {name}", lambda name=name: self.arrays[name])

    def write(self):
        a = self.pick(lambda x: len(x.shape) > 0)
        if a is None:
            return
        index = self.index(self.arrays[a].shape)
        b = self.pick()
        value = self.rng.choice([0.25, 2, b, "own"])

        def assign():
            x = self.arrays[a]
            given = x[index] * 2 if value == "own" else self.arrays[value] if isinstance(value, str) else value
            x[index] = given
            return x

        self.note(f"{a}[{index!r}] = {value}", assign)
        self.written(a)

    def in_place(self):
        a, f = self.pick(), self.rng.choice(["+=", "-=", "*=", "/=", "[:] ="])
        b = self.partner(a)
        other = self.rng.choice([b, 0.5])

        def update():
            x = self.arrays[a]
            y = self.arrays[other] if isinstance(other, str) else other
            if f == "+=":
                x += y
            elif f == "-=":
                x -= y
            elif f == "*=":
                x *= y
            elif f == "/=":
                x /= 4 if isinstance(other, str) else y
            else:
                x[:] = y
            self.arrays[a] = x
            return x

        self.note(f"{a} {f} {other}", update)
        self.written(a)

    def out(self):
        a = self.pick()
        shape, dtype = self.arrays[a].shape, self.arrays[a].dtype
        b = self.pick(lambda x: x.shape == shape and x.dtype == dtype)
        c = self.pick(lambda x: x.shape == shape and x.dtype == dtype)
        f = self.rng.choice(["broadcast_add", "broadcast_mul", "exp", "sigmoid"])

        def compute():
            function = getattr(self.mx.nd, f)
            given = [self.arrays[a], self.arrays[b]] if f.startswith("broadcast") else [self.arrays[a]]
            function(*given, out=self.arrays[c])
            return self.arrays[c]

        self.note(f"nd.{f}({a}, {b}, out={c})", compute)
        self.written(c)

    def cast(self):
        a, dtype = self.pick(), self.rng.choice(["float64", "float16", "int32"])
        self.keep(f"{a}.astype({dtype})", lambda: self.arrays[a].astype(dtype))

    def reduce(self):
        a, f = self.pick(), self.rng.choice(REDUCTIONS)
        axis, keepdims = self.rng.choice([None, 0, -1]), self.rng.random() < 0.3
        options = {} if axis is None else {"axis": axis, "keepdims": keepdims}
        self.keep(f"nd.{f}({a}, {options})", lambda: getattr(self.mx.nd, f)(self.arrays[a], **options))

    def shapes(self):
        a, f = (
            self.pick(),
            self.rng.choice(["T", "flatten", "expand_dims", "squeeze", "tile", "flip", "repeat", "broadcast_like", "slice_axis"]),
        )
        calls = {
            "T": lambda x: x.T,
            "flatten": lambda x: x.flatten(),
            "expand_dims": lambda x: x.expand_dims(0),
            "squeeze": lambda x: x.squeeze(),
            "tile": lambda x: x.tile((2,)) if x.size < 99 else x.copy(),
            "flip": lambda x: x.flip(axis=0),
            "repeat": lambda x: x.repeat(2, axis=0) if x.size < 99 else x.copy(),
            "broadcast_like": lambda x: x.broadcast_like(x),
            "slice_axis": lambda x: x.slice_axis(axis=0, begin=0, end=1),
        }
        self.keep(f"{a}.{f}", lambda: calls[f](self.arrays[a]), may_share=True)

    def several(self):
        a = self.pick()
        shape = self.arrays[a].shape
        has_product = len(shape) == 2 and shape[0] <= 1000
        b = self.pick(lambda x: x.shape == shape)
        f = self.rng.choice(["concat", "stack", "where", "dot", "add_n", "split"])
        nd = self.mx.nd
        calls = {
            "concat": lambda x, y: nd.concat(x, y, dim=0),
            "stack": lambda x, y: nd.stack(x, y),
            "where": lambda x, y: nd.where(x > 0, x, y),
            "dot": lambda x, y: nd.dot(x.astype("float32"), y.astype("float32"), transpose_b=True) if has_product else x + y,
            "add_n": lambda x, y: nd.add_n(x, y, x),
            "split": lambda x, y: nd.split(x, num_outputs=x.shape[0] if x.shape[0] < 9 else 2, axis=0)[0],
        }
        self.keep(f"nd.{f}({a}, {b})", lambda: calls[f](self.arrays[a], self.arrays[b]))

    def pick_rows(self):
        a, f, rows = self.pick(), self.rng.choice(["take", "index", "topk", "sort", "one_hot"]), [0, self.rng.randint(0, 1)]
        nd = self.mx.nd
        calls = {
            "take": lambda x: nd.take(x, nd.array(rows)),
            "index": lambda x: x[nd.array(rows, dtype="int32")],
            "topk": lambda x: nd.topk(x.astype("float32"), k=1, ret_typ="value"),
            "sort": lambda x: nd.sort(x.astype("float32"), axis=-1),
            "one_hot": lambda x: nd.one_hot(nd.array(rows), 3),
        }
        self.keep(f"{f} of {a}, {rows}", lambda: calls[f](self.arrays[a]))

    def attach(self):
        a, req = self.pick(), self.rng.choice(["write", "add", "write", "null"])

        def attach():
            self.arrays[a].attach_grad(grad_req=req)
            self.unasked.discard(a)
            if req == "null":
                self.unasked.add(a)
            if a not in self.leaves:
                self.leaves.append(a)
            return self.arrays[a]

        self.note(f"{a}.attach_grad({req})", attach)

    def steps_to_record(self):
        """What a program records: no writes, most of which MXNet refuses."""
        return [self.unary, self.binary, self.scalar, self.view, self.reduce, self.shapes, self.several, self.detach]

    def record(self):
        """Record some statements, and call backward."""
        leaves = [n for n in self.leaves if n in self.arrays and n not in self.views]
        if not leaves:
            return self.attach()
        autograd, x, first = self.mx.autograd, self.rng.choice(leaves), self.made
        train = self.rng.random() < 0.7
        self.log.append((f"record({train})", ""))
        self.recording, self.train = True, train
        with autograd.record(train_mode=train):
            self.keep(f"{x} * 2", lambda: self.arrays[x] * 2)
            for _ in range(self.rng.randint(1, 5)):
                if self.rng.random() < 0.15:
                    self.log.append(("pause", ""))
                    with autograd.pause():
                        self.rng.choice([self.unary, self.binary, self.reduce])()
                else:
                    self.rng.choice(self.steps_to_record())()
            head = self.head_of([f"v{k}" for k in range(first, self.made) if f"v{k}" in self.arrays]) or x
        self.recording = False
        again = self.rng.random() < 0.2

        def backward():
            self.arrays[head].backward(retain_graph=again)
            return self.arrays[head]

        self.note(f"{head}.backward()", backward)
        if again:
            self.note(f"{head}.backward() again", backward)
        for n in leaves:
            if n not in self.unasked:
                self.note(f"{n}.grad", lambda n=n: self.arrays[n].grad)
        return None

    def head_of(self, made):
        """The name of one of the arrays that were recorded; None if there are none."""
        return self.rng.choice(made) if made else None

    def detach(self):
        a = self.pick()
        self.keep(f"{a}.detach()", lambda: self.arrays[a].detach(), may_share=True)

    def second_order(self):
        a = self.pick(lambda x: x.dtype == np.float32 and x.size < 99)
        if a is None:
            return
        f = self.rng.choice(["sin", "exp", "sigmoid", "square", "tanh"])
        autograd, nd = self.mx.autograd, self.mx.nd

        def compute():
            x = nd.softsign(self.arrays[a])  # large numbers make rounding errors large
            x.attach_grad()
            with autograd.record():
                (g,) = autograd.grad(getattr(nd, f)(x), [x], create_graph=True, retain_graph=True)
                z = nd.square(g)
            z.backward()
            return x.grad

        self.keep(f"second({f}, {a})", compute)

    def copies(self):
        a = self.pick()
        shape, dtype = self.arrays[a].shape, self.arrays[a].dtype
        b = self.pick(lambda x: x.shape == shape and x.dtype == dtype)
        if self.rng.random() < 0.5 or self.views.intersection([a, b]):
            self.keep(f"{a}.copy()", lambda: self.arrays[a].copy())
        else:
            self.note(f"{a}.copyto({b})", lambda: self.arrays[a].copyto(self.arrays[b]))
            self.written(b)

    def look(self):
        a = self.pick()
        kind = self.rng.choice(["len", "bool", "stype", "sum"])
        calls = {
            "len": len,
            "bool": bool,
            "stype": lambda x: x.stype,
            "sum": lambda x: float(x.asnumpy().sum()),
        }
        self.note(f"{kind} of {a}", lambda: calls[kind](self.arrays[a]))

    def drop(self):
        a = self.pick()
        if len(self.arrays) > 3 and a not in self.leaves:
            self.log.append((f"del {a}", ""))
            del self.arrays[a]


def nudge(array, random_state):
    """Give an array other last bits, as other orders of its operations would give them; what is not of floats is kept."""
    if array.stype == "default" and "float" in str(array.dtype) and array.size:
        values = array.asnumpy()
        last = random_state.randint(-4, 5, values.shape) * np.finfo(values.dtype).eps
        array[:] = (values * (1 + last)).astype(values.dtype)


def size_together(shape, other):
    """How many elements two arrays have at most when they are broadcast."""
    size = 1
    for k in range(1, max(len(shape), len(other)) + 1):
        size *= max(shape[-k] if k <= len(shape) else 1, other[-k] if k <= len(other) else 1)
    return size
