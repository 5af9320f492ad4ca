"""Tests of operators: against MXNet, and against their declarations."""
