"""``mx.contrib.text.utils``: counts words."""

import re
from collections import Counter

__all__ = ["count_tokens_from_str"]


def count_tokens_from_str(
    source_str: str, token_delim: str = " ", seq_delim: str = "\n", to_lower: bool = False, counter_to_update: Counter[str] | None = None
) -> Counter[str]:
    r"""Count the words of a text.

    Parameters
    ----------
    source_str
        The text.
    token_delim, seq_delim
        Regular expressions of the separators of words, and of sequences of words.
    to_lower
        Whether to convert the text to lower case first.
    counter_to_update
        A counter to add the words to; a new one if None.

    Returns
    -------
    Counter
        Numbers by word; ``counter_to_update`` if given.

    Raises
    ------
    re.error
        If a separator is not a regular expression: escape ``*`` and its like.

    Examples
    --------
    >>> import twofold as mx
    >>> counts = mx.contrib.text.utils.count_tokens_from_str("Life is great\nlife is good", to_lower=True)
    >>> sorted(counts.items())
    [('good', 1), ('great', 1), ('is', 2), ('life', 2)]
    """
    words = re.split(f"{token_delim}|{seq_delim}", source_str.lower() if to_lower else source_str)
    counter: Counter[str] = Counter() if counter_to_update is None else counter_to_update
    counter.update(word for word in words if word)
    return counter
