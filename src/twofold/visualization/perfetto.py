"""A button for pages of HTML that opens a trace in Perfetto, which runs in the browser: the trace leaves the machine nowhere."""

import gzip
from base64 import b64encode
from collections.abc import Iterable
from html import escape

from .drawing import size_text

#: The page that shows traces. It answers PING once it can take one.
PERFETTO = "https://ui.perfetto.dev"
#: Bytes of a compressed trace up to which it is part of the page.
MOST_EMBEDDED = 32 << 20
#: The tab is opened first: later, browsers would take it for an advertisement. The link beside the button has the trace, also offline.
#: In an attribute, names without ``window`` are looked up in the button first.
ACTION = """(async button => {
const link = button.nextElementSibling, note = link.nextElementSibling, home = '%s';
const fail = why => { note.textContent = ` ${why}: save the trace, and drag the file onto ${home}`; };
if (!navigator.onLine) { return fail('you are offline'); }
const tab = window.open(home);
if (!tab) { return fail('the browser has blocked the new tab'); }
const buffer = await (await fetch(link.href)).arrayBuffer();
const ping = setInterval(() => tab.postMessage('PING', home), 50);
const late = setTimeout(() => { stop(); fail('no answer'); }, 20000);
const stop = () => { clearInterval(ping); clearTimeout(late); window.removeEventListener('message', hear); };
const hear = event => {
if (event.source !== tab || event.data !== 'PONG') { return; }
stop();
tab.postMessage({perfetto: {buffer, title: document.title || link.download, fileName: link.download}}, home);
};
window.addEventListener('message', hear);
})(this)"""


def perfetto_button(trace: Iterable[bytes], filename: str = "trace.json.gz", home: str = PERFETTO) -> str:
    """A button that opens a trace in Perfetto, and a link beside it that saves the trace as a file.

    Parameters
    ----------
    trace
        The trace in pieces; see `profiler.trace.Trace.chunks`.
    filename
        The name of the file.
    home
        The page to open.

    Returns
    -------
    str
        HTML without elements of script, so that notebooks show it; a note where the trace is too large for a page.
    """
    packed = gzip.compress(b"".join(trace), mtime=0)
    if len(packed) > MOST_EMBEDDED:
        return f"<p>The trace has {size_text(len(packed))}: too much for this page. Drag the file of the profiler onto {home}.</p>"
    content = b64encode(packed).decode()
    button = f'<button type="button" onclick="{escape(ACTION % home)}">Open in Perfetto</button>'
    link = f'<a download="{escape(filename)}" href="data:application/gzip;base64,{content}">save the trace</a>'
    return f"<p>{button} {link}<span> ({size_text(len(packed))})</span></p>"
