"""Gives classes the private state that MXNet's have, when a program runs as MXNet: the classes themselves stay without it."""


def adopt(cls: type, state: type) -> None:
    """Give a class the attributes that another one defines, such as properties that show its state as MXNet's class stores it.

    Parameters
    ----------
    cls
        The class.
    state
        Defines them; it is never instantiated.
    """
    for name, value in vars(state).items():
        if name == "__init_subclass__" or not name.startswith("__"):
            setattr(cls, name, value)
