"""A network with two hidden layers, trained by mini-batch gradient descent with momentum; gradients by hand."""

import numpy as np


class Dense:
    def __init__(self, n_in, n_out, rng):
        self.W = rng.normal(size=(n_in, n_out)) * np.sqrt(2.0 / n_in)
        self.b = np.zeros(n_out)
        self.vW = np.zeros_like(self.W)
        self.vb = np.zeros_like(self.b)

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dout):
        self.dW = self.x.T @ dout
        self.db = dout.sum(axis=0)
        return dout @ self.W.T

    def step(self, lr, momentum=0.9):
        self.vW = momentum * self.vW - lr * self.dW
        self.vb = momentum * self.vb - lr * self.db
        self.W += self.vW
        self.b += self.vb


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main():
    rng = np.random.default_rng(6)
    n, classes = 1500, 3
    radius = np.tile(np.linspace(0.1, 1, n // classes), classes)
    label = np.repeat(np.arange(classes), n // classes)
    angle = label * 2.1 + radius * 4 + rng.normal(0, 0.15, n)
    X = np.c_[radius * np.sin(angle), radius * np.cos(angle)]
    one_hot = np.eye(classes)[label]
    layers = [Dense(2, 32, rng), Dense(32, 32, rng), Dense(32, classes, rng)]
    losses = []
    for _ in range(60):
        order = rng.permutation(n)
        for start in range(0, n, 50):
            batch = order[start : start + 50]
            h1 = np.maximum(layers[0].forward(X[batch]), 0)
            h2 = np.maximum(layers[1].forward(h1), 0)
            p = softmax(layers[2].forward(h2))
            losses.append(-np.log(p[range(len(batch)), label[batch]]).mean())
            d = layers[2].backward((p - one_hot[batch]) / len(batch))
            d = layers[1].backward(d * (h2 > 0))
            layers[0].backward(d * (h1 > 0))
            for layer in layers:
                layer.step(0.05)
    h = np.maximum(X @ layers[0].W + layers[0].b, 0)
    h = np.maximum(h @ layers[1].W + layers[1].b, 0)
    scores = h @ layers[2].W + layers[2].b
    print(f"loss {losses[0]:.6f} to {np.mean(losses[-30:]):.4f}")
    print("accuracy", round(float((scores.argmax(axis=1) == label).mean()), 2))


if __name__ == "__main__":
    main()
