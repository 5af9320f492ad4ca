"""Tasks, the lanes that run them, the queues of devices, and observers of what runs."""
