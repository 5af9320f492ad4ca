"""The interface to array libraries: the protocol of adapters, kernels as plain data, the C printer, and the loader."""
