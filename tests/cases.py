"""Many cases in one test: `each` reads like ``pytest.mark.parametrize``, but one test of pytest runs a whole group of cases.

Collecting, starting and reporting a test costs more than most cases do. A test that fails names each of its cases that failed, by
the name that the case would have as a test of its own. ``--case TEXT`` runs only cases whose names hold the text.

Fixtures are made once for all cases of a test: what a case patches through ``monkeypatch`` is still patched for the next. A case that
patches something does so in ``with monkeypatch.context() as patch``, or is a test of its own.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, NamedTuple

import pytest

Test = Callable[..., None]


class Group(NamedTuple):
    """Cases that one test runs: by their names, the arguments of the test's function."""

    title: str
    marks: tuple[Any, ...]
    cases: dict[str, tuple[Any, ...]]


def later_in_ci(values: Iterable[Any], kept: int = 1) -> list[Any]:
    """The values of a parameter: `make test` takes the first ``kept``, and CI takes all."""
    given = list(values)
    return given[:kept] + [_in_ci(value) for value in given[kept:]]


def spread_in_ci(values: Iterable[Any], one_in: int = 2) -> list[Any]:
    """The values of a parameter: `make test` takes the first one and every so many after it, and CI takes all."""
    return [value if k % one_in == 0 else _in_ci(value) for k, value in enumerate(values)]


def _in_ci(value: Any) -> Any:
    """A value, the values of several parameters, or a case with a name, for CI alone."""
    if hasattr(value, "marks"):
        return value._replace(marks=[*value.marks, pytest.mark.ci])
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.ci)


#: Which cases are run, and what precedes each: of its name, ``file::function[case]``. `tests.on_gpu` adds its own.
CHOSEN: list[Callable[[str], bool]] = []
BEFORE: list[Callable[[str], None]] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--case``."""
    parser.addoption("--case", help="of tests that run many cases, run only the cases whose names hold this text")


def pytest_configure(config: pytest.Config) -> None:
    """Keep to the cases that ``--case`` names."""
    text = config.getoption("--case")
    if text is not None:
        CHOSEN.append(lambda name: text in name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests without a case that ``--case`` names."""
    if config.getoption("--case") is not None:
        kept = [item for item in items if any(map(is_chosen, names_of(item)))]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many cases the tests ran."""
    reports = [r for found in terminalreporter.stats.values() for r in found if getattr(r, "when", None) == "call"]
    cases = sum(dict(r.user_properties).get("cases", 1) for r in reports)
    if cases > len(reports):
        terminalreporter.write_line(f"{cases} cases in {len(reports)} tests")


def each(names: str, cases: Iterable[Any], by: Callable[..., str] | None = None, ids: Callable[[Any], str] = str, size: int = 50) -> Any:
    """Run a test's function for every case of a group in one test; this is the innermost of several decorators.

    The names, the cases and their ids are those of ``parametrize``. ``by`` gives the title of the group from a case's arguments; by
    default ``size`` cases in a row are a group. Fixtures are set up once for a group.
    """
    arguments = [name.strip() for name in names.split(",")]
    parameters = [case if hasattr(case, "marks") else pytest.param(*(case if len(arguments) > 1 else (case,))) for case in cases]
    groups: dict[str, Group] = {}
    for number, (parameter, name) in enumerate(zip(parameters, _names(parameters, ids), strict=True)):
        title = f"part {number // size}" if by is None else by(*parameter.values)
        title = ", ".join([title, *(mark.name for mark in parameter.marks)])
        group = groups.setdefault(title, Group(title, tuple(parameter.marks), {}))
        group.cases[name] = parameter.values

    def decorate(function: Test) -> Test:
        signature = inspect.signature(function)
        own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("group", "request")]
        fixtures = [p.replace(kind=p.KEYWORD_ONLY) for p in signature.parameters.values() if p.name not in (*arguments, "request")]

        @wraps(function)
        def test(group: Group, request: pytest.FixtureRequest, **given: Any) -> None:
            known = given | ({"request": request} if "request" in signature.parameters else {})
            named = {n: values for n, values in zip(names_of(request.node), group.cases.values(), strict=True) if is_chosen(n)}
            request.node.user_properties.append(("cases", len(named)))
            _run(lambda values: function(**dict(zip(arguments, values, strict=True)), **known), named)

        test.__signature__ = signature.replace(parameters=[*own, *fixtures])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("group", [pytest.param(g, id=g.title, marks=g.marks) for g in groups.values()])(test)

    return decorate


def _names(parameters: list[Any], ids: Callable[[Any], str]) -> list[str]:
    """The names of cases; those of several are numbered, as by ``parametrize``."""
    names = [p.id or "-".join(map(ids, p.values)) for p in parameters]
    counts, numbers = Counter(names), Counter[str]()
    found = []
    for name in names:
        several = counts[name] > 1
        found.append(f"{name}{'_' * name[-1:].isdigit()}{numbers[name]}" if several else name)
        numbers[name] += 1
    return found


def module_of(op: Any, *_: Any) -> str:
    """The module that declares an operator: the title of its group of cases."""
    return op.rule.__module__.rpartition(".")[2]


def names_of(item: Any) -> list[str]:
    """The names of all cases of a test, as tests of their own; of a test that is one case its own name."""
    group = getattr(item, "callspec", None) and item.callspec.params.get("group")
    if not isinstance(group, Group):
        return [item.nodeid]
    function = item.nodeid.partition("[")[0]
    others = item.callspec.id.removeprefix(group.title)  # the ids of other decorators follow that of the innermost
    return [f"{function}[{name}{others}]" for name in group.cases]


def is_chosen(name: str) -> bool:
    """Whether a case is run."""
    return all(chosen(name) for chosen in CHOSEN)


def _run(run: Callable[[tuple[Any, ...]], None], cases: dict[str, tuple[Any, ...]]) -> None:
    """Run all cases, then report those that failed; a group is skipped if all of its cases are."""
    from twofold.imperative.sites import SITES

    failed: list[BaseException] = []
    skipped: Counter[str] = Counter()
    for name, values in cases.items():
        SITES.clear()  # as before every test
        for prepare in BEFORE:
            prepare(name)
        try:
            run(values)
        except pytest.skip.Exception as reason:
            skipped[str(reason)] += 1
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"in {name}")
            failed.append(error)
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise BaseExceptionGroup("\n".join([f"{len(failed)} of {len(cases)} cases failed:", *(e.__notes__[-1] for e in failed)]), failed)
    if skipped.total() == len(cases):
        pytest.skip("; ".join(skipped))
