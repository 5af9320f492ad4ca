"""Parts of graphs for the Deep Graph Library (``nd.contrib.dgl_*``): neighbors at random, induced subgraphs, adjacency.

A graph of n vertices is a csr matrix (n, n) of int64: its rows hold the vertices' neighbors, its values are the numbers of the edges. All
computation is on the host, in whole arrays: a step of the sampling takes all vertices of one distance at once.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..device import Device
from ..errors import DTypeError, IndexingError, ParameterError, ShapeError
from ..imperative.array import adopted
from ..imperative.invoke import host_of
from ..imperative.storage import sparse_array
from ..opdef import Sparse
from .array import NDArray
from .random import uniform
from .sparse_array import CSRNDArray


class _Graph(NamedTuple):
    """A graph on the host: row v of the csr matrix holds the edges ``values[indptr[v] : indptr[v + 1]]`` of vertex v."""

    values: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, ...]

    def edges_of(self, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places of the edges of vertices, vertex by vertex, and of the vertex of each among them."""
        starts, counts = self.indptr[vertices], np.diff(self.indptr)[vertices]
        owners = np.repeat(np.arange(len(vertices)), counts)
        # an edge's place in the matrix is its rank among all of these edges, moved by where the edges of its vertex begin
        before = np.cumsum(counts) - counts
        return (starts - before)[owners] + np.arange(len(owners)), owners


def _graph(name: str, data: object, dtype: str | None = "int64") -> _Graph:
    if not isinstance(data, CSRNDArray):
        raise DTypeError(f"{name}: the graph is no csr matrix", type(data).__name__, "make it with mx.nd.sparse.csr_matrix")
    if dtype is not None and data._dtype != dtype:
        raise DTypeError(f"{name}: the numbers of edges must be {dtype}", data._dtype, "make the csr matrix with dtype='int64'")
    sparse = data._content.sparse
    return _Graph(host_of(sparse.values), host_of(sparse.indices), host_of(sparse.indptr), data.shape)


def _vertices(name: str, array: NDArray, count: int) -> np.ndarray:
    """Numbers of vertices on the host.

    Raises
    ------
    DTypeError, ShapeError, IndexingError
        If they are not a vector of int64 below the number of vertices.
    """
    if array._dtype != "int64":
        raise DTypeError(f"{name}: numbers of vertices must be int64", array._dtype, "make the array with dtype='int64'")
    found = host_of(array)
    if found.ndim != 1:
        raise ShapeError(f"{name}: numbers of vertices are not a vector", str(found.shape), "pass vectors")
    wrong = found[(found < 0) | (found >= count)]
    if len(wrong):
        raise IndexingError(f"{name}: Vertex Id {wrong[0]} isn't in a graph of {count} vertices", None, "pass numbers below that")
    return found


def _matrix(values: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, ...], device: Device) -> Any:
    parts = [adopted(NDArray, np.ascontiguousarray(part), device) for part in (values, indices.astype("int64"), indptr.astype("int64"))]
    return sparse_array(Sparse("csr", shape, *parts))


def _check_count(name: str, num_args: int | None, arrays: int) -> None:
    if num_args is not None and int(num_args) != arrays:
        raise ParameterError(f"{name}: num_args is not the number of arrays", f"{num_args} for {arrays}", "omit it")


def dgl_adjacency(data: CSRNDArray) -> CSRNDArray:
    """The adjacency matrix of a graph: a float32 1 for each edge.

    Examples
    --------
    >>> import twofold as mx
    >>> graph = mx.nd.sparse.csr_matrix(([5, 6], [1, 0], [0, 1, 2]), shape=(2, 2), dtype="int64")
    >>> mx.nd.contrib.dgl_adjacency(graph).asnumpy().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    graph = _graph("dgl_adjacency", data)
    return _matrix(np.ones(len(graph.values), "float32"), graph.indices, graph.indptr, graph.shape, data.context)


def _numbered(columns: np.ndarray, indptr: np.ndarray, old: np.ndarray, device: Device) -> tuple[CSRNDArray, CSRNDArray]:
    """The square matrix that ``indptr`` and ``columns`` describe, once with its edges numbered from 0 and once with their old numbers."""
    shape = (len(indptr) - 1, len(indptr) - 1)
    return _matrix(np.arange(len(old)), columns, indptr, shape, device), _matrix(old, columns, indptr, shape, device)


def _with_mapping(pairs: Sequence[tuple[CSRNDArray, CSRNDArray]], return_mapping: bool) -> CSRNDArray | list[CSRNDArray]:
    """The renumbered matrices, then those with the old numbers if they are wanted; a single matrix is not wrapped in a list."""
    # MXNet's order: all graphs first, then the numbers of their edges
    found = [new for new, _ in pairs] + [old for _, old in pairs if return_mapping]
    return found[0] if len(found) == 1 else found


def dgl_subgraph(graph: CSRNDArray, *data: NDArray, return_mapping: bool, num_args: int | None = None) -> CSRNDArray | list[CSRNDArray]:
    """The subgraphs that sets of vertices induce.

    Parameters
    ----------
    graph
        The graph (n, n).
    *data
        Sets of vertices: numbers (m,) of int64, ascending.
    return_mapping
        Whether to return the matrices with the numbers that the edges have in the graph too.
    num_args
        The number of arrays, if given.

    Returns
    -------
    CSRNDArray or list
        For each set a matrix (m, m), whose edges are numbered from 0; then, with ``return_mapping``, one for each set with their old
        numbers.

    Raises
    ------
    ParameterError
        If the vertices of a set are not in ascending order.
    """
    name = "dgl_subgraph"
    _check_count(name, num_args, 1 + len(data))
    whole, pairs = _graph(name, graph), []
    for array in data:
        chosen = _vertices(name, array, whole.shape[0])
        if (np.diff(chosen) <= 0).any():
            raise ParameterError(f"{name}: The input vertex list has to be sorted", str(chosen)[:60], "sort it, and leave out repetitions")
        # an edge belongs to the subgraph if it leads to a chosen vertex too; its column is that vertex's place among them
        edges, owners = whole.edges_of(chosen)
        kept = np.isin(whole.indices[edges], chosen)
        edges, owners = edges[kept], owners[kept]
        columns = np.searchsorted(chosen, whole.indices[edges])
        indptr = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(chosen)))])
        pairs.append(_numbered(columns, indptr, whole.values[edges], graph.context))
    return _with_mapping(pairs, return_mapping)


def dgl_csr_neighbor_uniform_sample(
    csr_matrix: CSRNDArray,
    *seed_arrays: NDArray,
    num_args: int | None = None,
    num_hops: int = 1,
    num_neighbor: int = 2,
    max_num_vertices: int = 100,
) -> list[Any]:
    """Subgraphs around seeds: some random neighbors of each seed, some random neighbors of these, and so on.

    Parameters
    ----------
    csr_matrix
        The graph (n, n).
    *seed_arrays
        For each subgraph the vertices to start from: int64 (s,).
    num_args
        The number of arrays, if given.
    num_hops
        The largest distance from the seeds.
    num_neighbor
        How many neighbors of a vertex to visit at most.
    max_num_vertices
        The number of vertices at which sampling stops.

    Returns
    -------
    list
        For each seed array the vertices, int64 (max_num_vertices + 1,): ascending, with their number as the last element,
        then zeros; then for each the subgraph as a csr matrix (max_num_vertices, n), whose rows are those vertices; then for each
        their distances from the seeds, int64 (max_num_vertices,).

    Raises
    ------
    ParameterError
        If there are more seeds than ``max_num_vertices``.
    """
    return _samples("dgl_csr_neighbor_uniform_sample", csr_matrix, None, seed_arrays, num_args, num_hops, num_neighbor, max_num_vertices)


def dgl_csr_neighbor_non_uniform_sample(
    csr_matrix: CSRNDArray,
    probability: NDArray,
    *seed_arrays: NDArray,
    num_args: int | None = None,
    num_hops: int = 1,
    num_neighbor: int = 2,
    max_num_vertices: int = 100,
) -> list[Any]:
    """`dgl_csr_neighbor_uniform_sample` with neighbors drawn in proportion to their probabilities (n,), float32.

    Before the distances, the list has for each seed array the probabilities of its vertices, float32 (max_num_vertices,).
    """
    name = "dgl_csr_neighbor_non_uniform_sample"
    return _samples(name, csr_matrix, probability, seed_arrays, num_args, num_hops, num_neighbor, max_num_vertices)


def _samples(
    name: str,
    matrix: CSRNDArray,
    probability: NDArray | None,
    seeds: Sequence[NDArray],
    num_args: int | None,
    hops: int,
    neighbors: int,
    most: int,
) -> list[Any]:
    _check_count(name, num_args, len(seeds) + 1 + (probability is not None))
    graph, device = _graph(name, matrix), matrix.context
    weights = None if probability is None else host_of(probability)
    if weights is not None and weights.shape != graph.shape[:1]:
        raise ShapeError(f"{name}: one probability for each vertex is needed", f"{weights.shape} for {graph.shape[0]}", "pass a vector")
    ids, parts, shares, distances = [], [], [], []
    for array in seeds:
        start = _vertices(name, array, graph.shape[0])
        if len(start) > most:
            raise ParameterError(f"{name}: more seeds than vertices", f"{len(start)} for max_num_vertices={most}", "raise max_num_vertices")
        layers, edges, owners = _visited(graph, weights, start, hops, neighbors, most)
        chosen = np.flatnonzero(layers >= 0)
        # every sample has the same size: absent vertices are zeros, and their number is the last entry of the ids
        missing = most - len(chosen)
        # rows in the order of the vertices, and the edges of a row in that of the graph
        order = np.lexsort((edges, owners))
        edges, rows = edges[order], np.searchsorted(chosen, owners[order])
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=most))])
        ids.append(adopted(NDArray, np.concatenate([chosen, np.zeros(missing, "int64"), [len(chosen)]]).astype("int64"), device))
        parts.append(_matrix(graph.values[edges], graph.indices[edges], indptr, (most, graph.shape[1]), device))
        distances.append(adopted(NDArray, np.pad(layers[chosen], (0, missing)), device))
        if weights is not None:
            shares.append(adopted(NDArray, np.pad(weights[chosen], (0, missing)), device))
    return [*ids, *parts, *shares, *distances]


def _visited(
    graph: _Graph, weights: np.ndarray | None, seeds: np.ndarray, hops: int, neighbors: int, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distance of each vertex of the graph from the seeds, -1 if it was not visited; the edges that were followed, and their vertices.

    As in MXNet, the vertex at which the largest number is reached keeps all its edges, and those after it are not followed.
    """
    layers = np.full(graph.shape[0], -1, "int64")
    frontier = _in_order(seeds)
    layers[frontier] = 0
    count, followed, sources = len(frontier), [np.empty(0, "int64")], [np.empty(0, "int64")]
    for hop in range(1, hops + 1):
        room = most - count
        if not len(frontier) or not room:
            break
        edges, owners = _drawn(graph, weights, frontier, neighbors)
        targets = graph.indices[edges]
        new = _in_order(targets[layers[targets] < 0])
        if len(new) >= room:
            new = new[:room]
            last = owners[np.argmax(targets == new[-1])]  # the vertex whose neighbor fills the sample
            edges, owners = edges[owners <= last], owners[owners <= last]
        followed.append(edges)
        sources.append(frontier[owners])
        layers[new] = hop
        count, frontier = count + len(new), new
    return layers, np.concatenate(followed), np.concatenate(sources)


def _in_order(numbers: np.ndarray) -> np.ndarray:
    """The distinct numbers in the order in which they occur first."""
    return numbers[np.sort(np.unique(numbers, return_index=True)[1])]


def _drawn(graph: _Graph, weights: np.ndarray | None, vertices: np.ndarray, neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    """As `_Graph.edges_of`, but at most ``neighbors`` edges of each vertex, drawn without replacement.

    In proportion to weights w the edges with the largest ``log(u) / w`` are drawn, u being uniform (Efraimidis and Spirakis, Weighted
    random sampling with a reservoir, 2006).
    """
    edges, owners = graph.edges_of(vertices)
    # at least one number is drawn, as there are no empty draws; MXNet's own seed makes the sample repeatable
    keys = uniform(shape=(max(len(edges), 1),)).asnumpy()[: len(edges)]
    if weights is not None:
        with np.errstate(divide="ignore"):
            keys = np.log(np.maximum(keys, np.finfo("float32").tiny)) / weights[graph.indices[edges]]
    order = np.lexsort((-keys, owners))
    places = np.arange(len(order)) - np.searchsorted(owners, owners)  # an edge's rank among those of its vertex
    kept = np.sort(order[places < neighbors])
    return edges[kept], owners[kept]


def dgl_graph_compact(*graph_data: Any, return_mapping: bool, graph_sizes: int | Sequence[int], num_args: int | None = None) -> Any:
    """Sampled subgraphs without their empty rows and columns.

    Parameters
    ----------
    *graph_data
        Subgraphs (max_num_vertices, n), then their vertices (max_num_vertices + 1,), as the sampling functions return them.
    return_mapping
        Whether to return the matrices with the numbers that the edges have in the graph too.
    graph_sizes
        The number of vertices of each subgraph: the last element of its vertices.
    num_args
        The number of arrays, if given.

    Returns
    -------
    CSRNDArray or list
        For each subgraph a matrix (m, m), whose edges are numbered from 0; then, with ``return_mapping``, one for each with their old
        numbers.

    Raises
    ------
    ParameterError
        If the numbers of subgraphs, vertices and sizes differ, or a neighbor is not among the vertices.
    """
    name = "dgl_graph_compact"
    _check_count(name, num_args, len(graph_data))
    sizes = [graph_sizes] if isinstance(graph_sizes, int) else [int(n) for n in graph_sizes]
    if len(graph_data) != 2 * len(sizes):
        given = f"{len(graph_data)} arrays for {len(sizes)} sizes"
        raise ParameterError(f"{name}: one subgraph and one array of vertices for each size are needed", given, "pass two for each")
    pairs = []
    for matrix, array, size in zip(graph_data[: len(sizes)], graph_data[len(sizes) :], sizes, strict=True):
        graph = _graph(name, matrix)
        chosen = _vertices(name, array[:size], graph.shape[1])
        count, indptr = int(graph.indptr[size]), graph.indptr[: size + 1]
        if not np.isin(graph.indices[:count], chosen).all():
            raise ParameterError(f"{name}: a neighbor is not among the vertices", None, "sample with a larger max_num_vertices")
        columns = np.searchsorted(chosen, graph.indices[:count])
        pairs.append(_numbered(columns, indptr, graph.values[:count], matrix.context))
    return _with_mapping(pairs, return_mapping)
