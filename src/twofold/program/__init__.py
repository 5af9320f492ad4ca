"""Programs: graphs lowered to a backend's calls and kernels, compiled once per structure, and run."""
