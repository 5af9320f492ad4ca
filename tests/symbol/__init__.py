"""Tests of ``mx.sym``, executors and compiled symbols."""
