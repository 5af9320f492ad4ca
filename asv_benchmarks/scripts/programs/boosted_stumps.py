"""AdaBoost with decision stumps; the best threshold is found from sorted cumulative weights."""

import numpy as np


def best_stump(X, y, w, order):
    best = (np.inf, 0, 0.0, 1)
    for feature in range(X.shape[1]):
        rows = order[:, feature]
        signed = np.cumsum(w[rows] * y[rows])
        # error of "positive above the threshold" after each row
        error = np.sum(w[y < 0]) + signed
        for polarity, errors in ((1, error), (-1, 1 - error)):
            at = int(np.argmin(errors[:-1]))
            if errors[at] < best[0]:
                threshold = 0.5 * (X[rows[at], feature] + X[rows[at + 1], feature])
                best = (errors[at], feature, threshold, polarity)
    return best


def predict(X, feature, threshold, polarity):
    return np.where(X[:, feature] > threshold, polarity, -polarity)


def main():
    np.random.seed(3)
    X = np.random.randn(1000, 10)
    y = np.where((X[:, :5] ** 2).sum(axis=1) > 4.4, 1, -1)
    order = np.argsort(X, axis=0)
    w = np.ones(len(y)) / len(y)
    score = np.zeros(len(y))
    used = np.zeros(10, dtype=int)
    for _ in range(400):
        error, feature, threshold, polarity = best_stump(X, y, w, order)
        error = max(error, 1e-10)
        alpha = 0.5 * np.log((1 - error) / error)
        h = predict(X, feature, threshold, polarity)
        w *= np.exp(-alpha * y * h)
        w /= w.sum()
        score += alpha * h
        used[feature] += 1
    print("training accuracy", np.mean(np.sign(score) == y))
    print("features used", used, f"margin {np.mean(score * y):.8f}")


if __name__ == "__main__":
    main()
