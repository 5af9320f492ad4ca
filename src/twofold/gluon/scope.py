"""Names of blocks and prefixes of their parameters: inside a block's scope, names start with the block's prefix."""

from types import TracebackType
from typing import Any

from ..symbol.naming import NameManager, Prefix, open_managers
from .parameter_dict import ParameterDict


class BlockScope:
    """The context of a block's ``name_scope()``: the names of blocks and symbols created inside start with the block's prefix.

    Parameters
    ----------
    block
        The block.
    is_transparent
        Whether the block was given an empty prefix: names inside count in the scope around it, as in MXNet.
    """

    def __init__(self, block: Any, is_transparent: bool) -> None:
        self._block = block
        self._is_transparent = is_transparent
        self._counter: dict[str, int] = {}
        self._names: list[_BlockPrefix | None] = []

    @staticmethod
    def create(prefix: str | None, params: ParameterDict | None, hint: str) -> tuple[str, ParameterDict]:
        """The prefix and parameters of a new block.

        Parameters
        ----------
        prefix
            The explicit prefix, if any.
        params
            The parameters to share, if any.
        hint
            The prefix of its automatic name.
        """
        # Outside all scopes names are counted globally, by the same manager as symbols' names; inside, by the parent block.
        current = next((m.scope for m in reversed(open_managers()) if isinstance(m, _BlockPrefix)), None)
        if current is None:
            outer: str = NameManager.current.get(None, hint) + "_" if prefix is None else prefix
            return outer, ParameterDict(outer) if params is None else ParameterDict(params.prefix, params)
        if prefix is None:
            count = current._counter.get(hint, 0)
            current._counter[hint] = count + 1
            prefix = f"{hint}{count}_"
        # Children share what the parent shares: a parameter is looked up under its full name in the model it is shared from.
        parent = current._block
        own = (
            ParameterDict(parent.params.prefix + prefix, parent.params._shared) if params is None else ParameterDict(params.prefix, params)
        )
        return parent.prefix + prefix, own

    def __enter__(self) -> "BlockScope":
        names = None if self._is_transparent else _BlockPrefix(self)
        # A stack: the scope may be entered again inside itself, by a method that also uses it. What Ctrl-C leaves in it is never popped.
        self._names.append(names)
        return self if names is None else names.__enter__().scope

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        names = self._names.pop()
        if names is not None:
            names.__exit__(kind, error, trace)


class _BlockPrefix(Prefix):
    """The names of nodes inside a block's scope."""

    def __init__(self, scope: BlockScope) -> None:
        super().__init__(scope._block.prefix)
        self.scope = scope
