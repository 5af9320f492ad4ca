"""Tests of the benchmarks, and of what they count: frames, programs, kernels and memory do not vary from run to run."""
