"""Mistakes of the first hour, written as users write them: each program with the whole text of its error."""

from __future__ import annotations

from pathlib import Path

import pytest

import twofold as mx
from twofold import autograd, gluon, nd, np, npx
from twofold.gluon import nn

from .table import message_of

NAMES = {"mx": mx, "Path": Path, "autograd": autograd, "gluon": gluon, "nd": nd, "nn": nn, "np": np, "npx": npx}
#: What the programs begin with: a layer that is ready, and a symbol with a loss.
NET = "net = nn.Dense(4, in_units=3)\nnet.initialize()\n"
SOFTMAX = "s = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=3, name='fc'), name='softmax')\n"

MISTAKES = [
    (
        "net = nn.Sequential()\nnet.add(nn.Dense(4))\nnet.initialize()\nprint(net[3])",
        "sequential0: no such layer: given 3 of 1 layers; pass the position of a layer, from 0",
    ),
    (
        NET + "net.save_parameters('x.params')\nn2 = nn.Dense(5, in_units=3)\nn2.load_parameters('x.params')",
        "Failed loading Parameter 'dense1_weight' from saved params: shape incompatible, expected (5, 3): given (4, 3);"
        " load the file of this model",
    ),
    (
        NET + "l = net(nd.ones((2, 3))).sum()\nl.backward()",
        "backward: this array is not part of a recorded graph: given an array not computed from one with attach_grad() inside "
        "autograd.record(); compute it inside record(), from parameters of a block or arrays with attach_grad()",
    ),
    (
        "gluon.loss.L2Loss()(nd.ones((2, 3)), nd.ones((4, 3)))",
        "l2loss0: the labels do not match the predictions: given labels (4, 3) for predictions (2, 3); pass as many labels as predictions",
    ),
    (
        "gluon.data.DataLoader(gluon.data.ArrayDataset(nd.ones((4, 2)), nd.ones(5)), 2)",
        "All arrays must have the same length: array[0] has length 4 while array[1] has 5; truncate the longer one",
    ),
    (
        "list(gluon.data.DataLoader([nd.ones(2), nd.ones(3)], 2))",
        "DataLoader: cannot stack the samples: all input arrays must have the same shape; use samples of equal shape, or "
        "pass a batchify_fn; data and labels are one dataset as ArrayDataset(data, labels)",
    ),
    (
        "gluon.data.vision.transforms.ToTensor()(nd.ones((4, 4)))",
        "totensor0: ToTensor: not an image: given shape (4, 4); pass (h, w, c) or (n, h, w, c): add an axis with expand_dims",
    ),
    (
        "n = gluon.rnn.LSTMCell(4)\nn.initialize()\nn.unroll(5, nd.ones((2, 3, 4)))",
        "unroll: wrong sequence length: given 3 steps for length=5; pass its length",
    ),
    (
        NET + "net.weight.shape = (5, 5)",
        "Expected shape (5, 5) is incompatible with given shape (4, 3): given (5, 5) for Parameter 'dense0_weight'; its shape is (4, 3)",
    ),
    (
        "gluon.utils.split_and_load(nd.ones((3, 2)), [mx.cpu(0), mx.cpu(1)])",
        "data with shape (3, 2) cannot be evenly split into 2 slices along axis 0; use a batch size that's multiple of 2 or set"
        " even_split=False to allow uneven partitioning of data",
    ),
    (
        NET + "gluon.utils.clip_global_norm(net.collect_params(), 1)",
        "clip_global_norm: not a list of arrays: given ParameterDict; pass [x], or the gradients of all parameters: "
        "[p.grad() for p in params.values() if p.grad_req != 'null']",
    ),
    (
        "float(nd.ones(3))",
        "The current array is not a scalar: given shape (3,); index it first, or reduce it, as mean() does",
    ),
    (
        "gluon.utils.clip_global_norm(nd.ones(3), 1)",
        "clip_global_norm: not a list of arrays: given NDArray; pass [x], or the gradients of all parameters: "
        "[p.grad() for p in params.values() if p.grad_req != 'null']",
    ),
    (
        "x = nd.ones(3)\nx.attach_grad(grad_req='wrte')",
        "attach_grad: unknown grad_req: given 'wrte'; use 'write', 'add' or 'null'",
    ),
    (
        "s = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=3)\ns.simple_bind(mx.cpu(), dat=(2, 3))",
        "simple_bind error: there is no argument 'dat': given dat=(2, 3); did you mean 'data'?",
    ),
    (
        "s = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=3)\ns.infer_shape(data=(2, 3, 'a'))",
        "the shape of 'data' holds something else than sizes: given (2, 3, 'a'); pass integers, 0 for an unknown size",
    ),
    (
        "s = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=3, name='fc')\n"
        "e = s.simple_bind(mx.cpu(), data=(2, 3))\n"
        "e.forward(data=nd.ones((4, 3)))",
        "Shape not match! Argument data, need: (2, 3): given (4, 3); reshape the executor",
    ),
    (
        "s = mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=3, name='fc')\n"
        "e = s.simple_bind(mx.cpu(), data=(2, 3))\n"
        "e.forward(x=nd.ones((2, 3)))",
        "Unknown argument x; the arguments are data, fc_weight, fc_bias",
    ),
    (
        "s = mx.sym.var('data') * 2\ns.get_internals()['foo_output']",
        'Cannot find output that matches name "foo_output"; see list_outputs(), or pick one by position',
    ),
    (
        "s = mx.sym.load_json('{}')",
        "symbol: 'nodes' is missing: given keys none",
    ),
    (
        SOFTMAX + "mod = mx.mod.Module(s)\nmod.forward(mx.io.DataBatch([nd.ones((2, 3))]))",
        "Module.forward: the module is not bound; call bind() first",
    ),
    (
        SOFTMAX + "mod = mx.mod.Module(s)\nmod.bind([('data', (2, 3))], [('softmax_label', (2,))])\nmod.init_params()\nmod.update()",
        "Module.update: the module has no optimizer yet; call init_optimizer() first",
    ),
    (
        SOFTMAX + "mod = mx.mod.Module(s)\nmod.fit(nd.ones((4, 3)), num_epoch=1)",
        "fit: train_data must be an iterator over batches: given NDArray; create an NDArrayIter",
    ),
    (
        SOFTMAX + "mod = mx.mod.Module(s)\nit = mx.io.NDArrayIter(nd.ones((4, 3)), nd.zeros(4), 2)\nmod.fit(it)",
        "fit: please specify number of epochs; pass num_epoch",
    ),
    (
        SOFTMAX + "mod = mx.mod.Module(s)\n"
        "it = mx.io.NDArrayIter(nd.ones((4, 3)), nd.zeros(4), 2)\n"
        "mod.fit(it, num_epoch=1, eval_metric='accuracyy')",
        "metric.create: accuracyy is not registered; did you mean 'accuracy' or 'topkaccuracy'?",
    ),
    (
        "mx.io.NDArrayIter(nd.ones((4, 3)), nd.zeros(4), 0)",
        "NDArrayIter: a batch needs rows: given batch_size=0; pass 1 or more",
    ),
    (
        "a = mx.metric.Accuracy()\na.update(nd.ones(3), nd.ones((4, 2)))",
        "metric: Shape of labels 3 does not match shape of predictions 4; pass one label per prediction",
    ),
    (
        "k = mx.kv.create()\nk.push('w', nd.ones(3))",
        "KVStore: key w has not been inited; call init or broadcast with it first",
    ),
    (
        "np.zeros((2, 3)) @ np.zeros((2, 3))",
        "matmul: inner sizes differ: given (2, 3) and (2, 3); make lhs.shape[-1] equal rhs.shape[-2]",
    ),
    (
        "np.concatenate([np.zeros((2, 3)), np.zeros((2, 4))])",
        "concatenate: shapes differ in other axes: given (2, 3), (2, 4); make all axes but 0 equal",
    ),
    (
        "np.zeros(3)[5]",
        "index 5 is out of bounds for axis 0 with size 3",
    ),
    (
        "np.zeros((3, 4))[1, 2, 3]",
        "too many indices (3) for array with 2 dimensions",
    ),
    (
        "np.einsum('ij,jk', np.zeros((2, 3)), np.zeros((2, 3)))",
        "einsum: an index has two sizes: given j: 3 and 2 in ij,jk->ik; make them equal",
    ),
    (
        "np.transpose(np.zeros((2, 3)), (0, 2))",
        "transpose: axis is out of range: given 2 for 2 dimensions; pass one from -2 to 1",
    ),
    (
        "np.split(np.zeros(5), 2)",
        "array split does not result in an equal division: given 5 into 2; use array_split",
    ),
    (
        "np.broadcast_to(np.zeros(3), (2, 4))",
        "broadcast_to: shapes do not broadcast: given (3,), (2, 4); make their trailing sizes equal or 1",
    ),
    (
        "npx.softmax(np.zeros(3), axs=0)",
        "softmax: Cannot find argument: given axs; did you mean 'axis'?",
    ),
    (
        "nd.dot(nd.zeros(3), nd.zeros(4))",
        "dot: lhs and rhs do not match: given lhs (3,), rhs (4,), transpose_a=False, transpose_b=False; make lhs.shape[-1] "
        "equal rhs.shape[0]",
    ),
    (
        "nd.topk(nd.zeros(3), k=9)",
        "topk: k is larger than the size of the axis: given k=9 of size 3; pass at most the size",
    ),
    (
        "nd.pick(nd.zeros((2, 3)), nd.zeros(5))",
        "pick: the index has the wrong shape: given index (5,), data (2, 3), axis -1; pass one of shape (2,)",
    ),
    (
        "nd.zeros(3, ctx='cuda:0')",
        "Context: no such device: given 'cuda:0', 0; write mx.gpu(0)",
    ),
    (
        "nd.zeros(3, ctx=mx.cpu).shape",
        "Context: no such device: given the function cpu; call it: mx.cpu()",
    ),
    (
        "nd.zeros(3).as_in_context('gpu')",
        "copyto: the target is neither an array nor a context: given str; pass an NDArray, or a Context such as mx.cpu() or mx.gpu(0)",
    ),
    (
        "nd.save('d.params', {'a': nd.ones(3).asnumpy()})",
        "save only accept dict str->NDArray or list of NDArray: given types ndarray, str; create arrays with mx.nd.array",
    ),
    (
        "nd.save('d.params', 3)",
        "save: data needs to either be a NDArray, dict of str, NDArray pairs or a list of NDarrays: given int; pass one of these",
    ),
    (
        "mx.recordio.MXRecordIO('no.rec', 'x')",
        "Invalid flag x; use 'r' or 'w'",
    ),
    (
        "Path('a.csv').write_text('1,2\\n3,4\\n')\nit = mx.io.CSVIter(data_csv='a.csv', data_shape=(3,), batch_size=2)\nnext(it)",
        "a.csv: CSVIter: rows of length 2: given shape (3,), which needs 3; pass the shape of a row",
    ),
    (
        "Path('a.csv').write_text('1,x\\n3,4\\n')\nit = mx.io.CSVIter(data_csv='a.csv', data_shape=(2,), batch_size=2)\nnext(it)",
        "a.csv: row 1 is not numbers with commas between: given 1,x; write numbers, and no header",
    ),
    (
        "gluon.data.vision.ImageFolderDataset('nowhere')",
        "ImageFolderDataset: no such folder: given nowhere/; pass the folder of the classes' folders",
    ),
    (
        "mx.profiler.set_config(filenam='x')",
        "set_config: Cannot find argument 'filenam'; did you mean 'filename'?",
    ),
    (
        "mx.viz.print_summary(mx.sym.var('a') * 2, shape={'b': (2,)})",
        "visualization: shape contains unknown arguments: given b; it has a",
    ),
]


@pytest.mark.parametrize(("program", "message"), MISTAKES, ids=[program.splitlines()[-1] for program, _ in MISTAKES])
def test_a_mistake_is_told_in_the_users_terms(program, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message_of(lambda: exec(program, dict(NAMES))) == message
