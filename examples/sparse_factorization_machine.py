"""A factorization machine on sparse data, in the style of MXNet's example of 2017: csr batches, row-sparse weights, `Module.fit`.

    python -m twofold run examples/sparse_factorization_machine.py

A sample is a user, an item and some tags among 60,000 features; the label says whether the user likes the item. Users and items matter in
combination, so a linear model learns little. A key-value store keeps the weights. Before each batch it sends the rows that
`sparse_row_id_fn` names, those of the batch's features, and the gradients have the same rows.

S. Rendle, Factorization Machines, ICDM 2010.
"""

import logging
import sys

import mxnet as mx
import numpy as np

USERS, ITEMS, FEATURES = 400, 200, 60_000
SAMPLES, BATCH, FACTORS, EPOCHS = 32_768, 256, 8, 6


def samples(seed: int) -> tuple[mx.nd.sparse.CSRNDArray, np.ndarray]:
    """Samples (n, FEATURES) and labels (n,): each sample a user, an item, and from no to three tags, which mean nothing."""
    taste = np.random.RandomState(7)
    of_users, of_items = taste.randn(USERS, 3), taste.randn(ITEMS, 3)
    rng = np.random.RandomState(seed)
    user, item, tags = rng.randint(USERS, size=SAMPLES), rng.randint(ITEMS, size=SAMPLES), rng.randint(4, size=SAMPLES)
    label = ((of_users[user] * of_items[item]).sum(axis=1) + 0.3 * rng.randn(SAMPLES) > 0).astype(np.float32)
    pointers = np.concatenate([[0], np.cumsum(2 + tags)])
    columns = rng.randint(USERS + ITEMS, FEATURES, size=pointers[-1])
    columns[pointers[:-1]], columns[pointers[:-1] + 1] = user, USERS + item
    values = np.ones(len(columns), np.float32)
    return mx.nd.sparse.csr_matrix((values, columns, pointers), shape=(SAMPLES, FEATURES)), label


class CsrBatches(mx.io.DataIter):
    """Batches of a csr matrix that are csr matrices, as those of LibSVMIter are."""

    def __init__(self, data: mx.nd.sparse.CSRNDArray, label: np.ndarray) -> None:
        super().__init__(BATCH)
        self.data, self.label, self.start = data, mx.nd.array(label.reshape(-1, 1)), 0
        self.provide_data = [mx.io.DataDesc("data", (BATCH, FEATURES))]
        self.provide_label = [mx.io.DataDesc("label", (BATCH, 1))]

    def reset(self) -> None:
        """Start again with the first sample."""
        self.start = 0

    def next(self) -> mx.io.DataBatch:
        """The next batch; the last samples that do not fill one are left out."""
        if self.start + BATCH > SAMPLES:
            raise StopIteration
        rows = slice(self.start, self.start + BATCH)
        self.start += BATCH
        return mx.io.DataBatch([self.data[rows]], [self.label[rows]], pad=0)


def factorization_machine(factors: int) -> mx.sym.Symbol:
    """The logistic loss of bias + x·w + ½ Σ ((x·v)² - x²·v²); without factors, of bias + x·w."""
    x, y = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("label")
    w = mx.sym.Variable("w", shape=(FEATURES, 1), stype="row_sparse", init=mx.init.Normal(0.01))
    score = mx.sym.broadcast_add(mx.sym.dot(x, w), mx.sym.Variable("bias", shape=(1,), init=mx.init.Zero()))
    if factors:
        v = mx.sym.Variable("v", shape=(FEATURES, factors), stype="row_sparse", init=mx.init.Normal(0.1))
        squares = mx.sym.dot(mx.sym.square(x), mx.sym._internal._square_sum(v, axis=1, keepdims=True))
        pairs = mx.sym.sum(mx.sym.square(mx.sym.dot(x, v)), axis=1, keepdims=True)
        score = mx.sym.elemwise_add(score, 0.5 * mx.sym.elemwise_sub(pairs, squares))
    return mx.sym.LogisticRegressionOutput(score, y, name="out")


def log_loss(label: np.ndarray, probability: np.ndarray) -> float:
    """The mean logarithmic loss."""
    p = np.clip(probability, 1e-7, 1 - 1e-7)
    return float(-(label * np.log(p) + (1 - label) * np.log(1 - p)).mean())


def accuracy(label: np.ndarray, probability: np.ndarray) -> float:
    """The part of the samples that is classified correctly."""
    return float(((probability > 0.5) == (label > 0.5)).mean())


def trained(factors: int, train: CsrBatches, test: CsrBatches) -> tuple[list[tuple[str, float]], float]:
    """Train a model. Returns its metrics on new samples, and how many rows of a weight a step reads."""
    symbol = factorization_machine(factors)
    module = mx.mod.Module(symbol, data_names=["data"], label_names=["label"])
    rows_read = []

    def rows(batch: mx.io.DataBatch) -> dict[str, mx.nd.NDArray]:
        indices = batch.data[0].indices
        rows_read.append(len(np.unique(indices.asnumpy())))
        return {name: indices for name in ("w", "v") if name in symbol.list_arguments()}

    module.fit(
        train,
        eval_metric=mx.metric.np(log_loss),
        kvstore=mx.kv.create("local"),  # as a store, not as a name: for one device the name makes none
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02},
        num_epoch=EPOCHS,
        sparse_row_id_fn=rows,
    )
    read = float(np.mean(rows_read))
    metrics = mx.metric.CompositeEvalMetric([mx.metric.np(log_loss), mx.metric.np(accuracy)])
    return module.score(test, metrics, sparse_row_id_fn=rows), read


def main() -> None:
    """Train a linear model and a factorization machine, and print their metrics on new samples."""
    if "--log" in sys.argv:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(1)
    train, test = CsrBatches(*samples(0)), CsrBatches(*samples(1))
    for title, factors in (("linear model", 0), (f"factorization machine, {FACTORS} factors", FACTORS)):
        metrics, read = trained(factors, train, test)
        print(f"{title}: {', '.join(f'{name} {value:.3f}' for name, value in metrics)}")
    print(f"rows of a weight read by a step: {read:.0f} of {FEATURES}")


if __name__ == "__main__":
    main()
