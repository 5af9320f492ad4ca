"""Linear classification of sparse data, in the style of MXNet's tutorials of 2018: csr batches, a row-sparse weight, row_sparse_pull.

    python -m twofold run examples/sparse_linear_classification.py

Each sample has a few of 100,000 features. A key-value store keeps the weight and runs the optimizer; a step pulls the rows of the features
that its batch has, and pushes a gradient with the same rows, so that its cost does not depend on the number of features.
"""

import mxnet as mx
import numpy as np

FEATURES, SAMPLES, PER_SAMPLE, BATCH, EPOCHS = 100_000, 8_192, 12, 64, 3


def samples(seed: int) -> tuple[mx.nd.sparse.CSRNDArray, mx.nd.NDArray]:
    """Samples with random features, of which a fixed tenth point to class 1 and the others weakly to class 0."""
    rng = np.random.RandomState(seed)
    # frequent features have small numbers, as words sorted by frequency
    columns = np.sort((FEATURES ** rng.rand(SAMPLES, PER_SAMPLE)).astype(np.int64) - 1, axis=1)
    values = rng.uniform(0.5, 1.5, columns.shape).astype(np.float32)
    scores = (values * np.where(columns % 10 == 3, 3.0, -0.4)).sum(axis=1)
    pointers = np.arange(0, SAMPLES * PER_SAMPLE + 1, PER_SAMPLE)
    data = mx.nd.sparse.csr_matrix((values.ravel(), columns.ravel(), pointers), shape=(SAMPLES, FEATURES))
    return data, mx.nd.array(scores > 0)


def accuracy(data: mx.nd.sparse.CSRNDArray, label: mx.nd.NDArray, store: mx.kv.KVStore, bias: mx.nd.NDArray) -> float:
    """The part of the samples that is classified correctly."""
    weight = mx.nd.sparse.zeros("row_sparse", (FEATURES, 1))
    store.row_sparse_pull("weight", out=weight, row_ids=data.indices)
    scores = mx.nd.sparse.dot(data, weight) + bias
    return float(((scores.reshape((-1,)) > 0) == label).mean().asscalar())


def main() -> None:
    """Train, and print the accuracy on new samples after each epoch."""
    train, label = samples(0)
    test, test_label = samples(1)
    store, bias = mx.kv.create("local"), mx.nd.zeros((1,))
    # a lazy update needs every row; tostype would leave out a row whose number happens to be 0
    rows = mx.nd.random.normal(scale=0.01, shape=(FEATURES, 1)), mx.nd.arange(FEATURES, dtype="int64")
    store.init("weight", mx.nd.sparse.row_sparse_array(rows, shape=(FEATURES, 1)))
    store.set_optimizer(mx.optimizer.create("sgd", learning_rate=4.0, rescale_grad=1 / BATCH))
    print(f"samples of class 0: {1 - float(test_label.mean().asscalar()):.3f}")
    loss_of, rows_read = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss(), 0
    bias.attach_grad()
    for epoch in range(EPOCHS):
        for start in range(0, SAMPLES, BATCH):
            data, target = train[start : start + BATCH], label[start : start + BATCH]
            weight = mx.nd.sparse.zeros("row_sparse", (FEATURES, 1))
            store.row_sparse_pull("weight", out=weight, row_ids=data.indices)
            rows_read += weight.indices.shape[0]
            weight.attach_grad()
            with mx.autograd.record():
                loss = loss_of(mx.nd.sparse.dot(data, weight) + bias, target)
            loss.backward()
            store.push("weight", weight.grad)
            bias -= 0.1 * bias.grad / BATCH
        print(f"epoch {epoch}: accuracy {accuracy(test, test_label, store, bias):.3f}")
    steps = EPOCHS * SAMPLES // BATCH
    print(f"rows of the weight read by a step: {rows_read // steps} of {FEATURES}")


if __name__ == "__main__":
    main()
