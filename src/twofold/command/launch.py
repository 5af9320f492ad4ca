"""``twofold launch -n 4 train.py …``: run a program in several processes, on this machine or on others, by MPI.

Every process runs ``twofold run`` with the program, so that ``import mxnet`` imports Twofold. The output of all processes is one log, in
which each line begins with the name of its process. The arguments of MXNet's ``launch.py`` work too.
"""

import argparse
import os
import re
import secrets
import signal
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from ..config import SETTINGS
from ..errors import LaunchError, ParameterError
from ..launcher_notes import FINISHED, FOLDER, last_checkpoint
from ..plurals import counted
from ..stopped_process import TELL
from . import elastic
from .arguments import count, positive_integer, valued_options
from .attendance import Attendance
from .host_checks import alive_options, check_machines, fewest_threads, relay_options
from .hosts import Host, check_names, hosts_of, hosts_of_file, is_local
from .main_module import of_script, split_at_program
from .merged_log import Ended, run_labelled, say
from .mpi import THREADS, Engine, Job, check_timeout, engine, threads_each
from .mpi_job import mpi_job
from .plan_arguments import add_plan_arguments, check_plan_arguments
from .slurm import allocated_hosts, check_pmix, cores_each, explained, is_allocation

#: Sums over workers in the drawing: enough to see how steps repeat. The trace has all of them.
DRAWN = 24
#: Seconds to wait for the names of pods, which Kubernetes makes at the same time as the launcher's.
PODS = 300.0
PYTHON = re.compile(r"python[\d.]*(?:\.exe)?")
CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
#: Options that an MPIJob cannot honour: the operator chooses the machines, and the pods share no folder in which traces would meet.
NOT_IN_PODS = ("hosts", "hostfile", "trace", "plan", "launcher")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the program's arguments, up to those of the script, module or code."""
    parser.usage = "twofold launch -n WORKERS [options] [SCRIPT | -m MODULE | -c CODE] [argument ...]"
    add = parser.add_argument
    add("-n", "--workers", "--num-workers", dest="workers", type=positive_integer, metavar="N", help="number of workers")
    add("-s", "--servers", "--num-servers", dest="servers", type=count, metavar="N", help="number of servers (default: none)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--hosts", metavar="A:2,B:2", help="machines, and how many processes each runs (default: this one)")
    where.add_argument("-H", "--hostfile", metavar="FILE", help="a file of machines, one a line: name, name:2 or name slots=2")
    add("--iface", metavar="NAME", help="network interface that carries the data, such as eth1")
    add("--ft", action="store_true", help="go on after a process has died, where the store can (Open MPI only)")
    add("--spares", type=count, default=0, metavar="N", help="with --ft: processes that take the places of dead workers at epoch ends")
    add("--allow", action="append", default=[], metavar="MODULE:CLASS", help="an optimizer of your own that servers may run; repeatable")
    add("--trace", metavar="FILE", help="write a trace of all processes, for ui.perfetto.dev, and a drawing beside it: FILE.svg")
    add("--k8s", action="store_true", help="print an MPIJob for Kubernetes instead of starting anything")
    add("--image", metavar="NAME", help="with --k8s: the image of the containers")
    add("--launcher", choices=["local", "ssh", "mpi", "slurm", "sge", "yarn"], help=argparse.SUPPRESS)
    add("--sync-dst-dir", help=argparse.SUPPRESS)
    add("--supervised", metavar="FOLDER", help=argparse.SUPPRESS)  # an elastic job's notes; ends when standard input does
    elastic.add_arguments(parser)
    add_plan_arguments(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-m", dest="module", metavar="MODULE", help="run a module, as python -m does")
    what.add_argument("-c", dest="code", metavar="CODE", help="run code, as python -c does")
    what.add_argument("script", nargs="?", help="a Python file")


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The launcher's words, up to the script or the word after ``-m`` or ``-c``, and the program's own arguments.

    Parameters
    ----------
    words
        The words after ``launch`` on the command line. A ``python`` before the script, as in the command lines of MXNet's ``launch.py``,
        is left out.
    """
    own, arguments = split_at_program(words, valued_options(add_arguments))
    if own and PYTHON.fullmatch(os.path.basename(own[-1])):
        more, arguments = split_at_program(arguments, ())
        # the words after `python` are parsed again: they may be `-m` and a module
        own[-1:] = more
    return own, arguments


def execute(given: argparse.Namespace) -> int:
    """Start the processes, show their output, and wait for them.

    Parameters
    ----------
    given
        The parsed arguments.

    Returns
    -------
    int
        0 if all processes succeeded, else the status of the one that failed first.

    Raises
    ------
    LaunchError
        If nothing can be started.
    """
    _answer_old_launchers(given)
    elastic.check(given)
    _check_options(given)
    if given.plan:
        from .plan import print_plan  # here, as symbols and stores take longer to load than the rest

        return print_plan(given)
    program = _program(given)
    hosts = _hosts(given)
    workers, servers = _counts(given, hosts)
    _check_spares(given, workers, servers)
    if not (given.k8s or given.ray):
        _check_interface(given.iface, hosts or allocated_hosts())
    if given.k8s:
        print(mpi_job(workers, servers, given.image, ["twofold", "launch", *_options(given), *program]), end="")
        return 0
    if given.ray:
        return elastic.execute(given, workers, servers, partial(_command, given, servers, program))
    check_names(hosts, PODS if "KUBERNETES_SERVICE_HOST" in os.environ else 0)
    with _folder_of_notes(given) as folder:
        job = Job(workers, servers, hosts or allocated_hosts(), given.iface, given.ft, spares=given.spares)
        found = engine(hosts)
        check_timeout(job)
        machines = check_machines(hosts)
        for remark in filter(None, (machine.remark for machine in machines)):
            say(remark)
        threads = SETTINGS.threads or cores_each(os.environ) or fewest_threads(machines, threads_each(job))
        job = replace(job, variables=_variables(job, threads, given, folder))
        say(f"{_described(job)}, {counted(threads, 'thread')} each; {found.kind} {found.version}".rstrip())
        ended = _judged(job, found, _run(found, job, [sys.executable, "-m", "twofold", "run", *program], Path(folder)), Path(folder))
        if given.trace:
            _write_trace(job, Path(folder), given.trace)
        if ended.status:
            say(_failure(job, ended, Path(folder)))
        return ended.status


def _check_options(given: argparse.Namespace) -> None:
    """Refuse options that would be ignored, or would fail only after the training."""
    if given.image and not given.k8s:
        given.usage_error("--image needs --k8s")
    check_plan_arguments(given)
    for name in NOT_IN_PODS if given.k8s else ("hosts", "hostfile") if given.launcher == "local" else ():
        if getattr(given, name):
            given.usage_error(f"--{'k8s' if given.k8s else 'launcher local'} and --{name} exclude each other")
    for name in given.allow:
        if not CLASS.fullmatch(name):
            raise LaunchError("launch: --allow: not a class", repr(name), "write module:Class")
    if given.trace and not Path(given.trace).absolute().parent.is_dir():
        raise LaunchError("launch: --trace: there is no such folder", str(Path(given.trace).parent), "make it first: mkdir -p")


def _check_interface(name: str | None, hosts: Sequence[Host]) -> None:
    """Check that this machine has the interface if it runs all processes; the interfaces of other machines are not known here.

    A network such as 10.0.0.0/8, which Open MPI accepts in place of an interface, is not checked.
    """
    known = {found for _, found in socket.if_nameindex()}
    if name and known and all(map(is_local, hosts)) and re.fullmatch(r"[\w.-]+", name) and name not in known:
        given = repr(name)
        raise LaunchError("launch: --iface: this machine has no such network interface", given, f"use one of {', '.join(sorted(known))}")


def _answer_old_launchers(given: argparse.Namespace) -> None:
    if given.launcher in ("sge", "yarn"):
        raise LaunchError("launch: unsupported launcher", given.launcher, "start the processes with Slurm, Kubernetes (--k8s) or --hosts")
    if given.launcher == "slurm" and not is_allocation():
        raise LaunchError("launch: --launcher slurm: not inside an allocation of Slurm", None, "make one first: sbatch or salloc")
    if given.sync_dst_dir:
        todo = "copy them first: rsync -r . HOST:DIR, or use a shared folder"
        raise LaunchError("launch: --sync-dst-dir: files are not copied", given.sync_dst_dir, todo)
    role = os.environ.get("DMLC_ROLE")
    if role in ("server", "scheduler"):
        todo = "start all processes at once: twofold launch -n WORKERS -s SERVERS SCRIPT"
        raise LaunchError(f"launch: started as ps-lite's {role} (DMLC_ROLE)", None, todo)


def _program(given: argparse.Namespace) -> list[str]:
    if given.module is not None:
        return ["-m", given.module, *given.arguments]
    if given.code is not None:
        return ["-c", given.code, *given.arguments]
    script: str | None = given.script
    if not script:
        raise LaunchError("launch: no program", None, "pass a script, -m MODULE or -c CODE")
    if not given.k8s:
        of_script(script)  # it must be there before anything starts
    return [script, *given.arguments]


def _hosts(given: argparse.Namespace) -> tuple[Host, ...]:
    if given.hosts:
        return hosts_of(given.hosts)
    if given.hostfile:
        return hosts_of_file(given.hostfile)
    if given.launcher == "local" and is_allocation():
        return (Host("localhost", sum(_counts(given, ())) + given.spares),)
    # Slurm's srun ends all processes when one dies, so that Open MPI has to start them
    return allocated_hosts(must_be_known=True) if given.ft and not (given.k8s or given.ray) else ()


def _counts(given: argparse.Namespace, hosts: Sequence[Host]) -> tuple[int, int]:
    """The numbers of workers and servers: as given, by ps-lite's variables, or to fill the hosts or the allocation."""
    servers = _from_environment("DMLC_NUM_SERVER", 0) if given.servers is None else given.servers
    others = servers + given.spares
    slots = sum(host.slots for host in hosts)
    room = slots or (_from_environment("SLURM_NTASKS", 0) if is_allocation() else 0)
    # servers and spares get their places first, and workers fill the rest
    workers = given.workers or _from_environment("DMLC_NUM_WORKER", max(0, room - others))
    if not workers:
        given.usage_error("pass the number of workers: -n 2")
    if slots and workers + others > slots:
        raise LaunchError(
            "launch: the hosts have too few places",
            f"{workers} workers and {servers} servers{f' and {given.spares} spares' if given.spares else ''} for {slots} places",
            "raise the numbers of --hosts, or of the tasks of Slurm's allocation",
        )
    return workers, servers


def _check_spares(given: argparse.Namespace, workers: int, servers: int) -> None:
    if not given.spares:
        return
    if not given.ft or servers or workers < 2 or given.ray or given.k8s:
        with_what = f"--spares {given.spares}" + " without --ft" * (not given.ft) + f", {workers} workers and {servers} servers"
        todo = "use them with --ft and two workers or more, without servers, --ray and --k8s"
        raise LaunchError("launch: spares take the places of dead workers that sum among themselves", with_what, todo)


def _from_environment(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    if text and not text.isdecimal():
        raise LaunchError(f"launch: {name} is not a number", repr(text), "correct or unset it")
    return int(text) if text else default


def _options(given: argparse.Namespace) -> list[str]:
    """The options to repeat on a command line that runs elsewhere."""
    pairs = [("-n", given.workers), ("-s", given.servers), ("--iface", given.iface), *(("--allow", name) for name in given.allow)]
    return [str(word) for pair in pairs if pair[1] for word in pair] + ["--ft"] * given.ft


def _command(given: argparse.Namespace, servers: int, program: list[str], folder: Path, workers: int, hosts: Sequence[Host]) -> list[str]:
    """The command line that runs an elastic job once, on the machines that it has now."""
    now = argparse.Namespace(**{**vars(given), "workers": workers, "servers": servers})
    places = ",".join(f"{host.name}:{host.slots}" for host in hosts)
    options = [*_options(now), *(["--trace", given.trace] if given.trace else []), "--hosts", places, "--supervised", str(folder)]
    return [sys.executable, "-m", "twofold", "launch", *options, *program]


@contextmanager
def _folder_of_notes(given: argparse.Namespace) -> Iterator[str]:
    if not given.supervised:
        with TemporaryDirectory(prefix="twofold-launch-", ignore_cleanup_errors=True) as folder:
            yield folder
        return

    def end_with_supervisor() -> None:
        # standard input is a pipe from the supervisor: it ends when the supervisor does, even if that was killed
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=end_with_supervisor, daemon=True).start()
    yield given.supervised


def _variables(job: Job, threads: int, given: argparse.Namespace, folder: str) -> dict[str, str]:
    """The environment variables of the processes, besides those of this one."""
    limits = {name: os.environ.get(name, str(threads)) for name in THREADS}
    return {
        "TWOFOLD_WORKERS": str(job.workers),
        "TWOFOLD_SERVERS": str(job.servers),
        "TWOFOLD_SPARES": str(job.spares),
        # a process of another run would connect by mistake where the numbers fit; processes compare this
        "TWOFOLD_JOB": secrets.token_hex(8),
        "TWOFOLD_ALLOW": ",".join(given.allow),
        "TWOFOLD_FAULT_TOLERANT": str(int(job.is_fault_tolerant)),
        FOLDER: folder,
        "PYTHONUNBUFFERED": "1",  # lines appear when they are printed
        # Open MPI's MPI_Finalize may never return if a process has died
        **({"MPI4PY_RC_FINALIZE": "false"} if given.ft else {}),
        **({TELL: "1"} if job.is_fault_tolerant and job.is_remote else {}),
        **({"TWOFOLD_TRACE": folder} if given.trace else {}),
        **limits,
    }


def _run(found: Engine, job: Job, words: Sequence[str], folder: Path) -> Ended:
    # MPI hands the variables on as well; here they are for the launcher of MPI itself, and for processes on this machine
    environment = {**os.environ, **(job.variables or {}), **found.variables(job, folder)}
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # as in containers, where Open MPI would refuse
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if job.is_remote:
        environment |= alive_options()
    attendance = None
    if job.is_remote and job.is_fault_tolerant:
        environment |= relay_options(job.hosts)
        others = [host.name for host in job.hosts if not is_local(host)]
        attendance = Attendance(_machines(job), others, job.workers + job.spares, folder)
    # roles are numbered upwards, so the longest names are those of the first and the last of a role
    width = max(len(_role(job, 0)), len(_role(job, job.processes - 1)), len(_role(job, job.workers - 1)))
    return run_labelled(found.command(job, words), environment, found.label(), lambda rank: _role(job, rank).ljust(width), attendance)


def _judged(job: Job, found: Engine, ended: Ended, folder: Path) -> Ended:
    """How a job ended, where the status of the program that started the processes does not say it."""
    if found.kind == "Slurm":
        check_pmix(ended)
        return explained(ended)
    has_finished = (folder / FINISHED).is_file()
    if job.is_fault_tolerant and not (ended.status or job.is_remote or has_finished):
        return Ended(1, None)  # Open MPI's status is 0 even if all have died
    if job.is_fault_tolerant and ended.is_machine_lost and has_finished:
        say("the connection to a machine has ended; the others have finished")
        return Ended(0, None)
    return ended


def _role(job: Job, rank: int) -> str:
    if rank < job.workers:
        return f"worker {rank}"
    number = rank - job.workers
    return f"server {number}" if number < job.servers else f"spare {number - job.servers}"


def _machines(job: Job) -> list[str]:
    """The machine of each process: Open MPI and MPICH fill them in their order, one that is named twice at the first name."""
    slots = Counter[str]()
    for host in job.hosts:
        slots[host.name] += host.slots
    return list(slots.elements())[: job.processes]


def _place(job: Job, rank: int) -> str:
    """The machine of a process, if there are several."""
    places = _machines(job)
    return f" (on {places[rank]})" if job.is_remote and rank < len(places) else ""


def _described(job: Job) -> str:
    roles = counted(job.workers, "worker") + (f" and {counted(job.servers, 'server')}" if job.servers else "")
    roles += f" and {counted(job.spares, 'spare')}" if job.spares else ""
    return f"{roles} on {', '.join(host.name for host in job.hosts) or 'this machine'}"


def _write_trace(job: Job, folder: Path, filename: str) -> None:
    """Merge the traces of the processes. Processes that wrote nothing are left out: servers, and processes on other file systems."""
    from ..profiler.cluster import merge_traces  # here, as they take longer to load than the rest
    from ..visualization.cluster import plot_cluster

    ranks = [rank for rank in range(job.processes) if (folder / f"{rank}.json").is_file()]
    if not ranks:
        say("no trace: no process has written one into the folder of this machine")
        return
    merge_traces([folder / f"{rank}.json" for rank in ranks], filename, [_role(job, rank) for rank in ranks])
    try:
        drawing = plot_cluster(filename, sums=DRAWN).render(filename)
    except ParameterError:
        drawing = "not drawn, as no process has computed anything"
    say(f"trace of {', '.join(_role(job, rank) for rank in ranks)}: {filename}, {drawing}")


def _failure(job: Job, ended: Ended, folder: Path) -> str:
    if not job.is_fault_tolerant:
        others, alone = "the others were ended", "the processes were ended"
    elif (folder / FINISHED).is_file():
        others = alone = "others have finished"
    else:  # workers on other machines leave no note that they have finished
        others = alone = "all processes have ended" if job.is_remote else "no worker has finished"
    place = f" (on {ended.place})" if ended.place else "" if ended.rank is None else _place(job, ended.rank)
    who = alone if ended.rank is None else f"{_role(job, ended.rank)}{place} failed, and {others}"
    # worker 0 notes it on its own machine
    none = "no checkpoint was written" if all(map(is_local, job.hosts[:1])) else "no checkpoint is known on this machine"
    last = last_checkpoint(folder)
    return f"{who} (status {ended.status}); {f'last checkpoint: {last}' if last else none}"
