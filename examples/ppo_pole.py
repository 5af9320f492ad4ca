"""Learns to balance a pole on a cart by proximal policy optimization. The cart is simulated in NumPy.

    python examples/ppo_pole.py [--rounds N] [--picture FILE]

32 carts run side by side. In each round they make 128 steps; then the policy becomes more likely to do what turned out better than its
critic had expected, but not much more likely than it was. An episode ends when the pole falls, the cart leaves its track, or after 500
steps.

The numbers vary between machines: a last digit of rounding changes which way a pole falls, and with it all that is learned later.

Source: Schulman and others, "Proximal policy optimization algorithms", arXiv:1707.06347; the cart is that of Barto, Sutton and Anderson,
1983.
"""

import argparse

import numpy

import twofold as mx
from twofold import autograd, gluon, np, npx
from twofold.gluon import nn

CARTS, STEPS, LONGEST = 32, 128, 500
DISCOUNT, SMOOTHING, CLIP = 0.99, 0.95, 0.2


class Carts:
    """Carts with poles: position, speed, angle and angular speed of each (CARTS, 4)."""

    def __init__(self, seed: int) -> None:
        self._draw = numpy.random.default_rng(seed)
        self.state, self.age = self._draw.uniform(-0.05, 0.05, (CARTS, 4)), numpy.zeros(CARTS, int)

    def step(self, right: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Push each cart to the right or left for 20 ms. Returns which have ended, and how long those had lasted."""
        _, speed, angle, turning = self.state.T
        force, sin, cos = numpy.where(right, 10, -10), numpy.sin(angle), numpy.cos(angle)
        push = (force + 0.05 * turning**2 * sin) / 1.1
        bend = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        self.state += 0.02 * numpy.stack([speed, push - 0.05 * bend * cos / 1.1, turning, bend], axis=1)
        self.age += 1
        ended = (abs(self.state[:, 0]) > 2.4) | (abs(self.state[:, 2]) > 0.21) | (self.age >= LONGEST)
        lasted = self.age[ended]
        self.state[ended], self.age[ended] = self._draw.uniform(-0.05, 0.05, (ended.sum(), 4)), 0
        return ended, lasted


class ActorCritic(gluon.HybridBlock):
    """States (n, 4) to the scores of both pushes (n, 2), and the expected return (n,)."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.policy, self.critic = nn.HybridSequential(), nn.HybridSequential()
            for part, size in ((self.policy, 2), (self.critic, 1)):
                part.add(nn.Dense(64, activation="tanh"), nn.Dense(64, activation="tanh"), nn.Dense(size))

    def hybrid_forward(self, F, states):
        """Scores and returns, which the critic counts in tens."""
        return self.policy(states), 10 * self.critic(states)[:, 0]


def played(net: ActorCritic, carts: Carts, draw: numpy.random.Generator):
    """A round: states, pushes, the log-likelihood of these, advantages and returns of all steps; and how long episodes lasted."""
    states, pushes, logs, ends, values, lengths = [], [], [], [], [], []
    for _ in range(STEPS):
        states.append(carts.state.astype("float32"))
        scores, value = net(np.array(states[-1]))
        log = npx.log_softmax(scores).asnumpy()
        push = (draw.random(CARTS) < numpy.exp(log[:, 1])).astype(int)
        ended, lasted = carts.step(push)
        for row, item in ((pushes, push), (logs, log[range(CARTS), push]), (ends, ended), (values, value.asnumpy())):
            row.append(item)
        lengths += lasted.tolist()
    values.append(net(np.array(carts.state.astype("float32")))[1].asnumpy())
    advantages, ahead = numpy.zeros((STEPS, CARTS), "float32"), 0
    for t in reversed(range(STEPS)):
        goes_on = ~ends[t]
        surprise = 1 + DISCOUNT * values[t + 1] * goes_on - values[t]
        advantages[t] = ahead = surprise + DISCOUNT * SMOOTHING * goes_on * ahead
    returns = advantages + numpy.stack(values[:-1])
    return [numpy.concatenate(x) for x in (states, pushes, logs, advantages, returns)], lengths


def main(rounds: int, picture: str | None) -> None:
    """Train, and print how long the poles stay up."""
    mx.random.seed(1)
    draw, carts, net = numpy.random.default_rng(1), Carts(1), ActorCritic()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.002})
    course = []
    for k in range(1, rounds + 1):
        data, lengths = played(net, carts, draw)
        for rows in (rows for _ in range(4) for rows in numpy.array_split(draw.permutation(STEPS * CARTS), 8)):
            states, pushes, before, advantages, returns = (np.array(x[rows]) for x in data)
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
            with autograd.record():
                scores, value = net(states)
                log = npx.log_softmax(scores)
                ratio = np.exp(npx.pick(log, pushes) - before)
                gain = np.minimum(ratio * advantages, ratio.clip(1 - CLIP, 1 + CLIP) * advantages).mean()
                doubt = -(np.exp(log) * log).sum(axis=1).mean()
                loss = 0.01 * ((value - returns) ** 2).mean() - gain - 0.01 * doubt
            loss.backward()
            trainer.step(1)
        course.append(numpy.mean(lengths) if lengths else LONGEST)
        if k % max(rounds // 6, 1) == 0 or k == 1:
            print(f"round {k:2}: a pole stays up for {course[-1]:.0f} steps", flush=True)
    if picture:
        import matplotlib.pyplot as plt

        figure, place = plt.subplots(figsize=(5.5, 2.8), layout="constrained")
        place.plot(range(1, rounds + 1), course)
        place.set(xlabel="round", ylabel="steps that a pole stays up")
        figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))
