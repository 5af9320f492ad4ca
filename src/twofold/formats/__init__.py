"""File formats: bytes to plain records and back. Pure: no arrays, no devices, and no code in a file ever runs."""
