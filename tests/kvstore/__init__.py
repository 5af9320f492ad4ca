"""Distributed stores: messages, the server, transports and clients."""
