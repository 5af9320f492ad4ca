"""`PythonModule`, `PythonLossModule`: modules that are written in Python."""
