"""Predicts ratings from a sparse matrix of users and films, by factors of both: matrix factorization.

    python examples/matrix_factorization.py [--epochs N] [--picture FILE]

3,000 users have rated 40 of 2,000 films each, 2 in 100 of all pairs. The ratings are drawn: taste in 4 respects, likings of users and
films, and noise, so that the smallest possible error is known. Users and films get a vector and a number each, whose products and sums
predict ratings. The gradients are sparse: an update touches the rows of the users and films in a batch.

Source: Koren, Bell and Volinsky, "Matrix factorization techniques for recommender systems", Computer 42, 2009.
"""

import argparse

import numpy
import scipy.sparse

import twofold as mx
from twofold import autograd, gluon, np
from twofold.gluon import nn

USERS, FILMS, RATED, TASTES, NOISE, BATCH = 3000, 2000, 40, 4, 0.4, 1000


def ratings(draw: numpy.random.Generator) -> scipy.sparse.coo_array:
    """The ratings (USERS, FILMS), of which most are not there."""
    users, films = draw.normal(size=(USERS, TASTES)), draw.normal(size=(FILMS, TASTES))
    liked = draw.normal(scale=0.4, size=USERS)[:, None] + draw.normal(scale=0.6, size=FILMS)
    rows = numpy.repeat(numpy.arange(USERS), RATED)
    columns = numpy.concatenate([draw.choice(FILMS, RATED, replace=False) for _ in range(USERS)])
    exact = 3.5 + liked + users @ films.T / TASTES
    return scipy.sparse.coo_array((exact[rows, columns] + draw.normal(scale=NOISE, size=len(rows)), (rows, columns)), (USERS, FILMS))


class Factors(gluon.HybridBlock):
    """Users (n,) and films (n,) to ratings (n,), beyond the mean of all."""

    def __init__(self, size: int = TASTES) -> None:
        super().__init__()
        with self.name_scope():
            self.users, self.films = (nn.Embedding(count, size, sparse_grad=True) for count in (USERS, FILMS))
            self.liking, self.liked = (nn.Embedding(count, 1, sparse_grad=True) for count in (USERS, FILMS))

    def hybrid_forward(self, F, user, film):
        """The product of both vectors, and both numbers."""
        return (self.users(user) * self.films(film)).sum(axis=1) + (self.liking(user) + self.liked(film))[:, 0]


def main(epochs: int, picture: str | None) -> None:
    """Train on nine tenths of the ratings, and print the error on the others."""
    mx.random.seed(1)
    draw = numpy.random.default_rng(1)
    all_ratings = ratings(draw)
    order = draw.permutation(all_ratings.nnz)
    user, film, rating = (x[order] for x in (*all_ratings.coords, all_ratings.data.astype("float32")))
    cut = len(order) * 9 // 10
    mean = rating[:cut].mean()
    held_out = np.array(user[cut:]), np.array(film[cut:])

    net = Factors()
    net.initialize(mx.init.Normal(0.3))
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01, "wd": 3e-4, "lazy_update": True})
    course = []
    for epoch in range(epochs + 1):
        found = mean + net(*held_out).asnumpy()
        course.append(numpy.sqrt(((found - rating[cut:]) ** 2).mean()))
        if epoch % max(epochs // 5, 1) == 0:
            print(f"epoch {epoch:2}: error {course[-1]:.3f}", flush=True)
        for rows in numpy.array_split(draw.permutation(cut), cut // BATCH):
            with autograd.record():
                loss = ((net(np.array(user[rows]), np.array(film[rows])) + (mean - np.array(rating[rows]))) ** 2).mean()
            loss.backward()
            trainer.step(1)
    films = numpy.bincount(film[:cut], rating[:cut], FILMS) / numpy.maximum(numpy.bincount(film[:cut], minlength=FILMS), 1)
    by_film = numpy.sqrt(((films[film[cut:]] - rating[cut:]) ** 2).mean())
    print(f"error of each film's mean: {by_film:.3f}; by factors: {course[-1]:.3f}; of the noise alone: {NOISE}")
    if picture:
        import matplotlib.pyplot as plt

        figure, place = plt.subplots(figsize=(5.5, 2.8), layout="constrained")
        place.plot(course, label="factors")
        place.axhline(by_film, color="C1", label="each film's mean")
        place.axhline(NOISE, color="C2", label="noise alone")
        place.set(xlabel="epoch", ylabel="error on ratings held out", ylim=(0, None))
        place.legend()
        figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))
