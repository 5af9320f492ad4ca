"""Graphs drawn in layers: boxes below what they read, none over another."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

from twofold.visualization.layered import HEIGHT, WIDTH, Box, Edge, plot_layers, without_shared_prefix

SVG = "{http://www.w3.org/2000/svg}"


def boxes_of(svg: str) -> dict[str, tuple[float, float]]:
    """Left and top of each box by its name."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    found = {}
    for group in groups:
        rect, title = group.find(f"{SVG}rect"), group.find(f"{SVG}title")
        assert rect is not None
        assert title is not None
        found[title.text or ""] = float(rect.get("x", "nan")), float(rect.get("y", "nan"))
    return found


def drawn(edges: list[tuple[int, int]], count: int) -> tuple[dict[str, tuple[float, float]], str]:
    svg = plot_layers([Box(str(k), "op", "#fff") for k in range(count)], [Edge(a, b) for a, b in edges])
    return boxes_of(svg), svg


def test_readers_are_below_and_boxes_apart():
    # two residual blocks, a branch, and an input that is read late
    edges = [(0, 1), (1, 2), (2, 3), (1, 3), (3, 4), (4, 7), (3, 7), (0, 7), (5, 7), (3, 6), (6, 7)]
    places, svg = drawn(edges, 8)
    for a, b in edges:
        assert places[str(a)][1] + HEIGHT < places[str(b)][1]
    for (x, y), (u, v) in combinations(places.values(), 2):
        assert abs(x - u) >= WIDTH or abs(y - v) >= HEIGHT
    assert svg.count("<path") - 1 == len(edges)
    width = float(ElementTree.fromstring(svg).get("width", "nan"))
    assert all(0 <= x <= width - WIDTH for x, _ in places.values())


def test_a_late_input_stands_above_its_reader():
    places, _ = drawn([(0, 1), (1, 2), (2, 3), (4, 5), (3, 5)], 6)
    assert places["4"][1] == places["3"][1]


def test_edges_end_at_their_boxes():
    places, svg = drawn([(0, 1), (1, 2), (0, 2)], 3)
    paths = [[float(n) for n in re.findall(r"-?[\d.]+", path)] for path in re.findall(r'<path d="([^"]+)" fill="none"', svg)]
    for (a, b), path in zip([(0, 1), (1, 2), (0, 2)], paths, strict=True):
        (x, y), (u, v) = places[str(a)], places[str(b)]
        assert [path[0], path[1], path[-2], path[-1]] == [x + WIDTH / 2, y + HEIGHT, u + WIDTH / 2, v]


def test_what_leads_back_is_left_out_and_long_edges_are_straight():
    _, svg = drawn([(0, 1), (1, 0)], 2)
    assert svg.count("<path") - 1 == 1
    places, svg = drawn([*((k, k + 1) for k in range(99)), (0, 99)], 100)
    assert len({x for x, _ in places.values()}) == 1, "one column"
    assert svg.count("<path") - 1 == 100


def test_text_is_escaped_and_shortened():
    svg = plot_layers([Box("<b>" + "x" * 50 + "end", "&", "#fff")], [])
    assert "&lt;b&gt;xxx" in svg
    assert "&amp;" in svg
    assert list(boxes_of(svg)) == ["<b>" + "x" * 50 + "end"], "whole under the mouse"
    assert plot_layers([], []).startswith("<svg")


def test_what_all_names_begin_with_is_left_out():
    boxes = [Box("data", "input", "#fff", True), Box("net0_conv0_fwd", "op", "#fff"), Box("net0_conv1_fwd", "op", "#fff")]
    svg = plot_layers(without_shared_prefix(boxes), [Edge(0, 1), Edge(1, 2)])
    assert list(re.findall(r'bold">([^<]+)<', svg)) == ["data", "conv0_fwd", "conv1_fwd"]
    assert list(boxes_of(svg)) == ["data", "net0_conv0_fwd", "net0_conv1_fwd"], "whole under the mouse"
    assert 'bold">net0_conv0_fwd<' in plot_layers(without_shared_prefix(boxes[:2]), [])
