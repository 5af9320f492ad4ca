"""Tasks, the lanes that run them, the queues of devices, and the observers that are told what runs."""
