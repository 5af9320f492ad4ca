"""Names of MXNet's that only the alias ``mxnet`` shows, against the real one."""
