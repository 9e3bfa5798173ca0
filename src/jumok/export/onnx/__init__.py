"""Models as graphs of ONNX, which many programs and languages run."""
