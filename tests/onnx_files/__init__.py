"""Tests of ONNX files; they run models by onnxruntime and by ONNX's reference implementation."""
