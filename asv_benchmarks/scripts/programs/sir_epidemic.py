"""An epidemic among people that walk at random on a grid: susceptible, infected, recovered."""

import numpy as np

rng = np.random.default_rng(7)
people, size, days = 20_000, 150, 250
SUSCEPTIBLE, INFECTED, RECOVERED = 0, 1, 2

x = rng.integers(0, size, people)
y = rng.integers(0, size, people)
state = np.zeros(people, dtype=np.int64)
state[rng.choice(people, 20, replace=False)] = INFECTED
since = np.zeros(people, dtype=np.int64)

history = []
for day in range(days):
    x = np.clip(x + rng.integers(-1, 2, people), 0, size - 1)
    y = np.clip(y + rng.integers(-1, 2, people), 0, size - 1)
    infected = np.zeros((size, size), dtype=np.int64)
    sick = state == INFECTED
    np.add.at(infected, (y[sick], x[sick]), 1)
    risk = 1.0 - 0.8 ** infected[y, x]
    caught = (state == SUSCEPTIBLE) & (rng.random(people) < risk)
    state[caught] = INFECTED
    since[caught] = day
    state[(state == INFECTED) & (day - since > 14)] = RECOVERED
    history.append([np.sum(state == k) for k in (SUSCEPTIBLE, INFECTED, RECOVERED)])

history = np.array(history)
print("peak of", history[:, 1].max(), "on day", history[:, 1].argmax())
print("at the end", history[-1])
