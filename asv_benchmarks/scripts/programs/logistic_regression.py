"""Logistic regression by gradient descent, with a penalty and feature scaling."""

import numpy as np


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


class LogisticRegression:
    def __init__(self, lr=0.1, n_iters=1000, penalty=1e-3):
        self.lr, self.n_iters, self.penalty = lr, n_iters, penalty

    def fit(self, X, y):
        n_samples, n_features = X.shape
        self.weights = np.zeros(n_features)
        self.bias = 0.0
        for _ in range(self.n_iters):
            predictions = sigmoid(np.dot(X, self.weights) + self.bias)
            dw = (1 / n_samples) * np.dot(X.T, (predictions - y)) + self.penalty * self.weights
            db = (1 / n_samples) * np.sum(predictions - y)
            self.weights = self.weights - self.lr * dw
            self.bias = self.bias - self.lr * db

    def predict(self, X):
        return (sigmoid(np.dot(X, self.weights) + self.bias) > 0.5).astype(int)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 20)) * rng.uniform(0.5, 4.0, 20) + rng.uniform(-2, 2, 20)
    truth = rng.normal(size=20)
    y = (X @ truth + rng.normal(0, 3.0, 5000) > 0).astype(int)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    train, test = X[:4000], X[4000:]
    model = LogisticRegression(n_iters=4000)
    model.fit(train, y[:4000])
    accuracy = np.mean(model.predict(test) == y[4000:])
    print("accuracy", accuracy)
    print("weights", model.weights[:4].round(6), "bias", round(float(model.bias), 6))
