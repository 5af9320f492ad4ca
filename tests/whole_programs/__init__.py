"""Random programs beside the real MXNet."""
