"""Views: arrays that show a part of another array, their root, and write into it.

An array and a view have one class, as in MXNet and NumPy. A view has no content of its own: ``_held`` is None, and slots that other arrays
leave unset say what it shows.
"""

from typing import Any, ClassVar, TypeVar

import numpy as np

from ..assembly import fragment, inlined
from ..backend.loader import backend_for
from ..device import CPU
from ..graph.ir import Application, leaf
from ..ops import primitive_math, primitive_shape
from .cell import HOST, PLAIN, Cell, Content, Value, alias, content_of, is_view, wrap
from .guards import is_differentiated, is_small, is_tracked
from .invoke import content, data_of, device_of
from .scope import Scope
from .tape import TapeEntry, Variable, tls
from .write import Chain, look, read, read_inline, recorded_part, untracked, write

#: Number of elements from which copying a view costs more than the copy saves later.
GAPS = 4096
#: Take the place of the index in a view that is a reshaped array, or an array with its axes reversed.
RESHAPED, AXES_REVERSED = object(), object()
#: In the place of the index, in an array that is no view but that a program has made: in-place operators write into it without axes, too.
CHANGEABLE = object()
#: In the place of the view operations, until they are worked out: through these flows no gradient.
CONSTANT: Any = object()
AnyViewable = TypeVar("AnyViewable", bound="Viewable")


@fragment
def shows_whole(view: Any) -> bool:
    """Whether a view shows a whole array under another convention, such as a parameter. Its steps are None until they are worked out."""
    return view._steps == () and view._gradient is None


class Viewable(Cell):
    """The base of dense arrays: a content, or, of a view, a root cell and a chain of view operations.

    Reads and writes of a view go through the root, so that they see aliases' writes and are recorded with them.
    """

    __slots__ = ("_base", "_key", "_of", "_seen", "_steps", "_under")

    _indexer: ClassVar[Any]
    _base: Any
    #: NumPy's view of the memory of ``_of``, a content of the root. Valid while the root still has that content; both are None before the
    #: view has been read, unless `items` made it.
    _seen: Any
    _of: Any
    #: How `items` made the view, until its chain is needed: the array that was indexed, and the index (`RESHAPED` and
    #: `AXES_REVERSED` are others). `CHANGEABLE` is the key of some arrays that are no views.
    _under: Any
    _key: object
    _steps: Chain | None

    @property
    def _chain(self) -> Chain:
        """The view operations."""
        steps = self._steps
        if steps is None or steps is CONSTANT:
            under, key, of = self._under, self._key, self._of
            if key is RESHAPED:
                own: Chain = (primitive_shape.reshape.bind(shape=self._seen.shape),)
            elif key is AXES_REVERSED:
                own = (primitive_shape.permute_dims.bind(axes=tuple(range(self._seen.ndim))[::-1]),)
            else:
                # the root's shape without two calls; `_of` is its content, or an earlier one
                shape = of.data.shape if of.__class__ is Value and under is self._base else under.shape
                own = type(self)._indexer.basic(shape, key).chain
            found = (*under._chain, *own) if under is not self._base else own
            steps = self._steps = found if steps is None else constant(found)
        return steps

    @property
    def _request(self) -> Variable | None:
        """The gradient request of the array, or of the one of which it shows all elements."""
        own = getattr(self, "_gradient", None)
        return own if own is not None or self._held is not None or self._chain else getattr(self._base, "_gradient", None)

    @property
    def _fresh_grad(self) -> bool:
        """Whether the gradient was written since this was last set to False."""
        g = getattr(self, "_gradient", None)
        if g is None and self._held is None:
            g = self._request
        return g is not None and g.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool) -> None:
        g = self._request
        if g is not None:
            g.fresh = fresh

    @property
    @inlined
    def _content(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]  # a slot in the base, which has no views
        if self._held is not None:
            return self._held
        if shows_whole(self):
            return self._base._content
        found = self._operand
        return content(HOST.as_array(self._seen), CPU) if found is None else found

    @_content.setter
    @inlined
    def _content(self, new: Content) -> None:
        if self._held is not None:
            self._held = new
        elif shows_whole(self):
            self._base._rebind(new)
        else:
            write(self._base, self._chain, None, wrap(Cell, new))

    @property
    @inlined
    def _operand(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        if self._held is not None:
            return self._held
        root = self._base
        if shows_whole(self):
            return content_of(root)
        of = self._of
        if of is not None and of is content_of(root):
            seen = self._seen
            if of.__class__ is PLAIN or not is_differentiated(of) or tls.tape is None:
                if seen.size < GAPS and is_small(seen):
                    # `ascontiguousarray` would give an array without axes an axis
                    return np.ascontiguousarray(seen) if seen.ndim else seen
                return self._part(of, seen)
            part = recorded_part(of, self._chain, seen)
            if part is not None:
                return part
        return self._read() if self._gradient is None else self._marked(self._gradient)

    @inlined
    def _read(self) -> Content | None:
        root, chain = self._base, self._chain
        whole = content_of(root)
        found = None if is_tracked(whole) else read_inline(root, chain)
        if found is None:
            return read(root, chain)
        of, seen = found
        self._of = None
        self._seen = seen
        # last: a thread that finds `_of` valid must find the `_seen` that belongs to it
        self._of = of
        return self._part(of, seen)

    @inlined
    def _part(self, of: Content, seen: np.ndarray) -> Content | None:
        """The part of a ready content that the view shows: the content, an alias, or a copy if small; None for a larger one with gaps."""
        if seen.size >= GAPS and not seen.flags.c_contiguous:
            return None
        return HOST.as_array(seen) if of.__class__ is PLAIN or is_small(seen) else alias(seen, of)

    def _marked(self, variable: Variable) -> Value:
        """The content of a view that is a variable itself: a leaf, unless an operation of this tape has written the root."""
        root = self._base._capture()
        tape = tls.tape
        if tape is not None and root.entry is not None and root.entry.tape is tape and isinstance(root.entry.node, Application):
            return read(self._base, self._chain)
        data_of(root)
        seen = read(wrap(Cell, untracked(root)), self._chain)
        v = alias(data_of(seen), seen)
        v.entry = TapeEntry(leaf("variable", *v.type, variable.tracked), (), (), None, variable)
        return v

    def _read_recorded(self) -> Content:
        """The view's content, read by recorded operations even after the scope has ended: on the root's tape, else on a new one."""
        root = self._base._content
        tape = root.entry.tape if root.__class__ is Value and root.entry is not None else None
        if tls.tape is not None or tape is None:
            with Scope(True, None):
                return self._content
        tls.tape = tape
        try:
            return self._content
        finally:
            tls.tape = None

    def _promote(self, content: Content) -> Value:
        """A view's content as a Value that aliases the root's."""
        if self._held is not None:
            v = Value(content)
            if self._held is content:  # as in `Cell._promote`, whose call would cost a frame
                self._held = v
                return v
            return self._capture()
        self._base._capture()
        seen = read(self._base, self._chain)
        return seen if seen.__class__ is Value else Value(seen)

    def _exported(self) -> object:
        """The backend's array of a view, for code outside the library."""
        root = self._base._pinned()
        return look(backend_for(device_of(self._base._content)), root, self._chain)


@fragment
def is_changeable(array: Any) -> bool:
    """Whether in-place operators of ``twofold.np`` write into an array without axes. Results are as immutable as NumPy's scalars."""
    return array._held is None or getattr(array, "_key", None) is CHANGEABLE


def changeable(new: AnyViewable) -> AnyViewable:
    """A new array, into which in-place operators write even if it has no axes."""
    if new._held is not None:
        new._key = CHANGEABLE
    return new


@fragment
@inlined
def views_are_constant(v: Content | None) -> bool:
    """Whether views of a content are constants of what is recorded later: those of a recorded one that are made while nothing is recorded.

    This is MXNet's rule. They share memory as the result of `detach` does. A root without a content is a variable and a view itself.
    """
    return (v is None or (v.__class__ is Value and is_differentiated(v))) and tls.tape is None


def constant(chain: Chain) -> Chain:
    """View operations through which no gradient flows."""
    return chain if chain[0].op.detaches else (primitive_math.stop_gradient.bind(), *chain)


@inlined
def view_of(cls: type[AnyViewable], cell: Any, chain: Chain, is_alias: bool = False) -> AnyViewable:
    """A view of an array. A view of a view refers to the root directly, unless the inner view is a variable itself.

    A view of a part is a constant where `views_are_constant`. An alias, which is the whole array under another convention, never is.
    """
    out = object.__new__(cls)
    whole = cell._held is not None or cell._gradient is not None
    root = cell if whole else cell._base
    v = root._held
    if chain and not is_alias and views_are_constant(v):
        chain = constant(chain)
    out._base, out._steps = root, (chain if whole else (*cell._chain, *chain))
    out._held = out._under = out._key = out._of = out._seen = out._gradient = None
    return out


def constant_view(cls: type[AnyViewable], seen: object, base: Cell, under: Cell, key: object, of: Content) -> AnyViewable:
    """A view that shows ``seen`` (see `Viewable`) as a constant."""
    out = object.__new__(cls)
    out._held = out._gradient = None
    out._base, out._under, out._key, out._seen, out._of, out._steps = base, under, key, seen, of, CONSTANT
    return out


@inlined
def memory_while_unrecorded(v: Content | None) -> Any:
    """The array of a ready content of the host that is no plain one; None for other contents, and while something is recorded."""
    return v.data if isinstance(v, Value) and tls.tape is None and v.device is CPU else None


@inlined
def owner_of(array: Any) -> Any:
    """The array of which a view shows all elements under another convention; any other array itself."""
    return array._base if is_view(array) and shows_whole(array) else array


@inlined
def ready_memory(x: Any) -> np.ndarray | None:
    """The NumPy array over the memory of an array that is ready and not tracked; None for any other array."""
    v = x._held
    if v is None:
        root = x._base
        whole = content_of(root)
        if is_tracked(whole):  # reading the view would be recorded
            return None
        seen = x._seen
        # a copy of a small part with gaps is its content, and an alias would take longer than many operations
        if (
            x._of is whole
            and x._gradient is None
            and (whole.__class__ is PLAIN or (whole.data.__class__ is PLAIN and whole.device is CPU))
            and (seen.flags.c_contiguous or seen.size >= GAPS)
        ):
            return seen
        v = x._operand
        if v is None:
            return x._seen
    if v.__class__ is not Value:
        return v
    return None if is_tracked(v) or v.device is not CPU or v.data.__class__ is not PLAIN else v.data
