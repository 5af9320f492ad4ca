"""Probes of behavior: one line each, with the real MXNet's answers."""
