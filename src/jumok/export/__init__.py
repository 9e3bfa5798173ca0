"""Models as others run them: pages, folders of Hugging Face's, CTranslate2, ONNX, GGUF."""
