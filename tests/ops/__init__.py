"""Tests of operators: against MXNet, and what their table promises."""
