"""What an adapter to an array library is: the protocol, kernels as plain data, the C printer, and how adapters are found."""
