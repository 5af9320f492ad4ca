"""Conway's game of life on a torus."""

import numpy as np


def step(board):
    neighbours = np.zeros(board.shape, dtype=int)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy or dx:
                neighbours += np.roll(np.roll(board, dy, axis=0), dx, axis=1)
    return ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(int)


def main():
    np.random.seed(0)
    board = (np.random.rand(200, 200) < 0.25).astype(int)
    population = [board.sum()]
    for _ in range(300):
        board = step(board)
        population.append(board.sum())
    population = np.array(population)
    print("population", population[:5], "...", population[-5:])
    print("rows with the most cells", np.argsort(board.sum(axis=1), kind="stable")[-3:])


if __name__ == "__main__":
    main()
