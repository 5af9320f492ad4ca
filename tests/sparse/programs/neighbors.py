"""Neighbors in graphs: samples that take all of them, induced subgraphs, adjacency."""

from __future__ import annotations

import numpy as np

ROWS = [[1, 2], [0, 3], [0, 4, 5], [1], [2], [2]]


def _graph(mx):
    indices = [v for row in ROWS for v in row]
    pointers = np.cumsum([0, *map(len, ROWS)])
    return mx.nd.sparse.csr_matrix((np.arange(10, 10 + len(indices)), np.array(indices), pointers), shape=(6, 6), dtype=np.int64)


def _numbers(mx, numbers):
    return mx.nd.array(numbers, dtype=np.int64)


def _plain(found):
    if isinstance(found, (list, tuple)):
        return [_plain(each) for each in found]
    if found.stype == "csr":
        return [list(found.shape), found.dtype.__name__, *[part.asnumpy().tolist() for part in (found.data, found.indices, found.indptr)]]
    return [list(found.shape), found.dtype.__name__, found.asnumpy().tolist()]


def _sampled(made, count):
    """A sample of ``count`` seed arrays, without the padding, which MXNet leaves undefined."""
    sizes = [int(ids[-1].asscalar()) for ids in made[:count]] * (len(made) // count)
    return [_plain(each if each.stype == "csr" else each[:size]) for each, size in zip(made, sizes)]  # noqa: B905  (of Python 3.10)


def adjacency(mx):
    return _plain(mx.nd.contrib.dgl_adjacency(_graph(mx)))


def subgraphs(mx):
    graph = _graph(mx)
    sets = [[0, 1, 2], [0, 2, 4, 5], [3], [0, 1, 2, 3, 4, 5]]
    pairs = [_plain(mx.nd.contrib.dgl_subgraph(graph, _numbers(mx, v), return_mapping=True)) for v in sets]
    both = mx.nd.contrib.dgl_subgraph(graph, *[_numbers(mx, v) for v in sets[:2]], return_mapping=True, num_args=3)
    return [pairs, _plain(both), _plain(mx.nd.contrib.dgl_subgraph(graph, _numbers(mx, [0, 2]), return_mapping=False))]


def samples(mx):
    graph, found = _graph(mx), {}
    for seeds in ([0], [3], [2], [5, 3], [0, 0], [2, 0], [4, 5]):
        for hops in (0, 1, 2, 3):
            for most in (2, 3, 4, 5, 6, 8):
                options = {"num_args": 2, "num_hops": hops, "num_neighbor": 5, "max_num_vertices": most}
                made = mx.nd.contrib.dgl_csr_neighbor_uniform_sample(graph, _numbers(mx, seeds), **options)
                found[str((seeds, hops, most))] = _sampled(made, 1)
    return found


def samples_of_two(mx):
    graph, p = _graph(mx), mx.nd.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    seeds = _numbers(mx, [0]), _numbers(mx, [3, 4])
    options = {"num_hops": 1, "num_neighbor": 5, "max_num_vertices": 4}
    return [
        _sampled(mx.nd.contrib.dgl_csr_neighbor_uniform_sample(graph, *seeds, num_args=3, **options), 2),
        _sampled(mx.nd.contrib.dgl_csr_neighbor_non_uniform_sample(graph, p, *seeds, num_args=4, **options), 2),
        _sampled(mx.nd.contrib.dgl_csr_neighbor_uniform_sample(graph, seeds[0], num_args=2), 1),
    ]


def compact(mx):
    made = mx.nd.contrib.dgl_csr_neighbor_uniform_sample(
        _graph(mx), _numbers(mx, [0]), _numbers(mx, [3, 4]), num_args=3, num_hops=1, num_neighbor=5, max_num_vertices=5
    )
    sizes = tuple(int(ids[-1].asscalar()) for ids in made[:2])
    return [
        _plain(mx.nd.contrib.dgl_graph_compact(made[2], made[3], made[0], made[1], graph_sizes=sizes, return_mapping=False)),
        _plain(mx.nd.contrib.dgl_graph_compact(made[2], made[0], graph_sizes=sizes[0], return_mapping=False)),
    ]
