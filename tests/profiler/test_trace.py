"""The trace: everything that runs, under its name, on its device and thread; in a file that trace viewers open."""

import json
import threading

import pytest

import twofold as mx
from twofold import autograd, gluon, nd, profiler

from tests.devices import fake_gpus
from tests.profiler.conftest import names


def step(net, x):
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()


def test_imperative_operators_are_recorded_by_name(profile):
    x = nd.array([1.0, 2.0, 3.0])

    def run():
        y = x + x
        y = y * 2.0
        nd.dot(y, x)

    events = profile(run)
    assert names(events, "operator") == ["add", "multiply", "dot"]


def test_operators_on_large_arrays_are_recorded_as_a_window_with_its_kernel(profile):
    x = nd.ones((300, 300))
    x.wait_to_read()
    events = profile(lambda: (x * 2 + x).sum().asnumpy())
    (flush,) = [e for e in events if e.get("cat") == "window"]
    assert flush["args"]["operations"] == 3
    assert names(events, "program") == ["window"]
    assert names(events, "kernel") == ["multiply_add_sum"]
    (kernel,) = [e for e in events if e.get("cat") == "kernel"]
    assert kernel["args"]["bytes"] == 300 * 300 * 4 + 4  # x is read, and the sum written
    assert flush["ts"] <= kernel["ts"]
    assert kernel["ts"] + kernel["dur"] <= flush["ts"] + flush["dur"]


def test_recorded_operators_and_their_backward_are_recorded(profile):
    x = nd.array([1.0, 2.0])
    x.attach_grad()

    def run():
        with autograd.record():
            y = (x * x).sum()
        y.backward()

    for _ in range(3):  # interpreted, compiled, and on the fast path
        events = profile(run)
        assert names(events, "operator")[:2] == ["multiply", "sum"]
        assert names(events, "program") == ["backward"]


def test_a_hybridized_block_is_one_program_with_its_operators(profile):
    net = gluon.nn.Dense(3)
    net.initialize()
    net.hybridize()
    x = nd.ones((2, 4))
    net(x)
    for _ in range(3):
        events = profile(lambda: net(x))
        (program,) = [e for e in events if e.get("cat") == "program"]
        assert program["name"].startswith("graph dense")
        assert "matmul" in names(events, "operator")


def test_an_executor_is_forward_and_backward(profile):
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4)
    executor = net.simple_bind(mx.cpu(), x=(2, 3))

    def run():
        executor.forward(is_train=True)
        executor.backward()

    events = profile(run)
    assert names(events, "program") == ["forward", "backward"]
    assert "matmul" in names(events, "operator")


def test_module_training_is_recorded(profile):
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4), name="softmax")
    module = mx.mod.Module(net)
    data = mx.io.NDArrayIter(nd.ones((8, 3)), nd.zeros((8,)), batch_size=4)
    events = profile(lambda: module.fit(data, num_epoch=1))
    found = names(events, "program")
    assert found.count("forward") == found.count("backward") == 2


def test_a_compiled_symbol_is_recorded(profile):
    f = mx.compile(mx.sym.Variable("a") * 3)
    events = profile(lambda: f(a=nd.ones((2,))))
    assert names(events, "program")[-1] == "compiled"
    assert names(events, "compile")[-1] == "compiled"


def test_devices_are_processes_with_copies_between_them(profile):
    with fake_gpus(2, "issue") as (first, second):

        def run():
            a = nd.ones((8,), ctx=first)
            b = (a + 1).as_in_context(second)
            (b * 2).asnumpy()

        events = profile(run)
    process = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names(events, "copy") == ["gpu(0) to gpu(1)"]
    (copy,) = [e for e in events if e.get("cat") == "copy"]
    assert copy["args"]["bytes"] == 32
    where = [process[e["pid"]] for e in events if e.get("cat") == "window"]
    assert where == ["gpu/0", "gpu/1"]


def test_a_graph_over_two_devices_is_shown_on_both(profile):
    with fake_gpus(2, "issue") as (first, second):
        with mx.AttrScope(ctx_group="left"):
            a = mx.sym.Variable("a") * 2
        with mx.AttrScope(ctx_group="right"):
            net = a + 1
        executor = net.simple_bind(first, group2ctx={"left": first, "right": second}, a=(4,))
        events = profile(lambda: executor.forward()[0].asnumpy())
    process = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert [process[e["pid"]] for e in events if e.get("cat") == "program" and e["name"] == "forward"] == ["gpu/0", "gpu/1"]


def test_naive_execution_is_shown_on_its_device(profile, monkeypatch):
    monkeypatch.setattr("twofold.config.SETTINGS.engine", "naive")
    with fake_gpus(2, "issue") as (_, second):
        x = nd.ones((4,), ctx=second)
        events = profile(lambda: x + x)
    process = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert {process[e["pid"]] for e in events if e.get("cat") == "operator"} == {"gpu/1"}


def test_threads_have_their_names(profile):
    x = nd.ones((3,))

    def run():
        workers = [threading.Thread(target=lambda: [x + x for _ in range(50)], name=f"worker {k}") for k in range(4)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()

    events = profile(run)
    name = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    found = [name[e["pid"], e["tid"]] for e in events if e.get("cat") == "operator"]
    assert {w: found.count(w) for w in set(found)} == {f"worker {k}": 50 for k in range(4)}


def test_the_file_is_a_chrome_trace(profile, tmp_path):
    profile(lambda: nd.ones((3,)) + 1)
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    assert trace["displayTimeUnit"] == "ms"
    for event in trace["traceEvents"]:
        assert {"name", "ph", "pid"} <= set(event)
        assert event["ph"] in "XBEbeCiM"
        assert event["ph"] == "M" or event["ts"] > 0
        assert event["ph"] != "X" or event["dur"] >= 0


def test_disabled_categories_are_not_recorded(profile):
    executor = (mx.sym.Variable("a") * 2).simple_bind(mx.cpu(), a=(2,))
    x = nd.ones((2,))

    def run():
        executor.forward()
        x + x

    chosen = {"profile_all": False, "profile_memory": False}
    symbolic = profile(run, profile_imperative=False, **chosen)
    assert (names(symbolic, "program"), names(symbolic, "operator")) == (["forward"], ["multiply"])
    imperative = profile(run, profile_symbolic=False, **chosen)
    assert (names(imperative, "program"), names(imperative, "operator")) == ([], ["add"])
    assert not [e for e in symbolic + imperative if e["ph"] == "C"]


def test_a_failure_is_recorded_with_its_error(profile):
    class Broken(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise ValueError("no")

    @mx.operator.register("broken_for_the_profiler")
    class BrokenProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Broken()

    def run():
        with pytest.raises(mx.MXNetError):
            nd.Custom(nd.ones((2,)), op_type="broken_for_the_profiler").asnumpy()

    events = profile(run)
    assert any("error" in e.get("args", {}) for e in events)


def test_a_finished_trace_is_followed_by_a_new_one(profile):
    x = nd.ones((3,))
    first = profile(lambda: x + x)
    second = profile(lambda: x * x)
    assert (names(first, "operator"), names(second, "operator")) == (["add"], ["multiply"])


def test_an_unfinished_trace_continues(profile, tmp_path):
    path, x = tmp_path / "trace.json", nd.ones((3,))
    profiler.set_config(filename=str(path), continuous_dump=False)
    for function in (lambda: x + x, lambda: x * x):
        profiler.set_state("run")
        function()
        profiler.dump(finished=False)
        profiler.set_state("stop")
    assert names(json.loads(path.read_text(encoding="utf-8"))["traceEvents"], "operator") == ["add", "multiply"]


def test_the_trace_is_written_periodically(profile, tmp_path):
    path = tmp_path / "often.json"
    profiler.set_config(filename=str(path), dump_period=0.01)
    profiler.set_state("run")
    nd.ones((3,)) + 1
    waited = threading.Event()
    for _ in range(1000):
        if path.exists():
            break
        waited.wait(0.01)
    assert json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    profiler.set_state("stop")
    assert not [t for t in threading.enumerate() if t.name == "twofold-profiler"]
