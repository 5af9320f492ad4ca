"""`mx.profiler.report`, `plot_timeline`, and the button that opens a trace in Perfetto, in a real browser."""

import base64
import contextlib
import gzip
import json
import queue
import re
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.etree import ElementTree

import pytest

import twofold as mx
from twofold.errors import ParameterError
from twofold.profiler.profile import Profile
from twofold.profiler.recorder import record_of
from twofold.profiler.trace import Trace
from twofold.scheduler.observers import Event
from twofold.visualization import perfetto

MS = 1_000_000


def profile_of(*events: tuple[str, str, float, float]) -> Profile:
    """A profile of events: category, name, begin and duration in milliseconds."""
    trace = Trace()
    for category, name, begin, duration in events:
        event = Event(name, category, round(begin * MS), round(duration * MS), 0, mx.cpu(), False, (1, "MainThread"), {})
        trace.add(record_of(event))
    return Profile(trace)


NESTED = (("program", "forward", 0, 8), ("kernel", "add<mul>", 1, 2), ("kernel", "add<mul>", 4, 3), ("copy", "copy", 9, 1))


def embedded(html: str) -> dict[str, object]:
    """The trace that a page has."""
    (content,) = re.findall(r'href="data:application/gzip;base64,([^"]+)"', html)
    return json.loads(gzip.decompress(base64.b64decode(content)))


def test_times_are_summed_by_name_with_the_longest_first():
    rows = [(t.category, t.name, t.count, t.total, t.longest) for t in profile_of(*NESTED).times]
    assert rows == [("program", "forward", 1, 8, 8), ("kernel", "add<mul>", 2, 5, 3), ("copy", "copy", 1, 1, 1)]


def test_text_has_a_line_for_each_name():
    assert str(profile_of(*NESTED)).splitlines()[1].split() == ["kernel", "add<mul>", "2x", "5.000", "ms,", "at", "most", "3.000", "ms"]
    assert str(profile_of()) == "nothing was recorded"


def test_the_page_has_table_timeline_and_trace(tmp_path):
    profile_of(*NESTED).save(tmp_path / "profile.html")
    html = (tmp_path / "profile.html").read_text()
    tree = ElementTree.fromstring(profile_of(*NESTED)._repr_html_())
    cells = [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]
    assert cells[2] == ["kernel", "add<mul>", "2", "5", "2.5", "3"]
    assert "<svg" in html
    assert len([e for e in embedded(html)["traceEvents"] if e["ph"] == "X"]) == 4
    assert "nothing was recorded" in profile_of()._repr_html_()


def test_the_profilers_report_has_what_was_recorded(tmp_path):
    mx.profiler.set_config(filename=str(tmp_path / "run.json"), continuous_dump=False)
    mx.profiler.set_state("run")
    (mx.nd.ones((300, 300)) * 2).asnumpy()
    mx.profiler.set_state("stop")
    report = mx.profiler.report()
    assert {"window", "program"} <= {row.category for row in report.times}
    assert report.trace["traceEvents"] == json.loads((tmp_path / "run.json").read_text())["traceEvents"]


def test_the_report_of_explain_has_a_trace_of_its_block_alone():
    before = mx.nd.ones((300, 300)) * 3
    with mx.explain() as report:
        (before + 1).asnumpy()
    events = [e for e in embedded(report._repr_html_())["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in events if e["cat"] == "window"] == ["flush"]
    assert events == [e for e in report.profile().trace["traceEvents"] if e["ph"] == "X"]


# ----------------------------------------------------------------------------------------------------------------- timeline


def boxes(drawing: str) -> list[tuple[float, float, float, str]]:
    """The boxes of a timeline: left, top, width and text."""
    found = re.findall(r'<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)" height="14"[^>]*><title>([^<]*)</title>', drawing)
    return [(float(x), float(y), float(width), text) for x, y, width, text in found]


def test_a_timeline_nests_events_below_what_contains_them():
    drawn = boxes(mx.viz.plot_timeline(profile_of(*NESTED).trace))
    # 10 ms are 1100 pixels
    assert [(x - 120, width) for x, _, width, _ in drawn] == [(0, 880), (990, 110), (110, 220), (440, 330)]
    tops = [y for _, y, _, _ in drawn]
    assert tops[0] == tops[1] < tops[2] == tops[3]
    assert drawn[2][3] == "add&lt;mul&gt;: 2.000 ms"


@pytest.mark.parametrize(
    ("begin", "end", "times"),
    [
        (0.0, None, ["0 ms", "1 ms", "2 ms", "3 ms", "4 ms", "5 ms", "6 ms", "7 ms", "8 ms", "9 ms", "10 ms"]),
        (0.00213, 0.00587, ["2.5 ms", "3.0 ms", "3.5 ms", "4.0 ms", "4.5 ms", "5.0 ms", "5.5 ms"]),
    ],
)
def test_a_timeline_has_round_times(begin, end, times):
    drawn = mx.viz.plot_timeline(profile_of(*NESTED).trace, begin, end)
    assert re.findall(r">([\d.]+ ms)</text>", drawn) == times


def test_a_part_of_a_timeline_may_be_drawn(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(profile_of(*NESTED).trace))
    drawn = boxes(mx.viz.plot_timeline(path, 0.008, 0.010))
    assert [(x - 120, width, text) for x, _, width, text in drawn] == [(550, 550, "copy: 1.000 ms")]
    with pytest.raises(ParameterError, match=r"plot_timeline: nothing to draw: given 1 s to None s of 0\.010 s"):
        mx.viz.plot_timeline(path, 1)


def test_events_too_short_to_be_seen_are_joined():
    many = [("operator", f"op{k}", 1 + k * 0.0001, 0.0001) for k in range(50)]
    drawn = boxes(mx.viz.plot_timeline(profile_of(("operator", "long", 10, 90), *many).trace))
    assert len(drawn) == 2
    assert drawn[0][3] == "50 short ones, first op0: 0.005 ms"


# ------------------------------------------------------------------------------------------------------------------ Perfetto

#: Stands for Perfetto: it answers PING, from the second on, and tells its server what it is given.
VIEWER = """<script>
let pings = 0;
addEventListener('message', async event => {
  if (event.data === 'PING') { if (++pings > 1) { event.source.postMessage('PONG', '*'); } return; }
  const given = event.data.perfetto;
  const text = await new Response(new Blob([given.buffer]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  const got = {name: given.fileName, title: given.title, events: JSON.parse(text).traceEvents.length};
  fetch('/', {method: 'POST', body: JSON.stringify(got)});
});
</script>"""
PRESS = "<script>document.querySelector('button').click();</script>"


@pytest.fixture
def viewer():
    """The address of a page that stands for Perfetto, and the queue of what it is given."""
    got: queue.Queue[dict[str, object]] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(VIEWER.encode())

        def do_POST(self) -> None:
            got.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    server.server_close()


@contextlib.contextmanager
def browser(folder, body: str, *options: str):
    """A browser that has the page open."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium")
    page = folder / "page.html"
    page.write_text(f"<!doctype html><title>of this test</title><body>{body}</body>")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-popup-blocking", f"--user-data-dir={folder / 'profile'}", *options)
    with subprocess.Popen([program, *options, page.as_uri()], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_button_hands_the_trace_to_the_viewer(tmp_path, viewer):
    address, got = viewer
    button = perfetto.perfetto_button(profile_of(*NESTED).chunks(), "run.json.gz", address)
    with browser(tmp_path, button + PRESS):
        count = len(profile_of(*NESTED).trace["traceEvents"])
        assert got.get(timeout=60) == {"name": "run.json.gz", "title": "of this test", "events": count}


@pytest.mark.parametrize(
    ("setup", "why"),
    [
        ("Object.defineProperty(navigator, 'onLine', {get: () => false});", "you are offline"),
        ("window.open = () => null;", "the browser has blocked the new tab"),
        ("window.open = () => ({postMessage() {}});", "no answer"),
    ],
)
def test_where_the_viewer_cannot_be_reached_the_page_says_what_to_do(tmp_path, setup, why):
    button = perfetto.perfetto_button(profile_of(*NESTED).chunks())
    page = f"<script>{setup}</script>{button}{PRESS}"
    with browser(tmp_path, page, "--virtual-time-budget=30000", "--dump-dom") as process:
        assert f"{why}: save the trace, and drag the file onto https://ui.perfetto.dev" in process.communicate(timeout=60)[0]


def test_a_trace_too_large_for_a_page_is_left_out(monkeypatch):
    monkeypatch.setattr(perfetto, "MOST_EMBEDDED", 10)
    text = perfetto.perfetto_button(profile_of(*NESTED).chunks())
    assert "Drag the file of the profiler onto https://ui.perfetto.dev" in text
    assert "base64" not in text
