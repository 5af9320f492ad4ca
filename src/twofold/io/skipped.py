"""`SkippedSamples`: how iterators treat samples that cannot be read, the count of those skipped, and the warning about them."""

from collections.abc import Hashable

from ..errors import FileAccessError, FormatError, ParameterError, ShapeError
from ..origin import warn

#: Errors about a sample: it is damaged, cannot be read, or does not have the shape of the others.
BAD_SAMPLE = (FormatError, FileAccessError, ShapeError)

POLICIES = ("raise", "skip")
#: How many samples a warning names.
NAMED = 3


class SkippedSamples:
    """The samples that were skipped in an epoch because they could not be read.

    Parameters
    ----------
    title
        The name of the iterator, for messages.
    policy
        What to do about such samples: ``"raise"`` an error, or ``"skip"`` them.

    Attributes
    ----------
    count
        Number of samples skipped since the epoch began, or in the whole epoch once it has ended.
    first
        The names of the first skipped samples, and why each cannot be read.
    any_read
        Whether some sample was read.

    Raises
    ------
    ParameterError
        If the policy is another word.
    """

    def __init__(self, title: str, policy: str) -> None:
        if policy not in POLICIES:
            raise ParameterError(f"{title}: on_bad_sample", f"{policy!r}", f"use {' or '.join(map(repr, POLICIES))}")
        self._title, self._policy = title, policy
        self.begin()

    def __repr__(self) -> str:
        return f"SkippedSamples(count={self.count}, first={self.first})"

    @property
    def are_wanted(self) -> bool:
        """Whether samples that cannot be read are skipped."""
        return self._policy == "skip"

    def begin(self, any_read: bool = False) -> None:
        """Begin an epoch: nothing is skipped yet."""
        #: A sample may be tried more than once, as padding or in a batch that begins again, but counts once.
        self._keys: set[Hashable] = set()
        self.first: list[tuple[Hashable, str]] = []
        self.any_read = any_read
        self._is_reported = False

    @property
    def count(self) -> int:
        """How many samples were skipped in this epoch."""
        return len(self._keys)

    def add(self, key: Hashable, reason: object) -> None:
        """Count a sample, unless it was counted in this epoch already."""
        if key not in self._keys:
            self._keys.add(key)
            if len(self.first) < NAMED:
                self.first.append((key, str(reason)))

    def report(self) -> None:
        """At the end of an epoch: warn of the samples that were skipped.

        Raises
        ------
        FormatError
            If no sample could be read.
        """
        if not self.count or self._is_reported:
            return
        self._is_reported = True
        named = "; ".join(reason for _, reason in self.first)
        if not self.any_read:
            raise FormatError(f"{self._title}: no sample can be read", f"{self.count} of them, such as: {named}", "check the files")
        also = f"; and {self.count - len(self.first)} more" if self.count > len(self.first) else ""
        plural = "s" if self.count > 1 else ""
        warn(f"{self._title}: skipped {self.count} sample{plural} that cannot be read: {named}{also}")
