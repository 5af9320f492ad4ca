"""How operators are written in ONNX, a file per family; `loading` attaches the rules of all when the first model is exported."""
