"""``twofold launch --ray``: when a job is started, started again and given up, and a real cluster of Ray on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from twofold.command import main
from twofold.command.elastic import End, Limits, Observation, Policy, Start, Stop, supervise
from twofold.command.hosts import Host
from twofold.command.ray_slots import RaySlots, SlotRequest

PROGRAM = Path(__file__).parents[1] / "cluster" / "programs" / "resuming.py"


def running(limits: Limits, slots: int, checkpoint: str = "") -> Policy:
    """A policy whose job was started at 0 with all slots that there are."""
    policy = Policy(limits)
    assert isinstance(policy.decide(-limits.wait, Observation(slots, checkpoint=checkpoint)), Start | None)
    if not policy._workers:
        assert isinstance(policy.decide(0, Observation(slots, checkpoint=checkpoint)), Start)
    return policy


def test_it_starts_with_all_workers_at_once() -> None:
    assert Policy(Limits(4, 2, servers=1)).decide(0, Observation(5)) == Start(4)
    assert Policy(Limits(4, 2)).decide(0, Observation(9)) == Start(4)


def test_it_waits_for_all_before_it_starts_with_fewer() -> None:
    policy = Policy(Limits(4, 2, servers=1, wait=30))
    assert policy.decide(100, Observation(4)) is None
    assert policy.decide(129.9, Observation(4)) is None
    assert policy.decide(130, Observation(4)) == Start(3)


def test_it_gives_up_if_the_fewest_do_not_come() -> None:
    policy = Policy(Limits(4, 2, servers=1, wait=30))
    assert policy.decide(0, Observation(2)) is None
    assert policy.decide(299, Observation(2)) is None
    assert policy.decide(300, Observation(2)) == End(1, "given up: in 300 seconds only 2 of at least 3 slots were found")


def test_success_ends_it() -> None:
    assert running(Limits(2, 2), 2).decide(5, Observation(2, status=0)) == End(0)


def test_a_killed_process_starts_the_job_again_at_once_with_as_many() -> None:
    policy = running(Limits(4, 2), 3)
    assert policy.decide(5, Observation(3, status=137, checkpoint="a")) == Start(3)  # it does not wait for the fourth once more


def test_a_lost_slot_ends_the_job_which_waits_for_another() -> None:
    policy = running(Limits(2, 1, wait=30), 2)
    assert policy.decide(5, Observation(1, is_lost=True)) == Stop("a slot is lost")
    assert policy.decide(6, Observation(1, is_lost=True)) is None  # once is enough
    assert policy.decide(7, Observation(1, is_lost=True, status=143)) is None
    assert policy.decide(20, Observation(2)) == Start(2)


def test_after_waiting_it_goes_on_with_those_that_are_left() -> None:
    policy = running(Limits(2, 1, wait=30), 2)
    assert policy.decide(7, Observation(1, is_lost=True, status=143)) is None
    assert policy.decide(36, Observation(1)) is None
    assert policy.decide(37, Observation(1)) == Start(1)


def test_it_grows_at_the_next_checkpoint_and_not_before() -> None:
    policy = running(Limits(4, 1, wait=30), 2)
    assert policy.decide(1, Observation(2, checkpoint="a")) is None
    assert policy.decide(2, Observation(3, checkpoint="a")) is None
    assert policy.decide(3, Observation(3, checkpoint="b")) == Stop("3 workers can go on instead of 2")
    assert policy.decide(4, Observation(3, checkpoint="b")) is None
    assert policy.decide(5, Observation(4, checkpoint="b", status=143)) == Start(4)  # another has come meanwhile


def test_it_does_not_grow_beyond_what_was_asked_for() -> None:
    policy = running(Limits(2, 1, servers=1), 3)
    assert policy.decide(2, Observation(9, checkpoint="b")) is None


def test_a_job_that_has_succeeded_while_it_was_to_grow_is_done() -> None:
    policy = running(Limits(4, 1, wait=30), 2)
    assert isinstance(policy.decide(3, Observation(3, checkpoint="b")), Stop)
    assert policy.decide(4, Observation(3, checkpoint="b", status=0)) == End(0)


def test_retries_are_counted_from_the_last_new_checkpoint() -> None:
    policy = running(Limits(2, 2, retries=2), 2)
    for k in range(10):
        assert policy.decide(k, Observation(2, status=137, checkpoint=f"step-{k}")) == Start(2)  # it gets on
    assert policy.decide(11, Observation(2, status=137, checkpoint="step-9")) == Start(2)
    assert policy.decide(12, Observation(2, status=1, checkpoint="step-9")) == End(
        1, "given up after 3 failures in a row without a new checkpoint"
    )


def test_no_retries() -> None:
    policy = running(Limits(2, 2, retries=0), 2)
    assert policy.decide(1, Observation(2, status=137, checkpoint="a")) == End(
        137, "given up after 1 failure in a row without a new checkpoint"
    )


def test_growing_is_no_failure() -> None:
    policy = running(Limits(2, 1, retries=0, wait=30), 1)
    assert isinstance(policy.decide(3, Observation(2, checkpoint="b")), Stop)
    assert policy.decide(4, Observation(2, checkpoint="b", status=143)) == Start(2)


@pytest.mark.parametrize(
    ("view", "is_final"),
    [
        (Observation(2, status=1), True),  # an error in the program, which it would raise again
        (Observation(2, status=1, checkpoint="a"), False),
        (Observation(2, status=137), False),
        (Observation(2, status=14), False),  # Open MPI's, after a process of another machine was killed
        (Observation(2, is_lost=True, status=1), False),
    ],
)
def test_a_program_that_fails_before_its_first_checkpoint_is_not_started_again(view: Observation, is_final: bool) -> None:
    assert isinstance(running(Limits(2, 2), 2).decide(5, view), End) == is_final


class FakeSlots:
    """Slots of this machine, whose numbers are as a test says. Losing one is noticed when it is checked."""

    def __init__(self, count: int) -> None:
        self.count, self.used, self.checks = count, 0, 0

    def hosts(self) -> list[Host]:
        return [Host("localhost", self.count)]

    def use(self, count: int) -> tuple[list[Host], Mapping[str, str]]:
        self.used = count
        return [Host("localhost", count)], os.environ

    def is_lost(self) -> bool:
        return self.used > self.count

    def check(self) -> None:
        self.checks += 1

    def attend(self) -> None:
        pass


def job(text: str) -> Any:
    """What starts a program given as text, with the number of its workers as the argument."""

    def command(workers: int, hosts: Sequence[Host]) -> list[str]:
        return [sys.executable, "-S", "-c", text, str(workers), ",".join(f"{host.name}:{host.slots}" for host in hosts)]

    return command


def test_a_job_is_run_until_it_succeeds(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = f"""
import os, sys
done = len(os.listdir({str(tmp_path)!r}))
open(f"{tmp_path}/{{done}}", "w").close()
open("{tmp_path}/last-checkpoint", "w").write(f"step-{{done}}")
print(sys.argv[1:], flush=True)
if done < 3: os.kill(os.getpid(), 9)
"""
    slots = FakeSlots(3)
    assert supervise(Limits(2, 1, servers=1), slots, tmp_path, job(text)) == 0
    out, err = capfd.readouterr()
    assert out.splitlines() == ["['2', 'localhost:3']"] * 3
    assert err.splitlines() == ["launch: started again with 2 of 2 workers"] * 2
    assert slots.checks == 2  # after each failure


def test_a_failure_for_good_says_which_checkpoint_there_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = f"open('{tmp_path}/last-checkpoint', 'w').write('step-7'); raise SystemExit(3)"
    assert supervise(Limits(1, 1, retries=1), FakeSlots(1), tmp_path, job(text)) == 3
    last = "launch: given up after 2 failures in a row without a new checkpoint; last checkpoint: step-7"
    assert capfd.readouterr().err.splitlines()[-1] == last


def test_a_lost_slot_ends_the_job_that_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = "import sys, time; sys.argv[1] == '1' and sys.exit(); print('first', flush=True); time.sleep(60)"
    slots = FakeSlots(2)
    threading.Timer(0.5, lambda: setattr(slots, "count", 1)).start()
    assert supervise(Limits(2, 1, wait=0.2), slots, tmp_path, job(text)) == 0
    err = capfd.readouterr().err.splitlines()
    assert err == [
        "launch: a slot is lost: the job is ended, and started again from the beginning",
        "launch: started again with 1 of 2 workers",
    ]


class LosesOne(FakeSlots):
    """Slots one of which is lost, which is found out only when they are checked."""

    def check(self) -> None:
        super().check()
        self.count = 1


def test_an_error_that_a_lost_slot_has_caused_is_not_the_programs_own(tmp_path: Path) -> None:
    text = "import sys; sys.exit(sys.argv[1] == '2')"
    slots = LosesOne(2)
    assert supervise(Limits(2, 1, wait=0.2), slots, tmp_path, job(text)) == 0
    assert (slots.checks, slots.used) == (1, 1)


def test_an_interrupt_ends_the_job(tmp_path: Path) -> None:
    text = f"import os, time; os.kill({os.getpid()}, 15); time.sleep(60)"
    before = time.monotonic()
    assert supervise(Limits(1, 1), FakeSlots(1), tmp_path, job(text)) == 128 + signal.SIGTERM
    assert time.monotonic() - before < 30
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL  # as it was


def test_an_interrupt_before_the_job_has_a_process_ends_the_job(tmp_path: Path) -> None:
    def command(*_: object) -> list[str]:
        os.kill(os.getpid(), signal.SIGTERM)
        return [sys.executable, "-S", "-c", "import time; time.sleep(60)"]

    before = time.monotonic()
    assert supervise(Limits(1, 1), FakeSlots(1), tmp_path, command) == 128 + signal.SIGTERM
    assert time.monotonic() - before < 30


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--ray", "local", "--hosts", "a:2"], "--ray and --hosts exclude each other"),
        (["--ray", "local", "--ft"], "--ray and --ft exclude each other"),
        (["--ray", "local", "--min", "3"], "--min 3 is more than -n 2"),
        (["--min", "1"], "--min needs --ray"),
        (["--gpus", "1"], "--gpus needs --ray"),
    ],
)
def test_options_that_have_no_meaning_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], error: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").touch()
    with pytest.raises(SystemExit, match="2"):
        main(["launch", "-n", "2", *words, "program.py"])
    assert error in capsys.readouterr().err.splitlines()[-1]


def test_without_ray_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "program.py").touch()
    assert main(["launch", "--ray", "auto", "-n", "2", "program.py"]) != 0
    assert capsys.readouterr().err.endswith("run: pip install 'twofold[ray]'\n")


def test_an_address_at_which_nobody_listens_is_an_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", object())  # it is not asked
    (tmp_path / "program.py").touch()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and does not listen
        assert main(["launch", "--ray", f"127.0.0.1:{free.getsockname()[1]}", "-n", "2", "program.py"]) == 2
    assert "--ray: nobody listens there" in capsys.readouterr().err


class FakeRay:
    """What `RaySlots` uses of Ray. Actors answer at once; ``addresses`` are the machines on which they start, one after the other."""

    class exceptions:
        """Ray's module of this name."""

        RayActorError = ConnectionError

    class util:
        """Ray's module of this name."""

        @staticmethod
        def get_node_ip_address() -> str:
            return "10.0.0.1"

    def __init__(self, addresses: Sequence[str]) -> None:
        self.addresses, self.runs, self.files = list(addresses), list[tuple[str, str]](), dict[str, str]()

    def remote(self, _: type) -> Any:
        return self

    def options(self, **_: object) -> Any:
        ray = self

        class Maker:
            @staticmethod
            def remote() -> FakeActor:
                return FakeActor(ray, ray.addresses.pop(0) if ray.addresses else "")

        return Maker

    def wait(self, promised: list[Any], num_returns: int = 1, timeout: float = 0) -> tuple[list[Any], list[Any]]:
        ready = [promise for promise in promised if promise.is_ready()]
        return ready, [promise for promise in promised if promise not in ready]

    def get(self, promised: Any) -> Any:
        return promised.value()

    def kill(self, actor: FakeActor) -> None:
        actor.address = ""


class Promise:
    def __init__(self, is_ready: Any, value: Any) -> None:
        self.is_ready, self.value = is_ready, value


class FakeActor:
    def __init__(self, ray: FakeRay, address: str) -> None:
        self.ray, self.address, self.is_dead, self.is_frozen = ray, address, False, False

    def __getattr__(self, name: str) -> Any:
        return type("Method", (), {"remote": staticmethod(lambda *given: getattr(self, f"_{name}")(*given))})

    def _where(self) -> Promise:
        return Promise(lambda: bool(self.address), lambda: (self.address, ["3"]))

    def _hold(self) -> Promise:
        return Promise(lambda: self.is_dead, None)

    def _read(self, path: str) -> Promise:
        return Promise(lambda: not (self.is_dead or self.is_frozen), lambda: self.ray.files.get(path, ""))

    def _run(self, command: str, variables: Mapping[str, str], folder: str) -> None:
        self.ray.runs.append((self.address, f"{command} {variables['CUDA_VISIBLE_DEVICES']}"))

    def _remove(self, folder: str) -> Promise:
        self.ray.runs.append((self.address, "remove"))
        return Promise(lambda: True, None)


def slots_on(folder: Path, *addresses: str, count: int = 3) -> tuple[RaySlots, FakeRay]:
    ray = FakeRay(addresses)
    return RaySlots(ray, SlotRequest(count, gpus=1), folder), ray


def test_slots_are_counted_by_machine_and_this_one_is_first(tmp_path: Path) -> None:
    slots, _ = slots_on(tmp_path, "10.0.0.2", "10.0.0.1", "10.0.0.2", count=4)
    assert slots.hosts() == [Host("10.0.0.1", 1), Host("10.0.0.2", 2)]
    hosts, variables = slots.use(2)
    assert hosts == [Host("10.0.0.1", 1), Host("10.0.0.2", 1)]
    assert variables["CUDA_VISIBLE_DEVICES"] == "3"


def test_a_job_that_fits_on_this_machine_runs_on_localhost(tmp_path: Path) -> None:
    slots, _ = slots_on(tmp_path, "10.0.0.1", "10.0.0.1", "10.0.0.2")
    hosts, variables = slots.use(2)
    assert hosts == [Host("localhost", 2)]
    assert variables["CUDA_VISIBLE_DEVICES"] == "3,3"


def test_a_slot_whose_actor_dies_is_asked_for_again(tmp_path: Path) -> None:
    slots, ray = slots_on(tmp_path, "10.0.0.1", "10.0.0.1", "10.0.0.2")
    slots.use(2)
    slots._slots[2].actor.is_dead = True
    slots.hosts()
    assert not slots.is_lost()  # that one was not in use
    slots._slots[0].actor.is_dead = True
    ray.addresses = ["10.0.0.3"]
    assert slots.hosts() == [Host("10.0.0.1", 1)]  # the new one has not said yet where it is
    assert slots.is_lost()
    assert slots.hosts() == [Host("10.0.0.1", 1), Host("10.0.0.3", 1)]
    slots.use(2)
    assert not slots.is_lost()


def test_a_slot_that_goes_between_the_decision_and_the_start_is_a_lost_one(tmp_path: Path) -> None:
    slots, _ = slots_on(tmp_path, "10.0.0.1", "10.0.0.1", "10.0.0.2")
    assert sum(host.slots for host in slots.hosts()) == 3
    slots._slots[2].actor.is_dead = True
    slots.use(3)
    assert slots.is_lost()  # so that the failure to start is not taken for the program's own


def test_a_machine_that_does_not_answer_is_given_up_when_it_is_checked(tmp_path: Path) -> None:
    slots, _ = slots_on(tmp_path, "10.0.0.1", "10.0.0.1", "10.0.0.2")
    slots.use(3)
    slots._slots[2].actor.is_frozen = True
    slots.hosts()
    assert not slots.is_lost()
    slots.check()
    assert slots.is_lost()


def test_open_mpi_starts_its_daemons_by_actors(tmp_path: Path) -> None:
    slots, ray = slots_on(tmp_path, "10.0.0.1", "10.0.0.2", "10.0.0.2")
    _, variables = slots.use(3)
    starter = variables["PRTE_MCA_plm_ssh_agent"]
    subprocess.run([starter, "10.0.0.2", "A=1;export A;prted", "--x", '"a b"'], check=True)
    slots.attend()
    slots.attend()  # what was asked for is done once
    assert ray.runs == [("10.0.0.2", 'A=1;export A;prted --x "a b" 3,3')]
    subprocess.run([starter, "10.0.0.9", "prted"], check=True)
    slots.attend()
    assert slots.is_lost()  # Open MPI would wait for ever for a machine that has gone


def test_the_note_of_the_last_checkpoint_comes_from_the_machine_of_worker_0(tmp_path: Path) -> None:
    slots, ray = slots_on(tmp_path, "10.0.0.2", "10.0.0.2", "10.0.0.3")
    slots.use(2)
    ray.files[str(tmp_path / "last-checkpoint")] = "step-3"
    slots.attend()
    assert (tmp_path / "last-checkpoint").read_text() == "step-3"
    slots.close()
    assert ray.runs == [("10.0.0.2", "remove"), ("10.0.0.3", "remove")] or ray.runs == [("10.0.0.3", "remove"), ("10.0.0.2", "remove")]


def test_a_note_that_an_earlier_run_has_left_replaces_no_newer_one(tmp_path: Path) -> None:
    slots, ray = slots_on(tmp_path, "10.0.0.2", "10.0.0.3", count=2)
    there, here = str(tmp_path / "last-checkpoint"), tmp_path / "last-checkpoint"
    slots.use(2)
    ray.files[there] = "step-1"
    slots.attend()
    slots._slots[0].actor.is_frozen = True  # an answer that is on its way when worker 0 moves
    slots.attend()
    # worker 0 was on another machine, where it wrote step-2, and comes back to one that has the note of step-1
    here.write_text("step-2")
    slots._slots[0].actor.is_frozen = False
    slots.use(2)
    for _ in range(3):
        slots.attend()
        assert here.read_text() == "step-2"
    ray.files[there] = "step-3"
    slots.attend()
    assert here.read_text() == "step-3"


def launched(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "twofold", "launch", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def weights(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as found:
        return dict(found)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="the extra ray is not installed: pip install 'twofold[ray]'")
def test_on_a_local_ray_a_killed_worker_is_started_again_and_ends_as_a_run_resumed_by_hand(tmp_path: Path) -> None:
    found = launched(tmp_path, "--ray", "local", "-n", 2, PROGRAM, tmp_path / "ray", 5, 2)
    assert found.returncode == 0, found.stderr
    assert "last checkpoint: " in found.stderr
    assert "launch: started again with 2 of 2 workers" in found.stderr
    for steps in (2, 5):
        assert launched(tmp_path, "-n", 2, PROGRAM, tmp_path / "hand", steps, 0).returncode == 0
    ray, hand = (weights(tmp_path / name / "after-2.npz") for name in ("ray", "hand"))
    assert ray.keys() == hand.keys()
    assert all(np.array_equal(ray[name], hand[name]) for name in hand)
