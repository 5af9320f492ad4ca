"""Which part of the data an iterator reads: ``num_parts`` and ``part_index``, given, or those of this worker of a cluster."""

from ..config import launched
from ..errors import ParameterError

#: What is passed for ``num_parts`` to divide the data over the workers that ``twofold launch`` has started.
WORKERS = "workers"


def part_of(iterator: str, num_parts: int | str, part_index: int) -> tuple[int, int]:
    """The number of parts, and which of them is read.

    Parameters
    ----------
    iterator
        Its name, for errors.
    num_parts, part_index
        As passed to the iterator. With ``num_parts="workers"`` they are the numbers of the launcher, which are also ``kv.num_workers``
        and ``kv.rank`` of a distributed store; one part outside it.

    Raises
    ------
    ParameterError
        If there is no such part.
    """
    if num_parts == WORKERS:
        if part_index:
            raise ParameterError(f"{iterator}: num_parts='workers' sets part_index too", f"part_index={part_index}", "leave part_index out")
        rank, workers = launched()
        return workers, rank if rank < workers else 0  # servers read nothing: any part will do
    count = int(num_parts) if not isinstance(num_parts, str) or num_parts.isdecimal() else 0  # MXNet's iterators take text
    if not 0 <= part_index < count:
        given = f"part_index={part_index} of num_parts={num_parts}"
        raise ParameterError(f"{iterator}: no such part", given, "count parts from 0, or pass num_parts='workers'")
    return count, part_index
