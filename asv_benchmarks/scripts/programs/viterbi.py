"""The most probable states of a hidden Markov model (Viterbi), and their probabilities (forward and backward)."""

import numpy as np


def viterbi(obs, log_start, log_trans, log_emit):
    n, T = len(log_start), len(obs)
    delta = np.zeros((T, n))
    psi = np.zeros((T, n), dtype=int)
    delta[0] = log_start + log_emit[:, obs[0]]
    for t in range(1, T):
        scores = delta[t - 1][:, None] + log_trans
        psi[t] = scores.argmax(axis=0)
        delta[t] = scores.max(axis=0) + log_emit[:, obs[t]]
    path = np.zeros(T, dtype=int)
    path[-1] = delta[-1].argmax()
    for t in range(T - 2, -1, -1):
        path[t] = psi[t + 1, path[t + 1]]
    return path, delta[-1].max()


def forward_backward(obs, start, trans, emit):
    T = len(obs)
    alpha, beta = np.zeros((T, len(start))), np.ones((T, len(start)))
    scale = np.zeros(T)
    alpha[0] = start * emit[:, obs[0]]
    scale[0] = alpha[0].sum()
    alpha[0] /= scale[0]
    for t in range(1, T):
        alpha[t] = (alpha[t - 1] @ trans) * emit[:, obs[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    for t in range(T - 2, -1, -1):
        beta[t] = trans @ (emit[:, obs[t + 1]] * beta[t + 1]) / scale[t + 1]
    return alpha * beta, np.log(scale).sum()


def main():
    rng = np.random.default_rng(16)
    n, symbols, T = 12, 20, 4000
    start = np.ones(n) / n
    trans = rng.dirichlet(np.ones(n) * 0.3, n) * 0.3 + 0.7 * np.eye(n)
    emit = rng.dirichlet(np.ones(symbols) * 0.2, n) * 0.9 + 0.1 / symbols
    states, obs = [0], []
    for _ in range(T):
        obs.append(rng.choice(symbols, p=emit[states[-1]] / emit[states[-1]].sum()))
        states.append(rng.choice(n, p=trans[states[-1]] / trans[states[-1]].sum()))
    obs, states = np.array(obs), np.array(states[:-1])
    path, score = viterbi(obs, np.log(start), np.log(trans), np.log(emit))
    gamma, likelihood = forward_backward(obs, start, trans, emit)
    print(f"path {score:.6f} with {np.mean(path == states):.4f} of the states")
    print(f"likelihood {likelihood:.6f} with {np.mean(gamma.argmax(axis=1) == states):.4f}")


if __name__ == "__main__":
    main()
