"""Writes the pages of the API reference: one for each public class, function and operator, from docstrings and the operator table.

The pages are written below ``docs/api`` before Sphinx reads its sources, and only where their text has changed, so that a second build
reads few of them again.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import see_also
import signatures
from class_members import Described, inheritance, public_bases, shown_elsewhere
from docutils import nodes
from examples_of_names import example_of_name, has_own_example
from numpy_docstrings import field_lines, marked_up, signature_of
from operator_pages import entries_of_npx, operator_text, operators, operators_text
from restructured import Entry, escaped, example_lines, first_sentence, inside, searched, table, titled
from sources import source_lines

import twofold as mx
from twofold.extension_points import LOADERS
from twofold.opdef.registry import NAMES

if TYPE_CHECKING:
    from types import ModuleType

    from sphinx.application import Sphinx

FOLDER = Path(__file__).parent / "api"


#: The name of the root package, in which a few functions are.
ROOT = "mx"


class Namespace(NamedTuple):
    """A module whose public names have pages: its name for users, its title, and what its page says first."""

    name: str
    title: str
    about: str

    @property
    def module(self) -> ModuleType:
        """The module, loaded through the root package as users load it."""
        found: Any = mx
        for part in self.name.split(".") if self.name != ROOT else ():
            found = getattr(found, part, None) or importlib.import_module(f"{found.__name__}.{part}")
        return found

    @property
    def dotted(self) -> str:
        """Its name from the root package; a module of NumPy's, such as ``np.fft``, has one below ``twofold.numpy``."""
        own, above = self.module.__name__, self.name.rpartition(".")[0]
        return own if own.startswith("twofold") else f"{Namespace(above, '', '').dotted}.{self.name.rpartition('.')[2]}"

    @property
    def shown(self) -> str:
        """Its name as users write it."""
        return self.name if self.name == ROOT else f"mx.{self.name}"


class Section(NamedTuple):
    """Namespaces that belong together."""

    title: str
    namespaces: tuple[Namespace, ...]


#: Whose words describe parameters of ``mx.np``.
CREDIT = "Their parameters are described in the words of NumPy's docstrings (© NumPy developers, BSD licence)."

SECTIONS = (
    Section(
        "Arrays",
        (
            Namespace(ROOT, "The package itself", "Explaining what runs, progress bars, compiled symbols, operators of your own."),
            Namespace("nd", "Arrays by MXNet's conventions", "`NDArray`, and functions that are not operators of the table."),
            Namespace("nd.random", "Random arrays", "Samplers of ``mx.nd``."),
            Namespace("nd.sparse", "Sparse arrays", "Arrays that store only some of their elements."),
            Namespace("nd.contrib", "Control flow and other functions", "Functions of ``mx.nd.contrib`` that are not operators."),
            Namespace("np", "Arrays by NumPy's conventions", f"NumPy's functions with fusion, gradients and devices. {CREDIT}"),
            Namespace("np.linalg", "Linear algebra", "NumPy's linear algebra with gradients."),
            Namespace("np.fft", "Fourier transforms", "NumPy's Fourier transforms, computed on the host, with gradients."),
            Namespace("np.random", "NumPy's random numbers", "NumPy's generators, with arrays of Twofold as results."),
            Namespace("npx", "Switches and networks for NumPy's arrays", "What MXNet calls ``npx``."),
            Namespace("autograd", "Gradients", "Recording operations, and the gradients of what was recorded."),
            Namespace("func", "Transforms of functions", "Gradients, Jacobians and other functions of functions."),
            Namespace("random", "Random streams", "Seeds, and samplers by their older names."),
            Namespace("context", "Devices", "Where arrays are."),
        ),
    ),
    Section(
        "Gluon",
        (
            Namespace("gluon", "Blocks, parameters, trainers", "The base classes of networks."),
            Namespace("gluon.nn", "Layers", "Layers of neural networks."),
            Namespace("gluon.rnn", "Recurrent layers and cells", "Recurrent networks."),
            Namespace("gluon.loss", "Losses", "Loss functions, as blocks."),
            Namespace("gluon.data", "Data sets and loaders", "Samples, batches, and the threads and processes that load them."),
            Namespace("gluon.data.batchify", "Batches", "How samples become a batch."),
            Namespace("gluon.data.vision", "Vision data sets", "Data sets of images."),
            Namespace("gluon.data.vision.transforms", "Transforms of images", "Blocks that prepare and augment images."),
            Namespace("gluon.model_zoo.vision", "Model zoo", "Architectures for images."),
            Namespace("gluon.utils", "Utilities", "Splitting batches, clipping, downloads."),
            Namespace("gluon.contrib.estimator", "Estimator", "A training loop with handlers of its events."),
            Namespace("gluon.contrib.nn", "More layers", "Layers that MXNet keeps in ``contrib``."),
            Namespace("gluon.contrib.cnn", "Deformable convolutions", "Convolutions whose kernels are deformed at each place."),
            Namespace("gluon.contrib.rnn", "More recurrent cells", "Convolutional cells, projections, variational dropout."),
        ),
    ),
    Section(
        "Symbols and modules",
        (
            Namespace("sym", "Symbols", "`Symbol`, and functions that are not operators of the table."),
            Namespace("executor", "Executors", "Symbols bound to arrays."),
            Namespace("mod", "Modules", "Training of symbols."),
            Namespace("model", "Checkpoints and feed-forward models", "Files of parameters and symbols."),
            Namespace("rnn", "Recurrent cells of symbols", "Cells that MXNet had before Gluon."),
            Namespace("operator", "Custom operators", "Operators that are written in Python."),
            Namespace("name", "Names", "How nodes without a name are named."),
        ),
    ),
    Section(
        "Training",
        (
            Namespace("optimizer", "Optimizers", "Rules by which weights are updated."),
            Namespace("lr_scheduler", "Learning-rate schedules", "Learning rates by the number of updates."),
            Namespace("initializer", "Initializers", "How weights begin."),
            Namespace("metric", "Metrics", "How good predictions are."),
            Namespace("callback", "Callbacks", "What a training loop calls."),
            Namespace("kvstore", "Key-value stores", "Sums of gradients over devices and machines."),
            Namespace("monitor", "Monitors", "Statistics of results inside a network."),
            Namespace("contrib.amp", "Mixed precision", "Training and inference with 16-bit floats."),
            Namespace("contrib.quantization", "8-bit networks", "Networks with 8-bit weights and values."),
            Namespace("contrib.tensorboard", "TensorBoard", "Metrics in TensorBoard's files."),
            Namespace("contrib.io", "Loaders as iterators", "Loaders of Gluon for modules."),
        ),
    ),
    Section(
        "Data and files",
        (
            Namespace("io", "Iterators", "Batches from arrays and files."),
            Namespace("image", "Images", "Decoding, augmenting and iterating over images."),
            Namespace("recordio", "Record files", "Sequences of binary records."),
            Namespace("onnx", "ONNX", "Files of other frameworks."),
        ),
    ),
    Section(
        "Looking inside",
        (
            Namespace("profiler", "Profiler", "What ran, when, and for how long."),
            Namespace("viz", "Pictures", "Pictures of networks, programs and memory."),
            Namespace("engine", "Engine", "How operations are scheduled."),
            Namespace("test_utils", "Test utilities", "Comparisons and numeric gradients."),
            Namespace("runtime", "Features", "What this installation can do, by MXNet's names."),
            Namespace("util", "Switches and the environment", "What MXNet's own modules and scripts import from ``mxnet.util``."),
            Namespace("registry", "Registries", "Classes by name."),
        ),
    ),
)


# ------------------------------------------------------------------------------------------------------- what is public


#: What registered names of operators begin with, by the namespaces in which these are functions.
PREFIXES = {"nd": "", "sym": "", "nd.contrib": "_contrib_", "nd.sparse": "_sparse_"}


def every_namespace() -> list[Namespace]:
    """All namespaces but the root."""
    return [n for section in SECTIONS for n in section.namespaces if n.name != ROOT]


def offered(namespace: Namespace) -> set[str]:
    """What a namespace has: ``__all__`` if there is one, else every name, and the iterators that higher packages load into ``mx.io``."""
    later = [name for package, name in LOADERS if package == namespace.name == "io"]
    return {*(getattr(namespace.module, "__all__", None) or dir(namespace.module)), *later}


def public_names(namespace: Namespace) -> list[str]:
    """The names that have pages, of those that a namespace has."""
    return sorted(n for n in offered(namespace) if not n.startswith("_") and is_documented(namespace, n))


def is_documented(namespace: Namespace, name: str) -> bool:
    """Whether a name has a page: classes and functions of this package, but operators, which have pages of their own."""
    try:
        found = getattr(namespace.module, name)
    except (AttributeError, ImportError):
        return False
    if inspect.ismodule(found) or not (inspect.isclass(found) or callable(found)):
        return False
    if namespace.name == ROOT and any(vars(n.module).get(name) is found for n in every_namespace() if name in offered(n)):
        return False  # a short way to a name of another namespace, which has the page
    if namespace.name in PREFIXES and PREFIXES[namespace.name] + name in NAMES:
        return False
    # functions that NumPy computes are ours, with NumPy's name for their module
    own = str(getattr(found, "__module__", "")).startswith("twofold")
    return own or (inspect.isfunction(found) and found.__code__.co_filename.startswith(str(Path(mx.__file__).parent)))


# ------------------------------------------------------------------------------------------------------------ the pages


def class_lines(dotted: str, name: str, more: list[str]) -> list[str]:
    """The description of a class: its docstring, its example and its bases, then its methods and properties."""
    found = getattr(sys.modules[dotted.rpartition(".")[0]], name)
    described = autodoc_name(found, dotted)
    about = [f"``{name}`` is a name of this class:", ""] if found.__name__ != name else []
    pages = described_classes()
    return [
        *about,
        f".. currentmodule:: {described.rpartition('.')[0]}",
        "",
        f".. autoclass:: {described.rpartition('.')[2]}",
        "   :members:",
        f"   :inherited-members: {', '.join(sorted({base.__name__ for base in shown_elsewhere(found, pages)}))}",
        *(["   :show-inheritance:"] if any(public_bases(found.__bases__, pages)) else []),
        "   :member-order: groupwise",
        "",
        *inside([*more, *inheritance(found, pages)]),
    ]


def autodoc_name(found: type, dotted: str) -> str:
    """The name of a class for autodoc, which does not describe a class under another name than its own."""
    return dotted if dotted.rpartition(".")[2] == found.__name__ else f"{found.__module__}.{found.__name__}"


@cache
def described_classes() -> dict[type, Described]:
    """The classes with pages, by the first of their names."""
    found: dict[type, Described] = {}
    for namespace in (n for section in SECTIONS for n in section.namespaces):
        for name in names_in_order(namespace):
            if inspect.isclass(cls := getattr(namespace.module, name)) and cls not in found:
                found[cls] = Described(autodoc_name(cls, f"{namespace.module.__name__}.{name}"), f"{namespace.shown}.{name}")
    return found


def names_in_order(namespace: Namespace) -> list[str]:
    """The names that have pages, other names of a class last."""
    return sorted(public_names(namespace), key=lambda name: getattr(namespace.module, name).__name__ != name)


def function_lines(dotted: str, name: str, more: list[str], signature: str = "") -> list[str]:
    """The description of a function."""
    return [f".. currentmodule:: {dotted.rpartition('.')[0]}", "", f".. autofunction:: {name}{signature}", "", *inside(more)]


#: How docstrings begin whose rest is NumPy's own.
BORROWED = re.compile(r"(``numpy\.|As NumPy's ``)")


def numpy_lines(dotted: str, found: Any, more: list[str]) -> list[str]:
    """The description of a function of ``mx.np`` by its own docstring, or by NumPy's where that says what it does."""
    doc, numpys = inspect.getdoc(found) or "", f"np{dotted.removeprefix('twofold.numpy')}"
    if "Parameters\n---" in doc and not BORROWED.match(doc):
        return function_lines(dotted, dotted.rpartition(".")[2], more)
    signature = signature_of(found, numpys)
    fields = [*field_lines(numpys, signature), ""]
    if not BORROWED.match(doc):
        return function_lines(dotted, dotted.rpartition(".")[2], [*fields, *more], signature)
    first, *others = [" ".join(p.split()) for p in inspect.cleandoc(doc).split("\n\n")]
    what = next((p for p in others if p and not re.match(r"[\w.]+\(.*\)$", p)), "")
    return [
        f".. py:function:: {dotted}{signature}",
        "",
        *inside([marked_up(what), "", escaped(first), "", *fields, *more]),
    ]


@cache
def numpy_pages() -> set[str]:
    """The pages of the functions of ``mx.np``."""
    return {f"{n.name}.{name}" for n in every_namespace() if n.name.partition(".")[0] == "np" for name in public_names(n)}


class Shown(NamedTuple):
    """What is on pages already, by the identities of classes and functions, which several namespaces may have."""

    pages: dict[int, str]
    examples: dict[int, str]


def entries_of(namespace: Namespace, shown: Shown) -> Iterator[Entry]:
    """The entries of a namespace."""
    for name in names_in_order(namespace):
        found, page = getattr(namespace.module, name), f"{namespace.name}.{name}"
        dotted = f"{namespace.dotted}.{name}"
        doc = inspect.getdoc(found) or ""
        borrowed = BORROWED.match(doc) is not None
        if not has_own_example(found) or borrowed:
            shown.examples[id(found)] = example_of_name(namespace.name, name) or shown.examples.get(id(found), "")
        example = shown.examples.get(id(found), "")
        more = [*(example_lines(example) if example else []), *see_also.of_name(namespace.name, name, numpy_pages())]
        # a function by several names of one namespace has a page for each of them
        sort, first = "class" if inspect.isclass(found) else "function", shown.pages.setdefault(id(found), page)
        if not borrowed and first != page and (sort == "class" or first != f"{namespace.name}.{first.rpartition('.')[2]}"):
            lines = [f"The same {sort} as :doc:`mx.{first} <{first}>`."]
        elif inspect.isclass(found):
            lines = class_lines(dotted, name, more)
        elif namespace.name.partition(".")[0] == "np":
            lines = numpy_lines(dotted, found, more)
        else:
            lines = function_lines(dotted, name, more)
        written = f"{namespace.shown}.{name}"
        names = searched(written.removeprefix("mx."), dotted.removeprefix("twofold."))
        source = [] if inspect.isclass(found) else source_lines(found)
        yield Entry(name, page, first_sentence(doc), "\n".join([*source, titled(written, *names, *lines)]))


def namespace_text(namespace: Namespace, entries: list[Entry]) -> str:
    """The page of a namespace: a table of its names."""
    return titled(f"{namespace.title} ({namespace.shown})", namespace.about, "", *table(entries))


# ------------------------------------------------------------------------------------------------------------- writing


def index_text() -> str:
    """The first page of the reference."""
    lines = ["Every public class, function and operator has a page. Search for a name, or begin with a group.", ""]
    for section in SECTIONS:
        names = [(n.shown, n.name, n.title) for n in section.namespaces]
        if section is SECTIONS[0]:
            names.insert(0, ("mx.nd, mx.sym", "operators", "Operators"))
        lines += [section.title, "-" * len(section.title), "", ".. list-table::", "   :widths: 30 70", ""]
        lines += [line for shown, page, title in names for line in (f"   * - :doc:`{shown} <{page}>`", f"     - {title}")]
        lines += ["", ".. toctree::", "   :hidden:", f"   :caption: {section.title}", "", *[f"   {page}" for _, page, _ in names], ""]
    return titled("API reference", *lines)


def pages() -> Iterator[tuple[str, str]]:
    """All pages: their names and texts."""
    yield "index", index_text()
    found = operators()
    yield "operators", operators_text(found)
    shown = Shown({}, {})
    for operator in found:
        yield f"op.{operator.dotted}", operator_text(operator)
    for section in SECTIONS:
        for namespace in section.namespaces:
            entries = sorted([*entries_of(namespace, shown), *(entries_of_npx() if namespace.name == "npx" else ())])
            yield namespace.name, namespace_text(namespace, entries)
            yield from ((entry.page, entry.text) for entry in entries)


def write_pages(app: Sphinx) -> None:
    """Write the pages that have changed, and remove those of names that are gone."""
    FOLDER.mkdir(exist_ok=True)
    written = set()
    for name, text in pages():
        path = FOLDER / f"{name}.rst"
        written.add(path)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in set(FOLDER.glob("*.rst")) - written:
        path.unlink()


def show_public_bases(app: Sphinx, name: str, obj: object, options: object, bases: list[type]) -> None:
    """Name the nearest public bases of a class: others are no concern of users."""
    bases[:] = dict.fromkeys(public_bases(bases, described_classes()))


#: The fields of a description in the order of their pages.
FIELDS = ("param", "type", "returns", "return", "rtype", "yields", "raises")


def order_fields(app: Sphinx, domain: str, kind: str, content: nodes.Element) -> None:
    """Put the fields of a docstring and those that are taken from NumPy in one order: parameters, results, errors."""
    for listed in (child for child in content.children if isinstance(child, nodes.field_list)):
        words = {field: field[0].astext().split()[0] for field in listed.children}
        listed.children.sort(key=lambda field: FIELDS.index(words[field]) if words[field] in FIELDS else len(FIELDS))


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx to write the pages first."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-bases", show_public_bases)
    app.connect("autodoc-process-signature", signatures.process)
    app.connect("object-description-transform", order_fields)
    return {"parallel_read_safe": True}
