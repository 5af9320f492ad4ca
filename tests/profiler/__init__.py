"""Tests of ``mx.profiler``."""
