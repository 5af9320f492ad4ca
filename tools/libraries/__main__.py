"""Try libraries that were built on MXNet 1.x, unmodified, beside MXNet 1.9.1: ``make test-libraries``.

    python -m tools.libraries                                 everything; hours
    python -m tools.libraries --parts imports,suites          some parts
    python -m tools.libraries --only 'gluoncv' --networks 'resnet18*,ssd_*'
    python -m tools.libraries --resume                        what an interrupted run has left
    python -m tools.libraries --write                         also write the table in the docs

Every part runs in processes of its own, by Twofold and by MXNet; what they answer is kept in ``build/libraries``. The exit status is 1 if
something differs that ``libraries.toml`` does not explain.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from . import page
from .comparison import differences
from .environment import ROOT, SIDES, Library, has_oracle, install, libraries
from .processes import Asked, Process
from .suites import outcomes_of

if TYPE_CHECKING:
    from pathlib import Path

RESULTS = ROOT / "build" / "libraries"
#: After which a process is ended.
SECONDS = {"imports": 600.0, "networks": 240.0, "programs": 900.0, "suites": 1800.0}
PARTS = tuple(SECONDS)
PROGRAMS = {"gluoncv": "detector", "gluonnlp": "classifier", "gluonts": "forecaster", "sockeye": "translator"}
Answers = dict[str, Any]


class Answered:
    """The answers of a part, by side and question, written down as they come."""

    def __init__(self, path: Path, resumes: bool) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if not resumes:
            path.unlink(missing_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.known: dict[str, Any] = dict(json.loads(line) for line in lines)

    def get(self, side: str, name: str, ask: Callable[[], Any]) -> Any:
        """The answer, asked for if it is not known."""
        key = f"{side} {name}"
        if key not in self.known:
            self.known[key] = ask()
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


class Run:
    """One run of the tool, by its options."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.sides = SIDES if has_oracle() else SIDES[:1]
        self.found: dict[str, Answers] = {}

    def answered(self, part: str, library: Library) -> Answered:
        """The answers of a part for a library."""
        return Answered(RESULTS / f"{part}-{library.title}.jsonl", self.given.resume)

    def asked(self, library: Library, side: str, program: str, *words: str) -> Asked:
        """A process that answers."""
        log = RESULTS / f"{program}-{library.title}-{side}.log"
        log.write_text("")
        return Asked(lambda: Process(library, side, program, *words, threads=self.given.threads, log=log))

    def imports(self, library: Library) -> Answers:
        """Modules that are imported, and those that are not, with the reasons."""
        answered = self.answered("imports", library)
        found = {}
        for side in self.sides:
            asked = self.asked(library, side, "imports")
            found[side] = answered.get(side, library.package, lambda asked=asked: asked.ask(library.package, SECONDS["imports"]))
            asked.close()
        return found

    def networks(self, library: Library) -> Answers:
        """What differs, by network, and the times."""
        if not library.zoo:
            return {}
        answered = self.answered("networks", library)
        asked = {side: self.asked(library, side, "networks", library.zoo) for side in self.sides}
        first = self.sides[-1]
        names = answered.get(first, "", lambda: asked[first].ask({}, SECONDS["imports"]))
        found = {}
        for name in names:
            if any(fnmatch(name, pattern) for pattern in self.given.networks.split(",")):
                found[name] = self.network(answered, asked, name)
                print(f"{library.title} {name}: {page.network_line(found[name])}", flush=True)
        for process in asked.values():
            process.close()
        return found

    def network(self, answered: Answered, asked: dict[str, Asked], name: str) -> Answers:
        """One network on both sides: MXNet's finds the way in which it is called."""

        def ask(side: str, way: int | None) -> Any:
            return answered.get(side, name, lambda: asked[side].ask({"name": name, "way": way}, SECONDS["networks"]))

        theirs = ask("mxnet", None) if "mxnet" in asked else {}
        ours = ask("twofold", theirs.get("way"))
        return {"differences": differences(ours, theirs) if theirs else {}, **page.times(ours, theirs), "mxnet": theirs.get("error", "")}

    def programs(self, library: Library) -> Answers:
        """The losses that a program reaches, and its time."""
        answered = self.answered("programs", library)
        found = {}
        for side in self.sides:
            asked = self.asked(library, side, PROGRAMS[library.package])
            found[side] = answered.get(side, library.title, lambda asked=asked: asked.ask(library.version, SECONDS["programs"]))
            asked.close()
        print(f"{library.title}: {found}", flush=True)
        return found

    def suites(self, library: Library) -> Answers:
        """What becomes of the library's own tests."""
        if not library.tests:
            return {}
        answered = self.answered("suites", library)
        found = {}
        for side in self.sides:
            log = RESULTS / f"suites-{library.title}-{side}.xml"
            found[side] = answered.get(side, "tests", lambda side=side, log=log: outcomes_of(library, side, log, SECONDS["suites"]))
        return found


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="libraries, as name-version")
    parser.add_argument("--networks", default="*", metavar="PATTERNS", help="names of networks")
    parser.add_argument("--resume", action="store_true", help="keep the answers of an earlier run")
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--write", action="store_true", help="write the table in the docs")
    return parser.parse_args()


def chosen(given: argparse.Namespace) -> Iterable[Library]:
    """The libraries to be tried."""
    return [library for library in libraries() if fnmatch(library.title, given.only) or fnmatch(library.name, given.only)]


def main() -> int:
    """Run the parts and print what differs; 1 if something does that has no reason."""
    given = arguments()
    install()
    run = Run(given)
    results = {library.title: {part: getattr(run, part)(library) for part in given.parts.split(",")} for library in chosen(given)}
    lines, unexplained = page.summary(results)
    print("\n".join(lines))
    if given.write:
        page.write(results)
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
