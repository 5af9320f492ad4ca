"""Random programs of `mx.nd` with what programs have besides calls.

That is: operators of their own, control flow, sparse arrays, writes and pauses while recording, and derivatives of derivatives.
"""

import numpy as np

from .own_operators import FUNCTIONS, register
from .programs import Program, nudge

#: Around the size from which on operations wait (65,536 elements), and far from it.
LARGE = [(255, 257), (256, 256), (257, 256), (300, 300), (65536,), (65535,), (2, 32768)]
STEPS_OF_LOOPS = ["s + d", "s * 0.5 + d", "d * 2, s", "tanh(s + d)", "s + d * c", "d - c"]
SPARSE_UNARY = ["square", "abs", "sign", "negative", "sqrt", "relu", "tanh", "zeros_like", "rint"]


class WideProgram(Program):
    """One random program of wider means than `Program` has."""

    def __init__(self, mx, seed, answers=()):
        super().__init__(mx, seed, answers)
        register(mx)
        self.sparse = {}
        self.waiting = []

    def new(self):
        if self.rng.random() < 0.15:
            shape = self.rng.choice(LARGE)
            seed = self.rng.randint(0, 999)
            values = np.random.RandomState(seed).randint(-8, 9, shape).astype("float32") / 4
            return self.keep(f"array(seed {seed}, {shape})", lambda: self.mx.nd.array(values))
        return super().new()

    def step(self):
        if not self.arrays:
            return self.new()
        if self.rng.random() < 0.45:
            return super().step()
        kinds = [self.custom, self.loop, self.while_loop, self.cond, self.to_sparse, self.of_sparse, self.of_sparse, self.of_sparse]
        kinds += [self.record, self.record, self.record, self.grad_of, self.layer, self.duplicate, self.function, self.derivatives]
        kinds += [self.later, self.mode]
        return self.rng.choice(kinds)()

    def steps_to_record(self):
        return [
            *super().steps_to_record(),
            *[self.custom, self.loop, self.while_loop, self.cond, self.fresh_write, self.fresh_write, self.function, self.layer],
            *[self.paused_write, self.nested, self.mode, self.any_write],
        ]

    def small(self, axes=1, dtype=np.float32):
        """The name of an array of floats with so many axes or more; None if there is none."""
        return self.pick(lambda x: len(x.shape) >= axes and x.dtype == dtype and x.size)

    # -- operators of the program's own

    def custom(self):
        a, kind = self.small(), self.rng.choice(["square", "two", "counting"])
        if a is None:
            return
        nd = self.mx.nd

        def call():
            x = self.arrays[a]
            if kind == "square":
                return nd.Custom(x, op_type="whole_square")
            if kind == "two":
                s, p = nd.Custom(x, x * 0.5, op_type="whole_two")
                return s + p
            count = nd.zeros((1,))
            return nd.Custom(x, count, op_type="whole_counting") + count.sum()

        self.keep(f"Custom {kind} of {a}", call)

    def function(self):
        a = self.small()
        if a is not None:
            self.keep(f"Function of {a}", lambda: FUNCTIONS[id(self.mx)]()(self.arrays[a]))

    def layer(self):
        a, kind = self.small(2), self.rng.choice(["FullyConnected", "LayerNorm", "BatchNorm", "softmax", "Embedding", "Dropout", "pick"])
        if a is None:
            return
        nd, width = self.mx.nd, self.arrays[a].shape[-1]
        weight = np.random.RandomState(width).randint(-4, 5, (3, width if width < 999 else 1)).astype("float32") / 8
        calls = {
            "FullyConnected": lambda x: nd.FullyConnected(x, nd.array(weight), num_hidden=3, no_bias=True, flatten=False),
            "LayerNorm": lambda x: self.layer_norm(x),
            "BatchNorm": lambda x: self.batch_norm(x),
            "softmax": lambda x: nd.softmax(x, axis=-1),
            "Embedding": lambda x: nd.Embedding(nd.array([2, 0, 2]), nd.array(weight), input_dim=3, output_dim=weight.shape[1]),
            "Dropout": lambda x: nd.Dropout(x, p=0),
            "pick": lambda x: nd.pick(x, nd.zeros(x.shape[:-1]), axis=-1),
        }
        self.keep(f"{kind} of {a}", lambda: calls[kind](self.arrays[a]))

    def layer_norm(self, x):
        """A normalization of rows whose means are near 0, see "Layer normalization of large means"."""
        nd, width = self.mx.nd, x.shape[-1]
        return nd.LayerNorm(nd.broadcast_sub(x, nd.mean(x, axis=-1, keepdims=True)), nd.ones((width,)), nd.zeros((width,)))

    def batch_norm(self, x):
        """A normalization whose moving mean counts in the result."""
        nd, n = self.mx.nd, x.shape[1]
        mean, variance = nd.zeros((n,)), nd.ones((n,))
        y = nd.BatchNorm(x, nd.ones((n,)), nd.zeros((n,)), mean, variance, fix_gamma=False, eps=1e-2)
        return y if self.recording else y + mean.sum() + variance.sum()

    # -- control flow

    def loop(self):
        a = self.small(2)
        if a is None:
            return
        kind, nd = self.rng.choice(STEPS_OF_LOOPS), self.mx.nd
        row = self.arrays[a].shape[1:]
        c = self.pick(lambda x: x.shape == row and x.dtype == np.float32) or a

        def call():
            x, captured = self.arrays[a][:4], self.arrays[c] if c != a else nd.ones(row)
            steps = {
                "s + d": lambda d, s: (s + d, s + d),
                "s * 0.5 + d": lambda d, s: (d, s * 0.5 + d),
                "d * 2, s": lambda d, s: (d * 2, s),
                "tanh(s + d)": lambda d, s: (nd.tanh(s + d), nd.tanh(s + d) * d),
                "s + d * c": lambda d, s: (s * d, s + d * captured),
                "d - c": lambda d, s: ([d - captured, d], s - d),
            }
            outputs, state = nd.contrib.foreach(steps[kind], x, nd.ones(row) * 0.5)
            if isinstance(outputs, list):
                outputs = outputs[0] + outputs[1]
            return outputs.sum(axis=0) + state

        self.keep(f"foreach {kind} of {a}, {c}", call)

    def while_loop(self):
        a, limit, most = self.small(), self.rng.randint(1, 4), self.rng.randint(2, 5)
        if a is None:
            return
        nd = self.mx.nd

        def call():
            x = self.arrays[a]
            outputs, (count, state) = nd.contrib.while_loop(
                lambda i, s: i < limit, lambda i, s: (s * 0.5, [i + 1, s * 0.5 + x]), [nd.zeros((1,)), x * 2], max_iterations=most
            )
            first = outputs[0] if isinstance(outputs, list) else outputs
            # what is beyond the iterations is undefined in MXNet
            return state + nd.slice_axis(first, axis=0, begin=0, end=min(limit, most)).sum(axis=0) + count

        self.keep(f"while_loop of {a}, {limit} of {most}", call)

    def cond(self):
        a, b = self.small(), self.small()
        if a is None:
            return
        nd = self.mx.nd

        def call():
            x, y = self.arrays[a], self.arrays[b]
            return nd.contrib.cond(x.sum() > 0.3, lambda: x * 2 + 1, lambda: nd.tanh(x) + y.sum())

        self.keep(f"cond of {a}, {b}", call)

    # -- sparse arrays, which have names of their own

    def hold(self, statement, make):
        """Run a statement that makes an array of any storage type, and give it a name."""
        name = f"s{self.made}"
        self.made += 1
        found = self.note(f"{name} = {statement}", make)
        if found is not None:
            (self.arrays if found.stype == "default" else self.sparse)[name] = found

    def nudge_arrays(self, random_state):
        super().nudge_arrays(random_state)
        for array in self.sparse.values():
            dense = array.tostype("default")
            nudge(dense, random_state)
            array[:] = dense.tostype(array.stype)

    def to_sparse(self):
        a, stype = self.pick(lambda x: len(x.shape) == 2 and x.dtype == np.float32), self.rng.choice(["csr", "row_sparse"])
        if a is None:
            return
        nd = self.mx.nd
        few = self.rng.random() < 0.7

        def call():
            x = self.arrays[a]
            if few:  # some rows without elements
                x = x * (nd.arange(x.shape[0]) % 2).reshape((-1, 1))
            return nd.cast_storage(x, stype=stype)

        self.hold(f"{stype} of {a}, {few}", call)

    def of_sparse(self):
        if not self.sparse:
            return self.to_sparse()
        nd, name = self.mx.nd, self.rng.choice(sorted(self.sparse))
        x = self.sparse[name]
        kind, f = (
            self.rng.choice(["unary", "scalar", "add", "dot", "dense", "sum", "rows", "copy", "assign", "norm"]),
            self.rng.choice(SPARSE_UNARY),
        )
        if kind == "unary":
            return self.hold(f"nd.sparse.{f}({name})", lambda: getattr(nd, f)(x))
        if kind == "scalar":
            c = self.rng.choice([2, -0.5])
            return self.hold(f"{name} * {c}", lambda: x * c)
        if kind == "add":
            other = self.rng.choice([k for k in sorted(self.sparse) if self.sparse[k].shape == x.shape])
            return self.hold(f"sparse {name} + {other}", lambda: x + self.sparse[other])
        if kind == "dot":
            width = x.shape[0] if self.rng.random() < 0.3 else x.shape[1]
            dense = self.pick(lambda d: len(d.shape) == 2 and d.shape[0] == width and d.dtype == np.float32)
            if dense is None:
                return None
            across = width != x.shape[1]
            return self.hold(f"sparse dot({name}, {dense}, {across})", lambda: nd.sparse.dot(x, self.arrays[dense], transpose_a=across))
        if kind == "dense":
            return self.keep(f"{name}.tostype", lambda: x.tostype("default"))
        if kind == "sum":
            axis = self.rng.choice([0, 1]) if x.stype == "csr" else None
            return self.keep(f"sum {axis} of {name}", lambda: nd.sum(x, axis=axis) if axis is not None else nd.sum(x))
        if kind == "rows":
            if x.stype == "csr":
                return self.hold(f"{name}[0:2]", lambda: x[0:2])
            return self.hold(f"retain({name})", lambda: nd.sparse.retain(x, nd.array([0, 1] if x.shape[0] > 1 else [0])))
        if kind == "copy":
            return self.hold(f"{name}.copy", lambda: x.copy())
        if kind == "assign":
            same = [k for k in sorted(self.sparse) if self.sparse[k].shape == x.shape and self.sparse[k].stype == x.stype]
            other = self.rng.choice(same)
            return self.note(f"sparse {name}[:] = {other}", lambda: (x.__setitem__(slice(None), self.sparse[other]), x)[1])
        return self.keep(f"norm of {name}", lambda: nd.norm(x))

    # -- writes and scopes while recording

    def fresh_write(self):
        """A new array that is written before a recorded operation reads it: what MXNet allows."""
        a = self.small()
        if a is None:
            return
        nd, kind = self.mx.nd, self.rng.choice(["[:] = c", "[0] = c", "+= c", "[:] = a", "out", "copyto"])
        shape = self.arrays[a].shape

        def call():
            fresh = nd.ones(shape)
            if kind == "[:] = c":
                fresh[:] = 3
            elif kind == "[0] = c":
                fresh[0] = 0.5
            elif kind == "+= c":
                fresh += 2
                fresh *= nd.ones(shape) * 0.5
            elif kind == "[:] = a":
                fresh[:] = self.arrays[a]
            elif kind == "out":
                nd.broadcast_mul(self.arrays[a], self.arrays[a], out=fresh)
            else:
                self.arrays[a].copyto(fresh)
            return fresh * self.arrays[a]

        self.keep(f"fresh {kind} of {a}", call)

    def head_of(self, made):
        """Mostly a new array, which depends on all that were recorded."""
        if self.rng.random() < 0.3:
            return super().head_of(made)
        floats = [name for name in made if self.arrays[name].dtype == np.float32 and self.arrays[name].shape and self.arrays[name].size]
        if not floats:
            return None
        nd = self.mx.nd
        self.keep(f"total of {floats}", lambda: nd.add_n(*(nd.sum(self.arrays[n]) * (k + 1) for k, n in enumerate(floats))))
        return f"v{self.made - 1}"

    def any_write(self):
        if self.rng.random() < 0.1:
            self.rng.choice([self.write, self.in_place, self.out])()

    def paused_write(self):
        """A pause in which an array that no recorded operation has read is made and written."""
        a = self.small()
        if a is None:
            return

        def call():
            with self.mx.autograd.pause(train_mode=self.train):
                fresh = self.arrays[a] * 2
                fresh[:1] = 1
                fresh += self.arrays[a]
            return fresh * self.arrays[a]

        self.keep(f"paused write of {a}", call)

    def nested(self):
        """Recording inside a pause inside a scope."""
        a, train = self.small(), self.rng.random() < 0.5
        if a is None:
            return
        autograd = self.mx.autograd

        def call():
            with autograd.pause():
                inner = self.arrays[a].copy()
                inner.attach_grad()
                with autograd.record(train_mode=train):
                    y = (inner * inner).sum()
                y.backward()
            return inner.grad * self.arrays[a]

        self.keep(f"nested record({train}) of {a}", call)

    def mode(self):
        kind, autograd = self.rng.choice(["train_mode", "predict_mode", "pause", "record"]), self.mx.autograd

        def call():
            with getattr(autograd, kind)():
                inside = f"{autograd.is_recording()} {autograd.is_training()}"
            return f"{inside} {autograd.is_recording()} {autograd.is_training()}"

        self.note(f"modes in {kind}", call)

    # -- derivatives

    def grad_of(self):
        """`autograd.grad` of some heads by variables that are copies."""
        a, f, g = self.small(), self.rng.choice(["sin", "exp", "square", "sigmoid"]), self.rng.choice(["tanh", "square", "abs"])
        if a is None:
            return
        autograd, nd = self.mx.autograd, self.mx.nd
        weighted = self.rng.random() < 0.5

        def call():
            x = nd.softsign(self.arrays[a])
            y = x * 0.5
            x.attach_grad()
            y.attach_grad(grad_req="add")
            with autograd.record():
                heads = [getattr(nd, f)(x) * y, getattr(nd, g)(y) + x]
            weights = [nd.ones(x.shape) * 2, nd.ones(x.shape)] if weighted else None
            first, second = autograd.grad(heads, [x, y], head_grads=weights)
            return first + second + x.grad + y.grad

        self.keep(f"grad({f}, {g}, {a}, {weighted})", call)

    def derivatives(self):
        """The gradient of a function of a gradient."""
        a = self.pick(lambda x: x.dtype == np.float32 and 0 < x.size < 99)
        f, g, h = (self.rng.choice(["sin", "cos", "exp", "square", "sigmoid", "tanh", "arctan", "relu", "abs"]) for _ in range(3))
        if a is None:
            return
        autograd, nd = self.mx.autograd, self.mx.nd

        def call():
            x = nd.softsign(self.arrays[a])
            x.attach_grad()
            with autograd.record():
                (d,) = autograd.grad(getattr(nd, f)(getattr(nd, g)(x)), [x], create_graph=True, retain_graph=True)
                z = getattr(nd, h)(d)
            z.backward()
            return x.grad

        self.keep(f"derivatives({f}, {g}, {h}, {a})", call)

    def later(self):
        """A graph that is recorded now, and differentiated after other statements."""
        a = self.small()
        if a is None:
            return
        if self.waiting:
            x, heads = self.waiting.pop()
            self.keep("later backward", lambda: (self.mx.autograd.backward(heads), x.grad)[1])
            return
        nd = self.mx.nd
        x = self.arrays[a].copy()
        x.attach_grad(grad_req=self.rng.choice(["write", "add"]))
        with self.mx.autograd.record():
            y = nd.sigmoid(x) * x
            heads = [y.sum(), nd.square(y) * 0.5]
        self.log.append((f"record for later, {a}", ""))
        self.waiting.append((x, heads))

    def duplicate(self):
        a, kind = self.pick(), self.rng.choice(["array", "asnumpy", "as_in_context", "astype", "context", "zeros_like", "like"])
        nd = self.mx.nd
        calls = {
            "array": lambda x: nd.array(x),
            "asnumpy": lambda x: nd.array(x.asnumpy()),
            "as_in_context": lambda x: x.as_in_context(x.context),
            "astype": lambda x: x.astype(x.dtype, copy=False),
            "context": lambda x: x.copyto(self.mx.cpu(0)),
            "zeros_like": lambda x: nd.zeros_like(x) + x,
            "like": lambda x: nd.reshape_like(x, x),
        }
        self.keep(f"{kind} of {a}", lambda: calls[kind](self.arrays[a]), may_share=True)

    def run(self):
        super().run()
        for name in sorted(self.sparse):
            self.note(name, lambda name=name: self.sparse[name])
            self.note(f"{name}.stype", lambda name=name: self.sparse[name].stype)
        return self.log
