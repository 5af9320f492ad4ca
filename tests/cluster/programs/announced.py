"""A worker announces a key and sends its value while the server is sending: the server understands the value after the announcement."""

from __future__ import annotations

from time import sleep

from twofold.kvstore.messages import Message, Opcode
from twofold.kvstore.transports.mpi import world
from twofold.kvstore.transports.mpi_messages import MpiTransport

comm = world()
announced: set[int] = set()


def limit(message: Message) -> int:
    return 1 << 20 if message.op == Opcode.INIT or message.key in announced else 0


if comm.rank == 0:
    transport = MpiTransport(comm, [1], 10)
    for op in (Opcode.INIT, Opcode.BCAST):
        transport.send(1, Message(op, 7, payload=op.name.encode() * 100))
    comm.Barrier()
    sleep(0.3)  # meanwhile the server cannot send its message, and receives
    assert len(transport.receive(10)[1].payload) == 1 << 23
    print("worker is done")
else:
    transport = MpiTransport(comm, [0], 10, limit)
    comm.Barrier()
    transport.send(0, Message(Opcode.STATE, payload=bytes(1 << 23)))
    for op in (Opcode.INIT, Opcode.BCAST):
        source, message = transport.receive(10)
        assert (source, message.op, bytes(message.payload)) == (0, op, op.name.encode() * 100), message.op
        announced.add(message.key)
    print("server is done")
transport.close()
