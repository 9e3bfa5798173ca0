"""One file for llama.cpp: a language model of Llama's shape with its tokenizer."""
