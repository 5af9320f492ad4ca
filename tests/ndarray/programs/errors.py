"""The built-in exceptions that a program may catch, by the class that MXNet raises."""


def _raises(actions, kind):
    found = []
    for action in actions:
        try:
            action()
        except kind:
            found.append(True)
        except Exception as error:
            found.append(type(error).__name__)
        else:
            found.append(False)
    return found


def of_schedules(mx):
    schedules = mx.lr_scheduler
    asserted = [
        lambda: schedules.MultiFactorScheduler(3),
        lambda: schedules.MultiFactorScheduler([]),
        lambda: schedules.PolyScheduler(2.5),
        lambda: schedules.CosineScheduler(2.5),
        lambda: schedules.LRScheduler(warmup_steps=2.5),
        lambda: schedules.LRScheduler().get_warmup_lr(1),
    ]
    valued = [
        lambda: schedules.MultiFactorScheduler([5, 3]),
        lambda: schedules.PolyScheduler(0),
        lambda: schedules.FactorScheduler(0),
        lambda: schedules.LRScheduler(warmup_steps=-1),
    ]
    return [
        *_raises(asserted, AssertionError),
        *_raises(valued, ValueError),
        *_raises([lambda: schedules.LRScheduler()(3)], NotImplementedError),
    ]


def of_reshape(mx):
    x = mx.nd.arange(6)
    return _raises([lambda: x.reshape(), lambda: x.reshape(a=1)], AssertionError) + _raises([lambda: x.reshape((3, 2), a=1)], TypeError)


def of_metrics(mx):
    def update(name, label, pred, **options):
        return lambda: mx.metric.create(name, **options).update(label, pred)

    labels, scores = mx.nd.array([0, 1]), mx.nd.array([[0.1, 0.9], [0.2, 0.8]])
    longer, cubes = mx.nd.array([0, 1, 1]), mx.nd.ones((2, 2, 2))
    asserted = [
        update("ce", [longer], [scores]),
        update("perplexity", [longer], [scores], ignore_label=None),
        update("perplexity", [labels], [scores] * 2, ignore_label=None),
        update("top_k_accuracy", [labels], [cubes], top_k=2),
    ]
    valued = [update("acc", [labels], [scores] * 2), update("acc", [longer], [scores]), update("mse", [labels], [scores] * 2)]
    base = [lambda: mx.metric.EvalMetric("x").update([labels], [scores])]
    return [*_raises(asserted, AssertionError), *_raises(valued, ValueError), *_raises(base, NotImplementedError)]


def of_initializers(mx):
    init = mx.init
    asserted = [
        lambda: init.Load({"a": mx.nd.ones((2,))})("a", mx.nd.zeros((3,))),
        lambda: init.Load({"a": mx.nd.ones((2,))})("b", mx.nd.zeros((3,))),
        lambda: init.Load(3),
        lambda: init.Mixed(["a", "b"], [init.One()]),
    ]
    return [*_raises(asserted, AssertionError), *_raises([lambda: init.Initializer()("a_weight", mx.nd.zeros((3,)))], NotImplementedError)]


def of_optimizers(mx):
    def decayed():
        optimizer = mx.optimizer.create("groupadagrad", wd=0.1)
        weight = mx.nd.ones((2, 2))
        optimizer.update(0, weight, weight, optimizer.create_state(0, weight))

    vector = mx.nd.ones(2)
    asserted = [
        decayed,
        lambda: mx.optimizer.create("groupadagrad").create_state(0, vector),
        lambda: mx.optimizer.SGD(param_idx2name=3),
    ]
    return [
        *_raises(asserted, AssertionError),
        *_raises([lambda: mx.optimizer.Optimizer().update(0, vector, vector, None)], NotImplementedError),
    ]


def of_histograms(mx):
    x = mx.nd.arange(6)
    return _raises([lambda: mx.nd.histogram(x, bins=3.0), lambda: mx.nd.histogram(x, bins=[1, 2])], ValueError)


def of_loops(mx):
    one = mx.nd.ones(1)
    asserted = [lambda: mx.nd.contrib.foreach(lambda d, s: (d, s), 3, one), lambda: mx.nd.contrib.foreach(lambda d, s: (d, s), one, 3)]
    return _raises(asserted, AssertionError)


def of_modules(mx):
    symbol = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), name="softmax")
    batch = mx.io.DataBatch([mx.nd.ones((4, 3))], [mx.nd.zeros(4)])

    def ready(for_training=True):
        module = mx.mod.Module(symbol)
        module.bind([("data", (4, 3))], [("softmax_label", (4,))], for_training=for_training)
        module.init_params()
        module.forward(batch)
        return module

    asserted = [
        lambda: ready().get_input_grads(),
        lambda: ready(for_training=False).backward(),
        lambda: ready().get_states(),
        lambda: ready().set_states(),
        lambda: mx.mod.Module(symbol, context=[mx.cpu(0)], work_load_list=[1, 2]),
        lambda: mx.mod.SequentialModule().bind([("data", (1, 3))]),
        lambda: mx.mod.SequentialModule().add(mx.mod.Module(symbol), foo=1),
        lambda: mx.mod.PythonLossModule(grad_func=3),
        lambda: mx.mod.PythonLossModule(data_names=["a", "b"]),
    ]
    return _raises(asserted, AssertionError)


def of_stores_iterators_and_others(mx):
    store = mx.kv.create("local")
    store.init(1, mx.nd.ones(2))
    asserted = [
        lambda: store.init([2, 3], [mx.nd.ones(2)]),
        lambda: store.pull(1),
        lambda: store.save_optimizer_states("nowhere"),
        lambda: mx.io.DataBatch(3),
        lambda: mx.io.DataBatch([mx.nd.ones(2)], 3),
        lambda: mx.io.PrefetchingIter([]),
        lambda: list(mx.io.PrefetchingIter([mx.io.NDArrayIter(mx.nd.ones((n, 3)), batch_size=2) for n in (4, 3)])),
        lambda: mx.gluon.utils.download("file:///nowhere", path="nowhere", retries=-1),
        lambda: mx.image.ImageIter(1, (3, 2, 2)),
        lambda: mx.profiler.dumps(format="other"),
    ]
    undefined = [lambda: mx.autograd.Function()(mx.nd.ones(2))]
    return [*_raises(asserted, AssertionError), *_raises(undefined, NotImplementedError)]


def of_keywords_that_functions_lack(mx):
    """A name, and attributes in underscores, have no effect on arrays; MXNet's operators refuse the rest."""
    nd, random, array = mx.nd, mx.nd.random, mx.nd.ones((2,)) / 2
    made = {
        "zeros": lambda **keyword: nd.zeros((2,), **keyword),
        "ones": lambda **keyword: nd.ones((2,), **keyword),
        "eye": lambda **keyword: nd.eye(2, **keyword),
        "sparse": lambda **keyword: nd.sparse.zeros("csr", (2, 2), **keyword),
        "operator": lambda **keyword: nd.random_uniform(0, 1, (2,), **keyword),
        "uniform": lambda **keyword: random.uniform(0, 1, (2,), **keyword),
        "normal": lambda **keyword: random.normal(array, array, **keyword),
        "randn": lambda **keyword: random.randn(2, **keyword),
        "poisson": lambda **keyword: random.poisson(1, (2,), **keyword),
        "exponential": lambda **keyword: random.exponential(1, (2,), **keyword),
        "gamma": lambda **keyword: random.gamma(1, 1, (2,), **keyword),
        "negative_binomial": lambda **keyword: random.negative_binomial(1, 0.5, (2,), **keyword),
        "generalized_negative_binomial": lambda **keyword: random.generalized_negative_binomial(1, 1, (2,), **keyword),
        "randint": lambda **keyword: random.randint(0, 3, (2,), **keyword),
        "multinomial": lambda **keyword: random.multinomial(array, **keyword),
        "symbol": lambda **keyword: mx.sym.zeros((2,), out=None, **keyword),
        "drawn": lambda **keyword: mx.sym.random.uniform(0, 1, (2,), out=None, **keyword),
    }
    keywords = [{"name": "own"}, {"__layout__": "TNC"}, {"size": 3}, {"unheard": 1}]
    return {name: _raises([lambda f=f, k=k: f(**k) for k in keywords], mx.base.MXNetError) for name, f in made.items()}


def of_outputs_of_functions(mx):
    out = mx.nd.ones((2, 2))
    same = [f(out=out) is out for f in (lambda **out: mx.nd.eye(2, **out), lambda **out: mx.nd.zeros((2, 2), **out))]
    return same, mx.nd.eye(2, out=mx.nd.zeros((2, 2)))
