"""File formats: bytes to plain records and back. Pure: no arrays, no devices, nothing in a file is ever run."""
