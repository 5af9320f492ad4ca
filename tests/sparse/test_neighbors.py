"""What sampling neighbors draws, and what the functions on graphs refuse."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd

from tests.sparse.programs.neighbors import _graph

CALL = nd.contrib.dgl_csr_neighbor_uniform_sample


def numbers(*values):
    return nd.array(values, dtype="int64")


def star(leaves):
    """A graph whose vertex 0 has all others as neighbors."""
    pointers = np.concatenate([[0], np.full(leaves + 1, leaves)])
    return nd.sparse.csr_matrix((np.arange(leaves), np.arange(1, leaves + 1), pointers), shape=(leaves + 1, leaves + 1), dtype="int64")


def leaves_drawn(count, times, probability=None):
    graph = star(6)
    for _ in range(times):
        if probability is None:
            made = CALL(graph, numbers(0), num_neighbor=count)
        else:
            made = nd.contrib.dgl_csr_neighbor_non_uniform_sample(graph, nd.array([0, *probability]), numbers(0), num_neighbor=count)
        size = int(made[0][-1].asscalar())
        yield made[0].asnumpy()[1:size]


def test_neighbors_are_drawn_evenly_and_without_replacement():
    mx.random.seed(3)
    drawn = list(leaves_drawn(2, 600))
    assert {len(set(leaves)) for leaves in drawn} == {2}
    frequencies = np.bincount(np.concatenate(drawn), minlength=7)[1:] / 600
    assert np.abs(frequencies - 2 / 6).max() < 0.08


def test_probabilities_weigh_the_neighbors():
    mx.random.seed(4)
    drawn = np.concatenate(list(leaves_drawn(1, 600, [1, 2, 3, 0, 0, 0])))
    assert np.abs(np.bincount(drawn, minlength=7)[1:] / 600 - np.array([1, 2, 3, 0, 0, 0]) / 6).max() < 0.08


def test_a_seed_repeats_the_sample():
    drawn = []
    for _ in range(2):
        mx.random.seed(5)
        drawn.append([leaves.tolist() for leaves in leaves_drawn(2, 5)])
    assert drawn[0] == drawn[1]


def test_compacted_graphs_tell_the_numbers_of_their_edges():
    made = CALL(_graph(mx), numbers(0), num_neighbor=5, max_num_vertices=5)
    _, original = nd.contrib.dgl_graph_compact(made[1], made[0], graph_sizes=3, return_mapping=True)
    assert original.asnumpy().tolist() == [[0, 10, 11], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda g: nd.contrib.dgl_subgraph(g, numbers(2, 0), return_mapping=True), ValueError, "sorted"),
        (lambda g: nd.contrib.dgl_subgraph(g, numbers(1, 1), return_mapping=True), ValueError, "sorted"),
        (lambda g: nd.contrib.dgl_subgraph(g, numbers(0, 9), return_mapping=True), IndexError, "Vertex Id 9 isn't in a graph of 6"),
        (lambda g: nd.contrib.dgl_subgraph(g, nd.array([0, 1]), return_mapping=True), TypeError, "int64"),
        (lambda g: nd.contrib.dgl_adjacency(g.astype("float32")), TypeError, "int64"),
        (lambda g: nd.contrib.dgl_adjacency(nd.ones((2, 2))), TypeError, "csr"),
        (lambda g: CALL(g, numbers(0, 1, 2), max_num_vertices=2), ValueError, "more seeds"),
        (lambda g: CALL(g, numbers(-1)), IndexError, "Vertex Id -1"),
        (lambda g: CALL(g, numbers(0), num_args=3), ValueError, "num_args"),
        (lambda g: nd.contrib.dgl_csr_neighbor_non_uniform_sample(g, nd.ones(3), numbers(0)), ValueError, "one probability"),
        (lambda g: nd.contrib.dgl_graph_compact(g, graph_sizes=3, return_mapping=False), ValueError, "one subgraph"),
    ],
)
def test_what_is_no_graph_or_vertex_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(_graph(mx))
