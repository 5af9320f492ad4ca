"""Tests of ``mx.nd``."""
