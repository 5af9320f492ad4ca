"""The ways in which a function runs: what each of them gives is noted, outputs and gradients of two calls.

The ways are: recorded; as a block, also hybridized, with static memory (`alloc`), with static shapes too (`static`), and among other
recorded statements; as an executor of the symbol, and of its JSON; as a `SymbolBlock`.
"""

from .outcomes import outcome_of, seen

WAYS = ["recorded", "recorded among", "block", "hybridized", "alloc", "static", "among", "executor", "json", "symbol block"]


class Ways:
    """The part of a function that runs it."""

    def compute(self, F, inputs):
        """The heads, of arrays or symbols."""
        values = {name: inputs[k] for k, name in enumerate(self.inputs)}
        for name, function in self.statements:
            values[name] = function(F, values)
        return [values[name] for name in self.heads]

    def run_way(self, way):
        """Run the function twice in one way, with other inputs the second time, and note what each call gave."""
        self.told = {}
        _, outcome = outcome_of(lambda: getattr(self, "by_" + way.replace(" ", "_"))() or 0)
        asked = [name for name, request in self.requests.items() if request != "null"]
        for k in range(2):
            for what in [*self.heads, *(f"gradient of {name}" for name in asked)]:
                self.log.append((f"{way} {k} {what}", self.told.get((k, what), outcome)))

    def given(self, k):
        """The inputs of a call."""
        return [self.mx.nd.array(values * (1 if k == 0 else 0.5)) for values in self.inputs.values()]

    def tell(self, k, outputs, gradients):
        """Note what a call gave, and the gradients of the inputs after it."""
        for i, name in enumerate(self.heads):
            self.told[k, name] = seen(outputs[i])
        for i, (name, request) in enumerate(self.requests.items()):
            if request != "null":
                self.told[k, f"gradient of {name}"] = seen(gradients[i])

    def calls(self, function, is_among=False):
        """Call a function of arrays twice, and differentiate it."""
        autograd = self.mx.autograd
        arrays = self.given(0)
        for i, request in enumerate(self.requests.values()):
            if request != "null":
                arrays[i].attach_grad(grad_req=request)
        for k in range(2):
            if k:
                for i, values in enumerate(self.given(1)):
                    arrays[i][:] = values
            with autograd.record(train_mode=self.train):
                inputs = [x * 2 * 0.5 for x in arrays] if is_among else arrays
                outputs = function(inputs)
                heads = [self.mx.nd.softsign(y) if is_among else y for y in outputs]
            autograd.backward(heads, [self.mx.nd.ones(y.shape, dtype=y.dtype) * 0.5 for y in heads])
            self.tell(k, heads, [x.grad for x in arrays])

    def by_recorded(self):
        self.calls(lambda inputs: self.compute(self.mx.nd, inputs))

    def by_recorded_among(self):
        self.calls(lambda inputs: self.compute(self.mx.nd, inputs), is_among=True)

    def by_block(self):
        self.calls(self.called(self.block()))

    def by_hybridized(self):
        block = self.block()
        block.hybridize()
        self.calls(self.called(block))

    def by_alloc(self):
        block = self.block()
        block.hybridize(static_alloc=True)
        self.calls(self.called(block))

    def by_static(self):
        block = self.block()
        block.hybridize(static_alloc=True, static_shape=True)
        self.calls(self.called(block))

    def by_among(self):
        block = self.block()
        block.hybridize()
        self.calls(self.called(block), is_among=True)

    def block(self):
        """The function as a block of one parameter, which multiplies the first head."""
        compute = self.compute

        class Whole(self.mx.gluon.HybridBlock):
            def __init__(self):
                super().__init__()
                with self.name_scope():
                    self.scale = self.params.get("scale", shape=(1,), init="ones")

            def hybrid_forward(self, F, *inputs, scale):
                first, *others = compute(F, inputs)
                first = F.broadcast_mul(F.cast(first, dtype="float32"), scale)
                return [first, *others] if others else first

        block = Whole()
        block.initialize()
        return block

    def called(self, block):
        def call(inputs):
            outputs = block(*inputs)
            return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]

        return call

    def symbol(self):
        sym = self.mx.sym
        return sym.Group(self.compute(sym, [sym.var(name, shape=values.shape) for name, values in self.inputs.items()]))

    def executed(self, symbol):
        nd = self.mx.nd
        names = symbol.list_arguments()
        given = self.given(0)
        arrays = {name: given[k] for k, name in enumerate(self.inputs)}
        gradients = {name: nd.zeros(x.shape) for name, x in arrays.items()}
        executor = symbol.bind(
            self.mx.cpu(),
            {name: arrays[name] for name in names},
            args_grad={name: gradients[name] for name in names},
            grad_req={name: self.requests[name] for name in names},
        )
        for k in range(2):
            if k:
                for i, values in enumerate(self.given(1)):
                    arrays[f"a{i}"][:] = values
            outputs = executor.forward(is_train=True)
            executor.backward([nd.ones(y.shape, dtype=y.dtype) * 0.5 for y in outputs])
            self.tell(k, outputs, [gradients[name] for name in self.inputs])

    def by_executor(self):
        self.executed(self.symbol())

    def by_json(self):
        self.executed(self.mx.sym.load_json(self.symbol().tojson()))

    def by_symbol_block(self):
        symbol = self.symbol()
        names = [name for name in self.inputs if name in symbol.list_arguments()]
        block = self.mx.gluon.SymbolBlock(symbol, [self.mx.sym.var(name) for name in names])
        block.hybridize()
        call = self.called(block)
        self.calls(lambda inputs: call([inputs[k] for k, name in enumerate(self.inputs) if name in names]))
