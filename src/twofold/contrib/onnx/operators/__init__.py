"""How ONNX's operators are read, a file per family: each is a function named as the operator; `loading` enters them all."""
