"""``python -m twofold show``: prints and draws the contents of a file of records, arrays, states or a network.

The content decides what kind of file it is. Nothing in it is executed. For a damaged file, the readable part is shown, then the error.
"""

import argparse
import os
import webbrowser
from pathlib import Path
from tempfile import mkdtemp

from ..errors import FileAccessError
from ..formats.checksums import verified
from ..formats.files import write_file
from .arguments import count, named_shape
from .contents.as_json import json_text
from .contents.content import Selection
from .contents.reading import content_of
from .contents.terminal import print_content


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the program."""
    parser.add_argument("file", help="the file, a path or a URL that fsspec opens")
    parser.add_argument("--verify", action="store_true", help="only compare the file with the checksum beside it, .FILE.sha256")
    parser.add_argument("--html", metavar="OUT", help="write a page with pictures to this file, and print nothing")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.add_argument("--count", type=count, default=24, metavar="N", help="number of samples or rows; 24 if not given")
    parser.add_argument("--seed", type=int, help="show samples at random, chosen with this seed, instead of the first")
    parser.add_argument("--boxes", action="store_true", help="draw labels as boxes, even if they do not look so")
    parser.add_argument(
        "--shape",
        type=named_shape,
        action="append",
        default=[],
        metavar="NAME=N,N,…",
        help="shape of an input of a network; may be repeated",
    )


def execute(given: argparse.Namespace) -> int:
    """Show or verify the file; return 0.

    Raises
    ------
    FormatError
        If the file is damaged, after the readable part was shown, or it is not the one whose checksum is beside it.
    MissingFileError, FileAccessError, MissingDependency
        If it cannot be read.
    """
    if given.verify:
        if given.json or given.html or given.open:
            given.usage_error("--verify shows no contents: leave out --json, --html and --open")
        print(f"{given.file}: the file that was written (SHA-256 {verified(given.file)})")
        return 0
    selection = Selection(given.count, given.seed, given.boxes, dict(given.shape))
    content = content_of(given.file, selection)
    if given.json:
        print(json_text(content))
    elif not given.html and not given.open:
        print_content(content)
    if given.html or given.open:
        from .contents.html import content_page  # here, as drawings of graphs take long to load

        out = given.html or os.path.join(mkdtemp(prefix="twofold-"), "show.html")
        write_file(out, [content_page(content).encode("utf-8", "backslashreplace")])
        if not given.json:
            print(out)
        if given.open and not webbrowser.open(Path(out).absolute().as_uri()):
            raise FileAccessError(f"no browser opened {out}", None, "open it yourself")
    if content.fault is not None:
        raise content.fault
    return 0
