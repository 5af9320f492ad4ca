"""Private functions of modules, called as libraries call them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from tests.oracle_programs import fails


def _outputs(symbols: Any) -> Any:
    """Symbols by the names of their outputs."""
    return [_outputs(part) for part in symbols] if isinstance(symbols, (list, tuple)) else symbols.list_outputs()


def rows_of_an_iterator(mx: Any) -> Any:
    rows, labels = np.arange(12, dtype="float32").reshape(6, 2), np.arange(6.0)
    data = mx.io.NDArrayIter(rows, labels, 4)
    found = [data._getdata(data.data, 1, 3), data._getdata(data.data, start=4), data._getdata(data.label, end=2)]
    found += [data._concat([mx.nd.ones((1, 2))], [mx.nd.zeros((2, 2))]), data._concat([], []), data._tile([mx.nd.ones((1, 2))], 2)]
    failures = [fails(lambda: data._getdata(data.data))]
    for _ in range(2):
        data.iter_next()
        found.append(data._batchify(data.data) + data._batchify(data.label))
    data.iter_next()
    failures.append(fails(lambda: data._batchify(data.data)))
    cut = mx.io.NDArrayIter(rows, labels, 4, last_batch_handle="discard")
    cut.iter_next()
    cut.iter_next()
    found.append(cut._batchify(cut.data))
    rolled = mx.io.NDArrayIter(rows, labels, 4, last_batch_handle="roll_over")
    list(rolled)
    rolled.reset()
    found += [rolled._cache_data, rolled._cache_label]
    rolled.iter_next()
    return found, failures, rolled._batchify(rolled.data), data._cache_data


def an_iterator_that_shuffles_itself(mx: Any) -> Any:
    class Reversed(mx.io.NDArrayIter):
        def _shuffle_data(self) -> None:
            self.data = [(name, array[::-1]) for name, array in self.data]
            self.label = [(name, array[::-1]) for name, array in self.label]

    class Doubled(mx.io.NDArrayIter):
        def _getdata(self, data_source: Any, start: Any = None, end: Any = None) -> Any:
            return [array * 2 for array in super()._getdata(data_source, start, end)]

    found = []
    for kind, options in ((Reversed, {"shuffle": True}), (Doubled, {}), (Doubled, {"last_batch_handle": "discard"})):
        data = kind(np.arange(5), np.arange(5), 2, **options)
        found.append([[batch.data[0], batch.label[0], batch.pad] for batch in data])
    return found


def batches_on_devices(mx: Any) -> Any:
    groups, manager = mx.module.executor_group, mx.executor_manager
    batch = mx.io.DataBatch([mx.nd.arange(8).reshape((4, 2))], [mx.nd.arange(4)])

    def targets(*shape: int) -> Any:
        return [[(slice(0, 2), mx.nd.zeros(shape)), (slice(2, 4), mx.nd.zeros(shape))]]

    def arrays(places: Any) -> Any:
        return [array for _, array in places[0]]

    found = []
    for load, shape, axes in (
        (groups._load_data, (2, 2), ([0],)),
        (groups._load_label, (2,), ([0],)),
        (manager._load_data, (2, 2), ()),
        (manager._load_label, (2,), ()),
    ):
        places = targets(*shape)
        load(batch, places, *axes)
        found.append(arrays(places))
    for source, axis in ((mx.nd.arange(8).reshape((2, 4)), 1), (mx.nd.ones((2, 2)), -1)):
        places = targets(2, 2)
        groups._load_general([source], places, [axis])
        found.append(arrays(places))
    whole = mx.nd.zeros((2, 2))
    groups._load_general([mx.nd.ones((2, 2))], [whole], [0])
    parts = [[mx.nd.ones((2, 2)), mx.nd.zeros((2, 2))]]
    merged = [groups._merge_multi_context(parts, [axis]) for axis in (0, 1, -1)]
    contexts = [groups._prepare_group2ctxs(given, 2) for given in (None, {"a": mx.cpu(0)}, [{"a": mx.cpu(0)}, {"a": mx.cpu(1)}])]
    places = [[None if each is None else {name: str(device) for name, device in each.items()} for each in one] for one in contexts]
    return found, whole, merged, places


def _network(mx: Any) -> Any:
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(fc, name="softmax")


def groups_that_bind_in_their_own_way(mx: Any) -> Any:
    describe = mx.io.DataDesc

    class Uneven(mx.module.executor_group.DataParallelExecutorGroup):
        def decide_slices(self, data_shapes: Any) -> Any:
            axes = super().decide_slices(data_shapes)
            self.slices = [slice(0, 1), slice(1, self.batch_size)]
            return axes

        def _bind_ith_exec(self, i: int, data_shapes: Any, label_shapes: Any, shared_group: Any) -> Any:
            seen.append([i, [[x.name, list(x.shape)] for x in data_shapes], [[x.name, list(x.shape)] for x in label_shapes]])
            return super()._bind_ith_exec(i, data_shapes, label_shapes, shared_group)

        def _collect_arrays(self) -> None:
            seen.append("arrays")
            super()._collect_arrays()

    seen: list[Any] = []
    inputs = [describe("data", (4, 2))], [describe("softmax_label", (4,))]
    devices, params = [mx.cpu(0), mx.cpu(1)], ["fc_weight", "fc_bias"]
    group = Uneven(_network(mx), devices, [1, 1], *inputs, params, True, False, None)
    sliced = group._sliced_shape([describe("data", (3, 8, 2), layout="TNC")], 1, [1])
    group.set_params({"fc_weight": mx.nd.ones((3, 2)), "fc_bias": mx.nd.ones(3)}, {})
    group.forward(mx.io.DataBatch([mx.nd.arange(8).reshape((4, 2))], [mx.nd.zeros(4)]))
    return seen, [[x.name, list(x.shape)] for x in sliced], [[a.shape for a in row] for row in group.param_arrays], group.get_outputs()


def modules_that_note_what_they_do(mx: Any) -> Any:
    notes: list[str] = []

    class Noted(mx.mod.Module):
        def _reset_bind(self) -> None:
            notes.append("reset")
            super()._reset_bind()

        def _sync_params_from_devices(self) -> None:
            notes.append("sync")
            super()._sync_params_from_devices()

    module = Noted(_network(mx))
    shapes = [("data", (4, 2))], [("softmax_label", (4,))]
    module.bind(*shapes)
    module.init_params(mx.init.One())
    module.init_optimizer()
    notes.clear()
    dirty = [module._params_dirty]
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 2))], [mx.nd.zeros(4)]))
    module.update()
    dirty.append(module._params_dirty)
    module.get_params()
    dirty.append(module._params_dirty)
    after = list(notes)
    notes.clear()
    module.bind(*shapes, force_rebind=True)
    return dirty, after, "reset" in notes, module.binded


def symbols_of_buckets(mx: Any) -> Any:
    class Named(mx.mod.BucketingModule):
        def _call_sym_gen(self, *args: Any, **kwargs: Any) -> Any:
            keys.append(args[0])
            return super()._call_sym_gen(*args, **kwargs)

    keys: list[Any] = []
    shapes = [("data", (4, 2))], [("softmax_label", (4,))]
    module = Named(lambda key: (_network(mx), ("data",), ("softmax_label",)), default_bucket_key=4)
    found = module._call_sym_gen(4)
    module.bind(*shapes)
    module.init_params(mx.init.One())
    module.switch_bucket(3, *shapes)
    module._reset_bind()
    return found[0].list_outputs(), found[1:], sorted(set(keys)), [module.binded, module._curr_module, module._curr_bucket_key]


def datasets_that_read_themselves(mx: Any) -> Any:
    vision, root = mx.gluon.data.vision, os.path.join("/tmp", "mxnet-dataset-of-tests")
    found: list[Any] = []
    note = found.append
    for base in (vision.MNIST, vision.FashionMNIST, vision.CIFAR10, mx.gluon.data.dataset._DownloadedDataset):

        class Own(base):  # type: ignore[misc,valid-type]
            def _get_data(self) -> None:
                note(os.path.isdir(self._root))
                self._data, self._label = mx.nd.arange(6).reshape((3, 2)), np.array([4, 5, 6])

        options = {} if base.__name__ == "_DownloadedDataset" else {"train": False}
        data = Own(root=root, transform=lambda image, label: (image * 2, int(label)), **options)
        found += [len(data), data[1], data._transform is not None, getattr(data, "_train", None)]
    for base, width in ((vision.CIFAR10, 3073), (vision.CIFAR100, 3074)):

        class Batches(base):  # type: ignore[misc,valid-type]
            width = 0

            def _get_data(self) -> None:
                file = os.path.join(self._root, "rows")
                (np.arange(2 * self.width) % 7).astype("uint8").tofile(file)
                self._data, self._label = self._read_batch(file)

        Batches.width = width
        batches = Batches(root=root)
        found += [list(batches._data.shape), batches._data.sum(), batches._label, batches._data.dtype.name, batches._label.dtype.name]
    return found


def images_that_a_subclass_lists(mx: Any) -> Any:
    class Listed(mx.gluon.data.vision.ImageFolderDataset):
        def _list_images(self, root: Any) -> None:
            self.synsets, self.items = ["a"], [("x.jpg", 0), ("y.jpg", 0)]

    data = Listed("/tmp")
    return len(data), data.synsets, data.items


def indices_of_sparse_arrays(mx: Any) -> Any:
    csr = mx.nd.sparse.csr_matrix(np.array([[0.0, 1.0], [2.0, 0.0]]))
    rows = mx.nd.sparse.row_sparse_array(np.array([[0.0, 1.0], [0.0, 0.0], [3.0, 4.0]]))
    kinds = [np.dtype(kind).name for kind in (csr._aux_type(0), csr._aux_type(1), rows._aux_type(0))]
    return csr._aux_data(0), csr._aux_data(1), rows._aux_data(0), kinds, csr._data(), rows._data(), fails(lambda: csr._aux_data(2))


def states_and_sequences_of_symbolic_cells(mx: Any) -> Any:
    cells = import_module(f"{mx.__name__}.rnn.rnn_cell")
    x = mx.sym.var("x")
    forms = [(x, "NTC", False), (x, "NTC", True), (x, "TNC", None), ([x, x], "NTC", True), ([x, x], "TNC", None), ([x, x], "NTC", False)]
    sequences = [cells._normalize_sequence(2, *form) for form in forms]
    stack = [mx.rnn.LSTMCell(2, prefix="a_"), mx.rnn.GRUCell(3, prefix="b_")]
    return (
        [[_outputs(found), axis] for found, axis in sequences],
        fails(lambda: cells._normalize_sequence(3, [x, x], "NTC", False)),
        _outputs(cells._cells_begin_state(stack)),
        cells._cells_state_info(stack),
        cells._cells_state_shape(stack),
    )


def states_and_sequences_of_gluon_cells(mx: Any) -> Any:
    cells = import_module(f"{mx.__name__}.gluon.rnn.rnn_cell")
    stack = [mx.gluon.rnn.LSTMCell(2, prefix="a_"), mx.gluon.rnn.GRUCell(3, prefix="b_")]
    steps, lengths = [mx.nd.ones((2, 1)) * k for k in range(3)], mx.nd.array([2, 3])
    return (
        cells._cells_begin_state(stack, batch_size=2),
        cells._cells_state_info(stack, 2),
        [cells._get_begin_state(stack[0], mx.nd, given, mx.nd.ones((3, 2)), 3) for given in (None, [1])],
        _outputs(cells._get_begin_state(stack[1], mx.sym, None, [mx.sym.var("x")], 0)),
        cells._mask_sequence_variable_length(mx.nd, mx.nd.ones((2, 3)), 3, mx.nd.array([1, 2]), 1, True),
        cells._mask_sequence_variable_length(mx.nd, steps, 3, mx.nd.array([1, 2]), 0, False),
        cells._reverse_sequences(steps, 3),
        cells._reverse_sequences(steps, 3, lengths),
        cells._as_list(1),
    )


def texts_and_formats(mx: Any) -> Any:
    brief = mx.gluon.utils._brief_print_list
    lists = [brief(list(range(10))), brief(range(3)), brief(["a"] * 9, limit=4), brief(["a"] * 9, limit=5)]
    registries = mx.registry._REGISTRY
    mine = type("Mine", (), {})
    mx.registry.get_register_func(mine, "mine")(type("Own", (mine,), {}))
    return lists, mx.recordio._IR_FORMAT, mx.recordio._IR_SIZE, list(registries[mine]), mx.init.Initializer in registries


@contextmanager
def _without_fusion() -> Iterator[None]:
    """While MXNet computes operator by operator."""
    before = os.environ.get("MXNET_SUBGRAPH_BACKEND")
    os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
    try:
        yield
    finally:
        del os.environ["MXNET_SUBGRAPH_BACKEND"]
        if before is not None:
            os.environ["MXNET_SUBGRAPH_BACKEND"] = before


def quantization_step_by_step(mx: Any) -> Any:
    tools = import_module(f"{mx.__name__}.contrib.quantization")
    network = _network(mx)
    params = {"fc_weight": mx.nd.arange(6).reshape((3, 2)) - 2, "fc_bias": mx.nd.array([1, -2, 3])}
    found = []
    for mode in ("full", "smart"):
        given = [{"offline_params": stored, "quantize_mode": mode} for stored in (list(params), None)]
        found += [tools._quantize_symbol(network, mx.cpu(), **each)[0].list_arguments() for each in given]
    excluded = tools._quantize_symbol(network, mx.cpu(), excluded_symbols=["fc"], offline_params=list(params))[0]
    made = tools._quantize_symbol(network, mx.cpu(), offline_params=list(params), quantize_mode="full")[0]
    attributes = tools._calibrate_quantized_sym(made, {"data": (-1.0, 1.0)}).attr_dict()
    limits = [[a["min_calib_range"], a["max_calib_range"]] for a in attributes.values() if "min_calib_range" in a]
    stored = tools._quantize_params(made, params, {})
    return (
        found,
        excluded.list_arguments(),
        limits,
        tools._calibrate_quantized_sym(made, {}) is made,
        {name: stored[name] for name in sorted(stored)},
    )


def values_inside_a_module(mx: Any) -> Any:
    tools = import_module(f"{mx.__name__}.contrib.quantization")

    class Names:
        def __init__(self) -> None:
            self.found: list[str] = []

        def collect(self, name: Any, array: Any) -> None:
            self.found.append(name if isinstance(name, str) else name.decode())

    def data() -> Any:
        return mx.io.NDArrayIter(np.arange(16, dtype="float32").reshape(8, 2), np.zeros(8), 4)

    with _without_fusion():
        module = mx.mod.Module(_network(mx))
        module.bind([("data", (4, 2))], for_training=False)
        module.init_params(mx.init.One())
        every, some = Names(), Names()
        counts = [tools._collect_layer_statistics(module, data(), every), tools._collect_layer_statistics(module, data(), some, 3)]
        ranges = tools._collect_layer_output_min_max(module, data(), "int8", include_layer=["fc_output"])
        histograms, rows = tools._collect_layer_histogram(module, data(), include_layer=["fc_output"])
    return (
        counts,
        len(every.found) == 2 * len(some.found),
        {"fc_output", "softmax_output"} <= set(some.found),
        {name: list(map(float, limits)) for name, limits in ranges[0].items()},
        [ranges[1], rows, list(histograms), int(histograms["fc_output"][0].sum())],
        fails(lambda: tools._collect_layer_statistics(module, [1], some)),
    )


def lists_of_weights_that_optimizers_get(mx: Any) -> Any:
    """An optimizer that takes several weights at once gets tuples; keys are those of the store."""

    class Noted(mx.optimizer.SGD):
        def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            lists = [isinstance(given, tuple) for given in (index, weight, grad)]
            notes.append([list(index) if isinstance(index, tuple) else index, lists, isinstance(state, list)])
            super().update_multi_precision(index, weight, grad, state)

    notes: list[Any] = []
    found = []
    for size in (0, 1, 2):
        for keys in ([0, 1, 2], ["3", "4"], ["a", "b"]):
            optimizer = Noted()
            optimizer.aggregate_num = size
            store = mx.kv.create("local")
            store.set_optimizer(optimizer)
            store.init(keys, [mx.nd.ones(2) for _ in keys])
            store.push(keys, [mx.nd.ones(2) for _ in keys])
            found.append(list(notes))
            notes.clear()
        update = mx.optimizer.get_updater(optimizer)
        update([0, 1, 2], [mx.nd.ones(2) for _ in range(3)], [mx.nd.ones(2) for _ in range(3)])
        found.append(list(notes))
        notes.clear()
    return found


def statistics_of_two_classes(mx: Any) -> Any:
    counts = import_module("mxnet.metric")._BinaryClassificationMetrics()

    def state() -> list[Any]:
        scores = [
            counts.precision,
            counts.recall,
            counts.fscore,
            counts.global_fscore,
            counts.matthewscc(),
            counts.matthewscc(use_global=True),
        ]
        return [sorted(vars(counts).items()), scores, counts.total_examples, counts.global_total_examples]

    found = [state()]
    counts.update_binary_stats(mx.nd.array([0, 1, 1, 0, 1]), mx.nd.array([[0.3, 0.7], [0.2, 0.8], [0.9, 0.1], [0.6, 0.4], [0.1, 0.9]]))
    found.append(state())
    counts.local_reset_stats()
    found.append(state())
    counts.true_positives += 3
    return [*found, state(), fails(lambda: counts.update_binary_stats(mx.nd.array([0, 1, 2]), mx.nd.ones((3, 2))))]


def rows_by_number(mx: Any) -> Any:
    rows = import_module("mxnet.io.io")._getdata_by_idx
    sources = [("a", mx.nd.array([[1, 2], [3, 4], [5, 6]], dtype="float64")), ("b", mx.nd.array([[1, 0], [0, 4], [5, 6]]).tostype("csr"))]
    return [[name, x.stype, x] for name, x in rows(sources, np.array([2, 0]))], rows([], [1])


def draws_of_a_helper(mx: Any) -> Any:
    found = []
    for root in (mx.nd, mx.sym):
        helper = import_module(f"mxnet.{'ndarray' if root is mx.nd else 'symbol'}.random")._random_helper
        make: Any = mx.nd.array if root is mx.nd else lambda numbers: mx.sym.var(f"p{numbers[0]}")
        operators = root._internal._random_uniform, root._internal._sample_uniform
        rest: Any = (None, None, {}) if root is mx.nd else ({},)
        for params in ([2, 2], [make([0, 10]), make([1, 11])], [make([0, 10]), 1], [1, make([0, 10])], [0, "a"]):
            try:
                drawn = helper(*operators, params, (3,), "float32", *rest)
                found.append(list(drawn.shape) if root is mx.nd else drawn.list_arguments())
            except AssertionError:
                found.append("refused")
    return found


def contents_of_inputs(mx: Any) -> Any:
    about = import_module("mxnet.gluon.block")._gather_type_ctx_info
    x, y = mx.nd.ones((2,)), mx.nd.ones((2,), ctx=mx.cpu(1))
    nested: list[Any] = [x, [y, [x]], [None, 3], (), [mx.sym.var("a"), x], mx.sym.var("b")]
    return [[bool(a), bool(b), sorted(map(str, c)), str(d)] for a, b, c, d in map(about, nested)]


def state_of_executors(mx: Any) -> Any:
    output = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3), name="softmax")
    logger = logging.getLogger("executors")
    found = []
    for groups in (None, {"a": mx.cpu(1)}, {"a": [mx.cpu(1), mx.cpu(2)]}, [{"a": mx.cpu(1)}, {"a": mx.cpu(2)}]):
        module = mx.mod.Module(output, context=[mx.cpu(0), mx.cpu(1)], logger=logger, group2ctxs=groups)
        module.bind([("data", (4, 2))], [("softmax_label", (4,))])
        group = module._exec_group
        shared = [{name: list(x.shape) for name, x in sorted(arrays.items())} for arrays in group.shared_data_arrays]
        found.append([str(module._group2ctxs), str(group.group2ctxs), group.logger is logger, shared, group._default_execs])
    return found


def threads_of_a_loader(mx: Any) -> Any:
    data = mx.gluon.data.ArrayDataset(np.arange(6))
    loader = mx.gluon.data.DataLoader(data, 2, num_workers=2, thread_pool=True)
    pool = loader._worker_pool
    drawn = [pool is loader._worker_pool, type(pool).__name__, pool.map(abs, [-1, -2]), pool.apply_async(abs, (-3,)).get()]
    return (
        drawn,
        list(loader),
        mx.gluon.data.DataLoader(data, 2)._worker_pool,
        import_module("mxnet.optimizer.optimizer")._flatten_list([[1], [2, 3]]),
    )
