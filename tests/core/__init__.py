"""The core: values, cells, tapes, windows, programs."""
