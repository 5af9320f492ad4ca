"""Prints the public API: a line for each function, class and operator, with its parameters.

``--write`` keeps it in ``tests/house/public_api.txt``. Public is what has a page in the API reference. `tests/house/test_public_api.py`
compares; what may change, and when, is said in `docs/reference/stability.md`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tests/house/public_api.txt"
sys.path.insert(0, str(ROOT / "docs"))  # the pages know what is public

from api_pages import BORROWED, SECTIONS, public_names  # noqa: E402
from operator_pages import operators, operators_of_npx, signature  # noqa: E402


def parameters_of(function: Any) -> str:
    """The parameters of a function: ``(x, axis=, *, out=)``; ``(...)`` if it does not tell, or NumPy's version decides them."""
    if BORROWED.match(inspect.getdoc(function) or ""):
        return "(...)"
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    words = []
    for p in given:
        if p.kind is p.KEYWORD_ONLY and "*" not in words and not any(word.startswith("*") for word in words):
            words.append("*")
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        words.append(f"{mark}{p.name}{'' if p.default is p.empty else '='}")
    return f"({', '.join(words)})"


def members_of(cls: type) -> str:
    """The public names that a class has of this package's classes; from which base is no concern of users."""
    own = [base for base in cls.__mro__ if base.__module__.startswith("twofold")]
    return " ".join(sorted({name for base in own for name in vars(base) if not name.startswith("_")}))


def lines() -> Iterator[str]:
    """The lines of the public API, in the order of the reference."""
    for operator in operators():
        for name in operator.all_names:
            # an operator's page shows defaults; a changed default is noticed as well
            yield f"nd.{name}({signature(operator.op)})"
    for name, op in operators_of_npx().items():
        yield f"npx.{name}({signature(op)})"
    for section in SECTIONS:
        for namespace in section.namespaces:
            for name in public_names(namespace):
                found = getattr(namespace.module, name)
                yield f"{namespace.name}.{name}{parameters_of(found)}"
                if inspect.isclass(found) and found.__module__.startswith("twofold") and members_of(found):
                    yield f"{namespace.name}.{name}: {members_of(found)}"


def main() -> None:
    """Print or keep the public API."""
    text = "".join(f"{line}\n" for line in lines())
    if "--write" in sys.argv[1:]:
        KEPT.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
