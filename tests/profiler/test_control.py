"""The controls: accepted options, pauses, no overhead when off, forks, starting by an environment variable."""

import json
import os
import subprocess
import sys

import pytest

import twofold as mx
from asv_benchmarks.timing import entered as functions_entered
from twofold import nd, profiler
from twofold.opdef.registry import OPS
from twofold.profiler.recorder import RECORDER
from twofold.scheduler import observers

from tests.profiler.conftest import names


def functions_of_places():
    return [place._env[place._key] for place in observers._places if isinstance(place, observers._Place)]


def test_nothing_is_recorded_while_the_profiler_is_off(profile, tmp_path):
    x = nd.ones((3,))
    events = profile(lambda: None)
    x + x
    profiler.dump()
    assert not names(events, "operator")
    assert not names(json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"], "operator")


def test_the_fast_path_is_restored(profile):
    x = nd.ones((3,))
    before, method = functions_of_places(), nd.NDArray.__add__
    entered = functions_entered(lambda: x + x)
    during = []
    profile(lambda: during.extend(functions_of_places()))
    assert not observers.LISTENERS
    assert all(a is b for a, b in zip(before, functions_of_places(), strict=False))
    assert not any(a is b for a, b in zip(before, during, strict=False))
    assert nd.NDArray.__add__ is method
    assert functions_entered(lambda: x + x) == entered
    assert len(entered) == 1


def test_a_function_created_while_profiling_is_recorded_and_restored(profile):
    from twofold.calls.specialise import specialise

    made = []
    x = nd.ones((3,))

    def run():
        made.append(specialise(OPS["add"], nd.NDArray, (int, float), legacy=True, arity=2))
        made[0](x, x)

    assert names(profile(run), "operator") == ["add"]
    assert made[0].__globals__["fn"] is observers._places[-1]._plain
    observers._places.pop()


def test_pause_and_resume(profile):
    x = nd.ones((3,))

    def run():
        x + x
        profiler.pause()
        assert profiler.state() == "run"
        assert not observers.LISTENERS
        x * x
        profiler.resume()
        x - x

    assert names(profile(run), "operator") == ["add", "subtract"]
    profiler.resume()
    assert not observers.LISTENERS  # the profiler is stopped


def test_starting_or_stopping_twice_has_no_further_effect(profile):
    x = nd.ones((3,))

    def run():
        profiler.set_state("run")
        x + x
        profiler.set_state("stop")
        profiler.set_state("stop")

    assert names(profile(run), "operator") == ["add"]


def test_a_failing_operator_still_takes_the_general_path(profile):
    def run():
        with pytest.raises(mx.MXNetError):
            nd.ones((3,)) + nd.ones((4,))

    profile(run)


@pytest.mark.parametrize(
    "given", [{"bogus": 1}, {"profile_all": "no"}, {"profile_all": 2}, {"dump_period": 0}, {"dump_period": "x"}, {"filename": 3}]
)
def test_an_unknown_keyword_is_rejected_and_changes_nothing(given):
    before = dict(vars(RECORDER.config))
    with pytest.raises(mx.MXNetError):
        profiler.set_config(profile_symbolic=False, **given)
    assert vars(RECORDER.config) == before


@pytest.mark.parametrize("value", [True, 1, "1", "true"])
def test_booleans_as_mxnet_takes_them(value, profile):
    profiler.set_config(profile_all=value)
    assert RECORDER.config.profile_all is True


def test_omitted_keywords_get_their_defaults(profile):
    profiler.set_config(aggregate_stats=True)
    profiler.set_config(profile_all=True)
    assert RECORDER.config.aggregate_stats is False


@pytest.mark.parametrize(
    "call",
    [
        lambda: profiler.set_state("bogus"),
        lambda: profiler.set_state("run", profile_process="bogus"),
        lambda: profiler.set_state("run", profile_process="server"),
        lambda: profiler.set_config(profile_process="server"),
        lambda: profiler.pause("server"),
        lambda: profiler.dumps(format="xml"),
        lambda: profiler.dumps(sort_by="foo"),
    ],
)
def test_an_invalid_value_is_rejected(call):
    with pytest.raises(mx.MXNetError):
        call()
    assert profiler.state() == "stop"


def test_the_servers_of_a_store_get_the_controls():
    class Store:
        def send_command_to_servers(self, head, body):
            sent.append(json.loads(body))

    sent, store = [], Store()
    profiler.set_kvstore_handle(store)
    profiler.set_config(filename="a.json", profile_process="server")
    profiler.set_state("run", profile_process="server")
    profiler.pause("server")
    profiler.resume("server")
    profiler.dump(False, "server")
    assert sent == [
        ["set_config", {"filename": "a.json"}],
        ["set_state", {"state": "run"}],
        ["pause", {}],
        ["resume", {}],
        ["dump", {"finished": False}],
    ]
    assert profiler.state() == "stop"  # here nothing changed
    with pytest.raises(mx.MXNetError, match="Cannot find argument"):
        profiler.set_config(bogus=1, profile_process="server")
    profiler.set_kvstore_handle(None)
    with pytest.raises(mx.MXNetError, match="no server process"):
        profiler.dump(profile_process="server")


def test_dump_before_any_run_raises(profile):
    with pytest.raises(mx.MXNetError, match="hasn't been run"):
        profiler.dump()


def test_deprecated_names_say_so_and_work(tmp_path, profile):
    path = tmp_path / "old.json"
    with pytest.warns(UserWarning, match=r"profiler_set_config\(\) is deprecated. Please use profiler.set_config\(\)"):
        profiler.profiler_set_config("all", str(path))
    with pytest.warns(UserWarning, match="profiler_set_state"):
        profiler.profiler_set_state("run")
    nd.ones((3,)) + 1
    with pytest.warns(UserWarning, match="profiler_set_state"):
        profiler.profiler_set_state("stop")
    with pytest.warns(UserWarning, match="dump_profile"):
        profiler.dump_profile()
    assert json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    with pytest.warns(UserWarning, match="deprecated"), pytest.raises(mx.MXNetError, match="Cannot find argument 'profile_bogus'"):
        profiler.profiler_set_config("bogus")


def test_an_environment_variable_starts_profiling_and_exit_writes_the_trace(tmp_path):
    code = "import twofold as mx\nx = mx.nd.ones((3,))\nx + x"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "MXNET_PROFILER_AUTOSTART": "1"}, check=True, timeout=120)
    events = json.loads((tmp_path / "profile.json").read_text(encoding="utf-8"))["traceEvents"]
    assert "add" in names(events, "operator")


def test_a_forked_child_does_not_record(profile):
    x = nd.ones((3,))

    def run():
        child = os.fork()
        if child == 0:
            os._exit(0 if not observers.LISTENERS and profiler.state() == "stop" and (x + x)[0].asscalar() == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
        x * x

    assert names(profile(run), "operator") == ["multiply"]


def test_other_listeners_keep_receiving_events(profile):
    heard = []

    class Ear:
        def happened(self, event):
            heard.append(event.name)

        def allocated(self, arrays, device):
            heard.append(device)

    ear, x = Ear(), nd.ones((3,))
    observers.listen(ear)
    try:
        profile(lambda: None)
        x + x
    finally:
        observers.forget(ear)
    x * x
    assert heard == ["add", mx.cpu()]


def test_results_are_the_same_while_profiling(profile):
    x = nd.array([0.1, 0.7, 2.5])
    want = (x * x + 2.5).exp().asnumpy()
    found = []
    profile(lambda: found.append((x * x + 2.5).exp().asnumpy()))
    assert found[0].tobytes() == want.tobytes()
