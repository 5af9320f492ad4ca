"""Compares the public names of MXNet 1.9.1 with Twofold's, as a script sees them, and writes ``docs/reference/mxnet-names.md``.

    python tools/mxnet_names.py INVENTORY             writes the page
    python tools/mxnet_names.py INVENTORY --calls     prints the calls of MXNet that a function of Twofold would not accept

INVENTORY is a list of MXNet's names with their signatures (``mxnet_api.json``).
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from differing_names import SHORT, Differences

from twofold.compat import mxnet_alias

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "mxnet-names.md"
DIFFERENCES = "compatibility.md"

#: Names that belong to MXNet's own machinery, by pattern, and why Twofold has none.
MACHINERY = {
    r"\._|<lambda>": "",  # private: not listed
    r"^mxnet\.(ndarray|symbol)_doc|\.(numpy|symbol)\._|\.register\b|_op\b": "it generates MXNet's documentation and functions",
    r"^mxnet\.base\.(c_|build_|check_call|ctypes2)|^mxnet\._": "it calls MXNet's C library",
    r"\.handle$": "it is a pointer of MXNet's C library",
    r"\.LP_c_float$": "it is `ctypes`' name of `mx_float_p`",
    r"^mxnet\.registry\.(alias|create)$|\.create_optimizer$|\.symbol\.numpy\.load": "MXNet has no such name, only code with it",
    r"^mxnet\.ndarray\.gen_sparse\.gs_retain$": "MXNet has no such name there",
    r"\.SequentialRNNCell\.hybrid_forward$": "MXNet's raises NotImplementedError",
    r"^mxnet\.symbol\.numpy\.random\.shuffle$": "symbols are not written to",
    r"^mxnet\.metric\.PearsonCorrelation\.update_": "it keeps sums in place of MXNet's running moments",
}

#: Functions with another signature than MXNet's, by pattern, and why.
OTHER_SIGNATURES = {
    r"^mxnet\.(ndarray|symbol)\.numpy": "MXNet generates these from operators, here they are the functions of `mx.np`",
    r"\.dgl_adjacency$": "it is no operator, so has no `out`",
    r"\.backward_|\.BatchNorm_v1$|\.IdentityAttachKLSparseReg$": "states and head gradients are operands, in the operator's order",
    r"\.linalg[._]potr[fi]$": "`lower` is a parameter of the operator: pass `out` by name",
    r"^mxnet\.(executor\.Executor|io\.io\.MXDataIter|kvstore\.kvstore\.KVStore|ndarray\..*NDArray|numpy\.ndarray|.*\.Symbol)$": (
        "MXNet's constructors take pointers of its C library"
    ),
    r"^mxnet\.error\.InternalError$": "errors say what failed, what was given and what to do",
    r"^mxnet\.metric\.(CompositeEvalMetric\.update_dict|Loss\.update)$": "the names of the parameters are those of the base class",
    r"^mxnet\.numpy_extension\.nonzero$": "the operand has the operator's name",
    r"^mxnet\.registry\.register$": "MXNet has no such name, only code with it",
}


class Name(NamedTuple):
    """A public name of MXNet: its path, its signature (empty if it is not called), and what Twofold has there (None if nothing).

    ``written`` is the path as programs write it: ``mx.mod.Module`` for ``mxnet.module.module.Module``.
    """

    path: str
    signature: str
    thing: Any
    written: str


def names_of(inventory: Path) -> Iterator[Name]:
    """The public names of an inventory, each looked up as a script would."""
    mxnet_alias.install()
    listed = json.loads(inventory.read_text(encoding="utf-8"))
    for kind in ("functions", "generated_functions", "classes"):
        for path, entry in listed[kind].items():
            if machinery(path) == "":
                continue
            thing = found(path)
            written = written_name(path, thing)
            yield Name(path, entry["init"] or "" if kind == "classes" else entry, thing, written)
            for member, signature in entry["members"].items() if kind == "classes" else ():
                if not member.startswith("_"):
                    inner = getattr(thing, member, None) if thing is not None else None
                    present = inner is not None or (thing is not None and (hasattr(thing, member) or member in attributes_of(thing)))
                    yield Name(
                        f"{path}.{member}",
                        signature if signature.startswith("(") else "",
                        inner if inner is not None or not present else present,
                        f"{written}.{member}",
                    )


def written_name(path: str, thing: Any) -> str:
    """The path as programs write it: without modules that may be left out, and with short names of packages."""
    _, *parts = path.split(".")
    # `module.module.Module` and `image.detection.ImageDetIter` are to be had without their inner modules
    shorter = (parts[:k] + parts[k + count :] for count in (2, 1) for k in range(1, len(parts) - count))
    if thing is not None:
        parts = next((p for p in shorter if found(".".join(["mxnet", *p])) is thing), parts)
    return ".".join(["mx", SHORT.get(parts[0], parts[0]), *parts[1:]])


def attributes_of(cls: type) -> set[str]:
    """The attributes of instances that a class and its bases annotate."""
    return {name for base in cls.__mro__ for name in vars(base).get("__annotations__", {})}


def machinery(path: str) -> str | None:
    """Why Twofold has no such name; empty if it is not even public in MXNet, None if there is no reason."""
    reason = next((why for pattern, why in MACHINERY.items() if re.search(pattern, path)), None)
    absent = mxnet_alias.reason_for_absence(path.partition(".")[2])
    return reason if reason is not None or absent is None else ": ".join(absent)


def found(path: str) -> Any:
    """What a script finds under a dotted path, or None."""
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            thing: Any = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        try:
            for part in parts[cut:]:
                thing = getattr(thing, part)
        except AttributeError:
            return None
        return thing
    return None


def refused(name: Name) -> list[str]:
    """What a call according to MXNet's signature would meet in Twofold's: missing arguments, another order, another default."""
    if any(re.search(pattern, name.path) for pattern in OTHER_SIGNATURES):
        return []
    try:
        theirs = ast.parse(f"def f{name.signature}: pass").body[0].args  # type: ignore[attr-defined]
        ours = list(inspect.signature(name.thing).parameters.values())
    except (SyntaxError, TypeError, ValueError):
        return []
    takes = {kind: any(p.kind == kind for p in ours) for kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)}
    if all(takes.values()):
        return []
    bound = ("self", "cls")
    wanted = [a.arg for a in theirs.args if a.arg not in bound]
    is_bound = bool(theirs.args) and theirs.args[0].arg in bound and ours and ours[0].name not in wanted
    given = ours[1:] if is_bound else [p for p in ours if p.name not in bound]
    known = {p.name: p for p in given}
    problems = [
        f"no `{n}`" for n in [*wanted, *(a.arg for a in theirs.kwonlyargs)] if n not in known and not takes[inspect.Parameter.VAR_KEYWORD]
    ]
    places = [p.name for p in given if p.kind is p.POSITIONAL_OR_KEYWORD]
    if not problems and not takes[inspect.Parameter.VAR_POSITIONAL] and places[: len(wanted)] != wanted:
        problems.append(f"the order is {places[: len(wanted)]}")
    problems += [f"`{a.arg}` is required" for a in theirs.args[-len(theirs.defaults) or len(theirs.args) :] if _required(known.get(a.arg))]
    return problems


def _required(parameter: inspect.Parameter | None) -> bool:
    return parameter is not None and parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD


def page(inventory: Path) -> str:
    """The page: the names of each module by status."""
    differences = Differences()
    modules: dict[str, dict[str, set[str]]] = {}
    rows: dict[str, set[str]] = {}
    reasons: dict[str, str] = {}
    for name in names_of(inventory):
        described = set() if name.thing is None else differences.of(name.path, name.thing)
        status = "absent" if name.thing is None else "better" if described else "same"
        modules.setdefault(".".join(name.path.split(".")[:2]), {"same": set(), "better": set(), "absent": set()})[status].add(name.written)
        rows.setdefault(name.written, set()).update(described)
        reasons[name.written] = machinery(name.path) or "not yet"
    # the paths of a name may differ in whether a row describes them
    for found in modules.values():
        found["same"] -= found["better"]
    totals = {status: sum(len(found[status]) for found in modules.values()) for status in ("same", "better", "absent")}
    lines = [
        "# What runs: MXNet's names",
        "",
        "Every public name of MXNet 1.9.1, and what Twofold has under it. *Same*: it behaves as in MXNet. *Better*: it differs in the way",
        "that the row named before it describes, on [the page of differences](compatibility.md). *Absent*: Twofold has no such name, for",
        "the reason given. Names are written as in programs, such as `mx.mod.Module` for `mxnet.module.module.Module`, and lead to their",
        "pages. This page is written by `tools/mxnet_names.py`.",
        "",
        f"{totals['same']:,} names are the same, {totals['better']:,} better, {totals['absent']:,} absent. Names and arguments that MXNet",
        "removed before 1.9.1 are not among them.",
    ]
    for module, found in sorted(modules.items()):
        lines += ["", f"## {module}"]
        if found["same"]:
            lines += ["", f"**Same**: {in_order(found['same'])}"]
        if found["better"]:
            titles = [title for title in differences.titles() if any(title in rows[name] for name in found["better"])]
            lines += ["", "**Better**:", ""]
            lines += [f"* [{t}]({DIFFERENCES}): {in_order(name for name in found['better'] if t in rows[name])}" for t in titles]
        if found["absent"]:
            lines += ["", "| absent | why |", "|---|---|", *(f"| `{n}` | {reasons[n]} |" for n in sorted(found["absent"]))]
    return "\n".join(lines).rstrip() + "\n"


def in_order(names: Iterable[str]) -> str:
    """Names as code, in alphabetical order."""
    return ", ".join(f"`{name}`" for name in sorted(names))


if __name__ == "__main__":
    source = Path(sys.argv[1])
    if "--calls" in sys.argv:
        for name in names_of(source):
            if name.thing is not None and name.signature and (problems := refused(name)):
                print(f"{name.path}: {', '.join(problems)}")
    else:
        PAGE.write_text(page(source), encoding="utf-8")
        print(f"{PAGE}: written")
