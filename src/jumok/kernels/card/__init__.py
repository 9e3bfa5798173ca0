"""Kernels for GPUs with CUDA, in Triton, which torch brings where it is built for CUDA."""
