"""`MonitoredName`: the name of a value that is passed to a monitor's function."""


class MonitoredName(str):
    """A name that can be decoded, for functions written for MXNet, which passes bytes.

    Examples
    --------
    >>> from twofold.executor.monitored_name import MonitoredName
    >>> MonitoredName("fc_output").decode("utf-8")
    'fc_output'
    """

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The name as a plain string; the arguments are those of ``bytes.decode``."""
        return self.encode().decode(encoding, errors)
